//! What a caller can ask for.

use std::ops::ControlFlow;

use mazurka_core::record::OptionsRecord;
use mazurka_core::{Bound, Limits};
use mazurka_explore::Progress;

/// How to search.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How far to go.
    pub limits: Limits,
    /// Whether different results are a violation, even if the program states other properties.
    pub deterministic: bool,
    /// How many workers explore at the same time, where an engine can have several; 0 stands for 1.
    pub jobs: usize,
    /// The values of inputs by name, for a single run: `0.1#0` is the first input of process 0.1. Others are 0.
    pub inputs: Vec<(String, i64)>,
    /// Which solver decides conditions over inputs. Another program must be on the path.
    pub solver: mazurka_smt::Choice,
}

impl Options {
    /// What a record says of them, for a search that looks no deeper than `depth`.
    pub(crate) fn record(&self, depth: Option<u64>) -> OptionsRecord {
        let limits = &self.limits;
        OptionsRecord {
            property: self.deterministic.then(|| "deterministic".to_owned()),
            max_depth: depth,
            max_steps: limits.steps,
            max_executions: limits.executions,
            max_local: limits.local,
            time_limit: limits.time.map(|time| time.as_millis() as u64),
            memory_limit: limits.memory,
            jobs: (self.jobs > 0).then_some(self.jobs as u64),
        }
    }
}

/// Watches without a word and breaks off nothing.
pub fn quietly() -> impl FnMut(&Progress) -> ControlFlow<Bound> {
    |_| ControlFlow::Continue(())
}
