//! Records of failures for other programs, in core's format, which `mazurka show` renders.
//!
//! A record usually describes a program that `mazurka` runs. For a test of Rust code, the program's
//! file in the record is the source file that calls `model`. The settings hold the place of the
//! call (`@model`) and the name of the test (`@test`), so that the replay is a Cargo command.

use mazurka_core::record::{
    Binding, Ending, KindsRecord, ProgramRecord, Record, Run, Step, VERSION, Waiting, Witness,
};
use mazurka_core::{Counts, Kind, Scope, StopReason, Verdict};

use crate::report::{About, Report};
use crate::version::without_version;
use crate::{say, weak};

/// Returns the line of a place such as `src/lib.rs:7:5`; 0 if the text contains no line.
fn line_of(place: &str) -> usize {
    let mut numbers = place.rsplit(':').skip(1);
    numbers
        .next()
        .and_then(|line| line.parse().ok())
        .unwrap_or(0)
}

/// Returns the record of a search that found this failure after some executions.
pub(crate) fn record(report: &Report, executions: u64, about: &About) -> Record {
    let kind = if report.waiting.is_empty() {
        Kind::Failure
    } else {
        Kind::Deadlock
    };
    let replay = without_version(&report.replay).unwrap_or_default();
    let model = weak::split(replay).map(|(memory, _)| memory.to_string());
    let steps = report.rows().into_iter().map(|row| Step {
        process: row.thread,
        outcomes: Vec::new(),
        label: row.label,
        line: line_of(&row.place),
        file: None,
        enabled: Vec::new(),
        reads: Vec::new(),
        changes: Vec::new(),
        locks: Vec::new(),
        mishap: None,
        racing: row.racing,
        actor: None,
        memory: None,
        printed: Vec::new(),
    });
    let inputs = report.inputs.iter().map(|input| Binding {
        name: input.name.to_string(),
        value: input.value.to_string(),
    });
    let run = Run {
        schedule: report.replay.clone(),
        inputs: inputs.collect(),
        ending: match kind {
            Kind::Deadlock => Ending::Deadlock,
            _ => Ending::Failure,
        },
        steps: steps.collect(),
        state: Vec::new(),
        names: Vec::new(),
        processes: Vec::new(),
    };
    let waiting = report.waiting.iter().map(|text| {
        let rest = text.strip_prefix("thread ").unwrap_or(text);
        let (process, what) = rest.split_once(" waits at ").unwrap_or((rest, ""));
        let place = what.split([' ', ',']).next().unwrap_or_default();
        Waiting {
            process: process.to_owned(),
            what: what.to_owned(),
            held_by: None,
            line: line_of(place),
            file: None,
        }
    });
    let witness = Witness {
        kind,
        message: report.what.lines().next().unwrap_or_default().to_owned(),
        place: None,
        runs: vec![run],
        waiting: waiting.collect(),
        differs: Vec::new(),
        condition: None,
        lasso: None,
        values: Vec::new(),
        history: Vec::new(),
    };
    let mut set = vec![("@model".to_owned(), about.place.to_string())];
    set.extend(say::test().map(|name| ("@test".to_owned(), name)));
    Record {
        version: VERSION,
        program: ProgramRecord {
            file: about.place.file().to_owned(),
            hash: String::new(),
            set,
            names: Vec::new(),
        },
        command: "cargo test".to_owned(),
        algorithm: "optimal".to_owned(),
        options: None,
        verdict: Verdict::Violated,
        scope: Scope {
            exhaustive: false,
            bounds: Vec::new(),
            outside: Vec::new(),
        },
        stopped: StopReason::Certain,
        deterministic: None,
        explanation: None,
        memory_model: model,
        counts: Counts {
            executions,
            failures: u64::from(kind == Kind::Failure),
            deadlocks: u64::from(kind == Kind::Deadlock),
            ..Counts::default()
        },
        seconds: 0.0,
        solver: None,
        kinds: KindsRecord {
            counted: vec![Kind::Failure, Kind::Deadlock],
            ..KindsRecord::default()
        },
        witnesses: vec![witness],
        covers: Vec::new(),
        object: None,
        refinement: None,
        stronger: Vec::new(),
        warnings: Vec::new(),
        coverage: None,
        sample: None,
        memory: None,
        profile: None,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_place_has_a_line() {
        assert_eq!(super::line_of("src/lib.rs:7:5"), 7);
        assert_eq!(super::line_of("nowhere"), 0);
    }
}
