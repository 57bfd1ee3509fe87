//! Selects one of several operations on channels: a possible one, or the first that becomes
//! possible.
//!
//! A thread first looks at the operations in the order in which they were added. At a possible one
//! it chooses: it takes that operation, or it looks at the next ones; if none of these is possible,
//! it comes back. So each possible operation is selected in some execution. With a `default`, the
//! order in which it looks at the operations is a choice, too, because an operation may become
//! possible and impossible again while the thread looks at others.
//!
//! `ready` and its variants only check whether an operation is possible. A thread that waits there
//! is enlisted as an observer: it is woken, but no other thread completes an operation with it.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mazurka_rt::{choose, facade};

use crate::channel::{AttemptStatus, Receiver, Selectable, Sender, Side};
use crate::error::{
    ReadyTimeoutError, RecvError, SelectTimeoutError, SendError, TryReadyError, TrySelectError,
};
use crate::wait::{Wait, Watcher};

/// Number of timed waits in a row, all without success, during which other threads can find this
/// thread as a partner. In later waits the thread only tries its operations once, because the later
/// rounds of a loop of timeouts repeat the first ones.
const MAX_VISIBLE_WAITS: u32 = 2;

mazurka_rt::thread_local! {
    /// Number of timed waits in a row in which this thread has selected nothing.
    static FUTILE_WAITS: Cell<u32> = Cell::new(0);
}

/// Selects one of several operations on channels.
///
/// ```
/// use mazurka_crossbeam_channel::{Select, unbounded};
///
/// let (a, from_a) = unbounded();
/// let (_b, from_b) = unbounded::<u32>();
/// a.send(7).unwrap();
/// let mut select = Select::new();
/// let first = select.recv(&from_a);
/// select.recv(&from_b);
/// let selected = select.select();
/// assert_eq!(selected.index(), first);
/// assert_eq!(selected.recv(&from_a), Ok(7));
/// ```
#[derive(Clone)]
pub struct Select<'a> {
    operations: Vec<Operation<'a>>,
    next: usize,
    biased: bool,
}

#[derive(Clone, Copy)]
struct Operation<'a> {
    channel: &'a dyn Selectable,
    side: Side,
    index: usize,
    ticket: u64,
}

/// Returns a ticket, which distinguishes this operation from all others.
fn ticket() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Operation<'_> {
    #[track_caller]
    fn attempt(&self, wanted: &mut dyn FnMut() -> bool) -> AttemptStatus {
        self.channel.attempt(self.side, self.ticket, wanted)
    }

    #[track_caller]
    fn is_ready(&self) -> bool {
        self.channel.is_ready(self.side)
    }
}

impl<'a> Select<'a> {
    /// Makes a `Select` without operations.
    pub fn new() -> Self {
        Self {
            operations: Vec::new(),
            next: 0,
            biased: false,
        }
    }

    /// Makes a biased `Select` without operations: of several possible operations, it selects the
    /// one that was added first.
    pub fn new_biased() -> Self {
        Self {
            biased: true,
            ..Self::new()
        }
    }

    fn add(&mut self, channel: &'a dyn Selectable, side: Side) -> usize {
        let index = self.next;
        self.next += 1;
        self.operations.push(Operation {
            channel,
            side,
            index,
            ticket: 0,
        });
        index
    }

    /// Adds a send. Returns its index.
    pub fn send<T>(&mut self, s: &'a Sender<T>) -> usize {
        self.add(s.channel(), Side::Send)
    }

    /// Adds a receive. Returns its index.
    pub fn recv<T>(&mut self, r: &'a Receiver<T>) -> usize {
        self.add(r.channel(), Side::Receive)
    }

    /// Removes an operation.
    ///
    /// # Panics
    ///
    /// If no operation has this index.
    pub fn remove(&mut self, index: usize) {
        let at = self
            .operations
            .iter()
            .position(|candidate| candidate.index == index);
        let at = at.expect("no operation has this index");
        self.operations.swap_remove(at);
    }

    fn draw_tickets(&mut self) {
        for operation in &mut self.operations {
            operation.ticket = ticket();
        }
    }

    /// Tries the operations in order, as the head of this file describes. Returns the selected one;
    /// `None` if none is possible.
    #[track_caller]
    fn scan(&self) -> Option<SelectedOperation<'a>> {
        let mut declined = false;
        for (at, operation) in self.operations.iter().enumerate() {
            let sure = self.biased || at + 1 == self.operations.len();
            match operation.attempt(&mut || sure || choose([true, false])) {
                AttemptStatus::Done => return Some(operation.into()),
                AttemptStatus::Declined => declined = true,
                AttemptStatus::Waits => {}
            }
        }
        if !declined {
            return None;
        }
        let mut again = self.operations.iter();
        let done = again.find(|operation| operation.attempt(&mut || true) == AttemptStatus::Done);
        done.map(Into::into)
    }

    /// Waits until an operation is possible, and selects it.
    ///
    /// # Panics
    ///
    /// If there are no operations.
    #[track_caller]
    pub fn select(&mut self) -> SelectedOperation<'a> {
        assert!(
            !self.operations.is_empty(),
            "no operations have been added to `Select`"
        );
        loop {
            self.draw_tickets();
            if let Some(selected) = self.scan() {
                return selected;
            }
            if let Some(selected) = self.wait(|wait| Some(wait.wait())) {
                return selected;
            }
        }
    }

    /// Enlists the thread with all its operations and waits until one of them claims the thread. If
    /// one may be possible already, it does not wait. Returns the operation that was made; `None`
    /// if none was. `sleep` waits, and returns `None` if the time is over.
    #[track_caller]
    fn wait(&self, sleep: impl FnOnce(&Wait) -> Option<usize>) -> Option<SelectedOperation<'a>> {
        let wait = Wait::new();
        let unwatched = self.operations.iter().enumerate().find(|(at, candidate)| {
            let watcher = Watcher {
                wait: wait.clone(),
                operation: *at,
            };
            !candidate
                .channel
                .watch(candidate.side, candidate.ticket, watcher)
        });
        // The first operation that may be possible now, if there is one. The thread is not enlisted
        // there.
        let unwatched = unwatched.map(|(at, _)| at);
        let claimed = match unwatched {
            None => sleep(&wait),
            Some(_) => wait.close(),
        };
        for (at, candidate) in self.operations[..unwatched.unwrap_or(self.operations.len())]
            .iter()
            .enumerate()
        {
            if claimed != Some(at) {
                candidate.channel.unwatch(candidate.side, &wait);
                candidate.channel.forget(candidate.ticket);
            }
        }
        let claimed = &self.operations[claimed?];
        let possible = claimed.channel.claimed(claimed.side, claimed.ticket);
        possible.then(|| claimed.into())
    }

    /// Selects an operation if one is possible.
    #[track_caller]
    pub fn try_select(&mut self) -> Result<SelectedOperation<'a>, TrySelectError> {
        self.draw_tickets();
        self.try_once().ok_or(TrySelectError)
    }

    /// Tries each operation once, in any order.
    #[track_caller]
    fn try_once(&self) -> Option<SelectedOperation<'a>> {
        self.find_once(|operation| operation.attempt(&mut || true) == AttemptStatus::Done)
            .map(Into::into)
    }

    /// Looks at each operation once, in any order, until one satisfies the condition.
    #[track_caller]
    fn find_once(&self, fits: impl Fn(&Operation<'a>) -> bool) -> Option<&Operation<'a>> {
        let mut left: Vec<&Operation<'a>> = self.operations.iter().collect();
        while !left.is_empty() {
            let at = if self.biased || left.len() == 1 {
                0
            } else {
                choose(0..left.len())
            };
            let operation = left.remove(at);
            if fits(operation) {
                return Some(operation);
            }
        }
        None
    }

    /// Waits until an operation is possible or the time is over.
    #[track_caller]
    pub fn select_timeout(
        &mut self,
        timeout: Duration,
    ) -> Result<SelectedOperation<'a>, SelectTimeoutError> {
        let is_rendezvous = self
            .operations
            .iter()
            .any(|candidate| candidate.channel.is_rendezvous());
        let futile = if facade::in_model() {
            FUTILE_WAITS.with(Cell::get)
        } else {
            0
        };
        if is_rendezvous && futile < MAX_VISIBLE_WAITS {
            let selected = self.wait_for_partner(timeout);
            if facade::in_model() {
                FUTILE_WAITS
                    .with(|count| count.set(if selected.is_some() { 0 } else { futile + 1 }));
            }
            return selected.ok_or(SelectTimeoutError);
        }
        self.draw_tickets();
        let selected = facade::until_timeout("select_timeout", timeout, || self.try_once());
        if selected.is_some() && futile > 0 {
            FUTILE_WAITS.with(|count| count.set(0));
        }
        selected.ok_or(SelectTimeoutError)
    }

    /// Waits until an operation is possible or the time is over, if one of the channels has no
    /// buffer: other threads must be able to find this one while it waits.
    #[track_caller]
    fn wait_for_partner(&mut self, timeout: Duration) -> Option<SelectedOperation<'a>> {
        let end = Instant::now().checked_add(timeout);
        loop {
            self.draw_tickets();
            let selected = self.try_once();
            if selected.is_some() {
                return selected;
            }
            // Whether the time is over. If it is not and nothing is selected, then an operation has
            // claimed the thread and was not possible, or one may be possible now. So the loop
            // tries again.
            let mut over = false;
            let left = end.map_or(timeout, |end| end.saturating_duration_since(Instant::now()));
            let selected = self.wait(|wait| {
                let claimed = wait.wait_at_most(left);
                over = claimed.is_none();
                claimed
            });
            if selected.is_some() || over {
                return selected;
            }
        }
    }

    /// Waits until an operation is possible or until this moment.
    #[track_caller]
    pub fn select_deadline(
        &mut self,
        deadline: Instant,
    ) -> Result<SelectedOperation<'a>, SelectTimeoutError> {
        self.select_timeout(deadline.saturating_duration_since(Instant::now()))
    }

    /// Waits until an operation is possible, and returns its index without performing it. Another
    /// thread may come first, so that the operation is no longer possible when it is tried.
    ///
    /// ```
    /// use mazurka_crossbeam_channel::{Select, bounded};
    ///
    /// let (s, r) = bounded(1);
    /// s.send(7).unwrap();
    /// let mut select = Select::new();
    /// let send = select.send(&s);
    /// let receive = select.recv(&r);
    /// assert_ne!(send, receive);
    /// assert_eq!(select.ready(), receive);
    /// assert_eq!(r.try_recv(), Ok(7));
    /// ```
    ///
    /// # Panics
    ///
    /// If there are no operations.
    #[track_caller]
    pub fn ready(&mut self) -> usize {
        assert!(
            !self.operations.is_empty(),
            "no operations have been added to `Select`"
        );
        loop {
            if let Some(index) = self.find_ready().or_else(|| self.wait_until_ready()) {
                return index;
            }
        }
    }

    /// Checks the operations in order. At a possible one it chooses: it returns that operation, or
    /// checks the next ones.
    #[track_caller]
    fn find_ready(&self) -> Option<usize> {
        let mut found = None;
        for (at, operation) in self.operations.iter().enumerate() {
            if operation.is_ready() {
                found = Some(operation.index);
                let sure = self.biased || at + 1 == self.operations.len();
                if sure || choose([true, false]) {
                    break;
                }
            }
        }
        found
    }

    /// Waits until an operation is possible, unless one may be possible now. Returns the index of
    /// the operation that has woken the thread; `None` if it did not wait.
    #[track_caller]
    fn wait_until_ready(&self) -> Option<usize> {
        let wait = Wait::new();
        let ready = self
            .operations
            .iter()
            .enumerate()
            .position(|(at, candidate)| {
                let watcher = Watcher {
                    wait: wait.clone(),
                    operation: at,
                };
                !candidate.channel.observe(candidate.side, watcher)
            });
        let woken = match ready {
            None => Some(wait.wait()),
            Some(_) => wait.close(),
        };
        for candidate in &self.operations[..ready.unwrap_or(self.operations.len())] {
            candidate.channel.unobserve(candidate.side, &wait);
        }
        Some(self.operations[woken?].index)
    }

    /// Returns the index of a possible operation, if there is one.
    #[track_caller]
    pub fn try_ready(&mut self) -> Result<usize, TryReadyError> {
        let ready = self.find_once(Operation::is_ready);
        ready.map(|candidate| candidate.index).ok_or(TryReadyError)
    }

    /// Waits until an operation is possible or the time is over.
    #[track_caller]
    pub fn ready_timeout(&mut self, timeout: Duration) -> Result<usize, ReadyTimeoutError> {
        let ready = facade::until_timeout("ready_timeout", timeout, || {
            self.find_once(Operation::is_ready)
        });
        ready
            .map(|candidate| candidate.index)
            .ok_or(ReadyTimeoutError)
    }

    /// Waits until an operation is possible or until this moment.
    #[track_caller]
    pub fn ready_deadline(&mut self, deadline: Instant) -> Result<usize, ReadyTimeoutError> {
        self.ready_timeout(deadline.saturating_duration_since(Instant::now()))
    }
}

impl Default for Select<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Select<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Select { .. }")
    }
}

/// A selected operation, which must be completed.
#[must_use]
pub struct SelectedOperation<'a> {
    index: usize,
    ticket: u64,
    channel: *const (),
    side: Side,
    lives: PhantomData<&'a ()>,
}

impl From<&Operation<'_>> for SelectedOperation<'_> {
    fn from(operation: &Operation<'_>) -> Self {
        Self {
            index: operation.index,
            ticket: operation.ticket,
            channel: operation.channel.address(),
            side: operation.side,
            lives: PhantomData,
        }
    }
}

impl SelectedOperation<'_> {
    /// Returns the index of the operation.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Completes a send.
    ///
    /// # Panics
    ///
    /// If another operation was selected.
    #[track_caller]
    pub fn send<T>(self, s: &Sender<T>, msg: T) -> Result<(), SendError<T>> {
        let here = self.channel == s.channel().address() && self.side == Side::Send;
        assert!(here, "passed a sender that wasn't selected");
        let ticket = self.ticket;
        std::mem::forget(self);
        s.channel().complete_send(ticket, msg)
    }

    /// Completes a receive.
    ///
    /// # Panics
    ///
    /// If another operation was selected.
    #[track_caller]
    pub fn recv<T>(self, r: &Receiver<T>) -> Result<T, RecvError> {
        let here = self.channel == r.channel().address() && self.side == Side::Receive;
        assert!(here, "passed a receiver that wasn't selected");
        let ticket = self.ticket;
        std::mem::forget(self);
        r.complete(ticket)
    }
}

impl fmt::Debug for SelectedOperation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("SelectedOperation { .. }")
    }
}

impl Drop for SelectedOperation<'_> {
    fn drop(&mut self) {
        if !mazurka_rt::thread::panicking() {
            panic!("dropped `SelectedOperation` without completing the operation");
        }
    }
}
