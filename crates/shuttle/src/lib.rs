//! The API of shuttle 0.9.3 on `mazurka-rt`: tests that use shuttle run without edits.
//!
//! ```toml
//! [dev-dependencies]
//! shuttle = { package = "mazurka-shuttle", version = "0.2" }
//! ```
//!
//! ```
//! use mazurka_shuttle as shuttle;
//! use shuttle::sync::{Arc, Mutex};
//! use shuttle::thread;
//!
//! shuttle::check_dfs(
//!     || {
//!         let sum = Arc::new(Mutex::new(0));
//!         let other = sum.clone();
//!         let other = thread::spawn(move || *other.lock().unwrap() += 1);
//!         *sum.lock().unwrap() += 1;
//!         other.join().unwrap();
//!         assert_eq!(*sum.lock().unwrap(), 2);
//!     },
//!     None,
//! );
//! ```
//!
//! Differences:
//! - [`check_dfs`] meets each really different execution once. So it needs fewer executions, and a
//!   test that asserts their number must be changed. Orderings weaker than `SeqCst` are explored as
//!   such, whereas shuttle treats them as `SeqCst`.
//! - [`replay`] takes a schedule of `mazurka-rt`.
//! - `yield_now` and `sleep` are no steps, because they touch nothing: what only they separate from
//!   a step of another thread runs in one go. So a value that threads share in an object of std is
//!   not explored, although shuttle would switch at the `yield_now` before it, and limits on steps
//!   do not count them.
//! - A thread that takes a lock which it holds is in a deadlock, and the message says so. As in
//!   std, a thread may read an `RwLock` again that it reads.
//! - A wait with a timeout may time out, and may be in time; shuttle's never time out.
//! - [`check_pct`] accepts a closure without concurrency.
//! - The objects also work outside a test, like those of std.
//! - A random number with few possible values is a choice, and all values are explored. A random
//!   number with many values can only be drawn, by [`check_random`] and its variants. The module
//!   `rand` has traits of its own, with methods named as in the crate `rand`. The generator is also
//!   one of the crate `rand` 0.8, whose methods always draw from many values.
//! - [`check`] runs one random schedule, where shuttle lets threads take turns.
//! - A panic of a task or thread is a failure if it is never joined; otherwise it
//!   behaves as in std.
//! - A failure is always printed: [`FailurePersistence`] changes nothing.
//! - Missing, so that a use does not compile: schedulers of one's own, lists of shuttle's
//!   scheduling points (`Schedule`) and their number (`context_switches`), vector clocks,
//!   labels and tags of
//!   tasks in `current`, numbers of tasks, `future::batch_semaphore`, atomics of 128 bits,
//!   annotations, events of the crate `tracing`, metrics, and `replay_from_file`.

mod check;
pub mod current;
pub mod future;
pub mod lazy_static;
pub mod rand;
pub mod scheduler;
pub mod sync;
pub mod thread;

pub use check::{
    Config, FailurePersistence, MaxSteps, PortfolioRunner, Runner, check, check_dfs, check_pct,
    check_random, check_random_with_seed, check_uncontrolled_nondeterminism, check_urw, replay,
};
pub use mazurka_rt::{hint, lazy_static, thread_local};
