//! Tests `permute`, and the flags of `run` about traces.

use crate::support::{mazurka, with_input};

const CHOICE: &str = "var x, y: int = 0 process { x := 1 } process { y := 1 <| x == 0 |> y := 2 }";
const EXAMPLE: &str = "corpus/maz/fagiani-example5/program.maz";
const THETA_0: &str = "0 0 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.0";

fn without_seconds(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.contains("seconds"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_text_of_example_5() {
    let result = mazurka(&["permute", EXAMPLE, "--schedule", THETA_0, "--paper"]);
    assert_eq!(result.code, 0, "{result:?}");
    insta::assert_snapshot!(without_seconds(&result.out));
}

#[test]
fn the_record_has_the_permutations() {
    let flags = ["permute", "-", "--schedule", "1 0", "--format", "json"];
    let one = with_input(&flags, CHOICE).json();
    assert_eq!(one["command"], "permute");
    assert_eq!(one["algorithm"], "fagiani");
    assert_eq!(one["deterministic"], serde_json::Value::Null);
    assert_eq!(one["scope"]["exhaustive"], false);
    let permutations = &one["permutations"];
    assert_eq!(permutations["executable"], 1);
    assert_eq!(permutations["branches"], serde_json::json!([1]));
    assert_eq!(permutations["classes"][0]["schedule"], "1 0");
    let all = with_input(&[&flags[..], &["--complete"]].concat(), CHOICE).json();
    assert_eq!(all["deterministic"], false);
    assert_eq!(all["scope"]["exhaustive"], true);
    assert_eq!(all["permutations"]["seeds"], 2);
}

#[test]
fn exit_codes() {
    let code = |flags: &[&str], source| {
        let flags = [&["permute", "-", "-q"], flags].concat();
        with_input(&flags, source).code
    };
    assert_eq!(code(&[], CHOICE), 0);
    let stuck = "var x: int = 0 process { x := 1; x := 0 } process { x == 1 |> skip }";
    assert_eq!(code(&["--schedule", "0 1 0"], stuck), 1);
    assert_eq!(code(&["--complete", "--max-steps", "3"], CHOICE), 2);
    assert_eq!(code(&["--schedule", "7"], CHOICE), 3);
    assert_eq!(code(&["--schedule", "x"], CHOICE), 3);
    assert_eq!(code(&["--schedule", "0", "--seed", "1"], CHOICE), 3);
    assert_eq!(code(&["--classes", "0"], CHOICE), 3);
}

#[test]
fn mistakes_are_explained() {
    let result = with_input(&["permute", "-", "--schedule", "1 1"], CHOICE);
    assert!(
        result.err.contains("process 1 has already ended"),
        "{result:?}"
    );
    let flags = ["permute", "-", "--class", "9", "--format", "dot"];
    let result = with_input(&flags, CHOICE);
    assert_eq!(result.code, 3);
    assert!(result.err.contains("there is no class 9"), "{result:?}");
}

#[test]
fn the_picture_of_a_class() {
    let flags = ["permute", "-", "--schedule", "1 0", "--format"];
    let dot = with_input(&[&flags[..], &["dot"]].concat(), CHOICE);
    assert_eq!(dot.code, 0);
    assert!(dot.out.contains("e0 -> e1;"), "{}", dot.out);
    let svg = with_input(&[&flags[..], &["svg"]].concat(), CHOICE);
    assert!(svg.out.starts_with("<svg") && svg.out.trim_end().ends_with("</svg>"));
    assert!(svg.out.contains("x == 0 ▷ y := 1"), "{}", svg.out);
}

#[test]
fn long_lists_are_cut_with_a_note() {
    let writers = "var x: int = 0 process (k in 0..5) { x := k }";
    let result = with_input(&["permute", "-", "--classes", "3"], writers);
    assert!(
        result.out.contains("… 117 more: --classes N lists more"),
        "{}",
        result.out
    );
    assert!(
        result
            .first_line()
            .starts_with("permuted: 120 executable permutations")
    );
}

#[test]
fn run_shows_the_path_condition() {
    let schedule = "0 0 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.0 0.1 0.1";
    let run = |more: &[&str]| {
        let mut all = vec![
            "run",
            EXAMPLE,
            "--set",
            "x=-2",
            "--schedule",
            schedule,
            "--path",
        ];
        all.extend(more);
        mazurka(&all)
    };
    let result = run(&[]);
    assert_eq!(result.code, 0, "{result:?}");
    assert!(
        result.out.contains("path condition: flag && x == -2\n"),
        "{result:?}"
    );
    assert!(
        result
            .out
            .contains("where another path can start: 3, 5, 7, 9\n"),
        "{result:?}"
    );
    let record = run(&["--format", "json"]).json();
    assert_eq!(record["path"]["condition"], "flag && x == -2");
    assert_eq!(record["path"]["branches"][3], 9);
    let result = with_input(&["run", "-", "--path"], "process { let x = input(); skip }");
    assert_eq!(result.code, 3, "{result:?}");
    assert!(result.err.contains("--path"), "{result:?}");
}

#[test]
fn a_run_that_a_limit_has_cut_is_permuted_up_to_its_length() {
    // Section 6 of the guarded-command paper, loops.
    let loops = "var x, y: int = 0
        process p { true |>* x := x + 1 } process q { true |>* y := y + 1 }";
    let args = ["permute", "-", "--max-depth", "4", "--schedule", "0 1 0 1"];
    let result = with_input(&args, loops);
    assert_eq!(result.code, 2, "{result:?}");
    assert!(
        result.out.starts_with(
            "inconclusive: 1 executable permutation (of one path, up to length 4); 1 state at that length"
        ),
        "{result:?}"
    );
    // With a shared variable every order is different: 4 choose 2.
    let common =
        "var x: int = 0 process p { true |>* x := 2 * x } process q { true |>* x := x + 1 }";
    let record = with_input(&[&args[..], &["--format", "json"]].concat(), common).json();
    assert_eq!(record["permutations"]["executable"], 6, "{record}");
    assert_eq!(record["permutations"]["up_to"], 4, "{record}");
    assert_eq!(record["deterministic"], serde_json::Value::Null, "{record}");
    // One process has one order.
    let one = "var x: int = 0 process { true |>* x := x + 1 }";
    let record = with_input(
        &["permute", "-", "--max-depth", "4", "--format", "json"],
        one,
    )
    .json();
    assert_eq!(record["permutations"]["executable"], 1, "{record}");
    assert_eq!(
        record["permutations"]["recorded"]["steps"]
            .as_array()
            .map(Vec::len),
        Some(4)
    );
    // A guard that waits for a step that was cut off is not a deadlock.
    let waits = "var x: int = 0 process p { true |>* x := x + 1 }
        process q { x > 1 |> x := 0; x > 5 |> x := 1 }";
    let args = [
        "permute",
        "-",
        "--max-depth",
        "4",
        "--schedule",
        "0 0 1 0",
        "--format",
        "json",
    ];
    let record = with_input(&args, waits).json();
    assert_eq!(record["permutations"]["executable"], 2, "{record}");
    assert_eq!(record["deadlocks"], 0, "{record}");
}

const EXAMPLE5: &str = "corpus/maz/fagiani-example5/program.maz";
const THETA_1: &str = "0 0 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.0 0.1";
const THETA_3: &str = "0 0 0.1 0.1 0.1 0.1 0.1 0.0 0.1 0.1 0.1 0.1";

#[test]
fn runs_are_compared_as_traces() {
    // Example 10 of the guarded-command paper: θ1 is in the class of θ0, θ3 is not.
    let ask = |one: &str, other: &str| {
        let args = ["run", EXAMPLE5, "--schedule", one, "--equivalent", other];
        mazurka(&args)
    };
    let result = ask(THETA_0, THETA_1);
    assert_eq!(result.code, 0, "{result:?}");
    assert!(result.out.contains("\nequivalent to: "), "{result:?}");
    let result = ask(THETA_0, THETA_3);
    assert!(result.out.contains("not equivalent to: "), "{result:?}");
    // The answer names the first pair of steps in another order: the assignment to `flag` before
    // the guard that reads it.
    assert!(
        result.out.contains("steps 8 and 12 depend on each other"),
        "{result:?}"
    );
    let result = ask(THETA_0, "0 0 0.1");
    assert!(
        result.out.contains("step 4 is not made there"),
        "{result:?}"
    );
    let result = ask("0 0 0.1", THETA_0);
    assert!(
        result.out.contains("continues where this run ends"),
        "{result:?}"
    );
    assert_eq!(ask(THETA_0, "7").code, 3);
}

#[test]
fn the_normal_form_of_a_run() {
    // canon(θ0) = θ1, as the paper says after Definition 12.
    let result = mazurka(&["run", EXAMPLE5, "--schedule", THETA_0, "--canonical"]);
    assert_eq!(result.code, 0, "{result:?}");
    assert!(
        result.out.contains(&format!("--schedule \"{THETA_1}\"")),
        "{result:?}"
    );
    let again = mazurka(&["run", EXAMPLE5, "--schedule", THETA_1, "--canonical"]);
    assert_eq!(again.out, result.out);
}

#[test]
fn a_run_is_a_sequential_program() {
    let result = mazurka(&["run", EXAMPLE5, "--schedule", THETA_3, "--linearise"]);
    assert_eq!(result.code, 0, "{result:?}");
    assert!(
        result.out.contains("  x == 0 || flag |> x := 2 * x;\n"),
        "{result:?}"
    );
    assert!(
        result.out.contains("  true |> spawn { skip };\n"),
        "{result:?}"
    );
    // Theorem 8: the sequential program can make all of its steps, and ends as the run did.
    let ran = with_input(&["run", "-", "--format", "json"], &result.out).json();
    assert_eq!(ran["run"]["ending"], "final", "{ran}");
    assert_eq!(ran["run"]["state"][0]["value"], "5", "{ran}");
    // Locals, locks, arrays and choices have the effects that they had in the run.
    let program = "var x, y: int = 0 var a: int[3] = 0 lock m
        proc bump(k: int) { x := x + k }
        process p { for i in 0..2 { a[i] := i + x }; bump(3); lock(m); y := y + 1; unlock(m) }
        process q { let t = x; if t > 0 { y := t } else { x := 7 }; a[2] := choose(4..9); join }";
    for seed in 0..20 {
        let seed = seed.to_string();
        let args = ["run", "-", "--seed", &seed];
        let json = with_input(&[&args[..], &["--format", "json"]].concat(), program).json();
        let result = with_input(&[&args[..], &["--linearise"]].concat(), program);
        assert_eq!(result.code, 0, "{result:?}");
        let ran = with_input(&["run", "-", "--format", "json"], &result.out).json();
        assert_eq!(ran["run"]["state"], json["run"]["state"], "{result:?}");
    }
}

#[test]
fn the_events_of_a_run() {
    // Examples 2 and 3 of the guarded-command paper, section 2.
    let example3 = "x ↦ 1, { x := x+1 ∥ x := 3 }";
    let result = with_input(&["run", "-", "--schedule", "0 1", "--events"], example3);
    assert!(
        result.out.contains("events: 0⟨{x}, {x}⟩ · 1⟨{x}, ∅⟩\n"),
        "{result:?}"
    );
    let result = mazurka(&["run", EXAMPLE5, "--schedule", "0 0.0 0 0.1", "--events"]);
    assert!(
        result
            .out
            .contains("0⟨∅, ∅⟩ · 0.0⟨{x}, {x, flag}⟩ · 0⟨∅, ∅⟩ · 0.1⟨{x}, {flag, x}⟩"),
        "{result:?}"
    );
}
