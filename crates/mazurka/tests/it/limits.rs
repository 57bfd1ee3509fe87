//! A limit ends the work in time, and what was found until then is told.

use std::ops::ControlFlow;
use std::time::Duration;

use mazurka::checkpoint::Checkpoint;
use mazurka::permute::Permuting;
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

/// Ends the work when it is asked for the so-manieth time.
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

const COUNTERS: &str = "var x: int = 0
    process { for i in 0..10 { x := x + 1 } }
    process { for i in 0..10 { x := x + 1 } }";

#[test]
fn a_run_that_is_broken_off_is_told_so_far() {
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
fn a_run_is_told_as_a_schedule_tells_it() {
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
fn a_recorded_run_is_told_as_far_as_it_was_made() {
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

/// Parts may be whole executions, of which no step is left to be made.
#[test]
fn so_many_executions_and_no_more() {
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

/// To cut the space in parts, one for each outcome, would take a billion of them.
#[test]
fn a_choice_among_a_billion_is_not_cut() {
    let program = load("var x: int = 0 process { x := choose(0..1000000000) }");
    // More than the first attempt has, which is made without parts.
    let limits = Limits {
        steps: Some(140_000),
        ..Limits::default()
    };
    let record = program.explore(Algorithm::Naive, &within(limits), &mut quietly());
    let record = record.expect("a search");
    assert_eq!(record.scope.bounds, [Bound::MaxSteps(140_000)]);
    assert!(record.counts.executions > 1000);
}

/// That the two results are equal takes a solver very long to see.
#[test]
fn results_that_were_not_compared_are_not_all() {
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

/// Steps that claim a whole array meet through each of its elements; of long arrays only the first
/// meeting is looked at. The length makes no difference to the net.
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
