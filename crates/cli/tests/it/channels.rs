//! Unbounded channels: every command reports that it has hit the limit. No command reports
//! unexplored runs as verified or as a deadlock.

use crate::support::with_input;

const ENDLESS: &str = "const N = 2 chan c[..N]: int
    process p { c ! 1; c ! 2; c ! 3 }
    process q { let x = 0; await x == 1 }";

const LIMIT: &str = "a channel without a capacity had more than 2 messages, its limit";

#[test]
fn the_limit_is_named_by_every_command() {
    let commands: [&[&str]; 11] = [
        &["check"],
        &["check", "--property", "failure"],
        &["explore"],
        &["explore", "--jobs", "2"],
        &["explore", "--algorithm", "source"],
        &["explore", "--algorithm", "stateful"],
        &["explore", "--algorithm", "context"],
        &["explore", "--algorithm", "naive"],
        &["unfold"],
        &["symbolic"],
        &["permute", "--schedule", "0 0 0"],
    ];
    for command in commands {
        let result = with_input(&[&command[..1], &["-"], &command[1..]].concat(), ENDLESS);
        assert_eq!(result.code, 2, "{command:?}: {result:?}");
        assert!(result.out.contains(LIMIT), "{command:?}: {result:?}");
    }
    let result = with_input(&["prove", "-"], ENDLESS);
    assert_eq!(result.code, 3, "{result:?}");
    assert!(result.err.contains("without a capacity"), "{result:?}");
    let record = with_input(&["check", "-", "--format", "json"], ENDLESS).json();
    assert_eq!(record["scope"]["bounds"][0]["bound"], "max-messages");
    assert_eq!(record["scope"]["bounds"][0]["value"], 2);
}

#[test]
fn programs_within_the_limit_are_decided() {
    let result = with_input(&["check", "-", "--set", "N=3"], ENDLESS);
    assert_eq!(result.code, 1, "{result:?}");
    assert!(result.first_line().contains("deadlock"), "{result:?}");
    let sum = "chan c[..]: int var s: int = 0 ensures s == 6 && len(c) == 0
        process { for i in 1..4 { c ! i } }
        process { let x = 0; for i in 0..3 { c ? x; s := s + x } }";
    assert_eq!(with_input(&["check", "-"], sum).code, 0);
    // A failure counts, even if other runs exceed the limit.
    let fails = "chan c[..2]: int process p { c ! 1; c ! 2; c ! 3; error }
        process q { let x = 0; for i in 0..3 { c ? x } }";
    let result = with_input(&["check", "-"], fails);
    assert_eq!(result.code, 1, "{result:?}");
    assert!(result.first_line().contains("failure"), "{result:?}");
    // A process that tries to send never finds the channel full.
    let tries = "chan c[..]: int process { let ok = try c ! 1; assert ok }
        process { let x = 0; select { c ? x |> skip [] c ! 2 |> skip }; assert x < 2 }";
    assert_eq!(with_input(&["check", "-"], tries).code, 0);
}

#[test]
fn a_stream_is_explored_once() {
    let stream = "chan c[2]: int process { for i in 0..6 { c ! i } }
        process { let x = 0; for i in 0..6 { c ? x; assert x == i } }";
    for algorithm in ["optimal", "source", "dpor", "sleep"] {
        for jobs in ["1", "2"] {
            let args = ["explore", "-", "--algorithm", algorithm, "--jobs", jobs];
            let record = with_input(&[&args[..], &["--format", "json"]].concat(), stream).json();
            assert_eq!(record["traces"], 1, "{algorithm} {jobs}");
            assert_eq!(record["verdict"], "verified", "{algorithm} {jobs}");
        }
    }
}

/// A shortened run keeps every step that its other steps have waited for.
#[test]
fn witnesses_have_what_enables_their_steps() {
    let program = "chan c[1]: int chan d[1]: int var x: int = 0
        process p { c ! 1; c ! 2; c ! 3 / x }
        process q { let k = 0; c ? k; c ? k; d ! k }
        process r { let l = 0; d ? l; assert l == 1 }";
    for command in ["check", "explore"] {
        let result = with_input(&[command, "-", "--format", "json"], program);
        let record = result.json();
        assert_eq!(record["verdict"], "violated", "{result:?}");
        for witness in record["witnesses"].as_array().expect("witnesses") {
            let schedule = witness["runs"][0]["schedule"].as_str().expect("a schedule");
            let again = with_input(&["run", "-", "--schedule", schedule], program);
            assert_eq!(again.code, 1, "{schedule}: {again:?}");
        }
    }
}

#[test]
fn runs_that_differ_in_the_order_of_a_send_and_a_receive_are_equivalent() {
    let program = mazurka::Program::load(
        "stream.maz",
        "chan c[2]: int process { c ! 1; c ! 2 } process { let x = 0; c ? x }",
        &[],
    );
    let program = program.expect("a program");
    let options = mazurka::Options::default();
    let schedule = |text: &str| text.parse().expect("a schedule");
    let compared = program.compare_runs(&schedule("0 1 0"), &schedule("0 0 1"), &options);
    assert!(compared.expect("both are runs").equivalent);
    for run in ["0 1 0", "0 0 1"] {
        let normal = program.canonical(&schedule(run), &options).expect("a run");
        assert_eq!(normal.to_string(), "0 0 1");
    }
}
