//! Inputs: compares every algorithm with brute force, which tries every value of every input.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use mazurka_core::record::Ending;
use mazurka_core::{
    Execution, Fingerprint, Limits, MishapKind, Narrator, Schedule, ScheduledStep, StopReason,
    TraceHasher, ending,
};
use mazurka_explore::{
    Algorithm, Findings, Goal, Observer, Parts, Search, Stateless, Variant, Workers,
};
use mazurka_lang::{Code, Machine, SymbolicMachine, compile, load};
use mazurka_smt::{Assembly, Choice, Sort, assemble};
use mazurka_testkit::{Config, Limit, Visit, assert_right, every_run, generate, variants};

/// Returns the number of programs. For a long run: `MAZURKA_PROGRAMS=20000 cargo test --release -p
/// mazurka-testkit --test it inputs::`
fn programs() -> u64 {
    crate::common::programs(60)
}

type Valuation = BTreeMap<String, i64>;

/// A complete run for some inputs: its trace, how it ends, its final state, and its failures.
type ShownRun = (Valuation, u128, String, Vec<String>, Vec<u32>);

/// Replaces inputs by `choose`.
fn with_choices(text: &str) -> String {
    let mut rest = text;
    let mut out = String::new();
    while let Some(at) = rest.find("input(") {
        out.push_str(&rest[..at]);
        rest = &rest[at + "input(".len()..];
        if let Some(after) = rest.strip_prefix("bool)") {
            out.push_str("choose(0..2) == 1");
            rest = after;
            continue;
        }
        let end = rest.find("<= ").expect("an assumption") + "<= ".len();
        let digits = rest[end..]
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len() - end);
        let most: i64 = rest[end..end + digits].parse().expect("a number");
        out.push_str(&format!("choose(0..{})", most + 1));
        rest = &rest[end + digits..];
    }
    out + rest
}

/// Runs a schedule with inputs and returns what it shows; `None` if the run is discarded.
fn show(code: &Code, schedule: &Schedule, inputs: &Valuation) -> Option<ShownRun> {
    let given = inputs.iter().map(|(name, value)| (name.as_str(), *value));
    let mut machine = Machine::new(Arc::new(code.with_inputs(given)), 1_000_000);
    let mut hasher = TraceHasher::new();
    for step in &schedule.0 {
        let process = machine.processes().find(&step.process).expect("a process");
        machine.step(process, &step.outcomes).expect("a step");
        hasher.push(
            machine.events().last().expect("a step"),
            machine.processes(),
        );
    }
    let end = ending(&machine);
    assert_ne!(
        end,
        Ending::Open,
        "{schedule} with {inputs:?} is not complete"
    );
    if matches!(end, Ending::Discarded) {
        return None;
    }
    let events = machine.events().iter();
    let mishaps = events.flat_map(|event| &event.mishaps);
    let mut failed: Vec<u32> = mishaps
        .chain(machine.initial_mishaps())
        .filter(|mishap| mishap.kind == MishapKind::Failure)
        .map(|mishap| mishap.site)
        .collect();
    if end == Ending::Final {
        failed.extend(machine.final_mishaps().iter().map(|mishap| mishap.site));
    }
    failed.sort_unstable();
    let state = machine
        .bindings(false)
        .into_iter()
        .map(|b| b.value)
        .collect();
    let trace: Fingerprint = hasher.trace();
    Some((
        inputs.clone(),
        trace.bits(),
        format!("{end:?}"),
        state,
        failed,
    ))
}

/// Returns what brute force finds; `None` if there are too many runs.
fn truth(text: &str, code: &Code) -> Option<BTreeSet<ShownRun>> {
    let text = with_choices(text);
    let program = load(&text, &[]).ok()?;
    let mut machine = Machine::new(Arc::new(compile(&program, &text).ok()?), 1_000_000);
    let mut runs: Vec<(Schedule, Valuation)> = Vec::new();
    let mut lost = false;
    let limit = Limit {
        executions: 3_000,
        depth: 60,
    };
    let done = every_run(&mut machine, limit, &mut |machine, visit| {
        if visit != Visit::Complete {
            return;
        }
        lost |= ending(machine) == Ending::Lost;
        let mut asked: BTreeMap<String, u32> = BTreeMap::new();
        let mut inputs = Valuation::new();
        let mut schedule = Schedule(Vec::new());
        for event in machine.events() {
            let path = machine.processes().path(event.process);
            for outcome in &event.outcomes {
                let number = asked.entry(path.to_string()).or_default();
                inputs.insert(format!("{path}#{number}"), outcome.value);
                *number += 1;
            }
            // `choose` is a step, `input` is not.
            if event.outcomes.is_empty() {
                schedule.0.push(ScheduledStep {
                    process: path.clone(),
                    outcomes: Default::default(),
                });
            }
        }
        runs.push((schedule, inputs));
    });
    if done.is_err() || lost {
        return None;
    }
    Some(
        runs.iter()
            .filter_map(|(schedule, inputs)| show(code, schedule, inputs))
            .collect(),
    )
}

/// Collects what every explored run shows, for all inputs with which the program makes this run.
struct RunCollector<'a> {
    code: &'a Code,
    shown: BTreeSet<ShownRun>,
    /// The sites of failures, with the inputs asked for so far.
    failed: BTreeSet<(Valuation, u32)>,
    lost: bool,
}

/// Returns all values of the inputs with which the program takes the path of the current run.
fn valuations(program: &SymbolicMachine) -> Vec<Valuation> {
    let mut valuations = vec![Valuation::new()];
    for (name, sort) in program.inputs_asked() {
        let values = if sort == Sort::Bool { 0..2 } else { 0..3 };
        let with = |valuation: Valuation| {
            let name = name.clone();
            values.clone().map(move |value| {
                let mut longer = valuation.clone();
                longer.insert(name.clone(), value);
                longer
            })
        };
        valuations = valuations.into_iter().flat_map(with).collect();
    }
    valuations.retain(|valuation| program.under(|name| valuation.get(name).copied()).is_some());
    valuations
}

impl Observer<SymbolicMachine> for RunCollector<'_> {
    fn start(&mut self, program: &SymbolicMachine) {
        self.shown.clear();
        let always = program.initial_mishaps().iter();
        let always = always.map(|mishap| (Valuation::new(), mishap.site));
        self.failed = always.collect();
    }

    fn pushed(&mut self, program: &SymbolicMachine) {
        let mishaps = program.events().last().map_or(&[][..], |e| &e.mishaps);
        for mishap in mishaps.iter().filter(|m| m.kind == MishapKind::Failure) {
            let all = valuations(program).into_iter();
            self.failed.extend(all.map(|v| (v, mishap.site)));
        }
    }

    fn complete(&mut self, program: &SymbolicMachine) {
        match ending(program) {
            Ending::Discarded => return,
            Ending::Lost => self.lost = true,
            _ => {}
        }
        let run = program
            .concrete(None)
            .expect("a path that was taken is possible");
        for valuation in valuations(program) {
            self.shown
                .extend(show(self.code, &run.schedule, &valuation));
        }
    }
}

/// The results of a search.
struct Explored {
    shown: BTreeSet<ShownRun>,
    failed: BTreeSet<(Valuation, u32)>,
    sites: BTreeSet<u32>,
}

fn explored(code: &Arc<Code>, algorithm: Algorithm) -> Option<Explored> {
    let embedded = Assembly {
        choice: Choice::Embedded,
        ..Assembly::default()
    };
    let solver = assemble(embedded).expect("it is always there");
    let mut machine = SymbolicMachine::new(code.clone(), 1_000_000, Some(solver));
    let mut all = RunCollector {
        code,
        shown: BTreeSet::new(),
        failed: BTreeSet::new(),
        lost: false,
    };
    let limits = Limits {
        steps: Some(200_000),
        ..Limits::default()
    };
    let watch = &mut |_: &_| ControlFlow::Continue(());
    let search = Search {
        algorithm,
        limits,
        goal: Goal::Everything,
    };
    let found = search.run(&mut machine, watch, &mut all);
    let doubts = machine.doubts();
    let sure = doubts.within.is_none() && doubts.undecided.is_none();
    let mishaps = found.failures.iter().filter_map(|finding| finding.mishap);
    let explored = Explored {
        shown: all.shown,
        failed: all.failed,
        sites: mishaps.map(|mishap| mishap.site).collect(),
    };
    (found.stopped == StopReason::Complete && sure && !all.lost).then_some(explored)
}

/// Returns what `context` gets wrong. It need not find every trace, but every final state, deadlock
/// and failure for each input.
fn wrong_in_context(
    code: &Arc<Code>,
    truth: &BTreeSet<ShownRun>,
    variant: Variant,
) -> Option<String> {
    let found = explored(code, Algorithm::Context(variant))?;
    let all = explored(code, Algorithm::Naive)?;
    let ends = |shown: &BTreeSet<ShownRun>| -> BTreeSet<(Valuation, String, Vec<String>)> {
        let all = shown.iter().cloned();
        all.map(|(inputs, _, end, state, _)| (inputs, end, state))
            .collect()
    };
    let (is, seen) = (ends(truth), ends(&found.shown));
    if let Some(wrong) = is.symmetric_difference(&seen).next() {
        return Some(format!("{variant:?}: {wrong:?}"));
    }
    if found.sites != all.sites {
        return Some(format!("{variant:?}: {:?} fail", found.sites));
    }
    // A failure of the final state has no event.
    let steps: BTreeSet<u32> = all.failed.iter().map(|(_, site)| *site).collect();
    for (inputs, _, _, _, sites) in truth {
        for &site in sites.iter().filter(|site| steps.contains(site)) {
            let seen = found.failed.iter().any(|(some, place)| {
                let mut given = some.iter();
                *place == site && given.all(|(name, value)| inputs.get(name) == Some(value))
            });
            if !seen {
                return Some(format!("{variant:?}: {site} does not fail for {inputs:?}"));
            }
        }
    }
    None
}

/// Returns the program, compiled for all inputs, and the results of brute force.
fn with_truth(text: &str) -> Option<(Arc<Code>, BTreeSet<ShownRun>)> {
    let program = load(text, &[]).ok()?;
    if !text.contains("input(") {
        return None;
    }
    let code = Arc::new(compile(&program, text).ok()?);
    let truth = truth(text, &code)?;
    Some((code, truth))
}

#[test]
fn context_finds_what_brute_force_finds() {
    let config = Config {
        inputs: true,
        choose: false,
        interleavings: 150.0,
        ..Config::default()
    };
    let wrong = |text: &str| {
        let (code, truth) = with_truth(text)?;
        variants().find_map(|variant| wrong_in_context(&code, &truth, variant))
    };
    assert_right(0..programs(), &config, wrong);
}

#[test]
fn every_algorithm_finds_what_brute_force_finds() {
    let config = Config {
        inputs: true,
        choose: false,
        interleavings: 150.0,
        ..Config::default()
    };
    let (mut compared, mut several, mut inputs) = (0, 0, 0);
    for seed in 0..programs() {
        let text = generate(seed, &config).to_string();
        let Some((code, truth)) = with_truth(&text) else {
            continue;
        };
        inputs += 1;
        let algorithms = [
            Algorithm::Naive,
            Algorithm::Sleep,
            Algorithm::Dpor,
            Algorithm::Source,
            Algorithm::Optimal,
        ];
        for algorithm in algorithms {
            let Some(found) = explored(&code, algorithm) else {
                continue;
            };
            let found = found.shown;
            if let Some(missing) = truth.difference(&found).next() {
                panic!("seed {seed}, {algorithm}: misses {missing:?} of\n{text}");
            }
            if let Some(extra) = found.difference(&truth).next() {
                panic!("seed {seed}, {algorithm}: invents {extra:?} of\n{text}");
            }
            compared += 1;
        }
        several += u64::from(
            truth
                .iter()
                .map(|shown| &shown.0)
                .collect::<BTreeSet<_>>()
                .len()
                > 1,
        );
    }
    println!("{inputs} programs with inputs, {several} with several, {compared} comparisons");
    assert!(
        compared * 3 > programs() && several * 3 > inputs,
        "too few programs were compared, or too few depend on their inputs"
    );
}

/// Returns the results of a search in parts by several workers, with the runs of each part; `None`
/// if the search was cut or the solver gave up.
fn explored_in_parts(
    code: &Arc<Code>,
    algorithm: Stateless,
    parts: usize,
    workers: usize,
) -> Option<(Findings, Vec<BTreeSet<ShownRun>>)> {
    let machines = || {
        let solver = assemble(Assembly {
            choice: Choice::Embedded,
            ..Assembly::default()
        });
        SymbolicMachine::new(code.clone(), 1_000_000, Some(solver.expect("a solver")))
    };
    let search = Search {
        algorithm,
        limits: Limits {
            steps: Some(200_000),
            ..Limits::default()
        },
        goal: Goal::Everything,
    };
    let observers = || RunCollector {
        code,
        shown: BTreeSet::new(),
        failed: BTreeSet::new(),
        lost: false,
    };
    let workers = Workers {
        count: workers,
        programs: &machines,
    };
    let watch = &mut |_: &_| ControlFlow::Continue(());
    let mut parts = Parts::at_least(parts, machines(), search);
    let (found, seen) = parts.run_observed(&workers, watch, &observers);
    let sure = found.stopped == StopReason::Complete && seen.iter().all(|all| !all.lost);
    sure.then(|| (found, seen.into_iter().map(|all| all.shown).collect()))
}

/// The number of parts and of workers does not matter, and no trace is in two parts.
#[test]
fn parts_find_what_brute_force_finds() {
    let config = Config {
        inputs: true,
        choose: false,
        interleavings: 150.0,
        ..Config::default()
    };
    let (mut compared, mut in_parts) = (0, 0);
    for seed in 0..programs() {
        let text = generate(seed, &config).to_string();
        let Some((code, truth)) = with_truth(&text) else {
            continue;
        };
        let mut counted = BTreeSet::new();
        for (algorithm, parts, workers) in [
            (Stateless::Optimal, 1, 1),
            (Stateless::Optimal, 4, 1),
            (Stateless::Optimal, 4, 2),
            (Stateless::Optimal, 30, 3),
            (Stateless::Source, 10, 2),
            (Stateless::Naive, 10, 2),
        ] {
            let found = explored_in_parts(&code, algorithm, parts, workers);
            let Some((found, seen)) = found else {
                continue;
            };
            let together: BTreeSet<ShownRun> = seen.iter().flatten().cloned().collect();
            if let Some(wrong) = truth.symmetric_difference(&together).next() {
                panic!("seed {seed}, {algorithm}, {parts} parts: {wrong:?} of\n{text}");
            }
            if algorithm != Stateless::Naive {
                let all = found.counts;
                counted.insert((
                    all.executions,
                    all.discarded,
                    all.failures,
                    all.deadlocks,
                    all.final_states,
                ));
            }
            compared += 1;
            in_parts += u64::from(seen.len() > 1);
        }
        assert!(counted.len() <= 1, "seed {seed}: {counted:?} in\n{text}");
    }
    println!("{compared} comparisons, {in_parts} in several parts");
    assert!(
        compared > programs() && in_parts * 2 > compared,
        "too few comparisons, or too few in several parts: {compared} {in_parts}"
    );
}

/// Returns the numbers of executions and of blocked runs.
fn counts(text: &str, algorithm: Algorithm) -> (u64, u64) {
    let code = Arc::new(compile(&load(text, &[]).unwrap(), text).unwrap());
    let solver = assemble(Assembly::default()).expect("a solver");
    let mut machine = SymbolicMachine::new(code, 1_000_000, Some(solver));
    let watch = &mut |_: &_| ControlFlow::Continue(());
    let limits = Limits::default();
    let goal = Goal::Everything;
    let search = Search {
        algorithm,
        limits,
        goal,
    };
    let counts = search.run(&mut machine, watch, &mut ()).counts;
    (counts.executions, counts.blocked)
}

/// The two orders lead to states with different terms of equal value. The values are always equal,
/// or equal under the conditions of the path.
#[test]
fn orders_that_are_equal_for_all_inputs_are_tried_once() {
    let by_the_path = include_str!("../../../../corpus/maz/context-inputs/program.maz");
    let sums = "var x: u8 = 1 process { x := x + input(u8) } process { x := input(u8) + x }
        process { x := x - input(u8) }";
    let branches =
        "var x: i32 = 0 process { let a = input(); if a > 0 { x := x + 1 } else { x := x + 2 } }
        process { let b = input(); if b > 0 { x := x + 3 } else { x := x + 4 } }";
    for (text, by_source, by_context) in [
        (by_the_path, (2, 0), (1, 1)),
        (sums, (6, 0), (1, 5)),
        (branches, (8, 0), (4, 4)),
    ] {
        assert_eq!(counts(text, Algorithm::Source), by_source, "{text}");
        for variant in variants() {
            let found = counts(text, Algorithm::Context(variant));
            assert_eq!(found, by_context, "{variant:?} {text}");
        }
    }
    // `stateful` recognises only terms that look the same.
    assert_eq!(counts(by_the_path, Algorithm::Stateful).0, 2);
}

/// Here two orders lead to equal states for some inputs only.
#[test]
fn orders_that_differ_for_some_inputs_are_both_tried() {
    let text = "var x: i32 = 0 process { let a = input(); let b = input(); assume a <= b;
        spawn { x := a }; spawn { x := b }; join }";
    for variant in variants() {
        assert_eq!(counts(text, Algorithm::Context(variant)), (2, 0));
    }
}

/// Nine of ten decisions of Pairs, a program of the thesis, need no SAT solver.
#[test]
fn the_solver_is_no_bottleneck() {
    let text = include_str!("../../../../corpus/maz/thesis-pairs/program.maz");
    let code = Arc::new(compile(&load(text, &[]).unwrap(), text).unwrap());
    let embedded = Assembly {
        choice: Choice::Embedded,
        ..Assembly::default()
    };
    let solver = assemble(embedded).expect("it is always there");
    let mut machine = SymbolicMachine::new(code, 1_000_000, Some(solver));
    let watch = &mut |_: &_| ControlFlow::Continue(());
    let limits = Limits::default();
    let (optimal, goal) = (Algorithm::Optimal, Goal::Everything);
    let search = Search {
        algorithm: optimal,
        limits,
        goal,
    };
    let found = search.run(&mut machine, watch, &mut ());
    assert_eq!(found.counts.executions, 4096);
    let statistics = machine.solver_statistics();
    println!("{statistics:?}");
    assert!(
        statistics.searches * 10 <= statistics.queries,
        "{statistics:?}"
    );
}
