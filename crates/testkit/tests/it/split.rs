//! Arrays that are split because the requirements of a program keep their accesses apart: for each
//! choice of values, engines find what brute force finds with these values, and they explore no
//! more traces than if arrays are not split.
//!
//! `MAZURKA_PROGRAMS=5000 cargo test --release -p mazurka-testkit --test it split::` for a long
//! run.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use mazurka_core::record::Ending;
use mazurka_core::{Execution, Limits, MishapKind, Narrator, Patience, StopReason, ending};
use mazurka_explore::{Algorithm, Goal, NetKind, Observer, Search, Unfold};
use mazurka_lang::{Code, Machine, SymbolicMachine, compile, load};
use mazurka_smt::{Assembly, Choice, Solver, assemble};
use mazurka_testkit::{Limit, Rng, Visit, every_run, variants};

const UNKNOWN: [&str; 3] = ["i", "j", "k"];

/// Values of the unknowns; an index may be out of bounds.
type Values = [i64; 3];

/// How a run ends for some values: the values, its ending, the variables, and the sites of
/// failures.
type End = (Values, String, Vec<String>, Vec<u32>);

/// A source of random numbers, and the indices that it chooses from.
struct IndexGenerator {
    rng: Rng,
    indices: &'static [&'static str],
}

impl IndexGenerator {
    fn index(&mut self) -> &'static str {
        self.rng.pick(self.indices).expect("some")
    }

    fn value(&mut self) -> String {
        match self.rng.below(5) {
            0 => format!("a[{}]", self.index()),
            1 => format!("a[{}] + 1", self.index()),
            2 => "x".to_owned(),
            _ => self.rng.below(3).to_string(),
        }
    }

    fn statement(&mut self) -> String {
        let (one, other, value) = (self.index(), self.index(), self.value());
        match self.rng.below(10) {
            0..5 => format!("a[{one}] := {value}"),
            5 => format!("x := {value}"),
            6 => format!("await a[{one}] != {}", self.rng.below(2)),
            7 => format!("if a[{one}] == 1 {{ a[{other}] := {value} }}"),
            8 => format!("assert a[{one}] < 2"),
            _ => format!("a[{one}], a[{other}] := 1, {value}"),
        }
    }
}

/// Returns a program with indices computed from unknowns, some of which are required to differ.
fn program(seed: u64) -> String {
    let rng = Rng::new(seed);
    let indices: &[&str] = match seed % 3 {
        0 => &["i", "j"],
        1 => &["i", "j", "k"],
        _ => &["i", "j", "k", "i + 1", "0", "1"],
    };
    let mut chance = IndexGenerator { rng, indices };
    let mut text = "var i, j, k: i8\nvar x: i8 = 0\n".to_owned();
    text += if chance.rng.percent(30) {
        "var a: i8[3]\nrequires a[0] == 0 && a[1] == 0 && a[2] == 1\n"
    } else {
        "var a: i8[3] = 0\n"
    };
    text += "requires 0 <= i && i < 3 && 0 <= j && j < 3 && 0 <= k && k < 4\n";
    let relations = ["i != j", "i < j", "i != k", "j != k", "k == i", "k > j"];
    for relation in relations {
        if chance.rng.percent(50) {
            writeln!(text, "requires {relation}").expect("a string");
        }
    }
    if chance.rng.percent(30) {
        writeln!(text, "ensures a[{}] <= 1", chance.index()).expect("a string");
    }
    if chance.rng.percent(10) {
        writeln!(text, "invariant a[{}] < 2", chance.index()).expect("a string");
    }
    for _ in 0..2 + chance.rng.below(2) {
        let statements: Vec<String> = (0..1 + chance.rng.below(2))
            .map(|_| chance.statement())
            .collect();
        writeln!(text, "process {{ {} }}", statements.join("; ")).expect("a string");
    }
    text
}

/// Returns all values of the unknowns.
fn all_values() -> impl Iterator<Item = Values> {
    (0..3).flat_map(|i| (0..3).flat_map(move |j| (0..4).map(move |k| [i, j, k])))
}

/// Returns the initial value of a variable; `requires` fixes those of an array without initial
/// values.
fn value_of(values: Values, name: &str) -> Option<i64> {
    match UNKNOWN.iter().position(|&unknown| unknown == name) {
        Some(at) => Some(values[at]),
        None => Some(i64::from(name == "a[2]")),
    }
}

fn with_values(code: &Code, values: Values) -> Machine {
    let names = ["i", "j", "k", "a[0]", "a[1]", "a[2]"];
    let given = names.map(|name| (name, value_of(values, name).expect("all have one")));
    Machine::new(Arc::new(code.with_inputs(given)), 1_000_000)
}

fn end_of(values: Values, machine: &Machine) -> End {
    let end = ending(machine);
    let events = machine.events().iter().flat_map(|event| &event.mishaps);
    let failures = events.chain(machine.initial_mishaps());
    let failures = failures.filter(|mishap| mishap.kind == MishapKind::Failure);
    let mut failed: BTreeSet<u32> = failures.map(|mishap| mishap.site).collect();
    if end == Ending::Final {
        failed.extend(machine.final_mishaps().iter().map(|mishap| mishap.site));
    }
    let state = machine.bindings(false).into_iter().map(|b| b.value);
    let failed = failed.into_iter().collect();
    (values, format!("{end:?}"), state.collect(), failed)
}

/// Returns the results of brute force; `None` if there are too many runs.
fn truth(code: &Code) -> Option<BTreeSet<End>> {
    let mut ends = BTreeSet::new();
    for values in all_values() {
        let mut machine = with_values(code, values);
        if machine.broken_requires().is_some() {
            continue;
        }
        let limit = Limit {
            executions: 2_000,
            depth: 40,
        };
        let done = every_run(&mut machine, limit, &mut |machine, visit| {
            if visit == Visit::Complete {
                ends.insert(end_of(values, machine));
            }
        });
        done.ok()?;
    }
    Some(ends)
}

/// Collects how the explored runs end, for all values with which the program makes these runs.
struct EndCollector<'a> {
    code: &'a Code,
    ends: BTreeSet<End>,
}

impl Observer<SymbolicMachine> for EndCollector<'_> {
    fn start(&mut self, _: &SymbolicMachine) {
        self.ends.clear();
    }

    fn complete(&mut self, program: &SymbolicMachine) {
        let run = program.concrete(None).expect("values for a path");
        for values in all_values() {
            let Some(cells) = program.under(|name| value_of(values, name)) else {
                continue;
            };
            let mut machine = with_values(self.code, values);
            if machine.broken_requires().is_some() {
                continue;
            }
            for step in &run.schedule.0 {
                let process = machine
                    .processes()
                    .find(&step.process)
                    .expect("it is there");
                if machine.step(process, &step.outcomes).is_err() {
                    panic!(
                        "{values:?} do not take {} of\n{}",
                        run.schedule,
                        self.code.source()
                    );
                }
            }
            // The terms, evaluated for these values, and the numbers of the concrete run agree for
            // every variable and array element.
            let numbers: Vec<String> = cells.iter().map(i64::to_string).collect();
            let end = end_of(values, &machine);
            let values_of_terms = end.2.join(", ").replace(['[', ']'], "");
            assert_eq!(values_of_terms, numbers.join(", "), "{values:?}");
            self.ends.insert(end);
        }
    }
}

fn machine(code: &Arc<Code>, split: bool) -> SymbolicMachine {
    let embedded = Assembly {
        choice: Choice::Embedded,
        ..Assembly::default()
    };
    let solver: Box<dyn Solver> = assemble(embedded).expect("it is always there");
    let make = if split {
        SymbolicMachine::with_arrays_split
    } else {
        SymbolicMachine::until
    };
    make(
        Arc::clone(code),
        1_000_000,
        Some(solver),
        Patience::default(),
        None,
    )
}

fn limits() -> Limits {
    Limits {
        steps: Some(100_000),
        ..Limits::default()
    }
}

/// Returns the ends that an engine finds, and its executions; `None` if it was undecided or hit a
/// limit.
fn explored(code: &Arc<Code>, algorithm: Algorithm, split: bool) -> Option<(BTreeSet<End>, u64)> {
    let mut machine = machine(code, split);
    let ends = BTreeSet::new();
    let mut ends = EndCollector { code, ends };
    let search = Search {
        algorithm,
        limits: limits(),
        goal: Goal::Everything,
    };
    let watch = &mut |_: &_| ControlFlow::Continue(());
    let found = search.run(&mut machine, watch, &mut ends);
    let undecided = machine.doubts();
    let sure = undecided.within.is_none() && undecided.undecided.is_none();
    (found.stopped == StopReason::Complete && sure).then_some((ends.ends, found.counts.executions))
}

/// Returns the sites of failures in a net, and whether there is a deadlock.
fn in_net(code: &Arc<Code>, split: bool) -> Option<(BTreeSet<u32>, bool)> {
    let machine = machine(code, split);
    let mut machine = machine.starting_in_any_order().with_branches_apart();
    let search = Search {
        algorithm: Unfold {
            kind: NetKind::Contextual,
            seed: 0,
        },
        limits: limits(),
        goal: Goal::Everything,
    };
    let watch = &mut |_: &_| ControlFlow::Continue(());
    let found = search.run(&mut machine, watch, &mut ()).found;
    let failures = found.failures.iter().filter_map(|finding| finding.mishap);
    // A net shows failures of final states only in its tests.
    let failures = failures.filter(|mishap| mishap.process.is_some());
    let failures = failures.map(|mishap| mishap.site).collect();
    (found.stopped == StopReason::Complete).then_some((failures, found.deadlock.is_some()))
}

#[test]
fn split_arrays_change_the_number_of_traces_and_nothing_else() {
    let (mut compared, mut fewer, mut nets) = (0, 0, 0);
    let programs = crate::common::programs(45);
    for seed in 0..programs {
        let text = program(seed);
        // A simultaneous assignment to the same element twice is refused.
        let Some(code) = load(&text, &[]).ok().and_then(|p| compile(&p, &text).ok()) else {
            continue;
        };
        let code = Arc::new(code);
        let Some(truth) = truth(&code).filter(|ends| !ends.is_empty()) else {
            continue;
        };
        let whole = explored(&code, Algorithm::Optimal, false);
        let algorithms = [
            Algorithm::Naive,
            Algorithm::Sleep,
            Algorithm::Dpor,
            Algorithm::Source,
            Algorithm::Optimal,
        ];
        let contexts = variants().map(Algorithm::Context);
        for algorithm in algorithms.into_iter().chain(contexts) {
            let Some((found, executions)) = explored(&code, algorithm, true) else {
                continue;
            };
            // `context` finds every failure, but not every one of them in a complete run.
            let merges = matches!(algorithm, Algorithm::Context(_));
            let kept = |ends: &BTreeSet<End>| -> BTreeSet<End> {
                let all = ends.iter().cloned();
                all.map(|(values, end, state, failed)| {
                    if merges {
                        (values, end, state, Vec::new())
                    } else {
                        (values, end, state, failed)
                    }
                })
                .collect()
            };
            let (truth, found) = (kept(&truth), kept(&found));
            if let Some(wrong) = truth.symmetric_difference(&found).next() {
                panic!("seed {seed}, {algorithm}: {wrong:?} of\n{text}");
            }
            compared += 1;
            if let (Algorithm::Optimal, Some((_, whole))) = (algorithm, &whole) {
                assert!(executions <= *whole, "seed {seed}: more traces of\n{text}");
                fewer += u64::from(executions < *whole);
            }
        }
        if let (Some(split), Some(whole)) = (in_net(&code, true), in_net(&code, false)) {
            assert_eq!(split, whole, "seed {seed}, nets of\n{text}");
            nets += 1;
        }
    }
    println!("{compared} comparisons, {fewer} programs with fewer traces, {nets} nets");
    assert!(
        fewer * 10 > programs && compared > 3 * programs && nets * 2 > programs,
        "too few programs were compared or split: {fewer}, {compared}, {nets}"
    );
}
