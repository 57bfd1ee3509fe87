//! Tests searches over inputs by several workers. Only some fields of the record may depend on the
//! number of workers: the time, the statistics of the solvers, and for searches in parts the steps.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use mazurka::compare::{Compare, CompareRecord};
use mazurka::record::{Kind, Record};
use mazurka::symbolic::{Reduction, SymbolicOptions, SymbolicRecord};
use mazurka::{Algorithm, Bound, Options, Program, Verdict, quietly};

use crate::workers::meaning;

fn with_jobs(jobs: usize) -> Options {
    Options {
        jobs,
        ..Options::default()
    }
}

/// The part of a record that must not depend on the workers.
fn without_solver(record: &Record) -> Record {
    Record {
        solver: None,
        ..meaning(record)
    }
}

/// Explores and checks with one worker and with several. Returns the two records of the single
/// worker. All these searches are so long that several workers cut them into parts.
fn the_same_for_all(program: &Program) -> [Record; 2] {
    let explored = |jobs: usize| {
        let record = program.explore(Algorithm::Optimal, &with_jobs(jobs), &mut quietly());
        record.expect("a record")
    };
    let checked = |jobs: usize| {
        let record = program.check(&with_jobs(jobs), &mut quietly());
        record.expect("a record")
    };
    let one = [explored(1), checked(1)];
    assert!(one[0].counts.steps > 1 << 12, "{:?}", one[0].counts);
    let mut in_parts = None;
    for jobs in [2, 3] {
        let more = [explored(jobs), checked(jobs)];
        for (one, more) in one.iter().zip(&more) {
            assert_eq!(without_solver(one), without_solver(more), "{jobs} jobs");
            assert!(
                more.solver
                    .as_ref()
                    .is_some_and(|solver| solver.queries > 0)
            );
        }
        let counts = more[0].counts;
        assert_eq!(*in_parts.get_or_insert(counts), counts, "{jobs} jobs");
    }
    one
}

fn load(source: &str) -> Program {
    Program::load("test.maz", source, &[]).expect("a program")
}

#[test]
fn the_pairs_of_the_thesis_are_deterministic_for_any_number_of_workers() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/maz");
    let source = fs::read_to_string(corpus.join("thesis-pairs/program.maz")).expect("a program");
    let program = load(&source);
    let [explored, checked] = the_same_for_all(&program);
    assert_eq!(explored.counts.traces, Some(4096));
    assert_eq!(explored.deterministic, Some(true));
    assert_eq!(checked.verdict, Verdict::Verified);
}

/// Each order of the writes gives another result, for all inputs.
const ORDERS: &str = "
    const N = 5
    atomicity statement
    var x: int = 0
    PROPERTY
    process (p in 0..N) {
        let a = input(u8);
        if a > 3 { x := x * 10 + p } else { x := x * 10 + p + 5 }
    }
";

#[test]
fn two_results_for_the_same_inputs_are_the_same_two_for_any_number_of_workers() {
    let [explored, checked] = the_same_for_all(&load(&ORDERS.replace("PROPERTY", "")));
    // 5! orders, and two sides for each process.
    assert_eq!(explored.counts.traces, Some(120 << 5));
    assert_eq!(explored.deterministic, Some(false));
    assert_eq!(checked.deterministic, Some(false));
    let source = ORDERS.replace("PROPERTY", "expects deterministic");
    let [_, checked] = the_same_for_all(&load(&source));
    assert_eq!(checked.verdict, Verdict::Violated);
    assert_eq!(checked.witnesses[0].kind, Kind::Nondeterminism);
    assert_eq!(checked.witnesses[0].runs.len(), 2);
}

#[test]
fn a_failure_of_one_order_is_found_by_any_number_of_workers() {
    let source = ORDERS.replace("PROPERTY", "ensures x != 43210");
    let [explored, checked] = the_same_for_all(&load(&source));
    assert_eq!(explored.counts.failures, 1);
    assert_eq!(checked.verdict, Verdict::Violated);
    assert_eq!(checked.witnesses[0].runs[0].inputs.len(), 5);
}

/// Compares one worker with two and three. All these programs take so long that workers share them.
fn symbolic_is_the_same(program: &Program, wanted: &SymbolicOptions) -> SymbolicRecord {
    let executed = |jobs: usize| {
        let found = program.symbolic(wanted, &with_jobs(jobs), &mut quietly());
        let mut found = found.expect("a record");
        found.record.seconds = 0.0;
        found.record.options = None;
        found
    };
    let one = executed(1);
    for jobs in [2, 3] {
        assert_eq!(one, executed(jobs), "{jobs} jobs");
    }
    one
}

#[test]
fn symbolic_states_are_the_same_for_any_number_of_workers() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/maz");
    let read = |name: &str, set: &[(&str, &str)]| {
        let path = corpus.join(name).join("program.maz");
        let source = fs::read_to_string(path).expect("a program");
        let set = set.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
        let set: Vec<_> = set.collect();
        Program::load("test.maz", &source, &set).expect("a program")
    };
    let default = SymbolicOptions::default();
    let pairs = symbolic_is_the_same(&read("thesis-pairs", &[("K", "3")]), &default);
    assert_eq!(
        (pairs.states.count, pairs.record.verdict),
        (512, Verdict::Verified)
    );
    assert_eq!(pairs.states.listed.len(), 100);
    let many = SymbolicOptions {
        listed: 5000,
        paths: true,
        ..default.clone()
    };
    let zero = symbolic_is_the_same(&read("lastzero", &[("N", "6")]), &many);
    assert_eq!(zero.states.count, 128 + 16);
    let meals = symbolic_is_the_same(&read("philosophers", &[("N", "4")]), &many);
    assert_eq!(meals.record.verdict, Verdict::Violated);
    assert!(meals.record.counts.deadlocks > 0);
    for &por in Reduction::ALL {
        let wanted = SymbolicOptions {
            por,
            feasible: false,
            ..default.clone()
        };
        let figure = symbolic_is_the_same(&read("sympaths-fig8", &[("A", "2")]), &wanted);
        let states = match por {
            Reduction::None => 58_944,
            Reduction::Paper => 97,
            Reduction::Canonical => 58,
        };
        assert_eq!(figure.states.count, states, "{por}");
    }
}

/// Long for any reduction.
const LONG: &str = "
    const N = 12
    var x: int
    process (p in 0..N) { x := x * 2 + p; x := x - p; x := x + 7 }
";

#[test]
fn limits_stop_the_workers_of_symbolic() {
    for &por in Reduction::ALL {
        let wanted = SymbolicOptions {
            por,
            ..SymbolicOptions::default()
        };
        let mut options = with_jobs(3);
        options.limits.time = Some(Duration::from_millis(400));
        let started = Instant::now();
        let found = load(LONG).symbolic(&wanted, &options, &mut quietly());
        let found = found.expect("a record");
        assert!(started.elapsed() < Duration::from_secs(8), "{por}");
        assert_eq!(found.record.verdict, Verdict::Inconclusive, "{por}");
        assert_eq!(found.record.scope.bounds, [Bound::TimeLimit(400)], "{por}");
        assert!(found.record.counts.steps > 0, "{por}");
        // Several looks later than the first level that is shared.
        let mut looks = 0;
        let mut interrupt = |progress: &mazurka::Progress| {
            looks += u32::from(progress.elapsed > Duration::from_millis(200));
            match looks {
                0 => ControlFlow::Continue(()),
                _ => ControlFlow::Break(Bound::Interrupted),
            }
        };
        let started = Instant::now();
        let found = load(LONG).symbolic(&wanted, &with_jobs(3), &mut interrupt);
        let found = found.expect("a record");
        assert!(started.elapsed() < Duration::from_secs(8), "{por}");
        assert_eq!(found.record.scope.bounds, [Bound::Interrupted], "{por}");
        // A limit on steps is exact.
        let mut options = with_jobs(3);
        options.limits.steps = Some(5000);
        let found = load(LONG).symbolic(&wanted, &options, &mut quietly());
        let found = found.expect("a record");
        assert_eq!(found.record.counts.steps, 5000, "{por}");
        assert_eq!(found.record.scope.bounds, [Bound::MaxSteps(5000)], "{por}");
    }
}

#[test]
fn a_comparison_for_all_values_is_the_same_for_any_number_of_workers() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/maz");
    let source = fs::read_to_string(corpus.join("thesis-pairs/program.maz")).expect("a program");
    let pairs = load(&source);
    let compared = |other: &Program, jobs: usize| -> CompareRecord {
        let found = pairs.compare(other, &Compare::default(), &with_jobs(jobs), &mut quietly());
        let mut found = found.expect("two programs");
        found.record = meaning(&found.record);
        found
    };
    let of = |other: &Program| -> CompareRecord {
        let one = compared(other, 1);
        for jobs in [2, 3] {
            assert_eq!(one, compared(other, jobs), "{jobs} jobs");
        }
        one
    };
    let same = of(&pairs);
    assert_eq!(same.record.verdict, Verdict::Verified);
    // Each of eight threads has an input with two sides.
    assert_eq!(same.outcomes, [256, 256]);
    let skip = "if a > 0 { skip }";
    assert!(source.contains(skip));
    let changed = load(&source.replace(skip, "if a == 7 { x[p] := 2 }"));
    let differs = of(&changed);
    assert_eq!(differs.record.verdict, Verdict::Violated);
    let difference = differs.difference.expect("an outcome of the second");
    assert_eq!(difference.of, 1);
    assert!(difference.values.iter().any(|known| known.value == "7"));
}
