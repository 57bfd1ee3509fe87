//! Describes executions under a memory model step by step, and writes their replays.
//!
//! After its version, a replay is `MODEL: SCHEDULE`, and perhaps `; FACTS` (facts.rs). In the
//! schedule, a step is a thread, perhaps with a number, as in `0.1=1`. Without a number it is 0.
//! The number depends on the kind of the step:
//! - for a read: how many of the earlier steps have made newer writes to the location than the one
//!   that is read. So the read `0.1=1` misses the newest write to its location and reads the one
//!   before.
//! - for a write: how many of the earlier steps have made writes to the location that come later in
//!   mo.
//! - for a choice: its outcome.

use std::fmt::Write;

use mazurka_core::{ProcessId, Schedule as Written, ScheduledStep};
use mazurka_memory::graph::{Event, Graph, Kind, Slot};
use mazurka_memory::schedule::{Schedule, ScheduledAction};
use mazurka_memory::{Action, Memory, Program, ThreadId, replay_graph};
use rustc_hash::FxHashMap;

use super::facts;
use super::program::WeakProgram;
use super::search::Fault;
use crate::inputs::Input;
use crate::report::{self, Line, Report};
use crate::simulate::RecordedStep;
use crate::version::with_version;
use crate::world::{Inner, Life};

/// Splits a replay into its memory model and its schedule, if it has a model.
pub(crate) fn split(replay: &str) -> Option<(Memory, &str)> {
    let (name, schedule) = replay.split_once(':')?;
    Some((name.trim().parse().ok()?, schedule))
}

/// Returns the text of a replay.
fn written(program: &WeakProgram, memory: Memory, schedule: &Schedule) -> String {
    let step = |step: &ScheduledAction| ScheduledStep {
        process: program.table.path(ProcessId(step.thread.0)).clone(),
        outcomes: Some(i64::from(step.outcome))
            .filter(|&outcome| outcome > 0)
            .into_iter()
            .collect(),
    };
    let steps = schedule.0.iter().map(step).collect();
    let facts = facts::written(program);
    with_version(&format!("{memory}: {}{facts}", Written(steps)))
}

/// Reads the schedule of a replay.
pub(crate) fn read(program: &mut WeakProgram, text: &str) -> Result<Schedule, String> {
    let (schedule, facts) = facts::split(text);
    facts::give(program, facts)?;
    let written: Written = schedule
        .trim()
        .parse()
        .map_err(|error| format!("this is no schedule: {error}"))?;
    let mut steps = Vec::new();
    for (at, step) in written.0.iter().enumerate() {
        let thread = program.thread(&step.process);
        let outcome = step.outcomes.first().copied().unwrap_or(0);
        let (Some(thread), Ok(outcome)) = (thread, u32::try_from(outcome)) else {
            return Err(format!("step {} is none of a model", at + 1));
        };
        steps.push(ScheduledAction { thread, outcome });
    }
    Ok(Schedule(steps))
}

/// An execution that is repeated step by step.
struct Describer<'a> {
    program: &'a mut WeakProgram,
    graph: &'a Graph,
    /// The index of the next event of each thread.
    next: Vec<u32>,
    /// The number of the step, from 1, that made each event.
    made: FxHashMap<(u32, u32), usize>,
    lines: Vec<Line>,
    weak: Vec<String>,
}

impl Describer<'_> {
    /// Makes the next step of a thread.
    fn make(&mut self, thread: ThreadId) {
        let at = self.next[thread.index()];
        let events = self.graph.thread(thread);
        let Some(&slot) = events.get(at as usize) else {
            return self.announce(thread);
        };
        let event = *self.graph.event(slot);
        let write = events.get(at as usize + 1).copied();
        let write = write.filter(|_| event.kind.reads_exclusively());
        let last = write.map_or(event, |write| *self.graph.event(write));
        self.next[thread.index()] += 1 + u32::from(write.is_some());
        if event.kind == Kind::Stuck {
            return self.announce(thread);
        }
        let value = match event.kind {
            kind if kind.is_read() && kind != Kind::LockRead => event.value,
            Kind::Choice | Kind::Decision => event.value,
            _ => 0,
        };
        self.program.answer(thread, value);
        let Some(step) = self.program.last_step() else {
            return;
        };
        let process = ProcessId(thread.0);
        let line = self
            .program
            .inner(|inner| report::line(inner, &step, process));
        self.describe_weak(&event, &last, &line.what);
        self.lines.push(line);
        for event in [event, last] {
            self.made.insert((thread.0, event.index), self.lines.len());
        }
    }

    /// Describes the access that a thread is about to make, without making it, because the access
    /// races.
    fn announce(&mut self, thread: ThreadId) {
        let process = ProcessId(thread.0);
        if !matches!(
            self.program.pending(thread),
            Action::Read { .. } | Action::Write { .. } | Action::Update { .. }
        ) {
            return;
        }
        let line = self.program.inner(|inner| {
            let step = RecordedStep {
                pending: inner.threads[process.index()].pending,
                words: Vec::new(),
                panic: None,
            };
            report::line(inner, &step, process)
        });
        self.lines.push(line);
        let index = self.next[thread.index()];
        self.made.insert((thread.0, index), self.lines.len());
    }

    /// Describes behaviour that no interleaving has: the step reads an older write than the newest,
    /// or makes a write that comes before the newest in mo.
    fn describe_weak(&mut self, event: &Event, last: &Event, what: &str) {
        // The call step of an operation (object.rs) may miss the end of another operation. That is
        // a choice of the client, not behaviour of the object.
        if !event.is_access() || what.starts_with(crate::object::KIND) {
            return;
        }
        let newer = self.newer(last);
        if newer.is_empty() {
            return;
        }
        let newer = match &newer[..] {
            [one] => format!("that of step {one}"),
            all => format!("those of steps {}", all.join(", ")),
        };
        let number = self.lines.len() + 1;
        let object = what.split('.').next().unwrap_or_default();
        self.weak.push(if event.kind.is_read() {
            match self.step_of(event.rf) {
                Some(write) => format!(
                    "weak: step {number} reads the {object} of step {write}, not yet {newer}"
                ),
                None => format!("weak: step {number} reads the initial {object}, not yet {newer}"),
            }
        } else {
            format!("weak: step {number} writes the {object} before {newer} does")
        });
    }

    fn step_of(&self, write: Slot) -> Option<usize> {
        if write == Slot::INITIAL {
            return None;
        }
        let write = self.graph.event(write);
        self.made.get(&(write.thread.0, write.index)).copied()
    }

    /// Returns the steps made so far whose writes come later in mo than the write that this event
    /// makes or reads from.
    fn newer(&self, event: &Event) -> Vec<String> {
        let own = self.graph.position(event);
        let later = own + 1..=self.graph.last_position(event.loc);
        let later =
            later.map(|position| self.graph.event(self.graph.write_at(event.loc, position)));
        let made = later.filter_map(|write| self.made.get(&(write.thread.0, write.index)));
        let mut made: Vec<usize> = made.copied().collect();
        made.sort_unstable();
        made.iter().map(usize::to_string).collect()
    }

    /// Marks the accesses of a race, and returns a description of the race.
    fn race(&mut self, race: [(ThreadId, u32); 2]) -> String {
        let mut steps = race.map(|(thread, index)| self.made.get(&(thread.0, index)).copied());
        steps.sort_unstable();
        let mut places = Vec::new();
        for step in steps.into_iter().flatten() {
            let line = &mut self.lines[step - 1];
            line.racing = true;
            let verb = if line.what.ends_with("read") || line.what.ends_with("load") {
                "reads"
            } else {
                "writes"
            };
            places.push(format!("thread {} {verb} at {}", line.thread, line.place));
        }
        places.reverse();
        format!(
            "data race: {}; nothing orders the two",
            places.join(", and ")
        )
    }
}

/// Returns what each thread that has not ended waits for.
fn waiting(inner: &Inner) -> Vec<String> {
    report::waiting(inner, |process| {
        inner.threads[process.index()].life == Life::Alive
    })
}

/// The steps of an execution, and lines about behaviour that no interleaving has.
pub(crate) struct DescribedExecution {
    pub lines: Vec<Line>,
    pub weak: Vec<String>,
    pub replay: String,
    /// The description of a race; empty if there is none.
    race: String,
    /// What each thread that has not ended waits for.
    waiting: Vec<String>,
    inputs: Vec<Input>,
}

/// Describes an execution.
pub(crate) fn describe(
    program: &mut WeakProgram,
    memory: Memory,
    schedule: &Schedule,
    fault: Option<Fault>,
) -> Result<DescribedExecution, String> {
    program.reset();
    let replayed = replay_graph(&mut *program, memory, schedule);
    let (_, graph) = replayed.map_err(|error| error.to_string())?;
    program.record(true);
    program.begin();
    let mut teller = Describer {
        program: &mut *program,
        graph: &graph,
        next: vec![0; graph.threads() as usize],
        made: FxHashMap::default(),
        lines: Vec::new(),
        weak: Vec::new(),
    };
    for action in &schedule.0 {
        teller.make(action.thread);
    }
    let race = match fault {
        Some(Fault::Race(race)) => teller.race(race),
        _ => String::new(),
    };
    let (lines, weak) = (teller.lines, teller.weak);
    let waiting = program.inner(|inner| waiting(inner));
    program.record(false);
    Ok(DescribedExecution {
        lines,
        weak,
        replay: written(program, memory, schedule),
        race,
        waiting,
        inputs: program.inner(|inner| crate::inputs::collect(inner)),
    })
}

/// Reports a fault.
pub(crate) fn report(
    program: &mut WeakProgram,
    memory: Memory,
    (fault, schedule): &(Fault, Schedule),
) -> Result<Report, String> {
    let described = describe(program, memory, schedule, Some(*fault))?;
    let (what, waiting) = match fault {
        Fault::Panic(site) => {
            let failure = program.inner(|inner| inner.failures[*site as usize].clone());
            let what = format!("{}\n  at {}", failure.message, failure.place);
            (what, Vec::new())
        }
        Fault::Deadlock => ("deadlock: no thread can go on".into(), described.waiting),
        Fault::Race(_) => (described.race, Vec::new()),
    };
    Ok(Report {
        replay: described.replay,
        what,
        steps: described.lines,
        weak: described.weak,
        waiting,
        inputs: described.inputs,
        legend: match fault {
            Fault::Race(_) => " (●: these two race)",
            _ => "",
        },
    })
}

/// Reports two executions with different results.
pub(crate) fn differ(
    program: &mut WeakProgram,
    memory: Memory,
    results: &[(u64, Schedule)],
    result: &dyn Fn(usize) -> String,
) -> String {
    let values: Vec<String> = results
        .iter()
        .map(|(number, _)| result(*number as usize))
        .collect();
    let mut text = format!(
        "mazurka: not deterministic: the result is {}, depending on the execution\n",
        values.join(" or ")
    );
    for ((_, schedule), value) in results.iter().zip(values) {
        match describe(program, memory, schedule, None) {
            Ok(described) => {
                let _ = writeln!(text, "\n{value}, by `{}`:", described.replay);
                report::table(&described.lines, &mut text);
                report::weak_lines(&described.weak, &mut text);
            }
            Err(error) => text += &report::divergence(&error),
        }
    }
    text
}
