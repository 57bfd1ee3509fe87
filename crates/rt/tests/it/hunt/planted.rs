//! Former defects of the crate, planted again: the comparison must notice each of them within half
//! of the programs that CI compares.
//!
//! The crate's engine has no switches for its former defects. An interpreter that has them takes
//! its place, or the crate's own answer is changed for the programs that it got wrong.

use super::machine::Defect;
use super::*;

/// Fails unless the comparison notices that `wrong` gives wrong answers, within half of the
/// programs that CI compares.
fn caught(name: &str, wrong: impl Fn(&Program) -> Option<Result<Found, String>>) {
    let sees = |number: &u64| {
        let program = program(&mut numbered(1, *number));
        let Some(expected) = expected(Machine::new(&program)) else {
            return false;
        };
        wrong(&program).is_some_and(|found| compare(&expected, found).is_err())
    };
    let Some(number) = (0..SLICE / 2).find(sees) else {
        panic!("{name}: not caught by half of the programs of CI");
    };
    println!("{name}: caught after {} programs of {SLICE}", number + 1);
}

/// The answer of an interpreter with a defect, in place of the crate.
fn interpreted(program: &Program, defect: Defect) -> Option<Result<Found, String>> {
    let verdict = expected(Machine::new(program).with(defect))?;
    Some(Ok(Found {
        results: verdict.outcomes,
        race: verdict.race,
        deadlock: false,
    }))
}

#[test]
fn defects_of_the_crate_are_caught() {
    let all = [
        Defect::ArcWithoutRelease,
        Defect::NoInitialisation,
        Defect::UnwindsAtOnce,
    ];
    for defect in all {
        caught(&format!("{defect:?}"), |program| {
            interpreted(program, defect)
        });
    }
}

/// Whether atomics that were made at one place are used by one thread under the lock, and by
/// another thread.
fn mixes_up_objects(program: &Program) -> bool {
    let uses = |op: &Op| matches!(op, Op::Load(..) | Op::Store(..) | Op::Add(..));
    let locked = |body: &Body| {
        let mut inside = body.ops.iter().skip_while(|op| !matches!(op, Op::Lock));
        inside.any(uses)
    };
    let users = program
        .threads
        .iter()
        .filter(|body| body.ops.iter().any(uses));
    users.count() > 1 && program.threads.iter().any(locked)
}

/// Objects of one place were once distinguished by the order of their first use, which differs
/// between schedules.
#[test]
fn a_divergence_that_is_none_is_caught() {
    caught("a divergence", |program| {
        Some(if mixes_up_objects(program) {
            Err("the same schedule did something else than before".to_owned())
        } else {
            found(program, mazurka_rt::Memory::Sc)?
        })
    });
}

/// An interpreter without a defect is not caught, so it is the defects that the comparison notices.
#[test]
fn the_interpreter_agrees_with_itself() {
    for number in 0..SLICE / 2 {
        let program = program(&mut numbered(1, number));
        let Some(verdict) = expected(Machine::new(&program)) else {
            continue;
        };
        let same = Found {
            results: verdict.outcomes.clone(),
            race: verdict.race,
            deadlock: false,
        };
        assert_eq!(compare(&verdict, Ok(same)), Ok(verdict.race));
    }
}
