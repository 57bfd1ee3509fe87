//! Tests that every witness replays: the schedule that a command prints leads to the same failure.

use crate::support::{CommandResult, command, mazurka, replay_words, run_command};

const VIOLATED: [&str; 3] = [
    "examples/counter.maz",
    "examples/philosophers.maz",
    "examples/example5.maz",
];

#[track_caller]
fn rerun(text: &str) -> CommandResult {
    let words = replay_words(text);
    mazurka(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn the_printed_command_leads_to_the_printed_failure() {
    let check = mazurka(&["check", "examples/counter.maz"]);
    let failure = check
        .first_line()
        .strip_prefix("violated: ")
        .expect("a violation");
    let message = failure.rsplit_once(" (").expect("a scope").0;
    let again = rerun(&check.out);
    assert_eq!(again.code, 1, "{again:?}");
    assert!(
        again.out.contains(message),
        "`{message}` is missing in {again:?}"
    );
}

#[test]
fn the_printed_command_leads_to_the_printed_deadlock() {
    let check = mazurka(&["check", "examples/philosophers.maz", "--set", "N=4"]);
    let again = rerun(&check.out);
    assert_eq!(again.code, 1, "{again:?}");
    assert!(again.out.contains("deadlock: "), "{again:?}");
    let waits: Vec<&str> = check
        .out
        .lines()
        .filter(|line| line.contains("waits for"))
        .collect();
    assert_eq!(waits.len(), 4, "{check:?}");
    for wait in waits {
        assert!(again.out.contains(wait), "{again:?}");
    }
}

#[test]
fn the_two_printed_commands_end_differently() {
    let check = mazurka(&["check", "examples/example5.maz"]);
    let first = rerun(&check.out);
    let second = rerun(&check.out.replace("        and: ", "replay with: "));
    assert_eq!(
        (first.code, second.code),
        (0, 0),
        "each run by itself is fine"
    );
    let state = |result: &CommandResult| {
        result
            .out
            .lines()
            .find(|line| line.starts_with("state: "))
            .map(str::to_owned)
    };
    assert!(state(&first).is_some());
    assert_ne!(state(&first), state(&second));
}

#[test]
fn the_last_line_is_the_command() {
    for file in VIOLATED {
        let check = mazurka(&["check", file]);
        let last = check.last_line();
        let command = last
            .trim_start()
            .split_once(": ")
            .expect("words before the command")
            .1;
        assert!(command.starts_with("mazurka run "), "{last}");
    }
}

#[test]
fn records_replay() {
    let folder = tempfile::tempdir().expect("a folder");
    for (at, file) in VIOLATED.iter().enumerate() {
        let printed = folder.path().join(format!("printed{at}.json"));
        let saved = folder.path().join(format!("saved{at}.json"));
        let check = mazurka(&[
            "check",
            file,
            "--format",
            "json",
            "--witness",
            &saved.to_string_lossy(),
        ]);
        std::fs::write(&printed, &check.out).expect("written");
        for path in [&printed, &saved] {
            let again = mazurka(&["replay", &path.to_string_lossy()]);
            assert_eq!(again.code, 1, "{again:?}");
            assert!(again.first_line().starts_with("replayed: "), "{again:?}");
            assert!(again.first_line().contains("all as recorded"), "{again:?}");
            let message = check.json()["witnesses"][0]["message"].clone();
            assert!(
                again.out.contains(message.as_str().expect("a message")),
                "{again:?}"
            );
        }
    }
}

#[test]
fn a_run_without_a_violation_replays() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.json");
    let run = mazurka(&["run", "examples/handover.maz", "--format", "json"]);
    assert_eq!(run.code, 0, "{run:?}");
    std::fs::write(&path, &run.out).expect("written");
    let again = mazurka(&["replay", &path.to_string_lossy()]);
    assert_eq!(again.code, 0, "{again:?}");
}

#[test]
fn without_a_violation_nothing_is_saved() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("none.json");
    let check = mazurka(&[
        "check",
        "examples/handover.maz",
        "--witness",
        &path.to_string_lossy(),
    ]);
    assert_eq!(check.code, 0, "{check:?}");
    assert!(!path.exists());
}

/// Writes a program and its witness into a folder. Returns their paths, and the record.
fn recorded(folder: &tempfile::TempDir) -> (String, String, serde_json::Value) {
    let program = folder.path().join("counter.maz");
    let source = crate::support::root().join("examples/counter.maz");
    std::fs::copy(source, &program).expect("copied");
    let witness = folder
        .path()
        .join("bad.json")
        .to_string_lossy()
        .into_owned();
    let program = program.to_string_lossy().into_owned();
    let check = mazurka(&["check", &program, "--format", "json", "--witness", &witness]);
    assert_eq!(check.code, 1, "{check:?}");
    (program, witness, check.json())
}

#[test]
fn another_program_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (program, witness, _) = recorded(&folder);
    let text = std::fs::read_to_string(&program).expect("read");
    std::fs::write(&program, text + "\n// changed\n").expect("written");
    let again = mazurka(&["replay", &witness]);
    assert_eq!(again.code, 3, "{again:?}");
    assert!(again.err.contains("another program"), "{again:?}");
    assert!(again.out.is_empty());
}

#[test]
fn a_program_that_moved_can_be_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let (program, witness, _) = recorded(&folder);
    let moved = folder
        .path()
        .join("moved.maz")
        .to_string_lossy()
        .into_owned();
    std::fs::rename(&program, &moved).expect("moved");
    let lost = mazurka(&["replay", &witness]);
    assert_eq!(lost.code, 3, "{lost:?}");
    assert!(lost.err.contains("--file"), "{lost:?}");
    let found = mazurka(&["replay", &witness, "--file", &moved]);
    assert_eq!(found.code, 1, "{found:?}");
}

#[test]
fn a_divergence_names_its_step() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, witness, record) = recorded(&folder);
    let tampered = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut record = record.clone();
        change(&mut record["witnesses"][0]);
        std::fs::write(&witness, record.to_string()).expect("written");
        mazurka(&["replay", &witness])
    };
    let label = tampered(&|w| w["runs"][0]["steps"][2]["label"] = "x := 7".into());
    assert_eq!(label.code, 3, "{label:?}");
    assert!(
        label.err.contains("diverges at step 3") && label.err.contains("`x := 7`"),
        "{label:?}"
    );
    let enabled = tampered(&|w| w["runs"][0]["steps"][1]["enabled"] = serde_json::json!(["0"]));
    assert_eq!(enabled.code, 3, "{enabled:?}");
    assert!(enabled.err.contains("diverges at step 2"), "{enabled:?}");
    let schedule = tampered(&|w| w["runs"][0]["schedule"] = "0 0 0 0".into());
    assert_eq!(schedule.code, 3, "{schedule:?}");
    assert!(schedule.err.contains("step 3"), "{schedule:?}");
    let message = tampered(&|w| w["message"] = "something else".into());
    assert_eq!(message.code, 3, "{message:?}");
    assert!(message.err.contains("does not happen"), "{message:?}");
    let none = tampered(&|w| w["runs"] = serde_json::json!([]));
    assert_eq!(none.code, 3, "{none:?}");
    let untouched = tampered(&|_| {});
    assert_eq!(untouched.code, 1, "{untouched:?}");
}

#[test]
fn settings_and_odd_names_survive_the_shell() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("it's a family.maz");
    let text =
        "const N = 1 var x: int = 0 ensures x < N process { x := x + 1 } process { x := x + 1 }";
    std::fs::write(&program, text).expect("written");
    let check = mazurka(&["check", &program.to_string_lossy(), "--set", "N=2"]);
    let line = check.last_line();
    assert!(line.ends_with(" --set N=2"), "{line}");
    if cfg!(unix) {
        let words = line.split_once("mazurka ").expect("a command").1;
        let script = format!("{} {words}", env!("CARGO_BIN_EXE_mazurka"));
        let status = std::process::Command::new("sh")
            .args(["-c", &script])
            .output()
            .expect("a shell");
        assert_eq!(status.status.code(), Some(1), "{status:?}");
    }
}

#[test]
fn records_of_version_1_are_read() {
    for (record, code) in [
        ("v1-failure", 1),
        ("v1-deadlock", 1),
        ("v1-livelock", 1),
        ("v1-nondeterminism", 1),
        ("v1-inputs", 1),
        ("v1-run", 1),
    ] {
        let result = mazurka(&["replay", &format!("corpus/records/{record}.json")]);
        assert_eq!(result.code, code, "{record}: {result:?}");
    }
}

/// A replay also compares the step at which the cycle of an infinite run begins.
#[test]
fn a_livelock_with_another_cycle_does_not_replay() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("livelock.json");
    let file = "corpus/maz/livelock/program.maz";
    let mut record = mazurka(&["check", file, "--format", "json"]).json();
    let witnesses = record["witnesses"].as_array().expect("witnesses").clone();
    let at = witnesses.iter().position(|one| one["kind"] == "livelock");
    let at = at.expect("a livelock");
    for (lasso, code) in [(witnesses[at]["lasso"].clone(), 1), (1_000_000.into(), 3)] {
        record["witnesses"][at]["lasso"] = lasso;
        std::fs::write(&path, record.to_string()).expect("written");
        let again = mazurka(&["replay", &path.to_string_lossy()]);
        assert_eq!(again.code, code, "{again:?}");
    }
}

/// `show` prints the text of the command that made the record. It runs nothing, so the program may
/// be missing.
#[test]
fn a_record_is_shown_without_its_program() {
    for file in VIOLATED {
        let check = mazurka(&["check", file]);
        let record = mazurka(&["check", file, "--format", "json"]).out;
        let moved = record.replace(file, "not/there.maz");
        let shown = |format: &str| {
            let words = ["show", "-", "--format", format];
            run_command(command().args(words), &moved)
        };
        let text = shown("text");
        assert_eq!((text.code, text.err.as_str()), (1, ""), "{text:?}");
        assert_eq!(text.out.replace("not/there.maz", file), check.out);
        assert_eq!(
            shown("json").json(),
            serde_json::from_str::<serde_json::Value>(&moved).unwrap()
        );
        assert!(shown("svg").out.starts_with("<svg"), "{file}");
        assert!(shown("dot").out.starts_with("digraph"), "{file}");
    }
    let none = run_command(command().args(["show", "-"]), "{\"version\": 2}");
    assert_eq!(none.code, 3, "{none:?}");
}

/// A record that `MAZURKA_REPORT` writes for a test of Rust code: its replay is a Cargo command.
#[test]
fn a_record_of_rust_code_is_shown() {
    let step = |process: &str, label: &str, line: u32| {
        format!(r#"{{"process": "{process}", "label": "{label}", "line": {line}, "enabled": []}}"#)
    };
    let steps = [
        step("0", "spawn", 9),
        step("0.0", "AtomicU32.load 0", 5),
        step("0", "AtomicU32.store 1", 10),
    ];
    let record = format!(
        r#"{{"version": 2,
        "program": {{"file": "src/lib.rs", "hash": "", "set": [["@model", "src/lib.rs:7:5"], ["@test", "tests::queue"]]}},
        "command": "cargo test", "algorithm": "optimal", "verdict": "violated",
        "scope": {{"exhaustive": false, "bounds": []}}, "stopped": "certain", "deterministic": null,
        "executions": 3, "traces": null, "blocked": 0, "discarded": 0, "deadlocks": 0, "failures": 1,
        "final_states": 0, "events": 0, "steps": 0, "seconds": 0.0,
        "witnesses": [{{"kind": "failure", "message": "an update was lost", "place": null,
            "runs": [{{"schedule": "0 0.0 0", "ending": "failure", "steps": [{}], "state": []}}],
            "waiting": [], "differs": []}}]}}"#,
        steps.join(", ")
    );
    let shown = run_command(command().args(["show", "-"]), &record);
    assert_eq!((shown.code, shown.err.as_str()), (1, ""), "{shown:?}");
    assert!(
        shown
            .first_line()
            .starts_with("violated: failure: an update was lost"),
        "{shown:?}"
    );
    assert!(shown.out.contains("AtomicU32.store 1"), "{shown:?}");
    let replay = "replay with: MAZURKA_REPLAY=\"0 0.0 0\" MAZURKA_REPLAY_AT=src/lib.rs:7:5 cargo test -- --exact tests::queue";
    assert_eq!(shown.last_line(), replay);
    let svg = run_command(command().args(["show", "-", "--format", "svg"]), &record);
    assert!(
        svg.out.starts_with("<svg") && svg.out.contains("AtomicU32.load 0"),
        "{svg:?}"
    );
}

#[test]
fn a_record_is_shown_as_its_command_showed_it() {
    let counter = "examples/counter.maz";
    let shown = |words: &[&str], format: &str| {
        let record = mazurka(&[words, &["--format", "json"]].concat());
        let shown = run_command(
            command().args(["show", "-", "--format", format]),
            &record.out,
        );
        assert_eq!(shown.code, record.code, "{shown:?}");
        (record.out, shown.out)
    };
    // One run is no verdict about the program.
    let run = ["run", "examples/counter-locked.maz", "--seed", "3"];
    let (_, text) = shown(&run, "text");
    assert_eq!(text, mazurka(&run).out);
    assert!(!text.contains("verified"), "{text}");
    let explore = ["explore", counter, "--algorithm", "source"];
    let (_, text) = shown(&explore, "text");
    // The lines without times, which differ.
    let known = |text: &str| {
        let is_time =
            |line: &&str| line.contains("time") || line.split(' ').any(|word| word == "s");
        let lines = text.lines().filter(|line| !is_time(line));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(known(&text), known(&mazurka(&explore).out));
    let philosophers = "examples/philosophers.maz";
    for words in [
        &["reach", counter, "--property", "x == 1"][..],
        &["reach", counter, "--property", "x == 7", "--method", "smt"],
        &["compare", counter, "examples/counter-locked.maz"],
        &[
            "compare",
            counter,
            "examples/counter-locked.maz",
            "--within",
        ],
        &[
            "condition",
            "corpus/maz/sympaths-aliasing/program.maz",
            "--property",
            "deterministic",
        ],
        &["orders", "examples/message-passing.maz", "--memory", "rc11"],
        &["permute", counter, "--schedule", "0"],
        &["prove", "corpus/maz/bank-transfer/program.maz"],
        &["repair", counter, "--most", "9"],
        &["symbolic", "corpus/maz/sympaths-fig8/program.maz"],
        &["unfold", counter],
        &["unfold", philosophers, "--net", "stateful", "--naive"],
        &["unfold", counter, "--net", "stateful"],
    ] {
        let (record, json) = shown(words, "json");
        let parsed = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
        assert_eq!(parsed(&json), parsed(&record), "{words:?}");
        let (_, text) = shown(words, "text");
        assert_eq!(known(&text), known(&mazurka(words).out), "{words:?}");
        assert!(!known(&text).is_empty(), "{words:?}: {text}");
    }
}

/// A run that is open names the processes that could continue, also when its record is shown.
#[test]
fn an_open_run_names_its_ready_processes() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("two.maz").display().to_string();
    let text = "var x: int = 0 process { x := 1 } process { x := 2 }";
    std::fs::write(&program, text).expect("a program");
    let saved = mazurka(&["run", &program, "--schedule", "", "--format", "json"]);
    let record = folder.path().join("run.json").display().to_string();
    std::fs::write(&record, &saved.out).expect("a record");
    let open = "open: the run stops here; ready to go on: 0, 1";
    for args in [&["run", &program, "--schedule", ""][..], &["show", &record]] {
        let result = mazurka(args);
        assert!(result.out.contains(open), "{result:?}");
    }
}
