//! Describes executions under a weak memory model, step by step: turns the schedules and graphs of
//! a search into witnesses, and replays recorded runs.

use std::ops::ControlFlow;
use std::sync::Arc;

use mazurka_core::record::{Difference, Kind, MemoryStep, Place, Run, Step, Waiting, Witness};
use mazurka_core::{
    Bound, Execution, Kinds, Limits, Mishap, MishapKind, Narrator as _, ProcessId, Random,
    ReplayReason, Schedule as Written, ScheduledStep, Status, ending,
};
use mazurka_diagnostics::MARK;
use mazurka_lang::{Code, Machine};
use mazurka_memory::graph::{Event, Graph, Kind as Access, Slot};
use mazurka_memory::schedule::{Schedule, ScheduledAction};
use mazurka_memory::{
    Action, End, Ending, Failure, Finding, Found, Loc, Memory, Program as _, Replay, ReplayError,
    ThreadId, Threads, Visitor, replay_graph, sample,
};
use rustc_hash::FxHashMap;

use super::missing::missing;
use super::unknowns::before;
use crate::evidence::enumerate;
use crate::replay::{ReplayProblem, same_steps};

/// Describes the executions of one program under one model.
pub(super) struct Narrator<'a> {
    pub code: &'a Arc<Code>,
    pub memory: Memory,
    /// The limit on local work in one step.
    pub local: u64,
}

/// One execution and its violations.
pub(super) struct JudgedExecution {
    pub run: Run,
    /// The processes that can continue.
    pub ready: Vec<String>,
    pub witnesses: Vec<Witness>,
    /// The program at its end.
    pub machine: Machine,
}

/// Collects the steps of a drawn execution.
#[derive(Default)]
struct DrawnSchedule(Schedule);

impl<P: mazurka_memory::Program> Visitor<P> for DrawnSchedule {
    fn end(&mut self, end: &mut End<'_, P>) -> ControlFlow<()> {
        self.0 = end.schedule();
        ControlFlow::Break(())
    }

    fn cut(&mut self, steps: &dyn Fn() -> Schedule) {
        self.0 = steps();
    }
}

/// A step of a schedule that does not fit.
pub(super) struct Misfit {
    /// The step, from 1.
    pub step: usize,
    /// The reason.
    pub what: String,
}

impl From<Misfit> for ReplayProblem {
    fn from(misfit: Misfit) -> Self {
        let Misfit { step, what } = misfit;
        Self::Diverged { step, what }
    }
}

/// Evidence, and the bounds that some executions have reached.
pub(super) struct WeakEvidence {
    pub witnesses: Vec<Witness>,
    pub bounds: Vec<Bound>,
}

/// An execution that has been described.
struct DescribedExecution {
    run: Run,
    replay: Replay,
    /// Its mishaps.
    mishaps: Vec<Mishap>,
    machine: Machine,
    /// The step of each event, counted from 1, by the thread and the index of the event.
    steps: FxHashMap<(u32, u32), usize>,
}

impl Narrator<'_> {
    fn machine(&self) -> Machine {
        Machine::new(Arc::clone(self.code), self.local)
    }

    /// Returns the evidence for the findings of a search.
    pub fn witnesses(
        &self,
        found: &Found,
        broken: &[(u32, Schedule)],
        counted: Kinds,
    ) -> WeakEvidence {
        let mut shown = WeakEvidence {
            witnesses: Vec::new(),
            bounds: Vec::new(),
        };
        let failing = broken
            .iter()
            .map(|(site, schedule)| (Some(*site), schedule));
        let findings = found.findings.iter();
        let failed = findings
            .clone()
            .filter_map(|finding| match finding.failure {
                Failure::Failed { code, .. } => Some((Some(code), &finding.schedule)),
                Failure::Race { .. } => Some((None, &finding.schedule)),
                Failure::Deadlock => None,
            });
        for (site, schedule) in failed.chain(failing) {
            let narrated = self.retell(schedule);
            let witness = match site {
                Some(site) => match narrated.mishap(site) {
                    Some(mishap) if !narrated.machine.counts(&mishap) => continue,
                    Some(mishap) if mishap.kind == MishapKind::Failure => narrated.failure(&mishap),
                    Some(mishap) => {
                        shown.bounds.extend(self.bound(mishap.kind));
                        continue;
                    }
                    None => panic!("a failure does not come again: {schedule}"),
                },
                None => narrated.race(),
            };
            if counted.contains(Kind::Failure) {
                shown.witnesses.push(witness);
            }
        }
        let deadlock = findings.filter(|finding| finding.failure == Failure::Deadlock);
        for finding in deadlock.filter(|_| counted.contains(Kind::Deadlock)) {
            shown
                .witnesses
                .push(self.retell(&finding.schedule).deadlock());
        }
        shown
    }

    /// Whether the execution of a finding can be made and shows the finding.
    pub fn shows(&self, finding: &Finding) -> bool {
        let Ok(narrated) = self.tell(&finding.schedule) else {
            return false;
        };
        match finding.failure {
            Failure::Failed { code, .. } => narrated.mishap(code).is_some(),
            Failure::Race { .. } => narrated.races(),
            Failure::Deadlock => narrated.replay.ending == Some(Ending::Deadlock),
        }
    }

    fn bound(&self, kind: MishapKind) -> Option<Bound> {
        match kind {
            MishapKind::LocalLimit => Some(Bound::MaxLocal(self.local)),
            MishapKind::OutOfRange => Some(Bound::IntRange),
            _ => None,
        }
    }

    /// Returns the evidence that two executions have different results.
    pub fn difference(&self, one: &Schedule, other: &Schedule) -> Witness {
        let (one, other) = (self.retell(one), self.retell(other));
        let (first, second) = (one.machine.bindings(true), other.machine.bindings(true));
        let pairs = first.into_iter().zip(second);
        let pairs = pairs.filter(|(one, other)| one.value != other.value);
        let differs: Vec<Difference> = pairs
            .map(|(one, other)| Difference {
                name: one.name,
                first: one.value,
                second: other.value,
            })
            .collect();
        let names: Vec<&str> = differs.iter().map(|one| one.name.as_str()).collect();
        Witness {
            message: format!(
                "two executions end with different values of {}",
                names.join(", ")
            ),
            differs,
            ..witness(Kind::Nondeterminism, vec![one.run, other.run])
        }
    }

    /// Replays a witness of an earlier search.
    pub fn replay_witness(&self, old: &Witness) -> Result<Witness, ReplayProblem> {
        let changed = || {
            let what = "the recorded violation does not happen";
            Err(ReplayProblem::Changed(what.to_owned()))
        };
        let runs = old.runs.iter().map(|run| self.reread(run));
        let runs: Vec<DescribedExecution> = runs.collect::<Result<_, _>>()?;
        let [narrated] = &runs[..] else {
            let schedules = old.runs.iter().map(|run| self.read(&run.schedule));
            let schedules: Vec<Schedule> = schedules.collect::<Result<_, _>>()?;
            return match &schedules[..] {
                [one, other] => {
                    let new = self.difference(one, other);
                    if new.differs.is_empty() {
                        changed()
                    } else {
                        Ok(new)
                    }
                }
                _ => changed(),
            };
        };
        let candidates = match old.kind {
            Kind::Failure if narrated.races() => vec![narrated.race()],
            Kind::Failure => {
                let failures = narrated
                    .mishaps
                    .iter()
                    .filter(|mishap| narrated.counts(mishap));
                failures.map(|mishap| narrated.failure(mishap)).collect()
            }
            Kind::Deadlock if narrated.replay.ending == Some(Ending::Deadlock) => {
                vec![narrated.deadlock()]
            }
            _ => Vec::new(),
        };
        let mut same = candidates
            .into_iter()
            .filter(|new| new.message == old.message);
        same.next().map_or_else(changed, Ok)
    }

    /// Checks that a recorded run can be reproduced.
    pub fn compare(&self, old: &Run) -> Result<(), ReplayProblem> {
        self.reread(old).map(|_| ())
    }

    /// Replays a recorded run and compares it.
    fn reread(&self, old: &Run) -> Result<DescribedExecution, ReplayProblem> {
        let narrated = self.tell(&self.read(&old.schedule)?)?;
        same_steps(old, &narrated.run)?;
        Ok(narrated)
    }

    /// Parses a schedule.
    fn read(&self, text: &str) -> Result<Schedule, ReplayProblem> {
        Ok(self.schedule(&text.parse()?)?)
    }

    /// Returns a schedule in the form of the engine, in which the number after `=` in a step is an
    /// outcome. The engine indexes started processes in the order in which they start, so this
    /// function makes the steps with a machine.
    pub fn schedule(&self, written: &Written) -> Result<Schedule, Misfit> {
        let mut schedule = Schedule::default();
        let mut machine = self.machine();
        for (at, step) in written.0.iter().enumerate() {
            if machine.processes().find(&step.process).is_none() {
                machine = self.tell(&schedule)?.machine;
            }
            let Some(process) = machine.processes().find(&step.process) else {
                let narrated = self.tell(&schedule)?;
                let process = step.process.to_string();
                return Err(narrated.misfit(at, process, ReplayReason::NoSuchProcess));
            };
            let outcome = match step.outcomes[..] {
                [] => Some(0),
                [outcome] => u32::try_from(outcome).ok(),
                _ => None,
            };
            let Some(outcome) = outcome else {
                let given = step.outcomes.iter().map(ToString::to_string);
                let given = given.collect::<Vec<_>>().join(",");
                return Err(self.no_outcome(at, &machine.name_of(&step.process), &given));
            };
            let thread = ThreadId(process.0);
            schedule.0.push(ScheduledAction { thread, outcome });
        }
        Ok(schedule)
    }

    /// Returns the error for a step, numbered from 0, whose outcome the model does not allow.
    fn no_outcome(&self, at: usize, process: &str, outcome: &str) -> Misfit {
        let step = at + 1;
        let memory = self.memory;
        let what = format!(
            "step {step} of the schedule: {process} has no outcome {outcome} here under {memory}; the number after `=` says how many newer writes a read does not see, or a write comes before, or what is chosen"
        );
        Misfit { step, what }
    }

    /// Returns why a schedule does not fit the program. The text uses the names of processes.
    fn misfit(&self, schedule: &Schedule, error: &ReplayError) -> Misfit {
        let (ReplayError::NotReady { step: at, .. } | ReplayError::NoOutcome { step: at, .. }) =
            *error;
        let scheduled = schedule.0[at];
        let process = ProcessId(scheduled.thread.0);
        let narrated = match self.tell(&Schedule(schedule.0[..at].to_vec())) {
            Ok(narrated) => narrated,
            Err(earlier) => return earlier,
        };
        let name = narrated
            .machine
            .name_of(narrated.machine.processes().path(process));
        if let ReplayError::NoOutcome { outcome, .. } = error {
            return self.no_outcome(at, &name, &outcome.to_string());
        }
        let reason = match narrated.machine.status(process) {
            Status::Unborn => ReplayReason::NoSuchProcess,
            Status::Ready => ReplayReason::NotReady(Status::Waiting),
            status => ReplayReason::NotReady(status),
        };
        narrated.misfit(at, name, reason)
    }

    /// Draws an execution at random; the same seed gives the same execution. Also returns the
    /// limits that cut it off.
    pub fn drawn(&self, seed: u64, limits: &Limits) -> (Schedule, Vec<Bound>) {
        let mut drawn = DrawnSchedule::default();
        let one = Limits {
            executions: Some(1),
            ..limits.clone()
        };
        let threads = Threads::<_, false>::new(|| self.machine());
        let found = sample(threads, self.memory, &one, Random::new(seed), &mut drawn);
        let mut bounds = found.bounds;
        bounds.retain(|bound| !matches!(bound, Bound::Sampled(_)));
        (drawn.0, bounds)
    }

    /// Runs the execution of a schedule, and returns all its violations.
    pub fn judged_execution(&self, schedule: &Schedule) -> Result<JudgedExecution, Misfit> {
        let narrated = self.tell(schedule)?;
        let failures = narrated
            .mishaps
            .iter()
            .filter(|mishap| narrated.counts(mishap));
        let mut witnesses: Vec<Witness> = failures.map(|mishap| narrated.failure(mishap)).collect();
        if narrated.races() {
            witnesses.push(narrated.race());
        }
        if narrated.replay.ending == Some(Ending::Deadlock) {
            witnesses.push(narrated.deadlock());
        }
        let marked = witnesses.first().and_then(|witness| witness.runs.first());
        let run = marked.unwrap_or(&narrated.run).clone();
        let name = |thread: &ThreadId| narrated.machine.processes().path(ProcessId(thread.0));
        let ready = narrated.replay.ready.iter();
        Ok(JudgedExecution {
            run,
            ready: ready.map(|it| name(it).to_string()).collect(),
            witnesses,
            machine: narrated.machine,
        })
    }

    /// Describes an execution that the search has found. It is a defect if it cannot be repeated.
    fn retell(&self, schedule: &Schedule) -> DescribedExecution {
        match self.tell(schedule) {
            Ok(narrated) => narrated,
            Err(Misfit { what, .. }) => {
                panic!("a schedule that the search found does not run again: {what}")
            }
        }
    }

    fn tell(&self, schedule: &Schedule) -> Result<DescribedExecution, Misfit> {
        let threads = || Threads::<_, false>::new(|| self.machine());
        let replayed = replay_graph(threads(), self.memory, schedule);
        let (replay, graph) = replayed.map_err(|error| self.misfit(schedule, &error))?;
        let mut teller = ScheduleNarrator {
            code: self.code,
            walk: Walk::new(&graph),
            threads: threads(),
            steps: Vec::new(),
        };
        for action in &schedule.0 {
            teller.make(action.thread);
        }
        Ok(teller.end(schedule, replay))
    }
}

/// Follows a graph in the order of a schedule.
pub(super) struct Walk<'a> {
    graph: &'a Graph,
    /// The next event of each thread.
    next: Vec<u32>,
    /// The step of each event, counted from 1, by the thread and the index of the event.
    pub made: FxHashMap<(u32, u32), usize>,
}

impl<'a> Walk<'a> {
    pub fn new(graph: &'a Graph) -> Self {
        Self {
            graph,
            next: vec![0; graph.threads() as usize],
            made: FxHashMap::default(),
        }
    }

    /// Returns the next event of a thread and, if it is the read of an update, the write of the
    /// update. For any other event, returns this event twice. Returns `None` after the last event.
    pub fn next(&mut self, thread: ThreadId) -> Option<(Event, Event)> {
        let at = self.next.get_mut(thread.index())?;
        let &slot = self.graph.thread(thread).get(*at as usize)?;
        let event = *self.graph.event(slot);
        *at += 1;
        let mut last = event;
        if event.kind.reads_exclusively()
            && let Some(&write) = self.graph.thread(thread).get(*at as usize)
        {
            last = *self.graph.event(write);
            *at += 1;
        }
        Some((event, last))
    }

    /// Records that these events are the step with this index, counted from 1.
    pub fn record_step(&mut self, events: [&Event; 2], step: usize) {
        for event in events {
            self.made.insert((event.thread.0, event.index), step);
        }
    }

    /// Records the step of a thread's racing access, which is not part of the graph.
    pub fn record_racing_step(&mut self, thread: ThreadId, step: usize) {
        let index = self.next.get(thread.index()).copied().unwrap_or(0);
        self.made.insert((thread.0, index), step);
    }

    /// Returns the value that a racing access to a location reads: the last value in the graph, or
    /// the initial value if the graph has none.
    pub fn last_value(&self, loc: Loc, initial: impl FnOnce() -> i64) -> i64 {
        if self.graph.knows(loc) {
            self.graph.final_value(loc)
        } else {
            initial()
        }
    }

    /// Describes an access that is not part of the graph. Returns `None` if the action is not an
    /// access.
    pub fn racing_access(
        action: Action,
        name: impl Fn(Loc) -> String,
    ) -> Option<(Loc, MemoryStep)> {
        let (loc, order, access) = match action {
            Action::Read { loc, order } | Action::Await { loc, order } => (loc, order, "read"),
            Action::Write { loc, order, .. } => (loc, order, "write"),
            Action::Update { loc, order, .. } => (loc, order, "update"),
            _ => return None,
        };
        let memory = MemoryStep {
            access: access.to_owned(),
            order: order.to_string(),
            place: Some(name(loc)),
            reads_from: None,
            behind: Vec::new(),
        };
        Some((loc, memory))
    }

    /// Describes the access of a step. For an update, `last` is its write.
    pub fn access(
        &self,
        event: &Event,
        last: &Event,
        name: impl Fn(Loc) -> String,
    ) -> Option<Box<MemoryStep>> {
        let access = match event.kind {
            Access::Fence => "fence",
            Access::Store => "write",
            Access::Unlock => "unlock",
            Access::LockRead => "lock",
            Access::UpdateRead => "update",
            kind if kind.is_read() => "read",
            _ => return None,
        };
        let located = event.kind != Access::Fence;
        let reads = event.kind.is_read();
        Some(Box::new(MemoryStep {
            access: access.to_owned(),
            order: event.order.to_string(),
            place: located.then(|| name(event.loc)),
            reads_from: reads.then(|| self.step_of(event.rf)),
            behind: if located {
                self.newer(last)
            } else {
                Vec::new()
            },
        }))
    }

    /// Returns the index of the step of a write, counted from 1; 0 for the initial write.
    fn step_of(&self, write: Slot) -> usize {
        if write == Slot::INITIAL {
            return 0;
        }
        let write = self.graph.event(write);
        let known = self.made.get(&(write.thread.0, write.index));
        known.copied().unwrap_or(0)
    }

    /// Returns the steps made so far whose writes come later in mo than the write that this event
    /// reads or makes.
    fn newer(&self, event: &Event) -> Vec<usize> {
        let own = self.graph.position(event);
        let later = own + 1..=self.graph.last_position(event.loc);
        let later =
            later.map(|position| self.graph.event(self.graph.write_at(event.loc, position)));
        let made = later.filter_map(|write| self.made.get(&(write.thread.0, write.index)));
        let mut made: Vec<usize> = made.copied().collect();
        made.sort_unstable();
        made
    }
}

/// Describes the steps of a schedule.
struct ScheduleNarrator<'a> {
    code: &'a Code,
    walk: Walk<'a>,
    threads: Threads<Machine, false>,
    steps: Vec<Step>,
}

impl ScheduleNarrator<'_> {
    /// Makes the next step of a thread.
    fn make(&mut self, thread: ThreadId) {
        let Some((event, last)) = self.walk.next(thread) else {
            return self.make_racing(thread);
        };
        if event.kind == Access::Stuck {
            return;
        }
        let code = self.code;
        let memory = self.walk.access(&event, &last, |loc| code.cell_name(loc.0));
        let before = before(self.walk.graph, &event);
        let mut narrated = None;
        self.threads
            .answer_by(thread, before, |machine, process, outcomes| {
                narrated = machine.tell(process, outcomes).ok();
                narrated.is_some()
            });
        let Some(step) = narrated else {
            return;
        };
        self.steps.push(Step { memory, ..step });
        self.walk.record_step([&event, &last], self.steps.len());
    }

    /// Makes the racing access that ends the execution. It is not part of the graph.
    fn make_racing(&mut self, thread: ThreadId) {
        let action = self.threads.pending(thread);
        let code = self.code;
        let Some((loc, memory)) = Walk::racing_access(action, |loc| code.cell_name(loc.0)) else {
            return;
        };
        let initial = || self.threads.initial_value(loc);
        let value = self.walk.last_value(loc, initial);
        let mut narrated = None;
        self.threads
            .answer_by(thread, value, |machine, process, outcomes| {
                narrated = machine.tell(process, outcomes).ok();
                narrated.is_some()
            });
        if let Some(step) = narrated {
            let memory = Some(Box::new(memory));
            self.steps.push(Step { memory, ..step });
            self.walk.record_racing_step(thread, self.steps.len());
        }
    }

    fn end(mut self, schedule: &Schedule, replay: Replay) -> DescribedExecution {
        let machine = self.threads.at_the_end(self.walk.graph);
        let path = |thread: ThreadId| machine.processes().path(ProcessId(thread.0));
        let step = |action: &ScheduledAction| ScheduledStep {
            process: path(action.thread).clone(),
            outcomes: (action.outcome > 0)
                .then_some(i64::from(action.outcome))
                .into_iter()
                .collect(),
        };
        let written = Written(schedule.0.iter().map(step).collect());
        let events = machine.events().iter();
        let mut mishaps: Vec<Mishap> = machine.initial_mishaps().to_vec();
        mishaps.extend(events.flat_map(|event| event.mishaps.iter().copied()));
        if machine.is_final() {
            mishaps.extend(machine.final_mishaps());
        }
        let run = machine.told(&written, self.steps);
        debug_assert_eq!(run.ending, ending(machine));
        DescribedExecution {
            run,
            replay,
            mishaps,
            machine: machine.clone(),
            steps: self.walk.made,
        }
    }
}

impl DescribedExecution {
    /// Returns the error for a step, numbered from 0, that is not possible.
    fn misfit(&self, at: usize, process: String, reason: ReplayReason) -> Misfit {
        let machine = &self.machine;
        let name =
            |thread: &ThreadId| machine.name_of(machine.processes().path(ProcessId(thread.0)));
        let refused = mazurka_core::ReplayError {
            step: at + 1,
            process,
            reason,
            ready: self.replay.ready.iter().map(name).collect(),
        };
        Misfit {
            step: refused.step,
            what: refused.to_string(),
        }
    }

    fn mishap(&self, site: u32) -> Option<Mishap> {
        self.mishaps
            .iter()
            .copied()
            .find(|mishap| mishap.site == site)
    }

    /// Whether a mishap is a failure without a false `assume` before it.
    fn counts(&self, mishap: &Mishap) -> bool {
        let noted = |failure: &Failure| match failure {
            Failure::Failed { code, .. } => *code == mishap.site,
            _ => false,
        };
        let at_the_end = mishap.process.is_none();
        mishap.kind == MishapKind::Failure && (at_the_end || self.replay.failures.iter().any(noted))
    }

    fn races(&self) -> bool {
        let failures = self.replay.failures.iter();
        failures
            .clone()
            .any(|failure| matches!(failure, Failure::Race { .. }))
    }

    fn failure(&self, mishap: &Mishap) -> Witness {
        let (message, place) = self.machine.explain(mishap);
        Witness {
            message,
            place,
            values: self.machine.values(mishap),
            ..witness(Kind::Failure, vec![self.run.clone()])
        }
    }

    /// Returns the evidence for the race that ends the run.
    fn race(&self) -> Witness {
        let race = self
            .replay
            .failures
            .iter()
            .find_map(|failure| match failure {
                Failure::Race { loc, first, second } => Some((*loc, *first, *second)),
                _ => None,
            });
        let mut run = self.run.clone();
        let (mut lines, mut places) = (Vec::new(), Vec::new());
        let mut name = String::new();
        if let Some((Loc(cell), first, second)) = race {
            name = self.machine.cell_name(cell);
            for (thread, index) in [first, second] {
                let at = self.steps.get(&(thread.0, index)).copied();
                if let Some(step) = at.and_then(|at| run.steps.get_mut(at - 1)) {
                    step.racing = true;
                    lines.push(step.line);
                    places.extend(at.map(|at| at - 1));
                }
            }
        }
        let missing = missing(&run.steps, &places);
        // If the program has several files, each step shows its own place.
        let one_file = !self.machine.code().source().contains(MARK);
        let place = lines.last().filter(|_| one_file);
        let place = place.map(|&line| self.line(line));
        Witness {
            message: format!(
                "data race on `{name}`: two accesses of different processes, one of them a write, and nothing orders them{missing}"
            ),
            place,
            ..witness(Kind::Failure, vec![run])
        }
    }

    /// Returns a line of the source.
    fn line(&self, line: usize) -> Place {
        let text = self.machine.code().source().lines().nth(line - 1);
        let text = text.unwrap_or_default();
        let inner = text.trim_start();
        Place {
            line,
            column: 1 + text.chars().count() - inner.chars().count(),
            text: inner.trim_end().to_owned(),
            file: None,
        }
    }

    fn deadlock(&self) -> Witness {
        let waiting = self.machine.waiting();
        let name = |waiting: &Waiting| self.run.name_of(&waiting.process).to_owned();
        let names: Vec<String> = waiting.iter().map(name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let verb = if names.len() == 1 { "waits" } else { "wait" };
        Witness {
            message: format!("deadlock: {} {verb} for ever", enumerate(&names)),
            waiting,
            ..witness(Kind::Deadlock, vec![self.run.clone()])
        }
    }
}

fn witness(kind: Kind, runs: Vec<Run>) -> Witness {
    crate::evidence::unexplained(kind, runs)
}
