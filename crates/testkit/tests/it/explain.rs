//! Explanations: every complete run with the explained orders of steps shows the violation, by
//! brute force over all runs, and no smaller set of orders is enough.

use mazurka::{Options, Program, Verdict, quietly};
use mazurka_core::record::{Ending, Kind};
use mazurka_core::{Execution, Mishap, MishapKind, Narrator, ProcessId, Status, ending};
use mazurka_lang::Machine;
use mazurka_testkit::{Config, generate, machine};

use crate::common::programs;

/// The maximal number of runs that are examined.
const MOST_RUNS: usize = 3_000;

/// The steps of a complete run, by process and index, and whether the run shows the violation.
type Complete = (Vec<(String, usize)>, bool);

fn walk(program: &mut Machine, shows: &dyn Fn(&Machine) -> Option<bool>, all: &mut Vec<Complete>) {
    if all.len() > MOST_RUNS {
        return;
    }
    let processes = program.processes().in_order().to_vec();
    let ready: Vec<ProcessId> = processes
        .into_iter()
        .filter(|&process| program.status(process) == Status::Ready)
        .collect();
    let depth = program.events().len();
    if ready.is_empty()
        && let Some(shown) = shows(program)
    {
        let mut steps: Vec<(String, usize)> = Vec::new();
        for event in program.events() {
            let process = program.processes().path(event.process).to_string();
            let before = steps.iter().filter(|(known, _)| *known == process).count();
            steps.push((process, before + 1));
        }
        all.push((steps, shown));
    }
    for process in ready {
        let mut next = Some(Vec::new());
        while let Some(given) = next.take() {
            let event = program.step(process, &given).expect("it is ready").clone();
            let outcomes: Vec<i64> = event.outcomes.iter().map(|one| one.value).collect();
            let more = event
                .outcomes
                .iter()
                .rposition(|one| one.value + 1 < one.end);
            next = more.map(|at| {
                let mut given = outcomes[..=at].to_vec();
                given[at] += 1;
                given
            });
            walk(program, shows, all);
            program.back_to(depth);
        }
    }
}

type Pair = [(String, usize); 2];

fn has_orders(run: &[(String, usize)], orders: &[Pair]) -> bool {
    let at = |step: &(String, usize)| run.iter().position(|known| known == step);
    orders.iter().all(|[first, second]| {
        let (first, second) = (at(first), at(second));
        first.is_some() && second.is_some() && first < second
    })
}

#[test]
fn the_explained_orders_cause_the_violation() {
    let (mut explained, mut of_two) = (0, 0);
    for seed in 0..programs(250) {
        let text = generate(seed, &Config::default()).to_string();
        let Ok(program) = Program::load("random.maz", &text, &[]) else {
            continue;
        };
        let record = program.check(&Options::default(), &mut quietly());
        let record = record.expect("it can be checked");
        let Some(explanation) = &record.explanation else {
            continue;
        };
        let witness = &record.witnesses[0];
        let place = witness.place.clone();
        let mut brute = machine(&text).expect("a program");
        // A failure is identified by its message and place.
        let line = |machine: &Machine, mishap: &Mishap| {
            let (message, at) = machine.explain(mishap);
            (message, at.map(|at| (at.line, at.column)))
        };
        let wanted = (
            witness.message.clone(),
            place.map(|at| (at.line, at.column)),
        );
        let shows = |machine: &Machine| match (ending(machine), witness.kind) {
            (Ending::Discarded | Ending::Lost, _) => None,
            (end, Kind::Deadlock) => Some(end == Ending::Deadlock),
            (end, _) => {
                let same = |mishap: &Mishap| {
                    mishap.kind == MishapKind::Failure && line(machine, mishap) == wanted
                };
                let events = machine.events().iter();
                let mut mishaps = events.flat_map(|event| &event.mishaps);
                let at_end = || end == Ending::Final && machine.final_mishaps().iter().any(same);
                Some(mishaps.any(same) || at_end())
            }
        };
        let mut runs = Vec::new();
        walk(&mut brute, &shows, &mut runs);
        if runs.len() > MOST_RUNS {
            continue;
        }
        let name = |step: &mazurka_core::record::NamedStep| (step.process.clone(), step.index);
        let orders = explanation.orders.iter();
        let orders: Vec<Pair> = orders
            .map(|pair| [name(&pair.first), name(&pair.second)])
            .collect();
        for (run, shown) in &runs {
            let as_told = has_orders(run, &orders);
            assert!(
                !as_told || *shown,
                "seed {seed}: {run:?} {orders:?}\n{text}"
            );
        }
        assert!(
            runs.iter().any(|(run, _)| has_orders(run, &orders)),
            "seed {seed}: no run has the orders {orders:?}\n{text}"
        );
        explained += 1;
        if orders.len() < 2 {
            continue;
        }
        of_two += 1;
        // No single order of two steps is enough: some run without the violation also has it.
        let others = || runs.iter().filter(|(_, shown)| !shown);
        let steps: Vec<(String, usize)> = {
            let mut steps = Vec::new();
            for step in &witness.runs[0].steps {
                let before = steps.iter().filter(|(known, _)| *known == step.process);
                let number = before.count() + 1;
                steps.push((step.process.clone(), number));
            }
            let known = |step: &(String, usize)| others().any(|(run, _)| run.contains(step));
            steps.into_iter().filter(known).collect()
        };
        for (at, first) in steps.iter().enumerate() {
            for second in &steps[at + 1..] {
                let pair = [[first.clone(), second.clone()]];
                let enough = first.0 != second.0
                    && !others().any(|(run, _)| has_orders(run, &pair))
                    && runs.iter().any(|(run, _)| has_orders(run, &pair));
                assert!(!enough, "seed {seed}: {pair:?} is enough\n{text}");
            }
        }
    }
    println!("{explained} explained, {of_two} of them by several orders");
    assert!(explained > 20 && of_two > 0, "{explained}, {of_two}");
}

#[test]
fn a_failure_of_discarded_runs_alone_is_not_explained() {
    let explained = |text: &str| {
        let program = Program::load("discarded.maz", text, &[]).expect("a program");
        let record = program.check(&Options::default(), &mut quietly());
        let record = record.expect("it can be checked");
        assert_eq!(record.verdict, Verdict::Violated, "{text}");
        record.explanation
    };
    // The failure does not depend on the `assume`, but no complete run counts.
    let discarded = "var x, y: int = 0\nprocess { assert x == 1 }\nprocess { assume y == 1 }\n";
    assert_eq!(explained(discarded), None);
    let kept = explained(&discarded.replace("y == 1", "y == 0")).expect("every run shows it");
    assert_eq!((kept.orders.len(), kept.shown, kept.traces), (0, 1, 1));
}
