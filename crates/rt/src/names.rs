//! Names of shared objects: functions of the trace.
//!
//! Explorers compare what steps of different runs touch, so an object must have the same name in
//! all runs of one trace. Most objects of `std::sync` can be made in a constant, so they cannot
//! report that they have been made: they get their name when they are first used. Which thread is
//! first may depend on the order of steps that are independent, so a name must not depend on it:
//! - What is made by a function that is no `const fn` (a channel, a waker) is named when it is
//!   made, by the place, the thread, and how many this thread has made there before.
//! - What lies in the memory of an [`Arc`](crate::sync::Arc) that was made in the model is named by
//!   the thread that made the `Arc`, how many it had made before, the offset in it, and how many
//!   objects were used at that offset before (arc.rs).
//! - If a place makes only one object, the place is its name.
//! - Else to name it is a step. A place that makes several objects has a *registry*, a cell of its
//!   own. A thread that uses such an object for the first time makes a step before, which writes
//!   the registry and nothing else. If the object has no name in this step, it gets one: the place,
//!   this thread, how many it has named there before. What is named before the first step of all
//!   needs none, since nothing can come in between.
//!
//! Why these are functions of the trace: in the first two cases the name depends on what one thread
//! did in its own order, and on what happened to one piece of memory, whose successive owners are
//! ordered, else they raced. In the fourth the registry is an ordinary shared object, all steps
//! that touch it conflict, and the trace orders them. The claims of such a step are the same
//! whether or not the object has a name, so that reversing a race with it gives the same step.
//!
//! It has to be a step of its own. It was once a part of the step before the first use, claimed
//! afterwards. That step may take a lock, and then the two race that write the registry, one of
//! them in a critical section and the other at its beginning: no order of them but one exists, and
//! an explorer that tries the other one finds the lock held.
//!
//! That a place makes several objects is learned on the way; then the search starts again.
//! `UnsafeCell`s are no part of any step, so that their names need not be the same in any two runs.

use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};

use mazurka_core::{ProcessId, ProcessPath};
use rustc_hash::FxHashMap;

use crate::sync::Regions;
use crate::world::{CellState, Inner, Place};

/// Bits of a word that hold the cell; the rest is the number of the execution.
const CELL_BITS: u32 = 24;

/// Stands for a cell in the word of an object that has no name yet.
const UNNAMED: u32 = (1 << CELL_BITS) - 1;

/// Executions are counted for all models of the process together: objects may outlive one.
static EPOCH: AtomicU64 = AtomicU64::new(1);

/// A number for a new execution.
pub(crate) fn next_epoch() -> u64 {
    EPOCH.fetch_add(1, Ordering::Relaxed)
}

/// What an object knows about itself.
pub(crate) struct Meta {
    /// The last execution that it was used in, and its cell there; 0 if it was in none.
    word: AtomicU64,
    made: Place,
}

impl Meta {
    #[track_caller]
    pub const fn new() -> Self {
        Self {
            word: AtomicU64::new(0),
            made: Location::caller(),
        }
    }

    /// Made at a place that is known already.
    pub const fn at(made: Place) -> Self {
        Self {
            word: AtomicU64::new(0),
            made,
        }
    }

    /// Where it was made.
    pub fn made(&self) -> Place {
        self.made
    }

    /// Its cell in this execution, if it has one.
    #[inline]
    pub fn known(&self, epoch: u64) -> Option<u32> {
        let word = self.word.load(Ordering::Relaxed);
        let cell = word as u32 & UNNAMED;
        (word >> CELL_BITS == epoch && cell != UNNAMED).then_some(cell)
    }

    /// Enters an execution: the one that it was used in before, 0 if there was none.
    pub fn enter(&self, epoch: u64) -> u64 {
        let before = self.word.load(Ordering::Relaxed) >> CELL_BITS;
        if before != epoch {
            self.set(epoch, UNNAMED);
        }
        before
    }

    fn set(&self, epoch: u64, cell: u32) {
        let word = epoch << CELL_BITS | u64::from(cell);
        self.word.store(word, Ordering::Relaxed);
    }
}

/// Cells that are used again in the next execution, in the same order.
#[derive(Default)]
pub(crate) struct Pool {
    epoch: u64,
    used: usize,
    cells: Vec<u32>,
}

/// The objects that one place makes.
#[derive(Default)]
struct Site {
    /// The objects in this execution.
    all: Pool,
    /// What threads write to name an object, if there are several.
    registry: Option<u32>,
    /// For each thread the objects that it has named.
    of_thread: Vec<Pool>,
}

/// All names.
pub(crate) struct Names {
    sites: FxHashMap<usize, Site>,
    /// The same for what is named when it is made.
    made: FxHashMap<usize, Vec<Pool>>,
    /// Plain data.
    plain: Pool,
    pub regions: Regions,
    /// Cells that belong to another one.
    parts: FxHashMap<(u32, u32), u32>,
    /// The names of threads, by number.
    pub paths: Vec<ProcessPath>,
    /// The thread that was started last.
    pub last_child: ProcessId,
}

impl Default for Names {
    fn default() -> Self {
        Self {
            sites: FxHashMap::default(),
            made: FxHashMap::default(),
            plain: Pool::default(),
            regions: Regions::default(),
            parts: FxHashMap::default(),
            paths: Vec::new(),
            last_child: ProcessId(0),
        }
    }
}

impl Inner {
    /// A cell that nothing else uses.
    pub fn new_cell(&mut self, kind: &'static str) -> u32 {
        self.cells.push(CellState {
            kind,
            ..CellState::default()
        });
        let cell = self.cells.len() as u32 - 1;
        assert!(cell < UNNAMED, "more shared objects than can be told apart");
        cell
    }

    /// The next cell of a pool, as good as new.
    pub fn next_of(&mut self, pool: &mut Pool, kind: &'static str) -> u32 {
        if pool.epoch != self.epoch {
            (pool.epoch, pool.used) = (self.epoch, 0);
        }
        if pool.used == pool.cells.len() {
            pool.cells.push(self.new_cell(kind));
        }
        let cell = pool.cells[pool.used];
        pool.used += 1;
        self.clean(cell);
        self.cells[cell as usize].kind = kind;
        cell
    }

    /// The cell of a part of an object, as good as new.
    pub fn new_part(&mut self, of: u32, number: u32, kind: &'static str) -> u32 {
        let part = match self.names.parts.get(&(of, number)) {
            Some(&part) => part,
            None => {
                let part = self.new_cell(kind);
                self.names.parts.insert((of, number), part);
                part
            }
        };
        self.clean(part);
        self.cells[part as usize].made = self.cells[of as usize].made;
        part
    }

    /// The cell of a part of an object, if it has been made.
    pub fn part(&self, of: u32, number: u32) -> Option<u32> {
        self.names.parts.get(&(of, number)).copied()
    }

    /// As good as new.
    pub fn clean(&mut self, cell: u32) {
        let state = &mut self.cells[cell as usize];
        state.holder = None;
        state.readers.clear();
        (state.flag, state.count) = (0, 0);
        state.changes = [0; 2];
        state.waiters.clear();
        state.registry = None;
        state.users.clear();
        self.clocks.clean(cell);
    }

    /// The cell of an object, or the registry that the current thread must write first.
    #[inline]
    pub fn find(&mut self, meta: &Meta, kind: &'static str) -> Result<u32, u32> {
        let Some(cell) = meta.known(self.epoch) else {
            return self.introduce(meta, kind);
        };
        let state = &self.cells[cell as usize];
        match state.registry {
            Some(registry) if !state.users.contains(&self.current) => Err(registry),
            _ => Ok(cell),
        }
    }

    /// Names an object that has no name in this execution, if that needs no step.
    #[cold]
    fn introduce(&mut self, meta: &Meta, kind: &'static str) -> Result<u32, u32> {
        if let Some(cell) = self.name_in_region(meta, kind) {
            return Ok(self.give_name(meta, cell));
        }
        let mut sites = std::mem::take(&mut self.names.sites);
        let site = sites.entry(address(meta.made)).or_default();
        let result = match site.registry {
            Some(registry) if self.in_step => Err(registry),
            Some(_) => Ok(self.name_by_thread(site, kind)),
            None => Ok(self.next_of(&mut site.all, kind)),
        };
        if site.registry.is_none() && site.all.used > 1 {
            site.registry = Some(self.new_cell("names"));
            self.restart = true;
        }
        self.names.sites = sites;
        result.map(|cell| self.give_name(meta, cell))
    }

    fn name_by_thread(&mut self, site: &mut Site, kind: &'static str) -> u32 {
        let thread = self.current.index();
        self.next_of(entry(&mut site.of_thread, thread), kind)
    }

    fn give_name(&mut self, meta: &Meta, cell: u32) -> u32 {
        self.cells[cell as usize].made = Some(meta.made);
        meta.set(self.epoch, cell);
        cell
    }

    /// The current thread has written the registry: it names the object, or learns its name.
    pub fn resolve(&mut self, meta: &Meta, kind: &'static str) -> u32 {
        let cell = match meta.known(self.epoch) {
            Some(cell) => cell,
            None => {
                let mut sites = std::mem::take(&mut self.names.sites);
                let site = sites.entry(address(meta.made)).or_default();
                let cell = self.name_by_thread(site, kind);
                self.cells[cell as usize].registry = site.registry;
                self.names.sites = sites;
                self.give_name(meta, cell)
            }
        };
        let current = self.current;
        self.cells[cell as usize].users.push(current);
        cell
    }

    /// Names an object that the current thread has just made.
    pub fn created(&mut self, meta: &Meta, kind: &'static str) -> u32 {
        let thread = self.current.index();
        let mut made = std::mem::take(&mut self.names.made);
        let pools = made.entry(address(meta.made)).or_default();
        let cell = self.next_of(entry(pools, thread), kind);
        self.names.made = made;
        self.give_name(meta, cell)
    }

    /// The cell of plain data, for the clocks only.
    #[inline]
    pub fn plain(&mut self, meta: &Meta) -> u32 {
        let known = meta.known(self.epoch);
        known.unwrap_or_else(|| self.new_plain(meta))
    }

    fn new_plain(&mut self, meta: &Meta) -> u32 {
        let mut pool = std::mem::take(&mut self.names.plain);
        let cell = self.next_of(&mut pool, "UnsafeCell");
        self.names.plain = pool;
        self.give_name(meta, cell)
    }
}

fn address(place: Place) -> usize {
    std::ptr::from_ref(place) as usize
}

/// The element of a vector, made if it is not there.
pub(crate) fn entry<T: Default>(all: &mut Vec<T>, at: usize) -> &mut T {
    if all.len() <= at {
        all.resize_with(at + 1, T::default);
    }
    &mut all[at]
}
