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
//! What is different:
//! - [`check_dfs`] meets each execution that is really different once, so that it needs fewer; a
//!   number of them that a test expects is another one. Orderings weaker than `SeqCst` are explored
//!   as such, whereas shuttle takes them for `SeqCst`.
//! - A schedule to [`replay`] is one of `mazurka-rt`.
//! - A random number of few values is a choice, and all are explored; one of many values can only
//!   be drawn, by [`check_random`] and its kin. `rand` has traits of its own with the methods of
//!   the crate of this name.
//! - [`check_urw`] is [`check_random`], and [`check`] one random schedule.
//! - A panic of a task or thread is a failure if it is never joined, and else what it is in std.
//! - What is told about a failure is always printed: [`FailurePersistence`] changes nothing.
//! - Missing, so that a use does not compile: schedulers of one's own, vector clocks, labels, tags
//!   and names of tasks in `current`, `future::batch_semaphore`, annotations, metrics, and
//!   `replay_from_file`.

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
