//! Sends and receives claim different ends of a channel, so a send and a receive may be
//! independent. The tests check that independent steps commute, and count traces by a method that
//! does not use claims.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use crate::common::programs;
use mazurka_core::{
    Event, Execution, Fingerprint, Limits, ProcessId, Semantics, Status, dependent,
};
use mazurka_explore::{Algorithm, Findings, Goal, Search, Stateless, Workers};
use mazurka_lang::Machine;
use mazurka_testkit::swarm::messages;
use mazurka_testkit::{Limit, Rng, Visit, every_run, machine};

const ENGINES: [Algorithm; 5] = [
    Algorithm::Naive,
    Algorithm::Sleep,
    Algorithm::Dpor,
    Algorithm::Source,
    Algorithm::Optimal,
];

fn searched(text: &str, algorithm: Algorithm) -> Findings {
    let search = Search {
        algorithm,
        limits: Limits::default(),
        goal: Goal::Everything,
    };
    let keep_going = &mut |_: &_| ControlFlow::Continue(());
    search.run(&mut machine(text).expect("a program"), keep_going, &mut ())
}

fn repeat(program: &mut Machine, event: &Event) -> Option<Event> {
    let outcomes: Vec<i64> = event.outcomes.iter().map(|outcome| outcome.value).collect();
    program.step(event.process, &outcomes).ok().cloned()
}

/// Removes the touched cells from an event: when messages move up, they occupy other cells.
fn moved(event: &Event) -> Event {
    Event {
        touched: Vec::new(),
        ..event.clone()
    }
}

/// Swapping adjacent independent steps gives the same events and the same state. And for every step
/// that waited for a message, an earlier dependent event has enabled it.
#[test]
fn independent_neighbours_commute() {
    let limit = Limit {
        executions: 2_000,
        ..Limit::default()
    };
    let mut crossed = 0;
    for seed in 0..programs(150) {
        let text = messages(seed);
        let mut program = machine(&text).expect("a program");
        program.separate_ends(true);
        let _ = every_run(&mut program, limit, &mut |program, visit| {
            let run = program.events();
            if visit != Visit::Enter || run.len() < 2 {
                return;
            }
            let depth = run.len();
            let (one, other) = (run[depth - 2].clone(), run[depth - 1].clone());
            for enabling in &other.enabled_by {
                let earlier_events = run[..depth - 1].iter().rev();
                let mut own = earlier_events.filter(|event| event.process == enabling.process);
                let found = own.nth(enabling.back as usize - 1);
                assert!(found.is_some_and(|event| enabling.is(event)), "{text}");
            }
            if dependent(&one, &other) {
                return;
            }
            let state = program.fingerprint();
            let touched = |event: &Event| event.touched.iter().any(|a| a.writes());
            crossed += u64::from(touched(&one) && touched(&other));
            program.back_to(depth - 2);
            let swapped = repeat(program, &other).and_then(|first| {
                let second = repeat(program, &one)?;
                Some((moved(&first), moved(&second)))
            });
            let wanted = Some((moved(&other), moved(&one)));
            assert_eq!(swapped, wanted, "events differ:\n{text}");
            assert_eq!(program.fingerprint(), state, "states differ:\n{text}");
            program.back_to(depth - 2);
            assert_eq!(repeat(program, &one), Some(one), "not restored:\n{text}");
            assert_eq!(
                repeat(program, &other),
                Some(other),
                "not restored:\n{text}"
            );
        });
    }
    assert!(crossed > 100, "{crossed}");
}

/// Returns a program whose processes only send different values and receive them into locals.
fn plain(seed: u64) -> String {
    let mut rng = Rng::new(seed);
    let mut text = String::new();
    for channel in ["a", "b"] {
        text += &format!("chan {channel}[{}]: int\n", 1 + rng.below(2));
    }
    let mut value = 0;
    for _ in 0..2 + rng.below(2) {
        let mut body = vec!["let l0 = 0; let l1 = 0; let l2 = 0".to_owned()];
        for at in 0..1 + rng.below(3) {
            let channel = if rng.percent(60) { "a" } else { "b" };
            value += 1;
            body.push(if rng.percent(50) {
                format!("{channel} ! {value}")
            } else {
                format!("{channel} ? l{at}")
            });
        }
        // The received values are part of the state.
        text += &format!(
            "process {{ {}; await l0 + l1 + l2 >= 0 }}\n",
            body.join("; ")
        );
    }
    text
}

/// Enumerates the complete schedules of a program and returns the number of their classes. Two are
/// in the same class if swapping two adjacent steps of different processes turns one into the
/// other, and the state after the two steps is the same.
fn classes(program: &mut Machine) -> usize {
    let mut all: BTreeMap<Vec<ProcessId>, usize> = BTreeMap::new();
    let mut open = vec![Vec::new()];
    while let Some(schedule) = open.pop() {
        follow(program, &schedule).expect("it was possible");
        let processes = program.processes().in_order().to_vec();
        let ready = |p: &ProcessId| program.status(*p) == Status::Ready;
        let next: Vec<ProcessId> = processes.into_iter().filter(ready).collect();
        if next.is_empty() {
            all.insert(schedule, all.len());
            continue;
        }
        open.extend(next.into_iter().map(|p| [&schedule[..], &[p]].concat()));
    }
    let schedules: Vec<Vec<ProcessId>> = all.keys().cloned().collect();
    let mut class: Vec<usize> = (0..schedules.len()).collect();
    fn root(class: &mut [usize], mut at: usize) -> usize {
        while class[at] != at {
            class[at] = class[class[at]];
            at = class[at];
        }
        at
    }
    for schedule in &schedules {
        for at in 1..schedule.len() {
            let mut other = schedule.clone();
            other.swap(at - 1, at);
            let (Some(&one), Some(&two)) = (all.get(schedule), all.get(&other)) else {
                continue;
            };
            let state =
                |program: &mut Machine, schedule: &[ProcessId]| follow(program, &schedule[..=at]);
            if state(program, schedule) == state(program, &other) {
                let (one, two) = (root(&mut class, one), root(&mut class, two));
                class[one] = two;
            }
        }
    }
    let roots: BTreeSet<usize> = (0..class.len()).map(|at| root(&mut class, at)).collect();
    roots.len()
}

fn follow(program: &mut Machine, schedule: &[ProcessId]) -> Option<Fingerprint> {
    program.back_to(0);
    for &process in schedule {
        program.step(process, &[]).ok()?;
    }
    Some(program.fingerprint())
}

/// All sent values differ, so two sends, or two receives, never commute by chance. Schedules with
/// the same states are one trace.
#[test]
fn traces_are_the_classes_of_schedules() {
    let (mut several, mut deadlocks) = (0, 0);
    for seed in 0..programs(150) {
        let text = plain(seed);
        let wanted = classes(&mut machine(&text).expect("a program"));
        for algorithm in ENGINES {
            let found = searched(&text, algorithm);
            let traces = found.counts.traces.unwrap_or(found.counts.executions);
            assert_eq!(traces, wanted as u64, "seed {seed}, {algorithm}:\n{text}");
            deadlocks += u64::from(found.counts.deadlocks > 0);
        }
        several += u64::from(wanted > 1);
    }
    assert!(several > 10 && deadlocks > 10, "{several} {deadlocks}");
}

#[test]
fn workers_find_the_same() {
    for seed in 0..programs(60) {
        let text = messages(seed);
        for algorithm in [Stateless::Optimal, Stateless::Source, Stateless::Naive] {
            let search = Search {
                algorithm,
                limits: Limits::default(),
                goal: Goal::Everything,
            };
            let workers = Workers {
                count: 2,
                programs: &|| machine(&text).expect("a program"),
            };
            let shared = search.share(&workers, &mut |_| ControlFlow::Continue(()));
            let alone = searched(&text, Algorithm::Optimal);
            let figures = |found: &Findings| {
                let counts = found.counts;
                let traces = counts.traces.unwrap_or(counts.executions);
                (
                    traces,
                    counts.deadlocks,
                    counts.failures,
                    counts.final_states,
                )
            };
            assert_eq!(
                figures(&shared),
                figures(&alone),
                "seed {seed}, {algorithm:?}:\n{text}"
            );
        }
    }
}

fn executions(text: &str, algorithm: Algorithm) -> u64 {
    searched(text, algorithm).counts.executions
}

/// One sender and one receiver have one trace, for any capacity.
#[test]
fn a_stream_is_one_trace() {
    for capacity in 1..4 {
        let text = format!(
            "chan c[{capacity}]: int process {{ for i in 0..5 {{ c ! i }} }}
             process {{ let l = 0; for i in 0..5 {{ c ? l; assert l == i }} }}"
        );
        for algorithm in [Algorithm::Source, Algorithm::Optimal, Algorithm::Sleep] {
            assert_eq!(executions(&text, algorithm), 1, "{algorithm}: {text}");
        }
    }
    // Two senders: the order of their messages. Two receivers: which one gets the first message.
    let text = "chan c[2]: int process { c ! 1 } process { c ! 2 }
                process { let l = 0; c ? l; c ? l }";
    assert_eq!(executions(text, Algorithm::Optimal), 2);
    let text = "chan c[2]: int process { c ! 1; c ! 2 } process { let l = 0; c ? l }
                process { let k = 0; c ? k }";
    assert_eq!(executions(text, Algorithm::Optimal), 2);
}

/// An operation that claims both ends (`len`) depends on sends and on receives.
#[test]
fn operations_on_both_ends_are_dependent() {
    let with = |third: &str| {
        format!(
            "chan c[2]: int var x: int = 0 process {{ c ! 1; c ! 2 }}
             process {{ let l = 0; c ? l }} process {{ {third} }}"
        )
    };
    assert_eq!(executions(&with("skip"), Algorithm::Optimal), 1);
    // The step of the third process comes before the three other steps, after the first send, after
    // all three, or between the second send and the receive, in either order.
    assert_eq!(executions(&with("x := len(c)"), Algorithm::Optimal), 5);
    let text = with("skip").replace("var x", "invariant len(c) < 3 var x");
    assert_eq!(executions(&text, Algorithm::Optimal), 2);
}

/// Two processes send before they receive. Each sends one message more than its channel has room
/// for.
#[test]
fn deadlocks_are_found() {
    let text = "chan a[1]: int chan b[1]: int
        process { a ! 1; a ! 2; let x = 0; b ? x } process { b ! 1; b ! 2; let y = 0; a ? y }";
    for algorithm in ENGINES {
        let found = searched(text, algorithm);
        assert_eq!(found.counts.deadlocks, 1, "{algorithm}");
        assert_eq!(found.counts.final_states, 0, "{algorithm}");
    }
    // Which process receives first decides whether the other waits for ever.
    let text = "chan a[2]: int process { a ! 1 } process { let l = 0; a ? l; a ! 2 }
        process { let k = 0; a ? k }";
    for algorithm in ENGINES {
        let counts = searched(text, algorithm).counts;
        assert_eq!(
            (counts.deadlocks, counts.final_states),
            (1, 1),
            "{algorithm}"
        );
    }
}
