//! States up to permutations of interchangeable processes, compared with the same search of all
//! states.

use std::ops::ControlFlow;

use crate::common::programs;
use mazurka_core::{Execution, Kinds, Limits, Schedule, Semantics, Status, StopReason};
use mazurka_explore::{Algorithm, Finding, Findings, Goal, Merging, Search, Workers};
use mazurka_lang::Machine;
use mazurka_testkit::machine;
use mazurka_testkit::planted::{Mistake, WrongSymmetry};
use mazurka_testkit::swarm::symmetric;

/// Returns an exhaustive search that does not search for cycles.
fn stateful(reduced: bool, symmetric: bool) -> Search<Algorithm> {
    Search {
        algorithm: Algorithm::StatefulAs(Merging {
            reduced,
            symmetric,
            bits: None,
        }),
        limits: Limits {
            steps: Some(100_000),
            ..Limits::default()
        },
        goal: Goal::Violation(Kinds::of(&[])),
    }
}

fn alone<E: Semantics>(program: &mut E, search: &Search<Algorithm>) -> Option<Findings> {
    let keep_going = &mut |_: &_| ControlFlow::Continue(());
    let found = search.run(program, keep_going, &mut ());
    let whole = found.bounds.is_empty() && found.stopped == StopReason::Complete;
    whole.then_some(found)
}

fn together(text: &str, search: &Search<Algorithm>, count: usize) -> Findings {
    let programs = &|| machine(text).expect("a program");
    let keep_going = &mut |_: &_| ControlFlow::Continue(());
    let all = Search {
        limits: Limits::default(),
        ..search.clone()
    };
    all.share_states_after(0, &Workers { count, programs }, keep_going)
}

/// Makes a run. Returns `None` if it is not a run of the program.
fn replay(program: &mut Machine, schedule: &Schedule) -> Option<()> {
    program.back_to(0);
    for step in &schedule.0 {
        let process = program.processes().find(&step.process)?;
        program.step(process, &step.outcomes).ok()?;
    }
    Some(())
}

fn is_stuck(program: &Machine) -> bool {
    let all = program.processes().in_order().iter();
    let mut all = all.map(|&process| program.status(process));
    !program.is_final() && all.all(|status| status != Status::Ready)
}

/// Returns an error of the runs that are shown, if there is one.
fn wrong_runs(text: &str, found: &Findings) -> Option<String> {
    let mut program = machine(text).ok()?;
    for failure in &found.failures {
        let site = failure.mishap?.site;
        let replayed = replay(&mut program, &failure.schedule);
        let mut shown: Vec<u32> = Vec::new();
        match program.events().last() {
            Some(last) => shown.extend(last.mishaps.iter().map(|mishap| mishap.site)),
            None => shown.extend(program.initial_mishaps().iter().map(|mishap| mishap.site)),
        }
        if program.is_final() {
            shown.extend(program.final_mishaps().iter().map(|mishap| mishap.site));
        }
        if replayed.is_none() || !shown.contains(&site) {
            return Some(format!("does not show {site}: {failure:?}"));
        }
    }
    if let Some(deadlock) = &found.deadlock
        && (replay(&mut program, &deadlock.schedule).is_none() || !is_stuck(&program))
    {
        return Some(format!("no deadlock: {deadlock:?}"));
    }
    let mut observed = Vec::new();
    for last in &found.finals {
        if replay(&mut program, &last.schedule).is_none() || !program.is_final() {
            return Some(format!("no final state: {last:?}"));
        }
        observed.push(program.observation());
    }
    (observed.len() == 2 && observed[0] == observed[1])
        .then(|| format!("the same twice: {:?}", found.finals))
}

fn sites(found: &Findings) -> Vec<u32> {
    let site = |failure: &Finding| failure.mishap.map(|mishap| mishap.site);
    let mut all: Vec<u32> = found.failures.iter().filter_map(site).collect();
    all.sort_unstable();
    all
}

/// Compares a search up to symmetry with a search of all states. Returns:
/// - `None` if the program has too many states;
/// - an error if the results differ;
/// - `Ok(None)` if the program has no symmetry;
/// - otherwise the findings up to symmetry.
fn compare<E: Semantics>(
    text: &str,
    program: &mut E,
    reduced: bool,
) -> Option<Result<Option<Findings>, String>> {
    let all = alone(&mut machine(text).ok()?, &stateful(reduced, false))?;
    let few = alone(program, &stateful(reduced, true))?;
    let wrong = |what: &str| Some(Err(format!("{what}: {few:?}\nof all: {all:?}")));
    if sites(&few) != sites(&all) {
        return wrong("other failures");
    }
    if few.deadlock.is_some() != all.deadlock.is_some() {
        return wrong("other deadlocks");
    }
    if few.deterministic() != all.deterministic()
        || few.counts.final_states != all.counts.final_states
    {
        return wrong("other final states");
    }
    let Some(permuted) = few.counts.permuted_states else {
        return if few.counts == all.counts {
            Some(Ok(None))
        } else {
            wrong("no symmetry, and other counts")
        };
    };
    // The two searches may choose different stubborn sets of the same size, so either may visit a
    // few more states.
    let more = few.counts.states > all.counts.states || few.counts.steps > all.counts.steps;
    if !reduced && more {
        return wrong("more");
    }
    if !reduced && Some(permuted) != all.counts.states {
        return wrong("the orbits have other states");
    }
    match wrong_runs(text, &few) {
        Some(wrong) => Some(Err(wrong)),
        None => Some(Ok(Some(few))),
    }
}

/// Returns an error if the results for a program differ; otherwise the factor by which symmetry
/// reduces the number of states (`None` without symmetry). Returns `None` if the program has too
/// many states.
fn wrong(text: &str) -> Option<Result<Option<f64>, String>> {
    let mut factor = None;
    for reduced in [false, true] {
        let found = match compare(text, &mut machine(text).ok()?, reduced)? {
            Ok(Some(found)) => found,
            Ok(None) => return Some(Ok(None)),
            Err(wrong) => return Some(Err(wrong)),
        };
        let (all, few) = (found.counts.permuted_states?, found.counts.states?);
        factor = factor.or(Some(all as f64 / few as f64));
        for workers in [2, 4] {
            let shared = together(text, &stateful(reduced, true), workers);
            let same = shared.counts == found.counts
                && shared.failures == found.failures
                && shared.deadlock == found.deadlock
                && shared.finals == found.finals
                && shared.stopped == found.stopped;
            if !same {
                return Some(Err(format!(
                    "{workers} workers: {shared:?}\none: {found:?}"
                )));
            }
        }
    }
    Some(Ok(factor))
}

fn check(seeds: std::ops::Range<u64>) {
    let (mut compared, mut found, mut factors) = (0u64, 0u64, 0.0);
    for seed in seeds {
        let text = symmetric(seed);
        if let Err(mistake) = machine(&text) {
            panic!("seed {seed}: {mistake}\n{text}");
        }
        match wrong(&text) {
            Some(Err(wrong)) => panic!("seed {seed}: {wrong}\n{text}"),
            Some(Ok(factor)) => {
                compared += 1;
                found += u64::from(factor.is_some());
                factors += factor.unwrap_or(0.0);
            }
            None => {}
        }
    }
    println!(
        "{compared} compared, {found} symmetric, factor {}",
        factors / found as f64
    );
    assert!(
        found * 3 > compared && compared > 0,
        "{found} of {compared}"
    );
}

/// Returns the sizes of the groups of members of a program.
fn groups(text: &str) -> Vec<u32> {
    let machine = machine(text).unwrap_or_else(|mistake| panic!("{mistake}\n{text}"));
    let symmetry = machine.symmetry();
    symmetry.map_or(Vec::new(), |one| one.groups().to_vec())
}

/// Returns the findings of a search without stubborn sets: of all states, and up to symmetry.
fn found(text: &str) -> Findings {
    match compare(text, &mut machine(text).expect("a program"), false) {
        Some(Ok(Some(found))) => found,
        other => panic!("{other:?}\n{text}"),
    }
}

/// Programs of three processes, and the sizes of the groups of interchangeable ones.
const PROGRAMS: &[(&str, &[u32])] = &[
    ("var x: int = 0 process p (i in 0..3) { x := x + 1 }", &[3]),
    (
        "lock m var x: int = 0 process p (i in 0..3) { lock(m); x := x + 1; unlock(m) }",
        &[3],
    ),
    (
        "lock m[3] var x: int = 0 process p (i in 0..3) { lock(m[i]); x := 1; unlock(m[i]) }",
        &[3],
    ),
    (
        "var winner: int = -1 process p (i in 0..3) { winner := i }",
        &[3],
    ),
    (
        "var winner: -1..3 = -1 process p (i in 0..3) { winner := i }",
        &[3],
    ),
    (
        "var a: bool[4] = false process p (i in 1..4) { a[i] := true }",
        &[3],
    ),
    (
        "var a: int[3][3] = 0 process p (i in 0..3) { a[i][i] := 1 }",
        &[3],
    ),
    (
        "var a: bool[3] = false invariant (count v in a: v) <= 1
         process p (i in 0..3) { await forall j in 0..3: j == i || !a[j]; a[i] := true }",
        &[3],
    ),
    (
        "var t: int = -1 process p (i in 0..3) { skip; let l = choose(0..3); t := l; await t == i }",
        &[3],
    ),
    (
        "rwlock l var x: int = 0 process p (i in 0..3) { read_lock(l); read_unlock(l); x := 1 }",
        &[3],
    ),
    (
        "semaphore s = 1 process p (i in 0..3) { acquire(s); release(s) }",
        &[3],
    ),
    (
        "struct S { who: int, ok: bool } var s: S = S(who: -1, ok: false)
         process p (i in 0..3) { s := S(who: i, ok: true) }",
        &[3],
    ),
    (
        "chan c[2]: int var t: int = -1
         process p (i in 0..3) { c ! i } process q { let l = -1; c ? l; t := l }",
        &[3],
    ),
    (
        "var a: int[3] = 0 proc add(k: int) { a[k] := a[k] + 1 }
         process p (i in 0..3) { add(i) } process q { add(-1) }",
        &[3],
    ),
    (
        "atomicity access var x: int = 0 var a: int[3] = 0
         process p (i in 0..3) { x := x + 1; a[i] := x }",
        &[3],
    ),
    // The numbers of `p` and `q` index the same array, so one permutation applies to both.
    (
        "var a: bool[3] = false
         process p (i in 0..3) { a[i] := true } process q (i in 0..3) { await a[i] }",
        &[3],
    ),
    (
        "var x: int = 0 process p (i in 0..3) { x := 1 } process q (i in 0..2) { x := 2 }",
        &[3, 2],
    ),
    // Loops over all processes, in one step.
    (
        "var a: int[3] = 0 process p (i in 0..3) { atomic { for j in 0..3 { a[j] := 2 } } }",
        &[3],
    ),
    (
        "var a: int[3] = 0 process p (i in 0..3) { a[i] := 1 }
         process q { atomic { for j in 0..3 { if a[j] == 0 { a[j] := 2 } } } }",
        &[3],
    ),
    (
        "var a: int[3] = -1 var b: bool[3][2] = false var t: int = -1
         process p (i in 0..3) {
             t := i;
             atomic {
                 for j in 0..3 { let k = a[j]; if k != i { a[j] := t; b[j][0] := b[j][1] } };
                 b[i][1] := true
             }
         }",
        &[3],
    ),
    (
        "var a: int[4] = 0 process p (i in 1..4) {
             atomic { for j in 1..4 { if j != i { a[j] := (a[j] + 1) % 2 } } }
         }",
        &[3],
    ),
    // One of the processes is not like the others.
    ("var t: int = 0 process p (i in 0..3) { t := i }", &[2]),
    (
        "var x: int = 0 process p (i in 0..3) { if i == 0 { x := 1 } }",
        &[2],
    ),
    (
        "var a: bool[3] = false invariant !a[0] process p (i in 0..3) { a[i] := true }",
        &[2],
    ),
    (
        "var a: bool[3] = false ensures forall j in 1..3: a[j]
         process p (i in 0..3) { a[i] := true }",
        &[2],
    ),
    (
        "var a: bool[3] = [true, false, false] process p (i in 0..3) { a[i] := true }",
        &[2],
    ),
    (
        "var a: bool[3] = false process p (i in 0..3) { a[i] := true } process q { await a[2] }",
        &[2],
    ),
    // Not symmetric.
    (
        "lock m[3] process p (i in 0..3) { lock(m[i]); lock(m[(i + 1) % 3]) }",
        &[],
    ),
    (
        "var t: int = -1 process p (i in 0..3) { t := i; await t < i }",
        &[],
    ),
    ("var x: int = 0 process p (i in 0..3) { x := x + i }", &[]),
    (
        "var x: int = 0 const C = [3, 1, 2] process p (i in 0..3) { x := C[i] }",
        &[],
    ),
    (
        "var a: int[3] = 0 process p (i in 0..3) { a[i] := 1 } process q { for j in 0..3 { a[j] := 2 } }",
        &[],
    ),
    (
        "var a: int[3] = 0 process p (i in 0..3) { a[i] := 1; a[i] := max v in a: v }",
        &[],
    ),
    (
        "var t: int = -1 process p (i in 0..3) { t := choose(0..2); await t == i }",
        &[],
    ),
    (
        "var t: int = -1 process p (i in 0..3) { t := i; t := t + 1 }",
        &[],
    ),
    (
        "var t: int = -1 var x: int = 0 process p (i in 0..3) { t := i; x := t * 2 }",
        &[],
    ),
    (
        "var x: int = 0 process p (i in 0..3) { spawn { x := 1 } }",
        &[],
    ),
    (
        "var a: bool[2] = false process p (i in 0..3) { a[i] := true }",
        &[],
    ),
    ("barrier b = 3 process p (i in 0..3) { wait(b) }", &[]),
    (
        "lock m cond c process p (i in 0..3) { lock(m); wait(c, m); signal(c); unlock(m) }",
        &[],
    ),
    (
        "atomicity access var t: int = -1 var a: bool[3] = false
         process p (i in 0..3) { t := i; a[t] := true }",
        &[],
    ),
    // Loops whose order is visible, in several steps, or over some of the processes.
    (
        "var a: int[3] = 0 process p (i in 0..3) { a[i] := 1; for j in 0..3 { a[j] := 2 } }",
        &[],
    ),
    (
        "var a: int[3] = 0 process p (i in 0..3) { a[i] := 1; atomic { for j in 0..2 { a[j] := 2 } } }",
        &[],
    ),
    (
        "var a: int[3] = 0 var x: int = 0
         process p (i in 0..3) { a[i] := 1; atomic { for j in 0..3 { x := a[j] } } }",
        &[],
    ),
    (
        "var a: int[3] = 0
         process p (i in 0..3) { atomic { for j in 0..3 { a[j] := a[i] + 1 } } }",
        &[],
    ),
    (
        "var a: int[3] = 0
         process p (i in 0..3) { a[i] := 1; atomic { for j in 0..3 { assert a[j] < 2; a[j] := 2 } } }",
        &[],
    ),
    (
        "var a: int[3] = 0
         process p (i in 0..3) { a[i] := 1; atomic { for j in 0..3 { a[j] := choose(0..2) } } }",
        &[],
    ),
    (
        "var a: bool[3][3] = false process p (i in 0..3) {
             atomic { for j in 0..3 { a[i][j] := a[j][i] } }
         }",
        &[],
    ),
    (
        "var a: int[3] = 0 process p (i in 0..3) {
             atomic { let t = 0; for j in 0..3 { t := a[j] }; a[i] := t }
         }",
        &[],
    ),
];

#[test]
fn members_are_found_from_the_program() {
    for (text, expected) in PROGRAMS {
        assert_eq!(groups(text), *expected, "{text}");
        // A program that always fails, or is too large, would test nothing.
        assert!(
            matches!(wrong(text), Some(Ok(_))),
            "{:?}\n{text}",
            wrong(text)
        );
    }
}

/// Each of n processes has made 0, 1 or 2 steps: 3ⁿ states, and (n + 2)(n + 1) / 2 up to symmetry.
#[test]
fn counts_are_those_of_multisets() {
    for n in 2..9u64 {
        let text =
            format!("var a: int[{n}] = 0 process p (i in 0..{n}) {{ a[i] := 1; a[i] := 2 }}");
        let counts = found(&text).counts;
        assert_eq!(counts.states, Some((n + 2) * (n + 1) / 2));
        assert_eq!(counts.permuted_states, Some(3u64.pow(n as u32)));
        assert_eq!(counts.final_states, 1);
    }
}

/// Each process chooses a process: functions on n points up to conjugation are OEIS A001372. The
/// views of members (explore's `symmetry.rs`) alone do not distinguish the cycles of these
/// functions. For the counts: a process is at its test, is at its choice, or has chosen.
#[test]
fn counts_are_those_of_functions() {
    for (n, functions) in [(2u64, 3), (3, 7), (4, 19), (5, 47)] {
        let text = format!(
            "var next: int[{n}] = -1
             process p (i in 0..{n}) {{ if next[i] != i {{ next[i] := choose(0..{n}) }} }}"
        );
        let counts = found(&text).counts;
        assert_eq!(counts.executions, functions);
        assert_eq!(counts.final_states, n.pow(n as u32));
        assert_eq!(counts.permuted_states, Some((n + 2).pow(n as u32)));
    }
}

/// The winner is an observed result, so results may differ although all processes are
/// interchangeable.
#[test]
fn the_winner_is_not_determined() {
    let text = "var winner: int = -1 process p (i in 0..3) { winner == -1 |> winner := i }
         allows deadlock observe winner";
    let result = found(text);
    assert_eq!(
        (result.deterministic(), result.counts.final_states),
        (None, 0)
    );
    let text = "var winner: int = -1
         process p (i in 0..3) { if winner == -1 { winner := i } } observe winner";
    let result = found(text);
    assert_eq!(
        (result.deterministic(), result.counts.final_states),
        (Some(false), 3)
    );
    assert_eq!(result.finals.len(), 2);
}

/// If one process can fail, each interchangeable process can fail, and each failure has a place of
/// its own.
#[test]
fn every_process_fails_at_its_own_place() {
    let text = "var x: int = 0 process p (i in 0..3) { x := x + 1; assert x < 3 }";
    assert_eq!(found(text).failures.len(), 3);
}

/// Returns the number of programs after which a mistake is caught, if it is.
fn caught_after(mistake: Mistake) -> Option<u64> {
    let is_wrong = |seed: &u64| {
        let text = symmetric(*seed);
        [false, true].into_iter().any(|reduced| {
            let program = machine(&text).expect("a program");
            let mut program = WrongSymmetry::new(program, mistake);
            matches!(compare(&text, &mut program, reduced), Some(Err(_)))
        })
    };
    (0..150).find(is_wrong)
}

/// The comparison must find each of these mistakes.
#[test]
fn wrong_symmetries_are_caught() {
    assert_eq!(caught_after(Mistake::None), None);
    for mistake in [
        Mistake::EqualLabels,
        Mistake::UnmovedPartsIgnored,
        Mistake::OriginalObservation,
        Mistake::OriginalProcesses,
        Mistake::LastMemberFixed,
    ] {
        let after = caught_after(mistake);
        println!("{mistake:?}: caught by program {after:?}");
        assert!(after.is_some(), "{mistake:?}");
    }
}

#[test]
fn finds_what_all_states_show() {
    check(0..programs(300));
}

#[test]
#[ignore = "takes minutes"]
fn finds_what_all_states_show_for_long() {
    check(4_000_000..4_000_000 + programs(20_000));
}
