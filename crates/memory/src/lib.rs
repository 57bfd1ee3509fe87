//! Weak memory models: explores every consistent execution graph of a program, each once.
//!
//! The other engines explore interleavings, which is sequential consistency. Here an execution is a
//! graph: program order (po), the write that each read reads from (rf), and an order of the writes
//! of each location (mo). A [`Memory`] model defines which graphs exist.
//!
//! - [`program`]: programs as the engine sees them.
//! - [`graph`]: events and their orders.
//! - `models`: rc11, ra, tso and sc, one file each, with its axioms.
//! - `explore`: TruSt, the algorithm.
//! - [`schedule`]: an execution as a list of steps, which can be replayed.
//! - [`orders`]: finds orders that are too weak, or stronger than needed.
//! - [`litmus`]: small programs, for tests and examples.
//!
//! Store buffering: both threads may miss the other's write, unless all accesses are sc:
//!
//! ```
//! use mazurka_core::Limits;
//! use mazurka_memory::litmus::{Litmus, load, store};
//! use mazurka_memory::{Memory, MemoryOrder::{Relaxed, SeqCst}, explore};
//!
//! let buffering = |order| Litmus::new([
//!     vec![store(0, 1, order), load(0, 1, order)],
//!     vec![store(1, 1, order), load(0, 0, order)],
//! ]);
//! let count = |order| {
//!     explore(buffering(order), Memory::Rc11, &Limits::default()).counts.complete
//! };
//! assert_eq!(count(Relaxed), 4);
//! assert_eq!(count(SeqCst), 3);
//! ```

pub mod graph;
pub mod litmus;
mod machine;
pub mod orders;
pub mod program;
pub mod schedule;

mod explore;
mod models;
#[doc(hidden)]
pub mod planted;
mod runner;

#[doc(hidden)]
pub use explore::visit_planted;
pub use explore::{CountOnly, Counts, Drawing, End, Ending, Failure, Finding, Found, Visitor};
pub use explore::{Part, Replay, ReplayError, explore, replay, replay_graph, sample, split, visit};
pub use explore::{Unexplored, visit_part, visit_rest};
pub use machine::Threads;
pub use models::{Memory, UnknownMemory};
pub use program::{Action, Decision, Effect, Known, Loc, MemoryOrder, Program, ThreadId, Value};
