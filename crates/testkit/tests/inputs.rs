//! Inputs: every algorithm against brute force, which tries every value of every input.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use mazurka_core::record::Ending;
use mazurka_core::{
    Execution, Fingerprint, Limits, MishapKind, Narrator, Schedule, ScheduledStep, StopReason,
    TraceHasher, ending,
};
use mazurka_explore::{Algorithm, Goal, Observer, search_states};
use mazurka_lang::{Code, Machine, SymbolicMachine, compile, compile_open, load};
use mazurka_smt::{Assembly, Choice, Sort, assemble};
use mazurka_testkit::{Config, Limit, Visit, every_run, generate};

/// How many programs: `MAZURKA_PROGRAMS=20000 cargo test --release -p mazurka-testkit --test inputs` for a long run.
fn programs() -> u64 {
    let wanted = std::env::var("MAZURKA_PROGRAMS").ok();
    wanted.and_then(|n| n.parse().ok()).unwrap_or(150)
}

type Valuation = BTreeMap<String, i64>;

/// A complete run for some inputs: its trace, how it ends, its final state, where it fails.
type Shown = (Valuation, u128, String, Vec<String>, Vec<u32>);

/// The same program with `choose` for inputs.
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

/// Runs a schedule with inputs and says what it shows; none if it was discarded.
fn show(code: &Code, schedule: &Schedule, inputs: &Valuation) -> Option<Shown> {
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

/// What brute force finds; none if there is too much of it.
fn truth(text: &str, code: &Code) -> Option<BTreeSet<Shown>> {
    let text = with_choices(text);
    let program = load(&text, &[]).unwrap_or_else(|_| panic!("{text}"));
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
            // To choose is a step, to ask for an input is none.
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

/// Collects what every explored run shows, for all inputs that take it.
struct All<'a> {
    code: &'a Code,
    shown: BTreeSet<Shown>,
    lost: bool,
}

impl Observer<SymbolicMachine> for All<'_> {
    fn start(&mut self, _: &SymbolicMachine) {
        self.shown.clear();
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
        for valuation in valuations {
            if program.under(|name| valuation.get(name).copied()).is_some() {
                self.shown
                    .extend(show(self.code, &run.schedule, &valuation));
            }
        }
    }
}

fn explored(code: &Arc<Code>, algorithm: Algorithm) -> Option<BTreeSet<Shown>> {
    let embedded = Assembly {
        choice: Choice::Embedded,
        ..Assembly::default()
    };
    let solver = assemble(embedded).expect("it is always there");
    let mut machine = SymbolicMachine::new(code.clone(), 1_000_000, Some(solver));
    let mut all = All {
        code,
        shown: BTreeSet::new(),
        lost: false,
    };
    let limits = Limits {
        steps: Some(200_000),
        ..Limits::default()
    };
    let watch = &mut |_: &_| ControlFlow::Continue(());
    let found = search_states(
        &mut machine,
        algorithm,
        &limits,
        Goal::Everything,
        watch,
        &mut all,
    );
    let doubts = machine.doubts();
    let sure = doubts.within.is_none() && doubts.undecided.is_none();
    (found.stopped == StopReason::Complete && sure && !all.lost).then_some(all.shown)
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
        let program = load(&text, &[]).unwrap_or_else(|errors| panic!("{text}\n{errors:?}"));
        if !text.contains("input(") {
            continue;
        }
        let code = Arc::new(compile_open(&program, &text).expect("nothing to refuse"));
        let Some(truth) = truth(&text, &code) else {
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
        "the programs are worth little"
    );
}

/// Nine of ten decisions of the thesis's Pairs are made without the SAT solver.
#[test]
fn the_solver_is_no_bottleneck() {
    let text = include_str!("../../../corpus/maz/thesis-pairs/program.maz");
    let code = Arc::new(compile_open(&load(text, &[]).unwrap(), text).unwrap());
    let embedded = Assembly {
        choice: Choice::Embedded,
        ..Assembly::default()
    };
    let solver = assemble(embedded).expect("it is always there");
    let mut machine = SymbolicMachine::new(code, 1_000_000, Some(solver));
    let watch = &mut |_: &_| ControlFlow::Continue(());
    let limits = Limits::default();
    let (optimal, goal) = (Algorithm::Optimal, Goal::Everything);
    let found = search_states(&mut machine, optimal, &limits, goal, watch, &mut ());
    assert_eq!(found.counts.executions, 4096);
    let statistics = machine.solver_statistics();
    println!("{statistics:?}");
    assert!(
        statistics.searches * 10 <= statistics.queries,
        "{statistics:?}"
    );
}
