//! Real Rust code under test: every execution of its threads that is really different.
//!
//! Write a test as you would, with this crate in place of `std` (or of `loom`), and put its body
//! into [`model()`]:
//!
//! ```
//! use mazurka_rt::sync::atomic::{AtomicUsize, Ordering::SeqCst};
//! use mazurka_rt::sync::Arc;
//! use mazurka_rt::{model, thread};
//!
//! model(|| {
//!     let hits = Arc::new(AtomicUsize::new(0));
//!     let all: Vec<_> = (0..3)
//!         .map(|_| {
//!             let hits = hits.clone();
//!             thread::spawn(move || hits.fetch_add(1, SeqCst))
//!         })
//!         .collect();
//!     for one in all {
//!         one.join().unwrap();
//!     }
//!     assert_eq!(hits.load(SeqCst), 3);
//! });
//! ```
//!
//! The closure is run once for each of its executions that differ by more than the order of steps
//! which do not matter to each other. A panic, a deadlock or a data race (of a
//! [`cell::UnsafeCell`]) in any of them fails the test, with the shortest run that shows it, step
//! by step, and a schedule that [`replay`] takes. [`assert_deterministic()`] compares results;
//! [`check_random()`] and [`check_pct()`] are for programs too large to exhaust; [`Builder`] sets
//! bounds.
//!
//! With the feature `symbolic` there is `input`: a value that is not known, so that code is tested
//! over schedules and inputs.
//!
//! Outside a model everything here is what std has.
//!
//! # What is assumed
//!
//! - *Sequential consistency.* Weaker orderings are accepted; loads give the last value stored all
//!   the same, and the summary says so. For data races orderings count as they are.
//! - *No other nondeterminism*: no time, no random numbers, no iteration over a `HashMap`, no real
//!   threads. If a replay diverges, that is said.
//! - *Fairness*: a thread that spins with [`thread::yield_now`] or [`hint::spin_loop`] is suspended
//!   until something changes. Loops without these run into `max_depth`.
//! - A model is over when all its threads are; a thread that waits for ever is a deadlock, whether
//!   or not somebody would join it.
//! - Statics start every execution with the value they had first: atomics, `Once`, `OnceLock`,
//!   `LazyLock`, [`lazy_static!`] and [`thread_local!`] do; the content of a static `Mutex` or
//!   `RwLock` does not.
//!
//! # Inside
//!
//! Threads are coroutines ([corosensei](https://docs.rs/corosensei)); a step is one operation on
//! something shared and the local work after it. `simulate.rs` makes an
//! [`Execution`](mazurka_core::Execution) of that, and the explorers of `mazurka-explore` do not
//! notice.

#[cfg(feature = "symbolic")]
mod arithmetic;
mod builder;
pub mod cell;
mod check;
mod choose;
mod clock;
pub mod future;
pub mod hint;
mod hook;
mod inputs;
mod life;
mod local;
mod names;
mod report;
mod sample;
mod say;
mod simulate;
mod spin;
mod stack;
#[cfg(feature = "symbolic")]
mod symbolic;
pub mod sync;
pub mod thread;
#[cfg(feature = "symbolic")]
mod unknowns;
mod world;

pub use builder::{Builder, Summary};
pub use check::{Outcomes, assert_deterministic, model, replay};
pub use choose::{Choose, choose};
#[doc(hidden)]
pub use mazurka_explore::Stateless as Algorithm;
pub use sample::{check_pct, check_random};
#[cfg(feature = "symbolic")]
pub use symbolic::{Integer, Scalar, Symbolic, input, input_in};

/// loom's name for [`Builder`] and [`model`](fn@model).
pub mod model {
    pub use crate::builder::Builder;
}
