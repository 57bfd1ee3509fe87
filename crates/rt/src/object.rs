//! Concurrent objects against their sequential specification: linearizability, and sequential
//! consistency.
//!
//! Threads call the operations of the object under test, and the history of calls and results is
//! explained or not at the end of each execution (`mazurka-history`).
//!
//! Whether an operation ended before another was called is a part of the history, but not of a
//! trace: nothing that the object does orders them. So calls and ends are steps: an end writes the
//! mark of its thread, and a call reads the marks of all threads. Then a call conflicts with the
//! ends of other threads and with nothing else, and each order of calls and ends that matters is
//! explored. For sequential consistency, and under a memory model, where time orders nothing, only
//! operations of one thread are ordered, and no such steps are needed.

use std::fmt::Debug;
use std::hash::Hash;
use std::panic::Location;
use std::sync::{Arc as Shared, Mutex, PoisonError};

use mazurka_core::Access;
use mazurka_history::{History, MOST_OPERATIONS, OperationId, Verdict};

use crate::builder::Builder;
use crate::names::Meta;
use crate::sync::Arc;
use crate::thread;
use crate::world::{Pending, Place, World, world};

/// The most threads that call operations.
const MOST_THREADS: usize = 8;

const KIND: &str = "operation";

/// A concurrent object under test, with its sequential specification.
///
/// ```
/// use mazurka_rt::Object;
/// use mazurka_rt::sync::Mutex;
/// use std::collections::VecDeque;
///
/// #[derive(Clone, Debug)]
/// enum Op { Push(i32), Pop }
///
/// let queue = Object::new(
///     || Mutex::new(VecDeque::new()),
///     |queue, op| match *op {
///         Op::Push(value) => { queue.lock().unwrap().push_back(value); None }
///         Op::Pop => queue.lock().unwrap().pop_front(),
///     },
///     VecDeque::new(),
///     |queue, op| match *op {
///         Op::Push(value) => { queue.push_back(value); None }
///         Op::Pop => queue.pop_front(),
///     },
/// );
/// let checked = queue.linearizable([vec![Op::Push(1), Op::Pop], vec![Op::Push(2)]]);
/// assert!(checked.complete);
/// ```
pub struct Object<T, S, O, R> {
    builder: Builder,
    make: Make<T>,
    call: Call<T, O, R>,
    start: S,
    apply: Apply<S, O, R>,
}

/// Makes an object.
type Make<T> = Shared<dyn Fn() -> T + Send + Sync>;
/// Calls an operation of an object.
type Call<T, O, R> = Shared<dyn Fn(&T, &O) -> R + Send + Sync>;
/// Does to the state of the specification what an operation does.
type Apply<S, O, R> = Shared<dyn Fn(&mut S, &O) -> R + Send + Sync>;

/// What was explored without finding a violation.
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
/// let checked = counter.all_clients(&[()], 2, 3);
/// // Three calls of one thread, or two of one and one of the other.
/// assert_eq!((checked.clients, checked.complete), (2, true));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Number of clients.
    pub clients: u64,
    /// Number of executions of all clients together.
    pub executions: u64,
    /// Whether no bound was hit.
    pub complete: bool,
}

/// What orders the operations of different threads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ordered {
    /// The end of one before the call of the other.
    ByTime,
    /// Nothing.
    ByThread,
}

/// The marks of the threads, next to each other.
struct Marks([Meta; MOST_THREADS]);

impl Marks {
    /// Makes the marks, in the memory of an `Arc`, so that they have names.
    fn new(place: Place) -> Arc<Self> {
        let marks = Arc::new(Self(std::array::from_fn(|_| Meta::at(place))));
        if let Some(world) = world() {
            // Before the first step of the program: they get cells one after the other.
            let first = world.cell(&marks.0[0], KIND);
            for (at, mark) in marks.0.iter().enumerate() {
                let cell = world.cell(mark, KIND);
                assert_eq!(cell, first + at as u32, "marks are next to each other");
            }
        }
        marks
    }

    /// Makes a step that comes after the ends that it comes after.
    fn call(&self, world: &World, place: Place) {
        let first = world.cell(&self.0[0], KIND);
        let all = Access::read(first).over(MOST_THREADS as u32);
        world.turn(Pending::new(Some(all), (KIND, "call"), place));
    }

    /// Makes a step that ends an operation of a thread.
    fn end(&self, world: &World, thread: usize, place: Place) {
        let mark = Access::write(world.cell(&self.0[thread], KIND));
        world.turn(Pending::new(Some(mark), (KIND, "end"), place));
    }
}

impl<T, S, O, R> Object<T, S, O, R>
where
    T: Send + Sync + 'static,
    S: Clone + Eq + Hash + Send + Sync + 'static,
    O: Clone + Debug + Send + Sync + 'static,
    R: PartialEq + Debug + Send + 'static,
{
    /// Describes an object: how to make it and to call an operation, and, as its specification, a
    /// state and what an operation does to it.
    ///
    /// ```
    /// use mazurka_rt::Object;
    /// use mazurka_rt::sync::Mutex;
    /// let register = Object::new(
    ///     || Mutex::new(0),
    ///     |register, new: &i32| std::mem::replace(&mut *register.lock().unwrap(), *new),
    ///     0,
    ///     |register, new| std::mem::replace(register, *new),
    /// );
    /// register.linearizable([[1], [2]]);
    /// ```
    pub fn new(
        make: impl Fn() -> T + Send + Sync + 'static,
        call: impl Fn(&T, &O) -> R + Send + Sync + 'static,
        start: S,
        apply: impl Fn(&mut S, &O) -> R + Send + Sync + 'static,
    ) -> Self {
        Self {
            builder: Builder::new(),
            make: Shared::new(make),
            call: Shared::new(call),
            start,
            apply: Shared::new(apply),
        }
    }

    /// Sets the bounds and the memory model of the exploration.
    ///
    /// ```
    /// use mazurka_rt::{Builder, Object};
    /// let quiet = Builder { quiet: true, ..Builder::new() };
    /// Object::new(|| (), |_, _: &()| (), (), |_, _| ()).with(quiet).linearizable([[()]]);
    /// ```
    #[must_use]
    pub fn with(self, builder: Builder) -> Self {
        Self { builder, ..self }
    }

    /// Explores threads that call these operations. Panics if a history is not linearizable: no
    /// order of its operations explains their results and puts each one that ended before another
    /// was called before that one. Under a memory model weaker than sequential consistency only
    /// operations of one thread are ordered.
    ///
    /// ```should_panic
    /// use mazurka_rt::Object;
    /// use mazurka_rt::sync::atomic::{AtomicU32, Ordering::SeqCst};
    /// let counter = Object::new(
    ///     || AtomicU32::new(0),
    ///     |counter, _: &()| {
    ///         let seen = counter.load(SeqCst);
    ///         counter.store(seen + 1, SeqCst);
    ///         seen
    ///     },
    ///     0,
    ///     |counter, _| { *counter += 1; *counter - 1 },
    /// );
    /// counter.linearizable([[()], [()]]); // both may return 0
    /// ```
    ///
    /// # Panics
    ///
    /// There are more than 8 threads or more than 64 operations.
    #[track_caller]
    pub fn linearizable<C: Into<Vec<O>>>(&self, threads: impl IntoIterator<Item = C>) -> Checked {
        self.check(threads, Ordered::ByTime)
    }

    /// The same, if only operations of one thread are ordered.
    ///
    /// ```
    /// use mazurka_rt::Object;
    /// use mazurka_rt::sync::atomic::{AtomicU32, Ordering::SeqCst};
    /// // A counter that is read without looking: not linearizable, but sequentially consistent.
    /// let counter = Object::new(
    ///     || AtomicU32::new(0),
    ///     |counter, reads: &bool| match reads {
    ///         true => 0,
    ///         false => { counter.fetch_add(1, SeqCst); 0 }
    ///     },
    ///     0,
    ///     |counter: &mut u32, reads| match reads {
    ///         true => *counter,
    ///         false => { *counter += 1; 0 }
    ///     },
    /// );
    /// counter.sequentially_consistent([[false], [true]]);
    /// ```
    ///
    /// # Panics
    ///
    /// There are more than 8 threads or more than 64 operations.
    #[track_caller]
    pub fn sequentially_consistent<C: Into<Vec<O>>>(
        &self,
        threads: impl IntoIterator<Item = C>,
    ) -> Checked {
        self.check(threads, Ordered::ByThread)
    }

    /// Explores all clients of some operations: see [`clients`] and [`Object::linearizable`].
    ///
    /// ```
    /// use mazurka_rt::Object;
    /// let nothing = Object::new(|| (), |_, _: &u8| (), (), |_, _| ());
    /// assert_eq!(nothing.all_clients(&[1, 2], 2, 2).clients, 7);
    /// ```
    ///
    /// # Panics
    ///
    /// There are more than 8 threads or more than 64 operations.
    #[track_caller]
    pub fn all_clients(&self, operations: &[O], threads: usize, calls: usize) -> Checked {
        let mut all = Checked {
            clients: 0,
            executions: 0,
            complete: true,
        };
        for client in clients(operations, threads, calls) {
            let one = self.check(client, Ordered::ByTime);
            all.clients += 1;
            all.executions += one.executions;
            all.complete &= one.complete;
        }
        all
    }

    #[track_caller]
    fn check<C: Into<Vec<O>>>(
        &self,
        threads: impl IntoIterator<Item = C>,
        ordered: Ordered,
    ) -> Checked {
        let place = Location::caller();
        let threads: Vec<Vec<O>> = threads.into_iter().map(Into::into).collect();
        let calls: usize = threads.iter().map(Vec::len).sum();
        assert!(
            threads.len() <= MOST_THREADS && calls <= MOST_OPERATIONS,
            "at most {MOST_THREADS} threads call at most {MOST_OPERATIONS} operations"
        );
        let client = Client {
            threads: Shared::new(threads),
            make: self.make.clone(),
            call: self.call.clone(),
            ordered,
            place,
        };
        let (start, apply) = (self.start.clone(), self.apply.clone());
        let summary = self.builder.check(move || {
            let history = client.run();
            let since = match history.linearize(&start, &*apply) {
                Verdict::Order(_) => return,
                Verdict::Undecided => panic!("too many orders to tell\n{history}"),
                Verdict::Impossible { since } => since,
            };
            let what = match ordered {
                Ordered::ByTime => "linearizable",
                Ordered::ByThread => "sequentially consistent",
            };
            let name = &history.operation(since).name;
            panic!("not {what}: nothing explains the result of {name:?}\n{history}");
        });
        Checked {
            clients: 1,
            executions: summary.executions,
            complete: summary.is_complete(),
        }
    }
}

/// What the threads of an execution do.
struct Client<T, O, R> {
    threads: Shared<Vec<Vec<O>>>,
    make: Make<T>,
    call: Call<T, O, R>,
    ordered: Ordered,
    place: Place,
}

impl<T, O, R> Client<T, O, R>
where
    T: Send + Sync + 'static,
    O: Clone + Debug + Send + Sync + 'static,
    R: PartialEq + Debug + Send + 'static,
{
    /// Runs the threads and returns their history.
    fn run(&self) -> History<O, R> {
        let marks = Marks::new(self.place);
        let object = Arc::new((self.make)());
        let history = Shared::new(Mutex::new(History::new()));
        let running = (0..self.threads.len()).map(|number| {
            let one = Caller {
                number,
                marks: marks.clone(),
                history: history.clone(),
                ordered: self.ordered,
                place: self.place,
            };
            let (threads, call) = (self.threads.clone(), self.call.clone());
            let object = object.clone();
            thread::spawn(move || {
                for operation in &threads[number] {
                    one.operation(operation, || call(&object, operation));
                }
            })
        });
        let running: Vec<_> = running.collect();
        for one in running {
            if let Err(panic) = one.join() {
                std::panic::resume_unwind(panic);
            }
        }
        let mut history = history.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *history)
    }
}

/// A thread that calls operations.
struct Caller<O, R> {
    number: usize,
    marks: Arc<Marks>,
    history: Shared<Mutex<History<O, R>>>,
    ordered: Ordered,
    place: Place,
}

impl<O: Clone + Debug, R: Debug> Caller<O, R> {
    /// Calls an operation, and keeps that in the history.
    fn operation(&self, operation: &O, call: impl FnOnce() -> R) {
        let timed =
            world().filter(|world| self.ordered == Ordered::ByTime && world.memory.is_none());
        if let Some(world) = timed {
            self.marks.call(world, self.place);
            world.note(|| format!("{operation:?}"));
        }
        let id = self.called(operation, timed.is_some());
        let result = call();
        if let Some(world) = timed {
            self.marks.end(world, self.number, self.place);
            world.note(|| format!("{operation:?} returns {result:?}"));
        }
        let mut history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        history.end(id, result);
    }

    fn called(&self, operation: &O, timed: bool) -> OperationId {
        let mut history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        let process = self.number;
        let called = history.call_after(process, operation.clone(), |_, earlier| {
            timed || earlier.process == process
        });
        called.expect("operations were counted")
    }
}

/// Returns all clients in which so many threads call these operations so often, all threads
/// together. Threads are interchangeable. Clients with fewer calls need not be checked: each of
/// their histories is a part of a history of a larger one.
///
/// ```
/// let all: Vec<Vec<Vec<char>>> = mazurka_rt::clients(&['a'], 2, 2).collect();
/// assert_eq!(all, [vec![vec!['a'], vec!['a']], vec![vec!['a', 'a'], vec![]]]);
/// ```
pub fn clients<O: Clone>(
    operations: &[O],
    threads: usize,
    calls: usize,
) -> impl Iterator<Item = Vec<Vec<O>>> {
    let mut found = Vec::new();
    fill(
        operations.len(),
        threads,
        calls,
        &mut Vec::new(),
        &mut found,
    );
    found.into_iter().map(|client| {
        let thread = |numbers: Vec<usize>| {
            let all = numbers.into_iter().map(|number| operations[number].clone());
            all.collect()
        };
        client.into_iter().map(thread).collect()
    })
}

/// The operations of each thread, by number. Of interchangeable clients, the one whose threads are
/// in order, the largest first.
type Numbers = Vec<Vec<usize>>;

/// Adds the clients that begin with these threads.
fn fill(kinds: usize, threads: usize, calls: usize, begun: &mut Numbers, found: &mut Vec<Numbers>) {
    let key = |thread: &[usize]| (thread.len(), thread.to_vec());
    if begun.len() == threads {
        if calls == 0 {
            found.push(begun.clone());
        }
        return;
    }
    for length in 0..=calls {
        for thread in sequences(kinds, length) {
            if begun.last().is_none_or(|last| key(last) >= key(&thread)) {
                begun.push(thread);
                fill(kinds, threads, calls - length, begun, found);
                begun.pop();
            }
        }
    }
}

/// Returns all sequences of a length.
fn sequences(kinds: usize, length: usize) -> Vec<Vec<usize>> {
    (0..length).fold(vec![Vec::new()], |shorter, _| {
        let longer = |begun: &Vec<usize>| {
            let begun = begun.clone();
            (0..kinds).map(move |next| [&begun[..], &[next]].concat())
        };
        shorter.iter().flat_map(longer).collect()
    })
}
