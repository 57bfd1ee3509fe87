//! The choice of the next thread in a random execution: any thread, or the one with the highest
//! priority (PCT).
//!
//! Burckhardt, Kothari, Musuvathi, Nagarakatte, "A randomized scheduler with probabilistic
//! guarantees of finding bugs", ASPLOS 2010. Threads have random priorities, and at `depth` - 1
//! random steps the thread that would continue gets a lower priority than all others. The length of
//! an execution is assumed to be that of the longest so far.
//!
//! The paper is about interleavings. Here the priorities only choose the thread; the write that a
//! read reads from, and the place of a write in mo, are drawn evenly. So the probability that the
//! paper guarantees is that of an order of steps; it does not include the probability of the values
//! that are read.

use mazurka_core::Random;

use crate::program::ThreadId;

/// How executions are drawn.
#[derive(Clone, Debug)]
pub struct Drawing {
    pub(super) random: Random,
    priorities: Option<Priorities>,
}

#[derive(Clone, Debug)]
struct Priorities {
    depth: usize,
    /// The priority of each thread: the thread with the highest one runs. 0: not drawn yet. Values
    /// below `depth` are those of threads whose priority was lowered.
    by_thread: Vec<u64>,
    /// The steps at which the priority of a thread is lowered.
    changes: Vec<u64>,
    longest: u64,
}

impl From<Random> for Drawing {
    /// Each thread that can continue is equally likely.
    fn from(random: Random) -> Self {
        Self {
            random,
            priorities: None,
        }
    }
}

impl Drawing {
    /// Draws threads by random priorities, for bugs that need `depth` ordering constraints.
    pub fn by_priorities(random: Random, depth: usize) -> Self {
        let priorities = Priorities {
            depth,
            by_thread: Vec::new(),
            changes: Vec::new(),
            longest: 0,
        };
        Self {
            random,
            priorities: Some(priorities),
        }
    }

    /// Begins an execution.
    pub(super) fn begin(&mut self) {
        let Some(priorities) = &mut self.priorities else {
            return;
        };
        priorities.by_thread.clear();
        priorities.changes.clear();
        for _ in 1..priorities.depth {
            let change = self.random.below(priorities.longest.max(1));
            priorities.changes.push(change);
        }
    }

    /// Returns the index of the thread that makes a step.
    pub(super) fn pick<T>(&mut self, ready: &[(ThreadId, T)], step: u64) -> usize {
        let Some(priorities) = &mut self.priorities else {
            return self.random.below(ready.len() as u64) as usize;
        };
        priorities.longest = priorities.longest.max(step + 1);
        for (thread, _) in ready {
            let least = thread.index() + 1;
            if priorities.by_thread.len() < least {
                priorities.by_thread.resize(least, 0);
            }
            let priority = &mut priorities.by_thread[thread.index()];
            if *priority == 0 {
                *priority = priorities.depth as u64 + 1 + self.random.below(1 << 32);
            }
        }
        let highest = |by_thread: &[u64]| {
            let all = ready.iter().enumerate();
            let best = all.max_by_key(|(_, (thread, _))| by_thread[thread.index()]);
            best.map_or(0, |(at, _)| at)
        };
        let mut first = highest(&priorities.by_thread);
        for (at, change) in priorities.changes.iter().enumerate() {
            if *change == step {
                priorities.by_thread[ready[first].0.index()] = at as u64 + 1;
                first = highest(&priorities.by_thread);
            }
        }
        first
    }
}
