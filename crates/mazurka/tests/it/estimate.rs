//! Tests the estimates of how long a search takes, with programs whose size is known.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use mazurka::search::Estimate;
use mazurka::{Algorithm, Bound, Options, Program, Progress};

/// With fewer traces there is nothing to estimate.
const FEWEST_TRACES: i64 = 100;
const MOST_TRACES: i64 = 100_000;

/// Returns the larger programs of the corpus, with their numbers of traces.
fn programs() -> Vec<(Program, f64)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let workspace = here.ancestors().nth(2).expect("the workspace");
    let mut all = Vec::new();
    for entry in fs::read_dir(workspace.join("corpus/maz")).expect("the corpus") {
        let folder = entry.expect("a folder").path();
        let Ok(expect) = fs::read_to_string(folder.join("expect.toml")) else {
            continue;
        };
        let expect: toml::Table = expect.parse().expect("an expect.toml");
        let cases = expect.get("case").and_then(toml::Value::as_array);
        for case in cases.into_iter().flatten() {
            let traces = case.get("traces").and_then(toml::Value::as_integer);
            let traces = traces.filter(|traces| (FEWEST_TRACES..=MOST_TRACES).contains(traces));
            let (Some(traces), false) = (traces, expect.contains_key("needs")) else {
                continue;
            };
            let set = case.get("set").and_then(toml::Value::as_table);
            let text = |value: &toml::Value| match value {
                toml::Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let set: Vec<_> = set
                .into_iter()
                .flatten()
                .map(|(name, value)| (name.clone(), text(value)))
                .collect();
            let source = fs::read_to_string(folder.join("program.maz")).expect("a program");
            let name = folder.file_name().expect("a name").to_string_lossy();
            let program = Program::load(&name, &source, &set).expect("a program");
            all.push((program, traces as f64));
        }
    }
    all.sort_by(|(a, _), (b, _)| {
        let key = |program: &Program| (program.record().file.clone(), program.record().set.clone());
        key(a).cmp(&key(b))
    });
    all
}

/// Returns the estimate when this fraction of all executions had been explored.
fn estimate_at(part: f64, program: &Program, traces: f64, in_parts: bool) -> Option<Estimate> {
    let mut estimate = None;
    let mut watch = |progress: &Progress| {
        let met = progress.counts.executions as f64;
        if estimate.is_none() && met >= part * traces && met < 0.8 * traces {
            estimate = progress.estimate;
        }
        ControlFlow::<Bound>::Continue(())
    };
    let options = Options {
        jobs: 1,
        ..Options::default()
    };
    if in_parts {
        let done = program.explore_from(None, Algorithm::Optimal, &options, &mut watch);
        done.expect("a search");
    } else {
        program
            .explore(Algorithm::Optimal, &options, &mut watch)
            .expect("a record");
    }
    estimate
}

#[test]
fn estimates_are_as_good_as_they_say() {
    let (mut close, mut within, mut all) = (0, 0, 0);
    for (program, traces) in programs() {
        for in_parts in [false, true] {
            let Some(estimate) = estimate_at(0.3, &program, traces, in_parts) else {
                continue;
            };
            let ratio = estimate.executions / traces;
            all += 1;
            close += u32::from((1.0 / 3.0..=3.0).contains(&ratio));
            within += u32::from((estimate.low..=estimate.high).contains(&traces));
            println!(
                "{ratio:6.2} {:6.2}–{:6.2} of {traces:6} {} {:?}{}",
                estimate.low / traces,
                estimate.high / traces,
                program.record().file,
                program.record().set,
                if in_parts { ", in parts" } else { "" },
            );
        }
    }
    println!("{all} estimates, {close} within a factor of 3, {within} in their interval");
    assert!(all >= 40, "only {all} estimates");
    assert!(
        10 * close >= 8 * all,
        "{close} of {all} within a factor of 3"
    );
    assert!(
        10 * within >= 8 * all,
        "{within} of {all} in their interval"
    );
}
