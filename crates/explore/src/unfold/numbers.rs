//! Sets of `u32` numbers, which identify cells or conditions.
//!
//! Most steps touch a few cells, for which a list is the fastest set. A step that touches all
//! elements of a large array would take quadratic time with a list.

use rustc_hash::FxHashSet;

/// A list with more numbers than this has an index.
const FEW: usize = 32;

/// A set of numbers that remembers the order of insertion.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    list: Vec<u32>,
    /// An index of the list, if it is long.
    index: Option<FxHashSet<u32>>,
}

impl Numbers {
    pub fn contains(&self, number: u32) -> bool {
        match &self.index {
            None => self.list.contains(&number),
            Some(index) => index.contains(&number),
        }
    }

    /// Adds a number. Returns whether it is new.
    pub fn insert(&mut self, number: u32) -> bool {
        if self.contains(number) {
            return false;
        }
        self.list.push(number);
        match &mut self.index {
            Some(index) => {
                index.insert(number);
            }
            None if self.list.len() > FEW => {
                self.index = Some(self.list.iter().copied().collect());
            }
            None => {}
        }
        true
    }

    /// Removes all numbers.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns the numbers in the order of insertion.
    pub fn into_list(self) -> Vec<u32> {
        self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_are_sets_in_order() {
        for most in [3, FEW as u32, FEW as u32 + 1, 1000] {
            let mut numbers = Numbers::default();
            let expected: Vec<u32> = (0..most).map(|n| most - n).collect();
            for _ in 0..2 {
                let new = numbers.list.is_empty();
                assert!(expected.iter().all(|&n| numbers.insert(n) == new));
            }
            assert!(expected.iter().all(|&n| numbers.contains(n)));
            assert!(!numbers.contains(0));
            assert_eq!(numbers.index.is_some(), most > FEW as u32);
            assert_eq!(numbers.clone().into_list(), expected);
            numbers.clear();
            assert!(!numbers.contains(most));
        }
    }
}
