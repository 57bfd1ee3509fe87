//! Guards of locks: a pointer to the data, and permits that are returned when the guard is dropped.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use mazurka_rt::facade::Monitor;

use super::mutex::Mutex;
use super::permits::{Permits, release};
use super::rwlock::RwLock;
use crate::drive::Place;

/// Permits of a lock that the guard borrows.
struct Held<'a> {
    permits: &'a Monitor<Permits>,
    count: usize,
    place: Place,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        release(self.permits, self.count, "unlock", self.place);
    }
}

/// A lock with permits.
trait Lock {
    fn permits(&self) -> &Monitor<Permits>;
}

impl<T: ?Sized> Lock for Mutex<T> {
    fn permits(&self) -> &Monitor<Permits> {
        &self.permits
    }
}

impl<T: ?Sized> Lock for RwLock<T> {
    fn permits(&self) -> &Monitor<Permits> {
        &self.permits
    }
}

/// Permits of a lock that the guard owns by an `Arc`.
struct Owned<L: Lock + ?Sized> {
    lock: Arc<L>,
    count: usize,
    place: Place,
}

impl<L: Lock + ?Sized> Drop for Owned<L> {
    fn drop(&mut self) {
        release(self.lock.permits(), self.count, "unlock", self.place);
    }
}

macro_rules! guard {
    (
        $(#[$doc:meta])*
        $name:ident<$($lifetime:lifetime,)? $($param:ident $(= $default:ident)?),+>: $data:ident, $held:ty,
        Send where { $($send:tt)* }, Sync where { $($sync:tt)* }
    ) => {
        $(#[$doc])*
        #[must_use = "if unused the lock is released at once"]
        #[clippy::has_significant_drop]
        pub struct $name<$($lifetime,)? $($param: ?Sized $(= $default)?),+> {
            data: *mut $data,
            held: $held,
            marker: PhantomData<$data>,
        }

        // SAFETY: the permits give this guard the access to the data that it grants, whichever
        // thread has the guard. The bounds are those of tokio.
        #[allow(unsafe_code)]
        unsafe impl<$($lifetime,)? $($param: ?Sized),+> Send for $name<$($lifetime,)? $($param),+> where $($send)* {}
        // SAFETY: as for `Send`.
        #[allow(unsafe_code)]
        unsafe impl<$($lifetime,)? $($param: ?Sized),+> Sync for $name<$($lifetime,)? $($param),+> where $($sync)* {}

        impl<$($lifetime,)? $($param: ?Sized),+> Deref for $name<$($lifetime,)? $($param),+> {
            type Target = $data;
            #[allow(unsafe_code)]
            fn deref(&self) -> &$data {
                // SAFETY: the data lives as long as its lock, which the guard borrows or shares,
                // and the permits exclude tasks that would change it.
                unsafe { &*self.data }
            }
        }

        impl<$($lifetime,)? $($param: ?Sized),+> fmt::Debug for $name<$($lifetime,)? $($param),+>
        where
            $data: fmt::Debug,
        {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<$($lifetime,)? $($param: ?Sized),+> fmt::Display for $name<$($lifetime,)? $($param),+>
        where
            $data: fmt::Display,
        {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }
    };
    (mut $(#[$doc:meta])* $name:ident<$($lifetime:lifetime,)? $($param:ident $(= $default:ident)?),+>: $data:ident, $($rest:tt)*) => {
        guard!($(#[$doc])* $name<$($lifetime,)? $($param $(= $default)?),+>: $data, $($rest)*);

        impl<$($lifetime,)? $($param: ?Sized),+> DerefMut for $name<$($lifetime,)? $($param),+> {
            #[allow(unsafe_code)]
            fn deref_mut(&mut self) -> &mut $data {
                // SAFETY: as in `deref`, and the permits exclude all other tasks.
                unsafe { &mut *self.data }
            }
        }
    };
}

guard! { mut
    /// Holds a [`Mutex`] until it is dropped.
    MutexGuard<'a, T>: T, OfMutex<'a, T>,
    Send where { T: Send }, Sync where { T: Send + Sync }
}

guard! { mut
    /// Holds a [`Mutex`] until it is dropped, and gives access to a part of its data.
    MappedMutexGuard<'a, T>: T, Held<'a>,
    Send where { T: Send }, Sync where { T: Sync }
}

guard! { mut
    /// Holds a [`Mutex`] until it is dropped, and owns a reference to it.
    OwnedMutexGuard<T>: T, Owned<Mutex<T>>,
    Send where { T: Send }, Sync where { T: Send + Sync }
}

guard! { mut
    /// Holds a [`Mutex`] until it is dropped, owns a reference to it, and gives access to a
    /// part of its data.
    OwnedMappedMutexGuard<T, U = T>: U, Owned<Mutex<T>>,
    Send where { T: Send, U: Send }, Sync where { T: Send + Sync, U: Send + Sync }
}

guard! {
    /// Grants read access until it is dropped.
    RwLockReadGuard<'a, T>: T, Held<'a>,
    Send where { T: Sync }, Sync where { T: Send + Sync }
}

guard! { mut
    /// Grants write access until it is dropped.
    RwLockWriteGuard<'a, T>: T, Held<'a>,
    Send where { T: Send + Sync }, Sync where { T: Send + Sync }
}

guard! { mut
    /// Grants write access to a part of the data until it is dropped.
    RwLockMappedWriteGuard<'a, T>: T, Held<'a>,
    Send where { T: Send + Sync }, Sync where { T: Send + Sync }
}

guard! {
    /// Grants read access until it is dropped, and owns a reference to the lock.
    OwnedRwLockReadGuard<T, U = T>: U, Owned<RwLock<T>>,
    Send where { T: Send + Sync, U: Sync }, Sync where { T: Send + Sync, U: Send + Sync }
}

guard! { mut
    /// Grants write access until it is dropped, and owns a reference to the lock.
    OwnedRwLockWriteGuard<T>: T, Owned<RwLock<T>>,
    Send where { T: Send + Sync }, Sync where { T: Send + Sync }
}

guard! { mut
    /// Grants write access to a part of the data until it is dropped, and owns a
    /// reference to the lock.
    OwnedRwLockMappedWriteGuard<T, U = T>: U, Owned<RwLock<T>>,
    Send where { T: Send + Sync, U: Send + Sync }, Sync where { T: Send + Sync, U: Send + Sync }
}

/// The permit of a mutex, and the mutex.
struct OfMutex<'a, T: ?Sized> {
    held: Held<'a>,
    lock: &'a Mutex<T>,
}

fn held(permits: &Monitor<Permits>, count: usize, place: Place) -> Held<'_> {
    Held {
        permits,
        count,
        place,
    }
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    pub(super) fn new(lock: &'a Mutex<T>, place: Place) -> Self {
        let held = held(&lock.permits, 1, place);
        Self {
            data: lock.value.get(),
            held: OfMutex { held, lock },
            marker: PhantomData,
        }
    }

    /// Returns the mutex.
    pub fn mutex(this: &Self) -> &'a Mutex<T> {
        this.held.lock
    }
}

impl<T: ?Sized> OwnedMutexGuard<T> {
    pub(super) fn new(lock: Arc<Mutex<T>>, place: Place) -> Self {
        Self {
            data: lock.value.get(),
            held: Owned {
                lock,
                count: 1,
                place,
            },
            marker: PhantomData,
        }
    }

    /// Returns the mutex.
    pub fn mutex(this: &Self) -> &Arc<Mutex<T>> {
        &this.held.lock
    }
}

impl<'a, T: ?Sized> RwLockReadGuard<'a, T> {
    pub(super) fn new(lock: &'a RwLock<T>, place: Place) -> Self {
        Self {
            data: lock.value.get(),
            held: held(&lock.permits, 1, place),
            marker: PhantomData,
        }
    }
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    pub(super) fn new(lock: &'a RwLock<T>, place: Place) -> Self {
        Self {
            data: lock.value.get(),
            held: held(&lock.permits, lock.readers as usize, place),
            marker: PhantomData,
        }
    }

    /// Turns write access into read access without releasing the lock in between.
    pub fn downgrade(mut self) -> RwLockReadGuard<'a, T> {
        let others = std::mem::replace(&mut self.held.count, 1) - 1;
        release(self.held.permits, others, "downgrade", self.held.place);
        RwLockReadGuard {
            data: self.data,
            held: self.held,
            marker: PhantomData,
        }
    }

    /// Turns write access into read access to a part of the data, without releasing the
    /// lock in between.
    pub fn downgrade_map<F, U: ?Sized>(this: Self, f: F) -> RwLockReadGuard<'a, U>
    where
        F: FnOnce(&T) -> &U,
    {
        let data: *const U = f(&this);
        RwLockReadGuard {
            data: data.cast_mut(),
            held: this.downgrade().held,
            marker: PhantomData,
        }
    }

    /// Turns write access into read access to a part of the data if the function returns one;
    /// otherwise returns this guard.
    pub fn try_downgrade_map<F, U: ?Sized>(this: Self, f: F) -> Result<RwLockReadGuard<'a, U>, Self>
    where
        F: FnOnce(&T) -> Option<&U>,
    {
        match f(&this).map(|data| (data as *const U).cast_mut()) {
            Some(data) => Ok(RwLockReadGuard {
                data,
                held: this.downgrade().held,
                marker: PhantomData,
            }),
            None => Err(this),
        }
    }

    /// Makes a guard of all the data.
    pub fn into_mapped(this: Self) -> RwLockMappedWriteGuard<'a, T> {
        Self::map(this, |data| data)
    }
}

impl<T> OwnedRwLockReadGuard<T, T> {
    pub(super) fn new(lock: Arc<RwLock<T>>, place: Place) -> Self {
        Self {
            data: lock.value.get(),
            held: Owned {
                lock,
                count: 1,
                place,
            },
            marker: PhantomData,
        }
    }
}

impl<T> OwnedRwLockWriteGuard<T> {
    pub(super) fn new(lock: Arc<RwLock<T>>, place: Place) -> Self {
        Self {
            data: lock.value.get(),
            held: Owned {
                count: lock.readers as usize,
                lock,
                place,
            },
            marker: PhantomData,
        }
    }

    /// Turns write access into read access without releasing the lock in between.
    pub fn downgrade(mut self) -> OwnedRwLockReadGuard<T, T> {
        let others = std::mem::replace(&mut self.held.count, 1) - 1;
        let (permits, place) = (self.held.lock.permits(), self.held.place);
        release(permits, others, "downgrade", place);
        OwnedRwLockReadGuard {
            data: self.data,
            held: self.held,
            marker: PhantomData,
        }
    }

    /// Turns write access into read access to a part of the data, without releasing the
    /// lock in between.
    pub fn downgrade_map<F, U: ?Sized>(this: Self, f: F) -> OwnedRwLockReadGuard<T, U>
    where
        F: FnOnce(&T) -> &U,
    {
        let data: *const U = f(&this);
        OwnedRwLockReadGuard {
            data: data.cast_mut(),
            held: this.downgrade().held,
            marker: PhantomData,
        }
    }

    /// Turns write access into read access to a part of the data if the function returns one;
    /// otherwise returns this guard.
    pub fn try_downgrade_map<F, U: ?Sized>(
        this: Self,
        f: F,
    ) -> Result<OwnedRwLockReadGuard<T, U>, Self>
    where
        F: FnOnce(&T) -> Option<&U>,
    {
        match f(&this).map(|data| (data as *const U).cast_mut()) {
            Some(data) => Ok(OwnedRwLockReadGuard {
                data,
                held: this.downgrade().held,
                marker: PhantomData,
            }),
            None => Err(this),
        }
    }

    /// Makes a guard of all the data.
    pub fn into_mapped(this: Self) -> OwnedRwLockMappedWriteGuard<T, T> {
        Self::map(this, |data| data)
    }
}

/// `map` and `try_map`: convert one guard into another, which keeps the permits of the first.
macro_rules! map {
    (
        impl<$($lifetime:lifetime,)? $($param:ident),+> $from:ident<$($from_arg:tt),+>,
        $data:ident => $to:ident<$($to_arg:tt),+>, $held:ident $(. $part:ident)?
    ) => {
        impl<$($lifetime,)? $($param: ?Sized),+> $from<$($from_arg),+> {
            /// Makes a guard of a part of the data.
            pub fn map<V: ?Sized, F>(mut this: Self, f: F) -> $to<$($to_arg),+>
            where
                F: FnOnce(&mut $data) -> &mut V,
            {
                let data: *mut V = f(&mut this);
                $to {
                    data,
                    held: this.$held $(. $part)?,
                    marker: PhantomData,
                }
            }

            /// Makes a guard of a part of the data if the function returns one; otherwise
            /// returns this guard.
            pub fn try_map<V: ?Sized, F>(mut this: Self, f: F) -> Result<$to<$($to_arg),+>, Self>
            where
                F: FnOnce(&mut $data) -> Option<&mut V>,
            {
                match f(&mut this).map(|data| data as *mut V) {
                    Some(data) => Ok($to {
                        data,
                        held: this.$held $(. $part)?,
                        marker: PhantomData,
                    }),
                    None => Err(this),
                }
            }
        }
    };
    (read impl<$($lifetime:lifetime,)? $($param:ident),+> $from:ident<$($from_arg:tt),+>,
        $data:ident => $to:ident<$($to_arg:tt),+>) => {
        impl<$($lifetime,)? $($param: ?Sized),+> $from<$($from_arg),+> {
            /// Makes a guard of a part of the data.
            pub fn map<F, V: ?Sized>(this: Self, f: F) -> $to<$($to_arg),+>
            where
                F: FnOnce(&$data) -> &V,
            {
                let data: *const V = f(&this);
                $to {
                    data: data.cast_mut(),
                    held: this.held,
                    marker: PhantomData,
                }
            }

            /// Makes a guard of a part of the data if the function returns one; otherwise
            /// returns this guard.
            pub fn try_map<F, V: ?Sized>(this: Self, f: F) -> Result<$to<$($to_arg),+>, Self>
            where
                F: FnOnce(&$data) -> Option<&V>,
            {
                match f(&this).map(|data| (data as *const V).cast_mut()) {
                    Some(data) => Ok($to {
                        data,
                        held: this.held,
                        marker: PhantomData,
                    }),
                    None => Err(this),
                }
            }
        }
    };
}

map!(impl<'a, T> MutexGuard<'a, T>, T => MappedMutexGuard<'a, V>, held.held);
map!(impl<'a, T> MappedMutexGuard<'a, T>, T => MappedMutexGuard<'a, V>, held);
map!(impl<T> OwnedMutexGuard<T>, T => OwnedMappedMutexGuard<T, V>, held);
map!(impl<T, U> OwnedMappedMutexGuard<T, U>, U => OwnedMappedMutexGuard<T, V>, held);
map!(impl<'a, T> RwLockWriteGuard<'a, T>, T => RwLockMappedWriteGuard<'a, V>, held);
map!(impl<'a, T> RwLockMappedWriteGuard<'a, T>, T => RwLockMappedWriteGuard<'a, V>, held);
map!(impl<T> OwnedRwLockWriteGuard<T>, T => OwnedRwLockMappedWriteGuard<T, V>, held);
map!(impl<T, U> OwnedRwLockMappedWriteGuard<T, U>, U => OwnedRwLockMappedWriteGuard<T, V>, held);
map!(read impl<'a, T> RwLockReadGuard<'a, T>, T => RwLockReadGuard<'a, V>);
map!(read impl<T, U> OwnedRwLockReadGuard<T, U>, U => OwnedRwLockReadGuard<T, V>);
