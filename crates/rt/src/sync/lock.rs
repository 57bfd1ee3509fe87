//! The common parts of locks and their guards.

use std::cell::RefMut;
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

use crate::world::{Inner, World, wakes};

impl World {
    /// Records that the current thread has found a lock held.
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

/// Returns the changes of the cell of a lock when the lock is released, as bits of [`wakes`]: its
/// state changes, and with `dirty` also its content.
pub(crate) fn wakes_by(dirty: bool) -> u8 {
    wakes::STATE | if dirty { wakes::CONTENT } else { 0 }
}

/// Wraps a guard or data: in an error if the lock is poisoned, in `Ok` otherwise.
pub(super) fn with_poison<G>(poisoned: bool, guard: G) -> LockResult<G> {
    if poisoned {
        Err(PoisonError::new(guard))
    } else {
        Ok(guard)
    }
}

/// Returns the guard in a result of std, and ignores whether std considers the lock poisoned.
pub(super) fn ignore_poison<G>(result: LockResult<G>) -> G {
    result.unwrap_or_else(PoisonError::into_inner)
}

/// Like [`ignore_poison`], for the result of an attempt. Returns `None` if the lock is held.
pub(super) fn try_ignore_poison<G>(result: TryLockResult<G>) -> Option<G> {
    match result {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// The common methods of locks: `inner` is std's lock; threads of a model set `poisoned`.
macro_rules! lock {
    ($lock:ident, $try_all:ident) => {
        impl<T> $lock<T> {
            /// Makes a free lock.
            #[track_caller]
            pub const fn new(value: T) -> Self {
                Self {
                    meta: OwnedMeta::new(),
                    poisoned: AtomicBool::new(false),
                    used: AtomicBool::new(false),
                    inner: sync::$lock::new(value),
                }
            }

            /// Returns the data, consuming the lock.
            pub fn into_inner(self) -> LockResult<T> {
                let poisoned = self.poisons();
                with_poison(poisoned, ignore_poison(self.inner.into_inner()))
            }
        }

        impl<T: ?Sized> $lock<T> {
            /// Returns the lock that threads of this model use: a static has a twin in each
            /// execution (statics.rs).
            #[inline]
            fn here(&self) -> &Self {
                match world() {
                    None => self.used.store(true, Ordering::Relaxed),
                    Some(world) if !world.owns(&self.meta) => return self.twin(world),
                    Some(_) => {}
                }
                self
            }

            #[cold]
            fn twin(&self, world: &World) -> &Self {
                let used = self.used.load(Ordering::Relaxed);
                if used && std::mem::needs_drop::<T>() {
                    panic!(
                        "the static {} made at {} was used outside a model, so no execution can start with its first value: \
                         make it by `lazy_static!` or `LazyLock`",
                        stringify!($lock),
                        self.meta.made()
                    );
                }
                // SAFETY: the lock was made by the compiler and not used since, so it owns no
                // memory; or its content has no destructor.
                #[allow(unsafe_code)]
                unsafe {
                    world.twin_of_bytes(&self.meta, self, |twin| {
                        !matches!(twin.inner.$try_all(), Err(TryLockError::WouldBlock))
                    })
                }
            }

            /// Whether a thread panicked while changing the data.
            pub fn is_poisoned(&self) -> bool {
                let this = self.here();
                if let Some(world) = world().filter(|world| world.memory.is_some()) {
                    let kind = stringify!($lock);
                    world.refuse(format!("`{kind}::is_poisoned` of a lock that is not held"));
                }
                this.poisons()
            }

            /// Like `is_poisoned`, for a thread that holds the lock.
            fn poisons(&self) -> bool {
                self.poisoned.load(Ordering::Relaxed) || self.inner.is_poisoned()
            }

            /// Drops std's guard. `poisons` tells whether this poisons the lock. std cannot know
            /// this: for std all threads of the model are one real thread, so it takes a panic of
            /// any of them for a panic of this thread.
            pub(super) fn drop_real_guard<G>(&self, guard: G, poisons: bool) {
                let given_up = |world: &World| world.inner.borrow().given_up.is_some();
                let poisoned = self.poisons() || (poisons && !world().is_some_and(given_up));
                drop(guard);
                if poisoned { self.poisoned.store(true, Ordering::Relaxed) } else { self.inner.clear_poison() }
            }

            /// Clears the poison left by a panic.
            pub fn clear_poison(&self) {
                let this = self.here();
                this.poisoned.store(false, Ordering::Relaxed);
                this.inner.clear_poison();
            }

            /// Returns the data. The exclusive borrow excludes all other threads.
            pub fn get_mut(&mut self) -> LockResult<&mut T> {
                let poisoned = self.poisons();
                with_poison(poisoned, ignore_poison(self.inner.get_mut()))
            }
        }

        impl<T: ?Sized + fmt::Debug> fmt::Debug for $lock<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.here().inner.fmt(f)
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

/// The common parts of guards: `inner` is std's guard, `None` only while the lock is
/// released to wait.
macro_rules! guard {
    ($guard:ident) => {
        impl<T: ?Sized> Deref for $guard<'_, T> {
            type Target = T;
            fn deref(&self) -> &T {
                self.inner.as_ref().expect("the guard holds the lock")
            }
        }

        crate::shown_as_content!($guard);
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
