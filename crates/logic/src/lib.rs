//! Dynamic logic for parallel programs.

mod aliases;
mod books;
mod check;
mod claims;
mod eliminate;
mod eval;
mod fol;
mod formula;
mod loops;
mod parse;
mod pool;
mod prove;
mod refute;
mod render;
mod search;
mod sequent;
mod step;
#[cfg(test)]
mod tests;
mod watched;
mod world;

pub use check::Rejected;
pub use fol::Misplaced;
pub use formula::{Formula, with_copies};
pub use parse::{FormulaError, parse, parse_over};
pub use prove::{Outcome, ProofCounts, Theorem, can_start, prove, stated};
pub use refute::{BoxRun, Ran, Refutation, RunBox, falsify};
pub use search::Unsupported;
pub use watched::{check_proof, check_proof_watched};

/// Of what a proof shows that no state deadlocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeadlockFree {
    /// Of the program: all its runs are covered, from all initial values that it requires.
    Program,
    /// Of the boxes in the goal only: some run of the program may be in none of them.
    Boxes,
    /// Of nothing: it was not asked, or there is no box.
    Nothing,
}

/// How to look for a proof.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether goals that commuting steps lead to are merged (DL-POR).
    pub reduce: bool,
    /// Whether goals whose assumptions contradict each other are closed at once.
    pub feasible: bool,
    /// Whether it is to be shown that no state deadlocks.
    pub deadlock: bool,
    /// How often a loop without an invariant may go round.
    pub unfold: u32,
    /// Whether the goals are written down. A proof can be checked only then; the answer does not
    /// depend on it.
    pub write: bool,
    /// Whether the process ends after this: then what the search has built is left to the system,
    /// which is much faster than giving it back piece by piece.
    pub leave: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            reduce: true,
            feasible: true,
            deadlock: false,
            unfold: 16,
            write: true,
            leave: false,
        }
    }
}
