//! `reach`: whether a state with a given property can be reached. The program is unfolded into a
//! net, and the answer is found in the net: by enumerating markings, or by a solver.
//!
//! ```
//! use mazurka::reach::{Method, Reach, Reachability, StateProperty};
//! use mazurka::unfold::{NetKind, Unfold};
//! use mazurka::{Options, Program, quietly};
//!
//! let source = "var x: int = 0  process { x := x + 1 }  process { x := x * 2 }";
//! let program = Program::load("twice.maz", source, &[]).unwrap();
//! let how = Reach {
//!     net: Unfold { kind: NetKind::Contextual, seed: 0 },
//!     method: Method::Search,
//! };
//! let answer = |property: &str| {
//!     let wanted = StateProperty::read(source, &[], property).unwrap();
//!     let found = program.reach(&wanted, how, &Options::default(), &mut quietly());
//!     found.unwrap().answer
//! };
//! assert_eq!(answer("x == 2"), Reachability::Reachable);
//! assert_eq!(answer("x == 3"), Reachability::Unreachable);
//! ```

use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::Arc;

use mazurka_core::record::{Ending, Record, Run};
use mazurka_core::{
    Bound, Execution, Kinds, Narrator, ProcessId, ProcessPath, Schedule, StopReason, Verdict,
    ending,
};
use mazurka_explore::{Budget, Findings, Question, Structure, Unfold, Unfolding, shortest};
use mazurka_lang::{Code, Machine, Property, SymbolicMachine};
use mazurka_smt::Term;
use serde::{Deserialize, Serialize};

use crate::front::{Front, settings};
use crate::search::{Head, everything};
use crate::translation::{self, Solved};
use crate::unknowns::{ForAll, doubt, follow, gives_up};
use crate::{Algorithm, Options, Program, Refused, Watch};

pub use crate::translation::NotTranslated;
pub use mazurka_lang::BadProperty;

/// Whether a state can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reachability {
    /// The state can be reached, and a run shows this.
    Reachable,
    /// No execution reaches it.
    Unreachable,
    /// A bound was hit before the state was found.
    Unknown,
}

/// How to search for a state in a net.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Method {
    /// Enumerate the markings of those variables and processes that the property mentions.
    #[default]
    Search,
    /// Translate the net into a formula for a solver.
    Smt,
}

impl Method {
    /// Returns the name of the method.
    pub fn name(self) -> &'static str {
        match self {
            Method::Search => "search",
            Method::Smt => "smt",
        }
    }
}

/// The net in which to search for a state, and the method.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    /// The net that is searched.
    pub net: Unfold,
    /// The method of the search.
    pub method: Method,
}

/// The record of a search for a state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReachRecord {
    /// The common record. The verdict is `Violated` if the state can be reached, `Verified` if it
    /// cannot, and `Inconclusive` if this is unknown.
    #[serde(flatten)]
    pub record: Record,
    /// The property.
    pub state: String,
    /// The answer.
    pub answer: Reachability,
    /// The kind of net that was searched.
    pub net: String,
    /// The method: `search` or `smt`.
    pub method: String,
    /// Number of executions that were run to build the net.
    pub tests: u64,
    /// With `search`: the number of markings of the property's variables and processes that were
    /// examined. With `smt`: 0.
    pub markings: u64,
    /// A run to the state; `None` if no run to it was found.
    pub run: Option<Run>,
}

/// A property of the states of a program, parsed and checked.
#[derive(Clone, Debug)]
pub struct StateProperty {
    text: String,
    property: Property,
}

/// The question about the states of a net.
struct NetQuestion<'a> {
    property: &'a Property,
    processes: Vec<ProcessPath>,
    /// The budget for the answer.
    budget: Budget<'a>,
    /// Whether a number in the property has exceeded 64 bits in some state.
    out_of_range: Cell<bool>,
}

impl<'a> NetQuestion<'a> {
    fn new(property: &'a Property, budget: Budget<'a>) -> Self {
        let points = property.points().iter();
        let mut processes: Vec<_> = points.map(|(process, _)| process.clone()).collect();
        processes.sort();
        processes.dedup();
        Self {
            property,
            processes,
            budget,
            out_of_range: Cell::new(false),
        }
    }

    /// For each point of the property (a process and a line), returns whether the process is there.
    /// `lines` contains the current line of each process that the property mentions, or `None` if
    /// it is at no line.
    fn points(&self, lines: &[Option<usize>]) -> Vec<bool> {
        let at = |(process, line): &(ProcessPath, usize)| {
            let known = self.processes.iter().position(|known| known == process);
            known.and_then(|known| lines[known]) == Some(*line)
        };
        self.property.points().iter().map(at).collect()
    }

    /// Returns the value of a cell from a list with one value for each cell of the property.
    fn value_of<V: Copy + Default>(&self, values: &[V], cell: u32) -> V {
        let cells = self.property.cells();
        let at = cells.iter().position(|&known| known == cell);
        at.map_or_else(V::default, |at| values[at])
    }

    /// Whether the property holds in the current state.
    fn holds_now(&self, machine: &Machine) -> bool {
        let cells = self.property.cells().iter();
        let values: Vec<i64> = cells.map(|&cell| machine.value(cell)).collect();
        let lines = self.lines(machine.processes(), |process| machine.line(process));
        let deadlocked = || ending(machine) == Ending::Deadlock;
        self.holds(machine, &values, &lines) && (!self.property.deadlock() || deadlocked())
    }

    fn lines(
        &self,
        table: &mazurka_core::ProcessTable,
        line: impl Fn(ProcessId) -> Option<usize>,
    ) -> Vec<Option<usize>> {
        let of = |path: &ProcessPath| line(table.find(path)?);
        self.processes.iter().map(of).collect()
    }
}

impl Question<Machine> for NetQuestion<'_> {
    type Value = i64;

    fn cells(&self) -> &[u32] {
        self.property.cells()
    }

    fn processes(&self) -> &[ProcessPath] {
        &self.processes
    }

    fn value(&self, program: &Machine, cell: u32) -> i64 {
        program.value(cell)
    }

    fn line(&self, program: &Machine, process: ProcessId) -> Option<usize> {
        program.line(process)
    }

    fn deadlock(&self) -> bool {
        self.property.deadlock()
    }

    fn holds(&self, _: &Machine, values: &[i64], lines: &[Option<usize>]) -> bool {
        let value = |cell: u32| self.value_of(values, cell);
        let decided = self.property.decide(&value, &self.points(lines));
        self.out_of_range
            .set(self.out_of_range.get() || decided.is_none());
        decided == Some(true)
    }
}

/// The question for programs with inputs: values are terms over the inputs.
impl Question<SymbolicMachine> for NetQuestion<'_> {
    type Value = Option<Term>;

    fn cells(&self) -> &[u32] {
        self.property.cells()
    }

    fn processes(&self) -> &[ProcessPath] {
        &self.processes
    }

    fn value(&self, program: &SymbolicMachine, cell: u32) -> Option<Term> {
        program.term_of(cell)
    }

    fn conditions(&self, program: &SymbolicMachine) -> Vec<Option<Term>> {
        program.last_terms().into_iter().map(Some).collect()
    }

    fn line(&self, program: &SymbolicMachine, process: ProcessId) -> Option<usize> {
        program.line(process)
    }

    fn deadlock(&self) -> bool {
        self.property.deadlock()
    }

    fn holds(
        &self,
        program: &SymbolicMachine,
        values: &[Option<Term>],
        lines: &[Option<usize>],
    ) -> bool {
        let value = |cell: u32| self.value_of(values, cell);
        program.may_hold(self.property, &value, &self.points(lines))
    }
}

/// The result of a search: a run to the state, if there is one, and the number of markings
/// examined.
struct ReachSearch {
    run: Option<Run>,
    markings: u64,
}

impl StateProperty {
    /// Parses a property of a program, whose text and settings must be given again.
    pub fn read(
        source: &str,
        set: &[(String, String)],
        text: &str,
    ) -> Result<Self, mazurka_lang::BadProperty> {
        Ok(Self {
            text: text.to_owned(),
            property: Property::read(source, &settings(set), text)?,
        })
    }

    /// Returns the property itself.
    pub(crate) fn property(&self) -> &Property {
        &self.property
    }
}

impl Program {
    /// Decides whether a state with a property can be reached.
    pub fn reach(
        &self,
        wanted: &StateProperty,
        how: Reach,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<ReachRecord, Refused> {
        self.distinguishes_returns(how.net.kind)?;
        let options = &options.started();
        let budget = Budget::new(&options.limits);
        let question = NetQuestion::new(&wanted.property, budget);
        let code = self.language.maz().ok_or(Refused::NotMaz)?;
        let (outcome, mut found) = match self.language.for_all() {
            Some(program) => reach_for_all(program, &question, how, options, watch)?,
            None => reach_with_numbers(code, &question, how, options, watch)?,
        };
        let answer = match (&outcome.run, found.bounds.is_empty()) {
            (Some(_), _) => Reachability::Reachable,
            (None, true) => Reachability::Unreachable,
            (None, false) => Reachability::Unknown,
        };
        let tests = found.counts.executions + found.counts.discarded;
        // `reach` reports nothing but the answer, so other findings are dropped.
        found.failures.clear();
        (found.deadlock, found.livelock) = (None, None);
        found.elapsed = budget.elapsed();
        let head = Head::new("reach", Algorithm::Optimal, options, Kinds::NONE);
        let mut record = self.record_of(head, &found, Vec::new());
        record.algorithm = "unfold".to_owned();
        record.deterministic = None;
        record.verdict = match answer {
            Reachability::Reachable => Verdict::Violated,
            Reachability::Unreachable => Verdict::Verified,
            Reachability::Unknown => Verdict::Inconclusive,
        };
        Ok(ReachRecord {
            record,
            state: wanted.text.clone(),
            answer,
            net: how.net.kind.to_string(),
            method: how.method.name().to_owned(),
            tests,
            markings: outcome.markings,
            run: outcome.run,
        })
    }
}

/// Decides the question for a program whose values are all known.
fn reach_with_numbers(
    code: &Arc<Code>,
    question: &NetQuestion<'_>,
    how: Reach,
    options: &Options,
    watch: &mut Watch<'_>,
) -> Result<(ReachSearch, Findings), Refused> {
    let mut machine = code.machine_for_a_search(options);
    let mut net = everything(how.net, options).run(&mut machine, watch, &mut ());
    let mut tick = ticker(question.budget, &net.found, watch);
    let outcome = match how.method {
        Method::Search => net.reach(&mut machine, question, &mut tick),
        Method::Smt => solve(
            &mut net,
            &mut machine,
            question,
            &mut tick,
            |_, structure| translation::solve(structure, question.property, &options.solver),
        )?,
    };
    drop(tick);
    let outcome = note(outcome, question.budget, &mut net.found, watch);
    let shown = outcome
        .0
        .and_then(|schedule| shown(&mut machine, &schedule, question, &mut net.found));
    if question.out_of_range.get() {
        net.found.add_bound(Bound::IntRange);
    }
    let outcome = ReachSearch {
        run: shown,
        markings: outcome.1,
    };
    Ok((outcome, net.found))
}

/// Decides the question for a program with inputs: whether the state can be reached for some of
/// their values, which the solver finds.
fn reach_for_all(
    program: &ForAll,
    question: &NetQuestion<'_>,
    how: Reach,
    options: &Options,
    watch: &mut Watch<'_>,
) -> Result<(ReachSearch, Findings), Refused> {
    let mut machine = program.whole_for_nets(options)?;
    let mut net = everything(how.net, options).run(&mut machine, watch, &mut ());
    let mut tick = ticker(question.budget, &net.found, watch);
    let outcome = match how.method {
        Method::Search => net.reach(&mut machine, question, &mut tick),
        Method::Smt => solve(
            &mut net,
            &mut machine,
            question,
            &mut tick,
            |machine, structure| {
                machine.back_to(0);
                translation::solve_for_inputs(
                    machine,
                    structure,
                    question.property,
                    &options.solver,
                )
            },
        )?,
    };
    drop(tick);
    let (schedule, markings) = note(outcome, question.budget, &mut net.found, watch);
    options.show();
    let run = schedule.and_then(|schedule| {
        follow(&mut machine, &schedule);
        if question.property.deadlock() && ending(&machine) != Ending::Deadlock {
            // The solution of the solver is not a run: it contains a step in which a process keeps
            // waiting, at a point where the process can continue.
            net.found.add_bound(Bound::Undecided);
            return None;
        }
        let lines = question.lines(machine.processes(), |process| machine.line(process));
        let run = machine.concrete_where(question.property, &question.points(&lines));
        let Some(run) = run else {
            net.found.add_bound(Bound::Undecided);
            return None;
        };
        let mut machine = Machine::new(run.code, options.limits.local);
        let bounds = gives_up(&mut machine, &run.schedule, options);
        let fits = bounds.is_empty();
        bounds
            .into_iter()
            .for_each(|bound| net.found.add_bound(bound));
        fits.then(|| shown(&mut machine, &run.schedule, question, &mut net.found))?
    });
    doubt(&machine, options, &mut net.found, watch);
    Ok((ReachSearch { run, markings }, net.found))
}

/// Returns a function that may be called often: it checks the limits in every 64th call.
fn ticker<'a>(
    budget: Budget<'a>,
    found: &Findings,
    watch: &'a mut Watch<'_>,
) -> impl FnMut() -> ControlFlow<Bound> + 'a {
    let counts = found.counts;
    let mut ticks = 0_u32;
    move || {
        ticks = ticks.wrapping_add(1);
        if !ticks.is_multiple_of(64) {
            return ControlFlow::Continue(());
        }
        budget.look(counts, watch)
    }
}

/// A schedule to the state, if there is one, and the number of markings examined; or the reason for
/// giving up.
type ReachOutcome = ControlFlow<Bound, (Option<Schedule>, u64)>;

/// Solves the question with a solver.
fn solve<E: Execution, Q: Question<E>>(
    net: &mut Unfolding,
    machine: &mut E,
    question: &Q,
    tick: &mut dyn FnMut() -> ControlFlow<Bound>,
    solver: impl FnOnce(&mut E, &Structure<Q::Value>) -> Result<Solved, Refused>,
) -> Result<ReachOutcome, Refused> {
    let structure = match net.structure(machine, question, tick) {
        ControlFlow::Break(bound) => return Ok(ControlFlow::Break(bound)),
        ControlFlow::Continue(structure) => structure,
    };
    Ok(match solver(machine, &structure)? {
        Some(happened) => {
            let schedule = happened.map(|all| net.schedule_of_all(&all));
            ControlFlow::Continue((schedule, 0))
        }
        None => ControlFlow::Break(Bound::Undecided),
    })
}

/// Records the bound if one was hit. If the solver did not decide, a limit may have stopped it.
fn note(
    outcome: ReachOutcome,
    budget: Budget<'_>,
    found: &mut Findings,
    watch: &mut Watch<'_>,
) -> (Option<Schedule>, u64) {
    match outcome {
        ControlFlow::Continue(answer) => answer,
        ControlFlow::Break(bound) => {
            let by = match bound {
                Bound::Undecided => budget.look(found.counts, watch).break_value(),
                _ => None,
            };
            found.bounds.push(by.unwrap_or(bound));
            found.stopped = StopReason::Bound;
            (None, 0)
        }
    }
}

/// Returns a shorter schedule to the state if there is time and a fixed effort finds one, and
/// otherwise the given schedule.
fn nearest(machine: &mut Machine, schedule: &Schedule, question: &NetQuestion<'_>) -> Schedule {
    if question.budget.time().is_break() {
        return schedule.clone();
    }
    // A number beyond 64 bits in this search does not affect the answer.
    let out_of_range = question.out_of_range.get();
    let most = schedule.0.len().saturating_sub(1);
    let shorter = shortest(machine, most, &mut |machine| question.holds_now(machine));
    question.out_of_range.set(out_of_range);
    shorter.unwrap_or_else(|| schedule.clone())
}

/// Runs the schedule, and checks the property again. Returns `None` if a number in the property
/// exceeds 64 bits, which is a bound.
fn shown(
    machine: &mut Machine,
    schedule: &Schedule,
    question: &NetQuestion<'_>,
    found: &mut Findings,
) -> Option<Run> {
    let schedule = &nearest(machine, schedule, question);
    let run = match machine.narrate(schedule) {
        Ok(run) => run,
        Err(error) => panic!("a schedule of the net does not run: {error}"),
    };
    if question.holds_now(machine) {
        return Some(run);
    }
    // In the run with numbers a guard may exceed 64 bits, so that the run does not end in a
    // deadlock.
    let left = question.out_of_range.get() || question.property.deadlock();
    assert!(left, "the run does not reach the state: {schedule}");
    found.add_bound(Bound::IntRange);
    None
}
