//! Tests witnesses. For every program of the corpus, a witness shows the finding, is no longer than
//! the run that the search has found, has no more switches between processes, and marks the racing
//! steps.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use mazurka::record::{Kind, Run, Witness};
use mazurka::replay::Recording;
use mazurka::{Algorithm, Limits, Options, Program, Schedule, quietly};
use mazurka_core::Kinds;
use mazurka_explore::{Findings, Goal, Search};
use mazurka_lang::Machine;

/// Returns the findings of a search before they are minimised.
fn raw(source: &str, algorithm: Algorithm, limits: &Limits, goal: Goal) -> Findings {
    let program = mazurka_lang::load(source, &[]).expect("a program");
    let code = Arc::new(mazurka_lang::compile(&program, source).expect("a program"));
    let search = Search {
        algorithm,
        limits: limits.clone(),
        goal,
    };
    let mut machine = Machine::new(Arc::clone(&code), limits.local);
    search.run(&mut machine, &mut quietly(), &mut ())
}

fn switches(schedule: &Schedule) -> usize {
    let pairs = schedule.0.windows(2);
    pairs.filter(|w| w[0].process != w[1].process).count()
}

/// Asserts that a witness has no more steps and no more switches between processes than these runs.
fn no_worse(name: &str, witness: &Witness, found: &[&Schedule]) {
    let parse = |run: &Run| run.schedule.parse::<Schedule>().expect("a schedule");
    let shown: Vec<Schedule> = witness.runs.iter().map(parse).collect();
    assert_eq!(shown.len(), found.len(), "{name}");
    let sum = |all: &mut dyn Iterator<Item = &Schedule>| all.map(switches).sum::<usize>();
    assert!(
        sum(&mut shown.iter()) <= sum(&mut found.iter().copied()),
        "{name}: {shown:?} instead of {found:?}"
    );
    if let ([shown], [found]) = (&shown[..], found) {
        assert!(shown.0.len() <= found.0.len(), "{name}");
    }
    // A single step cannot race.
    for run in &witness.runs {
        assert_ne!(racing(run).len(), 1, "{name}: {:?}", run.schedule);
    }
}

#[test]
fn witnesses_of_the_corpus_show_the_same_and_are_no_worse() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = here.ancestors().nth(2).expect("the workspace");
    let entries = fs::read_dir(folder.join("corpus/maz")).expect("the corpus");
    let mut tried = 0;
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(source) = fs::read_to_string(entry.path().join("program.maz")) else {
            continue;
        };
        // Programs with unknown values run on another machine.
        let program = Program::load(&name, &source, &[]).ok();
        let Some(program) = program.filter(|program| program.unknowns().is_empty()) else {
            continue;
        };
        let options = Options {
            limits: Limits {
                steps: Some(20_000),
                ..Limits::default()
            },
            jobs: 1,
            ..Options::default()
        };
        for algorithm in [Algorithm::Naive, Algorithm::Optimal] {
            let found = raw(&source, algorithm, &options.limits, Goal::Everything);
            let record = program
                .explore(algorithm, &options, &mut quietly())
                .expect("a record");
            let findings = found.failures.iter().chain(&found.deadlock);
            let findings: Vec<_> = findings.chain(&found.livelock).collect();
            assert_eq!(record.witnesses.len(), findings.len(), "{name}");
            for (witness, finding) in record.witnesses.iter().zip(findings) {
                no_worse(&name, witness, &[&finding.schedule]);
                tried += 1;
            }
            replays(&name, &program, &options, record);
        }
        let options = Options {
            counted: Some(Kinds::of(&[Kind::Nondeterminism])),
            ..options
        };
        let record = program.check(&options, &mut quietly()).expect("a record");
        let algorithm: Algorithm = record.algorithm.parse().expect("an algorithm");
        let goal = Goal::Violation(Kinds::of(&[Kind::Nondeterminism]));
        let found = raw(&source, algorithm, &options.limits, goal);
        let two = record.witnesses.last();
        let two = two.filter(|w| w.kind == Kind::Nondeterminism);
        if let (Some(witness), [one, other]) = (two, &found.finals[..]) {
            no_worse(&name, witness, &[&one.schedule, &other.schedule]);
            tried += 1;
        }
        replays(&name, &program, &options, record);
    }
    assert!(tried > 100, "only {tried} violations were found");
}

/// Asserts that every witness replays, including its marks.
fn replays(name: &str, program: &Program, options: &Options, record: mazurka::record::Record) {
    if record.witnesses.is_empty() {
        return;
    }
    let recording = Recording { record, run: None };
    match program.replay(&recording, options) {
        Ok(again) => assert_eq!(again.witnesses, recording.record.witnesses, "{name}"),
        Err(problem) => panic!("{name}: {problem}"),
    }
}

/// Returns the numbers of the marked steps of a run, from 1.
fn racing(run: &Run) -> Vec<usize> {
    let steps = run.steps.iter().enumerate();
    let marked = steps.filter(|(_, step)| step.racing);
    marked.map(|(at, _)| at + 1).collect()
}

/// Returns the schedules of the only witness, and the marked steps of each.
fn shown(source: &str) -> (Kind, Vec<(String, Vec<usize>)>) {
    let program = Program::load("test.maz", source, &[]).expect("a program");
    let record = program
        .check(&Options::default(), &mut quietly())
        .expect("a record");
    let [witness] = &record.witnesses[..] else {
        panic!("{:?}", record.witnesses);
    };
    let runs = witness.runs.iter();
    let runs = runs.map(|run| (run.schedule.clone(), racing(run)));
    (witness.kind, runs.collect())
}

fn is(schedule: &str, marked: &[usize]) -> (String, Vec<usize>) {
    (schedule.to_owned(), marked.to_vec())
}

#[test]
fn a_lost_update_is_marked_where_it_is_lost() {
    let source = "atomicity access var x, y: int = 0 ensures x == 2
        process { y := 1 } process { x := x + 1 } process { y := 2 } process { x := x + 1 }";
    // A process that touches only y runs without interruption, and the relevant read and write are
    // marked.
    let (kind, runs) = shown(source);
    assert_eq!(kind, Kind::Failure);
    let [(schedule, marked)] = &runs[..] else {
        panic!("{runs:?}");
    };
    let schedule: Vec<&str> = schedule.split(' ').collect();
    let processes: Vec<&str> = marked.iter().map(|at| schedule[at - 1]).collect();
    let mut sorted = processes.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, ["1", "3"], "{schedule:?} {marked:?}");
    assert!(schedule.windows(2).filter(|w| w[0] != w[1]).count() <= 4);
}

#[test]
fn locks_taken_crosswise_are_marked() {
    let source = "lock a, b process { lock(a); lock(b); unlock(b); unlock(a) }
        process { lock(b); lock(a); unlock(a); unlock(b) }";
    assert_eq!(shown(source), (Kind::Deadlock, vec![is("0 1", &[1, 2])]));
}

#[test]
fn two_results_are_marked_where_the_runs_diverge() {
    let source = "var x, y: int = 0 process { x := 1 } process { y := 1 <| x == 0 |> y := 2 }";
    assert_eq!(
        shown(source),
        (
            Kind::Nondeterminism,
            vec![is("0 1", &[1, 2]), is("1 0", &[1, 2])]
        )
    );
}

#[test]
fn a_failure_that_no_order_avoids_is_not_called_a_race() {
    let source = "var x: int = 0 process { x := x + 1; assert x > 5 } process { x := x + 1 }";
    assert_eq!(shown(source), (Kind::Failure, vec![is("0 0", &[])]));
}

#[test]
fn unnecessary_steps_are_left_out() {
    // An engine that begins with process 0 first finds three rounds, although one is enough.
    let source = "var n: int = 0 var stop: bool = false
        process { for i in 0..3 { if !stop { n := n + 1 } }; assert n != 1 || !stop }
        process { await n > 0; stop := true }";
    let (kind, runs) = shown(source);
    assert_eq!(kind, Kind::Failure);
    assert!(runs[0].0.split(' ').count() <= 8, "{runs:?}");
}

/// Returns every program of the corpus without unknown values.
fn corpus() -> Vec<(String, Program)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = here.ancestors().nth(2).expect("the workspace");
    let entries = fs::read_dir(folder.join("corpus/maz")).expect("the corpus");
    let mut all = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let source = fs::read_to_string(entry.path().join("program.maz"));
        let program = source.map(|source| Program::load(&name, &source, &[]));
        if let Ok(Ok(program)) = program
            && program.unknowns().is_empty()
        {
            all.push((name, program));
        }
    }
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    all
}

fn steps(witness: &Witness) -> usize {
    witness.runs.iter().map(|run| run.steps.len()).sum()
}

/// `check` stops at the first violation that it finds. Other violations may be nearer to the
/// initial state.
#[test]
fn check_shows_no_longer_runs_than_explore() {
    let limits = Limits {
        steps: Some(200_000),
        ..Limits::default()
    };
    let options = Options {
        limits,
        jobs: 1,
        ..Options::default()
    };
    let mut compared = 0;
    for (name, program) in corpus() {
        let explored = program.explore(Algorithm::Optimal, &options, &mut quietly());
        let checked = program.check(&options, &mut quietly());
        let (explored, checked) = (explored.expect("a record"), checked.expect("a record"));
        for short in &explored.witnesses {
            let same = |w: &&Witness| w.kind == short.kind && w.place == short.place;
            if let Some(shown) = checked.witnesses.iter().find(same) {
                let (shown, short) = (steps(shown), steps(short));
                assert!(shown <= short, "{name}: {shown} steps, explore has {short}");
                compared += 1;
            }
        }
    }
    assert!(compared > 30, "only {compared} violations were compared");
}

#[test]
fn a_shorter_path_is_found_that_the_search_did_not_take() {
    // The search runs process 0 first, and so takes the long path to the failure of process 1.
    let source = "var x, n: int = 0
        process { for i in 0..20 { n := n + 1 }; x := 1 }
        process { await x == 1; assert false }
        process { x := 1 }";
    let (kind, runs) = shown(source);
    assert_eq!(kind, Kind::Failure);
    assert_eq!(runs, [is("2 1", &[])]);
    let source = "var x, n: int = 0 lock a, b
        process { for i in 0..20 { n := n + 1 }; lock(a) }
        process { lock(b); lock(a); lock(b) }";
    let (kind, runs) = shown(source);
    assert_eq!((kind, runs.len()), (Kind::Deadlock, 1));
}

#[test]
fn values_and_messages_are_those_of_the_failing_step() {
    let source = r#"var x: int = 1
        process { assert x == 0, "saw {x}" }
        process { x := 5 }"#;
    let program = Program::load("late.maz", source, &[]).expect("a program");
    // The run continues after the failure.
    let plan = mazurka::run::Plan::Schedule("0 1".parse().expect("a schedule"));
    let done = program.run(&plan, &Options::default(), &mut quietly());
    let done = done.expect("a run");
    let [witness] = &done.record.witnesses[..] else {
        panic!("{:?}", done.record.witnesses);
    };
    assert_eq!(witness.message, "assertion failed: saw 1");
    let value = &witness.values[0];
    assert_eq!((&*value.name, &*value.value), ("x", "1"));
    let mishap = done.run.steps[0].mishap.as_deref();
    assert_eq!(mishap, Some("assertion failed: saw 1"));
    assert_eq!(done.run.state[0].value, "5");
    let recording = Recording {
        record: done.record,
        run: Some(done.run),
    };
    let again = program.replay(&recording, &Options::default());
    assert_eq!(
        again.expect("a replay").witnesses,
        recording.record.witnesses
    );
}
