//! Tests real Rust code in every really different execution of its threads.
//!
//! Write a test as usual, with this crate in place of `std` (or of `loom`), and put its body
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
//! The closure runs once for each of its really different executions: two executions count as the
//! same if they differ only in the order of independent steps. A panic, a deadlock or a data race
//! (on a [`cell::UnsafeCell`]) in any of them fails the test. The message shows the shortest run
//! with the failure, step by step, and a schedule for [`replay`]. [`assert_deterministic()`]
//! compares results; [`check_random()`], [`check_pct()`] and [`check_pos()`] are for programs too
//! large to exhaust; [`Builder`] sets bounds.
//!
//! The feature `symbolic` adds `input`, an unknown value, so that code is tested over both
//! schedules and inputs.
//!
//! Outside a model every type and function here behaves like its counterpart in std.
//!
//! # Assumptions
//!
//! - *C++20's orderings without load buffering* (RC11): a program that uses an ordering weaker than
//!   `SeqCst` is explored under that memory model, any other under sequential consistency.
//!   [`Builder::memory`] sets the model.
//! - *No other nondeterminism*: no time, no random numbers, no iteration over a `HashMap`, no real
//!   threads. A replay that diverges is reported.
//! - *Fairness*: a thread that spins with [`thread::yield_now`] or [`hint::spin_loop`] is suspended
//!   until something changes. A thread that does the same 500 times in a row without these calls
//!   ends the test with a hint, unless `max_depth` is set.
//! - A model ends when all its threads have ended. A thread that waits for ever is a deadlock, even
//!   if no other thread joins it.
//! - Atomics, `Once`, `OnceLock`, `LazyLock`, [`lazy_static!`], [`thread_local!`] and the content
//!   of a static `Mutex` or `RwLock` start every execution with their initial value.
//!
//! # Implementation
//!
//! Threads are coroutines ([corosensei](https://docs.rs/corosensei)). A step is one operation on a
//! shared object and the local work after it. `simulate.rs` implements
//! [`Execution`](mazurka_core::Execution) on top of that, so the explorers of `mazurka-explore`
//! need no special case for Rust code. Under a memory model `weak/` makes the same coroutines a
//! [`Program`](mazurka_memory::Program) of `mazurka-memory`.

pub mod alloc;
#[cfg(feature = "symbolic")]
mod arithmetic;
mod batches;
mod builder;
pub mod cell;
mod check;
mod checkpoint;
mod choose;
mod clock;
#[doc(hidden)]
pub mod facade;
mod facts;
mod fair;
mod farewell;
mod freed;
pub mod future;
mod heap;
pub mod hint;
mod hook;
mod inputs;
mod life;
mod local;
mod loops;
mod monitor;
mod names;
mod object;
mod progress;
mod record;
mod report;
mod sample;
mod say;
mod simulate;
mod spin;
mod spurious;
mod stack;
mod statics;
mod std_arc;
#[cfg(feature = "symbolic")]
mod symbolic;
pub mod sync;
pub mod thread;
mod trap;
#[cfg(feature = "symbolic")]
mod unknowns;
mod verdict;
mod version;
mod waiting;
mod weak;
mod world;

pub use batches::Coverage;
pub use builder::{Builder, Summary};
pub use check::{Outcomes, assert_deterministic, model, replay};
pub use choose::{Choices, Numbered, choose};
pub use heap::Heap;
pub use mazurka_core::record::Advice;
#[doc(hidden)]
pub use mazurka_explore::Stateless as Algorithm;
pub use mazurka_memory::Memory;
pub use mazurka_rt_macros::test;
pub use object::{Checked, Object, clients};
pub use sample::{check_pct, check_pos, check_random, check_surw, check_urw};
#[cfg(feature = "symbolic")]
pub use symbolic::{Integer, Scalar, Symbolic, input, input_in};
pub use weak::{OrderingPlace, Orderings, orderings};

/// loom's name for [`Builder`] and [`model`](fn@model).
pub mod model {
    pub use crate::builder::Builder;
}

/// The example of README.md.
#[doc = include_str!("../README.md")]
#[cfg(doctest)]
pub struct Readme;
