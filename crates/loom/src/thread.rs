//! `loom::thread`.

pub use mazurka_rt::thread::*;

/// Starts a thread. What it is given need not be `Send`, as in loom: all threads of a model run on
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
