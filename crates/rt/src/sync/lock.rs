//! What locks and their guards have in common.

use std::cell::RefMut;
use std::sync::TryLockError;

use crate::world::{Inner, World, wakes};

impl World {
    /// The current thread has found a lock held.
    pub(super) fn refused<G, E>(
        &self,
        mut inner: RefMut<'_, Inner>,
        cell: u32,
    ) -> Result<G, TryLockError<E>> {
        inner.saw(cell, wakes::STATE);
        drop(inner);
        self.note(|| "it is held".into());
        Err(TryLockError::WouldBlock)
    }
}

/// Those who give back a lock wake those who wait for its state, and for its content if that may have changed.
pub(super) fn wakes_by(dirty: bool) -> u8 {
    wakes::STATE | if dirty { wakes::CONTENT } else { 0 }
}

/// What every lock has: `inner` is std's.
macro_rules! lock {
    ($lock:ident) => {
        impl<T> $lock<T> {
            /// A lock that nobody holds.
            #[track_caller]
            pub const fn new(value: T) -> Self {
                Self {
                    meta: Meta::new(),
                    inner: sync::$lock::new(value),
                }
            }

            /// The data, without the lock.
            pub fn into_inner(self) -> LockResult<T> {
                self.inner.into_inner()
            }
        }

        impl<T: ?Sized> $lock<T> {
            /// Whether somebody panicked while changing the data.
            pub fn is_poisoned(&self) -> bool {
                self.inner.is_poisoned()
            }

            /// Forgets that somebody panicked while changing the data.
            pub fn clear_poison(&self) {
                self.inner.clear_poison();
            }

            /// The data; that nobody else can have the lock is certain.
            pub fn get_mut(&mut self) -> LockResult<&mut T> {
                self.inner.get_mut()
            }
        }

        impl<T: ?Sized + fmt::Debug> fmt::Debug for $lock<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.inner.fmt(f)
            }
        }

        impl<T: Default> Default for $lock<T> {
            #[track_caller]
            fn default() -> Self {
                Self::new(T::default())
            }
        }

        impl<T> From<T> for $lock<T> {
            #[track_caller]
            fn from(value: T) -> Self {
                Self::new(value)
            }
        }
    };
}

/// What every guard has: `inner` is std's, none only while the guard is given up.
macro_rules! guard {
    ($guard:ident) => {
        impl<T: ?Sized> Deref for $guard<'_, T> {
            type Target = T;
            fn deref(&self) -> &T {
                self.inner.as_ref().expect("the guard holds the lock")
            }
        }

        impl<T: ?Sized + fmt::Debug> fmt::Debug for $guard<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<T: ?Sized + fmt::Display> fmt::Display for $guard<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }
    };
    (mut $guard:ident) => {
        guard!($guard);

        impl<T: ?Sized> DerefMut for $guard<'_, T> {
            fn deref_mut(&mut self) -> &mut T {
                self.dirty = true;
                self.inner.as_mut().expect("the guard holds the lock")
            }
        }
    };
}
