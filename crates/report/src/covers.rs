//! The lines of a report about the `cover` statements: for each, the command that shows a run which
//! reaches it, or how much was explored without such a run.

use mazurka_core::record::{CoverAnswer, CoverRecord, Record};

use crate::shell::flags_of;
use crate::{View, bounds, counted, replay_command};

/// Returns a line for each `cover` of the file.
pub(crate) fn covers(record: &Record, view: &View) -> String {
    let line = |cover: &CoverRecord| format!("{}\n", cover_line(record, cover, view));
    record.covers.iter().map(line).collect()
}

fn cover_line(record: &Record, cover: &CoverRecord, view: &View) -> String {
    let paint = view.paint;
    let name = match &cover.name {
        Some(name) => format!("`{name}`"),
        None => format!("`{}`", cover.condition),
    };
    let counts = &cover.counts;
    let explored = match crate::verdict::states(counts) {
        Some(states) => states,
        None => counted(counts.executions, "execution", "executions"),
    };
    let explored = format!("{explored} by {}", cover.algorithm);
    match (cover.answer, &cover.run) {
        (CoverAnswer::Reached, Some(run)) => {
            let steps = counted(run.steps.len() as u64, "step", "steps");
            let command = replay_command(&record.program, run, &flags_of(record, &view.flags));
            let good = paint.good("covered:");
            format!("{good} {name} holds after {steps}: {command}")
        }
        (CoverAnswer::Reached, None) => format!("{} {name}", paint.good("covered:")),
        (CoverAnswer::Unreached, _) => {
            let bad = paint.bad("never covered:");
            format!("{bad} {name} holds in no reachable state ({explored}, exhaustive)")
        }
        (CoverAnswer::Open, _) => {
            let limits: Vec<String> = cover.bounds.iter().map(bounds::name).collect();
            let why = if limits.is_empty() {
                "not searched exhaustively".to_owned()
            } else {
                limits.join(", ")
            };
            let open = paint.unsure("not covered so far:");
            format!("{open} {name} ({explored}; {why})")
        }
    }
}
