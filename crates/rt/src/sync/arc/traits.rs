//! The trait implementations of `Arc` and `Weak`, as in std.

use std::borrow::{Borrow, Cow};
use std::cmp::Ordering;
use std::error::Error;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::path::{Path, PathBuf};
use std::sync;

use super::{Arc, Weak};

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> AsRef<T> for Arc<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: ?Sized> Borrow<T> for Arc<T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T: RefUnwindSafe + ?Sized> UnwindSafe for Arc<T> {}
impl<T: ?Sized> Unpin for Arc<T> {}

macro_rules! shown {
    ($($name:ident)*) => {
        $(
            impl<T: ?Sized + fmt::$name> fmt::$name for Arc<T> {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    (**self).fmt(f)
                }
            }
        )*
    };
}

shown!(Debug Display);

impl<T: ?Sized> fmt::Pointer for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&*self.0, f)
    }
}

impl<T: ?Sized> fmt::Debug for Weak<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(Weak)")
    }
}

impl<T> Default for Weak<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: ?Sized + PartialEq> PartialEq for Arc<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: ?Sized + Eq> Eq for Arc<T> {}

impl<T: ?Sized + PartialOrd> PartialOrd for Arc<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<T: ?Sized + Ord> Ord for Arc<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: ?Sized + Hash> Hash for Arc<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T: ?Sized + Error> Error for Arc<T> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        (**self).source()
    }
}

impl<T: Default> Default for Arc<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl Default for Arc<str> {
    fn default() -> Self {
        Self::from("")
    }
}

impl<T> Default for Arc<[T]> {
    fn default() -> Self {
        Self::adopt(sync::Arc::default())
    }
}

impl<T> From<T> for Arc<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized> From<Box<T>> for Arc<T> {
    fn from(value: Box<T>) -> Self {
        Self::adopt(value.into())
    }
}

impl<T: Clone> From<&[T]> for Arc<[T]> {
    fn from(value: &[T]) -> Self {
        Self::adopt(value.into())
    }
}

impl<T, const N: usize> From<[T; N]> for Arc<[T]> {
    fn from(value: [T; N]) -> Self {
        Self::adopt(value.into())
    }
}

impl<T> From<Vec<T>> for Arc<[T]> {
    fn from(value: Vec<T>) -> Self {
        Self::adopt(value.into())
    }
}

impl<'a, B> From<Cow<'a, B>> for Arc<B>
where
    B: ToOwned + ?Sized,
    Self: From<&'a B> + From<B::Owned>,
{
    fn from(value: Cow<'a, B>) -> Self {
        match value {
            Cow::Borrowed(value) => Self::from(value),
            Cow::Owned(value) => Self::from(value),
        }
    }
}

macro_rules! texts {
    ($($text:ty: $($from:ty)*;)*) => {
        $($(
            impl From<$from> for Arc<$text> {
                fn from(value: $from) -> Self {
                    Self::adopt(value.into())
                }
            }
        )*)*
    };
}

texts! {
    str: &str String;
    CStr: &CStr CString;
    OsStr: &OsStr OsString;
    Path: &Path PathBuf;
}

impl<T> FromIterator<T> for Arc<[T]> {
    fn from_iter<I: IntoIterator<Item = T>>(iter: I) -> Self {
        Self::adopt(iter.into_iter().collect())
    }
}
