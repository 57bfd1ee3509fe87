//! Sets of positions in the current execution, as bits.
//!
//! Exploration with sets of one word is one and a half times as fast as with two words. So engines
//! are generic over the set, and each search chooses its width. Executions that exceed all fixed
//! widths use sets that grow.

/// A set of small numbers.
pub(crate) trait Set: Clone + Default + PartialEq {
    /// Exclusive upper bound of the numbers that the set can contain.
    const CAPACITY: usize;

    fn insert(&mut self, at: usize);
    /// Inserts a number if the condition holds, without a branch where possible.
    fn insert_if(&mut self, condition: bool, at: usize) {
        if condition {
            self.insert(at);
        }
    }
    fn remove(&mut self, at: usize);
    /// Removes a number if the condition holds, without a branch where possible.
    fn remove_if(&mut self, condition: bool, at: usize) {
        if condition {
            self.remove(at);
        }
    }
    fn contains(&self, at: usize) -> bool;
    fn add_all(&mut self, other: &Self);
    fn remove_all(&mut self, other: &Self);
    fn keep_all(&mut self, other: &Self);
    fn meets(&self, other: &Self) -> bool;
    fn is_empty(&self) -> bool;
    fn highest(&self) -> Option<usize>;
    fn lowest(&self) -> Option<usize> {
        self.lowest_common(self)
    }
    /// Returns the lowest number that both sets contain.
    fn lowest_common(&self, other: &Self) -> Option<usize>;
    /// Keeps only the numbers above `at`.
    fn keep_above(&mut self, at: usize);
    /// Returns the bits in words of 64, the lowest first.
    fn words(&self) -> &[u64];
}

/// A set of numbers below 64·W.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fixed<const W: usize>([u64; W]);

impl<const W: usize> Default for Fixed<W> {
    #[inline]
    fn default() -> Self {
        Self([0; W])
    }
}

// The remainder by W has no effect except that the compiler knows that the index is in bounds.
impl<const W: usize> Set for Fixed<W> {
    const CAPACITY: usize = 64 * W;

    #[inline]
    fn insert(&mut self, at: usize) {
        self.0[(at / 64) % W] |= 1 << (at % 64);
    }

    #[inline]
    fn insert_if(&mut self, condition: bool, at: usize) {
        self.0[(at / 64) % W] |= u64::from(condition) << (at % 64);
    }

    #[inline]
    fn remove(&mut self, at: usize) {
        self.0[(at / 64) % W] &= !(1 << (at % 64));
    }

    #[inline]
    fn remove_if(&mut self, condition: bool, at: usize) {
        self.0[(at / 64) % W] &= !(u64::from(condition) << (at % 64));
    }

    #[inline]
    fn contains(&self, at: usize) -> bool {
        self.0[(at / 64) % W] >> (at % 64) & 1 == 1
    }

    #[inline]
    fn add_all(&mut self, other: &Self) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a |= b;
        }
    }

    #[inline]
    fn remove_all(&mut self, other: &Self) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a &= !b;
        }
    }

    #[inline]
    fn keep_all(&mut self, other: &Self) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a &= b;
        }
    }

    #[inline]
    fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    #[inline]
    fn highest(&self) -> Option<usize> {
        highest(&self.0)
    }

    #[inline]
    fn lowest_common(&self, other: &Self) -> Option<usize> {
        lowest_common(&self.0, &other.0)
    }

    #[inline]
    fn keep_above(&mut self, at: usize) {
        keep_above(&mut self.0, at);
    }

    #[inline]
    fn words(&self) -> &[u64] {
        &self.0
    }
}

/// A set of numbers of any size.
#[derive(Clone, Debug, Default)]
pub(crate) struct Growing(Words);

/// Long executions have long sets, so storing short ones inline gains nothing.
#[cfg(not(target_family = "wasm"))]
type Words = Vec<u64>;
/// In a browser all sets are of this type, and most stay small.
#[cfg(target_family = "wasm")]
type Words = smallvec::SmallVec<[u64; 2]>;

impl PartialEq for Growing {
    fn eq(&self, other: &Self) -> bool {
        let common = self.0.len().min(other.0.len());
        let ((one, more), (other, rest)) = (self.0.split_at(common), other.0.split_at(common));
        one == other && more.iter().chain(rest).all(|&word| word == 0)
    }
}

impl Set for Growing {
    const CAPACITY: usize = usize::MAX;

    fn insert(&mut self, at: usize) {
        if self.0.len() <= at / 64 {
            self.0.resize(at / 64 + 1, 0);
        }
        self.0[at / 64] |= 1 << (at % 64);
    }

    fn remove(&mut self, at: usize) {
        if let Some(word) = self.0.get_mut(at / 64) {
            *word &= !(1 << (at % 64));
        }
    }

    fn contains(&self, at: usize) -> bool {
        self.0
            .get(at / 64)
            .is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    fn add_all(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a |= b;
        }
    }

    fn remove_all(&mut self, other: &Self) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a &= !b;
        }
    }

    fn keep_all(&mut self, other: &Self) {
        self.0.truncate(other.0.len());
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a &= b;
        }
    }

    fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    fn highest(&self) -> Option<usize> {
        highest(&self.0)
    }

    fn lowest_common(&self, other: &Self) -> Option<usize> {
        lowest_common(&self.0, &other.0)
    }

    fn keep_above(&mut self, at: usize) {
        keep_above(&mut self.0, at);
    }

    fn words(&self) -> &[u64] {
        &self.0
    }
}

#[inline]
fn highest(words: &[u64]) -> Option<usize> {
    let word = words.iter().rposition(|&word| word != 0)?;
    Some(word * 64 + 63 - words[word].leading_zeros() as usize)
}

#[inline]
fn lowest_common(one: &[u64], other: &[u64]) -> Option<usize> {
    let mut words = one.iter().zip(other).map(|(a, b)| a & b).enumerate();
    let (word, bits) = words.find(|&(_, bits)| bits != 0)?;
    Some(word * 64 + bits.trailing_zeros() as usize)
}

#[inline]
fn keep_above(words: &mut [u64], at: usize) {
    for (place, word) in words.iter_mut().enumerate() {
        match (place * 64 + 63).checked_sub(at) {
            // The highest `more` bits of this word are above `at`.
            Some(more @ 0..64) => *word &= !(!0 >> more),
            Some(_) => {}
            None => *word = 0,
        }
    }
}

/// Returns the members, lowest first.
#[inline]
pub(crate) fn members<S: Set>(set: &S) -> impl Iterator<Item = usize> {
    let mut words = set.words().iter();
    let mut bits = 0_u64;
    let mut next = 0;
    std::iter::from_fn(move || {
        while bits == 0 {
            bits = *words.next()?;
            next += 64;
        }
        let at = next - 64 + bits.trailing_zeros() as usize;
        bits &= bits - 1;
        Some(at)
    })
}

/// Calls `visit` on the members, lowest first.
#[inline]
pub(crate) fn for_each<S: Set>(set: &S, mut visit: impl FnMut(usize)) {
    for (place, &word) in set.words().iter().enumerate() {
        let mut bits = word;
        while bits != 0 {
            visit(64 * place + bits.trailing_zeros() as usize);
            bits &= bits - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn agrees<S: Set>() {
        let mut seed = 7_u64;
        let mut next = |below: usize| {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (seed >> 33) as usize % below
        };
        for _ in 0..200 {
            let (mut sets, mut models) = (
                (S::default(), S::default()),
                (BTreeSet::new(), BTreeSet::new()),
            );
            for _ in 0..next(40) {
                let (a, b) = (next(128), next(128));
                sets.0.insert(a);
                models.0.insert(a);
                sets.1.insert(b);
                models.1.insert(b);
            }
            let gone = next(128);
            sets.0.remove(gone);
            models.0.remove(&gone);
            sets.0.insert_if(false, gone);
            let more = next(128);
            sets.0.insert_if(true, more);
            models.0.insert(more);
            let list = |set: &S| {
                let mut all = BTreeSet::new();
                for_each(set, |at| {
                    all.insert(at);
                });
                all
            };
            assert_eq!(list(&sets.0), models.0);
            assert_eq!(sets.0.highest(), models.0.last().copied());
            assert_eq!(sets.0.lowest(), models.0.first().copied());
            assert_eq!(sets.0.is_empty(), models.0.is_empty());
            let common: BTreeSet<_> = models.0.intersection(&models.1).copied().collect();
            assert_eq!(sets.0.meets(&sets.1), !common.is_empty());
            assert_eq!(sets.0 == sets.1, models.0 == models.1);
            let mut wider = sets.0.clone();
            wider.insert(127);
            assert_eq!(wider == sets.0, models.0.contains(&127));
            wider.remove(127);
            assert_eq!(wider == sets.0, !models.0.contains(&127));
            assert_eq!(sets.0.lowest_common(&sets.1), common.first().copied());
            let combined = |change: fn(&mut S, &S)| {
                let mut set = sets.0.clone();
                change(&mut set, &sets.1);
                list(&set)
            };
            assert_eq!(combined(S::keep_all), common);
            assert_eq!(
                combined(S::add_all),
                models.0.union(&models.1).copied().collect()
            );
            assert_eq!(
                combined(S::remove_all),
                models.0.difference(&models.1).copied().collect()
            );
            assert!(models.0.iter().all(|&at| sets.0.contains(at)));
            let mut above = sets.0.clone();
            above.keep_above(gone);
            assert_eq!(list(&above), models.0.range(gone + 1..).copied().collect());
        }
    }

    #[test]
    fn sets_of_bits_are_sets() {
        agrees::<Fixed<2>>();
        agrees::<Fixed<16>>();
        agrees::<Growing>();
    }
}
