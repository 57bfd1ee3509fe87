//! `loom::sync::atomic`: atomics whose creation counts as a write access, as in loom.
//!
//! Suppose a thread publishes a pointer to a new atomic with a `Relaxed` store. Another thread that
//! follows the pointer may then use the atomic before it is made: a data race. `mazurka-rt` does
//! not find it, because there `new` is a `const fn` and creating an atomic is not an access. Here
//! the creation writes a cell, and every operation on the atomic reads this cell. Only rc11 has
//! data races, so the cell exists only under rc11.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::RefUnwindSafe;

use mazurka_rt::cell::UnsafeCell;
use mazurka_rt::facade;
use mazurka_rt::sync::atomic as rt;

pub use mazurka_rt::sync::atomic::{Ordering, compiler_fence, fence};

/// A cell that is written when an atomic is made, and read when it is used. Dropping it is not an
/// access, because the drop of an atomic in std's `Arc` would seem to race with its uses.
struct CreationMark(Option<ManuallyDrop<UnsafeCell<()>>>);

impl CreationMark {
    #[track_caller]
    fn new() -> Self {
        Self(facade::under_rc11().then(|| ManuallyDrop::new(UnsafeCell::new(()))))
    }

    #[track_caller]
    fn check_use(&self) {
        if let Some(cell) = &self.0 {
            cell.with(|_| ());
        }
    }
}

// SAFETY: the cell has no content.
#[allow(unsafe_code)]
unsafe impl Sync for CreationMark {}
impl RefUnwindSafe for CreationMark {}

macro_rules! atomics {
    ($($name:ident $([$param:ident])? : $value:ty;)*) => {
        $(
            /// The type of the same name in `mazurka-rt`, to which it dereferences.
            pub struct $name $(<$param>)? {
                created: CreationMark,
                atomic: rt::$name $(<$param>)?,
            }

            impl $(<$param>)? $name $(<$param>)? {
                /// Makes an atomic with a value.
                #[track_caller]
                pub fn new(value: $value) -> Self {
                    Self { created: CreationMark::new(), atomic: rt::$name::new(value) }
                }

                /// Returns the value.
                #[track_caller]
                pub fn into_inner(self) -> $value {
                    self.created.check_use();
                    self.atomic.into_inner()
                }
            }

            impl $(<$param>)? Deref for $name $(<$param>)? {
                type Target = rt::$name $(<$param>)?;
                #[track_caller]
                fn deref(&self) -> &Self::Target {
                    self.created.check_use();
                    &self.atomic
                }
            }

            impl $(<$param>)? DerefMut for $name $(<$param>)? {
                #[track_caller]
                fn deref_mut(&mut self) -> &mut Self::Target {
                    self.created.check_use();
                    &mut self.atomic
                }
            }

            impl $(<$param>)? fmt::Debug for $name $(<$param>)? {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    self.atomic.fmt(f)
                }
            }

            impl $(<$param>)? From<$value> for $name $(<$param>)? {
                #[track_caller]
                fn from(value: $value) -> Self {
                    Self::new(value)
                }
            }
        )*
    };
}

atomics! {
    AtomicBool: bool;
    AtomicI8: i8;
    AtomicI16: i16;
    AtomicI32: i32;
    AtomicI64: i64;
    AtomicIsize: isize;
    AtomicU8: u8;
    AtomicU16: u16;
    AtomicU32: u32;
    AtomicU64: u64;
    AtomicUsize: usize;
    AtomicPtr[T]: *mut T;
}

macro_rules! defaults {
    ($($name:ident)*) => {
        $(
            impl Default for $name {
                #[track_caller]
                fn default() -> Self {
                    Self::new(Default::default())
                }
            }
        )*
    };
}

defaults! {
    AtomicBool AtomicI8 AtomicI16 AtomicI32 AtomicI64 AtomicIsize
    AtomicU8 AtomicU16 AtomicU32 AtomicU64 AtomicUsize
}

impl<T> Default for AtomicPtr<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(std::ptr::null_mut())
    }
}
