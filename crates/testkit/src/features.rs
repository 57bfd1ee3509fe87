//! Which features of the language a program uses, and which pairs a test run has seen.

use std::collections::{BTreeMap, BTreeSet};

/// A feature of the language, or a shape that is easy to get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Feature {
    Spawn,
}

/// The features that a program uses; none if the text is no program.
pub fn features(_text: &str) -> BTreeSet<Feature> {
    BTreeSet::new()
}

/// How often two features occur together in a program, and together with a violation.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    seen: BTreeMap<(Feature, Feature), (u64, u64)>,
}

impl Pairs {
    /// Counts one program.
    pub fn count(&mut self, features: &BTreeSet<Feature>, violated: bool) {
        for &one in features {
            for &other in features.range(one..) {
                let entry = self.seen.entry((one, other)).or_default();
                entry.0 += 1;
                entry.1 += u64::from(violated);
            }
        }
    }
}
