//! Explorers: which executions of a program are really different?
//!
//! Explorers see programs only as [`mazurka_core::Execution`]; they never name a language.
//!
//! | folder | what is in it |
//! |---|---|
//! | `drive` | what all searches share: the loop with its limits, counts and findings ([`driver`]), workers and their parts |
//! | `relations` | what steps have to do with each other: claims and conflicts, happens-before, races and their reversals |
//! | `algorithms` | who runs next: one algorithm, one file or folder |
//! | `witness` | runs that people can read, and the two steps in them that matter |
//! | `unfold` | nets instead of trees of runs |
//! | `fagiani` | orders of labels instead of states |
//! | `sympaths` | symbolic states, merged by their paths |
//!
//! `algorithms` uses `relations`, and both use what is small in `drive` (tables, sets of fingerprints); `drive` knows the
//! algorithms only where one is chosen by its name. The last three folders share the limits and the findings with the
//! others, but have loops of their own.

mod algorithms;
mod drive;
mod fagiani;
mod relations;
mod sympaths;
mod unfold;
mod witness;

pub use algorithms::context::Variant;
pub use algorithms::naive::{Naive, next_outcomes};
pub use drive::cut::Part;
pub use drive::driver;
pub use drive::driver::{
    End, Goal, Observer, Policy, Progress, Watch, broken_by, explore, is_broken_off,
};
pub use drive::engine::{Algorithm, UnknownAlgorithm, search, search_states};
pub use drive::estimate::Estimate;
pub use drive::findings::{Finding, Findings, Seen, Tally};
pub use drive::parallel::{Parts, Saver, search_with};
pub use drive::prints::Prints;
pub use drive::suffix::Suffix;
pub use fagiani::{Extent, Permutations, Permuted, PrintedForms, permute};
pub use sympaths::{Audience, LeadsHere, Reduction, SymbolicFindings, UnknownReduction, symbolic};
pub use unfold::{
    Arcs, Drawing, Drawn, NetKind, Place, Placed, Question, Structure, Unfolding, UnknownNet,
    Valued, unfold, unfold_observed, walk_states,
};
pub use witness::minimise::{closest, minimise};
pub use witness::race::{first_difference, racing};
pub use witness::rehearse::{Violation, past_is_discarded};
