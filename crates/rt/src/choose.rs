//! Nondeterministic data: all values are explored.

use std::ops::{Range, RangeInclusive};
use std::panic::Location;

use crate::world::{Pending, Place, World, world};

/// What can be chosen from: a range of numbers or of `bool`, or an array.
pub trait Choices {
    /// What is chosen.
    type Item;

    /// The numbers that stand for the values; the end is not one of them.
    #[doc(hidden)]
    fn numbers(&self) -> (i64, i64);

    /// Returns the value for a number.
    #[doc(hidden)]
    fn value(self, number: i64) -> Self::Item;
}

/// Values that are numbered: those of a range can be chosen.
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

/// Returns a value of a range or an array; each of them is explored. Outside a model it is the
/// first.
///
/// It models values that real code would get from outside (an argument, a message, the length of a
/// buffer). With the feature `symbolic`, `input` lets a solver find the values that matter.
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

impl World {
    /// Whether a `compare_exchange_weak` fails for no reason: a choice, where that is explored.
    pub fn fails_for_no_reason(&self, place: Place) -> bool {
        {
            let mut inner = self.inner.borrow_mut();
            let most = inner.spurious;
            if inner.me().spurious >= most {
                return false;
            }
        }
        let pending = Pending::new(None, ("", "compare_exchange_weak"), place);
        let fails = match self.memory {
            None => {
                self.turn(pending);
                self.inner.borrow_mut().outcome(0, 2) == 1
            }
            Some(_) => self.choice(2, pending) == 1,
        };
        self.note(|| {
            if fails {
                "fails for no reason"
            } else {
                "goes on"
            }
            .into()
        });
        if fails {
            // The next round of a loop does not do the same again.
            let mut inner = self.inner.borrow_mut();
            inner.me().spurious += 1;
            inner.me().spin.progress();
            drop(inner);
            if self.memory.is_some() {
                self.progress();
            }
        }
        fails
    }
}
