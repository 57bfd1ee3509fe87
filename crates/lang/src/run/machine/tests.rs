//! Tests that quick steps have the same effects as the interpreter.

use std::sync::Arc;
use std::time::Duration;

use mazurka_core::{Execution, MishapKind, Narrator, Patience, ProcessId, Random, Status};

use super::Machine;
use crate::run::NoListener;

/// Programs with every kind of step that `quick` recognises, and with steps that it must refuse.
const PROGRAMS: [&str; 6] = [
    "atomicity access var x, y: int = 0
     process (p in 0..2) { x := x + 1; y := x - y }
     process { let l = x; y := 7; x := l }",
    "atomicity access var a: i8[3] = [1, 2, 3] var i: i8 = 0
     process { for k in 0..3 { a[k] := a[k] + 100 } }
     process { for k in 0..4 { let l = a[k]; i := l } }",
    "lock m, n[2] var x: u8 = 255
     process { lock(m); x := x + 1; unlock(m) }
     process { lock(m); lock(n[1]); unlock(n[1]); unlock(m) }
     process { unlock(m) }",
    "atomicity access var x, y: int = 0 invariant x < 3
     process { for k in 0..5 { x := k; y := k } } process { x := 1; y := 2 }",
    "var x, y: int = 0
     process { let h = spawn { x := 1 }; y := 2; join h; assert x == 1; x := y / x }
     process { x := 0; if y == 2 { error } }",
    "atomicity access var x: int = 9223372036854775807 var y: u64 = 0
     process { let l = x; x := l + 1 } process { y := y - 1; y := 3 }",
];

#[test]
fn quick_steps_do_what_the_interpreter_does() {
    for source in PROGRAMS {
        let program = crate::load(source, &[]).unwrap();
        let code = Arc::new(crate::compile(&program, source).unwrap());
        assert!(code.quick.iter().any(Option::is_some), "{source}");
        for seed in 0..40 {
            let mut random = Random::new(seed);
            let mut quick = Machine::new(code.clone(), 1000);
            let mut slow = quick.clone();
            loop {
                let all = quick.processes().in_order().to_vec();
                let ready = |p: &ProcessId| quick.status(*p) == Status::Ready;
                let ready: Vec<ProcessId> = all.into_iter().filter(ready).collect();
                if ready.is_empty() {
                    break;
                }
                let process = ready[random.below(ready.len() as u64) as usize];
                let event = quick.step(process, &[]).unwrap();
                let expected = slow.step_with(process, &[], &mut NoListener).unwrap();
                assert_eq!(event, expected, "{source}");
                assert_eq!(quick.state, slow.state, "{source}");
            }
            assert_eq!(quick.unfinished, slow.unfinished);
            while let Some(depth) = quick.events().len().checked_sub(1) {
                quick.back_to(depth);
                slow.back_to(depth);
                assert_eq!(quick.state, slow.state, "{source}");
            }
        }
    }
}

fn machine_of(source: &str) -> Machine {
    let program = crate::load(source, &[]).unwrap();
    let code = Arc::new(crate::compile(&program, source).unwrap());
    Machine::new(code, 20_000_000)
}

/// A loop that writes the same places many times needs one undo entry for each place.
#[test]
fn the_log_of_a_long_loop_stays_short() {
    let mut machine = machine_of(
        "var x: int = 5 var a: int[3] = [7, 8, 9]
         process { x := 6; let i = 0; while i < 300000 { i := i + 1 }; x := i }
         process { atomic { for k in 0..200000 { a[k % 3] := k; x := x + 1 } } }",
    );
    let before = machine.bindings(false);
    machine.step(ProcessId(0), &[]).unwrap();
    let middle = machine.bindings(false);
    machine.step(ProcessId(1), &[]).unwrap();
    machine.step(ProcessId(0), &[]).unwrap();
    assert_eq!(machine.value(0), 300_000);
    assert_eq!(machine.value(1), 199_998);
    assert!(machine.undo.len() < 200_000, "{}", machine.undo.len());
    let touched = &machine.events()[1].touched;
    assert!(touched.len() < 100_000, "{}", touched.len());
    machine.back_to(1);
    assert_eq!(machine.bindings(false), middle);
    machine.back_to(0);
    assert_eq!(machine.bindings(false), before);
}

#[test]
fn a_long_step_ends_when_the_time_is_over() {
    let mut machine = machine_of(
        "var x: int = 0 process { x := 1; let i = 0; while i < 10000000 { i := i + 1 }; x := 2 }
         process { x := 3 }",
    );
    machine.set_patience(Patience::new(Some(Duration::ZERO), None));
    // A short step does not look at the clock.
    assert!(machine.step(ProcessId(1), &[]).unwrap().mishaps.is_empty());
    let event = machine.step(ProcessId(0), &[]).unwrap();
    let kinds: Vec<MishapKind> = event.mishaps.iter().map(|mishap| mishap.kind).collect();
    assert_eq!(kinds, [MishapKind::BrokenOff]);
    assert_eq!(machine.status(ProcessId(0)), Status::Lost);
    machine.back_to(1);
    assert_eq!(machine.status(ProcessId(0)), Status::Ready);
    machine.set_patience(Patience::default());
    assert!(machine.step(ProcessId(0), &[]).unwrap().mishaps.is_empty());
    assert_eq!(machine.status(ProcessId(0)), Status::Ready);
}
