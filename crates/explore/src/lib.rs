//! Explorers: which executions of a program are really different?
//!
//! One algorithm, one file; what they share, the loop with its limits, counts and findings, is
//! the [`driver`]. Explorers see programs only as [`mazurka_core::Execution`]; they never name a language.

mod catalogue;
mod context;
mod cut;
mod dpor;
pub mod driver;
mod engine;
mod estimate;
mod fagiani;
mod findings;
mod graph;
mod livelock;
mod minimise;
mod naive;
mod optimal;
mod order;
mod pace;
mod parallel;
mod path;
mod preference;
mod prints;
mod race;
mod rehearse;
mod reversal;
mod set;
mod sleep;
mod source;
mod stateful;
mod suffix;
mod symbolic;
mod table;
mod unfold;
mod wakeup;

pub use context::Variant;
pub use cut::Part;
pub use driver::{End, Goal, Observer, Policy, Progress, Watch, broken_by, explore, is_broken_off};
pub use engine::{Algorithm, UnknownAlgorithm, search, search_states};
pub use estimate::Estimate;
pub use fagiani::{Extent, Permutations, Permuted, PrintedForms, permute};
pub use findings::{Finding, Findings, Seen, Tally};
pub use minimise::{closest, minimise};
pub use naive::{Naive, next_outcomes};
pub use parallel::{Parts, Saver, search_with};
pub use prints::Prints;
pub use race::{first_difference, racing};
pub use rehearse::{Violation, past_is_discarded};
pub use suffix::Suffix;
pub use symbolic::{Audience, LeadsHere, Reduction, SymbolicFindings, UnknownReduction, symbolic};
pub use unfold::{
    Arcs, Drawing, Drawn, NetKind, Place, Placed, Question, Structure, Unfolding, UnknownNet,
    Valued, unfold, unfold_observed, walk_states,
};
