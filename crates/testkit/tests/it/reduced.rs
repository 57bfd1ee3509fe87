//! Reduced exploration of states, by one worker and by several. It is compared with brute force,
//! and with the same search without the reduction where runs may be infinite.

use std::ops::ControlFlow;

use crate::common::programs;
use mazurka_core::{Kinds, Limits, Semantics, StopReason};
use mazurka_explore::{Algorithm, Findings, Goal, Merging, Search, Workers};
use mazurka_testkit::swarm::{messages, models, network, swarm, synchronised};
use mazurka_testkit::{Config, Limit, States, every_state, generate, machine};

/// Returns an exhaustive search that does not search for cycles.
fn stateful(reduced: bool) -> Search<Algorithm> {
    Search {
        algorithm: Algorithm::StatefulAs(Merging {
            reduced,
            symmetric: false,
            ..Merging::default()
        }),
        limits: Limits::default(),
        goal: Goal::Violation(Kinds::of(&[])),
    }
}

/// Searches with one worker, and returns all observations.
fn alone(text: &str, search: &Search<Algorithm>) -> Option<(States, Findings)> {
    let mut seen = States::default();
    let most = Search {
        limits: Limits {
            steps: Some(300_000),
            ..Limits::default()
        },
        ..search.clone()
    };
    let keep_going = &mut |_: &_| ControlFlow::Continue(());
    let found = most.run(&mut machine(text).ok()?, keep_going, &mut seen);
    seen.add_sites(&found);
    (found.stopped == StopReason::Complete).then_some((seen, found))
}

fn together(text: &str, search: &Search<Algorithm>, count: usize) -> Findings {
    let programs = &|| machine(text).expect("a program");
    let keep_going = &mut |_: &_| ControlFlow::Continue(());
    search.share_states_after(0, &Workers { count, programs }, keep_going)
}

/// Returns the first difference for a program, if there is one.
fn wrong(text: &str, brute: bool) -> Option<String> {
    compare(text, brute).err()
}

/// Returns the numbers of states with and without the reduction, or the first difference; `None` if
/// the program is too large.
fn compare(text: &str, brute: bool) -> Result<Option<[u64; 2]>, String> {
    let Some((all, found_all)) = alone(text, &stateful(false)) else {
        return Ok(None);
    };
    let Some((few, found)) = alone(text, &stateful(true)) else {
        return Err("the reduced search takes more steps".to_owned());
    };
    let program = machine(text)?;
    let lost = all.lost || !found_all.bounds.is_empty();
    if !lost && few != all {
        return Err(format!("reduced: {few:?}\nis: {all:?}"));
    }
    let (counts, most) = (found.counts, found_all.counts);
    if counts.states > most.states || counts.steps > most.steps {
        return Err(format!("more: {counts:?}\nthan {most:?}"));
    }
    if !lost && (counts.deadlocks, counts.final_states) != (most.deadlocks, most.final_states) {
        return Err(format!("counts: {counts:?}\nof all {most:?}"));
    }
    if brute
        && !lost
        && !program.may_repeat()
        && let Some(truth) = every_state(&mut program.clone(), Limit::default())
        && !truth.lost
        && truth != few
    {
        return Err(format!("reduced: {few:?}\nbrute force: {truth:?}"));
    }
    for workers in [2, 5] {
        let shared = together(text, &stateful(true), workers);
        let same = shared.counts == found.counts
            && shared.failures == found.failures
            && shared.deadlock == found.deadlock
            && shared.finals == found.finals
            && shared.bounds == found.bounds
            && shared.stopped == found.stopped;
        if !same {
            return Err(format!("{workers} workers: {shared:?}\none: {found:?}"));
        }
    }
    let states = counts.states.zip(most.states);
    Ok(states.map(|(few, all)| [few, all]))
}

fn check(texts: impl Iterator<Item = (u64, String)>, brute: bool) {
    let (mut compared, mut smaller) = (0, 0);
    for (seed, text) in texts {
        match compare(&text, brute) {
            Ok(Some([few, all])) => {
                compared += 1;
                smaller += u64::from(few < all);
            }
            Ok(None) => {}
            Err(wrong) => panic!("seed {seed}: {wrong}\n{text}"),
        }
    }
    assert!(
        smaller * 10 > compared && compared > 0,
        "{smaller} of {compared}"
    );
}

fn generated(first: u64, count: u64) -> impl Iterator<Item = (u64, String)> {
    let all = first..first + count;
    all.map(|seed| (seed, generate(seed, &Config::default()).to_string()))
}

/// Generates programs with loops, procedures, channels, networks of channels, objects that wait,
/// and named types, in turn.
fn of_swarms(first: u64, count: u64) -> impl Iterator<Item = (u64, String)> {
    (first..first + count).map(|seed| {
        let text = match seed % 5 {
            0 => swarm(seed),
            1 => models(seed),
            2 => messages(seed),
            3 => network(seed),
            _ => synchronised(seed),
        };
        (seed, text)
    })
}

/// A false `assume` before the first step of a process belongs to the step that starts the process.
#[test]
fn a_process_discarded_at_its_start_postpones_nothing() {
    let text = "var x, y: int = 0
        process { spawn { assume false; x := 1 } }
        process { y := 1; assert y == 0 }";
    assert_eq!(wrong(text, true), None);
    let (seen, _) = alone(text, &stateful(true)).expect("a small program");
    assert_eq!(seen.sites.len(), 1);
}

/// A loop that runs alone must not hide the failures of other processes.
#[test]
fn a_loop_postpones_nothing() {
    let text = "var x, y: int = 0
        process { while true { x := 1 - x } }
        process { y := 1; assert y == 0 }";
    assert_eq!(wrong(text, true), None);
    let (seen, _) = alone(text, &stateful(true)).expect("a small program");
    assert_eq!(seen.sites.len(), 1);
}

/// The run to the one final state does not depend on the number of workers. Here two runs that
/// differ in an outcome lead to it.
#[test]
fn the_run_to_the_only_final_state_is_that_of_one_worker() {
    let text = "chan c[2]: int
        var x: int = 0
        process { let l = 0; select { l < 2 |> { x := l } [] c ! 1 |> { skip } } }
        process { let l = 0; select { c ! l |> { skip } [] l < 2 |> { l := x } } }
        process { let l = 0; l := x; l := x }
        observe x";
    for _ in 0..200 {
        assert_eq!(wrong(text, true), None);
    }
}

/// It is enough to explore the release of a lock alone, even if the lock is not held.
#[test]
fn a_release_is_explored_alone() {
    let text = "lock m
        process { lock(m); unlock(m) }
        process { lock(m); unlock(m) }
        process { unlock(m) }";
    assert_eq!(wrong(text, true), None);
    let (seen, found) = alone(text, &stateful(true)).expect("a small program");
    let (_, all) = alone(text, &stateful(false)).expect("a small program");
    assert_eq!(seen.sites.len(), 1);
    assert!(found.counts.states < all.counts.states);
}

/// Returns the numbers of states with the reduction and without it.
fn states(text: &str) -> [u64; 2] {
    assert_eq!(wrong(text, true), None, "{text}");
    [true, false].map(|reduced| {
        let (_, found) = alone(text, &stateful(reduced)).expect("a small program");
        found.counts.states.expect("a search of states")
    })
}

/// Each channel has one sender and one receiver: one order of the steps is enough.
#[test]
fn a_network_needs_one_order() {
    for capacity in 1..4 {
        let text = format!(
            "chan a[{capacity}]: int chan b[{capacity}]: int var x: int = 0
             process {{ for i in 0..8 {{ a ! i }} }}
             process {{ let l = 0; for i in 0..4 {{ a ? l; b ! l; a ? l }} }}
             process {{ let k = 0; for i in 0..4 {{ b ? k }}; x := k }}"
        );
        let [few, all] = states(&text);
        assert_eq!(few, 8 + 12 + 5 + 1, "{text}");
        assert!(all > few + 20, "{all}");
    }
    // The nodes of a ring send before they receive.
    let text = "const N = 5 chan link[N][1]: int
        process node (i in 0..N) {
            let l = 0;
            for round in 0..3 { link[(i + 1) % N] ! i; link[i] ? l }
        }";
    let [few, all] = states(text);
    assert_eq!(few, 5 * 6 + 1);
    assert!(all > 500, "{all}");
}

/// Messages of several fields, and a channel of a `struct`.
#[test]
fn a_network_of_structs_needs_one_order() {
    let text = "struct M { from: int, ok: bool }
        chan c[2][2]: M var x: int = 0
        process { let m = M(from: 1, ok: true); c[0] ! m; m.from := 2; c[0] ! m }
        process { let m = M(from: 0, ok: false); c[0] ? m; c[0] ? m; c[1] ! m }
        process { let k = M(from: 0, ok: false); c[1] ? k; x := k.from }";
    let [few, all] = states(text);
    assert!(few == 8 && all > few, "{few} of {all}");
}

/// A waiting send waits for a receive, and a waiting receive for a send. Because of the lock, a
/// stubborn set that starts with the other end of the channel is larger than that of the assignment
/// to x.
#[test]
fn the_other_end_of_a_channel_comes_first() {
    let with = |waits: &str, enables: &str| {
        format!(
            "chan c[1]: int lock m var x: int = 0
             process {{ let l = 0; {waits}; x := 2 }}
             process {{ let k = 0; lock(m); {enables}; unlock(m) }}
             process {{ x := 1 }}
             process {{ lock(m); unlock(m) }}"
        )
    };
    for (waits, enables) in [("c ! 1; c ! 2", "c ? k"), ("c ? l", "c ! 1")] {
        let text = with(waits, enables);
        assert_eq!(wrong(&text, true), None);
        let (_, found) = alone(&text, &stateful(true)).expect("a small program");
        assert_eq!(found.counts.final_states, 2, "{text}");
    }
}

/// A third process uses both ends of the channel, so the order of a send and a receive is visible
/// to it.
#[test]
fn both_ends_of_a_channel_are_seen() {
    let with = |third: &str| {
        format!(
            "chan c[2]: int var x: int = 0 proc put() {{ c ! 3 }}
             process {{ c ! 1; c ! 2 }} process {{ let l = 0; c ? l }} process {{ {third} }}"
        )
    };
    let [few, _] = states(&with("skip"));
    assert_eq!(few, 4);
    for third in [
        "x := len(c)",
        "let ok = try c ! 3; x := 1",
        "let l = 0; let ok = try c ? l; x := l",
        "atomic { len(c) < 2 |> c ! 3; x := len(c) }",
        "atomic { put() }",
        "put()",
        "let l = 0; c ? l; x := l",
        "select { c ! 5 |> { skip } [] else |> { x := 2 } }",
    ] {
        let [few, _] = states(&with(third));
        assert!(few > 6, "{few}: {third}");
    }
    let [few, _] = states(&with("skip").replace("var x", "invariant len(c) < 2 var x"));
    assert!(few > 4, "{few}");
}

#[test]
fn finds_what_brute_force_finds() {
    check(generated(0, programs(300)), true);
}

#[test]
fn finds_what_all_states_show() {
    check(of_swarms(5_000, programs(300)), true);
}

#[test]
#[ignore = "takes minutes"]
fn finds_what_brute_force_finds_for_long() {
    check(generated(2_000_000, programs(20_000)), true);
}

#[test]
#[ignore = "takes minutes"]
fn finds_what_all_states_show_for_long() {
    check(of_swarms(3_000_000, programs(20_000)), true);
}
