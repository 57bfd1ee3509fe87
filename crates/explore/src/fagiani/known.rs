//! The seeds that are known, and what they begin with.

use mazurka_core::{Fingerprint, ProcessId};
use smallvec::SmallVec;

use super::seed::Seed;
use crate::drive::prints::Prints;

/// So many seeds are looked at before a run is made that may turn out to be a known one: it costs
/// no more than they do.
const MOST_LOOKS: usize = 32;

/// A prefix that deviates from a seed: it has so many labels of each process of the seed, and then
/// another one.
pub(crate) struct Deviation<'a> {
    pub seed: &'a Seed,
    pub made: &'a [u32],
    /// Whose label the last one is.
    pub process: ProcessId,
    /// The print of the steps of that process.
    pub chain: Fingerprint,
    /// The labels of all processes.
    pub labels: Fingerprint,
}

/// What is left of seeds when their permutations are done.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// The labels of all processes of each.
    labels: Prints,
    /// For each seed and process the prints of its steps up to each.
    chains: Vec<Vec<Box<[Fingerprint]>>>,
    /// The seeds with such steps of a process, in the order in which they were found.
    with: Prints<SmallVec<[u32; 4]>>,
    /// The labels of prefixes that deviate and need not be looked at again.
    deviations: Prints,
}

impl Known {
    /// Keeps a seed. Whether it is new.
    pub fn add(&mut self, seed: &Seed) -> bool {
        let new = self.labels.insert(seed.print);
        if new {
            let number = self.chains.len() as u32;
            let chains: Vec<Box<[Fingerprint]>> = seed.chains().map(Iterator::collect).collect();
            for chain in chains.iter().flatten() {
                self.with.of(*chain).push(number);
            }
            self.chains.push(chains);
        }
        new
    }

    /// Whether there is one with these labels.
    pub fn has(&self, labels: Fingerprint) -> bool {
        self.labels.contains(&labels)
    }

    /// Whether a prefix that deviates must be run to an end: it is new, and not the beginning of a
    /// seed, as far as one looks.
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
