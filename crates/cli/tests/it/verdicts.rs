//! Tests the answers of `check` for programs with several violations, and which violations count.

use crate::support::{CommandResult, command, run_command, with_input};

fn check(program: &str, more: &[&str]) -> CommandResult {
    let mut command = command();
    command.args(["check", "-", "--format", "json"]).args(more);
    run_command(&mut command, program)
}

fn kinds(result: &CommandResult) -> Vec<String> {
    let record = result.json();
    let witnesses = record["witnesses"].as_array().expect("an array").clone();
    let kind = |witness: &serde_json::Value| witness["kind"].as_str().expect("a kind").to_owned();
    witnesses.iter().map(kind).collect()
}

const ABBA_BESIDE_WRITERS: &str =
    include_str!("../../../../corpus/maz/abba-beside-writers/program.maz");

#[test]
fn a_deadlock_does_not_hide_behind_different_results() {
    let all = check(ABBA_BESIDE_WRITERS, &[]);
    assert_eq!(all.code, 1);
    assert_eq!(kinds(&all), ["deadlock", "nondeterminism"]);
    let record = all.json();
    assert_eq!(record["kinds"]["open"], serde_json::json!([]));
    assert_eq!(record["deterministic"], false);
    assert_ne!(record["deadlocks"], 0);
}

#[test]
fn the_user_chooses_what_counts() {
    let expected: [(&[&str], i32, &[&str]); 5] = [
        (&["--property", "failure"], 0, &[]),
        (&["--property", "deadlock"], 1, &["deadlock"]),
        (&["--property", "deterministic"], 1, &["nondeterminism"]),
        (&["--property", "failure,livelock"], 0, &[]),
        (&["--property", "all"], 1, &["deadlock", "nondeterminism"]),
    ];
    for (flags, code, shown) in expected {
        let result = check(ABBA_BESIDE_WRITERS, flags);
        assert_eq!(result.code, code, "{flags:?}");
        assert_eq!(kinds(&result), shown, "{flags:?}");
    }
}

#[test]
fn the_file_states_what_counts() {
    let expected: [(&str, i32, &[&str]); 4] = [
        ("allows deadlock", 1, &["nondeterminism"]),
        ("allows nondeterminism", 1, &["deadlock"]),
        ("allows deadlock, nondeterminism", 0, &[]),
        ("expects deterministic", 1, &["deadlock", "nondeterminism"]),
    ];
    for (line, code, shown) in expected {
        let result = check(&format!("{line}\n{ABBA_BESIDE_WRITERS}"), &[]);
        assert_eq!(result.code, code, "{line}");
        assert_eq!(kinds(&result), shown, "{line}");
    }
    // An allowed violation is still mentioned.
    let mut command = command();
    command.args(["check", "-"]);
    let program = format!("allows deadlock, nondeterminism\n{ABBA_BESIDE_WRITERS}");
    let allowed = run_command(&mut command, &program);
    assert!(allowed.out.contains("2 deadlocks"), "{}", allowed.out);
}

#[test]
fn uncounted_violations_are_not_denied() {
    let program = "allows failure, deadlock, livelock, nondeterminism
        var x: int = 0 process { x := 1; error }";
    let result = with_input(&["check", "-"], program);
    let line = "verified: nothing counts as a violation, but 1 failure that is allowed";
    assert!(result.first_line().starts_with(line), "{result:?}");
}

/// The search finds different results at once, and cannot explore the rest within the steps that it
/// may make.
const LARGE: &str = "var x, y: int = 0
    process { for i in 0..90 { x := x + y + 1 } }
    process { for i in 0..90 { y := y + x + 1 } }
    process { for i in 0..90 { x := 2 * y } }";

#[test]
fn incomplete_searches_are_reported() {
    let result = check(LARGE, &[]);
    assert_eq!(kinds(&result), ["nondeterminism"]);
    let open = &result.json()["kinds"]["open"];
    assert_eq!(
        *open,
        serde_json::json!(["failure", "deadlock", "livelock"])
    );
    let mut command = command();
    command.args(["check", "-"]);
    let text = run_command(&mut command, LARGE).out;
    let line = "not searched exhaustively: failure, deadlock, livelock";
    assert!(text.contains(line), "{text}");
}

#[test]
fn keep_going_explores_everything() {
    let whole = check(ABBA_BESIDE_WRITERS, &["--keep-going"]);
    let record = whole.json();
    assert_eq!(record["stopped"], "complete");
    assert_eq!(
        (&record["deadlocks"], &record["final_states"]),
        (&2.into(), &2.into())
    );
    assert_eq!(kinds(&whole), ["deadlock", "nondeterminism"]);
}

#[test]
fn endless_processes_are_ordinary() {
    for (program, code) in [
        ("var t: int = 0 process { while true { t := 1 - t } }", 0),
        ("var t: int = 0 process { while t < 2 { t := 1 - t } }", 1),
        (
            "var t: int = 0 proc serve() { while true { t := 1 - t } } process { serve() }",
            0,
        ),
        (
            "var t, f: int = 0 process { while true { t := 1 - t } }
             process { while f == 0 { skip } }",
            1,
        ),
    ] {
        let result = check(program, &[]);
        assert_eq!(result.code, code, "{program}: {result:?}");
    }
}
