//! Tests questions that the embedded solver does not decide: it decides `int` only within a range,
//! and stops after a number of conflicts. The verdict must report what was left open.

use crate::support::{CommandResult, mazurka, with_input};

/// A condition with a solution beyond the range of the embedded solver.
const LARGE: &str = "x + x + x == 7500000000";

/// The factors are 1000000007 and 1000000009.
const HARD: &str =
    "x > 1 && y > 1 && x < 2000000000 && y < 2000000000 && x * y == 1000000016000000063";

fn embedded(command: &str, program: &str) -> CommandResult {
    with_input(&[command, "-", "--solver", "embedded"], program)
}

#[track_caller]
fn is_inconclusive(result: &CommandResult, bound: &str) {
    assert_eq!(result.code, 2, "{result:?}");
    assert!(result.out.contains(bound), "{result:?}");
}

#[test]
fn an_int_beyond_the_range_is_not_excluded() {
    let bound = "`int` was decided within 32 bits only";
    let ensures = format!("var x: int ensures !({LARGE}) process {{ skip }}");
    let requires = format!("var x: int requires {LARGE} ensures x == 1 process {{ skip }}");
    let branch = format!("var x: int process {{ if {LARGE} {{ error }} }}");
    for program in [ensures, requires, branch] {
        for command in ["check", "explore", "symbolic"] {
            is_inconclusive(&embedded(command, &program), bound);
        }
    }
    let input = format!("process {{ let x = input(int); assume {LARGE}; error }}");
    for command in ["check", "explore", "symbolic", "unfold"] {
        is_inconclusive(&embedded(command, &input), bound);
    }
}

#[test]
fn a_question_that_is_too_hard_is_not_answered_with_no() {
    let bound = "the solver gave no answer";
    let branch = format!("var x, y: i64 process {{ if {HARD} {{ error }} }}");
    is_inconclusive(&embedded("check", &branch), bound);
    let ensures = format!("var x, y: i64 ensures !({HARD}) process {{ skip }}");
    is_inconclusive(&embedded("symbolic", &ensures), bound);
    let inputs =
        format!("process {{ let x = input(i64); let y = input(i64); if {HARD} {{ error }} }}");
    is_inconclusive(&embedded("explore", &inputs), bound);
}

#[test]
fn a_proof_needs_initial_values_that_are_known() {
    let why = "no initial values are known that satisfy what the program `requires`";
    let odd_and_even = "x % 2 == 1 && x % 2 == 0";
    let program = format!("var x: int requires {odd_and_even} ensures x == 4 process {{ skip }}");
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("program.maz");
    std::fs::write(&source, program).expect("a file");
    let (source, proof) = (
        source.to_str().expect("a name"),
        folder.path().join("proof"),
    );
    let proof = proof.to_str().expect("a name");
    let result = mazurka(&["prove", source, "--proof", proof, "--solver", "embedded"]);
    assert!(result.out.starts_with("open: [*] x == 4"), "{result:?}");
    is_inconclusive(&result, why);
    let result = mazurka(&["check-proof", proof, "--solver", "embedded"]);
    is_inconclusive(&result, why);
}

/// The integers of terms are unbounded, but those of runs are not. A run in which a value exceeds
/// 64 bits cannot be shown.
#[test]
fn leaving_64_bits_is_a_bound_not_an_internal_error() {
    let large = "assume a > 4000000000000000000";
    let sum = format!("var y: int = 0 process {{ let a = input(int); {large}; y := a + a + a");
    let fails = format!("{sum} }} ensures y < 0");
    let goes_on = format!("{sum}; y := 1 }}");
    let waits = format!("{sum}; await y == 0 }}");
    let differs = format!("{sum} }} process {{ y := 1 }} observe y");
    let start = "process { let a = input(int); assert a * 2 - 1 != 1563849963183; assert a < 0 }";
    for program in [&fails, &goes_on, &waits, &differs, start] {
        for solver in ["embedded", "auto"] {
            for command in [
                &["check"][..],
                &["explore"],
                &["explore", "--algorithm", "stateful"],
                &["symbolic"],
                &["unfold"],
                &["reach", "--property", "true"],
            ] {
                let args = [&command[..1], &["-", "--solver", solver], &command[1..]].concat();
                let result = with_input(&args, program);
                assert!(result.code <= 2, "{args:?} {program}: {result:?}");
            }
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    for command in ["explore", "unfold"] {
        let tests = folder.path().join(command);
        let args = [command, "-", "--tests", tests.to_str().expect("a name")];
        is_inconclusive(&with_input(&args, &goes_on), "64 bits");
    }
}

/// A property in which a number exceeds 64 bits is neither true nor false.
#[test]
fn a_property_that_leaves_64_bits_is_not_decided() {
    let bound = "left the range of 64 bits";
    let large = "4000000000 * 4000000000 > 0";
    let requires = format!("var x: int requires x > 0 || {large} process {{ assert x > 0 }}");
    for command in ["check", "explore", "symbolic"] {
        is_inconclusive(&embedded(command, &requires), bound);
    }
    let ensures = "var x: int = 4000000000 ensures x * x > 0 process { x := x + 1 }";
    for command in ["run", "check", "explore"] {
        is_inconclusive(&with_input(&[command, "-"], ensures), bound);
    }
    let known = "var x: int = 5 process { x := x + 1 }";
    let never = format!("x < 5 && {large}");
    let result = with_input(&["reach", "-", "--property", &never], known);
    assert_eq!(result.code, 0, "{result:?}");
    let property = format!("x == 6 && {large}");
    for program in [known, "var x: int process { x := x + 1 }"] {
        let result = with_input(&["reach", "-", "--property", &property], program);
        is_inconclusive(&result, bound);
    }
}

/// With terms the guard is false; with numbers it exceeds 64 bits.
#[test]
fn a_deadlock_that_leaves_64_bits_is_not_shown() {
    let waits = "var x: int requires x > 3 process { await x * 4611686018427387904 < 0 }";
    for command in ["check", "explore", "symbolic", "unfold"] {
        let result = embedded(command, waits);
        assert_eq!(result.code, 2, "{result:?}");
    }
}
