//! Bounded progress of concurrent objects: a thread that runs alone completes its operation,
//! wherever the others have stopped.
//!
//! Herlihy, Luchangco, Moir, "Obstruction-Free Synchronization: Double-Ended Queues as an Example",
//! ICDCS 2003. Lock-freedom implies this property. An object that uses a lock violates it, and so
//! does an operation that waits for another operation. Lock-freedom also demands that some thread
//! makes progress while several threads run; this is not checked.
//!
//! One thread keeps running. Each of the others may stop for good before each of its steps; whether
//! it does is a choice that the search explores. A stopped thread keeps what it holds, and runs no
//! destructors. If the thread that keeps running has to wait for ever, that is a deadlock; if it
//! loops for ever, the execution becomes too long (`max_depth`). Both are failures. All orders of
//! the steps are explored, so each state in which the others can stop is reached.

use std::fmt::Debug;
use std::panic::Location;

use mazurka_memory::Memory;

use crate::builder::Builder;
use crate::object::{Checked, Object};
use crate::sync::Arc;
use crate::thread;
use crate::world::{Life, Pending, Place, World, world};

impl<T, S, O, R> Object<T, S, O, R>
where
    T: Send + Sync + 'static,
    O: Clone + Debug + Send + Sync + 'static,
    R: Send + 'static,
{
    /// Explores threads that call these operations, where all but one may stop for good at any
    /// step. Panics if the remaining thread has to wait for ever: then the object is not lock-free.
    /// Orderings count as `SeqCst`, whatever memory model is set.
    ///
    /// ```
    /// use mazurka_rt::Object;
    /// use mazurka_rt::sync::atomic::{AtomicU32, Ordering::SeqCst};
    /// let counter = Object::new(
    ///     || AtomicU32::new(0),
    ///     |counter, _: &()| counter.fetch_add(1, SeqCst),
    ///     0,
    ///     |counter, _| { *counter += 1; *counter - 1 },
    /// );
    /// assert!(counter.no_thread_stuck_while_others_stop([[()], [()]]).complete);
    /// ```
    ///
    /// A thread may stop while it holds a lock:
    ///
    /// ```should_panic
    /// use mazurka_rt::Object;
    /// use mazurka_rt::sync::Mutex;
    /// let counter = Object::new(
    ///     || Mutex::new(0),
    ///     |counter, _: &()| *counter.lock().unwrap() += 1,
    ///     0,
    ///     |counter, _| *counter += 1,
    /// );
    /// counter.no_thread_stuck_while_others_stop([[()], [()]]);
    /// ```
    #[track_caller]
    pub fn no_thread_stuck_while_others_stop<C: Into<Vec<O>>>(
        &self,
        threads: impl IntoIterator<Item = C>,
    ) -> Checked {
        let place = Location::caller();
        let threads: Vec<Vec<O>> = threads.into_iter().map(Into::into).collect();
        let builder = Builder {
            memory: Some(Memory::Sc),
            leaks: false,
            ..self.builder.clone()
        };
        let mut all = Checked {
            clients: 1,
            executions: 0,
            complete: true,
        };
        for alone in 0..threads.len() {
            let (make, call, threads) = (self.make.clone(), self.call.clone(), threads.clone());
            let summary = builder.check(move || {
                let object = Arc::new(make());
                let start = |(number, operations): (usize, Vec<O>)| {
                    let (object, call) = (object.clone(), call.clone());
                    thread::spawn(move || {
                        stops(number != alone, place);
                        for operation in &operations {
                            call(&object, operation);
                        }
                        stops(false, place);
                    })
                };
                let mut running: Vec<_> = threads.iter().cloned().enumerate().map(start).collect();
                if let Err(panic) = running.swap_remove(alone).join() {
                    std::panic::resume_unwind(panic);
                }
            });
            all.executions += summary.executions;
            all.complete &= summary.is_complete();
        }
        all
    }
}

/// Sets whether the current thread may stop for good at its later steps.
fn stops(may: bool, place: Place) {
    if let Some(world) = world() {
        world.inner.borrow_mut().me().stops = may.then_some(place);
    }
}

impl World {
    /// Chooses whether the current thread stops for good.
    #[cold]
    pub fn may_stop(&self, place: Place) {
        self.inner.borrow_mut().me().stops = None;
        self.suspend(Pending::new(None, ("thread", "stop or go on"), place));
        let stops = self.inner.borrow_mut().outcome(0, 2) == 1;
        self.note(|| if stops { "stops for good" } else { "goes on" }.into());
        let mut inner = self.inner.borrow_mut();
        if stops {
            inner.me().life = Life::Stopped;
            inner.alive -= 1;
            drop(inner);
            self.suspend_for_ever();
        }
        inner.me().stops = Some(place);
    }
}
