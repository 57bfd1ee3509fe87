//! Merging states loses no results: final states, deadlocked states, sites of failures.

use crate::common::{has_found_all_states, programs, search};
use mazurka_core::{Execution, Fingerprint, Semantics, Status};
use mazurka_explore::Algorithm;
use mazurka_lang::Machine;
use mazurka_testkit::{
    Config, Limit, States, Visit, assert_right, every_run, every_state, generate, machine,
};

const STATEFUL: Algorithm = Algorithm::Stateful;

/// Returns the mistake of the engine on a program, if there is one.
fn wrong(text: &str) -> Option<String> {
    let truth = every_state(&mut machine(text).ok()?, Limit::default())?;
    if truth.lost {
        return None;
    }
    let mut seen = States::default();
    let found = search(&mut machine(text).ok()?, STATEFUL, &mut seen);
    seen.add_sites(&found);
    let same = has_found_all_states(&found, &seen, &truth)
        && found.livelock.is_none()
        && found.counts.deadlocks == truth.deadlocks.len() as u64;
    (!same).then(|| format!("{:?}\nfound {seen:?}\nis {truth:?}", found.counts))
}

fn agrees(first: u64, programs: u64, config: &Config) {
    assert_right(first..first + programs, config, wrong);
}

#[test]
fn agrees_with_brute_force() {
    agrees(0, programs(600), &Config::default());
}

#[test]
fn agrees_with_brute_force_where_nothing_fails() {
    agrees(70_000, programs(300), &Config::default().without_mishaps());
}

/// Run with `cargo test --release -p mazurka-testkit -- --ignored`; `MAZURKA_PROGRAMS=n` for more.
#[test]
#[ignore = "takes minutes"]
fn agrees_with_brute_force_for_long() {
    agrees(1_000_000, programs(20_000), &Config::default());
}

/// Programs without loops are explored with sleep sets, others by recording the state graph. Adding
/// a process that may loop, but does not, switches a program from one way to the other.
#[test]
fn both_ways_find_the_same() {
    for seed in 30_000..30_000 + programs(300) {
        let text = generate(seed, &Config::default()).to_string();
        let looping = format!(
            "{text}\nprocess {{ if false {{ while true {{ lock_or_not() }} }} }}\nproc lock_or_not() {{ await true }}\n"
        );
        let mut one = States::default();
        let mut other = States::default();
        let first = search(&mut machine(&text).unwrap(), STATEFUL, &mut one);
        let mut program = machine(&looping).unwrap_or_else(|error| panic!("{error}\n{looping}"));
        assert!(program.may_repeat());
        let second = search(&mut program, STATEFUL, &mut other);
        assert_eq!(one.finals, other.finals, "{text}");
        assert_eq!(one.deadlocks.len(), other.deadlocks.len(), "{text}");
        assert_eq!(first.failures.len(), second.failures.len(), "{text}");
        assert!(first.counts.events <= second.counts.events, "{text}");
    }
}

/// Equal states have equal fingerprints, and states with the same fingerprint have the same future:
/// the same enabled processes, and the same successors.
#[test]
fn fingerprints_keep_the_future() {
    use std::collections::HashMap;
    let limit = Limit {
        executions: 3_000,
        depth: 120,
    };
    for seed in 40_000..40_000 + programs(300) {
        let text = generate(seed, &Config::default()).to_string();
        let mut program = machine(&text).unwrap();
        let mut states = HashMap::new();
        let mut futures = HashMap::new();
        let _ = every_run(&mut program, limit, &mut |program, visit| {
            if visit != Visit::Enter {
                return;
            }
            let print = program.fingerprint();
            let known = *states.entry(program.state()).or_insert(print);
            assert_eq!(known, print, "one state, two fingerprints:\n{text}");
            let future = future(program);
            let known = futures.entry(print).or_insert_with(|| future.clone());
            assert_eq!(*known, future, "one fingerprint, two futures:\n{text}");
        });
    }
}

fn future(program: &mut Machine) -> Vec<(u32, Status, Option<Fingerprint>)> {
    let depth = program.events().len();
    let all: Vec<_> = program.processes().in_order().to_vec();
    let step = |p: mazurka_core::ProcessId| {
        let status = program.status(p);
        let leads = (status == Status::Ready).then(|| {
            program.step(p, &[]).expect("it is ready");
            let print = program.fingerprint();
            program.back_to(depth);
            print
        });
        (p.0, status, leads)
    };
    let born = |(_, status, _): &(u32, Status, Option<Fingerprint>)| *status != Status::Unborn;
    all.into_iter().map(step).filter(born).collect()
}

#[test]
fn the_states_of_fib() {
    // A prototype found 229 365 states for 6 rounds; this is the number for 4.
    let text = "atomicity access var i, j: i32 = 1
        process { for k in 0..4 { i := i + j } }
        process { for k in 0..4 { j := j + i } }";
    let mut program = machine(text).unwrap();
    let found = search(&mut program, STATEFUL, &mut States::default());
    assert_eq!(found.counts.final_states, 490);
    assert_eq!(found.counts.executions, 490);
}
