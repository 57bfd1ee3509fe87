//! Cells with loom's signatures: `UnsafeCell::get` returns a pointer object. The access to the cell
//! lasts from the creation of this object to its drop.

use std::cmp::Ordering;
use std::fmt;

use mazurka_rt::cell as rt;

/// Data that threads share at their own risk: [`mazurka_rt::cell::UnsafeCell`].
pub struct UnsafeCell<T: ?Sized>(rt::UnsafeCell<T>);

/// A pointer for reading; the read lasts while it exists.
#[derive(Debug)]
pub struct ConstPtr<T: ?Sized> {
    _access: rt::AccessOfCell,
    pointer: *const T,
}

/// A pointer for writing; the write lasts while it exists.
#[derive(Debug)]
pub struct MutPtr<T: ?Sized> {
    _access: rt::AccessOfCell,
    pointer: *mut T,
}

impl<T> UnsafeCell<T> {
    /// Makes a cell with a value.
    #[track_caller]
    pub fn new(data: T) -> Self {
        Self(rt::UnsafeCell::new(data))
    }

    /// Returns the value.
    #[track_caller]
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Calls a function with a pointer for reading the value.
    #[track_caller]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        self.0.with(f)
    }

    /// Calls a function with a pointer for writing the value.
    #[track_caller]
    pub fn with_mut<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        self.0.with_mut(f)
    }

    /// Begins a read.
    #[track_caller]
    pub fn get(&self) -> ConstPtr<T> {
        ConstPtr {
            _access: self.0.access(false),
            pointer: self.0.get(),
        }
    }

    /// Begins a write.
    #[track_caller]
    pub fn get_mut(&self) -> MutPtr<T> {
        MutPtr {
            _access: self.0.access(true),
            pointer: self.0.get(),
        }
    }
}

impl<T: Default> Default for UnsafeCell<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for UnsafeCell<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: ?Sized> ConstPtr<T> {
    /// Returns the value.
    ///
    /// # Safety
    ///
    /// As with a raw pointer to the content of the cell.
    #[allow(unsafe_code)]
    pub unsafe fn deref(&self) -> &T {
        // SAFETY: the caller promises it.
        unsafe { &*self.pointer }
    }

    /// Calls a function with the pointer.
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        f(self.pointer)
    }
}

impl<T: ?Sized> MutPtr<T> {
    /// Returns the value.
    ///
    /// # Safety
    ///
    /// As with a raw pointer to the content of the cell.
    #[allow(unsafe_code, clippy::mut_from_ref)]
    pub unsafe fn deref(&self) -> &mut T {
        // SAFETY: the caller promises it.
        unsafe { &mut *self.pointer }
    }

    /// Calls a function with the pointer.
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        f(self.pointer)
    }
}

/// [`std::cell::Cell`] with checked accesses.
#[derive(Debug)]
pub struct Cell<T>(UnsafeCell<T>);

#[allow(unsafe_code)]
impl<T> Cell<T> {
    /// Makes a cell with a value.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Sets the value.
    #[track_caller]
    pub fn set(&self, value: T) {
        drop(self.replace(value));
    }

    /// Swaps the values of two cells.
    #[track_caller]
    pub fn swap(&self, other: &Self) {
        if std::ptr::eq(self, other) {
            return;
        }
        let (mine, theirs) = (self.0.get_mut(), other.0.get_mut());
        // SAFETY: the cells are not shared between real threads, and no reference to the content
        // leaves this type.
        unsafe { std::mem::swap(mine.deref(), theirs.deref()) }
    }

    /// Replaces the value and returns the old one.
    #[track_caller]
    pub fn replace(&self, value: T) -> T {
        // SAFETY: as above.
        self.0
            .with_mut(|pointer| unsafe { std::mem::replace(&mut *pointer, value) })
    }

    /// Returns a copy of the value.
    #[track_caller]
    pub fn get(&self) -> T
    where
        T: Copy,
    {
        // SAFETY: as above.
        self.0.with(|pointer| unsafe { *pointer })
    }

    /// Takes the value and leaves the default.
    #[track_caller]
    pub fn take(&self) -> T
    where
        T: Default,
    {
        self.replace(T::default())
    }

    /// Returns the value.
    #[track_caller]
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: Default> Default for Cell<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: Copy> Clone for Cell<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        Self::new(self.get())
    }
}

impl<T> From<T> for Cell<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: PartialEq + Copy> PartialEq for Cell<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq + Copy> Eq for Cell<T> {}

impl<T: PartialOrd + Copy> PartialOrd for Cell<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.get().partial_cmp(&other.get())
    }
}

impl<T: Ord + Copy> Ord for Cell<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.get().cmp(&other.get())
    }
}
