//! The record of a benchmark: the measurements, and the figures of other tools for comparison.

use serde::{Deserialize, Serialize};

use crate::{Bound, Counts};

/// The measurements of `mazurka bench`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Benchmark {
    /// [`record::VERSION`](crate::record::VERSION).
    pub version: u32,
    /// The clock that measured the seconds.
    pub clock: Clock,
    /// Number of repetitions of each measurement. The fastest one gives the seconds.
    pub repeat: u64,
    /// Whether the programs are tiny. Then the figures say nothing about speed.
    pub quick: bool,
    /// The source of the other tools' figures.
    pub source: String,
    /// One row for each program and algorithm.
    pub rows: Vec<Measured>,
}

/// The clock that measures the seconds of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// CPU time of the exploring thread, which other load on the machine hardly affects.
    ThreadCpu,
    /// Wall-clock time, on systems without CPU time.
    Wall,
}

/// The measurement of one program and engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The name of the program, as in the papers: `writers(9)`.
    pub program: String,
    /// The engine.
    pub algorithm: String,
    /// The constants that were set: names and values.
    pub set: Vec<(String, String)>,
    /// The counts.
    #[serde(flatten)]
    pub counts: Counts,
    /// Number of distinct states; `None` if the engine does not merge states.
    pub states: Option<u64>,
    /// The known number of traces; `None` if it is not known.
    pub expected: Option<u64>,
    /// Bounds that cut the search short.
    pub bounds: Vec<Bound>,
    /// The time of the search.
    pub seconds: f64,
    /// The kind of figure that is compared with `peers` and `target`.
    pub measure: Measure,
    /// The figures of other tools on the same program, in the same measure.
    pub peers: Vec<Peer>,
    /// The figure to reach, in the same measure.
    pub target: Option<f64>,
}

/// The kind of figure that a benchmark compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Traces per second.
    Traces,
    /// Steps per second.
    Steps,
    /// Seconds to the end.
    Seconds,
}

/// The figure of another tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peer {
    /// The tool.
    pub tool: String,
    /// Its figure.
    pub value: f64,
}

impl Measured {
    /// Whether the whole space was explored.
    pub fn complete(&self) -> bool {
        self.bounds.is_empty()
    }

    /// Whether the number of traces agrees with the known one: a complete search must find exactly
    /// this number, and a search that was cut short at most this number.
    pub fn agrees(&self) -> bool {
        match (self.counts.traces, self.expected) {
            (Some(found), Some(known)) if self.complete() => found == known,
            (Some(found), Some(known)) => found <= known,
            _ => true,
        }
    }

    /// Returns the figure that was reached, in its measure; `None` for the seconds of a search that
    /// was cut short.
    pub fn reached(&self) -> Option<f64> {
        let seconds = self.seconds.max(1e-9);
        match self.measure {
            Measure::Traces => Some(self.counts.traces? as f64 / seconds),
            Measure::Steps => Some(self.counts.steps as f64 / seconds),
            Measure::Seconds => self.complete().then_some(self.seconds),
        }
    }

    /// Whether the target was reached; `None` if there is no target.
    pub fn hit(&self) -> Option<bool> {
        let target = self.target?;
        let better = |reached: f64| match self.measure {
            Measure::Traces | Measure::Steps => reached >= target,
            Measure::Seconds => reached <= target,
        };
        Some(self.reached().is_some_and(better))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(measure: Measure, seconds: f64, target: f64) -> Measured {
        Measured {
            program: "two".into(),
            algorithm: "naive".into(),
            set: Vec::new(),
            counts: Counts {
                traces: Some(6),
                steps: 20,
                ..Counts::default()
            },
            states: None,
            expected: Some(6),
            bounds: Vec::new(),
            seconds,
            measure,
            peers: Vec::new(),
            target: Some(target),
        }
    }

    #[test]
    fn rates_must_be_high_and_seconds_low() {
        assert_eq!(measured(Measure::Traces, 2.0, 3.0).hit(), Some(true));
        assert_eq!(measured(Measure::Traces, 2.0, 3.1).hit(), Some(false));
        assert_eq!(measured(Measure::Steps, 2.0, 10.0).hit(), Some(true));
        assert_eq!(measured(Measure::Seconds, 2.0, 1.9).hit(), Some(false));
        assert_eq!(measured(Measure::Seconds, 2.0, 2.0).hit(), Some(true));
    }

    #[test]
    fn a_search_that_was_cut_decides_nothing() {
        let mut cut = measured(Measure::Seconds, 0.1, 1.0);
        cut.bounds.push(Bound::Interrupted);
        assert_eq!((cut.hit(), cut.agrees()), (Some(false), true));
        cut.expected = Some(7);
        assert!(cut.agrees());
        cut.expected = Some(5);
        assert!(!cut.agrees());
    }
}
