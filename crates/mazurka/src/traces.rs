//! Questions about the trace of a run: whether another run is equivalent to it, its normal form,
//! and the sequential program that it corresponds to.
//!
//! Guarded-command paper ("Inseguendo Fagiani Selvatici"):
//!
//! | paper | here |
//! |---|---|
//! | θ₁ ∈ \[θ₂\], section 5.1 | [`Program::compare_runs`] |
//! | canon(θ), Definition 12 | [`Program::canonical`], corrected: E4 in docs/algorithms.md |
//! | g(θ), Theorem 8 | [`Program::linearised`] |
//! | ι⟨W, R⟩, section 2 | [`Program::path_events`] |
//!
//! Two runs are equivalent if they have the same steps, and dependent steps in the same order.

use mazurka_core::record::{ComparedRuns, Ending, OtherOrder, PathEvent, Run, Step};
use mazurka_core::{
    Access, AccessKind, Event, Execution, Labelled, Narrator, Schedule, ScheduledStep,
    canonical_order, dependent,
};
use mazurka_diagnostics::{Part, parts};
use mazurka_lang::hir;

use crate::front::{Front, Labels, on_front};
use crate::run::{NoPath, Plan, follow};
use crate::{Options, Program, quietly};

pub use mazurka_core::ReplayError;

/// Why a run cannot be written as a sequential program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotLinear {
    /// The program is not in `.maz`.
    #[error("a run of a `.maz` program is linearised")]
    NotMaz,
    /// The program has synchronisation objects.
    #[error(
        "semaphores, reader–writer locks, condition variables, barriers and locks that are tried are of several processes, and a run that is linearised has one"
    )]
    Objects,
    /// The program has an object whose operations clients call.
    #[error("`spec object`: calls are chosen by clients, and no statement says the same")]
    Clients,
    /// A label is not a statement of the language.
    #[error("step {step}, `{label}`, is no statement that one process could make")]
    Label {
        /// The step, from 1.
        step: usize,
        /// The label.
        label: String,
    },
    /// The resulting program does not behave like the run.
    #[error("the labels of this run, one after the other, do not do what the run did: {0}")]
    Differs(String),
}

impl Program {
    /// Compares two runs. If they are not equivalent, the result gives one reason: the first two
    /// dependent steps of the first run whose order differs in the second run, the first step that
    /// the second run does not have, or that the second run is longer.
    ///
    /// ```
    /// use mazurka::{Options, Program};
    /// let source = "var x, y: int = 0
    ///     process { x := 1; y := 1 }  process { y := 2 }";
    /// let program = Program::load("order.maz", source, &[]).unwrap();
    /// let compare = |one: &str, other: &str| {
    ///     let (one, other) = (one.parse().unwrap(), other.parse().unwrap());
    ///     program.compare_runs(&one, &other, &Options::default()).unwrap()
    /// };
    /// assert!(compare("0 0 1", "0 0 1").equivalent);
    /// assert!(compare("0 1 0", "1 0 0").equivalent);
    /// let order = compare("0 0 1", "0 1 0").order.unwrap();
    /// assert_eq!((order.first, order.second), (2, 3));
    /// ```
    pub fn compare_runs(
        &self,
        one: &Schedule,
        other: &Schedule,
        options: &Options,
    ) -> Result<ComparedRuns, ReplayError> {
        on_front!(self.language, front => {
            let mut machine = front.machine(options);
            machine.separate_ends(true);
            compare(&mut machine, one, other)
        })
    }

    /// Returns the schedule of the normal form of a run. The normal form is built step by step:
    /// among the steps that no remaining step happens before, the one of the first process comes
    /// next.
    ///
    /// ```
    /// use mazurka::{Options, Program};
    /// let source = "var x, y, z: int = 0
    ///     process { x := 1 }  process { y := 1 }  process { x := 3 }";
    /// let program = Program::load("e4.maz", source, &[]).unwrap();
    /// // Errata E4: as printed, Definition 12 leaves both of these schedules unchanged.
    /// for schedule in ["2 0 1", "1 2 0"] {
    ///     let schedule = schedule.parse().unwrap();
    ///     let normal = program.canonical(&schedule, &Options::default()).unwrap();
    ///     assert_eq!(normal.to_string(), "1 2 0");
    /// }
    /// ```
    pub fn canonical(
        &self,
        schedule: &Schedule,
        options: &Options,
    ) -> Result<Schedule, ReplayError> {
        on_front!(self.language, front => {
            let mut machine = front.machine(options);
            machine.separate_ends(true);
            machine.narrate(schedule)?;
            Ok(normal_form(&machine))
        })
    }

    /// Returns the run as a program of one process, g(θ): its labels one after the other, without
    /// the names of processes. The new program starts with the same values and, by Theorem 8, can
    /// make all steps of the run. This function checks that the program makes them and ends with
    /// the same values.
    ///
    /// ```
    /// use mazurka::run::Plan;
    /// use mazurka::{Options, Program, quietly};
    /// let source = "var x: int = 1  process { x := x + 1 }  process { x > 1 |> x := 2 * x }";
    /// let program = Program::load("two.maz", source, &[]).unwrap();
    /// let plan = Plan::Schedule("0 1".parse().unwrap());
    /// let ran = program.run(&plan, &Options::default(), &mut quietly()).unwrap();
    /// let text = program.linearised(&ran.run).unwrap();
    /// assert_eq!(
    ///     text,
    ///     "var x: int = 1\n\nprocess {\n  x := x + 1;\n  x > 1 |> x := 2 * x\n}\n"
    /// );
    /// ```
    pub fn linearised(&self, run: &Run) -> Result<String, NotLinear> {
        let code = self.language.maz().ok_or(NotLinear::NotMaz)?;
        if code.has_object() {
            return Err(NotLinear::Clients);
        }
        if code.program().vars.iter().any(|var| var.object) {
            return Err(NotLinear::Objects);
        }
        let start = Plan::Schedule(Schedule::default());
        let options = given(run);
        let before = self.run(&start, &options, &mut quietly());
        let before = before.map_err(|error| NotLinear::Differs(error.to_string()))?;
        let mut text = declarations(code.program(), &before.run);
        text += "\nprocess {\n";
        let files = parts(code.source());
        let mut lines = Vec::new();
        for (at, step) in run.steps.iter().enumerate() {
            let line = statement(step, &files).ok_or_else(|| NotLinear::Label {
                step: at + 1,
                label: step.label.clone(),
            })?;
            lines.push(format!("  {line}"));
        }
        text += &if lines.is_empty() {
            "  skip".to_owned()
        } else {
            lines.join(";\n")
        };
        text += "\n}\n";
        let differs = |why: String| NotLinear::Differs(why);
        let program = Self::load("linearised.maz", &text, &[]);
        let program = program.map_err(|mistakes| {
            let first = mistakes.first();
            differs(first.map_or_else(String::new, |mistake| mistake.message.clone()))
        })?;
        let ran = program.run(&Plan::Seed(0), &Options::default(), &mut quietly());
        let ran = ran.map_err(|error| differs(error.to_string()))?;
        let ends = run.ending != Ending::Failure && ran.run.ending != Ending::Final;
        if ends || ran.run.state != run.state {
            return Err(differs("it ends otherwise".to_owned()));
        }
        Ok(text)
    }
}

/// Returns options with the initial values and inputs of a run.
fn given(run: &Run) -> Options {
    let value = |text: &str| crate::unknowns::parse_input(text);
    let inputs = run.inputs.iter();
    let inputs = inputs.filter_map(|one| Some((one.name.clone(), value(&one.value)?)));
    Options {
        inputs: inputs.collect(),
        ..Options::default()
    }
}

fn compare<M: Narrator>(
    machine: &mut M,
    one: &Schedule,
    other: &Schedule,
) -> Result<ComparedRuns, ReplayError> {
    machine.narrate(other)?;
    let theirs: Vec<Event> = machine.events().to_vec();
    let run = machine.narrate(one)?;
    let ours = machine.events();
    let same = |event: &Event, their: &Event| {
        let outcome = |event: &Event| -> Vec<i64> {
            let outcomes = event.outcomes.iter();
            outcomes.map(|outcome| outcome.value).collect()
        };
        event.process == their.process
            && event.number == their.number
            && outcome(event) == outcome(their)
    };
    let place = |event: &Event| theirs.iter().position(|their| same(event, their));
    let places: Vec<Option<usize>> = ours.iter().map(place).collect();
    let turned = |&(first, second): &(usize, usize)| {
        let order = places[first].zip(places[second]);
        order.is_some_and(|(first, second)| first > second)
            && dependent(&ours[first], &ours[second])
    };
    let mut pairs =
        (0..ours.len()).flat_map(|second| (0..second).map(move |first| (first, second)));
    let order = pairs.find(turned).map(|(first, second)| OtherOrder {
        first: first + 1,
        second: second + 1,
        labels: [first, second].map(|at| run.steps[at].label.clone()).into(),
    });
    let missing = places.iter().position(Option::is_none).map(|at| at + 1);
    let more = theirs.len() > ours.len();
    Ok(ComparedRuns {
        schedule: other.to_string(),
        equivalent: order.is_none() && missing.is_none() && !more,
        missing: missing.filter(|_| order.is_none()),
        longer: more && order.is_none() && missing.is_none(),
        order,
    })
}

/// Returns the schedule of the normal form of the current run.
fn normal_form<E: Execution>(program: &E) -> Schedule {
    let table = program.processes();
    let rank = |process| {
        let mut order = table.in_order().iter();
        order.position(|&known| known == process)
    };
    let events = program.events();
    let order = canonical_order(events, rank);
    let step = |&at: &usize| ScheduledStep {
        process: table.path(events[at].process).clone(),
        outcomes: events[at].outcomes.iter().map(|o| o.value).collect(),
    };
    Schedule(order.iter().map(step).collect())
}

/// Returns the declarations of the variables and locks of a program, with the initial values of a
/// run.
fn declarations(program: &hir::Program, start: &Run) -> String {
    let mut text = String::new();
    for declared in &program.enums {
        text += &format!(
            "enum {} {{ {} }}\n",
            declared.name,
            declared.members.join(", ")
        );
    }
    for var in &program.vars {
        let value = start.state.iter().find(|binding| binding.name == var.name);
        let value = value.map_or("0", |binding| binding.value.as_str());
        let ty = match var.ty {
            hir::Type::Bool => "bool".to_owned(),
            hir::Type::Int | hir::Type::Process => "int".to_owned(),
            hir::Type::Enum(id) => program.enums[usize::from(id)].name.clone(),
            hir::Type::Signed(bits) => format!("i{bits}"),
            hir::Type::Unsigned(bits) => format!("u{bits}"),
        };
        let ty = match var.len {
            Some(len) => format!("{ty}[{len}]"),
            None => ty,
        };
        text += &format!("var {}: {ty} = {value}\n", var.name);
    }
    for lock in &program.locks {
        let len = lock.len.map_or_else(String::new, |len| format!("[{len}]"));
        text += &format!("lock {}{len}\n", lock.name);
    }
    text
}

/// Returns a label as a statement, or `None` if the step does more than its label shows.
fn statement(step: &Step, files: &[Part]) -> Option<String> {
    let mut outcomes = step.outcomes.iter();
    let label = match step.label.split_once(" [chose ") {
        Some((label, _)) => label,
        None => &step.label,
    };
    let label = without_file(label, files);
    if label.contains('…') {
        return None;
    }
    let (guard, actions) = match label.split_once(" ▷ ") {
        Some((guard, actions)) => (Some(without_procedure(guard)), actions),
        None => (None, without_procedure(label)),
    };
    let mut all = Vec::new();
    for action in actions.split("; ") {
        let action = without_procedure(action);
        all.push(match action {
            _ if action.starts_with("let ") || action.starts_with("join(") => "skip".to_owned(),
            _ if action.starts_with("spawn(") => "spawn { skip }".to_owned(),
            _ => chosen(action, &mut outcomes)?,
        });
    }
    let action = match &all[..] {
        [one] => one.clone(),
        many => format!("{{ {} }}", many.join("; ")),
    };
    Some(match guard {
        Some(guard) => format!("{} |> {action}", chosen(guard, &mut outcomes)?),
        None => action,
    })
}

/// Returns a label without the file of its statement, if that file is an included one.
fn without_file<'l>(label: &'l str, files: &[Part]) -> &'l str {
    let mut rests = files.iter().filter_map(|file| {
        let rest = label.strip_prefix('(')?.strip_prefix(&*file.name)?;
        rest.strip_prefix(") ").filter(|_| !file.name.is_empty())
    });
    rests.next().unwrap_or(label)
}

/// Returns a text without the name of the enclosing procedure.
fn without_procedure(text: &str) -> &str {
    match text.split_once(": ") {
        Some((name, rest)) if name.chars().all(|c| c.is_alphanumeric() || c == '_') => rest,
        _ => text,
    }
}

/// Returns a text in which each `choose(…)` is replaced by the chosen value.
fn chosen<'a>(text: &str, outcomes: &mut impl Iterator<Item = &'a i64>) -> Option<String> {
    let mut text = text.to_owned();
    while let Some(start) = text.find("choose(") {
        let mut depth = 0_usize;
        let end = text[start..].char_indices().find_map(|(at, letter)| {
            match letter {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => return None,
            }
            (depth == 0).then_some(start + at + 1)
        })?;
        text.replace_range(start..end, &outcomes.next()?.to_string());
    }
    Some(text)
}

impl Program {
    /// Returns the events ι⟨W, R⟩ of a run (section 2 of the paper): the variables that each label
    /// writes, and those that it reads, including its guard and the variables of its expressions.
    ///
    /// ```
    /// use mazurka::run::Plan;
    /// use mazurka::{Options, Program, quietly};
    /// // Example 3.
    /// let source = "var x: int = 1  process { x := x + 1 }  process { x := 3 }";
    /// let program = Program::load("example3.maz", source, &[]).unwrap();
    /// let plan = Plan::Schedule("0 1".parse().unwrap());
    /// let ran = program.run(&plan, &Options::default(), &mut quietly()).unwrap();
    /// let events = program.path_events(&ran.run, &Options::default()).unwrap();
    /// assert_eq!((&*events[0].writes[0], &*events[0].reads[0]), ("x", "x"));
    /// assert!(events[1].reads.is_empty());
    /// ```
    pub fn path_events(&self, run: &Run, options: &Options) -> Result<Vec<PathEvent>, NoPath> {
        on_front!(self.language, front => {
            let labelled = front.labelled(options).ok_or(NoPath::Unknowns)?;
            let mut labelled = labelled.with_names();
            let schedule: Schedule = match run.schedule.parse() {
                Ok(schedule) => schedule,
                Err(error) => panic!("a record has an invalid schedule: {error}"),
            };
            follow(&mut labelled, &schedule);
            // The names of cells are known after the run.
            let mut names = front.machine(options);
            follow(&mut names, &schedule);
            let name = |cell: u32| names.cell_name(cell);
            let events = labelled.events().iter().enumerate();
            let events = events.map(|(at, event)| {
                let process = labelled.processes().path(event.process).to_string();
                let accesses = event.touched.iter().chain(labelled.named(at)).copied();
                path_event(&name, process, None, accesses)
            });
            Ok(events.collect())
        })
    }
}

/// Creates an event of a path from the accesses of its step.
pub(crate) fn path_event(
    cell_name: &dyn Fn(u32) -> String,
    process: String,
    condition: Option<String>,
    accesses: impl Iterator<Item = Access>,
) -> PathEvent {
    let (mut writes, mut reads) = (Vec::new(), Vec::new());
    for access in accesses {
        let name = cell_name(access.first);
        let name = match access.len {
            1 => name,
            // Some element of an array.
            _ => name.split('[').next().unwrap_or_default().to_owned(),
        };
        let names = match access.kind {
            AccessKind::Read => &mut reads,
            _ => &mut writes,
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    PathEvent {
        process,
        condition,
        writes,
        reads,
    }
}
