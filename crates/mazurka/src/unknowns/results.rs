//! The results of a program with unknown values: each stored once, and compared after the search.
//!
//! A result consists of the observation of a complete run, as terms, and of its path condition, as
//! a set. It is stored under fingerprints that do not depend on a worker's table of terms, so the
//! results of several workers can be merged. Of all runs with the same result, the one with the
//! fewest steps is kept; among these, the one whose trace has the least fingerprint. So neither the
//! results nor their order depend on the order of the search.
//!
//! A separate machine makes the kept runs again, in normal form, and compares the results. So the
//! answers of its solver do not depend on the search either.

use std::thread::ThreadId;

use mazurka_core::{Execution, Fingerprint, Schedule};
use mazurka_explore::Observer;
use mazurka_lang::{Agreement, Doubts, Observed, SymbolicMachine, Valuation};
use mazurka_smt::Statistics;
use rustc_hash::FxHashMap;

use super::{LeastRuns, follow, in_normal_form};

/// Limit on the pairs of results that are compared.
const MOST_COMPARISONS: u64 = 200_000;

/// The fingerprints of the observation and of the path condition.
type ResultPrint = (Fingerprint, Fingerprint);

/// Collects the results of final states.
#[derive(Debug, Default)]
pub(super) struct Results {
    runs: LeastRuns<ResultPrint>,
}

impl Observer<SymbolicMachine> for Results {
    fn start(&mut self, program: &SymbolicMachine) {
        self.runs.start(program);
    }

    fn pushed(&mut self, program: &SymbolicMachine) {
        self.runs.pushed(program);
    }

    fn popping(&mut self, _: &SymbolicMachine) {
        self.runs.popping();
    }

    fn complete(&mut self, program: &SymbolicMachine) {
        if program.is_final() {
            self.runs.keep(program, program.result_print());
        }
    }
}

/// The results of one part of the search space.
#[derive(Debug, Default)]
pub(super) struct PartResults {
    pub results: Results,
    /// The worker that searched the part, with the doubts and the statistics of its solver so far.
    worker: Option<(ThreadId, Doubts, Statistics)>,
}

impl Observer<SymbolicMachine> for PartResults {
    fn start(&mut self, program: &SymbolicMachine) {
        self.results.start(program);
    }

    fn pushed(&mut self, program: &SymbolicMachine) {
        self.results.pushed(program);
    }

    fn popping(&mut self, program: &SymbolicMachine) {
        self.results.popping(program);
    }

    fn complete(&mut self, program: &SymbolicMachine) {
        self.results.complete(program);
    }

    fn end(&mut self, program: &SymbolicMachine) {
        let (doubts, asked) = (program.doubts(), program.solver_statistics());
        self.worker = Some((std::thread::current().id(), doubts, asked));
    }
}

/// The results of all parts, with the doubts and statistics of all solvers.
#[derive(Debug, Default)]
pub(super) struct AllResults {
    pub results: Results,
    pub doubts: Doubts,
    pub asked: Statistics,
}

impl AllResults {
    /// Merges the results of parts, and adds the doubts and statistics of this thread's machine.
    pub fn of(parts: Vec<PartResults>, here: &SymbolicMachine) -> Self {
        let mut all = AllResults::default();
        let mut asked: FxHashMap<ThreadId, Statistics> = FxHashMap::default();
        for part in parts {
            all.results.runs.absorb(part.results.runs);
            let Some((worker, doubts, so_far)) = part.worker else {
                continue;
            };
            all.doubts.add(&doubts);
            let known = asked.entry(worker).or_default();
            if known.queries <= so_far.queries {
                *known = so_far;
            }
        }
        all.doubts.add(&here.doubts());
        asked.insert(std::thread::current().id(), here.solver_statistics());
        asked.into_values().for_each(|one| all.asked += one);
        all
    }
}

/// Two runs for the same values with different results.
pub(super) struct Pair {
    pub one: (Observed, Schedule),
    pub other: (Observed, Schedule),
    pub valuation: Valuation,
}

/// The outcome of comparing results.
#[derive(Default)]
pub(super) struct Comparison {
    /// Whether there are no results.
    pub empty: bool,
    /// Two results that differ for some values.
    pub differ: Option<Pair>,
    /// Whether some pairs were not compared, or the solver could not decide.
    pub unsure: bool,
    /// Whether the time was over.
    pub out_of_time: bool,
}

impl Results {
    /// Compares results in pairs, up to the first two that differ for some values. `scout` repeats
    /// the runs as they were kept, and `machine` makes them in normal form. `is_over` says whether
    /// the time is over.
    pub fn compare(
        self,
        machine: &mut SymbolicMachine,
        scout: &mut SymbolicMachine,
        is_over: &dyn Fn() -> bool,
    ) -> Comparison {
        let mut found = Comparison {
            empty: self.runs.is_empty(),
            ..Comparison::default()
        };
        let all = self.runs.sorted();
        if all.iter().all(|(print, _)| print.0 == all[0].0.0) {
            return found;
        }
        // Results with the same terms are in one class: they agree.
        let mut classes: Vec<Vec<(Observed, Schedule)>> = Vec::new();
        let mut class_of: FxHashMap<Fingerprint, usize> = FxHashMap::default();
        let mut comparisons = 0;
        for ((values, _), run) in &all {
            if is_over() {
                (found.unsure, found.out_of_time) = (true, true);
                return found;
            }
            follow(scout, run);
            let schedule = in_normal_form(scout);
            follow(machine, &schedule);
            let new = machine.observed();
            let own = *class_of.entry(*values).or_insert_with(|| {
                classes.push(Vec::new());
                classes.len() - 1
            });
            let others = classes.iter().enumerate().filter(|(at, _)| *at != own);
            for known in others.flat_map(|(_, class)| class) {
                comparisons += 1;
                if comparisons > MOST_COMPARISONS || is_over() {
                    (found.unsure, found.out_of_time) = (true, is_over());
                    return found;
                }
                match machine.agreement(&known.0, &new) {
                    Agreement::Agree => {}
                    Agreement::Unknown(_) => found.unsure = true,
                    Agreement::Differ(valuation) => {
                        found.differ = Some(Pair {
                            one: known.clone(),
                            other: (new, schedule),
                            valuation,
                        });
                        return found;
                    }
                }
            }
            classes[own].push((new, schedule));
        }
        found
    }
}
