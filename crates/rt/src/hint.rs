//! `std::hint`, explored.

use std::panic::Location;

use crate::world::world;

pub use std::hint::{assert_unchecked, black_box, select_unpredictable, unreachable_unchecked};

/// Marks a path that is seldom taken: [`std::hint::cold_path`].
#[cold]
pub const fn cold_path() {}

/// Yields in a loop that waits for another thread: [`std::hint::spin_loop`].
#[track_caller]
pub fn spin_loop() {
    match world() {
        None => std::hint::spin_loop(),
        Some(world) => world.yield_now("spin_loop", Location::caller()),
    }
}
