//! What a caller can ask for.

use std::fmt;
use std::ops::ControlFlow;

use mazurka_core::{Bound, Limits};
use mazurka_explore::Progress;

/// How to search.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How far to go.
    pub limits: Limits,
    /// Whether different results are a violation, even if the program states other properties.
    pub deterministic: bool,
}

/// The engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// All interleavings.
    Naive,
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Algorithm::Naive => "naive",
        })
    }
}

/// Called every now and then during a search: may show progress, and may break it off.
pub type Watch<'a> = dyn FnMut(&Progress) -> ControlFlow<Bound> + 'a;

/// Watches without a word and breaks off nothing.
pub fn quietly() -> impl FnMut(&Progress) -> ControlFlow<Bound> {
    |_| ControlFlow::Continue(())
}
