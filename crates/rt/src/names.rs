//! Names of shared objects that are the same in every equivalent execution.
//!
//! Everything in `std::sync` can be made in a constant, so no object can report that it has been made: it gets its name
//! when it is first used. But who is first may depend on the schedule, and explorers compare what steps of different runs touch. So
//! - `new` remembers where it was called, which costs nothing even in a constant, and the name is this place, the thread
//!   that used the object first, and a count;
//! - where one place makes only one object, the thread and the count say nothing, and the name is the same whoever is first;
//! - where it makes several, to name one is an event: the step that ends with its first use writes a cell of the place, and
//!   those that end with the first use by another thread read it, so that runs which give names in another order are
//!   different runs. That is learned on the way; then the search starts again. What is named before any step is always named alike.

use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};

use mazurka_core::{Access, ProcessId, ProcessPath};
use rustc_hash::FxHashMap;

use crate::world::{CellState, Inner, Place};

/// Bits of a word that hold the cell; the rest is the number of the execution.
const CELL_BITS: u32 = 24;

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

    /// Its cell in this execution, if it has been used.
    #[inline]
    pub fn known(&self, epoch: u64) -> Option<u32> {
        let word = self.word.load(Ordering::Relaxed);
        (word >> CELL_BITS == epoch).then_some(word as u32 & ((1 << CELL_BITS) - 1))
    }

    /// Whether it was used in an execution before this one.
    pub fn is_left_over(&self, epoch: u64) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        word != 0 && word >> CELL_BITS != epoch
    }
}

/// The objects that one place makes.
#[derive(Default)]
struct Site {
    epoch: u64,
    /// In this execution.
    count: u32,
    /// A cell to fight about, if there are several.
    registry: Option<u32>,
    /// Whether one was ever named in a step.
    in_step: bool,
    /// For each thread its cells, and how many of them are in use.
    of_thread: Vec<(u64, usize, Vec<u32>)>,
}

/// All names.
pub(crate) struct Names {
    sites: FxHashMap<usize, Site>,
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
        assert!(
            cell < 1 << CELL_BITS,
            "more shared objects than can be told apart"
        );
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

    /// The cell of an object that has been used in this execution.
    #[inline]
    pub fn find(&mut self, meta: &Meta) -> Option<u32> {
        let cell = meta.known(self.epoch)?;
        if self.cells[cell as usize].registry.is_some() {
            self.meet(cell);
        }
        Some(cell)
    }

    /// Whoever is not first to use an object must know who was.
    #[cold]
    fn meet(&mut self, cell: u32) {
        let state = &mut self.cells[cell as usize];
        if !state.users.contains(&self.current) {
            state.users.push(self.current);
            self.deed.claims.extend(state.registry.map(Access::read));
        }
    }

    /// Names an object that is used for the first time in this execution.
    #[cold]
    pub fn register(&mut self, meta: &Meta, kind: &'static str) -> u32 {
        let (epoch, thread) = (self.epoch, self.current.index());
        let mut sites = std::mem::take(&mut self.names.sites);
        let site = sites
            .entry(std::ptr::from_ref(meta.made) as usize)
            .or_default();
        if site.epoch != epoch {
            site.epoch = epoch;
            site.count = 0;
        }
        site.count += 1;
        if site.count > 1 && site.registry.is_none() {
            site.registry = Some(self.new_cell("names"));
            self.restart |= site.in_step || self.in_step;
        }
        let registry = site.registry.filter(|_| self.in_step);
        site.in_step |= self.in_step;
        self.deed.claims.extend(registry.map(Access::write));
        if site.of_thread.len() <= thread {
            site.of_thread.resize_with(thread + 1, Default::default);
        }
        let own = &mut site.of_thread[thread];
        if own.0 != epoch {
            (own.0, own.1) = (epoch, 0);
        }
        if own.1 == own.2.len() {
            own.2.push(self.new_cell(kind));
        }
        let cell = own.2[own.1];
        own.1 += 1;
        self.names.sites = sites;
        self.clean(cell);
        let state = &mut self.cells[cell as usize];
        state.made = Some(meta.made);
        state.registry = registry;
        state.users.push(self.current);
        meta.word
            .store(epoch << CELL_BITS | u64::from(cell), Ordering::Relaxed);
        cell
    }
}
