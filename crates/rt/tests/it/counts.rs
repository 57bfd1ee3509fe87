//! The numbers of executions of tests/programs/mod.rs are the published ones; the final joins and
//! asserts add none.

use mazurka_rt::Builder;

mod ours {
    use mazurka_rt::{sync, thread};
    include!("../programs/mod.rs");
}

fn count(program: fn(usize), n: usize) -> u64 {
    let summary = Builder::default().check(move || program(n));
    assert!(summary.bounds.is_empty());
    assert_eq!(summary.blocked, 0);
    summary.executions
}

fn factorial(n: usize) -> u64 {
    (1..=n as u64).product()
}

#[test]
fn one_writer_and_readers() {
    for n in 2..=10 {
        assert_eq!(count(ours::readers, n), 1 << n);
    }
}

#[test]
fn stores() {
    for n in 1..=6 {
        assert_eq!(count(ours::stores, n), factorial(n));
    }
}

#[test]
fn fib() {
    assert_eq!(count(ours::fib, 4), 1107);
}

#[test]
fn pairs() {
    for n in 1..=6 {
        assert_eq!(count(ours::pairs, n), 1 << n);
    }
}

#[test]
fn locks_in_the_same_order() {
    for n in 1..=5 {
        assert_eq!(count(ours::locks, n), factorial(n));
    }
}

#[test]
fn counter_under_a_mutex() {
    assert_eq!(count(ours::counter, 3), 90);
}
