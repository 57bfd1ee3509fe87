//! Locks with readers, under a memory model.
//!
//! Readers of an `RwLock` are not ordered with each other, but a lock of the engine
//! (`mazurka-memory`) orders all threads that take it. So an `RwLock` consists of several locks:
//! one for the writers, and one for each thread that reads. A reader takes its own lock; a writer
//! takes the writers' lock and then those of all readers. So two executions differ if a reader
//! comes between other writers, but not if two readers swap. And a reader synchronises only with
//! writers, as std promises. A thread that holds several read guards at a time takes its lock only
//! once.
//!
//! The search has to know which threads read. If it meets a new one, it starts again (facts.rs).
//!
//! A writer takes these locks one after the other. While it waits for the lock of a reader, it
//! already holds other locks, but not yet the `RwLock`. This half-way state does not exist in a
//! real `RwLock`: there a waiting writer keeps no reader waiting, and all waiting writers are in
//! the same state. The difference matters only if threads wait for ever. So an execution with such
//! a writer does not count as a deadlock if a reader waits for the writer, or if another writer
//! whose name comes first waits for it ([`WeakProgram::is_covered_wait`]). Other executions cover
//! this one.
//!
//! An attempt (`try_read`, `try_write`) would observe the half-way state, and a `downgrade` has to
//! let readers in. In a program that uses one of these operations, each `RwLock` is instead one
//! location with the number of its readers (`sync/rwlock.rs`), which orders the readers, too.

use mazurka_memory::{Action, Loc};

use super::Rule;
use super::program::WeakProgram;
use crate::world::{Inner, Life, Pending, Until, World};

/// The knowledge about the `RwLock`s of a program.
#[derive(Debug, Default)]
pub(crate) struct Readers {
    /// The threads that read any `RwLock`, in the order in which the search has reached their
    /// reads.
    pub threads: Vec<u32>,
    /// Whether any `RwLock` is tried or downgraded. Then each `RwLock` is one location with the
    /// number of its readers.
    pub counted: bool,
}

impl Inner {
    /// Returns the lock of a thread that reads an `RwLock`.
    fn reading_part(&mut self, cell: u32, thread: u32) -> u32 {
        let known = self.part(cell, thread);
        known.unwrap_or_else(|| self.new_part(cell, thread, "RwLock"))
    }

    /// Returns how often the current thread holds an `RwLock` for reading.
    fn times_read(&self, cell: u32) -> usize {
        let readers = self.cells[cell as usize].readers.iter();
        readers.filter(|(who, _)| *who == self.current).count()
    }
}

impl World {
    /// Whether each reader has its own lock. An operation that does not wait (an attempt or a
    /// downgrade) makes this false, and the search starts again.
    pub fn readers_are_apart(&self, waits: bool) -> bool {
        let mut inner = self.inner.borrow_mut();
        if !waits && !inner.readers.counted {
            inner.readers.counted = true;
            inner.restart = true;
            drop(inner);
            self.suspend_for_ever()
        }
        !inner.readers.counted
    }

    /// Waits for read access to an `RwLock`, and takes it.
    pub fn lock_to_read(&self, cell: u32, pending: Pending) {
        if let Some(part) = self.own_part(cell) {
            self.act(pending, Action::Lock { loc: Loc(part) }, Rule::Nothing);
        }
        self.took_lock();
    }

    /// Ends a read.
    pub fn unlock_read(&self, cell: u32, pending: Pending) {
        let part = {
            let mut inner = self.inner.borrow_mut();
            let thread = inner.current.0;
            let last = inner.times_read(cell) == 1;
            last.then(|| inner.reading_part(cell, thread))
        };
        if let Some(part) = part {
            self.act(pending, Action::Unlock { loc: Loc(part) }, Rule::Nothing);
        }
    }

    /// Waits for write access to an `RwLock`, and takes it.
    pub fn lock_to_write(&self, cell: u32, pending: Pending) {
        self.act(pending, Action::Lock { loc: Loc(cell) }, Rule::Nothing);
        let what = (pending.what.0, "wait for readers");
        for part in self.reading_parts(cell) {
            let pending = Pending { what, ..pending };
            self.act(pending, Action::Lock { loc: Loc(part) }, Rule::Nothing);
        }
        self.took_lock();
    }

    /// Ends a write. `dirty` tells whether the content may have changed. The function `give_back`
    /// releases the real lock. It is called after the first step, because the thread that is let in
    /// first must find the real lock free.
    pub fn unlock_write(&self, cell: u32, dirty: bool, pending: Pending, give_back: impl FnOnce()) {
        let mut give_back = Some(give_back);
        let what = (pending.what.0, "let readers in");
        for part in self.reading_parts(cell) {
            let pending = Pending { what, ..pending };
            self.act(pending, Action::Unlock { loc: Loc(part) }, Rule::Nothing);
            give_back
                .take()
                .into_iter()
                .for_each(|give_back| give_back());
        }
        self.unlock(cell, dirty, pending);
        give_back.into_iter().for_each(|give_back| give_back());
    }

    /// Returns the lock that the current thread has to take for reading; `None` if it
    /// reads already.
    fn own_part(&self, cell: u32) -> Option<u32> {
        let mut inner = self.inner.borrow_mut();
        let thread = inner.current.0;
        if !inner.readers.threads.contains(&thread) {
            inner.readers.threads.push(thread);
            inner.restart = true;
            drop(inner);
            self.suspend_for_ever()
        }
        let first = inner.times_read(cell) == 0;
        first.then(|| inner.reading_part(cell, thread))
    }

    /// Returns the locks of all threads that read.
    fn reading_parts(&self, cell: u32) -> Vec<u32> {
        let mut inner = self.inner.borrow_mut();
        let threads = inner.readers.threads.clone().into_iter();
        threads
            .map(|thread| inner.reading_part(cell, thread))
            .collect()
    }
}

impl WeakProgram {
    /// Whether another execution covers this one, in which a thread waits to write.
    pub fn is_covered_wait(&self) -> bool {
        self.inner(|inner| {
            let waiting = (0..inner.threads.len()).filter_map(|number| {
                let thread = &inner.threads[number];
                match thread.engine.action {
                    Some(Action::Lock { loc }) if thread.life == Life::Alive => {
                        Some((number, thread.pending.until, loc))
                    }
                    _ => None,
                }
            });
            let waiting: Vec<_> = waiting.collect();
            let path = |number: usize| &inner.names.paths[number];
            waiting.iter().any(|&(writer, until, at)| match until {
                // This writer holds the writers' lock, and waits for the lock of a reader.
                Until::Write(cell) if at != Loc(cell) => {
                    waiting.iter().any(|&(other, until, _)| match until {
                        Until::Read(read) => read == cell,
                        Until::Write(written) => written == cell && path(other) < path(writer),
                        _ => false,
                    })
                }
                _ => false,
            })
        })
    }
}
