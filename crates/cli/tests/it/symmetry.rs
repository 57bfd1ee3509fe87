//! Tests `explore --algorithm stateful` with and without symmetry.

use crate::support::mazurka;

/// Three interchangeable processes, each of which makes one step.
const ADDERS: &str = "corpus/maz/adders/program.maz";

fn explore(more: &[&str]) -> crate::support::CommandResult {
    let mut args = vec!["explore", ADDERS, "--algorithm"];
    args.extend(more);
    mazurka(&args)
}

/// Without stubborn sets there are 2³ states: each process has made its step or not. Up to symmetry
/// only the number of these processes matters, so there are 4 states.
#[test]
fn both_numbers_are_shown() {
    let all = ["stateful", "--no-reduction", "--format", "json"];
    let record = explore(&all).json();
    assert_eq!(record["algorithm"], "stateful --no-reduction");
    assert_eq!(record["states"], 4);
    assert_eq!(record["permuted_states"], 8);
    let text = explore(&all[..2]).out;
    assert!(text.contains("permuted"), "{text}");
}

#[test]
fn symmetry_can_be_switched_off() {
    let all = [
        "stateful",
        "--no-reduction",
        "--no-symmetry",
        "--format",
        "json",
    ];
    let record = explore(&all).json();
    assert_eq!(record["algorithm"], "stateful --no-reduction --no-symmetry");
    assert_eq!(record["states"], 8);
    assert_eq!(record["permuted_states"], serde_json::Value::Null);
    // A limit on depth switches symmetry off, because interchangeable states may have different
    // depths.
    let record = explore(&["stateful", "--max-depth", "9", "--format", "json"]).json();
    assert_eq!(record["permuted_states"], serde_json::Value::Null);
}

#[test]
fn symmetry_is_for_one_engine() {
    let result = explore(&["optimal", "--no-symmetry"]);
    assert!(result.err.contains("--no-symmetry"), "{result:?}");
    assert_ne!(result.code, 0);
}
