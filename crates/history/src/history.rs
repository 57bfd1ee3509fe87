//! The operations on an object, in the order in which they were called and ended.

use thiserror::Error;

/// The greatest number of operations of a history.
pub const MOST_OPERATIONS: usize = 64;

/// The identifier of an operation.
///
/// ```
/// let mut history = mazurka_history::History::<&str, ()>::new();
/// let first = history.call(0, "clear").unwrap();
/// assert_eq!(first.index(), 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperationId(pub(crate) u8);

impl OperationId {
    /// Returns the index of the operation in the order of calls.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The error that a history already has [`MOST_OPERATIONS`] operations.
///
/// ```
/// use mazurka_history::{HistoryFull, History};
/// let mut history = History::<u32, ()>::new();
/// let all: Result<Vec<_>, HistoryFull> = (0..100).map(|n| history.call(0, n)).collect();
/// assert_eq!(all, Err(HistoryFull));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a history has at most {MOST_OPERATIONS} operations")]
pub struct HistoryFull;

/// An operation that was called.
///
/// ```
/// let mut history = mazurka_history::History::new();
/// let id = history.call(3, "pop").unwrap();
/// history.end(id, Some(7));
/// let operation = history.operation(id);
/// assert_eq!((operation.process, operation.name), (3, "pop"));
/// assert_eq!(operation.result, Some(Some(7)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation<O, R> {
    /// The process that called it.
    pub process: usize,
    /// The operation that was called, with its arguments.
    pub name: O,
    /// The result; `None` if the operation has not ended.
    pub result: Option<R>,
    /// The operations that come before it in every order, as a bit set over their indices.
    pub(crate) before: u64,
}

/// The call or the end of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperationEvent {
    Called(OperationId),
    Ended(OperationId),
}

/// The operations on an object, with their results and the order of calls and ends.
///
/// [`call`](History::call) and [`end`](History::end) record operations as they happen, and
/// [`linearize`](History::linearize) decides whether a specification explains the results. The
/// crate's documentation has an example.
#[derive(Clone, Debug)]
pub struct History<O, R> {
    pub(crate) operations: Vec<Operation<O, R>>,
    pub(crate) events: Vec<OperationEvent>,
}

impl<O, R> Default for History<O, R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<O, R> History<O, R> {
    /// Returns an empty history.
    ///
    /// ```
    /// let history = mazurka_history::History::<(), ()>::new();
    /// assert_eq!(history.operations().count(), 0);
    /// ```
    pub fn new() -> Self {
        Self {
            operations: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Records the call of an operation by a process. All ended operations come before it.
    ///
    /// # Errors
    ///
    /// If there are too many operations.
    ///
    /// ```
    /// let mut history = mazurka_history::History::<&str, i32>::new();
    /// assert!(history.call(0, "get").is_ok());
    /// ```
    pub fn call(&mut self, process: usize, name: O) -> Result<OperationId, HistoryFull> {
        self.call_after(process, name, |_, _| true)
    }

    /// Records the call of an operation by a process. The ended operations for which `comes_before`
    /// returns true come before it. For sequential consistency, these should be the operations of
    /// the same process; under a memory model, those that happen before the call.
    ///
    /// # Errors
    ///
    /// If there are too many operations.
    ///
    /// ```
    /// use mazurka_history::{History, Verdict};
    /// let mut history = History::new();
    /// let set = history.call_after(0, Some(1), |_, earlier| earlier.process == 0).unwrap();
    /// history.end(set, 0);
    /// let get = history.call_after(1, None, |_, earlier| earlier.process == 1).unwrap();
    /// history.end(get, 0);
    /// let verdict = history.linearize(&0, |value, name| match *name {
    ///     Some(new) => { *value = new; 0 }
    ///     None => *value,
    /// });
    /// // Sequentially consistent: the call that read 0 may come first.
    /// assert_eq!(verdict, Verdict::Order(vec![get, set]));
    /// ```
    pub fn call_after(
        &mut self,
        process: usize,
        name: O,
        comes_before: impl Fn(OperationId, &Operation<O, R>) -> bool,
    ) -> Result<OperationId, HistoryFull> {
        if self.operations.len() == MOST_OPERATIONS {
            return Err(HistoryFull);
        }
        let mut before = 0;
        for (id, operation) in self.operations() {
            if operation.result.is_some() && comes_before(id, operation) {
                // The relation is transitive.
                before |= 1 << id.0 | operation.before;
            }
        }
        let id = OperationId(self.operations.len() as u8);
        self.operations.push(Operation {
            process,
            name,
            result: None,
            before,
        });
        self.events.push(OperationEvent::Called(id));
        Ok(id)
    }

    /// Records the end of an operation with its result. Does nothing if the operation has already
    /// ended.
    ///
    /// ```
    /// let mut history = mazurka_history::History::new();
    /// let get = history.call(0, "get").unwrap();
    /// history.end(get, 5);
    /// history.end(get, 6);
    /// assert_eq!(history.operation(get).result, Some(5));
    /// ```
    pub fn end(&mut self, id: OperationId, result: R) {
        let known = &mut self.operations[id.index()].result;
        if known.is_none() {
            *known = Some(result);
            self.events.push(OperationEvent::Ended(id));
        }
    }

    /// Returns an operation.
    ///
    /// ```
    /// let mut history = mazurka_history::History::<&str, ()>::new();
    /// let clear = history.call(2, "clear").unwrap();
    /// assert_eq!(history.operation(clear).process, 2);
    /// ```
    pub fn operation(&self, id: OperationId) -> &Operation<O, R> {
        &self.operations[id.index()]
    }

    /// Returns all operations, in the order of their calls.
    ///
    /// ```
    /// let mut history = mazurka_history::History::<&str, ()>::new();
    /// history.call(0, "clear").unwrap();
    /// assert_eq!(history.operations().count(), 1);
    /// ```
    pub fn operations(&self) -> impl Iterator<Item = (OperationId, &Operation<O, R>)> {
        let numbered = self.operations.iter().enumerate();
        numbered.map(|(at, operation)| (OperationId(at as u8), operation))
    }
}
