//! Schedules by random priorities (PCT).
//!
//! Burckhardt, Kothari, Musuvathi, Nagarakatte, "A randomized scheduler with probabilistic
//! guarantees of finding bugs", ASPLOS 2010. Each process gets a random priority, and the ready
//! process with the highest priority runs. At d-1 random steps of the run, the process that would
//! continue gets a lower priority than all others. A bug that needs d ordering constraints is found
//! by one run with probability at least 1/(n·k^(d-1)).
//!
//! | paper | here |
//! |---|---|
//! | n | the processes that were ready in the run |
//! | k | the steps of the longest run so far |
//! | d | `depth` |
//! | priorities d … d+n-1 | random numbers above d, given when a process is first ready |
//! | priority change points k₁ … k_{d-1} | `changes` |
//! | priority i after change point kᵢ | `at + 1`, where `at` is the index in `changes` |
//!
//! Where it deviates:
//!
//! - The paper takes n and k as given. Here they are not known in advance: priorities are drawn
//!   when a process is first ready (two may be equal, with probability below n²/2³³), and k is the
//!   length of the longest run so far. So the first run changes no priority after its first step,
//!   and the guarantee holds once a run of the greatest length has been made.
//! - The paper's scheduler lowers the priority of a thread that seems to spin. Here the program
//!   must report that a process waits, as `mazurka-rt` does for spin loops; a busy loop in `.maz`
//!   ends at the limit of steps.
//! - The paper does not have `choose`; its outcomes are drawn evenly.

use mazurka_core::{Execution, ProcessId, Random};

use super::sample::Picker;

/// The ready process with the highest priority.
#[derive(Clone, Debug)]
pub struct Priorities {
    depth: usize,
    /// The priority of each process; 0 if it is not drawn yet. Values below `depth` belong to
    /// processes whose priority was lowered.
    of: Vec<u64>,
    /// The steps of the current walk at which the priority of the process that would continue is
    /// lowered.
    changes: Vec<u64>,
    /// Number of steps of the longest walk so far.
    longest: u64,
}

/// Number of changes that are drawn even if every walk so far was shorter.
const FEW_CHANGES: usize = 64;

impl Priorities {
    /// Creates a picker for bugs that need `depth` ordering constraints.
    pub fn new(depth: usize) -> Self {
        Self {
            depth,
            of: Vec::new(),
            changes: Vec::new(),
            longest: 0,
        }
    }
}

impl<E: Execution> Picker<E> for Priorities {
    fn begin(&mut self, random: &mut Random) {
        self.of.clear();
        self.changes.clear();
        // Changes beyond the number of steps have no effect.
        let most = usize::try_from(self.longest).unwrap_or(usize::MAX);
        for _ in 1..self.depth.min(most.max(FEW_CHANGES)) {
            self.changes.push(random.below(self.longest.max(1)));
        }
    }

    fn pick(&mut self, ready: &[ProcessId], program: &E, random: &mut Random) -> ProcessId {
        let step = program.events().len() as u64;
        self.longest = self.longest.max(step + 1);
        for process in ready {
            if self.of.len() <= process.index() {
                self.of.resize(process.index() + 1, 0);
            }
            if self.of[process.index()] == 0 {
                self.of[process.index()] = self.changes.len() as u64 + 2 + random.below(1 << 32);
            }
        }
        let highest = |of: &[u64]| {
            let best = ready.iter().max_by_key(|p| of[p.index()]);
            *best.expect("a process is ready")
        };
        let mut first = highest(&self.of);
        for (at, change) in self.changes.iter().enumerate() {
            if *change == step {
                self.of[first.index()] = at as u64 + 1;
                first = highest(&self.of);
            }
        }
        first
    }
}
