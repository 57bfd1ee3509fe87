//! `compare`: whether two programs have the same outcomes.
//!
//! An *outcome* is how a run ends (all processes ended, a failure, a deadlock) and the values of
//! the observed variables. Two programs are the *same* if they have the same outcomes for each
//! choice of inputs and unknown initial values. The second is *within* the first if each of its
//! outcomes is an outcome of the first. Infinite and discarded runs have no outcome. The `ensures`
//! of the programs do not matter. An invariant matters only because its failure halts a process.
//!
//! ```
//! use mazurka::compare::{Compare, Relation};
//! use mazurka::{Options, Program, Verdict, quietly};
//!
//! let load = |body: &str| {
//!     let source = format!("var x: int = 0  lock l  process (i in 0..2) {{ {body} }}");
//!     Program::load("counter.maz", &source, &[]).unwrap()
//! };
//! let racy = load("let t = x; x := t + 1");
//! let locked = load("lock(l); let t = x; x := t + 1; unlock(l)");
//! let verdict = |relation| {
//!     let how = Compare { relation, observe: Vec::new() };
//!     let found = racy.compare(&locked, &how, &Options::default(), &mut quietly());
//!     found.unwrap().record.verdict
//! };
//! assert_eq!(verdict(Relation::Same), Verdict::Violated);
//! // The lock takes outcomes away and adds none.
//! assert_eq!(verdict(Relation::Within), Verdict::Verified);
//! ```

mod for_all;

use std::collections::BTreeMap;

use mazurka_core::record::{Binding, Ending, ProgramRecord, Record, Run};
use mazurka_core::{
    Bound, Kinds, Limits, Narrator, Schedule, Semantics, StopReason, Verdict, ending,
};
use mazurka_explore::{Budget, Findings, Goal, Observer, Parts, Search, Stateless, Workers};
use mazurka_lang::hir;
use serde::{Deserialize, Serialize};

use crate::evidence::retell;
use crate::front::{Front, on_front};
use crate::pick::{BUDGET_IN_PARTS, FIRST_BUDGET, PART_OF_BUDGET};
use crate::search::Head;
use crate::{Algorithm, Options, Program, Refused, Watch};

/// The relation between the outcomes of two programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Relation {
    /// Both have the same outcomes.
    #[default]
    Same,
    /// The second program has only outcomes of the first.
    Within,
}

/// The request for a comparison.
#[derive(Clone, Debug, Default)]
pub struct Compare {
    /// The relation that must hold.
    pub relation: Relation,
    /// The shared variables to observe. If the list is empty, the variables that the programs
    /// themselves observe, which must be the same in both. ABS programs are compared by their
    /// output; they must be [loaded](Program::load) with the option to observe only this.
    pub observe: Vec<String>,
}

/// Why two programs cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotCompared {
    /// The programs observe different variables.
    #[error(
        "`{file}` observes `{name}`, and the other program does not: name what both have with --observe"
    )]
    Unmatched {
        /// The program.
        file: String,
        /// The variable.
        name: String,
    },
    /// A variable to observe does not exist in a program.
    #[error("`{file}` has no shared variable `{name}` to observe")]
    NoSuchName {
        /// The program.
        file: String,
        /// The variable.
        name: String,
    },
    /// The variable has another type in the other program.
    #[error("`{0}` does not have the same type in both programs")]
    Type(String),
    /// The programs are in two languages.
    #[error("programs of two languages observe different things, so they are not compared")]
    Languages,
    /// Names of objects depend on the run.
    #[error("ABS programs are compared by their output: say --observe output, or leave it out")]
    Abs,
    /// One of them cannot be searched.
    #[error(transparent)]
    Refused(#[from] Refused),
}

/// The record of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompareRecord {
    /// The common record, of the first program. The verdict is verified if the relation holds. The
    /// counts are of both programs together.
    #[serde(flatten)]
    pub record: Record,
    /// The second program.
    pub other: ProgramRecord,
    /// The relation in question.
    pub relation: Relation,
    /// The variables that were compared, if they were given or both programs are `.maz`.
    pub observed: Vec<String>,
    /// The number of outcomes of each program; with unknown values, the number of classes of runs.
    pub outcomes: [u64; 2],
    /// Whether one of the programs has loops and may run for ever, which is not compared.
    pub endless: bool,
    /// An outcome that only one of them has.
    pub difference: Option<Difference>,
}

/// An outcome that only one of two programs has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The program that has it: 0 or 1.
    pub of: usize,
    /// Values of the unknowns of both programs, by name, for which only that program has the
    /// outcome.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Binding>,
    /// A run with this outcome.
    pub run: Run,
}

/// How a run ended, and the observed values.
type RunOutcome = (u8, Vec<(String, String)>);

/// The outcomes of a program whose values are known, each with the shortest schedule that was
/// found.
struct Outcomes {
    names: Vec<String>,
    met: BTreeMap<RunOutcome, Schedule>,
}

/// Returns a number for an ending; `None` if runs with this ending have no outcome.
fn number(ending: Ending) -> Option<u8> {
    match ending {
        Ending::Final => Some(0),
        Ending::Failure => Some(1),
        Ending::Deadlock => Some(2),
        Ending::Discarded | Ending::Lost | Ending::Open => None,
    }
}

impl Outcomes {
    fn new(names: &[String]) -> Self {
        Self {
            names: names.to_vec(),
            met: BTreeMap::new(),
        }
    }

    /// Adds an outcome. Of two schedules, keeps the shorter one, or the first.
    fn add(&mut self, outcome: RunOutcome, schedule: Schedule) {
        let known = self.met.get(&outcome);
        if known.is_none_or(|known| known.0.len() > schedule.0.len()) {
            self.met.insert(outcome, schedule);
        }
    }
}

impl<M: Narrator> Observer<M> for Outcomes {
    fn start(&mut self, _: &M) {
        self.met.clear();
    }

    fn complete(&mut self, program: &M) {
        let Some(end) = number(ending(program)) else {
            return;
        };
        let mut seen = program.bindings(self.names.is_empty());
        seen.retain(|seen| self.names.is_empty() || self.names.contains(&seen.name));
        seen.sort_by(|a, b| a.name.cmp(&b.name));
        let seen = seen.into_iter().map(|seen| (seen.name, seen.value));
        let outcome = (end, seen.collect());
        let steps = program.whole().len();
        let known = self.met.get(&outcome);
        if known.is_none_or(|known| known.0.len() > steps) {
            let schedule = Schedule::from_run(program.whole(), program.processes());
            self.met.insert(outcome, schedule);
        }
    }
}

/// The result of a search through one of the programs.
struct SearchedProgram<T> {
    algorithm: Algorithm,
    found: Findings,
    outcomes: T,
}

impl<T> SearchedProgram<T> {
    fn is_whole(&self) -> bool {
        self.found.stopped == StopReason::Complete
    }
}

/// A search for the outcomes of a program by `optimal`, in parts that workers share.
struct PartsSearch<'a> {
    parts: Parts,
    names: &'a [String],
    /// The outcomes found so far.
    outcomes: Outcomes,
}

impl PartsSearch<'_> {
    /// Explores the remaining parts, each with at most this number of steps. The result does not
    /// depend on the number of workers.
    fn run<M: Narrator>(
        &mut self,
        most_steps: u64,
        limits: Limits,
        workers: &Workers<'_, M>,
        watch: &mut Watch<'_>,
    ) -> Findings {
        self.parts.most_steps = Some(most_steps);
        self.parts.search.limits = limits;
        let observers = || Outcomes::new(self.names);
        let (found, parts) = self.parts.run_observed(workers, watch, &observers);
        for (outcome, schedule) in parts.into_iter().flat_map(|part| part.met) {
            self.outcomes.add(outcome, schedule);
        }
        found
    }
}

/// Explores a program. Two engines take turns with growing budgets, as in `check`: `stateful`
/// merges equal states, `optimal` explores each trace once, and workers share a long search.
fn explore<M: Narrator + Semantics>(
    machines: &(dyn Fn() -> M + Sync),
    names: &[String],
    options: &Options,
    watch: &mut Watch<'_>,
) -> SearchedProgram<Outcomes> {
    let machine = &mut machines();
    let all = Budget::new(&options.limits);
    let mut in_parts = None;
    // Without parts, limits on counts remain exact.
    let whole = options.limits.steps.is_some() || options.limits.executions.is_some();
    let mut engines = vec![Algorithm::Optimal, Algorithm::Stateful];
    if machine.may_repeat() {
        engines.reverse();
    }
    let mut budget = FIRST_BUDGET;
    loop {
        for algorithm in engines.clone() {
            let mut steps = options.limits.steps.map_or(budget, |most| most.min(budget));
            let mut outcomes = Outcomes::new(names);
            let goal = Goal::Everything;
            let shared = algorithm == Algorithm::Optimal && !whole && budget >= BUDGET_IN_PARTS;
            let mut found = if shared {
                steps /= PART_OF_BUDGET;
                let search = Search {
                    algorithm: Stateless::Optimal,
                    limits: all.left(),
                    goal,
                };
                let limits = search.limits.clone();
                let parts = in_parts.get_or_insert_with(|| PartsSearch {
                    parts: Parts::of(machine, search),
                    names,
                    outcomes: Outcomes::new(names),
                });
                let workers = Workers {
                    count: options.jobs,
                    programs: machines,
                };
                let found = parts.run(steps, limits, &workers, watch);
                outcomes.met.clone_from(&parts.outcomes.met);
                found
            } else {
                let search = Search {
                    algorithm,
                    limits: Limits {
                        steps: Some(steps),
                        ..all.left()
                    },
                    goal,
                };
                search.run(machine, watch, &mut outcomes)
            };
            found.elapsed = all.elapsed();
            all.restate(&mut found.bounds);
            let own = options.limits.steps.is_none_or(|most| steps < most);
            if own && found.bounds.contains(&Bound::MaxSteps(steps)) {
                continue;
            }
            engines.retain(|&other| other != algorithm);
            let stopped_all = found.bounds.iter().any(|bound| {
                matches!(
                    bound,
                    Bound::TimeLimit(_) | Bound::MemoryLimit(_) | Bound::Interrupted
                )
            });
            if found.stopped == StopReason::Complete || engines.is_empty() || stopped_all {
                return SearchedProgram {
                    algorithm,
                    found,
                    outcomes,
                };
            }
        }
        budget = budget.saturating_mul(4);
    }
}

impl Relation {
    /// Returns the indices of the programs whose outcomes must be outcomes of the other program.
    fn directions(self) -> &'static [usize] {
        match self {
            Relation::Same => &[1, 0],
            Relation::Within => &[1],
        }
    }
}

/// The result of a comparison.
struct Compared {
    found: [Findings; 2],
    algorithm: Algorithm,
    outcomes: [u64; 2],
    /// Whether the relation holds.
    holds: bool,
    /// An outcome that certainly only one of them has.
    difference: Option<Difference>,
}

impl Program {
    /// Compares the outcomes of this program with those of another.
    pub fn compare(
        &self,
        other: &Program,
        how: &Compare,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<CompareRecord, NotCompared> {
        let names = self.names_compared_with(other, how)?;
        let budget = Budget::new(&options.limits);
        let options = &options.started();
        let both = [self, other];
        let unknown = both.iter().any(|program| !program.unknowns().is_empty());
        let compared = match (unknown, self.language.maz(), other.language.maz()) {
            (false, ..) => numbers(both, (how.relation, &names), options, watch),
            (true, Some(one), Some(two)) => {
                for_all::compare([one, two], (how.relation, &names), options, watch)?
            }
            (true, ..) => return Err(Refused::NotMaz.into()),
        };
        let endless = both.iter().any(
            |program| on_front!(program.language, front => front.machine(options).may_repeat()),
        );
        let head = Head::new("compare", compared.algorithm, options, Kinds::NONE);
        let mut record = self.record_of(head, &compared.found[0], Vec::new());
        let more = &compared.found[1];
        record.add_bounds(more.bounds.iter().cloned());
        record.counts.executions += more.counts.executions;
        record.counts.discarded += more.counts.discarded;
        record.counts.events += more.counts.events;
        record.counts.steps += more.counts.steps;
        record.counts.blocked += more.counts.blocked;
        (record.counts.traces, record.counts.states) = (None, None);
        record.seconds = budget.elapsed().as_secs_f64();
        record.deterministic = None;
        record.kinds.met.clear();
        record.verdict = match (&compared.difference, compared.holds) {
            (Some(_), _) => Verdict::Violated,
            (None, true) => Verdict::Verified,
            (None, false) => Verdict::Inconclusive,
        };
        if compared.holds {
            // The relation holds, even if a bound has hidden some outcomes.
            record.scope.bounds.clear();
            (record.scope.exhaustive, record.stopped) = (true, StopReason::Complete);
        }
        Ok(CompareRecord {
            record,
            other: other.record().clone(),
            relation: how.relation,
            observed: names,
            outcomes: compared.outcomes,
            endless,
            difference: compared.difference,
        })
    }

    /// Whether the program was loaded with the option to observe only its output.
    fn observes_output(&self) -> bool {
        let mut set = self.record().set.iter();
        set.any(|(name, value)| name == "@observe" && value == "output")
    }

    /// Returns the variables to compare; empty if the programs themselves define what is observed.
    fn names_compared_with(
        &self,
        other: &Program,
        how: &Compare,
    ) -> Result<Vec<String>, NotCompared> {
        let (one, two) = match (self.language.maz(), other.language.maz()) {
            (Some(one), Some(two)) => (one, two),
            (None, None) => {
                let output = [self, other]
                    .iter()
                    .all(|program| program.observes_output());
                return if how.observe.is_empty() && output {
                    Ok(Vec::new())
                } else {
                    Err(NotCompared::Abs)
                };
            }
            _ => return Err(NotCompared::Languages),
        };
        let (one, two) = (one.program(), two.program());
        let names = if how.observe.is_empty() {
            let (ours, theirs) = (observed(one), observed(two));
            for (program, own, others) in [(self, &ours, &theirs), (other, &theirs, &ours)] {
                if let Some(name) = own.iter().find(|name| !others.contains(name)) {
                    return Err(NotCompared::Unmatched {
                        file: program.record().file.clone(),
                        name: name.clone(),
                    });
                }
            }
            ours
        } else {
            how.observe.clone()
        };
        for name in &names {
            let var = |program: &Program, of: &hir::Program| {
                let var = of.vars.iter().find(|var| var.name == *name).cloned();
                var.ok_or_else(|| NotCompared::NoSuchName {
                    file: program.record().file.clone(),
                    name: name.clone(),
                })
            };
            let (a, b) = (var(self, one)?, var(other, two)?);
            if !same_type((one, a.ty), (two, b.ty)) || a.shape != b.shape {
                return Err(NotCompared::Type(name.clone()));
            }
        }
        Ok(names)
    }
}

/// Whether values of these types mean the same: those of an `enum` by their names.
pub(crate) fn same_type(one: (&hir::Program, hir::Type), two: (&hir::Program, hir::Type)) -> bool {
    match (one.1, two.1) {
        (hir::Type::Enum(a), hir::Type::Enum(b)) => {
            one.0.enums[usize::from(a)].members == two.0.enums[usize::from(b)].members
        }
        (a, b) => a == b,
    }
}

/// Returns the names of the variables that a program observes.
fn observed(program: &hir::Program) -> Vec<String> {
    let all = program.vars.iter().enumerate();
    let seen = all.filter(|&(at, _)| program.observes(at));
    seen.map(|(_, var)| var.name.clone()).collect()
}

/// Compares programs whose values are all known.
fn numbers(
    both: [&Program; 2],
    (relation, names): (Relation, &[String]),
    options: &Options,
    watch: &mut Watch<'_>,
) -> Compared {
    let budget = Budget::new(&options.limits);
    let met = both.map(|program| {
        let options = &Options {
            limits: budget.left(),
            ..options.clone()
        };
        let mut met = on_front!(program.language, front => {
            explore(&|| front.machine_for_a_search(options), names, options, watch)
        });
        budget.restate(&mut met.found.bounds);
        met
    });
    options.show();
    let alone = |of: usize| {
        let others = &met[1 - of].outcomes.met;
        let alone = met[of].outcomes.met.iter();
        let alone = alone.filter(|(outcome, _)| !others.contains_key(*outcome));
        // The least of the shortest schedules.
        alone.min_by_key(|(_, schedule)| schedule.0.len())
    };
    let directions = relation.directions().iter().copied();
    let holds = |of: usize| met[of].is_whole() && alone(of).is_none();
    let certain = |&of: &usize| met[1 - of].is_whole();
    let difference = directions.clone().filter(certain).find_map(|of| {
        let (_, schedule) = alone(of)?;
        let run = on_front!(both[of].language, front => {
            retell(&mut front.machine(options), schedule).run
        });
        Some(Difference {
            of,
            values: Vec::new(),
            run,
        })
    });
    Compared {
        outcomes: [0, 1].map(|of: usize| met[of].outcomes.met.len() as u64),
        holds: directions.clone().all(holds),
        difference,
        algorithm: met[0].algorithm,
        found: met.map(|met| met.found),
    }
}
