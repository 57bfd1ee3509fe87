//! Tests `mazurka prove` and `mazurka check-proof`.

use std::path::Path;

use crate::support::{CommandResult, mazurka, with_input};

const PETERSON: &str = "corpus/prove/peterson/program.maz";
const COUNT: &str = "corpus/prove/count-to/program.maz";
const ADD: &str = "var x, y: i8 process p { x := x + 1 } process q { x := x + 1 }";

fn prove(program: &str, args: &[&str]) -> CommandResult {
    let args = [&["prove", "-", "--solver", "embedded"], args].concat();
    with_input(&args, program)
}

/// Returns the path of a file in a folder.
fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().expect("a name").to_owned()
}

#[test]
fn proofs_pass_the_checker() {
    let folder = tempfile::tempdir().expect("a folder");
    let proof = &path(folder.path(), "peterson.proof");
    let result = mazurka(&["prove", PETERSON, "--proof", proof, "--tree"]);
    assert_eq!(result.code, 0, "{result:?}");
    assert!(
        result.out.starts_with("proved: [*] inside == 0 ("),
        "{result:?}"
    );
    assert!(result.out.contains("no state deadlocks"), "{result:?}");
    assert!(result.out.contains("goal 0 SCHEDULE"), "{result:?}");
    let result = mazurka(&["check-proof", proof]);
    assert_eq!(result.code, 0, "{result:?}");
    assert!(
        result.out.starts_with("checked: [*] inside == 0 (all "),
        "{result:?}"
    );
    assert!(result.out.contains("no state deadlocks"), "{result:?}");
    // A weaker proof is reported as weaker.
    mazurka(&["prove", PETERSON, "--no-deadlock", "--proof", proof]);
    let result = mazurka(&["check-proof", proof]);
    assert!(
        result.out.contains("deadlocks are not part of it"),
        "{result:?}"
    );
}

#[test]
fn a_false_goal_has_an_execution_that_shows_it() {
    let result = mazurka(&[
        "prove",
        COUNT,
        "--goal",
        "[*] c < n",
        "--solver",
        "embedded",
    ]);
    assert_eq!(result.code, 1, "{result:?}");
    assert!(result.out.starts_with("refuted: [*] c < n"), "{result:?}");
    let args = ["prove", COUNT, "--goal", "[*] c < n", "--format", "json"];
    let record = mazurka(&args).json();
    assert_eq!(record["command"], "prove");
    assert_eq!(record["verdict"], "violated");
    assert_eq!(record["goals"][0]["status"], "refuted");
    let run = &record["witnesses"][0]["runs"][0];
    assert_eq!(run["ending"], "final", "{record}");
    let result = prove("var x: i32 process { assert x != 7 }", &[]);
    assert_eq!(result.code, 1, "{result:?}");
    assert!(result.out.contains("assert x != 7"), "{result:?}");
    assert!(result.out.contains("x = 7"), "{result:?}");
    // Inputs and choices are part of the execution.
    let asks = "var x: i8 = 0 process { let a: i8 = choose(0..3); x := input(i8); x := x + a }";
    let result = prove(asks, &["--goal", "[*] x != 7"]);
    assert_eq!(result.code, 1, "{result:?}");
    assert!(result.out.contains("then: x = 7"), "{result:?}");
}

#[test]
fn the_search_explores_what_symbolic_execution_explores() {
    let fig8 = "corpus/maz/sympaths-fig8/program.maz";
    for (por, no_por, figures) in [
        ("canonical", None, (324, 25)),
        ("none", Some("--no-por"), (14_495, 6_744)),
    ] {
        let args = [
            "symbolic",
            fig8,
            "--no-feasible",
            "--por",
            por,
            "--format",
            "json",
        ];
        let record = mazurka(&args).json();
        let symbolic = (record["steps"].as_u64(), record["states"]["count"].as_u64());
        let args = [
            "prove",
            fig8,
            "--no-feasible",
            "--no-deadlock",
            "--goal",
            "[*] true",
            "--format",
            "json",
        ];
        let args: Vec<&str> = args.into_iter().chain(no_por).collect();
        let goal = &mazurka(&args).json()["goals"][0];
        let logic = (goal["schedules"].as_u64(), goal["leaves"].as_u64());
        assert_eq!(logic, symbolic, "{por}");
        assert_eq!(logic, (Some(figures.0), Some(figures.1)), "{por}");
    }
}

#[test]
fn missing_invariants_are_reported() {
    let weak = "var c, n: i8 requires c == 0 && n >= 0
        process { while c < n invariant true { c := c + 1 } } ensures c == n";
    let result = prove(weak, &[]);
    assert_eq!(result.code, 2, "{result:?}");
    assert!(result.out.starts_with("open: [*] c == n"), "{result:?}");
    assert!(result.out.contains("missing: an invariant"), "{result:?}");
    let forever = "var x, n: i32 process { while x < n { x := x + 1 } } ensures x >= n";
    let result = prove(forever, &["--unfold", "3"]);
    assert_eq!(result.code, 2, "{result:?}");
    assert!(result.out.contains("--unfold 3"), "{result:?}");
    let started = "var x: i8 process { while true { spawn { x := 1 } } }";
    let result = prove(started, &["--unfold", "2"]);
    assert_eq!(result.code, 2, "{result:?}");
    assert!(result.out.contains("--unfold 2"), "{result:?}");
    let result = prove(ADD, &["--max-steps", "1"]);
    assert_eq!(result.code, 2, "{result:?}");
    assert!(result.out.contains("--max-steps 1"), "{result:?}");
}

#[test]
fn goals_are_those_of_the_file_or_of_the_command_line() {
    let program = format!("{ADD} prove \"x == 0 ==> [p] x == 1\" ensures x == x");
    let record = prove(&program, &["--format", "json"]).json();
    let goals: Vec<_> = record["goals"].as_array().expect("goals").iter().collect();
    let result: Vec<&str> = goals
        .iter()
        .filter_map(|goal| goal["goal"].as_str())
        .collect();
    assert_eq!(result, ["x == 0 ==> [p] x == 1", "[*] x == x"]);
    let record = prove(
        &program,
        &["--goal", "true", "--goal", "[q] true", "--format", "json"],
    );
    let record = record.json();
    assert_eq!(record["goals"].as_array().expect("goals").len(), 2);
    assert_eq!(record["goals"][1]["goal"], "[q] true");
}

#[test]
fn formulas_are_ascii_or_unicode() {
    for goal in [
        "forall k: i8. x == k ==> [p || q] x == k + 2",
        "∀k: i8· x == k → [p ∥ q] x == k + 2",
        "exists b: bool. b && !(x != x)",
        "∃b: bool· b ∧ ¬(x ≠ x)",
        "{x := 1, y := x} (x <= y || x >= y) <==> true",
        "{x := 1, y := x} (x ≤ y ∨ x ≥ y) ↔ true",
    ] {
        let result = prove(ADD, &["--goal", goal, "-q"]);
        assert_eq!(result.code, 0, "{goal}: {result:?}");
    }
    for (goal, why) in [
        ("[p] x = 1", "`=` means nothing here"),
        ("[r] x == 1", "there is no process `r`"),
        ("forall x: int. x == x", "`x` is an `i8`"),
        ("[proc { x := 1 ] x == 1", "this process has no end"),
        ("{x := 1, x := 2} x == 2", "this variable is updated twice"),
        ("x == 300", "300 does not fit an `i8`"),
        ("forall k: é8. true", "`é8` is not a type"),
        ("x == choose(0..2)", "there is no variable `choose`"),
        ("x +", "the formula ends here"),
    ] {
        let result = prove(ADD, &["--goal", goal]);
        assert_eq!(result.code, 3, "{goal}: {result:?}");
        assert!(
            result.err.contains(why) && result.err.contains('^'),
            "{goal}: {result:?}"
        );
    }
    let result = prove(ADD, &["--goal", "!([p] x == 1)"]);
    assert_eq!(result.code, 1, "{result:?}");
    assert!(result.out.contains("no rules"), "{result:?}");
}

#[test]
fn a_proof_is_a_page_or_a_picture_too() {
    let result = mazurka(&["prove", COUNT, "--format", "html"]);
    assert_eq!(result.code, 0, "{result:?}");
    assert!(result.out.starts_with("<!doctype html>"), "{result:?}");
    assert!(
        result.out.contains("INVARIANT") && result.out.contains("BACK"),
        "{result:?}"
    );
    let result = mazurka(&["prove", COUNT, "--format", "svg"]);
    assert_eq!(result.code, 0, "{result:?}");
    assert!(
        result.out.starts_with("<svg") && result.out.ends_with("</svg>\n"),
        "{result:?}"
    );
    let large = "corpus/prove/ticket-lock/program.maz";
    let result = mazurka(&["prove", large, "--format", "svg"]);
    assert_eq!(result.code, 3, "{result:?}");
    assert!(result.err.contains("--format html"), "{result:?}");
}

/// A `for` keeps its limit in a variable without a name, which no state of a proof shows.
#[test]
fn the_limit_of_a_loop_is_hidden() {
    let text = "var n: int requires n == 2 var s: int = 0
        process { for i in 0..n { s := s + i } }";
    let folder = tempfile::tempdir().expect("a folder");
    let proof = &path(folder.path(), "a.proof");
    let result = prove(text, &["--goal", "[*] s == 1", "--proof", proof]);
    assert_eq!(result.code, 0, "{result:?}");
    let saved = std::fs::read_to_string(proof).expect("a proof");
    assert!(saved.contains("\"0.i\"") && !saved.contains('$'), "{saved}");
}

#[test]
fn a_file_that_is_not_a_proof_is_rejected() {
    let folder = tempfile::tempdir().expect("a folder");
    let (proof, program) = (
        &path(folder.path(), "a.proof"),
        &path(folder.path(), "a.maz"),
    );
    std::fs::write(
        program,
        "var x: i8 = 0 process { x := x + 1; x := x + 1 } ensures x == 2",
    )
    .expect("written");
    let result = mazurka(&["prove", program, "--proof", proof]);
    assert_eq!(result.code, 0, "{result:?}");
    let good = std::fs::read_to_string(proof).expect("a proof");
    let check = |text: &str| {
        std::fs::write(proof, text).expect("written");
        mazurka(&["check-proof", proof])
    };
    assert_eq!(check(&good).code, 0);
    // A proof of another formula is not accepted.
    for (from, to) in [
        ("\"ASSIGN\"", "\"COND\""),
        ("\"proved\"", "{\"unknown\": \"\"}"),
    ] {
        assert!(good.contains(from), "{good}");
        let result = check(&good.replacen(from, to, 1));
        assert_eq!(result.code, 1, "{result:?}");
        assert!(result.out.starts_with("rejected: "), "{result:?}");
    }
    for text in [
        "",
        "no",
        "{}",
        "[1]",
        "{\"version\": 2}",
        &good[..good.len() / 2],
    ] {
        let result = check(text);
        assert_eq!(result.code, 3, "{text}: {result:?}");
        assert!(result.err.contains("not a proof of Mazurka"), "{result:?}");
    }
    let result = check("{\"version\": 2, \"proofs\": []}");
    assert_eq!(result.code, 3, "{result:?}");
    // A proof of another program is not accepted either.
    std::fs::write(
        program,
        "var x: i8 = 0 process { x := x + 2 } ensures x == 2",
    )
    .expect("written");
    let result = check(&good);
    assert_eq!(result.code, 3, "{result:?}");
    assert!(result.err.contains("another program"), "{result:?}");
    let result = mazurka(&["check-proof", "nowhere.proof"]);
    assert_eq!(result.code, 3, "{result:?}");
}

#[test]
fn proofs_exist_with_and_without_reduction() {
    let program = "var x, y: i8 = 0 process { x := 1; y := 1 } process { await y == 1; x := 1 }";
    for args in [
        &["--goal", "[*] x == y"][..],
        &["--goal", "[*] x == y", "--no-por"],
    ] {
        let result = prove(program, args);
        assert_eq!(result.code, 0, "{result:?}");
    }
    let with = mazurka(&["prove", COUNT, "--format", "json"]).json();
    let without = mazurka(&["prove", COUNT, "--no-por", "--format", "json"]).json();
    assert_eq!(
        (with["algorithm"].as_str(), without["algorithm"].as_str()),
        (Some("canonical"), Some("none"))
    );
    assert_eq!(without["goals"][0]["merged"], 0);
    assert_eq!(without["goals"][0]["status"], "proved");
}

#[test]
fn accesses_are_refused_or_proved_as_steps() {
    let result = prove("atomicity access var x: i8 = 0 process { x := x + 1 }", &[]);
    assert_eq!(result.code, 3, "{result:?}");
    assert!(result.err.contains("atomicity statement"), "{result:?}");
}

/// Everything follows from a contradiction, so a proof would be worthless: `prove` refuses, like
/// every other command.
#[test]
fn nothing_follows_from_a_false_requires() {
    let given = "var c: int = 0 requires c > 0 ensures c == 99 process { c := 7 }";
    let unknown = "var c: i8 requires c > 0 && c < 0 ensures c == 99 process { c := 7 }";
    let undefined = "var c: int = 0 requires 1 / c > 0 ensures c == 99 process { c := 7 }";
    for command in ["check", "explore", "symbolic", "prove"] {
        for program in [given, unknown, undefined] {
            let result = with_input(&[command, "-"], program);
            assert_eq!(result.code, 3, "{command} {program}: {result:?}");
            let why = if program == unknown {
                "no initial values satisfy"
            } else {
                "M0603"
            };
            assert!(result.err.contains(why), "{command} {program}: {result:?}");
        }
    }
}

/// Proofs of some goals show nothing about goals that were not examined.
#[test]
fn freedom_from_deadlocks_is_claimed_only_if_it_is_proved() {
    let freedom = |program: &str, args: &[&str]| {
        let record = prove(program, &[args, &["--format", "json"]].concat()).json();
        record["goals"][0]["deadlock_free"].clone()
    };
    let stuck = "var x: i8 = 0 process { while x < 3 invariant false { x := x + 1 } } process { await false }";
    assert_eq!(freedom(stuck, &[]), serde_json::Value::Null);
    let waits = "var x: i8 = 0 process { await x == 1 }";
    assert_eq!(freedom(waits, &[]), false);
    // A goal that does not hold, in a program with a deadlock.
    let both = "var x: i8 = 0 process { x := 1 } process { if x == 0 { await false } }";
    assert_ne!(freedom(both, &["--goal", "[*] x == 0"]), true);
    let fine = "var x: i8 = 0 process { x := 1 }";
    assert_eq!(freedom(fine, &[]), true);
    assert_eq!(freedom(fine, &["--no-deadlock"]), serde_json::Value::Null);
    assert_eq!(
        freedom(fine, &["--goal", "x == 0"]),
        serde_json::Value::Null
    );
}

/// A goal that is not about all runs may hold in a program that deadlocks. Neither `prove` nor
/// `check-proof` claims that such a program is free of deadlocks.
#[test]
fn a_goal_about_some_runs_claims_nothing_about_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let proof = &path(folder.path(), "part.proof");
    let source = &path(folder.path(), "part.maz");
    std::fs::write(source, "var x: i8 = 0 process { await x == 1 }").expect("written");
    let nothing = "deadlocks are not part of it";
    let boxes = "no state in its boxes deadlocks, but they are not all runs of the program";
    for (goal, says) in [
        ("x == 0", nothing),
        ("x == 1 ==> [*] x == 1", boxes),
        ("{x := 1} [*] x == 1", boxes),
    ] {
        let result = mazurka(&["prove", source, "--goal", goal, "--proof", proof]);
        assert_eq!(result.code, 0, "{result:?}");
        assert!(!result.out.contains("deadlocks"), "{result:?}");
        let result = mazurka(&["check-proof", proof]);
        assert_eq!(result.code, 0, "{result:?}");
        assert!(result.out.contains(says), "{result:?}");
    }
}

/// An infinite step is not a mistake of the user: the answer is unknown, as in every other command.
#[test]
fn a_long_local_loop_leaves_the_goal_open() {
    let first =
        "var x: i32 = 0 process { let i: i32 = 0; while i < 100000 { i := i + 1 }; x := i }";
    let later =
        "var x: i32 = 0 process { x := 1; let i = x; while i < 100000 { i := i + 1 }; x := i }";
    for program in [first, later] {
        let result = prove(program, &[]);
        assert_eq!(result.code, 2, "{result:?}");
        assert!(result.out.contains("process 0 does too much"), "{result:?}");
    }
}

/// A search that was stopped saves a record of limited size, and no proof.
#[test]
fn a_stopped_search_saves_little() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = &path(folder.path(), "cut.proof");
    let adders =
        "process { x := x + 1; x := x + 1; x := x + 1; x := x + 1; x := x + 1 } ".repeat(6);
    let program = &format!("var x: i32 = 0 {adders} ensures x == 30");
    let source = &path(folder.path(), "adders.maz");
    std::fs::write(source, program).expect("written");
    let args = ["prove", source, "--max-steps", "5000", "--format", "json"];
    let short = mazurka(&args).json();
    let long = mazurka(&[&args[..], &["--proof", file]].concat()).json();
    assert_eq!(short["goals"], long["goals"]);
    assert_eq!(short["goals"][0]["status"], "open");
    assert_eq!(short["goals"][0]["open"].as_array().map(Vec::len), Some(5));
    let written = std::fs::read_to_string(file).expect("a proof");
    let written: serde_json::Value = serde_json::from_str(&written).expect("JSON");
    let goals = written["proofs"][0]["goals"].as_array().map(Vec::len);
    assert_eq!(goals, Some(1000));
    let result = mazurka(&["check-proof", file]);
    assert_eq!(result.code, 1, "{result:?}");
}

#[test]
fn paths_may_choose_values_of_different_types() {
    let program = "var x: i8
        proc p(a: int) { }
        process { if x != 0 { x := choose(0..2) } p(choose(0..3)) }
        ensures x < 2";
    let result = with_input(&["prove", "-"], program);
    assert_eq!(result.code, 0, "{result:?}");
    let wrong = program.replace("x < 2", "x < 1");
    let result = with_input(&["prove", "-"], &wrong);
    assert_eq!(result.code, 1, "{result:?}");
}

#[test]
fn a_partly_checked_proof_is_neither_accepted_nor_rejected() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("adds.maz");
    let text = "atomicity statement var x: int = 0
        process (p in 0..3) { x := x + 1; x := x + 1 } ensures x == 6";
    std::fs::write(&program, text).expect("it is written");
    let proof = folder.path().join("adds.proof");
    let (program, proof) = (
        program.to_str().expect("a path"),
        proof.to_str().expect("a path"),
    );
    assert_eq!(mazurka(&["prove", program, "--proof", proof]).code, 0);
    for (flag, limit, name) in [
        ("--time-limit", "0.000001", "--time-limit 0s was reached"),
        ("--memory-limit", "1K", "--memory-limit 1K was reached"),
    ] {
        let result = mazurka(&["check-proof", proof, flag, limit]);
        assert_eq!(result.code, 2, "{result:?}");
        assert!(
            result.first_line().starts_with("inconclusive: "),
            "{result:?}"
        );
        assert!(result.out.contains(name), "{result:?}");
    }
    assert_eq!(
        mazurka(&["check-proof", proof, "--time-limit", "100"]).code,
        0
    );
}

/// Proves a goal. Returns the exit code and the text with the evidence.
fn evidence(program: &str, goal: &str) -> (i32, String) {
    let result = prove(program, &["--goal", goal]);
    (result.code, result.out)
}

#[test]
fn evidence_starts_where_the_box_does() {
    let program = "var x: int process p { x := x + 1 } process q { x := x + 10 }";
    // An update: the run starts in the state after it.
    let (code, text) = evidence(program, "{x := 1} [p] x == 1");
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("initially: x = 1\n"), "{text}");
    assert!(text.contains("x: 1 -> 2"), "{text}");
    // Only the processes of the box run.
    let (code, text) = evidence(program, "x == 0 ==> [q] x == 1");
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("then: x = 10\n"), "{text}");
    assert!(!text.contains("  p  "), "{text}");
    // Nested boxes: one run after the other.
    let (code, text) = evidence(program, "x == 0 ==> [q] {x := 2 * x} [p] x == 20");
    assert_eq!(code, 1, "{text}");
    let first = text.find("x: 0 -> 10").expect("the outer run");
    let second = text.find("x: 20 -> 21").expect("the inner run");
    assert!(first < second, "{text}");
    assert!(text.contains("initially: x = 20\n"), "{text}");
    // Without a box there is nothing to run.
    let (code, text) = evidence(program, "x == 1 || x == 2");
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("  false at x = "), "{text}");
    assert!(!text.contains("invariant"), "{text}");
    let record = prove(program, &["--goal", "x == 1", "--format", "json"]).json();
    assert_eq!(record["goals"][0]["at_once"], true, "{record}");
    assert_eq!(record["witnesses"].as_array().map(Vec::len), Some(0));
    // The value of a quantified variable is one that refutes the formula.
    let (code, text) = evidence(program, "forall k: int. {x := k} [p] x != 5");
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("x: 4 -> 5"), "{text}");
}

#[test]
fn evidence_has_inputs_choices_and_deadlocks_of_its_box() {
    let asks = "var x: i32 process p { let k = input(); x := k } process q { x := choose(0..9) }";
    let (code, text) = evidence(asks, "[q] [p] [q] x != 7");
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("then: x = 7\n"), "{text}");
    let (code, text) = evidence(asks, "[q] [p] x != 42");
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("then: x = 42\n"), "{text}");
    let waits = "var x: int = 0 var a: int[2] = 0 lock m
        process p { await x == 1; a[1] := 1 } process q { x := 1 }
        process r { lock(m); await x == 1; unlock(m) } process s { lock(m); x := 3; unlock(m) }";
    assert_eq!(evidence(waits, "[p || q] a[1] == 1").0, 0);
    let (code, text) = evidence(waits, "[p] true");
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("x == 1"), "{text}");
    let (code, text) = evidence(
        waits,
        "{x := 1} [p] {a[0] := 5} [r || s] x == 1 && a[1] == 1",
    );
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("a = [5, 1]"), "{text}");
}

#[test]
fn elements_that_are_known_to_differ_commute_in_proofs_too() {
    // Lemma 2: there are as many leaf sequents as symbolic states.
    let known = "var i, j: int var a: int[3] requires 0 <= i && i < 3 && 0 <= j && j < 3 && i != j";
    let free = "var i, j: int var a: int[3] requires 0 <= i && i < 3 && 0 <= j && j < 3";
    let bodies = [
        "process p { a[i] := 1 } process q { a[j] := 2 }",
        "process p { a[i] := 1; a[j] := 5 } process q { a[j] := a[i] }",
        "process p { if a[i] > 0 { a[j] := 1 } } process q { a[j] := 2 }",
        "process p { a[0] := 1 } process q { a[j] := 2 }",
        "process p { if i == 0 && j == 1 { a[i] := 1 } } process q { a[j] := 2 }
         process r { a[2] := 3 }",
    ];
    for declared in [known, free] {
        for body in bodies {
            let program = format!("{declared} {body}");
            let states = with_input(&["symbolic", "-", "--format", "json"], &program).json();
            let goal = ["--goal", "[*] true", "--format", "json"];
            let proof = prove(&program, &goal).json();
            let (states, leaves) = (&states["states"]["count"], &proof["goals"][0]["leaves"]);
            assert_eq!(states, leaves, "{program}");
            assert_eq!(proof["goals"][0]["status"], "proved", "{program}");
        }
    }
    let first = format!("{known} {}", bodies[0]);
    let proof = prove(&first, &["--goal", "[*] a[i] == 1", "--format", "json"]).json();
    assert_eq!(proof["goals"][0]["leaves"], 1, "{proof}");
    // The checker does not trust the proof, and queries the solver again.
    let folder = tempfile::tempdir().expect("a folder");
    let (file, proof) = (
        path(folder.path(), "alias.maz"),
        path(folder.path(), "alias.proof"),
    );
    std::fs::write(&file, &first).expect("a file");
    let result = mazurka(&["prove", &file, "--goal", "[*] a[i] == 1", "--proof", &proof]);
    assert_eq!(result.code, 0, "{result:?}");
    let result = mazurka(&["check-proof", &proof]);
    assert_eq!(result.code, 0, "{result:?}");
}

#[test]
fn boxes_may_be_anywhere_in_a_formula() {
    // Definition 5. Each formula is valid, by reasoning.
    let program = "var x: i8 var b: bool
        process p { x := x + 1 } process q { if b { x := 0 } } process w { await x > 0 }
        process c { x := choose(0..3) }";
    let valid = [
        "!([p] x == 0) ==> x != -1",
        "x == 5 ==> !([p] x == 5)",
        "[p] x == 1 <==> x == 0",
        "([p] x == 1) ==> x == 0",
        "([q] x == 0) || [q] x != 0",
        "([q] x == 0) <==> (b || x == 0)",
        "exists k: bool. {b := k} [q] x == 0",
        "<p> x == 1 <==> [p] x == 1",
        // If its processes wait for ever, a box is always true and a diamond never.
        "([w] false) <==> x <= 0",
        "!(<w> true) <==> x <= 0",
        "<c> x == 2",
        "!([c] x == 2)",
        "x == 0 ==> <p || q || c> x == 1",
        "x == 0 ==> !(<p || q> x == 2)",
        // Several copies, no process, and processes written in the formula.
        "x == 0 ==> [p || p] x == 2",
        "x == 0 ==> [p || p || p] x == 3",
        "[] x == 0 <==> x == 0",
        "x == 3 ==> [] x == 3",
        "x == 0 ==> [proc { x := x + 5 } || p] x == 6",
        "[proc { let k = x; x := k + 1 } || proc { x := 7 }] (x == 7 || x == 8 || x <= 127)",
        // Quantifiers over variables of the program.
        "forall x. !([p] x == 0) <==> x != -1",
        "x == 3 ==> (forall x. [proc { x := 4 }] x == 4) && x == 3",
    ];
    for goal in valid {
        let result = prove(program, &["--goal", goal]);
        assert_eq!(result.code, 0, "{goal}: {result:?}");
        // The embedded solver does not decide quantifiers over all numbers.
        if goal.contains("forall") || goal.contains("exists") || goal.contains('∃') {
            continue;
        }
        let not = format!("!({goal})");
        let result = prove(program, &["--goal", &not]);
        assert_eq!(result.code, 1, "{not}: {result:?}");
        assert!(result.out.starts_with("refuted: "), "{not}: {result:?}");
    }
    // These are true, but the embedded solver may not find the value.
    for goal in ["∃x. [p] x == 7", "exists x. <c> x == 2"] {
        let result = prove(program, &["--goal", goal]);
        assert!(result.code == 0 || result.code == 2, "{goal}: {result:?}");
    }
    let neither = [
        "!([p] x == 0)",
        "[p] x == 1 <==> x == 1",
        "([p] x == 1) || [q] x == 1",
        "<w> true",
        "forall x. [p] x == 3",
        "[p || p] x == 3",
        "[proc { x := x + 5 } || p] x == 6",
    ];
    for goal in neither {
        let result = prove(program, &["--goal", goal]);
        assert_eq!(result.code, 1, "{goal}: {result:?}");
        assert!(result.out.starts_with("refuted: "), "{goal}: {result:?}");
    }
    // A formula without a proof is not saved, and a proof with copies is checked with them.
    let folder = tempfile::tempdir().expect("a folder");
    let file = path(folder.path(), "some.maz");
    let saved = path(folder.path(), "some.proof");
    std::fs::write(&file, program).expect("a file");
    let result = mazurka(&["prove", &file, "--goal", "<p> x == 1", "--proof", &saved]);
    assert_eq!(result.code, 3, "{result:?}");
    assert!(result.err.contains("no proof to save"), "{result:?}");
    for goal in [
        "x == 0 ==> [p || p] x == 2",
        "x == 0 ==> [proc { x := x + 5 } || p] x == 6",
        "forall x. {x := 1} [p] x == 2",
    ] {
        let result = mazurka(&["prove", &file, "--goal", goal, "--proof", &saved]);
        assert_eq!(result.code, 0, "{goal}: {result:?}");
        let result = mazurka(&["check-proof", &saved]);
        assert_eq!(result.code, 0, "{goal}: {result:?}");
    }
    let result = prove(program, &["--goal", "[proc { y := 5 }] true"]);
    assert_eq!(result.code, 3, "{result:?}");
    assert!(result.err.contains("`y`"), "{result:?}");
    // An infinite loop is not executed for ever.
    let endless = "var x: int process p { while x > 0 { x := x + 1 } }";
    let result = prove(endless, &["--goal", "!([p] x == 0)", "--time-limit", "1s"]);
    assert!(result.code == 1 || result.code == 2, "{result:?}");
}

#[test]
fn a_diamond_needs_a_run_that_ends() {
    let program = "var x: i8 = 0  process { x := 1; assert false }  process { x := 2 }";
    for goal in ["<0> false", "<0> x == 7", "<0> true", "<0 || 1> false"] {
        let result = prove(program, &["--goal", goal]);
        assert_eq!(result.code, 1, "{goal}: {result:?}");
        assert!(result.out.starts_with("refuted: "), "{goal}: {result:?}");
    }
    for goal in ["!(<0> true)", "<1> x == 2", "!(<0 || 1> x == 2)"] {
        let result = prove(program, &["--goal", goal]);
        assert_eq!(result.code, 0, "{goal}: {result:?}");
    }
    // Conditions that divide by zero, as in docs/prove.md.
    let program = "var x: i8 = 0  process { skip }";
    for (goal, code) in [
        ("1/x == 1", 1),
        ("!(1/x == 1)", 1),
        ("1/x == 1 || true", 1),
        ("(1/x == 1) ==> false", 0),
    ] {
        let result = prove(program, &["--goal", goal]);
        assert_eq!(result.code, code, "{goal}: {result:?}");
    }
}
