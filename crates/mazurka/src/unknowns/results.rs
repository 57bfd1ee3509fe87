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

use std::collections::hash_map::Entry;
use std::thread::ThreadId;

use mazurka_core::{Event, Execution, Fingerprint, Schedule, TraceHasher, canonical_order};
use mazurka_explore::Observer;
use mazurka_lang::{Agreement, Doubts, Observed, SymbolicMachine, Valuation};
use mazurka_smt::Statistics;
use rustc_hash::FxHashMap;

use super::follow;

/// Limit on the pairs of results that are compared.
const MOST_COMPARISONS: u64 = 200_000;

/// The fingerprints of the observation and of the path condition.
type ResultPrint = (Fingerprint, Fingerprint);

/// The run that is kept for a result. Its trace is determined, but the search decides which of the
/// equivalent schedules is stored.
#[derive(Clone, Debug)]
struct KeptRun {
    /// The number of its steps, and the fingerprint of its trace.
    rank: (usize, Fingerprint),
    /// As text, which takes an eighth of the memory.
    schedule: Box<str>,
}

/// Collects the results of final states.
#[derive(Debug, Default)]
pub(super) struct Results {
    runs: FxHashMap<ResultPrint, KeptRun>,
    /// The trace of the current run.
    hasher: TraceHasher,
}

impl Observer<SymbolicMachine> for Results {
    fn start(&mut self, program: &SymbolicMachine) {
        self.runs.clear();
        self.hasher = TraceHasher::new();
        for event in program.whole() {
            self.hasher.push(event, program.processes());
        }
    }

    fn pushed(&mut self, program: &SymbolicMachine) {
        let event = program.whole().last().expect("the step that was made");
        self.hasher.push(event, program.processes());
    }

    fn popping(&mut self, _: &SymbolicMachine) {
        self.hasher.pop();
    }

    fn complete(&mut self, program: &SymbolicMachine) {
        if !program.is_final() {
            return;
        }
        let rank = (program.whole().len(), self.hasher.trace());
        let known = self.runs.entry(program.result_print());
        if !matches!(&known, Entry::Occupied(known) if known.get().rank <= rank) {
            let schedule = Schedule::from_run(program.whole(), program.processes());
            known.insert_entry(KeptRun {
                rank,
                schedule: schedule.to_string().into(),
            });
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
            all.results.absorb(part.results);
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

/// Returns the schedule of the normal form of the current run, which all equivalent runs share.
fn in_normal_form(program: &SymbolicMachine) -> Schedule {
    let (run, processes): (&[Event], _) = (program.whole(), program.processes());
    let order = canonical_order(run, |process| processes.path(process));
    Schedule::of_each(order.iter().map(|&at| &run[at]), processes)
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
    /// Adds the results of another part.
    fn absorb(&mut self, mut more: Results) {
        if more.runs.len() > self.runs.len() {
            std::mem::swap(&mut self.runs, &mut more.runs);
        }
        for (print, run) in more.runs {
            let known = self.runs.entry(print);
            if !matches!(&known, Entry::Occupied(known) if known.get().rank <= run.rank) {
                known.insert_entry(run);
            }
        }
    }

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
        let mut all: Vec<(ResultPrint, KeptRun)> = self.runs.into_iter().collect();
        all.sort_unstable_by_key(|(print, run)| (run.rank, *print));
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
            let made: Schedule = run.schedule.parse().expect("a schedule as it was written");
            follow(scout, &made);
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
