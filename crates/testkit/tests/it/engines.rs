//! Every engine finds what brute force finds, and each trace once.

use std::ops::ControlFlow;

use crate::common::{panic_with_smallest, programs, truth};
use mazurka_core::{Limits, Promises};
use mazurka_explore::{Algorithm, Goal, Search};
use mazurka_lang::Machine;
use mazurka_testkit::{Aspect, Config, Limit, Recording, Summary, generate, machine};

/// Returns the engines that distinguish traces, except brute force. `MAZURKA_ALGORITHM` selects
/// one.
fn engines() -> Vec<Algorithm> {
    let selected = std::env::var("MAZURKA_ALGORITHM").ok();
    let wanted = |algorithm: &Algorithm| match &selected {
        Some(name) => algorithm.name() == name,
        None => ["sleep", "dpor", "source", "optimal"].contains(&algorithm.name()),
    };
    let all = Algorithm::ALL.iter().chain([&Algorithm::DporAwake]);
    let all: Vec<_> = all.copied().filter(wanted).collect();
    assert!(!all.is_empty(), "no such engine: {selected:?}");
    all
}

fn run(program: &mut Machine, algorithm: Algorithm) -> Summary {
    let mut recording = Recording::default();
    let search = Search {
        algorithm,
        limits: Limits::default(),
        goal: Goal::Everything,
    };
    let found = search.run(program, &mut |_| ControlFlow::Continue(()), &mut recording);
    let mut summary = recording.finish();
    summary.blocked = found.counts.blocked;
    let counted = (
        found.counts.executions,
        found.counts.traces,
        found.counts.deadlocks,
        found.counts.final_states,
    );
    let seen = (
        summary.executions,
        Some(summary.traces.len() as u64),
        summary.deadlocks.len() as u64,
        summary.final_states.len() as u64,
    );
    // The counts may differ from the sets only for an engine that runs a trace more than once.
    // (Failures are left out, because a step that fails in two ways counts once for the driver and
    // twice in the sets.)
    if summary.executions == summary.traces.len() as u64 {
        assert_eq!(counted, seen, "{algorithm} miscounts");
    }
    summary
}

/// Whether a blocked run is an error. It is an error of `optimal` in programs without guards and
/// choices, because wakeup trees foresee all other reasons to wait.
fn never_blocks(program: &Machine, text: &str, algorithm: Algorithm) -> bool {
    algorithm == Algorithm::Optimal && program.guards().is_empty() && !text.contains("choose")
}

/// Returns what an engine gets wrong.
fn fault(text: &str, algorithm: Algorithm, truth: &Summary) -> Option<String> {
    let mut program = machine(text).ok()?;
    let found = std::panic::AssertUnwindSafe(|| run(&mut program, algorithm));
    let Ok(found) = std::panic::catch_unwind(found) else {
        return Some("panics".to_owned());
    };
    if let Some(difference) = found.difference(truth, Aspect::ALL) {
        return Some(difference);
    }
    let (executions, traces) = (found.executions, found.traces.len());
    if executions != traces as u64 && algorithm != Algorithm::DporAwake {
        return Some(format!("{executions} executions of {traces} traces"));
    }
    (never_blocks(&program, text, algorithm) && found.blocked > 0)
        .then(|| format!("{} blocked runs", found.blocked))
}

/// The results of one engine on random programs.
#[derive(Default)]
struct EngineTally {
    compared: u64,
    traces: u64,
    seconds: f64,
}

/// Compares engines with brute force on random programs; programs with a difference are shrunk.
fn agree(engines: &[Algorithm], first: u64, programs: u64, config: &Config) {
    let mut tallies: Vec<EngineTally> = engines.iter().map(|_| EngineTally::default()).collect();
    for seed in first..first + programs {
        let program = generate(seed, config);
        let text = program.to_string();
        let Some(truth_here) = truth(&text, Limit::default()) else {
            continue;
        };
        for (tally, &algorithm) in tallies.iter_mut().zip(engines) {
            let start = std::time::Instant::now();
            if fault(&text, algorithm, &truth_here).is_some() {
                panic_with_smallest(&format!("{algorithm}, seed {seed}"), &program, |text| {
                    fault(text, algorithm, &truth(text, Limit::default())?)
                });
            }
            tally.seconds += start.elapsed().as_secs_f64();
            tally.compared += 1;
            tally.traces += truth_here.traces.len() as u64;
        }
    }
    for (tally, algorithm) in tallies.iter().zip(engines) {
        let EngineTally {
            compared,
            traces,
            seconds,
        } = tally;
        println!("{algorithm}: {compared} of {programs} programs, {traces} traces, {seconds:.1} s");
        assert!(
            compared * 10 > programs * 8,
            "too few programs were compared"
        );
    }
}

#[test]
fn all_agree_with_brute_force() {
    agree(&engines(), 200_000, programs(600), &Config::default());
}

#[test]
fn all_agree_where_nothing_waits_for_a_condition() {
    let config = Config::default().without_conditions();
    agree(&engines(), 300_000, programs(400), &config);
}

/// Run with `cargo test --release -p mazurka-testkit --test it engines:: -- --ignored --nocapture`;
/// `MAZURKA_PROGRAMS=n` for more, `MAZURKA_ALGORITHM=name` for one engine.
#[test]
#[ignore = "takes minutes"]
fn all_agree_for_long() {
    agree(&engines(), 2_000_000, programs(20_000), &Config::default());
}

/// Without guards and choices, more of the programs are about locks, and `optimal` must never
/// block.
#[test]
#[ignore = "takes minutes"]
fn all_agree_for_long_where_nothing_waits_for_a_condition() {
    let config = Config::default().without_conditions();
    agree(&engines(), 3_000_000, programs(20_000), &config);
}
