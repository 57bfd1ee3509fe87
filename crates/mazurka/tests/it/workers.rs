//! Tests workers and checkpoints: the result depends neither on the number of workers nor on
//! interruptions.

use std::fs;
use std::path::Path;

use mazurka::checkpoint::{Checkpoint, ResumeError};
use mazurka::compare::{Compare, CompareRecord, Relation};
use mazurka::record::Record;
use mazurka::search::Saving;
use mazurka::{Algorithm, Options, Program, Verdict, quietly};

/// The maximal number of traces; larger cases are left to longer tests.
const MOST_TRACES: u64 = 1_000;

fn folder() -> std::path::PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let workspace = here.ancestors().nth(2).expect("the workspace");
    workspace.join("corpus/maz")
}

fn program(name: &str, set: &[(&str, &str)]) -> Program {
    let source = fs::read_to_string(folder().join(name).join("program.maz"));
    let source = source.expect("a program of the corpus");
    let own = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
    let set: Vec<_> = set.iter().map(own).collect();
    Program::load(name, &source, &set).expect("a program")
}

/// Returns every program of the corpus, with every setting that has few traces.
pub fn corpus() -> Vec<(String, Program)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder()).expect("the corpus").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(expect) = fs::read_to_string(entry.path().join("expect.toml")) else {
            continue;
        };
        let expect: toml::Table = expect.parse().expect("an expect.toml");
        let cases = expect.get("case").and_then(|cases| cases.as_array());
        let runs = !expect.contains_key("needs");
        for case in cases.into_iter().flatten().filter(|_| runs) {
            let traces = case.get("traces").and_then(toml::Value::as_integer);
            let set = case.get("set").and_then(toml::Value::as_table);
            let set = set.into_iter().flatten().map(|(name, value)| {
                let value = value.as_str().map(ToOwned::to_owned);
                let written = case["set"][name.as_str()].to_string();
                (name.clone(), value.unwrap_or(written))
            });
            let set: Vec<(String, String)> = set.collect();
            if traces.is_some_and(|traces| traces as u64 <= MOST_TRACES) {
                let source = fs::read_to_string(entry.path().join("program.maz"));
                let source = source.expect("a program");
                let program = Program::load(&name, &source, &set).expect("a program");
                all.push((source, program));
            }
        }
    }
    assert!(all.len() > 100, "most of the corpus was not found");
    all
}

fn with_jobs(jobs: usize) -> Options {
    Options {
        jobs,
        ..Options::default()
    }
}

/// Explores in parts, whatever the size of the program.
fn in_parts(program: &Program, algorithm: Algorithm, jobs: usize) -> Record {
    let done = program.explore_from(None, algorithm, &with_jobs(jobs), &mut quietly());
    let (record, checkpoint) = done.expect("an engine that can be cut");
    assert_eq!(checkpoint, None);
    record
}

/// Returns the part of a record that must not depend on how the program was explored.
pub fn meaning(record: &Record) -> Record {
    let mut record = record.clone();
    record.seconds = 0.0;
    record.options = None;
    record.counts.blocked = 0;
    record.counts.events = 0;
    record.counts.steps = 0;
    record
}

#[test]
fn the_corpus_is_the_same_for_any_number_of_workers() {
    for (_, program) in corpus() {
        for &algorithm in &[Algorithm::Optimal, Algorithm::Source, Algorithm::Dpor] {
            let whole = program
                .explore(algorithm, &with_jobs(1), &mut quietly())
                .expect("a record");
            let first = in_parts(&program, algorithm, 1);
            let name = format!("{:?}, {algorithm}", program.record());
            assert_eq!(meaning(&whole), meaning(&first), "{name}");
            for jobs in [2, 3, 4] {
                let more = in_parts(&program, algorithm, jobs);
                assert_eq!(first.counts, more.counts, "{name}, {jobs} jobs");
                assert_eq!(meaning(&first), meaning(&more), "{name}, {jobs} jobs");
            }
        }
    }
}

/// The order of the writes decides the result, so there are as many states as traces. These are too
/// many for the first attempts of `check`.
const ORDERS: &str = "
    const N = 8
    atomicity access
    var x: int = 0
    ensures x != LAST
    process (p in 0..N) { x := x * 10 + p + 1 }
";

#[test]
fn the_answer_is_the_same_for_any_number_of_workers() {
    // Only the last of all orders fails, so no engine reaches it soon.
    let source = ORDERS
        .replace("atomicity access", "atomicity statement")
        .replace("N = 8", "N = 9")
        .replace("LAST", "987654321");
    let program = Program::load("orders.maz", &source, &[]).expect("a program");
    let first = program
        .check(&with_jobs(1), &mut quietly())
        .expect("a record");
    assert_eq!(first.verdict, Verdict::Violated);
    for jobs in [2, 3, 4] {
        let more = program
            .check(&with_jobs(jobs), &mut quietly())
            .expect("a record");
        assert_eq!(first.counts, more.counts);
        assert_eq!(meaning(&first), meaning(&more));
    }
}

/// Explores repeatedly with a limit, each time from the last checkpoint.
fn in_stages(program: &Program, algorithm: Algorithm, options: &Options) -> (Record, u32) {
    let mut checkpoint: Option<Checkpoint> = None;
    let mut options = options.clone();
    for stages in 1.. {
        let done = program.explore_from(checkpoint.as_ref(), algorithm, &options, &mut quietly());
        let (record, next) = done.expect("the same program and options");
        let Some(next) = next else {
            return (record, stages);
        };
        assert!(!record.scope.exhaustive);
        let text = next.text().expect("JSON");
        let read = Checkpoint::parse(&text).expect("a checkpoint");
        assert_eq!(read.left(), next.left());
        if checkpoint.is_some_and(|before| before.left() == read.left()) {
            // No part was finished.
            options.limits.steps = options.limits.steps.map(|most| 2 * most);
            options.limits.executions = options.limits.executions.map(|most| 2 * most);
        }
        checkpoint = Some(read);
    }
    unreachable!("there are enough numbers")
}

#[test]
fn a_search_in_stages_finds_what_one_search_finds() {
    let programs = [
        program("writers", &[("N", "6")]),
        program("philosophers", &[("N", "4")]),
        program("lastzero", &[("N", "5")]),
        program("assert-race", &[]),
        program("ensures-violated", &[]),
        program("choose-leader", &[]),
        program("e3-reopen", &[]),
    ];
    let mut interrupted = 0;
    for program in &programs {
        for algorithm in [Algorithm::Optimal, Algorithm::Sleep, Algorithm::Naive] {
            if algorithm == Algorithm::Naive && program.record().file == "philosophers" {
                continue;
            }
            let whole = in_parts(program, algorithm, 1);
            for (steps, executions, jobs) in [
                (Some(500), None, 1),
                (Some(5_000), None, 1),
                (None, Some(60), 1),
                (None, Some(100), 2),
            ] {
                let mut options = with_jobs(jobs);
                options.limits.steps = steps;
                options.limits.executions = executions;
                let (record, stages) = in_stages(program, algorithm, &options);
                let name = &program.record().file;
                assert_eq!(whole.counts, record.counts, "{name}, {algorithm}");
                assert_eq!(meaning(&whole), meaning(&record), "{name}, {algorithm}");
                interrupted += u32::from(stages > 1);
            }
        }
    }
    assert!(
        interrupted > 10,
        "only {interrupted} searches were interrupted"
    );
}

#[test]
fn a_limit_is_exact_with_one_worker_and_close_with_more() {
    let program = program("writers", &[("N", "9")]);
    for jobs in [1, 2, 4] {
        let mut options = with_jobs(jobs);
        options.limits.steps = Some(400_000);
        let record = program
            .explore(Algorithm::Optimal, &options, &mut quietly())
            .expect("a record");
        assert_eq!(record.verdict, Verdict::Inconclusive);
        assert_eq!(record.scope.bounds, [mazurka::Bound::MaxSteps(400_000)]);
        let most = match jobs {
            1 => 400_000,
            more => 400_000 + 30_000 + 8_192 * more as u64,
        };
        assert!(record.counts.steps <= most, "{}", record.counts.steps);
    }
}

#[test]
fn a_checkpoint_is_for_the_same_program_and_options() {
    let this = program("writers", &[("N", "6")]);
    let mut options = with_jobs(1);
    options.limits.executions = Some(100);
    let done = this.explore_from(None, Algorithm::Optimal, &options, &mut quietly());
    let checkpoint = done.expect("a search").1.expect("not finished");
    let refused = |program: &Program, algorithm: Algorithm, options: &Options| {
        let done = program.explore_from(Some(&checkpoint), algorithm, options, &mut quietly());
        done.expect_err("refused")
    };
    let other = program("writers", &[("N", "5")]);
    assert!(matches!(
        refused(&other, Algorithm::Optimal, &options),
        ResumeError::OtherProgram { .. }
    ));
    let error = refused(&this, Algorithm::Source, &options);
    assert_eq!(
        error.to_string(),
        "this checkpoint was made with `--algorithm optimal --max-depth 10000 --max-local 1000000`, \
         not with `--algorithm source --max-depth 10000 --max-local 1000000`; give the same options"
    );
    let mut deeper = options.clone();
    deeper.limits.depth = Some(5);
    assert!(matches!(
        refused(&this, Algorithm::Optimal, &deeper),
        ResumeError::OtherOptions { .. }
    ));
    assert_eq!(
        refused(&this, Algorithm::Stateful, &options),
        ResumeError::Engine(Algorithm::Stateful)
    );
    // Limits of time and memory may differ.
    let done = this.explore_from(
        Some(&checkpoint),
        Algorithm::Optimal,
        &with_jobs(2),
        &mut quietly(),
    );
    assert_eq!(done.expect("goes on").0.counts.traces, Some(720));
    let text = checkpoint.text().expect("JSON");
    let newer = text.replace("\"checkpoint\": ", "\"checkpoint\": 9");
    assert_ne!(newer, text);
    assert!(matches!(
        Checkpoint::parse(&newer),
        Err(ResumeError::Version { .. })
    ));
    for bad in ["", "{}", "[]", &text[..text.len() / 2]] {
        assert!(matches!(Checkpoint::parse(bad), Err(ResumeError::Shape(_))));
    }
    let changed = text.replace("\"left\"", "\"right\"");
    assert_eq!(Checkpoint::parse(&changed), Err(ResumeError::Damaged));
}

#[test]
fn every_checkpoint_on_the_way_leads_to_the_same_end() {
    let source = ORDERS.replace("N = 8", "N = 3").replace("LAST", "321");
    let program = Program::load("orders.maz", &source, &[]).expect("a program");
    for algorithm in [Algorithm::Optimal, Algorithm::Naive] {
        let mut saved: Vec<Checkpoint> = Vec::new();
        let saving = Saving {
            from: None,
            every: std::time::Duration::ZERO,
            save: &mut |checkpoint| saved.push(checkpoint),
        };
        let done = program.explore_saving(saving, algorithm, &with_jobs(2), &mut quietly());
        let (whole, _) = done.expect("an engine that can be cut");
        assert!(!saved.is_empty());
        // There are many checkpoints, and the last one has no remaining parts.
        for checkpoint in saved
            .iter()
            .step_by(1 + saved.len() / 20)
            .chain(saved.last())
        {
            let checkpoint = Some(checkpoint);
            let options = with_jobs(1);
            let done = program.explore_from(checkpoint, algorithm, &options, &mut quietly());
            let (rest, left) = done.expect("the same program and options");
            assert_eq!(left, None);
            assert_eq!(meaning(&whole), meaning(&rest), "{algorithm}");
        }
    }
}

/// A search in parts finds all outcomes, each with the same schedule. Each order of the nine writes
/// is a trace and leads to a state of its own, and only the last writer is observed.
#[test]
fn a_comparison_is_the_same_for_any_number_of_workers() {
    let load = |source: &str| Program::load("test.maz", source, &[]).expect("a program");
    let orders = load(
        "var x, last: int = 0
         process (p in 0..9) { atomic { x := x * 10 + p + 1; last := p } }",
    );
    let any = load("var last: int = 0 process { last := choose(0..9) }");
    let fewer = load("var last: int = 0 process { last := choose(0..8) }");
    let compared = |other: &Program, jobs: usize| {
        let how = Compare {
            relation: Relation::Same,
            observe: vec!["last".to_owned()],
        };
        let record = orders.compare(other, &how, &with_jobs(jobs), &mut quietly());
        let mut record = record.expect("two programs");
        record.record.seconds = 0.0;
        record.record.options = None;
        record
    };
    let of = |other: &Program| -> CompareRecord {
        let one = compared(other, 1);
        // The first rounds, in which the engines take turns without parts, do not suffice.
        assert!(one.record.counts.steps > 900_000);
        for jobs in [2, 5] {
            assert_eq!(compared(other, jobs), one, "{jobs} jobs");
        }
        one
    };
    let same = of(&any);
    assert_eq!(same.record.verdict, Verdict::Verified);
    assert_eq!(same.outcomes, [9, 9]);
    let differs = of(&fewer);
    assert_eq!(differs.record.verdict, Verdict::Violated);
    let difference = differs.difference.expect("an outcome of the first");
    assert_eq!((difference.of, differs.outcomes), (0, [9, 8]));
    let last = difference.run.steps.last().expect("nine steps");
    assert_eq!((difference.run.steps.len(), &*last.process), (9, "8"));
}
