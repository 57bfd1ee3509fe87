//! Decides whether a history is linearizable.
//!
//! Herlihy, Wing, "Linearizability: A Correctness Condition for Concurrent Objects", TOPLAS 12(3),
//! 1990. The search is that of Wing and Gong ("Testing and Verifying Concurrent Objects", JPDC 17,
//! 1993): an operation may be the next in the order if all operations before it have been applied.
//! Lowe's improvement ("Testing for Linearizability", CCPE 29(4), 2017) avoids exploring twice from
//! the same set of applied operations and the same state.
//!
//! | paper | here |
//! |---|---|
//! | H, its operations | [`History`] |
//! | <_H | `Operation::before` |
//! | a pending invocation | an operation without a result |
//! | the sequential specification | a state, and a function that applies an operation to it |
//! | a linearization | [`Verdict::Order`] |
//!
//! A pending operation may be part of the order, with any result, or may be omitted. The relation
//! `before` need not be real-time order, so the same search decides sequential consistency and
//! consistency with happens-before (`History::call_after`).

use std::hash::Hash;

use rustc_hash::FxHashSet;

use crate::history::{History, OperationEvent, OperationId};

/// The greatest number of pairs that a search visits. A pair consists of the set of operations
/// applied so far and the state after them.
pub const MOST_STATES: usize = 1 << 16;

/// The answer to the question whether a history is linearizable.
///
/// ```
/// use mazurka_history::{History, Verdict};
/// let history = History::<(), ()>::new();
/// assert_eq!(history.linearize(&0, |_, _| ()), Verdict::Order(vec![]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// This order of the operations explains their results.
    Order(Vec<OperationId>),
    /// No order explains the results. In the order in which operations ended, this operation is the
    /// first whose result cannot be explained together with the earlier results.
    Impossible {
        /// The operation.
        since: OperationId,
    },
    /// The search would visit more than [`MOST_STATES`] pairs.
    Undecided,
}

/// The search for an order.
struct Search<'a, O, R, S, F> {
    history: &'a History<O, R>,
    apply: F,
    /// The operations whose results must be explained.
    ended: u64,
    seen: FxHashSet<(u64, S)>,
    order: Vec<OperationId>,
}

/// The error that the search has visited too many states.
struct TooManyStates;

impl<O, R, S, F> Search<'_, O, R, S, F>
where
    R: PartialEq,
    S: Clone + Eq + Hash,
    F: Fn(&mut S, &O) -> R,
{
    /// Whether the order can be completed: after the operations in `applied`, which led to this
    /// state, all other ended operations can be applied. If so, adds these operations to the order.
    fn extend(&mut self, applied: u64, state: &S) -> Result<bool, TooManyStates> {
        if self.ended & !applied == 0 {
            return Ok(true);
        }
        if self.seen.len() >= MOST_STATES {
            return Err(TooManyStates);
        }
        if !self.seen.insert((applied, state.clone())) {
            return Ok(false);
        }
        for (id, operation) in self.history.operations() {
            let this = 1 << id.0;
            if applied & this != 0 || operation.before & !applied != 0 {
                continue;
            }
            let mut next = state.clone();
            let result = (self.apply)(&mut next, &operation.name);
            let fits = self.ended & this == 0 || operation.result.as_ref() == Some(&result);
            if !fits {
                continue;
            }
            self.order.push(id);
            if self.extend(applied | this, &next)? {
                return Ok(true);
            }
            self.order.pop();
        }
        Ok(false)
    }
}

impl<O, R: PartialEq> History<O, R> {
    /// Finds an order of the operations that respects the relation `before` and explains all
    /// results: if the operations are applied to the state in this order, each gives its result.
    ///
    /// ```
    /// use mazurka_history::{History, Verdict};
    /// let mut history = History::new();
    /// let (one, two) = (history.call(0, 1).unwrap(), history.call(1, 2).unwrap());
    /// // Both add to a number and return the old number. They overlap.
    /// history.end(one, 2);
    /// history.end(two, 0);
    /// let add = |number: &mut i32, more: &i32| std::mem::replace(number, *number + more);
    /// assert_eq!(history.linearize(&0, add), Verdict::Order(vec![two, one]));
    /// ```
    pub fn linearize<S: Clone + Eq + Hash>(
        &self,
        start: &S,
        apply: impl Fn(&mut S, &O) -> R,
    ) -> Verdict {
        let ends = self.events.iter().filter_map(|event| match event {
            OperationEvent::Ended(id) => Some(*id),
            OperationEvent::Called(_) => None,
        });
        let ends: Vec<OperationId> = ends.collect();
        match self.order_of(&ends, start, &apply) {
            Ok(Some(order)) => return Verdict::Order(order),
            Ok(None) => {}
            Err(TooManyStates) => return Verdict::Undecided,
        }
        // An order that explains all results also explains fewer of them. So the first unexplained
        // result is the end of the shortest prefix without an order.
        for count in 1..ends.len() {
            match self.order_of(&ends[..count], start, &apply) {
                Ok(Some(_)) => {}
                Ok(None) => {
                    let since = ends[count - 1];
                    return Verdict::Impossible { since };
                }
                Err(TooManyStates) => return Verdict::Undecided,
            }
        }
        match ends.last() {
            Some(&since) => Verdict::Impossible { since },
            // Without an ended operation, the empty order is a solution.
            None => Verdict::Order(Vec::new()),
        }
    }

    /// Finds an order that explains the results of these operations.
    fn order_of<S: Clone + Eq + Hash>(
        &self,
        ended: &[OperationId],
        start: &S,
        apply: impl Fn(&mut S, &O) -> R,
    ) -> Result<Option<Vec<OperationId>>, TooManyStates> {
        let mut search = Search {
            history: self,
            apply,
            ended: ended.iter().fold(0, |all, id| all | 1 << id.0),
            seen: FxHashSet::default(),
            order: Vec::new(),
        };
        let found = search.extend(0, start)?;
        Ok(found.then_some(search.order))
    }
}
