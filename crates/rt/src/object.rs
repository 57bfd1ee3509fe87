//! Checks concurrent objects against their sequential specification: linearizability, and
//! sequential consistency.
//!
//! Threads call the operations of the object under test. At the end of each execution,
//! `mazurka-history` checks whether the specification explains the history of calls and results.
//!
//! The history says whether an operation ended before another was called, but the trace does not:
//! nothing that the object does orders the two. So calls and ends are steps. Each thread has a
//! *mark*, which is a cell. An end writes the mark of its thread, and a call reads the marks of all
//! threads. So a call conflicts with the ends of other threads and with nothing else, and each
//! order of calls and ends that matters is explored. Sequential consistency orders only operations
//! of one thread, and needs no such steps.
//!
//! Under a memory model, happens-before takes the place of time: Golovin, Kokologiannakis,
//! Vafeiadis, "RELINCHE: Automatically Checking Linearizability under Relaxed Memory Consistency",
//! POPL 2025. The paper explores a client whose threads do not synchronise, and then adds the edges
//! that other clients could add. Here reads of marks are those edges. An end is a release write; a
//! call is a series of acquire reads, each of which sees an end or does not. If the object itself
//! makes an end happen before a call, then by coherence the call sees this end. Conversely, an end
//! that a call sees happens before the call. So the marks that a call has read *are* the operations
//! that happen before it, and all ways in which clients can synchronise are explored. The marks
//! remove no execution of the object. But fences may force a call to see an end that it could
//! otherwise miss. Then the history in which the call misses this end is not checked. This hides no
//! violation: the end precedes the call in the order of the fences, so an edge from the end to the
//! call adds no cycle to the model's relations. The history with this edge has the same results,
//! and fewer orders explain it.
//!
//! | paper | here |
//! |---|---|
//! | the library, its methods | [`Object`], its operations |
//! | the atomic specification | a state, and a function that applies an operation to it |
//! | the most parallel client | the executions in which no call reads a mark |
//! | more constrained clients | the executions in which calls read marks |
//!
//! Deviation: a specification here is sequential. It says what operations return, not which of
//! them synchronise.

use std::fmt::Debug;
use std::hash::Hash;
use std::panic::Location;
use std::sync::{Arc as Shared, Mutex, MutexGuard, PoisonError};

use mazurka_core::Access;
use mazurka_history::{History, MOST_OPERATIONS, Recorded, Verdict};
use mazurka_memory::MemoryOrder;

use crate::builder::Builder;
use crate::names::Meta;
use crate::sync::Arc;
use crate::thread;
use crate::world::{Pending, Place, World, world};

/// Limit on the threads that call operations.
const MOST_THREADS: usize = 8;

/// The name of the marks in reports.
pub(crate) const KIND: &str = "operation";

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
    pub(crate) builder: Builder,
    pub(crate) make: Make<T>,
    pub(crate) call: Call<T, O, R>,
    start: S,
    apply: Apply<S, O, R>,
}

/// Makes an object.
type Make<T> = Shared<dyn Fn() -> T + Send + Sync>;
/// Calls an operation of an object.
type Call<T, O, R> = Shared<dyn Fn(&T, &O) -> R + Send + Sync>;
/// Applies an operation to the state of the specification.
type Apply<S, O, R> = Shared<dyn Fn(&mut S, &O) -> R + Send + Sync>;

/// The result of a check that found no violation.
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
    /// Whether every client was explored without hitting a bound.
    pub complete: bool,
}

/// Which operations of different threads are ordered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ordered {
    /// An operation comes before another one if it ended before the other one was called. Under a
    /// memory model: if its end happens before the call of the other one.
    ByTime,
    /// Operations of different threads are not ordered.
    ByThread,
}

/// The marks of the threads, in adjacent cells.
struct Marks([Meta; MOST_THREADS]);

impl Marks {
    /// Makes the marks in the memory of an `Arc`, which gives them names.
    fn new(place: Place) -> Arc<Self> {
        let marks = Arc::new(Self(std::array::from_fn(|_| Meta::at(place))));
        if let Some(world) = world() {
            // Before the first step of the program, they get consecutive cells.
            let first = world.cell(&marks.0[0], KIND);
            for (at, mark) in marks.0.iter().enumerate() {
                let cell = world.cell(mark, KIND);
                assert_eq!(cell, first + at as u32, "marks are next to each other");
            }
        }
        marks
    }

    /// Makes the call step of an operation. Returns how many operations of each thread
    /// ended before it.
    fn call(&self, world: &World, caller: &Caller, called: impl Fn() -> String) -> Vec<usize> {
        let place = caller.place;
        if world.memory.is_none() {
            let first = world.cell(&self.0[0], KIND);
            let all = Access::read(first).over(MOST_THREADS as u32);
            world.turn(Pending::new(Some(all), (KIND, "call"), place));
            world.note(called);
            return caller.ended().to_vec();
        }
        let mut seen = vec![0; caller.threads];
        for other in (0..caller.threads).filter(|&other| other != caller.number) {
            let cell = world.cell(&self.0[other], KIND);
            let pending = Pending::new(Some(Access::read(cell)), (KIND, "call"), place);
            seen[other] = world.look(cell, MemoryOrder::Acquire, pending) as usize;
            world.note(&called);
        }
        seen
    }

    /// Makes the end step of an operation. With this operation, `ended` operations of the thread
    /// have ended.
    fn end(&self, world: &World, caller: &Caller, ended: usize) {
        let cell = world.cell(&self.0[caller.number], KIND);
        let pending = Pending::new(Some(Access::write(cell)), (KIND, "end"), caller.place);
        match world.memory {
            None => {
                world.turn(pending);
                caller.ended()[caller.number] = ended;
            }
            Some(_) => world.write_value(cell, MemoryOrder::Release, ended as i64, pending),
        }
    }
}

impl<T, S, O, R> Object<T, S, O, R>
where
    T: Send + Sync + 'static,
    S: Clone + Eq + Hash + Send + Sync + 'static,
    O: Clone + Debug + Send + Sync + 'static,
    R: PartialEq + Debug + Send + 'static,
{
    /// `make` makes the object under test, and `call` calls one of its operations. Its
    /// specification consists of an initial state, `start`, and of `apply`, which applies an
    /// operation to the state and returns the result.
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

    /// Explores threads that call these operations. Panics if a history is not linearizable. A
    /// history is linearizable if its operations can be put into an order that explains their
    /// results. In this order, an operation that ended before another one was called must come
    /// before it. Under a memory model weaker than sequential consistency, "ended before" means
    /// that the end happens before the call, through the object or through synchronisation that
    /// some client could add.
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
    /// If there are more than 8 threads or more than 64 operations.
    #[track_caller]
    pub fn linearizable<C: Into<Vec<O>>>(&self, threads: impl IntoIterator<Item = C>) -> Checked {
        self.check(threads, Ordered::ByTime)
    }

    /// Explores threads that call these operations. Panics if a history is not sequentially
    /// consistent: like [`linearizable`](Self::linearizable), but only operations of one
    /// thread are ordered.
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
    /// If there are more than 8 threads or more than 64 operations.
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
    /// If there are more than 8 threads or more than 64 operations.
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
            // The client's threads are the first children of the first thread.
            let thread = |number| format!("0.{number}");
            let history_text = || history.chart(thread) + &history.tell(thread);
            let since = match history.linearize(&start, &*apply) {
                Verdict::Order(_) => return,
                Verdict::Undecided => panic!("too many orders to tell\n{}", history_text()),
                Verdict::Impossible { since } => since,
            };
            let what = match ordered {
                Ordered::ByTime => "linearizable",
                Ordered::ByThread => "sequentially consistent",
            };
            let name = &history.operation(since).name;
            let history_text = history_text();
            panic!("not {what}: nothing explains the result of {name:?}\n{history_text}");
        });
        Checked {
            clients: 1,
            executions: summary.executions,
            complete: summary.is_complete(),
        }
    }
}

/// A client of the object: which operations each of its threads calls, and how.
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
        let ended = Shared::new(Mutex::new([0; MOST_THREADS]));
        let running = (0..self.threads.len()).map(|number| {
            let caller = Caller {
                number,
                threads: self.threads.len(),
                marks: Some(marks.clone()).filter(|_| self.ordered == Ordered::ByTime),
                ended: ended.clone(),
                place: self.place,
            };
            let (threads, call) = (self.threads.clone(), self.call.clone());
            let object = object.clone();
            thread::spawn(move || {
                let operations = threads[number].iter().enumerate();
                let made = operations.map(|(at, operation)| {
                    caller.operation(at, operation, || call(&object, operation))
                });
                made.collect::<Vec<_>>()
            })
        });
        let running: Vec<_> = running.collect();
        let made = running.into_iter().map(|one| match one.join() {
            Ok(made) => made,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        History::of_processes(made.collect()).expect("operations were counted")
    }
}

/// A thread that calls operations.
struct Caller {
    number: usize,
    /// The number of threads.
    threads: usize,
    /// The marks; `None` if only operations of one thread are ordered.
    marks: Option<Arc<Marks>>,
    /// How many operations of each thread have ended; used in interleavings.
    ended: Shared<Mutex<[usize; MOST_THREADS]>>,
    place: Place,
}

impl Caller {
    /// Calls an operation, and records its result and which operations come before it.
    fn operation<O: Clone + Debug, R: Debug>(
        &self,
        at: usize,
        operation: &O,
        call: impl FnOnce() -> R,
    ) -> Recorded<O, R> {
        let marked = world().zip(self.marks.as_deref());
        let before = match marked {
            None => Vec::new(),
            Some((world, marks)) => marks.call(world, self, || format!("{operation:?}")),
        };
        let result = call();
        if let Some((world, marks)) = marked {
            marks.end(world, self, at + 1);
            world.note(|| format!("{operation:?} returns {result:?}"));
        }
        Recorded {
            name: operation.clone(),
            result,
            before,
        }
    }

    fn ended(&self) -> MutexGuard<'_, [usize; MOST_THREADS]> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns all clients with this many threads that make this many calls of these operations in
/// total. Threads are interchangeable. Clients with fewer calls need no check: each of their
/// histories is a part of a history of a larger client.
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

/// A client: for each thread the indices of the operations that it calls. Of clients that differ
/// only in the order of their threads, only the one with the greatest thread first is generated.
type Numbers = Vec<Vec<usize>>;

/// Adds the clients whose first threads are those in `begun`.
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

/// Returns all sequences of this length of the indices below `kinds`.
fn sequences(kinds: usize, length: usize) -> Vec<Vec<usize>> {
    (0..length).fold(vec![Vec::new()], |shorter, _| {
        let longer = |begun: &Vec<usize>| {
            let begun = begun.clone();
            (0..kinds).map(move |next| [&begun[..], &[next]].concat())
        };
        shorter.iter().flat_map(longer).collect()
    })
}
