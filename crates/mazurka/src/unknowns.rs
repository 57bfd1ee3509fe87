//! Programs with unknown values (inputs and initial values): dynamic symbolic execution that also
//! explores schedules.
//!
//! "Automated Systematic Testing Methods for Multithreaded Programs" (the thesis), sections 2.2 to
//! 2.4. Inputs are symbolic. If a step meets a condition over inputs, the side that it takes is an
//! outcome of the step. So every explorer explores schedules and inputs together: one execution for
//! each trace and each combination of decided conditions.
//!
//! | thesis | here |
//! |---|---|
//! | path constraint | [`SymbolicMachine::path_condition`] |
//! | test execution | an explored run; [`SymbolicMachine::concrete`] gives it inputs |
//! | symbolic execution tree | the tree of the explorers; its branches are the outcomes of steps |
//!
//! Deviation: values are only symbolic, while the thesis keeps a concrete value beside each
//! symbolic one. Instead, the solver first tries whether the values of an earlier answer take the
//! branch, which is as cheap as keeping concrete values. Every finding is run again with the values
//! found before it is shown; if it does not occur again, that is a defect of Mazurka.

mod least_runs;
mod results;

use std::sync::Arc;

use mazurka_core::record::{Binding, Record, SolverRecord, Witness};
use mazurka_core::{Bound, Execution, Kind, Kinds, Mishap, Patience, Schedule, StopReason};
use mazurka_explore::{Finding, Findings, Goal, Observer, Search, Workers, broken_by};
use mazurka_lang::{Code, Concrete, LabelledMachine, Machine, Reached, SymbolicMachine};
use mazurka_smt::Solver;

use crate::evidence::EvidenceTime;
use crate::front::Front;
use crate::search::Head;
use crate::{Algorithm, Options, Program, Refused, Watch, evidence};

pub(crate) use least_runs::{LeastRuns, in_normal_form};
use results::{AllResults, Pair, PartResults};

/// Number of conflicts after which the embedded solver gives up on a query: well below a second.
const CONFLICTS: u64 = 20_000;

/// Returns the name and the value of an input, as a machine takes them; `None` if the text is not a
/// value.
pub(crate) fn given(input: &Binding) -> Option<(String, i128)> {
    Some((input.name.clone(), parse_input(&input.value)?))
}

/// Parses the value of an input of any type: `true`, `-3`, `18446744073709551615`.
pub fn parse_input(value: &str) -> Option<i128> {
    match value {
        "true" => Some(1),
        "false" => Some(0),
        _ => {
            let number: i128 = value.parse().ok()?;
            let possible = i64::MIN.into()..=u64::MAX.into();
            possible.contains(&number).then_some(number)
        }
    }
}

/// A program with unknown values.
#[derive(Clone, Debug)]
pub(crate) struct ForAll {
    pub code: Arc<Code>,
}

/// As a front end, it runs the program with the values of the options.
impl Front for ForAll {
    type Machine = Machine;

    fn machine(&self, options: &Options) -> Machine {
        // A `u64` is stored as the bits of an `i64`.
        let inputs = options.inputs.iter();
        let inputs = inputs.map(|(name, value)| (name.as_str(), *value as i64));
        Machine::new(
            Arc::new(self.code.with_inputs(inputs)),
            options.limits.local,
        )
    }

    type Labelled = LabelledMachine;

    fn labelled(&self, _options: &Options) -> Option<LabelledMachine> {
        None
    }

    fn machine_for_a_run(&self, options: &Options) -> Machine {
        let mut machine = self.machine(options);
        machine.set_patience(options.patience.clone());
        machine
    }

    fn maz(&self) -> Option<&Arc<Code>> {
        Some(&self.code)
    }

    fn for_all(&self) -> Option<&ForAll> {
        Some(self)
    }

    fn asks_for_determinism(&self) -> bool {
        self.code.asks_for_determinism()
    }

    fn states_ensures(&self) -> bool {
        self.code.states_ensures()
    }

    fn states_other_property(&self) -> bool {
        self.code.states_other_property()
    }

    fn states_temporal(&self) -> bool {
        self.code.states_temporal()
    }
}

impl ForAll {
    /// Makes a machine that explores the program for all values, with arrays split if accesses to
    /// them never overlap.
    pub fn split(&self, options: &Options, patience: Patience) -> Result<SymbolicMachine, Refused> {
        let make = SymbolicMachine::with_arrays_split;
        machine(make, &self.code, options, patience)
    }

    /// Makes a machine like `split` for nets: conditions over inputs are steps that touch only
    /// their process.
    pub fn split_for_nets(&self, options: &Options) -> Result<SymbolicMachine, Refused> {
        let machine = self.split(options, Patience::default())?;
        Ok(machine.starting_in_any_order().with_branches_apart())
    }

    /// Makes a machine like `split_for_nets` for nets in which a property is searched: the property
    /// may mention whole arrays.
    pub fn whole_for_nets(&self, options: &Options) -> Result<SymbolicMachine, Refused> {
        let machine = symbolic_machine(&self.code, options, Patience::default())?;
        Ok(machine.starting_in_any_order().with_branches_apart())
    }

    /// Makes a machine for execution graphs: arrays are whole, and conditions over unknown values
    /// are separate steps.
    pub fn for_graphs(&self, options: &Options) -> Result<SymbolicMachine, Refused> {
        let machine = symbolic_machine(&self.code, options, Patience::default())?;
        Ok(machine.with_conditions_apart())
    }
}

/// A function that makes a machine for all values, from the code, the limit on local work, the
/// solver, the patience and the record of coverage.
type Make =
    fn(Arc<Code>, u64, Option<Box<dyn Solver>>, Patience, Option<Arc<Reached>>) -> SymbolicMachine;

/// Returns a machine that runs a program for all values.
pub(crate) fn symbolic_machine(
    code: &Arc<Code>,
    options: &Options,
    patience: Patience,
) -> Result<SymbolicMachine, Refused> {
    machine(SymbolicMachine::until, code, options, patience)
}

fn machine(
    make: Make,
    code: &Arc<Code>,
    options: &Options,
    patience: Patience,
) -> Result<SymbolicMachine, Refused> {
    let solver: Box<dyn Solver> = options.solver.assemble(CONFLICTS)?;
    let local = options.limits.local;
    let (code, reached) = (Arc::clone(code), options.reached.clone());
    let machine = make(code, local, Some(solver), patience, reached);
    if machine.can_start() {
        Ok(machine)
    } else {
        Err(Refused::NoStart("execute"))
    }
}

/// Receives an explored run as a test, with its inputs.
pub(crate) type Sink<'a> = &'a mut dyn FnMut(&Concrete);

/// A question about a program with unknown values.
pub(crate) struct Asked<'a> {
    /// The command.
    pub command: &'static str,
    /// The kinds of violations that count.
    pub counted: Kinds,
    /// The engine.
    pub algorithm: Algorithm,
    /// When to stop.
    pub goal: Goal,
    /// Receives every run as a test, if tests are wanted.
    pub tests: Option<Sink<'a>>,
}

/// Collects results, and passes on tests.
struct Tester<'a> {
    found: PartResults,
    tests: Sink<'a>,
    /// Why some runs are not tests.
    unwritten: Vec<Bound>,
    options: &'a Options,
}

impl Observer<SymbolicMachine> for Tester<'_> {
    fn start(&mut self, program: &SymbolicMachine) {
        self.found.start(program);
    }

    fn pushed(&mut self, program: &SymbolicMachine) {
        self.found.pushed(program);
    }

    fn popping(&mut self, program: &SymbolicMachine) {
        self.found.popping(program);
    }

    fn complete(&mut self, program: &SymbolicMachine) {
        self.found.complete(program);
        match over_numbers(program, None, self.options) {
            Ok((_, run)) => (self.tests)(&run),
            Err(bounds) => self.unwritten.extend(bounds),
        }
    }
}

impl ForAll {
    /// Explores the program, with several workers if the algorithm supports parts and no tests are
    /// wanted.
    fn explore(
        &self,
        search: Search<Algorithm>,
        tests: Option<Sink<'_>>,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<(Findings, AllResults), Refused> {
        let patience = || {
            if search.algorithm.compares_states() {
                // These engines also make steps outside of runs, for example to find a cycle again,
                // so their steps are not broken off.
                Patience::default()
            } else {
                options.patience.clone()
            }
        };
        let mut machine = self.split(options, patience())?;
        let (found, parts) = match (search.algorithm.stateless(), tests) {
            (_, Some(tests)) => {
                let mut tester = Tester {
                    found: PartResults::default(),
                    tests,
                    unwritten: Vec::new(),
                    options,
                };
                let mut found = search.run(&mut machine, watch, &mut tester);
                for bound in tester.unwritten {
                    found.add_bound(bound);
                }
                (found, vec![tester.found])
            }
            (Some(algorithm), None) => {
                let search = Search {
                    algorithm,
                    limits: search.limits,
                    goal: search.goal,
                };
                // Each worker has its own terms and solver.
                let machines = || self.split(options, patience()).expect("it could start");
                let workers = Workers {
                    count: options.jobs,
                    programs: &machines,
                };
                search.share_observed(&mut machine, &workers, watch, &PartResults::default)
            }
            (None, None) => {
                let mut part = PartResults::default();
                let found = search.run(&mut machine, watch, &mut part);
                (found, vec![part])
            }
        };
        Ok((found, AllResults::of(parts, &machine)))
    }
}

impl Program {
    /// Performs `check` or `explore` for all values.
    pub(crate) fn search_for_all(
        &self,
        program: &ForAll,
        asked: Asked<'_>,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<Record, Refused> {
        let Asked {
            command,
            counted,
            algorithm,
            goal,
            tests,
        } = asked;
        if counted.contains(Kind::Property) {
            return Err(Refused::Temporal);
        }
        // Results are terms, which the explorers cannot compare.
        let deterministic = counted.contains(Kind::Nondeterminism);
        let goal = match goal {
            Goal::Violation(kinds) => Goal::Violation(kinds.and(Kinds::FAULTS)),
            Goal::First { of, among } => Goal::First {
                of: of.and(Kinds::FAULTS),
                among: among.and(Kinds::FAULTS),
            },
            Goal::Everything => goal,
        };
        let options = &options.started();
        let search = Search {
            algorithm,
            limits: options.limits.clone(),
            goal,
        };
        let (mut found, all) = program.explore(search, tests, options, watch)?;
        let (mut doubts, mut asked) = (all.doubts, all.asked);
        if found.stopped == StopReason::Bound {
            options.show();
        }
        // The values that the solver finds depend on its earlier queries. So a new machine, with a
        // new solver, makes the evidence.
        let unrecorded = Options {
            reached: None,
            ..options.clone()
        };
        let mut machine = program.split(&unrecorded, Patience::default())?;
        let is_over = || options.solver.deadline.has_passed();
        let mut scout = program.split(&unrecorded, Patience::default())?;
        let compared = all.results.compare(&mut machine, &mut scout, &is_over);
        doubts.add(&machine.doubts());
        asked += scout.solver_statistics();
        doubts.out_of_time |= compared.out_of_time;
        for bound in options.bounds_of(&doubts, watch) {
            found.add_bound(bound);
        }
        if deterministic && compared.unsure && compared.differ.is_none() {
            // Not all results were compared, so nothing is verified.
            found.add_bound(Bound::Undecided);
        }
        options.show();
        let differ = compared.differ.as_ref();
        let shown = witnesses(&mut machine, options, &mut found, differ, counted);
        if shown.is_empty() && found.stopped == StopReason::Certain {
            // The finding that stopped the search is not certain after all.
            found.stopped = StopReason::Bound;
        }
        let mut record = self.record_of(
            Head::new(command, algorithm, options, counted),
            &found,
            shown,
        );
        asked += machine.solver_statistics();
        record.solver = Some(SolverRecord {
            queries: asked.queries,
            reused: asked.reused,
            cached: asked.cached,
            searches: asked.searches,
            external: asked.external,
        });
        record.deterministic = match (differ, compared.empty) {
            (Some(_), _) => Some(false),
            (None, true) => None,
            (None, false) => {
                (found.stopped == StopReason::Complete && !compared.unsure).then_some(true)
            }
        };
        Ok(record)
    }
}

/// Adds a bound for the queries that the solver could not decide.
pub(crate) fn doubt(
    machine: &SymbolicMachine,
    options: &Options,
    found: &mut Findings,
    watch: &mut Watch<'_>,
) {
    for bound in options.bounds_of(&machine.doubts(), watch) {
        found.add_bound(bound);
    }
}

/// Brings the machine to the end of a run that the search has made.
pub(crate) fn follow(machine: &mut SymbolicMachine, schedule: &Schedule) {
    machine.back_to(0);
    for step in &schedule.0 {
        let known = machine.processes().find(&step.process);
        let made = known.is_some_and(|process| machine.step(process, &step.outcomes).is_ok());
        assert!(
            made,
            "a schedule that the search found does not run again: {schedule}"
        );
    }
}

/// Returns a machine with values with which a finding occurs, and the run. Returns `None` if no
/// values are known, or if a number in the run exceeds 64 bits. The finding then cannot be shown,
/// and the search counts as incomplete.
fn with_values(
    machine: &mut SymbolicMachine,
    options: &Options,
    found: &mut Findings,
    finding: &Finding,
) -> Option<(Machine, Schedule)> {
    follow(machine, &finding.schedule);
    // In a concrete run all processes start, also those that the finding does not need.
    let again = if machine.start_all() {
        over_numbers(machine, finding.mishap.as_ref(), options)
    } else {
        Err(vec![Bound::Undecided])
    };
    let bounds = match again {
        Ok((machine, run)) => return Some((machine, run.schedule)),
        Err(bounds) => bounds,
    };
    bounds.into_iter().for_each(|bound| found.add_bound(bound));
    None
}

/// Repeats the current run with numbers. If a mishap is given, the values are such that it occurs.
/// Returns a machine at the end of the run, and the run. The error says why this is impossible: no
/// values are known, or the evaluator gives up, for example because a number exceeds 64 bits.
pub(crate) fn over_numbers(
    machine: &SymbolicMachine,
    mishap: Option<&Mishap>,
    options: &Options,
) -> Result<(Machine, Concrete), Vec<Bound>> {
    let any = machine.concrete(mishap);
    let any = any.ok_or_else(|| vec![Bound::Undecided])?;
    let over = |run: Concrete| {
        let mut machine = Machine::new(Arc::clone(&run.code), options.limits.local);
        match gives_up(&mut machine, &run.schedule, options) {
            bounds if bounds.is_empty() => Ok((machine, run)),
            bounds => Err(bounds),
        }
    };
    over(any).or_else(|bounds| {
        let small = machine.concrete_and_small(mishap);
        small.and_then(|run| over(run).ok()).ok_or(bounds)
    })
}

/// Repeats with numbers a run that was found over terms. Returns why the evaluator gives up in it,
/// if it does.
pub(crate) fn gives_up(
    machine: &mut Machine,
    schedule: &Schedule,
    options: &Options,
) -> Vec<Bound> {
    let narrated = evidence::tell(machine, schedule);
    let mut bounds = evidence::bounds_of_run(machine, &options.limits);
    if machine.broken_requires().is_some() {
        // With terms, a `requires` that exceeds 64 bits was given up.
        bounds.push(Bound::IntRange);
    }
    let again = narrated.is_ok() || !bounds.is_empty();
    assert!(again, "a run does not come again: {schedule}");
    bounds
}

/// Returns the evidence for all findings, each run with its values. Two different results come
/// last, if they are a violation.
fn witnesses(
    machine: &mut SymbolicMachine,
    options: &Options,
    found: &mut Findings,
    differ: Option<&Pair>,
    counted: Kinds,
) -> Vec<Witness> {
    let evidence_time = EvidenceTime::after(found, &options.limits);
    let mut all = failures_and_deadlock(machine, options, found, &evidence_time, counted);
    if counted.contains(Kind::Livelock) {
        all.extend(livelock(machine, options, found));
    }
    if let (Some(pair), true) = (differ, counted.contains(Kind::Nondeterminism)) {
        all.extend(difference(machine, options, found, pair, &evidence_time));
    }
    all
}

/// Returns the evidence for a livelock, with values. States are equal for all values of their path,
/// so the cycle exists for these values.
fn livelock(
    machine: &mut SymbolicMachine,
    options: &Options,
    found: &mut Findings,
) -> Option<Witness> {
    let finding = found.livelock.clone()?;
    let (mut machine, schedule) = with_values(machine, options, found, &finding)?;
    let narrated = evidence::retell(&mut machine, &schedule);
    let shown = evidence::livelock(&mut machine, narrated.run);
    assert!(shown.is_some(), "a cycle does not come again: {schedule}");
    shown
}

/// Returns the evidence for failures and a deadlock, each run with its values.
pub(crate) fn failures_and_deadlock(
    machine: &mut SymbolicMachine,
    options: &Options,
    found: &mut Findings,
    evidence_time: &EvidenceTime,
    counted: Kinds,
) -> Vec<Witness> {
    let mut all = Vec::new();
    for finding in found.failures.clone() {
        let Some(mishap) = finding.mishap else {
            continue;
        };
        if !counted.contains(Kind::Failure) {
            continue;
        }
        if !all.is_empty() && evidence_time.is_over() {
            // Further findings are left out, and the verdict says why.
            found.add_bound(broken_by(&options.limits));
            return all;
        }
        let again = with_values(machine, options, found, &finding);
        if let Some((mut machine, schedule)) = again {
            let shown = evidence::found_failure(&mut machine, &schedule, &mishap, evidence_time);
            all.push(shown);
        }
    }
    if let Some(finding) = found.deadlock.clone()
        && counted.contains(Kind::Deadlock)
        && let Some((mut machine, schedule)) = with_values(machine, options, found, &finding)
    {
        // With numbers a guard may exceed 64 bits.
        let bounds = evidence::bounds_of_next_steps(&mut machine, &options.limits);
        if bounds.is_empty() {
            all.push(evidence::found_deadlock(
                &mut machine,
                &schedule,
                evidence_time,
            ));
        }
        bounds.into_iter().for_each(|bound| found.add_bound(bound));
    }
    all
}

/// Returns the evidence that results differ for the same values, or `None` if a number in one of
/// the runs exceeds 64 bits.
fn difference(
    machine: &mut SymbolicMachine,
    options: &Options,
    found: &mut Findings,
    pair: &Pair,
    evidence_time: &EvidenceTime,
) -> Option<Witness> {
    follow(machine, &pair.other.1);
    let other = machine.concrete_with(&pair.valuation);
    follow(machine, &pair.one.1);
    let one = machine.concrete_with(&pair.valuation);
    let condition = machine.condition_of_difference(&pair.one.0, &pair.other.0);
    let mut machine = Machine::new(one.code, options.limits.local);
    for schedule in [&one.schedule, &other.schedule] {
        let bounds = gives_up(&mut machine, schedule, options);
        if !bounds.is_empty() {
            bounds.into_iter().for_each(|bound| found.add_bound(bound));
            return None;
        }
    }
    let schedules = (&one.schedule, &other.schedule);
    let mut witness = evidence::found_difference(&mut machine, schedules, evidence_time);
    assert!(
        !witness.differs.is_empty(),
        "two results do not differ again: {} and {}",
        one.schedule,
        other.schedule
    );
    witness.condition = Some(condition);
    Some(witness)
}
