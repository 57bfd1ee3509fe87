//! Nondeterministic data: all values are explored.

use std::ops::Range;
use std::panic::Location;

use crate::world::world;

/// Types of numbers that can be chosen.
pub trait Choose: Copy {
    #[doc(hidden)]
    fn to_i64(self) -> i64;
    #[doc(hidden)]
    fn from_i64(value: i64) -> Self;
}

macro_rules! numbers {
    ($($t:ty)*) => {
        $(
            impl Choose for $t {
                fn to_i64(self) -> i64 {
                    i64::try_from(self).expect("choose takes numbers of 64 bits")
                }
                fn from_i64(value: i64) -> Self {
                    <$t>::try_from(value).expect("it came from this type")
                }
            }
        )*
    };
}

numbers!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

/// Returns a number of the range; each of them is explored. Outside a model it is the first.
///
/// It models values that real code would get from outside (an argument, a message, the length of a
/// buffer). With the feature `symbolic`, `input` lets a solver find the values that matter.
///
/// ```
/// use mazurka_rt::{Builder, choose};
///
/// let found = Builder::new().check(|| assert!(choose(0..5) < 5));
/// assert_eq!(found.executions, 5);
/// ```
///
/// # Panics
///
/// If the range is empty.
#[track_caller]
pub fn choose<T: Choose>(range: Range<T>) -> T {
    let (start, end) = (range.start.to_i64(), range.end.to_i64());
    assert!(start < end, "there is nothing to choose from");
    match world() {
        None => range.start,
        Some(world) => T::from_i64(world.choose(start, end, Location::caller())),
    }
}
