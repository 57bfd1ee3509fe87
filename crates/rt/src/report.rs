//! Reports about failures: the steps that lead to the failure, what threads wait for, and how to
//! replay it. The text of a report is the panic message of the test.

use std::fmt::Write;

use mazurka_core::{Execution, ProcessId, Schedule, Status, StepError};
use mazurka_explore::{Violation, closest, first_difference, minimise, racing};

use crate::facts;
use crate::fair::LockMode;
use crate::inputs::{self, Input};
use crate::record::record;
use crate::simulate::{RecordedStep, Simulator};
use crate::verdict;
use crate::version::with_version;
use crate::world::{Inner, Place, Until};

/// The call that started the exploration.
pub(crate) struct About {
    /// Its place in the source.
    pub place: Place,
    /// The name of the closure's type. If the test passed a function, it is the path of this
    /// function.
    pub body: &'static str,
    /// The name of the function that replays a schedule of this call, for the text of the report.
    pub call: &'static str,
}

impl About {
    /// Returns the command that replays a schedule in the current test, in the model at this place.
    fn command(&self, replay: &str) -> String {
        let place = self.place;
        let current = std::thread::current();
        // The thread of a test has the name of the test.
        let test = current.name().filter(|name| *name != "main");
        let test = test.map_or(String::new(), |name| format!(" -- --exact {name}"));
        format!("MAZURKA_REPLAY=\"{replay}\" MAZURKA_REPLAY_AT={place} cargo test{test}")
    }
}

/// A failure and the steps that lead to it.
pub(crate) struct Report {
    /// The text that replays the failure.
    pub replay: String,
    /// The failure in one sentence.
    pub what: String,
    pub steps: Vec<Line>,
    /// Under a memory model: lines about behaviour that no interleaving of the steps has, such as a
    /// load of an old value.
    pub weak: Vec<String>,
    /// What each waiting thread waits for.
    pub waiting: Vec<String>,
    pub inputs: Vec<Input>,
    /// Explains how racing steps are marked; empty if no step is marked.
    pub legend: &'static str,
}

/// A step of a reported run.
pub(crate) struct Line {
    pub thread: String,
    /// The operation, such as `Mutex.lock`.
    pub what: String,
    /// The object of the step, if any: see [`labels`].
    pub object: Option<Target>,
    /// The outcome of the operation in words; may be empty.
    pub words: String,
    pub place: String,
    pub racing: bool,
}

/// The object of a step.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    /// Its type.
    pub kind: &'static str,
    cell: u32,
    made: Option<Place>,
}

impl Target {
    /// Returns the file and the line where it was made.
    fn place(self) -> Option<String> {
        let made = self.made?;
        let file = made.file().rsplit(['/', '\\']).next()?;
        Some(format!("{file}:{}", made.line()))
    }
}

/// Returns the deadlock at the end of a schedule, with the threads that wait there.
pub(crate) fn deadlock(simulator: &mut Simulator, schedule: &Schedule) -> Violation {
    let _all = play(simulator, schedule);
    let all = simulator.processes().in_order().iter().copied();
    Violation::Deadlock(
        all.filter(|&p| simulator.status(p) == Status::Waiting)
            .collect(),
    )
}

/// Runs the steps of a schedule from the start.
pub(crate) fn play(simulator: &mut Simulator, schedule: &Schedule) -> Result<(), StepError> {
    simulator.back_to(0);
    for step in &schedule.0 {
        let process = simulator.processes().find(&step.process);
        let process = process.ok_or(StepError::NotReady)?;
        if simulator.status(process) != Status::Ready {
            return Err(StepError::NotReady);
        }
        simulator.step(process, &step.outcomes)?;
    }
    Ok(())
}

/// Looks for the shortest run with the same violation, and reports that run.
pub(crate) fn evidence(
    simulator: &mut Simulator,
    schedule: &Schedule,
    violation: &Violation,
) -> Report {
    let least = minimise(simulator, schedule, violation);
    Report::new(simulator, &least, violation)
}

/// Reports two runs with different results.
pub(crate) fn differ(
    simulator: &mut Simulator,
    one: &Schedule,
    other: &Schedule,
    result: &dyn Fn(usize) -> String,
) -> String {
    let (one, other) = closest(simulator, one, other);
    let mut runs = Vec::new();
    for schedule in [&one, &other] {
        let _made = play(simulator, schedule);
        let number = simulator.observe.as_ref().map_or(0, |observe| observe());
        runs.push((result(number as usize), simulator.events().to_vec()));
    }
    let racing = first_difference(&runs[0].1, &runs[1].1);
    let mut text = format!(
        "mazurka: not deterministic: the result is {} or {}, depending on the schedule\n",
        runs[0].0, runs[1].0
    );
    for (at, schedule) in [one, other].iter().enumerate() {
        let marked = racing.map_or(Vec::new(), |pairs| pairs[at].to_vec());
        let lines = lines(simulator, schedule, &marked);
        let inputs = simulator.inner(|inner| inputs::collect(inner));
        let replay = replay_of(simulator, schedule, &inputs);
        let _ = writeln!(text, "\n{}, by `{replay}`:", runs[at].0);
        table(&lines, &mut text);
    }
    text
}

/// Returns the text that replays a schedule.
fn replay_of(simulator: &Simulator, schedule: &Schedule, inputs: &[Input]) -> String {
    let facts = facts::needed(simulator, schedule);
    with_version(&inputs::join(schedule, inputs, &facts))
}

/// Limit on the steps that complete a run after the reversal of two steps.
const MOST_STEPS: usize = 10_000;

/// Whether reversing the two marked steps avoids the failure. It tries one run, which starts like
/// the schedule up to the earlier marked step. Next come the steps between the two, without those
/// of the thread that made the earlier one; then the later marked step; then all other steps,
/// except those that are no longer possible.
fn passes_reversed(simulator: &mut Simulator, schedule: &Schedule, marked: &[usize]) -> bool {
    let &[earlier, later] = marked else {
        return false;
    };
    let steps = &schedule.0;
    let held = &steps[earlier].process;
    let early = |at: &usize| *at < earlier || (*at <= later && steps[*at].process != *held);
    let (mut first, rest): (Vec<usize>, Vec<usize>) = (0..steps.len()).partition(early);
    let begins = first.len();
    first.extend(rest);
    simulator.back_to(0);
    for (made, at) in first.into_iter().enumerate() {
        let step = &steps[at];
        let process = simulator.processes().find(&step.process);
        let ready = process.filter(|&p| simulator.status(p) == Status::Ready);
        let ready = ready.filter(|_| simulator.failing().is_none());
        let made_it = ready.is_some_and(|p| simulator.step(p, &step.outcomes).is_ok());
        if !made_it && made < begins {
            return false;
        }
    }
    for _ in 0..MOST_STEPS {
        match simulator.first_ready() {
            _ if simulator.failing().is_some() => return false,
            Some(process) => _ = simulator.step(process, &[]),
            None => return simulator.is_final(),
        }
    }
    false
}

/// Describes the steps of a schedule.
fn lines(simulator: &mut Simulator, schedule: &Schedule, marked: &[usize]) -> Vec<Line> {
    let _made = play(simulator, schedule);
    simulator.record(true);
    let recorded = simulator.recorded_steps();
    let processes: Vec<ProcessId> = simulator.events().iter().map(|e| e.process).collect();
    let all = recorded.iter().zip(processes).enumerate();
    let lines = all
        .map(|(at, (step, process))| {
            let inner = |step| simulator.inner(|inner| line(inner, step, process));
            Line {
                racing: marked.contains(&at),
                ..inner(step)
            }
        })
        .collect();
    simulator.inner(|inner| inner.recording = false);
    lines
}

/// Describes a step.
pub(crate) fn line(inner: &Inner, step: &RecordedStep, process: ProcessId) -> Line {
    let (kind, verb) = step.pending.what;
    let mut what = match kind {
        "" | "thread" => verb.to_owned(),
        kind => format!("{kind}.{verb}"),
    };
    if let Until::Ended(other) = step.pending.until {
        let _ = write!(what, " {}", name(inner, other));
    }
    let mut words = step.words.join(", ");
    if let Some(panic) = &step.panic {
        let comma = if words.is_empty() { "" } else { ", " };
        let first = panic.message.lines().next().unwrap_or_default();
        let _ = write!(words, "{comma}panics: {first}");
    }
    let accesses = [step.pending.access, step.pending.second];
    let mut cells = accesses.iter().flatten().map(|access| access.first);
    // `Condvar::wait` releases the mutex first.
    let of_kind = |&cell: &u32| inner.cells[cell as usize].kind == kind;
    let cell = cells.clone().find(of_kind).or_else(|| cells.next());
    let object = cell.filter(|_| !matches!(kind, "" | "thread" | "operation"));
    Line {
        thread: name(inner, process),
        what,
        object: object.map(|cell| Target {
            kind,
            cell,
            made: inner.cells[cell as usize].made,
        }),
        words,
        place: step.pending.place.to_string(),
        racing: false,
    }
}

/// Returns the path of a thread, and its name if it has one.
fn name(inner: &Inner, process: ProcessId) -> String {
    let path = &inner.names.paths[process.index()];
    match &inner.threads[process.index()].name {
        Some(name) => format!("{path} ({name})"),
        None => path.to_string(),
    }
}

/// Returns the operation of each step with its object. Several objects of one type are told apart
/// by the place where each was made, and objects of one place by numbers.
fn labels(lines: &[Line]) -> Vec<String> {
    let mut objects: Vec<Target> = Vec::new();
    for object in lines.iter().filter_map(|line| line.object) {
        if !objects.iter().any(|known| known.cell == object.cell) {
            objects.push(object);
        }
    }
    let label = |object: Target| {
        let alike: Vec<_> = objects.iter().filter(|o| o.kind == object.kind).collect();
        let place = object.place().filter(|_| alike.len() > 1)?;
        let mut there = alike.iter().filter(|o| o.place().as_ref() == Some(&place));
        let several = there.clone().count() > 1;
        let number = there.position(|o| o.cell == object.cell)? + 1;
        Some(if several {
            format!("@{place}#{number}")
        } else {
            format!("@{place}")
        })
    };
    let what = |line: &Line| {
        let named = line
            .object
            .and_then(|object| Some((object.kind, label(object)?)));
        let named = named.and_then(|(kind, label)| {
            let verb = line.what.strip_prefix(kind)?;
            Some(format!("{kind}{label}{verb}"))
        });
        named.unwrap_or_else(|| line.what.clone())
    };
    lines.iter().map(what).collect()
}

/// Returns the outcome of each step in words. Addresses differ between runs, so pointers are
/// replaced by p1, p2, … in the order in which they appear.
fn words(lines: &[Line]) -> Vec<String> {
    const HEX: &str = "0x";
    let mut known: Vec<&str> = Vec::new();
    let mut named = Vec::new();
    for line in lines {
        let points = line.object.is_some_and(|object| object.kind == "AtomicPtr");
        let mut parts = line.words.split(HEX);
        let mut words = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let digit = |c: char| c.is_ascii_hexdigit();
            let (digits, rest) = part.split_at(part.find(|c| !digit(c)).unwrap_or(part.len()));
            let _ = match digits {
                digits if !points || digits.is_empty() => write!(words, "{HEX}{digits}"),
                "0" => write!(words, "null"),
                digits => {
                    let at = known.iter().position(|other| *other == digits);
                    let at = at.unwrap_or_else(|| {
                        known.push(digits);
                        known.len() - 1
                    });
                    write!(words, "p{}", at + 1)
                }
            };
            words.push_str(rest);
        }
        named.push(words);
    }
    named
}

/// Writes one line for each step.
pub(crate) fn table(lines: &[Line], into: &mut String) {
    let (labels, words) = (labels(lines), words(lines));
    let threads: Vec<&str> = lines.iter().map(|line| &*line.thread).collect();
    fn width(all: &[impl AsRef<str>]) -> usize {
        let widths = all.iter().map(|one| one.as_ref().chars().count());
        widths.max().unwrap_or(0)
    }
    let (thread, what, told) = (width(&threads), width(&labels), width(&words).min(40));
    for (at, ((line, label), words)) in lines.iter().zip(&labels).zip(&words).enumerate() {
        let mark = if line.racing { '●' } else { ' ' };
        let _ = writeln!(
            into,
            "{mark}{:>4}  {:thread$}  {label:what$}  {words:told$}  {}",
            at + 1,
            line.thread,
            line.place,
        );
    }
}

/// Writes the lines about behaviour that no interleaving has.
pub(crate) fn weak_lines(lines: &[String], into: &mut String) {
    for line in lines {
        let _ = writeln!(into, "      {line}");
    }
}

/// A step of a run, in the form for records.
pub(crate) struct Row {
    pub thread: String,
    pub label: String,
    pub place: String,
    pub racing: bool,
}

impl Report {
    /// Ends the test with this report.
    pub fn end(&self, executions: u64, about: &About) -> ! {
        let record = record(self, executions, about);
        verdict::end_with(self.text(executions, about), record)
    }

    /// Returns the steps, each with its operation and its outcome in one label.
    pub fn rows(&self) -> Vec<Row> {
        let all = labels(&self.steps).into_iter().zip(words(&self.steps));
        let rows = self.steps.iter().zip(all).map(|(line, (what, words))| Row {
            thread: line.thread.clone(),
            label: format!("{what} {words}").trim_end().to_owned(),
            place: line.place.clone(),
            racing: line.racing,
        });
        rows.collect()
    }

    /// Makes a report about this run.
    pub fn new(simulator: &mut Simulator, schedule: &Schedule, violation: &Violation) -> Self {
        let _made = play(simulator, schedule);
        let marked = racing(simulator, violation);
        let steps = lines(simulator, schedule, &marked);
        let passes = passes_reversed(simulator, schedule, &marked);
        let _made = play(simulator, schedule);
        let (what, waiting) = match violation {
            Violation::Failure(site) => {
                let failure = simulator.inner(|inner| inner.failures[*site as usize].clone());
                let what = format!("{}\n  at {}", failure.message, failure.place);
                (what, Vec::new())
            }
            _ => {
                simulator.catch_up();
                let waiting = simulator.inner(|inner| {
                    waiting(inner, |process| inner.status(process) == Status::Waiting)
                });
                ("deadlock: no thread can go on".into(), waiting)
            }
        };
        let inputs = simulator.inner(|inner| inputs::collect(inner));
        let legend = match (&marked[..], passes) {
            ([], _) => "",
            (_, true) => " (●: had these come in the other order, all would be well)",
            (_, false) => " (●: their order matters)",
        };
        Self {
            replay: replay_of(simulator, schedule, &inputs),
            what,
            steps,
            weak: Vec::new(),
            waiting,
            inputs,
            legend,
        }
    }

    /// Returns the report as text.
    pub fn text(&self, executions: u64, about: &About) -> String {
        let mut text = String::new();
        let s = if executions == 1 { "" } else { "s" };
        let _ = writeln!(text, "{}", self.what);
        let _ = writeln!(
            text,
            "mazurka: found after {executions} execution{s}; the search stopped there"
        );
        for waits in &self.waiting {
            let _ = writeln!(text, "  {waits}");
        }
        if !self.inputs.is_empty() {
            text.push_str("\nWith these inputs:\n");
            for Input { name, value, place } in &self.inputs {
                let _ = writeln!(text, "  {name} = {value}, asked for at {place}");
            }
        }
        if !self.steps.is_empty() {
            let _ = writeln!(text, "\nThe steps that lead there{}:", self.legend);
            table(&self.steps, &mut text);
            weak_lines(&self.weak, &mut text);
        }
        let _ = writeln!(text, "\nTo see it again, in any process:");
        let replay = &self.replay;
        let _ = writeln!(text, "    {}", about.command(replay));
        let _ = writeln!(text, "or as a test:\n");
        text.push_str(&test(replay, about));
        text
    }
}

/// Returns the source of a test that replays the run.
fn test(replay: &str, about: &About) -> String {
    let named = !about.body.is_empty() && !about.body.contains(['{', '<', '&', ' ']);
    let (body, comment) = if named {
        // Within its own crate, the path of the function starts with `crate`.
        let path = about
            .body
            .split_once("::")
            .map_or(about.body, |(_, path)| path);
        (format!("crate::{path}"), String::new())
    } else {
        (
            "|| {}".into(),
            format!("    // The closure of {} goes here.\n", about.place),
        )
    };
    format!(
        "#[test]\nfn replay() {{\n{comment}    let body = {body};\n    mazurka_rt::{}(body, \"{replay}\");\n}}\n",
        about.call
    )
}

/// Describes what each waiting thread waits for and, for a lock, which thread holds it.
pub(crate) fn waiting(inner: &Inner, waits: impl Fn(ProcessId) -> bool) -> Vec<String> {
    let mut order: Vec<usize> = (0..inner.threads.len()).collect();
    order.sort_by_key(|&number| &inner.names.paths[number]);
    let mut all = Vec::new();
    for number in order {
        let process = ProcessId(number as u32);
        if !waits(process) {
            continue;
        }
        let pending = &inner.threads[number].pending;
        let mut text = format!("thread {} waits at {}", name(inner, process), pending.place);
        match pending.until {
            Until::Lock(cell) | Until::Read(cell) | Until::Write(cell) | Until::Fair(cell, _) => {
                let state = &inner.cells[cell as usize];
                let _ = write!(text, " for the {}", state.kind);
                if let Some(made) = state.made {
                    let _ = write!(text, " made at {made}");
                }
                let readers = state.readers.iter();
                // The writer that waits for readers is itself the holder.
                let waits_for_readers = matches!(pending.until, Until::Fair(_, LockMode::Alone));
                let holder = state.holder.iter().filter(|_| !waits_for_readers);
                for (holder, place) in holder.chain(readers) {
                    let who = if *holder == process {
                        "itself".into()
                    } else {
                        format!("thread {}", name(inner, *holder))
                    };
                    let _ = write!(text, ", held by {who} since {place}");
                }
            }
            Until::Ended(other) => {
                let _ = write!(text, " for the end of thread {}", name(inner, other));
            }
            Until::Spin => text.push_str(" in a loop for a change that no thread will make"),
            Until::Flag(_) => text.push_str(" for a message that no thread will send"),
            Until::Token | Until::Now => {
                let (kind, verb) = pending.what;
                let _ = write!(text, ", {kind}: {verb}");
                let round = inner.threads[number].spin.round;
                let enlisted = inner.cells.iter().find(|cell| {
                    let mut waiters = cell.waiters.iter();
                    cell.kind == kind
                        && waiters.any(|it| (it.thread, it.round) == (process.0, round))
                });
                if let Some(made) = enlisted.and_then(|cell| cell.made) {
                    let _ = write!(text, " ({kind} made at {made})");
                }
            }
        }
        all.push(text);
    }
    all
}

/// Returns the message for a schedule that led to different steps.
pub(crate) fn divergence(how: &str) -> String {
    format!(
        "mazurka: the same schedule did something else than before: {how}.\n\
         The program depends on something that is not under control. The usual causes:\n  \
         - the order of a HashMap or HashSet with the default hasher\n  \
         - the time, random numbers, the environment, files\n  \
         - real threads, or atomics, locks and channels of std that are shared with them\n  \
         - a static, a value captured by the closure or a thread-local of std that keeps something from one execution to the \
         next (make it within the closure, or use lazy_static! or thread_local! of this crate)"
    )
}
