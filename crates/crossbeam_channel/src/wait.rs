//! How a thread waits for operations on several channels at once: the first operation that becomes
//! possible *claims* the thread, and then no other one can.

use std::time::Duration;

use mazurka_rt::sync::{Arc, Condvar, Mutex, PoisonError};

/// A thread that waits for one of several operations.
pub(crate) struct Wait {
    /// The index of the operation that has claimed the thread; `None` while it is free.
    claimed: Mutex<Option<usize>>,
    condvar: Condvar,
}

/// The value of `claimed`, in place of an operation, once the thread no longer waits.
const CLOSED: usize = usize::MAX;

impl Wait {
    #[track_caller]
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            claimed: Mutex::new(None),
            condvar: Condvar::steady(),
        })
    }

    /// Claims the thread for an operation. Returns whether it was still free.
    #[track_caller]
    pub fn claim(&self, operation: usize) -> bool {
        let mut claimed = self.claimed.lock().unwrap_or_else(PoisonError::into_inner);
        if claimed.is_some() {
            return false;
        }
        *claimed = Some(operation);
        drop(claimed);
        self.condvar.notify_one();
        true
    }

    /// Whether no operation has claimed the thread.
    #[track_caller]
    pub fn is_free(&self) -> bool {
        let claimed = self.claimed.lock().unwrap_or_else(PoisonError::into_inner);
        claimed.is_none()
    }

    /// Waits until an operation claims the thread, and returns it.
    #[track_caller]
    pub fn wait(&self) -> usize {
        let mut claimed = self.claimed.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(operation) = *claimed {
                return operation;
            }
            claimed = self
                .condvar
                .wait(claimed)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until an operation claims the thread, or until the time is over; a model explores
    /// both. Returns the operation; `None` if the time is over.
    #[track_caller]
    pub fn wait_at_most(&self, timeout: Duration) -> Option<usize> {
        let mut claimed = self.claimed.lock().unwrap_or_else(PoisonError::into_inner);
        if claimed.is_none() {
            let woken = self.condvar.wait_timeout(claimed, timeout);
            (claimed, _) = woken.unwrap_or_else(PoisonError::into_inner);
        }
        let before = *claimed;
        *claimed = before.or(Some(CLOSED));
        before
    }

    /// Ends the wait. Returns the operation that has already claimed the thread, if any.
    #[track_caller]
    pub fn close(&self) -> Option<usize> {
        let mut claimed = self.claimed.lock().unwrap_or_else(PoisonError::into_inner);
        let before = *claimed;
        *claimed = before.or(Some(CLOSED));
        before
    }
}

/// An entry in the list of a channel: a thread that waits for several operations, and the index of
/// the operation on this channel.
pub(crate) struct Watcher {
    pub wait: Arc<Wait>,
    pub operation: usize,
}

impl Watcher {
    /// Claims the thread for this operation.
    #[track_caller]
    pub fn claim(&self) -> bool {
        self.wait.claim(self.operation)
    }

    pub fn belongs_to(&self, wait: &Arc<Wait>) -> bool {
        Arc::ptr_eq(&self.wait, wait)
    }
}
