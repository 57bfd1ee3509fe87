//! Insertion into a wakeup tree: insert_\[E\](v, wut(E)) of JACM 2017, section 7. The sequence v
//! that reverses a race follows the existing branches of the tree as far as it can. Where no branch
//! can be followed, the remaining part of v becomes a new branch.

use mazurka_core::Event;

use super::wakeup::{Key, NONE, NextStep};
use super::{Initial, Optimal, Reversal};
use crate::relations::set::{Set, for_each};

/// Whether a branch of a wakeup tree covers v.
pub(super) enum Cover {
    /// This branch is a weak initial of v.
    Branch(u32, Initial),
    /// No branch covers v: a new branch must be added after this one, or as the only one if it is
    /// [`NONE`].
    None { after: u32 },
}

/// A new branch while it is built: its first and its last node.
struct Chain {
    top: u32,
    bottom: u32,
}

impl<S: Set> Optimal<S> {
    /// Adds a branch for v to the wakeup tree of a state, after the branch `after` ([`NONE`] if the
    /// tree is empty).
    pub(super) fn add(&mut self, node: usize, after: u32, v: &Reversal<S>, run: &[Event]) {
        let added = self.chain(v, run);
        match after {
            NONE => self.nodes[node].branches = added,
            after => self.forest.nodes[after as usize].sibling = added,
        }
    }

    /// Returns the first branch among some siblings in a wakeup tree with which v can start; `at`
    /// is the first sibling.
    #[inline(always)]
    pub(super) fn branch_for(&self, mut at: u32, v: &Reversal<S>) -> Cover {
        let mut after = NONE;
        while at != NONE {
            let branch = &self.forest.nodes[at as usize];
            if let Some(initial) = self.weak_initial(&branch.step, v) {
                return Cover::Branch(at, initial);
            }
            after = at;
            at = branch.sibling;
        }
        Cover::None { after }
    }

    /// Inserts v below a branch that is a weak initial of v. `all` says whether v is the whole
    /// sequence, or only the part that its last event needs. A part cannot be inserted below a
    /// branch that is foreign to it (not one of its steps) or that has outcomes. At such a branch,
    /// inserts nothing and returns false.
    pub(super) fn insert_below(
        &mut self,
        mut at: u32,
        mut v: Reversal<S>,
        all: bool,
        run: &[Event],
    ) -> bool {
        loop {
            let branch = self.forest.nodes[at as usize];
            let first = self.order.first_of(branch.step.process, &v.all);
            if let Some(first) = first {
                v.all.remove(first);
            }
            if branch.step.key != 0 {
                if all {
                    self.insert_for_outcomes(at, first, &v, run);
                }
                return all;
            }
            // From a leaf of the tree all runs are explored anyway, so nothing needs to be
            // inserted.
            if branch.child == NONE || v.all.is_empty() {
                return true;
            }
            match self.branch_for(branch.child, &v) {
                Cover::Branch(_, Initial::Foreign) if !all => return false,
                Cover::Branch(child, _) => at = child,
                Cover::None { after } => {
                    self.forest.nodes[after as usize].sibling = self.chain(&v, run);
                    return true;
                }
            }
        }
    }

    /// Inserts the rest of v below a step that chooses. Each choice of outcomes has a branch of its
    /// own: v is inserted below the branch with the outcomes that the step has in v, or below all
    /// these branches if v does not determine the outcomes. For outcomes without a branch nothing
    /// is inserted: the process is run with all its outcomes in any case.
    fn insert_for_outcomes(
        &mut self,
        mut at: u32,
        first: Option<usize>,
        v: &Reversal<S>,
        run: &[Event],
    ) {
        let process = self.forest.nodes[at as usize].step.process;
        let key = first
            .filter(|&first| first != v.last)
            .map(|first| self.key_at(first));
        while at != NONE {
            let branch = self.forest.nodes[at as usize];
            let same =
                branch.step.process == process && key.is_none_or(|key| key == branch.step.key);
            if same && branch.child != NONE && !v.all.is_empty() {
                match self.branch_for(branch.child, v) {
                    Cover::Branch(child, _) => {
                        self.insert_below(child, v.clone(), true, run);
                    }
                    Cover::None { after } => {
                        self.forest.nodes[after as usize].sibling = self.chain(v, run);
                    }
                }
            }
            at = branch.sibling;
        }
    }

    /// Creates a new branch for v: its events in order, the reversed event last.
    fn chain(&mut self, v: &Reversal<S>, run: &[Event]) -> u32 {
        let mut chain = Chain {
            top: NONE,
            bottom: NONE,
        };
        let mut others = v.all.clone();
        others.remove(v.last);
        for_each(&others, |at| {
            let key = self.key_at(at);
            self.append(&mut chain, at, key, run);
        });
        // The reversed step is added without outcomes: it may read other values, and so have other
        // outcomes to choose from.
        if v.all.contains(v.last) {
            self.append(&mut chain, v.last, 0, run);
        }
        chain.top
    }

    /// Adds the event at a position to the bottom of a new branch.
    #[inline]
    fn append(&mut self, chain: &mut Chain, at: usize, key: Key, run: &[Event]) {
        let event = &self.order.events[at];
        let process = event.process;
        let claims = match run.get(at) {
            Some(made) => self.catalogue.number_of_event(made, event.single),
            None => self.next_claims,
        };
        let added = self.forest.add(NextStep {
            process,
            claims,
            key,
            inherited: false,
        });
        match chain.bottom {
            NONE => chain.top = added,
            bottom => self.forest.nodes[bottom as usize].child = added,
        }
        chain.bottom = added;
    }

    /// Returns the outcomes of the event at a position.
    fn key_at(&self, at: usize) -> Key {
        self.nodes.get(at + 1).map_or(0, |node| node.key)
    }
}
