//! `shuttle::sync`: std's, explored. `Arc` and `Weak` are std's own, as in shuttle.

pub use mazurka_rt::sync::*;
pub use std::sync::{Arc, Weak};
