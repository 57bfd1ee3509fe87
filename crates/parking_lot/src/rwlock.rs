//! `parking_lot::RwLock`: a waiting writer keeps new readers out (`FairLock` of `mazurka-rt`).

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::time::{Duration, Instant};

use mazurka_rt::facade::{self, Change, FairLock, LockMode};

use crate::mapped::{MappedRwLockReadGuard, MappedRwLockWriteGuard};

/// A lock for many readers or one writer.
pub struct RwLock<T: ?Sized> {
    raw: FairLock,
    data: UnsafeCell<T>,
}

// SAFETY: the lock lends the data to several readers at a time, or to one writer alone.
#[allow(unsafe_code)]
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

/// Keeps a guard in its thread.
type NotSend = PhantomData<*const ()>;

type Place = &'static Location<'static>;

/// Grants read access until it is dropped.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    /// Where the lock was taken.
    place: Place,
    not_send: NotSend,
}

/// Grants read access together with other readers, and can become a write guard. Only one such
/// guard exists at a time.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockUpgradableReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    /// Where the lock was taken.
    place: Place,
    not_send: NotSend,
}

/// Grants write access until it is dropped.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    dirty: bool,
    /// Where the lock was taken.
    place: Place,
    not_send: NotSend,
}

// SAFETY: a shared reference to a guard gives only shared access to the data.
#[allow(unsafe_code)]
unsafe impl<T: ?Sized + Sync> Sync for RwLockReadGuard<'_, T> {}
// SAFETY: as for `RwLockReadGuard`.
#[allow(unsafe_code)]
unsafe impl<T: ?Sized + Sync> Sync for RwLockUpgradableReadGuard<'_, T> {}
// SAFETY: as for `RwLockReadGuard`.
#[allow(unsafe_code)]
unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}

/// Makes an [`RwLock`] in a constant.
pub const fn const_rwlock<T>(value: T) -> RwLock<T> {
    RwLock::new(value)
}

impl<T> RwLock<T> {
    /// Makes a free lock.
    #[track_caller]
    pub const fn new(value: T) -> Self {
        Self {
            raw: FairLock::new(),
            data: UnsafeCell::new(value),
        }
    }

    /// Returns the data, consuming the lock.
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Returns the lock that threads of this model use: a static has a copy in each execution.
    fn here(&self) -> &Self {
        // SAFETY: a static that was not used still has the value that the compiler made. This value
        // owns no memory, so a copy of its bytes is as good. A static that was used is refused if
        // its data may own memory (`owns`).
        #[allow(unsafe_code)]
        unsafe {
            let owns = std::mem::needs_drop::<T>();
            self.raw.here(self, owns, |lock| lock.raw.is_idle())
        }
    }

    #[track_caller]
    fn read_guard(&self) -> RwLockReadGuard<'_, T> {
        RwLockReadGuard {
            lock: self,
            place: Location::caller(),
            not_send: PhantomData,
        }
    }

    #[track_caller]
    fn upgradable_guard(&self) -> RwLockUpgradableReadGuard<'_, T> {
        RwLockUpgradableReadGuard {
            lock: self,
            place: Location::caller(),
            not_send: PhantomData,
        }
    }

    #[track_caller]
    fn write_guard(&self) -> RwLockWriteGuard<'_, T> {
        RwLockWriteGuard {
            lock: self,
            dirty: false,
            place: Location::caller(),
            not_send: PhantomData,
        }
    }

    /// Waits for read access. A thread that already has read access may wait for ever if a writer
    /// waits: see [`RwLock::read_recursive`].
    #[track_caller]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        let this = self.here();
        this.raw.wait(LockMode::Read, "read");
        this.read_guard()
    }

    /// Waits for read access. If there are readers, it takes the lock beside them even if a writer
    /// waits.
    #[track_caller]
    pub fn read_recursive(&self) -> RwLockReadGuard<'_, T> {
        let this = self.here();
        this.raw.wait(LockMode::ReadAgain, "read_recursive");
        this.read_guard()
    }

    /// Waits for read access that can become write access.
    #[track_caller]
    pub fn upgradable_read(&self) -> RwLockUpgradableReadGuard<'_, T> {
        let this = self.here();
        this.raw.wait(LockMode::Upgradable, "upgradable_read");
        this.upgradable_guard()
    }

    /// Waits for write access.
    #[track_caller]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        let this = self.here();
        this.raw.write();
        this.write_guard()
    }

    /// Takes the lock for reading if that is possible now.
    #[track_caller]
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        let this = self.here();
        let taken = this.raw.attempt(&[LockMode::Read], "try_read");
        if taken { Some(this.read_guard()) } else { None }
    }

    /// Takes the lock for reading if that is possible now. If there are readers, it is possible
    /// even if a writer waits.
    #[track_caller]
    pub fn try_read_recursive(&self) -> Option<RwLockReadGuard<'_, T>> {
        let this = self.here();
        let taken = this
            .raw
            .attempt(&[LockMode::ReadAgain], "try_read_recursive");
        if taken { Some(this.read_guard()) } else { None }
    }

    /// Takes the lock for an upgradable read if that is possible now.
    #[track_caller]
    pub fn try_upgradable_read(&self) -> Option<RwLockUpgradableReadGuard<'_, T>> {
        let this = self.here();
        let taken = this
            .raw
            .attempt(&[LockMode::Upgradable], "try_upgradable_read");
        if taken {
            Some(this.upgradable_guard())
        } else {
            None
        }
    }

    /// Takes the lock for writing if that is possible now.
    #[track_caller]
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        let this = self.here();
        let taken = this
            .raw
            .attempt(&[LockMode::Bar, LockMode::Alone], "try_write");
        if taken {
            Some(this.write_guard())
        } else {
            None
        }
    }

    /// Whether a thread holds the lock in any way.
    #[track_caller]
    pub fn is_locked(&self) -> bool {
        self.here().raw.is_held(false)
    }

    /// Whether a thread holds the lock for writing, or waits for the readers to leave.
    #[track_caller]
    pub fn is_locked_exclusive(&self) -> bool {
        self.here().raw.is_held(true)
    }

    /// Returns the data. The exclusive borrow excludes all other threads.
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }

    /// Returns a pointer to the data.
    pub fn data_ptr(&self) -> *mut T {
        self.here().data.get()
    }
}

macro_rules! timed {
    ($($for:ident $until:ident $try:ident $guard:ident $what:literal)*) => {
        impl<T: ?Sized> RwLock<T> {
            $(
                #[doc = concat!("Waits for ", $what, " access until the time is over.")]
                #[track_caller]
                pub fn $for(&self, timeout: Duration) -> Option<$guard<'_, T>> {
                    facade::until_timeout(stringify!($for), timeout, || self.$try())
                }

                #[doc = concat!("Waits for ", $what, " access until this moment.")]
                #[track_caller]
                pub fn $until(&self, timeout: Instant) -> Option<$guard<'_, T>> {
                    self.$for(timeout.saturating_duration_since(Instant::now()))
                }
            )*
        }
    };
}

timed! {
    try_read_for try_read_until try_read RwLockReadGuard "read"
    try_read_recursive_for try_read_recursive_until try_read_recursive RwLockReadGuard "read"
    try_upgradable_read_for try_upgradable_read_until try_upgradable_read
        RwLockUpgradableReadGuard "upgradable read"
    try_write_for try_write_until try_write RwLockWriteGuard "write"
}

impl<T: Default> Default for RwLock<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("RwLock");
        match self.try_read() {
            Some(held) => shown.field("data", &&*held),
            None => shown.field("data", &format_args!("<locked>")),
        };
        shown.finish()
    }
}

/// The common parts of guards, each with the method that takes the lock again.
macro_rules! guards {
    ($($guard:ident $take:ident)*) => {
        $(
            impl<'a, T: ?Sized> $guard<'a, T> {
                /// Returns the lock.
                pub fn rwlock(s: &Self) -> &'a RwLock<T> {
                    s.lock
                }

                /// Releases the lock while a function runs.
                #[track_caller]
                pub fn unlocked<F: FnOnce() -> U, U>(s: &mut Self, f: F) -> U {
                    /// Takes the lock again, even if the function panics.
                    struct RelockOnDrop<'a, T: ?Sized>(&'a RwLock<T>);
                    impl<T: ?Sized> Drop for RelockOnDrop<'_, T> {
                        #[track_caller]
                        fn drop(&mut self) {
                            std::mem::forget(self.0.$take());
                        }
                    }
                    s.release();
                    let _again = RelockOnDrop(s.lock);
                    f()
                }

                /// Releases the lock while a function runs.
                #[track_caller]
                pub fn unlocked_fair<F: FnOnce() -> U, U>(s: &mut Self, f: F) -> U {
                    Self::unlocked(s, f)
                }

                /// Releases the lock.
                #[track_caller]
                pub fn unlock_fair(s: Self) {
                    drop(s);
                }

                /// Releases the lock and takes it again, so that a waiting thread can have it in
                /// between.
                #[track_caller]
                pub fn bump(s: &mut Self) {
                    Self::unlocked(s, || ());
                }
            }

            impl<T: ?Sized> Deref for $guard<'_, T> {
                type Target = T;
                fn deref(&self) -> &T {
                    // SAFETY: the guard has at least read access.
                    #[allow(unsafe_code)]
                    unsafe { &*self.lock.data.get() }
                }
            }

            impl<T: ?Sized> Drop for $guard<'_, T> {
                fn drop(&mut self) {
                    self.release();
                }
            }

            mazurka_rt::shown_as_content!($guard);
        )*
    };
}

guards! {
    RwLockReadGuard read
    RwLockUpgradableReadGuard upgradable_read
    RwLockWriteGuard write
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.dirty = true;
        // SAFETY: the guard has write access.
        #[allow(unsafe_code)]
        unsafe {
            &mut *self.lock.data.get()
        }
    }
}

impl<'a, T: ?Sized> RwLockReadGuard<'a, T> {
    fn release(&self) {
        self.lock.raw.change(Change::EndRead, false, self.place);
    }

    /// Makes a guard of a part of the data.
    pub fn map<U: ?Sized, F>(s: Self, f: F) -> MappedRwLockReadGuard<'a, U>
    where
        F: FnOnce(&T) -> &U,
    {
        let value: *const U = f(&s);
        MappedRwLockReadGuard::new(s, value.cast_mut())
    }

    /// Makes a guard of a part of the data if the function returns one; otherwise
    /// returns this guard.
    pub fn try_map<U: ?Sized, F>(s: Self, f: F) -> Result<MappedRwLockReadGuard<'a, U>, Self>
    where
        F: FnOnce(&T) -> Option<&U>,
    {
        match f(&s).map(|value| (value as *const U).cast_mut()) {
            Some(value) => Ok(MappedRwLockReadGuard::new(s, value)),
            None => Err(s),
        }
    }
}

impl<'a, T: ?Sized> RwLockUpgradableReadGuard<'a, T> {
    /// Returns the lock, which stays held.
    fn keep(s: Self) -> &'a RwLock<T> {
        ManuallyDrop::new(s).lock
    }

    fn release(&self) {
        let raw = &self.lock.raw;
        raw.change(Change::EndUpgradable, false, self.place);
    }

    /// Keeps out new readers, waits until there are no other readers, and turns this into write
    /// access.
    #[track_caller]
    pub fn upgrade(s: Self) -> RwLockWriteGuard<'a, T> {
        let lock = Self::keep(s);
        lock.raw.upgrade();
        lock.write_guard()
    }

    /// Turns this into write access if there are no other readers; otherwise returns the guard.
    #[track_caller]
    pub fn try_upgrade(s: Self) -> Result<RwLockWriteGuard<'a, T>, Self> {
        if s.lock.raw.attempt_upgrade() {
            Ok(Self::keep(s).write_guard())
        } else {
            Err(s)
        }
    }

    /// Waits for write access. When the time is over, gives up and returns this guard.
    #[track_caller]
    pub fn try_upgrade_for(s: Self, timeout: Duration) -> Result<RwLockWriteGuard<'a, T>, Self> {
        let raw = &s.lock.raw;
        let attempt = || raw.attempt_upgrade().then_some(());
        match facade::until_timeout("try_upgrade_for", timeout, attempt) {
            Some(()) => Ok(Self::keep(s).write_guard()),
            None => Err(s),
        }
    }

    /// Waits for write access until this moment; then gives up and returns this guard.
    #[track_caller]
    pub fn try_upgrade_until(s: Self, timeout: Instant) -> Result<RwLockWriteGuard<'a, T>, Self> {
        Self::try_upgrade_for(s, timeout.saturating_duration_since(Instant::now()))
    }

    /// Runs a function with write access, and returns to an upgradable read afterwards.
    #[track_caller]
    pub fn with_upgraded<R, F: FnOnce(&mut T) -> R>(&mut self, f: F) -> R {
        self.lock.raw.upgrade();
        self.run_upgraded(f)
    }

    /// Runs a function with write access if there are no other readers.
    #[track_caller]
    pub fn try_with_upgraded<R, F: FnOnce(&mut T) -> R>(&mut self, f: F) -> Option<R> {
        let upgraded = self.lock.raw.attempt_upgrade();
        upgraded.then(|| self.run_upgraded(f))
    }

    /// Runs a function while the lock is held for writing.
    #[track_caller]
    fn run_upgraded<R>(&mut self, f: impl FnOnce(&mut T) -> R) -> R {
        /// Returns to an upgradable read, even if the function panics.
        struct DowngradeOnDrop<'a>(&'a FairLock, Place);
        impl Drop for DowngradeOnDrop<'_> {
            fn drop(&mut self) {
                self.0.change(Change::ToUpgradable, true, self.1);
            }
        }
        let _back = DowngradeOnDrop(&self.lock.raw, self.place);
        // SAFETY: the lock is held for writing until `_back` is dropped.
        #[allow(unsafe_code)]
        f(unsafe { &mut *self.lock.data.get() })
    }

    /// Turns this into plain read access, so that other threads can have an upgradable one.
    #[track_caller]
    pub fn downgrade(s: Self) -> RwLockReadGuard<'a, T> {
        let lock = Self::keep(s);
        lock.raw
            .change(Change::UpgradableToRead, false, Location::caller());
        lock.read_guard()
    }
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// Returns the lock, which stays held.
    fn keep(s: Self) -> &'a RwLock<T> {
        ManuallyDrop::new(s).lock
    }

    fn release(&self) {
        let raw = &self.lock.raw;
        raw.change(Change::EndWrite, self.dirty, self.place);
    }

    /// Turns write access into read access without releasing the lock in between.
    #[track_caller]
    pub fn downgrade(s: Self) -> RwLockReadGuard<'a, T> {
        let dirty = s.dirty;
        let lock = Self::keep(s);
        lock.raw
            .change(Change::Downgrade, dirty, Location::caller());
        lock.read_guard()
    }

    /// Turns write access into an upgradable read without releasing the lock in between.
    #[track_caller]
    pub fn downgrade_to_upgradable(s: Self) -> RwLockUpgradableReadGuard<'a, T> {
        let dirty = s.dirty;
        let lock = Self::keep(s);
        lock.raw
            .change(Change::ToUpgradable, dirty, Location::caller());
        lock.upgradable_guard()
    }

    /// Makes a guard of a part of the data.
    pub fn map<U: ?Sized, F>(mut s: Self, f: F) -> MappedRwLockWriteGuard<'a, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        let value: *mut U = f(&mut s);
        MappedRwLockWriteGuard::new(s, value)
    }

    /// Makes a guard of a part of the data if the function returns one; otherwise
    /// returns this guard.
    pub fn try_map<U: ?Sized, F>(mut s: Self, f: F) -> Result<MappedRwLockWriteGuard<'a, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        match f(&mut s).map(|value| value as *mut U) {
            Some(value) => Ok(MappedRwLockWriteGuard::new(s, value)),
            None => Err(s),
        }
    }
}
