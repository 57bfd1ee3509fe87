//! Tests that the keywords of synchronisation objects can be names, and the labels of steps.

use std::sync::Arc;

use mazurka_core::Narrator;
use mazurka_lang::{Machine, compile, load};

fn machine(source: &str) -> Machine {
    let program = load(source, &[]).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"));
    let code = compile(&program, source).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"));
    Machine::new(Arc::new(code), 1_000_000)
}

fn labels(source: &str, schedule: &str) -> Vec<String> {
    let schedule = schedule.parse().expect("a schedule");
    let run = machine(source).narrate(&schedule).expect("a run");
    run.steps.into_iter().map(|step| step.label).collect()
}

const WORDS: &str = "semaphore rwlock cond spurious barrier try acquire release read_lock \
                     read_unlock write_lock write_unlock wait signal broadcast chan len select print cover ghost refines via \
                     op spec object clients of operations";

#[test]
fn a_brace_in_a_comment_does_not_end_a_specification() {
    machine(
        "var x: int = 0
         fn next(a: int): int { a + 1 }
         op get(): int { return x }
         spec object for 1 clients of 1 operations {
             // The end } of nothing.
             var y: int = 0
             op get(): int { return next(y) - 1 }
         }",
    );
}

#[test]
fn the_words_are_names_elsewhere() {
    for word in WORDS.split_whitespace() {
        let shared = format!(
            "var {word}: int[2] = 0 process {{ {word}[0] := {word}[1] + 1; {word}[0] == 1 |> {word}[1] := 2 }}"
        );
        machine(&shared);
        let local = format!(
            "process {{ let {word} = 1; {word} := {word} + 1; let x = {word}; skip <| x == {word} |> skip }}"
        );
        machine(&local);
        let process = format!("process {word} {{ skip }}");
        machine(&process);
        let procedure = format!(
            "var x: int = 0 proc {word}(a: int) {{ x := a }} process {{ {word}(x); {word}(1) }}"
        );
        machine(&procedure);
        let field = format!(
            "struct S {{ {word}: int }} var x: S = S({word}: 1) process {{ x.{word} := 2 }}"
        );
        machine(&field);
        let constant = format!("const {word} = 2 lock m[{word}] process {{ lock(m[{word} - 1]) }}");
        machine(&constant);
    }
}

#[test]
fn labels_show_operations_as_written() {
    let source = "lock m cond c semaphore s = 1 var x: int = 0
process a { lock(m); while x == 0 { wait(c, m) } unlock(m) }
process b { acquire(s); lock(m); x := 1; signal(c); unlock(m); let ok = try acquire(s); assert !ok }";
    let shown = labels(source, "0 0 0 1 1 1 1=0 1 0 0 0 1");
    let expected = [
        "lock(m)",
        "x == 0",
        "wait(c, m)",
        "acquire(s)",
        "lock(m)",
        "x := 1",
        "signal(c)",
        "unlock(m)",
        "wait(c, m)",
        "!(x == 0)",
        "unlock(m)",
        "let ok = try acquire(s)",
    ];
    let short: Vec<&str> = shown
        .iter()
        .map(|label| label.trim_end_matches(" ▷ skip"))
        .collect();
    assert_eq!(short, expected);
}

#[test]
fn deadlocks_name_the_holders() {
    let source = "rwlock l lock m
process a { read_lock(l); lock(m) }
process b { let ok = try lock(m); write_lock(l); skip <| ok |> skip }";
    let mut machine = machine(source);
    machine.narrate(&"0 1".parse().unwrap()).unwrap();
    let waiting = machine.waiting();
    let shown: Vec<_> = waiting
        .iter()
        .map(|w| (w.what.as_str(), w.held_by.as_deref()))
        .collect();
    assert_eq!(
        shown,
        [("`lock(m)`", Some("1")), ("`write_lock(l)`", Some("0"))]
    );
}

#[test]
fn a_release_of_a_lock_that_is_not_held_fails() {
    let source = "rwlock l process { read_unlock(l) }";
    let run = machine(source).narrate(&"0".parse().unwrap()).unwrap();
    let mishap = run.steps[0].mishap.as_deref();
    assert_eq!(
        mishap,
        Some("`read_unlock` of a lock that the process does not hold")
    );
}

#[test]
fn labels_of_select_show_the_chosen_alternative() {
    let source = "chan c[1]: int semaphore s = 0 var x: int = 0
process a {
  select { c ? x |> skip [] x == 5 |> x := 6; x := 7 [] acquire(s) |> skip }
  select { x == 9 |> skip [] else |> x := 1 }
}
process b { x := 5; c ! 3 }";
    let shown = labels(source, "1 0=0 0 0");
    assert_eq!(
        shown[1..],
        ["select x == 5 |> x := 6", "x := 7", "select else"]
    );
    let shown = labels(source, "1 1 0=0");
    assert_eq!(shown[2], "select c ? x");
    let waiting = machine(source).waiting();
    assert_eq!(waiting[0].what, "`(c ? x) || x == 5 || acquire(s)`");
}

#[test]
fn printed_text_is_shown_and_print_is_no_step() {
    let source = "var x: int = 0
process a (me in 0..2) { print \"a{me}\"; x := x + 1; print \"{{x}} is {x}\" }
process b { print \"over\" }";
    let run = machine(source).narrate(&"1 0".parse().unwrap()).unwrap();
    let printed: Vec<_> = run.steps.iter().map(|step| &step.printed[..]).collect();
    let expected: [&[&str]; 2] = [&["b: over", "a1", "{x} is 1"], &["a0", "{x} is 2"]];
    assert_eq!(printed, expected);
}

#[test]
fn runs_and_properties_use_labels() {
    let source = "var x: int = 0 lock m
process a {
  lock(m);
  critical:
  x := 1;
  unlock(m)
}";
    assert_eq!(labels(source, "0 0")[1], "critical: x := 1");
    let at = |property| mazurka_lang::Property::read(source, &[], property);
    let property = at("at(a, critical)").expect("a property");
    assert_eq!(property.points()[0].1, 5);
    let wrong = at("at(a, nowhere)").expect_err("no label").to_string();
    assert!(
        wrong.starts_with("`nowhere` is neither a line nor a label"),
        "{wrong}"
    );
    let twice = "process { l: skip; l: skip }";
    assert_eq!(load(twice, &[]).expect_err("a mistake")[0].code, "M0203");
}

#[test]
fn labels_show_operations_within_a_step_as_written() {
    let source = "semaphore s = 1 lock m cond c var x: int = 0 var ok: bool = false
process a { x == 0 |> acquire(s); atomic { release(s); x := 1 }; ok := try lock(m) <| x == 2 |> skip }";
    let shown = labels(source, "0 0 0");
    let expected = [
        "x == 0 ▷ acquire(s)",
        "release(s); x := 1",
        "!(x == 2) ▷ skip",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn held_objects_are_listed() {
    let source = "rwlock l[2] lock m chan c[1]: E enum E { A, B, C } var ok: bool = false
process a { read_lock(l[1]); ok := try lock(m); c ! C }
process b { write_lock(l[0]) }";
    let mut machine = machine(source);
    machine.narrate(&"0 0 0 1".parse().unwrap()).unwrap();
    let held: Vec<String> = machine
        .held()
        .into_iter()
        .map(|held| format!("{} {}", held.process, held.lock))
        .collect();
    assert_eq!(held, ["0 l[1]", "1 l[0]", "0 m"]);
}

#[test]
fn an_operation_returns_any_expression() {
    for value in ["-1", "(0)", "(1) + 1", "if x == 0 then 1 else 2", "-(x)"] {
        machine(&format!(
            "var x: int = 0 op get(): int {{ return {value} }}
spec object for 1 clients of 1 operation {{ op get(): int {{ return {value_of} }} }}",
            value_of = value.replace('x', "0")
        ));
    }
}

#[test]
fn an_update_reads_its_arguments_in_its_step() {
    let update = "var t: atomic int = 0 var x: int = 2
process { let ok = t.compare_exchange(x - 2, x) }";
    assert_eq!(
        labels(update, "0"),
        ["let ok = t.compare_exchange(x - 2, x)"]
    );
    let access = labels(&format!("atomicity access {update}"), "0 0 0");
    assert_eq!(access.len(), 3, "{access:?}");
    assert!(access[0].contains("read x"), "{access:?}");
}
