//! The example of a custom search finds what it should find.

#[path = "../../examples/own_policy.rs"]
#[allow(dead_code)]
mod example;

use example::{COUNTER, explore};
use mazurka::{Algorithm, Options, Program, quietly};

#[test]
fn without_delays_there_is_one_schedule_and_no_failure() {
    let found = explore(COUNTER, 0);
    assert_eq!(found.counts.executions, 1);
    assert_eq!(found.counts.failures, 0);
}

#[test]
fn a_delay_is_enough_for_a_lost_update() {
    let found = explore(COUNTER, 1);
    assert!(found.counts.failures > 0);
    // No delay, or one delay before one of the first four steps. Before the last two steps only one
    // process is ready.
    assert_eq!(found.counts.executions, 5);
}

#[test]
fn with_many_delays_every_interleaving_is_met() {
    let found = explore(COUNTER, 100);
    // 6! / (2! 2! 2!)
    assert_eq!(found.counts.executions, 90);
    let program = Program::load("counter.maz", COUNTER, &[]).expect("a right program");
    let naive = program.explore(Algorithm::Naive, &Options::default(), &mut quietly());
    let naive = naive.expect("no reason to refuse").counts;
    assert_eq!(naive.executions, 90);
    assert_eq!(found.counts.final_states, naive.final_states);
}
