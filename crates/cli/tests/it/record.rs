//! Tests that the record is a stable interface: its fields, and the versions that can be read.

use std::collections::BTreeSet;

use crate::support::{mazurka, with_input};

const KEYS: [&str; 21] = [
    "version",
    "program",
    "command",
    "algorithm",
    "options",
    "verdict",
    "scope",
    "stopped",
    "deterministic",
    "executions",
    "traces",
    "blocked",
    "discarded",
    "deadlocks",
    "failures",
    "final_states",
    "events",
    "steps",
    "seconds",
    "kinds",
    "witnesses",
];

fn keys(value: &serde_json::Value) -> BTreeSet<&str> {
    value
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect()
}

#[test]
fn the_keys_of_a_record() {
    let check = mazurka(&["check", "examples/counter.maz", "--format", "json"]).json();
    let mut judged = BTreeSet::from(KEYS);
    let mut explained = judged.clone();
    explained.insert("explanation");
    assert_eq!(keys(&check), explained);
    assert_eq!(check["version"], 2);
    assert_eq!(check["command"], "check");
    let explore = mazurka(&["explore", "examples/counter.maz", "--format", "json"]).json();
    judged.insert("coverage");
    assert_eq!(keys(&explore), judged);
    let run = mazurka(&["run", "examples/counter.maz", "--format", "json"]).json();
    let mut more = BTreeSet::from(KEYS);
    more.remove("kinds");
    more.extend(["seed", "ready", "run"]);
    assert_eq!(keys(&run), more);
    assert_eq!(
        keys(&run["run"]),
        BTreeSet::from(["schedule", "ending", "steps", "state", "processes"])
    );
}

#[test]
fn the_documentation_names_every_key() {
    let text = std::fs::read_to_string(crate::support::root().join("docs/record.md"))
        .expect("docs/record.md");
    let more = ["seed", "ready", "run", "kinds", "coverage", "warnings"];
    let more = [&more[..], &["processes", "locks", "lasso"]].concat();
    for key in KEYS.iter().chain(&more) {
        assert!(text.contains(&format!("`{key}`")), "{key}");
    }
}

#[test]
fn the_counts_of_a_small_program() {
    let record = mazurka(&[
        "explore",
        "examples/counter.maz",
        "--algorithm",
        "naive",
        "--format",
        "json",
    ])
    .json();
    assert_eq!(record["executions"], 6);
    assert_eq!(record["traces"], 4);
    assert_eq!(record["final_states"], 2);
    assert_eq!(record["deterministic"], false);
    assert_eq!(record["deadlocks"], 0);
    assert_eq!(record["scope"]["exhaustive"], true);
    assert_eq!(record["stopped"], "complete");
}

#[test]
fn the_hash_is_of_text_and_settings() {
    let hash = |flags: &[&str]| {
        let args = [
            &["explore", "examples/philosophers.maz", "--format", "json"],
            flags,
        ]
        .concat();
        mazurka(&args).json()["program"]["hash"].clone()
    };
    assert_eq!(hash(&[]), hash(&[]));
    assert_ne!(hash(&[]), hash(&["--set", "N=2"]));
    assert_ne!(hash(&["--set", "N=3"]), hash(&["--set", "N=2"]));
}

#[test]
fn deterministic_is_null_where_no_run_is_final() {
    let stuck = with_input(
        &["check", "-", "--format", "json"],
        "process { await false }",
    )
    .json();
    assert_eq!(stuck["verdict"], "violated");
    assert!(stuck["deterministic"].is_null(), "{stuck}");
    assert_eq!(stuck["deadlocks"], 1);
}

#[test]
fn discarded_runs_count_for_nothing() {
    let program = "var x: int = 0 process { x := choose(0..3); assume x != 1; assert x != 1 }";
    let record = with_input(
        &["explore", "-", "--algorithm", "naive", "--format", "json"],
        program,
    )
    .json();
    assert_eq!(record["executions"], 2);
    assert_eq!(record["discarded"], 1);
    assert_eq!(record["failures"], 0);
}
