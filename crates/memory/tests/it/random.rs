//! Random programs: the engine finds the same executions as the oracle, and none of them twice.
//!
//! The ordinary tests use a few programs. To use more: `MAZURKA_PROGRAMS=20000 MAZURKA_SEED=7 cargo
//! test --release -p mazurka-memory --test it -- --ignored random::`.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use mazurka_core::{Limits, Random};
use mazurka_memory::planted::Planted;
use mazurka_memory::{
    CountOnly, Counts, End, Ending, Failure, Found, Memory, Unexplored, replay, sample, split,
    visit, visit_part, visit_planted, visit_rest,
};

use mazurka_memory::litmus::{Instruction, Litmus};

use crate::generate::{Sketch, sketch, sketch_with_decisions};
use crate::oracle::{self, Answer, Key, code};

/// The maximal number of graphs for the oracle.
const MOST: usize = 20_000;

/// Returns the executions that the engine finds; the error is a graph that it found twice.
pub fn engine(program: &Litmus, memory: Memory, planted: Planted) -> Result<Answer, String> {
    let mut ends: BTreeSet<(u8, Key)> = BTreeSet::new();
    let mut twice = None;
    let mut visitor = |end: &mut End<'_, _>| {
        let key = (code(end.ending()), oracle::key_of(end.graph()));
        let wasted = matches!(end.ending(), Ending::Blocked | Ending::Race);
        if !wasted && !ends.insert(key.clone()) {
            twice = Some(key);
            return ControlFlow::Break(());
        }
        if !wasted && planted == Planted::Nothing {
            assert_replays(program, memory, end);
        }
        ControlFlow::Continue(())
    };
    let limits = Limits {
        executions: Some(MOST as u64),
        ..Limits::default()
    };
    let found = visit_planted(program.clone(), memory, &limits, &mut visitor, planted);
    if let Some(key) = twice {
        return Err(format!("a graph twice: {key:?}"));
    }
    if !found.is_exhaustive() {
        return Err(format!("not exhaustive: {found:?}"));
    }
    for finding in found
        .findings
        .iter()
        .filter(|_| planted == Planted::Nothing)
    {
        let shown = replay(program.clone(), memory, &finding.schedule, &mut CountOnly);
        let shown = shown.unwrap_or_else(|error| panic!("{finding:?}: {error}\n{program:?}"));
        let same = shown.failures.contains(&finding.failure);
        assert!(same, "{finding:?}, but {shown:?}\n{program:?}");
    }
    let failures = found.findings.iter().filter_map(|it| match it.failure {
        Failure::Failed { thread, code } => Some((thread, code)),
        _ => None,
    });
    Ok(Answer {
        ends,
        races: found.counts.races > 0,
        failures: failures.collect(),
    })
}

/// Asserts that the schedule of an execution leads to the same graph.
fn assert_replays(program: &Litmus, memory: Memory, end: &End<'_, Litmus>) {
    let schedule = end.schedule();
    let text = schedule.to_string();
    assert_eq!(text.parse(), Ok(schedule.clone()));
    let mut shown = None;
    let mut visitor = |end: &mut End<'_, Litmus>| {
        shown = Some(oracle::key_of(end.graph()));
        ControlFlow::Continue(())
    };
    let replayed = replay(program.clone(), memory, &schedule, &mut visitor);
    let replayed = replayed.unwrap_or_else(|error| panic!("{text}: {error}\n{program:?}"));
    assert_eq!(replayed.ending, Some(end.ending()), "{text}\n{program:?}");
    assert_eq!(
        shown,
        Some(oracle::key_of(end.graph())),
        "{text}\n{program:?}"
    );
    if memory == Memory::Sc {
        let choices = program.code().iter().flatten();
        let choice = |it: &&_| matches!(it, Instruction::Choose(..) | Instruction::Decide(..));
        let mut choices = choices.filter(choice);
        let zeros = schedule.0.iter().all(|step| step.outcome == 0);
        assert!(
            zeros || choices.next().is_some(),
            "{text} is an interleaving"
        );
    }
}

/// Whether the engine and the oracle agree; `None` if the program is too large for the oracle.
pub fn compare(program: &Litmus, memory: Memory, planted: Planted) -> Option<Result<(), String>> {
    let expected = oracle::ends(program, memory, MOST, true).ok()?;
    let found = match engine(program, memory, planted) {
        Ok(found) => found,
        Err(error) => return Some(Err(error)),
    };
    if expected.races || found.races {
        let same = expected.races == found.races;
        let error = || format!("a race: {} expected", expected.races);
        return Some(same.then_some(()).ok_or_else(error));
    }
    if expected == found {
        return Some(Ok(()));
    }
    let lost: Vec<_> = expected.ends.difference(&found.ends).collect();
    let wrong: Vec<_> = found.ends.difference(&expected.ends).collect();
    Some(Err(format!(
        "{} expected, {} found; lost {lost:?}; wrong {wrong:?}; failures {:?} expected, {:?} found",
        expected.ends.len(),
        found.ends.len(),
        expected.failures,
        found.failures
    )))
}

/// Removes blocks from a program as long as the engine and the oracle still disagree about it.
fn shrink(mut sketch: Sketch, memory: Memory) -> (Sketch, String) {
    let fails = |sketch: &Sketch| match compare(&sketch.program(), memory, Planted::Nothing) {
        Some(Err(error)) => Some(error),
        _ => None,
    };
    let mut error = fails(&sketch).expect("a disagreement");
    loop {
        let smaller = sketch.smaller().find_map(|it| fails(&it).map(|e| (it, e)));
        match smaller {
            Some(smaller) => (sketch, error) = smaller,
            None => return (sketch, error),
        }
    }
}

fn compare_random(seed: u64, programs: u64, sketch: fn(&mut Random) -> Sketch) {
    let (mut compared, mut too_large, mut graphs) = (0, 0, 0);
    for number in 0..programs {
        let mut random = Random::new(seed.wrapping_add(number));
        let sketch = sketch(&mut random);
        for memory in Memory::ALL {
            match compare(&sketch.program(), memory, Planted::Nothing) {
                None => too_large += 1,
                Some(Ok(())) => compared += 1,
                Some(Err(_)) => {
                    let (least, error) = shrink(sketch.clone(), memory);
                    panic!(
                        "seed {}, {memory}: {error}\n{:#?}, {} started",
                        seed.wrapping_add(number),
                        least.threads,
                        least.started
                    );
                }
            }
        }
        graphs += 1;
    }
    assert!(
        graphs == programs && compared > 10 * too_large,
        "{too_large} are too large"
    );
}

#[test]
fn programs_of_the_slice() {
    compare_random(1, 400, sketch);
}

#[test]
fn programs_with_decisions_of_the_slice() {
    compare_random(1, 300, sketch_with_decisions);
}

/// Returns the first seed and the number of programs of a long run.
fn long_run() -> (u64, u64) {
    let variable = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let seed = variable("MAZURKA_SEED").unwrap_or(1_000_000);
    (seed, variable("MAZURKA_PROGRAMS").unwrap_or(20_000))
}

#[test]
#[ignore = "long: MAZURKA_PROGRAMS and MAZURKA_SEED say how many and which"]
fn programs_of_the_long_run() {
    let (seed, programs) = long_run();
    compare_random(seed, programs, sketch);
}

#[test]
#[ignore = "long: MAZURKA_PROGRAMS and MAZURKA_SEED say how many and which"]
fn programs_with_decisions_of_the_long_run() {
    let (seed, programs) = long_run();
    compare_random(seed, programs, sketch_with_decisions);
}

#[test]
#[ignore = "long: MAZURKA_PROGRAMS and MAZURKA_SEED say how many and which"]
fn threads_in_any_order_in_the_long_run() {
    let (seed, programs) = long_run();
    assert!(compare_thread_orders(seed, programs) > programs);
}

/// The search depends on the order of the threads, but its result does not. These programs are too
/// large for the oracle.
fn compare_thread_orders(seed: u64, programs: u64) -> u64 {
    let mut executions = 0;
    for seed in seed..seed + programs {
        let mut random = Random::new(seed);
        let (mut large, more) = (sketch(&mut random), sketch(&mut random));
        let spawns = |sketch: &Sketch| sketch.started < sketch.threads.len();
        if spawns(&large) || spawns(&more) {
            continue;
        }
        large.threads.extend(more.threads);
        large.threads.truncate(4);
        large.started = large.threads.len();
        let mut turned = large.clone();
        turned.threads.reverse();
        for memory in Memory::ALL {
            let limits = Limits {
                executions: Some(30_000),
                ..Limits::default()
            };
            let count = |sketch: &Sketch| visit(sketch.program(), memory, &limits, &mut CountOnly);
            let (found, other) = (count(&large), count(&turned));
            if !found.is_exhaustive() || !other.is_exhaustive() || found.counts.races > 0 {
                continue;
            }
            let ends = |found: &Found| {
                let Counts {
                    complete,
                    deadlocks,
                    discarded,
                    failed,
                    ..
                } = found.counts;
                [complete, deadlocks, discarded, failed]
            };
            assert_eq!(
                ends(&found),
                ends(&other),
                "seed {seed}, {memory}: {large:?}"
            );
            executions += found.counts.executions();
        }
    }
    executions
}

#[test]
fn threads_in_any_order() {
    let executions = compare_thread_orders(700, 120);
    assert!(executions > 20_000, "{executions} executions");
}

/// Together, the parts of a search find what the whole search finds.
#[test]
fn parts_make_the_whole() {
    let mut parts_seen = 0;
    for seed in 0..400 {
        let program = sketch(&mut Random::new(90_000 + seed)).program();
        for memory in Memory::ALL {
            let limits = Limits::default();
            let mut keys: Vec<Key> = Vec::new();
            let mut visitor = |end: &mut End<'_, Litmus>| {
                keys.push(oracle::key_of(end.graph()));
                ControlFlow::Continue(())
            };
            let whole = visit(program.clone(), memory, &limits, &mut visitor);
            let mut expected = std::mem::take(&mut keys);
            let mut visitor = |end: &mut End<'_, Litmus>| {
                keys.push(oracle::key_of(end.graph()));
                ControlFlow::Continue(())
            };
            let depth = 1 + seed as usize % 6;
            let (mut sum, parts) = split(program.clone(), memory, &limits, depth, &mut visitor);
            for part in &parts {
                sum.merge(visit_part(
                    program.clone(),
                    memory,
                    &limits,
                    part,
                    &mut visitor,
                ));
            }
            expected.sort();
            keys.sort();
            assert_eq!(keys, expected, "seed {seed}, {memory}");
            // Events between a choice point and the cut are added twice.
            sum.counts.events = whole.counts.events;
            assert_eq!(sum.counts, whole.counts, "seed {seed}, {memory}");
            assert_eq!(sum.findings.len(), whole.findings.len());
            parts_seen += parts.len();
        }
    }
    assert!(parts_seen > 2000, "{parts_seen} parts");
}

/// Searches that a limit ends and that continue find together what one search finds, each execution
/// once, wherever the limit strikes: also between two races of one choice point.
#[test]
fn rests_make_the_whole() {
    let (mut searches, mut races) = (0, 0);
    for seed in 0..900 {
        let program = sketch(&mut Random::new(130_000 + seed)).program();
        for memory in Memory::ALL {
            let limits = Limits {
                executions: Some(MOST as u64),
                ..Limits::default()
            };
            let mut keys: Vec<(u8, Key)> = Vec::new();
            let mut visitor = |end: &mut End<'_, Litmus>| {
                keys.push((code(end.ending()), oracle::key_of(end.graph())));
                ControlFlow::Continue(())
            };
            let whole = visit(program.clone(), memory, &limits, &mut visitor);
            let mut expected = std::mem::take(&mut keys);
            expected.sort();
            if expected.len() > 60 {
                continue;
            }
            races += whole.counts.races;
            let executions = |most| Limits {
                executions: Some(most),
                ..Limits::default()
            };
            let steps = |most| Limits {
                steps: Some(most),
                ..Limits::default()
            };
            let each = [1, 2, 3].map(executions).into_iter();
            for limits in each.chain([1, 7, 12, 13, 17, 20, 29].map(steps)) {
                let (mut sum, mut left) = (Found::default(), Some(Unexplored::default()));
                let mut visitor = |end: &mut End<'_, Litmus>| {
                    keys.push((code(end.ending()), oracle::key_of(end.graph())));
                    ControlFlow::Continue(())
                };
                let mut made = 0;
                while let Some(rest) = left.take() {
                    let more;
                    let program = program.clone();
                    (more, left) = visit_rest(program, memory, &limits, &rest, &mut visitor);
                    sum.merge(more);
                    made += 1;
                    let most = 2 * expected.len() + 2;
                    assert!(made <= most, "seed {seed}, {memory}, {limits:?}: {sum:?}");
                }
                searches += made;
                let mut keys = std::mem::take(&mut keys);
                keys.sort();
                assert_eq!(keys, expected, "seed {seed}, {memory}, {limits:?}");
                sum.counts.events = whole.counts.events;
                assert_eq!(sum.counts, whole.counts, "seed {seed}, {memory}");
                assert_eq!(sum.findings.len(), whole.findings.len());
            }
        }
    }
    assert!(searches > 10_000, "{searches} searches");
    assert!(races > 40, "{races} races");
}

/// Each drawn execution is an execution of the program, and eventually all executions are drawn.
#[test]
fn samples_are_executions() {
    let (mut drawn, mut all) = (0, 0);
    for seed in 0..120 {
        let program = sketch(&mut Random::new(50_000 + seed)).program();
        for memory in Memory::ALL {
            let exact = engine(&program, memory, Planted::Nothing).expect("explored");
            if exact.races || exact.ends.len() > 20 {
                continue;
            }
            let mut ends = BTreeSet::new();
            let mut visitor = |end: &mut End<'_, Litmus>| {
                let key = (code(end.ending()), oracle::key_of(end.graph()));
                let known = exact.ends.contains(&key) || end.ending() == Ending::Blocked;
                assert!(known, "seed {seed}, {memory}: {key:?}");
                ends.insert(key);
                ControlFlow::Continue(())
            };
            let limits = Limits {
                executions: Some(600),
                ..Limits::default()
            };
            let random = Random::new(seed);
            let found = sample(program.clone(), memory, &limits, random, &mut visitor);
            assert_eq!(found.counts.executions(), 600);
            drawn += ends.iter().filter(|end| exact.ends.contains(end)).count();
            all += exact.ends.len();
        }
    }
    assert!(all > 1000 && drawn * 100 > all * 98, "{drawn} of {all}");
}

/// The programs of the figures that are small enough, under all models.
#[test]
fn programs_of_the_figures() {
    use crate::programs::*;
    use mazurka_memory::MemoryOrder::{Acquire, Relaxed, Release, SeqCst};
    let programs = [
        sb(Relaxed, Relaxed),
        sb(SeqCst, SeqCst),
        sb(SeqCst, Relaxed),
        sb(Relaxed, SeqCst),
        sb_fences(SeqCst),
        lb(),
        mp(Relaxed, Relaxed),
        mp(Release, Acquire),
        mp_fences(),
        mp_overwritten(),
        mp_release_sequence(),
        two_two_w(Relaxed),
        two_two_w(SeqCst),
        corr(),
        iriw(Acquire, SeqCst, SeqCst),
        iriw(Acquire, Acquire, Release),
        wrc(),
        isa2(Release, Acquire),
        z6_u(),
        ww_merge(),
        sb_rfis(),
        ainc(4, SeqCst),
        readers(4),
        wcas(3),
        inc(3),
        lockinc(3),
        fib(2),
        lastzero(4),
        abba(),
        peterson(),
    ];
    for program in &programs {
        for memory in Memory::ALL {
            let same = compare(program, memory, Planted::Nothing);
            assert_eq!(same, Some(Ok(())), "{memory}: {program:?}");
        }
    }
}

/// Checks that a part of a consistent graph is consistent, on which the engine and the oracle rely:
/// the axioms may be checked on every graph, or only on the graphs of ended executions.
#[test]
fn parts_of_consistent_graphs_are_consistent() {
    let mut compared = 0;
    for seed in 0..150 {
        let program = sketch(&mut Random::new(seed)).program();
        for memory in Memory::ALL {
            let early = oracle::ends(&program, memory, MOST, true);
            let late = oracle::ends(&program, memory, 2000, false);
            let (Ok(early), Ok(late)) = (early, late) else {
                continue;
            };
            if !early.races && !late.races {
                assert_eq!(early.ends, late.ends, "seed {seed}, {memory}");
                compared += 1;
            }
        }
    }
    assert!(compared > 200, "{compared} are small enough");
}

/// A stuck update that a write revisits is an update again: tso orders it after the earlier writes
/// of its thread.
#[test]
fn stuck_updates_are_updates() {
    use mazurka_memory::MemoryOrder::{Relaxed, SeqCst};
    use mazurka_memory::litmus::{Change, await_equal, fence, load, store};
    let (x, y) = (0u32, 1u32);
    let change = Change::AddUnless(0, 0.into());
    let waits = Instruction::Update(0, x.into(), change, Relaxed, Relaxed);
    let first = vec![await_equal(y, 0, Relaxed), store(x, 1, Relaxed)];
    let second = vec![store(x, 0, Relaxed), fence(SeqCst), load(1, y, Relaxed)];
    let program = Litmus::new([vec![store(y, 1, Relaxed), waits], first, second]);
    for memory in Memory::ALL {
        let same = compare(&program, memory, Planted::Nothing);
        assert_eq!(same, Some(Ok(())), "{memory}");
    }
}
