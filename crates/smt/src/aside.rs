//! Freeing what is large without waiting for it.

/// Drops a value on a thread of its own. A formula of millions of clauses takes seconds to free,
/// and a search that has reached its limit is to end at once. Where no thread can be started it is
/// dropped here.
///
/// ```
/// mazurka_smt::drop_aside(vec![1, 2, 3]);
/// ```
pub fn drop_aside(value: impl Send + 'static) {
    // If there is no thread, the closure is dropped, and the value with it.
    let _ = std::thread::Builder::new().spawn(move || drop(value));
}
