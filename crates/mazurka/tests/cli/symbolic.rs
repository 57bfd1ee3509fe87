//! `mazurka symbolic`.

use crate::support::{mazurka, with_input};

const FIG8: &str = "corpus/maz/sympaths-fig8/program.maz";

#[test]
fn final_states_say_for_which_values_they_are_reached() {
    let program = "var x: i32 process { if x > 3 { x := 0 } else { x := x + 1 } }";
    let said = with_input(&["symbolic", "-"], program);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(
        said.out.contains("   if   x <= 3\n   then x = x + 1\n"),
        "{said:?}"
    );
    assert!(
        said.out.contains("   if   x > 3\n   then x = 0\n"),
        "{said:?}"
    );
    let record = with_input(&["symbolic", "-", "--format", "json"], program).json();
    assert_eq!(record["states"]["count"], 2);
    assert_eq!(record["states"]["listed"][0]["path_condition"][0], "x <= 3");
    assert_eq!(record["steps"], 3);
    let picture = mazurka(&["symbolic", FIG8, "--format", "svg"]);
    assert!(picture.out.starts_with("<svg") && picture.out.ends_with("</svg>\n"));
}

#[test]
fn what_is_possible_is_told_from_what_is_not() {
    let fails = "var x: i32 process { assert x != 7 }";
    let said = with_input(&["symbolic", "-", "--solver", "embedded"], fails);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(
        said.out.contains("assertion failed: `assert x != 7`"),
        "{said:?}"
    );
    let cannot = "var x: i32 requires x > 7 process { assert x != 7 }";
    assert_eq!(with_input(&["symbolic", "-"], cannot).code, 0);
    // Whoever does not ask whether it is possible does not know.
    let said = with_input(&["symbolic", "-", "--no-feasible"], cannot);
    assert_eq!(said.code, 2, "{said:?}");
    let said = with_input(
        &["symbolic", "-"],
        "var x: i32 requires x > 7 && x < 7 process { x := 1 }",
    );
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.err.contains("requires"), "{said:?}");
}

#[test]
fn waiting_for_ever_is_possible_for_some_values() {
    let program = "var x: i32 process { await x > 0; x := 1 } process { skip }";
    let said = with_input(&["symbolic", "-"], program);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.out.contains("deadlock\n   if   x <= 0\n"), "{said:?}");
    assert!(said.out.contains("final\n   if   x > 0\n"), "{said:?}");
}

#[test]
fn limits_are_honoured_and_named() {
    let said = mazurka(&["symbolic", FIG8, "--por", "none", "--max-steps", "100"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.out.contains("--max-steps 100"), "{said:?}");
    let forever = "var x, n: int process { while x < n { x := x + 1 } }";
    let said = with_input(&["symbolic", "-", "--max-depth", "20"], forever);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.out.contains("--max-depth"), "{said:?}");
}

/// Checks a program, and, if it is violated, that the violation replays.
fn checked(program: &str) -> (i32, serde_json::Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("program.maz");
    std::fs::write(&file, program).expect("written");
    let file = file.to_str().expect("a name");
    let said = mazurka(&["check", file, "--format", "json"]);
    let record = said.json();
    if said.code == 1 {
        let witness = folder.path().join("witness.json");
        std::fs::write(&witness, &said.out).expect("written");
        let again = mazurka(&["replay", witness.to_str().expect("a name")]);
        assert_eq!(again.code, 1, "{again:?}");
    }
    (said.code, record)
}

#[test]
fn check_is_about_all_initial_values() {
    let wraps = "var x: i32 process { x := x * x } ensures x >= 0";
    let (code, record) = checked(wraps);
    assert_eq!(code, 1, "{record}");
    assert_eq!(record["program"]["set"][0][0], "x");
    let said = with_input(&["check", "-"], wraps);
    assert!(said.out.contains("\ninitially: x = "), "{said:?}");
    assert!(said.last_line().contains(" --set x="), "{said:?}");

    let fits = "var x: i32 requires -100 < x && x < 100 process { x := x * x } ensures x >= 0";
    let (code, record) = checked(fits);
    assert_eq!(
        (code, &record["deterministic"]),
        (0, &true.into()),
        "{record}"
    );

    let waits = "var x: i8 requires x != 3 process { await x > 0; x := x + 1 }";
    let (code, record) = checked(waits);
    assert_eq!(
        (code, &record["witnesses"][0]["kind"]),
        (1, &"deadlock".into()),
        "{record}"
    );

    let array = "var a: i8[2] var i: i8 requires 0 <= i && i < 2
        process { a[i] := 1; assert a[0] + a[1] != 100 }";
    let (code, record) = checked(array);
    assert_eq!(
        (code, &record["witnesses"][0]["kind"]),
        (1, &"failure".into()),
        "{record}"
    );
}

#[test]
fn results_differ_if_they_do_so_for_the_same_values() {
    // Different terms, and the same value for all of them.
    let same = "var x, y: i32 requires x == y process { x := y } process { skip }";
    let (code, record) = checked(same);
    assert_eq!(
        (code, &record["deterministic"]),
        (0, &true.into()),
        "{record}"
    );
    let race = "var x, y: i32 process { x := y } process { y := x }";
    let (code, record) = checked(race);
    assert_eq!(
        (code, &record["deterministic"]),
        (1, &false.into()),
        "{record}"
    );
    let equal = "var x, y: i32 requires x == y process { x := y } process { y := x }";
    let (code, record) = checked(equal);
    assert_eq!(
        (code, &record["deterministic"]),
        (0, &true.into()),
        "{record}"
    );
}
