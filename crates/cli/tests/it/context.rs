//! Tests `explore --algorithm context`.

use crate::support::mazurka;

const LOSES: &str = "corpus/maz/e1-sleep-sequence/program.maz";

fn explore(file: &str, more: &[&str]) -> crate::support::CommandResult {
    let mut args = vec!["explore", file, "--algorithm", "context"];
    args.extend(more);
    mazurka(&args)
}

#[test]
fn the_switches_are_in_the_record() {
    for (flags, name) in [
        (&[][..], "context"),
        (&["--no-guide"], "context --no-guide"),
        (
            &["--no-guide", "--no-anticipate"],
            "context --no-anticipate --no-guide",
        ),
        (&["--wakeup"], "context --wakeup"),
        (&["--paper"], "context --paper"),
        (
            &["--paper", "--no-guide", "--no-anticipate"],
            "context --paper --no-anticipate --no-guide",
        ),
    ] {
        let mut flags = flags.to_vec();
        flags.extend(["--format", "json"]);
        let record = explore(LOSES, &flags).json();
        assert_eq!(record["algorithm"], name);
        assert_eq!(record["traces"], serde_json::Value::Null);
        let lost = u64::from(name.contains("paper"));
        assert!(record["stored_states"].as_u64() > Some(0), "{name}");
        assert_eq!(record["final_states"], 3 - lost, "{name}");
    }
}

#[test]
fn as_printed_the_engine_verifies_nothing() {
    let result = explore(LOSES, &["--paper"]);
    assert_eq!(result.code, 2, "{result:?}");
    assert!(result.out.contains("--paper loses states"), "{result:?}");
    assert_eq!(explore(LOSES, &[]).code, 0);
}

#[test]
fn violations_are_found_and_replay() {
    let result = explore("examples/philosophers.maz", &[]);
    assert_eq!(result.code, 1, "{result:?}");
    assert!(
        result.out.contains("deadlocked runs that were met"),
        "{result:?}"
    );
    assert!(result.out.contains("mazurka run"), "{result:?}");
}

#[test]
fn other_engines_refuse_the_switches() {
    for flag in ["--no-anticipate", "--no-guide", "--wakeup", "--paper"] {
        let result = mazurka(&["explore", LOSES, "--algorithm", "source", flag]);
        assert_eq!(result.code, 3, "{result:?}");
        assert!(result.err.contains("--algorithm context"), "{result:?}");
    }
}

#[test]
fn context_has_no_checkpoints() {
    let result = explore(LOSES, &["--checkpoint", "nowhere.json"]);
    assert_eq!(result.code, 3, "{result:?}");
    assert!(result.err.contains("compares states"), "{result:?}");
}

#[test]
fn the_tree_of_context_is_drawn() {
    let result = explore(LOSES, &["--format", "dot"]);
    assert_eq!(result.code, 0, "{result:?}");
    assert!(result.out.starts_with("digraph"), "{result:?}");
}

/// The engine makes several steps at a time to compare states, so it may slightly exceed a limit.
#[test]
fn a_limit_is_named_as_it_was_given() {
    let file = "corpus/maz/equal-writes/program.maz";
    let flags = ["--set", "N=8", "--max-steps", "37", "--format", "json"];
    let record = explore(file, &flags).json();
    let bounds = serde_json::json!([{"bound": "max-steps", "value": 37}]);
    assert_eq!(record["scope"]["bounds"], bounds);
}
