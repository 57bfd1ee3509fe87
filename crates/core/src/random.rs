//! Random numbers that are the same on every machine and in every version.

/// SplitMix64 by Steele, Lea and Flood ("Fast splittable pseudorandom number generators", 2014):
/// one addition and three mixing rounds per number. A seed identifies a run, so this must never
/// change.
///
/// ```
/// use mazurka_core::Random;
/// let mut random = Random::new(1234567);
/// assert_eq!(random.next(), 6457827717110365317);
/// assert_eq!(random.next(), 3203168211198807973);
/// ```
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates the generator of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next 64 bits.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number below `n`, which must not be 0; the bias is below n/2⁶⁴.
    ///
    /// ```
    /// use mazurka_core::Random;
    /// let mut random = Random::new(7);
    /// let mut seen = [false; 3];
    /// for _ in 0..100 {
    ///     seen[random.below(3) as usize] = true;
    /// }
    /// assert_eq!(seen, [true; 3]);
    /// ```
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }
}
