//! Decorators of solvers, which save queries or watch them. Each wraps another solver and knows
//! nothing else about it.

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
