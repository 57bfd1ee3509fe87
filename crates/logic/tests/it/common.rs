//! Finds proofs and checks them.

use std::ops::ControlFlow;

use mazurka_core::Bound;
use mazurka_core::proof::Proof;
use mazurka_core::record::ProgramRecord;
use mazurka_logic::{Formula, Options, Outcome, Theorem, check_proof, parse, prove, stated};
use mazurka_smt::Embedded;

pub fn options() -> Options {
    Options {
        deadlock: true,
        ..Options::default()
    }
}

fn record() -> ProgramRecord {
    ProgramRecord {
        file: "test.maz".to_owned(),
        hash: "0123".to_owned(),
        set: Vec::new(),
        names: Vec::new(),
    }
}

/// Calls `work` with the theorem to prove.
fn with_theorem<T>(source: &str, goal: Option<&str>, work: impl FnOnce(&Theorem<'_>) -> T) -> T {
    let program = mazurka_lang::load(source, &[]).expect(source);
    let formula: Formula = match goal {
        Some(goal) => parse(goal, &program).expect(goal),
        None => stated(&program),
    };
    work(&Theorem {
        program: &program,
        source,
        record: &record(),
        goal,
        formula: &formula,
    })
}

/// Searches for a proof.
pub fn search(source: &str, goal: Option<&str>, options: &Options) -> Outcome {
    let watch = &mut |goals: u64| {
        if goals > 1500 {
            ControlFlow::Break(Bound::Interrupted)
        } else {
            ControlFlow::Continue(())
        }
    };
    with_theorem(source, goal, |theorem| {
        prove(theorem, options, &mut Embedded::default(), watch).expect(source)
    })
}

/// Whether a proof passes the checker.
pub fn checked(source: &str, goal: Option<&str>, proof: &Proof) -> bool {
    // A solver belongs to one set of terms, and the checker has a separate set.
    let solver = &mut Embedded::default();
    with_theorem(source, goal, |theorem| {
        check_proof(proof, theorem, solver).is_ok()
    })
}
