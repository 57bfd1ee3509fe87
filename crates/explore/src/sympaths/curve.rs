//! The number of states during a search: the curve of Fig. 9.

/// Limit on the points of the curve.
const POINTS: usize = 2048;

/// What one application of SCHEDULE does to the number of states.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Expansion {
    /// The number of new states: successors, and states in which every process waits.
    pub(super) new: u32,
    /// Whether some process moved. Only then is the expansion a step.
    pub(super) moved: bool,
    /// Whether one more new state is added after the step.
    pub(super) late: bool,
}

/// The curve: the number of states in the configuration, ended ones included, after each step.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    pub(super) steps: u64,
    states: u64,
    pub(super) peak: u64,
    points: Vec<(u64, u64)>,
    /// Number of steps between two points.
    stride: u64,
}

impl Curve {
    /// Creates the curve of a search that has not made a step.
    pub(super) fn new() -> Self {
        Self {
            steps: 0,
            states: 1,
            peak: 1,
            points: vec![(0, 1)],
            stride: 1,
        }
    }

    /// Adds an expansion; the longer the curve, the larger the distance between its points.
    pub(super) fn add(&mut self, expansion: Expansion) {
        self.states = (self.states + u64::from(expansion.new)).saturating_sub(1);
        if expansion.moved {
            self.steps += 1;
            self.peak = self.peak.max(self.states);
            if self.steps.is_multiple_of(self.stride) {
                self.points.push((self.steps, self.states));
            }
            if self.points.len() >= POINTS {
                self.stride *= 2;
                let stride = self.stride;
                self.points.retain(|point| point.0.is_multiple_of(stride));
            }
        }
        self.states += u64::from(expansion.late);
    }

    /// Returns the points, up to the last step.
    pub(super) fn into_points(self) -> Vec<(u64, u64)> {
        let (mut points, last) = (self.points, (self.steps, self.states));
        if points.last() != Some(&last) {
            points.push(last);
        }
        points
    }
}
