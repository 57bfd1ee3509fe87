//! Nets of programs with inputs represent exactly what brute force explores, and `reach` finds a
//! state in them if and only if some inputs lead there.
//!
//! `MAZURKA_PROGRAMS=5000 cargo test --release -p mazurka-testkit --test it unfold_inputs::` for a
//! long run.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::common::{holds_now, reaches};
use mazurka::reach::Method;
use mazurka_core::record::Ending;
use mazurka_core::{
    Execution, Limits, Mishap, MishapKind, Schedule, StopReason, TraceHasher, ending,
};
use mazurka_explore::{
    Algorithm, Goal, NetKind, Observer, Search, Unfold, Unfolding, past_is_discarded,
};
use mazurka_lang::{Code, Machine, Property, SymbolicMachine, compile, load};
use mazurka_smt::{Assembly, Choice, Sort, assemble};
use mazurka_testkit::{Config, Rng, generate};

/// Returns the number of programs by default.
fn programs() -> u64 {
    crate::common::programs(50)
}

fn machine(code: &Arc<Code>) -> SymbolicMachine {
    let embedded = Assembly {
        choice: Choice::Embedded,
        ..Assembly::default()
    };
    let solver = assemble(embedded).expect("it is always there");
    SymbolicMachine::new(code.clone(), 1_000_000, Some(solver))
}

/// Returns the machine as nets use it: conditions over inputs are steps that touch only their
/// process.
fn machine_for_nets(code: &Arc<Code>) -> SymbolicMachine {
    machine(code).starting_in_any_order().with_branches_apart()
}

fn is_sure(machine: &SymbolicMachine) -> bool {
    let undecided = machine.doubts();
    undecided.within.is_none() && undecided.undecided.is_none()
}

/// Returns the trace of the current run, and how it ends.
fn trace_and_ending(program: &SymbolicMachine) -> (u128, String) {
    let mut hasher = TraceHasher::new();
    for event in program.events() {
        hasher.push(event, program.processes());
    }
    (hasher.trace().bits(), format!("{:?}", ending(program)))
}

/// The traces that brute force explores, and runs of the concrete program: one run for each trace
/// and each valuation of the inputs with which the trace is possible.
#[derive(Default)]
struct Truth {
    /// The traces and how they end, where each decision about inputs is a step, as in nets.
    traces: BTreeSet<(u128, String)>,
    /// The sites of the failures that no false `assume` happens before.
    failures: BTreeSet<u32>,
    runs: Vec<(Arc<Code>, Schedule)>,
}

impl Observer<SymbolicMachine> for Truth {
    fn start(&mut self, _: &SymbolicMachine) {
        self.traces.clear();
        self.failures.clear();
        self.runs.clear();
    }

    fn complete(&mut self, program: &SymbolicMachine) {
        self.traces.insert(trace_and_ending(program));
        for (at, event) in program.events().iter().enumerate() {
            let failed = |mishap: &&Mishap| mishap.kind == MishapKind::Failure;
            if event.mishaps.iter().any(|mishap| failed(&mishap)) && !past_is_discarded(program, at)
            {
                let failures = event.mishaps.iter().filter(failed);
                self.failures.extend(failures.map(|mishap| mishap.site));
            }
        }
        let Some(run) = program.concrete(None) else {
            return;
        };
        let mut valuations: Vec<Vec<(String, i64)>> = vec![Vec::new()];
        for (name, sort) in program.inputs_asked() {
            let values = if sort == Sort::Bool { 0..2 } else { -1..4 };
            let with = |valuation: Vec<(String, i64)>| {
                let name = name.clone();
                values.clone().map(move |value| {
                    let mut longer = valuation.clone();
                    longer.push((name.clone(), value));
                    longer
                })
            };
            valuations = valuations.into_iter().flat_map(with).collect();
        }
        for valuation in valuations {
            let value = |name: &str| {
                let found = valuation.iter().find(|given| given.0 == name);
                found.map(|given| given.1)
            };
            if program.under(value).is_some() {
                let given = valuation.iter().map(|(name, value)| (&name[..], *value));
                let code = Arc::new(run.code.with_inputs(given));
                self.runs.push((code, run.schedule.clone()));
            }
        }
    }
}

/// Runs brute force; `None` if there are too many runs. Branches within steps and branches as
/// separate steps give the same number of traces, with the same endings.
fn truth(text: &str, code: &Arc<Code>) -> Option<Truth> {
    let whole = brute(machine(code))?;
    let apart = brute(machine(code).with_branches_apart())?;
    let endings = |truth: &Truth| {
        let mut all: Vec<_> = truth.traces.iter().map(|trace| trace.1.clone()).collect();
        all.sort();
        all
    };
    assert_eq!(endings(&whole), endings(&apart), "{text}");
    assert_eq!(whole.failures, apart.failures, "{text}");
    Some(Truth {
        runs: whole.runs,
        ..apart
    })
}

fn brute(mut machine: SymbolicMachine) -> Option<Truth> {
    let mut truth = Truth::default();
    let limits = Limits {
        steps: Some(20_000),
        ..Limits::default()
    };
    let watch = &mut |_: &_| ControlFlow::Continue(());
    let (naive, goal) = (Algorithm::Naive, Goal::Everything);
    let search = Search {
        algorithm: naive,
        limits,
        goal,
    };
    let found = search.run(&mut machine, watch, &mut truth);
    (found.stopped == StopReason::Complete && is_sure(&machine)).then_some(truth)
}

fn net_of(program: &mut SymbolicMachine, kind: NetKind, seed: u64) -> Unfolding {
    let watch = &mut |_: &_| ControlFlow::Continue(());
    let unfold = Search {
        algorithm: Unfold { kind, seed },
        limits: Limits::default(),
        goal: Goal::Everything,
    };
    unfold.run(program, watch, &mut ())
}

/// Returns the executions that a net represents and that are possible for some inputs.
fn represented(program: &mut SymbolicMachine, net: &mut Unfolding) -> Vec<(u128, String)> {
    let mut all = Vec::new();
    for schedule in net.executions(300_000).expect("a small net") {
        program.back_to(0);
        let possible = schedule.0.iter().all(|step| {
            let process = program.processes().find(&step.process).expect("a process");
            program.step(process, &step.outcomes).is_ok()
        });
        if possible {
            all.push(trace_and_ending(program));
        }
    }
    all
}

/// Calls `run` for each program that is small enough, with what brute force finds.
fn each(first: u64, mut run: impl FnMut(u64, &str, &Arc<Code>, &Truth)) -> u64 {
    let config = Config {
        inputs: true,
        interleavings: 100.0,
        ..Config::default()
    };
    let mut compared = 0;
    for seed in first..first + programs() {
        // One statement a line, so that a line identifies where a process is.
        let text = generate(seed, &config).to_string().replace("; ", ";\n");
        let program = load(&text, &[]).unwrap_or_else(|errors| panic!("{text}\n{errors:?}"));
        if !text.contains("input(") {
            continue;
        }
        let code = Arc::new(compile(&program, &text).expect("nothing to refuse"));
        if let Some(truth) = truth(&text, &code) {
            run(seed, &text, &code, &truth);
            compared += 1;
        }
    }
    compared
}

#[test]
fn nets_represent_what_brute_force_explores() {
    let mut branching = 0;
    let compared = each(0, |seed, text, code, truth| {
        let mut sizes = Vec::new();
        for kind in [NetKind::Replicated, NetKind::Contextual] {
            let mut program = machine_for_nets(code);
            let mut net = net_of(&mut program, kind, 1);
            assert!(is_sure(&program), "seed {seed}: {text}");
            let counts = net.found.counts;
            let found = represented(&mut program, &mut net);
            let once: BTreeSet<_> = found.iter().cloned().collect();
            let missing = truth.traces.difference(&once).next();
            let invented = once.difference(&truth.traces).next();
            assert!(
                missing.is_none() && invented.is_none(),
                "{kind}, seed {seed}: misses {missing:?}, invents {invented:?}\n{text}"
            );
            assert_eq!(found.len(), once.len(), "{kind}, seed {seed}:\n{text}");
            let deadlocked = |trace: &&(u128, String)| trace.1 == format!("{:?}", Ending::Deadlock);
            let deadlocks = truth.traces.iter().filter(deadlocked).count();
            assert_eq!(
                counts.deadlocks, deadlocks as u64,
                "{kind}, seed {seed}:\n{text}"
            );
            let tests = counts.executions + counts.discarded;
            assert!(
                tests <= once.len() as u64,
                "{kind}, seed {seed}: {tests} tests for {} traces\n{text}",
                once.len()
            );
            let again = net_of(&mut machine_for_nets(code), kind, 2);
            assert_eq!(
                again.fingerprint(),
                net.fingerprint(),
                "{kind}, seed {seed}: the net depends on the order of the tests\n{text}"
            );
            sizes.push(net.events());
        }
        assert!(sizes[1] <= sizes[0], "seed {seed}: {sizes:?}\n{text}");
        let fault = stateful_fault(text, code, truth, sizes[0]);
        assert_eq!(fault, None, "stateful, seed {seed}:\n{text}");
        branching += u64::from(truth.traces.len() > 1);
    });
    println!("{compared} programs, {branching} with several traces");
    assert!(compared * 3 > programs() && branching * 2 > compared);
}

/// Returns what is wrong with the stateful net of a program and with the naive search: they must
/// find the same sites of failures, and a deadlock if there is one.
fn stateful_fault(
    text: &str,
    code: &Arc<Code>,
    truth: &Truth,
    replicated: usize,
) -> Option<String> {
    let mut program = machine_for_nets(code);
    let net = net_of(&mut program, NetKind::Stateful, 1);
    let walked = crate::unfold::walked(&mut program, false);
    let slept = crate::unfold::walked(&mut program, true);
    if let Some(fault) = crate::unfold::sleep_fault(&walked, &slept) {
        return Some(fault);
    }
    for found in [&net.found, &walked.found, &slept.found] {
        let sites = found.failures.iter().filter_map(|failure| failure.mishap);
        let sites = sites.filter(|mishap| mishap.process.is_some());
        let sites = sites.filter(|mishap| mishap.kind == MishapKind::Failure);
        let sites: BTreeSet<u32> = sites.map(|mishap| mishap.site).collect();
        // There is one finding for each site, which may be about the initial state.
        let from_the_start = !machine(code).initial_mishaps().is_empty();
        if sites != truth.failures && !from_the_start {
            return Some(format!("{sites:?} instead of {:?}", truth.failures));
        }
        let deadlocked = |trace: &(u128, String)| trace.1 == format!("{:?}", Ending::Deadlock);
        if found.deadlock.is_some() != truth.traces.iter().any(deadlocked) {
            return Some(format!("{} deadlocks", found.counts.deadlocks));
        }
    }
    let [by_net, by_states] = [&net.found, &walked.found].map(|found| found.counts.deadlocks);
    // A process whose branch is closed may have to wait for others. Their ends distinguish steps of
    // the naive search that are one event of the net.
    let same_model = text.contains("join") || net.model() == Some(walked.model);
    let same_deadlocks = text.contains("join") || by_net == by_states;
    if !same_deadlocks || !same_model {
        return Some(format!(
            "{by_net} deadlocks and a model of {:?}; naive: {by_states} and {:?}",
            net.model(),
            walked.model
        ));
    }
    (net.events() > replicated).then(|| format!("{} events", net.events()))
}

/// Returns a random property over the names that random programs use.
fn wanted(rng: &mut Rng, text: &str) -> String {
    let declared = |name: &&&str| text.contains(&format!("var {name}: int ="));
    let names: Vec<&str> = ["x", "y", "z"].iter().filter(declared).copied().collect();
    let lines = text.lines().count();
    let part = |rng: &mut Rng| match rng.below(3) {
        0 | 1 if !names.is_empty() => {
            let name = names[rng.below(names.len())];
            let compare = ["==", "<", ">", "!="][rng.below(4)];
            format!("{name} {compare} {}", rng.below(4))
        }
        _ => {
            let not = ["", "!"][rng.below(2)];
            format!("{not}at({}, {})", rng.below(3), 1 + rng.below(lines))
        }
    };
    let (one, other) = (part(rng), part(rng));
    match rng.below(6) {
        0 => "deadlock".to_owned(),
        1 => format!("({one}) && deadlock"),
        _ => format!("({one}) {} ({other})", ["&&", "&&", "||"][rng.below(3)]),
    }
}

#[test]
fn the_net_has_the_states_that_some_inputs_reach() {
    let (mut reachable, mut unreachable) = (0, 0);
    let (mut questions, mut answered) = (0, 0);
    let compared = each(50_000, |seed, text, _, truth| {
        let mut rng = Rng::new(seed);
        for _ in 0..3 {
            let wanted = wanted(&mut rng, text);
            let Ok(property) = Property::read(text, &[], &wanted) else {
                continue;
            };
            let reached = truth.runs.iter().any(|(code, schedule)| {
                let mut machine = Machine::new(code.clone(), 1_000_000);
                let mut holds = holds_now(&property, &machine);
                for step in &schedule.0 {
                    let process = machine.processes().find(&step.process).expect("a process");
                    machine.step(process, &step.outcomes).expect("a step");
                    holds |= holds_now(&property, &machine);
                }
                holds
            });
            for kind in [NetKind::Replicated, NetKind::Contextual, NetKind::Stateful] {
                questions += 1;
                let method = [Method::Search, Method::Smt][(questions % 2) as usize];
                if let Some(found) = reaches(text, &wanted, Unfold { kind, seed }, method) {
                    answered += 1;
                    assert_eq!(found, reached, "{kind}, seed {seed}: {wanted}\n{text}");
                }
            }
            if reached {
                reachable += 1
            } else {
                unreachable += 1
            }
        }
    });
    println!("{compared} programs; {reachable} states reachable, {unreachable} not");
    assert!(answered * 10 > questions * 9, "{answered} of {questions}");
    assert!(reachable * 3 > compared && unreachable * 3 > compared);
}
