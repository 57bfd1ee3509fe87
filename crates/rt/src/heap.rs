//! Blocks of memory of an execution, and names for the objects in them.
//!
//! Objects in a `Vec` or a `Box` are made at one place of the source, which cannot tell them apart.
//! Without further knowledge a thread has to register with such an object before using it
//! (names.rs), and the order of these steps multiplies the executions: for three threads with three
//! atomics in one `Vec`, 5 executions become 150. To avoid these steps, the allocator reports where
//! blocks are, and objects are named by their blocks. The name of a block consists of the thread
//! that allocated it, its size, and the number of blocks of this size that the thread had allocated
//! before. The name of an object consists of its block, its offset, and the number of objects named
//! there before. Like the names of `Arc`s, these names are functions of the steps of the thread
//! alone.
//!
//! The stack of a thread is a block, too, named by the thread. The position of a frame on
//! it depends on the calls of the thread, and objects that successively occupy one
//! position are ordered.
//!
//! Some blocks are allocated in the first execution only, for example by a library's cache. They
//! would shift the numbers of later blocks, so that a repeated execution differs. Searches notice
//! this, and no longer use blocks from then on ([`Blocks::distrust`]).
//!
//! Offsets in a `HashMap` cannot be names either, because its order differs in each execution. Its
//! tables are recognised by their alignment and left out, so that threads register with the
//! objects in them.
//!
//! Blocks are recorded only after a place of the source is known to make several objects.
//! Allocations that the runtime makes while it changes its own state are not recorded.

use std::alloc::{GlobalAlloc, Layout, System};

use corosensei::stack::Stack;
use mazurka_core::ProcessId;
use rustc_hash::FxHashMap;

use crate::names::{Meta, Pool};
use crate::world::{Inner, World, world};

/// An allocator that reports the blocks of the heap to models, so that they can tell objects in a
/// `Vec` or a `Box` apart. With the feature `heap` (default) it is the global allocator of the
/// program. A program with its own global allocator turns the feature off and wraps that
/// allocator in this one.
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

// SAFETY: every call is forwarded to another allocator.
#[allow(unsafe_code)]
unsafe impl<A: GlobalAlloc> GlobalAlloc for Heap<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller promises the same.
        let block = unsafe { self.0.alloc(layout) };
        record_allocation(block, layout, layout.size());
        block
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let block = unsafe { self.0.alloc_zeroed(layout) };
        record_allocation(block, layout, layout.size());
        block
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        let block = unsafe { self.0.realloc(block, layout, size) };
        record_allocation(block, layout, size);
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { self.0.dealloc(block, layout) }
    }
}

/// The alignment of the tables of std's `HashMap`. Its order differs in each execution, so offsets
/// in it cannot be names.
const HASHED: usize = 16;

/// Records a block that a thread of a model has allocated, if an object fits into it.
#[inline]
fn record_allocation(block: *mut u8, layout: Layout, size: usize) {
    if let Some(world) = world()
        && world.records_blocks.get()
        && layout.align() != HASHED
        && size >= size_of::<Meta>()
    {
        world.record_block(block as usize, size);
    }
}

/// The block number of a thread's stack.
const STACK: u32 = u32::MAX;

/// The name of a block.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Block {
    thread: u32,
    /// Number of blocks of this size that the thread had allocated before, or [`STACK`].
    number: u32,
    size: usize,
}

/// The blocks of an execution.
#[derive(Default)]
pub(crate) struct Blocks {
    /// The blocks with their start addresses, in the order of their allocation.
    recorded: Vec<(usize, Block)>,
    /// Number of recorded blocks by thread and size.
    counts: FxHashMap<(u32, usize), u32>,
    /// The objects at each offset of each block.
    objects: FxHashMap<(Block, usize), Pool>,
    /// The last result of `find`: the start address of the block, its name, and a number n. No
    /// block that was recorded after it and is among the first n recorded blocks overlaps it.
    last: Option<(usize, Block, usize)>,
    recording: BlockRecording,
}

/// Whether blocks are recorded.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum BlockRecording {
    /// Not needed so far.
    #[default]
    No,
    /// From the next execution on.
    Next,
    /// Yes, but no object has been named by its block yet.
    Yes,
    /// Yes, and objects are named by their blocks.
    Used,
    /// No longer: the names differed between executions.
    Distrusted,
}

impl Blocks {
    /// Forgets the blocks of the previous execution. Returns whether the blocks of the new
    /// execution are recorded.
    pub fn begin(&mut self) -> bool {
        self.recorded.clear();
        self.counts.clear();
        self.last = None;
        if self.recording == BlockRecording::Next {
            self.recording = BlockRecording::Yes;
        }
        self.are_recorded()
    }

    /// Whether blocks are recorded.
    pub fn are_recorded(&self) -> bool {
        matches!(self.recording, BlockRecording::Yes | BlockRecording::Used)
    }

    /// Records blocks from the next execution on. Returns false if blocks are already recorded, or
    /// must not be.
    pub fn start_recording(&mut self) -> bool {
        if self.recording == BlockRecording::No {
            self.recording = BlockRecording::Next;
        }
        self.recording == BlockRecording::Next
    }

    /// Reacts to a repeated execution that diverged. Returns whether the names of blocks may be the
    /// reason. If so, they are not used any more.
    pub fn distrust(&mut self) -> bool {
        let used = self.recording == BlockRecording::Used;
        if used {
            self.recording = BlockRecording::Distrusted;
        }
        used
    }

    /// Records the stack of a thread that starts.
    pub fn record_stack(&mut self, thread: ProcessId, stack: &impl Stack) {
        if self.are_recorded() {
            let (start, end) = (stack.limit().get(), stack.base().get());
            let block = Block {
                thread: thread.0,
                number: STACK,
                size: end - start,
            };
            self.recorded.push((start, block));
        }
    }

    /// Returns the block that contains an address, and the offset in it.
    fn find(&mut self, address: usize) -> Option<(Block, usize)> {
        let within = |start: usize, block: Block| address.wrapping_sub(start) < block.size;
        let overlaps = |recorded: &[(usize, Block)], start: usize, block: Block| {
            let mut recorded = recorded.iter();
            recorded.any(|&(other, by)| other < start + block.size && start < other + by.size)
        };
        if let Some((start, block, until)) = self.last
            && within(start, block)
            && !overlaps(&self.recorded[until..], start, block)
        {
            self.last = Some((start, block, self.recorded.len()));
            return Some((block, address - start));
        }
        // Freed memory is allocated again, so several recorded blocks may contain the address. The
        // last one is the live one.
        let at = { self.recorded.iter() }.rposition(|&(start, block)| within(start, block))?;
        let (start, block) = self.recorded[at];
        let alone = !overlaps(&self.recorded[at + 1..], start, block);
        self.last = alone.then_some((start, block, self.recorded.len()));
        Some((block, address - start))
    }
}

impl World {
    /// Records a block that the current thread has allocated.
    #[cold]
    fn record_block(&self, start: usize, size: usize) {
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
        blocks.recorded.push((start, block));
    }
}

impl Inner {
    /// Names an object that lies in a recorded block, and returns its cell.
    pub fn name_in_block(&mut self, meta: &Meta, kind: &'static str) -> Option<u32> {
        let address = std::ptr::from_ref(meta) as usize;
        let place = self.names.blocks.find(address)?;
        self.names.blocks.recording = BlockRecording::Used;
        let mut pool = { self.names.blocks.objects.remove(&place) }.unwrap_or_default();
        let cell = self.next_of(&mut pool, kind);
        self.names.blocks.objects.insert(place, pool);
        Some(cell)
    }
}
