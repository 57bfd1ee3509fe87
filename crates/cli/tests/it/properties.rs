//! Tests `check --property NAME`: only the named properties count, and the others do not affect
//! runs.

use crate::support::{CommandResult, command, run_command, with_input};

fn json(program: &str, property: &str, more: &[&str]) -> CommandResult {
    let mut command = command();
    let args = ["check", "-", "--format", "json", "--property", property];
    command.args(args).args(more);
    run_command(&mut command, program)
}

/// The first step violates `even`. The second step violates `small`, but it is made only if `even`
/// does not halt the process.
const STEPS: &str = "var x: int = 0
    invariant even: x % 2 == 0
    invariant small: x < 2
    ensures one: x == 1
    eventually three: x == 3
    process { x := 1; x := 2 }";

#[test]
fn each_property_counts_alone() {
    for (property, code, messages) in [
        ("even", 1, &["`even`"][..]),
        ("small", 1, &["`small`"]),
        ("one", 1, &["`one`"]),
        ("three", 1, &["`three`"]),
        // A search stops at the first violation.
        ("small,deadlock", 1, &["`small`"]),
        ("deadlock", 0, &[]),
    ] {
        let result = json(STEPS, property, &[]);
        assert_eq!(result.code, code, "{property}: {result:?}");
        let record = result.json();
        let shown = record["witnesses"].as_array().expect("an array");
        assert_eq!(shown.len(), messages.len(), "{property}: {shown:?}");
        for (witness, message) in shown.iter().zip(messages) {
            let shown_message = witness["message"].as_str().expect("a message");
            assert!(
                shown_message.contains(message),
                "{property}: {shown_message}"
            );
        }
    }
    let all = json(STEPS, "small,even,one", &["--keep-going"]).json();
    let shown = all["witnesses"].as_array().expect("an array").len();
    assert_eq!(shown, 1, "`even` counts and halts the process: {all}");
}

#[test]
fn a_property_that_does_not_count_halts_no_process() {
    let program = "var x: int = 0
        invariant first: x == 0
        invariant last: x < 4
        process { x := 1; x := 2; x := 3 }";
    let result = with_input(&["check", "-", "--property", "last"], program);
    assert_eq!(result.code, 0, "{result:?}");
    let line = "verified: `last` holds, deterministic (";
    assert!(result.first_line().starts_with(line), "{result:?}");
    assert!(!result.out.contains("not explored"), "{result:?}");
}

#[test]
fn the_part_after_an_uncounted_failure_is_reported() {
    let program = "var x: int = 0
        invariant small: x < 2
        process { assert x == 1; x := 2 }";
    let result = with_input(&["check", "-", "--property", "small"], program);
    assert_eq!(result.code, 0, "{result:?}");
    let line = "verified: `small` holds, but 1 failure that does not count (";
    assert!(result.first_line().starts_with(line), "{result:?}");
    let line = "not explored: what a process would do after a failure that does not count\n";
    assert!(result.out.contains(line), "{result:?}");
    let record = json(program, "small", &[]).json();
    assert_eq!(record["kinds"]["halted"], true);
    assert_eq!(record["kinds"]["counted"], serde_json::json!(["failure"]));
    // A part is also unexplored if `--property` names another kind, or if the file allows failures.
    let deadlock = json(program, "deadlock", &[]).json();
    assert_eq!(deadlock["kinds"]["halted"], true);
    let allowed = format!("allows failure {program}");
    let result = with_input(&["check", "-"], &allowed);
    assert!(result.out.contains(line), "{result:?}");
    let whole = json(program, "failure", &[]).json();
    assert_eq!(whole["kinds"].get("halted"), None);
}

#[test]
fn the_failure_that_counts_is_found_beside_one_that_does_not() {
    let program = "var x: int = 0
        invariant small: x < 1
        process { assert x == 7 }
        process { x := 1 }";
    let result = json(program, "small", &[]);
    assert_eq!(result.code, 1, "{result:?}");
    let record = result.json();
    assert_eq!(record["witnesses"].as_array().map(Vec::len), Some(1));
    assert_eq!(record["kinds"]["halted"], true);
}

#[test]
fn a_search_does_not_end_at_an_uncounted_violation() {
    // The first step violates `a`; `b` is violated after many more steps than the limit.
    let program = "var x: int = 0
        invariant a: x == 0
        invariant b: x < 100000
        process { for i in 0..200000 { x := x + 1 } }";
    for (property, code) in [("a", 1), ("b", 2), ("a,b", 1)] {
        let result = json(program, property, &["--max-steps", "3000"]);
        assert_eq!(result.code, code, "{property}: {result:?}");
    }
}

#[test]
fn the_run_that_is_shown_can_be_made_again() {
    let folder = std::env::temp_dir().join(format!("mazurka-named-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("steps.maz");
    std::fs::write(&file, STEPS).expect("a file");
    let path = file.to_str().expect("a path");
    let saved = folder.join("bad.json");
    let saved = saved.to_str().expect("a path");
    let check = ["check", path, "--property", "small", "--witness", saved];
    let checked = run_command(command().args(check), "");
    assert_eq!(checked.code, 1, "{checked:?}");
    let hint = checked.out.lines().last().unwrap_or_default().to_owned();
    assert!(
        hint.ends_with("--schedule \"0 0\" --property=small"),
        "{hint}"
    );
    let replayed = run_command(command().args(["replay", saved]), "");
    assert_eq!(replayed.code, 1, "{replayed:?}");
    let run = ["run", path, "--schedule", "0 0", "--property=small"];
    let run = run_command(command().args(run), "");
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.out.contains("`small`"), "{run:?}");
    std::fs::remove_dir_all(&folder).expect("the folder");
}

#[test]
fn the_names_of_properties_are_listed() {
    let result = json(STEPS, "evens", &[]);
    assert_eq!(result.code, 3, "{result:?}");
    let kinds = "failure, property, deadlock, livelock, deterministic and all";
    let names = "the file names even, small, one, three";
    assert!(
        result.err.contains(kinds) && result.err.contains(names),
        "{result:?}"
    );
}

#[test]
fn unknown_values_are_no_obstacle() {
    let program = "var x: i8 = 0
        invariant even: x % 2 == 0
        invariant small: x < 100
        process { x := input(i8) }";
    let result = json(program, "small", &[]);
    assert_eq!(result.code, 1, "{result:?}");
    let record = result.json();
    let shown = record["witnesses"].as_array().expect("an array");
    assert_eq!(shown.len(), 1, "{record}");
    let result = json(&program.replace("< 100", "<= 127"), "small", &[]);
    assert_eq!(result.code, 0, "{result:?}");
}

#[test]
fn strong_fairness_is_an_option() {
    let starved = "corpus/maz/temporal-starvation/program.maz";
    let weak = run_command(command().args(["check", starved]), "");
    assert_eq!(weak.code, 1, "{weak:?}");
    let strong = run_command(
        command().args(["check", starved, "--fairness", "strong"]),
        "",
    );
    assert_eq!(strong.code, 0, "{strong:?}");
    assert!(
        strong.first_line().contains("strong fairness"),
        "{strong:?}"
    );
    let json = ["check", starved, "--fairness", "strong", "--format", "json"];
    let record = run_command(command().args(json), "").json();
    assert_eq!(record["options"]["fairness"], "strong");
    let explored = ["explore", starved, "--fairness", "strong"];
    let other = run_command(command().args(explored), "");
    assert_eq!(other.code, 3, "{other:?}");
    let engine = ["--algorithm", "stateful"];
    let explored = run_command(command().args(explored).args(engine), "");
    assert_eq!(explored.code, 0, "{explored:?}");
}

#[test]
fn a_lasso_is_replayed_under_the_fairness_that_it_claims() {
    let folder = std::env::temp_dir().join(format!("mazurka-fair-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let saved = folder.join("bad.json");
    let path = saved.to_str().expect("a path");
    let starved = "corpus/maz/temporal-starvation/program.maz";
    let checked = run_command(command().args(["check", starved, "--witness", path]), "");
    assert_eq!(checked.code, 1, "{checked:?}");
    assert_eq!(run_command(command().args(["replay", path]), "").code, 1);
    let text = std::fs::read_to_string(&saved).expect("a record");
    let claims = text.replace("\"fairness\": \"weak\"", "\"fairness\": \"strong\"");
    assert_ne!(text, claims);
    std::fs::write(&saved, claims).expect("a file");
    let replayed = run_command(command().args(["replay", path]), "");
    assert_eq!(replayed.code, 3, "{replayed:?}");
    let why = "does not violate the recorded property";
    assert!(replayed.err.contains(why), "{replayed:?}");
    std::fs::remove_dir_all(&folder).expect("the folder");
}
