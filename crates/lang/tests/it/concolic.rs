//! Tests that path conditions are the conditions that the guarded-command paper prints.

use mazurka_lang::{Concolic, compile, load};

fn concolic(source: &str) -> Concolic {
    let program = load(source, &[]).expect("a program");
    let code = compile(&program, source).expect("code");
    Concolic::new(&code, 1_000_000)
}

fn example_5(x: i64) -> Concolic {
    let flips = "x := x + 2 ◁ flag ▷ x := x - 1; True ▷ flag := ¬flag; ".repeat(4);
    concolic(&format!(
        "var x: int ↦ {x} var y: int ↦ 0 var flag: bool ↦ True
         process {{ spawn {{ x == 0 ∨ flag ▷ x := 2 * x }}; spawn {{ {flips} True ▷ y := y + 1 }} }}"
    ))
}

fn path(concolic: &mut Concolic, schedule: &str) -> String {
    let schedule = schedule.parse().expect("a schedule");
    concolic.follow(&schedule).expect("a run");
    concolic.path_condition()
}

const THETA_0: &str = "0 0 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.0";
const THETA_2: &str = "0 0 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.0 0.1 0.1";
const THETA_3: &str = "0 0 0.1 0.1 0.1 0.1 0.1 0.0 0.1 0.1 0.1 0.1";

#[test]
fn examples_7_and_11() {
    let mut from_zero = example_5(0);
    assert_eq!(path(&mut from_zero, THETA_0), "flag");
    assert_eq!(from_zero.state()[0].value, "2 * (x + 2)");
    assert_eq!(path(&mut from_zero, THETA_3), "flag");
    let theta_2 = THETA_2.parse().expect("a schedule");
    assert!(from_zero.follow(&theta_2).is_err());
    let mut from_minus_two = example_5(-2);
    assert_eq!(path(&mut from_minus_two, THETA_2), "flag && x == -2");
}

#[test]
fn locals_are_substituted_away() {
    let mut both = concolic(
        "var x, y: int = 0 process { let t = x + 1; if t > 0 { y := t } else { y := -t } } process { x := y }",
    );
    assert_eq!(path(&mut both, "0 0 1"), "x > -1");
    assert_eq!(both.state()[0].value, "x + 1");
}

#[test]
fn conditions_of_partial_operations_are_part_of_the_path() {
    let mut division = concolic("var x: int = 3 var a: int[2] = 0 process { a[0] := 6 / x }");
    assert_eq!(path(&mut division, "0"), "x != 0");
    let mut index = concolic("var i: int = 1 var a: int[2] = 0 process { a[i] := 7 }");
    assert_eq!(path(&mut index, "0"), "i >= 0 && i < 2");
}

#[test]
fn choices_guards_and_ends_of_loops() {
    let mut all = concolic(
        "var i, y: int = 0 process { i < 1 |>* i := i + 1; y := 1 } process { i == 1 |> (y := 2 <| y == 0 |> y := 3) }",
    );
    // The exit of the loop has its own label, which contains its guard (errata E8 in
    // docs/algorithms.md).
    assert_eq!(path(&mut all, "0 0 1 0"), "i == 0 && y == 0");
}
