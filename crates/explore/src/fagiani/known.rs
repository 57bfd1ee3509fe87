//! The seeds that are known, and what they begin with.

use mazurka_core::{Fingerprint, ProcessId};
use smallvec::SmallVec;

use super::seed::Seed;
use crate::drive::prints::Prints;

/// So many seeds are looked at before a run is made that may turn out to be a known one: it costs
/// no more than they do.
const MOST_LOOKS: usize = 32;

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
    /// seed, as far as one looks. The prefix has so many labels of each process of a seed, and then
    /// another one, with which the steps of its process have this print.
    pub fn is_new(
        &mut self,
        labels: Fingerprint,
        seed: &Seed,
        made: &[u32],
        process: ProcessId,
        chain: Fingerprint,
    ) -> bool {
        if !self.deviations.insert(labels) {
            return false;
        }
        let begins = |other: &u32| {
            let other = &self.chains[*other as usize];
            let mut others = (0..made.len()).filter(|&q| q != process.index());
            others.all(|q| match made[q].checked_sub(1) {
                None => true,
                Some(last) => {
                    let theirs = other.get(q).and_then(|chains| chains.get(last as usize));
                    theirs.copied() == seed.chain_after(q, made[q])
                }
            })
        };
        let with = self.with.get(&chain).into_iter().flatten();
        !with.rev().take(MOST_LOOKS).any(begins)
    }
}
