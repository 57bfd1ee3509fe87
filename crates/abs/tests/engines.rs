//! The figures of the context-sensitive paper, in closed form, with every engine that counts traces.

mod common;

use std::path::Path;

use common::{explore, machine};
use mazurka_core::Limits;
use mazurka_explore::Algorithm;

fn source(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/abs");
    std::fs::read_to_string(root.join(name).join("program.abs")).expect("a program")
}

fn executions(name: &str, set: &[(&str, &str)], algorithm: Algorithm) -> u64 {
    let found = explore(
        &mut machine(&source(name), set),
        algorithm,
        &Limits::default(),
    );
    assert!(found.bounds.is_empty());
    found.counts.executions
}

#[test]
fn table_1_with_source_and_optimal() {
    for (n, expected) in [("1", 2), ("3", 20), ("5", 252), ("7", 3432)] {
        for algorithm in [Algorithm::Source, Algorithm::Optimal] {
            let found = executions("producer-consumer", &[("n", n)], algorithm);
            assert_eq!(found, expected, "n = {n}, {algorithm}");
        }
    }
}

#[test]
fn closed_forms_of_table_2() {
    let factorial = |n: u64| (1..=n).product::<u64>();
    for n in 1..=5 {
        let text = n.to_string();
        let psort: u64 = (1..=n).map(factorial).product();
        for algorithm in [Algorithm::Source, Algorithm::Optimal] {
            assert_eq!(
                executions("pi", &[("workers", &text)], algorithm),
                factorial(n)
            );
            if n < 5 {
                let found = executions("registration", &[("clients", &text)], algorithm);
                assert_eq!(found, factorial(n) << n);
                assert_eq!(executions("psort", &[("n", &text)], algorithm), psort);
            }
        }
    }
}

#[test]
#[ignore = "for release builds: cargo test --release -p mazurka-abs --test engines -- --ignored --nocapture"]
fn table_1_of_nine() {
    for algorithm in [Algorithm::Source, Algorithm::Optimal, Algorithm::Stateful] {
        let mut machine = machine(&source("producer-consumer"), &[("n", "9")]);
        let found = explore(&mut machine, algorithm, &Limits::default());
        println!("{algorithm}: {:?} in {:?}", found.counts, found.elapsed);
        if algorithm != Algorithm::Stateful {
            assert_eq!(found.counts.executions, 48_620);
        }
    }
}
