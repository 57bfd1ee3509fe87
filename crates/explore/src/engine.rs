//! The engines by name.

use std::str::FromStr;
use std::time::Instant;

use mazurka_core::{Execution, Limits};

use crate::driver::{Findings, Goal, Observer, Policy, Watch, explore};
use crate::naive::Naive;
use crate::optimal::Optimal;
use crate::set::{Fixed, Growing, Set};

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
    /// Each trace exactly once.
    Optimal,
}

impl Algorithm {
    /// All of them.
    pub const ALL: &[Algorithm] = &[Algorithm::Naive, Algorithm::Optimal];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Naive => "naive",
            Algorithm::Optimal => "optimal",
        }
    }
}

impl Algorithm {
    /// What it does, in a few words.
    pub fn summary(self) -> &'static str {
        match self {
            Algorithm::Naive => "all interleavings",
            Algorithm::Optimal => "each trace exactly once (wakeup trees)",
        }
    }
}

impl std::fmt::Display for Algorithm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
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

/// Explores a program with an algorithm.
pub fn search<E: Execution, O: Observer<E>>(
    program: &mut E,
    algorithm: Algorithm,
    limits: &Limits,
    goal: Goal,
    watch: &mut Watch<'_>,
    observer: &mut O,
) -> Findings {
    match algorithm {
        Algorithm::Naive => explore(
            program,
            &mut Naive::default(),
            limits,
            goal,
            watch,
            observer,
        ),
        Algorithm::Optimal => {
            let mut session = Session {
                program,
                limits: limits.clone(),
                goal,
                watch,
                observer,
            };
            // As narrow as the runs allow: if one turns out longer, it starts anew, with more room.
            None.or_else(|| session.attempt(Optimal::<Fixed<1>>::new()))
                .or_else(|| session.attempt(Optimal::<Fixed<2>>::new()))
                .or_else(|| session.attempt(Optimal::<Fixed<4>>::new()))
                .or_else(|| session.attempt(Optimal::<Fixed<16>>::new()))
                .unwrap_or_else(|| session.explore(&mut Optimal::<Growing>::new()))
        }
    }
}

/// One search, which may need several attempts.
struct Session<'a, 'w, E, O> {
    program: &'a mut E,
    limits: Limits,
    goal: Goal,
    watch: &'a mut Watch<'w>,
    observer: &'a mut O,
}

impl<E: Execution, O: Observer<E>> Session<'_, '_, E, O> {
    fn explore<P: Policy<E>>(&mut self, policy: &mut P) -> Findings {
        explore(
            self.program,
            policy,
            &self.limits,
            self.goal,
            self.watch,
            self.observer,
        )
    }

    /// None if the policy has no room for the program's runs.
    fn attempt<S: Set>(&mut self, mut policy: Optimal<S>) -> Option<Findings> {
        let start = Instant::now();
        let findings = self.explore(&mut policy);
        if !Policy::<E>::overflowed(&policy) {
            return Some(findings);
        }
        let left = |time: std::time::Duration| time.saturating_sub(start.elapsed());
        self.limits.time = self.limits.time.map(left);
        None
    }
}
