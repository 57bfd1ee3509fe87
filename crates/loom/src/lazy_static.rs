//! Support for loom's `lazy_static!`.

use std::fmt;
use std::marker::PhantomData;

pub use mazurka_rt::sync::LazyLock;
pub use mazurka_rt::thread::{AccessError, panicking, yield_now};

/// A static that is made on first use. [`lazy_static!`](crate::lazy_static!) makes [`LazyLock`]s;
/// this type exists for code that names it.
pub struct Lazy<T> {
    #[doc(hidden)]
    pub init: fn() -> T,
    #[doc(hidden)]
    pub _p: PhantomData<fn(T)>,
}

impl<T> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Lazy { .. }")
    }
}
