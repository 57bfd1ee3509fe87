//! Explores one part of a search space alone: to its end within a budget of steps, or by cutting it
//! into smaller parts.
//!
//! A part is a prefix of runs, with the processes that sleep after it (`cut.rs`). The outcome of a
//! part is a function of the program and the part alone. A part is explored with a budget of
//! *steps*. If the budget is too small, the findings are discarded and the part is cut into
//! children (see `cut`), which are again parts. Therefore the tree of parts does not depend on the
//! machine that explores a part, on its speed, or on the number of attempts. Combined in the order
//! of the tree, the findings of the leaves are the findings of a search of the whole space.
//!
//! Some parts cannot be cut, for instance if all runs start with the same thousands of steps. They
//! are explored without a budget. The price is the discarded work: at most one budget for each cut.
//! docs/cluster.md has measurements with 64 children for each cut.

use std::time::Duration;

use mazurka_core::{Bound, Execution, Limits, StopReason};

use crate::algorithms::engine::Stateless;
use crate::drive::cut::{Part, cut};
use crate::drive::driver::Watch;
use crate::drive::findings::Findings;
use crate::drive::parallel::Parts;
use crate::drive::search::Search;

/// The outcome of a part.
#[derive(Clone, Debug)]
pub enum Within {
    /// The part is explored.
    Explored(Box<Parts>),
    /// The part takes more steps than its budget. The value is the number of steps made.
    TooLarge(u64),
    /// The watch, or the limit on time, stopped the exploration.
    BrokenOff(Bound),
}

impl Parts {
    /// Returns a search that consists of one unexplored part: the whole space.
    pub fn whole(search: Search<Stateless>) -> Self {
        Self {
            left: vec![Part::whole()],
            ..Self::none(search)
        }
    }

    /// Explores the remaining parts in this thread, with at most `most_steps` steps for each part.
    pub fn explore_within<E: Execution>(
        mut self,
        program: &mut E,
        most_steps: u64,
        watch: &mut Watch<'_>,
    ) -> Within {
        self.most_steps = Some(most_steps);
        let found = self.run_here(program, watch, Duration::MAX, &mut |_, _| ());
        let by_watch = |bound: &&Bound| {
            matches!(
                bound,
                Bound::Interrupted | Bound::TimeLimit(_) | Bound::MemoryLimit(_)
            )
        };
        let broken_off = found.bounds.iter().find(by_watch);
        match broken_off {
            _ if self.left.is_empty() => Within::Explored(Box::new(self)),
            Some(&bound) => Within::BrokenOff(bound),
            None => Within::TooLarge(found.counts.steps),
        }
    }

    /// Cuts the only remaining part into about `pieces` parts. Returns `None` if there would be
    /// fewer than two. `spent` is the number of steps of discarded attempts; they are counted, too.
    pub fn split<E: Execution>(&self, program: &mut E, pieces: usize, spent: u64) -> Option<Self> {
        let [part] = &self.left[..] else {
            return None;
        };
        let naive = self.search.algorithm == Stateless::Naive;
        // The time limit must not influence the cut.
        let limits = Limits {
            time: None,
            ..self.search.limits.clone()
        };
        let cut = cut(program, part.clone(), pieces, !naive, &limits);
        if cut.parts.len() < 2 {
            return None;
        }
        let mut parts = Self::none(self.search.clone());
        parts.found.counts.events = cut.events;
        parts.found.counts.steps = cut.steps + spent;
        parts.found.count();
        parts.left = cut.parts;
        Some(parts)
    }

    /// Adds the findings of other parts of the same search. The parts must be added in their order,
    /// because the first final states are shown.
    pub fn add(&mut self, other: Parts) {
        self.found.absorb(other.found);
    }

    /// Returns the findings of a search whose parts were added. `stopped_by` is the reason why some
    /// parts are missing.
    pub fn added_up(self, stopped_by: Option<Bound>, elapsed: Duration) -> Findings {
        let mut found = self.found;
        if let Some(bound) = stopped_by {
            found.bound(bound);
        }
        found.stopped = if found.bounds.is_empty() {
            StopReason::Complete
        } else {
            StopReason::Bound
        };
        found.elapsed = elapsed;
        found.sort();
        found
    }
}
