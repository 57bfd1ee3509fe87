//! The engines by name.

use std::ops::ControlFlow;
use std::str::FromStr;
use std::time::Instant;

use mazurka_core::{Bound, Execution, Limits, ProcessId, Semantics, StopReason};

use crate::algorithms::context::{Context, Printed, Variant};
use crate::algorithms::dpor::Dpor;
use crate::algorithms::livelock::Map;
use crate::algorithms::naive::Naive;
use crate::algorithms::optimal::Optimal;
use crate::algorithms::sleep::Sleep;
use crate::algorithms::source::Source;
use crate::algorithms::stateful::{SleepSets, Stateful};
use crate::drive::driver::{Goal, Observer, Policy, Progress, Watch, explore, explore_part};
use crate::drive::findings::Findings;
use crate::relations::set::{Fixed, Growing};

/// How to explore.
///
/// ```
/// use mazurka_explore::Algorithm;
/// assert_eq!("optimal".parse(), Ok(Algorithm::Optimal));
/// assert_eq!(Algorithm::Naive.to_string(), "naive");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// All interleavings.
    Naive,
    /// All interleavings but those that sleep sets rule out.
    Sleep,
    /// Persistent sets, found on the way.
    Dpor,
    /// Source sets, found on the way.
    Source,
    /// Each trace exactly once.
    Optimal,
    /// Source sets, and sleep sequences to states that are known.
    Context(Variant),
    /// Each state once.
    Stateful,
}

impl Algorithm {
    /// All of them.
    pub const ALL: &[Algorithm] = &[
        Algorithm::Naive,
        Algorithm::Sleep,
        Algorithm::Dpor,
        Algorithm::Source,
        Algorithm::Optimal,
        Algorithm::CONTEXT,
        Algorithm::Stateful,
    ];

    /// Context-sensitive exploration with all that is good about it.
    pub const CONTEXT: Algorithm = Algorithm::Context(Variant::BEST);

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Naive => "naive",
            Algorithm::Sleep => "sleep",
            Algorithm::Dpor => "dpor",
            Algorithm::Source => "source",
            Algorithm::Optimal => "optimal",
            Algorithm::Context(_) => "context",
            Algorithm::Stateful => "stateful",
        }
    }
}

impl Algorithm {
    /// Whether it compares states, so that it needs a program with states, and one worker explores.
    pub fn compares_states(self) -> bool {
        matches!(self, Algorithm::Context(_) | Algorithm::Stateful)
    }

    /// What it does, in a few words.
    pub fn summary(self) -> &'static str {
        match self {
            Algorithm::Naive => "all interleavings",
            Algorithm::Sleep => "all interleavings that sleep sets leave",
            Algorithm::Dpor => "persistent sets found on the way, with sleep sets",
            Algorithm::Source => "source sets found on the way, with sleep sets",
            Algorithm::Optimal => "each trace exactly once (wakeup trees)",
            Algorithm::Context(_) => "source sets; orders that lead to equal states are tried once",
            Algorithm::Stateful => "each state once (fingerprints); finds livelocks",
        }
    }
}

impl std::fmt::Display for Algorithm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())?;
        match self {
            Algorithm::Context(variant) => variant.fmt(f),
            _ => Ok(()),
        }
    }
}

/// A name that is no algorithm's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownAlgorithm(pub String);

impl std::fmt::Display for UnknownAlgorithm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = Algorithm::ALL.iter().map(|a| a.name()).collect();
        write!(
            f,
            "there is no algorithm `{}`; there are {}",
            self.0,
            names.join(", ")
        )
    }
}

impl std::error::Error for UnknownAlgorithm {}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.iter().find(|algorithm| algorithm.name() == name);
        found
            .copied()
            .ok_or_else(|| UnknownAlgorithm(name.to_owned()))
    }
}

/// As narrow as the runs allow: if one turns out longer, it starts anew, with more room.
macro_rules! in_widths {
    ($session:ident, $policy:ident $(, $option:expr)?) => {
        loop {
            let found = match $session.start.width {
                0 => $session.attempt($policy::<Fixed<1>>::new($($option)?)),
                1 => $session.attempt($policy::<Fixed<2>>::new($($option)?)),
                2 => $session.attempt($policy::<Fixed<4>>::new($($option)?)),
                3 => $session.attempt($policy::<Fixed<16>>::new($($option)?)),
                _ => Some($session.explore(&mut $policy::<Growing>::new($($option)?))),
            };
            match found {
                Some(found) => break found,
                None => $session.start.width += 1,
            }
        }
    };
}

/// Explores a program with an algorithm.
pub fn search_states<E: Semantics, O: Observer<E>>(
    program: &mut E,
    algorithm: Algorithm,
    limits: &Limits,
    goal: Goal,
    watch: &mut Watch<'_>,
    observer: &mut O,
) -> Findings {
    match algorithm {
        Algorithm::Stateful => {
            let limits = &Limits {
                depth: limits.depth.or(Some(u64::MAX)),
                ..limits.clone()
            };
            if !program.may_repeat() {
                let mut policy = Stateful::new(SleepSets::default());
                return explore(program, &mut policy, limits, goal, watch, observer);
            }
            let mut policy = Stateful::new(Map::default());
            let mut found = explore(program, &mut policy, limits, goal, watch, observer);
            if found.stopped == StopReason::Complete {
                let (start, before, counts) = (Instant::now(), found.elapsed, found.counts);
                let look = &mut || {
                    let elapsed = before + start.elapsed();
                    if let Some(limit) = limits.time.filter(|&limit| elapsed >= limit) {
                        return ControlFlow::Break(Bound::TimeLimit(limit.as_millis() as u64));
                    }
                    watch(&Progress {
                        counts,
                        elapsed,
                        done: None,
                        estimate: None,
                    })
                };
                match policy.into_memory().livelock(program, look) {
                    ControlFlow::Continue(livelock) => found.livelock = livelock,
                    ControlFlow::Break(bound) => {
                        found.bound(bound);
                        found.stopped = StopReason::Bound;
                        found.broken_off = true;
                    }
                }
                found.elapsed += start.elapsed();
            }
            found
        }
        Algorithm::Context(variant) => {
            let mut session = Session {
                program,
                start: &mut Start::default(),
                limits: limits.clone(),
                goal,
                watch,
                observer,
            };
            if variant.paper {
                let mut found = in_widths!(session, Printed, variant.last_first);
                // Nothing that it did not find is certain.
                found.bounds.push(Bound::AsPrinted);
                found.stopped = match found.stopped {
                    StopReason::Complete => StopReason::Bound,
                    other => other,
                };
                return found;
            }
            in_widths!(session, Context, variant)
        }
        other => search(program, other, limits, goal, watch, observer),
    }
}

/// Explores a program that keeps no states.
///
/// # Panics
///
/// If the algorithm is [`Algorithm::Stateful`] or [`Algorithm::Context`]: these are for [`search_states`].
pub fn search<E: Execution, O: Observer<E>>(
    program: &mut E,
    algorithm: Algorithm,
    limits: &Limits,
    goal: Goal,
    watch: &mut Watch<'_>,
    observer: &mut O,
) -> Findings {
    let start = &mut Start::default();
    search_part(program, start, algorithm, limits, goal, watch, observer)
}

/// How a search starts.
#[derive(Debug, Default)]
pub(crate) struct Start {
    /// The processes that sleep at the start.
    pub asleep: Vec<ProcessId>,
    /// Which of the widths to try first; afterwards the one that was needed.
    pub width: usize,
}

/// Explores a program where some processes sleep at the start.
pub(crate) fn search_part<E: Execution, O: Observer<E>>(
    program: &mut E,
    start: &mut Start,
    algorithm: Algorithm,
    limits: &Limits,
    goal: Goal,
    watch: &mut Watch<'_>,
    observer: &mut O,
) -> Findings {
    let mut session = Session {
        program,
        start,
        limits: limits.clone(),
        goal,
        watch,
        observer,
    };
    match algorithm {
        Algorithm::Naive => session.explore(&mut Naive::default()),
        Algorithm::Sleep => session.explore(&mut Sleep::new()),
        Algorithm::Dpor => in_widths!(session, Dpor),
        Algorithm::Source => in_widths!(session, Source),
        Algorithm::Optimal => in_widths!(session, Optimal),
        Algorithm::Context(_) | Algorithm::Stateful => {
            panic!("this program keeps no states to compare")
        }
    }
}

/// One search, which may need several attempts.
struct Session<'a, 'w, E, O> {
    program: &'a mut E,
    start: &'a mut Start,
    limits: Limits,
    goal: Goal,
    watch: &'a mut Watch<'w>,
    observer: &'a mut O,
}

impl<E: Execution, O: Observer<E>> Session<'_, '_, E, O> {
    fn explore<P: Policy<E>>(&mut self, policy: &mut P) -> Findings {
        explore_part(
            self.program,
            &self.start.asleep,
            policy,
            &self.limits,
            self.goal,
            self.watch,
            self.observer,
        )
    }

    /// None if the policy has no room for the program's runs.
    fn attempt<P: Policy<E>>(&mut self, mut policy: P) -> Option<Findings> {
        let start = Instant::now();
        let findings = self.explore(&mut policy);
        if !policy.overflowed() {
            return Some(findings);
        }
        let left = |time: std::time::Duration| time.saturating_sub(start.elapsed());
        self.limits.time = self.limits.time.map(left);
        None
    }
}
