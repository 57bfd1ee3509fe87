//! The state that the threads of one execution share with their scheduler.
//!
//! A thread is a coroutine. Before an access to shared data it announces its next operation and is
//! suspended. When it is resumed, it performs the operation and runs to the next announcement. So a
//! step is one operation and the local work after it. A process has one program and one world,
//! because the memory of a loaded program exists only once.
//!
//! Threads wait as in `mazurka-rt` (its world.rs): a mutex is a lock, joining waits for the end of
//! a thread, and waiting for a condition variable takes two steps, enlisting in its list and then
//! waiting for a token. Semaphores, read-write locks, barriers and loops that spin wait by a
//! *guard*: the step is possible only in some states.
//!
//! A *cell* is the index of a shared object or a place in memory. The accesses of events refer to
//! cells. A *place* is a range of bytes that accesses treat as one variable.

use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicPtr, Ordering};

use corosensei::{Coroutine, Yielder};
use mazurka_core::{
    Access, AccessKind, Claims, Mishap, MishapKind, Outcome, ProcessId, ProcessTable,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::checkpoint::Checkpoints;
use crate::clock::{AccessInfo, AccessMark, Clocks};
use crate::heap::{FixedStack, HeapLocation, Region, thread_of};
use crate::image::Image;
use crate::spin::Spin;
use crate::trail::Trail;
use crate::weak::{Weak, WeakThreadState};
use crate::{SearchStop, Settings, heap};

/// Why a coroutine gives up control.
pub(crate) enum Request {
    /// It has announced an operation.
    Turn,
    /// A new thread is to be started.
    Start,
}

/// The function of a thread, and its argument.
pub(crate) type Routine = (extern "C" fn(usize) -> usize, usize);

/// A coroutine. It is never dropped: the stack belongs to C code, which has no destructors that
/// must run. Frames of the runtime on this stack must not own anything, because a suspended
/// coroutine may be resumed several times from the same state, or never.
pub(crate) type Running = ManuallyDrop<Coroutine<(), Request, (), FixedStack>>;

/// The condition that a thread waits for before it makes its announced step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitCondition {
    /// The thread does not wait.
    Now,
    /// A lock is free.
    Lock(u32),
    /// Another thread gives this one its token.
    Token,
    /// The end of a thread.
    Ended(ProcessId),
    /// No writer holds the lock.
    Read(u32),
    /// No reader and no writer holds the lock.
    Write(u32),
    /// The number at this address is not 0.
    Count(usize),
    /// The barrier has let this generation through.
    Barrier(u32, u32),
    /// No other thread runs the function of `pthread_once`.
    Once(u32),
    /// A value that the thread has read in a loop has changed.
    Change,
}

/// The operation that a thread has announced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub access: Option<Access>,
    pub second: Option<Access>,
    pub until: WaitCondition,
    /// Whether the operation may give tokens to threads that wait for the first cell.
    pub wakes: bool,
    /// The name of the operation.
    pub verb: &'static str,
    /// The address of the object or the place.
    pub object: usize,
    pub pc: usize,
}

impl Pending {
    pub fn new(verb: &'static str, object: usize, pc: usize) -> Self {
        Self {
            access: None,
            second: None,
            until: WaitCondition::Now,
            wakes: false,
            verb,
            object,
            pc,
        }
    }

    pub fn on(self, kind: AccessKind, cell: u32) -> Self {
        Self {
            access: Some(Access::new(kind, cell)),
            ..self
        }
    }

    pub fn until(self, until: WaitCondition) -> Self {
        Self { until, ..self }
    }
}

/// The stage of a thread's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Unborn,
    Alive,
    Ended,
    Failed,
    Discarded,
}

/// A thread of the program.
pub(crate) struct Thread {
    pub life: Life,
    pub pending: Pending,
    pub yielder: *const Yielder<(), Request>,
    pub coroutine: Option<Running>,
    pub region: Region,
    pub routine: Option<Routine>,
    pub result: usize,
    pub steps: u32,
    pub children: u32,
    pub detached: bool,
    pub joined: bool,
    /// The thread that has joined or detached this one.
    pub claimed: Option<ProcessId>,
    /// Whether it has ended the process, so that joins of it wait forever.
    pub exits: bool,
    /// The cell of its token, which a notification gives to the thread.
    pub token_cell: u32,
    /// Whether the thread is enlisted for a notification and has no token yet.
    pub awaiting: bool,
    /// Whether the thread has its token.
    pub token: bool,
    pub errno: i32,
    pub tls: Vec<u8>,
    pub keys: Vec<usize>,
    /// Its clock, in nanoseconds.
    pub now: i64,
    pub reads_clock: bool,
    /// Functions that run when the thread ends, each with its argument.
    pub at_end: Vec<(usize, usize)>,
    pub spin: Spin,
    /// The cell, the operation and the memory order of the atomic access that it is making.
    pub access: (u32, u32, i32),
    /// A plain write that is a step and has been announced: its cell, the address and size, and the
    /// old value.
    pub writing: Option<(u32, (usize, usize), i64)>,
    /// Number of plain accesses since its last step.
    pub idle: u32,
    /// State that only memory models need.
    pub weak_state: WeakThreadState,
    /// The lowest address of its stack that is known to have been used.
    pub lowest: usize,
    /// The highest address of the program's frames on its stack.
    pub top: usize,
    /// Address of the code that has started it.
    pub started: usize,
    /// Why the C++ library may end the program in this thread: the address of the last `throw` that
    /// no handler has caught, or of the call of `std::terminate`, and words for it.
    pub thrown: Option<(usize, &'static str)>,
    /// Changes whenever this thread changes; no two states have the same stamp.
    pub stamp: u64,
}

/// A shared object.
#[derive(Clone, Default)]
pub(crate) struct Cell {
    pub epoch: u64,
    /// The thread that holds it as a lock, and the address of the code that acquired it.
    pub holder: Option<(ProcessId, usize)>,
    /// Number of acquisitions by the holder, if the lock is recursive.
    pub depth: u32,
    pub readers: Vec<ProcessId>,
    /// Threads that wait for a notification or at a barrier.
    pub waiters: Vec<ProcessId>,
    /// Number of changes of its content.
    pub version: u32,
    /// The thread that has destroyed it.
    pub destroyed: Option<ProcessId>,
    /// Number of earlier objects at its address.
    pub generation: u32,
    /// Whether the object is a semaphore.
    pub semaphore: bool,
    pub address: usize,
    /// The initial value of its location, under a memory model.
    pub initial: i64,
    /// Changes whenever this cell may have changed; no two states have the same stamp.
    pub stamp: u64,
}

/// The effects of the current step so far.
#[derive(Default)]
pub(crate) struct Effects {
    /// The prescribed outcomes of the step's choices.
    pub wanted: Vec<i64>,
    /// The choices that the step has made.
    pub outcomes: Vec<Outcome>,
    pub touched: Claims,
    /// Whether the step failed to take the lock that it tried to take.
    pub untouched: bool,
    pub joined: Vec<ProcessId>,
    pub spawned: Vec<ProcessId>,
    pub mishaps: Vec<Mishap>,
    /// The thread that has made the other access of a data race.
    pub races_with: Option<ProcessId>,
    pub made: Option<Pending>,
    /// The value read and the value written, for an access that has them.
    pub values: Option<(Option<i64>, Option<i64>)>,
    pub notes: Vec<String>,
}

/// A failure of the program: its description and its place.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub message: String,
    pub pc: usize,
    /// Details of the last execution that has shown the failure. Failures that differ only in them
    /// are equal.
    pub more: String,
}

impl Failure {
    pub fn new(message: String, pc: usize) -> Self {
        Self {
            message,
            pc,
            more: String::new(),
        }
    }

    fn is(&self, other: &Self) -> bool {
        (self.pc, &self.message) == (other.pc, &other.message)
    }
}

/// Facts about the program that searches have learned. A search that learns a new one restarts.
#[derive(Default)]
pub(crate) struct LearnedFacts {
    /// Some steps wait for a condition.
    pub guarded: bool,
    /// Threads access the stacks of other threads.
    pub stacks: bool,
    /// Granules that accesses of several sizes touch: each of them is one place.
    pub mixed: FxHashSet<usize>,
    /// The bytes of plain places whose accesses are steps, because accesses to them race.
    pub shared: FxHashSet<usize>,
    /// Under a memory model: places that are accessed atomically.
    pub atomics: FxHashSet<usize>,
    /// Under a memory model: inputs are chosen before the first thread is started.
    pub eager: bool,
    /// Under a memory model: a thread is joined or detached more than once.
    pub joins: bool,
    /// Under a memory model: `main` is joined.
    pub joins_main: bool,
    /// The program reads a clock that has advanced, so advancing a clock is a change.
    pub clock: bool,
}

/// The state of the program.
pub(crate) struct World {
    pub image: Image,
    pub settings: Settings,
    pub table: ProcessTable,
    pub epoch: u64,
    /// The machine whose execution this is.
    pub owner: u64,
    pub current: ProcessId,
    /// The thread whose thread-local variables are loaded.
    pub loaded: ProcessId,
    /// The threads. Changes of threads other than the current one go through `thread`.
    pub threads: Vec<Thread>,
    /// The last stamp of a thread or a cell.
    pub stamps: u64,
    pub alive: usize,
    pub cells: Vec<Cell>,
    /// The cells that have a state in this execution.
    pub used_cells: Vec<u32>,
    /// Cells by address and generation of the object.
    pub objects: FxHashMap<(usize, u32), u32>,
    places: FxHashMap<usize, (usize, u32)>,
    pub effects: Effects,
    pub recording: bool,
    pub clocks: Clocks,
    pub failures: Vec<Failure>,
    pub learned: LearnedFacts,
    pub stop: Option<SearchStop>,
    /// Whether a search is running, which restarts when it learns something. Runs that simplify a
    /// violation do not restart.
    pub searching: bool,
    /// Whether `main` has returned or `exit` was called.
    pub exited: bool,
    /// The content of the observed variables when `exited` became true.
    pub left: Vec<u8>,
    /// If variables are observed: the cell that the end of the process writes and all other steps
    /// read.
    pub end_cell: Option<u32>,
    /// Whether the process has ended and no thread can make a step.
    pub finished: bool,
    /// Whether an execution of this search has met accesses whose order no steps determine, so that
    /// not all their orders are explored.
    pub has_raced: bool,
    /// If the program has atomic sections of SV-COMP: the cell that these sections write and all
    /// other steps read.
    pub sections: Option<u32>,
    /// Whether the current step is in an atomic section.
    pub in_section: bool,
    /// How many threads have been started.
    pub started: u32,
    pub last_child: ProcessId,
    /// The thread to be started: its function and argument, whether it is detached, and the address
    /// of the code that starts it.
    pub start: Option<(Routine, bool, usize)>,
    /// The destructors of keys (`pthread_key_create`); 0 for a key without a destructor.
    pub keys: Vec<usize>,
    /// Whether the program deletes keys, so that the order of operations on keys matters.
    pub deletes_keys: bool,
    /// Number of keys that constructors have made.
    pub initial_keys: usize,
    /// Functions that run when the program ends, with their arguments.
    pub at_exit: Vec<(usize, usize)>,
    /// The functions that constructors have registered.
    pub initial_at_exit: Vec<(usize, usize)>,
    /// Whether functions may run at the end of the program.
    pub has_ends: bool,
    /// Whether the functions at the end of the program may run in the last thread, because `main`
    /// may call `pthread_exit`.
    pub last_thread_ends: bool,
    /// The addresses of the code of the C++ library that allocates exceptions.
    pub exceptions: std::ops::Range<usize>,
    /// The addresses of the code of the unwinder that calls `pthread_once`, to fill a table.
    pub unwinder: std::ops::Range<usize>,
    /// The heap of the first thread after loading: its used size and number of blocks, and its
    /// content.
    pub initial_heap: ((usize, usize), Vec<u8>),
    /// Whether threads of the program run, and not only its constructors.
    pub in_model: bool,
    /// The address of `errno`. Each thread of the program has a value of its own there.
    pub errno: usize,
    /// Fingerprint of what was printed.
    pub output: mazurka_core::Fingerprint,
    pub exit_code: i64,
    /// The variables that are observed: name, address and size.
    pub observed: Vec<(String, usize, usize)>,
    /// The memory model, if there is one.
    pub weak: Weak,
    /// The output so far.
    pub printed: Vec<u8>,
    /// Descriptions of code that runs outside of the exploration, for the verdict.
    pub outside: Vec<String>,
    /// Address of the program's last call of the runtime, for a plain access or a request.
    pub called_at: usize,
    /// Stores the schedule for another process.
    pub trail: Trail,
    pub checkpoints: Checkpoints,
}

static WORLD: AtomicPtr<World> = AtomicPtr::new(std::ptr::null_mut());

/// Returns the world. The reference must not be kept while a coroutine is resumed or suspends
/// itself.
#[inline]
pub(crate) fn world() -> &'static mut World {
    // SAFETY: the pointer is set before any code of the program runs, and never freed. All users
    // run on one thread (`Machine` and the functions of the table), and none keeps the reference
    // across a switch of coroutines, so only one reference is in use at a time.
    unsafe { &mut *WORLD.load(Ordering::Relaxed) }
}

/// Whether a program is loaded.
pub(crate) fn is_there() -> bool {
    !WORLD.load(Ordering::Relaxed).is_null()
}

/// Installs the world of the process.
pub(crate) fn install(new: World) {
    WORLD.store(Box::into_raw(Box::new(new)), Ordering::Relaxed);
}

impl World {
    pub fn new(image: Image, settings: Settings) -> Self {
        Self {
            image,
            settings,
            table: ProcessTable::new(1),
            epoch: 0,
            owner: 0,
            current: ProcessId(0),
            loaded: ProcessId(0),
            threads: Vec::new(),
            stamps: 0,
            alive: 0,
            cells: Vec::new(),
            used_cells: Vec::new(),
            objects: FxHashMap::default(),
            places: FxHashMap::default(),
            effects: Effects::default(),
            recording: false,
            clocks: Clocks::default(),
            failures: Vec::new(),
            learned: LearnedFacts::default(),
            stop: None,
            searching: true,
            exited: false,
            left: Vec::new(),
            end_cell: None,
            finished: false,
            has_raced: false,
            sections: None,
            in_section: false,
            started: 0,
            last_child: ProcessId(0),
            start: None,
            keys: Vec::new(),
            deletes_keys: false,
            initial_keys: 0,
            at_exit: Vec::new(),
            initial_at_exit: Vec::new(),
            has_ends: false,
            last_thread_ends: false,
            exceptions: 0..0,
            unwinder: 0..0,
            initial_heap: ((0, 0), Vec::new()),
            in_model: false,
            errno: usize::MAX / 2,
            output: mazurka_core::Fingerprint::EMPTY,
            exit_code: 0,
            observed: Vec::new(),
            weak: Weak::default(),
            printed: Vec::new(),
            outside: Vec::new(),
            called_at: 0,
            trail: Trail::default(),
            checkpoints: Checkpoints::default(),
        }
    }

    /// Forgets the cells of places, because they depend on learned facts.
    pub fn forget_places(&mut self) {
        self.places.clear();
        self.weak.forget();
    }

    pub fn new_cell(&mut self, address: usize) -> u32 {
        self.cells.push(Cell {
            address,
            ..Cell::default()
        });
        self.cells.len() as u32 - 1
    }

    /// Returns the cell of a place that is accessed with this size.
    #[inline]
    pub fn place(&mut self, address: usize, size: usize) -> u32 {
        if let Some(&(known, cell)) = self.places.get(&address)
            && known == size
        {
            return cell;
        }
        self.new_place(address, size)
    }

    #[cold]
    fn new_place(&mut self, address: usize, size: usize) -> u32 {
        let granule = address & !7;
        if self.learned.mixed.contains(&granule) {
            let found = self.places.get(&granule).map(|&(_, cell)| cell);
            return found.unwrap_or_else(|| {
                let cell = self.new_cell(granule);
                self.places.insert(granule, (usize::MAX, cell));
                cell
            });
        }
        let overlaps = (address.saturating_sub(63)..address + size).find_map(|start| {
            let &(known, cell) = self.places.get(&start)?;
            (known != usize::MAX && start + known > address).then_some((start, cell))
        });
        if let Some((start, cell)) = overlaps {
            if !self.searching {
                return cell;
            }
            if size > 8 || self.places.get(&start).is_some_and(|&(known, _)| known > 8) {
                let what = "accesses of different sizes to an atomic of more than eight bytes";
                self.stop = Some(SearchStop::Refused(what.to_owned()));
                return cell;
            }
            self.learned.mixed.insert(granule);
            self.learned.mixed.insert(start & !7);
            self.stop.get_or_insert(SearchStop::Restart);
            return cell;
        }
        let cell = self.new_cell(address);
        self.places.insert(address, (size, cell));
        cell
    }

    /// Returns the size of the place at an address.
    pub fn size_of_place(&self, address: usize) -> usize {
        self.places
            .get(&address)
            .map_or(8, |&(size, _)| size.min(8))
    }

    /// Returns the state of a cell in this execution. Resets a state that an earlier execution has
    /// left.
    #[inline]
    pub fn cell(&mut self, cell: u32) -> &mut Cell {
        let (epoch, number) = (self.epoch, cell);
        self.stamps += 1;
        let cell = &mut self.cells[cell as usize];
        cell.stamp = self.stamps;
        if cell.epoch != epoch {
            self.used_cells.push(number);
            cell.epoch = epoch;
            (cell.holder, cell.depth, cell.destroyed) = (None, 0, None);
            (cell.version, cell.generation) = (0, 0);
            cell.readers.clear();
            cell.waiters.clear();
        }
        cell
    }

    /// Returns the state of a cell, if this execution has accessed it.
    pub fn seen(&self, cell: u32) -> Option<&Cell> {
        let cell = &self.cells[cell as usize];
        (cell.epoch == self.epoch).then_some(cell)
    }

    #[inline]
    pub fn me(&mut self) -> &mut Thread {
        &mut self.threads[self.current.index()]
    }

    /// Returns the number of changes of a cell.
    pub fn version(&self, cell: u32) -> u32 {
        self.seen(cell).map_or(0, |cell| cell.version)
    }

    /// Makes a choice in the current step: returns the prescribed value, or `start` if none is
    /// prescribed.
    pub fn outcome(&mut self, start: i64, end: i64) -> i64 {
        let given = self.effects.wanted.get(self.effects.outcomes.len());
        let value = given.copied().unwrap_or(start).clamp(start, end - 1);
        self.effects.outcomes.push(Outcome { value, end });
        value
    }

    /// Returns a thread that the caller is going to change, with a new stamp.
    #[inline]
    pub fn thread(&mut self, at: usize) -> &mut Thread {
        self.stamps += 1;
        let thread = &mut self.threads[at];
        thread.stamp = self.stamps;
        thread
    }

    /// Gives a waiting thread its token.
    pub fn wake(&mut self, process: ProcessId) {
        let thread = self.thread(process.index());
        if std::mem::take(&mut thread.awaiting) {
            thread.token = true;
            let token = Access::new(AccessKind::Release, thread.token_cell);
            self.effects.touched.push(token);
        }
    }

    /// Records that the current thread has changed the content of a cell.
    #[inline]
    pub fn changed(&mut self, cell: u32) {
        let cell = self.cell(cell);
        cell.version = cell.version.wrapping_add(1);
        self.me().spin.progress();
    }

    /// Returns the index of a failure in `failures`. Inserts the failure if it is new.
    pub fn site_of(&mut self, failure: Failure) -> usize {
        let known = self.failures.iter().position(|known| known.is(&failure));
        match known {
            Some(known) => {
                self.failures[known].more = failure.more;
                known
            }
            None => {
                self.failures.push(failure);
                self.failures.len() - 1
            }
        }
    }

    /// Halts the current thread by a mishap.
    pub fn halt(&mut self, kind: MishapKind, failure: Failure) {
        let site = self.site_of(failure);
        let process = self.current;
        self.effects.mishaps.push(Mishap {
            process: Some(process),
            kind,
            site: site as u32,
        });
        self.me().weak_state.failure = site as u32;
        self.me().life = match kind {
            MishapKind::Discarded => Life::Discarded,
            _ => Life::Failed,
        };
        self.in_section = false;
    }

    /// Returns why memory may not be accessed, and the thread that has freed it if it was freed;
    /// `None` if the memory may be accessed.
    #[inline]
    pub fn wrong_access(
        &self,
        address: usize,
        size: usize,
        verb: &str,
    ) -> Option<(String, Option<ProcessId>)> {
        let owner = thread_of(address)?;
        if heap::is_stack(address) {
            return None;
        }
        let region = &self.threads.get(owner)?.region;
        let (block, words) = match region.find(address) {
            HeapLocation::Block(block) => match block.freed {
                Some(_) => (*block, "after it was freed"),
                None if address + size > block.address + block.size => (*block, "beyond its end"),
                None => return None,
            },
            HeapLocation::Gap(Some(block)) => (block, "beyond its end"),
            HeapLocation::Gap(None) => {
                return Some((format!("{verb} memory that is in no block"), None));
            }
        };
        let made = self.image_place(block.made);
        let freed = block.freed.map(|(at, _)| self.image_place(at));
        let freed = freed.map_or(String::new(), |at| format!(", and freed {at}"));
        let size = block.size;
        let words =
            format!("{verb} a block of {size} bytes {words}; it was allocated {made}{freed}");
        Some((words, block.freed.map(|(_, by)| by)))
    }

    /// Describes a place of the code: `in f (list.c:12)`.
    pub fn image_place(&self, pc: usize) -> String {
        let address = self.address_of(pc);
        let function = self.image.symbols.symbol(address);
        let function = function.map_or("?".to_owned(), |symbol| symbol.shown());
        match self.image.symbols.line(address) {
            Some((file, line)) => format!("in {function} ({}:{line})", short(file)),
            None => format!("in {function}"),
        }
    }

    /// Returns the place in the source for an address of the code. For code without a source, this
    /// is the address of the program's last call of the runtime.
    pub fn place_in_source(&self, pc: usize) -> usize {
        if self.called_at != 0 && !self.has_source(pc) {
            self.called_at
        } else {
            pc
        }
    }

    /// Whether a place of the code is in a source file that the compiler has seen.
    pub fn has_source(&self, pc: usize) -> bool {
        self.image.symbols.line(self.address_of(pc)).is_some()
    }

    /// Returns the address of a call in the object, from its return address.
    pub fn address_of(&self, pc: usize) -> u64 {
        (pc.wrapping_sub(self.image.base) as u64).saturating_sub(1)
    }

    /// Returns the name of a place in memory.
    pub fn name_of(&self, address: usize) -> String {
        if let Some(owner) = thread_of(address).filter(|&owner| owner < self.threads.len()) {
            let thread = self.table.path(ProcessId(owner as u32)).to_string();
            if heap::is_stack(address) {
                let below = self.threads[owner].region.stack_base() - address;
                return format!("stack of {thread} [-{below}]");
            }
            return match self.threads[owner].region.find(address) {
                HeapLocation::Block(block) => {
                    let (from, made) = (address - block.address, block.made);
                    let made = self.image_place(made);
                    let from = if from == 0 {
                        String::new()
                    } else {
                        format!("+{from}")
                    };
                    format!("block{from} allocated {made}")
                }
                HeapLocation::Gap(_) => "no block".to_owned(),
            };
        }
        let at = (address.wrapping_sub(self.image.base)) as u64;
        match self.image.symbols.symbol(at) {
            Some(symbol) if symbol.address == at => symbol.shown(),
            Some(symbol) => format!("{}+{}", symbol.shown(), at - symbol.address),
            None if self.image.is_thread_local(address) => {
                format!("thread-local+{}", address - self.image.tls)
            }
            None => "memory of no variable".to_owned(),
        }
    }

    /// Returns the accesses that the last access of the current thread races with. The first is the
    /// one to name (clock.rs): the last access of the least thread.
    pub fn racing(&self, place: (usize, usize), how: AccessInfo) -> Vec<AccessMark> {
        let mut all = self.clocks.racing(self.current, place, how);
        all.reverse();
        all.sort_by_key(|mark| self.table.path(ProcessId(mark.thread)));
        all
    }
}

/// Returns bytes of the program's memory: a variable, or a part of a stack.
pub(crate) fn bytes_at(address: usize, size: usize) -> &'static [u8] {
    // SAFETY: this is memory of the loaded program, none of whose code runs.
    unsafe { std::slice::from_raw_parts(address as *const u8, size) }
}

/// Returns the last part of a path.
pub(crate) fn short(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}
