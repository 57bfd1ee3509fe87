//! Witnesses that people can read: for every program of the corpus they show what was found and are
//! no worse than that, and the steps that race are marked.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use mazurka::record::{Kind, Run, Witness};
use mazurka::replay::Recording;
use mazurka::{Algorithm, Limits, Options, Program, Schedule, quietly};
use mazurka_core::Kinds;
use mazurka_explore::{Findings, Goal, Search};
use mazurka_lang::Machine;

/// What a search finds before anything is minimised.
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

/// No more steps and no more changes between processes than these runs.
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
    // One step cannot race alone.
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
        // Programs with unknown values are run by another machine.
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

/// Every witness shows its violation again, marks and all.
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

/// The marked steps of a run, from 1.
fn racing(run: &Run) -> Vec<usize> {
    let steps = run.steps.iter().enumerate();
    let marked = steps.filter(|(_, step)| step.racing);
    marked.map(|(at, _)| at + 1).collect()
}

/// The schedules of the only witness, and what is marked in each.
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
    // A process that only touches y runs without interruption, and the read and the write that make
    // the difference are marked.
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
fn two_results_are_marked_where_the_runs_part() {
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
fn what_is_not_needed_is_left_out() {
    // Three rounds are found first by an engine that begins with process 0; one is enough.
    let source = "var n: int = 0 var stop: bool = false
        process { for i in 0..3 { if !stop { n := n + 1 } }; assert n != 1 || !stop }
        process { await n > 0; stop := true }";
    let (kind, runs) = shown(source);
    assert_eq!(kind, Kind::Failure);
    assert!(runs[0].0.split(' ').count() <= 8, "{runs:?}");
}
