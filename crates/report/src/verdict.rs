//! The answer of `check`: the verdict in plain words with its scope, the evidence, what to do next.

use mazurka_core::record::{Record, Witness};
use mazurka_core::{StopReason, Verdict};

use crate::shell::determinism_command;
use crate::{View, bounds, counted, witness};

/// The verdict with its evidence. The first line is the answer; the last one says what to do next.
pub fn verdict(record: &Record, view: &View) -> String {
    let mut text = headline(record, view);
    match record.verdict {
        Verdict::Verified => {
            if record.deterministic == Some(false) {
                text += &two_runs(record, view);
            }
        }
        Verdict::Violated => {
            for (at, evidence) in record.witnesses.iter().enumerate() {
                text.push('\n');
                if record.witnesses.len() > 1 {
                    text += &format!("{}\n", view.paint.bad(&title(evidence)));
                }
                text += &witness::witness(record, evidence, view);
                if at + 1 < record.witnesses.len() {
                    text += &witness::replay(record, evidence, view);
                }
            }
            text += &cut(record, view);
            text.push('\n');
            if let Some(last) = record.witnesses.last() {
                text += &witness::replay(record, last, view);
            }
        }
        Verdict::Inconclusive => text += &cut(record, view),
    }
    text
}

/// How to see that the results differ, where that is no violation.
pub(crate) fn two_runs(record: &Record, view: &View) -> String {
    let intro = view.paint.strong("two runs that differ:");
    format!("{intro} {}\n", determinism_command(&record.program))
}

/// The first line: the verdict in plain words, with its scope.
pub fn headline(record: &Record, view: &View) -> String {
    let paint = view.paint;
    let scope = scope(record);
    match record.verdict {
        Verdict::Verified => {
            let found = match (record.deterministic, record.counts.executions) {
                (Some(true), _) => "no failure, no deadlock, deterministic".to_owned(),
                (Some(false), _) => format!(
                    "no failure, no deadlock, but not deterministic: {}",
                    counted(record.counts.final_states, "final state", "final states")
                ),
                (None, 0) => {
                    "every run is discarded by a false `assume`, so nothing can go wrong".to_owned()
                }
                (None, _) => "no failure, no deadlock".to_owned(),
            };
            format!("{} {found} ({scope})\n", paint.good("verified:"))
        }
        Verdict::Violated => {
            let found: Vec<_> = record.witnesses.iter().map(title).collect();
            format!(
                "{} {} ({scope})\n",
                paint.bad("violated:"),
                found.join("; ")
            )
        }
        Verdict::Inconclusive => {
            let found = "nothing wrong found, but not everything was explored";
            format!("{} {found} ({scope})\n", paint.unsure("inconclusive:"))
        }
    }
}

/// The message of a witness, which names its kind if the message does not.
pub(crate) fn title(evidence: &Witness) -> String {
    let kind = witness::kind(evidence.kind);
    match evidence.message.to_lowercase().starts_with(kind) {
        true => evidence.message.clone(),
        false => format!("{kind}: {}", evidence.message),
    }
}

/// How much was looked at.
fn scope(record: &Record) -> String {
    let counts = &record.counts;
    let mut parts = Vec::new();
    if let Some(traces) = counts.traces {
        parts.push(counted(traces, "trace", "traces"));
    }
    let executions = counted(counts.executions, "execution", "executions");
    parts.push(format!("{executions} by {}", record.algorithm));
    if counts.discarded > 0 {
        parts.push(format!("{} discarded", counts.discarded));
    }
    parts.push(match record.stopped {
        StopReason::Complete if record.scope.bounds.is_empty() => "exhaustive".to_owned(),
        StopReason::Certain => "stopped when certain".to_owned(),
        StopReason::Complete | StopReason::Bound => "cut".to_owned(),
    });
    parts.join(", ")
}

/// Every bound that was hit, and what to do about each.
pub(crate) fn cut(record: &Record, view: &View) -> String {
    let mut text = String::new();
    for bound in &record.scope.bounds {
        let name = view.paint.unsure(&bounds::name(bound));
        text += &format!("  {name}: {}\n", bounds::advice(bound));
    }
    text
}

/// A record that was replayed: that everything came again, and the evidence.
pub fn replayed(record: &Record, view: &View) -> String {
    let runs: u64 = record.witnesses.iter().map(|w| w.runs.len() as u64).sum();
    let steps = counted(record.counts.steps, "step", "steps");
    if record.witnesses.is_empty() {
        let good = view.paint.good("replayed:");
        return format!("{good} {steps}, all as recorded\n");
    }
    let titles: Vec<_> = record.witnesses.iter().map(title).collect();
    let mut text = format!(
        "{} {} ({}, {steps}, all as recorded)\n",
        view.paint.bad("replayed:"),
        titles.join("; "),
        counted(runs, "run", "runs")
    );
    for evidence in &record.witnesses {
        text.push('\n');
        text += &witness::witness(record, evidence, view);
    }
    text
}
