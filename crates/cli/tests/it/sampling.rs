//! `explore --algorithm random` and `pct`.

use crate::support::{Said, mazurka, with_input};

const PHILOSOPHERS: &str = "examples/philosophers.maz";
const COUNTER: &str = "examples/counter-locked.maz";

/// An assertion that only one order of two steps breaks, and only if a choice is 3.
const PLANTED: &str = "var x, y: int = 0
    process { x := choose(1..4); y := 1 }
    process { y := 0; assert !(x == 3 && y == 1) }";

fn explore(file: &str, algorithm: &str, more: &[&str]) -> Said {
    let mut args = vec!["explore", file, "--algorithm", algorithm];
    args.extend(more);
    mazurka(&args)
}

fn without_time(said: &Said) -> serde_json::Value {
    let mut record = said.json();
    record["seconds"] = 0.into();
    record
}

#[test]
fn they_find_what_is_wrong() {
    for algorithm in ["random", "pct"] {
        let said = explore(PHILOSOPHERS, algorithm, &[]);
        assert_eq!(said.code, 1, "{said:?}");
        assert!(said.out.contains("deadlock: "), "{said:?}");
        assert!(said.out.contains("mazurka run"), "{said:?}");
        let args = ["explore", "-", "--algorithm", algorithm, "--format", "json"];
        let record = with_input(&args, PLANTED).json();
        assert_eq!(record["verdict"], "violated", "{record}");
        assert_eq!(record["witnesses"][0]["kind"], "failure");
    }
    let actors = explore("corpus/abs/philosophers/program.abs", "random", &[]);
    assert_eq!(actors.code, 1, "{actors:?}");
}

#[test]
fn they_verify_nothing() {
    for algorithm in ["random", "pct"] {
        let said = explore(COUNTER, algorithm, &[]);
        assert_eq!(said.code, 2, "{said:?}");
        let first = "random: not everything was explored".replace("random", algorithm);
        assert!(said.first_line().ends_with(&first), "{said:?}");
        let drawn = "only 1000 executions were drawn at random";
        assert!(said.out.contains(drawn), "{said:?}");
        assert!(said.out.contains("mazurka check"), "{said:?}");
        let flags = ["--max-executions", "1", "--format", "json"];
        let record = explore(COUNTER, algorithm, &flags).json();
        let bounds = serde_json::json!([{"bound": "sampled", "value": 1}]);
        assert_eq!(record["scope"]["bounds"], bounds);
        assert_eq!(record["scope"]["exhaustive"], false);
        assert_eq!(record["verdict"], "inconclusive");
        assert_eq!(record["executions"], 1);
        assert_eq!(record["deterministic"], serde_json::Value::Null);
    }
}

#[test]
fn a_seed_names_what_is_drawn() {
    for algorithm in ["random", "pct"] {
        let draw = |seed| {
            let flags = ["--seed", seed, "--max-executions", "20"];
            let flags = [&flags[..], &["--format", "json", "--set", "N=4"]].concat();
            without_time(&explore(PHILOSOPHERS, algorithm, &flags))
        };
        assert_eq!(draw("7"), draw("7"));
        assert_eq!(draw("7")["algorithm"], format!("{algorithm} --seed 7"));
        let counts = |seed| {
            let record = draw(seed);
            ["executions", "traces", "deadlocks", "steps"].map(|name| record[name].clone())
        };
        let others = ["1", "2", "3"]
            .iter()
            .filter(|&&seed| counts(seed) != counts("7"));
        assert!(others.count() > 0, "other seeds draw other executions");
    }
}

#[test]
fn the_first_one_is_that_of_run() {
    for seed in ["1", "2", "3", "4", "5", "6", "7", "8"] {
        let flags = ["--seed", seed, "--max-executions", "1", "--format", "json"];
        let args = [&["explore", "-", "--algorithm", "random"], &flags[..]].concat();
        let drawn = with_input(&args, PLANTED).json();
        let run = with_input(&["run", "-", "--seed", seed, "--format", "json"], PLANTED).json();
        let failed = |record: &serde_json::Value| record["verdict"] == "violated";
        assert_eq!(failed(&drawn), failed(&run), "{seed}");
        assert_eq!(drawn["failures"], run["failures"], "{seed}");
        assert_eq!(drawn["events"], run["events"], "{seed}");
    }
}

#[test]
fn time_and_steps_end_them() {
    for algorithm in ["random", "pct"] {
        let said = explore(COUNTER, algorithm, &["--time-limit", "0.2"]);
        assert_eq!(said.code, 2, "{said:?}");
        assert!(
            said.out.contains("--time-limit 0.2s was reached"),
            "{said:?}"
        );
        assert!(said.out.contains("drawn at random"), "{said:?}");
        assert!(!said.err.contains("--checkpoint"), "{said:?}");
        let said = explore(COUNTER, algorithm, &["--max-steps", "50"]);
        assert!(said.out.contains("--max-steps 50 was reached"), "{said:?}");
    }
    // Every walk reaches the limit, and counts all the same.
    let spins = "var x: int = 0  process { while true { x := 1 } }";
    let args = ["explore", "-", "--algorithm", "random", "--max-depth", "10"];
    let said = with_input(&args, spins);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(
        said.out.contains("an execution reached --max-depth 10"),
        "{said:?}"
    );
    assert!(said.out.contains("only 1000 executions"), "{said:?}");
}

#[test]
fn inputs_are_drawn_too() {
    let program = "process { let a: i32 = input(); if a > 5 { assert a != 77 } }";
    for algorithm in ["random", "pct"] {
        let args = ["explore", "-", "--algorithm", algorithm];
        let said = with_input(&args, program);
        assert_eq!(said.code, 1, "{said:?}");
        assert!(said.out.contains("77"), "{said:?}");
    }
}

#[test]
fn flags_are_of_these_engines_alone() {
    for (algorithm, flag) in [
        ("optimal", "--seed"),
        ("naive", "--depth"),
        ("random", "--depth"),
    ] {
        let said = explore(COUNTER, algorithm, &[flag, "1"]);
        assert_eq!(said.code, 3, "{said:?}");
        assert!(
            said.err.contains(flag) && said.err.contains("pct"),
            "{said:?}"
        );
    }
    let said = explore(COUNTER, "pct", &["--checkpoint", "nowhere.json"]);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.err.contains("at random"), "{said:?}");
    let said = mazurka(&["bench", "--quick", "--algorithm", "random"]);
    assert_eq!(said.code, 3, "{said:?}");
}
