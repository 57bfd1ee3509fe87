//! For each planted mistake there is a program for which the comparison with the oracle fails.

use mazurka_memory::Memory;
use mazurka_memory::MemoryOrder::{Relaxed, SeqCst};
use mazurka_memory::litmus::*;
use mazurka_memory::planted::Planted;

use crate::programs::{X, Y, abba, mp_fences, mp_release_sequence, sb};
use crate::random::compare;

#[track_caller]
fn assert_caught(planted: Planted, program: &Litmus) {
    let right = compare(program, Memory::Rc11, Planted::Nothing);
    assert_eq!(right, Some(Ok(())), "the engine is wrong");
    let wrong = compare(program, Memory::Rc11, planted);
    assert!(matches!(wrong, Some(Err(_))), "{planted:?} is not caught");
}

/// A thread that reads, beside threads that write.
fn read_and_writes(writes: [i64; 2]) -> Litmus {
    let writer = |value| vec![store(X, value, Relaxed)];
    Litmus::new([
        vec![load(0, X, Relaxed)],
        writer(writes[0]),
        writer(writes[1]),
    ])
}

#[test]
fn no_maximality() {
    assert_caught(Planted::NoMaximality, &read_and_writes([1, 2]));
}

/// The second write must not revisit the read that the first one revisited.
#[test]
fn rf_not_in_prev() {
    assert_caught(Planted::AnyRf, &read_and_writes([1, 2]));
}

#[test]
fn any_choice() {
    let chooser = vec![
        load(0, X, Relaxed),
        Instruction::Choose(1, 2),
        store(Y, r(1), Relaxed),
    ];
    let program = Litmus::new([chooser, vec![store(X, 1, Relaxed)]]);
    assert_caught(Planted::AnyChoice, &program);
}

/// The first outcome is infeasible together with the decision of the other thread, so the second is
/// the maximal one; without that decision the first is feasible.
#[test]
fn first_outcome() {
    let asker = vec![load(0, X, Relaxed), Instruction::Decide(1, 0)];
    let other = vec![
        Instruction::Decide(0, 0),
        Instruction::Assume(r(0).equals(1)),
        store(X, 1, Relaxed),
    ];
    assert_caught(Planted::FirstOutcome, &Litmus::new([asker, other]));
}

#[test]
fn only_last_place() {
    let writer = |value| vec![store(X, value, Relaxed)];
    let program = Litmus::new([writer(1), writer(2)]);
    assert_caught(Planted::OnlyLastPlace, &program);
}

#[test]
fn no_release_sequences() {
    assert_caught(Planted::NoReleaseSequences, &mp_release_sequence());
}

#[test]
fn no_release_fences() {
    assert_caught(Planted::NoReleaseFences, &mp_fences());
}

#[test]
fn no_psc() {
    assert_caught(Planted::NoPsc, &sb(SeqCst, SeqCst));
}

#[test]
fn no_failing_revisits() {
    let program = Litmus::new([
        vec![await_unequal(X, 2, Relaxed)],
        vec![store(X, 2, Relaxed)],
    ]);
    assert_caught(Planted::NoFailingRevisits, &program);
}

#[test]
fn no_parked_locks() {
    assert_caught(Planted::NoParkedLocks, &abba());
}
