//! Tests how commands treat synchronisation objects that they do not support.

use crate::support::with_input;

const READERS: &str = "rwlock l  var x: int = 0  \
    process p { read_lock(l); let t = x; x := t + 1; read_unlock(l) }";

/// Once, a reader–writer lock treated two copies of a process as the same process, so that `[p ||
/// p] x == 2` was proved.
#[test]
fn prove_refuses_goals_if_processes_are_distinguished() {
    let written = "[p || proc { read_unlock(l) }] true";
    for goal in ["[p || p] x == 2", "[p] x == 1", written] {
        let result = with_input(&["prove", "-", "--goal", goal], READERS);
        assert_eq!(result.code, 3, "{goal}: {result:?}");
        assert!(result.err.contains("by their number"), "{goal}: {result:?}");
    }
    let stated = format!("{READERS} ensures x == 1");
    let result = with_input(&["prove", "-"], &stated);
    assert_eq!(result.code, 0, "{result:?}");
}

/// Once, `release(s)` also counted as an acquire, so that a data race was not found.
#[test]
fn memory_models_have_no_rule_for_objects() {
    let program = "atomicity access  semaphore s = 0  var x: int = 0  \
        process { x := 1; release(s) }  process { acquire(s); assert x == 1 }";
    let result = with_input(&["check", "-"], program);
    assert_eq!(result.code, 0, "{result:?}");
    let result = with_input(&["check", "-", "--memory", "rc11"], program);
    assert_eq!(result.code, 3, "{result:?}");
    assert!(result.err.contains("interleavings only"), "{result:?}");
}

#[test]
fn a_run_with_objects_is_not_linearised() {
    let program = "semaphore s = 1  var x: int = 0  process { acquire(s); x := 1; release(s) }";
    let result = with_input(&["run", "-", "--linearise"], program);
    assert_eq!(result.code, 3, "{result:?}");
    assert!(result.err.contains("semaphores"), "{result:?}");
}

/// Once, the variables of an object came between those of the program and the points of the
/// property, which were then confused.
#[test]
fn reach_finds_lines_beside_objects() {
    for object in [
        "cond c",
        "rwlock c",
        "semaphore c = 1",
        "barrier c = 2",
        "chan c[1]: int",
    ] {
        let program = format!("lock m {object} var x: int = 0\nprocess {{\nx := 1;\nlock(m) }}");
        for (property, code) in [
            ("at(0, 3) && x == 0", 1),
            ("at(0, 4) && x == 1", 1),
            ("at(0, 4) && x == 0", 0),
        ] {
            let result = with_input(&["reach", "-", "--property", property], &program);
            assert_eq!(result.code, code, "{property}: {program} {result:?}");
        }
    }
}
