//! Explores every program of the corpus with every algorithm. The results must agree with the
//! figures of `expect.toml`, and so with each other.
//!
//! `corpus.rs` tests the figures themselves, and brute force, which is omitted here.

use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};

use crate::parallel::on_all_cores;
use mazurka::{Algorithm, Options, Program, Verdict, quietly};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
struct Expect {
    needs: Option<String>,
    #[serde(default)]
    case: Vec<Case>,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Case {
    #[serde(default)]
    set: toml::Table,
    deterministic: Option<bool>,
    traces: Option<u64>,
    deadlocks: Option<u64>,
    failures: Option<u64>,
    final_states: Option<u64>,
    discarded: Option<u64>,
}

/// Whether the algorithm cuts a run only if the run is equivalent to an earlier one, so that its
/// number of executions is at least that of traces.
fn counts_traces(algorithm: Algorithm) -> bool {
    ["sleep", "dpor", "source", "optimal"].contains(&algorithm.name())
}

/// Programs with more traces than this are explored only by `optimal`.
const MANY_TRACES: u64 = 10_000;

/// The maximal number of steps. A longer search is cut, and only its findings are compared.
const STEPS: u64 = 1_000_000;

/// The number of executions that a sampling engine draws.
const DRAWN: u64 = 30;

/// One program with one set of constants and one algorithm.
struct Job {
    name: String,
    source: String,
    case: Case,
    algorithm: Algorithm,
}

fn jobs(algorithms: &[Algorithm]) -> Vec<Job> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let corpus = here.ancestors().nth(2).expect("the workspace");
    let entries = fs::read_dir(corpus.join("corpus/maz")).expect("the corpus");
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    folders.retain(|path| path.is_dir());
    folders.sort();
    let mut jobs = Vec::new();
    for folder in folders {
        let read = |file: &str| match fs::read_to_string(folder.join(file)) {
            Ok(text) => text,
            Err(error) => panic!("{}/{file}: {error}", folder.display()),
        };
        let expect: Expect = toml::from_str(&read("expect.toml")).expect("an expect.toml");
        if expect.needs.is_some() {
            continue;
        }
        let name = folder.file_name().expect("a name").to_string_lossy();
        for case in &expect.case {
            let many = case.traces.is_some_and(|traces| traces > MANY_TRACES);
            let set: Vec<String> = case.set.iter().map(|(k, v)| format!(" {k}={v}")).collect();
            for &algorithm in algorithms {
                let too_slow = many && counts_traces(algorithm) && algorithm != Algorithm::Optimal;
                if algorithm != Algorithm::Naive && !too_slow {
                    jobs.push(Job {
                        name: format!("{name}{}, {algorithm}", set.concat()),
                        source: read("program.maz"),
                        case: case.clone(),
                        algorithm,
                    });
                }
            }
        }
    }
    jobs
}

/// Runs a job. Returns its mistakes, and whether the search was cut.
fn run(job: &Job) -> (Vec<String>, bool) {
    let text = |value: &toml::Value| match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let case = &job.case;
    let settings: Vec<_> = (case.set.iter())
        .map(|(name, value)| (name.clone(), text(value)))
        .collect();
    let program = match Program::load(&job.name, &job.source, &settings) {
        Ok(program) => program,
        Err(mistakes) => return (vec![format!("does not load: {mistakes:?}")], false),
    };
    let mut options = Options::default();
    options.limits.steps = Some(STEPS);
    let samples = job.algorithm.sample().is_some();
    options.limits.executions = samples.then_some(DRAWN);
    let record = program
        .explore(job.algorithm, &options, &mut quietly())
        .expect("a record");
    let counts = &record.counts;
    let cut = !record.scope.exhaustive;
    let mut wrong = Vec::new();
    let mut number = |what: &str, expected: Option<u64>, found: u64| {
        if let Some(expected) = expected
            && (if cut {
                found > expected
            } else {
                found != expected
            })
        {
            wrong.push(format!("{what}: expected {expected}, found {found}"));
        }
    };
    number("final states", case.final_states, counts.final_states);
    if counts_traces(job.algorithm) {
        number("executions", case.traces, counts.executions);
    }
    if counts_traces(job.algorithm) || samples {
        number("traces", case.traces, counts.traces.unwrap_or(0));
        number("deadlocks", case.deadlocks, counts.deadlocks);
        number("failures", case.failures, counts.failures);
        if case.discarded == Some(0) {
            number("discarded", case.discarded, counts.discarded);
        }
    } else {
        // The engine merges states, so only the existence of deadlocks and failures can be
        // compared.
        let any = |count: u64| u64::from(count > 0);
        number("deadlocks", case.deadlocks.map(any), any(counts.deadlocks));
        number("failures", case.failures.map(any), any(counts.failures));
    }
    if let (Some(expected), false) = (case.deterministic, cut)
        && record.deterministic != Some(expected)
    {
        let found = record.deterministic;
        wrong.push(format!(
            "deterministic: expected {expected}, found {found:?}"
        ));
    }
    if samples && record.verdict == Verdict::Verified {
        wrong.push("verified by a sample".to_owned());
    }
    (wrong, cut)
}

/// Runs all jobs. Returns the names of those that were cut.
fn run_all(jobs: Vec<Job>) -> Vec<String> {
    let (mut wrong, mut all_cut) = (Vec::new(), Vec::new());
    for (job, result) in on_all_cores(jobs, run) {
        let (faults, cut) = result.unwrap_or_else(|| (vec!["panics".to_owned()], false));
        if !faults.is_empty() {
            wrong.push(format!("{}: {}", job.name, faults.join("; ")));
        }
        if cut {
            all_cut.push(job.name);
        }
    }
    wrong.sort();
    assert!(
        wrong.is_empty(),
        "{} searches:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    all_cut
}

#[test]
fn every_algorithm_agrees_on_the_corpus() {
    let jobs = jobs(Algorithm::ALL);
    let all = jobs.len();
    assert!(all > 500, "most of the corpus was not found");
    let cut = run_all(jobs);
    println!("{} of {all} searches were cut: {cut:?}", cut.len());
    assert!(cut.len() * 10 < all, "too many searches were cut: {cut:?}");
}

#[test]
fn samples_find_nothing_that_is_not_there_and_verify_nothing() {
    let jobs = jobs(Algorithm::SAMPLING);
    let all = jobs.len();
    assert!(all > 100, "most of the corpus was not found");
    assert_eq!(run_all(jobs).len(), all, "no sample is exhaustive");
}
