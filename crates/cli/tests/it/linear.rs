//! Tests linearizability (`op` and `spec object`): verdicts, evidence, and the answers of commands
//! that do not support it.

use crate::support::{mazurka, with_input};

/// Returns a program with a counter whose addition consists of these statements.
fn counter(add: &str) -> String {
    format!(
        "var x: int = 0
op add(v: 1..3): int {{ let seen = 0; {add}; return seen }}
op get(): int {{ return x }}
spec object for 2 clients of 2 operations {{
  var total: int = 0
  op add(v: 1..3): int {{ total := total + v; return total - v }}
  op get(): int {{ return total }}
}}
"
    )
}

const RIGHT: &str = "atomic { seen := x; x := seen + v }";
const WRONG: &str = "seen := x; x := seen + v";

#[test]
fn the_scope_names_clients_and_operations() {
    let right = with_input(&["check", "-"], &counter(RIGHT));
    assert_eq!(right.code, 0, "{right:?}");
    let line = "linearizable: all histories of 2 clients of 2 operations each, \
                chosen from add(v: 1..3): int, get(): int\n";
    assert!(right.out.contains(line), "{right:?}");
    let record = with_input(&["check", "-", "--format", "json"], &counter(RIGHT)).json();
    assert_eq!(record["object"]["clients"], 2);
    assert_eq!(record["object"]["operations"], 2);
    assert_eq!(record["object"]["calls"], 3);
    // If violations of linearizability do not count, the text does not mention it.
    let other = with_input(&["check", "-", "--property", "deadlock"], &counter(WRONG));
    assert_eq!(other.code, 0, "{other:?}");
    assert!(!other.out.contains("linearizable:"), "{other:?}");
    assert!(
        other.out.contains("clients: 2 of 2 operations each"),
        "{other:?}"
    );
}

#[test]
fn a_history_is_shown_and_replayed() {
    let found = with_input(&["check", "-"], &counter(WRONG));
    assert_eq!(found.code, 1, "{found:?}");
    let result =
        "violated: failure: not linearizable: no order of the operations explains that add(";
    assert!(found.out.starts_with(result), "{found:?}");
    let chart: Vec<&str> = found
        .out
        .lines()
        .filter(|line| line.contains('├'))
        .collect();
    assert!(
        chart.len() >= 2 && chart[0].starts_with("  client("),
        "{chart:?}"
    );
    for words in ["call add(1)", "; return 0", "replay with: "] {
        assert!(found.out.contains(words), "{words}: {found:?}");
    }
    // The text shows no hidden names.
    assert!(!found.out.contains('$'), "{found:?}");

    let file = std::env::temp_dir().join(format!("linear-{}.maz", std::process::id()));
    std::fs::write(&file, counter(WRONG)).expect("a file");
    let file = file.to_string_lossy().into_owned();
    let found = mazurka(&["check", &file, "--format", "json"]);
    let record = found.json();
    let history = record["witnesses"][0]["history"]
        .as_array()
        .expect("a history");
    assert!(history.len() >= 2, "{history:?}");
    assert_eq!(history[0]["called"], 1);
    let again = with_input(&["replay", "-"], &found.out);
    assert_eq!(again.code, 1, "{again:?}");
    assert!(again.out.contains("not linearizable"), "{again:?}");
    let schedule = record["witnesses"][0]["runs"][0]["schedule"]
        .as_str()
        .expect("a schedule");
    let run = mazurka(&["run", &file, "--schedule", schedule]);
    assert_eq!(run.code, 1, "{run:?}");
    std::fs::remove_file(&file).expect("the file");
}

/// This would be linearizable if operations of different clients had no order: a `get` that is
/// called after an `add` has returned does not see its effect.
#[test]
fn time_orders_the_operations_of_different_clients() {
    let stale = counter(RIGHT).replace("{ return x }", "{ return 0 }");
    let found = with_input(&["check", "-", "--format", "json"], &stale);
    assert_eq!(found.code, 1, "{found:?}");
    let stale = stale.replace("of 2 operations", "of 1 operation");
    let found = with_input(&["check", "-", "--format", "json"], &stale);
    assert_eq!(found.code, 1, "{found:?}");
    let record = found.json();
    let history = record["witnesses"][0]["history"]
        .as_array()
        .expect("a history");
    let [add, get] = &history[..] else {
        panic!("{history:?}");
    };
    assert_ne!(add["process"], get["process"]);
    assert!(
        add["returned"].as_u64() < get["called"].as_u64(),
        "{history:?}"
    );
    // A `get` that is called before the `add` has ended may see the old value.
    let text = stale.replace("{ return 0 }", "{ await x < 1; return 0 }");
    let found = with_input(&["check", "-", "--property", "linearizable"], &text);
    assert_eq!(found.code, 0, "{found:?}");
}

#[test]
fn constants_reach_clients_and_specification() {
    let text = "const N = 1 const K = 1 const MOST = 1 const FIRST = 0
var x: int = FIRST
op set(v: 0..MOST): int { let before = x; x := v; return before }
spec object for N clients of K operations {
  var y: int = FIRST
  op set(v: 0..MOST): int { let before = y; y := v; return before }
}
";
    let check = |set: &[&str]| {
        let flags = set.iter().flat_map(|one| ["--set", one]);
        let args: Vec<&str> = ["check", "-"].into_iter().chain(flags).collect();
        with_input(&args, text)
    };
    assert_eq!(check(&[]).code, 0);
    // With one client the object is correct. With two it is not: both may see the old value.
    assert_eq!(check(&["N=2", "MOST=3"]).code, 1);
    assert_eq!(check(&["K=3", "MOST=3", "FIRST=2"]).code, 0);
}

#[test]
fn an_operation_that_waits_is_pending() {
    let text = |deadlock: &str| {
        format!(
            "{deadlock} var full: bool = false
op put() {{ !full |> full := true }}
op take() {{ full |> full := false }}
spec object for 2 clients of 2 operations {{
  var full: bool = false
  op put() {{ assume !full; full := true }}
  op take() {{ assume full; full := false }}
}}
"
        )
    };
    let found = with_input(&["check", "-"], &text(""));
    assert_eq!(found.code, 1, "{found:?}");
    assert!(
        found
            .out
            .starts_with("violated: deadlock: client(0) and client(1)"),
        "{found:?}"
    );
    assert_eq!(
        with_input(&["check", "-"], &text("allows deadlock")).code,
        0
    );
    // A call that the specification excludes has no place in any order.
    let wrong = text("allows deadlock").replace("op take() { full |>", "op take() { true |>");
    let found = with_input(&["check", "-"], &wrong);
    assert!(
        found.out.contains("explains that take() has ended"),
        "{found:?}"
    );
}

#[test]
fn other_processes_and_objects_may_run_beside_clients() {
    let text = "enum Answer { Done, Late }
rwlock l
var x: int = 0
var closed: bool = false
process closer { write_lock(l); closed := true; write_unlock(l) }
op add(twice: bool): Answer {
  write_lock(l);
  if closed { write_unlock(l); return Late }
  x := if twice then x + 2 else x + 1;
  write_unlock(l);
  return Done
}
spec object for 2 clients of 1 operation {
  var open: bool = true
  op add(twice: bool): Answer { if open { return Done }; return Late }
}
";
    // The process that closes is not part of the specification.
    let found = with_input(&["check", "-"], text);
    assert_eq!(found.code, 1, "{found:?}");
    assert!(
        found.out.contains("explains that add(false) returns Late"),
        "{found:?}"
    );
    let repaired = text.replace("if closed {", "if x > 10 {");
    assert_eq!(with_input(&["check", "-"], &repaired).code, 0);
}

#[test]
fn commands_without_histories_refuse_them_by_name() {
    for args in [
        &["symbolic", "-"][..],
        &["prove", "-"],
        &["permute", "-"],
        &["check", "-", "--memory", "rc11"],
        &["run", "-", "--linearise"],
    ] {
        let result = with_input(args, &counter(RIGHT));
        assert_eq!(result.code, 3, "{result:?}");
        assert!(result.err.contains("`spec object`"), "{result:?}");
    }
    // The nets give the same verdicts as the explorers.
    for (add, code) in [(RIGHT, 0), (WRONG, 1)] {
        for net in ["replicated", "stateful"] {
            let result = with_input(&["unfold", "-", "--net", net], &counter(add));
            assert_eq!(result.code, code, "{net}: {result:?}");
        }
        let result = with_input(&["unfold", "-"], &counter(add));
        assert_eq!(result.code, 3, "{result:?}");
        assert!(result.err.contains("--net replicated"), "{result:?}");
    }
}
