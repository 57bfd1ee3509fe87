//! Identifiers of tasks, and their failures.

use std::any::Any;
use std::fmt;
use std::sync::Mutex;

/// An identifier that is unique among the tasks of an execution.
#[derive(Clone, Copy, Debug, Hash, Eq, PartialEq)]
pub struct Id(u64);

impl Id {
    /// Returns the identifier of the next task of a parent. Identifiers do not depend
    /// on the schedule.
    pub(crate) fn of_child(parent: Option<Self>, number: u64) -> Self {
        let Some(parent) = parent else {
            return Self(number + 1);
        };
        // Uses splitmix64, and sets a bit that identifiers of tasks without a parent do not have.
        let mut mixed = parent.0.rotate_left(32) ^ (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Self((mixed ^ (mixed >> 31)) | 1 << 63)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why a task has no result.
pub struct JoinError {
    id: Id,
    /// The panic payload; `None` if the task was cancelled.
    panic: Option<Mutex<Box<dyn Any + Send + 'static>>>,
}

impl JoinError {
    pub(crate) fn cancelled(id: Id) -> Self {
        Self { id, panic: None }
    }

    pub(crate) fn panicked(id: Id, payload: Box<dyn Any + Send + 'static>) -> Self {
        Self {
            id,
            panic: Some(Mutex::new(payload)),
        }
    }

    /// Whether the task was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.panic.is_none()
    }

    /// Whether the task panicked.
    pub fn is_panic(&self) -> bool {
        self.panic.is_some()
    }

    /// Returns the panic payload of the task.
    ///
    /// # Panics
    ///
    /// If it did not panic.
    #[track_caller]
    pub fn into_panic(self) -> Box<dyn Any + Send + 'static> {
        self.try_into_panic()
            .expect("`JoinError` reason is not a panic.")
    }

    /// Returns the panic payload of the task, if it panicked.
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send + 'static>, Self> {
        let Self { id, panic } = self;
        match panic {
            Some(payload) => Ok(payload
                .into_inner()
                .unwrap_or_else(|poisoned| poisoned.into_inner())),
            None => Err(Self { id, panic: None }),
        }
    }

    /// Returns the identifier of the task.
    pub fn id(&self) -> Id {
        self.id
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.panic {
            None => write!(f, "task {} was cancelled", self.id),
            Some(_) => write!(f, "task {} panicked", self.id),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.panic {
            None => write!(f, "JoinError::Cancelled({:?})", self.id),
            Some(_) => write!(f, "JoinError::Panic({:?}, ...)", self.id),
        }
    }
}

impl std::error::Error for JoinError {}

impl From<JoinError> for std::io::Error {
    fn from(error: JoinError) -> Self {
        let words = if error.is_panic() {
            "task panicked"
        } else {
            "task was cancelled"
        };
        Self::other(words)
    }
}
