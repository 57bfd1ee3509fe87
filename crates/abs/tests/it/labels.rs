//! Tests that the permutations of a recorded run of an actor program are exactly the runs with the
//! same labels.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::common::{code, corpus};
use crate::nets::program_of_futures;
use crate::random::{number, program_of};
use mazurka_abs::{Code, Machine, Settings, load};
use mazurka_core::{
    Execution, Fingerprint, Labelled, Limits, Schedule, Status, TraceHasher, with_status,
};
use mazurka_explore::{Algorithm, Extent, Goal, Observer, Permute, Permuted, Search};

/// The maximal number of interleavings.
const MOST_EXECUTIONS: u64 = 3_000;

/// The part of a run that permutations preserve: the labels of each task, in order.
type Labels = BTreeMap<String, Vec<String>>;

fn labels(program: &Machine) -> Labels {
    let mut all = Labels::new();
    for (at, event) in program.events().iter().enumerate() {
        let outcomes: Vec<i64> = event.outcomes.iter().map(|o| o.value).collect();
        let sites: Vec<u32> = event.mishaps.iter().map(|mishap| mishap.site).collect();
        let path = program.path(at).bits();
        let task = program.processes().path(event.process).to_string();
        let label = format!("{path:x} {outcomes:?} {:?} {sites:?}", event.claims);
        all.entry(task).or_default().push(label);
    }
    all
}

fn trace(program: &Machine) -> Fingerprint {
    let mut hasher = TraceHasher::new();
    for event in program.events() {
        hasher.push(event, program.processes());
    }
    hasher.trace()
}

/// The traces of complete runs, grouped by their labels, with a schedule of each.
#[derive(Default)]
struct Classes(BTreeMap<Labels, BTreeMap<Fingerprint, Schedule>>);

impl Observer<Machine> for Classes {
    fn complete(&mut self, program: &Machine) {
        let schedule = Schedule::from_run(program.events(), program.processes());
        let class = self.0.entry(labels(program)).or_default();
        class.insert(trace(program), schedule);
    }
}

/// The traces of the permutations found.
#[derive(Default)]
struct Traces(BTreeSet<Fingerprint>);

impl Observer<Machine> for Traces {
    fn complete(&mut self, program: &Machine) {
        self.0.insert(trace(program));
    }
}

fn go_on(_: &mazurka_explore::Progress) -> ControlFlow<mazurka_core::Bound> {
    ControlFlow::Continue(())
}

fn permute(program: &mut Machine, schedule: &Schedule, complete: bool) -> (Permuted, Traces) {
    let search = Search {
        algorithm: Permute {
            schedule: schedule.clone(),
            extent: Extent {
                complete,
                printed: false,
            },
        },
        limits: Limits::default(),
        goal: Goal::Everything,
    };
    let mut traces = Traces::default();
    let permuted = search.run(program, &mut go_on, &mut traces);
    (permuted, traces)
}

/// Compares the permutations of runs of a program with brute force. Returns the number of paths and
/// the number of traces, or `None` if there are too many runs.
fn compare(what: &str, code: Arc<Code>) -> Option<(usize, usize)> {
    let mut program = Machine::labelled(code, 1_000_000);
    let naive = Search {
        algorithm: Algorithm::Naive,
        limits: Limits {
            executions: Some(MOST_EXECUTIONS),
            steps: Some(20 * MOST_EXECUTIONS),
            ..Limits::default()
        },
        goal: Goal::Everything,
    };
    let mut classes = Classes::default();
    let found = naive.run(&mut program, &mut go_on, &mut classes);
    if !found.bounds.is_empty() {
        return None;
    }
    let mut all = BTreeSet::new();
    for class in classes.0.values() {
        all.extend(class.keys().copied());
        // Record a run of any trace of the path.
        let recorded = class.values().next_back().expect("a class has a run");
        program.back_to(0);
        let (permuted, traces) = permute(&mut program, recorded, false);
        let expected: BTreeSet<Fingerprint> = class.keys().copied().collect();
        let what = format!("{what}: permutations of {recorded}");
        assert!(traces.0.is_superset(&expected), "{what}");
        assert_eq!(permuted.counts.executable, class.len() as u64, "{what}");
    }
    let first = classes.0.values().flat_map(BTreeMap::values).next();
    let first = first.cloned().unwrap_or_default();
    program.back_to(0);
    let (permuted, traces) = permute(&mut program, &first, true);
    assert_eq!(traces.0, all, "{what}: all permutations");
    assert_eq!(permuted.counts.executable, all.len() as u64, "{what}");
    Some((classes.0.len(), all.len()))
}

/// More programs: `MAZURKA_PROGRAMS=10000 cargo test --release -p mazurka-abs --test it labels::`.
#[test]
fn permutations_of_random_programs() {
    let programs = number("MAZURKA_PROGRAMS", 200);
    let seed = number("MAZURKA_SEED", 1);
    let (mut compared, mut paths, mut traces) = (0, 0, 0);
    for program in seed..seed + programs {
        let source = program_of(program);
        let what = format!("program {program}\n{source}");
        if let Some((some_paths, some_traces)) = compare(&what, code(&source, &[])) {
            compared += 1;
            paths += some_paths;
            traces += some_traces;
        }
        let source = program_of_futures(program);
        compare(&source, code(&source, &[]));
        let source = program_of(program);
        let one_class = Settings {
            object: Some("C0".to_owned()),
            ..Settings::default()
        };
        let code = load(&source, &one_class).expect("a program");
        compare(&format!("only C0 varies: {what}"), Arc::new(code));
    }
    println!("{compared} of {programs} compared: {paths} paths, {traces} traces");
    assert!(compared * 3 > programs, "most programs were too large");
    assert!(paths < traces, "the programs are too tame");
}

#[test]
fn permutations_of_the_corpus() {
    let cases: &[(&str, &[(&str, &str)])] = &[
        ("producer-consumer", &[("n", "2")]),
        ("pi", &[("workers", "3")]),
        ("registration", &[("clients", "2")]),
        ("psort", &[("n", "2")]),
        ("fib", &[("n", "2")]),
        ("philosophers", &[("seats", "2")]),
        ("boolean-await", &[]),
    ];
    for (name, set) in cases {
        let (paths, traces) = compare(name, code(&corpus(name), set)).expect("a small program");
        println!("{name} {set:?}: {paths} paths, {traces} traces");
    }
}

/// A guard can only be open or closed, so a step that waits for a guard has no branch. A step with
/// an `if` has one.
#[test]
fn guards_are_no_branches() {
    let source = "module M;
        interface I { Unit set(); Unit wait(); Unit choose(); }
        class C implements I {
            Int x = 0; Int y = 0;
            Unit set() { x = 1; }
            Unit wait() { await x > 0 || y > 0; y = 1; }
            Unit choose() { if (x > 0) { y = 2; } }
        }
        { I c = new C(); c!set(); c!wait(); c!choose(); }";
    let mut program = Machine::labelled(code(source, &[]), 1_000);
    let schedule: Schedule = "0 0.0 0.1 0.1 0.2".parse().expect("a schedule");
    for step in &schedule.0 {
        let process = program.processes().find(&step.process).expect("a task");
        program.step(process, &[]).expect("a possible step");
    }
    assert!(with_status(&program, Status::Ready).is_empty());
    let branches: Vec<bool> = (0..5).map(|at| program.branches(at)).collect();
    assert_eq!(branches, [false, false, false, false, true]);
    // In the recorded run the `if` comes last, and its condition holds. In a run in which the `if`
    // comes first, the condition does not hold, so that run belongs to another path.
    let path = permute(&mut program, &schedule, false).0.counts.executable;
    let all = permute(&mut program, &schedule, true).0.counts.executable;
    assert!(path < all, "{path} of {all}");
}
