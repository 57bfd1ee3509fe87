//! Tests minimal programs for defects of `check` that were found by attempts to mislead it.

use serde_json::{Value, json};

use crate::support::{CommandResult, command, mazurka, run_command, with_input};

fn check(program: &str, more: &[&str]) -> CommandResult {
    let mut command = command();
    command.args(["check", "-", "--format", "json"]).args(more);
    run_command(&mut command, program)
}

/// Returns the kinds of violations shown.
fn shown(record: &Value) -> Vec<&str> {
    let witnesses = record["witnesses"].as_array().expect("an array");
    witnesses
        .iter()
        .filter_map(|w| w["kind"].as_str())
        .collect()
}

const LIVELOCK_BEHIND_DEADLOCK: &str = "var x, y: int = 0  lock m
    process a {
      x := choose(0..2);
      if x == 0 { lock(m); lock(m) } else { while x == 1 { y := 1 - y } }
    }";

#[test]
fn a_deadlock_conceals_nothing() {
    let record = check(LIVELOCK_BEHIND_DEADLOCK, &[]).json();
    assert_eq!(shown(&record), ["deadlock", "livelock"]);
    let program = "var x: int = 0  lock m  expects deterministic
        process a { x := choose(0..3); if x == 0 { lock(m); lock(m) } }";
    let record = check(program, &[]).json();
    assert_eq!(shown(&record), ["deadlock", "nondeterminism"]);
    assert_eq!(record["deterministic"], false);
    assert_eq!(record["kinds"]["open"], json!([]));
    assert_eq!(record["scope"]["exhaustive"], true);
}

#[test]
fn a_search_that_stops_at_a_failure_leaves_the_rest_open() {
    let program = "var x: int = 0  lock m  process { error }  process { lock(m); lock(m) }";
    let record = check(program, &[]).json();
    assert_eq!(shown(&record), ["failure"]);
    assert_eq!(record["stopped"], "certain");
    assert_eq!(record["scope"]["exhaustive"], false);
    assert_eq!(record["kinds"]["open"], json!(["deadlock", "livelock"]));
    let text = with_input(&["check", "-"], program).out;
    let line = "not searched exhaustively: deadlock, livelock (--keep-going explores everything)\n";
    assert!(text.contains(line), "{text}");
}

#[test]
fn a_bound_leaves_open_what_was_not_found() {
    let program = "var x: int = 0  process { x := 1; x := 2; error }  process { x := 3 }";
    let record = check(program, &["--max-depth", "1"]).json();
    assert_eq!(record["verdict"], "inconclusive");
    assert_eq!(record["kinds"]["open"], record["kinds"]["counted"]);
    let flags = ["--keep-going", "--max-depth", "2"];
    let program = format!("process {{ error }} {program}");
    let record = check(&program, &flags).json();
    assert_eq!(shown(&record), ["failure", "failure"]);
    assert_eq!(record["kinds"]["open"], json!(["deadlock", "livelock"]));
    // The flag --keep-going is given already, so the advice does not name it.
    let text = with_input(
        &["check", "-", "--keep-going", "--max-depth", "2"],
        &program,
    )
    .out;
    assert!(text.contains("--max-depth 2: raise --max-depth"), "{text}");
    let line = "not searched exhaustively: deadlock, livelock\n";
    assert!(text.contains(line), "{text}");
}

#[test]
fn an_engine_that_leaves_properties_out_leaves_them_open() {
    let program = "var x: int = 0  always x < 2  process { x := 1 }";
    let args = ["explore", "-", "--algorithm", "optimal", "--format", "json"];
    let record = with_input(&args, program).json();
    assert_eq!(record["verdict"], "inconclusive");
    assert_eq!(record["kinds"]["open"], json!(["property"]));
}

#[test]
fn a_failing_server_has_no_livelock() {
    for program in [
        "var x: int = 0  process server { while true { if x == 5 { error } x := 1 - x } }",
        "var x: int = 0  proc test() { if x == 5 { error } }
         process server { while true { test(); x := 1 - x } }",
        "var x: int = 0  process server { if x == 5 { error } while true { x := 1 - x } }",
        "var x: int = 0  process { for i in 0..2 { while true { x := 1 - x } } }",
        "var x: int = 0  process { while true { x := 1 - x; while false { end } } }",
    ] {
        let result = check(program, &[]);
        assert_eq!(result.code, 0, "{program}: {result:?}");
    }
}

#[test]
fn nothing_follows_a_failure() {
    let program = "var x: int = 0  process bad { error }  process spin { while x == 0 { skip } }";
    assert_eq!(check(program, &["--property", "livelock"]).code, 0);
}

#[test]
fn an_invariant_that_is_false_at_the_start_excuses_no_always() {
    let program = "var x: int = 0  invariant i: x == 1  always a: x == 1  process { x := 1 }";
    assert_eq!(
        shown(&check(program, &["--property", "a"]).json()),
        ["property"]
    );
    // The step that breaks an invariant fails, so the state after it does not count.
    let program = "var x: int = 1  invariant i: x == 1  always a: x == 1  process { x := 2 }";
    let record = check(program, &["--keep-going"]).json();
    assert_eq!(shown(&record), ["failure"]);
}

#[test]
fn a_limit_hides_no_violated_always() {
    let program = "var x: int[6] = 0  always a: x[0] == 3
        process p (i in 0..6) { while true { x[i] := (x[i] + 1) % 10 } }";
    for flags in [
        ["--time-limit", "0.05"].as_slice(),
        &["--keep-going", "--time-limit", "0.2"],
        &["--max-steps", "1000"],
    ] {
        let result = check(program, flags);
        assert_eq!(result.code, 1, "{flags:?}: {result:?}");
        let record = result.json();
        assert_eq!(shown(&record), ["property"], "{flags:?}");
        assert_eq!(
            record["witnesses"][0]["runs"][0]["schedule"], "",
            "{flags:?}"
        );
    }
}

#[test]
fn a_limit_on_depth_leaves_the_engine_that_merges_states() {
    // Too many traces to count, and few states.
    let program = "var x: int[4] = 0  var y: int = 0
        process p (i in 0..4) { while true { x[i] := 1 - x[i]; y := 1 - y } }";
    let result = check(program, &["--max-depth", "40"]);
    assert_eq!(result.code, 2, "{result:?}");
    assert_eq!(result.json()["algorithm"], "stateful");
    // The failure first occurs at the end of a long run, which is cut there.
    let program = "var x: int = 0  process { while x < 100 { x := x + 1 }; error }
        process { x := 99 }";
    let result = check(program, &["--max-depth", "8"]);
    assert_eq!(shown(&result.json()), ["failure"], "{result:?}");
}

fn headline(program: &str, more: &[&str]) -> String {
    let mut command = command();
    command.args(["check", "-"]).args(more);
    run_command(&mut command, program).first_line().to_owned()
}

#[test]
fn headlines_name_what_counts() {
    let failing = "var x: int = 0  process { x := 1; error }";
    let line = headline(failing, &["--property", "deadlock"]);
    assert!(
        line.contains("but 1 failure that does not count ("),
        "{line}"
    );
    let livelock = "allows livelock  var x: int = 0  process { while x == 0 { skip } }";
    let line = headline(livelock, &["--keep-going"]);
    assert!(line.contains("but a livelock that is allowed ("), "{line}");
    let property = "allows property  var x: int = 0  eventually x == 2  process { x := 1 }";
    let line = headline(property, &["--keep-going"]);
    let expected = "but a temporal property that does not hold that is allowed (";
    assert!(line.contains(expected), "{line}");
}

#[test]
fn a_title_that_several_witnesses_have_is_there_once() {
    let line = headline("process client (i in 0..2) { error }", &["--keep-going"]);
    assert_eq!(line.matches("error reached").count(), 1, "{line}");
    assert!(line.contains(", in 2 processes ("), "{line}");
    let line = headline("process { error }  process { error }", &["--keep-going"]);
    assert!(line.contains(", at 2 places ("), "{line}");
}

#[test]
fn properties_that_do_not_exist_cannot_be_named() {
    let result = check(
        "var x: int = 0  process { x := 1 }",
        &["--property", "property"],
    );
    assert_eq!(result.code, 3, "{result:?}");
    assert!(
        result.err.contains("states no temporal property"),
        "{result:?}"
    );
    let all = check("var x: int = 0  process { x := 1 }", &["--property", "all"]);
    assert_eq!(all.code, 0, "{all:?}");
}

#[test]
fn standard_input_cannot_be_written() {
    let result = with_input(&["replay", "-"], "{}");
    assert_eq!(result.code, 3, "{result:?}");
    assert!(!result.err.contains("--witness -"), "{result:?}");
    assert!(result.err.contains("--format json"), "{result:?}");
}

#[test]
fn errors_of_schedules_name_processes_as_the_source_does() {
    let program = "lock m  process p (i in 0..2) { lock(m); unlock(m) }";
    let result = with_input(&["run", "-", "--schedule", "p(0) p(1)"], program);
    assert_eq!(result.code, 3, "{result:?}");
    let expected = "process p(1) has to wait here; these can make a step: p(0)";
    assert!(result.err.contains(expected), "{result:?}");
}

#[test]
fn properties_over_locals_show_them() {
    let program = "var x: int = 0  always p(0).a[1] < 2
        process p (i in 0..2) { let a: int[2] = 0; a[1] := x + 2; x := 1 }";
    let record = check(program, &[]).json();
    assert_eq!(shown(&record)[0], "property");
    let values = &record["witnesses"][0]["values"];
    assert_eq!(*values, json!([{ "name": "p(0).a[1]", "value": "2" }]));
}

#[test]
fn a_loop_over_an_unknown_value_comes_back_to_its_state() {
    let flags = [
        "explore",
        "-",
        "--algorithm",
        "stateful",
        "--format",
        "json",
    ];
    for (program, states) in [
        ("var i: bool  process { while i { skip } }", 3),
        ("var i, j: bool  process { while i { if j { skip } } }", 7),
    ] {
        let record = with_input(&flags, program).json();
        assert_eq!(record["scope"]["exhaustive"], true, "{record}");
        assert_eq!(record["states"], states, "{record}");
        assert_eq!(shown(&record), ["livelock"], "{record}");
    }
}

#[test]
fn an_unfinished_loop_is_referred_to_another_engine() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("livelock.maz");
    let program = "var i: bool  var x: i8 = 0
        process { while x == 0 { skip } }  process { if i { x := 1 } }";
    std::fs::write(&file, program).expect("a file");
    let file = file.to_str().expect("a path");
    let result = mazurka(&["check", file, "--property", "livelock", "--max-depth", "50"]);
    assert_eq!(result.code, 2, "{result:?}");
    let advice = "try `mazurka explore --algorithm stateful`";
    assert!(result.out.contains(advice), "{result:?}");
    let flags = ["--algorithm", "stateful", "--format", "json"];
    let record = mazurka(&[&["explore", file], &flags[..]].concat()).json();
    assert_eq!(record["scope"]["exhaustive"], true, "{record}");
    assert_eq!(shown(&record), ["livelock"], "{record}");
}
