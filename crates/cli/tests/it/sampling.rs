//! Tests `sample`, and `explore --algorithm` with a sampling method.

use crate::support::{CommandResult, mazurka, with_input};

const PHILOSOPHERS: &str = "examples/philosophers.maz";
const COUNTER: &str = "examples/counter-locked.maz";

/// An assertion that fails in only one order of two steps, and only if the choice is 3.
const PLANTED: &str = "var x, y: int = 0
    process { x := choose(1..4); y := 1 }
    process { y := 0; assert !(x == 3 && y == 1) }";

fn explore(file: &str, algorithm: &str, more: &[&str]) -> CommandResult {
    let mut args = vec!["explore", file, "--algorithm", algorithm];
    args.extend(more);
    mazurka(&args)
}

const METHODS: [&str; 5] = ["random", "pct", "pos", "urw", "surw"];

fn sample(file: &str, method: &str, more: &[&str]) -> CommandResult {
    let mut args = vec!["sample", file, "--method", method];
    args.extend(more);
    mazurka(&args)
}

fn without_time(result: &CommandResult) -> serde_json::Value {
    let mut record = result.json();
    record["seconds"] = 0.into();
    record
}

#[test]
fn sampling_methods_find_violations() {
    for algorithm in METHODS {
        let result = explore(PHILOSOPHERS, algorithm, &[]);
        assert_eq!(result.code, 1, "{result:?}");
        assert!(result.out.contains("deadlock: "), "{result:?}");
        assert!(result.out.contains("mazurka run"), "{result:?}");
        let args = ["explore", "-", "--algorithm", algorithm, "--format", "json"];
        let record = with_input(&args, PLANTED).json();
        assert_eq!(record["verdict"], "violated", "{record}");
        assert_eq!(record["witnesses"][0]["kind"], "failure");
    }
    let actors = explore("corpus/abs/philosophers/program.abs", "random", &[]);
    assert_eq!(actors.code, 1, "{actors:?}");
}

#[test]
fn a_violation_is_in_the_first_line() {
    let flags = ["--runs", "200", "--keep-going"];
    let all = sample("examples/counter.maz", "surw", &flags);
    let first = "surw: violated; not everything was explored";
    assert!(all.first_line().ends_with(first), "{all:?}");
    assert_eq!(all.code, 1);
}

#[test]
fn numbers_out_of_range_say_which_range() {
    for (flag, number) in [("--seed", "-1"), ("--runs", "99999999999999999999")] {
        let result = sample(COUNTER, "surw", &[flag, number]);
        assert_eq!(result.code, 3, "{result:?}");
        assert!(result.err.contains("to 18446744073709551615"), "{result:?}");
    }
}

#[test]
fn sampling_methods_verify_nothing() {
    for algorithm in METHODS {
        let result = explore(COUNTER, algorithm, &[]);
        assert_eq!(result.code, 2, "{result:?}");
        let first = "random: not everything was explored".replace("random", algorithm);
        assert!(result.first_line().ends_with(&first), "{result:?}");
        let drawn = "only 1000 executions were drawn at random";
        assert!(result.out.contains(drawn), "{result:?}");
        assert!(result.out.contains("mazurka check"), "{result:?}");
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
fn a_seed_determines_the_executions() {
    for algorithm in METHODS {
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
fn the_first_execution_is_that_of_run() {
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
fn time_and_steps_end_samples() {
    for algorithm in METHODS {
        let result = explore(COUNTER, algorithm, &["--time-limit", "0.2"]);
        assert_eq!(result.code, 2, "{result:?}");
        assert!(
            result.out.contains("--time-limit 0.2s was reached"),
            "{result:?}"
        );
        assert!(result.out.contains("drawn at random"), "{result:?}");
        assert!(!result.err.contains("--checkpoint"), "{result:?}");
        let result = explore(COUNTER, algorithm, &["--max-steps", "50"]);
        assert!(
            result.out.contains("--max-steps 50 was reached"),
            "{result:?}"
        );
    }
    // Every walk reaches the limit, and still counts.
    let spins = "var x: int = 0  process { while true { x := 1 } }";
    let args = ["explore", "-", "--algorithm", "random", "--max-depth", "10"];
    let result = with_input(&args, spins);
    assert_eq!(result.code, 2, "{result:?}");
    assert!(
        result.out.contains("an execution reached --max-depth 10"),
        "{result:?}"
    );
    assert!(result.out.contains("only 1000 executions"), "{result:?}");
}

#[test]
fn inputs_are_drawn_too() {
    let program = "process { let a: i32 = input(); if a > 5 { assert a != 77 } }";
    for algorithm in METHODS {
        let args = ["explore", "-", "--algorithm", algorithm];
        let result = with_input(&args, program);
        assert_eq!(result.code, 1, "{result:?}");
        assert!(result.out.contains("77"), "{result:?}");
    }
}

#[test]
fn flags_are_only_for_these_engines() {
    for (algorithm, flag) in [
        ("optimal", "--seed"),
        ("naive", "--depth"),
        ("random", "--depth"),
    ] {
        let result = explore(COUNTER, algorithm, &[flag, "1"]);
        assert_eq!(result.code, 3, "{result:?}");
        assert!(
            result.err.contains(flag) && result.err.contains("pct"),
            "{result:?}"
        );
    }
    let result = explore(COUNTER, "pct", &["--checkpoint", "nowhere.json"]);
    assert_eq!(result.code, 3, "{result:?}");
    assert!(result.err.contains("at random"), "{result:?}");
    let result = mazurka(&["bench", "--quick", "--algorithm", "random"]);
    assert_eq!(result.code, 3, "{result:?}");
    for method in ["random", "pos", "urw", "surw"] {
        let result = sample(COUNTER, method, &["--depth", "2"]);
        assert_eq!(result.code, 3, "{result:?}");
        assert!(
            result.err.contains("--depth is for --method pct"),
            "{result:?}"
        );
    }
    let result = sample(COUNTER, "nonsense", &[]);
    assert_eq!(result.code, 3, "{result:?}");
    assert!(result.err.contains("surw"), "{result:?}");
    let result = sample(COUNTER, "pos", &["--max-executions", "5"]);
    assert_eq!(result.code, 3, "it is --runs: {result:?}");
}

#[test]
fn a_sample_ends_at_the_first_violation() {
    for method in METHODS {
        let result = sample(PHILOSOPHERS, method, &["--set", "N=4", "--seed", "3"]);
        assert_eq!(result.code, 1, "{result:?}");
        assert!(result.out.contains("stopped when certain"), "{result:?}");
        assert!(result.out.contains("--seed 3"), "{result:?}");
        let replay = result
            .out
            .lines()
            .find_map(|line| line.strip_prefix("replay with: mazurka "));
        let replay = replay.expect("a command").replace('"', "\u{1}");
        // Words in quotes are one argument.
        let words = replay
            .split('\u{1}')
            .enumerate()
            .flat_map(|(at, part)| match at % 2 {
                0 => part.split_whitespace().collect(),
                _ => vec![part],
            });
        let words: Vec<&str> = words.collect();
        let replayed = mazurka(&words);
        assert_eq!(replayed.code, 1, "{replayed:?}");
        let flags = ["--set", "N=4", "--seed", "3", "--format", "json"];
        let record = sample(PHILOSOPHERS, method, &flags).json();
        let drawn = &record["sample"];
        assert_eq!(
            (&drawn["method"], &drawn["seed"]),
            (&method.into(), &3.into())
        );
        assert_eq!(record["stopped"], "certain");
        assert!(drawn.get("estimate").is_none(), "{drawn}");
        let all = [&flags[..], &["--keep-going", "--runs", "1500"]].concat();
        let record = sample(PHILOSOPHERS, method, &all).json();
        assert_eq!(record["verdict"], "violated");
        assert_eq!(record["sample"]["runs"], 1500);
        assert_eq!(record["sample"]["estimate"]["executions"], 1500);
        // `sample` draws the same executions as `explore`.
        let with = ["--set", "N=4", "--seed", "3", "--max-executions", "1500"];
        let with = [&with[..], &["--format", "json"]].concat();
        let explored = explore(PHILOSOPHERS, method, &with).json();
        for name in ["executions", "traces", "deadlocks", "steps", "sample"] {
            assert_eq!(record[name], explored[name], "{method} {name}");
        }
    }
}

/// The first execution shows a violation before the first step.
#[test]
fn a_sample_may_end_before_its_first_step() {
    let wrong = "var x: int = 0  invariant x > 0  process { x := 1 }";
    let record = with_input(&["sample", "-", "--format", "json"], wrong).json();
    assert_eq!(
        (&record["verdict"], &record["sample"]["runs"]),
        (&"violated".into(), &1.into())
    );
    // A program without steps has one execution.
    for jobs in ["--jobs=1", "--jobs=2"] {
        let flags = ["sample", "-", jobs, "--runs=2500", "--format=json"];
        let record = with_input(&flags, "process { }").json();
        assert_eq!(record["verdict"], "inconclusive");
        assert_eq!(record["sample"]["runs"], 1, "{jobs}");
        assert!(record["sample"]["estimate"].is_null(), "{jobs}");
    }
}

#[test]
fn a_sample_reports_its_estimated_coverage() {
    for method in METHODS {
        let result = sample(COUNTER, method, &["--runs", "400"]);
        assert_eq!(result.code, 2, "{result:?}");
        assert!(result.out.contains("(--runs)"), "{result:?}");
        let row = |name: &str| {
            let rows = result.out.lines().map(str::trim_start);
            let row = rows.clone().find_map(|row| row.strip_prefix(name));
            row.unwrap_or_default().trim_start().to_owned()
        };
        assert!(
            row("runs").starts_with("400  drawn, --seed 0"),
            "{result:?}"
        );
        assert!(row("covered").starts_with("100.0%"), "{result:?}");
        // The two orders in which the lock is taken.
        assert!(row("estimated").starts_with("2 "), "{result:?}");
        let once = sample(COUNTER, method, &["--runs", "1", "--format", "json"]).json();
        let estimate = &once["sample"]["estimate"];
        assert_eq!(
            (&estimate["unseen"], &estimate["once"]),
            (&1.0.into(), &1.into())
        );
        let allowed = sample(COUNTER, method, &["--allow-inconclusive"]);
        assert_eq!(allowed.code, 0, "{allowed:?}");
    }
    // No walk ends, so nothing is estimated.
    let spins = "var x: int = 0  process { while true { x := 1 } }";
    let result = with_input(
        &["sample", "-", "--max-depth", "10", "--format", "json"],
        spins,
    );
    let record = result.json();
    assert_eq!(record["sample"]["runs"], 1000);
    assert!(record["sample"].get("estimate").is_none(), "{record}");
}

#[test]
fn workers_change_nothing_of_a_sample() {
    let draw = |jobs| {
        let flags = ["--set", "N=3", "--runs", "4200", "--jobs", jobs];
        let flags = [&flags[..], &["--keep-going", "--format", "json"]].concat();
        let mut record = without_time(&sample(PHILOSOPHERS, "surw", &flags));
        record["options"]["jobs"] = 0.into();
        record
    };
    assert_eq!(draw("1"), draw("4"));
    let result = sample(COUNTER, "pos", &["--jobs", "3", "--time-limit", "0.3"]);
    assert_eq!(result.code, 2, "{result:?}");
    assert!(
        result.out.contains("--time-limit 0.3s was reached"),
        "{result:?}"
    );
}

#[test]
fn actors_and_covers_and_inputs_are_sampled() {
    for method in METHODS {
        let result = sample("corpus/abs/philosophers/program.abs", method, &[]);
        assert_eq!(result.code, 1, "{result:?}");
        let covered = "var x: int = 0  cover both: x == 2
            process { x := x + 1 }  process { x := x + 1 }";
        let args = ["sample", "-", "--method", method, "--runs", "50"];
        let result = with_input(&args, covered);
        assert_eq!(result.code, 2, "{result:?}");
        assert!(result.out.contains("both"), "{result:?}");
        let input = "process { let a: i32 = input(); if a > 5 { assert a != 77 } }";
        let result = with_input(&args, input);
        assert_eq!(result.code, 1, "{result:?}");
    }
}

#[test]
fn memory_models_have_two_methods() {
    let program = "atomicity access  var x, y: atomic int = 0  var a, b: int = 0
        ensures a == 1 || b == 1
        process { x.store(1, relaxed); let r = y.load(relaxed); a := r }
        process { y.store(1, relaxed); let r = x.load(relaxed); b := r }";
    for method in METHODS {
        let args = ["sample", "-", "--memory", "rc11", "--method", method];
        let result = with_input(&args, program);
        if ["random", "pct"].contains(&method) {
            assert_eq!(result.code, 1, "{result:?}");
            let args = [&args[..], &["--format", "json"]].concat();
            let record = with_input(&args, program).json();
            assert_eq!(record["stopped"], "certain", "{record}");
            let runs = record["sample"]["runs"].as_u64().expect("a number");
            assert!((1..1000).contains(&runs), "{record}");
            let all = [&args[..], &["--keep-going"]].concat();
            let record = with_input(&all, program).json();
            assert_eq!(record["sample"]["runs"], 1000);
            let sampled = serde_json::json!([{"bound": "sampled", "value": 1000}]);
            assert_eq!(record["scope"]["bounds"], sampled);
            assert_eq!(record["sample"]["estimate"]["different"], record["traces"]);
        } else {
            assert_eq!(result.code, 3, "{result:?}");
            assert!(result.err.contains("random or pct"), "{result:?}");
        }
    }
    // The default method depends on what is supported.
    let args = ["sample", "-", "--format", "json"];
    let drawn = |more: &[&str]| {
        let record = with_input(&[&args[..], more].concat(), program).json();
        record["sample"]["method"].clone()
    };
    assert_eq!(drawn(&[]), "surw");
    assert_eq!(drawn(&["--memory", "sc"]), "surw");
    assert_eq!(drawn(&["--memory", "tso"]), "random");
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn c_programs_are_sampled() {
    for method in METHODS {
        let result = sample("corpus/c/deadlock.c", method, &["--", "-DWRONG"]);
        assert_eq!(result.code, 1, "{result:?}");
        assert!(result.out.contains("mazurka run"), "{result:?}");
    }
}
