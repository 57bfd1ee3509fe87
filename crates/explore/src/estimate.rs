//! How many executions there will be, as far as one can tell from a part of the search.
//!
//! No paper; the idea is that of Kilby, Slaney, Thiébaux, Walsh, "Estimating Search Tree Size", AAAI 2006: every branch of a state is taken to be as
//! large as its siblings, so the part of the search that is done is known at any time, and the executions met so far are
//! that part of the whole.
//!
//! How wrong this is was measured on the corpus, where totals are known (mazurka/tests/estimate.rs, which also holds it to what is
//! said here): what is still to come differs from what is expected by a factor of up to [`SPREAD`] in most programs, in either
//! direction.

/// What is still to come is so many times more or less than expected.
const SPREAD: f64 = 4.0;
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
        let to_come = (met / done - met).max(0.0);
        Some(Self {
            executions: met + to_come,
            low: met + to_come / SPREAD,
            high: met + to_come * SPREAD,
        })
    }
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
