//! The next step of a thread: whether it is possible, what it waits for and what it claims.
//! Explorers query this very often. Most threads have ended or wait for nothing, so these cases
//! come first.

use mazurka_core::{Access, AccessKind, Claims, ProcessId, Status, Wait};

use crate::world::{Life, Thread, WaitCondition, World};

impl World {
    /// Returns what a thread can do now.
    #[inline]
    pub fn status(&self, process: ProcessId) -> Status {
        let Some(thread) = self.threads.get(process.index()) else {
            return Status::Unborn;
        };
        match thread.life {
            Life::Alive if self.finished => Status::Ended,
            Life::Alive if thread.pending.until == WaitCondition::Now => Status::Ready,
            Life::Alive => self.status_of_waiting(process, thread),
            Life::Unborn => Status::Unborn,
            Life::Ended => Status::Ended,
            Life::Failed => Status::Failed,
            Life::Discarded => Status::Discarded,
        }
    }

    #[inline(never)]
    fn status_of_waiting(&self, process: ProcessId, thread: &Thread) -> Status {
        // Under a memory model the engine knows which threads can continue.
        if !self.weak.on && self.possible(process, thread.pending.until) {
            Status::Ready
        } else {
            Status::Waiting
        }
    }

    fn possible(&self, process: ProcessId, until: WaitCondition) -> bool {
        match until {
            WaitCondition::Now => true,
            WaitCondition::Lock(cell) | WaitCondition::Read(cell) | WaitCondition::Once(cell) => {
                self.seen(cell).is_none_or(|cell| cell.holder.is_none())
            }
            WaitCondition::Token => self.threads[process.index()].token,
            WaitCondition::Ended(other) => {
                let other = &self.threads[other.index()];
                other.life == Life::Ended && !other.exits
            }
            WaitCondition::Write(cell) => self
                .seen(cell)
                .is_none_or(|cell| cell.holder.is_none() && cell.readers.is_empty()),
            // SAFETY: the address was checked when the operation was announced.
            WaitCondition::Count(address) => unsafe { *(address as *const u32) > 0 },
            WaitCondition::Barrier(cell, generation) => self
                .seen(cell)
                .is_some_and(|cell| cell.version != generation),
            WaitCondition::Change => {
                let watched = &self.threads[process.index()].spin.waits_for;
                watched
                    .iter()
                    .any(|&(cell, seen)| i64::from(self.version(cell)) != seen)
            }
        }
    }

    /// Returns the kind of condition that the next step of a thread may wait for.
    #[inline]
    pub fn wait(&self, process: ProcessId) -> Wait {
        match self.threads[process.index()].pending.until {
            WaitCondition::Now => Wait::Never,
            WaitCondition::Lock(_) | WaitCondition::Token if !self.claims_more() => Wait::Lock,
            WaitCondition::Ended(_) if !self.claims_more() => Wait::Process,
            _ => Wait::Guard,
        }
    }

    /// Whether every step claims more than its own object, because the program has atomic sections
    /// or variables are observed.
    #[inline]
    pub fn claims_more(&self) -> bool {
        self.sections.is_some() || self.end_cell.is_some()
    }

    /// Computes the claims of the next step of a thread.
    #[inline]
    pub fn claims(&self, process: ProcessId, into: &mut Claims) {
        into.clear();
        let thread = &self.threads[process.index()];
        let pending = &thread.pending;
        if let Some(access) = pending.access {
            into.push(access);
        }
        let more =
            pending.second.is_some() || pending.wakes || pending.until == WaitCondition::Change;
        if more || self.claims_more() {
            self.further_claims(thread, into);
        }
    }

    #[cold]
    fn further_claims(&self, thread: &Thread, into: &mut Claims) {
        let pending = &thread.pending;
        into.extend(pending.second);
        if let (Some(sections), Some(access)) = (self.sections, pending.access)
            && access.first != sections
        {
            into.push(Access::read(sections));
        }
        if let Some(end) = self.end_cell
            && pending.second != Some(Access::write(end))
        {
            into.push(Access::read(end));
        }
        if pending.until == WaitCondition::Change {
            for &(cell, _) in &thread.spin.waits_for {
                mazurka_core::add_claim(into, Access::read(cell));
            }
        }
        if pending.wakes
            && let Some(access) = pending.access
            && let Some(cell) = self.seen(access.first)
        {
            for waiter in &cell.waiters {
                let token = self.threads[waiter.index()].token_cell;
                into.push(Access::new(AccessKind::Release, token));
            }
            // The order of the claims must not depend on the order in which the waiters enlisted.
            into[1..].sort_unstable();
        }
    }

    /// Ends the execution if the program has ended and all remaining threads wait.
    #[inline]
    pub fn settle(&mut self) {
        if self.exited && !self.finished {
            let ready = |at: usize| self.status(ProcessId(at as u32)) == Status::Ready;
            self.finished = !(0..self.threads.len()).any(ready);
        }
    }

    /// Whether every thread has ended or the program has ended, and no thread has been halted.
    #[inline]
    pub fn is_final(&self) -> bool {
        (self.alive == 0 || self.finished) && !self.has_halted()
    }

    #[inline(never)]
    fn has_halted(&self) -> bool {
        let halted = |thread: &Thread| matches!(thread.life, Life::Failed | Life::Discarded);
        self.threads.iter().any(halted)
    }
}
