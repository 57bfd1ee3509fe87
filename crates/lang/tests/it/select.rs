//! Tests `select`: the ends of its alternatives, the statements of the choosing step, and the
//! labels of runs.

use std::sync::Arc;

use mazurka_core::{Execution, Narrator, ProcessId, Status};
use mazurka_lang::{Machine, Property, compile, load};

fn machine(source: &str) -> Machine {
    let program = load(source, &[]).unwrap_or_else(|mistakes| panic!("{source}\n{mistakes:#?}"));
    let code = compile(&program, source).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"));
    Machine::new(Arc::new(code), 1_000_000)
}

#[test]
fn a_print_does_not_separate_a_choice_from_its_statement() {
    for body in [
        "free := false",
        "print \"took\"; free := false",
        "{ print \"took\"; free := false }",
        "{ { free := false } }",
        "taking: { free := false }",
        "taking: here: { there: { print \"took\"; free := false } }",
        "print \"1\"; here: print \"2\"; there: free := false",
        "print \"took\"; atomic { free := false }",
    ] {
        let select = format!("select {{ free |> {body} [] else |> end }}");
        let source = format!("var free: bool = true var x: int = 0 process {{ {select}; x := 1 }}");
        let mut machine = machine(&source);
        machine.step(ProcessId(0), &[0]).expect("a step");
        let free = machine.bindings(false).remove(0);
        assert_eq!((&*free.name, &*free.value), ("free", "false"), "{body}");
        machine
            .step(ProcessId(0), &[])
            .expect("the assignment to x");
        assert_eq!(machine.status(ProcessId(0)), Status::Ended, "{body}");
    }
    // An assignment to a ghost before the statement does not separate the two.
    let source = "var free: bool = true ghost var g: int = 0 ensures g == 1 \
        process { select { free |> g := 1; free := false [] else |> end } }";
    let run = machine(source).narrate(&"0=0".parse().unwrap()).unwrap();
    let state: Vec<&str> = run.state.iter().map(|binding| &*binding.value).collect();
    assert_eq!(state, ["false", "1"]);
    // The first statement after `else` belongs to the step, and a text before it is shown with the
    // step.
    let source =
        "var x: int = 0 process { select { x == 1 |> skip [] else |> print \"{x}\"; x := 2 } }";
    let run = machine(source).narrate(&"0".parse().unwrap()).unwrap();
    assert_eq!(run.steps[0].printed, ["0"]);
    assert_eq!(run.state[0].value, "2");
}

#[test]
fn every_statement_may_stand_before_the_next_alternative() {
    let declared = "var x: int = 0 var a: int[2] = 0 var k: atomic int = 0 semaphore s = 1 \
        cond c lock m barrier b = 1 chan q[1]: int proc p() { x := 1 } ";
    for stmt in [
        "break",
        "continue",
        "release(s)",
        "acquire(s)",
        "wait(c, m)",
        "wait(b)",
        "signal(c)",
        "broadcast(c)",
        "p()",
        "fence(seq_cst)",
        "k.store(1)",
        "k.fetch_add(1)",
        "lock(m)",
        "unlock(m)",
        "q ! x",
        "q ? x",
        "q ? a[1]",
        "x := a[0]",
        "x := k.load()",
        "x := a[0] <| x == 0 |> p()",
        "let v = x",
        "let v = try acquire(s)",
        "assert x == 0, \"{x}\"",
        "assume x == 0",
        "await x == 0",
        "print \"{x}\"",
        "error",
        "error \"wrong\"",
        "spawn p()",
        "spawn { x := 1 }",
        "join",
        "end",
        "skip",
        "here: skip",
        "x == 0 |> p()",
        "x == 0 |>* p()",
        "if x == 0 { break }",
    ] {
        for between in ["", "\n", ";"] {
            let select = format!("select {{ x == 0 |> {stmt}{between} [] x == 1 |> skip }}");
            machine(&format!(
                "{declared} process {{ while true {{ {select} }} }}"
            ));
        }
    }
    machine(
        "var x: int = 0 proc p() { select { x == 0 |> return [] x == 1 |> skip } } process { p() }",
    );
    // Keywords such as `break` are names in an alternative, too.
    machine(
        "var break: int[2] = 0 process { select { break[0] == 0 |> break[1] := 1 [] break[1] == 0 |> break[0] := break[1] [] break[0] == 1 |> skip } }",
    );
}

#[test]
fn a_condition_that_fails_chooses_nothing() {
    let source = "var x: int = 0 process { select { 1 / x == 1 |> x := 1 [] else |> x := 2 } }";
    let run = machine(source).narrate(&"0".parse().unwrap()).unwrap();
    assert_eq!(run.steps[0].label, "select");
    assert!(run.steps[0].mishap.is_some());
    let source = "var x: int = 0 process { select { x == 1 |> skip [] else |> x := 1 / x } }";
    let run = machine(source).narrate(&"0".parse().unwrap()).unwrap();
    assert_eq!(run.steps[0].label, "select else");
    assert!(run.steps[0].mishap.is_some());
}

#[test]
fn a_label_may_be_called_deadlock() {
    let source = "var x: int = 0
process p {
  x := 1;
  deadlock:
  await x == 2
}";
    let at = Property::read(source, &[], "at(p, deadlock)").expect("a property");
    assert_eq!((at.points()[0].1, at.deadlock()), (5, false));
    let both = Property::read(source, &[], "deadlock && at(p, deadlock)").expect("a property");
    assert!(both.deadlock());
    assert!(Property::read(source, &[], "deadlock || at(p, deadlock)").is_err());
}
