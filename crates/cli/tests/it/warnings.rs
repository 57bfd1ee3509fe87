//! Tests warnings, and mistakes in machine-readable formats.

use crate::support::with_input;

const UNUSED: &str = "var x, unused: int = 0 process { x := 1 }";
const VACUOUS: &str =
    "var x: int = 0 process { x := 1 } process { if x > 1 { x := 5 } } allows nondeterminism";

#[test]
fn warnings_are_shown_beside_the_result() {
    for command in ["check", "explore"] {
        let result = with_input(&[command, "-"], UNUSED);
        assert_eq!(result.code, 0, "{result:?}");
        assert!(result.err.contains("warning[W0101]"), "{result:?}");
        assert!(result.err.contains("^^^^^^"), "{result:?}");
        assert!(
            result.err.contains("1 warning in standard input"),
            "{result:?}"
        );
        assert!(!result.out.contains("W0101"), "{result:?}");
        let result = with_input(&[command, "-"], VACUOUS);
        assert!(result.err.contains("warning[W0202]"), "{result:?}");
        // For a violated program, warnings about code that is never reached are only in the record.
        let violated = VACUOUS.replace("x := 1", "x := 1; assert x == 5");
        let result = with_input(&[command, "-"], &violated);
        assert!(result.code == 1 && result.err.is_empty(), "{result:?}");
        let result = with_input(&[command, "-", "--quiet"], UNUSED);
        assert_eq!((result.code, &*result.err), (0, ""), "{result:?}");
    }
}

#[test]
fn denied_warnings_are_exit_code_1_if_the_result_is_verified() {
    for (command, source, code) in [
        ("check", UNUSED, 1),
        ("check", VACUOUS, 1),
        ("explore", UNUSED, 1),
        ("explore", VACUOUS, 1),
        ("check", "var x: int = 0 process { x := 1 }", 0),
        ("explore", "var x: int = 0 process { x := 1 }", 0),
        // With warnings, an inconclusive answer keeps its exit code.
        (
            "check",
            "var x, unused: int = 0 process { while x >= 0 { x := x + 1 } }",
            2,
        ),
    ] {
        let result = with_input(
            &[
                command,
                "-",
                "--deny-warnings",
                "--max-depth=50",
                "--max-steps=500",
            ],
            source,
        );
        assert_eq!(result.code, code, "{command} {source}: {result:?}");
        let result = with_input(
            &[
                command,
                "-",
                "--deny-warnings",
                "--quiet",
                "--max-depth=50",
                "--max-steps=500",
            ],
            source,
        );
        assert_eq!(result.code, code, "{command} {source}: {result:?}");
    }
}

#[test]
fn the_record_has_warnings_and_coverage() {
    let json = with_input(&["check", "-", "--format=json"], VACUOUS);
    assert_eq!((json.code, &*json.err), (0, ""), "{json:?}");
    let record = json.json();
    let warning = &record["warnings"][0];
    assert_eq!(warning["code"], "W0202");
    assert_eq!(warning["severity"], "warning");
    let span = serde_json::json!({"line": 1, "column": 48, "length": 5});
    assert_eq!(warning["span"], span);
    let coverage = &record["coverage"];
    assert_eq!(
        (&coverage["statements"], &coverage["reached"]),
        (&3.into(), &2.into())
    );
    assert_eq!(coverage["branches"][0]["held"], false);
    assert_eq!(coverage["branches"][0]["failed"], true);
}

#[test]
fn mistakes_are_json_for_programs_that_ask_for_it() {
    let wrong = "var x: int = 0\nprocess { y := 1; x = 2 }";
    for command in [
        "check", "explore", "unfold", "run", "permute", "symbolic", "prove",
    ] {
        let result = with_input(&[command, "-", "--format=json"], wrong);
        assert_eq!(
            (result.code, &*result.err),
            (3, ""),
            "{command}: {result:?}"
        );
        let mistakes = result.json();
        assert_eq!(
            (&mistakes["version"], &mistakes["file"]),
            (&2.into(), &"-".into())
        );
        let all = mistakes["diagnostics"].as_array().expect("a list");
        let codes: Vec<_> = all.iter().map(|one| one["code"].as_str()).collect();
        assert!(codes.contains(&Some("M0105")), "{result:?}");
        let assignment = all.iter().find(|one| one["code"] == "M0105").expect("one");
        let span = serde_json::json!({"line": 2, "column": 21, "length": 1});
        assert_eq!(assignment["span"], span);
        assert_eq!(assignment["severity"], "error");
        assert!(assignment["help"].is_string() || assignment["label"] == "expected `:=`");
    }
    // A mistake outside of the text has no place in it.
    let set = with_input(
        &["check", "-", "--set=x=many", "--format=json"],
        "var x: int = 0 process { x := 1 }",
    );
    let mistake = &set.json()["diagnostics"][0];
    assert_eq!(
        (&mistake["code"], &mistake["span"]),
        (&"M0502".into(), &serde_json::Value::Null)
    );
}

/// A property without a value is different from a false one.
#[test]
fn a_property_that_cannot_be_computed_has_a_reason() {
    for (property, why) in [
        (
            "invariant a[n] == 0",
            "invariant cannot be computed (an index is out of bounds)",
        ),
        (
            "invariant p: 6 / (2 - n) > 0",
            "invariant `p` cannot be computed (it divides by zero)",
        ),
        (
            "ensures a[n] == 0",
            "ensures cannot be computed (an index is out of bounds)",
        ),
        ("invariant n < 2", "invariant does not hold"),
    ] {
        let source = format!("var a: int[2] = 0 var n: int = 0 {property} process {{ n := 2 }}");
        for command in ["check", "explore"] {
            let result = with_input(&[command, "-"], &source);
            assert_eq!(result.code, 1, "{result:?}");
            assert!(result.out.contains(why), "{command} {property}: {result:?}");
        }
    }
}

/// If `--set` changes the size of an array, it may also replace the list of values in the file.
#[test]
fn an_array_takes_its_size_and_its_values_from_outside() {
    let source = "const N = 3 var id: int[N] = [3, 1, 2] observe id
        process { assert id[N - 1] != 3 }";
    let set = ["check", "-", "--set=N=4", "--set=id=[2,4,1,3]"];
    let result = with_input(&set, source);
    assert_eq!(result.code, 1, "{result:?}");
    assert!(result.out.contains("id = [2, 4, 1, 3]"), "{result:?}");
    // Without given values the list in the file is used, and does not fit.
    let result = with_input(&["check", "-", "--set=N=4"], source);
    assert!(
        result.code == 3 && result.err.contains("M0311"),
        "{result:?}"
    );
    let result = with_input(&["check", "-", "--set=id=[2,4,1,3]"], source);
    assert!(
        result.code == 3 && result.err.contains("M0504"),
        "{result:?}"
    );
}

#[test]
fn an_alternative_that_is_never_chosen_does_not_wait() {
    let source = "var x: int = 0  chan c[2]: int
process { select { c ! choose(0..2) |> skip [] x == 1 |> x := 1 } }";
    let result = with_input(&["check", "-"], source);
    assert!(
        result.err.contains("`x == 1 |> x := 1` is never taken")
            && result.err.contains("no execution chooses it"),
        "{result:?}"
    );
    assert!(!result.err.contains("waits for ever"), "{result:?}");
}
