//! Estimates which share of a program's traces occurs in a sample of executions.
//!
//! Good, "The population frequencies of species and the estimation of population parameters",
//! Biometrika 40, 1953: the probability that the next execution has a trace that is not in the
//! sample is about f₁/n. Chao, "Nonparametric estimation of the number of classes in a population",
//! Scandinavian Journal of Statistics 11, 1984: there are at least about S + f₁(f₁ - 1)/(2(f₂ + 1))
//! traces (the form that is also defined for f₂ = 0).
//!
//! | papers | here |
//! |---|---|
//! | n, the individuals | [`TraceEstimate::executions`] |
//! | S, the species in the sample | [`TraceEstimate::different`] |
//! | f₁, f₂: species that occur once, twice | [`TraceEstimate::once`], [`TraceEstimate::twice`] |
//!
//! Both estimates assume that executions are drawn independently, by the same rule. They do not
//! apply to single traces: an improbable trace may be the one with the bug.

use serde::{Deserialize, Serialize};

/// How executions were drawn, and which share of the traces occurs among them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SampleRecord {
    /// `random`, `pct`, `pos`, `urw` or `surw`.
    pub method: String,
    /// The seed. The same seed draws the same executions again.
    pub seed: u64,
    /// `pct`: the number of ordering constraints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u64>,
    /// Number of executions drawn, including incomplete ones. If a violation ended the sample, the
    /// last of them shows it.
    pub runs: u64,
    /// The estimated share of the traces that occurs among these executions. `None` if a violation
    /// has ended the sample, if no execution was complete, or if the engine does not know which
    /// executions are equivalent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<TraceEstimate>,
}

/// An estimate of the share of a program's traces that occurs in a sample.
///
/// ```
/// use mazurka_core::record::TraceEstimate;
///
/// // Four executions of one trace, two of another, one each of two more.
/// let seen = TraceEstimate::of([4, 2, 1, 1]).unwrap();
/// assert_eq!((seen.executions, seen.different), (8, 4));
/// assert_eq!((seen.unseen, seen.at_least), (0.25, 4));
/// // If every trace occurs several times, there are probably no others.
/// assert_eq!(TraceEstimate::of([5, 3]).unwrap().covered(), 1.0);
/// assert_eq!(TraceEstimate::of([]), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceEstimate {
    /// Number of complete executions drawn.
    pub executions: u64,
    /// Number of different traces among them.
    pub different: u64,
    /// Number of traces that occur once.
    pub once: u64,
    /// Number of traces that occur twice.
    pub twice: u64,
    /// The estimated probability that the next complete execution has a trace that is not in the
    /// sample (Good and Turing).
    pub unseen: f64,
    /// The estimated least number of traces (Chao).
    pub at_least: u64,
}

impl TraceEstimate {
    /// Estimates from the number of times that each trace occurs; `None` if there is no trace.
    pub fn of(times: impl IntoIterator<Item = u64>) -> Option<Self> {
        let [mut executions, mut different, mut once, mut twice] = [0; 4];
        for times in times {
            executions += times;
            different += 1;
            once += u64::from(times == 1);
            twice += u64::from(times == 2);
        }
        let pairs = u128::from(once) * u128::from(once.saturating_sub(1));
        let more = pairs / (2 * (u128::from(twice) + 1));
        let more = u64::try_from(more).unwrap_or(u64::MAX);
        (executions > 0).then(|| Self {
            executions,
            different,
            once,
            twice,
            unseen: once as f64 / executions as f64,
            at_least: different.saturating_add(more),
        })
    }

    /// Returns the estimated probability that the next complete execution has a trace of the
    /// sample.
    pub fn covered(&self) -> f64 {
        1.0 - self.unseen
    }
}
