//! Tests the pictures of runs: `run`, `check` and `replay` with `--format svg` and `dot`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::{CommandResult, mazurka, root, with_input};
use crate::wellformed::{assert_sound, texts};

/// Checks a picture and returns its words.
#[track_caller]
fn words(svg: &str) -> Vec<String> {
    assert!(svg.starts_with("<svg"), "no picture: {svg:?}");
    assert_sound(svg);
    texts(svg).into_iter().map(|(_, _, text)| text).collect()
}

#[track_caller]
fn assert_contains(words: &[String], part: &str) {
    let result = words.iter().any(|line| line.contains(part));
    assert!(result, "`{part}` is not in {words:#?}");
}

fn drawn(command: &str, program: &str, flags: &[&str]) -> CommandResult {
    with_input(
        &[&[command, "-", "--format", "svg"], flags].concat(),
        program,
    )
}

#[test]
fn a_run_is_drawn_with_every_step_and_process() {
    let result = mazurka(&[
        "run",
        "examples/counter.maz",
        "--schedule",
        "0 1 1 0",
        "--format",
        "svg",
    ]);
    assert_eq!(result.code, 1, "{result:?}");
    let words = words(&result.out);
    for part in [
        "process 0",
        "process 1",
        "read x",
        "x: 0 -> 1",
        "◀ races with step 3",
        "✗ failure: ensures `both_counted`",
    ] {
        assert_contains(&words, part);
    }
    for number in ["1", "2", "3", "4"] {
        assert!(words.iter().any(|word| word == number), "{words:?}");
    }
}

#[test]
fn a_deadlock_names_what_is_held_and_waited_for() {
    let result = mazurka(&["check", "examples/philosophers.maz", "--format", "svg"]);
    assert_eq!(result.code, 1, "{result:?}");
    let words = words(&result.out);
    for part in [
        "philosopher(0)",
        "philosopher(2)",
        "waits for lock `fork[1]`",
        "held by philosopher(1)",
        "✗ deadlock",
        "◀ crosses steps",
    ] {
        assert_contains(&words, part);
    }
    for fork in 0..3 {
        let bar = format!("<title>fork[{fork}] is held from step");
        assert_eq!(result.out.matches(&bar).count(), 1, "{bar}");
    }
}

#[test]
fn a_lock_is_released_where_it_is() {
    let program = "lock m var x: int = 0 process p { lock(m); x := 1; unlock(m); x := 2 }";
    let result = drawn("run", program, &[]);
    assert!(
        result
            .out
            .contains("<title>m is held from step 1 to step 3</title>"),
        "{result:?}"
    );
    let atomic = "lock m var x: int = 0 process p { atomic { lock(m); x := 1; unlock(m) } }";
    assert!(
        !drawn("run", atomic, &[]).out.contains("is held"),
        "it is never seen held"
    );
}

#[test]
fn every_kind_of_violation_is_drawn() {
    let failing = "var x: int = 0 process p { x := 1; assert x == 0, \"<x> & \\\"y\\\"\" }";
    let cases = [
        (failing, "✗ failure: assertion failed"),
        (
            "var x: int = 0 invariant x == 1 process p { x := 1 }",
            "✗ before any step: failure",
        ),
        (
            "var x: int = 0 ensures x == 2 process p { x := 1 }",
            "✗ failure: ensures",
        ),
        (
            "lock m process p { lock(m); lock(m) }",
            "which it holds itself",
        ),
        ("var b: bool = false process p { await b }", "waits for `b`"),
        (
            "var b: bool = false process p { while !b { skip } }",
            "↺ back to step",
        ),
        (
            "var x: int = 0 eventually x == 2 process p { x := 1 }",
            "property does not hold",
        ),
        (
            "var x: int = 0 infinitely_often x == 2 process p { while true { x := 1 - x } }",
            "loop: steps",
        ),
        (
            "var x: int = 0 process p { x := 1 } process q { x := 2 }",
            "the other run",
        ),
    ];
    for (program, part) in cases {
        let result = drawn("check", program, &[]);
        assert_eq!(result.code, 1, "{program}: {result:?}");
        let words = words(&result.out);
        assert_contains(&words, part);
        assert!(words.iter().any(|word| word == "p"), "{program}: {words:?}");
        let dot = with_input(&["check", "-", "--format", "dot"], program);
        assert_eq!(dot.code, 1, "{program}");
        assert!(dot.out.starts_with("digraph run {") && dot.out.ends_with("}\n"));
        assert!(dot.out.contains("label=\"p\""), "{}", dot.out);
        for line in dot.out.lines() {
            let bare = line.replace("\\\\", "").replace("\\\"", "");
            assert_eq!(bare.matches('"').count() % 2, 0, "an open quote: {line}");
        }
    }
}

#[test]
fn two_runs_are_one_below_the_other_with_what_differs() {
    let program = "var x: int = 0 process p { x := 1 } process q { x := 2 }";
    let words = words(&drawn("check", program, &[]).out);
    for part in [
        "one run",
        "the other run",
        "x = 2 in the one, 1 in the other",
    ] {
        assert_contains(&words, part);
    }
    assert_eq!(words.iter().filter(|word| *word == "q").count(), 2);
}

#[test]
fn without_a_counterexample_the_picture_reports_that() {
    for format in ["svg", "dot"] {
        let result = mazurka(&["check", "examples/counter-locked.maz", "--format", format]);
        assert_eq!(result.code, 0, "{result:?}");
        assert!(result.out.contains("verified: no failure"), "{result:?}");
        assert!(result.out.contains("there is no run to draw"), "{result:?}");
    }
    let short = [
        "check",
        "examples/counter-locked.maz",
        "--max-depth",
        "1",
        "--format",
        "svg",
    ];
    let result = mazurka(&short);
    assert_eq!(result.code, 2, "{result:?}");
    assert_contains(&words(&result.out), "inconclusive");
}

#[test]
fn a_stored_record_is_drawn_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("witness.json");
    let name = file.to_str().expect("a name");
    let check = [
        "check",
        "examples/philosophers.maz",
        "--witness",
        name,
        "--format",
        "svg",
    ];
    let first = words(&mazurka(&check).out);
    let again = mazurka(&["replay", name, "--format", "svg"]);
    assert_eq!(again.code, 1, "{again:?}");
    let again = words(&again.out);
    assert_contains(&again, "replayed: deadlock");
    // Everything except the heading is the same.
    let boxes = |words: &[String]| -> Vec<String> {
        let from = words.iter().position(|word| word == "philosopher(0)");
        words[from.expect("a lane")..].to_vec()
    };
    assert_eq!(boxes(&first), boxes(&again));
    let run = mazurka(&["run", "examples/counter-locked.maz", "--format", "json"]);
    std::fs::write(&file, run.out).expect("written");
    let calm = mazurka(&["replay", name, "--format", "svg"]);
    assert_eq!(calm.code, 0, "{calm:?}");
    assert_contains(&words(&calm.out), "final: every process has ended");
}

#[test]
fn older_records_without_locks_replay_and_are_drawn() {
    let result = mazurka(&["check", "examples/philosophers.maz", "--format", "json"]);
    let mut record = result.json();
    let run = record["witnesses"][0]["runs"][0]
        .as_object_mut()
        .expect("a run");
    assert!(run.remove("processes").is_some());
    for step in run["steps"].as_array_mut().expect("steps") {
        assert!(
            step.as_object_mut()
                .expect("a step")
                .remove("locks")
                .is_some()
        );
    }
    let result = with_input(&["replay", "-", "--format", "svg"], &record.to_string());
    assert_eq!(result.code, 1, "{result:?}");
    assert_contains(&words(&result.out), "waits for lock `fork[1]`");
}

#[test]
fn long_runs_and_many_processes_are_drawn() {
    let many = "var x: int = 0 process worker (p in 0..30) { x := x + 1 }";
    let words_of_many = words(&drawn("run", many, &[]).out);
    for process in 0..30 {
        let name = format!("worker({process})");
        assert!(words_of_many.contains(&name), "{name}");
    }
    let long = "var x: int = 0 process counter { for i in 0..200 { x := x + 1 } }";
    let result = drawn("run", long, &[]);
    assert!(
        words(&result.out).iter().any(|word| word == "200"),
        "{}",
        result.err
    );
    let longer = long.replace("200", "3000");
    let result = drawn("run", &longer, &[]);
    assert!(
        result.err.contains("400 of 3000 steps are drawn"),
        "{}",
        result.err
    );
    assert_contains(&words(&result.out), "… 2600 steps left out …");
}

#[test]
fn actors_have_lanes_for_their_tasks() {
    let file = "corpus/abs/philosophers/program.abs";
    let result = mazurka(&["check", file, "--set", "seats=2", "--format", "svg"]);
    assert_eq!(result.code, 1, "{result:?}");
    let words = words(&result.out);
    assert_contains(&words, "✗ deadlock");
    assert_contains(&words, "waits for");
    assert_contains(&words, "Fork");
    let chart = mazurka(&["run", file, "--set", "seats=2", "--format", "svg"]);
    assert_sound(&chart.out);
}

/// Returns the processes of a run: those that have a name, make a step or could have made a step.
fn processes(run: &Value) -> BTreeSet<String> {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let steps = list(&run["steps"]);
    let stepping = steps.iter().map(|step| text(&step["process"]));
    let could = steps.iter().flat_map(|step| list(&step["enabled"]));
    let mut all: BTreeSet<String> = stepping
        .chain(could.map(|process| text(&process)))
        .collect();
    for pair in list(&run["names"]) {
        all.remove(&text(&pair[0]));
        all.insert(text(&pair[1]));
    }
    all
}

/// Draws a run of each program of the corpus, and a violation of every fifth program.
#[test]
fn the_corpus_is_drawn() {
    let folder = root().join("corpus/maz");
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("the corpus")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("a name")
        })
        .collect();
    names.sort();
    assert!(names.len() > 100);
    let mut left_out = 0;
    for (at, name) in names.iter().enumerate() {
        let file = format!("corpus/maz/{name}/program.maz");
        let seed = at.to_string();
        let run = [
            "run",
            &file,
            "--seed",
            &seed,
            "--max-depth",
            "60",
            "--format",
        ];
        let json = mazurka(&[&run[..], &["json"]].concat());
        let result = mazurka(&[&run[..], &["svg"]].concat());
        if json.code == 3 {
            // The program requires initial values that the user must give.
            assert!(
                json.err.contains("requires") && result.out.is_empty(),
                "{json:?}"
            );
            left_out += 1;
            continue;
        }
        let record = json.json();
        assert!(result.code <= 2, "{name}: {result:?}");
        let drawn = words(&result.out);
        for process in processes(&record["run"]) {
            let own = |word: &String| *word == process || *word == format!("process {process}");
            assert!(
                drawn.iter().any(own),
                "{name}: {process} is not in {drawn:?}"
            );
        }
        if at % 5 == 0 {
            let check = ["check", &file, "--max-steps", "20000", "--format", "svg"];
            let result = mazurka(&check);
            assert!(result.code <= 2, "{name}: {result:?}");
            words(&result.out);
        }
    }
    assert!(left_out < 10, "{left_out} programs were not run");
}
