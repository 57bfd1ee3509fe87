//! Stacks for coroutines: kept for the next one, and with words when they overflow.

use std::cell::Cell;

use corosensei::stack::DefaultStack;

/// Stacks that are not in use.
pub(crate) struct Stacks {
    size: usize,
    free: Vec<DefaultStack>,
}

impl Stacks {
    pub fn new(size: usize) -> Self {
        watch_for_overflow();
        Self {
            size,
            free: Vec::new(),
        }
    }

    /// A stack of the usual size, or one for a thread with wishes of its own.
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
        Err(error) => panic!("there is no memory for the stack of a thread ({size} bytes): {error}"),
    }
}

thread_local! {
    /// The lowest address of the stack of the coroutine that runs.
    static LIMIT: Cell<usize> = const { Cell::new(0) };
}

/// The coroutine that runs next has a stack down to here.
pub(crate) fn limit(limit: usize) {
    LIMIT.set(limit);
}

fn watch_for_overflow() {}
