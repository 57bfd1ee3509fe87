//! Decorators of solvers, which avoid queries or observe them. Each wraps another solver and uses
//! only the interface of that solver.

mod cache;
mod cross_check;
mod fallback;
mod log;
mod reuse;
mod slice;

pub use cache::Cache;
pub use cross_check::CrossCheck;
pub use fallback::Fallback;
pub use log::{Log, Logged};
pub use reuse::Reuse;
pub use slice::Slice;
