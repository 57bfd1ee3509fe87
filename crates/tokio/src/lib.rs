//! The API of tokio 1.37.0 on `mazurka-rt`, as far as it synchronises: `sync`, `task`, `time`, the
//! macros, and as much of `runtime` as starts tasks. Code that uses it is explored without edits.
//!
//! ```toml
//! [dev-dependencies]
//! tokio = { package = "mazurka-tokio", version = "0.2" }
//! ```
//!
//! `#[tokio::test]` explores its body. Within [`mazurka_rt::model()`] a runtime does the same:
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
//! - In a runtime of several threads tasks interleave at every step, as they do in tokio. The
//!   number of workers does not matter: there are as many as tasks.
//! - In a runtime of the current thread, which is that of `#[tokio::test]` unless it says
//!   otherwise, one task is polled at a time, and tasks interleave only where one waits. Which of
//!   the tasks that can go on is polled next is explored; tokio polls them in the order in which
//!   they became ready, but promises nothing. So there are more executions than with tokio, none
//!   that it rules out, and the code between two waits is atomic, as it is there.
//! - Blocking tasks are threads beside the runtime, in both.
//! - When a runtime is dropped, its tasks are cancelled where they wait, and it waits for them, as
//!   in tokio. So a task that waits for ever is no deadlock if the body of the test ends.
//! - A panic of a task is a [`JoinError`](task::JoinError) for the task that awaits it. That of a
//!   task that is never awaited is a failure of the test, though tokio ignores it.
//!
//! # What is different
//!
//! - Time does not pass in a model. A [`sleep`](time::sleep()) may end whenever its task waits or
//!   looks at it again, and a [`timeout`](time::timeout()) may elapse whenever the future is not
//!   ready: both outcomes are explored. Of several timers of one task the earlier one ends first;
//!   those of different tasks end in any order. `Instant::now` tells which timers of the task have
//!   ended.
//! - An operation that does not wait is one step: a message is sent in the step that takes room for
//!   it, so that no other task sees the room gone and the message not there.
//! - [`select!`] starts with any of its branches, in all executions together; so it does in tokio,
//!   at random. With `biased;` it starts with the first.
//! - There is no budget: a task that is always ready is not made to yield.
//! - `lock_owned` and its kin take std's `Arc`, as in tokio; that of `mazurka_rt` cannot be the
//!   type of `self`.
//! - The order of the steps of one object is that of happens-before: data races that tokio's own
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
