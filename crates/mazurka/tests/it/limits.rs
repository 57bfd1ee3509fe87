//! Tests that a limit ends the work in time, and that the findings so far are reported.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use mazurka::checkpoint::Checkpoint;
use mazurka::permute::Permuting;
use mazurka::reach::{Method, Reach, StateProperty};
use mazurka::record::Ending;
use mazurka::run::Plan;
use mazurka::unfold::{NetKind, Unfold};
use mazurka::{Algorithm, Bound, Limits, Options, Program, Verdict, quietly};

fn load(source: &str) -> Program {
    Program::load("limits.maz", source, &[]).expect("a program")
}

fn within(limits: Limits) -> Options {
    Options {
        limits,
        jobs: 2,
        ..Options::default()
    }
}

/// Returns a watch that interrupts the work after this many calls.
fn after(looks: usize) -> impl FnMut(&mazurka::Progress) -> ControlFlow<Bound> {
    let mut left = looks;
    move |_| match left {
        0 => ControlFlow::Break(Bound::Interrupted),
        _ => {
            left -= 1;
            ControlFlow::Continue(())
        }
    }
}

/// Runs of an infinite loop are cut off and never complete, and there may be very many of them.
#[test]
fn runs_that_are_cut_count_against_the_limit_of_executions() {
    let source = "var x: int = 0
        process { while true { x := 1 - x } }
        process { while true { x := 2 } }";
    let limits = Limits {
        executions: Some(3),
        depth: Some(30),
        ..Limits::default()
    };
    let found = load(source).explore(Algorithm::Naive, &within(limits), &mut quietly());
    let record = found.expect("a record");
    assert_eq!(record.counts.executions, 0);
    let bounds = record.scope.bounds;
    assert!(bounds.contains(&Bound::MaxExecutions(3)), "{bounds:?}");
}

const COUNTERS: &str = "var x: int = 0
    process { for i in 0..10 { x := x + 1 } }
    process { for i in 0..10 { x := x + 1 } }";

#[test]
fn a_run_that_is_broken_off_is_described_so_far() {
    let program = load(COUNTERS);
    let whole = "0 1 ".repeat(10);
    for plan in [Plan::Seed(7), Plan::Schedule(whole.parse().expect("one"))] {
        let ran = program.run(&plan, &Options::default(), &mut after(6));
        let ran = ran.expect("a run");
        assert_eq!(ran.run.steps.len(), 6, "{plan:?}");
        assert_eq!(ran.run.schedule.split(' ').count(), 6, "{plan:?}");
        assert_eq!(ran.run.ending, Ending::Open);
        assert_eq!(ran.run.state[0].value, "6");
        assert_eq!(ran.record.scope.bounds, [Bound::Interrupted]);
        assert_eq!(ran.record.verdict, Verdict::Inconclusive);
    }
}

#[test]
fn a_random_run_is_described_like_that_of_its_schedule() {
    let source = "var x: int = 0 lock m
        process { lock(m); x := choose(0..5); unlock(m); let h = spawn { x := x + 1 }; join h }
        process { lock(m); x := x + choose(1..9); unlock(m) }";
    let program = load(source);
    for seed in 0..20 {
        let run = |plan: &Plan| program.run(plan, &Options::default(), &mut quietly());
        let one = run(&Plan::Seed(seed)).expect("a run").run;
        let same = Plan::Schedule(one.schedule.parse().expect("a schedule"));
        assert_eq!(run(&same).expect("a run").run, one);
    }
}

#[test]
fn a_recorded_run_is_described_as_far_as_it_was_made() {
    let wanted = Permuting {
        plan: Plan::Seed(3),
        complete: false,
        paper: false,
        any_start: false,
        listed: 10,
    };
    let program = load(COUNTERS);
    let permuted = program.permute(&wanted, &Options::default(), &mut after(5));
    let permuted = permuted.expect("a run that can be permuted");
    assert_eq!(permuted.permutations.recorded.steps.len(), 5);
    assert_eq!(permuted.record.scope.bounds, [Bound::Interrupted]);
    let whole = program.permute(&wanted, &Options::default(), &mut after(100));
    assert_eq!(whole.expect("one").permutations.recorded.steps.len(), 20);
}

/// A part may be a whole execution without any further steps.
#[test]
fn the_limit_of_executions_is_exact() {
    // Three writes in any order: 6 traces.
    let source = "var x: int = 0 process (p in 0..3) { x := p }";
    let program = load(source);
    let optimal = Algorithm::Optimal;
    let whole = program.explore_from(None, optimal, &within(Limits::default()), &mut quietly());
    let (whole, _) = whole.expect("a search");
    assert_eq!(whole.counts.executions, 6);
    for most in 1..6 {
        let limits = Limits {
            executions: Some(most),
            ..Limits::default()
        };
        let first = program.explore_from(None, optimal, &within(limits), &mut quietly());
        let (first, checkpoint) = first.expect("a search");
        assert_eq!(first.counts.executions, most);
        assert_eq!(first.scope.bounds, [Bound::MaxExecutions(most)]);
        let checkpoint: Checkpoint = checkpoint.expect("there is more");
        let all = within(Limits::default());
        let rest = program.explore_from(Some(&checkpoint), optimal, &all, &mut quietly());
        let (rest, none) = rest.expect("a search");
        assert!(none.is_none() && rest.scope.exhaustive);
        assert_eq!(rest.counts, whole.counts);
    }
}

/// If the search space were cut into parts, one for each outcome, there would be a billion of them.
#[test]
fn a_choice_among_a_billion_is_not_cut() {
    let program = load("var x: int = 0 process { x := choose(0..1000000000) }");
    // More steps than the first attempt may use, which is made without parts.
    let limits = Limits {
        steps: Some(140_000),
        ..Limits::default()
    };
    let record = program.explore(Algorithm::Naive, &within(limits), &mut quietly());
    let record = record.expect("a search");
    assert_eq!(record.scope.bounds, [Bound::MaxSteps(140_000)]);
    assert!(record.counts.executions > 1000);
}

/// A solver takes very long to prove that the two results are equal.
#[test]
fn results_that_a_limit_leaves_undecided_are_not_called_equal() {
    let source = "var a, b: u32 var x: u32 = 0
        process { x := (a + b) * (a + b) }
        process { x := a * a + 2 * a * b + b * b }";
    let limits = Limits {
        time: Some(Duration::from_millis(500)),
        ..Limits::default()
    };
    let record = load(source).explore(Algorithm::Optimal, &within(limits), &mut quietly());
    let record = record.expect("a search");
    assert_eq!(record.deterministic, None);
    assert!(!record.scope.exhaustive);
    assert_eq!(record.scope.bounds, [Bound::TimeLimit(500)]);
    assert_eq!(record.verdict, Verdict::Inconclusive);
}

/// Steps that claim a whole array conflict at each of its elements; for long arrays only the first
/// conflict is examined. The net does not depend on the length.
#[test]
fn nets_over_whole_arrays_have_all_failures() {
    let program = |last: usize| {
        load(&format!(
            "var a: int[{}] = 0 var k: int = 0
            process {{ a[k] := 1; k := 1; assert a[0] == 1 }}
            process {{ a[k] := a[k] + 2; assert a[1] != 2 }}
            process {{ a[{last} - k] := 3; assert a[{last}] == 0 }}",
            last + 1
        ))
    };
    let (short, long) = (program(9), program(49));
    let explored = long.explore(Algorithm::Naive, &Options::default(), &mut quietly());
    let failures = explored.expect("a search").counts.failures;
    assert!(failures > 3, "{failures}");
    for &kind in NetKind::ALL {
        let unfolded = |program: &Program| {
            let unfolded = program.unfold(
                Unfold { kind, seed: 0 },
                &Options::default(),
                &mut quietly(),
            );
            unfolded.expect("a net").record
        };
        let (short, long) = (unfolded(&short), unfolded(&long));
        assert_eq!(short.counts, long.counts, "{kind}");
        if kind == NetKind::Replicated {
            assert_eq!(long.counts.failures, failures);
        }
        assert_eq!(long.verdict, Verdict::Violated, "{kind}");
    }
}

/// A step that touches all elements is compared with others element by element. Comparing each
/// element with each other would take hours.
#[test]
fn a_stateful_net_over_a_long_array_takes_no_quadratic_time() {
    // The loops conflict: two orders, in which each step is first or second.
    let all = "var a: int[200000] = 0
        process (i in 0..2) { atomic { for k in 0..200000 { a[k] := a[k] + i } } }";
    // Each step claims the whole array.
    let any = "var a: int[200000] = 0 var x: int = 0
        process (i in 0..2) { a[x] := i; x := a[i] + 1 }";
    for (source, events) in [(all, 4), (any, 8)] {
        let limits = Limits {
            time: Some(Duration::from_secs(60)),
            ..Limits::default()
        };
        let wanted = Unfold {
            kind: NetKind::Stateful,
            seed: 0,
        };
        let unfolded = load(source).unfold(wanted, &within(limits), &mut quietly());
        let record = unfolded.expect("a net").record;
        assert_eq!(record.scope.bounds, [], "{source}");
        assert!(record.counts.events >= events, "{}", record.counts.events);
    }
}

/// One event may give each of many processes a new extension, with a clock over all processes.
#[test]
fn a_net_looks_at_its_limits_while_it_grows() {
    let source = "var x: int = 0 process (i in 0..500) { x := x + 1 }";
    for &kind in NetKind::ALL {
        // The number of checks since the number of steps last changed, and the greatest such
        // number.
        let (mut steps, mut looks, mut most) = (0, 0, 0);
        let mut watch = |progress: &mazurka::Progress| {
            if progress.counts.steps != steps {
                (steps, looks) = (progress.counts.steps, 0);
            }
            looks += 1;
            most = most.max(looks);
            match most {
                0..4 => ControlFlow::Continue(()),
                _ => ControlFlow::Break(Bound::Interrupted),
            }
        };
        let limits = Limits {
            steps: Some(2000),
            ..Limits::default()
        };
        let unfolded = load(source).unfold(Unfold { kind, seed: 0 }, &within(limits), &mut watch);
        let record = unfolded.expect("a net").record;
        assert_eq!(record.scope.bounds, [Bound::Interrupted], "{kind}");
        assert!(record.counts.events >= 1, "{kind}");
    }
}

/// Runs every search on a program with limits, and returns the bounds that they hit.
fn bounds_of_all_searches(
    source: &str,
    options: &Options,
    watch: &mut mazurka::Watch<'_>,
) -> Vec<(String, Vec<Bound>)> {
    let program = load(source);
    let mut all = Vec::new();
    let mut add = |name: &str, record: mazurka::record::Record| {
        assert_eq!(record.verdict, Verdict::Inconclusive, "{name}");
        all.push((name.to_owned(), record.scope.bounds));
    };
    add("check", program.check(options, watch).expect("a search"));
    for algorithm in [Algorithm::Optimal, Algorithm::Stateful, Algorithm::Naive] {
        let explored = program.explore(algorithm, options, watch);
        add(&algorithm.to_string(), explored.expect("a search"));
    }
    for &kind in NetKind::ALL {
        let net = Unfold { kind, seed: 0 };
        let unfolded = program.unfold(net, options, watch).expect("a net");
        add(&kind.to_string(), unfolded.record);
        let wanted = StateProperty::read(source, &[], "x == 77").expect("a property");
        let method = Method::Search;
        let reached = program.reach(&wanted, Reach { net, method }, options, watch);
        add("reach", reached.expect("an answer").record);
    }
    let walked = program
        .walk_states(
            mazurka::unfold::WalkStates {
                seed: 0,
                sleep: false,
            },
            options,
            watch,
        )
        .expect("a walk");
    add("states", walked.record);
    all
}

const LONG: u64 = 20_000_000;

/// Returns a loop of twenty million rounds of a hundred instructions.
fn long_work() -> String {
    let body = "a[i % 8] := a[(i + 1) % 8] + i % 7;".repeat(20);
    format!("let a: int[8] = 0; let i = 0; while i < {LONG} {{ i := i + 1; {body} }}")
}

#[test]
fn a_long_step_is_broken_off_in_every_search() {
    let work = long_work();
    let sources = [
        format!("var x: int = 0 process {{ x := 1; {work} x := i }} process {{ x := 2 }}"),
        // Before the first step.
        format!("var x: int = 0 process {{ {work} x := i }} process {{ x := 2 }}"),
        // In a step that may wait, which is tried first.
        format!(
            "var x: int = 0 process {{ atomic {{ {work} x > 0 |> x := i }} }} process {{ x := 2 }}"
        ),
    ];
    for source in &sources {
        let limits = Limits {
            time: Some(Duration::from_millis(200)),
            local: LONG + 1,
            ..Limits::default()
        };
        let start = std::time::Instant::now();
        let all = bounds_of_all_searches(source, &within(limits), &mut quietly());
        for (name, bounds) in &all {
            assert_eq!(*bounds, [Bound::TimeLimit(200)], "{name}: {source}");
        }
        // Each of the steps would take a minute.
        let seconds = start.elapsed().as_secs();
        assert!(seconds < 30, "{seconds}: {source}");
    }
}

/// The guard of the command sets a flag when too much memory is in use.
#[test]
fn work_before_the_first_step_ends_when_memory_does() {
    let source = "var x: int = 0
        proc f(n: int) { if n > 0 { f(n - 1) } x := 1 }
        process { f(1000000) } process { x := 2 }";
    let mut options = within(Limits {
        local: LONG,
        ..Limits::default()
    });
    options.solver.stop = Some(Arc::new(AtomicBool::new(true)));
    let full = &mut |_: &mazurka::Progress| ControlFlow::Break(Bound::MemoryLimit(1));
    for (name, bounds) in bounds_of_all_searches(source, &options, full) {
        assert_eq!(bounds, [Bound::MemoryLimit(1)], "{name}");
    }
}

/// If the time is over while the prefix of a part is repeated, the part is not cut within the
/// prefix. The checkpoint contains all remaining work.
#[test]
fn parts_with_long_steps_can_be_continued() {
    let work = "i := 0; while i < 10000 { i := i + 1 };";
    let source = format!(
        "var x: int = 0
         process (p in 0..3) {{ let i = 0; x := p; {work} x := x + 1; {work} x := p }}"
    );
    let program = load(&source);
    let optimal = Algorithm::Optimal;
    let all = within(Limits::default());
    let whole = program.explore_from(None, optimal, &all, &mut quietly());
    let (whole, _) = whole.expect("a search");
    // Nine writes, three by each of three processes, and the order matters: 9!/(3!)^3.
    assert_eq!(whole.counts.executions, 1680);
    let mut checkpoint: Option<Checkpoint> = None;
    let mut rounds = 0;
    let last = loop {
        // The first rounds end within steps; later ones have enough time.
        let limits = Limits {
            time: (rounds < 6).then(|| Duration::from_millis(60 * rounds)),
            ..Limits::default()
        };
        let found = program.explore_from(
            checkpoint.as_ref(),
            optimal,
            &within(limits),
            &mut quietly(),
        );
        let (record, left) = found.expect("a search");
        rounds += 1;
        match left {
            Some(left) => checkpoint = Some(left),
            None => break record,
        }
        assert_eq!(record.verdict, Verdict::Inconclusive);
    };
    assert!(rounds > 1);
    assert!(last.scope.exhaustive);
    // The number of parts depends on the time, and so does the number of times that prefixes are
    // repeated.
    let mut counts = last.counts;
    counts.steps = whole.counts.steps;
    assert_eq!(counts, whole.counts);
}

/// Terms over a million initial values are not created if there is no memory for them. The recorded
/// run is still shown.
#[test]
fn permutations_without_memory_show_the_run() {
    let wanted = Permuting {
        plan: Plan::Schedule("0 1".parse().expect("a schedule")),
        complete: false,
        paper: false,
        any_start: true,
        listed: 10,
    };
    let program = load("var a: int[1000000] = 0 process (i in 0..2) { a[i] := 1; a[1] := i }");
    let mut options = Options::default();
    options.solver.stop = Some(Arc::new(AtomicBool::new(true)));
    let mut left = 2;
    let mut full = |_: &mazurka::Progress| match left {
        0 => ControlFlow::Break(Bound::MemoryLimit(1)),
        _ => {
            left -= 1;
            ControlFlow::Continue(())
        }
    };
    let permuted = program.permute(&wanted, &options, &mut full);
    let permuted = permuted.expect("what was found");
    assert_eq!(permuted.permutations.recorded.steps.len(), 2);
    assert!(permuted.permutations.any_start.is_none());
    assert_eq!(permuted.record.scope.bounds, [Bound::MemoryLimit(1)]);
}

/// If an interrupt ends the search by all workers, its findings are the answer: one worker does not
/// search again.
#[test]
fn an_interrupted_search_by_all_workers_is_the_answer() {
    let program =
        load("var x: int = 0  process p { for i in 0..9223372036854775807 { x := x + 1 } }");
    // More steps than the first attempts, with one worker, make together.
    let many = 450_000;
    let mut over = false;
    let mut watch = |progress: &mazurka::Progress| {
        over |= progress.counts.steps > many;
        if over {
            return ControlFlow::Break(Bound::Interrupted);
        }
        ControlFlow::Continue(())
    };
    let record = program.check(&within(Limits::default()), &mut watch);
    let record = record.expect("a search");
    assert_eq!(record.verdict, Verdict::Inconclusive);
    assert_eq!(record.scope.bounds, [Bound::Interrupted]);
    assert!(record.counts.steps > many, "{:?}", record.counts);
}
