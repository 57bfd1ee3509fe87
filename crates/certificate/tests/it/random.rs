//! Tests `Certificate::grow` on random programs: its trees must contain every trace, and its sets
//! of states every final state.

use mazurka_certificate::{Certificate, Facts, Kind, Rejected};
use mazurka_testkit::{Config, Dependence, Limit, Summary, generate, machine, naive};

/// Returns the number of programs to try: `MAZURKA_PROGRAMS`, or this default.
pub fn programs(default: u64) -> u64 {
    let number = std::env::var("MAZURKA_PROGRAMS").ok();
    number.and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// Returns the result of brute force, if the program is small enough.
pub fn truth(text: &str) -> Option<Summary> {
    let limit = Limit::default();
    let found = naive(&mut machine(text).ok()?, limit, Dependence::Claimed).ok()?;
    (!found.lost).then_some(found)
}

/// Returns a description of the difference between the result of a check and the truth, if there is
/// one.
pub fn fault(facts: &Facts, truth: &Summary) -> Option<String> {
    let shown = (
        facts.deadlocks > 0,
        facts.failures > 0,
        facts.results_differ,
    );
    let true_ones = (
        !truth.deadlocks.is_empty(),
        !truth.failures.is_empty(),
        truth.final_states.len() > 1,
    );
    let (traces, all) = (
        facts.executions - facts.discarded,
        truth.traces.len() as u64,
    );
    // The checker's claims may be finer than those of brute force; then there are fewer traces.
    (shown != true_ones || traces > all)
        .then(|| format!("{traces} of {all} traces, {shown:?} instead of {true_ones:?}"))
}

pub fn grow(kind: Kind, text: &str) -> Result<Certificate, Rejected> {
    grow_within(kind, text, u64::MAX)
}

/// Makes a certificate, or gives up after this many calls of `go_on`.
pub fn grow_within(kind: Kind, text: &str, max_calls: u64) -> Result<Certificate, Rejected> {
    let mut calls = 0;
    let mut go_on = || {
        calls += 1;
        calls < max_calls
    };
    Certificate::grow(kind, text, &[], 10_000, &mut go_on)
}

/// Whether a program has a condition that constants or locals decide, such as
/// `if true then e else f` or `l1 && e`. The checker claims only one side of such a condition, so
/// it has more independent steps than the machine.
pub fn has_finer_claims(text: &str) -> bool {
    let is_local = |word: &str| {
        let mut letters = word.chars();
        letters.next() == Some('l') && letters.next().is_some_and(|c| c.is_ascii_digit())
    };
    let decided = |line: &str| {
        let mut words = line.split(|c: char| !c.is_alphanumeric());
        (line.contains("&&") || line.contains("||")) && words.any(is_local)
    };
    text.contains("if false then") || text.contains("if true then") || text.lines().any(decided)
}

#[test]
fn a_tree_that_is_grown_has_every_trace() {
    let mut compared = 0;
    for seed in 0..programs(1_000) {
        let program = generate(seed, &Config::default());
        let text = program.to_string();
        let Some(truth) = truth(&text) else { continue };
        let grown = match grow(Kind::Stateless, &text) {
            Ok(grown) => grown,
            Err(Rejected::Beyond(_)) => continue,
            Err(other) => panic!("seed {seed}: {other}\n{text}"),
        };
        let facts = grown.check(&mut || true);
        let facts = facts.unwrap_or_else(|why| panic!("seed {seed}: {why}\n{text}"));
        if let Some(fault) = fault(&facts, &truth) {
            panic!("seed {seed}: {fault}\n{text}");
        }
        if !has_finer_claims(&text) {
            let traces = facts.executions - facts.discarded;
            assert_eq!(traces, truth.traces.len() as u64, "seed {seed}\n{text}");
        }
        compared += 1;
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn a_set_of_states_has_every_end() {
    let mut compared = 0;
    for seed in 0..programs(1_000) {
        let text = generate(seed, &Config::default()).to_string();
        let Some(truth) = truth(&text) else { continue };
        let grown = match grow(Kind::Stateful, &text) {
            Ok(grown) => grown,
            Err(Rejected::Beyond(_)) => continue,
            Err(other) => panic!("seed {seed}: {other}\n{text}"),
        };
        let facts = grown.check(&mut || true);
        let facts = facts.unwrap_or_else(|why| panic!("seed {seed}: {why}\n{text}"));
        assert_eq!(facts.livelocks, 0, "all of these programs end\n{text}");
        if let Some(fault) = fault(&facts, &truth) {
            panic!("seed {seed}: {fault}\n{text}");
        }
        compared += 1;
    }
    assert!(compared > 100, "{compared}");
}
