//! Nondeterministic data: [`choose`] returns a value, and the search explores every possible one.

use std::ops::{Range, RangeInclusive};
use std::panic::Location;

use crate::world::world;

/// Something to choose from: a range of numbers or of `bool`, or an array.
pub trait Choices {
    /// The type of the chosen value.
    type Item;

    /// The values are numbered. Returns the first number, and the last number plus 1.
    #[doc(hidden)]
    fn numbers(&self) -> (i64, i64);

    /// Returns the value for a number.
    #[doc(hidden)]
    fn value(self, number: i64) -> Self::Item;
}

/// Types whose values are numbered, so that ranges of them can be chosen from.
pub trait Numbered: Copy {
    #[doc(hidden)]
    fn to_i64(self) -> i64;
    #[doc(hidden)]
    fn from_i64(value: i64) -> Self;
}

const WIDE: &str = "choose takes numbers of 64 bits";

macro_rules! numbers {
    ($($t:ty)*) => {
        $(
            impl Numbered for $t {
                fn to_i64(self) -> i64 {
                    i64::try_from(self).expect(WIDE)
                }
                fn from_i64(value: i64) -> Self {
                    <$t>::try_from(value).expect("it came from this type")
                }
            }
        )*
    };
}

numbers!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

impl Numbered for bool {
    fn to_i64(self) -> i64 {
        i64::from(self)
    }
    fn from_i64(value: i64) -> Self {
        value != 0
    }
}

impl<T: Numbered> Choices for Range<T> {
    type Item = T;
    fn numbers(&self) -> (i64, i64) {
        (self.start.to_i64(), self.end.to_i64())
    }
    fn value(self, number: i64) -> T {
        T::from_i64(number)
    }
}

impl<T: Numbered> Choices for RangeInclusive<T> {
    type Item = T;
    fn numbers(&self) -> (i64, i64) {
        let end = self.end().to_i64().checked_add(1);
        (self.start().to_i64(), end.expect(WIDE))
    }
    fn value(self, number: i64) -> T {
        T::from_i64(number)
    }
}

impl<T, const N: usize> Choices for [T; N] {
    type Item = T;
    fn numbers(&self) -> (i64, i64) {
        (0, N as i64)
    }
    fn value(self, number: i64) -> T {
        let chosen = self.into_iter().nth(number as usize);
        chosen.expect("it is a place in the array")
    }
}

/// Returns a value of a range or an array; the search explores every such value. Outside a model it
/// returns the first one.
///
/// It models values that real code would get from outside: an argument, a message, the length of a
/// buffer. With the feature `symbolic`, `input` lets a solver find the values that matter.
///
/// ```
/// use mazurka_rt::{Builder, choose};
///
/// let found = Builder::new().check(|| assert!(choose(0..5) < 5));
/// assert_eq!(found.executions, 5);
/// let found = Builder::new().check(|| {
///     let _size = choose(0..=3);
///     let _name = choose(["", "a", "long"]);
///     let _flag = choose(false..=true);
/// });
/// assert_eq!(found.executions, 4 * 3 * 2);
/// ```
///
/// # Panics
///
/// If there is nothing to choose from.
#[track_caller]
pub fn choose<C: Choices>(from: C) -> C::Item {
    let (start, end) = from.numbers();
    assert!(start < end, "there is nothing to choose from");
    let number = match world() {
        None => start,
        Some(world) => world.choose(start, end, Location::caller()),
    };
    from.value(number)
}
