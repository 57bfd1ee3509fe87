//! Tests that every limit ends the work soon, and that the answer names it.

use std::time::{Duration, Instant};

use crate::support::{CommandResult, command, with_input};

/// Far too many interleavings to wait for, each a separate trace.
const ENDLESS: &str =
    "var x: int = 0 ensures x >= 0 process (p in 0..12) { x := p * p; x := 2; x := 1 }";
/// A process that never ends and always reaches new states.
const LOOP: &str = "var x: i64 = 0 ensures x >= 0 process { while x >= 0 { x := x + 1 } }";

#[track_caller]
fn assert_cut(result: &CommandResult, name: &str) {
    assert_eq!(result.code, 2, "{result:?}");
    assert!(
        result.first_line().starts_with("inconclusive: "),
        "{result:?}"
    );
    assert!(
        result.out.contains(name),
        "`{name}` is missing in {result:?}"
    );
}

/// Runs the command with text and record output, and checks that both name the bound.
#[track_caller]
fn names(flags: &[&str], program: &str, text: &str, bound: &str, value: Option<u64>) {
    let args = [&["check", "-"], flags].concat();
    assert_cut(&with_input(&args, program), text);
    let args = [&args[..], &["--format", "json"]].concat();
    let record = with_input(&args, program).json();
    assert_eq!(record["verdict"], "inconclusive");
    assert_eq!(record["stopped"], "bound");
    assert_eq!(record["scope"]["exhaustive"], false);
    assert_eq!(record["deterministic"].as_bool(), None, "{record}");
    let bounds = record["scope"]["bounds"].as_array().expect("bounds");
    let found = bounds.iter().find(|b| b["bound"] == bound);
    let found = found.unwrap_or_else(|| panic!("{bound} is missing in {record}"));
    assert_eq!(
        found.get("value").and_then(serde_json::Value::as_u64),
        value,
        "{record}"
    );
}

#[test]
fn depth() {
    names(
        &["--max-depth", "7"],
        LOOP,
        "--max-depth 7",
        "max-depth",
        Some(7),
    );
}

#[test]
fn steps() {
    names(
        &["--max-steps", "100"],
        LOOP,
        "--max-steps 100",
        "max-steps",
        Some(100),
    );
}

#[test]
fn executions() {
    // The results agree, so nothing is certain before the limit, but the states differ, and no two
    // processes are interchangeable.
    let program = "var x, y: int = 0 observe y process (p in 0..5) { x := p * p }";
    names(
        &["--max-executions", "3"],
        program,
        "--max-executions 3",
        "max-executions",
        Some(3),
    );
}

#[test]
fn local_work() {
    let program = "var x: int = 0 process { let i = 0; while i < 100000 { i := i + 1 }; x := i }";
    assert_eq!(with_input(&["check", "-"], program).code, 0);
    names(
        &["--max-local", "1000"],
        program,
        "--max-local 1000",
        "max-local",
        Some(1000),
    );
}

#[test]
fn integers() {
    let program = "var x: int = 2 process { while x > 0 { x := x * x } }";
    names(&[], program, "64 bits", "int-range", None);
}

#[test]
fn time() {
    let start = Instant::now();
    names(
        &["--time-limit", "0.3"],
        ENDLESS,
        "--time-limit 0.3s",
        "time-limit",
        Some(300),
    );
    let twice = start.elapsed();
    assert!(
        twice < Duration::from_secs(2),
        "two searches of 0.3 s took {twice:?}"
    );
}

#[test]
fn time_with_much_local_work() {
    let program = "var x: int = 0 ensures x >= 0
        process (p in 0..8) {
          for k in 0..50 { x := k; let i = 0; while i < 100000 { i := i + 1 } }
        }";
    let start = Instant::now();
    assert_cut(
        &with_input(&["check", "-", "--time-limit", "0.5"], program),
        "--time-limit",
    );
    let took = start.elapsed();
    assert!(took < Duration::from_millis(1700), "0.5 s took {took:?}");
}

#[test]
fn memory() {
    names(
        &["--memory-limit", "20M"],
        ENDLESS,
        "--memory-limit 20M",
        "memory-limit",
        Some(20 << 20),
    );
}

/// One step takes minutes over terms, and about a second over numbers.
const SLOW_STEP: &str = "var x: int ensures x >= 0 || x < 0
    process (p in 0..2) { x := p; let i = 0; while i < 15000000 { i := i + 1 }; x := i }";

#[test]
fn time_within_a_step() {
    for command in [
        &["symbolic"][..],
        &["symbolic", "--por", "none"],
        &["explore"],
        &["permute", "--set", "x=0"],
        &["check"],
    ] {
        let limits = ["-", "--max-local", "20000000", "--time-limit", "0.1"];
        let program = match command {
            // `check` uses terms only if the program has an unknown value.
            ["check"] => SLOW_STEP.replace("x := p", "let v = input(); x := p"),
            _ => SLOW_STEP.to_owned(),
        };
        let result = with_input(&[command, &limits].concat(), &program);
        assert_eq!(result.code, 2, "{command:?}: {result:?}");
        let named = result.out.contains("--time-limit 0.1s was reached");
        assert!(named, "{command:?}: {result:?}");
    }
}

#[test]
fn memory_within_a_step() {
    // The step writes tens of millions of times, to few places.
    let program = "var x: int = 0 var a: int[9] = 0
        process { for k in 0..2 { x := k; let i = 0; while i < 6000000 { i := i + 1 } } }";
    let limits = ["--max-local", "20000000", "--memory-limit", "100M"];
    let result = with_input(&[&["check", "-"], &limits[..]].concat(), program);
    assert_eq!(result.code, 0, "{result:?}");
}

#[test]
fn a_violation_that_was_found_stays_one() {
    let program =
        "var x: int = 0 process { while x >= 0 { x := 1 - x } } process { assert x == 1 }";
    let result = with_input(
        &["explore", "-", "--algorithm", "naive", "--max-depth", "4"],
        program,
    );
    assert_eq!(result.code, 1, "{result:?}");
    assert!(result.out.contains("--max-depth 4"), "{result:?}");
}

#[test]
fn a_random_run_is_limited_too() {
    for (flags, name) in [
        (["--max-depth", "50"], "--max-depth 50"),
        (["--max-steps", "50"], "--max-steps 50"),
    ] {
        let result = with_input(&[&["run", "-"], &flags[..]].concat(), LOOP);
        assert_eq!(result.code, 2, "{result:?}");
        assert!(result.out.contains(name), "{result:?}");
    }
}

#[cfg(unix)]
fn send(child: &std::process::Child, signal: &str) {
    let mut kill = std::process::Command::new("kill");
    let sent = kill.args([signal, &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
}

#[cfg(unix)]
#[test]
fn an_interrupted_search_reports_its_findings() {
    use std::io::Write;
    use std::process::Stdio;

    let mut child = command()
        .args(["check", "-", "--format", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(ENDLESS.as_bytes()).expect("it reads");
    drop(stdin);
    std::thread::sleep(Duration::from_millis(1000));
    let start = Instant::now();
    send(&child, "-INT");
    let output = child.wait_with_output().expect("it ends");
    assert!(start.elapsed() < Duration::from_secs(1));
    assert_eq!(output.status.code(), Some(2));
    let record: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a record");
    assert_eq!(record["scope"]["bounds"][0]["bound"], "interrupted");
    assert!(
        record["executions"].as_u64().is_some_and(|n| n > 0),
        "{record}"
    );
}

/// A process that prints into a pipe without a reader does not check whether Ctrl-C was pressed.
#[cfg(unix)]
#[test]
fn a_second_interrupt_ends_the_program_at_once() {
    use std::io::{Read, Write};
    use std::process::Stdio;

    for signal in ["-INT", "-TERM"] {
        let mut child = command()
            .args(["run", "-", "--max-depth", "20000", "--format", "json"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut stdin = child.stdin.take().expect("piped");
        stdin.write_all(LOOP.as_bytes()).expect("it reads");
        drop(stdin);
        let mut stdout = child.stdout.take().expect("piped");
        stdout.read_exact(&mut [0]).expect("it prints");
        // Two in quick succession count as one: `timeout` sends two.
        send(&child, signal);
        send(&child, signal);
        std::thread::sleep(Duration::from_millis(700));
        assert_eq!(child.try_wait().expect("a child"), None, "{signal}");
        let start = Instant::now();
        send(&child, signal);
        let status = child.wait().expect("it ends");
        assert!(start.elapsed() < Duration::from_secs(2), "{signal}");
        assert_eq!(status.code(), Some(2), "{signal}");
    }
}
