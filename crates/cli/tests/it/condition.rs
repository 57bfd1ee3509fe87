//! Tests the answers and the refusals of `condition`.

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
    let result = ask(N, "deterministic", &[]);
    assert_eq!(result.code, 0, "{result:?}");
    let record = result.json();
    assert_eq!(record["holds"], "n <= 3 || flag");
    assert_eq!(record["fails"], "n >= 4 && !flag");
    assert_eq!(record["exact"], true);
    let cases = record["cases"].as_array().expect("cases");
    assert_eq!(cases.len(), 1, "{result:?}");
    assert_eq!(cases[0]["runs"].as_array().map(Vec::len), Some(2));
    let result = with_input(&["condition", "-", "--property", "deterministic"], N);
    assert_eq!(
        result.first_line(),
        "deterministic if and only if n <= 3 || flag"
    );
    assert!(
        result.out.contains("mazurka run - --schedule"),
        "{result:?}"
    );
}

#[test]
fn discarded_values_are_separate() {
    let asks = "var x: int = 0 process { let i = input(i8); assume i > 0; x := 1; assert i != 5 }";
    let record = ask(asks, "failure", &[]).json();
    assert_eq!(record["all_discarded"], "0#0 <= 0");
    assert_eq!(record["holds"], "0#0 == 5");
    // The formulas need not exclude the values for which all runs are discarded.
    assert_eq!(record["fails"], "0#0 != 5");
}

#[test]
fn a_bound_leaves_two_sides() {
    let count = "var n: i8 var x: i8 = 0 requires n >= 0
        process { while x < n { x := x + 1 } assert n != 1 }";
    let result = ask(count, "failure", &["--max-depth", "6"]);
    assert_eq!(result.code, 2, "{result:?}");
    let record = result.json();
    assert_eq!(record["exact"], false);
    assert_eq!(record["holds"], "n == 1");
    let unknown = record["unknown"].as_str().expect("a formula");
    assert!(unknown.starts_with("n >= "), "{unknown}");
}

#[test]
fn a_text_that_is_not_a_property_is_refused() {
    for (property, why) in [
        ("at(0, 2)", "has no `at`"),
        ("nothing == 1", "nothing"),
        ("x +", "expected"),
    ] {
        let result = ask(N, property, &[]);
        assert_eq!(result.code, 3, "{property}: {result:?}");
        let messages = result.out.clone() + &result.err;
        assert!(messages.contains(why), "{property}: {result:?}");
    }
    let result = mazurka(&["condition", "examples/counter.maz"]);
    assert_eq!(result.code, 3, "{result:?}");
}

#[test]
fn an_invariant_that_is_false_initially_is_a_failure() {
    // For n = 0 the invariant holds in the last state, but not in the first.
    let broken = "var x, y: int = 0 var n: int var b: bool requires 0 <= n && n < 3
        invariant b || x != y
        process { y := 2; y := n - 1 }";
    let result = ask(broken, "failure", &[]);
    let record = result.json();
    assert_eq!(record["holds"], "!b", "{result:?}");
    assert_eq!(record["fails"], "b", "{result:?}");
    // The failure also counts if all runs are discarded later.
    let discarded = format!("{broken} process {{ assume x > 2 }}");
    let result = ask(&discarded, "failure", &[]);
    let record = result.json();
    assert_eq!(record["all_discarded"], "b", "{result:?}");
    assert_eq!(record["holds"], "true", "{result:?}");
}
