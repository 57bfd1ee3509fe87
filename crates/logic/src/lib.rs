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
pub use refute::{BoxRun, BoxRunResult, Refutation, RunBox, falsify};
pub use search::Unsupported;
pub use watched::{check_proof, check_proof_watched};

/// The runs for which a proof shows that no state deadlocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeadlockFree {
    /// Those of the program: all its runs are covered, from all initial values that it requires.
    Program,
    /// Those of the boxes in the goal only: a run of the program may be in none of them.
    Boxes,
    /// None: it was not asked, or there is no box.
    Nothing,
}

/// How to search for a proof.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether goals reached by commuting steps are merged (DL-POR).
    pub reduce: bool,
    /// Whether goals whose assumptions contradict each other are closed at once.
    pub feasible: bool,
    /// Whether to show that no state deadlocks.
    pub deadlock: bool,
    /// How often a loop without an invariant may be unfolded.
    pub unfold: u32,
    /// Whether the goals are written into the proof. A proof can be checked only then; the answer
    /// does not depend on it.
    pub write: bool,
    /// Whether the OS process ends after this: then the memory of the search is left to the system,
    /// which is much faster than freeing it piece by piece.
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
