//! Histories of a concurrent object, and the decision whether they are linearizable.
//!
//! A [`History`] consists of the operations that were called on an object, their results, and a
//! relation: which operations had ended when an operation was called. It is *linearizable* if its
//! operations could have run one after the other, in an order that respects this relation, with the
//! same results ([`History::linearize`]).
//!
//! ```
//! use mazurka_history::{History, Verdict};
//! use std::collections::VecDeque;
//!
//! #[derive(Debug)]
//! enum Op { Push(i32), Pop }
//! let apply = |queue: &mut VecDeque<i32>, op: &Op| match *op {
//!     Op::Push(value) => { queue.push_back(value); None }
//!     Op::Pop => queue.pop_front(),
//! };
//!
//! let mut history = History::new();
//! let push = history.call(0, Op::Push(1)).unwrap();
//! history.end(push, None);
//! let pop = history.call(1, Op::Pop).unwrap();
//! history.end(pop, None);
//! // The pop was called after the push had ended, but it found nothing.
//! assert_eq!(history.linearize(&VecDeque::new(), apply), Verdict::Impossible { since: pop });
//! ```

mod chart;
mod history;
mod linearize;
mod recorded;

pub use history::{History, HistoryFull, MOST_OPERATIONS, Operation, OperationId};
pub use linearize::{MOST_STATES, Verdict};
pub use recorded::Recorded;
