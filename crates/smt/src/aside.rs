//! Frees large values without waiting.

/// Drops a value on a separate thread. Freeing a formula of millions of clauses takes seconds, but
/// a search that has reached its limit must end immediately. If no thread can be started, the value
/// is dropped on the current thread.
///
/// ```
/// mazurka_smt::drop_aside(vec![1, 2, 3]);
/// ```
pub fn drop_aside(value: impl Send + 'static) {
    // If no thread can be started, the closure is dropped, and the value with it.
    let _ = std::thread::Builder::new().spawn(move || drop(value));
}
