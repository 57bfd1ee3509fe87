//! Handles the memory accesses that the instrumented code announces.

use mazurka_core::{AccessKind, MishapKind, ProcessId};

use crate::clock::{AccessInfo, AccessMark};
use crate::world::{Failure, Life, Pending, Request, WaitCondition, World, world};
use crate::{SearchStop, heap, trap, weak};

/// The numbers of operations that the shim passes to `turn`.
pub(crate) const LOAD: u32 = 0;
pub(crate) const STORE: u32 = 1;
pub(crate) const FENCE: u32 = 3;

/// After this many plain accesses without a step, the runtime checks whether the thread is in a
/// loop that waits.
const IDLE: u32 = 1000;

/// Suspends the current thread, which has announced its next operation.
#[inline(always)]
pub(crate) fn suspend(pending: Pending) {
    let yielder = {
        let thread = world().me();
        thread.idle = 0;
        // Copies field by field to avoid a store-forwarding stall.
        let Pending {
            access,
            second,
            until,
            wakes,
            verb,
            object,
            pc,
        } = pending;
        let pending = &mut thread.pending;
        (pending.access, pending.second) = (access, second);
        (pending.until, pending.wakes) = (until, wakes);
        (pending.verb, pending.object, pending.pc) = (verb, object, pc);
        thread.yielder
    };
    // SAFETY: the yielder lives on the stack of the coroutine that runs this code.
    unsafe { (*yielder).suspend(Request::Turn) };
}

/// Announces the next operation of the current thread and suspends the thread. In an atomic section
/// of SV-COMP the thread continues at once, and having to wait is a failure. Inlined, because a
/// processor mispredicts every return after a switch of stacks.
#[inline(always)]
pub(crate) fn announce(pending: Pending) {
    let world = world();
    world.end_write();
    if matches!(
        pending.until,
        WaitCondition::Now
            | WaitCondition::Lock(_)
            | WaitCondition::Token
            | WaitCondition::Ended(_)
    ) {
        // A wait for one of these is not a guarded step.
    } else if world.searching && !world.learned.guarded {
        world.learn_guards();
    }
    if !world.in_section {
        suspend(pending);
    } else if pending.until != WaitCondition::Now {
        wait_in_section(pending.pc);
    }
}

#[cold]
fn wait_in_section(pc: usize) -> ! {
    fail(
        MishapKind::Failure,
        "it may wait in an atomic section".to_owned(),
        pc,
    )
}

/// Suspends the current thread forever.
pub(crate) fn rest() -> ! {
    let yielder = world().me().yielder;
    loop {
        // SAFETY: as in `suspend`.
        unsafe { (*yielder).suspend(Request::Turn) };
    }
}

/// Halts the current thread.
pub(crate) fn fail(kind: MishapKind, message: String, pc: usize) -> ! {
    world().halt(kind, Failure::new(message, pc));
    rest()
}

/// Halts the current thread by a failure that occurs only if this step comes after the last step of
/// `other`, although happens-before may not order the two steps.
pub(crate) fn fail_after(other: Option<ProcessId>, message: String, pc: usize) -> ! {
    let world = world();
    world.meets(other.filter(|&other| other != world.current));
    fail(MishapKind::Failure, message, pc)
}

/// Stops the search, because the program uses a function that Mazurka does not control.
pub(crate) fn refuse(what: String, pc: usize) -> ! {
    let world = world();
    let place = world.image_place(pc);
    world.stop = Some(SearchStop::Refused(format!("{what}, {place}")));
    world.me().life = Life::Failed;
    rest()
}

/// Stops the search if the time limit has passed during the current step.
#[inline]
pub(crate) fn look_at_time() {
    if trap::is_over() {
        let world = world();
        (world.stop, world.me().life) = (Some(SearchStop::OutOfTime), Life::Failed);
        rest();
    }
}

/// Halts the current thread if it may not access this memory.
#[inline]
pub(crate) fn check(address: usize, size: usize, verb: &str, pc: usize) {
    if let Some((wrong, by)) = world().wrong_access(address, size, verb) {
        fail_after(by, wrong, pc);
    }
}

/// Handles an atomic access or a fence: waits until the scheduler resumes the thread.
///
/// - `how`: the operation (bits 0 to 3), the kind of update (bits 4 to 7) and the size in bytes
///   (from bit 8 on).
/// - `sp`: the lowest address of the program's frames on the stack; 0 if the frames of the shim
///   count as frames of the program.
/// - `registers`: the address of the program's saved registers.
#[allow(clippy::too_many_arguments)]
pub(crate) extern "C" fn turn(
    address: usize,
    how: u32,
    order: i32,
    pc: usize,
    sp: usize,
    registers: usize,
) -> i32 {
    let (size, op) = (how >> 8, how & 0xf);
    let world = world();
    if !world.in_model {
        return 0;
    }
    world.reaches(registers);
    if world.weak.on {
        let atomic = weak::Atomic {
            address,
            size: size as usize,
            op,
            update: how >> 4 & 0xf,
            order,
        };
        weak::turn(&atomic, pc, (sp, registers));
        return 0;
    }
    world.end_write();
    let current = world.current;
    if op == FENCE {
        world.clocks.fence(current, order);
        return 0;
    }
    let (verb, kind) = match op {
        LOAD => ("load", AccessKind::Read),
        STORE => ("store", AccessKind::Write),
        _ => ("update", AccessKind::Write),
    };
    check(address, size as usize, "accesses", pc);
    let cell = world.place(address, size as usize);
    world.me().access = (cell, op, order);
    let pending = Pending::new(verb, address, pc).on(kind, cell);
    let place = (address, size as usize);
    let spins = op != STORE && world.spins(pc, place, (sp, registers));
    announce(if spins {
        pending.until(WaitCondition::Change)
    } else {
        pending
    });
    0
}

impl World {
    /// Restarts the search, because some steps have guards: they are possible only in some states.
    /// The next search takes guards into account.
    #[cold]
    fn learn_guards(&mut self) {
        self.learned.guarded = true;
        self.stop.get_or_insert(SearchStop::Restart);
    }

    /// Finishes the plain write that the current thread has announced as a step. Only now, when the
    /// thread stops again, is it known whether the write has changed the value.
    #[inline(always)]
    pub fn end_write(&mut self) {
        if self.me().writing.is_some() {
            self.end_announced_write();
        }
    }

    #[cold]
    fn end_announced_write(&mut self) {
        let Some((cell, (address, size), old)) = self.me().writing.take() else {
            return;
        };
        if value_at(address, size) != old {
            self.changed(cell);
        } else {
            let version = self.version(cell);
            self.me().spin.read(cell, version.into());
        }
    }

    /// Notes that the current thread uses its stack down to this address.
    #[inline]
    pub fn reaches(&mut self, address: usize) {
        let thread = self.me();
        thread.lowest = thread.lowest.min(address);
    }

    /// Whether the current thread is back at an access in the same local state and has changed
    /// nothing since (spin.rs).
    pub fn spins(
        &mut self,
        pc: usize,
        place: (usize, usize),
        (sp, registers): (usize, usize),
    ) -> bool {
        let top = self.me().top;
        // If the shim keeps values of the program in its frames, these count as local state, too
        // (`MZ_USES_REGISTERS`).
        let sp = if sp == 0 { registers } else { sp };
        let size = top.wrapping_sub(sp);
        if size > top || self.in_section {
            return false;
        }
        let thread = self.me();
        // SAFETY: this is the used part of the stack, and the six registers that the shim saved on
        // it.
        let (stack, registers) = unsafe {
            let registers = std::slice::from_raw_parts(registers as *const u8, 48);
            (std::slice::from_raw_parts(sp as *const u8, size), registers)
        };
        let spins = thread.spin.visit(pc, place, registers, stack);
        if spins {
            // A value that the thread has read may have changed meanwhile. This is left to the
            // guard of the wait, because what a thread announces must not depend on independent
            // steps.
            thread.spin.progress();
        }
        spins
    }

    /// Records an access of the current thread for race detection. If it races with an earlier
    /// access, reports the race; if races are allowed, restarts the search with the accesses as
    /// steps.
    #[inline]
    fn watch_access(&mut self, address: usize, size: usize, how: AccessInfo) {
        if self.started < 2 || !self.learned.stacks && self.is_private(address) {
            return;
        }
        if self.clocks.access(self.current, address, size, how) {
            self.meet_race((address, size), how);
        }
    }

    /// Handles the races of the current access with earlier ones.
    #[cold]
    fn meet_race(&mut self, place: (usize, usize), how: AccessInfo) {
        let [fails, uses, shares] = self.kinds_of_races(place, how);
        if let Some(other) = fails {
            return self.fail_by_race(place.0, how, other);
        }
        if let Some(other) = uses {
            // Initialising an object is not a step, so only one order is explored.
            self.meets(Some(ProcessId(other.thread)));
        }
        if self.searching && shares.is_some() {
            let bytes = place.0..place.0 + place.1;
            let new = bytes.filter(|&byte| self.learned.shared.insert(byte));
            if new.count() > 0 {
                self.stop.get_or_insert(SearchStop::Restart);
            }
        }
    }

    /// Returns the accesses that the current one races with, the first of each kind: those that
    /// fail; those that are allowed and use an object; and others that are allowed.
    fn kinds_of_races(&self, place: (usize, usize), how: AccessInfo) -> [Option<AccessMark>; 3] {
        let mut kinds = [None; 3];
        for other in self.racing(place, how) {
            let allowed = self.settings.allow_races && !other.frees && !how.frees;
            let kind = match allowed {
                false => 0,
                true if how.uses || other.uses => 1,
                true => 2,
            };
            kinds[kind].get_or_insert(other);
        }
        kinds
    }

    /// Halts the current thread by a race with an earlier access.
    fn fail_by_race(&mut self, address: usize, how: AccessInfo, other: AccessMark) {
        let mut failure = self.race(address, how, other);
        if how.uses || other.uses {
            failure.message = failure.message.replace("read atomically", "used");
        }
        self.meets(Some(ProcessId(other.thread)));
        self.halt(MishapKind::Failure, failure);
        rest()
    }

    /// Records that the result of the current step depends on the order of its accesses and those
    /// of another thread, which no search explores.
    fn meets(&mut self, other: Option<ProcessId>) {
        self.effects.races_with = other;
        self.has_raced |= other.is_some();
    }

    /// Whether an access of the current thread is to its own stack. While no thread accesses the
    /// stack of another thread, stacks have no races, so such accesses need not be recorded. The
    /// first access to the stack of another thread restarts the search, which then records all of
    /// them.
    #[inline]
    fn is_private(&mut self, address: usize) -> bool {
        let owner = heap::thread_of(address).filter(|&owner| owner < self.threads.len());
        let Some(owner) = owner.filter(|_| heap::is_stack(address)) else {
            return false;
        };
        if owner != self.current.index() && self.searching {
            self.learned.stacks = true;
            self.stop.get_or_insert(SearchStop::Restart);
        }
        owner == self.current.index()
    }

    /// Whether a plain access of the current thread is neither a step nor recorded for race
    /// detection, because it is to the thread's own stack and no other thread can observe it.
    #[inline]
    fn is_of_no_interest(&self, address: usize) -> bool {
        let looks = self.learned.stacks || self.settings.allow_races || self.weak.on;
        !looks && heap::is_stack_of(self.current.index(), address)
    }

    /// Handles a plain read that is not a step, after many accesses without a step. If the thread
    /// is in a loop that changes nothing, it waits for another thread to change a value that the
    /// loop reads. The search then restarts, and the reads of this loop are steps.
    #[cold]
    fn look_for_loop(&mut self, place: (usize, usize), pc: usize, stack: (usize, usize)) {
        if self.spins(pc, place, stack) {
            if self.searching {
                self.learn_loop();
            }
            self.me().life = Life::Failed;
            rest();
        }
        let cell = self.place(place.0, place.1);
        let version = self.version(cell);
        self.me().spin.read(cell, version.into());
    }

    /// Makes the reads of a loop without steps into steps, and restarts the search.
    fn learn_loop(&mut self) {
        let reads = std::mem::take(&mut self.me().spin.waits_for);
        for (cell, _) in reads {
            let address = self.cells[cell as usize].address;
            let size = self.size_of_place(address);
            self.learned.shared.extend(address..address + size);
        }
        self.stop.get_or_insert(SearchStop::Restart);
    }

    /// Makes accesses to the observed variables into steps, and restarts the search.
    pub fn learn_observed(&mut self) {
        if !self.searching {
            return;
        }
        let observed = self.observed.iter();
        let bytes = observed.flat_map(|&(_, address, size)| address..address + size);
        let before = self.learned.shared.len();
        self.learned.shared.extend(bytes);
        if self.learned.shared.len() > before {
            self.stop.get_or_insert(SearchStop::Restart);
        }
    }

    /// Whether accesses to this memory are steps.
    fn is_shared(&self, address: usize, size: usize) -> bool {
        !self.learned.shared.is_empty()
            && (address..address + size.min(64)).any(|byte| self.learned.shared.contains(&byte))
    }
}

/// Records an atomic access after it was performed.
pub(crate) extern "C" fn did(address: usize, size: u32, old: i64, new: i64, wrote: u32) {
    let world = world();
    if !world.in_model {
        return;
    }
    let current = world.current;
    let (cell, op, order) = world.me().access;
    if world.weak.on {
        if world.recording {
            world.effects.values =
                Some(((op != STORE).then_some(old), (wrote != 0).then_some(new)));
        }
        return;
    }
    let (reads, writes) = (op != STORE, wrote != 0);
    let pc = world.me().pending.pc;
    world.clocks.at = pc;
    if reads {
        world.clocks.atomic_read(current, cell, order);
    }
    let how = AccessInfo {
        writes,
        atomic: true,
        pc,
        ..AccessInfo::default()
    };
    world.watch_access(address, size as usize, how);
    if writes {
        world.clocks.atomic_write(current, cell, reads, order);
    }
    if old != new {
        world.changed(cell);
    } else {
        let version = world.version(cell);
        world.me().spin.read(cell, version.into());
    }
    if world.recording {
        world.effects.values = Some((reads.then_some(old), writes.then_some(new)));
    }
}

/// Handles a plain access.
#[allow(clippy::too_many_arguments)]
pub(crate) extern "C" fn plain(
    address: usize,
    size: usize,
    writes: u32,
    pc: usize,
    sp: usize,
    registers: usize,
) {
    let world = world();
    if !world.in_model || size == 0 {
        return;
    }
    if world.is_of_no_interest(address) {
        look_at_time();
        world.reaches(registers);
        world.called_at = pc;
        return;
    }
    let is_errno = address.wrapping_sub(world.errno) < size_of::<i32>();
    if is_errno || world.image.is_thread_local(address) {
        // Thread-local variables belong to the local state of a thread but are not on its stack, so
        // a write to one counts as a change.
        if writes != 0 {
            world.me().spin.progress();
            world.me().weak_state.leave_round();
        }
        return;
    }
    look_at_time();
    world.end_write();
    world.reaches(registers);
    world.called_at = pc;
    let writes = writes != 0;
    if world.weak.on {
        return weak::plain((address, size), writes, pc);
    }
    if address < 4096 {
        let words = "segmentation fault: it uses a null pointer";
        fail(MishapKind::Failure, words.to_owned(), pc);
    }
    check(
        address,
        size,
        if writes { "writes to" } else { "reads" },
        pc,
    );
    let own_stack =
        heap::thread_of(address) == Some(world.current.index()) && heap::is_stack(address);
    let is_step = world.is_shared(address, size);
    if writes && !own_stack && !is_step {
        world.me().spin.progress();
    }
    if is_step {
        shared((address, size), writes, pc, (sp, registers));
    } else if world.settings.allow_races && !writes {
        world.me().idle += 1;
        if world.me().idle > IDLE {
            world.look_for_loop((address, size), pc, (sp, registers));
        }
    }
    world.watch_access(
        address,
        size,
        AccessInfo {
            writes,
            pc,
            ..AccessInfo::default()
        },
    );
}

/// Handles a plain access that is a step.
fn shared((address, size): (usize, usize), writes: bool, pc: usize, stack: (usize, usize)) {
    if size > 8 || (address & 7) + size > 8 {
        let what = if size > 8 {
            "a racing access to more than eight bytes at once"
        } else {
            "a racing access across a boundary of eight bytes"
        };
        refuse(what.to_owned(), pc);
    }
    let world = world();
    let cell = world.place(address, size);
    let (verb, kind) = if writes {
        ("write", AccessKind::Write)
    } else {
        ("read", AccessKind::Read)
    };
    let pending = Pending::new(verb, address, pc).on(kind, cell);
    let spins = !writes && world.spins(pc, (address, size), stack);
    announce(if spins {
        pending.until(WaitCondition::Change)
    } else {
        pending
    });
    let world = self::world();
    if writes {
        let old = value_at(address, size);
        world.me().writing = Some((cell, (address, size), old));
    } else {
        let version = world.version(cell);
        world.me().spin.read(cell, version.into());
        if world.recording && size <= 8 {
            world.effects.values = Some((Some(value_at(address, size)), None));
        }
    }
}

/// Returns the number at an address.
pub(crate) fn value_at(address: usize, size: usize) -> i64 {
    // SAFETY: the program itself accesses this memory.
    unsafe {
        match size {
            1 => i64::from(*(address as *const i8)),
            2 => i64::from((address as *const i16).read_unaligned()),
            4 => i64::from((address as *const i32).read_unaligned()),
            _ => (address as *const i64).read_unaligned(),
        }
    }
}

/// Records the use of an object of the thread library.
pub(crate) fn uses(object: usize, pc: usize) {
    let how = AccessInfo {
        atomic: true,
        uses: true,
        pc,
        ..AccessInfo::default()
    };
    world().watch_access(object, 1, how);
}

/// Records that memory is freed.
pub(crate) fn frees(address: usize, size: usize, pc: usize) {
    if world().weak.on {
        return weak::frees((address, size), pc);
    }
    world().watch_access(
        address,
        size,
        AccessInfo {
            writes: true,
            frees: true,
            pc,
            ..AccessInfo::default()
        },
    );
}
