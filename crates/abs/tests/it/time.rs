//! Tests timed ABS: time passes only if no task can continue, and durations take all relevant
//! times.

use std::collections::BTreeSet;

use crate::common::{explore, machine};
use mazurka_abs::{Machine, Settings, load};
use mazurka_core::{Execution, Limits, Narrator, Status};
use mazurka_explore::Algorithm;

/// Returns all outputs of a program, by trying every task and every outcome.
fn outputs(source: &str) -> BTreeSet<String> {
    fn visit(machine: &mut Machine, found: &mut BTreeSet<String>) {
        let tasks = machine.processes().in_order().to_vec();
        let ready = tasks
            .iter()
            .filter(|&&t| machine.status(t) == Status::Ready);
        let ready: Vec<_> = ready.copied().collect();
        let depth = machine.events().len();
        assert!(depth < 100, "it does not end");
        if ready.is_empty() {
            assert!(machine.is_final(), "{:?}", machine.waiting());
            let ended = tasks.iter().all(|&t| machine.status(t) == Status::Ended);
            assert!(ended, "the clock still waits");
            let all = machine.bindings(false);
            let output = all.into_iter().find(|binding| binding.name == "output");
            found.insert(output.map_or_else(String::new, |binding| binding.value));
        }
        for task in ready {
            for outcome in 0..9 {
                if machine.step(task, &[outcome]).is_ok() {
                    let chose = !machine.events()[depth].outcomes.is_empty();
                    if chose || outcome == 0 {
                        visit(machine, found);
                    }
                    machine.back_to(depth);
                }
            }
        }
    }
    let mut found = BTreeSet::new();
    visit(&mut machine(source, &[]), &mut found);
    found
}

/// Returns a program with two objects, each of which runs some statements.
fn two(one: &str, other: &str) -> String {
    format!(
        "module M; class A {{ Unit run() {{ {one} }} }} class B {{ Unit run() {{ {other} }} }}
         {{ new A(); new B(); }}"
    )
}

const PRINT_TIME: &str = "println(toString(timeValue(now())));";

#[test]
fn time_passes_only_if_nothing_else_can_happen() {
    let source = two(
        &format!("await duration(2, 2); {PRINT_TIME}"),
        &format!("{PRINT_TIME} await duration(5, 5); {PRINT_TIME}"),
    );
    assert_eq!(
        outputs(&source),
        BTreeSet::from(["\"0\\n2\\n5\\n\"".to_owned()])
    );
    let found = explore(
        &mut machine(&source, &[]),
        Algorithm::Optimal,
        &Limits::default(),
    );
    assert_eq!(found.seen.observed.len(), 1);
}

#[test]
fn durations_take_any_multiple_of_the_unit_within_their_bounds() {
    let source = two(
        &format!("duration(1, 3); {PRINT_TIME}"),
        &format!("duration(2); {PRINT_TIME}"),
    );
    let expected = ["\"1\\n2\\n\"", "\"2\\n2\\n\"", "\"2\\n3\\n\""].map(str::to_owned);
    assert_eq!(outputs(&source), BTreeSet::from(expected));
    for algorithm in [
        Algorithm::Optimal,
        Algorithm::Source,
        Algorithm::CONTEXT,
        Algorithm::Stateful,
    ] {
        let found = explore(&mut machine(&source, &[]), algorithm, &Limits::default());
        assert_eq!(found.seen.observed.len(), 3, "{algorithm}");
    }
}

/// Returns the number of outputs of a program in which one task prints the time after `duration`,
/// and another task waits for the duration `other`.
fn times(duration: &str, other: &str) -> usize {
    outputs(&two(
        &format!("duration({duration}); {PRINT_TIME}"),
        &format!("duration({other});"),
    ))
    .len()
}

#[test]
fn the_unit_divides_all_bounds() {
    assert_eq!(times("10, 30", "20"), 3);
    assert_eq!(times("10, 30", "5"), 5);
    assert_eq!(times("0, 1", "1/4"), 5);
    assert_eq!(times("1/2, 1", "1/3, 1/3"), 4);
    assert_eq!(times("7, 7", "1"), 1);
    // A computed bound is a multiple of 1 if it is an integer.
    assert_eq!(times("length(list[1]) * 2, 4", "2"), 3);
    assert_eq!(times("6, 6 + 2 * 2", "0"), 3);
}

#[test]
fn times_between_may_matter_if_the_program_asks_for_them() {
    let leaves_out = |one: &str, other: &str| {
        let code = load(&two(one, other), &Settings::default()).expect("it is right");
        code.leaves_out_times()
    };
    assert!(!leaves_out("duration(1, 3);", "await duration(2, 5);"));
    assert!(!leaves_out("duration(1, length(list[1]));", "skip;"));
    assert!(!leaves_out("duration(2);", PRINT_TIME));
    assert!(!leaves_out("duration(1/2, 1/2);", PRINT_TIME));
    assert!(leaves_out("duration(1, 3);", PRINT_TIME));
    // Two bounds that are the same expression are not a range.
    assert!(!leaves_out("Int k = 3; duration(k, k);", PRINT_TIME));
    assert!(!leaves_out(
        "Int k = 3; await duration(-k + abs(k), -k + abs(k));",
        PRINT_TIME
    ));
    assert!(leaves_out("Int k = 3; duration(k, k + 1);", PRINT_TIME));
    assert!(leaves_out("duration(random(3), random(3));", PRINT_TIME));
    assert!(leaves_out("duration(1, 3);", "Duration d = deadline();"));
    // This bound may be any rational number, so no unit divides it.
    assert!(leaves_out("Rat r = 1; duration(1, 1 / (r + 1));", "skip;"));
}

#[test]
fn a_duration_keeps_the_cog_and_an_await_does_not() {
    let source = "module M; interface I { Unit slow(); Unit quick(); }
        class C implements I {
          Unit slow() { duration(4); println(\"slow\"); }
          Unit quick() { println(\"quick\"); }
        }
        { I i = new C(); Fut<Unit> f = i!slow(); await duration(1); i!quick(); }";
    assert_eq!(
        outputs(source),
        BTreeSet::from(["\"slow\\nquick\\n\"".to_owned()])
    );
    let releases = source.replace("duration(4); pr", "await duration(4); pr");
    assert_eq!(
        outputs(&releases),
        BTreeSet::from(["\"quick\\nslow\\n\"".to_owned()])
    );
}

#[test]
fn deadlines_are_counted_from_the_call() {
    let source = "module M; interface I { Unit m(); }
        class C implements I { Unit m() {
          println(toString(deadline())); duration(3); println(toString(deadline())); duration(3); println(toString(deadline()));
        } }
        { I i = new C(); [Deadline: Duration(5)] i!m(); }";
    let expected = "\"Duration(5)\\nDuration(2)\\nDuration(0)\\n\"".to_owned();
    assert_eq!(outputs(source), BTreeSet::from([expected]));
    let none = source.replace("[Deadline: Duration(5)]", "");
    assert!(
        outputs(&none)
            .iter()
            .all(|output| output.contains("InfDuration"))
    );
}

#[test]
fn a_task_that_time_does_not_help_is_deadlocked() {
    let source = two("await duration(1) & 1 > 2;", "await duration(2);");
    let found = explore(
        &mut machine(&source, &[]),
        Algorithm::Optimal,
        &Limits::default(),
    );
    assert!(found.deadlock.is_some());
}

#[test]
fn without_time_there_is_no_clock() {
    let settings = Settings {
        ignore_time: true,
        ..Settings::default()
    };
    let source = two("await duration(2); skip;", "skip;");
    assert!(load(&source, &settings).is_ok());
    let asks = two(PRINT_TIME, "skip;");
    let mistakes = load(&asks, &settings).unwrap_err();
    let [mistake] = &mistakes[..] else {
        panic!("{mistakes:#?}")
    };
    assert_eq!(mistake.code, "A0309");
    assert_eq!(mistake.message, "`now` has no value with `--ignore-time`");
    let real = "module M; { Int x = ms_since_model_start(); }";
    assert_eq!(
        load(real, &Settings::default()).unwrap_err()[0].code,
        "A0301"
    );
}
