//! The API of crossbeam-channel 0.5.15 on `mazurka-rt`: code that uses its channels is explored
//! without edits.
//!
//! ```toml
//! [dev-dependencies]
//! crossbeam-channel = { package = "mazurka-crossbeam-channel", version = "0.2" }
//! ```
//!
//! ```
//! use mazurka_crossbeam_channel::{select, unbounded};
//! use mazurka_rt::{Builder, thread};
//!
//! let found = Builder::new().outcomes(|| {
//!     let (a, from_a) = unbounded();
//!     let (b, from_b) = unbounded();
//!     thread::spawn(move || a.send(1));
//!     thread::spawn(move || b.send(2));
//!     select! {
//!         recv(from_a) -> one => one,
//!         recv(from_b) -> two => two,
//!     }
//! });
//! // The thread that sent may also have dropped its end; the message is received first.
//! assert_eq!(found.results.len(), 2);
//! ```
//!
//! Differences:
//! - Time does not pass in a model: a timeout may end at any moment, and `after` may send
//!   at any moment. So may the first two ticks of `tick`; later ones come when no other
//!   thread can make a step, and the summary says so.
//! - `send` in a `select!` takes its place in the queue when the message is known, not when it
//!   is selected.
//! - A program in which a channel ticks more than twice is explored under sequential consistency,
//!   because late ticks are refused under a memory model.

mod buffered;
mod channel;
mod error;
mod macros;
mod rendezvous;
mod select;
mod wait;

pub use channel::{
    IntoIter, Iter, Receiver, Sender, TryIter, after, at, bounded, never, tick, unbounded,
};
pub use error::{
    ReadyTimeoutError, RecvError, RecvTimeoutError, SelectTimeoutError, SendError,
    SendTimeoutError, TryReadyError, TryRecvError, TrySelectError, TrySendError,
};
pub use select::{Select, SelectedOperation};
