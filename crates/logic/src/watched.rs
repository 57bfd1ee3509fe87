//! Checks a proof within limits. The rules are in `check`.

use std::ops::ControlFlow;

use mazurka_core::proof::Proof;
use mazurka_smt::{Answer, Solver, Statistics, Term, Terms};

use crate::check::{Rejected, check};
use crate::{DeadlockFree, Theorem};

/// Checks a proof of a formula about a program, and returns what it shows about deadlocks. The
/// solver must be a new one that has not been used.
pub fn check_proof(
    proof: &Proof,
    theorem: &Theorem<'_>,
    solver: &mut dyn Solver,
) -> Result<DeadlockFree, Rejected> {
    check(proof, theorem, solver, &mut |_| Ok(()))
}

/// Checks like `check_proof`, unless the watch stops the check with its reason. The watch is called
/// for every goal, with the number of goals checked so far.
pub fn check_proof_watched<B>(
    proof: &Proof,
    theorem: &Theorem<'_>,
    solver: &mut dyn Solver,
    watch: &mut dyn FnMut(usize) -> ControlFlow<B>,
) -> ControlFlow<B, Result<DeadlockFree, Rejected>> {
    let mut solver = Listening {
        solver,
        unanswered: false,
    };
    let (mut follow, mut broken_off) = (0, None);
    let checked = check(proof, theorem, &mut solver, &mut |goals| {
        follow = goals;
        broken_off = watch(goals).break_value();
        match broken_off {
            None => Ok(()),
            Some(_) => Err(Rejected::Goal(goals, "it was not checked".to_owned())),
        }
    });
    if let Some(why) = broken_off {
        return ControlFlow::Break(why);
    }
    if checked.is_err() && solver.unanswered {
        // A solver that ran out of time has not refuted the proof.
        watch(follow)?;
    }
    ControlFlow::Continue(checked)
}

/// Notes whether a question remains unanswered, which may be for lack of time.
struct Listening<'a> {
    solver: &'a mut dyn Solver,
    unanswered: bool,
}

impl Listening<'_> {
    fn hear(&mut self, answer: Answer) -> Answer {
        self.unanswered |= matches!(answer, Answer::Unknown(_));
        answer
    }
}

impl Solver for Listening<'_> {
    fn check(&mut self, terms: &mut Terms, constraints: &[Term]) -> Answer {
        let answer = self.solver.check(terms, constraints);
        self.hear(answer)
    }

    fn refute(
        &mut self,
        terms: &mut Terms,
        constraints: &[Term],
        universal: &[(Term, Term)],
    ) -> Answer {
        let answer = self.solver.refute(terms, constraints, universal);
        self.hear(answer)
    }

    fn statistics(&self) -> Statistics {
        self.solver.statistics()
    }
}
