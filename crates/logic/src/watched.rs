//! Checks a proof within limits: a function that is called for every goal may stop the check. The
//! rules are in `check`.

use std::ops::ControlFlow;

use mazurka_core::proof::Proof;
use mazurka_smt::{Answer, Solver, Statistics, Term, Terms};

use crate::check::{Rejected, check};
use crate::{DeadlockFree, Theorem};

/// Checks a proof of a formula about a program, and returns what it shows about deadlocks. The
/// solver must be new, because it belongs to the terms of one check.
pub fn check_proof(
    proof: &Proof,
    theorem: &Theorem<'_>,
    solver: &mut dyn Solver,
) -> Result<DeadlockFree, Rejected> {
    check(proof, theorem, solver, &mut |_| Ok(()))
}

/// Checks a proof like `check_proof`, but `watch` can stop the check with a reason. It is called
/// for every goal, with the number of goals checked so far.
pub fn check_proof_watched<B>(
    proof: &Proof,
    theorem: &Theorem<'_>,
    solver: &mut dyn Solver,
    watch: &mut dyn FnMut(usize) -> ControlFlow<B>,
) -> ControlFlow<B, Result<DeadlockFree, Rejected>> {
    let mut solver = AnswerRecorder {
        solver,
        unanswered: false,
    };
    let (mut checked_goals, mut broken_off) = (0, None);
    let checked = check(proof, theorem, &mut solver, &mut |goals| {
        checked_goals = goals;
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
        // If a question was not answered because the time was over, the proof is not refuted.
        watch(checked_goals)?;
    }
    ControlFlow::Continue(checked)
}

/// A solver that records whether a question was not answered, which may be because of a time limit.
struct AnswerRecorder<'a> {
    solver: &'a mut dyn Solver,
    unanswered: bool,
}

impl AnswerRecorder<'_> {
    fn record(&mut self, answer: Answer) -> Answer {
        self.unanswered |= matches!(answer, Answer::Unknown(_));
        answer
    }
}

impl Solver for AnswerRecorder<'_> {
    fn check(&mut self, terms: &mut Terms, constraints: &[Term]) -> Answer {
        let answer = self.solver.check(terms, constraints);
        self.record(answer)
    }

    fn refute(
        &mut self,
        terms: &mut Terms,
        constraints: &[Term],
        universal: &[(Term, Term)],
    ) -> Answer {
        let answer = self.solver.refute(terms, constraints, universal);
        self.record(answer)
    }

    fn statistics(&self) -> Statistics {
        self.solver.statistics()
    }
}
