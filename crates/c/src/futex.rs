//! Futexes (Linux): a thread waits while a word has a value, until another thread wakes it. As with
//! condition variables, a thread enlists if the word has the value, and then waits for its token.
//! The C++ library implements `std::promise`, `std::latch`, `std::barrier`,
//! `std::counting_semaphore` and `std::atomic::wait` with them.

use mazurka_core::{Access, AccessKind};

use crate::access::{announce, value_at};
use crate::objects::{note, settled};
use crate::world::{Pending, WaitCondition, world};

/// If the word has this value, waits until another thread wakes this one. Returns 0 after that, and
/// otherwise an error number: `EAGAIN` if the word has another value, and with `timed` also
/// `ETIMEDOUT`.
pub(crate) fn wait(word: usize, value: i32, timed: bool, pc: usize) -> i64 {
    let cell = settled(word, "waits for a word in", pc);
    let place = world().place(word, 4);
    announce(Pending {
        second: Some(Access::read(place)),
        ..Pending::new("futex_wait", word, pc).on(AccessKind::Write, cell)
    });
    if value_at(word, 4) != i64::from(value) {
        note("it has another value");
        return libc::EAGAIN.into();
    }
    let world = world();
    let current = world.current;
    (world.me().awaiting, world.me().token) = (true, false);
    world.cell(cell).waiters.push(current);
    if !timed {
        let token = world.me().token_cell;
        let pending = Pending::new("wait to be woken", word, pc).on(AccessKind::Acquire, token);
        announce(pending.until(WaitCondition::Token));
        self::world().me().token = false;
        return 0;
    }
    announce(Pending::new("wait or time out", word, pc).on(AccessKind::Write, cell));
    let world = self::world();
    let woken = std::mem::take(&mut world.me().token);
    world.me().awaiting = false;
    world.cell(cell).waiters.retain(|&waiter| waiter != current);
    note(if woken { "woken" } else { "timed out" });
    if woken { 0 } else { libc::ETIMEDOUT.into() }
}

/// Wakes up to `most` threads. Returns the number of woken threads.
pub(crate) fn wake(word: usize, most: i64, pc: usize) -> i64 {
    let cell = settled(word, "wakes threads at a word in", pc);
    announce(Pending {
        wakes: true,
        ..Pending::new("futex_wake", word, pc).on(AccessKind::Write, cell)
    });
    let world = world();
    let mut waiters = std::mem::take(&mut world.cell(cell).waiters);
    waiters.sort_by(|&a, &b| world.table.path(a).cmp(world.table.path(b)));
    let mut woken = 0;
    while woken < most && !waiters.is_empty() {
        let left = waiters.len() as i64;
        // Chooses which waiters to wake, unless all are woken.
        let chosen = if left > most - woken {
            world.outcome(0, left) as usize
        } else {
            0
        };
        world.wake(waiters.remove(chosen));
        woken += 1;
    }
    world.cell(cell).waiters = waiters;
    note(&format!("wakes {woken}"));
    woken
}
