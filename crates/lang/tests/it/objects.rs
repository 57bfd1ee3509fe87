//! What processes synchronise with: words that stay names, and what runs say.

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
                     read_unlock write_lock write_unlock wait signal broadcast chan len";

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
fn steps_are_told_as_they_were_written() {
    let source = "lock m cond c semaphore s = 1 var x: int = 0
process a { lock(m); while x == 0 { wait(c, m) } unlock(m) }
process b { acquire(s); lock(m); x := 1; signal(c); unlock(m); let ok = try acquire(s); assert !ok }";
    let told = labels(source, "0 0 0 1 1 1 1=0 1 0 0 0 1");
    let wanted = [
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
    let short: Vec<&str> = told
        .iter()
        .map(|label| label.trim_end_matches(" ▷ skip"))
        .collect();
    assert_eq!(short, wanted);
}

#[test]
fn deadlocks_name_the_holders() {
    let source = "rwlock l lock m
process a { read_lock(l); lock(m) }
process b { let ok = try lock(m); write_lock(l); skip <| ok |> skip }";
    let mut machine = machine(source);
    machine.narrate(&"0 1".parse().unwrap()).unwrap();
    let waiting = machine.waiting();
    let told: Vec<_> = waiting
        .iter()
        .map(|w| (w.what.as_str(), w.held_by.as_deref()))
        .collect();
    assert_eq!(
        told,
        [("`lock(m)`", Some("1")), ("`write_lock(l)`", Some("0"))]
    );
}

#[test]
fn what_is_not_held_is_not_given_back() {
    let source = "rwlock l process { read_unlock(l) }";
    let run = machine(source).narrate(&"0".parse().unwrap()).unwrap();
    let said = run.steps[0].mishap.as_deref();
    assert_eq!(
        said,
        Some("`read_unlock` of a lock that the process does not hold")
    );
}
