//! `tokio::sync::Barrier`. As in tokio, a task that gives up its wait still counts as having
//! arrived.

use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::task::Poll;

use mazurka_rt::facade::Monitor;

use super::{Wakers, wake_all};

/// Makes tasks wait for each other.
pub struct Barrier {
    tasks: usize,
    state: Monitor<State>,
}

#[derive(Default)]
struct State {
    arrived: usize,
    /// Number of times that all tasks have arrived.
    generation: u64,
    waiting: Wakers,
}

/// Whether a task was the last to arrive.
#[derive(Debug, Clone)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Whether the task was the last to arrive.
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl Barrier {
    /// Makes a barrier for `n` tasks; 0 counts as 1.
    #[track_caller]
    pub fn new(n: usize) -> Self {
        Self {
            tasks: n.max(1),
            state: Monitor::new("Barrier", State::default()),
        }
    }

    /// Waits until all tasks have arrived.
    #[track_caller]
    pub fn wait(&self) -> impl Future<Output = BarrierWaitResult> + '_ {
        let place = Location::caller();
        let mut arrived: Option<u64> = None;
        poll_fn(move |cx| {
            let wakers = self.state.update("wait", place, |state| {
                if let Some(generation) = arrived {
                    let done = state.generation > generation;
                    if !done {
                        state.waiting.push(cx.waker().clone());
                    }
                    return (done.then(|| (false, Vec::new())), false);
                }
                arrived = Some(state.generation);
                state.arrived += 1;
                if state.arrived < self.tasks {
                    state.waiting.push(cx.waker().clone());
                    return (None, true);
                }
                state.arrived = 0;
                state.generation += 1;
                (Some((true, std::mem::take(&mut state.waiting))), true)
            });
            let Some((leader, wakers)) = wakers else {
                return Poll::Pending;
            };
            wake_all(wakers);
            Poll::Ready(BarrierWaitResult(leader))
        })
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}
