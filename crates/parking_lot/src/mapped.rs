//! Guards of a part of the data: a pointer to the part, and the guard of the whole data, which
//! holds the lock.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// A guard of any type, which is stored only to be dropped.
trait Guard {}
impl<G: ?Sized> Guard for G {}

macro_rules! mapped {
    ($name:ident, $what:literal $(, $mutable:tt)?) => {
        #[doc = $what]
        #[must_use = "if unused the lock will immediately be released"]
        pub struct $name<'a, T: ?Sized> {
            part: *mut T,
            whole: Box<dyn Guard + 'a>,
            borrows: PhantomData<&'a $($mutable)? T>,
        }

        // SAFETY: the guard gives the same access to the data as a reference of its kind.
        #[allow(unsafe_code)]
        unsafe impl<'a, T: ?Sized> Sync for $name<'a, T> where &'a $($mutable)? T: Sync {}

        impl<'a, T: ?Sized> $name<'a, T> {
            /// Makes a guard of the data at `part`, which `whole` protects.
            pub(crate) fn new<G: 'a>(whole: G, part: *mut T) -> Self {
                let whole = Box::new(whole);
                Self { part, whole, borrows: PhantomData }
            }

            fn lent(&$($mutable)? self) -> &$($mutable)? T {
                // SAFETY: the data is in the lock, which is borrowed for 'a, and `whole` holds the
                // lock. The pointer was made from a reference that the guard of the whole data
                // gave, and since then only this guard uses it.
                #[allow(unsafe_code)]
                unsafe { &$($mutable)? *self.part }
            }

            /// Makes a guard of a part of this part.
            pub fn map<U: ?Sized, F>(#[allow(unused_mut)] mut s: Self, f: F) -> $name<'a, U>
            where
                F: FnOnce(&$($mutable)? T) -> &$($mutable)? U,
            {
                let part = std::ptr::from_ref(f(s.lent())).cast_mut();
                $name { part, whole: s.whole, borrows: PhantomData }
            }

            /// Makes a guard of a part of this part if the function returns one; otherwise
            /// returns this guard.
            pub fn try_map<U: ?Sized, F>(
                #[allow(unused_mut)] mut s: Self,
                f: F,
            ) -> Result<$name<'a, U>, Self>
            where
                F: FnOnce(&$($mutable)? T) -> Option<&$($mutable)? U>,
            {
                match f(s.lent()).map(|part| part as *const U as *mut U) {
                    Some(part) => Ok($name { part, whole: s.whole, borrows: PhantomData }),
                    None => Err(s),
                }
            }

            /// Releases the lock.
            pub fn unlock_fair(s: Self) {
                drop(s);
            }
        }

        impl<T: ?Sized> Deref for $name<'_, T> {
            type Target = T;
            fn deref(&self) -> &T {
                // SAFETY: as in `lent`.
                #[allow(unsafe_code)]
                unsafe { &*self.part }
            }
        }

        $(
            impl<T: ?Sized> DerefMut for $name<'_, T> {
                fn deref_mut(&$mutable self) -> &$mutable T {
                    self.lent()
                }
            }
        )?

        mazurka_rt::shown_as_content!($name);
    };
}

mapped!(
    MappedMutexGuard,
    "Holds a `Mutex` and grants access to a part of its data.",
    mut
);
mapped!(
    MappedRwLockReadGuard,
    "Grants read access to a part of the data of an `RwLock`."
);
mapped!(
    MappedRwLockWriteGuard,
    "Grants write access to a part of the data of an `RwLock`.",
    mut
);
