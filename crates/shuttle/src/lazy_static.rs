//! Support for shuttle's `lazy_static!`.

pub use mazurka_rt::lazy_static;
pub use mazurka_rt::sync::LazyLock as Lazy;

/// A static of `lazy_static!` that can be initialised early.
pub trait LazyStatic {
    #[doc(hidden)]
    fn initialize(lazy: &Self);
}

impl<T, F: FnOnce() -> T> LazyStatic for Lazy<T, F> {
    fn initialize(lazy: &Self) {
        Lazy::force(lazy);
    }
}

/// Initialises a static now.
pub fn initialize<T: LazyStatic>(lazy: &T) {
    LazyStatic::initialize(lazy);
}
