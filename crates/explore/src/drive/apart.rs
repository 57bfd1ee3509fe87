//! One part of a search space, explored by itself: within a budget of steps, or cut.
//!
//! What becomes of a part is a function of the program and the part alone. It is explored with a
//! budget of *steps*. If that is not enough, what was found is forgotten and the part is cut (see
//! `cut`) into children, which are parts like it. So the tree of parts does not depend on which
//! machine explores which part, how fast it is, or how often a part is begun again. The findings of
//! the leaves, put together in the order of the tree, are those of the whole.
//!
//! A part that cannot be cut, for instance because all its runs start with the same thousands of
//! steps, is explored to its end.
//!
//! The price is what was forgotten: at most the budget for each cut. With 64 children for each cut
//! it is measured in docs/cluster.md.

use std::time::Duration;

use mazurka_core::{Bound, Execution, Limits, StopReason};

use crate::algorithms::engine::Stateless;
use crate::drive::cut::{Part, cut};
use crate::drive::driver::Watch;
use crate::drive::findings::Findings;
use crate::drive::parallel::Parts;
use crate::drive::search::Search;

/// What came of a part.
#[derive(Clone, Debug)]
pub enum Within {
    /// It is explored.
    Explored(Box<Parts>),
    /// It takes more steps than it may. So many were made.
    TooLarge(u64),
    /// The watch broke it off.
    BrokenOff(Bound),
}

impl Parts {
    /// Returns a search of which nothing is explored and nothing is cut.
    pub fn whole(search: Search<Stateless>) -> Self {
        Self {
            left: vec![Part::whole()],
            ..Self::none(search)
        }
    }

    /// Explores what is left, in this thread, with so many steps for each part at the most.
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

    /// Cuts the only part that is left into about so many. Nothing comes of it if it falls into
    /// fewer than two. `spent`: steps that were made in vain, which count.
    pub fn split<E: Execution>(&self, program: &mut E, pieces: usize, spent: u64) -> Option<Self> {
        let [part] = &self.left[..] else {
            return None;
        };
        let naive = self.search.algorithm == Stateless::Naive;
        // How much time there is does not matter.
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

    /// Adds the findings of another part of the same search. The order in which parts are added
    /// matters: of final states the first are shown.
    pub fn add(&mut self, other: Parts) {
        self.found.absorb(other.found);
    }

    /// Returns the findings of a search whose parts were added. `stopped_by`: why some are missing.
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
