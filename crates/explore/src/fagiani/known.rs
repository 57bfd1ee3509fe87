//! The known seeds (recorded runs) and their prefixes. A run that would only repeat a known seed
//! need not be made.

use mazurka_core::{Fingerprint, ProcessId};
use smallvec::SmallVec;

use super::seed::Seed;
use crate::drive::prints::Prints;

/// Limit on the number of seeds with which a prefix is compared before it is run. Further
/// comparisons would cost more than a run that repeats a known seed.
const MOST_LOOKS: usize = 32;

/// A prefix that deviates from a seed: the first `made[i]` labels of each process i of the seed,
/// and then one label of `process` that is not the recorded one.
pub(crate) struct Deviation<'a> {
    pub seed: &'a Seed,
    pub made: &'a [u32],
    pub process: ProcessId,
    /// The fingerprint of the labels of `process` in the prefix.
    pub chain: Fingerprint,
    /// The fingerprint of all labels of the prefix.
    pub labels: Fingerprint,
}

/// The data of all seeds that are kept when their permutations are done.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// For each seed, the fingerprint of the labels of all processes.
    labels: Prints,
    /// For each seed and process, the fingerprints of all prefixes of its labels.
    chains: Vec<Vec<Box<[Fingerprint]>>>,
    /// For each such fingerprint, the seeds with that prefix, in the order in which they were
    /// found.
    with: Prints<SmallVec<[u32; 4]>>,
    /// Fingerprints of the labels of deviating prefixes that have been run.
    deviations: Prints,
}

impl Known {
    /// Adds a seed. Returns whether it is new.
    pub fn add(&mut self, seed: &Seed) -> bool {
        let new = self.labels.insert(seed.print);
        if new {
            let number = self.chains.len() as u32;
            let chains: Vec<Box<[Fingerprint]>> = seed.chains().map(Iterator::collect).collect();
            for chain in chains.iter().flatten() {
                self.with.or_default(*chain).push(number);
            }
            self.chains.push(chains);
        }
        new
    }

    /// Whether there is a seed with these labels.
    pub fn has(&self, labels: Fingerprint) -> bool {
        self.labels.contains(&labels)
    }

    /// Whether a deviating prefix must be run to the end of an execution: it is new, and it is not
    /// a prefix of one of the compared seeds.
    pub fn is_new(&mut self, prefix: &Deviation<'_>) -> bool {
        let (seed, made) = (prefix.seed, prefix.made);
        if !self.deviations.insert(prefix.labels) {
            return false;
        }
        let begins = |other: &u32| {
            let other = &self.chains[*other as usize];
            let mut others = (0..made.len()).filter(|&q| q != prefix.process.index());
            others.all(|q| match made[q].checked_sub(1) {
                None => true,
                Some(last) => {
                    let theirs = other.get(q).and_then(|chains| chains.get(last as usize));
                    theirs.copied() == seed.chain_after(q, made[q])
                }
            })
        };
        let with = self.with.get(&prefix.chain).into_iter().flatten();
        !with.rev().take(MOST_LOOKS).any(begins)
    }
}
