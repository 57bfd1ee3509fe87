//! What a caller can ask for.

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

/// Watches without a word and breaks off nothing.
pub fn quietly() -> impl FnMut(&Progress) -> ControlFlow<Bound> {
    |_| ControlFlow::Continue(())
}
