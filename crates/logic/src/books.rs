//! What came of the goals of a search, written down while it goes on.
//!
//! A search that is broken off may have millions of goals, and to look at all of them again would
//! take too long after a limit.

use mazurka_core::Bound;

use crate::fol::Truth;
use crate::prove::ProofCounts;
use crate::search::{By, Why};
use crate::sequent::Leaf;

/// What is known of all goals that were looked at.
#[derive(Debug, Default)]
pub(crate) struct Books {
    /// How many; goals and merged ones are counted by the search.
    pub counts: ProofCounts,
    /// Whether a loop without an invariant went round too often.
    pub unfolded: bool,
    /// Why the search was broken off, if it was.
    pub bound: Option<Bound>,
    /// Goals that are open, or with a question that is not answered by yes.
    pub open: Vec<usize>,
    /// Goals with a question that is answered by no.
    pub refuted: Vec<usize>,
}

impl Books {
    /// A goal was looked at.
    pub fn enter(&mut self, goal: usize, by: &By) {
        match by {
            By::Schedule { .. } => self.counts.schedules += 1,
            By::Reduce { .. } => self.counts.leaves += 1,
            By::Open(Why::Unfolded(_)) => self.unfolded = true,
            By::Open(Why::Bound(bound)) => self.bound = Some(*bound),
            _ => {}
        }
        let (mut open, mut refuted) = (matches!(by, By::Open(_)), false);
        for Leaf { truth, .. } in by.leaves() {
            self.counts.questions += 1;
            open |= *truth != Truth::Proved;
            refuted |= matches!(truth, Truth::Refuted(_));
        }
        self.open.extend(open.then_some(goal));
        self.refuted.extend(refuted.then_some(goal));
    }

    /// Goals are entered in the order in which they were looked at, and wanted in that of their
    /// numbers.
    pub fn close(&mut self) {
        self.open.sort_unstable();
        self.refuted.sort_unstable();
    }
}
