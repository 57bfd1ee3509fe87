//! Tests the exit codes of the commands.

use crate::support::{command, mazurka, run_command, with_input};

const RACE: &str = "var x: int = 0 process { x := 1 } process { x := 2 }";

#[test]
fn verified_is_0() {
    let result = mazurka(&["check", "examples/handover.maz"]);
    assert_eq!(result.code, 0, "{result:?}");
    assert!(
        result
            .first_line()
            .starts_with("verified: no failure, no deadlock, no livelock, deterministic (")
    );
}

#[test]
fn violated_is_1() {
    for (file, kind) in [
        ("examples/counter.maz", "failure"),
        ("examples/philosophers.maz", "deadlock"),
        ("examples/example5.maz", "not deterministic"),
    ] {
        let result = mazurka(&["check", file]);
        assert_eq!(result.code, 1, "{result:?}");
        assert!(
            result
                .first_line()
                .starts_with(&format!("violated: {kind}")),
            "{result:?}"
        );
    }
}

/// Models of `examples/` that are verified as they are, and violated with `--set BUG=1`.
#[test]
fn the_planted_bugs_of_the_examples_are_found() {
    for (name, kind) in [
        ("msi", "failure: invariant `exclusive`"),
        ("two-phase-commit", "failure: invariant `agreement`"),
        ("bakery", "failure: invariant `exclusion`"),
        ("waiter", "deadlock: philosopher(0), philosopher(1)"),
        ("bounded-queue", "failure: assertion failed: consumer"),
        ("thread-pool", "deadlock: worker"),
        ("rwlock-upgrade", "deadlock: client(0) and client(1)"),
        ("alternating-bit", "failure: assertion failed: item"),
        ("michael-scott", "failure: not linearizable: no order"),
        ("treiber-stack", "failure: not linearizable: no order"),
        ("work-stealing", "failure: assertion failed: item"),
        ("raft-election", "failure: invariant `one_leader`"),
        ("paxos", "failure: invariant `agreement`"),
        (
            "paxos-consensus",
            "property: does not refine `consensus.maz`",
        ),
    ] {
        let file = format!("examples/{name}.maz");
        let right = mazurka(&["check", &file]);
        assert_eq!(right.code, 0, "{right:?}");
        assert!(right.first_line().starts_with("verified"), "{right:?}");
        let wrong = mazurka(&["check", &file, "--set", "BUG=1"]);
        assert_eq!(wrong.code, 1, "{wrong:?}");
        let expected = format!("violated: {kind}");
        assert!(wrong.first_line().starts_with(&expected), "{wrong:?}");
    }
}

#[test]
fn explore_is_1_for_failures_and_deadlocks_only() {
    assert_eq!(mazurka(&["explore", "examples/philosophers.maz"]).code, 1);
    assert_eq!(mazurka(&["explore", "examples/counter.maz"]).code, 1);
    let different_results = with_input(&["explore", "-", "--algorithm", "naive"], RACE);
    assert_eq!(different_results.code, 0, "{different_results:?}");
    assert!(different_results.out.contains("not deterministic"));
}

#[test]
fn usage_errors_are_3() {
    for args in [
        &[][..],
        &["check"],
        &["chekc", "x.maz"],
        &["check", "x.maz", "--no-such-flag"],
        &["explore", "x.maz", "--algorithm", "magic"],
        &["run", "x.maz", "--schedule", "0", "--seed", "1"],
        &["check", "x.maz", "--max-local", "20000001"],
        &["check", "x.maz", "--max-depth", "0"],
        &["check", "x.maz", "--time-limit", "soon"],
        &["check", "x.maz", "--memory-limit", "much"],
        &["check", "x.maz", "--set", "N"],
        &["completions", "abacus"],
    ] {
        let result = mazurka(args);
        assert_eq!(result.code, 3, "{args:?}: {result:?}");
        assert!(
            result.out.is_empty() && !result.err.is_empty(),
            "{args:?}: {result:?}"
        );
    }
}

#[test]
fn an_answer_that_is_not_certain_may_be_allowed() {
    let file = "examples/peterson.maz";
    for args in [
        &["check", file, "--max-depth", "3"][..],
        &["explore", file, "--max-depth", "3"],
        &[
            "explore",
            file,
            "--algorithm",
            "random",
            "--max-executions",
            "2",
        ],
        &["run", file, "--max-depth", "3"],
        &["unfold", file, "--max-steps", "3"],
        &["permute", file, "--complete", "--max-steps", "9"],
        &["reach", file, "--property", "turn == 7", "--max-steps", "3"],
    ] {
        let strict = mazurka(args);
        assert_eq!(strict.code, 2, "{args:?}: {strict:?}");
        let allowed = mazurka(&[args, &["--allow-inconclusive"]].concat());
        assert_eq!(allowed.code, 0, "{args:?}: {allowed:?}");
        let without_times = |text: &str| {
            let lines = text.lines().filter(|line| !line.contains("seconds"));
            lines.collect::<Vec<_>>().join("\n")
        };
        assert_eq!(
            without_times(&allowed.out),
            without_times(&strict.out),
            "{args:?}"
        );
    }
    // A certain answer keeps its exit code.
    let violated = ["check", "examples/counter.maz", "--allow-inconclusive"];
    assert_eq!(mazurka(&violated).code, 1);
    let wrong = ["check", "no-such-file.maz", "--allow-inconclusive"];
    assert_eq!(mazurka(&wrong).code, 3);
}

#[test]
fn help_and_version_are_0() {
    for args in [
        &["--help"][..],
        &["check", "--help"],
        &["run", "-h"],
        &["help", "replay"],
        &["--version"],
    ] {
        let result = mazurka(args);
        assert_eq!(result.code, 0, "{args:?}: {result:?}");
        assert!(!result.out.is_empty());
    }
    for command in ["check", "explore", "run", "replay", "completions"] {
        let result = mazurka(&[command, "--help"]);
        assert!(result.out.contains("Examples:"), "{result:?}");
    }
}

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let result = mazurka(&["completions", shell]);
        assert_eq!(result.code, 0);
        assert!(
            result.out.contains("explore") && result.out.contains("max-depth"),
            "{shell}"
        );
    }
}

#[test]
fn determinism_decides_when_nothing_else_does() {
    let check = |flags: &[&str], program: &str| {
        let args = [&["check", "-"], flags].concat();
        with_input(&args, program).code
    };
    assert_eq!(check(&[], RACE), 1);
    let other = format!("{RACE} process {{ assert x >= 0 }}");
    assert_eq!(check(&[], &other), 0);
    assert_eq!(check(&["--property", "deterministic"], &other), 1);
    let observing = format!("observe x {other}");
    assert_eq!(check(&[], &observing), 1);
}

#[test]
fn a_closed_pipe_does_not_change_the_exit_code() {
    // The output of a long run does not fit into a pipe without a reader.
    let program = "var x: int = 0 process { for i in 0..3000 { x := x + 1 } }";
    let mut child = command()
        .args(["run", "-"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the binary starts");
    drop(child.stdout.take());
    use std::io::Write;
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(program.as_bytes()).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn colours_only_where_they_are_wanted() {
    let escape = '\u{1b}';
    let args = ["check", "examples/counter.maz"];
    assert!(
        !mazurka(&args).out.contains(escape),
        "a pipe is not a terminal"
    );
    let forced = run_command(command().args(args).env("CLICOLOR_FORCE", "1"), "");
    assert!(forced.out.contains(escape), "{forced:?}");
    let refused = run_command(command().args(args).env("NO_COLOR", "1"), "");
    assert!(!refused.out.contains(escape));
    let wrong = run_command(
        command().args(["check", "-"]).env("NO_COLOR", "1"),
        "var x: int",
    );
    assert!(!wrong.err.contains(escape), "{wrong:?}");
}

#[test]
fn quiet_leaves_the_first_line() {
    let result = mazurka(&["check", "examples/counter.maz", "--quiet"]);
    assert_eq!((result.code, result.out.lines().count()), (1, 1));
    assert!(result.out.starts_with("violated: "));
    assert!(result.err.is_empty());
}

#[test]
fn a_seed_always_names_the_same_run() {
    let run = |seed: &str| mazurka(&["run", "examples/philosophers.maz", "--seed", seed]).out;
    assert_eq!(run("5"), run("5"));
    let runs: std::collections::BTreeSet<String> =
        (0..10).map(|seed| run(&seed.to_string())).collect();
    assert!(runs.len() > 3, "random seeds give only few different runs");
    let default = mazurka(&["run", "examples/philosophers.maz"]).out;
    assert!(default.contains("seed 0"), "{default}");
    assert_eq!(default, run("0"));
}

#[test]
fn random_runs_reach_every_value_of_a_choose() {
    let program = "var x: int = 0 process { x := 10 * choose(1..4) + choose(0..2) }";
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..40 {
        let result = with_input(&["run", "-", "--seed", &seed.to_string()], program);
        let state = result
            .out
            .lines()
            .find_map(|line| line.strip_prefix("state: "))
            .map(str::to_owned);
        seen.insert(state.expect("a final state"));
    }
    let all = ["x = 10", "x = 11", "x = 20", "x = 21", "x = 30", "x = 31"];
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), all);
}
