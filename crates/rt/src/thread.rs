//! `std::thread`, explored: same names, same signatures, same behaviour outside a model.

use std::any::Any;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mazurka_core::{MemoryOrder, ProcessId};

use crate::farewell::END_OF_SCOPE;
use crate::local;
use crate::spurious::Spurious;
use crate::world::{END, PERMIT, Pending, Place, Start, Until, World, wakes, world};

pub use std::thread::{Result, available_parallelism};

pub use crate::local::{AccessError, LocalKey};

/// The slot for the result of a thread.
type Packet<T> = Arc<Mutex<Option<Result<T>>>>;

/// An identifier that is unique among the threads of an execution: [`std::thread::ThreadId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ThreadId(Id);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Id {
    Real(std::thread::ThreadId),
    Model(u32),
}

/// Returns the name of a thread of the current model, if it was given one when it was started.
pub(crate) fn name_of(thread: ThreadId) -> Option<String> {
    let Id::Model(number) = thread.0 else {
        return None;
    };
    let inner = world()?.inner.borrow();
    let thread = inner.threads.get(number as usize)?;
    thread.name.as_deref().map(ToOwned::to_owned)
}

/// A handle to a thread: the counterpart of [`std::thread::Thread`].
#[derive(Clone)]
pub struct Thread(ThreadRef);

#[derive(Clone)]
enum ThreadRef {
    Real(std::thread::Thread),
    Model(ProcessId, Option<Arc<str>>),
}

impl Thread {
    /// Returns its identifier.
    pub fn id(&self) -> ThreadId {
        ThreadId(match &self.0 {
            ThreadRef::Real(thread) => Id::Real(thread.id()),
            ThreadRef::Model(process, _) => Id::Model(process.0),
        })
    }

    /// Returns its name, if it was given one.
    pub fn name(&self) -> Option<&str> {
        match &self.0 {
            ThreadRef::Real(thread) => thread.name(),
            ThreadRef::Model(_, name) => name.as_deref(),
        }
    }

    /// Gives the thread a permit, so that its next `park` returns.
    #[track_caller]
    pub fn unpark(&self) {
        match &self.0 {
            ThreadRef::Real(thread) => thread.unpark(),
            ThreadRef::Model(process, _) => {
                let Some(world) = world() else {
                    return;
                };
                let cell = world.inner.borrow().threads[process.index()].cells[PERMIT];
                world.give_permit(cell, false, ("thread", "unpark"), Location::caller());
            }
        }
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread")
            .field("id", &self.id())
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

/// Returns the current thread.
pub fn current() -> Thread {
    match world() {
        None => Thread(ThreadRef::Real(std::thread::current())),
        Some(world) => {
            let mut inner = world.inner.borrow_mut();
            let process = inner.current;
            let name = inner.me().name.as_deref().map(Arc::from);
            Thread(ThreadRef::Model(process, name))
        }
    }
}

/// Whether the current thread is unwinding because of a panic.
#[must_use]
pub fn panicking() -> bool {
    match world() {
        None => std::thread::panicking(),
        Some(world) => world.inner.borrow_mut().is_unwinding(),
    }
}

/// Waits for a permit from `unpark`.
#[track_caller]
pub fn park() {
    match world() {
        None => std::thread::park(),
        Some(world) => {
            if world.spuriously(Spurious::Wake, Location::caller()) {
                return;
            }
            let cell = world.inner.borrow_mut().me().cells[PERMIT];
            world.take_permit(cell, ("thread", "park"), Location::caller());
        }
    }
}

/// Waits for a permit or for the timeout; a model explores both outcomes, whatever the duration.
#[track_caller]
pub fn park_timeout(duration: Duration) {
    let Some(world) = world() else {
        return std::thread::park_timeout(duration);
    };
    let cell = world.inner.borrow_mut().me().cells[PERMIT];
    let (what, place) = (("thread", "park_timeout"), Location::caller());
    if world.memory.is_some() {
        if !world.try_permit(cell, what, place) {
            world.timed_out("park_timeout", place);
        }
        return;
    }
    if !world.try_permit(cell, what, place) && world.wait_or_time_out(cell, what, place) {
        let mut inner = world.inner.borrow_mut();
        let current = inner.current;
        inner.clocks.acquire(current, cell);
    }
}

/// Waits for a permit, at most `milliseconds`.
#[track_caller]
#[deprecated(note = "use `park_timeout` instead, as with std")]
pub fn park_timeout_ms(milliseconds: u32) {
    park_timeout(Duration::from_millis(u64::from(milliseconds)));
}

/// Lets other threads run. In a model, a thread that yields in a loop without making progress is
/// suspended until something that it has read changes.
#[track_caller]
pub fn yield_now() {
    match world() {
        None => std::thread::yield_now(),
        Some(world) => world.yield_now("yield_now", Location::caller()),
    }
}

/// Sleeps. In a model no time passes, and this does the same as `yield_now`.
#[track_caller]
pub fn sleep(duration: Duration) {
    match world() {
        None => std::thread::sleep(duration),
        Some(world) => world.yield_now("sleep", Location::caller()),
    }
}

/// Sleeps for `milliseconds`.
#[track_caller]
#[deprecated(note = "use `sleep` instead, as with std")]
pub fn sleep_ms(milliseconds: u32) {
    sleep(Duration::from_millis(u64::from(milliseconds)));
}

/// A handle to a thread of a model and to its result.
struct ModelThread<T> {
    process: ProcessId,
    packet: Packet<T>,
    thread: Thread,
}

impl World {
    /// Waits for the end of a thread.
    fn await_end(&self, process: ProcessId, verb: &'static str, place: Place) {
        let pending = Pending {
            until: Until::Ended(process),
            ..Pending::new(None, ("thread", verb), place)
        };
        match self.memory {
            None => self.turn(pending),
            Some(_) => self.join(process, pending),
        }
    }
}

impl<T> ModelThread<T> {
    /// Starts a thread of a model. The function is boxed, so that this is compiled once for each
    /// type of results instead of for each function.
    fn start<'a>(
        world: &World,
        f: Box<dyn FnOnce() -> T + 'a>,
        settings: Builder,
        place: Place,
    ) -> Self
    where
        T: 'a,
    {
        let packet: Packet<T> = Arc::default();
        let own = packet.clone();
        let body: Box<dyn FnOnce() + 'a> = Box::new(move || {
            let result = catching(f);
            local::drop_all();
            let panicked = result.is_err();
            if let Err(payload) = &result {
                record_ending_panic(&**payload);
            }
            *own.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            drop(own);
            end(panicked, place);
        });
        // SAFETY: 'a is 'static, or the lifetime of a scope, which ends only after the thread has
        // ended.
        #[allow(unsafe_code)]
        let body: Box<dyn FnOnce()> = unsafe { std::mem::transmute(body) };
        let name: Option<Box<str>> = settings.name.map(Into::into);
        let start = Start {
            body,
            name: name.clone(),
            stack: settings.stack_size,
            place,
        };
        let process = world.spawn(start);
        Self {
            process,
            packet,
            thread: Thread(ThreadRef::Model(process, name.map(Arc::from))),
        }
    }

    fn join(self, place: Place) -> Result<T> {
        if let Some(world) = world() {
            world.await_end(self.process, "join", place);
            world.inner.borrow_mut().handle_join(self.process);
        }
        let mut packet = self.packet.lock().unwrap_or_else(PoisonError::into_inner);
        packet
            .take()
            .expect("a thread of a model is joined within it")
    }

    fn is_finished(&self, place: Place) -> bool {
        let Some(world) = world() else {
            return true;
        };
        let cell = {
            let mut inner = world.inner.borrow_mut();
            if !inner.watched_ends {
                inner.watched_ends = true;
                inner.restart = true;
            }
            inner.threads[self.process.index()].cells[END]
        };
        let pending = Pending::read(cell, ("thread", "is_finished"), place);
        if world.memory.is_some() {
            return world.read_value(cell, MemoryOrder::Acquire, pending) != 0;
        }
        world.turn(pending);
        let mut inner = world.inner.borrow_mut();
        inner.saw(cell, wakes::CONTENT);
        inner.cells[cell as usize].flag != 0
    }
}

/// Catches a panic of the current thread. Afterwards the thread is unwinding only if it was before.
fn catching<T>(f: impl FnOnce() -> T) -> Result<T> {
    let before = panicking();
    let result = catch_unwind(AssertUnwindSafe(f));
    if let Some(world) = world() {
        world.inner.borrow_mut().unwinds(before);
    }
    result
}

/// Records the panic that ends the current thread.
fn record_ending_panic(payload: &(dyn Any + Send)) {
    if let Some(world) = world() {
        world.inner.borrow_mut().record_ending_panic(payload);
    }
}

/// Records the end of the current thread. This is a step if the program calls `is_finished`.
fn end(panicked: bool, place: Place) {
    let Some(world) = world() else {
        return;
    };
    world.inner.borrow_mut().me().panicked = panicked;
    let watched = {
        let mut inner = world.inner.borrow_mut();
        inner.watched_ends.then(|| inner.me().cells[END])
    };
    if let Some(cell) = watched {
        let pending = Pending::write(cell, ("thread", "end"), place);
        if world.memory.is_some() {
            return world.write_value(cell, MemoryOrder::Release, 1, pending);
        }
        world.turn(pending);
        let mut inner = world.inner.borrow_mut();
        inner.cells[cell as usize].flag = 1;
        inner.changed(cell, wakes::CONTENT);
    }
}

enum Handle<R, T> {
    Real(R, Thread),
    Model(ModelThread<T>),
}

/// The right to join a thread and to take its result: [`std::thread::JoinHandle`].
pub struct JoinHandle<T>(Handle<std::thread::JoinHandle<T>, T>);

/// The right to join a thread of a scope and to take its result: [`std::thread::ScopedJoinHandle`].
pub struct ScopedJoinHandle<'scope, T>(Handle<std::thread::ScopedJoinHandle<'scope, T>, T>);

macro_rules! handle {
    ($name:ident $(<$lifetime:lifetime>)?) => {
        impl<$($lifetime,)? T> $name<$($lifetime,)? T> {
            /// Returns the thread.
            pub fn thread(&self) -> &Thread {
                match &self.0 {
                    Handle::Real(_, thread) => thread,
                    Handle::Model(native) => &native.thread,
                }
            }

            /// Waits for the end of the thread and returns its result.
            #[track_caller]
            pub fn join(self) -> Result<T> {
                match self.0 {
                    Handle::Real(handle, _) => handle.join(),
                    Handle::Model(native) => native.join(Location::caller()),
                }
            }

            /// Whether the thread has ended.
            #[track_caller]
            pub fn is_finished(&self) -> bool {
                match &self.0 {
                    Handle::Real(handle, _) => handle.is_finished(),
                    Handle::Model(native) => native.is_finished(Location::caller()),
                }
            }
        }

        impl<$($lifetime,)? T> fmt::Debug for $name<$($lifetime,)? T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    };
}

handle!(JoinHandle);
handle!(ScopedJoinHandle<'scope>);

// SAFETY: as with std, a handle can be sent whatever the thread returns: only `join`, which takes
// the handle, touches the result, and `spawn` requires that it can be sent. std demands more of a
// handle of a scope.
#[allow(unsafe_code)]
mod send {
    use super::{JoinHandle, ScopedJoinHandle};
    unsafe impl<T> Send for JoinHandle<T> {}
    unsafe impl<T> Sync for JoinHandle<T> {}
    unsafe impl<T: Send> Send for ScopedJoinHandle<'_, T> {}
    unsafe impl<T: Send> Sync for ScopedJoinHandle<'_, T> {}
}

/// Starts a thread: [`std::thread::spawn`].
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Builder::new().spawn(f).expect("failed to spawn thread")
}

/// Starts a thread of a model that may use values that are not `Send`, for facades of other crates:
/// all threads of a model run on one real thread.
///
/// # Panics
///
/// Outside a model.
#[doc(hidden)]
#[track_caller]
pub fn spawn_local<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + 'static,
    T: 'static,
{
    let world = world().expect("a thread is started outside a model");
    let native = ModelThread::start(world, Box::new(f), Builder::new(), Location::caller());
    JoinHandle(Handle::Model(native))
}

/// Settings for a new thread: the counterpart of [`std::thread::Builder`].
#[must_use = "must eventually spawn the thread"]
#[derive(Debug, Default)]
pub struct Builder {
    name: Option<String>,
    stack_size: Option<usize>,
}

impl Builder {
    /// Makes default settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the name of the thread, for messages.
    pub fn name(mut self, name: String) -> Self {
        self.name = Some(name);
        self
    }

    /// Sets the size of its stack.
    pub fn stack_size(mut self, size: usize) -> Self {
        self.stack_size = Some(size);
        self
    }

    fn real(self) -> std::thread::Builder {
        let mut real = std::thread::Builder::new();
        if let Some(name) = self.name {
            real = real.name(name);
        }
        if let Some(size) = self.stack_size {
            real = real.stack_size(size);
        }
        real
    }

    /// Starts the thread.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // SAFETY: everything is 'static.
        #[allow(unsafe_code)]
        unsafe {
            self.spawn_unchecked(f)
        }
    }

    /// Starts a thread that may borrow data of any lifetime.
    ///
    /// # Safety
    ///
    /// As with std: the thread must be joined before anything that it borrows is dropped.
    #[track_caller]
    #[allow(unsafe_code)]
    pub unsafe fn spawn_unchecked<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        let Some(world) = world() else {
            let f: Box<dyn FnOnce() -> T + Send> = Box::new(f);
            // SAFETY: the caller promises the same.
            let handle = unsafe { self.real().spawn_unchecked(f) }?;
            let thread = Thread(ThreadRef::Real(handle.thread().clone()));
            return Ok(JoinHandle(Handle::Real(handle, thread)));
        };
        let native = ModelThread::start(world, Box::new(f), self, Location::caller());
        Ok(JoinHandle(Handle::Model(native)))
    }

    /// Starts a thread of a scope.
    #[track_caller]
    pub fn spawn_scoped<'scope, 'env, F, T>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        if let Some(real) = scope.real() {
            let f: Box<dyn FnOnce() -> T + Send + 'scope> = Box::new(f);
            let handle = self.real().spawn_scoped(real, f)?;
            let thread = Thread(ThreadRef::Real(handle.thread().clone()));
            return Ok(ScopedJoinHandle(Handle::Real(handle, thread)));
        }
        let world = world().expect("a scope of a model is used within it");
        let native = ModelThread::start(world, Box::new(f), self, Location::caller());
        let mut threads = scope.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.push(native.process);
        Ok(ScopedJoinHandle(Handle::Model(native)))
    }
}

/// A scope that ends after all its threads: [`std::thread::Scope`].
pub struct Scope<'scope, 'env: 'scope> {
    /// The scope of std, outside a model. Its type needs lifetimes that only a method has.
    real: AtomicPtr<()>,
    /// The threads of the scope, in a model.
    threads: Mutex<Vec<ProcessId>>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

impl<'scope, 'env> Scope<'scope, 'env> {
    fn new() -> Self {
        Self {
            real: AtomicPtr::default(),
            threads: Mutex::default(),
            scope: PhantomData,
            env: PhantomData,
        }
    }

    fn real(&'scope self) -> Option<&'scope std::thread::Scope<'scope, 'env>> {
        let real = self.real.load(Ordering::Relaxed) as *const std::thread::Scope<'scope, 'env>;
        // SAFETY: `scope` stores a pointer to a scope with these lifetimes, which lives as long as
        // this one is borrowed.
        #[allow(unsafe_code)]
        unsafe {
            real.as_ref()
        }
    }

    /// Starts a thread.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        Builder::new()
            .spawn_scoped(self, f)
            .expect("failed to spawn thread")
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

/// Runs a function that may start threads which borrow local variables of the caller:
/// [`std::thread::scope`].
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let place = Location::caller();
    let own = Scope::new();
    // SAFETY: `own` lives until this function returns, and no thread that could use it lives
    // longer: std waits for all threads of its scope, and the code below waits for all threads of
    // the scope in a model.
    #[allow(unsafe_code)]
    let lent: &Scope<'_, 'env> = unsafe { &*std::ptr::from_ref(&own) };
    let Some(world) = world() else {
        return std::thread::scope(|real| {
            let real = std::ptr::from_ref(real) as *mut ();
            lent.real.store(real, Ordering::Relaxed);
            f(lent)
        });
    };
    let result = catching(|| f(lent));
    let mut panicked = false;
    let mut next = 0;
    loop {
        let process = {
            let threads = own.threads.lock().unwrap_or_else(PoisonError::into_inner);
            threads.get(next).copied()
        };
        let Some(process) = process else {
            break;
        };
        next += 1;
        world.await_end(process, END_OF_SCOPE, place);
        let mut inner = world.inner.borrow_mut();
        panicked |= inner.handle_join(process);
    }
    match result {
        Err(payload) => {
            world.inner.borrow_mut().unwinds(true);
            resume_unwind(payload)
        }
        Ok(_) if panicked => panic!("{}", crate::life::SCOPED),
        Ok(result) => result,
    }
}
