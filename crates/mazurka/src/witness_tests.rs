//! Minimised witnesses, for every program of the corpus: they show what was found, and are no worse.

use std::fs;
use std::path::Path;

use mazurka_core::record::{Run, WitnessKind};
use mazurka_core::{Execution, Limits, Schedule, Status};
use mazurka_explore::{Algorithm, Goal, search_states};
use mazurka_lang::Machine;

use crate::evidence::{tell, witnesses};
use crate::minimise::{closest, minimise};
use crate::rehearse::Violation;
use crate::{Options, Program, quietly};

fn corpus() -> Vec<(String, Program)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = here.ancestors().nth(2).expect("the workspace");
    let entries = fs::read_dir(folder.join("corpus/maz")).expect("the corpus");
    let mut all = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(source) = fs::read_to_string(entry.path().join("program.maz")) else {
            continue;
        };
        // Symbolic programs are for other engines.
        if let Ok(program) = Program::load(&name, &source, &[]) {
            all.push((name, program));
        }
    }
    all.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(all.len() > 80, "most of the corpus was not found");
    all
}

fn switches(schedule: &Schedule) -> usize {
    let pairs = schedule.0.windows(2);
    pairs.filter(|w| w[0].process != w[1].process).count()
}

fn told(machine: &mut Machine, schedule: &Schedule) -> crate::evidence::Told {
    match tell(machine, schedule) {
        Ok(told) => told,
        Err(error) => panic!("{error} in {schedule}"),
    }
}

#[test]
fn minimised_witnesses_show_the_same_and_are_no_worse() {
    let mut tried = 0;
    for (name, program) in corpus() {
        for algorithm in [Algorithm::Naive, Algorithm::Optimal] {
            let mut machine = program.machine(&Options::default());
            let limits = Limits {
                steps: Some(20_000),
                ..Limits::default()
            };
            let goal = Goal::Everything;
            let found = search_states(
                &mut machine,
                algorithm,
                &limits,
                goal,
                &mut quietly(),
                &mut (),
            );
            for finding in &found.failures {
                let mishap = finding.mishap.expect("a failure has a mishap");
                told(&mut machine, &finding.schedule);
                let violation = Violation::Failure(mishap.site);
                let small = minimise(&mut machine, &finding.schedule, &violation);
                assert!(small.0.len() <= finding.schedule.0.len(), "{name}");
                assert!(switches(&small) <= switches(&finding.schedule), "{name}");
                let shown = told(&mut machine, &small).failures;
                assert!(shown.iter().any(|m| m.site == mishap.site), "{name}");
                tried += 1;
            }
            if let Some(finding) = &found.deadlock {
                told(&mut machine, &finding.schedule);
                let waiting = |machine: &Machine| {
                    let all = machine.processes().in_order().iter().copied();
                    let waits = |p: &_| machine.status(*p) == Status::Waiting;
                    all.filter(waits).collect::<Vec<_>>()
                };
                let violation = Violation::Deadlock(waiting(&machine));
                let small = minimise(&mut machine, &finding.schedule, &violation);
                assert!(small.0.len() <= finding.schedule.0.len(), "{name}");
                assert!(switches(&small) <= switches(&finding.schedule), "{name}");
                assert!(told(&mut machine, &small).deadlocked, "{name}");
                assert_eq!(violation, Violation::Deadlock(waiting(&machine)), "{name}");
                tried += 1;
            }
            if let [one, other] = &found.finals[..] {
                told(&mut machine, &one.schedule);
                told(&mut machine, &other.schedule);
                let (first, second) = closest(&mut machine, &one.schedule, &other.schedule);
                let before = switches(&one.schedule) + switches(&other.schedule);
                assert!(switches(&first) + switches(&second) <= before, "{name}");
                told(&mut machine, &first);
                let observed = machine.observation();
                told(&mut machine, &second);
                assert_ne!(observed, machine.observation(), "{name}");
                tried += 1;
            }
            // The evidence as it is shown marks two steps or more, or none.
            for witness in witnesses(&mut machine, &found, true) {
                for run in &witness.runs {
                    assert_ne!(racing(run).len(), 1, "{name}: {:?}", witness.message);
                }
            }
        }
    }
    assert!(tried > 60, "only {tried} violations were found");
}

/// The marked steps of a run, from 1.
fn racing(run: &Run) -> Vec<usize> {
    let steps = run.steps.iter().enumerate();
    let marked = steps.filter(|(_, step)| step.racing);
    marked.map(|(at, _)| at + 1).collect()
}

/// The schedules of the only witness, and what is marked in each.
fn shown(source: &str) -> (WitnessKind, Vec<(String, Vec<usize>)>) {
    let program = Program::load("test.maz", source, &[]).expect("a program");
    let record = program.check(&Options::default(), &mut quietly());
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
    // Whoever only touches y comes in one piece, and the read and the write that make the difference are marked.
    let (kind, runs) = shown(source);
    assert_eq!(kind, WitnessKind::Failure);
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
    assert_eq!(
        shown(source),
        (WitnessKind::Deadlock, vec![is("0 1", &[1, 2])])
    );
}

#[test]
fn two_results_are_marked_where_the_runs_part() {
    let source = "var x, y: int = 0 process { x := 1 } process { y := 1 <| x == 0 |> y := 2 }";
    assert_eq!(
        shown(source),
        (
            WitnessKind::Nondeterminism,
            vec![is("0 1", &[1, 2]), is("1 0", &[1, 2])]
        )
    );
}

#[test]
fn a_failure_that_no_order_avoids_is_not_called_a_race() {
    let source = "var x: int = 0 process { x := x + 1; assert x > 5 } process { x := x + 1 }";
    assert_eq!(shown(source), (WitnessKind::Failure, vec![is("0 0", &[])]));
}

#[test]
fn what_is_not_needed_is_left_out() {
    // Three rounds are found first by an engine that begins with process 0; one is enough.
    let source = "var n: int = 0 var stop: bool = false
        process { for i in 0..3 { if !stop { n := n + 1 } }; assert n != 1 || !stop }
        process { await n > 0; stop := true }";
    let (kind, runs) = shown(source);
    assert_eq!(kind, WitnessKind::Failure);
    assert!(runs[0].0.split(' ').count() <= 8, "{runs:?}");
}
