//! Symbolic execution: the figures of the SymPaths paper, and its Theorems 2 and 3 on random
//! programs.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use mazurka_core::{
    Bound, Execution, Limits, Mishap, MishapKind, Narrator, Semantics, Status, with_status,
};
use mazurka_explore::{
    Algorithm, Audience, End, Goal, LeadsHere, Observer, Rank, Reduction, Search, SymbolicFindings,
    SymbolicSearch, Workers, past_is_discarded,
};
use mazurka_lang::{Machine, Setting, SymbolicMachine, compile, compile_symbolic, load};
use mazurka_smt::{Assembly, Choice, assemble};
use mazurka_testkit::swarm::{BATCH, swarm};
use mazurka_testkit::tree::{Program, Type, Var};
use mazurka_testkit::{Config, Limit, Visit, every_run, generate};

fn settings(set: &[(&str, String)]) -> Vec<Setting> {
    let setting = |(name, value): &(&str, String)| Setting {
        name: (*name).to_owned(),
        value: value.clone(),
    };
    set.iter().map(setting).collect()
}

/// Makes a symbolic machine with or without a solver. `exits`: whether leaving a bounded loop is a
/// step, as in the SymPaths prototype.
fn symbolic_machine(
    source: &str,
    set: &[(&str, String)],
    exits: bool,
    solver: bool,
) -> SymbolicMachine {
    let program = load(source, &settings(set)).expect("a program");
    let code = Arc::new(compile_symbolic(&program, source, exits));
    let embedded = Assembly {
        choice: Choice::Embedded,
        ..Assembly::default()
    };
    let solver = solver.then(|| assemble(embedded).expect("it is always there") as Box<_>);
    // A loop over symbolic locals may be infinite, so a step is cut after ten decisions: each
    // counts as 4000 units of local work.
    SymbolicMachine::new(code, 40_000, solver)
}

struct IgnoreResults;

impl<E> Audience<E> for IgnoreResults {
    fn ended(&mut self, _: &E, _: End, _: &dyn LeadsHere) {}
    fn failed(&mut self, _: &E, _: Mishap, _: &dyn LeadsHere) {}
}

fn run(
    machine: &mut SymbolicMachine,
    reduction: Reduction,
    pruned: bool,
    audience: &mut dyn Audience<SymbolicMachine>,
) -> SymbolicFindings {
    let watch = &mut |_: &_| ControlFlow::Continue(());
    let limits = Limits {
        steps: Some(150_000),
        depth: Some(100),
        ..Limits::default()
    };
    let search = SymbolicSearch {
        reduction,
        pruned,
        limits,
        alone: Duration::ZERO,
    };
    search.run(machine, watch, audience)
}

const FIG8: &str = include_str!("../../../../corpus/maz/sympaths-fig8/program.maz");
const EXAMPLE2: &str = include_str!("../../../../corpus/maz/sympaths-example2/program.maz");

#[test]
fn the_table_of_example_3() {
    for (bounds, none, paper, canonical) in [
        (["1", "1"], (6744, 14_495), [35, 596, 271], 25),
        (["2", "1"], (58_944, 132_884), [97, 1562, 821], 58),
    ] {
        let set = [("A", bounds[0].to_owned()), ("B", bounds[1].to_owned())];
        let count = |reduction, pruned| {
            let found = run(
                &mut symbolic_machine(FIG8, &set, true, false),
                reduction,
                pruned,
                &mut IgnoreResults,
            );
            (found.states, found.steps)
        };
        assert_eq!(count(Reduction::None, false), none);
        let [states, steps, steps_pruned] = paper;
        let plain = count(Reduction::Paper, false);
        assert!(plain.0 == states && plain.1 <= steps, "{plain:?}");
        let pruned = count(Reduction::Paper, true);
        assert!(pruned.0 == states && pruned.1 <= steps_pruned, "{pruned:?}");
        assert_eq!(count(Reduction::Canonical, false).0, canonical);
        assert_eq!(count(Reduction::Canonical, true).0, canonical);
    }
}

#[test]
fn the_states_of_example_2() {
    for (reduction, states) in [
        (Reduction::None, 6),
        (Reduction::Paper, 4),
        (Reduction::Canonical, 4),
    ] {
        let mut machine = symbolic_machine(EXAMPLE2, &[], true, false);
        assert_eq!(
            run(&mut machine, reduction, false, &mut IgnoreResults).states,
            states
        );
    }
}

#[test]
fn pruning_keeps_the_deadlock_of_a_process_that_may_have_to_wait() {
    // `join` waits for nothing, and ends its process; the guard may or may not hold.
    let program = "var x: int process { join } process { x <= 1 |> skip }";
    for &reduction in Reduction::ALL {
        for pruned in [false, true] {
            let mut machine = symbolic_machine(program, &[], true, true);
            let found = run(&mut machine, reduction, pruned, &mut IgnoreResults);
            assert_eq!(found.deadlocks, 1, "{reduction:?}, pruned {pruned}");
        }
    }
}

#[test]
fn steps_that_check_the_same_invariant_are_dependent() {
    // If `f` holds at first, only one order is without a failure.
    let program = "var x: i8 = 0 var f: bool
        invariant x == 0 || !f process { x := 1 } process { f := false }";
    for &reduction in Reduction::ALL {
        let mut machine = symbolic_machine(program, &[], true, true);
        let found = run(&mut machine, reduction, false, &mut IgnoreResults);
        // The three states: process 0 comes first and fails, because `f` holds; process 0 comes
        // first, and `f` does not hold; process 1 comes first.
        assert_eq!((found.states, found.failures), (3, 1), "{reduction:?}");
    }
}

/// Counts mishaps.
#[derive(Default)]
struct Mishaps(u32);

impl<E> Audience<E> for Mishaps {
    fn ended(&mut self, _: &E, _: End, _: &dyn LeadsHere) {}
    fn failed(&mut self, _: &E, _: Mishap, _: &dyn LeadsHere) {
        self.0 += 1;
    }
}

#[test]
fn a_false_assume_before_the_first_step_discards_everything() {
    let program = "var x: int process { assume false } process { x := x + 1; assert x >= 0 }";
    for &reduction in Reduction::ALL {
        let mut machine = symbolic_machine(program, &[], true, true);
        let mut mishaps = Mishaps::default();
        let found = run(&mut machine, reduction, false, &mut mishaps);
        let counted = (mishaps.0, found.failures, found.discarded);
        assert_eq!(counted, (0, 0, 2), "{reduction:?}");
    }
}

/// The states and mishaps that an exploration shows for each valuation.
#[derive(Debug, Default, PartialEq, Eq)]
struct ShownStates {
    finals: BTreeSet<(Vec<i64>, Vec<i64>)>,
    deadlocks: BTreeSet<(Vec<i64>, Vec<i64>)>,
    failures: BTreeSet<(Vec<i64>, String)>,
    lost: bool,
}

/// A generated program with some variables made symbolic, and a few values for each.
struct Family {
    text: String,
    symbolic: Vec<Var>,
}

impl Family {
    fn new(program: &Program, most: usize) -> Option<Self> {
        let scalar = |var: &&Var| var.len.is_none();
        let symbolic: Vec<Var> = program
            .vars
            .iter()
            .filter(scalar)
            .take(most)
            .cloned()
            .collect();
        let mut text = program.to_string();
        let mut required = String::new();
        for Var { name, ty, .. } in &symbolic {
            let declared = format!("var {name}: {ty} = ");
            let start = text.find(&declared)?;
            let end = start + text[start..].find('\n')?;
            text.replace_range(start..end, &format!("var {name}: {ty}"));
            if *ty != Type::Bool {
                let values = domain(*ty);
                let (least, most) = (values[0], values[values.len() - 1]);
                required.push_str(&format!("requires {name} >= {least} && {name} <= {most}\n"));
            }
        }
        let first = text
            .find("process")
            .unwrap_or(0)
            .min(text.find("proc ").unwrap_or(usize::MAX));
        text.insert_str(first, &required);
        (!symbolic.is_empty()).then_some(Self { text, symbolic })
    }

    /// Returns all valuations of the symbolic variables.
    fn valuations(&self) -> Vec<Vec<i64>> {
        let mut all = vec![Vec::new()];
        for var in &self.symbolic {
            let with = |values: Vec<i64>| {
                domain(var.ty).iter().map(move |&value| {
                    let mut longer = values.clone();
                    longer.push(value);
                    longer
                })
            };
            all = all.into_iter().flat_map(with).collect();
        }
        all
    }

    fn settings(&self, valuation: &[i64]) -> Vec<(&str, String)> {
        let pairs = self.symbolic.iter().zip(valuation);
        pairs
            .map(|(var, &value)| {
                let text = match var.ty {
                    Type::Bool => (value != 0).to_string(),
                    _ => value.to_string(),
                };
                (&var.name[..], text)
            })
            .collect()
    }

    /// Returns the results of brute force for each valuation; `None` if there are too many runs.
    fn truth(&self) -> Option<ShownStates> {
        let mut shown = ShownStates::default();
        for valuation in self.valuations() {
            let program = load(&self.text, &settings(&self.settings(&valuation))).ok()?;
            let code = compile(&program, &self.text).ok()?;
            let mut machine = Machine::new(Arc::new(code), 1_000_000);
            let cells = |machine: &Machine| -> Vec<i64> {
                let bindings = machine.bindings(false).into_iter();
                bindings.flat_map(|b| numbers(&b.value)).collect()
            };
            let mut failed: Vec<Mishap> = machine.initial_mishaps().to_vec();
            let limit = Limit {
                executions: 2_000,
                depth: 60,
            };
            every_run(&mut machine, limit, &mut |machine, visit| {
                match visit {
                    Visit::Enter => failed.extend(last_failures(machine)),
                    Visit::Leave => {}
                    Visit::Complete => match end_of(machine) {
                        End::Final => {
                            failed.extend(machine.final_mishaps());
                            shown.finals.insert((valuation.clone(), cells(machine)));
                        }
                        End::Deadlock => {
                            shown.deadlocks.insert((valuation.clone(), cells(machine)));
                        }
                        End::Lost => shown.lost = true,
                        _ => {}
                    },
                }
                for mishap in failed.drain(..) {
                    if mishap.kind == MishapKind::Failure {
                        let text = without_reason(machine.explain(&mishap).0);
                        shown.failures.insert((valuation.clone(), text));
                    }
                }
            })
            .ok()?;
        }
        Some(shown)
    }
}

/// Returns the text of a failure without the reason why its condition cannot be computed. On a path
/// over unknown values, it may be known only that the condition does not hold.
fn without_reason(text: String) -> String {
    let marker = " cannot be computed (";
    let Some(start) = text.find(marker) else {
        return text;
    };
    let reason = &text[start + marker.len()..];
    match reason.find("): `") {
        Some(end) => format!("{} does not hold{}", &text[..start], &reason[end + 1..]),
        None => text,
    }
}

fn domain(ty: Type) -> &'static [i64] {
    match ty {
        Type::Bool => &[0, 1],
        Type::Int | Type::I8 => &[-1, 0, 1, 2],
        Type::U8 => &[0, 1, 2],
    }
}

/// Returns the numbers in a text such as `[1, true, -2]`.
fn numbers(text: &str) -> Vec<i64> {
    let parts = text.trim_matches(['[', ']']).split(", ");
    parts
        .map(|part| match part {
            "true" => 1,
            "false" => 0,
            number => number.parse().expect("a number"),
        })
        .collect()
}

fn last_failures<E: Execution>(program: &E) -> Vec<Mishap> {
    let Some(event) = program.events().last() else {
        return Vec::new();
    };
    let counts = |_: &&Mishap| !past_is_discarded(program, program.events().len() - 1);
    event.mishaps.iter().filter(counts).copied().collect()
}

fn end_of<E: Execution>(program: &E) -> End {
    let any = |status| !with_status(program, status).is_empty();
    match () {
        () if any(Status::Lost) => End::Lost,
        () if any(Status::Discarded) => End::Discarded,
        () if any(Status::Failed) => End::Failure,
        () if any(Status::Waiting) => End::Deadlock,
        () => End::Final,
    }
}

/// Records what a symbolic exploration shows at the end of each path, for every valuation that
/// satisfies the condition of the path.
struct ValuationRecorder<'a> {
    family: &'a Family,
    valuations: Vec<Vec<i64>>,
    shown: ShownStates,
}

impl<'a> ValuationRecorder<'a> {
    fn new(family: &'a Family) -> Self {
        Self {
            family,
            valuations: family.valuations(),
            shown: ShownStates::default(),
        }
    }

    fn under(&self, machine: &SymbolicMachine) -> Vec<(Vec<i64>, Vec<i64>)> {
        let names: Vec<&str> = self.family.symbolic.iter().map(|v| &v.name[..]).collect();
        let mut found = Vec::new();
        for valuation in &self.valuations {
            let value = |name: &str| {
                let at = names.iter().position(|known| *known == name)?;
                Some(valuation[at])
            };
            let cells = machine.under(value);
            found.extend(cells.map(|cells| (valuation.clone(), cells)));
        }
        found
    }

    fn complete(&mut self, machine: &SymbolicMachine, end: End) {
        match end {
            End::Final => {
                for mishap in machine.final_mishaps() {
                    self.mishap(machine, mishap);
                }
                self.shown.finals.extend(self.under(machine));
            }
            End::Deadlock => self.shown.deadlocks.extend(self.under(machine)),
            End::Lost => self.shown.lost = true,
            _ => {}
        }
    }

    fn mishap(&mut self, machine: &SymbolicMachine, mishap: Mishap) {
        if mishap.kind != MishapKind::Failure {
            return;
        }
        let text = machine.explain(&mishap).0;
        for valuation in &self.valuations {
            let value = |name: &str| {
                let mut names = self.family.symbolic.iter();
                let at = names.position(|var| var.name == name)?;
                Some(valuation[at])
            };
            if machine.fails_under(&mishap, value) {
                let failure = (valuation.clone(), text.clone());
                self.shown.failures.insert(failure);
            }
        }
    }
}

impl Audience<SymbolicMachine> for ValuationRecorder<'_> {
    fn ended(&mut self, machine: &SymbolicMachine, end: End, _: &dyn LeadsHere) {
        self.complete(machine, end);
    }

    fn failed(&mut self, machine: &SymbolicMachine, mishap: Mishap, _: &dyn LeadsHere) {
        self.mishap(machine, mishap);
    }
}

impl Observer<SymbolicMachine> for ValuationRecorder<'_> {
    fn start(&mut self, machine: &SymbolicMachine) {
        self.shown = ShownStates::default();
        for &mishap in machine.initial_mishaps() {
            self.mishap(machine, mishap);
        }
    }

    fn pushed(&mut self, machine: &SymbolicMachine) {
        for mishap in last_failures(machine) {
            self.mishap(machine, mishap);
        }
    }

    fn complete(&mut self, machine: &SymbolicMachine) {
        ValuationRecorder::complete(self, machine, end_of(machine));
    }
}

/// Theorem 2: every state that a symbolic state represents is reachable. Theorem 3: each reachable
/// state is represented by some symbolic state. Returns false if the generated program was not
/// checked, because it has no variable to make symbolic or too many runs.
fn correct_and_complete(seed: u64, config: &Config) -> bool {
    let program = generate(seed, config);
    let Some(family) = Family::new(&program, 2) else {
        return false;
    };
    let Some(truth) = family.truth() else {
        return false;
    };
    let text = &family.text;
    let compare = |name: &str, shown: ShownStates| {
        if shown.lost || truth.lost {
            return;
        }
        let sets = [
            ("final states", &truth.finals, &shown.finals),
            ("deadlocks", &truth.deadlocks, &shown.deadlocks),
        ];
        for (what, truth, shown) in sets {
            let lost: Vec<_> = truth.difference(shown).take(3).collect();
            let invented: Vec<_> = shown.difference(truth).take(3).collect();
            assert!(
                lost.is_empty() && invented.is_empty(),
                "seed {seed}, {name}: {what} lost {lost:?}, invented {invented:?}\n{text}"
            );
        }
        assert_eq!(
            truth.failures, shown.failures,
            "seed {seed}, {name}\n{text}"
        );
    };
    for reduction in [Reduction::None, Reduction::Paper, Reduction::Canonical] {
        for (solver, pruned, exits) in [
            (true, false, false),
            (true, true, true),
            (false, false, true),
        ] {
            let mut machine = symbolic_machine(text, &[], exits, solver);
            let mut scribe = ValuationRecorder::new(&family);
            let found = run(&mut machine, reduction, pruned, &mut scribe);
            if !found.bounds.is_empty() {
                continue;
            }
            compare(
                &format!("{reduction:?}, solver {solver}, pruned {pruned}"),
                scribe.shown,
            );
        }
    }
    for &algorithm in Algorithm::ALL {
        let mut machine = symbolic_machine(text, &[], false, true);
        let mut scribe = ValuationRecorder::new(&family);
        let watch = &mut |_: &_| ControlFlow::Continue(());
        let limits = Limits {
            steps: Some(20_000),
            depth: Some(100),
            ..Limits::default()
        };
        let goal = Goal::Everything;
        let search = Search {
            algorithm,
            limits,
            goal,
        };
        let found = search.run(&mut machine, watch, &mut scribe);
        if found.bounds.is_empty() {
            compare(&algorithm.to_string(), scribe.shown);
        }
    }
    true
}

/// Checks `count` generated programs, or as many as `MAZURKA_PROGRAMS` says. For a long run:
/// `MAZURKA_PROGRAMS=2000 cargo test -p mazurka-testkit --test it symbolic::`
fn programs(first: u64, count: u64, config: &Config) {
    let count = crate::common::programs(count);
    let looked_at = (first..first + count).filter(|&seed| correct_and_complete(seed, config));
    assert!(
        looked_at.count() as u64 * 3 > count,
        "most programs are too large"
    );
}

fn small() -> Config {
    Config {
        processes: 3,
        interleavings: 150.0,
        ..Config::default()
    }
}

#[test]
fn symbolic_states_represent_the_states_of_their_valuations() {
    programs(1, 60, &small());
}

/// Describes all findings by their ranks.
#[derive(Default)]
struct Ranked(BTreeMap<Rank, String>);

impl Audience<SymbolicMachine> for Ranked {
    fn ended(&mut self, machine: &SymbolicMachine, end: End, leads_here: &dyn LeadsHere) {
        // States that were not expanded have an order of their own.
        if end != End::Cut {
            let (state, schedule) = (machine.fingerprint(), leads_here.schedule());
            let text = format!("{end:?} {state:?} {schedule} made {}", leads_here.run());
            let known = self.0.entry(leads_here.rank()).or_default();
            known.push_str(&text);
        }
    }

    fn failed(&mut self, machine: &SymbolicMachine, mishap: Mishap, leads_here: &dyn LeadsHere) {
        let (what, schedule) = (machine.explain(&mishap).0, leads_here.schedule());
        let known = self.0.entry(leads_here.rank()).or_default();
        known.push_str(&format!("{what} {schedule} made {}; ", leads_here.run()));
    }
}

/// Returns the findings of some workers, in the order of the ranks, and whether workers shared the
/// search.
fn shared(
    source: &str,
    (search, exits, solver): (&SymbolicSearch, bool, bool),
    jobs: usize,
) -> (SymbolicFindings, Vec<String>, bool) {
    let machines = || symbolic_machine(source, &[], exits, solver);
    let workers = Workers {
        count: jobs,
        programs: &machines,
    };
    let watch = &mut |_: &_| ControlFlow::Continue(());
    let (mut found, all) = search.share(&mut machines(), &workers, watch, &Ranked::default);
    found.elapsed = Duration::ZERO;
    let several = all.len() > 1;
    let mut ranked: Vec<(Rank, String)> = all.into_iter().flat_map(|one| one.0).collect();
    ranked.sort();
    let told = ranked.into_iter().map(|(_, text)| text).collect();
    (found, told, several)
}

/// Compares one worker with two and three. Returns how many of these searches were shared.
fn the_same_for_any_number_of_workers(name: &str, source: &str) -> u64 {
    let mut shares = 0;
    for &reduction in Reduction::ALL {
        for (solver, pruned, exits) in [(true, false, false), (true, true, true)] {
            let search = SymbolicSearch {
                reduction,
                pruned,
                limits: Limits {
                    depth: Some(30),
                    ..Limits::default()
                },
                alone: Duration::ZERO,
            };
            let with = (&search, exits, solver);
            // A limit on steps is exact, and one worker honours it.
            let limited = SymbolicSearch {
                limits: Limits {
                    steps: Some(20_000),
                    ..search.limits.clone()
                },
                ..search.clone()
            };
            let (small, ..) = shared(source, (&limited, exits, solver), 1);
            if small
                .bounds
                .iter()
                .any(|bound| matches!(bound, Bound::MaxSteps(_)))
            {
                continue;
            }
            let one = shared(source, with, 1);
            assert!(!one.2);
            for jobs in [2, 3] {
                let more = shared(source, with, jobs);
                let title = format!("{name}, {reduction}, pruned {pruned}, {jobs} workers");
                assert_eq!(one.0, more.0, "{title}\n{source}");
                assert_eq!(one.1, more.1, "{title}\n{source}");
                shares += u64::from(more.2);
            }
        }
    }
    shares
}

#[test]
fn workers_change_nothing_for_random_programs() {
    let count = crate::common::programs(40);
    let config = Config {
        processes: 3,
        interleavings: 3000.0,
        ..Config::default()
    };
    let mut shares = 0;
    for seed in 0..count {
        if let Some(family) = Family::new(&generate(seed, &config), 2) {
            let name = format!("program {seed}");
            shares += the_same_for_any_number_of_workers(&name, &family.text);
        }
    }
    for seed in 0..count {
        let text = swarm(seed * BATCH / 2);
        if load(&text, &[]).is_ok() {
            let name = format!("swarm {seed}");
            shares += the_same_for_any_number_of_workers(&name, &text);
        }
    }
    assert!(
        shares > 2 * count,
        "{shares} of {count} programs were shared"
    );
}

#[test]
fn workers_change_nothing_for_the_figure_of_the_paper() {
    for bounds in [["1", "1"], ["2", "1"]] {
        let source = FIG8
            .replace("const A = 1", &format!("const A = {}", bounds[0]))
            .replace("const B = 1", &format!("const B = {}", bounds[1]));
        assert!(the_same_for_any_number_of_workers("Fig. 8", &source) >= 8);
    }
}
