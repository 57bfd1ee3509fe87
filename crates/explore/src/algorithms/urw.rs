//! Uniform random walks (URW): processes are drawn in proportion to the steps they have left.
//!
//! Zhao, Wolff, Mathur, Roychoudhury, "Selectively uniform concurrency testing", ASPLOS 2025. If
//! processes have n₁, …, nₖ steps left, a fraction nᵢ/(n₁ + … + nₖ) of all interleavings begins
//! with process i. So a walk that draws process i with this probability draws all interleavings
//! with the same probability.
//!
//! | paper | here |
//! |---|---|
//! | nᵢ, the events that thread i has left | [`Lengths::left`] |
//! | the counts of a profiling run | the means over all earlier walks of the same batch |
//!
//! The steps of a process that has not been started count as steps of its parent: they come after
//! the step that starts it. If no step waits, the steps then form a forest. Take the next step of a
//! process and all steps that come after it in the forest: their share of all steps is the fraction
//! of the interleavings that begin with this step (the hook lengths of a forest, Knuth, TAOCP 3,
//! 5.1.4, exercise 20). So the walk stays uniform if processes start other processes.
//!
//! Where it deviates:
//!
//! - The paper profiles the program first. Here the earlier walks are the profile: the first walk
//!   of a batch assumes that all processes have equally many steps.
//! - A process that has made as many steps as expected, but has not ended, is assumed to have one
//!   more step left.
//!
//! If the numbers of steps differ from walk to walk, or processes wait for each other, the walks
//! are not uniform. Every interleaving can still be drawn.

use mazurka_core::{Execution, ProcessId, Random, Status};

use super::sample::Picker;

/// The expected numbers of steps of processes, in fractions of a step.
#[derive(Clone, Debug)]
pub(super) struct Lengths {
    /// Number of units that make one step: the number of earlier walks, so that a mean over these
    /// walks is a whole number of units.
    unit: u64,
    /// For each process, the units of the steps that it is expected to have left, without those of
    /// processes that it has yet to start.
    left: Vec<u64>,
    /// For each process, `left` plus the weights of the processes that it has yet to start.
    weights: Vec<u64>,
}

impl Default for Lengths {
    fn default() -> Self {
        Self {
            unit: 1,
            left: Vec::new(),
            weights: Vec::new(),
        }
    }
}

impl Lengths {
    /// Starts a walk, after `walks` others. In these, process i has made `made[i]` steps in total.
    pub fn expect(&mut self, walks: u64, made: impl IntoIterator<Item = u64>) {
        self.unit = walks.max(1);
        self.left.clear();
        self.left.extend(made);
    }

    /// Counts a step of a process.
    pub fn step(&mut self, process: ProcessId) {
        if let Some(left) = self.left.get_mut(process.index()) {
            *left = left.saturating_sub(self.unit);
        }
    }

    /// Ensures that a process has at least one expected step, because it is ready.
    pub fn at_least_one(&mut self, process: ProcessId) {
        if self.left.len() <= process.index() {
            self.left.resize(process.index() + 1, 0);
        }
        let left = &mut self.left[process.index()];
        *left = (*left).max(self.unit);
    }

    /// Computes the steps that each process is expected to have left, together with the processes
    /// that it has yet to start.
    pub fn weigh<E: Execution>(&mut self, program: &E) {
        let table = program.processes();
        self.weights.clear();
        self.weights.extend_from_slice(&self.left);
        self.weights.resize(table.in_order().len(), 0);
        // The index of a process is greater than that of its parent.
        for child in (0..self.weights.len()).rev() {
            let process = ProcessId(child as u32);
            if self.weights[child] > 0
                && let Some(parent) = table.parent(process)
                && program.status(process) == Status::Unborn
            {
                self.weights[parent.index()] += self.weights[child];
            }
        }
    }

    /// Draws one of these processes by weight; `None` if all weights are 0.
    pub fn draw(&self, among: &[ProcessId], random: &mut Random) -> Option<ProcessId> {
        let weight = |process: &ProcessId| self.weights[process.index()];
        let all: u64 = among.iter().map(weight).sum();
        let mut drawn = (all > 0).then(|| random.below(all))?;
        for process in among {
            match drawn.checked_sub(weight(process)) {
                Some(rest) => drawn = rest,
                None => return Some(*process),
            }
        }
        None
    }
}

/// Picks a ready process in proportion to the number of steps that it has left.
#[derive(Clone, Debug, Default)]
pub struct ByLength {
    /// Number of walks that have begun, excluding the current one.
    walks: u64,
    /// For each process, the number of its steps in these walks.
    made: Vec<u64>,
    /// For each process, the number of its steps in the current walk.
    current: Vec<u64>,
    lengths: Lengths,
}

impl<E: Execution> Picker<E> for ByLength {
    fn begin(&mut self, _random: &mut Random) {
        self.walks += u64::from(!self.current.is_empty());
        if self.made.len() < self.current.len() {
            self.made.resize(self.current.len(), 0);
        }
        for (all, made) in self.made.iter_mut().zip(self.current.drain(..)) {
            *all += made;
        }
        self.lengths.expect(self.walks, self.made.iter().copied());
    }

    fn pick(&mut self, ready: &[ProcessId], program: &E, random: &mut Random) -> ProcessId {
        for &process in ready {
            self.lengths.at_least_one(process);
        }
        self.lengths.weigh(program);
        let drawn = self.lengths.draw(ready, random);
        let drawn = drawn.expect("each has a step to make");
        self.lengths.step(drawn);
        if self.current.len() <= drawn.index() {
            self.current.resize(drawn.index() + 1, 0);
        }
        self.current[drawn.index()] += 1;
        drawn
    }
}
