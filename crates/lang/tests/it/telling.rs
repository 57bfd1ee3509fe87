//! What is told of a step stays short, however much the step does.

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
fn of_many_actions_the_first_are_told() {
    let step = first_step(
        "var x, y: int = 0 process { atomic { for i in 0..5000 { x := x + 1 }; y := x } }",
    );
    assert!(step.label.starts_with("x := x + 1; x := x + 1; "));
    assert!(step.label.len() < 2000, "{}", step.label);
    let told = step.label.matches("x := x + 1").count();
    let more = step.label.rsplit("… and ").next().expect("an end");
    let more: usize = more.trim_end_matches(" more").parse().expect("a number");
    // And `y := x`, which is not told.
    assert!(told + more > 5000, "{told} and {more}");
    // What was read first, and what has changed, is whole.
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
fn a_state_is_told_element_by_element() {
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
