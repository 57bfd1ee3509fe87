//! Settings of a search, with loom's names.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// Default time limit of a test that bounds preemptions, for each of its two searches.
const BOUNDED: Duration = Duration::from_secs(30);

/// loom's settings. [`Builder::new`] reads loom's variables and those of `mazurka-rt`.
#[derive(Debug)]
#[non_exhaustive]
pub struct Builder {
    /// Ignored: there is no limit.
    pub max_threads: usize,
    /// Limit on the steps of one execution, if it exceeds that of `mazurka-rt`
    /// (`LOOM_MAX_BRANCHES`).
    pub max_branches: usize,
    /// Limit on executions (`LOOM_MAX_PERMUTATIONS`).
    pub max_permutations: Option<usize>,
    /// Limit on time (`LOOM_MAX_DURATION`, in seconds).
    pub max_duration: Option<Duration>,
    /// Limit on preemptions, for a search that is too large without one (`LOOM_MAX_PREEMPTIONS`).
    ///
    /// First everything is explored, within the limit on time (default: 30 seconds). If that does
    /// not complete, a second search explores the interleavings with at most this many preemptions,
    /// under sequential consistency and within the same limit.
    pub preemption_bound: Option<usize>,
    /// Ignored: no checkpoint is written.
    pub checkpoint_file: Option<PathBuf>,
    /// Ignored: no checkpoint is written.
    pub checkpoint_interval: usize,
    /// Ignored: everything is explored.
    pub expect_explicit_explore: bool,
    /// Ignored: reports always show locations.
    pub location: bool,
    /// Ignored: no log is written; a report of a failure shows its steps.
    pub log: bool,
}

fn variable<T: FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    match text.parse() {
        Ok(value) => Some(value),
        Err(_) => panic!("invalid value for `{name}`: {text}"),
    }
}

impl Builder {
    /// Reads the environment.
    pub fn new() -> Self {
        Self {
            max_threads: crate::MAX_THREADS,
            max_branches: variable("LOOM_MAX_BRANCHES").unwrap_or(1_000),
            max_permutations: variable("LOOM_MAX_PERMUTATIONS"),
            max_duration: variable("LOOM_MAX_DURATION").map(Duration::from_secs),
            preemption_bound: variable("LOOM_MAX_PREEMPTIONS"),
            checkpoint_file: variable("LOOM_CHECKPOINT_FILE"),
            checkpoint_interval: variable("LOOM_CHECKPOINT_INTERVAL").unwrap_or(20_000),
            expect_explicit_explore: false,
            location: std::env::var_os("LOOM_LOCATION").is_some(),
            log: std::env::var_os("LOOM_LOG").is_some(),
        }
    }

    /// Sets the file for checkpoints, which are not written.
    pub fn checkpoint_file(&mut self, file: &str) -> &mut Self {
        self.checkpoint_file = Some(file.into());
        self
    }

    /// Explores a closure: [`mazurka_rt::Builder::check`].
    #[track_caller]
    pub fn check<F>(&self, f: F)
    where
        F: Fn() + Sync + Send + 'static,
    {
        let mut builder = mazurka_rt::Builder::new();
        builder.nameless = true;
        let bounded = self.preemption_bound.map(|_| BOUNDED);
        builder.time_limit = self.max_duration.or(builder.time_limit).or(bounded);
        let most = self.max_permutations.map(|most| most as u64);
        builder.max_executions = most.or(builder.max_executions);
        if self.max_branches > mazurka_rt::Builder::DEPTH as usize {
            builder.max_depth = Some(self.max_branches as u64);
        }
        builder.leaks = true;
        // loom's only spurious event.
        builder.spurious_polls = 1;
        let Some(bound) = self.preemption_bound else {
            builder.check(f);
            return;
        };
        let f = Arc::new(f);
        let again = f.clone();
        let summary = builder.clone().check(move || f());
        if !summary.is_complete() && builder.replay.is_none() {
            builder.memory = Some(mazurka_rt::Memory::Sc);
            builder.max_preemptions = Some(u32::try_from(bound).unwrap_or(u32::MAX));
            builder.check(move || again());
        }
    }
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

/// Explores a closure: [`mazurka_rt::model()`]. As in loom, leaking an `Arc` is a failure.
#[track_caller]
pub fn model<F>(f: F)
where
    F: Fn() + Sync + Send + 'static,
{
    Builder::new().check(f);
}
