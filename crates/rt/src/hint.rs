//! `std::hint`, explored.

use std::panic::Location;

use crate::world::world;

pub use std::hint::{assert_unchecked, black_box, select_unpredictable, unreachable_unchecked};

/// This is seldom run.
#[cold]
pub const fn cold_path() {}

/// The thread waits for another one: [`std::hint::spin_loop`].
#[track_caller]
pub fn spin_loop() {
    match world() {
        None => std::hint::spin_loop(),
        Some(world) => world.yield_now("spin_loop", Location::caller()),
    }
}
