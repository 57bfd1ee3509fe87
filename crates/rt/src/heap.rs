//! The blocks of memory of an execution, and the names of the objects in them.
//!
//! Objects in a `Vec` or a `Box` are made at one place of the source, and the place cannot tell
//! them apart. Without more knowledge a thread has to register with such an object before it uses
//! it (names.rs), and the order of these steps multiplies the executions: five of them become 150
//! for three threads with three atomics in one `Vec`. So the allocator tells where blocks are. A
//! block is named by the thread that asked for it, by its size, and by the number of blocks of this
//! size that the thread had asked for before; an object by its block, its offset, and the number of
//! objects named there before. These are functions of what the thread has done, as the names of
//! `Arc`s are.
//!
//! The stack of a thread is a block, too, named by the thread. Where a frame lies on it is what the
//! thread has called, and objects that lie at one place one after the other are ordered.
//!
//! A block that is asked for in the first execution only, say by a cache of a library, would shift
//! the numbers of those after it. Then an execution that is run again differs, which searches
//! notice; they do without blocks from there on ([`Blocks::distrust`]).
//!
//! Nor are the offsets of objects in a `HashMap` names: its order differs in each execution. Its
//! tables are told by their alignment and left out, so that threads register with these objects.
//!
//! Blocks are noted only where a place was found to make several objects. What the runtime itself
//! asks for while it changes its state is not noted.

use std::alloc::{GlobalAlloc, Layout, System};

use corosensei::stack::Stack;
use mazurka_core::ProcessId;
use rustc_hash::FxHashMap;

use crate::names::{Meta, Pool};
use crate::world::{Inner, World, world};

/// An allocator that tells models where the blocks of the heap are, so that they can tell objects
/// in a `Vec` or a `Box` apart. With the feature `heap`, which is on by default, it is the
/// allocator of the program. A program that has another one turns the feature off and puts this
/// one around it.
///
/// ```
/// use std::alloc::{GlobalAlloc, Layout, System};
/// use mazurka_rt::Heap;
///
/// static HEAP: Heap<System> = Heap(System); // here: #[global_allocator]
///
/// let layout = Layout::new::<u64>();
/// // SAFETY: the layout has a size, and the block is given back with it.
/// unsafe {
///     let block = HEAP.alloc(layout);
///     assert!(!block.is_null());
///     HEAP.dealloc(block, layout);
/// }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Heap<A = System>(
    /// The allocator that does the work.
    pub A,
);

#[cfg(feature = "heap")]
#[global_allocator]
static HEAP: Heap = Heap(System);

// SAFETY: everything is left to another allocator.
#[allow(unsafe_code)]
unsafe impl<A: GlobalAlloc> GlobalAlloc for Heap<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller promises the same.
        let block = unsafe { self.0.alloc(layout) };
        note(block, layout, layout.size());
        block
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let block = unsafe { self.0.alloc_zeroed(layout) };
        note(block, layout, layout.size());
        block
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        let block = unsafe { self.0.realloc(block, layout, size) };
        note(block, layout, size);
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { self.0.dealloc(block, layout) }
    }
}

/// The alignment of the tables of std's `HashMap`, which has another order in each execution, so
/// that offsets in it are no names.
const HASHED: usize = 16;

/// Notes a block that a thread of a model has asked for, if it has room for an object.
#[inline]
fn note(block: *mut u8, layout: Layout, size: usize) {
    if let Some(world) = world()
        && world.notes_blocks.get()
        && layout.align() != HASHED
        && size >= size_of::<Meta>()
    {
        world.note_block(block as usize, size);
    }
}

/// The number of the block that is the stack of a thread.
const STACK: u32 = u32::MAX;

/// A block, and what names it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Block {
    thread: u32,
    /// The number of blocks of this size that the thread had asked for before, or [`STACK`].
    number: u32,
    size: usize,
}

/// The blocks of an execution.
#[derive(Default)]
pub(crate) struct Blocks {
    /// The blocks, by their start, in the order in which they were asked for.
    noted: Vec<(usize, Block)>,
    /// For each thread and size, the number of blocks.
    counts: FxHashMap<(u32, usize), u32>,
    /// The objects that were at an offset of a block.
    objects: FxHashMap<(Block, usize), Pool>,
    /// The block that was found last, which no other overlaps among the first so many.
    last: Option<(usize, Block, usize)>,
    noting: Noting,
}

/// Whether blocks are noted.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Noting {
    /// Not needed so far.
    #[default]
    No,
    /// From the next execution on.
    Next,
    /// Yes, and no object was named by its block yet.
    Yes,
    /// Yes, and objects are named by them.
    Used,
    /// Not any more: the names have differed between executions.
    Distrusted,
}

impl Blocks {
    /// Starts a new execution. Returns whether blocks are to be noted.
    pub fn begin(&mut self) -> bool {
        self.noted.clear();
        self.counts.clear();
        self.last = None;
        if self.noting == Noting::Next {
            self.noting = Noting::Yes;
        }
        self.are_noted()
    }

    /// Whether blocks are noted.
    pub fn are_noted(&self) -> bool {
        matches!(self.noting, Noting::Yes | Noting::Used)
    }

    /// Notes blocks from the next execution on. Returns false if it does already, or should not.
    pub fn start_noting(&mut self) -> bool {
        if self.noting == Noting::No {
            self.noting = Noting::Next;
        }
        self.noting == Noting::Next
    }

    /// An execution that was run again did something else. Returns whether the names of blocks may
    /// have misled it: then they are not used any more.
    pub fn distrust(&mut self) -> bool {
        let used = self.noting == Noting::Used;
        if used {
            self.noting = Noting::Distrusted;
        }
        used
    }

    /// Notes the stack of a thread that starts.
    pub fn note_stack(&mut self, thread: ProcessId, stack: &impl Stack) {
        if self.are_noted() {
            let (start, end) = (stack.limit().get(), stack.base().get());
            let block = Block {
                thread: thread.0,
                number: STACK,
                size: end - start,
            };
            self.noted.push((start, block));
        }
    }

    /// Returns the block that contains an address, and the offset in it.
    fn find(&mut self, address: usize) -> Option<(Block, usize)> {
        let within = |start: usize, block: Block| address.wrapping_sub(start) < block.size;
        let overlaps = |noted: &[(usize, Block)], start: usize, block: Block| {
            let mut noted = noted.iter();
            noted.any(|&(other, by)| other < start + block.size && start < other + by.size)
        };
        if let Some((start, block, until)) = self.last
            && within(start, block)
            && !overlaps(&self.noted[until..], start, block)
        {
            self.last = Some((start, block, self.noted.len()));
            return Some((block, address - start));
        }
        // Memory may have been in use before: the last block there is the one that lives.
        let at = { self.noted.iter() }.rposition(|&(start, block)| within(start, block))?;
        let (start, block) = self.noted[at];
        let alone = !overlaps(&self.noted[at + 1..], start, block);
        self.last = alone.then_some((start, block, self.noted.len()));
        Some((block, address - start))
    }
}

impl World {
    /// Notes a block that the current thread has asked for.
    #[cold]
    fn note_block(&self, start: usize, size: usize) {
        let Ok(mut inner) = self.inner.try_borrow_mut() else {
            return;
        };
        let thread = inner.current.0;
        let blocks = &mut inner.names.blocks;
        let count = blocks.counts.entry((thread, size)).or_insert(0);
        let block = Block {
            thread,
            number: *count,
            size,
        };
        *count += 1;
        blocks.noted.push((start, block));
    }
}

impl Inner {
    /// Names an object that lies in a noted block, and returns its cell.
    pub fn name_in_block(&mut self, meta: &Meta, kind: &'static str) -> Option<u32> {
        let address = std::ptr::from_ref(meta) as usize;
        let place = self.names.blocks.find(address)?;
        self.names.blocks.noting = Noting::Used;
        let mut pool = { self.names.blocks.objects.remove(&place) }.unwrap_or_default();
        let cell = self.next_of(&mut pool, kind);
        self.names.blocks.objects.insert(place, pool);
        Some(cell)
    }
}
