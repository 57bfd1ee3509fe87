//! Tests the texts about steps and mishaps, and that the label of a long step is short.

use std::sync::Arc;

use mazurka_core::record::Step;
use mazurka_core::{Execution, Narrator, ProcessId};
use mazurka_lang::{Machine, compile, load};

fn first_step(source: &str) -> Step {
    let program = load(source, &[]).expect("a program");
    let code = compile(&program, source).expect("code");
    let mut machine = Machine::new(Arc::new(code), 1_000_000);
    machine.tell(ProcessId(0), &[]).expect("a step")
}

#[test]
fn labels_show_the_first_of_many_actions() {
    let step = first_step(
        "var x, y: int = 0 process { atomic { for i in 0..5000 { x := x + 1 }; y := x } }",
    );
    assert!(step.label.starts_with("x := x + 1; x := x + 1; "));
    assert!(step.label.len() < 2000, "{}", step.label);
    let shown = step.label.matches("x := x + 1").count();
    let more = step.label.rsplit("… and ").next().expect("an end");
    let more: usize = more.trim_end_matches(" more").parse().expect("a number");
    // The omitted actions include `y := x`.
    assert!(shown + more > 5000, "{shown} and {more}");
    // The first reads and the changes are not shortened.
    let reads: Vec<_> = step.reads.iter().map(|r| (&*r.name, &*r.value)).collect();
    assert_eq!(reads, [("x", "0")]);
    let change = |c: &mazurka_core::record::Change| (c.name.clone(), c.from.clone(), c.to.clone());
    let changes: Vec<_> = step.changes.iter().map(change).collect();
    let change = |name: &str| (name.to_owned(), "0".to_owned(), "5000".to_owned());
    assert_eq!(changes, [change("x"), change("y")]);
}

#[test]
fn locks_do_not_change_and_elements_do() {
    let source = "var a: int[3] = 7 lock m process { atomic { lock(m); a[1] := 8; a[2] := 7 } }";
    let step = first_step(source);
    let changes: Vec<_> = step.changes.iter().map(|c| (&*c.name, &*c.to)).collect();
    assert_eq!(changes, [("a[1]", "8")]);
}

#[test]
fn a_state_shows_the_elements_of_arrays() {
    let source = "var a: int[3] = 1 var b: bool = true process { a[1] := -2 }";
    let program = load(source, &[]).expect("a program");
    let code = compile(&program, source).expect("code");
    let mut machine = Machine::new(Arc::new(code), 1_000);
    machine.step(ProcessId(0), &[]).expect("a step");
    let state: Vec<_> = machine
        .bindings(false)
        .into_iter()
        .map(|b| b.value)
        .collect();
    assert_eq!(state, ["[1, -2, 1]", "true"]);
}

/// Returns the first mishap of a run, in words, with the values that it mentions.
fn failure(source: &str, schedule: &str) -> (String, Vec<(String, String)>) {
    let program = load(source, &[]).expect("a program");
    let code = compile(&program, source).expect("code");
    let mut machine = Machine::new(Arc::new(code), 1_000);
    machine
        .narrate(&schedule.parse().expect("a schedule"))
        .expect("a run");
    let events = machine.events().iter().flat_map(|event| &event.mishaps);
    let all: Vec<_> = events.chain(machine.initial_mishaps()).copied().collect();
    let last = machine.final_mishaps();
    let mishap = all.first().or(last.first()).expect("a mishap");
    let values = machine.values(mishap).into_iter();
    let values = values.map(|binding| (binding.name, binding.value));
    (machine.explain(mishap).0, values.collect())
}

fn pairs(values: &[(String, String)]) -> Vec<(&str, &str)> {
    values
        .iter()
        .map(|(a, b)| (a.as_str(), b.as_str()))
        .collect()
}

#[test]
fn a_failed_assertion_shows_what_it_mentions() {
    let source = "const N = 9 var x: int = 4 var a: int[3] = [7, 8, 9]
        process { let s = x; let i = 2; assert s == 0 || s == N || a[i - 1] == x }";
    let (message, values) = failure(source, "0 0");
    assert!(message.starts_with("assertion failed: `"), "{message}");
    let expected = [("s", "4"), ("i", "2"), ("a[1]", "8"), ("x", "4")];
    assert_eq!(pairs(&values), expected);
}

#[test]
fn values_are_those_of_the_frame_in_which_it_failed() {
    let source = "var x: int = 0
        proc check(n: int) { let twice = n + n; x := n; assert twice == x }
        process { let n = 5; check(n + 1); x := n }";
    let (_, values) = failure(source, "0 0");
    assert_eq!(pairs(&values), [("twice", "12"), ("x", "6")]);
    // The process fails before its first step.
    let (_, values) = failure("process { let s = 4; assert s == 0 }", "");
    assert_eq!(pairs(&values), [("s", "4")]);
}

#[test]
fn a_condition_that_is_read_in_several_steps_is_shown_as_it_was_read() {
    let source = "atomicity access var x, y: int = 0
        process { assert x == y }
        process { x := 7; y := 1 }";
    // Process 0 reads x, then process 1 writes both, then process 0 reads y.
    let (message, values) = failure(source, "0 1 1 0");
    assert_eq!(message, "assertion failed: `assert x == y`");
    assert_eq!(pairs(&values), [("x", "0"), ("y", "1")]);
}

#[test]
fn only_the_sides_that_were_evaluated_are_shown() {
    for (test, schedule, expected) in [
        (
            "x == 1 || y == 1",
            "0 0",
            [("x", "0"), ("y", "0")].as_slice(),
        ),
        ("x == 1 && y == 1", "0", &[("x", "0")]),
        ("!(x == 0 || y == 1)", "0", &[("x", "0")]),
        (
            "if x == 0 then y == 1 else z == 1",
            "0 0",
            &[("x", "0"), ("y", "0")],
        ),
        (
            "(x == 1 || y == 1) && z == 0",
            "0 0",
            &[("x", "0"), ("y", "0")],
        ),
        (
            "z / (x + 1) == y + 1",
            "0 0 0",
            &[("z", "0"), ("x", "0"), ("y", "0")],
        ),
    ] {
        let source = format!("atomicity access var x, y, z: int = 0 process {{ assert {test} }}");
        let (_, values) = failure(&source, schedule);
        assert_eq!(pairs(&values), expected, "{test}");
    }
    // The values are those that were read: y is written before it is read, x after it was read.
    let source = "atomicity access var x, y: int = 0
        process { assert x == 1 || y == 1 }  process { x := 7; y := 2 }";
    let (_, values) = failure(source, "0 1 1 0");
    assert_eq!(pairs(&values), [("x", "0"), ("y", "2")]);
}

#[test]
fn invariants_and_ensures_show_their_variables() {
    let source = "var a: bool[2] = false invariant both: !(a[0] && a[1])
        process p (i in 0..2) { a[i] := true }";
    let (_, values) = failure(source, "1 0");
    assert_eq!(pairs(&values), [("a[0]", "true"), ("a[1]", "true")]);
    let (_, values) = failure("var x: i8 = 1 ensures x > 1 process { x := -x }", "0");
    assert_eq!(pairs(&values), [("x", "-1")]);
}

#[test]
fn messages_name_values() {
    let source = r#"const MOST = 3 var x: int = 4 var a: u8[2] = [7, 8] var b: bool = true
        process client (me in 5..6) {
          let i = 1;
          assert x <= MOST, "client {me} saw {x} > {MOST}, {a[i]}, {a[0]} {{and}} {b}\n\"}\""
        }"#;
    let (message, _) = failure(source, "0");
    let expected = "assertion failed: client 5 saw 4 > 3, 8, 7 {and} true\n\"}\"";
    assert_eq!(message, expected);
    let (message, values) = failure(r#"process { let k = 2; error "k is {k}" }"#, "");
    assert_eq!(message, "error: k is 2");
    assert_eq!(values, []);
}

#[test]
fn messages_have_the_values_of_their_condition() {
    let source = r#"atomicity access var x, y: int = 0
        process { assert x == y, "{x} is not {y}" }
        process { x := 7; y := 1 }"#;
    let (message, _) = failure(source, "0 1 1 0");
    assert_eq!(message, "assertion failed: 0 is not 1");
}

#[test]
fn labels_name_constants_and_not_parameters() {
    let label = |source: &str| first_step(source).label;
    let source = "const M = 2 var st: int[3] = 0 process (p in 1..2) { st[p] == 0 |> st[p] := M }";
    assert_eq!(label(source), "st[1] == 0 ▷ st[1] := M");
    // A folded expression has no name.
    let source = "const M = 2 var x: int = 0 process (p in 1..2) { x := M + p }";
    assert_eq!(label(source), "x := 3");
}

#[test]
fn labels_name_the_procedure() {
    let source = "var x: int = 0 proc enter(n: int) { x := n } process { enter(3) }";
    assert_eq!(first_step(source).label, "enter: x := 3");
}

#[test]
fn labels_of_atomic_blocks_show_their_actions() {
    let source = "var x, y, z: int = 0 process {
        atomic { await z == 0; if x == 0 { y := 1 } else { y := 2 }; if y > 0 { z := 3 } } }";
    assert_eq!(first_step(source).label, "z == 0 ▷ y := 1; z := 3");
    // A single condition is shown, and so are the conditions of a block without actions.
    let one = "var x: int = 0 process { atomic { if x == 0 { x := 1 } } }";
    assert_eq!(first_step(one).label, "x == 0 ▷ x := 1");
    let none =
        "var x, y: int = 0 process { atomic { if x == 1 { x := 1 }; if y == 1 { x := 2 } } }";
    assert_eq!(first_step(none).label, "!(x == 1) && !(y == 1) ▷ skip");
}

#[test]
fn processes_have_the_names_of_the_source() {
    let source = "var x: int = 0
        process philosopher (p in 4..6) { spawn { x := 1 }; join }
        process server { await x == 9 }
        process { x := 2 }";
    let program = load(source, &[]).expect("a program");
    let code = compile(&program, source).expect("code");
    let mut machine = Machine::new(Arc::new(code), 1_000);
    let run = machine.narrate(&"1 3".parse().expect("a schedule"));
    let run = run.expect("a run");
    let names: Vec<_> = run.names.iter().map(|(a, b)| (&**a, &**b)).collect();
    let expected = [
        ("0", "philosopher(4)"),
        ("1", "philosopher(5)"),
        ("1.0", "philosopher(5).0"),
        ("2", "server"),
    ];
    assert_eq!(names, expected);
    assert_eq!(run.steps[0].label, "spawn(philosopher(5).0)");
    assert_eq!(run.steps[0].process, "1");
    assert_eq!(run.schedule, "1 3");
    let waiting: Vec<_> = machine.waiting().into_iter().map(|w| w.what).collect();
    assert_eq!(waiting[0], "the end of philosopher(5).0");
}
