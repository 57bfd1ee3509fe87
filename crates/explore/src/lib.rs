//! Explorers, which find the executions of a program that really differ.
//!
//! Explorers see programs only as [`mazurka_core::Execution`]; they never name a language.
//!
//! | folder | content |
//! |---|---|
//! | `drive` | the parts common to all searches: the loop ([`driver`]), limits, findings, workers |
//! | `relations` | relations between steps: conflicts, happens-before, races and their reversals |
//! | `algorithms` | the choice of the next process: one algorithm, one file or folder |
//! | `witness` | readable runs that show a violation, and the two steps of a run that decide it |
//! | `unfold` | nets instead of trees of runs |
//! | `fagiani` | executions found by permuting the recorded steps of another one |
//! | `sympaths` | symbolic states, merged by their paths |
//!
//! `algorithms` uses `relations`, and both use small parts of `drive` (tables, sets of
//! fingerprints); `drive` knows the algorithms only as policies. `unfold`, `fagiani` and `sympaths`
//! use the limits and findings of `drive`; some of their searches have loops of their own.

// A browser build uses sets of one width, so some code is unused there.
#![cfg_attr(target_family = "wasm", allow(dead_code, unused_imports))]

mod algorithms;
mod drive;
mod fagiani;
mod relations;
mod sympaths;
mod unfold;
mod witness;

pub use algorithms::context::Variant;
pub use algorithms::engine::{Algorithm, Merging, Stateless, UnknownAlgorithm};
pub use algorithms::method::{Method, Sample, UnknownMethod};
pub use algorithms::naive::next_outcomes;
pub use algorithms::nearest::{NearEdge, NearState, NearestStates};
pub use algorithms::pct::Priorities;
pub use algorithms::pos::StepPriorities;
pub use algorithms::preempt::{FewPreemptions, Preempted};
pub use algorithms::random::Uniform;
pub use algorithms::refine::{Observed, Refined, RefinementGap, exceeds, refine};
pub use algorithms::sample::{BATCH, Picker, WalkOn, Walks, batch_seed, draw_outcome};
pub use algorithms::surw::Selective;
pub use algorithms::urw::ByLength;
pub use drive::apart::Within;
pub use drive::budget::{Account, Budget, broken_by};
pub use drive::cut::Part;
pub use drive::driver;
pub use drive::driver::{
    End, Goal, Observer, Policy, Progress, RacingStep, ReversedRace, Watch, is_broken_off,
};
pub use drive::estimate::Estimate;
pub use drive::findings::{BrokenProperty, Finding, Findings, Seen, Tally};
pub use drive::parallel::{Parts, Saver, Workers};
pub use drive::prints::Prints;
pub use drive::search::{Engine, Search, Session};
pub use fagiani::{
    Collectors, Extent, Permutations, Permute, Permuted, PrintedForms, STEPS_OF_PART, UpTo,
};
pub use sympaths::{
    Audience, LeadsHere, Rank, Reduction, SymbolicFindings, SymbolicSearch, UnknownReduction,
};
pub use unfold::{
    Arcs, Drawing, Drawn, NetKind, Place, Placed, Question, Stops, Structure, Unfold, UnfoldFrom,
    Unfolded, Unfolding, UnknownNet, Valued, WalkStates, Walked,
};
pub use witness::explain::{Explained, ShownViolation, explain};
pub use witness::minimise::{closest, minimise};
pub use witness::race::{first_difference, racing};
pub use witness::rehearse::{Violation, past_is_discarded};
pub use witness::shortest::shortest;
