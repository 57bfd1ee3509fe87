pub mod atomic;
mod mutex;
pub use mutex::{Mutex, MutexGuard};
pub use std::sync::{Arc, Weak, PoisonError, TryLockError, LockResult, TryLockResult};
