//! `loom::thread`.

pub use mazurka_rt::thread::*;

/// Starts a thread. As in loom, its function need not be `Send`: all threads of a model run on
/// one real thread.
///
/// # Panics
///
/// Outside a model.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + 'static,
    T: 'static,
{
    spawn_local(f)
}
