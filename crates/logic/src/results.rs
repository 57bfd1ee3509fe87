//! [`GoalResults`]: a summary of the goals that a search has processed, made while it runs.
//!
//! A search that is broken off may have millions of goals. After the limit was reached, there is no
//! time for a pass over all of them.

use mazurka_core::Bound;

use crate::fol::Truth;
use crate::prove::ProofCounts;
use crate::search::{AppliedRule, OpenReason};
use crate::sequent::Leaf;

/// Summary of all goals that were processed.
#[derive(Debug, Default)]
pub(crate) struct GoalResults {
    /// The counts. The search itself counts all goals and merged goals.
    pub counts: ProofCounts,
    /// Whether a loop without an invariant was unfolded too often.
    pub unfolded: bool,
    /// The reason why the search was broken off, if it was.
    pub bound: Option<Bound>,
    /// Goals that are open, or have a question that was not proved.
    pub open: Vec<usize>,
    /// Goals with a refuted question.
    pub refuted: Vec<usize>,
}

impl GoalResults {
    /// Records a goal that was processed.
    pub fn enter(&mut self, goal: usize, by: &AppliedRule) {
        match by {
            AppliedRule::Schedule { .. } => self.counts.schedules += 1,
            AppliedRule::Reduce { .. } => self.counts.leaves += 1,
            AppliedRule::Open(OpenReason::Unfolded(_)) => self.unfolded = true,
            AppliedRule::Open(OpenReason::Bound(bound)) => self.bound = Some(*bound),
            _ => {}
        }
        let (mut open, mut refuted) = (matches!(by, AppliedRule::Open(_)), false);
        for Leaf { truth, .. } in by.leaves() {
            self.counts.questions += 1;
            open |= *truth != Truth::Proved;
            refuted |= matches!(truth, Truth::Refuted(_));
        }
        self.open.extend(open.then_some(goal));
        self.refuted.extend(refuted.then_some(goal));
    }

    /// Sorts the goals by their indices. They were recorded in the order of processing.
    pub fn close(&mut self) {
        self.open.sort_unstable();
        self.refuted.sort_unstable();
    }
}
