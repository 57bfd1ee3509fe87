//! The unfolding thesis's figures, and those found by brute force: sizes of nets, and numbers of
//! tests.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use mazurka_core::{Execution, Limits};
use mazurka_explore::{Goal, NetKind, Search, Unfold, Unfolding};
use mazurka_lang::{Machine, SymbolicMachine};
use mazurka_smt::{Assembly, Choice, assemble};

use NetKind::{Contextual, Replicated};

/// The net of a program of the corpus.
fn net(name: &str, set: &[(&str, u64)], kind: NetKind, seed: u64) -> Unfolding {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/maz");
    let file = corpus.join(name).join("program.maz");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{name}: {e}"));
    let set: Vec<_> = set
        .iter()
        .map(|(name, value)| mazurka_lang::Setting {
            name: (*name).to_owned(),
            value: value.to_string(),
        })
        .collect();
    let program = mazurka_lang::load(&text, &set).expect("a program of the corpus");
    if !program.unknowns().is_empty() {
        let code = mazurka_lang::compile(&program, &text).expect("a program of the corpus");
        let embedded = Assembly {
            choice: Choice::Embedded,
            ..Assembly::default()
        };
        let solver = assemble(embedded).expect("it is always there");
        let machine = SymbolicMachine::new(Arc::new(code), 10_000, Some(solver));
        return net_of(&mut machine.starting_in_any_order(), kind, seed);
    }
    let code = mazurka_lang::compile(&program, &text).expect("a program of the corpus");
    net_of(&mut Machine::new(Arc::new(code), 10_000), kind, seed)
}

fn net_of<E: Execution>(program: &mut E, kind: NetKind, seed: u64) -> Unfolding {
    let unfold = Search {
        algorithm: Unfold { kind, seed },
        limits: Limits::default(),
        goal: Goal::Everything,
    };
    unfold.run(program, &mut |_| ControlFlow::Continue(()), &mut ())
}

fn sizes(name: &str, set: &[(&str, u64)]) -> [usize; 2] {
    [Replicated, Contextual].map(|kind| net(name, set, kind, 1).events())
}

#[test]
fn complete_unfoldings_have_the_size_they_should_have() {
    let readers = [2, 4, 6].map(|n| sizes("readers", &[("N", n)]));
    assert_eq!(readers, [[10, 5], [52, 9], [262, 13]]);
    let writers = [3, 4, 5].map(|n| sizes("writers", &[("N", n)]));
    assert_eq!(writers, [[15, 15], [64, 64], [325, 325]]);
    for k in [1, 2, 5] {
        assert_eq!(
            sizes("rw-pairs", &[("K", k)]),
            [4 * k as usize, 3 * k as usize]
        );
    }
    let fib = [1, 2, 3].map(|n| sizes("fib", &[("N", n)]));
    assert_eq!(fib, [[12, 10], [96, 60], [756, 430]]);
    assert_eq!(sizes("philosophers", &[("N", 3), ("EATS", 2)]), [975, 975]);
}

/// Run with `cargo test --release -p mazurka-testkit --test it unfold_figures:: -- --ignored
/// --nocapture`.
#[test]
#[ignore = "prints figures"]
fn figures() {
    let rows: [(&str, &[(&str, u64)]); 11] = [
        ("thesis-writes", &[("T", 4), ("B", 2)]),
        ("filesystem", &[("N", 16)]),
        ("filesystem", &[("N", 18)]),
        ("thesis-pi", &[("N", 6)]),
        ("thesis-fib", &[("N", 3)]),
        ("thesis-fib", &[("N", 4)]),
        ("philosophers", &[("N", 4), ("EATS", 2)]),
        ("philosophers", &[("N", 5), ("EATS", 2)]),
        ("locking", &[("T", 4), ("B", 2), ("EXTRA", 0)]),
        ("readers", &[("N", 14)]),
        ("fib", &[("N", 5)]),
    ];
    for (name, set) in rows {
        for kind in [Replicated, Contextual, NetKind::Stateful] {
            let start = std::time::Instant::now();
            let tests: Vec<_> = (0..3)
                .map(|seed| {
                    let net = net(name, set, kind, seed);
                    (
                        net.found.counts.executions,
                        net.events(),
                        net.found.counts.deadlocks,
                    )
                })
                .collect();
            println!(
                "{name} {set:?} {kind}: {tests:?} {:.2} s",
                start.elapsed().as_secs_f64() / 3.0
            );
        }
    }
}

#[test]
fn writes_need_one_test() {
    // Two writes of each of six processes: 7 484 400 traces.
    let net = net("thesis-writes", &[("T", 6), ("B", 2)], NetKind::Stateful, 1);
    assert_eq!(net.found.counts.executions, 1);
    assert_eq!(net.found.stopped, mazurka_core::StopReason::Complete);
}

/// A row of the thesis's Table 8.1: the program, its traces, and the tests for both nets.
type Row = (&'static str, &'static [(&'static str, u64)], u64, [u64; 2]);

/// The best of ten seeds comes within a tenth of the thesis's tests, and none is above the number
/// of traces.
fn as_few_tests(rows: &[Row]) {
    for &(name, set, traces, thesis) in rows {
        for (kind, thesis) in [Replicated, Contextual].into_iter().zip(thesis) {
            let tests = (0..10).map(|seed| net(name, set, kind, seed).found.counts.executions);
            let tests: Vec<u64> = tests.collect();
            let best = tests.iter().min().copied().unwrap_or(0);
            assert!(best * 10 <= thesis * 11, "{name} {kind}: {tests:?}");
            let most = tests.iter().max().copied().unwrap_or(0);
            assert!(most <= traces, "{name} {kind}: {tests:?}");
            println!("{name} {set:?} {kind}: {best} to {most} tests, the thesis {thesis}");
        }
    }
}

#[test]
fn as_few_tests_as_in_the_thesis() {
    as_few_tests(&[
        ("filesystem", &[("N", 16)], 8, [3, 3]),
        ("filesystem", &[("N", 18)], 32, [3, 3]),
        ("thesis-pi", &[("N", 6)], 720, [720, 720]),
        ("philosophers", &[("N", 4), ("EATS", 2)], 831, [798, 798]),
        ("thesis-pairs", &[("K", 4)], 4_096, [8, 8]),
    ]);
}

/// Run with `cargo test --release -p mazurka-testkit --test it they_are_many -- --ignored
/// --nocapture`: two to three minutes.
#[test]
#[ignore = "takes minutes"]
fn as_few_tests_as_in_the_thesis_where_they_are_many() {
    as_few_tests(&[
        ("thesis-fib", &[("N", 4)], 19_605, [19_605, 4_950]),
        (
            "philosophers",
            &[("N", 5), ("EATS", 2)],
            5_851,
            [5_746, 5_749],
        ),
        (
            "locking",
            &[("T", 4), ("B", 2), ("EXTRA", 0)],
            2_520,
            [2_520, 2_520],
        ),
        (
            "locking",
            &[("T", 4), ("B", 2), ("EXTRA", 1)],
            22_680,
            [22_680, 22_680],
        ),
        ("thesis-pi", &[("N", 7)], 5_040, [5_040, 5_040]),
        (
            "philosophers",
            &[("N", 6), ("EATS", 2)],
            38_786,
            [36_075, 36_058],
        ),
        ("thesis-fib", &[("N", 5)], 218_243, [218_243, 46_830]),
    ]);
}
