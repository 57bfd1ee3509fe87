//! Accesses to memory, as the instrumented code announces them.

use mazurka_core::{AccessKind, MishapKind, ProcessId};

use crate::clock::{How, Mark};
use crate::world::{Failure, Life, Pending, Request, Until, World, world};
use crate::{Stop, heap, trap, weak};

/// The operations of `turn`, as the shim numbers them.
pub(crate) const LOAD: u32 = 0;
pub(crate) const STORE: u32 = 1;
pub(crate) const FENCE: u32 = 3;

/// So many plain accesses without a step may be a loop that waits.
const IDLE: u32 = 1000;

/// Suspends the current thread, which has announced its next operation.
#[inline(always)]
pub(crate) fn suspend(pending: Pending) {
    let yielder = {
        let thread = world().me();
        thread.idle = 0;
        // One by one: copied as a whole it would be read in larger words than it was written in,
        // and the processor would wait.
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
    // SAFETY: the yielder lives on the stack of the coroutine that this is called from.
    unsafe { (*yielder).suspend(Request::Turn) };
}

/// Lets the current thread wait for its turn, unless it is in an atomic section. A processor does
/// not foresee the returns after a switch of stacks, so there are few: this is part of its callers.
#[inline(always)]
pub(crate) fn announce(pending: Pending) {
    let world = world();
    world.end_write();
    if matches!(
        pending.until,
        Until::Now | Until::Lock(_) | Until::Token | Until::Ended(_)
    ) {
        // These are no guards.
    } else if world.searching && !world.learned.guarded {
        world.learn_guards();
    }
    if !world.in_section {
        suspend(pending);
    } else if pending.until != Until::Now {
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

/// Suspends the current thread for good.
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

/// Halts the current thread by a failure that is one only after what another thread has done last,
/// though nothing may order the two.
pub(crate) fn fail_after(other: Option<ProcessId>, message: String, pc: usize) -> ! {
    let world = world();
    world.effects.races_with = other.filter(|&other| other != world.current);
    fail(MishapKind::Failure, message, pc)
}

/// Breaks the search off: the program does what is not controlled.
pub(crate) fn refuse(what: String, pc: usize) -> ! {
    let world = world();
    let place = world.image_place(pc);
    world.stop = Some(Stop::Refused(format!("{what}, {place}")));
    world.me().life = Life::Failed;
    rest()
}

/// Breaks the search off if its time is over and the current step goes on and on.
#[inline]
pub(crate) fn look_at_time() {
    if trap::is_over() {
        let world = world();
        (world.stop, world.me().life) = (Some(Stop::OutOfTime), Life::Failed);
        rest();
    }
}

/// Fails if memory may not be accessed.
#[inline]
pub(crate) fn check(address: usize, size: usize, verb: &str, pc: usize) {
    if let Some((wrong, by)) = world().wrong_access(address, size, verb) {
        fail_after(by, wrong, pc);
    }
}

/// An atomic access or a fence: waits for its turn. `sp` is where the stack of the program ends,
/// and at `registers` are those that it keeps.
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
    let spins = op != STORE && world.spins(pc, sp, registers);
    announce(if spins {
        pending.until(Until::Change)
    } else {
        pending
    });
    0
}

impl World {
    /// Some steps have guards: the search starts again, and knows it.
    #[cold]
    fn learn_guards(&mut self) {
        self.learned.guarded = true;
        self.stop.get_or_insert(Stop::Restart);
    }

    /// The plain write that the current thread has announced is made: whether it has changed
    /// anything is known now.
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

    /// The stack of the current thread is used down to this address.
    #[inline]
    pub fn reaches(&mut self, address: usize) {
        let thread = self.me();
        thread.lowest = thread.lowest.min(address);
    }

    /// Whether the current thread is in a loop that changes nothing.
    pub fn spins(&mut self, pc: usize, sp: usize, registers: usize) -> bool {
        let top = self.me().top;
        // The frames of the shim count where it keeps values of the program (`MZ_USES_REGISTERS`).
        let sp = if sp == 0 { registers } else { sp };
        let size = top.wrapping_sub(sp);
        if size > top || self.in_section {
            return false;
        }
        let thread = self.me();
        // SAFETY: this is the part of the stack that is in use, and the six registers that the
        // shim has put on it.
        let (stack, registers) = unsafe {
            let registers = std::slice::from_raw_parts(registers as *const u8, 48);
            (std::slice::from_raw_parts(sp as *const u8, size), registers)
        };
        let spins = thread.spin.visit(pc, registers, stack);
        if spins {
            // What it waits for may have changed already: that is for the guard to say, since
            // what is announced must not depend on steps that this one does not depend on.
            thread.spin.progress();
        }
        spins
    }

    /// Notes an access of the current thread for races, and fails or learns if it races.
    #[inline]
    fn watch_access(&mut self, address: usize, size: usize, how: How) {
        if self.started < 2 || !self.learned.stacks && self.is_private(address) {
            return;
        }
        if let Some(other) = self.note_access(address, size, how) {
            self.meet_race((address, size), how, other);
        }
    }

    /// The current access races with another one.
    #[cold]
    fn meet_race(&mut self, (address, size): (usize, usize), how: How, other: Mark) {
        let uses = how.uses || other.uses;
        if self.settings.allow_races && !other.frees && !how.frees {
            if !self.searching || uses {
                return;
            }
            let new = (address..address + size).filter(|&byte| self.learned.shared.insert(byte));
            if new.count() > 0 && !(how.atomic && self.settings.allow_races) {
                self.stop.get_or_insert(Stop::Restart);
            }
            return;
        }
        let mut failure = self.race(address, how, other);
        if uses {
            failure.message = failure.message.replace("read atomically", "used");
        }
        self.effects.races_with = Some(ProcessId(other.thread));
        self.halt(MishapKind::Failure, failure);
        rest()
    }

    /// Whether an access of the current thread is to its own stack. As long as no thread accesses
    /// the stack of another, there are no races on stacks, and these need not be noted; if one
    /// does, the search starts again, and all are.
    #[inline]
    fn is_private(&mut self, address: usize) -> bool {
        let owner = heap::thread_of(address).filter(|&owner| owner < self.threads.len());
        let Some(owner) = owner.filter(|_| heap::is_stack(address)) else {
            return false;
        };
        if owner != self.current.index() && self.searching {
            self.learned.stacks = true;
            self.stop.get_or_insert(Stop::Restart);
        }
        owner == self.current.index()
    }

    /// Whether a plain access of the current thread to this address does nothing that others can
    /// see: it is to its own stack, and such accesses are neither steps nor noted for races.
    #[inline]
    fn is_of_no_interest(&self, address: usize) -> bool {
        let looks = self.learned.stacks || self.settings.allow_races || self.weak.on;
        !looks && heap::is_stack_of(self.current.index(), address)
    }

    /// A plain read that is no step, in what may be a loop without steps. If it is one, it waits
    /// for another thread to change what it reads: the search starts again, and these are steps.
    #[cold]
    fn look_for_loop(&mut self, place: (usize, usize), pc: usize, (sp, registers): (usize, usize)) {
        if self.spins(pc, sp, registers) {
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

    /// What the current thread has read in a loop without steps becomes steps.
    fn learn_loop(&mut self) {
        let reads = std::mem::take(&mut self.me().spin.waits_for);
        for (cell, _) in reads {
            let address = self.cells[cell as usize].address;
            let size = self.size_of_place(address);
            self.learned.shared.extend(address..address + size);
        }
        self.stop.get_or_insert(Stop::Restart);
    }

    /// Whether accesses to this memory are steps.
    fn is_shared(&self, address: usize, size: usize) -> bool {
        !self.learned.shared.is_empty()
            && (address..address + size.min(64)).any(|byte| self.learned.shared.contains(&byte))
    }
}

/// An atomic access has been made.
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
    let how = How {
        writes,
        atomic: true,
        pc,
        ..How::default()
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

/// A plain access.
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
    if world.image.is_thread_local(address) {
        // Its own state is not only its stack then.
        if writes != 0 {
            world.me().spin.progress();
            world.me().asking.leave_round();
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
    let is_step = world.settings.allow_races && world.is_shared(address, size);
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
        How {
            writes,
            pc,
            ..How::default()
        },
    );
}

/// A plain access that is a step.
fn shared((address, size): (usize, usize), writes: bool, pc: usize, stack: (usize, usize)) {
    if size > 8 {
        refuse(
            "a racing access to more than eight bytes at once".to_owned(),
            pc,
        );
    }
    let world = world();
    let cell = world.place(address, size);
    let (verb, kind) = if writes {
        ("write", AccessKind::Write)
    } else {
        ("read", AccessKind::Read)
    };
    let pending = Pending::new(verb, address, pc).on(kind, cell);
    let spins = !writes && world.spins(pc, stack.0, stack.1);
    announce(if spins {
        pending.until(Until::Change)
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

/// The number at an address.
pub(crate) fn value_at(address: usize, size: usize) -> i64 {
    // SAFETY: the program accesses this memory itself.
    unsafe {
        match size {
            1 => i64::from(*(address as *const i8)),
            2 => i64::from((address as *const i16).read_unaligned()),
            4 => i64::from((address as *const i32).read_unaligned()),
            _ => (address as *const i64).read_unaligned(),
        }
    }
}

/// An object of the thread library is used.
pub(crate) fn uses(object: usize, pc: usize) {
    let how = How {
        atomic: true,
        uses: true,
        pc,
        ..How::default()
    };
    world().watch_access(object, 1, how);
}

/// Memory is given back.
pub(crate) fn frees(address: usize, size: usize, pc: usize) {
    if world().weak.on {
        return weak::frees((address, size), pc);
    }
    world().watch_access(
        address,
        size,
        How {
            writes: true,
            frees: true,
            pc,
            ..How::default()
        },
    );
}
