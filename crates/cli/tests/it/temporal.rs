//! Tests temporal properties on the command line.

use crate::support::{mazurka, with_input};

const STARVED: &str = "corpus/maz/temporal-starvation/program.maz";

#[test]
fn a_violation_is_a_stem_and_a_loop() {
    let result = mazurka(&["check", STARVED, "--property", "answer"]);
    assert_eq!(result.code, 1, "{result:?}");
    assert!(
        result.first_line().starts_with(
            "violated: property `answer` does not hold: `whenever waits leads_to served`"
        ),
        "{result:?}"
    );
    assert!(
        result.out.contains("  steps 2–3 repeat for ever\n"),
        "{result:?}"
    );
}

#[test]
fn the_record_has_the_lasso() {
    let result = mazurka(&["check", STARVED, "--format", "json"]);
    let record = result.json();
    assert_eq!(record["witnesses"][0]["kind"], "property");
    assert_eq!(record["witnesses"][0]["lasso"], 1);
    assert_eq!(record["kinds"]["counted"][1], "property");
}

#[test]
fn a_finite_run_is_reported_as_finite() {
    let program = "var x: int = 0 eventually x == 2 process { x := 1 }";
    let result = with_input(&["check", "-"], program);
    assert_eq!(result.code, 1, "{result:?}");
    assert!(result.out.contains("  the run ends here\n"), "{result:?}");
}

#[test]
fn programs_without_an_end_are_verified() {
    let result = mazurka(&["check", "corpus/maz/temporal-peterson/program.maz"]);
    assert_eq!(result.code, 0, "{result:?}");
    assert!(
        result.first_line().starts_with(
            "verified: no failure, the temporal properties hold, no deadlock, no livelock ("
        ),
        "{result:?}"
    );
}

#[test]
fn unknown_names_are_refused() {
    let result = mazurka(&["check", STARVED, "--property", "answers"]);
    assert_eq!(result.code, 3, "{result:?}");
    assert!(
        result.err.contains("there is no property `answers`"),
        "{result:?}"
    );
    assert!(result.err.contains("the file names answer"), "{result:?}");
}

#[test]
fn other_engines_are_inconclusive() {
    let program = "var x: int = 0 eventually x == 1 process { x := 1 }";
    for args in [
        &["explore", "-"][..],
        &["explore", "-", "--algorithm", "naive"],
        &["unfold", "-"],
        &["symbolic", "-"],
        &["prove", "-"],
    ] {
        let result = with_input(args, program);
        assert_eq!(result.code, 2, "{args:?}: {result:?}");
        let all = result.out + &result.err;
        assert!(
            all.contains("temporal properties were not checked"),
            "{args:?}: {all}"
        );
    }
    assert_eq!(
        with_input(&["explore", "-", "--algorithm", "stateful"], program).code,
        0
    );
}

#[test]
fn unknown_values_are_refused() {
    let result = with_input(
        &["check", "-"],
        "var x: i8 eventually x == 1 process { x := 1 }",
    );
    assert_eq!(result.code, 3, "{result:?}");
    assert!(
        result.err.contains("where all values are known"),
        "{result:?}"
    );
}

#[test]
fn a_property_that_does_not_count_decides_nothing() {
    // `a` is false after the first step, `b` after many more steps than the limit.
    let program = "var x: int = 0
        always a: x == 0
        always b: x < 100000
        process { for i in 0..200000 { x := x + 1 } }";
    for (property, code) in [("a", 1), ("b", 2), ("a,b", 1)] {
        let args = ["check", "-", "--max-steps", "3000", "--property", property];
        let result = with_input(&args, program);
        assert_eq!(result.code, code, "{property}: {result:?}");
    }
}
