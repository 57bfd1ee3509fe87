//! Tests temporal properties: verdicts, runs that show violations, and the answers of engines that
//! do not support them.

use mazurka::record::{Kind, Record};
use mazurka::replay::Recording;
use mazurka::search::{Algorithm, Kinds};
use mazurka::{Bound, Options, Program, Refused, Verdict, quietly};

fn load(source: &str) -> Program {
    Program::load("test.maz", source, &[]).unwrap_or_else(|mistakes| panic!("{mistakes:?}"))
}

fn check(source: &str) -> Record {
    let record = load(source).check(&Options::default(), &mut quietly());
    record.expect("all values are known")
}

#[track_caller]
fn verified(source: &str) {
    let record = check(source);
    assert_eq!(record.verdict, Verdict::Verified, "{:?}", record.witnesses);
}

/// Returns the schedule that violates the only property, and the step at which it begins to repeat.
#[track_caller]
fn violated(source: &str) -> (String, Option<usize>) {
    let record = check(source);
    let shown = record.witnesses.iter().find(|w| w.kind == Kind::Property);
    let shown = shown.unwrap_or_else(|| panic!("not violated: {:?}", record.verdict));
    let saved = serde_json::to_string(&record).expect("a record");
    let recording = Recording::parse(&saved).expect("its own record");
    let again = load(source).replay(&recording, &Options::default());
    assert_eq!(again.expect("the same run").witnesses, record.witnesses);
    (shown.runs[0].schedule.clone(), shown.lasso)
}

const SERVER: &str = "var t, f: int = 0
process { while true { t := 1 - t } }
process { f := 1 }";

#[test]
fn always_holds_in_the_first_state_too() {
    verified("var x: int = 0 always x <= 1 process { x := 1 }");
    let (run, lasso) = violated("var x: int = 0 always x == 1 process { x := 1 }");
    assert_eq!((run.as_str(), lasso), ("", None));
}

#[test]
fn always_shows_a_shortest_run() {
    let source = "var x: int = 0 always x != 2
        process { x := 1; x := 3; x := 2 } process { x := 1; x := 2 }";
    assert_eq!(violated(source), ("1 1".to_owned(), None));
}

#[test]
fn states_inside_a_step_do_not_count() {
    verified("var x: int = 0 always x != 1 process { atomic { x := 1; x := 2 } }");
    violated("var x: int = 0 always x != 1 process { x := 1; x := 2 }");
}

#[test]
fn local_work_belongs_to_the_step_before() {
    verified(
        "var x: int = 0 always p.n == 0 || x == 1 process p { let n = 0; x := 1; n := 1; x := 1 }",
    );
}

#[test]
fn weak_fairness_lets_ready_processes_step() {
    verified(&format!("eventually f == 1 {SERVER}"));
    verified(&format!("infinitely_often t == 0 {SERVER}"));
    let source = format!("infinitely_often f == 0 {SERVER}");
    let (run, lasso) = violated(&source);
    assert_eq!((run.as_str(), lasso), ("1 0 0", Some(1)));
}

#[test]
fn a_run_that_ends_repeats_its_last_state() {
    let ends = |property: &str| format!("var x: int = 0 {property} process {{ x := 1; x := 2 }}");
    verified(&ends("infinitely_often x == 2"));
    verified(&ends("eventually x == 1"));
    verified(&ends("whenever x == 1 leads_to x == 2"));
    verified(&ends("whenever x == 1 leads_to x == 1"));
    let end = ("0 0".to_owned(), None);
    assert_eq!(violated(&ends("infinitely_often x == 1")), end);
    assert_eq!(violated(&ends("eventually x == 3")), end);
    assert_eq!(violated(&ends("whenever x == 2 leads_to x == 1")), end);
}

#[test]
fn a_deadlock_is_an_end() {
    let source =
        "var x: int = 0 allows deadlock eventually x == 2 process { await x == 1; x := 2 }";
    assert_eq!(violated(source), (String::new(), None));
}

#[test]
fn what_follows_a_failure_does_not_count() {
    let source = "var x: int = 0 allows failure always x != 2 eventually x == 9
        process { x := 1; assert false } process { await x == 1; x := 2 }";
    let record = check(source);
    assert_eq!(record.verdict, Verdict::Verified, "{:?}", record.witnesses);
}

#[test]
fn discarded_runs_do_not_count() {
    let source = |property: &str| {
        format!(
            "var x: int = 0 {property} process {{ x := 1; assume x == 2 }} process {{ x := 2 }}"
        )
    };
    verified(&source("eventually x == 2"));
    // The state after the first step is not discarded.
    violated("var x, y: int = 0 always x == 0 process { x := 1; await y == 0; assume false }");
}

#[test]
fn a_discarded_start_discards_the_whole_run() {
    verified("var x: int = 0 always x == 7 process { assume false; x := 1 }");
}

#[test]
fn a_condition_that_cannot_be_computed_does_not_hold() {
    violated("var x: int = 0 always 1 / x == 1 process { x := 1 }");
    verified("var x: int = 0 infinitely_often 1 / x == 1 process { x := 1 }");
}

#[test]
fn an_int_out_of_range_is_a_bound() {
    let source = "var x: int = 9000000000000000000 always x + x > 0 process { x := 1 }";
    let record = check(source);
    assert_eq!(record.verdict, Verdict::Inconclusive);
    assert!(record.scope.bounds.contains(&Bound::IntRange));
}

#[test]
fn properties_read_locals_that_no_code_uses_any_more() {
    // All processes end, and the values of these locals are never replaced.
    let source = |property: &str| {
        format!(
            "var x: int = 0 {property}
             process p (i in 0..2) {{ let n = 0; x := i; n := 1 + i; x := 5 }}
             process q {{ let a: int[2] = 0; x := 6; a[1] := 7; x := 8 }}"
        )
    };
    verified(&source("eventually p(1).n == 2"));
    verified(&source("whenever p(0).n == 1 leads_to q.a[1] == 7"));
    verified(&source("infinitely_often q.a[1] == 7 && p(0).n == 1"));
    violated(&source("eventually p(0).n == 2"));
    violated(&source("infinitely_often q.a[1] == 0"));
}

#[test]
fn dead_locals_distinguish_states() {
    // Only the property uses n after its assignment, and the runs meet in x and y.
    let source = "var x, y: int = 0
        whenever p.n == 1 leads_to y == 1
        always p.n <= 1
        process p { let n = 0; n := choose(0..2); x := 1; x := 0 }
        process { x := 0; await x == 0 }";
    let record = check(source);
    assert_eq!(record.witnesses[0].kind, Kind::Property);
    assert_eq!(record.witnesses.len(), 1);
    let run = &record.witnesses[0].runs[0];
    assert_eq!(run.steps[0].outcomes, [1], "{}", run.schedule);
}

#[test]
fn other_engines_report_that_they_do_not_check() {
    let program = load("var x: int = 0 eventually x == 2 process { x := 1 }");
    for &algorithm in Algorithm::ALL {
        let options = Options::default();
        let record = program.explore(algorithm, &options, &mut quietly());
        let record = record.expect("all values are known");
        let unseen = record.scope.bounds.contains(&Bound::Temporal);
        match algorithm {
            Algorithm::Stateful => assert_eq!(record.verdict, Verdict::Violated),
            _ => assert_eq!(record.verdict, Verdict::Inconclusive, "{algorithm}"),
        }
        assert_eq!(unseen, algorithm != Algorithm::Stateful, "{algorithm}");
    }
}

#[test]
fn properties_that_do_not_count_are_not_searched() {
    let program =
        load("var x: int = 0 eventually named: x == 2 eventually x == 3 process { x := 1 }");
    let options = |counted: &[Kind], names: &[&str]| Options {
        counted: Some(Kinds::of(counted)),
        properties: names.iter().map(|&name| name.to_owned()).collect(),
        ..Options::default()
    };
    let shown = |options: &Options| {
        let record = program.check(options, &mut quietly());
        record.expect("all values are known").witnesses.len()
    };
    assert_eq!(shown(&options(&[Kind::Deadlock], &[])), 0);
    assert_eq!(shown(&options(&[Kind::Property], &[])), 2);
    assert_eq!(shown(&options(&[], &["named"])), 1);
    let named = [("named".to_owned(), Kind::Property)];
    assert_eq!(program.named_properties(), named);
    verified("var x: int = 0 allows property eventually x == 2 process { x := 1 }");
}

#[test]
fn unknown_values_are_refused() {
    for source in [
        "var x: i8 eventually x == 2 process { x := 1 }",
        "var x: i32 = 0 eventually x == 2 process { x := input() }",
    ] {
        let refused = load(source).check(&Options::default(), &mut quietly());
        assert_eq!(refused.unwrap_err(), Refused::Temporal);
    }
}

#[test]
fn a_changed_run_is_no_evidence() {
    let source = format!("infinitely_often often: f == 0 {SERVER}");
    let record = check(&source);
    let program = load(&source);
    let with = |lasso: Option<usize>| {
        let mut changed = record.clone();
        changed.witnesses[0].lasso = lasso;
        let saved = serde_json::to_string(&changed).expect("a record");
        let recording = Recording::parse(&saved).expect("a record");
        program.replay(&recording, &Options::default())
    };
    assert!(with(Some(1)).is_ok());
    // The reasons, in order: the repeated states differ (twice), no step repeats, the run ends
    // although it is infinite, and there are too few steps.
    for wrong in [Some(0), Some(2), Some(3), None, Some(4)] {
        assert!(with(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn the_gravest_comes_first() {
    let source = "var x, y: int = 0 eventually x == 9
        process { x := 1; await y == 5 } process { x := 2; assert x == 2 }";
    let record = check(source);
    let kinds: Vec<Kind> = record.witnesses.iter().map(|w| w.kind).collect();
    assert_eq!(kinds[0], Kind::Failure, "{kinds:?}");
    let more = load(source).check(
        &Options {
            keep_going: true,
            ..Options::default()
        },
        &mut quietly(),
    );
    let kinds: Vec<Kind> = more
        .expect("a record")
        .witnesses
        .iter()
        .map(|w| w.kind)
        .collect();
    assert_eq!(kinds, [Kind::Failure, Kind::Property, Kind::Deadlock]);
}
