//! Happens-before of one run.
//!
//! In runs of up to [`BITSET_EVENTS`] events, each event stores the set of all its predecessors as
//! bits over positions: a test reads one bit, and race analysis needs sets. Longer runs use vector
//! clocks, whose size depends on the number of processes instead of the length.

use smallvec::SmallVec;

use crate::{Event, immediate_predecessors};

/// The greatest length of a run for which predecessors are stored as bits. For longer runs, n² bits
/// take more memory than n vector clocks of a usual number of processes.
const BITSET_EVENTS: usize = 4096;

/// The happens-before relation of a run.
///
/// ```
/// use mazurka_core::{Access, Event, HappensBefore, ProcessId};
/// let access = |process, number, access| Event {
///     claims: [access].into_iter().collect(),
///     ..Event::new(ProcessId(process), number)
/// };
/// let run = [
///     access(0, 0, Access::write(7)),
///     access(1, 0, Access::read(7)),
///     access(1, 1, Access::write(8)),
///     access(2, 0, Access::write(9)),
/// ];
/// let order = HappensBefore::new(&run);
/// assert!(order.before(0, 2));
/// assert!(!order.before(0, 3));
/// assert_eq!(order.past(2), [0, 1, 2]);
/// ```
pub struct HappensBefore {
    rows: Rows,
    len: usize,
}

enum Rows {
    /// `words` words for each event.
    Bits { words: usize, bits: Vec<u64> },
    /// For each event: its process, its index among the events of the process (from 1), and its
    /// clock.
    Clocks(Vec<(usize, u32, SmallVec<[u32; 8]>)>),
}

impl HappensBefore {
    /// Computes the relation.
    pub fn new(run: &[Event]) -> Self {
        Self::with_bits_up_to(BITSET_EVENTS, run)
    }

    fn with_bits_up_to(limit: usize, run: &[Event]) -> Self {
        let before = immediate_predecessors(run);
        let rows = if run.len() <= limit {
            let words = run.len().div_ceil(64);
            let mut bits = vec![0; words * run.len()];
            for (at, predecessors) in before.iter().enumerate() {
                let (done, row) = bits.split_at_mut(at * words);
                for &p in predecessors {
                    let p = p as usize;
                    row[p / 64] |= 1 << (p % 64);
                    for (into, from) in row.iter_mut().zip(&done[p * words..(p + 1) * words]) {
                        *into |= from;
                    }
                }
            }
            Rows::Bits { words, bits }
        } else {
            let mut clocks: Vec<(usize, u32, SmallVec<[u32; 8]>)> = Vec::with_capacity(run.len());
            for (event, predecessors) in run.iter().zip(&before) {
                let mut clock = SmallVec::<[u32; 8]>::new();
                for &p in predecessors {
                    let past = &clocks[p as usize].2;
                    if clock.len() < past.len() {
                        clock.resize(past.len(), 0);
                    }
                    for (into, from) in clock.iter_mut().zip(past) {
                        *into = (*into).max(*from);
                    }
                }
                let process = event.process.index();
                if clock.len() <= process {
                    clock.resize(process + 1, 0);
                }
                clock[process] = event.number + 1;
                clocks.push((process, event.number + 1, clock));
            }
            Rows::Clocks(clocks)
        };
        Self {
            rows,
            len: run.len(),
        }
    }

    /// Whether the event at `earlier` happens before the event at `later`.
    pub fn before(&self, earlier: usize, later: usize) -> bool {
        match &self.rows {
            Rows::Bits { words, bits } => {
                bits[later * words + earlier / 64] >> (earlier % 64) & 1 == 1
            }
            Rows::Clocks(clocks) => {
                let (process, number, _) = clocks[earlier];
                earlier < later
                    && clocks[later]
                        .2
                        .get(process)
                        .is_some_and(|&seen| seen >= number)
            }
        }
    }

    /// Returns the event at a position and all events that happen before it, in the order of the
    /// run.
    pub fn past(&self, of: usize) -> Vec<usize> {
        (0..self.len)
            .filter(|&at| at == of || self.before(at, of))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Access, ProcessId, dependent};

    /// Creates a random run. The sequence of runs is fixed, so failures can be reproduced.
    fn random_run(seed: u64, len: usize) -> Vec<Event> {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut next = move |below: u32| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            ((state >> 33) as u32) % below
        };
        let mut numbers = [0; 5];
        (0..len)
            .map(|_| {
                let process = next(5);
                let mut event = Event::new(ProcessId(process), numbers[process as usize]);
                numbers[process as usize] += 1;
                let access = Access::read(next(6)).over(1 + next(2));
                event.claims.push(if next(2) == 0 {
                    access
                } else {
                    Access::write(access.first)
                });
                event
            })
            .collect()
    }

    #[test]
    fn bits_and_clocks_are_the_transitive_closure_of_dependence() {
        for seed in 0..50 {
            let run = random_run(seed, 70);
            let bits = HappensBefore::new(&run);
            let clocks = HappensBefore::with_bits_up_to(0, &run);
            let mut closure = vec![vec![false; run.len()]; run.len()];
            for j in 0..run.len() {
                for i in (0..j).rev() {
                    if dependent(&run[i], &run[j]) {
                        closure[i][j] = true;
                    }
                    closure[i][j] |= (i + 1..j).any(|k| closure[i][k] && closure[k][j]);
                }
            }
            for (i, row) in closure.iter().enumerate() {
                for (j, &before) in row.iter().enumerate() {
                    assert_eq!(bits.before(i, j), before, "bits, seed {seed}: {i} {j}");
                    assert_eq!(clocks.before(i, j), before, "clocks, seed {seed}: {i} {j}");
                }
            }
        }
    }
}
