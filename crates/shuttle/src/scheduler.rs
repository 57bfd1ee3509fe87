//! Schedulers. Each selects a search of `mazurka-rt`; other schedulers cannot be written.

/// The search that a scheduler selects.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub enum Plan {
    /// Everything, up to this many executions.
    Everything(Option<usize>),
    /// The seed, if one was given, and the number of random executions.
    Random(Option<u64>, usize),
    /// As `Random`, but the draws are weighted by the remaining steps of threads.
    Urw(Option<u64>, usize),
    /// The seed, if one was given, the depth (the number of ordering constraints that a bug needs),
    /// and the number of executions with random priorities.
    Priorities(Option<u64>, usize, usize),
    /// One schedule.
    Replay(String),
}

mod sealed {
    pub trait Sealed {}
}

/// A kind of search.
pub trait Scheduler: sealed::Sealed + Send {
    #[doc(hidden)]
    fn plan(&self) -> Plan;
    /// Whether each execution is run twice.
    #[doc(hidden)]
    fn repeats(&self) -> bool {
        false
    }
}

macro_rules! schedulers {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug)]
            pub struct $name(Plan);

            impl sealed::Sealed for $name {}

            impl Scheduler for $name {
                fn plan(&self) -> Plan {
                    self.0.clone()
                }
            }
        )*
    };
}

schedulers! {
    /// Explores every really different execution.
    DfsScheduler;
    /// Draws the next thread at each step.
    RandomScheduler;
    /// Draws the next thread at each step, weighted by the steps that threads have left.
    UrwRandomScheduler;
    /// Draws priorities of threads.
    PctScheduler;
    /// Runs random schedules. Unlike in shuttle, threads do not take turns.
    RoundRobinScheduler;
    /// Runs one schedule.
    ReplayScheduler;
}

impl DfsScheduler {
    /// Explores up to `max_iterations` executions. Random numbers with few values are explored,
    /// whatever `allow_random_data` says.
    pub fn new(max_iterations: Option<usize>, allow_random_data: bool) -> Self {
        _ = allow_random_data;
        Self(Plan::Everything(max_iterations))
    }
}

impl RandomScheduler {
    /// Runs this many executions.
    pub fn new(max_iterations: usize) -> Self {
        Self(Plan::Random(None, max_iterations))
    }

    /// Runs this many executions, from a seed.
    pub fn new_from_seed(seed: u64, max_iterations: usize) -> Self {
        Self(Plan::Random(Some(seed), max_iterations))
    }
}

impl UrwRandomScheduler {
    /// Runs this many executions.
    pub fn new(max_iterations: usize) -> Self {
        Self(Plan::Urw(None, max_iterations))
    }

    /// Runs this many executions, from a seed.
    pub fn new_from_seed(seed: u64, max_iterations: usize) -> Self {
        Self(Plan::Urw(Some(seed), max_iterations))
    }
}

impl PctScheduler {
    /// Runs this many executions, for bugs of a given depth.
    pub fn new(max_depth: usize, max_iterations: usize) -> Self {
        Self(Plan::Priorities(None, max_depth, max_iterations))
    }

    /// Runs this many executions, from a seed.
    pub fn new_from_seed(seed: u64, max_depth: usize, max_iterations: usize) -> Self {
        Self(Plan::Priorities(Some(seed), max_depth, max_iterations))
    }
}

impl RoundRobinScheduler {
    /// Runs this many executions.
    pub fn new(max_iterations: usize) -> Self {
        Self(Plan::Random(None, max_iterations))
    }
}

impl ReplayScheduler {
    /// Runs a schedule in the format of `mazurka-rt`.
    pub fn new_from_encoded(encoded_schedule: &str) -> Self {
        Self(Plan::Replay(encoded_schedule.to_owned()))
    }
}

/// Runs the search of another scheduler, and each schedule twice. Orderings count as `SeqCst`.
#[derive(Clone, Debug)]
pub struct UncontrolledNondeterminismCheckScheduler(Plan);

impl sealed::Sealed for UncontrolledNondeterminismCheckScheduler {}

impl Scheduler for UncontrolledNondeterminismCheckScheduler {
    fn plan(&self) -> Plan {
        self.0.clone()
    }

    fn repeats(&self) -> bool {
        true
    }
}

impl UncontrolledNondeterminismCheckScheduler {
    /// Runs the search of another scheduler.
    pub fn new(scheduler: impl Scheduler) -> Self {
        Self(scheduler.plan())
    }
}
