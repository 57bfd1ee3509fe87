//! `unfold`: builds a net that represents all executions, from as few test executions as possible.
//!
//! Failures and deadlocks are found in the net even if no test has shown them. docs/unfold.md has
//! the details.
//!
//! ```
//! use mazurka::unfold::{NetKind, Unfold};
//! use mazurka::{Options, Program, quietly};
//!
//! let source = "var x, y: int = 0  process { x := 1 }  process { y := 1 }";
//! let program = Program::load("apart.maz", source, &[]).unwrap();
//! let wanted = Unfold { kind: NetKind::Contextual, seed: 0 };
//! let net = program.unfold(wanted, &Options::default(), &mut quietly());
//! assert_eq!(net.unwrap().tests, 1);
//! ```

use std::sync::Arc;

use mazurka_abs::NoNet;
use mazurka_core::record::{Binding, Net, NetCondition, NetEvent, Record};
use mazurka_core::{
    Bound, Execution, Kind, Kinds, Narrator, ProcessId, Schedule, Semantics, StopReason, Verdict,
};
use mazurka_explore::{Drawing, Drawn, Findings, Observer, Unfolded, Unfolding, Workers};
use mazurka_lang::{Code, LastStep, Machine, SymbolicMachine};
use serde::{Deserialize, Serialize};

use crate::evidence::EvidenceTime;
use crate::front::{Front, on_front};
use crate::run::Plan;
use crate::search::{Head, TestSink, everything};
use crate::unknowns::{ForAll, doubt, failures_and_deadlock, follow, given, over_numbers};
use crate::{Algorithm, Options, Program, Refused, Watch, quietly, search};

pub use mazurka_explore::{NetKind, Unfold, WalkStates};
pub use recorded::NotTaken;

mod recorded;

/// Limit on the events of a picture.
const MOST_EVENTS: usize = 300;

/// The record of an unfolding: the common record, and the net.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnfoldRecord {
    /// The common record. Its `events` are those of the net.
    #[serde(flatten)]
    pub record: Record,
    /// The kind of net: `replicated`, `contextual` or `stateful`.
    pub net: String,
    /// The seed for the choice of tests.
    pub seed: u64,
    /// Number of executions that were run to build the net, including discarded ones.
    pub tests: u64,
    /// Number of conditions of the net.
    pub conditions: u64,
    /// The number of states of the model, if these were visited instead of building a net. Then
    /// `events` are the steps between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub states: Option<u64>,
    /// For a stateful net: the size of the Petri net that it unfolds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelSize>,
}

/// The size of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelSize {
    /// Number of places: local states of processes, valuations of variables, locks.
    pub places: u64,
    /// Number of transitions.
    pub transitions: u64,
}

/// A net that is too large to be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the net has {events} events, and a picture shows at most {MOST_EVENTS}; make the program smaller (--set), \
     or draw the contextual net if this is none; --format text counts what there is"
)]
pub struct NetTooLarge {
    /// Number of events.
    pub events: usize,
}

impl Program {
    /// Builds a net from tests. Failures and deadlocks are violations. Not all final states are
    /// examined, so this can refute determinism but not verify it. The result does not depend on
    /// the number of workers.
    pub fn unfold(
        &self,
        wanted: Unfold,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<UnfoldRecord, Refused> {
        self.distinguishes_returns(wanted.kind)?;
        if let Some(program) = self.language.for_all() {
            let mut net = SymbolicNet::build(program, wanted, options, watch, &mut ())?;
            return Ok(self.symbolic_net_record(wanted, &mut net, watch));
        }
        Ok(on_front!(self.language, front => {
            let options = &options.started();
            let mut machine = front.machine_for_nets(options)?;
            let mut net = if front.maz().is_some() {
                let programs = || front.machine_for_a_search(options);
                let workers = Workers { count: options.jobs, programs: &programs };
                everything(wanted, options).share(&workers, watch)
            } else {
                // The numbers of cells depend on the order in which a machine meets them.
                everything(wanted, options).run(&mut machine, watch, &mut ()).into()
            };
            has_net(front, &machine)?;
            self.net_record(wanted, &mut net, &mut machine, options)
        }))
    }

    /// Checks that a net of this kind has separate events for returns of an operation that differ
    /// in the calls before them. Calls read the variable that a return writes, and in a contextual
    /// net an event does not include the reads before it among its causes.
    pub(crate) fn distinguishes_returns(&self, kind: NetKind) -> Result<(), Refused> {
        let object = |code: &Arc<Code>| code.program().linearizable.is_some();
        if kind == NetKind::Contextual && self.language.maz().is_some_and(object) {
            Err(Refused::ContextualObject)
        } else {
            Ok(())
        }
    }

    /// Like [`unfold`](Program::unfold), and passes every test to the sink, as the record of a run
    /// with the inputs that lead to it. One worker builds the net in one piece.
    pub fn unfold_tests(
        &self,
        wanted: Unfold,
        options: &Options,
        watch: &mut Watch<'_>,
        sink: TestSink<'_>,
    ) -> Result<UnfoldRecord, Refused> {
        self.distinguishes_returns(wanted.kind)?;
        let mut tests = 0;
        let mut test = |schedule: Schedule, inputs: &[Binding]| {
            let options = Options {
                inputs: inputs.iter().filter_map(given).collect(),
                ..options.clone()
            };
            let record = self.run(&Plan::Schedule(schedule), &options, &mut quietly());
            let record = record.unwrap_or_else(|e| panic!("a test does not run again: {e}"));
            tests += 1;
            sink(tests, &record);
        };
        Ok(match self.language.for_all() {
            Some(program) => {
                let mut unwritten = Vec::new();
                let complete =
                    |machine: &SymbolicMachine| match over_numbers(machine, None, options) {
                        Ok((_, run)) => test(run.schedule, &run.values),
                        Err(bounds) => unwritten.extend(bounds),
                    };
                let observer = &mut EachRun(complete);
                let mut net = SymbolicNet::build(program, wanted, options, watch, observer)?;
                let mut record = self.symbolic_net_record(wanted, &mut net, watch);
                record.record.add_bounds(unwritten);
                record
            }
            None => on_front!(self.language, front => {
                let observer = &mut EachRun(|machine: &_| test(schedule_of(machine), &[]));
                let options = &options.started();
                let mut machine = front.machine_for_nets(options)?;
                let net = everything(wanted, options).run(&mut machine, watch, observer);
                let mut net = net.into();
                has_net(front, &machine)?;
                self.net_record(wanted, &mut net, &mut machine, options)
            }),
        })
    }

    /// Visits the states of the model one after the other, without building a net. This is the
    /// naive search with which the stateful net is compared.
    ///
    /// ```
    /// use mazurka::unfold::WalkStates;
    /// use mazurka::{Options, Program, quietly};
    ///
    /// let source = "var x: int process { x := 1 } process { x := 2 }";
    /// let program = Program::load("writes.maz", &source.replace("int", "int = 0"), &[]).unwrap();
    /// let walk = WalkStates { seed: 0, sleep: false };
    /// let record = program.walk_states(walk, &Options::default(), &mut quietly()).unwrap();
    /// assert_eq!((record.states, record.tests), (Some(5), 1));
    /// ```
    pub fn walk_states(
        &self,
        walk: WalkStates,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<UnfoldRecord, Refused> {
        let seed = walk.seed;
        let walk = everything(walk, options);
        let kind = NetKind::Stateful;
        let wanted = Unfold { kind, seed };
        let (states, record) = match self.language.for_all() {
            Some(program) => {
                let options = &options.started();
                let mut machine = program.split_for_nets(options)?;
                let mut walked = walk.run(&mut machine, watch, &mut ());
                let record = self.judge_for_all(&mut walked.found, &mut machine, options, watch);
                (walked.states, finish(record, wanted, &walked.found, 0))
            }
            None => on_front!(self.language, front => {
                let options = &options.started();
                let mut machine = front.machine_for_nets(options)?;
                let mut walked = walk.run(&mut machine, watch, &mut ());
                has_net(front, &machine)?;
                let record = self.judge_net(&mut walked.found, &mut machine, options);
                (walked.states, finish(record, wanted, &walked.found, 0))
            }),
        };
        Ok(UnfoldRecord {
            states: Some(states),
            ..record
        })
    }

    /// Builds a net from tests, for a picture.
    pub fn unfold_net(
        &self,
        wanted: Unfold,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<(UnfoldRecord, Net), Refused> {
        self.drawn_net(wanted, Subject::Net, options, watch)
    }

    /// Builds a stateful net, and returns the Petri net that it unfolds: its conditions are places,
    /// its events transitions.
    ///
    /// ```
    /// use mazurka::{Options, Program, quietly};
    ///
    /// let source = "var x: int = 0 process { x := 1 } process { x := 2 } process { x := 3 }";
    /// let program = Program::load("writes.maz", source, &[]).unwrap();
    /// let (_, model) = program.unfold_model(0, &Options::default(), &mut quietly()).unwrap();
    /// assert_eq!((model.conditions.len(), model.events.len()), (10, 9));
    /// ```
    pub fn unfold_model(
        &self,
        seed: u64,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<(UnfoldRecord, Net), Refused> {
        let kind = NetKind::Stateful;
        self.drawn_net(Unfold { kind, seed }, Subject::Model, options, watch)
    }

    fn drawn_net(
        &self,
        wanted: Unfold,
        subject: Subject,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<(UnfoldRecord, Net), Refused> {
        self.distinguishes_returns(wanted.kind)?;
        let small = |net: &Unfolding| match subject.draw(net).1.len() {
            events if events > MOST_EVENTS => Err(NetTooLarge { events }),
            _ => Ok(()),
        };
        if let Some(program) = self.language.for_all() {
            let mut symbolic = SymbolicNet::build(program, wanted, options, watch, &mut ())?;
            let record = self.symbolic_net_record(wanted, &mut symbolic, watch);
            let SymbolicNet {
                mut net,
                mut machine,
                ..
            } = symbolic;
            small(&net)?;
            let code = Arc::clone(machine.code());
            let label = |schedule: &Schedule| label_for_inputs(&mut machine, schedule, options);
            let names = program.machine(options);
            let cell = |cell: u32| code.cell_name(cell);
            return Ok((record, drawn((&names, &cell), &mut net, subject, label)));
        }
        on_front!(self.language, front => {
            let options = &options.started();
            let mut machine = front.machine_for_nets(options)?;
            let net = everything(wanted, options).run(&mut machine, watch, &mut ());
            has_net(front, &machine)?;
            let mut unfolded = Unfolded::from(net);
            let record = self.net_record(wanted, &mut unfolded, &mut machine, options);
            let mut net = unfolded.net.expect("a net that was built in one piece");
            small(&net)?;
            let mut teller = front.machine_for_nets(options)?;
            let label = |schedule: &Schedule| label_of_last(&mut teller, schedule);
            let cell = |cell: u32| machine.cell_name(cell);
            Ok((record, drawn((&machine, &cell), &mut net, subject, label)))
        })
    }

    fn net_record<M: Narrator + Semantics>(
        &self,
        wanted: Unfold,
        built: &mut Unfolded,
        machine: &mut M,
        options: &Options,
    ) -> UnfoldRecord {
        let record = self.judge_net(&mut built.found, machine, options);
        UnfoldRecord {
            model: built.net.as_ref().and_then(model_size),
            ..finish(record, wanted, &built.found, built.conditions)
        }
    }

    fn symbolic_net_record(
        &self,
        wanted: Unfold,
        symbolic: &mut SymbolicNet,
        watch: &mut Watch<'_>,
    ) -> UnfoldRecord {
        let SymbolicNet {
            net,
            machine,
            options,
        } = symbolic;
        let record = self.judge_for_all(&mut net.found, machine, options, watch);
        UnfoldRecord {
            model: model_size(net),
            ..finish(record, wanted, &net.found, net.conditions())
        }
    }

    fn judge_net<M: Narrator + Semantics>(
        &self,
        found: &mut Findings,
        machine: &mut M,
        options: &Options,
    ) -> Record {
        self.leave_final_states(found);
        let counted = self.counted_in_nets(options);
        let head = Head::new("unfold", Algorithm::Optimal, options, counted);
        let shown = search::shown(machine, found, head);
        let mut record = self.record_of(head, found, shown);
        // Only the final states of the tests are known, so the program may be nondeterministic even
        // if they agree.
        record.deterministic = record.deterministic.filter(|&all_agree| !all_agree);
        record
    }

    fn judge_for_all(
        &self,
        found: &mut Findings,
        machine: &mut SymbolicMachine,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Record {
        self.leave_final_states(found);
        doubt(machine, options, found, watch);
        options.show();
        let evidence_time = EvidenceTime::after(found, &options.limits);
        let counted = self.counted_in_nets(options);
        let shown = failures_and_deadlock(machine, options, found, &evidence_time, counted);
        let head = Head::new("unfold", Algorithm::Optimal, options, counted);
        let mut record = self.record_of(head, found, shown);
        // Results are terms here, and different terms may have the same value.
        record.deterministic = None;
        record
    }

    /// Returns the kinds of violations that count in a net. A net has no cycles, so it shows no
    /// livelocks.
    fn counted_in_nets(&self, options: &Options) -> Kinds {
        let counted = self.counted_by_explorers(options);
        counted.without(Kinds::of(&[Kind::Livelock]))
    }

    /// Adds the bound for properties of final states, which are not checked.
    fn leave_final_states(&self, found: &mut Findings) {
        if self.language.states_ensures() && found.stopped == StopReason::Complete {
            found.bounds.push(Bound::FinalStates);
            found.stopped = StopReason::Bound;
        }
    }
}

/// A net for all inputs, over symbolic values, in which the sides of conditions are events.
struct SymbolicNet {
    net: Unfolding,
    /// A machine that can follow the schedules of the net.
    machine: SymbolicMachine,
    /// The options since the search began.
    options: Options,
}

impl SymbolicNet {
    fn build(
        program: &ForAll,
        wanted: Unfold,
        options: &Options,
        watch: &mut Watch<'_>,
        observer: &mut dyn Observer<SymbolicMachine>,
    ) -> Result<Self, Refused> {
        let options = options.started();
        let mut machine = program.split_for_nets(&options)?;
        let net = everything(wanted, &options).run(&mut machine, watch, observer);
        Ok(Self {
            net,
            machine,
            options,
        })
    }
}

/// Forwards every complete run.
struct EachRun<F>(F);

impl<E: Execution, F: FnMut(&E)> Observer<E> for EachRun<F> {
    fn complete(&mut self, program: &E) {
        (self.0)(program);
    }
}

fn schedule_of<E: Execution>(program: &E) -> Schedule {
    Schedule::from_run(program.events(), program.processes())
}

/// Creates the record of an unfolding.
fn finish(mut record: Record, wanted: Unfold, found: &Findings, conditions: u64) -> UnfoldRecord {
    record.algorithm = "unfold".to_owned();
    debug_assert!(record.verdict != Verdict::Verified || record.scope.bounds.is_empty());
    let counts = found.counts;
    UnfoldRecord {
        record,
        net: wanted.kind.to_string(),
        seed: wanted.seed,
        tests: counts.executions + counts.discarded,
        conditions,
        states: None,
        model: None,
    }
}

/// Whether the net built with a machine is a net of the program.
fn has_net<F: Front>(_front: &F, machine: &F::Machine) -> Result<(), NoNet> {
    F::has_net(machine)
}

fn model_size(net: &Unfolding) -> Option<ModelSize> {
    let (model, _) = net.draw_model()?;
    Some(ModelSize {
        places: model.conditions.len() as u64,
        transitions: model.events.len() as u64,
    })
}

/// The subject of a picture.
#[derive(Clone, Copy)]
enum Subject {
    Net,
    Model,
}

impl Subject {
    /// Returns the drawing and, for each of its events, an event of the net.
    fn draw(self, net: &Unfolding) -> (Drawing, Vec<usize>) {
        match (self, net.draw_model()) {
            (Subject::Model, Some((model, events))) => (model.clone(), events),
            _ => (net.draw(), (0..net.events()).collect()),
        }
    }
}

/// The label of an event, and its mishap, if any.
pub(crate) type EventLabel = (String, Option<String>);

/// Repeats a schedule, and returns the label of its last step.
fn label_of_last<M: Narrator>(machine: &mut M, schedule: &Schedule) -> EventLabel {
    match machine.narrate(schedule) {
        Ok(run) => run.steps.into_iter().last().map_or_else(
            || panic!("a schedule of an event without steps"),
            |step| (step.label, step.mishap),
        ),
        Err(error) => panic!("a schedule of the net does not run again: {error}"),
    }
}

/// Like `label_of_last`, with inputs that lead to the event, and with the constraint of the step.
pub(crate) fn label_for_inputs(
    machine: &mut SymbolicMachine,
    schedule: &Schedule,
    options: &Options,
) -> EventLabel {
    follow(machine, schedule);
    let kind = machine.last_step();
    let constraint = match &machine.last_conditions()[..] {
        [] => String::new(),
        conditions => mazurka_core::conjunction(conditions),
    };
    let mishaps = machine.events().last().map(|event| &event.mishaps[..]);
    let mishap = mishaps.and_then(<[_]>::first).copied();
    let explained = |mishap| machine.explain(&mishap).0;
    let (label, mishap) = match (kind, machine.concrete(None)) {
        (LastStep::Start, _) => ("starts".to_owned(), mishap.map(explained)),
        (LastStep::Branch, _) => ("branches".to_owned(), mishap.map(explained)),
        (LastStep::Stay, _) => ("waits".to_owned(), None),
        (LastStep::Step, Some(run)) => {
            let mut machine = Machine::new(run.code, options.limits.local);
            let (label, narrated) = label_of_last(&mut machine, &run.schedule);
            // With numbers, a step includes its branches, which are separate events of this net.
            (label, narrated.filter(|_| mishap.is_some()))
        }
        // No values that lead to the event are known.
        (LastStep::Step, None) => (String::new(), None),
    };
    if constraint.is_empty() {
        (label, mishap)
    } else {
        (format!("{label} [{constraint}]"), mishap)
    }
}

/// Returns the net with its labels. Each event is repeated and described.
fn drawn<M: Narrator>(
    (names, cell_name): (&M, &dyn Fn(u32) -> String),
    net: &mut Unfolding,
    subject: Subject,
    mut label_of: impl FnMut(&Schedule) -> EventLabel,
) -> Net {
    let (drawing, examples) = subject.draw(net);
    let mut events = Vec::with_capacity(drawing.events.len());
    for (event, arcs) in examples.into_iter().zip(drawing.events) {
        let schedule = net.schedule_of(event);
        let (label, mishap) = label_of(&schedule);
        events.push(NetEvent {
            process: names.name_of(&schedule.0[schedule.0.len() - 1].process),
            label,
            mishap,
            takes: arcs.takes,
            reads: arcs.reads,
            makes: arcs.makes,
            terminal: arcs.terminal,
        });
    }
    let name = |process: ProcessId| names.name_of(net.processes().path(process));
    let label = |drawn: &Drawn| match *drawn {
        Drawn::Thread(process) => name(process),
        Drawn::Cell(cell) => cell_name(cell),
        Drawn::Copy(cell, process) => format!("{} of {}", cell_name(cell), name(process)),
    };
    let condition = |drawn: &Drawn| NetCondition {
        label: label(drawn),
        thread: matches!(drawn, Drawn::Thread(_)),
    };
    Net {
        conditions: drawing.conditions.iter().map(condition).collect(),
        events,
        deadlocks: drawing.deadlocks,
    }
}
