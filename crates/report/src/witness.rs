//! The evidence for a violation, and how to see it again.

use mazurka_core::record::{Record, Run, Waiting, Witness, WitnessKind};

use crate::events::{bindings, events};
use crate::{View, clip, pad, replay_command};

/// Steps of a run that a verdict shows; `run` shows all.
const STEPS_SHOWN: usize = 400;
const STATE_WIDTH: usize = 240;

/// The whole evidence, without the command that replays it.
pub(crate) fn witness(record: &Record, witness: &Witness, view: &View) -> String {
    let paint = view.paint;
    let mut text = place(record, witness);
    text += &waiting(&witness.waiting);
    if !text.is_empty() {
        text.push('\n');
    }
    match &witness.runs[..] {
        [only] => text += &one(only, view),
        several => {
            for (at, run) in several.iter().enumerate() {
                let title = if at == 0 { "one run:" } else { "another run:" };
                text += &format!("{}\n{}", paint.strong(title), one(run, view));
            }
        }
    }
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

fn one(run: &Run, view: &View) -> String {
    let mut text = events(&run.steps, Some(STEPS_SHOWN), view.paint);
    if run.steps.is_empty() {
        text += "  (before any step)\n";
    }
    if !run.state.is_empty() {
        let state = clip(&bindings(&run.state), STATE_WIDTH);
        text += &format!("  then: {state}\n");
    }
    text
}

/// Where in the source it is.
pub(crate) fn place(record: &Record, witness: &Witness) -> String {
    match &witness.place {
        Some(place) => format!(
            "  at {}:{}:{}: {}\n",
            record.program.file,
            place.line,
            place.column,
            clip(&place.text, STATE_WIDTH)
        ),
        None => String::new(),
    }
}

/// Who waits for what, and who holds it.
pub(crate) fn waiting(all: &[Waiting]) -> String {
    let width = all
        .iter()
        .map(|w| w.process.chars().count())
        .max()
        .unwrap_or(0);
    let line = |w: &Waiting| {
        let holder = match &w.held_by {
            Some(holder) if *holder == w.process => ", which it holds itself".to_owned(),
            Some(holder) => format!(", held by {holder}"),
            None => String::new(),
        };
        let what = clip(&w.what, STATE_WIDTH);
        format!(
            "  {} waits for {what}{holder} (line {})\n",
            pad(&w.process, width),
            w.line
        )
    };
    all.iter().map(line).collect()
}

/// The commands that replay it, one line each.
pub(crate) fn replay(record: &Record, witness: &Witness, view: &View) -> String {
    let mut text = String::new();
    for (at, run) in witness.runs.iter().enumerate() {
        let intro = if at == 0 {
            "replay with:"
        } else {
            "        and:"
        };
        let command = replay_command(&record.program, &run.schedule, &view.flags);
        text += &format!("{} {command}\n", view.paint.strong(intro));
    }
    text
}

/// What kind of evidence it is, in a word or two.
pub(crate) fn kind(kind: WitnessKind) -> &'static str {
    match kind {
        WitnessKind::Failure => "failure",
        WitnessKind::Deadlock => "deadlock",
        WitnessKind::Nondeterminism => "not deterministic",
        WitnessKind::Livelock => "livelock",
    }
}
