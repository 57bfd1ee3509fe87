//! `std::thread`, explored.

use std::panic::{Location, AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use mazurka_core::ProcessId;

use crate::world::{Pending, Place, Start, Until, World, world};

pub use std::thread::Result;

/// Where a thread leaves what it returns.
type Packet<T> = Arc<Mutex<Option<Result<T>>>>;

pub struct JoinHandle<T>(Handle<T>);

enum Handle<T> {
    Real(std::thread::JoinHandle<T>),
    Model(ProcessId, Packet<T>),
}

fn start<'a, F, T>(world: &World, f: F, name: Option<Box<str>>, stack: Option<usize>, place: Place) -> (ProcessId, Packet<T>)
where
    F: FnOnce() -> T + 'a,
    T: 'a,
{
    let packet: Packet<T> = Arc::default();
    let own = packet.clone();
    let body: Box<dyn FnOnce() + 'a> = Box::new(move || {
        let result = catch_unwind(AssertUnwindSafe(f));
        if let Some(world) = crate::world::world() {
            let panicked = result.is_err();
            world.inner.borrow_mut().me().panicked = panicked;
        }
        *own.lock().unwrap_or_else(|e| e.into_inner()) = Some(result);
    });
    // SAFETY: 'a is 'static, or that of a scope, which does not end before the thread has.
    #[allow(unsafe_code)]
    let body: Box<dyn FnOnce()> = unsafe { std::mem::transmute(body) };
    let process = world.spawn(Start { body, name, stack, place });
    (process, packet)
}

#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    match world() {
        None => JoinHandle(Handle::Real(std::thread::spawn(f))),
        Some(world) => {
            let (process, packet) = start(world, f, None, None, Location::caller());
            JoinHandle(Handle::Model(process, packet))
        }
    }
}

impl<T> JoinHandle<T> {
    #[track_caller]
    pub fn join(self) -> Result<T> {
        match self.0 {
            Handle::Real(handle) => handle.join(),
            Handle::Model(process, packet) => {
                if let Some(world) = world() {
                    world.turn(Pending {
                        until: Until::Ended(process),
                        ..Pending::new(None, ("thread", "join"), Location::caller())
                    });
                    world.inner.borrow_mut().threads[process.index()].panicked = false;
                }
                let result = packet.lock().unwrap_or_else(|e| e.into_inner()).take();
                result.expect("the thread has ended")
            }
        }
    }
}
