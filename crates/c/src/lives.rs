//! Lifetimes of mutexes, semaphores and other synchronisation objects.
//!
//! - *Races.* Using an object counts as an atomic access to its first byte. This access is made
//!   when the object is acquired, or before it is released. Initialising, destroying and freeing
//!   the object are plain writes. So a use is a data race if synchronisation does not order it
//!   after the start and before the end of the object's lifetime. ThreadSanitizer has the same
//!   definition. Under a memory model, uses, starts and ends are accesses to the location of the
//!   object.
//! - *New objects.* A word of the object, in the memory of the program, says whether the object is
//!   held or destroyed. If the runtime and this word disagree, the program has made a new object at
//!   the same address: by assigning an initialiser, or in a new stack frame. The new object gets a
//!   new cell.

use mazurka_core::ProcessId;

use crate::access::{check, fail_after, uses};
use crate::world::{World, world};
use crate::{SearchStop, heap, weak};

/// Kinds of objects, as the shim numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    Mutex,
    Condition,
    ReadWrite,
    Semaphore,
    Barrier,
    /// A flag of `once`. It is never destroyed.
    Flag,
}

/// The values of an object's word: free, held, or destroyed.
const FREE: u32 = 0;
const HELD: u32 = 0x6d7a_0001;
const DESTROYED: u32 = 0x6d7a_0002;

impl ObjectKind {
    pub fn from_number(number: i64) -> Self {
        match number {
            0 => Self::Mutex,
            1 => Self::Condition,
            2 => Self::ReadWrite,
            3 => Self::Semaphore,
            _ => Self::Barrier,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Mutex => "mutex",
            Self::Condition => "condition variable",
            Self::ReadWrite => "read-write lock",
            Self::Semaphore => "semaphore",
            Self::Barrier => "barrier",
            Self::Flag => "flag",
        }
    }

    fn verb(self) -> &'static str {
        match self {
            Self::Mutex | Self::ReadWrite => "uses a lock in",
            Self::Condition => "uses a condition variable in",
            Self::Semaphore => "uses a semaphore in",
            Self::Barrier => "uses a barrier in",
            Self::Flag => "uses a flag in",
        }
    }

    /// Returns the word of an object. For some kinds the first word belongs to the shim.
    fn word(self, object: usize) -> *mut u32 {
        let offset = match self {
            Self::Semaphore | Self::Barrier => 4,
            _ => 0,
        };
        (object + offset) as *mut u32
    }

    fn read_state(self, object: usize) -> u32 {
        // SAFETY: this is the program's object; if the address is wrong, the program has a fault,
        // which is reported as one (trap.rs).
        unsafe { self.word(object).read_unaligned() }
    }

    fn write_state(self, object: usize, what: u32) {
        // SAFETY: as above.
        unsafe { self.word(object).write_unaligned(what) };
    }
}

impl World {
    /// Returns the cell of the object, such as a mutex, that is now at this address.
    pub fn object(&mut self, address: usize) -> u32 {
        let first = self.object_of((address, 0));
        match self.seen(first).map_or(0, |cell| cell.generation) {
            0 => first,
            generation => self.object_of((address, generation)),
        }
    }

    fn object_of(&mut self, key: (usize, u32)) -> u32 {
        if let Some(&cell) = self.objects.get(&key) {
            return cell;
        }
        let cell = self.new_cell(key.0);
        self.objects.insert(key, cell);
        // Under a memory model, freeing a block writes to the objects in it, so a search must know
        // the objects before the block is freed.
        if self.weak.on && self.weak.was_freed(key.0) {
            self.stop.get_or_insert(SearchStop::Restart);
        }
        cell
    }

    /// Gives a new cell to the new object at an address.
    fn renew(&mut self, address: usize) -> u32 {
        let first = self.object_of((address, 0));
        self.cell(first).generation += 1;
        self.object(address)
    }

    /// Returns the cells and addresses of the objects in a block, in order.
    pub fn objects_in(&mut self, block: std::ops::Range<usize>) -> Vec<(usize, u32)> {
        let lives_apart = |at: usize| self.objects.contains_key(&(life_of_barrier(at), 0));
        let inside = self.objects.keys();
        let inside = inside.filter(|&&(at, _)| block.contains(&at) && !lives_apart(at));
        let mut inside: Vec<usize> = inside.map(|&(at, _)| at).collect();
        inside.sort_unstable();
        inside.dedup();
        let cells = inside.into_iter().map(|at| (at, self.object(at)));
        cells.collect()
    }
}

/// Under a memory model, returns the location for the lifetime of a barrier. The start and the end
/// of the lifetime write it; arriving threads read it. The number of the barrier has another
/// location, because threads that leave the barrier may read the number after the lifetime.
pub(crate) fn life_of_barrier(object: usize) -> usize {
    object + 1
}

/// Returns a thread that holds a lock.
fn held_by(cell: u32) -> Option<ProcessId> {
    let lock = world().cell(cell);
    let holder = lock.holder.map(|(holder, _)| holder);
    holder.or(lock.readers.first().copied())
}

/// Whether any thread holds a lock.
fn is_held(cell: u32) -> bool {
    held_by(cell).is_some()
}

/// Writes to the object's word whether the lock is held.
pub(crate) fn tell_held(kind: ObjectKind, cell: u32) {
    let object = world().cells[cell as usize].address;
    kind.write_state(object, if is_held(cell) { HELD } else { FREE });
}

/// Returns the cell of an object that the current thread is about to use.
pub(crate) fn arrives(object: usize, kind: ObjectKind, pc: usize) -> u32 {
    // Under a memory model `used` makes this check, when the engine knows the earlier accesses.
    if !world().weak.on {
        check(object, 4, kind.verb(), pc);
    }
    let cell = world().object(object);
    world().cells[cell as usize].semaphore |= kind == ObjectKind::Semaphore;
    if kind == ObjectKind::Flag {
        return cell;
    }
    let destroyed = world().cell(cell).destroyed;
    let expected = match destroyed {
        Some(_) => DESTROYED,
        None if is_held(cell) => HELD,
        None => return cell,
    };
    if kind.read_state(object) != expected {
        return world().renew(object);
    }
    if let (Some(by), false) = (destroyed, world().weak.on) {
        ended(kind, by, pc);
    }
    cell
}

fn ended(kind: ObjectKind, by: ProcessId, pc: usize) -> ! {
    let words = format!("uses a {} that was destroyed", kind.name());
    fail_after(Some(by), words, pc)
}

/// Checks that the object which the current step uses still exists.
pub(crate) fn used(cell: u32, kind: ObjectKind, pc: usize) {
    let object = world().cells[cell as usize].address;
    check(object, 4, kind.verb(), pc);
    if let Some(by) = world().cell(cell).destroyed {
        ended(kind, by, pc);
    }
    if !world().weak.on {
        uses(object, pc);
    }
}

/// Initialises an object. `value` is the initial value of a semaphore.
pub(crate) fn init(object: usize, kind: ObjectKind, value: i64, pc: usize) -> i64 {
    let cell = world().object(object);
    if world().weak.on {
        weak::writes(cell, kind, value, pc);
    }
    // Initialising a held lock is a failure, except on a stack, where the held lock was in a frame
    // that no longer exists.
    let (held, waiting) = (is_held(cell), !world().cell(cell).waiters.is_empty());
    if held && kind.read_state(object) == HELD && !is_on_stack(object) {
        let words = format!("initialises a {} that is held", kind.name());
        fail_after(held_by(cell), words, pc);
    }
    // Under a memory model, threads that leave the old barrier may still read its number, so the
    // new barrier gets a new cell.
    let counts = kind == ObjectKind::Barrier && world().weak.on;
    let cell = if held || waiting || counts {
        world().renew(object)
    } else {
        cell
    };
    world().cell(cell).destroyed = None;
    kind.write_state(object, FREE);
    0
}

fn is_on_stack(object: usize) -> bool {
    let owner = heap::thread_of(object).filter(|&owner| owner < world().threads.len());
    owner.is_some() && heap::is_stack(object)
}

/// Destroys an object.
pub(crate) fn destroy(object: usize, kind: ObjectKind, pc: usize) -> i64 {
    let cell = arrives(object, kind, pc);
    if world().weak.on {
        weak::writes(cell, kind, i64::from(kind == ObjectKind::Semaphore), pc);
        check(object, 4, kind.verb(), pc);
        if let Some(by) = world().cell(cell).destroyed {
            ended(kind, by, pc);
        }
    }
    let (holder, waiter) = (held_by(cell), world().cell(cell).waiters.first().copied());
    if let Some(other) = holder.or(waiter) {
        let how = match holder {
            Some(_) => "is held",
            None => "threads wait for",
        };
        let words = format!("destroys a {} that {how}", kind.name());
        fail_after(Some(other), words, pc);
    }
    let current = world().current;
    world().cell(cell).destroyed = Some(current);
    kind.write_state(object, DESTROYED);
    0
}
