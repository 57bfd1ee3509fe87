//! `std::sync::Barrier`, explored. The arrivals of two threads conflict, because the thread that
//! arrives last becomes the leader.

use std::fmt;
use std::panic::Location;
use std::sync;

use mazurka_core::{Access, MemoryOrder};

use crate::freed::OwnedMeta;
use crate::world::{Pending, World, wakes, world};

const KIND: &str = "Barrier";

/// Makes threads wait for each other: the counterpart of [`std::sync::Barrier`].
pub struct Barrier {
    meta: OwnedMeta,
    real: sync::Barrier,
    threads: usize,
}

/// Whether a thread was the last to arrive: [`std::sync::BarrierWaitResult`].
#[derive(Debug)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Whether the thread was the last to arrive.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl Barrier {
    /// Makes a barrier for `n` threads.
    #[track_caller]
    pub const fn new(n: usize) -> Self {
        Self {
            meta: OwnedMeta::new(),
            real: sync::Barrier::new(n),
            threads: n,
        }
    }

    /// Waits until all threads have arrived.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let Some(world) = world() else {
            return BarrierWaitResult(self.real.wait().is_leader());
        };
        let place = Location::caller();
        let cell = world.cell(&self.meta, KIND);
        let pending = Pending {
            wakes: wakes::NOTIFY,
            ..Pending::new(Some(Access::write(cell)), (KIND, "wait"), place)
        };
        if world.memory.is_some() {
            return BarrierWaitResult(self.wait_weakly(world, cell, pending));
        }
        world.turn(pending);
        let leader = {
            let mut inner = world.inner.borrow_mut();
            let current = inner.current;
            inner.clocks.release(current, cell);
            let state = &mut inner.cells[cell as usize];
            state.count += 1;
            let leader = state.count as usize >= self.threads;
            if leader {
                state.count = 0;
                inner.clocks.acquire(current, cell);
                inner.me().spin.progress();
                inner.wake_all(cell, wakes::NOTIFY);
            } else {
                inner.enlist(cell, wakes::NOTIFY);
            }
            leader
        };
        if !leader {
            world.wait_for_token((KIND, "wait for the others"), place);
            let mut inner = world.inner.borrow_mut();
            let current = inner.current;
            inner.clocks.acquire(current, cell);
        }
        BarrierWaitResult(leader)
    }
}

impl Barrier {
    /// Waits under a memory model. Returns whether this thread is the last to arrive.
    fn wait_weakly(&self, world: &World, cell: u32, pending: Pending) -> bool {
        world.take_turn(cell, MemoryOrder::AcqRel, pending);
        let leader = {
            let mut inner = world.inner.borrow_mut();
            let state = &mut inner.cells[cell as usize];
            state.count += 1;
            let leader = state.count as usize >= self.threads;
            if leader {
                state.count = 0;
            }
            leader
        };
        if leader {
            let waiting = world.take_all(cell, wakes::NOTIFY);
            world.wake_taken(&waiting, pending);
            world.progress();
        } else {
            world.enlist_in_turn(cell, wakes::NOTIFY);
            world.await_token((KIND, "wait for the others"), pending.place);
        }
        leader
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}
