//! Tests `mazurka symbolic`, and other commands on programs with unknown values.

use crate::support::{mazurka, with_input};

const FIG8: &str = "corpus/maz/sympaths-fig8/program.maz";

#[test]
fn final_states_say_for_which_values_they_are_reached() {
    let program = "var x: i32 process { if x > 3 { x := 0 } else { x := x + 1 } }";
    let result = with_input(&["symbolic", "-"], program);
    assert_eq!(result.code, 0, "{result:?}");
    assert!(
        result.out.contains("   if   x <= 3\n   then x = x + 1\n"),
        "{result:?}"
    );
    assert!(
        result.out.contains("   if   x > 3\n   then x = 0\n"),
        "{result:?}"
    );
    let record = with_input(&["symbolic", "-", "--format", "json"], program).json();
    assert_eq!(record["states"]["count"], 2);
    assert_eq!(record["states"]["listed"][0]["path_condition"][0], "x <= 3");
    assert_eq!(record["steps"], 3);
    let picture = mazurka(&["symbolic", FIG8, "--format", "svg"]);
    assert!(picture.out.starts_with("<svg") && picture.out.ends_with("</svg>\n"));
}

#[test]
fn possible_failures_are_distinguished_from_impossible_ones() {
    let fails = "var x: i32 process { assert x != 7 }";
    let result = with_input(&["symbolic", "-", "--solver", "embedded"], fails);
    assert_eq!(result.code, 1, "{result:?}");
    assert!(
        result.out.contains("assertion failed: `assert x != 7`"),
        "{result:?}"
    );
    let cannot = "var x: i32 requires x > 7 process { assert x != 7 }";
    assert_eq!(with_input(&["symbolic", "-"], cannot).code, 0);
    // Without the check of feasibility the answer is unknown.
    let result = with_input(&["symbolic", "-", "--no-feasible"], cannot);
    assert_eq!(result.code, 2, "{result:?}");
    let result = with_input(
        &["symbolic", "-"],
        "var x: i32 requires x > 7 && x < 7 process { x := 1 }",
    );
    assert_eq!(result.code, 3, "{result:?}");
    assert!(result.err.contains("requires"), "{result:?}");
}

#[test]
fn waiting_for_ever_is_possible_for_some_values() {
    let program = "var x: i32 process { await x > 0; x := 1 } process { skip }";
    let result = with_input(&["symbolic", "-"], program);
    assert_eq!(result.code, 1, "{result:?}");
    assert!(
        result.out.contains("deadlock\n   if   x <= 0\n"),
        "{result:?}"
    );
    assert!(result.out.contains("final\n   if   x > 0\n"), "{result:?}");
}

#[test]
fn limits_are_honoured_and_named() {
    let result = mazurka(&["symbolic", FIG8, "--por", "none", "--max-steps", "100"]);
    assert_eq!(result.code, 2, "{result:?}");
    assert!(result.out.contains("--max-steps 100"), "{result:?}");
    let forever = "var x, n: int process { while x < n { x := x + 1 } }";
    let result = with_input(&["symbolic", "-", "--max-depth", "20"], forever);
    assert_eq!(result.code, 2, "{result:?}");
    assert!(result.out.contains("--max-depth"), "{result:?}");
}

/// Checks a program. If it is violated, also checks that the violation replays.
fn checked(program: &str) -> (i32, serde_json::Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("program.maz");
    std::fs::write(&file, program).expect("written");
    let file = file.to_str().expect("a name");
    let result = mazurka(&["check", file, "--format", "json"]);
    let record = result.json();
    if result.code == 1 {
        let witness = folder.path().join("witness.json");
        std::fs::write(&witness, &result.out).expect("written");
        let again = mazurka(&["replay", witness.to_str().expect("a name")]);
        assert_eq!(again.code, 1, "{again:?}");
    }
    (result.code, record)
}

/// Checks a program that is verified if and only if its results agree.
fn assert_deterministic(program: &str, expected: bool) {
    let (code, record) = checked(program);
    assert_eq!(code, i32::from(!expected), "{record}");
    assert_eq!(record["deterministic"], expected, "{record}");
}

/// Checks a violated program, and that its first witness is of this kind.
fn assert_violated_by(program: &str, kind: &str) {
    let (code, record) = checked(program);
    assert_eq!(code, 1, "{record}");
    assert_eq!(record["witnesses"][0]["kind"], kind, "{record}");
}

/// Returns the name and the value of the first input of the first witness.
fn first_input(record: &serde_json::Value) -> (&str, &str) {
    let input = &record["witnesses"][0]["runs"][0]["inputs"][0];
    let text = |key: &str| input[key].as_str().expect("an input");
    (text("name"), text("value"))
}

#[test]
fn check_is_about_all_initial_values() {
    let wraps = "var x: i32 process { x := x * x } ensures x >= 0";
    let (code, record) = checked(wraps);
    assert_eq!(code, 1, "{record}");
    assert_eq!(first_input(&record).0, "x");
    let result = with_input(&["check", "-"], wraps);
    assert!(result.out.contains("\n  initially: x = "), "{result:?}");
    assert!(result.last_line().contains(" --inputs \"x="), "{result:?}");

    let fits = "var x: i32 requires -100 < x && x < 100 process { x := x * x } ensures x >= 0";
    assert_deterministic(fits, true);

    let waits = "var x: i8 requires x != 3 process { await x > 0; x := x + 1 }";
    assert_violated_by(waits, "deadlock");

    let array = "var a: i8[2] var i: i8 requires 0 <= i && i < 2
        process { a[i] := 1; assert a[0] + a[1] != 100 }";
    assert_violated_by(array, "failure");
}

#[test]
fn results_differ_if_they_do_so_for_the_same_values() {
    // Different terms with the same value.
    let same = "var x, y: i32 requires x == y process { x := y } process { skip }";
    assert_deterministic(same, true);
    let race = "var x, y: i32 process { x := y } process { y := x }";
    assert_deterministic(race, false);
    let equal = "var x, y: i32 requires x == y process { x := y } process { y := x }";
    assert_deterministic(equal, true);
}

#[test]
fn every_state_and_every_failure_has_an_example_that_was_run() {
    let program = "var x, y: i32 process { if x > 3 { y := x } else { assert y != 7 } }";
    let record = with_input(&["symbolic", "-", "--format", "json"], program).json();
    let value = |example: &serde_json::Value, name: &str| -> i64 {
        let all = example.as_array().expect("an example");
        let one = all.iter().find(|b| b["name"] == name).expect("a value");
        one["value"]
            .as_str()
            .expect("text")
            .parse()
            .expect("a number")
    };
    let states = &record["states"];
    let wrong = &states["mishaps"][0]["example"];
    assert!(value(wrong, "x") <= 3 && value(wrong, "y") == 7, "{record}");
    for state in states["listed"].as_array().expect("states") {
        let taken = value(&state["example"], "x") > 3;
        assert_eq!(taken, state["path_condition"][0] == "x > 3", "{record}");
    }
    let result = with_input(&["symbolic", "-"], program);
    assert!(
        result
            .out
            .contains("assertion failed: `assert y != 7`, for example if x = "),
        "{result:?}"
    );
    assert!(result.out.contains("   e.g. x = "), "{result:?}");
}

#[test]
fn explore_takes_all_initial_values_at_once() {
    let counts = |algorithm: &str| {
        let record = mazurka(&[
            "explore",
            FIG8,
            "--algorithm",
            algorithm,
            "--format",
            "json",
        ]);
        let record = record.json();
        (
            record["traces"].clone(),
            record["deadlocks"].clone(),
            record["final_states"].clone(),
        )
    };
    let truth = counts("naive");
    for algorithm in ["sleep", "dpor", "source", "optimal"] {
        assert_eq!(counts(algorithm), truth, "{algorithm}");
    }
    let fails = "var x: i32 process { assert x != 7 } process { x := x + 1 }";
    let result = with_input(&["explore", "-"], fails);
    assert_eq!(result.code, 1, "{result:?}");
    assert!(result.out.contains("initially: x = "), "{result:?}");
    for engine in ["stateful", "context"] {
        let result = with_input(&["explore", "-", "--algorithm", engine], fails);
        assert_eq!(result.code, 1, "{result:?}");
        assert!(result.out.contains("initially: x = "), "{result:?}");
    }
}

/// A missing initial value is like an input with another name.
#[test]
fn every_command_supports_missing_initial_values() {
    let fails = "var x: u8 process { assert x != 7 } process { x := x + 1 }";
    for net in ["replicated", "contextual", "stateful"] {
        let result = with_input(&["unfold", "-", "--net", net], fails);
        assert_eq!(result.code, 1, "{result:?}");
        // It fails before the other process makes its step, or after.
        let values = ["  initially: x = 7\n", "  initially: x = 6\n"];
        assert!(values.iter().any(|v| result.out.contains(v)), "{result:?}");
    }
    let result = with_input(&["reach", "-", "--property", "x == 9"], fails);
    assert_eq!(result.code, 1, "{result:?}");
    assert!(result.out.contains(" --inputs \"x="), "{result:?}");
    let result = with_input(&["run", "-", "--inputs", "x=7", "--schedule", "0"], fails);
    assert_eq!(result.code, 1, "{result:?}");
    let result = with_input(&["run", "-", "--schedule", "0"], fails);
    assert_eq!(result.code, 0, "{result:?}");
    assert!(result.out.contains("  initially: x = 0\n"), "{result:?}");
    let folder = tempfile::tempdir().expect("a folder");
    let tests = folder.path().to_str().expect("a name");
    let result = with_input(&["explore", "-", "--tests", tests], fails);
    assert_eq!(result.code, 1, "{result:?}");
    assert!(folder.path().join("1.json").exists(), "{result:?}");
}

/// Failures for different initial values, and a deadlock for others: each has its own run, which
/// replays.
#[test]
fn explore_shows_every_failure_with_its_own_initial_values() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| {
        folder
            .path()
            .join(name)
            .to_str()
            .expect("a name")
            .to_owned()
    };
    let (file, json) = (path("values.maz"), path("values.json"));
    let two = r#"var x: u8 var r: u8 = 0
        process { if x == 1 { assert false, "one" }; if x == 2 { assert false, "two" }; r := 1 }"#;
    let stuck = "var x: u8 process { assert x != 1 } process { await x != 2 }";
    let one = [
        ("assertion failed: one", "1"),
        ("assertion failed: two", "2"),
    ];
    let other = [
        ("assertion failed: `assert x != 1`", "1"),
        ("deadlock: 1 waits for ever", "2"),
    ];
    for (program, expected) in [(two, one), (stuck, other)] {
        std::fs::write(&file, program).expect("written");
        let record = mazurka(&["explore", &file, "--format", "json"]).json();
        let found = record["witnesses"].as_array().expect("a list").iter();
        let mut found: Vec<(&str, &str)> = found
            .map(|witness| {
                let input = &witness["runs"][0]["inputs"][0];
                assert_eq!(input["name"], "x", "{record}");
                let value = input["value"].as_str().expect("a value");
                (witness["message"].as_str().expect("a message"), value)
            })
            .collect();
        found.sort_unstable();
        assert_eq!(found, expected);
        let result = mazurka(&["explore", &file]);
        assert!(result.out.contains("--inputs \"x=1\""), "{result:?}");
        assert!(result.out.contains("  initially: x = 2\n"), "{result:?}");
        std::fs::write(&json, record.to_string()).expect("written");
        let result = mazurka(&["replay", &json]);
        assert_eq!(result.code, 1, "{result:?}");
        assert!(result.out.contains("(2 runs, "), "{result:?}");
        let again = mazurka(&["replay", &json, "--format", "json"]).json();
        assert_eq!(again["witnesses"], record["witnesses"]);
        // Nothing replays if the program has changed.
        std::fs::write(&file, format!("{program} // changed")).expect("written");
        let result = mazurka(&["replay", &json]);
        assert_eq!(result.code, 3, "{result:?}");
        assert!(result.err.contains("another program"), "{result:?}");
    }
}

/// The headline of the text claims no more than the record.
#[test]
fn explore_claims_everything_only_where_it_was_exhaustive() {
    let bound = "var x: int process { assert x + x + x != 7500000000 }";
    let beside = "var x: int process { assert x + x + x != 7500000000; assert x != 5 }";
    let exact = "var x: int process { assert x != 5 }";
    for (program, everything) in [(bound, false), (beside, false), (exact, true)] {
        let args = ["explore", "-", "--solver", "embedded"];
        let result = with_input(&args, program);
        let first = result.out.lines().next().expect("a line");
        assert_eq!(
            first.contains("explored everything"),
            everything,
            "{result:?}"
        );
        let record = with_input(&[&args[..], &["--format", "json"]].concat(), program).json();
        assert_eq!(record["scope"]["exhaustive"], everything, "{record}");
    }
}

#[test]
fn a_choice_between_symbolic_bounds_is_explored() {
    let few = "var n: u8 var x: u8 = 0 requires n < 9 process { if n > 4 { x := choose(4..n) } } ensures x != 6";
    let (code, record) = checked(few);
    assert_eq!(code, 1, "{record}");
    let (_, n) = first_input(&record);
    assert!(["7", "8"].contains(&n), "{record}");
    // If the upper bound may be any number, there are infinitely many values. The verdict reports
    // this.
    let many =
        "var n: int var x: int = 0 process { if n > 4 { x := choose(4..n) } } ensures x != 6";
    for command in ["check", "symbolic"] {
        let result = with_input(&[command, "-", "--solver", "embedded"], many);
        assert_eq!(result.code, 2, "{result:?}");
        assert!(
            result.out.contains("the solver gave no answer"),
            "{result:?}"
        );
    }
    let nothing = "var n: i8 var x: i8 = 0 requires -3 < n && n < 3 process { x := choose(0..n) }";
    assert_violated_by(nothing, "failure");
}

/// A prime as a product: a query that takes too long.
const HARD: &str = "var x, y: u64 requires 1 < x && x < 4294967296 && 1 < y && y < 4294967296
    process { assert x * y != 4611686018427387847 }";

#[test]
fn a_query_is_stopped_at_the_time_limit() {
    let mut solvers = vec!["embedded", "auto"];
    solvers.extend(mazurka::solving::second_solver().map(|program| program.name()));
    for solver in solvers {
        for command in ["check", "symbolic", "explore"] {
            let start = std::time::Instant::now();
            let flags = [
                "-",
                "--solver",
                solver,
                "--time-limit",
                "1",
                "--format",
                "json",
            ];
            let result = with_input(&[&[command], &flags[..]].concat(), HARD);
            assert_eq!(result.code, 2, "{command} {solver}: {result:?}");
            let bounds = result.json()["scope"]["bounds"].to_string();
            assert!(
                bounds.contains("time-limit"),
                "{command} {solver}: {bounds}"
            );
            assert!(start.elapsed().as_secs() < 20, "{command} {solver}");
        }
    }
}

#[test]
fn queries_are_written_as_smt_lib() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = "var x: i32 requires x > 2 process { if x * x == 49 { x := 1 } }";
    for command in ["symbolic", "check", "explore", "prove"] {
        let queries = folder.path().join(command);
        let name = queries.to_str().expect("a name");
        let result = with_input(&[command, "-", "--dump-smt", name], program);
        assert!(result.code <= 1, "{result:?}");
        let files = std::fs::read_dir(&queries).expect("it is there");
        let mut texts: Vec<String> = files
            .map(|file| std::fs::read_to_string(file.expect("a file").path()).expect("text"))
            .collect();
        texts.sort();
        assert!(!texts.is_empty(), "{command}");
        for text in &texts {
            let answer = text.lines().next().unwrap_or_default();
            assert!(
                answer.starts_with("; sat") || answer.starts_with("; unsat"),
                "{text}"
            );
            assert!(text.contains("(set-logic ALL)\n"), "{text}");
            assert!(text.ends_with("(check-sat)\n"), "{text}");
        }
    }
}

#[test]
fn solvers_are_compared() {
    let program = "var x: i32 process { if x * x == 49 { x := 1 } } ensures x != 7";
    for command in ["symbolic", "check", "explore", "prove"] {
        let result = with_input(&[command, "-", "--cross-check"], program);
        match mazurka::solving::second_solver() {
            Some(_) => assert!(result.code <= 1, "{result:?}"),
            None => {
                println!("{command}: skipped, there is no second solver");
                assert_eq!(result.code, 3, "{result:?}");
                assert!(result.err.contains("z3 or cvc5"), "{result:?}");
            }
        }
    }
}

#[test]
fn a_witness_for_one_choice_of_values_replays() {
    // With terms both sides of `||` are evaluated; with numbers the left side decides.
    let program = "var x: i8 ensures x > x process { let l = 0; if l < 1 || x != x { } }";
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| {
        folder
            .path()
            .join(name)
            .to_str()
            .expect("a path")
            .to_owned()
    };
    let (file, witness) = (path("program.maz"), path("witness.json"));
    std::fs::write(&file, program).expect("a file");
    let result = mazurka(&["check", &file, "--witness", &witness]);
    assert_eq!(result.code, 1, "{result:?}");
    let again = mazurka(&["replay", &witness]);
    assert_eq!(again.code, 1, "{again:?}");
}

#[test]
fn an_element_that_is_not_written_breaks_no_invariant() {
    // If y is 1 the invariant is false from the start, but then the step does not write x[0].
    let program = "var x: i8[2] = [0, 0] var y: i8 invariant x[0] == y
        process { let l = y; x[l] := x[0] }";
    let record = with_input(&["symbolic", "-", "--format", "json"], program);
    assert_eq!(record.code, 1, "{record:?}");
    let result = with_input(&["check", "-"], program);
    assert_eq!(result.code, 1, "{result:?}");
    let holds = "var x: i8[2] = [5, 0] var y: i8 requires y == 1 invariant x[0] == 5
        process { x[y] := 7 }";
    assert_eq!(with_input(&["symbolic", "-"], holds).code, 0);
    assert_eq!(with_input(&["check", "-"], holds).code, 0);
}

#[test]
fn a_step_that_decides_too_much_is_a_bound() {
    let program = "var x: i32 process { atomic { x < 0 |>* x := x + 1 } }";
    let result = with_input(&["symbolic", "-", "--max-local", "20000"], program);
    assert_eq!(result.code, 2, "{result:?}");
}

/// Whether a condition holds for these values, according to the language.
fn holds(condition: &str, x: i64, y: i64) -> bool {
    let program = format!(
        "var x: int = {x} var y: int = {y} var answer: bool = false process {{ answer := {condition} }}"
    );
    let result = with_input(&["run", "-", "--format", "json"], &program);
    let record = result.json();
    let state = record["run"]["state"].as_array().expect("a state");
    let answer = state.iter().find(|binding| binding["name"] == "answer");
    answer.expect("a value")["value"] == "true"
}

/// Compares the text of a conjunction with its conjuncts.
fn assert_conjunction(text: &str, parts: &[String]) {
    let text = text.replace("&amp;", "&").replace("&lt;", "<");
    let text = text.replace("&gt;", ">");
    for (x, y) in [(0, 0), (0, 2), (1, 0), (1, 2), (3, 0), (0, 9), (4, 4)] {
        let all = parts.iter().all(|part| holds(part, x, y));
        assert_eq!(holds(&text, x, y), all, "{text} for {x}, {y}");
    }
    let conjuncts: Vec<&str> = text.split(" && ").collect();
    for (at, one) in conjuncts.iter().enumerate() {
        let plain = !one.contains(['(', ')']);
        assert!(!plain || !conjuncts[..at].contains(one), "{text} repeats");
    }
}

fn parts(list: &serde_json::Value) -> Vec<String> {
    let list = list.as_array().expect("a list").iter();
    list.map(|part| part.as_str().expect("a text").to_owned())
        .collect()
}

#[test]
fn a_printed_condition_reads_as_its_conjunction() {
    let program = "var x, y: int process {
        if x == 0 || y == 0 { if x < 5 && y < 7 {
            if (if x < 2 then y < 3 else y > 3) { if x == 1 || y == 2 || x < 5 { x := 3 } }
        } } }";
    let text = with_input(&["symbolic", "-"], program).out;
    let record = with_input(&["symbolic", "-", "--format", "json"], program).json();
    let listed = record["states"]["listed"].as_array().expect("states");
    let lines: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("   if   "))
        .collect();
    assert_eq!(lines.len(), listed.len(), "{text}");
    assert!(lines.len() >= 4, "{text}");
    for (line, state) in lines.iter().zip(listed) {
        assert_conjunction(line, &parts(&state["path_condition"]));
    }
    // Also compare the conditions of the open goals of a proof, in its text, its tree and its page.
    let goal = ["--goal", "[*] false", "--max-steps", "4"];
    let prove = |more: &[&str]| {
        let args = [&["prove", "-"], &goal[..], more].concat();
        with_input(&args, program)
    };
    let record = prove(&["--format", "json"]).json();
    let open = record["goals"][0]["open"].as_array().expect("open goals");
    let text = prove(&[]).out;
    let lines = text
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("where "));
    let lines: Vec<&str> = lines.collect();
    let open = open.iter().map(|open| parts(&open["condition"]));
    let open: Vec<Vec<String>> = open.filter(|parts| !parts.is_empty()).collect();
    assert!(!open.is_empty(), "{record}");
    for (line, parts) in lines.iter().zip(&open) {
        assert_conjunction(line, parts);
    }
    let page = prove(&["--format", "html"]).out;
    let shown = page.split("⌈φ⌉</span> <code>").skip(1);
    let shown: Vec<&str> = shown
        .filter_map(|rest| rest.split("</code>").next())
        .collect();
    assert!(shown.iter().any(|text| text.contains("||")), "{page}");
    for parts in &open {
        let same = |text: &&&str| {
            let values = [(0, 0), (0, 2), (1, 0), (1, 2), (3, 0), (0, 9), (4, 4)];
            let text = text.replace("&amp;", "&").replace("&lt;", "<");
            let text = text.replace("&gt;", ">");
            values
                .iter()
                .all(|&(x, y)| holds(&text, x, y) == parts.iter().all(|p| holds(p, x, y)))
        };
        assert!(shown.iter().find(same).is_some(), "{parts:?}: {page}");
    }
}

#[test]
fn paths_are_shown_event_by_event() {
    // Example 2 of the SymPaths paper: the four paths that it prints.
    let example2 = "var x, y, z: int process { y := x } process { z := x } process { x := 2 }";
    let result = with_input(&["symbolic", "-", "--paths"], example2);
    let paths: Vec<&str> = result
        .out
        .lines()
        .filter_map(|line| line.strip_prefix("   path "))
        .collect();
    let (a, b, c) = ("0⟨true, {y}, {x}⟩", "1⟨true, {z}, {x}⟩", "2⟨true, {x}, ∅⟩");
    let printed = [[a, b, c], [a, c, b], [b, c, a], [c, a, b]];
    let printed = printed.map(|path| path.join(" · "));
    assert_eq!(paths.len(), 4, "{result:?}");
    for path in &printed {
        assert!(paths.contains(&path.as_str()), "{path}: {paths:?}");
    }
    // Example 1: after x := 0 the condition is decided (errata E10).
    let example1 = "var x, y: int process { x := 0; x := y + 1 } process { if x == 0 { skip } }";
    let result = with_input(&["symbolic", "-", "--paths"], example1);
    assert!(result.out.contains("1⟨x == 0, ∅, {x}⟩"), "{result:?}");
    assert!(result.out.contains("1⟨x != 0, ∅, {x}⟩"), "{result:?}");
    assert!(result.out.contains("0⟨true, {x}, {y}⟩"), "{result:?}");
}

#[test]
fn open_configurations_are_listed_under_a_bound() {
    // Example 1 after its first step: three symbolic states, as printed.
    let example1 = "var x, y: int process { x := 0; x := y + 1 } process { if x == 0 { y := 1 } }";
    let args = ["symbolic", "-", "--paths", "--max-depth", "1"];
    let result = with_input(&args, example1);
    assert_eq!(result.code, 2, "{result:?}");
    let open = result.out.matches("a limit ended the search here").count();
    assert_eq!(open, 3, "{result:?}");
    let record = with_input(&[&args[..], &["--format", "json"]].concat(), example1).json();
    let open = record["states"]["open"].as_array().expect("open states");
    assert_eq!(open.len(), 3, "{record}");
    assert!(
        open.iter().all(|state| state["ending"] == "open"),
        "{record}"
    );
}
