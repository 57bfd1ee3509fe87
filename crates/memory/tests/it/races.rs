//! Data races, under rc11.

use mazurka_core::Limits;
use mazurka_memory::MemoryOrder::{AcqRel, Acquire, Plain, Relaxed, Release, SeqCst};
use mazurka_memory::litmus::*;
use mazurka_memory::{CountOnly, Failure, Loc, Memory, explore, replay};

use crate::programs::{X, Y};

const Z: u32 = 2;

/// Whether a program has a race. The schedule must show it again.
#[track_caller]
fn races(program: &Litmus) -> bool {
    for memory in [Memory::Ra, Memory::Tso, Memory::Sc] {
        let found = explore(program.clone(), memory, &Limits::default());
        assert_eq!(found.counts.races, 0, "under {memory} nothing races");
    }
    let found = explore(program.clone(), Memory::Rc11, &Limits::default());
    for finding in &found.findings {
        let shown = replay(
            program.clone(),
            Memory::Rc11,
            &finding.schedule,
            &mut CountOnly,
        );
        let shown = shown.expect("the schedule is one of the program");
        assert!(
            shown.failures.contains(&finding.failure),
            "{finding:?}, but {shown:?}"
        );
    }
    let is_race = |failure: &Failure| matches!(failure, Failure::Race { loc: Loc(X), .. });
    let found_race = found.findings.iter().any(|it| is_race(&it.failure));
    assert_eq!(found_race, found.counts.races > 0);
    found_race
}

/// One thread writes a message plainly, and another reads it if it sees the flag.
fn passing(write: Vec<Instruction>, read: Vec<Instruction>) -> Litmus {
    let writer = [vec![store(X, 1, Plain)], write].concat();
    let reader = [read, when(r(0).equals(1), [load(1, X, Plain)])].concat();
    Litmus::new([writer, reader])
}

#[test]
fn flags() {
    let pass = |write, read| passing(vec![store(Y, 1, write)], vec![load(0, Y, read)]);
    assert!(races(&pass(Relaxed, Relaxed)));
    assert!(races(&pass(Release, Relaxed)));
    assert!(races(&pass(Relaxed, Acquire)));
    assert!(!races(&pass(Release, Acquire)));
    assert!(!races(&pass(SeqCst, SeqCst)));
    assert!(!races(&pass(Release, SeqCst)));
}

#[test]
fn fences() {
    let write = || vec![fence(Release), store(Y, 1, Relaxed)];
    let read = || vec![load(0, Y, Relaxed), fence(Acquire)];
    assert!(!races(&passing(write(), read())));
    assert!(races(&passing(write(), vec![load(0, Y, Relaxed)])));
    assert!(races(&passing(vec![store(Y, 1, Relaxed)], read())));
    assert!(!races(&passing(write(), vec![load(0, Y, Acquire)])));
    assert!(!races(&passing(vec![store(Y, 1, Release)], read())));
    // A fence on the wrong side of the access orders nothing.
    let late = vec![store(Y, 1, Relaxed), fence(Release)];
    assert!(races(&passing(late, read())));
    let early = vec![fence(Acquire), load(0, Y, Relaxed)];
    assert!(races(&passing(write(), early)));
}

#[test]
fn updates() {
    let update = |order| vec![fetch_add(2, Y, 1, order)];
    assert!(!races(&passing(update(Release), vec![load(0, Y, Acquire)])));
    assert!(races(&passing(update(Acquire), vec![load(0, Y, Acquire)])));
    let exchange = |order, failure| vec![compare_exchange(0, Y, (1, 2), (order, failure))];
    let write = || vec![store(Y, 1, Release)];
    assert!(!races(&passing(write(), exchange(Acquire, Relaxed))));
    assert!(races(&passing(write(), exchange(Relaxed, Acquire))));
    assert!(!races(&passing(write(), exchange(AcqRel, Relaxed))));
}

/// A relaxed update of a third thread continues the release sequence, a relaxed store ends it.
#[test]
fn release_sequences() {
    let third = |instruction| {
        let code = passing(vec![store(Y, 2, Release)], vec![load(0, Y, Acquire)]);
        let code = code.code().iter().cloned().chain([vec![instruction]]);
        Litmus::new(code)
    };
    // A thread that reads 1 from Y reads from the update, which has read 2: after the initial value
    // 5 it would write 4.
    assert!(!races(
        &third(fetch_add(0, Y, -1, Relaxed)).with_initial(Y, 5)
    ));
    assert!(races(&third(store(Y, 1, Relaxed))));
}

#[test]
fn locks_spawns_and_joins() {
    let section = || vec![lock(Z), store(X, 1, Plain), unlock(Z)];
    assert!(!races(&Litmus::new([section(), section()])));
    assert!(races(&Litmus::new([section(), vec![store(X, 2, Plain)]])));
    let parent = vec![store(X, 1, Plain), spawn(1), join(1), load(0, X, Plain)];
    let child = vec![store(X, 2, Plain)];
    assert!(!races(&Litmus::new([parent, child.clone()]).starting(1)));
    let hasty = vec![spawn(1), load(0, X, Plain)];
    assert!(races(&Litmus::new([hasty, child]).starting(1)));
}

#[test]
fn plain_beside_atomic() {
    let pair = |a, b| races(&Litmus::new([vec![a], vec![b]]));
    assert!(pair(store(X, 1, Plain), load(0, X, SeqCst)));
    assert!(pair(load(0, X, Plain), store(X, 1, SeqCst)));
    assert!(pair(load(0, X, Plain), fetch_add(0, X, 1, AcqRel)));
    assert!(!pair(load(0, X, Plain), load(0, X, Relaxed)));
    assert!(!pair(load(0, X, Plain), load(0, X, Plain)));
}

/// A stuck await has read its location, so it can race; the schedule of the race includes it.
#[test]
fn awaits() {
    let waiting = vec![await_equal(X, 2, Acquire)];
    assert!(races(&Litmus::new([waiting, vec![store(X, 1, Plain)]])));
}
