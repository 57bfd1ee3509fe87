//! ABS programs.

use crate::support::mazurka;

const PHILOSOPHERS: &str = "corpus/abs/philosophers/program.abs";
const BUFFER: &str = "corpus/abs/producer-consumer/program.abs";
const PI: &str = "corpus/abs/pi/program.abs";

/// The command that a witness ends with, run.
fn replayed(text: &str) -> crate::support::Said {
    let command = text
        .lines()
        .find_map(|line| line.split_once("replay with: mazurka "))
        .map(|(_, command)| command)
        .unwrap_or_else(|| panic!("no replay in {text}"));
    let (before, rest) = command.split_once('"').expect("a schedule");
    let (schedule, after) = rest.split_once('"').expect("its end");
    let mut args: Vec<&str> = before.split_whitespace().collect();
    args.push(schedule);
    args.extend(after.split_whitespace());
    mazurka(&args)
}

#[test]
fn a_deadlock_names_what_each_task_waits_for_and_replays() {
    let said = mazurka(&["check", PHILOSOPHERS, "--set", "seats=2"]);
    assert_eq!(said.code, 1, "{said:?}");
    for words in [
        "violated: deadlock",
        "waits for the result of 0.0.1 (Fork",
        "waits for `!taken`",
    ] {
        assert!(said.out.contains(words), "{words}: {said:?}");
    }
    let again = replayed(&said.out);
    assert_eq!(again.code, 1, "{again:?}");
    assert!(again.out.contains("waits for `!taken`"), "{again:?}");
}

#[test]
fn different_results_are_shown_side_by_side() {
    let said = mazurka(&["check", BUFFER, "--set", "n=1"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(
        said.out.contains("violated: not deterministic: `Buffer1."),
        "{said:?}"
    );
    assert!(said.out.contains("races with step"), "{said:?}");
}

#[test]
fn what_is_observed_decides() {
    let said = mazurka(&["check", BUFFER, "--observe", "Consumer,output"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(!said.out.contains("initially"), "{said:?}");
    let said = mazurka(&["check", BUFFER, "--observe", "Shop.till"]);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.err.contains("A0402"), "{said:?}");
}

#[test]
fn one_object_alone_may_be_deterministic_or_not() {
    let buffer = mazurka(&["check", BUFFER, "--object", "Buffer1"]);
    assert_eq!(buffer.code, 1, "{buffer:?}");
    let consumer = mazurka(&["check", BUFFER, "--object", "Consumer3"]);
    assert_eq!(consumer.code, 0, "{consumer:?}");
}

#[test]
fn every_engine_explores_them() {
    for (engine, executions) in [
        ("naive", 90),
        ("sleep", 6),
        ("dpor", 6),
        ("source", 6),
        ("optimal", 6),
        ("context", 1),
        ("stateful", 1),
    ] {
        let args = [
            "explore",
            PI,
            "--set",
            "workers=3",
            "--algorithm",
            engine,
            "--format",
            "json",
        ];
        let record = mazurka(&args).json();
        assert_eq!(record["executions"], executions, "{engine}");
        assert_eq!(record["final_states"], 1, "{engine}");
    }
}

/// More traces than anyone can count, and more states: only the engine that tries commuting orders
/// once can decide.
#[test]
fn a_large_tree_of_actors_is_decided() {
    let args = [
        "check",
        "corpus/abs/fib/program.abs",
        "--set",
        "n=9",
        "--format",
        "json",
    ];
    let record = mazurka(&args).json();
    assert_eq!(record["verdict"], "verified", "{record}");
    assert_eq!(record["algorithm"], "context", "{record}");
}

#[test]
fn a_chart_has_a_lane_for_each_object() {
    let text = mazurka(&["run", PHILOSOPHERS, "--set", "seats=2", "--format", "chart"]);
    let lanes: Vec<&str> = text.first_line().split_whitespace().collect();
    assert_eq!(lanes.len(), 5, "{text:?}");
    assert!(lanes.contains(&"Fork1"), "{text:?}");
    let svg = mazurka(&["run", PHILOSOPHERS, "--set", "seats=2", "--format", "svg"]);
    assert!(svg.out.starts_with("<svg"), "{svg:?}");
    for name in ["Fork1", "Fork2", "Philosopher3", "Philosopher4"] {
        assert!(svg.out.contains(name), "{name}");
    }
}

#[test]
fn what_is_left_out_is_named_with_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("clock.abs");
    std::fs::write(&file, "module M;\n{ await duration(1, 1); skip; }\n").expect("written");
    let file = file.to_str().expect("a name");
    let said = mazurka(&["check", file]);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.err.contains("A0301"), "{said:?}");
    assert!(said.err.contains("clock.abs:2:9"), "{said:?}");
    assert_eq!(mazurka(&["check", file, "--ignore-time"]).code, 0);
}

#[test]
fn commands_that_do_not_apply_say_so() {
    for args in [
        &["unfold", PI][..],
        &["permute", PI],
        &["reach", PI, "--property", "sum == 1"],
        &["symbolic", PI],
        &["prove", PI],
    ] {
        let said = mazurka(args);
        assert_eq!(said.code, 3, "{said:?}");
        assert!(
            said.err.contains("ABS programs cannot be"),
            "{args:?}: {said:?}"
        );
        assert_eq!(said.err.lines().count(), 1, "{said:?}");
    }
}

#[test]
fn a_recorded_witness_replays() {
    let folder = tempfile::tempdir().expect("a folder");
    let witness = folder.path().join("witness.json");
    let name = witness.to_str().expect("a name");
    let said = mazurka(&["check", PHILOSOPHERS, "--set", "seats=2", "--witness", name]);
    assert_eq!(said.code, 1, "{said:?}");
    let again = mazurka(&["replay", name]);
    assert_eq!(again.code, 1, "{again:?}");
}
