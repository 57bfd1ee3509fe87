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
