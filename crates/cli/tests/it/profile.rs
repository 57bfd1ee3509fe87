//! Tests `explore --profile`, which shows where executions come from, and the shown number of
//! states, their rate and their memory.

use crate::support::{mazurka, with_input};

/// Two unrelated races, in these lines.
const TWO_RACES: &str = "var x, y: int = 0
process { x := 1 }
process { x := 2 }
process { y := 1 }
process { y := 2 }
";

fn pairs(algorithm: &str, program: &str) -> Vec<(u64, u64, u64)> {
    let args = ["explore", "-", "--profile", "--algorithm", algorithm];
    let result = with_input(&[&args[..], &["--format", "json"]].concat(), program);
    let record = result.json();
    let line = |place: &serde_json::Value| place["line"].as_u64().expect("a line");
    let pair = |pair: &serde_json::Value| {
        let executions = pair["executions"].as_u64().expect("a count");
        (line(&pair["first"]), line(&pair["second"]), executions)
    };
    let all = record["profile"].as_array().expect("a profile");
    all.iter().map(pair).collect()
}

#[test]
fn reversals_are_counted_by_pairs_of_lines() {
    for algorithm in ["optimal", "source", "dpor"] {
        // One race is reversed once, the other in both orders of the first.
        let mut found = pairs(algorithm, TWO_RACES);
        assert_eq!(found[0].2, 2, "{algorithm}: the most frequent comes first");
        found.sort_unstable();
        let lines: Vec<_> = found.iter().map(|pair| (pair.0, pair.1)).collect();
        assert_eq!(lines, [(2, 3), (4, 5)], "{algorithm}");
        let counts = [found[0].2, found[1].2];
        assert!(
            counts == [1, 2] || counts == [2, 1],
            "{algorithm}: {counts:?}"
        );
    }
}

/// If nothing waits and nothing is chosen, all executions but the first are reversals.
#[test]
fn every_execution_of_optimal_has_its_reversal() {
    for (file, set) in [
        ("corpus/maz/writers/program.maz", "N=4"),
        ("corpus/maz/readers/program.maz", "N=3"),
        ("corpus/maz/fib/program.maz", "N=2"),
        ("examples/counter.maz", ""),
        ("examples/philosophers.maz", "N=3"),
    ] {
        let mut args = vec!["explore", file, "--profile", "--format", "json"];
        if !set.is_empty() {
            args.extend(["--set", set]);
        }
        let record = mazurka(&args).json();
        let pairs = record["profile"].as_array().expect("a profile");
        let counts = pairs.iter().map(|pair| pair["executions"].as_u64());
        let reversals: u64 = counts.map(|count| count.expect("a count")).sum();
        let executions = record["executions"].as_u64().expect("a count");
        assert_eq!(record["blocked"], 0, "{file}");
        assert_eq!(reversals + 1, executions, "{file}: {pairs:?}");
    }
}

/// A search whose runs are longer than its sets starts again, and discards its counts.
#[test]
fn long_runs_are_counted_once() {
    let program = "var x, y: int = 0
process { for i in 0..300 { y := i } x := 1 }
process { x := 2 }
";
    for algorithm in ["optimal", "source", "dpor"] {
        assert_eq!(pairs(algorithm, program), [(2, 3, 1)], "{algorithm}");
    }
}

#[test]
fn a_profile_changes_nothing_else() {
    for algorithm in ["optimal", "source", "dpor"] {
        let args = ["explore", "corpus/maz/readers/program.maz", "--set", "N=4"];
        let args = [&args[..], &["--algorithm", algorithm, "--format", "json"]].concat();
        let mut plain = mazurka(&[&args[..], &["--jobs", "1"]].concat()).json();
        let mut with_profile = mazurka(&[&args[..], &["--profile"]].concat()).json();
        for record in [&mut plain, &mut with_profile] {
            let record = record.as_object_mut().expect("a record");
            for different in ["seconds", "profile", "options"] {
                record.remove(different);
            }
        }
        assert_eq!(plain, with_profile, "{algorithm}");
    }
}

#[test]
fn the_table_names_the_steps() {
    let result = with_input(&["explore", "-", "--profile"], TWO_RACES);
    let pairs: Vec<&str> = result
        .out
        .lines()
        .filter(|line| line.contains("before"))
        .collect();
    assert_eq!(pairs.len(), 2, "{result:?}");
    let first = pairs
        .iter()
        .find(|line| line.contains("line 2"))
        .expect("a pair");
    assert!(
        first.contains("line 2 `x := 1`  before  line 3 `x := 2`"),
        "{first}"
    );
    // Under `atomicity access` a statement has several steps.
    let result = mazurka(&["explore", "examples/counter.maz", "--profile"]);
    assert!(
        result.out.contains("line 17 `read x` ")
            && result.out.contains("line 18 `write in x := x + 1`"),
        "{result:?}"
    );
    let alone = with_input(
        &["explore", "-", "--profile"],
        "var x: int = 0 process { x := 1 }",
    );
    assert!(alone.out.contains("no race was reversed"), "{alone:?}");
    let actors = ["explore", "corpus/abs/chat-server/program.abs", "--profile"];
    assert!(
        mazurka(&actors).out.contains("  before  line "),
        "actors race too"
    );
}

#[test]
fn waiting_for_a_lock_is_a_pair_too() {
    let found = pairs(
        "optimal",
        "lock m, n
process { lock(m);
  lock(n); unlock(n); unlock(m) }
process { lock(n);
  lock(m); unlock(m); unlock(n) }
",
    );
    let acquired = found.iter().all(|&(first, second, _)| first != second);
    assert!(!found.is_empty() && acquired, "{found:?}");
}

#[test]
fn engines_without_a_profile_refuse() {
    for (algorithm, says) in [
        (
            "stateful",
            "which `stateful` does not make: choose --algorithm optimal, source or dpor",
        ),
        ("naive", "which `naive` does not make"),
        ("random", "which `random` does not make"),
    ] {
        let args = ["explore", "-", "--profile", "--algorithm", algorithm];
        let result = with_input(&args, TWO_RACES);
        assert_eq!((result.code, result.out.as_str()), (3, ""), "{result:?}");
        assert!(result.err.contains(says), "{result:?}");
    }
    let unknown = with_input(
        &["explore", "-", "--profile"],
        "var x: int process { x := x + 1 }",
    );
    assert_eq!(unknown.code, 3, "{unknown:?}");
    let picture = with_input(&["explore", "-", "--profile", "--format", "svg"], TWO_RACES);
    assert_eq!(picture.code, 3, "{picture:?}");
}

#[test]
fn merged_states_have_a_speed_and_take_memory() {
    let args = [
        "explore",
        "examples/peterson.maz",
        "--algorithm",
        "stateful",
    ];
    let result = mazurka(&args);
    let row = |name: &str| {
        let mut lines = result.out.lines();
        lines
            .find(|line| line.trim_start().starts_with(name))
            .unwrap_or("")
            .to_owned()
    };
    assert!(row("seconds").ends_with(" states a second"), "{result:?}");
    assert!(
        row("memory").ends_with(" MB  of the process, at the most"),
        "{result:?}"
    );
    let json = |algorithm: &str| {
        let args = ["explore", "examples/peterson.maz", "--algorithm", algorithm];
        mazurka(&[&args[..], &["--format", "json"]].concat()).json()
    };
    let merged = json("stateful");
    assert!(merged["memory"].as_u64() > Some(1 << 20), "{merged}");
    assert!(json("optimal").get("memory").is_none());
}
