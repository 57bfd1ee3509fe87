//! Names of shared objects, as functions of the trace.
//!
//! Explorers compare the accesses of steps in different runs, so an object must have the same name
//! in all runs of one trace. Most objects of `std::sync` can be made in a constant, where they
//! cannot report their creation. So they get their name when they are first used. Which thread uses
//! an object first may depend on the order of independent steps. The name must not depend on this
//! order:
//! - An object made by a function that is not a `const fn` (a channel, a waker) is named when it
//!   is made: by the place, the thread, and the number of objects that this thread has made
//!   there before.
//! - An object in the memory of an [`Arc`](crate::sync::Arc) that was made in the model is named by
//!   the thread that made the `Arc`, the number of `Arc`s it had made before, the offset, and the
//!   number of objects used at that offset before (arc/regions.rs).
//! - If a place makes only one object, the place is its name.
//! - If a place makes several objects, then an object on the stack of a thread is named by the
//!   thread and its position there. An object in a block of the heap is named by the block, if the
//!   allocator reports blocks (heap.rs).
//! - Otherwise naming is a step. A place that makes several objects has a *registry*, a cell of its
//!   own. Before its first use of such an object, a thread makes a step that writes the registry
//!   and nothing else. If the object has no name yet, this step names it by the place, the thread,
//!   and the number of objects that the thread has named there before. Before the first step of the
//!   program no such step is needed, since nothing can run in between.
//!
//! Why these names are functions of the trace: a name by place, by `Arc` or by block depends on
//! what one thread did in its own order, and on the history of one piece of memory, whose
//! successive owners are ordered (otherwise they would race). A name by a registry depends on the
//! order of the steps that write the registry. All of them conflict, so the trace orders them. Such
//! a step has the same claims whether or not the object has a name, so reversing a race with it
//! gives the same step.
//!
//! Naming has to be a step of its own. Suppose it were a part of the step before the first use.
//! That step may take a lock. Then two steps that write the registry race, one inside a critical
//! section and the other at its beginning. Only one order of them exists, and an explorer that
//! tries the other one finds the lock held.
//!
//! A run discovers that a place makes several objects; then the search starts again. `UnsafeCell`s
//! are not part of any step, so their names need not agree between runs.

use std::sync::atomic::{AtomicU64, Ordering};

use mazurka_core::{ProcessId, ProcessPath};
use rustc_hash::FxHashMap;

use crate::heap::Blocks;
use crate::sync::Regions;
use crate::world::{CellState, Inner, Place};

/// Number of bits of a word that hold the cell; the other bits hold the epoch.
const CELL_BITS: u32 = 24;

/// Marks an object that has no name yet, in place of its cell.
const UNNAMED: u32 = (1 << CELL_BITS) - 1;

/// The next epoch. Executions of all models of the process are counted together, because objects
/// may outlive a model.
static EPOCH: AtomicU64 = AtomicU64::new(1);

/// Returns the epoch of a new execution.
pub(crate) fn next_epoch() -> u64 {
    EPOCH.fetch_add(1, Ordering::Relaxed)
}

/// The part of a shared object that links it to its cell.
pub(crate) struct Meta {
    /// The epoch of the last execution that used the object, and its cell there; 0 if
    /// there was none.
    word: AtomicU64,
    made: Place,
}

impl Meta {
    /// Makes the link of an object that was made at a place.
    pub const fn at(made: Place) -> Self {
        Self {
            word: AtomicU64::new(0),
            made,
        }
    }

    /// Returns the place where the object was made.
    pub fn made(&self) -> Place {
        self.made
    }

    /// Returns the object's cell in this execution, if it has one.
    #[inline]
    pub fn known(&self, epoch: u64) -> Option<u32> {
        let word = self.word.load(Ordering::Relaxed);
        let cell = word as u32 & UNNAMED;
        (word >> CELL_BITS == epoch && cell != UNNAMED).then_some(cell)
    }

    /// Whether this is the `Meta` of an object that no execution has used yet, rather than a
    /// remnant of a dropped object.
    pub fn is_new(&self) -> bool {
        let made = (&raw const self.made).cast::<usize>();
        // SAFETY: a reference is read as a number, whatever the memory holds now.
        #[allow(unsafe_code)]
        let made = unsafe { made.read() };
        self.word.load(Ordering::Relaxed) == 0 && crate::statics::is_loaded(made)
    }

    /// Enters an execution. Returns the epoch of the last execution that used the object; 0 if
    /// there was none.
    pub fn enter(&self, epoch: u64) -> u64 {
        let before = self.word.load(Ordering::Relaxed) >> CELL_BITS;
        if before != epoch {
            self.set(epoch, UNNAMED);
        }
        before
    }

    /// Makes this the `Meta` of a new object, which has no name yet in this execution.
    pub fn forget(&self, epoch: u64) {
        self.set(epoch, UNNAMED);
    }

    fn set(&self, epoch: u64, cell: u32) {
        let word = epoch << CELL_BITS | u64::from(cell);
        self.word.store(word, Ordering::Relaxed);
    }
}

/// Cells that the next execution reuses in the same order.
#[derive(Default)]
pub(crate) struct Pool {
    epoch: u64,
    used: usize,
    cells: Vec<u32>,
}

/// The objects that one place makes.
#[derive(Default)]
struct Site {
    /// All objects of the place in this execution.
    all: Pool,
    /// The cell that threads write to name an object, if the place makes several.
    registry: Option<u32>,
    /// The place, once there is a registry.
    place: Option<Place>,
    /// The objects that each thread has named.
    of_thread: Vec<Pool>,
}

/// The names of all objects and threads.
pub(crate) struct Names {
    sites: FxHashMap<usize, Site>,
    /// The objects that are named when they are made, by place and thread.
    made: FxHashMap<usize, Vec<Pool>>,
    /// The cells of `UnsafeCell`s.
    plain: Pool,
    pub regions: Regions,
    pub blocks: Blocks,
    /// Places that are known from the start to make several objects.
    pub shared_sites: Vec<Box<str>>,
    /// Cells that are parts of an object, by the cell of the object and the number of the part.
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
            blocks: Blocks::default(),
            shared_sites: Vec::new(),
            parts: FxHashMap::default(),
            paths: Vec::new(),
            last_child: ProcessId(0),
        }
    }
}

impl Names {
    /// Returns the places that make several objects.
    pub fn registered_sites(&self) -> impl Iterator<Item = String> {
        let places = self.sites.values().filter_map(|site| site.place);
        places.map(site_name)
    }
}

/// Returns the name of a place, without spaces.
fn site_name(place: Place) -> String {
    place.to_string().replace(' ', "%20")
}

impl Inner {
    /// Makes a new cell.
    pub fn new_cell(&mut self, kind: &'static str) -> u32 {
        self.cells.push(CellState {
            kind,
            ..CellState::default()
        });
        let cell = self.cells.len() as u32 - 1;
        assert!(cell < UNNAMED, "more shared objects than can be told apart");
        cell
    }

    /// Returns the next cell of a pool, cleared.
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

    /// Returns the cell of a part of an object, cleared.
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

    /// Returns the cell of a part of an object, if it has been made.
    pub fn part(&self, of: u32, number: u32) -> Option<u32> {
        self.names.parts.get(&(of, number)).copied()
    }

    /// Clears a cell.
    pub fn clean(&mut self, cell: u32) {
        let state = &mut self.cells[cell as usize];
        state.holder = None;
        state.readers.clear();
        (state.flag, state.count) = (0, 0);
        state.changes = [0; 2];
        state.waiters.clear();
        state.registry = None;
        state.users.clear();
        state.initial = 0;
        state.end = None;
        state.uses.clear();
        self.clocks.clean(cell);
    }

    /// Returns the cell of an object, or the registry that the current thread must write first.
    #[inline]
    pub fn find(&mut self, meta: &Meta, kind: &'static str) -> Result<u32, u32> {
        let Some(cell) = meta.known(self.epoch) else {
            return self.name_without_step(meta, kind);
        };
        let state = &self.cells[cell as usize];
        match state.registry {
            Some(registry) if !state.users.contains(&self.current) => Err(registry),
            _ => Ok(cell),
        }
    }

    /// Names an object that has no name in this execution, if that needs no step.
    #[cold]
    fn name_without_step(&mut self, meta: &Meta, kind: &'static str) -> Result<u32, u32> {
        if let Some(cell) = self.freed_cell(meta) {
            return Ok(cell);
        }
        let place = self.name_in_region(meta, kind);
        if let Some(cell) = place.or_else(|| self.name_in_block(meta, kind)) {
            return Ok(self.set_name(meta, cell));
        }
        let mut sites = std::mem::take(&mut self.names.sites);
        let site = sites.entry(address(meta.made)).or_default();
        if site.registry.is_none() && !self.names.shared_sites.is_empty() {
            let name = site_name(meta.made);
            if self.names.shared_sites.iter().any(|known| **known == name) {
                site.registry = Some(self.new_cell("names"));
                site.place = Some(meta.made);
            }
        }
        let result = match site.registry {
            Some(registry) if self.in_step => Err(registry),
            Some(_) => Ok(self.name_by_thread(site, kind)),
            None => Ok(self.next_of(&mut site.all, kind)),
        };
        if site.registry.is_none() && site.all.used > 1 {
            self.restart = true;
            if !self.names.blocks.start_recording() {
                site.registry = Some(self.new_cell("names"));
                site.place = Some(meta.made);
            }
        }
        self.names.sites = sites;
        result.map(|cell| self.set_name(meta, cell))
    }

    fn name_by_thread(&mut self, site: &mut Site, kind: &'static str) -> u32 {
        let thread = self.current.index();
        self.next_of(entry(&mut site.of_thread, thread), kind)
    }

    fn set_name(&mut self, meta: &Meta, cell: u32) -> u32 {
        self.shared = true;
        self.cells[cell as usize].made = Some(meta.made);
        meta.set(self.epoch, cell);
        cell
    }

    /// Returns the cell of an object, naming it first if necessary. The current thread has just
    /// written the registry.
    pub fn resolve(&mut self, meta: &Meta, kind: &'static str) -> u32 {
        let cell = match meta.known(self.epoch) {
            Some(cell) => cell,
            None => {
                let mut sites = std::mem::take(&mut self.names.sites);
                let site = sites.entry(address(meta.made)).or_default();
                let cell = self.name_by_thread(site, kind);
                self.cells[cell as usize].registry = site.registry;
                self.names.sites = sites;
                self.set_name(meta, cell)
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
        self.set_name(meta, cell)
    }

    /// Returns the cell of an `UnsafeCell`, which only the clocks use.
    #[inline]
    pub fn plain(&mut self, meta: &Meta) -> u32 {
        let known = meta.known(self.epoch);
        known.unwrap_or_else(|| self.new_plain(meta))
    }

    fn new_plain(&mut self, meta: &Meta) -> u32 {
        if let Some(cell) = self.freed_cell(meta) {
            return cell;
        }
        let mut pool = std::mem::take(&mut self.names.plain);
        let cell = self.next_of(&mut pool, "UnsafeCell");
        self.names.plain = pool;
        self.set_name(meta, cell)
    }
}

fn address(place: Place) -> usize {
    std::ptr::from_ref(place) as usize
}

/// Returns the element at an index; extends the vector if necessary.
pub(crate) fn entry<T: Default>(all: &mut Vec<T>, at: usize) -> &mut T {
    if all.len() <= at {
        all.resize_with(at + 1, T::default);
    }
    &mut all[at]
}
