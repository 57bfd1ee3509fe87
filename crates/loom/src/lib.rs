//! The API of loom 0.7.2 on `mazurka-rt`: tests that use loom run without edits.
//!
//! ```toml
//! [dev-dependencies]
//! loom = { package = "mazurka-loom", version = "0.2" }
//! ```
//!
//! `mazurka-rt` provides the API that loom and std have in common. This crate adds the parts that
//! are specific to loom: `cell`, atomics whose creation counts as an access (sync/atomic.rs),
//! `model::Builder`, `thread::spawn` without `Send`, `sync::Notify`, `future::AtomicWaker`,
//! `lazy_static::Lazy`, and the calls that steer a search.
//!
//! Differences:
//! - [`explore`], [`stop_exploring`] and [`skip_branch`] do nothing: everything is explored.
//! - `max_threads` does not restrict the exploration. `max_branches` only raises the limit on the
//!   length of an execution.
//! - Statics live for ever, as in Rust. loom drops those of `lazy_static!` when the first thread
//!   ends, and fails if another thread uses one afterwards.
//! - `preemption_bound` applies only to searches that do not end without it: see
//!   [`Builder::preemption_bound`](model::Builder::preemption_bound).
//! - Checkpoints are not written: a failure has a schedule that replays it.
//!
//! ```
//! use mazurka_loom as loom;
//! use loom::sync::atomic::{AtomicUsize, Ordering::{Acquire, Release}};
//! use loom::sync::Arc;
//!
//! loom::model(|| {
//!     let data = Arc::new(loom::cell::UnsafeCell::new(0));
//!     let ready = Arc::new(AtomicUsize::new(0));
//!     let (there, flag) = (data.clone(), ready.clone());
//!     loom::thread::spawn(move || {
//!         there.with_mut(|p| unsafe { *p = 7 });
//!         flag.store(1, Release);
//!     });
//!     if ready.load(Acquire) == 1 {
//!         assert_eq!(unsafe { *data.get().deref() }, 7);
//!     }
//! });
//! ```

pub mod cell;
pub mod future;
pub mod lazy_static;
pub mod model;
pub mod sync;
pub mod thread;

#[doc(inline)]
pub use model::model;

pub use mazurka_rt::{alloc, hint, lazy_static, thread_local};

/// loom's limit on threads. There is no limit here; tests that use the constant get loom's number.
pub const MAX_THREADS: usize = 5;

/// Does nothing: in loom it starts exploring here, but everything is explored anyway.
pub fn explore() {}

/// Does nothing: in loom it stops exploring until [`explore`], but everything is explored anyway.
pub fn stop_exploring() {}

/// Does nothing: in loom it skips the current branch, but everything is explored anyway.
pub fn skip_branch() {}
