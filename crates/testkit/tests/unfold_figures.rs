//! The unfolding thesis's figures, and those found by brute force: sizes of nets, and numbers of tests.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use mazurka_core::Limits;
use mazurka_explore::{Goal, NetKind, Unfolding, unfold};
use mazurka_lang::Machine;

use NetKind::{Contextual, Replicated};

/// A program of the corpus.
fn program(name: &str, set: &[(&str, u64)]) -> Machine {
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
    let code = mazurka_lang::compile(&program, &text).expect("a program of the corpus");
    Machine::new(Arc::new(code), 10_000)
}

fn net(name: &str, set: &[(&str, u64)], kind: NetKind, seed: u64) -> Unfolding {
    unfold(
        &mut program(name, set),
        kind,
        seed,
        &Limits::default(),
        Goal::Everything,
        &mut |_| ControlFlow::Continue(()),
    )
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

/// Run with `cargo test --release -p mazurka-testkit --test unfold_figures -- --ignored --nocapture`.
#[test]
#[ignore = "prints figures"]
fn figures() {
    let rows: [(&str, &[(&str, u64)]); 10] = [
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
        for kind in [Replicated, Contextual] {
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
