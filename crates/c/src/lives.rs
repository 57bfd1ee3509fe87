//! Where the lives of mutexes, semaphores and the like begin and end.
//!
//! - *Races.* A use of an object is an atomic access to its first byte, where it acquires or before
//!   it releases; initialising, destroying and freeing it are plain writes. So a use that no
//!   synchronisation orders before the end of its object, or after its beginning, is a data race
//!   in each execution that has both, as ThreadSanitizer has it. Under a memory model these are
//!   accesses to the location of the object.
//! - *New objects.* A word of the object says in the memory of the program that it is held, or
//!   destroyed. Where the runtime knows that and memory does not, the program has made a new object
//!   at the same address, by assigning an initialiser or in a new frame of a stack. It gets a new
//!   cell.

use mazurka_core::ProcessId;

use crate::access::{check, fail_after, uses};
use crate::world::{World, world};
use crate::{Stop, heap, weak};

/// The kinds of objects, as the shim numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Mutex,
    Condition,
    ReadWrite,
    Semaphore,
    Barrier,
    /// A flag of `once`, which has no end.
    Flag,
}

/// What the word of an object says.
const FREE: u32 = 0;
const HELD: u32 = 0x6d7a_0001;
const DESTROYED: u32 = 0x6d7a_0002;

impl Kind {
    pub fn of(number: i64) -> Self {
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

    /// The word of an object. The first one of some is the shim's.
    fn word(self, object: usize) -> *mut u32 {
        let offset = match self {
            Self::Semaphore | Self::Barrier => 4,
            _ => 0,
        };
        (object + offset) as *mut u32
    }

    fn says(self, object: usize) -> u32 {
        // SAFETY: the program's object; if the address is wrong, that is a fault of the program,
        // and told as one (trap.rs).
        unsafe { self.word(object).read_unaligned() }
    }

    fn say(self, object: usize, what: u32) {
        // SAFETY: as above.
        unsafe { self.word(object).write_unaligned(what) };
    }
}

impl World {
    /// The cell of an object such as a mutex: of the one that is at this address now.
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
        // Freeing writes the objects of a block, so they have to be known before.
        if self.weak.on && self.weak.was_freed(key.0) {
            self.stop.get_or_insert(Stop::Restart);
        }
        cell
    }

    /// The program has made a new object at an address.
    fn renew(&mut self, address: usize) -> u32 {
        let first = self.object_of((address, 0));
        self.cell(first).generation += 1;
        self.object(address)
    }

    /// The cells of the objects in a block, with their addresses, in order.
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

/// Under a memory model the location of a barrier that is written where its life begins and ends,
/// and read by threads that come: those that leave may still read its number then.
pub(crate) fn life_of_barrier(object: usize) -> usize {
    object + 1
}

/// A thread that has a lock.
fn held_by(cell: u32) -> Option<ProcessId> {
    let lock = world().cell(cell);
    let holder = lock.holder.map(|(holder, _)| holder);
    holder.or(lock.readers.first().copied())
}

/// Whether threads have a lock.
fn is_held(cell: u32) -> bool {
    held_by(cell).is_some()
}

/// Notes in memory whether a lock is held.
pub(crate) fn tell_held(kind: Kind, cell: u32) {
    let object = world().cells[cell as usize].address;
    kind.say(object, if is_held(cell) { HELD } else { FREE });
}

/// The cell of an object that the current thread is about to use.
pub(crate) fn arrives(object: usize, kind: Kind, pc: usize) -> u32 {
    // Under a memory model it is the engine that knows what was before: see `used`.
    if !world().weak.on {
        check(object, 4, kind.verb(), pc);
    }
    let cell = world().object(object);
    world().cells[cell as usize].semaphore |= kind == Kind::Semaphore;
    if kind == Kind::Flag {
        return cell;
    }
    let destroyed = world().cell(cell).destroyed;
    let expected = match destroyed {
        Some(_) => DESTROYED,
        None if is_held(cell) => HELD,
        None => return cell,
    };
    if kind.says(object) != expected {
        return world().renew(object);
    }
    if let (Some(by), false) = (destroyed, world().weak.on) {
        ended(kind, by, pc);
    }
    cell
}

fn ended(kind: Kind, by: ProcessId, pc: usize) -> ! {
    let words = format!("uses a {} that was destroyed", kind.name());
    fail_after(Some(by), words, pc)
}

/// The current step uses an object: it must be there still.
pub(crate) fn used(cell: u32, kind: Kind, pc: usize) {
    let object = world().cells[cell as usize].address;
    check(object, 4, kind.verb(), pc);
    if let Some(by) = world().cell(cell).destroyed {
        ended(kind, by, pc);
    }
    if !world().weak.on {
        uses(object, pc);
    }
}

/// An object is initialised by a call; a semaphore with this number.
pub(crate) fn init(object: usize, kind: Kind, value: i64, pc: usize) -> i64 {
    let cell = world().object(object);
    if world().weak.on {
        weak::writes(cell, kind, value, pc);
    }
    // What was left behind on a stack is gone.
    let (held, waiting) = (is_held(cell), !world().cell(cell).waiters.is_empty());
    if held && kind.says(object) == HELD && !is_on_stack(object) {
        let words = format!("initialises a {} that is held", kind.name());
        fail_after(held_by(cell), words, pc);
    }
    // Under a memory model threads that leave a barrier still read the number of the old one.
    let counts = kind == Kind::Barrier && world().weak.on;
    let cell = if held || waiting || counts {
        world().renew(object)
    } else {
        cell
    };
    world().cell(cell).destroyed = None;
    kind.say(object, FREE);
    0
}

fn is_on_stack(object: usize) -> bool {
    let owner = heap::thread_of(object).filter(|&owner| owner < world().threads.len());
    owner.is_some() && heap::is_stack(object)
}

/// An object is destroyed.
pub(crate) fn destroy(object: usize, kind: Kind, pc: usize) -> i64 {
    let cell = arrives(object, kind, pc);
    if world().weak.on {
        weak::writes(cell, kind, i64::from(kind == Kind::Semaphore), pc);
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
    kind.say(object, DESTROYED);
    0
}
