//! `condition`: its answers and its refusals.

use crate::support::{CommandResult, mazurka, with_input};

fn ask(program: &str, property: &str, flags: &[&str]) -> CommandResult {
    let mut args = vec!["condition", "-", "--property", property, "--format", "json"];
    args.extend(flags);
    with_input(&args, program)
}

const N: &str = "var n: i8 var flag: bool var x: i8 = 0
    process { x := 1 } process { if n > 3 && !flag { x := 2 } }";

#[test]
fn a_condition_is_short_and_has_runs() {
    let said = ask(N, "deterministic", &[]);
    assert_eq!(said.code, 0, "{said:?}");
    let record = said.json();
    assert_eq!(record["holds"], "n <= 3 || flag");
    assert_eq!(record["fails"], "n >= 4 && !flag");
    assert_eq!(record["exact"], true);
    let cases = record["cases"].as_array().expect("cases");
    assert_eq!(cases.len(), 1, "{said:?}");
    assert_eq!(cases[0]["runs"].as_array().map(Vec::len), Some(2));
    let said = with_input(&["condition", "-", "--property", "deterministic"], N);
    assert_eq!(
        said.first_line(),
        "deterministic if and only if n <= 3 || flag"
    );
    assert!(said.out.contains("mazurka run - --schedule"), "{said:?}");
}

#[test]
fn discarded_values_are_told_apart() {
    let asks = "var x: int = 0 process { let i = input(i8); assume i > 0; x := 1; assert i != 5 }";
    let record = ask(asks, "failure", &[]).json();
    assert_eq!(record["all_discarded"], "0#0 <= 0");
    assert_eq!(record["holds"], "0#0 == 5");
    // Values for which nothing happens are not examined.
    assert_eq!(record["fails"], "0#0 != 5");
}

#[test]
fn a_bound_leaves_two_sides() {
    let count = "var n: i8 var x: i8 = 0 requires n >= 0
        process { while x < n { x := x + 1 } assert n != 1 }";
    let said = ask(count, "failure", &["--max-depth", "6"]);
    assert_eq!(said.code, 2, "{said:?}");
    let record = said.json();
    assert_eq!(record["exact"], false);
    assert_eq!(record["holds"], "n == 1");
    let unknown = record["unknown"].as_str().expect("a formula");
    assert!(unknown.starts_with("n >= "), "{unknown}");
}

#[test]
fn what_is_no_property_is_refused() {
    for (property, why) in [
        ("at(0, 2)", "has no `at`"),
        ("nothing == 1", "nothing"),
        ("x +", "expected"),
    ] {
        let said = ask(N, property, &[]);
        assert_eq!(said.code, 3, "{property}: {said:?}");
        let told = said.out.clone() + &said.err;
        assert!(told.contains(why), "{property}: {said:?}");
    }
    let said = mazurka(&["condition", "examples/counter.maz"]);
    assert_eq!(said.code, 3, "{said:?}");
}

#[test]
fn what_the_initial_values_break_is_a_failure_for_these() {
    // For n = 0 the last state is fine and the first is not.
    let broken = "var x, y: int = 0 var n: int var b: bool requires 0 <= n && n < 3
        invariant b || x != y
        process { y := 2; y := n - 1 }";
    let said = ask(broken, "failure", &[]);
    let record = said.json();
    assert_eq!(record["holds"], "!b", "{said:?}");
    assert_eq!(record["fails"], "b", "{said:?}");
    // It does not matter either that all runs are discarded later.
    let discarded = format!("{broken} process {{ assume x > 2 }}");
    let said = ask(&discarded, "failure", &[]);
    let record = said.json();
    assert_eq!(record["all_discarded"], "b", "{said:?}");
    assert_eq!(record["holds"], "true", "{said:?}");
}
