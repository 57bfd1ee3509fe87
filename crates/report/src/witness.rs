//! The evidence for a violation as text: its runs, the values of the failed condition, what
//! processes wait for, and the commands that replay it.

use mazurka_core::record::{
    Binding, Ending, Kind, OrderedSteps, Record, Run, Step, Waiting, Witness,
};

use crate::events::{Columns, bindings, line_of};
use crate::history::chart;
use crate::shell::flags_of;
use crate::{View, clip, pad, replay_command};

/// Limit on the steps of a run, or of a part of it, that a verdict shows; `run` shows all.
const STEPS_SHOWN: usize = 40;
const STATE_WIDTH: usize = 240;

/// Returns the whole evidence for a violation, without the command that replays it.
pub(crate) fn witness(record: &Record, witness: &Witness, view: &View) -> String {
    let paint = view.paint;
    let mut text = place(record, witness);
    text += &values(&witness.values);
    text += &chart(witness.runs.first(), &witness.history);
    text += &waiting(witness);
    let given = match &witness.runs[..] {
        [first, _, ..] if witness.kind != Kind::Nondeterminism => first.inputs.clone(),
        _ => witness.inputs(),
    };
    text += &inputs(&given);
    if let Some(condition) = &witness.condition {
        let condition = clip(condition, STATE_WIDTH);
        text += &format!("  for all inputs with {condition}\n");
    }
    if record.witnesses.first() == Some(witness) {
        text += &explanation(record);
    }
    if !text.is_empty() {
        text.push('\n');
    }
    let columns = Columns::fitting(&witness.runs, view);
    match &witness.runs[..] {
        [one, other] if witness.kind == Kind::Nondeterminism => {
            let common = common(one, other);
            let titles = match common {
                0 => ["one run:", "the other run:"],
                _ => {
                    let title = paint.strong("both runs begin:");
                    let steps = columns.steps(one, 0..common, Some(STEPS_SHOWN), paint);
                    text += &format!("{title}\n{steps}");
                    ["one continues:", "the other continues:"]
                }
            };
            for (title, run) in titles.into_iter().zip([one, other]) {
                text += &format!(
                    "{}\n{}",
                    paint.strong(title),
                    rest(run, common, &columns, view)
                );
            }
        }
        all => {
            for (at, run) in all.iter().enumerate() {
                // With `prove`, each further run is that of an inner box, which starts where the
                // run before has ended.
                if at > 0 {
                    text += &inputs(&run.inputs);
                }
                text += &rest(run, 0, &columns, view);
            }
        }
    }
    text += &for_ever(witness);
    if !witness.differs.is_empty() {
        text += &format!("{}\n", paint.strong("what differs at the end:"));
        let names = witness.differs.iter().map(|d| d.name.chars().count());
        let width = names.max().unwrap_or(0);
        for difference in &witness.differs {
            let name = pad(&difference.name, width);
            let first = clip(&difference.first, STATE_WIDTH);
            let second = clip(&difference.second, STATE_WIDTH);
            text += &format!("  {name} = {first} in the one, {second} in the other\n");
        }
    }
    text
}

/// Returns the orders of steps that explain the first violation, in two sentences.
fn explanation(record: &Record) -> String {
    let Some(explanation) = &record.explanation else {
        return String::new();
    };
    let before = |pair: &OrderedSteps| {
        let (first, second) = (pair.first.step, pair.second.step);
        format!("step {first} comes before step {second}")
    };
    let orders: Vec<String> = explanation.orders.iter().map(before).collect();
    let (shown, traces) = (explanation.shown, explanation.traces);
    let have = match (shown, traces) {
        (1, 1) => "There is one trace".to_owned(),
        (shown, traces) if shown == traces => format!("There are {traces} traces"),
        (1, traces) => format!("Of {traces} traces one does"),
        (shown, traces) => format!("Of {traces} traces {shown} do"),
    };
    if orders.is_empty() {
        format!("  Every run shows this. {have}.\n")
    } else {
        let orders = orders.join(" and ");
        format!("  Every run in which {orders} shows this. {have}.\n")
    }
}

/// Returns how a run that violates a temporal property continues.
fn for_ever(witness: &Witness) -> String {
    let ([run], Kind::Property) = (&witness.runs[..], witness.kind) else {
        return String::new();
    };
    let steps = run.steps.len();
    match (witness.lasso, run.ending) {
        (Some(stem), _) if stem + 1 == steps => format!("  step {steps} repeats for ever\n"),
        (Some(stem), _) => format!("  steps {}–{steps} repeat for ever\n", stem + 1),
        (None, Ending::Final | Ending::Deadlock) => "  the run ends here\n".to_owned(),
        (None, _) => String::new(),
    }
}

/// Returns the values of the unknowns of a program: initial values, then inputs.
pub(crate) fn inputs(all: &[Binding]) -> String {
    let (inputs, initial): (Vec<_>, Vec<_>) =
        all.iter().cloned().partition(|one| one.name.contains('#'));
    let mut text = String::new();
    for (what, values) in [("initially", initial), ("inputs", inputs)] {
        if !values.is_empty() {
            text += &format!("  {what}: {}\n", clip(&bindings(&values), STATE_WIDTH));
        }
    }
    text
}

/// Returns the number of steps that two runs have in common at their beginning.
fn common(one: &Run, other: &Run) -> usize {
    let pairs = one.steps.iter().zip(&other.steps);
    let same = |(a, b): &(&Step, &Step)| {
        (&a.process, &a.outcomes, &a.label, a.racing)
            == (&b.process, &b.outcomes, &b.label, b.racing)
            && a.changes == b.changes
            && a.reads == b.reads
    };
    pairs.take_while(same).count()
}

/// Returns the steps from a position on, and the state at the end.
fn rest(run: &Run, from: usize, columns: &Columns, view: &View) -> String {
    let mut text = columns.steps(run, from..run.steps.len(), Some(STEPS_SHOWN), view.paint);
    if run.steps.is_empty() {
        text += "  (before any step)\n";
    }
    text += &weak(run, from);
    if !run.state.is_empty() {
        let state = clip(&bindings(&run.state), STATE_WIDTH);
        text += &format!("  then: {state}\n");
    }
    text
}

/// Describes the steps, from a position on, that are impossible in an interleaving: a read that
/// does not see the last write, or a write that precedes the write of an earlier step in the
/// modification order.
pub(crate) fn weak(run: &Run, from: usize) -> String {
    let mut text = String::new();
    for (at, step) in run.steps.iter().enumerate().skip(from) {
        let Some(memory) = step
            .memory
            .as_ref()
            .filter(|memory| !memory.behind.is_empty())
        else {
            continue;
        };
        let place = memory.place.as_deref().unwrap_or_default();
        let newer = steps_of(&memory.behind);
        let number = at + 1;
        text += &match memory.reads_from {
            Some(0) => {
                format!("  weak: step {number} reads the initial `{place}`, not yet {newer}\n")
            }
            Some(write) => {
                format!("  weak: step {number} reads `{place}` of step {write}, not yet {newer}\n")
            }
            None => format!("  weak: step {number} writes `{place}` before {newer} does\n"),
        };
    }
    text
}

fn steps_of(numbers: &[usize]) -> String {
    let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
    match &numbers[..] {
        [one] => format!("that of step {one}"),
        all => format!("those of steps {}", all.join(", ")),
    }
}

/// Returns the place in the source.
pub(crate) fn place(record: &Record, witness: &Witness) -> String {
    match &witness.place {
        Some(place) => format!(
            "  at {}:{}:{}: {}\n",
            place.file.as_ref().unwrap_or(&record.program.file),
            place.line,
            place.column,
            clip(&place.text, STATE_WIDTH)
        ),
        None => String::new(),
    }
}

/// Returns the values of the variables that the failed condition mentions.
pub(crate) fn values(all: &[Binding]) -> String {
    if all.is_empty() {
        String::new()
    } else {
        format!("  with {}\n", clip(&bindings(all), STATE_WIDTH))
    }
}

/// Returns which processes wait, what they wait for, and which process holds it.
pub(crate) fn waiting(witness: &Witness) -> String {
    let all = &witness.waiting;
    let name = |process: &str| match witness.runs.first() {
        Some(run) => run.name_of(process).to_owned(),
        None => process.to_owned(),
    };
    let names = all.iter().map(|w| name(&w.process).chars().count());
    let width = names.max().unwrap_or(0);
    let line = |w: &Waiting| {
        let holder = match &w.held_by {
            Some(holder) if *holder == w.process => ", which it holds itself".to_owned(),
            Some(holder) => format!(", held by {}", name(holder)),
            None => String::new(),
        };
        let what = clip(&w.what, STATE_WIDTH);
        format!(
            "  {} waits for {what}{holder} ({})\n",
            pad(&name(&w.process), width),
            line_of(w.line, w.file.as_deref())
        )
    };
    all.iter().map(line).collect()
}

/// Returns the commands that replay a violation, one per line.
pub(crate) fn replay(record: &Record, witness: &Witness, view: &View) -> String {
    let mut text = String::new();
    for (at, run) in witness.runs.iter().enumerate() {
        let intro = if at == 0 {
            "replay with:"
        } else {
            "        and:"
        };
        let command = replay_command(&record.program, run, &flags_of(record, &view.flags));
        text += &format!("{} {command}\n", view.paint.strong(intro));
    }
    text
}

/// Returns the kind of evidence, in a word or two.
pub(crate) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Failure => "failure",
        Kind::Property => "property",
        Kind::Deadlock => "deadlock",
        Kind::Nondeterminism => "not deterministic",
        Kind::Livelock => "livelock",
    }
}
