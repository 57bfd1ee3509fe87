//! 128-bit fingerprints, the same on every machine and in every run.
//!
//! Checkpoints store fingerprints. If their computation changes, here or in the code that uses
//! them, increase the version in mazurka/src/checkpoint.rs.

/// A 128-bit hash. Among n different values, two have the same fingerprint with a probability of
/// about n²/2¹²⁹.
///
/// ```
/// use mazurka_core::Fingerprint;
/// let one = Fingerprint::EMPTY.then(1).then(2);
/// assert_ne!(one, Fingerprint::EMPTY.then(2).then(1));
/// assert_eq!(one.and(Fingerprint::EMPTY.then(3)), Fingerprint::EMPTY.then(3).and(one));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fingerprint {
    high: u64,
    low: u64,
}

impl std::hash::Hash for Fingerprint {
    /// Half of the bits suffice for a hash table, because they are random enough.
    fn hash<H: std::hash::Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(self.low);
    }
}

// Odd constants with about half their bits set: digits of pi and of e.
const A: u64 = 0x243F_6A88_85A3_08D3;
const B: u64 = 0xB7E1_5162_8AED_2A6B;

/// Multiplies to 128 bits and folds the halves: one multiplication mixes all bits of both factors.
#[inline]
fn fold(x: u64, y: u64) -> u64 {
    let product = u128::from(x) * u128::from(y);
    (product as u64) ^ ((product >> 64) as u64)
}

impl Fingerprint {
    /// The fingerprint of the empty sequence.
    pub const EMPTY: Self = Self { high: A, low: B };

    /// The fingerprint of the empty multiset, the neutral element of [`and`](Self::and).
    pub const ZERO: Self = Self { high: 0, low: 0 };

    /// Returns the fingerprint of this sequence followed by a number. The order matters.
    #[inline]
    pub fn then(self, word: u64) -> Self {
        Self {
            high: fold(self.high ^ word, B).wrapping_add(self.low),
            low: fold(self.low ^ word.rotate_left(32), A) ^ self.high,
        }
    }

    /// Returns the fingerprint of this sequence followed by another fingerprint. The order matters.
    #[inline]
    pub fn then_all(self, other: Self) -> Self {
        self.then(other.high).then(other.low)
    }

    /// Returns the fingerprint of the union of both multisets. The order does not matter.
    #[inline]
    pub fn and(self, other: Self) -> Self {
        Self {
            high: self.high.wrapping_add(other.high),
            low: self.low.wrapping_add(other.low),
        }
    }

    /// Returns the fingerprint of a multiset without `other`, which is a part of it.
    ///
    /// ```
    /// use mazurka_core::Fingerprint;
    /// let (one, other) = (Fingerprint::EMPTY.then(1), Fingerprint::EMPTY.then(2));
    /// assert_eq!(one.and(other).without(one), other);
    /// ```
    #[inline]
    pub fn without(self, other: Self) -> Self {
        Self {
            high: self.high.wrapping_sub(other.high),
            low: self.low.wrapping_sub(other.low),
        }
    }

    /// Creates a fingerprint from its bits.
    pub fn from_bits(bits: u128) -> Self {
        Self {
            high: (bits >> 64) as u64,
            low: bits as u64,
        }
    }

    /// Returns the 128 bits.
    pub fn bits(self) -> u128 {
        (u128::from(self.high) << 64) | u128::from(self.low)
    }
}
