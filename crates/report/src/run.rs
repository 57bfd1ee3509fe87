//! The view of `run`: the steps of one execution, its end, and the command that repeats it. On
//! request it also shows the events in the notation of the papers, and the path condition.

use mazurka_core::record::{ComparedRuns, Ending, PathEvent, PathRecord, Record, Run};

use crate::events::{Columns, bindings};
use crate::permute::branches;
use crate::shell::flags_of;
use crate::symbolic::path_events;
use crate::verdict::{hit_bounds, title};
use crate::{View, replay_command, witness};

/// The data that `run` shows besides its record.
#[derive(Clone, Copy, Debug)]
pub struct OneRun<'a> {
    /// The run.
    pub run: &'a Run,
    /// The seed that chose it, if it was chosen at random.
    pub seed: Option<u64>,
    /// The processes that could make the next step.
    pub ready: &'a [String],
    /// The run over symbolic initial values, if it was requested.
    pub path: Option<&'a PathRecord>,
    /// The events of the run, if they were requested.
    pub events: &'a [PathEvent],
    /// Whether another run is equivalent, if that was requested.
    pub compared: Option<&'a ComparedRuns>,
}

impl<'a> OneRun<'a> {
    /// Makes the data of a run for which nothing else was requested.
    pub fn new(run: &'a Run) -> Self {
        Self {
            run,
            seed: None,
            ready: &[],
            path: None,
            events: &[],
            compared: None,
        }
    }
}

/// Returns the steps with the values that they changed, the end of the run, the final state, and
/// the command that replays it.
pub fn run(record: &Record, one: OneRun<'_>, view: &View) -> String {
    let paint = view.paint;
    let run = one.run;
    let mut text = match one.seed {
        Some(seed) => format!("{}: a random run, seed {seed}\n", record.program.file),
        None => format!("{}: the run of a schedule\n", record.program.file),
    };
    text += &witness::inputs(&run.inputs);
    let columns = Columns::fitting(std::slice::from_ref(run), view);
    text += &columns.steps(run, 0..run.steps.len(), None, paint);
    text += &witness::weak(run, 0);
    text += &ended(record, one, view);
    if run.ending == Ending::Open {
        let ready = one.ready.iter().map(|process| run.name_of(process));
        let ready: Vec<&str> = ready.collect();
        let mut open = "open: the run stops here".to_owned();
        if !ready.is_empty() {
            open += &format!("; ready to go on: {}", ready.join(", "));
        }
        text += &format!("{}\n", paint.unsure(&open));
    }
    text += &hit_bounds(record, view);
    if !run.state.is_empty() {
        text += &format!("state: {}\n", bindings(&run.state));
    }
    text += &one.path.map(path).unwrap_or_default();
    if !one.events.is_empty() {
        let events = path_events(&record.program, one.events);
        text += &format!("events: {events}\n");
    }
    let compared = one.compared.map(|compared| equivalence(record, compared));
    text += &compared.unwrap_or_default();
    let command = replay_command(&record.program, run, &flags_of(record, &view.flags));
    text += &format!("{} {command}\n", paint.strong("repeat with:"));
    text
}

/// Returns the violations in a run, and how it ended. The text is empty if there are no violations
/// and the run can continue.
pub fn ended(record: &Record, one: OneRun<'_>, view: &View) -> String {
    let paint = view.paint;
    let mut text = String::new();
    // Violations come first; a run that violates an invariant or an `ensures` can still continue or
    // be final.
    for evidence in &record.witnesses {
        text += &format!("{}\n", paint.bad(&title(evidence)));
        text += &witness::place(record, evidence);
        text += &witness::values(&evidence.values);
        text += &witness::waiting(evidence);
    }
    let ending = match one.run.ending {
        Ending::Final => Some(paint.good("final: every process has ended")),
        Ending::Discarded => Some(paint.unsure("discarded: an `assume` is false")),
        Ending::Lost => Some(paint.unsure("cut within a step")),
        Ending::Open | Ending::Deadlock | Ending::Failure => None,
    };
    text.extend(ending.map(|ending| ending + "\n"));
    text
}

/// Returns whether another run is equivalent, or where it differs.
fn equivalence(record: &Record, compared: &ComparedRuns) -> String {
    let other = record.program.schedule(&compared.schedule);
    let lead = if compared.equivalent {
        return format!("equivalent to: {other}\n");
    } else {
        format!("not equivalent to: {other}\n")
    };
    let why = match (&compared.order, compared.missing) {
        (Some(order), _) => {
            let labels: Vec<String> = order.labels.iter().map(|l| format!("`{l}`")).collect();
            format!(
                "  steps {} and {} depend on each other, {}, and are in another order there",
                order.first,
                order.second,
                labels.join(" and ")
            )
        }
        (None, Some(step)) => format!("  step {step} is not made there"),
        (None, None) => "  it continues where this run ends".to_owned(),
    };
    format!("{lead}{why}\n")
}

/// Returns the condition on the initial values under which the same steps are possible, and the
/// final values as terms over the initial ones.
fn path(path: &PathRecord) -> String {
    let mut text = format!("path condition: {}\n", path.condition);
    text += &format!("then: {}\n", bindings(&path.state));
    text + &branches(&path.branches)
}
