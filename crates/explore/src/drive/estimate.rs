//! How many executions there will be, as far as one can tell from a part of the search.
//!
//! No paper; the idea is that of Kilby, Slaney, Thiébaux, Walsh, "Estimating Search Tree Size",
//! AAAI 2006: every branch of a state is taken to be as large as its siblings, so the part of the
//! search that is done is known at any time, and the executions met so far are that part of the
//! whole.
//!
//! In parts (see `cut`) that is no good guide: parts where many processes sleep are often empty, or
//! nearly so. There each part that is left is taken to be like those that are done and have as many
//! sleepers; if none has, to be somewhat smaller than those with the most sleepers below that, and
//! at most as large. The larger share makes the larger part, but not in proportion: the square root
//! met the corpus better than the share itself.
//!
//! How wrong this is was measured on the corpus, where totals are known (mazurka/tests/estimate.rs,
//! which also holds it to what is said here): what is still to come differs from what is expected
//! by a factor of up to [`SPREAD`] in most programs, in either direction.

use crate::drive::cut::Part;

/// What is still to come is so many times more or less than expected.
const SPREAD: f64 = 5.0;
/// With one more sleeper so much less is expected, as long as nothing is known.
const FEWER: f64 = 0.25;
/// Before this part is done nothing is said.
const TOO_SOON: f64 = 1e-6;

/// The number of executions of a whole search, estimated from a part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// What it probably is.
    pub executions: f64,
    /// It is probably not less.
    pub low: f64,
    /// It is probably not more.
    pub high: f64,
}

impl Estimate {
    /// From the executions met so far and the part of the search that is done.
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

    /// From the executions met so far, and the parts: with their executions, if they are done.
    pub(crate) fn in_parts<'a>(
        executions: u64,
        parts: impl Iterator<Item = (&'a Part, Option<u64>)> + Clone,
    ) -> Option<Self> {
        // For each number of sleepers: what has been met, and in parts of which size.
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

/// Parts of larger shares are larger, but not in proportion.
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
