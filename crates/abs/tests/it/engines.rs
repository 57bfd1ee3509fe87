//! Compares the counts of every engine that counts traces with the figures of the paper on
//! context-sensitive DPOR, which are given as closed formulas of the size, such as n!.

use crate::common::{corpus, explore, machine};
use mazurka_core::Limits;
use mazurka_explore::Algorithm;

fn executions(name: &str, set: &[(&str, &str)], algorithm: Algorithm) -> u64 {
    let found = explore(
        &mut machine(&corpus(name), set),
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
fn table_1_with_context() {
    for (n, expected) in [("1", 2), ("3", 8), ("5", 32), ("7", 128)] {
        let found = executions("producer-consumer", &[("n", n)], Algorithm::CONTEXT);
        assert_eq!(found, expected, "n = {n}");
    }
}

#[test]
fn sums_do_not_depend_on_the_order_of_their_terms() {
    for (name, set) in [
        ("pi", ("workers", "5")),
        ("registration", ("clients", "4")),
        ("psort", ("n", "4")),
        ("fib", ("n", "4")),
    ] {
        let found = executions(name, &[set], Algorithm::CONTEXT);
        println!("{name} {set:?}: {found}");
        assert!(name != "pi" || found == 1, "{name}: {found}");
        assert!(
            found < executions(name, &[set], Algorithm::Source),
            "{name}: {found}"
        );
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
#[ignore = "for release builds: cargo test --release -p mazurka-abs --test it engines:: -- --ignored --nocapture"]
fn table_1_of_nine() {
    let expected = [
        (Algorithm::Source, Some(48_620)),
        (Algorithm::Optimal, Some(48_620)),
        (Algorithm::CONTEXT, Some(512)),
        (Algorithm::Stateful, None),
    ];
    for (algorithm, executions) in expected {
        let mut machine = machine(&corpus("producer-consumer"), &[("n", "9")]);
        let found = explore(&mut machine, algorithm, &Limits::default());
        println!("{algorithm}: {:?} in {:?}", found.counts, found.elapsed);
        assert!(executions.is_none_or(|executions| found.counts.executions == executions));
    }
}
