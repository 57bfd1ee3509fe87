//! Sampled executions: χ² tests of their probabilities, with fixed seeds, and tests that only
//! possible executions are drawn.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use mazurka::{Options, Program, Verdict, quietly};
use mazurka_core::{Event, Execution, Limits, ProcessId, ProcessTable, Status};
use mazurka_explore::{
    Algorithm, BATCH, Findings, Goal, Method, Observer, Sample, Search, Workers,
};
use mazurka_lang::Machine;
use mazurka_testkit::{Config, Limit, Recording, generate, machine};

use crate::common::{panic_with_smallest, programs, truth};

/// An order that is counted: the processes that make the steps of a run, or those of its selected
/// steps.
type Order = Vec<String>;

/// Selects the steps of a run that are counted.
type Selects = fn(&[Event], &Event) -> bool;

fn all_steps(_run: &[Event], _event: &Event) -> bool {
    true
}

/// Whether a step touches something that another process touches.
fn shared_steps(run: &[Event], event: &Event) -> bool {
    let others = run.iter().filter(|other| other.process != event.process);
    let mut others = others.flat_map(|other| &other.claims);
    others.any(|other| event.claims.iter().any(|claim| claim.conflicts(*other)))
}

fn order_of(run: &[Event], table: &ProcessTable, selects: Selects) -> Order {
    let steps = run.iter().filter(|event| selects(run, event));
    steps
        .map(|event| table.path(event.process).to_string())
        .collect()
}

/// Counts the orders that were drawn. The first walk of a batch has learned nothing and is not
/// counted.
struct OrderCounter {
    selects: Selects,
    walks: u64,
    times: BTreeMap<Order, u64>,
}

impl Observer<Machine> for OrderCounter {
    fn complete(&mut self, program: &Machine) {
        if !self.walks.is_multiple_of(BATCH) {
            let order = order_of(program.events(), program.processes(), self.selects);
            *self.times.entry(order).or_default() += 1;
        }
        self.walks += 1;
    }
}

fn drawn(text: &str, method: Method, runs: u64, selects: Selects) -> BTreeMap<Order, u64> {
    let search = Search {
        algorithm: Sample { method, seed: 11 },
        limits: Limits {
            executions: Some(runs),
            ..Limits::default()
        },
        goal: Goal::Everything,
    };
    let mut counted = OrderCounter {
        selects,
        walks: 0,
        times: BTreeMap::new(),
    };
    let mut program = machine(text).expect("a program");
    search.run(
        &mut program,
        &mut |_| ControlFlow::Continue(()),
        &mut counted,
    );
    assert_eq!(counted.walks, runs);
    counted.times
}

/// Returns all orders of a program, by enumeration.
fn all_orders(text: &str, selects: Selects) -> Vec<Order> {
    fn walk(program: &mut Machine, selects: Selects, all: &mut Vec<Order>) {
        let processes = program.processes().in_order().to_vec();
        let is_ready = |&process: &ProcessId| program.status(process) == Status::Ready;
        let ready: Vec<ProcessId> = processes.into_iter().filter(is_ready).collect();
        let depth = program.events().len();
        if ready.is_empty() {
            assert!(program.is_final(), "no process waits");
            all.push(order_of(program.events(), program.processes(), selects));
        }
        for process in ready {
            program.step(process, &[]).expect("it is ready");
            walk(program, selects, all);
            program.back_to(depth);
        }
    }
    let mut all = Vec::new();
    walk(&mut machine(text).expect("a program"), selects, &mut all);
    all.sort();
    all.dedup();
    all
}

/// Pearson's statistic for counts and their expected shares.
fn chi_squared(times: &BTreeMap<Order, u64>, shares: &BTreeMap<Order, f64>) -> f64 {
    let mistake = times.keys().find(|order| !shares.contains_key(*order));
    assert_eq!(mistake, None, "only what is possible is drawn");
    let runs = times.values().sum::<u64>() as f64;
    let term = |(order, share): (&Order, &f64)| {
        let found = times.get(order).copied().unwrap_or(0) as f64;
        let expected = share * runs;
        assert!(expected > 5.0, "too few runs for the test");
        (found - expected).powi(2) / expected
    };
    shares.iter().map(term).sum()
}

/// Returns the value that the statistic exceeds by chance once in a thousand tests (Wilson and
/// Hilferty's approximation).
fn critical(freedom: usize) -> f64 {
    let ninth = 2.0 / (9.0 * freedom as f64);
    freedom as f64 * (1.0 - ninth + 3.0902 * ninth.sqrt()).powi(3)
}

fn evenly(orders: &[Order]) -> BTreeMap<Order, f64> {
    let share = 1.0 / orders.len() as f64;
    orders.iter().map(|order| (order.clone(), share)).collect()
}

#[test]
fn the_critical_values_are_those_of_the_tables() {
    // Tables have 29.59 for 10 degrees of freedom and 149.45 for 100, at 0.001.
    assert!((critical(10) / 29.59 - 1.0).abs() < 0.01);
    assert!((critical(100) / 149.45 - 1.0).abs() < 0.01);
}

/// Programs whose processes have different lengths and never wait; in some, processes are spawned.
const FREE: [&str; 3] = [
    "var x, y: int = 0
     process { x := 1; y := 1; x := 2 }  process { x := 3; y := 2 }  process { y := 3; x := 4 }",
    "var x: int = 0
     process { x := 1; x := 2; x := 3; x := 4; x := 5; x := 6 }  process { x := 7 }",
    "var x: int = 0
     proc two() { x := 5; x := 6 }
     process { x := 1; spawn two(); x := 2 }  process { x := 3; x := 4 }",
];

#[test]
fn walks_by_length_are_uniform_over_interleavings() {
    for text in FREE {
        let orders = all_orders(text, all_steps);
        let runs = 200 * orders.len() as u64 + 1000;
        let off = |method| {
            let times = drawn(text, method, runs, all_steps);
            chi_squared(&times, &evenly(&orders)) / critical(orders.len() - 1)
        };
        assert!(off(Method::Urw) < 1.0, "{} for {text}", off(Method::Urw));
        // The test distinguishes the methods: plain random walks fail it.
        assert!(off(Method::Random) > 2.0, "{text}");
    }
}

/// Processes share one object, with steps on others in between.
const SELECTIVE: [&str; 3] = [
    "var x, a, b, c: int = 0
     process { a := 1; x := 1; a := 2; a := 3; x := 2 }
     process { x := 3; b := 1; x := 4 }
     process { c := 1; c := 2; x := 5 }",
    "var x, a: int = 0
     process { x := 1; x := 2; x := 3; x := 4; a := 1 }  process { x := 5 }",
    "var x, a, b: int = 0
     proc other() { b := 1; x := 5; x := 6 }
     process { a := 1; x := 1; spawn other(); a := 2; x := 2 }  process { x := 3; x := 4 }",
];

#[test]
fn selective_walks_are_uniform_over_the_orders_of_selected_steps() {
    for text in SELECTIVE {
        let orders = all_orders(text, shared_steps);
        let runs = 400 * orders.len() as u64 + 1000;
        let off = |method| {
            let times = drawn(text, method, runs, shared_steps);
            chi_squared(&times, &evenly(&orders)) / critical(orders.len() - 1)
        };
        assert!(off(Method::Surw) < 1.0, "{} for {text}", off(Method::Surw));
        assert!(off(Method::Random) > 2.0, "{text}");
    }
}

/// A step of a straight-line program: the variable, and whether it is written.
type Touch = (usize, bool);

/// The probability with which POS draws each interleaving, by its definition: priorities are
/// independent, so all orders of the priorities drawn so far are equally likely, and a new priority
/// has each rank among them with the same probability.
struct Pos<'a> {
    program: &'a [Vec<Touch>],
    /// The numbers of the drawn priorities, highest first.
    ranking: Vec<usize>,
    /// For each process the number of its priority, if it has one.
    priority_of: Vec<Option<usize>>,
    made: Vec<usize>,
    order: Order,
    likely: BTreeMap<Order, f64>,
}

impl Pos<'_> {
    fn extend(&mut self, chance: f64) {
        let is_left = |process: &usize| self.made[*process] < self.program[*process].len();
        let left: Vec<usize> = (0..self.program.len()).filter(is_left).collect();
        if left.is_empty() {
            *self.likely.entry(self.order.clone()).or_default() += chance;
            return;
        }
        if let Some(&process) = left
            .iter()
            .find(|&&process| self.priority_of[process].is_none())
        {
            let drawn = self.ranking.len();
            self.priority_of[process] = Some(drawn);
            for rank in 0..=drawn {
                self.ranking.insert(rank, drawn);
                self.extend(chance / (drawn + 1) as f64);
                self.ranking.remove(rank);
            }
            self.priority_of[process] = None;
            return;
        }
        let rank = |process: &usize| {
            let number = self.priority_of[*process];
            self.ranking.iter().position(|known| Some(*known) == number)
        };
        let first = *left
            .iter()
            .min_by_key(|process| rank(process))
            .expect("one");
        let before = self.priority_of.clone();
        let step = |process: usize| self.program[process][self.made[process]];
        let (variable, writes) = step(first);
        for &process in &left {
            let (other, also) = step(process);
            if process == first || variable == other && (writes || also) {
                self.priority_of[process] = None;
            }
        }
        self.made[first] += 1;
        self.order.push(first.to_string());
        self.extend(chance);
        self.order.pop();
        self.made[first] -= 1;
        self.priority_of = before;
    }
}

#[test]
fn partial_order_sampling_is_as_likely_as_its_definition_says() {
    let programs: [&[Vec<Touch>]; 3] = [
        &[vec![(0, true), (1, true)], vec![(0, true), (1, false)]],
        &[
            vec![(0, true)],
            vec![(0, true)],
            vec![(1, true), (0, false)],
        ],
        &[vec![(0, false), (0, true)], vec![(0, false), (0, true)]],
    ];
    for program in programs {
        let body = |steps: &Vec<Touch>| {
            let line = |(variable, writes): &Touch| {
                if *writes {
                    format!("v{variable} := 1")
                } else {
                    format!("let r{variable} = v{variable}")
                }
            };
            let lines: Vec<String> = steps.iter().map(line).collect();
            format!("process {{ {} }}\n", lines.join("; "))
        };
        let bodies: String = program.iter().map(body).collect();
        let text = format!("var v0, v1: int = 0\n{bodies}");
        let mut exact = Pos {
            program,
            ranking: Vec::new(),
            priority_of: vec![None; program.len()],
            made: vec![0; program.len()],
            order: Vec::new(),
            likely: BTreeMap::new(),
        };
        exact.extend(1.0);
        let likely = exact.likely;
        assert!((likely.values().sum::<f64>() - 1.0).abs() < 1e-9);
        assert_eq!(likely.len(), all_orders(&text, all_steps).len(), "{text}");
        let off = |method| {
            let times = drawn(&text, method, 40_000, all_steps);
            chi_squared(&times, &likely) / critical(likely.len() - 1)
        };
        assert!(off(Method::Pos) < 1.0, "{} for {text}", off(Method::Pos));
        assert!(off(Method::Random) > 2.0, "{text}");
    }
}

fn sample(text: &str, sample: Sample, runs: u64, recording: &mut Recording) -> Option<Findings> {
    let search = Search {
        algorithm: sample,
        limits: Limits {
            executions: Some(runs),
            ..Limits::default()
        },
        goal: Goal::Everything,
    };
    let mut program = machine(text).ok()?;
    Some(search.run(&mut program, &mut |_| ControlFlow::Continue(()), recording))
}

/// Returns a result that is drawn but impossible, or counted wrongly.
fn mistake(text: &str, method: Method, seed: u64) -> Option<String> {
    let truth = truth(text, Limit::default())?;
    let mut recording = Recording::default();
    let found = sample(text, Sample { method, seed }, 100, &mut recording)?;
    let seen = recording.finish();
    let subsets = [
        (seen.traces.is_subset(&truth.traces), "traces"),
        (seen.deadlocks.is_subset(&truth.deadlocks), "deadlocks"),
        (seen.failures.is_subset(&truth.failures), "failures"),
        (
            seen.final_states.is_subset(&truth.final_states),
            "final states",
        ),
    ];
    if let Some((_, what)) = subsets.iter().find(|(is_subset, _)| !is_subset) {
        return Some(format!("{what} that are not there"));
    }
    let counted = (found.walks, found.counts.traces, found.counts.executions);
    let expected = (100, Some(seen.traces.len() as u64), seen.executions);
    if counted != expected {
        return Some(format!("counts {counted:?}, there are {expected:?}"));
    }
    let estimate = found.estimate();
    let right = match estimate {
        None => seen.executions == 0,
        Some(estimate) => {
            estimate.executions == seen.executions
                && estimate.different == seen.traces.len() as u64
                && estimate.at_least >= estimate.different
                && (0.0..=1.0).contains(&estimate.unseen)
        }
    };
    (!right).then(|| format!("{estimate:?} of {} executions", seen.executions))
}

#[test]
fn only_possible_executions_are_drawn() {
    let mut looked_at = 0;
    for seed in 7_000_000..7_000_000 + programs(120) {
        let program = generate(seed, &Config::default());
        for method in Method::ALL {
            let wrong = |text: &str| mistake(text, method, seed);
            if wrong(&program.to_string()).is_some() {
                panic_with_smallest(&format!("{} {seed}", method.name()), &program, wrong);
            }
        }
        looked_at += u64::from(truth(&program.to_string(), Limit::default()).is_some());
    }
    assert!(looked_at * 2 > programs(120), "{looked_at} programs");
}

/// Returns the record of a sample without the data that vary from run to run, such as times.
fn record(program: &Program, sample: Sample, runs: u64, jobs: usize) -> mazurka::record::Record {
    let mut options = Options::default();
    (options.limits.executions, options.jobs) = (Some(runs), jobs);
    let record = program.sample(sample, &options, &mut quietly());
    let mut record = record.expect("it can be searched");
    (record.seconds, record.options) = (0.0, None);
    record
}

#[test]
fn a_violation_that_is_drawn_is_found_by_exploring_too() {
    let mut violated = 0;
    for seed in 7_500_000..7_500_000 + programs(120) {
        let text = generate(seed, &Config::default()).to_string();
        let Ok(program) = Program::load("random.maz", &text, &[]) else {
            continue;
        };
        let explored = program.explore(Algorithm::Optimal, &Options::default(), &mut quietly());
        let explored = explored.expect("it can be explored");
        for method in Method::ALL {
            let drawn = record(&program, Sample { method, seed }, 200, 1);
            assert_ne!(drawn.verdict, Verdict::Verified, "{text}");
            if drawn.verdict == Verdict::Violated {
                violated += 1;
                let found = explored.found();
                let more = drawn.found().without(found);
                assert!(more.is_empty(), "{more:?} by {}: {text}", method.name());
                let most = explored.counts;
                assert!(drawn.counts.failures <= most.failures, "{text}");
                assert!(drawn.counts.deadlocks <= most.deadlocks, "{text}");
            }
        }
    }
    assert!(violated > 20, "{violated}");
}

#[test]
fn equal_seeds_draw_the_same_with_any_number_of_workers() {
    let (mut violated, mut inconclusive) = (0, 0);
    for seed in 8_000_000..8_000_000 + programs(25) {
        let text = generate(seed, &Config::default()).to_string();
        let Ok(program) = Program::load("random.maz", &text, &[]) else {
            continue;
        };
        for method in Method::ALL {
            let drawn = |jobs| record(&program, Sample { method, seed }, 2300, jobs);
            let one = drawn(1);
            for jobs in [1, 2, 5] {
                assert_eq!(drawn(jobs), one, "{} with {jobs}: {text}", method.name());
            }
            match one.verdict {
                Verdict::Violated => violated += 1,
                _ => inconclusive += 1,
            }
        }
    }
    assert!(
        violated > 5 && inconclusive > 5,
        "{violated} {inconclusive}"
    );
}

/// The failure is so rare that only a later batch finds it, if any. Any number of workers gives the
/// same result.
#[test]
fn workers_stop_at_the_failure_of_the_first_batch_that_has_one() {
    let text = "var x: int = 0
        process { x := 1; x := 2; x := 3; x := 4; x := 5 }
        process { let a = x; let b = x; let c = x; let d = x; let e = x;
                  assert !(a == 1 && b == 2 && c == 3 && d == 4 && e == 5) }";
    let program = Program::load("rare.maz", text, &[]).expect("a program");
    let mut later = 0;
    for seed in 0..6 {
        for method in Method::ALL {
            let drawn = |jobs| record(&program, Sample { method, seed }, 8000, jobs);
            let one = drawn(1);
            assert_eq!(drawn(4), one, "{} {seed}", method.name());
            let runs = one.sample.expect("a sample").runs;
            later += u64::from(one.verdict == Verdict::Violated && runs > BATCH);
        }
    }
    assert!(later > 0, "the failure was always in the first batch");
}

#[test]
fn enough_samples_cover_a_program() {
    let text = "var x, y: int = 0
        process { x := 1; y := 1 }  process { x := 2; y := 2 }";
    let possible = truth(text, Limit::default()).expect("a small program");
    for method in Method::ALL {
        let mut recording = Recording::default();
        let found = sample(text, Sample { method, seed: 3 }, 3000, &mut recording);
        assert_eq!(
            recording.finish().traces,
            possible.traces,
            "{}",
            method.name()
        );
        let estimate = found
            .and_then(|found| found.estimate())
            .expect("an estimate");
        let traces = possible.traces.len() as u64;
        assert_eq!((estimate.covered(), estimate.at_least), (1.0, traces));
    }
}

/// The estimate is near the truth, which is the total probability of the traces that are not in the
/// sample. This probability is known if all interleavings are equally likely.
#[test]
fn the_estimate_is_near_to_the_truth() {
    let body = |k: usize| format!("process {{ x := {k}; x := 1{k}; x := 2{k} }}\n");
    let text = format!("var x: int = 0\n{}{}{}", body(1), body(2), body(3));
    // All steps conflict, so each of the 9!/(3!)³ interleavings is a separate trace.
    let all = 1680.0;
    for runs in [500, 1000] {
        let mut recording = Recording::default();
        let method = Method::Urw;
        let found = sample(&text, Sample { method, seed: 5 }, runs, &mut recording);
        let estimate = found
            .and_then(|found| found.estimate())
            .expect("an estimate");
        let unseen = 1.0 - estimate.different as f64 / all;
        assert!((estimate.unseen - unseen).abs() < 0.05, "{estimate:?}");
        let off = estimate.at_least as f64 / all;
        assert!((0.85..1.15).contains(&off), "{estimate:?}");
    }
}

/// The workers of `mazurka_explore`, without the library around them.
#[test]
fn one_worker_draws_where_steps_are_limited() {
    let program = machine(FREE[0]).expect("a program");
    let found = [1, 4].map(|count| {
        let search = Search {
            algorithm: Sample {
                method: Method::Surw,
                seed: 1,
            },
            limits: Limits {
                executions: Some(9000),
                steps: Some(12_345),
                ..Limits::default()
            },
            goal: Goal::Everything,
        };
        let workers = Workers {
            count,
            programs: &|| machine(FREE[0]).expect("a program"),
        };
        let found = search.share_walks(&workers, &mut |_| ControlFlow::Continue(()));
        (found.counts, found.bounds, found.walks)
    });
    assert_eq!(found[0], found[1]);
    assert_eq!(found[0].0.steps, 12_345);
    assert!(program.events().is_empty());
}
