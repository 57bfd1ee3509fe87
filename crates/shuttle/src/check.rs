//! Searches, with shuttle's names.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mazurka_rt::{Builder, Memory, Summary};

use crate::scheduler::{
    DfsScheduler, PctScheduler, Plan, RandomScheduler, ReplayScheduler, Scheduler,
    UncontrolledNondeterminismCheckScheduler, UrwRandomScheduler,
};

/// The steps that shuttle allows an execution by default.
const DEFAULT_MAX_STEPS: usize = 1_000_000;

/// Settings of a search.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Minimum size of a thread's stack in bytes.
    pub stack_size: usize,
    /// Ignored: failures are always printed.
    pub failure_persistence: FailurePersistence,
    /// Limit on the steps of one execution.
    pub max_steps: MaxSteps,
    /// Limit on time.
    pub max_time: Option<Duration>,
    /// Ignored: orderings are explored, so there is nothing to warn about.
    pub silence_warnings: bool,
    /// Ignored.
    pub record_steps_in_span: bool,
}

impl Config {
    /// Makes shuttle's default settings.
    pub fn new() -> Self {
        Self {
            stack_size: 0x8000,
            failure_persistence: FailurePersistence::Print,
            max_steps: MaxSteps::FailAfter(DEFAULT_MAX_STEPS),
            max_time: None,
            silence_warnings: false,
            record_steps_in_span: false,
        }
    }

    fn builder(&self) -> Builder {
        let mut builder = Builder::new();
        builder.stack_size = builder.stack_size.max(self.stack_size);
        builder.time_limit = self.max_time.or(builder.time_limit);
        builder.max_depth = match self.max_steps {
            MaxSteps::ContinueAfter(steps) => Some(steps as u64),
            // The default limit of `mazurka-rt` is lower than shuttle's.
            MaxSteps::FailAfter(steps) if steps < DEFAULT_MAX_STEPS => Some(steps as u64),
            _ => builder.max_depth,
        };
        builder
    }

    /// Panics if an execution was too long, and that is a failure.
    #[track_caller]
    fn fail_if_too_long(&self, summary: &Summary) {
        if let MaxSteps::FailAfter(steps) = self.max_steps
            && summary.has_cut_executions()
        {
            panic!(
                "exceeded max_steps bound {steps}: is there a loop that waits for another thread without `yield_now`?"
            );
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::new()
    }
}

/// Where shuttle saves a failing schedule. Here the value is ignored: the schedule is printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailurePersistence {
    /// Nowhere.
    None,
    /// Prints the schedule.
    Print,
    /// To a file.
    File(Option<PathBuf>),
}

/// The treatment of an execution that is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxSteps {
    /// There is no limit except that of `mazurka-rt`; reaching that one is a failure.
    None,
    /// It is a failure. Steps are those of `mazurka-rt`: a `yield_now` or `sleep` is none.
    FailAfter(usize),
    /// It is cut, and the summary says so.
    ContinueAfter(usize),
}

/// Runs a search.
#[derive(Debug)]
pub struct Runner<S> {
    scheduler: S,
    config: Config,
}

impl<S: Scheduler + 'static> Runner<S> {
    /// Makes a search with a scheduler.
    pub fn new(scheduler: S, config: Config) -> Self {
        Self { scheduler, config }
    }

    /// Explores a closure. Returns the number of executions.
    #[track_caller]
    pub fn run<F>(self, f: F) -> usize
    where
        F: Fn() + Send + Sync + 'static,
    {
        let repeats = self.scheduler.repeats();
        search((&self.scheduler.plan(), repeats), &self.config, f)
    }
}

#[track_caller]
fn search<F>((plan, repeats): (&Plan, bool), config: &Config, f: F) -> usize
where
    F: Fn() + Send + Sync + 'static,
{
    let mut builder = config.builder();
    if repeats {
        (builder.repeats, builder.memory) = (true, Some(Memory::Sc));
    }
    let summary = match plan {
        Plan::Everything(most) => {
            builder.max_executions = most.map(|most| most as u64).or(builder.max_executions);
            builder.check(f)
        }
        Plan::Random(seed, executions) => {
            builder.seed = seed.unwrap_or(builder.seed);
            builder.check_random(f, *executions as u64)
        }
        Plan::Urw(seed, executions) => {
            builder.seed = seed.unwrap_or(builder.seed);
            builder.check_urw(f, *executions as u64)
        }
        Plan::Priorities(seed, depth, executions) => {
            builder.seed = seed.unwrap_or(builder.seed);
            builder.check_pct(f, *executions as u64, *depth)
        }
        Plan::Replay(schedule) => {
            builder.replay = Some(schedule.clone());
            builder.replay_at = None;
            builder.check(f)
        }
    };
    config.fail_if_too_long(&summary);
    usize::try_from(summary.executions).unwrap_or(usize::MAX)
}

/// Runs several searches, one after the other. shuttle runs them in parallel.
#[derive(Debug)]
pub struct PortfolioRunner {
    /// The search of each scheduler, and whether it repeats executions.
    plans: Vec<(Plan, bool)>,
    config: Config,
}

impl PortfolioRunner {
    /// Makes a runner without searches. The first failure ends it, whatever `stop_on_first_failure`
    /// says.
    pub fn new(stop_on_first_failure: bool, config: Config) -> Self {
        _ = stop_on_first_failure;
        Self {
            plans: Vec::new(),
            config,
        }
    }

    /// Adds a search with a scheduler.
    pub fn add(&mut self, scheduler: impl Scheduler + 'static) {
        self.plans.push((scheduler.plan(), scheduler.repeats()));
    }

    /// Explores a closure with all searches.
    #[track_caller]
    pub fn run<F>(self, f: F)
    where
        F: Fn() + Send + Sync + 'static,
    {
        let f = Arc::new(f);
        for (plan, repeats) in &self.plans {
            let f = f.clone();
            search((plan, *repeats), &self.config, move || f());
        }
    }
}

/// Runs a closure once, under a random schedule.
#[track_caller]
pub fn check<F>(f: F)
where
    F: Fn() + Send + Sync + 'static,
{
    check_random(f, 1);
}

/// Explores every really different execution of a closure, up to `max_iterations` executions.
#[track_caller]
pub fn check_dfs<F>(f: F, max_iterations: Option<usize>)
where
    F: Fn() + Send + Sync + 'static,
{
    Runner::new(DfsScheduler::new(max_iterations, false), Config::default()).run(f);
}

/// Runs a closure under random schedules.
#[track_caller]
pub fn check_random<F>(f: F, iterations: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    Runner::new(RandomScheduler::new(iterations), Config::default()).run(f);
}

/// Runs a closure under random schedules, drawn from a seed.
#[track_caller]
pub fn check_random_with_seed<F>(f: F, seed: u64, iterations: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    let scheduler = RandomScheduler::new_from_seed(seed, iterations);
    Runner::new(scheduler, Config::default()).run(f);
}

/// Runs a closure under random schedules, weighted by the steps that threads have left.
#[track_caller]
pub fn check_urw<F>(f: F, iterations: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    Runner::new(UrwRandomScheduler::new(iterations), Config::default()).run(f);
}

/// Runs a closure under schedules with random priorities of threads.
#[track_caller]
pub fn check_pct<F>(f: F, iterations: usize, depth: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    Runner::new(PctScheduler::new(depth, iterations), Config::default()).run(f);
}

/// Runs a closure under random schedules, each of them twice. Fails if the same schedule leads to
/// different steps. Orderings count as `SeqCst`.
#[track_caller]
pub fn check_uncontrolled_nondeterminism<F>(f: F, max_iterations: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    let scheduler = RandomScheduler::new(max_iterations);
    let scheduler = UncontrolledNondeterminismCheckScheduler::new(scheduler);
    Runner::new(scheduler, Config::default()).run(f);
}

/// Runs a closure under one schedule, in the format of `mazurka-rt`.
#[track_caller]
pub fn replay<F>(f: F, encoded_schedule: &str)
where
    F: Fn() + Send + Sync + 'static,
{
    let scheduler = ReplayScheduler::new_from_encoded(encoded_schedule);
    Runner::new(scheduler, Config::default()).run(f);
}
