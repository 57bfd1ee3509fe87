//! Estimates the number of executions of a search from the finished part of it.
//!
//! This follows no paper exactly. The idea is from Kilby, Slaney, Thiébaux, Walsh, "Estimating
//! Search Tree Size", AAAI 2006: every branch of a state is assumed to be as large as its siblings.
//! Then the finished fraction of the search is known at any time, and the executions met so far are
//! assumed to be the same fraction of all executions.
//!
//! This is inaccurate for parts (see `cut`): parts in which many processes sleep are often empty or
//! almost empty. So each remaining part is assumed to be as large as the finished parts with the
//! same number of sleeping processes. If no such part is finished, the finished parts with the next
//! smaller number of sleeping processes are taken instead, and the remaining part is assumed to be
//! smaller by a constant factor for each additional sleeping process. Parts with equally many
//! sleeping processes differ in their shares of the space: a part is assumed to have executions in
//! proportion to the square root of its share, which fitted the corpus better than the share
//! itself.
//!
//! The error was measured on the corpus, where totals are known (mazurka/tests/it/estimate.rs,
//! which also checks this statement): in most programs the remaining number of executions differs
//! from the expected one by a factor of at most [`SPREAD`].

use crate::drive::cut::Part;

/// The remaining number of executions may be this many times larger or smaller than expected.
const SPREAD: f64 = 5.0;
/// The expected size of a part, relative to a part with one sleeping process fewer. Used while no
/// part with the same number of sleeping processes is finished.
const FEWER: f64 = 0.25;
/// There is no estimate before this fraction of the search is done.
const TOO_SOON: f64 = 1e-6;

/// The estimated number of executions of a whole search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub executions: f64,
    /// A probable lower bound.
    pub low: f64,
    /// A probable upper bound.
    pub high: f64,
}

impl Estimate {
    /// Estimates from the executions met so far and the finished fraction of the search.
    pub fn at(executions: u64, done: f64) -> Option<Self> {
        if executions == 0 || !(TOO_SOON..=1.0 + 1e-6).contains(&done) {
            return None;
        }
        let met = executions as f64;
        Some(Self::with(met, (met / done - met).max(0.0)))
    }

    fn with(met: f64, to_come: f64) -> Self {
        Self {
            executions: met + to_come,
            low: met + to_come / SPREAD,
            high: met + to_come * SPREAD,
        }
    }

    /// Estimates from the executions met so far and from the parts. A finished part comes with its
    /// number of executions, an unfinished one with `None`.
    pub(crate) fn in_parts<'a>(
        executions: u64,
        parts: impl Iterator<Item = (&'a Part, Option<u64>)> + Clone,
    ) -> Option<Self> {
        // For each number of sleeping processes: the executions of the finished parts, and the sum
        // of the sizes of these parts.
        let mut kinds: Vec<(f64, f64)> = Vec::new();
        for (part, done) in parts.clone() {
            let Some(done) = done else { continue };
            let kind = part.asleep.len();
            if kinds.len() <= kind {
                kinds.resize(kind + 1, (0.0, 0.0));
            }
            kinds[kind].0 += done as f64;
            kinds[kind].1 += size(part);
        }
        let (mut to_come, mut at_most) = (0.0, 0.0);
        for (part, _) in parts.filter(|(_, done)| done.is_none()) {
            let sleepers = part.asleep.len();
            let mut known = kinds.iter().enumerate().take(sleepers + 1).rev();
            let Some((kind, (met, of))) = known.find(|(_, (_, of))| *of > 0.0) else {
                continue;
            };
            let expected = size(part) * met / of;
            at_most += expected;
            to_come += expected * FEWER.powi((sleepers - kind) as i32);
        }
        let mut estimate = Self::with(executions as f64, to_come);
        estimate.high = executions as f64 + at_most * SPREAD;
        (executions > 0 && !kinds.is_empty()).then_some(estimate)
    }
}

/// Returns the assumed size of a part, relative to other parts with equally many sleeping
/// processes.
fn size(part: &Part) -> f64 {
    part.share.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_is_done_the_surer() {
        let early = Estimate::at(100, 0.1).expect("an estimate");
        let late = Estimate::at(900, 0.9).expect("an estimate");
        assert!((early.executions - 1000.0).abs() < 1e-6);
        assert!((late.executions - 1000.0).abs() < 1e-6);
        assert!(early.low < late.low && late.high < early.high);
        assert_eq!(Estimate::at(1000, 1.0).map(|all| all.high), Some(1000.0));
        assert_eq!(Estimate::at(0, 0.5), None);
        assert_eq!(Estimate::at(5, 0.0), None);
    }
}
