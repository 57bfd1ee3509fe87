//! Workers that build the parts of a net: the parts together are the net that one worker builds in
//! one piece, and the result does not depend on the number of workers.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use crate::common::{panic_with_smallest, programs};
use mazurka_core::Limits;
use mazurka_explore::{Finding, Findings, Goal, NetKind, Search, Unfold, Unfolded, Workers};
use mazurka_lang::Machine;
use mazurka_testkit::swarm::{messages, models, swarm, synchronised};
use mazurka_testkit::{Config, generate, machine};

/// A program whose net takes more steps than this is not compared.
const MOST_STEPS: u64 = 5_000;
/// Executions are counted if the net has at most this number of configurations.
const MOST_CONFIGURATIONS: usize = 3_000;

fn unfold(kind: NetKind, steps: Option<u64>) -> Search<Unfold> {
    Search {
        algorithm: Unfold { kind, seed: 1 },
        limits: Limits {
            steps,
            ..Limits::default()
        },
        goal: Goal::Everything,
    }
}

/// Builds the net in parts, after a first attempt of this number of steps.
fn in_parts(program: &Machine, kind: NetKind, first: u64, workers: usize) -> Unfolded {
    let program = Mutex::new(program.clone());
    let copies = || program.lock().expect("a machine").clone();
    let workers = Workers {
        count: workers,
        programs: &copies,
    };
    let mut unfolded =
        unfold(kind, None).share_after(first, &workers, &mut |_| ControlFlow::Continue(()));
    unfolded.found.elapsed = Duration::ZERO;
    unfolded
}

/// The failures of steps. Only the final states of tests are known, and tests differ.
fn failures(found: &Findings) -> Vec<&Finding> {
    let of_step = |finding: &&Finding| finding.mishap.is_some_and(|m| m.process.is_some());
    found.failures.iter().filter(of_step).collect()
}

/// Whether a net was divided, or what is wrong with its parts; `None` if it is too large.
fn divided(text: &str) -> Result<Option<bool>, String> {
    let Ok(program) = machine(text) else {
        return Ok(None);
    };
    let mut divided = false;
    for &kind in NetKind::ALL {
        let watch = &mut |_: &_| ControlFlow::Continue(());
        let mut whole = unfold(kind, Some(MOST_STEPS)).run(&mut program.clone(), watch, &mut ());
        if !whole.found.bounds.is_empty() {
            return Ok(None);
        }
        let steps = whole.found.counts.steps;
        let counted = kind != NetKind::Stateful;
        let executions = counted.then(|| whole.executions(MOST_CONFIGURATIONS));
        let executions = executions.flatten().map(|all| all.len());
        for first in [steps / 3, steps / 2, steps - 1.min(steps)] {
            let parts = in_parts(&program, kind, first, 1);
            for workers in [2, 3] {
                let again = in_parts(&program, kind, first, workers);
                let results = [&parts, &again].map(|u| format!("{:?} {}", u.found, u.conditions));
                if results[0] != results[1] {
                    return Err(format!(
                        "{kind}, {first} steps, {workers} workers: {results:#?}"
                    ));
                }
            }
            divided |= parts.net.is_none();
            if let Some(fault) = fault(&whole.found, whole.conditions(), &parts) {
                return Err(format!("{kind}, {first} steps: {fault}"));
            }
            let found = &parts.found.counts;
            let tests = found.executions + found.discarded;
            if executions.is_some_and(|most| tests > most as u64) {
                return Err(format!(
                    "{kind}: {tests} tests for {executions:?} executions"
                ));
            }
        }
    }
    Ok(Some(divided))
}

/// Returns how the parts of a net differ from the net that was built in one piece.
fn fault(whole: &Findings, conditions: u64, parts: &Unfolded) -> Option<String> {
    let numbers = |found: &Findings, conditions: u64| {
        let counts = found.counts;
        (counts.events, conditions, counts.deadlocks, found.stopped)
    };
    let found = &parts.found;
    let (expected, got) = (numbers(whole, conditions), numbers(found, parts.conditions));
    if expected != got {
        return Some(format!(
            "(events, conditions, deadlocks, end) {got:?} instead of {expected:?}"
        ));
    }
    if found.seen.failed != whole.seen.failed || failures(found) != failures(whole) {
        return Some(format!(
            "failures {:?}, not {:?}",
            found.failures, whole.failures
        ));
    }
    (found.deadlock != whole.deadlock)
        .then(|| format!("deadlock {:?}, not {:?}", found.deadlock, whole.deadlock))
}

/// Compares programs of a generator, and requires that some of their nets are divided.
fn compare(first: u64, count: u64, name: &str, text: impl Fn(u64) -> String) {
    let mut divided_nets = 0;
    for seed in first..first + count {
        match divided(&text(seed)) {
            Ok(divided) => divided_nets += u64::from(divided == Some(true)),
            Err(fault) => panic!("{name}, seed {seed}: {fault}\n{}", text(seed)),
        }
    }
    println!("{name}: {divided_nets} of {count} nets divided");
    assert!(
        divided_nets * 10 >= count,
        "{name}: {divided_nets} of {count}"
    );
}

#[test]
fn parts_of_random_programs_are_the_net() {
    let config = Config::default();
    let mut divided_nets = 0;
    let count = programs(60);
    for seed in 4_100_000..4_100_000 + count {
        let program = generate(seed, &config);
        match divided(&program.to_string()) {
            Ok(divided) => divided_nets += u64::from(divided == Some(true)),
            Err(_) => panic_with_smallest(&format!("seed {seed}"), &program, |text| {
                divided(text).err()
            }),
        }
    }
    println!("tree: {divided_nets} of {count} nets divided");
    assert!(divided_nets * 10 >= count, "{divided_nets} of {count}");
}

#[test]
fn parts_of_programs_of_the_swarm_are_the_net() {
    compare(4_200_000, programs(30), "swarm", swarm);
    compare(4_300_000, programs(30), "synchronised", synchronised);
    compare(4_400_000, programs(30), "models", models);
    compare(4_500_000, programs(30), "messages", messages);
}

#[test]
#[ignore = "takes minutes"]
fn parts_of_the_corpus_are_the_net() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/maz");
    let mut divided_nets = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the corpus") {
        let folder = entry.expect("a folder").path();
        let name = folder
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let Ok(text) = std::fs::read_to_string(folder.join("program.maz")) else {
            continue;
        };
        match divided(&text) {
            Ok(Some(true)) => divided_nets.push(name),
            Ok(_) => {}
            Err(fault) => panic!("{name}: {fault}"),
        }
    }
    assert!(divided_nets.len() > 20, "{divided_nets:?}");
}
