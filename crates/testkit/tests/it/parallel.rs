//! The parts into which a search is cut: together they contain each trace, no trace is in two of
//! them, and the results do not depend on the number of workers that explore them.

use std::ops::ControlFlow;
use std::sync::Mutex;

use crate::common::{panic_with_smallest, programs, truth};
use mazurka_core::{Counts, Kinds, Limits};
use mazurka_explore::{Findings, Goal, Parts, Search, Stateless, Within, Workers};
use mazurka_lang::Machine;
use mazurka_testkit::{Aspect, Config, Limit, Recording, Summary, generate, machine};

const CUT: &[Stateless] = &[
    Stateless::Naive,
    Stateless::Sleep,
    Stateless::Dpor,
    Stateless::Source,
    Stateless::Optimal,
];

/// Makes a machine for each worker.
fn copies(program: &Machine) -> impl Fn() -> Machine + Sync {
    let program = Mutex::new(program.clone());
    move || program.lock().expect("a machine").clone()
}

/// Combines the results of the parts of a program; an error if a trace is in two of them.
fn in_parts(program: &Machine, algorithm: Stateless, parts: usize) -> Result<Summary, String> {
    let search = Search {
        algorithm,
        limits: Limits::default(),
        goal: Goal::Everything,
    };
    combine(program, Parts::at_least(parts, program.clone(), search))
}

/// Combines the results of the parts that many machines explore; an error if a trace is in two of
/// them. These parts are the leaves of a tree: a part that takes more steps than the budget is cut
/// into further parts.
fn in_a_tree(program: &Machine, algorithm: Stateless, pieces: usize) -> Result<Summary, String> {
    let search = Search {
        algorithm,
        limits: Limits::default(),
        goal: Goal::Everything,
    };
    let mut leaves = Parts::none(search.clone());
    let mut open = vec![Parts::whole(search)];
    while let Some(part) = open.pop() {
        let watch = &mut |_: &_| ControlFlow::Continue(());
        let budget = 5 * pieces as u64;
        let explored = part
            .clone()
            .explore_within(&mut program.clone(), budget, watch);
        let cut = match explored {
            Within::TooLarge(spent) => part.split(&mut program.clone(), pieces, spent),
            _ => None,
        };
        let Some(cut) = cut else {
            leaves.left.extend(part.left);
            continue;
        };
        // The first child is explored next.
        for child in cut.left.into_iter().rev() {
            open.push(Parts {
                left: vec![child],
                ..Parts::none(cut.search.clone())
            });
        }
    }
    combine(program, leaves)
}

fn combine(program: &Machine, mut parts: Parts) -> Result<Summary, String> {
    let algorithm = parts.search.algorithm;
    let workers = Workers {
        count: 2,
        programs: &copies(program),
    };
    let watch = &mut |_: &_| ControlFlow::Continue(());
    let (found, recordings) = parts.run_observed(&workers, watch, &Recording::default);
    let mut all = Summary::default();
    for recording in recordings {
        let part = recording.finish();
        let twice = part.traces.intersection(&all.traces).count();
        if algorithm != Stateless::Naive && twice > 0 {
            return Err(format!("{twice} traces are in two parts"));
        }
        all.executions += part.executions;
        all.discarded += part.discarded;
        all.traces.extend(part.traces);
        all.deadlocks.extend(part.deadlocks);
        all.failures.extend(part.failures);
        all.final_states.extend(part.final_states);
    }
    let Counts {
        executions,
        traces,
        deadlocks,
        final_states,
        ..
    } = found.counts;
    let counted = (executions, traces, deadlocks, final_states);
    let seen = (
        all.executions,
        Some(all.traces.len() as u64),
        all.deadlocks.len() as u64,
        all.final_states.len() as u64,
    );
    if counted == seen {
        Ok(all)
    } else {
        Err(format!("counted {counted:?}, seen {seen:?}"))
    }
}

fn fault(text: &str, algorithm: Stateless, parts: usize, truth: &Summary) -> Option<String> {
    let program = machine(text).ok()?;
    for explore in [in_parts, in_a_tree] {
        let found = std::panic::AssertUnwindSafe(|| explore(&program, algorithm, parts));
        let found = match std::panic::catch_unwind(found) {
            Ok(Ok(found)) => found,
            Ok(Err(wrong)) => return Some(wrong),
            Err(_) => return Some("panics".to_owned()),
        };
        let fault = difference(&found, algorithm, truth);
        if fault.is_some() {
            return fault;
        }
    }
    None
}

fn difference(found: &Summary, algorithm: Stateless, truth: &Summary) -> Option<String> {
    if let Some(difference) = found.difference(truth, Aspect::ALL) {
        return Some(difference);
    }
    let (executions, traces) = (found.executions, found.traces.len() as u64);
    let expected = match algorithm {
        Stateless::Naive => truth.executions,
        _ => traces,
    };
    (executions != expected).then(|| format!("{executions} executions of {traces} traces"))
}

fn agree(first: u64, programs: u64, config: &Config) {
    for seed in first..first + programs {
        let program = generate(seed, config);
        let text = program.to_string();
        let Some(truth_here) = truth(&text, Limit::default()) else {
            continue;
        };
        for &algorithm in CUT {
            // With few parts most steps are made within parts. With many parts most steps are made
            // in the tree above them.
            let parts = [2, 3, 5, 9, 17, 40][seed as usize % 6];
            if fault(&text, algorithm, parts, &truth_here).is_none() {
                continue;
            }
            panic_with_smallest(&format!("{algorithm}, seed {seed}"), &program, |text| {
                fault(text, algorithm, parts, &truth(text, Limit::default())?)
            });
        }
    }
}

#[test]
fn the_parts_are_the_whole() {
    agree(400_000, programs(200), &Config::default());
}

#[test]
fn the_parts_are_the_whole_where_nothing_waits_for_a_condition() {
    let config = Config::default().without_conditions();
    agree(500_000, programs(150), &config);
}

/// Run with `cargo test --release -p mazurka-testkit --test it parallel:: -- --ignored`;
/// `MAZURKA_PROGRAMS=n` for more.
#[test]
#[ignore = "takes minutes"]
fn the_parts_are_the_whole_for_long() {
    agree(4_000_000, programs(20_000), &Config::default());
}

/// Returns the results that must not depend on the number of workers.
fn result(found: &Findings) -> String {
    format!(
        "{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}",
        found.counts, found.bounds, found.stopped, found.failures, found.deadlock, found.finals
    )
}

fn with_workers(program: &Machine, algorithm: Stateless, goal: Goal, workers: usize) -> Findings {
    let search = Search {
        algorithm,
        limits: Limits::default(),
        goal,
    };
    let mut parts = Parts::at_least(6, program.clone(), search);
    let workers = Workers {
        count: workers,
        programs: &copies(program),
    };
    let found = parts.run(&workers, &mut |_| ControlFlow::Continue(()));
    // The numbers of processes depend on the order in which a worker has discovered them.
    let mut found = found;
    for failure in &mut found.failures {
        failure.mishap = failure.mishap.map(|mishap| mazurka_core::Mishap {
            process: None,
            ..mishap
        });
    }
    found
}

#[test]
fn the_number_of_workers_does_not_matter() {
    let goals = [
        Goal::Everything,
        Goal::Violation(Kinds::FAULTS),
        Goal::Violation(Kinds::ALL),
    ];
    for seed in 600_000..600_000 + programs(60) {
        let text = generate(seed, &Config::default()).to_string();
        let Ok(program) = machine(&text) else {
            continue;
        };
        for &algorithm in CUT {
            for goal in goals {
                let one = with_workers(&program, algorithm, goal, 1);
                for workers in [2, 3, 4] {
                    let more = with_workers(&program, algorithm, goal, workers);
                    let context = format!("{algorithm}, {workers} workers, seed {seed}\n{text}");
                    assert_eq!(result(&one), result(&more), "{context}");
                }
            }
        }
    }
}

/// Returns the counts that do not depend on the engine, and the schedules shown.
fn meaning(found: &Findings) -> String {
    let counts = &found.counts;
    let site = |finding: &mazurka_explore::Finding| finding.mishap.map(|mishap| mishap.site);
    let failures: Vec<_> = found
        .failures
        .iter()
        .map(|finding| format!("{:?} {}", site(finding), finding.schedule))
        .collect();
    let deadlock = found
        .deadlock
        .as_ref()
        .map(|found| found.schedule.to_string());
    format!(
        "{} executions {:?} traces {} discarded {} deadlocks {} failures {} final states\n{failures:?}\n{deadlock:?}",
        counts.executions,
        counts.traces,
        counts.discarded,
        counts.deadlocks,
        counts.failures,
        counts.final_states,
    )
}

fn same_schedules(text: &str, name: &str) {
    let (Ok(program), Some(_)) = (machine(text), truth(text, Limit::default())) else {
        return;
    };
    let plain = |algorithm| {
        let limits = Limits::default();
        let watch = &mut |_: &_| ControlFlow::Continue(());
        let goal = Goal::Everything;
        let search = Search {
            algorithm,
            limits,
            goal,
        };
        search.run(&mut program.clone(), watch, &mut ())
    };
    let first = meaning(&plain(Stateless::Sleep));
    for &algorithm in CUT {
        let whole = plain(algorithm);
        let parts = with_workers(&program, algorithm, Goal::Everything, 2);
        let context = format!("{algorithm}, {name}\n{text}");
        if algorithm == Stateless::Naive {
            assert_eq!(meaning(&whole), meaning(&parts), "{context}");
        } else {
            // Brute force (`naive`) counts equivalent discarded runs separately. The other engines
            // agree on the number of discarded runs, too.
            assert_eq!(first, meaning(&whole), "{context}");
            assert_eq!(first, meaning(&parts), "{context}");
        }
    }
}

#[test]
fn parts_and_engines_find_the_same_with_the_same_schedules() {
    let found = include_str!("../../../../corpus/maz/found-two-failures-in-one-step/program.maz");
    same_schedules(found, "found before");
    for seed in 700_000..700_000 + programs(150) {
        let text = generate(seed, &Config::default()).to_string();
        same_schedules(&text, &format!("seed {seed}"));
    }
}
