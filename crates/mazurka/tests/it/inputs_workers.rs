//! Tests searches over inputs by several workers. Only some fields of the record may depend on the
//! number of workers: the time, the statistics of the solvers, and for searches in parts the steps.

use std::fs;
use std::path::Path;

use mazurka::record::{Kind, Record};
use mazurka::{Algorithm, Options, Program, Verdict, quietly};

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
