//! Support for crates that offer the API of other libraries (`mazurka-parking-lot`,
//! `mazurka-crossbeam-channel`, `mazurka-tokio`), beyond what std has. Not for users: it may
//! change at any time.

use std::panic::Location;
use std::time::{Duration, Instant};

use mazurka_memory::Memory;

use crate::sync::{Condvar, MutexGuard};
use crate::thread::ThreadId;
use crate::world::world;

pub use crate::fair::{Change, FairLock, LockMode};
pub use crate::future::ThreadWaker;
pub use crate::monitor::{Gate, Monitor};
pub use crate::sync::OnceStage;

/// Formats a guard like the value that it guards.
#[doc(hidden)]
#[macro_export]
macro_rules! shown_as_content {
    ($guard:ident) => {
        impl<T: ?Sized + std::fmt::Debug> std::fmt::Debug for $guard<'_, T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<T: ?Sized + std::fmt::Display> std::fmt::Display for $guard<'_, T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                (**self).fmt(f)
            }
        }
    };
}

/// Repeats an attempt until it succeeds or the time is over. In a model it makes one attempt,
/// because no time passes there and the search tries this step at every moment that matters.
#[track_caller]
pub fn until_timeout<T>(
    verb: &'static str,
    timeout: Duration,
    attempt: impl Fn() -> Option<T>,
) -> Option<T> {
    let place = Location::caller();
    let Some(world) = world() else {
        let end = Instant::now().checked_add(timeout);
        loop {
            let result = attempt();
            if result.is_some() || end.is_some_and(|end| Instant::now() >= end) {
                return result;
            }
            std::thread::sleep(Duration::from_micros(50));
        }
    };
    world.before_timeout(verb, place);
    let result = attempt();
    if result.is_none() {
        world.inner.borrow_mut().me().spin.time_is_over();
    }
    result
}

/// Whether the current thread belongs to a model.
pub fn in_model() -> bool {
    world().is_some()
}

/// Whether the current thread belongs to a model that is explored under rc11. Only rc11 has data
/// races between accesses that the explorer has put in an order.
pub fn under_rc11() -> bool {
    world().is_some_and(|world| world.memory == Some(Memory::Rc11))
}

/// Ends a round of a loop that waits for other threads, like `thread::yield_now` at this place.
pub fn yield_at(place: &'static Location<'static>) {
    match world() {
        None => std::thread::yield_now(),
        Some(world) => world.yield_now("yield_now", place),
    }
}

/// In a model, waits until no other thread can make a step. Under a memory model this cannot be
/// explored, and the search ends with an error.
pub fn wait_until_others_wait(verb: &'static str, place: &'static Location<'static>) {
    if let Some(world) = world() {
        world.wait_until_others_wait(verb, place);
    }
}

/// Makes the summary say that these events (such as the ticks of a timer) were explored only when
/// no other thread could make a step. `place` is the place where the object that causes these
/// events was made.
pub fn record_late_events(events: &'static str, place: &'static Location<'static>) {
    if let Some(world) = world() {
        world
            .inner
            .borrow_mut()
            .loops
            .record_late_events(events, place);
    }
}

/// Returns the name of a thread of the current model, if it was given one when it was started.
pub fn thread_name(thread: ThreadId) -> Option<String> {
    crate::thread::name_of(thread)
}

/// Whether choices are drawn at random. In a model they are if schedules are; outside a model this
/// is true.
pub fn draws() -> bool {
    world().is_none_or(|world| world.inner.borrow().random_choices.is_some())
}

/// Chooses a number from 0 to `end - 1`, like `choose(0..end)` at this place. Outside a model it is
/// 0.
pub fn choose_at(end: i64, place: &'static Location<'static>) -> i64 {
    world().map_or(0, |world| world.choose(0, end, place))
}

/// Wakes one waiting thread. Returns how many were woken; `None` outside a model.
#[track_caller]
pub fn notify_one(condvar: &Condvar) -> Option<usize> {
    condvar.notify("notify_one", Location::caller())
}

/// Wakes all waiting threads. Returns how many were woken; `None` outside a model.
#[track_caller]
pub fn notify_all(condvar: &Condvar) -> Option<usize> {
    condvar.notify("notify_all", Location::caller())
}

/// Applies a function to the data that a guard protects. The function must not change the data.
pub fn peek<T: ?Sized, R>(guard: &mut MutexGuard<'_, T>, look: impl FnOnce(&mut T) -> R) -> R {
    look(guard.peek())
}
