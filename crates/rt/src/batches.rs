//! Draws random executions with several workers, and counts how many of them are different.
//!
//! The executions that are drawn must not depend on the number of workers. So they are divided into
//! batches, each with its own seed. If several batches fail, the failure of the batch with the
//! least index is reported.
//!
//! The coverage of a sample is estimated from the number of times that each execution was drawn
//! (`core/src/record/sample.rs`).

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use mazurka_core::record::TraceEstimate;
use mazurka_core::{Execution, Fingerprint, TraceHasher};
use mazurka_explore::{BATCH, Observer, batch_seed};
use rustc_hash::FxHashMap;

use crate::builder::{Builder, Summary};
use crate::simulate::Simulator;

/// Limit on the different executions that are distinguished.
const MAX_DISTINCT: usize = 1 << 20;

/// A batch: executions that one worker draws in a row, with a seed of their own.
pub(crate) struct Batch {
    pub seed: u64,
    pub executions: u64,
    /// Number of executions in the batches before this one.
    pub before: u64,
}

/// The number of times that each execution was drawn, by fingerprint. Executions with equal
/// fingerprints differ at most in the order of independent steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExecutionCounts {
    times: FxHashMap<u128, u32>,
    executions: u64,
    /// Whether there were too many different executions to distinguish all of them.
    full: bool,
}

impl ExecutionCounts {
    /// Adds an execution.
    pub fn add(&mut self, print: Fingerprint) {
        self.add_times(print.bits(), 1);
        self.executions += 1;
    }

    fn add_times(&mut self, print: u128, times: u32) {
        if self.times.len() < MAX_DISTINCT || self.times.contains_key(&print) {
            *self.times.entry(print).or_default() += times;
        } else {
            self.full = true;
        }
    }

    fn join(&mut self, other: Self) {
        for (print, times) in other.times {
            self.add_times(print, times);
        }
        self.executions += other.executions;
        self.full |= other.full;
    }

    fn coverage(&self) -> Option<Coverage> {
        let times = self.times.values().map(|&times| u64::from(times));
        let estimate = TraceEstimate::of(times).filter(|_| !self.full)?;
        Some(Coverage {
            different: estimate.different,
            unseen: estimate.unseen,
            at_least: estimate.at_least,
        })
    }
}

impl Observer<Simulator> for ExecutionCounts {
    fn complete(&mut self, program: &Simulator) {
        program.repeat();
        let mut hasher = TraceHasher::new();
        for event in program.events() {
            hasher.push(event, program.processes());
        }
        self.add(hasher.trace());
    }
}

/// Runs each execution twice, if that was asked for.
pub(crate) struct RepeatExecutions;

impl Observer<Simulator> for RepeatExecutions {
    fn complete(&mut self, program: &Simulator) {
        program.repeat();
    }
}

/// How much a sample has covered.
///
/// ```
/// use mazurka_rt::sync::atomic::{AtomicU32, Ordering::SeqCst};
/// use mazurka_rt::{Builder, sync::Arc, thread};
/// let found = Builder::new().check_random(
///     || {
///         let x = Arc::new(AtomicU32::new(0));
///         let y = x.clone();
///         thread::spawn(move || y.store(1, SeqCst));
///         x.store(2, SeqCst);
///     },
///     100,
/// );
/// let coverage = found.coverage().unwrap();
/// // There are two orders of the stores, and both were met often.
/// assert_eq!((coverage.different, coverage.unseen), (2, 0.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coverage {
    /// Number of really different executions among those drawn.
    pub different: u64,
    /// Estimated probability that the next execution is a new one (Good and Turing).
    pub unseen: f64,
    /// Estimated lower bound on the number of different executions (Chao).
    pub at_least: u64,
}

impl Summary {
    /// Returns the coverage of the sample. `None` if executions were not drawn at random, or if
    /// there were too many different executions to distinguish all of them.
    pub fn coverage(&self) -> Option<Coverage> {
        self.execution_counts.coverage().filter(|_| self.random)
    }

    /// Adds the results of another batch.
    fn join(&mut self, other: Self) {
        self.executions += other.executions;
        self.blocked += other.blocked;
        for bound in other.bounds {
            if !self.bounds.contains(&bound) {
                self.bounds.push(bound);
            }
        }
        // Perhaps only some batches have met an ordering weaker than `SeqCst`. The summary takes
        // the memory model of such a batch.
        if other.memory != self.memory && !other.no_weak_ordering_met {
            self.memory = other.memory;
        }
        self.no_weak_ordering_met &= other.no_weak_ordering_met;
        self.weak_orderings |= other.weak_orderings;
        self.suspended_spins |= other.suspended_spins;
        self.nothing_shared &= other.nothing_shared;
        let first =
            |mine: &mut Option<String>, other: Option<String>| *mine = mine.take().or(other);
        first(&mut self.weak_refused, other.weak_refused);
        first(&mut self.spurious_left_out, other.spurious_left_out);
        first(&mut self.rounds_left_out, other.rounds_left_out);
        first(&mut self.undecided, other.undecided);
        first(&mut self.values_left_out, other.values_left_out);
        self.execution_counts.join(other.execution_counts);
    }
}

/// The result of a batch: its summary, or the panic that ended the test.
type Drawn = Result<Summary, Box<dyn Any + Send>>;

impl Builder {
    /// Draws `most` executions in batches. If some batches fail, the test fails with the failure of
    /// the first of them.
    pub(crate) fn draw_in_batches(
        &self,
        most: u64,
        draw: impl Fn(&Batch) -> Summary + Sync,
    ) -> Summary {
        // Each batch counts its own steps, so a limit on steps needs a single batch.
        let size = if self.max_steps.is_some() {
            most.max(1)
        } else {
            BATCH
        };
        let batches = most.div_ceil(size).max(1);
        let next = AtomicU64::new(0);
        let last = AtomicU64::new(batches);
        let done: Mutex<Vec<(u64, Drawn)>> = Mutex::default();
        let work = || {
            loop {
                let number = next.fetch_add(1, Ordering::SeqCst);
                if number >= last.load(Ordering::SeqCst) {
                    return;
                }
                let batch = self.batch(number, size, most);
                let drawn = catch_unwind(AssertUnwindSafe(|| draw(&batch)));
                // If a batch fails or is cut, later batches do not count.
                let cut = |drawn: &Summary| drawn.executions < batch.executions;
                if drawn.as_ref().map_or(true, cut) {
                    last.fetch_min(number + 1, Ordering::SeqCst);
                }
                done.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push((number, drawn));
            }
        };
        let workers = self.workers().min(batches);
        if workers == 1 {
            work();
        } else {
            // Reports take the name of the test from the name of the thread.
            let current = std::thread::current();
            let name = current.name().unwrap_or("main");
            std::thread::scope(|scope| {
                for _ in 0..workers {
                    let worker = std::thread::Builder::new().name(name.to_owned());
                    if worker.spawn_scoped(scope, work).is_err() {
                        // No more threads can be started, so this thread does the work, too.
                        return work();
                    }
                }
            });
        }
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_by_key(|(number, _)| *number);
        let mut all: Option<Summary> = None;
        for (number, drawn) in done {
            if number >= last.load(Ordering::SeqCst) {
                break;
            }
            let drawn = drawn.unwrap_or_else(|end| resume_unwind(end));
            match &mut all {
                None => all = Some(drawn),
                Some(all) => all.join(drawn),
            }
        }
        all.expect("there is a batch")
    }

    fn batch(&self, number: u64, size: u64, most: u64) -> Batch {
        let before = number * size;
        Batch {
            seed: batch_seed(self.seed, number),
            executions: size.min(most - before),
            before,
        }
    }

    fn workers(&self) -> u64 {
        match self.workers {
            0 => std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64),
            workers => u64::from(workers),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_met_once_tells_what_was_not_met() {
        let mut execution_counts = ExecutionCounts::default();
        for print in [1, 1, 2, 3] {
            execution_counts.add(Fingerprint::from_bits(print));
        }
        let mut more = ExecutionCounts::default();
        more.add(Fingerprint::from_bits(3));
        execution_counts.join(more);
        let expected = Coverage {
            different: 3,
            unseen: 0.2,
            at_least: 3,
        };
        assert_eq!(execution_counts.coverage(), Some(expected));
        assert_eq!(ExecutionCounts::default().coverage(), None);
    }

    #[test]
    fn batches_have_all_executions() {
        let builder = Builder::default();
        let batches: Vec<Batch> = (0..3)
            .map(|number| builder.batch(number, 1000, 2300))
            .collect();
        assert_eq!(
            batches.iter().map(|batch| batch.executions).sum::<u64>(),
            2300
        );
        assert_eq!(batches[0].seed, builder.seed);
        assert_ne!(batches[1].seed, batches[2].seed);
    }
}
