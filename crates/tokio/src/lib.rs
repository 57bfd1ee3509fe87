//! The synchronising part of the API of tokio 1.37.0 on `mazurka-rt`: `sync`, `task`, `time`, the
//! macros, and the part of `runtime` that starts tasks. Code that uses it is explored without
//! edits.
//!
//! ```toml
//! [dev-dependencies]
//! tokio = { package = "mazurka-tokio", version = "0.2" }
//! ```
//!
//! `#[tokio::test]` explores its body. A runtime within [`mazurka_rt::model()`] does the same:
//!
//! ```
//! use mazurka_tokio::runtime::Runtime;
//! use mazurka_tokio::sync::{Mutex, oneshot};
//! use std::sync::Arc;
//!
//! mazurka_rt::model(|| {
//!     Runtime::new().unwrap().block_on(async {
//!         let sum = Arc::new(Mutex::new(0));
//!         let (done, wait) = oneshot::channel();
//!         let other = sum.clone();
//!         mazurka_tokio::spawn(async move {
//!             *other.lock().await += 1;
//!             done.send(()).unwrap();
//!         });
//!         *sum.lock().await += 1;
//!         wait.await.unwrap();
//!         assert_eq!(*sum.lock().await, 2);
//!     });
//! });
//! ```
//!
//! # How tasks run
//!
//! A task is a thread of the model that polls its future. A step is one operation on a shared
//! object: a primitive of this crate, an atomic or lock of `mazurka-rt`, a waker.
//! - In a multi-threaded runtime tasks interleave at every step, as they do in tokio. The setting
//!   for the number of workers has no effect: there are as many workers as tasks.
//! - A current-thread runtime, the default of `#[tokio::test]`, polls one task at a time, and tasks
//!   interleave only where one waits. Every ready task may be polled next. tokio polls tasks in the
//!   order in which they became ready, but does not promise this order. So there are more
//!   executions than with tokio, but none that its documentation rules out. As in tokio, the code
//!   between two waits is atomic.
//! - Blocking tasks are separate threads, in both kinds of runtime.
//! - When a runtime is dropped, its tasks are cancelled where they wait, and it waits for them, as
//!   in tokio. So a task that still waits when the body of the test ends is not a deadlock.
//! - A panic of a task is a [`JoinError`](task::JoinError) for the task that awaits it. A panic of
//!   a task that is never awaited is a failure of the test, although tokio ignores it.
//!
//! # Differences
//!
//! - Time does not pass in a model. A [`sleep`](time::sleep()) may end whenever its task waits or
//!   polls it again, and a [`timeout`](time::timeout()) may elapse whenever the future is not
//!   ready: both outcomes are explored. The timers of one task end in the order of their deadlines;
//!   timers of different tasks end in any order. `Instant::now` reflects which timers of the task
//!   have ended.
//! - An operation that does not wait is one step: a message is sent in the step that takes room for
//!   it, so no other task observes the channel between the two.
//! - [`select!`] starts with any of its branches, and all are explored; tokio starts with a random
//!   one. With `biased;` it starts with the first.
//! - tokio's budget does not exist: a task whose futures are always ready is not forced to yield.
//! - As in tokio, `lock_owned` and its variants take std's `Arc`. An `Arc` of `mazurka_rt` is not
//!   accepted, because it cannot be the type of `self`.
//! - The steps of one object are ordered by happens-before, so data races that tokio's own
//!   orderings would allow are not found. `mazurka-loom` explores tokio's own code.
//! - Missing, so that a use does not compile: `fs`, `io`, `net`, `process`, `signal`, `LocalSet`,
//!   `spawn_local`, metrics and `tracing`.

mod drive;
mod macros;
mod maybe_done;
pub mod runtime;
pub mod sync;
pub mod task;
pub mod time;

#[doc(hidden)]
pub use macros::__order;
#[doc(hidden)]
pub use maybe_done::MaybeDone as __MaybeDone;
#[doc(hidden)]
pub use mazurka_rt;
#[doc(hidden)]
pub use mazurka_rt_macros::clean_pattern as __clean_pattern;
pub use mazurka_rt_macros::{tokio_main as main, tokio_test as test};
pub use task::spawn;
