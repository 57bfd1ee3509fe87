//! The memory of the program's threads: a stack and a heap each, at fixed addresses.
//!
//! Where a block is depends on the thread and on what it has allocated before, and on nothing that
//! other threads do: so allocations of different threads commute. Nothing is reused within an
//! execution, so what was freed is known for ever. Blocks are filled with zeros, and there is a gap
//! after each, which nothing may touch.

use corosensei::stack::{Stack, StackPointer};
use mazurka_core::ProcessId;

use crate::calls::BASE;
use crate::clock::copy;
use crate::world::bytes_at;

/// The table of functions is in the first region, threads have the others.
const REGION: usize = 1 << 28;
const STACK: usize = 8 << 20;
const GUARD: usize = 1 << 16;
/// Code of the runtime runs on a stack of its own, which is below the guard.
const RUNTIME: usize = 1 << 17;
const HEAP: usize = REGION - STACK - GUARD - RUNTIME;
/// A frame of the program may reach so far below what is known of its stack.
const MARGIN: usize = 1024;
/// So many are looked for at once at the end of a stack.
const ZEROS: [u8; 128] = [0; 128];
/// Between two blocks.
const GAP: usize = 32;

/// A stack at a fixed address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FixedStack {
    base: StackPointer,
    limit: StackPointer,
}

// SAFETY: the memory between the two is mapped and never unmapped, and each thread has its own.
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
    /// Where it was allocated.
    pub made: usize,
    /// Where it was freed, and by which thread.
    pub freed: Option<(usize, ProcessId)>,
}

/// What an address in a heap is.
pub(crate) enum Found<'a> {
    /// In a block.
    Block(&'a Block),
    /// In no block: the last one before it.
    Gap(Option<Block>),
}

/// The memory of a thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Region {
    start: usize,
    used: usize,
    blocks: Vec<Block>,
}

/// Maps memory at a fixed address.
pub(crate) fn map(address: usize, size: usize, guard: bool) -> bool {
    let access = if guard {
        libc::PROT_NONE
    } else {
        libc::PROT_READ | libc::PROT_WRITE
    };
    let flags =
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: nothing that is mapped is replaced.
    let got = unsafe { libc::mmap(address as *mut libc::c_void, size, access, flags, -1, 0) };
    got as usize == address
}

/// The thread whose memory an address is in.
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
        // SAFETY: the callers give memory of a region, which is mapped, and no code runs there.
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
    /// Maps the memory of a thread; none if there is not enough.
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

    /// Lets code run that is on the stack. Returns false if the system does not.
    pub fn run_code_on_stack(&self) -> bool {
        let stack = (self.stack_base() - STACK) as *mut libc::c_void;
        let access = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        // SAFETY: the memory is mapped, and stays what it is.
        unsafe { libc::mprotect(stack, STACK, access) == 0 }
    }

    /// Where the stack begins: its highest address.
    pub fn stack_base(&self) -> usize {
        self.start + REGION
    }

    /// The same of the stack of the runtime.
    pub fn runtime_stack(&self) -> usize {
        self.start + HEAP + RUNTIME
    }

    /// The part of the stack that may have been used, if it was used down to this address.
    fn used_stack(&self, lowest: usize) -> std::ops::Range<usize> {
        let base = self.stack_base();
        match base.checked_sub(lowest) {
            Some(used) => base - (used + MARGIN).min(STACK)..base,
            None => base..base,
        }
    }

    /// Makes the stack as if it were new, if it was used down to this address.
    pub fn clean_stack(&self, lowest: usize) {
        zero(self.used_stack(lowest));
    }

    /// What is on the stack, which was used down to this address. Zeros at its end are left out:
    /// most of what may have been used was not.
    pub fn save_stack(&self, lowest: usize, into: &mut Vec<u8>) {
        let mut used = self.used_stack(lowest);
        while used.len() > ZEROS.len() && bytes_at(used.start, ZEROS.len()) == ZEROS {
            used.start += ZEROS.len();
        }
        copy_from(used.start, used.len(), into);
    }

    /// Puts what was saved on the stack, which was used down to this address since.
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

    /// What is on the stack of the runtime, down to this address.
    pub fn save_runtime(&self, lowest: usize, into: &mut Vec<u8>) {
        copy_from(lowest, self.runtime_stack() - lowest, into);
    }

    /// Puts it back.
    pub fn put_runtime(&self, saved: &[u8]) {
        copy_to(self.runtime_stack() - saved.len(), saved);
    }

    /// Makes it what another one is; what is in the memory is another matter.
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

    /// How much is used, and by how many blocks.
    pub fn mark(&self) -> (usize, usize) {
        (self.used, self.blocks.len())
    }

    /// What is in the heap.
    pub fn content(&self) -> &[u8] {
        // SAFETY: the memory is mapped, and no code of the program runs.
        unsafe { std::slice::from_raw_parts(self.start as *const u8, self.used) }
    }

    /// Starts again with these blocks.
    pub fn restore(&mut self, (used, blocks): (usize, usize), content: &[u8]) {
        self.used = used;
        self.blocks.truncate(blocks);
        self.blocks.iter_mut().for_each(|block| block.freed = None);
        copy_to(self.start, content);
    }

    /// Puts back what the heap had in it.
    pub fn put_heap(&self, content: &[u8]) {
        copy_to(self.start, content);
    }

    /// The blocks after these that are not freed: their sizes, and where they were made.
    pub fn kept(&self, first: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let blocks = self.blocks.iter().skip(first);
        let kept = blocks.filter(|block| block.freed.is_none());
        kept.map(|block| (block.size, block.made))
    }

    /// Allocates a block; none if there is no memory.
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
        // SAFETY: the memory is mapped and in no other block.
        unsafe { std::ptr::write_bytes(address as *mut u8, 0, size) };
        Some(address)
    }

    /// The block that an address is in.
    #[inline]
    pub fn find(&self, address: usize) -> Found<'_> {
        let after = self
            .blocks
            .partition_point(|block| block.address <= address);
        let Some(last) = after.checked_sub(1) else {
            return Found::Gap(None);
        };
        let block = &self.blocks[last];
        if address < block.address + block.size || address == block.address {
            Found::Block(block)
        } else {
            Found::Gap(Some(*block))
        }
    }

    /// The block that begins at an address is given back.
    pub fn give_back(&mut self, address: usize, freed: (usize, ProcessId)) {
        let found = self.blocks.binary_search_by_key(&address, |it| it.address);
        if let Ok(at) = found {
            self.blocks[at].freed = Some(freed);
        }
    }
}
