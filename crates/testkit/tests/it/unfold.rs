//! A net represents exactly the traces of its program, in whatever order it was built.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use crate::common::{panic_with_smallest, programs, truth};
use mazurka_core::{Execution, Limits, MishapKind, Schedule, Status};
use mazurka_explore::{
    Findings, Goal, NetKind, Search, Unfold, UnfoldFrom, Unfolding, WalkStates, Walked,
};
use mazurka_lang::Machine;
use mazurka_testkit::{Aspect, Config, Dependence, Limit, Recorder, Summary, generate, machine};

const NETS: [NetKind; 2] = [NetKind::Replicated, NetKind::Contextual];

fn net_of(program: &mut Machine, kind: NetKind, seed: u64) -> Unfolding {
    let unfold = Search {
        algorithm: Unfold { kind, seed },
        limits: Limits::default(),
        goal: Goal::Everything,
    };
    unfold.run(program, &mut |_| ControlFlow::Continue(()), &mut ())
}

/// Runs the executions that a net represents, and returns their results.
fn represented(program: &mut Machine, net: &mut Unfolding) -> Summary {
    let executions = net.executions(2_000_000);
    program.back_to(0);
    let mut recorder = Recorder::new(program, Dependence::Claimed);
    for schedule in executions.expect("a small net") {
        program.back_to(0);
        for step in &schedule.0 {
            let process = program.processes().find(&step.process).expect("a process");
            program
                .step(process, &step.outcomes)
                .expect("a possible step");
            recorder.push(program);
        }
        // Executions of a stateful net need not be complete: the net ends at states that it already
        // has.
        if mazurka_core::with_status(program, Status::Ready).is_empty() {
            recorder.complete(program);
        }
        for _ in &schedule.0 {
            recorder.pop();
        }
    }
    recorder.finish()
}

/// Returns what brute force finds in a program, if its nets are small enough.
pub fn small_truth(text: &str) -> Option<Summary> {
    let limit = Limit {
        executions: 5_000,
        ..Limit::default()
    };
    truth(text, limit)
}

/// Returns what is wrong with the nets of a program.
pub fn fault(text: &str, truth: &Summary) -> Option<String> {
    let mut sizes = Vec::new();
    for kind in NETS {
        let mut program = machine(text).ok()?;
        let mut net = net_of(&mut program, kind, 1);
        let found = net.found.counts;
        let tests = found.executions + found.discarded;
        let failures = net.found.seen.failed.len();
        let seen = represented(&mut program, &mut net);
        if let Some(difference) = seen.difference(truth, Aspect::ALL) {
            return Some(format!("{kind}: {difference}"));
        }
        if seen.executions != seen.traces.len() as u64 {
            return Some(format!(
                "{kind}: {} for {}",
                seen.executions,
                seen.traces.len()
            ));
        }
        let deadlocks = net.found.counts.deadlocks;
        if deadlocks != truth.deadlocks.len() as u64 {
            return Some(format!(
                "{kind}: {deadlocks} deadlocks instead of {}",
                truth.deadlocks.len()
            ));
        }
        if tests > seen.executions + seen.discarded {
            return Some(format!("{kind}: {tests} tests for {}", seen.executions));
        }
        // No execution of the net shows a failure that the net's tests did not find. (A false
        // `ensures` depends on the final state.)
        program.back_to(0);
        if kind == NetKind::Replicated && program.initial_mishaps().is_empty() {
            let failing = truth
                .failures
                .iter()
                .filter(|f| !truth.traces.contains(&f.0));
            let failing = failing.map(|f| f.0).collect::<BTreeSet<_>>().len();
            if failing != failures {
                return Some(format!("{kind}: {failures} failures instead of {failing}"));
            }
        }
        sizes.push(net.events());
        let drawing = net.draw();
        let drawn = (drawing.events.len(), drawing.conditions.len() as u64);
        if drawn != (net.events(), net.conditions()) {
            return Some(format!(
                "{kind}: {drawn:?} drawn of {} conditions",
                net.conditions()
            ));
        }
        let mut other = machine(text).ok()?;
        let again = net_of(&mut other, kind, 2);
        if again.fingerprint() != net.fingerprint() {
            return Some(format!("{kind}: the net depends on the order of the tests"));
        }
        if let Some(fault) = recorded_fault(&mut other, &mut net, kind) {
            return Some(format!("{kind}: {fault}"));
        }
    }
    if let Some(fault) = stateful_fault(text, truth, sizes[0]) {
        return Some(format!("stateful: {fault}"));
    }
    (sizes[1] > sizes[0])
        .then(|| format!("{} events replicated, {} contextual", sizes[0], sizes[1]))
}

/// Returns what is wrong with a net that starts from recorded tests: some of the program's
/// executions, all of them, and a schedule of another program.
fn recorded_fault(program: &mut Machine, net: &mut Unfolding, kind: NetKind) -> Option<String> {
    let all = net.executions(2_000_000)?;
    let stranger: Schedule = "0 7 0=3".parse().expect("a schedule");
    let some: Vec<Schedule> = all.iter().step_by(3).cloned().chain([stranger]).collect();
    for tests in [&some, &all] {
        let unfold = Search {
            algorithm: UnfoldFrom {
                unfold: Unfold { kind, seed: 5 },
                tests,
            },
            limits: Limits::default(),
            goal: Goal::Everything,
        };
        let again = unfold.run(program, &mut |_| ControlFlow::Continue(()), &mut ());
        if again.fingerprint() != net.fingerprint() {
            return Some(format!("{} recorded tests, another net", tests.len()));
        }
    }
    None
}

/// Returns what is wrong with the stateful net of a program: it must show the same final states,
/// sites of failures and existence of a deadlock, with fewer events.
fn stateful_fault(text: &str, truth: &Summary, replicated: usize) -> Option<String> {
    let mut program = machine(text).ok()?;
    let mut net = net_of(&mut program, NetKind::Stateful, 1);
    let seen = represented(&mut program, &mut net);
    if let Some(difference) = seen.difference(truth, &[Aspect::FinalStates]) {
        return Some(difference);
    }
    if let Some(fault) = findings_fault(&mut program, &net.found, truth) {
        return Some(fault);
    }
    // The naive search visits the states of the same model, one by one.
    let walked = walked(&mut program, false);
    // Sleep sets save steps, and change nothing else.
    let slept = self::walked(&mut program, true);
    for walked in [&walked, &slept] {
        if let Some(fault) = findings_fault(&mut program, &walked.found, truth) {
            return Some(format!("naive: {fault}"));
        }
    }
    if let Some(fault) = sleep_fault(&walked, &slept) {
        return Some(fault);
    }
    let [by_net, by_states] = [&net.found, &walked.found].map(|found| found.counts.deadlocks);
    if by_net != by_states || net.model() != Some(walked.model) {
        return Some(format!(
            "{by_net} deadlocks and a model of {:?}; naive: {by_states} and {:?}",
            net.model(),
            walked.model
        ));
    }
    (net.events() > replicated).then(|| format!("{} events", net.events()))
}

/// Visits the states of a program's model, one after the other.
pub fn walked<E: Execution>(program: &mut E, sleep: bool) -> Walked {
    let walk = Search {
        algorithm: WalkStates { seed: 3, sleep },
        limits: Limits::default(),
        goal: Goal::Everything,
    };
    walk.run(program, &mut |_| ControlFlow::Continue(()), &mut ())
}

/// Returns what is wrong with sleep sets: they may save steps, but no states, deadlocks or parts of
/// the model.
pub fn sleep_fault(walked: &Walked, slept: &Walked) -> Option<String> {
    let all = |walked: &Walked| (walked.states, walked.found.counts.deadlocks, walked.model);
    let same = all(walked) == all(slept);
    let fewer = slept.found.counts.events <= walked.found.counts.events;
    (!same || !fewer).then(|| {
        let steps = [walked, slept].map(|walked| walked.found.counts.events);
        format!(
            "states, deadlocks, model: {:?}; with sleep sets {:?}; steps {steps:?}",
            all(walked),
            all(slept)
        )
    })
}

/// Returns what is wrong with the findings of a stateful search.
fn findings_fault(program: &mut Machine, found: &Findings, truth: &Summary) -> Option<String> {
    if found.deadlock.is_some() == truth.deadlocks.is_empty() {
        return Some(format!("{} deadlocks", found.counts.deadlocks));
    }
    program.back_to(0);
    if !program.initial_mishaps().is_empty() {
        return None;
    }
    let mishaps = found.failures.iter().filter_map(|failure| failure.mishap);
    let found: BTreeSet<u32> = mishaps
        .filter(|mishap| mishap.process.is_some() && mishap.kind == MishapKind::Failure)
        .map(|mishap| mishap.site)
        .collect();
    let failing = truth
        .failures
        .iter()
        .filter(|f| !truth.traces.contains(&f.0));
    let failing: BTreeSet<u32> = failing.map(|f| f.1).collect();
    (found != failing).then(|| format!("failures at {found:?} instead of {failing:?}"))
}

fn check(first: u64, programs: u64, config: &Config) {
    let mut compared = 0;
    for seed in first..first + programs {
        let program = generate(seed, config);
        let text = program.to_string();
        let Some(truth_here) = small_truth(&text) else {
            continue;
        };
        let fault = |text: &str, truth: &Summary| {
            std::panic::catch_unwind(|| fault(text, truth)).unwrap_or(Some("panics".to_owned()))
        };
        if fault(&text, &truth_here).is_some() {
            panic_with_smallest(&format!("seed {seed}"), &program, |text| {
                fault(text, &small_truth(text)?)
            });
        }
        compared += 1;
    }
    println!("{compared} of {programs} programs");
    assert!(
        compared * 10 > programs * 6,
        "too few programs were compared"
    );
}

#[test]
fn nets_represent_the_traces() {
    check(400_000, programs(120), &Config::default());
}

#[test]
fn nets_represent_the_traces_where_nothing_waits_for_a_condition() {
    let config = Config::default().without_conditions();
    check(500_000, programs(120), &config);
}
