//! Checkpoints: saved states of the current execution, to return to without running the program
//! from its start.
//!
//! All data that an execution changes is at fixed addresses, so a checkpoint is a copy of it: the
//! writable memory of the program, and for each thread its heap, its two stacks (of the program and
//! of the runtime) and its state in the runtime. A suspended coroutine is a pointer into the
//! runtime's stack, so it can be copied, too. The stack of a thread that has ended is not saved.
//!
//! The first checkpoint is taken at the first step. Others are taken while steps are repeated: one
//! in the middle of each long sequence of repeated steps. Returning to a state before a checkpoint
//! drops this checkpoint. The copies are reused, so after a while nothing is allocated.

use mazurka_core::{Fingerprint, ProcessId};

use crate::clock::{SavedClocks, copy};
use crate::world::{Cell, Life, Running, Thread, World};

/// Maximum number of checkpoints.
const MOST: usize = 8;
/// Minimum number of repeated steps that justifies a checkpoint.
const LONG: usize = 5;
/// Maximum number of bytes in a checkpoint; `LARGE_FIRST` is the maximum for the first one.
const LARGE: usize = 1 << 18;
const LARGE_FIRST: usize = 1 << 22;

/// The checkpoints of the current execution.
#[derive(Default)]
pub(crate) struct Checkpoints {
    /// The number of the machine that this execution belongs to.
    owner: u64,
    /// The checkpoints, with increasing depth.
    kept: Vec<Checkpoint>,
    /// Unused copies, kept for their allocations.
    spare: Vec<Checkpoint>,
    /// Whether checkpoints are forbidden, because the program uses `qsort`. This function calls the
    /// program back and may own memory, so it cannot be resumed twice from the same state.
    pub forbidden: bool,
}

/// A saved state of an execution.
#[derive(Default)]
struct Checkpoint {
    /// Number of steps that lead to this state.
    depth: usize,
    image: Vec<u8>,
    threads: Vec<SavedThread>,
    cells: Vec<(u32, Cell)>,
    clocks: SavedClocks,
    keys: Vec<usize>,
    at_exit: Vec<(usize, usize)>,
    printed: Vec<u8>,
    left: Vec<u8>,
    /// The shared part of the runtime's state; `None` if nothing has been saved.
    shared: Option<Shared>,
}

/// The part of the runtime that threads share.
#[derive(Clone, Copy)]
struct Shared {
    alive: usize,
    started: u32,
    exited: bool,
    finished: bool,
    in_section: bool,
    loaded: ProcessId,
    current: ProcessId,
    last_child: ProcessId,
    output: Fingerprint,
    exit_code: i64,
}

/// A thread and the content of its memory.
struct SavedThread {
    thread: Thread,
    heap: Vec<u8>,
    stack: Vec<u8>,
    runtime: Vec<u8>,
}

impl Default for SavedThread {
    fn default() -> Self {
        Self {
            thread: Thread::new(Default::default(), 0),
            heap: Vec::new(),
            stack: Vec::new(),
            runtime: Vec::new(),
        }
    }
}

/// Returns a copy of a suspended coroutine. After one of the two copies was resumed, the other may
/// be resumed only if the content of its stack is restored first.
fn copy_of(coroutine: &Running) -> Running {
    // SAFETY: neither copy is ever dropped, and the type has no reference to itself.
    unsafe { std::ptr::read(coroutine) }
}

/// Returns where the coroutine of a thread is suspended: the only word of the coroutine that points
/// into the stack of the runtime. `None` if there is no such word or more than one.
fn suspended_at(thread: &Thread) -> Option<usize> {
    const WORDS: usize = size_of::<Running>() / size_of::<usize>();
    let coroutine = thread.coroutine.as_ref()?;
    // SAFETY: the coroutine consists of initialised words: pointers, which may be null.
    let words: [usize; WORDS] = unsafe { std::mem::transmute_copy(coroutine) };
    let mut found = words
        .into_iter()
        .filter(|&word| thread.region.is_runtime_stack(word));
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

impl Thread {
    /// Copies the state of another thread, without the content of its memory.
    fn become_like(&mut self, other: &Self) {
        let Self {
            life,
            pending,
            yielder,
            coroutine,
            region,
            routine,
            result,
            steps,
            children,
            detached,
            joined,
            claimed,
            exits,
            token_cell,
            awaiting,
            token,
            errno,
            tls,
            keys,
            now,
            reads_clock,
            at_end,
            spin,
            access,
            writing,
            idle,
            // Only memory models use it, and they have no checkpoints.
            weak_state: _,
            lowest,
            top,
            started,
            thrown,
            stamp,
        } = other;
        (self.life, self.pending, self.yielder) = (*life, *pending, *yielder);
        self.coroutine = coroutine.as_ref().map(copy_of);
        self.region.become_like(region);
        (self.routine, self.result, self.steps) = (*routine, *result, *steps);
        (self.children, self.detached, self.joined) = (*children, *detached, *joined);
        (self.claimed, self.exits) = (*claimed, *exits);
        (self.token_cell, self.awaiting) = (*token_cell, *awaiting);
        (self.token, self.errno) = (*token, *errno);
        copy(&mut self.tls, tls);
        copy(&mut self.keys, keys);
        (self.now, self.reads_clock) = (*now, *reads_clock);
        copy(&mut self.at_end, at_end);
        self.spin.become_like(spin);
        (self.access, self.writing, self.idle) = (*access, *writing, *idle);
        (self.lowest, self.top, self.started) = (*lowest, *top, *started);
        (self.thrown, self.stamp) = (*thrown, *stamp);
    }

    /// Whether another thread has the same state, apart from the content of its memory.
    fn is_as(&self, other: &Self) -> bool {
        self.stamp == other.stamp && self.stamp != 0
    }

    /// Whether the thread is alive: suspended at an operation, so that its stacks must be saved.
    fn stands(&self) -> bool {
        self.life == Life::Alive
    }
}

impl Cell {
    /// Copies the state of another cell if the two differ.
    #[inline]
    fn become_like(&mut self, other: &Self) {
        let Self {
            epoch,
            holder,
            depth,
            readers,
            waiters,
            version,
            destroyed,
            generation,
            semaphore,
            address,
            initial,
            stamp,
        } = other;
        if self.stamp == *stamp {
            return;
        }
        self.stamp = *stamp;
        (self.epoch, self.holder, self.depth) = (*epoch, *holder, *depth);
        copy(&mut self.readers, readers);
        copy(&mut self.waiters, waiters);
        (self.version, self.destroyed) = (*version, *destroyed);
        (self.generation, self.semaphore) = (*generation, *semaphore);
        (self.address, self.initial) = (*address, *initial);
    }
}

impl SavedThread {
    /// Saves a thread. Returns false if it is unknown where the thread is suspended.
    fn save(&mut self, thread: &Thread) -> bool {
        if !self.thread.is_as(thread) {
            self.thread.become_like(thread);
        }
        self.heap.clear();
        self.heap.extend_from_slice(thread.region.content());
        self.stack.clear();
        self.runtime.clear();
        if !thread.stands() {
            return true;
        }
        let Some(lowest) = suspended_at(thread) else {
            return false;
        };
        thread.region.save_stack(thread.lowest, &mut self.stack);
        thread.region.save_runtime(lowest, &mut self.runtime);
        true
    }

    fn restore(&self, thread: &mut Thread) {
        let (lowest, same) = (thread.lowest, thread.is_as(&self.thread));
        if !same {
            thread.become_like(&self.thread);
        }
        // Other threads may have written to this heap.
        thread.region.put_heap(&self.heap);
        if self.thread.stands() {
            thread.region.put_stack(lowest, &self.stack);
            if !same {
                thread.region.put_runtime(&self.runtime);
            }
        } else {
            // The stack is zeroed when the next execution begins.
            thread.lowest = lowest.min(thread.lowest);
        }
    }
}

impl Checkpoints {
    /// Drops all checkpoints, because they belong to another search.
    pub fn forget(&mut self) {
        self.owner = 0;
        self.spare.append(&mut self.kept);
    }

    /// Drops the checkpoints beyond this depth of a machine's execution.
    #[inline]
    pub fn go_back(&mut self, owner: u64, depth: usize) {
        while self.owner == owner && self.kept.last().is_some_and(|last| last.depth > depth) {
            self.spare.extend(self.kept.pop());
        }
    }

    /// Returns the depth at which to take a checkpoint while a machine repeats these steps; `None`
    /// if none is worth its cost.
    pub fn wanted(&self, steps: std::ops::Range<usize>) -> Option<usize> {
        let few = self.kept.len() < MOST;
        (few && !self.forbidden && steps.len() >= LONG).then_some(steps.start + steps.len() / 2)
    }
}

impl World {
    /// Saves the state of a machine's execution at this depth, if that is worth its cost.
    pub fn keep(&mut self, owner: u64, depth: usize) {
        if self.checkpoints.forbidden || self.weak.on || self.stop.is_some() {
            return;
        }
        let stacks = |thread: &Thread| thread.region.stack_base().saturating_sub(thread.lowest);
        let sizes = self.threads.iter().map(|thread| {
            let heap = thread.region.mark().0;
            heap + if thread.stands() { stacks(thread) } else { 0 }
        });
        let size = self.image.size() + sizes.sum::<usize>();
        if size > if depth == 0 { LARGE_FIRST } else { LARGE } {
            return;
        }
        if self.checkpoints.owner != owner {
            self.checkpoints.forget();
            self.checkpoints.owner = owner;
        }
        let mut new = self.checkpoints.spare.pop().unwrap_or_default();
        if self.save(&mut new) {
            new.depth = depth;
            self.checkpoints.kept.push(new);
        } else {
            self.checkpoints.spare.push(new)
        }
    }

    /// Returns to the last checkpoint of a machine. Returns its depth, or `None` if there is no
    /// checkpoint.
    pub fn go_to_checkpoint(&mut self, owner: u64) -> Option<usize> {
        if self.checkpoints.owner != owner {
            return None;
        }
        let last = self.checkpoints.kept.pop()?;
        let depth = last.depth;
        self.restore(&last);
        self.checkpoints.kept.push(last);
        Some(depth)
    }

    fn save(&mut self, into: &mut Checkpoint) -> bool {
        self.keep_thread_locals();
        self.image.save(&mut into.image);
        into.threads
            .resize_with(self.threads.len(), Default::default);
        for (into, thread) in into.threads.iter_mut().zip(&self.threads) {
            if !into.save(thread) {
                return false;
            }
        }
        into.cells
            .resize_with(self.used_cells.len(), Default::default);
        for (into, &cell) in into.cells.iter_mut().zip(&self.used_cells) {
            into.0 = cell;
            into.1.become_like(&self.cells[cell as usize]);
        }
        self.clocks.save(&mut into.clocks);
        copy(&mut into.keys, &self.keys);
        copy(&mut into.at_exit, &self.at_exit);
        copy(&mut into.printed, &self.printed);
        copy(&mut into.left, &self.left);
        into.shared = Some(Shared {
            alive: self.alive,
            started: self.started,
            exited: self.exited,
            finished: self.finished,
            in_section: self.in_section,
            loaded: self.loaded,
            current: self.current,
            last_child: self.last_child,
            output: self.output,
            exit_code: self.exit_code,
        });
        true
    }

    fn restore(&mut self, from: &Checkpoint) {
        self.epoch += 1;
        self.image.put_back(&from.image);
        for (at, thread) in self.threads.iter_mut().enumerate() {
            match from.threads.get(at) {
                Some(saved) if saved.thread.life != Life::Unborn => saved.restore(thread),
                _ => thread.begin((0, 0), &[]),
            }
        }
        self.used_cells.clear();
        for (number, saved) in &from.cells {
            self.used_cells.push(*number);
            let cell = &mut self.cells[*number as usize];
            cell.become_like(saved);
            cell.epoch = self.epoch;
        }
        self.clocks.restore(&from.clocks);
        self.effects.clear();
        copy(&mut self.keys, &from.keys);
        copy(&mut self.at_exit, &from.at_exit);
        copy(&mut self.printed, &from.printed);
        copy(&mut self.left, &from.left);
        if let Some(shared) = from.shared {
            (self.alive, self.started) = (shared.alive, shared.started);
            (self.exited, self.finished) = (shared.exited, shared.finished);
            (self.in_section, self.loaded) = (shared.in_section, shared.loaded);
            (self.current, self.last_child) = (shared.current, shared.last_child);
            (self.output, self.exit_code) = (shared.output, shared.exit_code);
        }
        self.load_thread_locals();
    }
}
