//! Compares the texts of commands with stored snapshots. Times are removed before.

use crate::support::{mazurka, with_input};

fn check(args: &[&str]) -> String {
    let result = mazurka(&[&["check"], args].concat());
    format!("{}{}exit code {}\n", result.out, result.err, result.code)
}

#[test]
fn failure() {
    insta::assert_snapshot!(check(&["examples/counter.maz"]));
}

#[test]
fn deadlock() {
    insta::assert_snapshot!(check(&["examples/philosophers.maz"]));
}

#[test]
fn nondeterminism() {
    insta::assert_snapshot!(check(&["examples/example5.maz"]));
}

#[test]
fn nondeterminism_from_the_start() {
    insta::assert_snapshot!(check(&["corpus/maz/e6-choice/program.maz"]));
}

#[test]
fn crossing_locks() {
    insta::assert_snapshot!(check(&["corpus/maz/e3-abba/program.maz"]));
}

#[test]
fn a_failing_step() {
    insta::assert_snapshot!(check(&["corpus/maz/broken-mutex/program.maz"]));
}

#[test]
fn a_long_run() {
    let program =
        "var x: int = 0 process { for i in 0..200 { x := x + 1 } } process { assert x != 150 }";
    insta::assert_snapshot!(with_input(&["check", "-"], program).out);
}

#[test]
fn verified() {
    insta::assert_snapshot!(check(&["examples/peterson.maz"]));
}

#[test]
fn inconclusive() {
    insta::assert_snapshot!(check(&["examples/peterson.maz", "--max-depth", "6"]));
}

#[test]
fn not_deterministic_and_not_asked_for() {
    let program = "var x: int = 0 invariant x >= 0 process { x := 1 } process { x := 2 }";
    insta::assert_snapshot!(with_input(&["check", "-"], program).out);
}

#[test]
fn a_wrong_program() {
    let program = "\
const N = 2
var count: int = 0
lock l

process (p in 0..N) {
  lock(l);
  cuont := count + 1;
  if count { count = 0 };
  unlock(m)
}
";
    let result = with_input(&["check", "-"], program);
    insta::assert_snapshot!(format!("{}exit code {}\n", result.err, result.code));
}

#[test]
fn exploration() {
    let result = mazurka(&[
        "explore",
        "examples/philosophers.maz",
        "--algorithm",
        "naive",
    ]);
    let mut text = String::new();
    for line in result.out.lines() {
        if line.trim_start().starts_with("seconds") {
            text += "  seconds  [time]\n"
        } else {
            text += &format!("{line}\n")
        }
    }
    insta::assert_snapshot!(text);
}

#[test]
fn one_run() {
    insta::assert_snapshot!(
        mazurka(&["run", "examples/handover.maz", "--schedule", "0 0 1 1"]).out
    );
}

#[test]
fn an_open_run() {
    insta::assert_snapshot!(
        mazurka(&["run", "examples/fork-join.maz", "--schedule", "0 0 0.0"]).out
    );
}

#[test]
fn a_stuck_run() {
    insta::assert_snapshot!(
        mazurka(&["run", "examples/philosophers.maz", "--schedule", "0 1 2"]).out
    );
}
