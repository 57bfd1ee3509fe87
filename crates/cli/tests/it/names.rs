//! Tests that output is readable: it has names and values, and lines that fit the terminal.

use crate::support::{command, mazurka, run_command, with_input};

const PHILOSOPHERS: &str = "examples/philosophers.maz";

#[test]
fn processes_are_named() {
    let found = mazurka(&["check", PHILOSOPHERS, "--set", "N=2"]);
    let first = found.first_line();
    let deadlock = "deadlock: philosopher(0) and philosopher(1) wait for ever";
    assert!(first.contains(deadlock), "{first}");
    for line in [
        "  philosopher(0) waits for lock `fork[1]`, held by philosopher(1) (line 15)",
        "  1  philosopher(0)  lock(fork[0])  line 14  ◀ crosses step 2",
        "replay with: mazurka run examples/philosophers.maz --schedule \"philosopher(0) philosopher(1)\" --set N=2",
    ] {
        assert!(
            found.out.lines().any(|l| l == line),
            "{line}\n{}",
            found.out
        );
    }
    let record = mazurka(&["check", PHILOSOPHERS, "--set", "N=2", "--format", "json"]).json();
    let run = &record["witnesses"][0]["runs"][0];
    assert_eq!(run["schedule"], "0 1");
    assert_eq!(run["steps"][0]["process"], "0");
    let names = serde_json::json!([["0", "philosopher(0)"], ["1", "philosopher(1)"]]);
    assert_eq!(run["names"], names);
}

#[test]
fn pictures_have_the_names_too() {
    let dot = mazurka(&["explore", PHILOSOPHERS, "--set", "N=2", "--format", "dot"]);
    assert!(dot.out.contains("philosopher(1): lock(fork[1])"), "{dot:?}");
    let net = mazurka(&["unfold", PHILOSOPHERS, "--set", "N=2", "--format", "dot"]);
    assert!(net.out.contains("philosopher(1): lock(fork[1])"), "{net:?}");
}

#[test]
fn schedules_take_names_and_numbers() {
    let run = |schedule: &str| mazurka(&["run", PHILOSOPHERS, "--schedule", schedule]);
    let named = run("philosopher(2) philosopher.0 1");
    assert_eq!(named.code, 1, "{named:?}");
    assert_eq!(named.out, run("2 0 1").out);
    assert!(
        named
            .last_line()
            .ends_with("--schedule \"philosopher(2) philosopher(0) philosopher(1)\""),
        "{named:?}"
    );
    let open = run("philosopher(2)");
    let ready = "ready to go on: philosopher(0), philosopher(1)";
    assert!(open.out.contains(ready), "{open:?}");
    let unknown = run("philosopher(7)");
    assert_eq!(unknown.code, 3, "{unknown:?}");
    let list = "there is `philosopher(0)`, `philosopher(1)`, `philosopher(2)`";
    assert!(unknown.err.contains(list), "{unknown:?}");
    let several = run("philosopher");
    assert_eq!(several.code, 3, "{several:?}");
    assert!(several.err.contains("say which"), "{several:?}");
    let source = "var x: int = 0 process w { x := 1 } process v { x := 2 }";
    let permuted = with_input(&["permute", "-", "--schedule", "v w"], source);
    assert_eq!(permuted.code, 0, "{permuted:?}");
}

#[test]
fn lists_show_names() {
    let source = "var x: int process w { x := 1 } process v (k in 3..5) { x := k }";
    let symbolic = with_input(&["symbolic", "-"], source);
    assert!(symbolic.out.contains("by   w v(3) v(4)\n"), "{symbolic:?}");
    let known = source.replace("int", "int = 0");
    let permuted = with_input(&["permute", "-"], &known);
    assert!(permuted.out.contains("v(3) w v(4)\n"), "{permuted:?}");
    let reached = with_input(&["reach", "-", "--property", "x == 4 && at(w, 1)"], &known);
    let line = "repeat with: mazurka run - --schedule \"v(4)\"";
    assert!(reached.out.contains(line), "{reached:?}");
    let failing = format!("{known} process {{ assert x == 0 }}");
    let unfolded = with_input(&["unfold", "-"], &failing);
    assert!(unfolded.out.contains("--schedule \"w 3\""), "{unfolded:?}");
}

#[test]
fn divisions_and_indices_show_their_values() {
    for (source, values) in [
        (
            "var x, y: int = 4 process { x := 0; y := (y + 3) / x }",
            "with y = 4, x = 0",
        ),
        (
            "var a: int[3] = 0 process { let i = 2; a[i + 1] := 1 }",
            "with i = 2",
        ),
        (
            "var a: int[3] = 0 var x: int = 3 process { let i = 2; i := a[x] }",
            "with x = 3",
        ),
        // The index is read before the first write.
        (
            "var a: int[3] = 0 var x: int = 3 process { x, a[x] := 1, 2 }",
            "with x = 3",
        ),
        (
            "atomicity access var x, y: int = 0 process { y := 7 / x }",
            "with x = 0",
        ),
    ] {
        let found = with_input(&["check", "-"], source);
        let shown = found.out.contains(&format!("\n  {values}\n"));
        assert!(shown, "{source}\n{}", found.out);
    }
}

#[test]
fn a_failure_shows_its_values() {
    let source = "var x: int = 4 process p { let s = x; assert s == 0 || s == 9 }";
    let found = with_input(&["check", "-"], source);
    assert!(found.out.contains("\n  with s = 4\n"), "{found:?}");
    let explored = with_input(&["explore", "-"], source);
    assert!(explored.out.contains("\n  with s = 4\n"), "{explored:?}");
    let record = with_input(&["check", "-", "--format", "json"], source).json();
    let values = serde_json::json!([{"name": "s", "value": "4"}]);
    assert_eq!(record["witnesses"][0]["values"], values);
    let program =
        "var x: int = 4 process p (me in 3..4) { assert x == 0, \"client {me} saw {x}\" }";
    let found = with_input(&["check", "-"], program);
    let message = "failure: assertion failed: client 3 saw 4";
    assert!(found.first_line().contains(message), "{found:?}");
}

/// Returns the text of `check` on a program with long labels, at this width.
fn in_columns(columns: Option<&str>, args: &[&str], source: &str) -> String {
    let mut command = command();
    command.args(args);
    if let Some(columns) = columns {
        command.env("COLUMNS", columns);
    }
    run_command(&mut command, source).out
}

#[test]
fn text_fits_the_columns() {
    let source = "var counter: int[2] = 1000000 var total: int = 0 lock guard
        process counting (p in 0..2) {
          lock(guard);
          counter[p] > 0 && counter[1 - p] > 0 && total < 1000000 |> \
            counter[p], total := counter[p] + counter[1 - p], total + counter[p];
          unlock(guard);
          assert total < 2000000 && counter[0] > 0, \"the total is {total}, which is beyond all that is allowed here\"
        }";
    let check = ["check", "-"];
    for columns in ["60", "80", "120"] {
        let text = in_columns(Some(columns), &check, source);
        let most: usize = columns.parse().expect("a number");
        let wide = text
            .lines()
            .filter(|line| !line.starts_with("replay with: mazurka "))
            .find(|line| line.chars().count() > most);
        assert_eq!(wide, None, "{columns}: {text}");
        assert!(text.contains("counting(0)"), "{text}");
    }
    // A file or a pipe has no width.
    let whole = in_columns(None, &check, source);
    assert!(
        whole.lines().any(|line| line.chars().count() > 120),
        "{whole}"
    );
}

#[test]
fn a_loop_is_for_the_engine_that_merges_states() {
    let source =
        "var turn: int = 0 process p (i in 0..2) { while true { await turn == i; turn := 1 - i } }";
    let deep = with_input(&["explore", "-", "--max-depth", "50"], source);
    assert_eq!(deep.code, 2, "{deep:?}");
    let advice = "reached --max-depth 50: try --algorithm stateful";
    assert!(deep.out.contains(advice), "{deep:?}");
    let merged = with_input(&["explore", "-", "--algorithm", "stateful"], source);
    assert_eq!(merged.code, 0, "{merged:?}");
    // Each process waits or is about to assign. There are four states: both wait, and the variable
    // gives the turn to one process or to the other; or one of the two is about to assign.
    let states = merged.out.lines().find(|line| line.starts_with("  states"));
    let states = states.expect("a row").split_whitespace().nth(1);
    assert_eq!(states, Some("4"), "{merged:?}");
    let args = [
        "explore",
        "-",
        "--algorithm",
        "stateful",
        "--format",
        "json",
    ];
    assert_eq!(with_input(&args, source).json()["states"], 4);
    let other = with_input(
        &["explore", "-", "--max-depth", "9", "--format", "json"],
        source,
    );
    assert!(other.json().get("states").is_none());
}

/// `reach` once showed the run of a net, which may reach the state by a detour.
#[test]
fn reach_shows_the_nearest_state() {
    let source = "var x, y: int = 0
        process { x := 1 }
        process { x := 2; x := 1 }
        process { await x == 1; y := 1 }";
    for net in ["replicated", "contextual", "stateful"] {
        let args = [
            "reach",
            "-",
            "--property",
            "y == 1",
            "--net",
            net,
            "--format",
            "json",
        ];
        let record = with_input(&args, source).json();
        assert_eq!(record["answer"], "reachable", "{record}");
        assert_eq!(record["run"]["schedule"], "0 2 2", "{record}");
    }
}
