//! Programs under a memory model: their accesses become events of an execution graph.
//!
//! The *engine* is the search of `mazurka-memory`, which decides what each access reads. A thread
//! announces an access (`announce_access`) and is suspended until the engine answers. Addresses are
//! the same in every run, so even pointers can be values of the engine. The engine answers in an
//! order that extends po ∪ rf (program order and reads-from). So the program's memory holds the one
//! value that a plain read without a race can have.
//!
//! - *Atomics.* The shim passes the value that an update writes, so the engine knows it in advance.
//!   The value that the engine answers is written to real memory, where the shim reads it.
//! - *Plain accesses* are events if two threads access a place (a range of bytes) and one of them
//!   writes, or if the place is also accessed atomically. The search finds these places, and
//!   restarts when it meets a new one. All other plain accesses commute. The shim announces a plain
//!   write before the program makes it, so its value is known only after the write. Then the
//!   runtime undoes the write, announces it, and redoes it when the engine has answered. So a
//!   thread that races with the write does not see the value too early.
//! - *Until `main` starts a thread*, nothing is an event: the content of memory at that time gives
//!   the initial values of the locations. If the program chooses inputs before that time, its
//!   accesses are events from the start (`eager`).
//! - *Loops that spin.* A thread that returns to a read with the same stack and registers would
//!   repeat the round if it read the same values again. So in the next round some read must return
//!   another value. The engine chooses which read is the first to differ. This read becomes an
//!   *await*, a read that waits for another value. Executions in which an earlier read differs are
//!   explored under another choice.
//!
//! `objects.rs` has mutexes, condition variables and threads, `program.rs` the program for the
//! engine.

mod objects;
mod program;

use std::collections::BTreeSet;

use mazurka_core::ProcessId;
use mazurka_memory::{Action, Effect, Loc, MemoryOrder, Value};
use rustc_hash::FxHashMap;

use crate::access::{FENCE, LOAD, STORE, check, refuse, rest, suspend};
use crate::calls::OPERAND_ENTRIES;
use crate::world::{Life, Pending, WaitCondition, World, world};
use crate::{SearchStop, heap};

pub(crate) use objects::{ask, count, join_or_detach, never_ends, orders, spawn, writes};
pub use program::{DescribedExecution, WeakProgram};

/// The number that the shim gives to a compare-exchange, in [`Atomic::update`].
const COMPARE: u32 = 7;

/// State of the program that only memory models need.
#[derive(Default)]
pub(crate) struct Weak {
    /// Whether a memory model is in use.
    pub on: bool,
    /// The accesses to each granule of eight bytes, by thread.
    touched: FxHashMap<usize, Vec<Touch>>,
    /// The addresses at which an access begins or ends. The bytes between two neighbouring
    /// addresses are a *place*.
    cuts: BTreeSet<usize>,
    /// The size and the cell of each place, by its address.
    places: FxHashMap<usize, (usize, u32)>,
    /// The sizes of the blocks that some execution has freed, by address.
    freed: FxHashMap<usize, usize>,
}

impl Weak {
    /// Forgets the cells of places, and which threads access them.
    pub fn forget(&mut self) {
        self.places.clear();
        self.touched.clear();
    }

    /// Whether some execution has freed the block at an address.
    pub fn was_freed(&self, address: usize) -> bool {
        let mut freed = self.freed.iter();
        freed.any(|(&start, &size)| start <= address && address < start + size)
    }
}

/// Which thread accesses some bytes of a granule, and how.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Touch {
    thread: u32,
    mask: u8,
    writes: bool,
    atomic: bool,
}

/// State of a thread that only memory models need.
#[derive(Default)]
pub(crate) struct WeakThreadState {
    /// The access that the thread has announced.
    pub(super) action: Option<Action>,
    pub(super) rule: Rule,
    /// The answer of the engine.
    pub(super) answer: Value,
    /// Plain writes that the program has made and that are not announced to the engine yet.
    written: Vec<Written>,
    /// The places of the current plain access: the cell, and the address and size.
    parts: Vec<(u32, (usize, usize))>,
    /// The threads that the current operation wakes.
    woken: Vec<ProcessId>,
    /// Number of waits at condition variables so far. Each wait has a location of its own, the
    /// token, which the thread that wakes this one writes.
    waits: u32,
    pub(super) round: Round,
    /// The index of the failure that has halted the thread.
    pub failure: u32,
    /// Whether the thread was halted because another choice of its loop covers this execution.
    pub(super) in_vain: bool,
}

impl WeakThreadState {
    /// Ends the round, because the thread has changed something and does not spin.
    pub fn leave_round(&mut self) {
        self.round.open = false;
    }

    pub fn reset(&mut self) {
        (self.action, self.rule) = (None, Rule::Nothing);
        (self.failure, self.in_vain) = (0, false);
        self.written.clear();
        self.waits = 0;
        self.round = Round::default();
    }
}

/// A plain write of the program to one place, or to bytes of it.
#[derive(Clone, Copy)]
struct Written {
    cell: u32,
    place: (usize, usize),
    pc: usize,
    /// The value that is not in memory now. At first this is the value before the write; after
    /// [`take_back`] it is the value of the write.
    other: i64,
}

impl Written {
    /// Exchanges the value in memory with the other value. Equal values are not written: after a
    /// write that ended in a fault, the memory may not be writable.
    fn swap(&mut self) {
        let (address, size) = self.place;
        let there = bits_at(address, size);
        if there != self.other {
            put_bits(address, size, self.other);
            self.other = there;
        }
    }
}

/// The current round of a loop that spins, which must read another value than the previous round.
#[derive(Default)]
pub(super) struct Round {
    /// The cells that the previous round read, with the values.
    pub reads: Vec<(u32, Value)>,
    /// Number of these reads that this round has repeated.
    next: usize,
    /// The index in `reads` of the read that was chosen as the first to differ.
    pub chosen: usize,
    /// Whether the round goes on: the chosen read has not been reached, and the thread has changed
    /// nothing.
    pub open: bool,
}

/// The effect of an announced update or await, as a function of the value that it reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Rule {
    #[default]
    Nothing,
    /// A load in a loop that spins: waits for another value than this one.
    Differs(Value),
    /// An update of an atomic variable. It waits if it reads the value `stale` and would not change
    /// it.
    Update {
        number: u32,
        operand: i64,
        expected: i64,
        size: usize,
        stale: Option<Value>,
    },
    /// An operation on the number of a semaphore or another object: see `objects.rs`.
    Object(objects::ObjectUpdate),
}

impl Rule {
    /// Returns the effect of the access for this value.
    pub fn effect(self, read: Value) -> Effect {
        match self {
            Self::Nothing => Effect::Keep,
            Self::Differs(seen) if read == seen => Effect::Wait,
            Self::Differs(_) => Effect::Keep,
            Self::Update {
                number,
                operand,
                expected,
                size,
                stale,
            } => {
                let new = match number {
                    0 => Some(operand),
                    1 => Some(read.wrapping_add(operand)),
                    2 => Some(read.wrapping_sub(operand)),
                    3 => Some(read & operand),
                    4 => Some(read | operand),
                    5 => Some(read ^ operand),
                    6 => Some(!(read & operand)),
                    _ => (read == expected).then_some(operand),
                };
                let new = new.map(|new| masked(new, size));
                let changes = new.is_some_and(|new| new != read);
                match new {
                    _ if !changes && stale == Some(read) => Effect::Wait,
                    Some(new) => Effect::Write(new),
                    None => Effect::Keep,
                }
            }
            Self::Object(moves) => moves.effect(read),
        }
    }
}

/// An atomic access or a fence that the shim announces.
pub(crate) struct Atomic {
    pub address: usize,
    pub size: usize,
    pub op: u32,
    /// The number that the shim gives to the operation of an update.
    pub update: u32,
    pub order: i32,
}

/// Converts a C11 order to an order of the engine.
fn order_of(order: i32) -> MemoryOrder {
    match order {
        0 => MemoryOrder::Relaxed,
        1 | 2 => MemoryOrder::Acquire,
        3 => MemoryOrder::Release,
        4 => MemoryOrder::AcqRel,
        _ => MemoryOrder::SeqCst,
    }
}

/// Returns the low bytes of a number.
fn masked(value: i64, size: usize) -> i64 {
    match size {
        0..8 => value & ((1 << (8 * size)) - 1),
        _ => value,
    }
}

/// Returns the number at a place of at most eight bytes.
fn bits_at(address: usize, size: usize) -> i64 {
    let mut bytes = [0; 8];
    // SAFETY: the program itself accesses this memory.
    unsafe { std::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), size) };
    i64::from_le_bytes(bytes)
}

fn put_bits(address: usize, size: usize, bits: i64) {
    let bytes = bits.to_le_bytes();
    // SAFETY: as above; the program's own access writes these bits.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), address as *mut u8, size) };
}

/// Returns the values that the shim passes in the table: the operand, the expected value and the
/// failure order.
fn operands() -> (i64, i64, i32) {
    // SAFETY: the table is mapped (`load`).
    let [operand, expected, failure] = unsafe { *(OPERAND_ENTRIES as *const [i64; 3]) };
    (operand, expected, failure as i32)
}

/// Announces an access of the current thread and waits for the engine's answer.
fn announce_access(pending: Pending, action: Action, rule: Rule) -> Value {
    let weak_state = &mut world().me().weak_state;
    (weak_state.action, weak_state.rule) = (Some(action), rule);
    suspend(pending);
    let weak_state = &mut world().me().weak_state;
    (weak_state.action, weak_state.rule) = (None, Rule::Nothing);
    weak_state.answer
}

/// Announces the plain writes that the current thread has made.
pub(crate) fn flush() {
    take_back();
    while let Some(mut write) = {
        let written = &mut world().me().weak_state.written;
        (!written.is_empty()).then(|| written.remove(0))
    } {
        let action = Action::Write {
            loc: Loc(write.cell),
            order: MemoryOrder::Plain,
            value: write.other,
        };
        let pending = Pending::new("write", write.place.0, write.pc);
        announce_access(pending, action, Rule::Nothing);
        write.swap();
    }
}

/// Removes from memory the plain writes that the current thread has made and not announced.
pub(crate) fn take_back() {
    world()
        .me()
        .weak_state
        .written
        .iter_mut()
        .rev()
        .for_each(Written::swap);
}

impl World {
    /// Whether accesses are events: a second thread has been started, or the program chooses inputs
    /// before that (`eager`).
    pub(super) fn counts(&self) -> bool {
        self.started > 1 || self.learned.eager
    }

    /// Records an access to memory. If this access turns accesses to a place into events, restarts
    /// the search.
    fn touch(&mut self, (address, size): (usize, usize), writes: bool, atomic: bool) {
        let (mut at, end) = (address, address.saturating_add(size));
        while at < end {
            let next = ((at | 7) + 1).min(end);
            let mask = (((1u16 << (next - at)) - 1) << (at & 7)) as u8;
            let touch = Touch {
                thread: self.current.0,
                mask,
                writes,
                atomic,
            };
            let known = self.weak.touched.entry(at >> 3).or_default();
            if !known.contains(&touch) {
                let matters = known.iter().any(|other| {
                    other.mask & mask != 0
                        && (other.writes || writes)
                        && !(other.atomic && atomic)
                        && (other.thread != touch.thread || other.atomic != atomic)
                });
                known.push(touch);
                if matters {
                    let bytes = (at..next).filter(|&byte| self.learned.shared.insert(byte));
                    if bytes.count() > 0 {
                        self.stop.get_or_insert(SearchStop::Restart);
                    }
                }
            }
            at = next;
        }
    }

    fn is_event(&self, (address, size): (usize, usize)) -> bool {
        let shared = &self.learned.shared;
        !shared.is_empty() && (address..address + size).any(|byte| shared.contains(&byte))
    }

    /// Returns the cell of a known place.
    #[inline]
    fn known(&self, (address, size): (usize, usize)) -> Option<u32> {
        let &(known, cell) = self.weak.places.get(&address)?;
        (known == size).then_some(cell)
    }

    /// Collects the places that an access consists of, with their cells.
    fn parts(&mut self, place: (usize, usize), into: &mut Vec<(u32, (usize, usize))>) {
        into.clear();
        match self.known(place) {
            Some(cell) => into.push((cell, place)),
            None => self.new_parts(place, into),
        }
    }

    #[cold]
    fn new_parts(&mut self, place: (usize, usize), into: &mut Vec<(u32, (usize, usize))>) {
        let (address, size) = place;
        let end = address + size;
        for cut in [address, end] {
            if self.weak.cuts.insert(cut) {
                // The access splits a place that was known as one.
                let within = |(&start, &(size, _)): (&usize, &(usize, u32))| {
                    start < cut && cut < start + size
                };
                if self.weak.places.iter().any(within) {
                    self.stop.get_or_insert(SearchStop::Restart);
                }
            }
        }
        let cuts: Vec<usize> = self.weak.cuts.range(address..=end).copied().collect();
        let place = |ends: &[usize]| (ends[0], ends[1] - ends[0]);
        for place in cuts.windows(2).map(place) {
            let cell = self
                .known(place)
                .unwrap_or_else(|| self.new_place_of(place));
            into.push((cell, place));
        }
    }

    fn new_place_of(&mut self, (address, size): (usize, usize)) -> u32 {
        let cell = self.new_cell(address);
        if size <= 8 {
            self.cells[cell as usize].initial = bits_at(address, size);
        }
        self.weak.places.insert(address, (size, cell));
        cell
    }
}

/// Returns the cell of an atomic access.
fn atomic_cell(place: (usize, usize), pc: usize) -> u32 {
    if let Some(cell) = world().known(place) {
        return cell;
    }
    let mut parts = Vec::new();
    world().parts(place, &mut parts);
    match parts[..] {
        [(cell, _)] => cell,
        _ => refuse(
            "accesses of different sizes to one atomic, under a memory model".to_owned(),
            pc,
        ),
    }
}

/// Halts the current thread, because another choice of its loop covers this execution.
fn leave_to_another() -> ! {
    let world = world();
    (world.me().life, world.me().weak_state.in_vain) = (Life::Discarded, true);
    rest()
}

/// Returns the value that the next read of a cell must not see, if this is the chosen read of the
/// round; otherwise `None`.
fn stale(cell: u32) -> Option<Value> {
    let round = &mut world().me().weak_state.round;
    let at = round.next;
    match round.reads.get(at) {
        Some(&(known, seen)) if round.open && known == cell && at == round.chosen => Some(seen),
        _ => None,
    }
}

/// Records the value that the current thread has read.
fn has_read(cell: u32, value: Value) {
    let me = world().me();
    let round = &mut me.weak_state.round;
    if round.open {
        let differs = round.reads.get(round.next) != Some(&(cell, value));
        let at_choice = round.next == round.chosen;
        round.next += 1;
        round.open = !at_choice && round.next < round.reads.len();
        if differs && !at_choice {
            leave_to_another();
        }
    }
    world().me().spin.read(cell, value);
}

/// Records that the current thread has changed something.
fn progress() {
    let me = world().me();
    me.spin.progress();
    me.weak_state.leave_round();
}

/// Checks whether the current thread spins. If it does, chooses which of its reads is the first to
/// differ.
fn look_for_loop(pc: usize, (sp, registers): (usize, usize)) {
    let world = world();
    if world.me().weak_state.round.open || !world.spins(pc, (0, 0), (sp, registers)) {
        return;
    }
    let reads = std::mem::take(&mut world.me().spin.waits_for);
    let outcomes = reads.len() as u32;
    world.me().weak_state.round = Round {
        reads,
        next: 0,
        chosen: 0,
        open: true,
    };
    if outcomes > 1 {
        let pending = Pending::new("look again", 0, pc);
        let chosen = announce_access(pending, Action::Choice { outcomes }, Rule::Nothing);
        self::world().me().weak_state.round.chosen = chosen as usize;
    }
}

/// Handles an atomic access or a fence.
pub(crate) fn turn(atomic: &Atomic, pc: usize, stack: (usize, usize)) {
    let (operand, expected, failure) = operands();
    flush();
    let world = world();
    let &Atomic {
        address, size, op, ..
    } = atomic;
    let order = order_of(atomic.order);
    if !world.counts() {
        if op != FENCE {
            check(address, size, "accesses", pc);
        }
        return;
    }
    if size > 8 {
        let what = "an atomic access to more than eight bytes, under a memory model";
        refuse(what.to_owned(), pc);
    }
    if op == FENCE {
        if atomic.order != 0 {
            let action = Action::Fence { order };
            announce_access(Pending::new("fence", 0, pc), action, Rule::Nothing);
        }
        return;
    }
    if address < 4096 {
        return;
    }
    if op != STORE {
        look_for_loop(pc, stack);
    }
    let world = self::world();
    world.touch((address, size), op != LOAD, true);
    if world.learned.atomics.insert(address) && world.is_event((address, size)) {
        world.stop.get_or_insert(SearchStop::Restart);
    }
    let cell = atomic_cell((address, size), pc);
    let loc = Loc(cell);
    self::world().me().access = (cell, op, atomic.order);
    let verb = match op {
        LOAD => "load",
        STORE => "store",
        _ => "update",
    };
    let pending = Pending::new(verb, address, pc);
    if op == STORE {
        let value = masked(operand, size);
        announce_access(pending, Action::Write { loc, order, value }, Rule::Nothing);
        check(address, size, "accesses", pc);
        return progress();
    }
    let stale = stale(cell);
    let pending = match stale {
        Some(_) => pending.until(WaitCondition::Change),
        None => pending,
    };
    let rule = Rule::Update {
        number: atomic.update,
        operand: masked(operand, size),
        expected: masked(expected, size),
        size,
        stale,
    };
    let read = match (op, stale) {
        (LOAD, None) => announce_access(pending, Action::Read { loc, order }, Rule::Nothing),
        (LOAD, Some(seen)) => {
            announce_access(pending, Action::Await { loc, order }, Rule::Differs(seen))
        }
        _ => {
            let failure = match atomic.update {
                COMPARE => order_of(failure),
                _ => MemoryOrder::Relaxed,
            };
            let action = Action::Update {
                loc,
                order,
                failure,
            };
            announce_access(pending, action, rule)
        }
    };
    check(address, size, "accesses", pc);
    put_bits(address, size, read);
    match (op, rule.effect(read)) {
        (LOAD, _) | (_, Effect::Keep | Effect::Wait) => has_read(cell, read),
        (_, Effect::Write(new)) if new == read => has_read(cell, read),
        _ => progress(),
    }
}

/// Handles a plain access.
pub(crate) fn plain(place: (usize, usize), writes: bool, pc: usize) {
    flush();
    let (address, size) = place;
    let verb = if writes { "writes to" } else { "reads" };
    if address < 4096 {
        let words = "segmentation fault: it uses a null pointer".to_owned();
        crate::access::fail(mazurka_core::MishapKind::Failure, words, pc);
    }
    let world = world();
    if !world.counts() {
        return check(address, size, verb, pc);
    }
    world.touch(place, writes, false);
    let own_stack =
        heap::thread_of(address) == Some(world.current.index()) && heap::is_stack(address);
    if writes && !own_stack {
        progress();
    }
    if !self::world().is_event(place) {
        return check(address, size, verb, pc);
    }
    let known = self::world().threads.len();
    let owned = heap::thread_of(address).is_some_and(|owner| owner < known);
    let on_heap = owned && !heap::is_stack(address);
    // Frames of a thread must not own memory, because the thread may never continue. So the buffer
    // is moved out of the thread's state and back.
    let mut parts = std::mem::take(&mut self::world().me().weak_state.parts);
    self::world().parts(place, &mut parts);
    let count = parts.len();
    self::world().me().weak_state.parts = parts;
    for at in 0..count {
        let (cell, (address, size)) = self::world().me().weak_state.parts[at];
        let (loc, order) = (Loc(cell), MemoryOrder::Plain);
        let pending = Pending::new(if writes { "write" } else { "read" }, address, pc);
        if writes && size > 8 {
            let action = Action::Write {
                loc,
                order,
                value: 0,
            };
            announce_access(pending, action, Rule::Nothing);
            continue;
        }
        // A write to memory that may be freed reads first: a race with the freeing must be detected
        // before the write.
        if !writes || on_heap {
            let value = announce_access(pending, Action::Read { loc, order }, Rule::Nothing);
            // Memory can differ from the engine's answer only at a place that is also accessed
            // atomically. At all other places memory has that value already, even if code that is
            // not instrumented has written it.
            if self::world().learned.atomics.contains(&address) {
                put_bits(address, size, value);
            }
            if !writes {
                has_read(cell, value);
            }
        }
    }
    check(address, size, verb, pc);
    if writes {
        let weak_state = &mut self::world().me().weak_state;
        let parts = weak_state.parts.iter().filter(|(_, (_, size))| *size <= 8);
        weak_state
            .written
            .extend(parts.map(|&(cell, place)| Written {
                cell,
                place,
                pc,
                other: bits_at(place.0, place.1),
            }));
    }
}

/// Records that a block is freed: this writes all known places in it.
pub(crate) fn frees((address, size): (usize, usize), pc: usize) {
    flush();
    let world = world();
    if !world.counts() {
        return;
    }
    world.touch((address, size), true, false);
    world.weak.freed.insert(address, size);
    let objects = world.objects_in(address..address + size);
    let places = world.weak.places.iter();
    let inside = places.filter(|&(&start, &(length, _))| {
        address <= start && start < address + size && world.is_event((start, length))
    });
    let inside = inside.map(|(&start, &(size, cell))| (cell, (start, size)));
    let mut inside: Vec<_> = inside.collect();
    inside.extend(objects.into_iter().map(|(start, cell)| (cell, (start, 0))));
    inside.sort_unstable_by_key(|&(_, place)| place);
    let count = inside.len();
    world.me().weak_state.parts = inside;
    for at in 0..count {
        let (cell, (start, _)) = self::world().me().weak_state.parts[at];
        // This value is 1 for a semaphore and 0 for a lock, so threads that wait for the object
        // continue, and their use of the freed object is detected.
        let value = i64::from(self::world().cells[cell as usize].semaphore);
        let action = Action::Write {
            loc: Loc(cell),
            order: MemoryOrder::Plain,
            value,
        };
        announce_access(Pending::new("free", start, pc), action, Rule::Nothing);
    }
}

/// Returns a value from `start` up to, but not including, `end`.
pub(crate) fn choose(start: i64, end: i64, pc: usize) -> i64 {
    let world = world();
    if !world.counts() {
        world.learned.eager = true;
        world.stop.get_or_insert(SearchStop::Restart);
        world.me().life = Life::Failed;
        rest();
    }
    let Ok(outcomes) = u32::try_from(end.saturating_sub(start)) else {
        refuse("a choice among too many values".to_owned(), pc)
    };
    let pending = Pending::new("choose", 0, pc);
    start + announce_access(pending, Action::Choice { outcomes }, Rule::Nothing)
}

/// Returns the engine's number of a thread.
fn thread(process: ProcessId) -> mazurka_memory::ThreadId {
    mazurka_memory::ThreadId(process.0)
}
