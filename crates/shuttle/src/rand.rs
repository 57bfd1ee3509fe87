//! Random numbers. If a number has few possible values, all of them are explored; otherwise it is
//! drawn.

use std::ops::{Range, RangeInclusive};

use mazurka_rt::{choose, facade};

/// Maximum number of possible values of a random number whose values are explored.
const MAX_EXPLORED: u64 = 256;

/// Chooses a number below `end`; 0 means 2⁶⁴.
#[track_caller]
fn below(end: u64) -> u64 {
    const HALF_RANGE: i64 = 1 << 32;
    if (1..=MAX_EXPLORED).contains(&end) {
        return choose(0..end);
    }
    // Whether choices are drawn is known only from the first step on, so the choice comes before
    // this check.
    let high = choose(0..HALF_RANGE) as u64;
    assert!(
        facade::draws(),
        "a random number of more than {MAX_EXPLORED} values is drawn by `check_random` and its variants, and not explored: \
         use `gen_range` with few values here"
    );
    let bits = high << 32 | choose(0..HALF_RANGE) as u64;
    if end == 0 { bits } else { bits % end }
}

/// Generators.
pub mod rngs {
    /// The generator of a thread.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct ThreadRng(());
}

/// Returns the generator of this thread.
pub fn thread_rng() -> rngs::ThreadRng {
    rngs::ThreadRng::default()
}

/// A source of random bits.
pub trait RngCore {
    /// Returns 32 bits.
    fn next_u32(&mut self) -> u32;
    /// Returns 64 bits.
    fn next_u64(&mut self) -> u64;
    /// Fills a buffer.
    fn fill_bytes(&mut self, dest: &mut [u8]);
    /// Returns a number below `end`; 0 means 2⁶⁴.
    #[doc(hidden)]
    fn number_below(&mut self, end: u64) -> u64;
}

impl RngCore for rngs::ThreadRng {
    #[track_caller]
    fn next_u32(&mut self) -> u32 {
        below(1 << 32) as u32
    }

    #[track_caller]
    fn next_u64(&mut self) -> u64 {
        below(0)
    }

    #[track_caller]
    fn fill_bytes(&mut self, dest: &mut [u8]) {
        for byte in dest {
            *byte = below(256) as u8;
        }
    }

    #[track_caller]
    fn number_below(&mut self, end: u64) -> u64 {
        below(end)
    }
}

/// The methods of the crate `rand` draw from all 64 bits, whatever they make of them, so only
/// searches that draw accept them.
impl rand_core::RngCore for rngs::ThreadRng {
    #[track_caller]
    fn next_u32(&mut self) -> u32 {
        RngCore::next_u32(self)
    }

    #[track_caller]
    fn next_u64(&mut self) -> u64 {
        RngCore::next_u64(self)
    }

    #[track_caller]
    fn fill_bytes(&mut self, dest: &mut [u8]) {
        RngCore::fill_bytes(self, dest);
    }

    #[track_caller]
    fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), rand_core::Error> {
        RngCore::fill_bytes(self, dest);
        Ok(())
    }
}

/// Values that can be drawn.
pub trait Random: Sized {
    /// Draws a value.
    fn random<R: RngCore + ?Sized>(rng: &mut R) -> Self;
}

/// Numbers that can be drawn from a range.
pub trait Uniform: Copy + PartialOrd {
    #[doc(hidden)]
    fn distance(self, from: Self) -> u64;
    #[doc(hidden)]
    fn plus(self, distance: u64) -> Self;
}

macro_rules! integers {
    ($($t:ty)*) => {
        $(
            impl Random for $t {
                fn random<R: RngCore + ?Sized>(rng: &mut R) -> Self {
                    rng.number_below(1_u64.checked_shl(<$t>::BITS).unwrap_or(0)) as $t
                }
            }

            impl Uniform for $t {
                fn distance(self, from: Self) -> u64 {
                    (self as u64).wrapping_sub(from as u64)
                }
                fn plus(self, distance: u64) -> Self {
                    (self as u64).wrapping_add(distance) as $t
                }
            }
        )*
    };
}

integers!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

impl Random for bool {
    fn random<R: RngCore + ?Sized>(rng: &mut R) -> Self {
        rng.number_below(2) == 1
    }
}

impl Random for f64 {
    fn random<R: RngCore + ?Sized>(rng: &mut R) -> Self {
        (rng.number_below(0) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Ranges to draw from.
pub trait SampleRange<T> {
    #[doc(hidden)]
    fn sample<R: RngCore + ?Sized>(self, rng: &mut R) -> T;
}

impl<T: Uniform> SampleRange<T> for Range<T> {
    fn sample<R: RngCore + ?Sized>(self, rng: &mut R) -> T {
        assert!(self.start < self.end, "cannot sample empty range");
        self.start
            .plus(rng.number_below(self.end.distance(self.start)))
    }
}

impl<T: Uniform> SampleRange<T> for RangeInclusive<T> {
    fn sample<R: RngCore + ?Sized>(self, rng: &mut R) -> T {
        assert!(self.start() <= self.end(), "cannot sample empty range");
        let values = self.end().distance(*self.start()).wrapping_add(1);
        self.start().plus(rng.number_below(values))
    }
}

/// A generator, with the methods that tests use.
pub trait Rng: RngCore {
    /// Draws a value.
    fn r#gen<T: Random>(&mut self) -> T {
        T::random(self)
    }

    /// Draws a value of a range.
    ///
    /// # Panics
    ///
    /// If the range is empty.
    fn gen_range<T, R: SampleRange<T>>(&mut self, range: R) -> T {
        range.sample(self)
    }

    /// Draws a truth value. With a probability of 0 or 1 the value is fixed; otherwise both values
    /// are explored, whatever the probability.
    fn gen_bool(&mut self, p: f64) -> bool {
        match p {
            p if p <= 0.0 => false,
            p if p >= 1.0 => true,
            _ => self.number_below(2) == 1,
        }
    }
}

impl<R: RngCore + ?Sized> Rng for R {}
