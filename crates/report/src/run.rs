//! One execution, in the papers' notation.

use mazurka_core::record::{Ending, Record, Run};

use crate::events::{bindings, events};
use crate::verdict::cut;
use crate::{View, replay_command, witness};

/// What `run` shows beside its record.
#[derive(Clone, Copy, Debug)]
pub struct OneRun<'a> {
    /// The run.
    pub run: &'a Run,
    /// The seed that chose it, if it was chosen at random.
    pub seed: Option<u64>,
    /// Who could make the next step.
    pub ready: &'a [String],
}

/// The steps with the values that they changed, how the run ended, the final state, the way to see it again.
pub fn run(record: &Record, one: OneRun<'_>, view: &View) -> String {
    let paint = view.paint;
    let run = one.run;
    let mut text = match one.seed {
        Some(seed) => format!("{}: a random run, seed {seed}\n", record.program.file),
        None => format!("{}: the run of a schedule\n", record.program.file),
    };
    text += &events(&run.steps, None, paint);
    let ending = match run.ending {
        Ending::Final => paint.good("final: every process has ended"),
        Ending::Deadlock => paint.bad("deadlock: nobody can go on"),
        Ending::Failure => paint.bad("failure"),
        Ending::Discarded => paint.unsure("discarded: an `assume` is false"),
        Ending::Lost => paint.unsure("cut within a step"),
        Ending::Open if one.ready.is_empty() => paint.unsure("the schedule ends here"),
        Ending::Open => {
            let ready = one.ready.join(", ");
            paint.unsure(&format!("the run stops here; ready to go on: {ready}"))
        }
    };
    let messages: Vec<&str> = record
        .witnesses
        .iter()
        .map(|w| w.message.as_str())
        .collect();
    text += &match (run.ending, &messages[..]) {
        (_, []) | (Ending::Deadlock, _) => format!("{ending}\n"),
        // An invariant or `ensures` can fail in a run that goes on or is final.
        (Ending::Failure, _) => format!("{ending}: {}\n", messages.join("; ")),
        _ => format!(
            "{}: {}\n{ending}\n",
            paint.bad("failure"),
            messages.join("; ")
        ),
    };
    for evidence in &record.witnesses {
        if let Some(place) = &evidence.place {
            text += &format!(
                "  at {}:{}:{}: {}\n",
                record.program.file,
                place.line,
                place.column,
                crate::clip(&place.text, 240)
            );
        }
        text += &witness::waiting(&evidence.waiting);
    }
    text += &cut(record, view);
    if !run.state.is_empty() {
        text += &format!("state: {}\n", bindings(&run.state));
    }
    let command = replay_command(&record.program, &run.schedule, &view.flags);
    text += &format!("{} {command}\n", paint.strong("repeat with:"));
    text
}
