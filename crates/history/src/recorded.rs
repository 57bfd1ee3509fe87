//! A history made from the records of the individual processes.
//!
//! If no clock orders the operations of different processes, as under a memory model, each process
//! records its operations, and for each call the number of operations of each process that come
//! before it. These records are a partial order, but a [`History`] and its chart need a sequence of
//! calls and ends. In the sequence that is made here, an operation is called as soon as the
//! operations before it have ended, and ends only when a call waits for its end. So operations
//! overlap in the chart whenever possible.

use crate::history::{History, HistoryFull, OperationId};

/// An operation, as recorded by its process.
///
/// ```
/// use mazurka_history::{History, Recorded, Verdict};
/// let (set, get) = (Some(7), None);
/// let history = History::of_processes(vec![
///     vec![Recorded { name: set, result: 0, before: vec![] }],
///     // One operation of process 0 comes before it.
///     vec![Recorded { name: get, result: 0, before: vec![1] }],
/// ])
/// .unwrap();
/// let verdict = history.linearize(&0, |value, name| match *name {
///     Some(new) => { *value = new; 0 }
///     None => *value,
/// });
/// assert!(matches!(verdict, Verdict::Impossible { .. }));
/// assert_eq!(history.to_string(), "\
/// 0  Some(7)  ├─┤       0
/// 1  None         ├─┤   0
/// ");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded<O, R> {
    /// The operation that was called, with its arguments.
    pub name: O,
    /// The result.
    pub result: R,
    /// For each process, the number of its operations that come before this one. The operations of
    /// the process that makes this one need not be counted.
    pub before: Vec<usize>,
}

/// The operation of a process that was called and has not ended, with the result that it will have;
/// `None` if there is none.
type PendingOperation<R> = Option<(OperationId, R)>;

/// A history under construction, and the records that it is made from.
struct Assembly<O, R> {
    history: History<O, R>,
    /// For each process, the records of the operations that it has not called yet.
    left: Vec<std::vec::IntoIter<Recorded<O, R>>>,
    /// For each process, its current operation.
    open: Vec<PendingOperation<R>>,
    /// For each process, its ended operations in the order of their calls.
    ended: Vec<Vec<OperationId>>,
}

impl<O, R> Assembly<O, R> {
    /// Returns a process whose current operation must end before this process can make its next
    /// call; `None` if the process can make the call, or has no call left.
    fn waits_for(&self, process: usize) -> Option<usize> {
        let next = self.left[process].as_slice().first()?;
        if self.open[process].is_some() {
            return Some(process);
        }
        let mut counts = next.before.iter().zip(&self.ended).enumerate();
        counts
            .find_map(|(of, (count, ended))| (of != process && *count > ended.len()).then_some(of))
    }

    /// Makes the next call of a process.
    fn call(&mut self, process: usize) -> Result<(), HistoryFull> {
        let Some(Recorded {
            name,
            result,
            before,
        }) = self.left[process].next()
        else {
            return Ok(());
        };
        let ended = &self.ended;
        let called = self.history.call_after(process, name, |id, earlier| {
            let of = earlier.process;
            let count = before.get(of).copied().unwrap_or(0);
            of == process || ended[of].iter().take(count).any(|known| *known == id)
        });
        self.open[process] = Some((called?, result));
        Ok(())
    }

    fn end(&mut self, process: usize) {
        if let Some((id, result)) = self.open[process].take() {
            self.history.end(id, result);
            self.ended[process].push(id);
        }
    }
}

impl<O, R> History<O, R> {
    /// Makes a history from the records of the processes; see [`Recorded`]. If no sequence of calls
    /// and ends satisfies the counts, for example because each of two operations comes before the
    /// other, all counts of one of the waiting operations are ignored.
    ///
    /// # Errors
    ///
    /// If there are too many operations.
    ///
    /// ```
    /// let history = mazurka_history::History::<(), ()>::of_processes(vec![vec![], vec![]]);
    /// assert_eq!(history.unwrap().operations().count(), 0);
    /// ```
    pub fn of_processes(made: Vec<Vec<Recorded<O, R>>>) -> Result<Self, HistoryFull> {
        let processes = made.len();
        let mut all = Assembly {
            history: Self::new(),
            left: made.into_iter().map(Vec::into_iter).collect(),
            open: (0..processes).map(|_| None).collect(),
            ended: vec![Vec::new(); processes],
        };
        loop {
            let left = |all: &Assembly<O, R>, process: usize| all.left[process].len() > 0;
            let able = (0..processes)
                .find(|&process| left(&all, process) && all.waits_for(process).is_none());
            if let Some(process) = able {
                all.call(process)?;
                continue;
            }
            let open = || (0..processes).filter(|&process| all.open[process].is_some());
            let wanted: Vec<usize> = (0..processes).filter_map(|p| all.waits_for(p)).collect();
            let next = open().find(|process| wanted.contains(process));
            let next = next.or_else(|| open().next());
            if let Some(process) = next {
                all.end(process);
                continue;
            }
            let mut left = all.left.iter_mut().map(std::vec::IntoIter::as_mut_slice);
            match left.find_map(|left| left.first_mut()) {
                Some(waiting) => waiting.before.clear(),
                None => return Ok(all.history),
            }
        }
    }
}
