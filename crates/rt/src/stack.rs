//! A pool of stacks for coroutines.

use std::cell::RefCell;

use corosensei::stack::DefaultStack;

/// Stacks that are not in use.
pub(crate) struct Stacks {
    size: usize,
    free: Vec<DefaultStack>,
}

thread_local! {
    /// Stacks that the last exploration on this real thread has left, and their size.
    static FREE_STACKS: RefCell<(usize, Vec<DefaultStack>)> = const { RefCell::new((0, Vec::new())) };
}

impl Drop for Stacks {
    fn drop(&mut self) {
        // If the real thread is ending, its thread-local may already be gone.
        let _kept = FREE_STACKS.try_with(|left| {
            *left.borrow_mut() = (self.size, std::mem::take(&mut self.free));
        });
    }
}

impl Stacks {
    pub fn new(size: usize) -> Self {
        let (left, free) = FREE_STACKS.take();
        Self {
            size,
            free: if left == size { free } else { Vec::new() },
        }
    }

    /// Returns a stack of the usual size, or a larger one if the thread asks for it.
    pub fn get(&mut self, size: Option<usize>) -> DefaultStack {
        match size.filter(|&size| size > self.size) {
            Some(size) => new_stack(size),
            None => self.free.pop().unwrap_or_else(|| new_stack(self.size)),
        }
    }

    pub fn put(&mut self, stack: DefaultStack) {
        self.free.push(stack);
    }
}

fn new_stack(size: usize) -> DefaultStack {
    match DefaultStack::new(size) {
        Ok(stack) => stack,
        Err(error) => {
            panic!("there is no memory for the stack of a thread ({size} bytes): {error}")
        }
    }
}
