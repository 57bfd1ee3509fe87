//! The methods for drawing executions, by name. A [`Sample`] is a method with a seed. Each method
//! has a picker in a file of its own (`random`, `pct`, `pos`, `urw`, `surw`).

use std::str::FromStr;

use mazurka_core::{Bound, Execution, StopReason};

use super::pct::Priorities;
use super::pos::StepPriorities;
use super::random::Uniform;
use super::sample::{most_walks, walk};
use super::surw::Selective;
use super::urw::ByLength;
use crate::drive::findings::Findings;
use crate::drive::search::{Engine, Session};

/// How the next process is drawn.
///
/// ```
/// use mazurka_explore::Method;
/// assert_eq!("pos".parse(), Ok(Method::Pos));
/// assert_eq!(Method::Pct { depth: 2 }.name(), "pct");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Each ready process is as likely as any other.
    Random,
    /// By random priorities of processes, some of which are lowered at random steps.
    Pct {
        /// The number of ordering constraints that triggering the bug may need.
        depth: usize,
    },
    /// By random priorities of steps, which are drawn again where steps conflict.
    Pos,
    /// By the expected number of steps that each process has left, so that all interleavings are
    /// about equally likely.
    Urw,
    /// So that all orders of the steps that access one object are about equally likely. The object
    /// is drawn for each run.
    Surw,
}

impl Method {
    /// All methods. The depth of `pct` suffices for most bugs in the evaluation of its paper.
    pub const ALL: [Method; 5] = [
        Method::Random,
        Method::Pct { depth: 3 },
        Method::Pos,
        Method::Urw,
        Method::Surw,
    ];

    /// Returns the name of the method.
    pub fn name(self) -> &'static str {
        match self {
            Method::Random => "random",
            Method::Pct { .. } => "pct",
            Method::Pos => "pos",
            Method::Urw => "urw",
            Method::Surw => "surw",
        }
    }

    /// Returns a description in a few words.
    pub fn summary(self) -> &'static str {
        match self {
            Method::Random => "some executions: each process that can go on is as likely",
            Method::Pct { .. } => "some executions: priorities of processes, with changes",
            Method::Pos => "some executions: priorities of steps, anew where steps conflict",
            Method::Urw => "some executions: processes by the steps they have left",
            Method::Surw => "some executions: uniform over the orders on one shared object",
        }
    }

    /// Returns the depth of `pct`.
    pub fn depth(self) -> Option<usize> {
        match self {
            Method::Pct { depth } => Some(depth),
            Method::Random | Method::Pos | Method::Urw | Method::Surw => None,
        }
    }
}

/// The error for an unknown name of a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownMethod(pub String);

impl std::fmt::Display for UnknownMethod {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = Method::ALL.map(Method::name).join(", ");
        write!(f, "there is no method `{}`; there are {names}", self.0)
    }
}

impl std::error::Error for UnknownMethod {}

impl FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let mut all = Self::ALL.into_iter();
        all.find(|method| method.name() == name)
            .ok_or_else(|| UnknownMethod(name.to_owned()))
    }
}

/// A sample: executions that are drawn at random.
/// [`Limits::executions`](mazurka_core::Limits::executions) is their number. Without that limit,
/// the limit on steps or time ends the sample. Without any of these limits, it has 1000 executions.
///
/// ```
/// use mazurka_core::{Bound, Execution, Limits};
/// use mazurka_explore::{Goal, Method, Sample, Search, Watch};
///
/// fn try_some<E: Execution>(program: &mut E, watch: &mut Watch<'_>) {
///     let search = Search {
///         algorithm: Sample { method: Method::Pos, seed: 7 },
///         limits: Limits { executions: Some(100), ..Limits::default() },
///         goal: Goal::Everything,
///     };
///     let found = search.run(program, watch, &mut ());
///     assert!(found.bounds.contains(&Bound::Sampled(100)));
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sample {
    /// How executions are drawn.
    pub method: Method,
    /// The seed of the random numbers: equal seeds give equal executions.
    pub seed: u64,
}

impl Sample {
    /// Draws at most `most` executions, starting with batch `first`.
    pub(crate) fn walk<E: Execution>(
        self,
        session: Session<'_, '_, E>,
        first: u64,
        most: Option<u64>,
    ) -> Findings {
        let at = (self.seed, first);
        match self.method {
            Method::Random => walk(session, Uniform, at, most),
            Method::Pct { depth } => walk(session, Priorities::new(depth), at, most),
            Method::Pos => walk(session, StepPriorities::default(), at, most),
            Method::Urw => walk(session, ByLength::default(), at, most),
            Method::Surw => walk(session, Selective::default(), at, most),
        }
    }

    /// Adds the bound for a sample, unless a violation has ended the sample.
    pub(crate) fn conclude(found: &mut Findings) {
        if found.stopped != StopReason::Certain {
            found.add_bound(Bound::Sampled(found.walks));
        }
    }
}

impl<E: Execution> Engine<E> for Sample {
    type Found = Findings;

    fn search(&self, session: Session<'_, '_, E>) -> Findings {
        let most = most_walks(&session.limits);
        let mut found = self.walk(session, 0, most);
        Self::conclude(&mut found);
        found
    }
}

impl std::fmt::Display for Sample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.method.name())?;
        if self.seed != 0 {
            write!(f, " --seed {}", self.seed)?;
        }
        match self.method {
            Method::Pct { depth } if !Method::ALL.contains(&self.method) => {
                write!(f, " --depth {depth}")
            }
            _ => Ok(()),
        }
    }
}
