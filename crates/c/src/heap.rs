//! The memory of the program's threads. Each thread has a *region* at fixed addresses, with a heap,
//! a stack of the runtime, a guard page and the stack of the program, in this order.
//!
//! The address of a block depends only on the thread and on its earlier allocations, not on other
//! threads, so allocations of different threads commute. Memory is not reused within an execution,
//! so every freed block stays known. Blocks are zeroed. Each block is followed by a gap that the
//! program may not access.

use corosensei::stack::{Stack, StackPointer};
use mazurka_core::ProcessId;

use crate::calls::BASE;
use crate::clock::copy;
use crate::world::bytes_at;

/// Size of a region. The first region holds the function table; each other one belongs to a thread.
const REGION: usize = 1 << 28;
const STACK: usize = 8 << 20;
const GUARD: usize = 1 << 16;
/// Size of the runtime's own stack, which is below the guard page.
const RUNTIME: usize = 1 << 17;
const HEAP: usize = REGION - STACK - GUARD - RUNTIME;
/// The runtime records the lowest stack address at which the program has called it. Frames of the
/// program extend at most this many bytes below that address.
const MARGIN: usize = 1024;
/// Zeros in the unused part of a stack are skipped in pieces of this size.
const ZEROS: [u8; 128] = [0; 128];
/// Size of the gap between two blocks.
const GAP: usize = 32;

/// A stack at a fixed address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FixedStack {
    base: StackPointer,
    limit: StackPointer,
}

// SAFETY: the memory between the two addresses is mapped and never unmapped, and each thread has
// its own.
unsafe impl Stack for FixedStack {
    fn base(&self) -> StackPointer {
        self.base
    }

    fn limit(&self) -> StackPointer {
        self.limit
    }
}

/// A block of a heap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub address: usize,
    pub size: usize,
    /// Where the program allocated it.
    pub made: usize,
    /// Where the program freed it, and by which thread.
    pub freed: Option<(usize, ProcessId)>,
}

/// The location of an address in a heap.
pub(crate) enum HeapLocation<'a> {
    /// In a block.
    Block(&'a Block),
    /// Outside of all blocks, with the last block before it.
    Gap(Option<Block>),
}

/// The memory of a thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Region {
    start: usize,
    used: usize,
    blocks: Vec<Block>,
}

/// Maps memory at a fixed address; with `guard`, the memory is not accessible. Returns whether this
/// has succeeded.
pub(crate) fn map(address: usize, size: usize, guard: bool) -> bool {
    let access = if guard {
        libc::PROT_NONE
    } else {
        libc::PROT_READ | libc::PROT_WRITE
    };
    let flags =
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: `MAP_FIXED_NOREPLACE` replaces no mapping.
    let got = unsafe { libc::mmap(address as *mut libc::c_void, size, access, flags, -1, 0) };
    got as usize == address
}

/// Returns the thread whose memory contains an address. The program need not have this thread.
#[inline]
pub(crate) fn thread_of(address: usize) -> Option<usize> {
    address
        .checked_sub(BASE + REGION)
        .map(|offset| offset / REGION)
}

/// Whether an address in the memory of a thread is on its stack.
#[inline]
pub(crate) fn is_stack(address: usize) -> bool {
    (address - BASE) % REGION >= HEAP
}

/// Whether an address is on the stack of this thread.
#[inline]
pub(crate) fn is_stack_of(thread: usize, address: usize) -> bool {
    let stack = BASE + REGION * (thread + 1) + HEAP;
    address.wrapping_sub(stack) < REGION - HEAP
}

fn zero(range: std::ops::Range<usize>) {
    if !range.is_empty() {
        // SAFETY: the callers pass mapped memory of a region, and no code runs there.
        unsafe { std::ptr::write_bytes(range.start as *mut u8, 0, range.len()) };
    }
}

pub(crate) fn copy_from(address: usize, size: usize, into: &mut Vec<u8>) {
    into.clear();
    if size > 0 {
        // SAFETY: as in `zero`.
        into.extend_from_slice(unsafe { std::slice::from_raw_parts(address as *const u8, size) });
    }
}

#[inline]
pub(crate) fn copy_to(address: usize, content: &[u8]) {
    if content.is_empty() {
        return;
    }
    // SAFETY: as in `zero`.
    unsafe {
        std::ptr::copy_nonoverlapping(content.as_ptr(), address as *mut u8, content.len());
    }
}

impl Region {
    /// Maps the memory of a thread; `None` if there is not enough memory.
    pub fn new(thread: usize) -> Option<Self> {
        let start = BASE + REGION * (thread + 1);
        let all = map(start, HEAP, false)
            && map(start + HEAP, RUNTIME, false)
            && map(start + HEAP + RUNTIME, GUARD, true)
            && map(start + HEAP + RUNTIME + GUARD, STACK, false);
        all.then_some(Self {
            start,
            used: 0,
            blocks: Vec::new(),
        })
    }

    /// Allows code on the stack to run. Returns false if the system forbids it.
    pub fn run_code_on_stack(&self) -> bool {
        let stack = (self.stack_base() - STACK) as *mut libc::c_void;
        let access = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        // SAFETY: the memory is mapped, and its content does not change.
        unsafe { libc::mprotect(stack, STACK, access) == 0 }
    }

    /// Returns the base of the stack: its highest address.
    pub fn stack_base(&self) -> usize {
        self.start + REGION
    }

    /// Returns the base of the runtime's stack.
    pub fn runtime_stack(&self) -> usize {
        self.start + HEAP + RUNTIME
    }

    /// Returns the part of the stack that may contain data, if the program has used it down to this
    /// address.
    fn used_stack(&self, lowest: usize) -> std::ops::Range<usize> {
        let base = self.stack_base();
        match base.checked_sub(lowest) {
            Some(used) => base - (used + MARGIN).min(STACK)..base,
            None => base..base,
        }
    }

    /// Zeroes the stack, which the program has used down to this address.
    pub fn clean_stack(&self, lowest: usize) {
        zero(self.used_stack(lowest));
    }

    /// Saves the content of the stack, which the program has used down to this address. Trailing
    /// zeros are left out: most of this part was never used.
    pub fn save_stack(&self, lowest: usize, into: &mut Vec<u8>) {
        let mut used = self.used_stack(lowest);
        while used.len() > ZEROS.len() && bytes_at(used.start, ZEROS.len()) == ZEROS {
            used.start += ZEROS.len();
        }
        copy_from(used.start, used.len(), into);
    }

    /// Restores the saved content of the stack. Since it was saved, the program has used the stack
    /// down to `lowest`.
    pub fn put_stack(&self, lowest: usize, saved: &[u8]) {
        let start = self.stack_base() - saved.len();
        copy_to(start, saved);
        zero(self.used_stack(lowest).start..start);
    }

    /// Whether an address is on the stack of the runtime.
    pub fn is_runtime_stack(&self, address: usize) -> bool {
        let start = self.start + HEAP;
        start < address && address < start + RUNTIME
    }

    /// Saves the content of the runtime's stack, down to this address.
    pub fn save_runtime(&self, lowest: usize, into: &mut Vec<u8>) {
        copy_from(lowest, self.runtime_stack() - lowest, into);
    }

    /// Restores the content of the runtime's stack.
    pub fn put_runtime(&self, saved: &[u8]) {
        copy_to(self.runtime_stack() - saved.len(), saved);
    }

    /// Copies the list of blocks and the used size of another region, without the content of its
    /// memory.
    pub fn become_like(&mut self, other: &Self) {
        let Self {
            start,
            used,
            blocks,
        } = other;
        (self.start, self.used) = (*start, *used);
        copy(&mut self.blocks, blocks);
    }

    pub fn stack(&self) -> FixedStack {
        let pointer = |address| StackPointer::new(address).expect("an address that is not 0");
        FixedStack {
            base: pointer(self.stack_base()),
            limit: pointer(self.start + HEAP),
        }
    }

    /// Returns the used size of the heap and its number of blocks.
    pub fn mark(&self) -> (usize, usize) {
        (self.used, self.blocks.len())
    }

    /// Returns the content of the heap.
    pub fn content(&self) -> &[u8] {
        // SAFETY: the memory is mapped, and no code of the program runs.
        unsafe { std::slice::from_raw_parts(self.start as *const u8, self.used) }
    }

    /// Resets the heap to its first `blocks` blocks and to this content.
    pub fn restore(&mut self, (used, blocks): (usize, usize), content: &[u8]) {
        self.used = used;
        self.blocks.truncate(blocks);
        self.blocks.iter_mut().for_each(|block| block.freed = None);
        copy_to(self.start, content);
    }

    /// Restores the content of the heap.
    pub fn put_heap(&self, content: &[u8]) {
        copy_to(self.start, content);
    }

    /// Returns the sizes and allocation sites of the blocks that are not freed. Skips the first
    /// `first` blocks of the heap.
    pub fn unfreed_blocks(&self, first: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let blocks = self.blocks.iter().skip(first);
        let kept = blocks.filter(|block| block.freed.is_none());
        kept.map(|block| (block.size, block.made))
    }

    /// Allocates a block; `None` if there is no memory.
    pub fn allocate(&mut self, size: usize, align: usize, pc: usize) -> Option<usize> {
        let align = align.max(16);
        if !align.is_power_of_two() || size > HEAP || align > HEAP {
            return None;
        }
        let address = (self.start + self.used).next_multiple_of(align);
        let end = address + size.next_multiple_of(16) + GAP;
        if end > self.start + HEAP {
            return None;
        }
        self.used = end - self.start;
        self.blocks.push(Block {
            address,
            size,
            made: pc,
            freed: None,
        });
        // SAFETY: the memory is mapped, and no other block contains it.
        unsafe { std::ptr::write_bytes(address as *mut u8, 0, size) };
        Some(address)
    }

    /// Returns the block or the gap that contains an address.
    #[inline]
    pub fn find(&self, address: usize) -> HeapLocation<'_> {
        let after = self
            .blocks
            .partition_point(|block| block.address <= address);
        let Some(last) = after.checked_sub(1) else {
            return HeapLocation::Gap(None);
        };
        let block = &self.blocks[last];
        if address < block.address + block.size || address == block.address {
            HeapLocation::Block(block)
        } else {
            HeapLocation::Gap(Some(*block))
        }
    }

    /// Marks the block that begins at an address as freed.
    pub fn give_back(&mut self, address: usize, freed: (usize, ProcessId)) {
        let found = self.blocks.binary_search_by_key(&address, |it| it.address);
        if let Ok(at) = found {
            self.blocks[at].freed = Some(freed);
        }
    }
}
