//! Dynamic logic for parallel programs: formulas about what holds after the runs of a program, a
//! search for their proofs, and a checker of proofs with its own definition of steps.

mod aliases;
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
mod results;
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

/// The runs for which a proof shows that no state is a deadlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeadlockFree {
    /// All runs of the program, from all initial values that satisfy its `requires`.
    Program,
    /// Only the runs of the statements in the boxes of the goal. The program may have other runs.
    Boxes,
    /// No runs: the proof was not asked to show deadlock freedom, or its goal has no box.
    Nothing,
}

/// The options of a search for a proof.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether goals reached by commuting steps are merged (DL-POR).
    pub reduce: bool,
    /// Whether each goal is checked for contradictory assumptions, and closed if it has them.
    pub feasible: bool,
    /// Whether to show that no state is a deadlock.
    pub deadlock: bool,
    /// How often a loop without an invariant may be unfolded.
    pub unfold: u32,
    /// Whether the goals are written into the proof. Without its goals a proof cannot be checked,
    /// but the answer of the search is the same.
    pub write: bool,
    /// Whether the operating-system process ends after the search. If so, the memory of the search
    /// is not freed piece by piece, which would be much slower.
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
