//! The view of `reach`: whether the state can be reached, and a run to it.

use mazurka_core::Verdict;
use mazurka_core::record::{Record, Run};

use crate::events::{Columns, bindings};
use crate::verdict::hit_bounds;
use crate::{View, replay_command};

/// Returns whether the state can be reached, how much was searched, and a run to it.
pub fn reached(
    record: &Record,
    state: &str,
    run: Option<&Run>,
    searched: &str,
    view: &View,
) -> String {
    let paint = view.paint;
    let answer = match record.verdict {
        Verdict::Violated => paint.bad("reachable:"),
        Verdict::Verified => paint.good("unreachable:"),
        Verdict::Inconclusive => paint.unsure("unknown:"),
    };
    let mut text = format!("{answer} {state} ({searched})\n");
    text += &hit_bounds(record, view);
    if let Some(run) = run {
        let columns = Columns::fitting(std::slice::from_ref(run), view);
        text += &columns.steps(run, 0..run.steps.len(), None, paint);
        if !run.state.is_empty() {
            text += &format!("state: {}\n", bindings(&run.state));
        }
        let command = replay_command(&record.program, run, &view.flags);
        text += &format!("{} {command}\n", paint.strong("repeat with:"));
    }
    text
}
