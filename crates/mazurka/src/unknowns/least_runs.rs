//! One run for each key, which the order of the search does not decide.
//!
//! Of all runs with the same key, the one with the fewest steps is kept; among these, the one whose
//! trace has the least fingerprint. So neither the runs nor their order depend on the order of the
//! search, and the runs that several workers keep can be merged. Keys are fingerprints, which do
//! not depend on a worker's table of terms.

use std::collections::hash_map::Entry;
use std::hash::Hash;

use mazurka_core::{Event, Execution, Fingerprint, Schedule, TraceHasher, canonical_order};
use mazurka_lang::SymbolicMachine;
use rustc_hash::FxHashMap;

/// The run that is kept for a key. Its trace is determined, but the search decides which of the
/// equivalent schedules is stored.
#[derive(Clone, Debug)]
struct KeptRun {
    /// The number of its steps, and the fingerprint of its trace.
    rank: (usize, Fingerprint),
    /// As text, which takes an eighth of the memory.
    schedule: Box<str>,
}

/// The least run for each key.
#[derive(Debug)]
pub(crate) struct LeastRuns<K> {
    runs: FxHashMap<K, KeptRun>,
    /// The trace of the current run.
    hasher: TraceHasher,
}

impl<K> Default for LeastRuns<K> {
    fn default() -> Self {
        Self {
            runs: FxHashMap::default(),
            hasher: TraceHasher::new(),
        }
    }
}

impl<K: Copy + Eq + Hash + Ord> LeastRuns<K> {
    /// Forgets all runs: a search starts.
    pub fn start(&mut self, program: &SymbolicMachine) {
        self.runs.clear();
        self.hasher = TraceHasher::new();
        for event in program.whole() {
            self.hasher.push(event, program.processes());
        }
    }

    /// Adds the last step of a program to its trace.
    pub fn pushed(&mut self, program: &SymbolicMachine) {
        let event = program.whole().last().expect("the step that was made");
        self.hasher.push(event, program.processes());
    }

    /// Takes the last step away from the trace.
    pub fn popping(&mut self) {
        self.hasher.pop();
    }

    /// Adds the current run of a program.
    pub fn keep(&mut self, program: &SymbolicMachine, key: K) {
        let rank = (program.whole().len(), self.hasher.trace());
        let known = self.runs.entry(key);
        if !matches!(&known, Entry::Occupied(known) if known.get().rank <= rank) {
            let schedule = Schedule::from_run(program.whole(), program.processes());
            known.insert_entry(KeptRun {
                rank,
                schedule: schedule.to_string().into(),
            });
        }
    }

    /// Whether there is no run.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Adds the runs of another part of the search.
    pub fn absorb(&mut self, mut more: Self) {
        if more.runs.len() > self.runs.len() {
            std::mem::swap(&mut self.runs, &mut more.runs);
        }
        for (key, run) in more.runs {
            let known = self.runs.entry(key);
            if !matches!(&known, Entry::Occupied(known) if known.get().rank <= run.rank) {
                known.insert_entry(run);
            }
        }
    }

    /// Returns the keys with their runs, by rank.
    pub fn sorted(self) -> Vec<(K, Schedule)> {
        let mut all: Vec<(K, KeptRun)> = self.runs.into_iter().collect();
        all.sort_unstable_by_key(|(key, run)| (run.rank, *key));
        let read = |run: KeptRun| run.schedule.parse().expect("a schedule as it was written");
        all.into_iter().map(|(key, run)| (key, read(run))).collect()
    }
}

/// Returns the schedule of the normal form of the current run, which all equivalent runs share.
pub(crate) fn in_normal_form(program: &SymbolicMachine) -> Schedule {
    let (run, processes): (&[Event], _) = (program.whole(), program.processes());
    let order = canonical_order(run, |process| processes.path(process));
    Schedule::of_each(order.iter().map(|&at| &run[at]), processes)
}
