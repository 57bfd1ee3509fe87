//! Finds the places from which a step does only local work. At such a place, the rest of the step
//! can become a separate step; the unfolding does so before a condition over inputs.
//!
//! Thesis, section 3.5: a branch over inputs is an event that touches only its thread. A step makes
//! a shared access and then does local work up to the next mark. A place is *quiet* if every path
//! from there to the next mark only computes. The rest of the step can then be a separate event: it
//! commutes with all steps of other processes.
//!
//! An `assume` only computes, but is not quiet. The reason: a failure counts only if no false
//! `assume` happens before it. As a part of its step, an `assume` happens before every event that
//! depends on the step. As a separate event it would happen before no event of another process. An
//! engine that keeps each decision together with the access before it (`mazurka-memory`) may treat
//! an `assume` as quiet.

use crate::code::{Code, Op};

/// Returns for each instruction whether every path from it to the next mark only computes.
/// `assumes`: whether an `assume` counts as computing.
pub(crate) fn analyse(code: &Code, assumes: bool) -> Vec<bool> {
    let quiet = |&op: &Op| computes(op) || (assumes && matches!(op, Op::Assume));
    let mut quiet: Vec<bool> = code.ops.iter().map(quiet).collect();
    let returns = return_places(code);
    loop {
        let mut changed = false;
        for pc in (0..code.ops.len()).rev() {
            if quiet[pc] && !next(code, pc, &returns).all(|next| quiet[next]) {
                quiet[pc] = false;
                changed = true;
            }
        }
        if !changed {
            return quiet;
        }
    }
}

/// Whether an instruction touches only its process, and neither waits nor discards the run.
fn computes(op: Op) -> bool {
    match op {
        Op::Load(_)
        | Op::LoadAt(_)
        | Op::Fetch { .. }
        | Op::Store(_)
        | Op::StoreAt(_)
        | Op::Choose
        | Op::Guard
        | Op::Lock(_)
        | Op::LockAt(_)
        | Op::Unlock(_)
        | Op::UnlockAt(_)
        | Op::SpawnBlock(_)
        | Op::SpawnCall(_)
        | Op::Join
        | Op::JoinAll
        | Op::Assume
        | Op::Limit(_)
        | Op::BeginAtomic
        | Op::EndAtomic => false,
        Op::Mark(_)
        | Op::Open(_)
        | Op::Close
        | Op::BeginSimple
        | Op::EndSimple
        | Op::Const(_)
        | Op::Local(_)
        | Op::LocalAt(_)
        | Op::Pick(..)
        | Op::Within(_)
        | Op::Not
        | Op::Neg(_)
        | Op::Arith(..)
        | Op::Compare(..)
        | Op::And
        | Op::Or
        | Op::Select(_)
        | Op::Input(_)
        | Op::ArithLocals(..)
        | Op::Increment(..)
        | Op::Jump(_)
        | Op::JumpIfFalse(_)
        | Op::JumpUnlessLess { .. }
        | Op::SetLocal(_)
        | Op::SetLocalAt(_)
        | Op::Call(_)
        | Op::Return
        | Op::Drop
        | Op::Assert
        | Op::Error
        | Op::End => true,
    }
}

/// Returns for each procedure the instructions after its calls.
fn return_places(code: &Code) -> Vec<Vec<usize>> {
    let mut places = vec![Vec::new(); code.procedures.len()];
    for (pc, op) in code.ops.iter().enumerate() {
        if let Op::Call(procedure) = *op {
            places[procedure as usize].push(pc + 1);
        }
    }
    places
}

/// Returns the instructions that may follow an instruction in the same step. No instruction follows
/// a mark.
fn next<'a>(
    code: &'a Code,
    pc: usize,
    returns: &'a [Vec<usize>],
) -> impl Iterator<Item = usize> + 'a {
    let ends = matches!(code.ops[pc], Op::Mark(_) | Op::Open(_));
    let callers: &[usize] = match code.ops[pc] {
        // Procedures are compiled first, so the index of a procedure is the index of its body.
        Op::Return => returns
            .get(code.bodies[pc] as usize)
            .map_or(&[], Vec::as_slice),
        _ => &[],
    };
    let followers = super::reach::followers(code, pc).filter(move |_| !ends);
    followers.chain(callers.iter().copied())
}
