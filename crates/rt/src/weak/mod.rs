//! Closures under a memory model: their accesses become events of an execution graph.
//!
//! The *engine* is the search of `mazurka-memory`, which determines the value that each access
//! returns. A thread of the model announces an access ([`World::act`]) and is suspended until the
//! engine answers. Threads are the coroutines of `simulate.rs`. A run answers them in an order that
//! extends po ∪ rf (program order and reads-from). So when real code reads plain memory without a
//! race, the memory holds the one value that the read can have, and no older values have to be
//! kept.
//!
//! - *Values.* An atomic may hold a pointer, which differs from run to run, so the engine never
//!   sees the bits in an atomic. To the engine, the value of a write is its name (the thread, and
//!   how many writes the thread made before), and each run keeps the bits of its writes. The name
//!   of the initial write is 0.
//! - *Primitives* are built from accesses to locations of their own, like real ones. A mutex is a
//!   lock of the engine, and an `RwLock` consists of several locks. A `Once` and a park permit are
//!   locations with updates that wait for a value. A waiting thread awaits a token. Some primitives
//!   keep a state in real memory, such as the list of waiting threads or the messages of a channel.
//!   Each operation of such a primitive updates one location, and rf orders these updates. The
//!   memory orders of the updates are only as strong as the primitive promises: for example, two
//!   sends do not synchronise.
//! - *Plain accesses* (`cell::UnsafeCell`) are events, so that the engine finds races before
//!   they happen.
//! - *Names* of objects are those of `names.rs`: they are functions of what precedes an
//!   access in po ∪ rf.
//! - An operation that cannot be explored is refused ([`World::refuse`]), never explored wrongly.
//!
//! | file | content |
//! |---|---|
//! | `program.rs` | the closure as a program of the engine |
//! | `spin.rs` | spin loops |
//! | `wait.rs` | tokens for waiting threads |
//! | `readers.rs` | locks that several threads may read |
//! | `search.rs` | searches and their findings |
//! | `saved.rs` | searches that continue from a checkpoint |
//! | `check.rs` | verdicts |
//! | `describe.rs` | reports and replays |
//! | `orders.rs` | orderings that are too weak, or stronger than needed |
//! | `facts.rs` | facts that a replay must know from the start |
//! | `inputs.rs` | unknown values |

mod check;
mod describe;
mod facts;
mod inputs;
mod orders;
mod program;
mod readers;
mod saved;
mod search;
mod spin;
mod wait;

use std::sync::atomic::Ordering;

use mazurka_core::ProcessId;
use mazurka_memory::{Action, Effect, Known, Loc, MemoryOrder, Value};

use crate::world::{Inner, Life, Pending, Until, World};
pub(crate) use check::Refused;
pub(crate) use describe::split;
#[cfg(feature = "symbolic")]
pub(crate) use inputs::{Question, Questions};
pub(crate) use orders::Chosen;
pub use orders::{OrderingPlace, Orderings, orderings};
pub(crate) use readers::Readers;
pub(crate) use search::SearchPlan;
use spin::{Round, Seen};

/// The value of the initial write of an atomic.
pub(crate) const INITIAL: Value = 0;

/// The state of a thread for the engine, and its clock of spawn and join, which interleavings use,
/// too.
#[derive(Default)]
pub(crate) struct EngineState {
    /// The access that the thread has announced; `None` if it has announced none.
    action: Option<Action>,
    /// The effect of the announced access, as a function of the value that it reads.
    rule: Rule,
    /// The last answer of the engine.
    answer: Value,
    /// Number of answers that the thread has received in this run.
    answers: u32,
    /// Accesses to repeat without suspending, the next one last.
    known: Vec<Known>,
    /// The bits of its writes to atomics, including the announced one.
    bits: Vec<u64>,
    /// Number of these writes that the thread has made; an announced one is not counted.
    made: usize,
    round: Round,
    /// Number of its waits for a token.
    waits: u32,
    /// A vector clock of spawn and join alone: for each thread, the number of its uses of `Arc`s
    /// that happen before the next operation of this thread.
    pub spawn_join_clock: Vec<u32>,
}

/// The effect of an announced update or await, as a function of the value that it reads.
#[derive(Clone, Copy, Default)]
enum Rule {
    #[default]
    Nothing,
    /// The access is an update or an await of an atomic.
    Bits(*const BitsRule<'static>),
    /// The access is an update or an await of a location of a primitive.
    Number(*const dyn Fn(Value) -> Effect),
}

/// An update of an atomic, or an await.
pub(crate) struct BitsRule<'a> {
    /// The initial bits of the atomic.
    initial: u64,
    /// Returns the bits to write in place of those that were read; `None` to write nothing.
    change: &'a dyn Fn(u64) -> Option<u64>,
    /// The bits that a spinning thread has already seen. If the atomic holds them and the operation
    /// would change nothing, the operation waits for other bits.
    stale: Option<u64>,
}

/// Converts an ordering to the engine's type.
pub(crate) fn order_of(order: Ordering) -> MemoryOrder {
    match order {
        Ordering::Relaxed => MemoryOrder::Relaxed,
        Ordering::Acquire => MemoryOrder::Acquire,
        Ordering::Release => MemoryOrder::Release,
        Ordering::AcqRel => MemoryOrder::AcqRel,
        _ => MemoryOrder::SeqCst,
    }
}

/// Returns the name of a write: its thread, and how many writes to atomics the thread made before.
fn write_name(thread: ProcessId, number: usize) -> Value {
    (Value::from(thread.0) + 1) << 32 | number as Value
}

impl EngineState {
    /// Prepares for a new thread.
    pub fn reset(&mut self) {
        (self.action, self.rule) = (None, Rule::Nothing);
        (self.answers, self.made, self.waits) = (0, 0, 0);
        self.bits.clear();
        self.known.clear();
        self.round.reset();
        self.spawn_join_clock.clear();
    }

    /// Sets the bits of the next write.
    fn announce(&mut self, bits: u64) {
        self.bits.truncate(self.made);
        self.bits.push(bits);
    }
}

impl Inner {
    /// Returns the bits of a write that has been made or announced in this run.
    fn bits_of(&self, write: Value, initial: u64) -> u64 {
        if write == INITIAL {
            return initial;
        }
        let thread = (write >> 32) as usize - 1;
        let number = write as u32 as usize;
        self.threads[thread].engine.bits[number]
    }

    /// Returns the effect of the announced update or await of a thread if it reads this value.
    fn effect(&mut self, thread: ProcessId, read: Value) -> Effect {
        let engine = &self.threads[thread.index()].engine;
        match engine.rule {
            Rule::Nothing => Effect::Keep,
            Rule::Number(rule) => {
                // SAFETY: `act` keeps the rule alive on the stack of the suspended thread until it
                // is answered, and then removes the pointer.
                #[allow(unsafe_code)]
                let rule = unsafe { &*rule };
                rule(read)
            }
            Rule::Bits(rule) => {
                // SAFETY: as above.
                #[allow(unsafe_code)]
                let rule = unsafe { &*rule };
                let old = self.bits_of(read, rule.initial);
                let new = (rule.change)(old);
                let changes = new.is_some_and(|new| new != old);
                match new {
                    _ if !changes && rule.stale == Some(old) => Effect::Wait,
                    Some(bits) => {
                        let engine = &mut self.threads[thread.index()].engine;
                        let name = write_name(thread, engine.made);
                        engine.announce(bits);
                        Effect::Write(name)
                    }
                    None => Effect::Keep,
                }
            }
        }
    }
}

impl World {
    /// Announces an access of the current thread and waits for the engine's answer.
    fn act(&self, pending: Pending, action: Action, rule: Rule) -> Value {
        let known = {
            let mut inner = self.inner.borrow_mut();
            let engine = &mut inner.me().engine;
            (engine.action, engine.rule) = (Some(action), rule);
            engine.known.pop_if(|known| known.fits(action))
        };
        match known {
            Some(known) => self.act_again(pending, known),
            None => self.suspend(pending),
        }
        let mut inner = self.inner.borrow_mut();
        let engine = &mut inner.me().engine;
        (engine.action, engine.rule) = (None, Rule::Nothing);
        engine.answers += 1;
        engine.answer
    }

    /// Repeats an access whose answer is known from an earlier run.
    fn act_again(&self, pending: Pending, known: Known) {
        {
            let mut inner = self.inner.borrow_mut();
            let current = inner.current;
            if known.is_written_update() {
                inner.effect(current, known.value);
            }
            inner.me().engine.answer = known.value;
        }
        self.step_on(pending);
    }

    /// Reads an atomic with these initial bits.
    pub fn load_bits(&self, cell: u32, order: MemoryOrder, initial: u64, pending: Pending) -> u64 {
        let loc = Loc(cell);
        let stale = self.stale_bits(cell);
        let read = match stale {
            None => self.act(pending, Action::Read { loc, order }, Rule::Nothing),
            Some(_) => {
                let rule = BitsRule {
                    initial,
                    change: &|_| None,
                    stale,
                };
                let pending = Pending {
                    until: Until::Spin,
                    ..pending
                };
                self.act_on_bits(pending, Action::Await { loc, order }, &rule)
            }
        };
        let bits = self.inner.borrow().bits_of(read, initial);
        self.saw(cell, Seen::Bits { bits, initial });
        bits
    }

    /// Writes bits to an atomic.
    pub fn store_bits(&self, cell: u32, order: MemoryOrder, bits: u64, pending: Pending) {
        let value = {
            let mut inner = self.inner.borrow_mut();
            let current = inner.current;
            let engine = &mut inner.me().engine;
            engine.announce(bits);
            write_name(current, engine.made)
        };
        let loc = Loc(cell);
        self.act(pending, Action::Write { loc, order, value }, Rule::Nothing);
        self.wrote();
        self.progress();
    }

    /// Changes an atomic by a function that returns the bits to write, or `None` to write nothing.
    /// Returns the old bits and whether it wrote.
    pub fn update_bits(
        &self,
        cell: u32,
        orders: [MemoryOrder; 2],
        (initial, change): (u64, &dyn Fn(u64) -> Option<u64>),
        pending: Pending,
    ) -> (u64, bool) {
        let [order, failure] = orders;
        let stale = self.stale_bits(cell);
        let rule = BitsRule {
            initial,
            change,
            stale,
        };
        let loc = Loc(cell);
        let action = Action::Update {
            loc,
            order,
            failure,
        };
        let until = match stale {
            Some(_) => Until::Spin,
            None => pending.until,
        };
        let read = self.act_on_bits(Pending { until, ..pending }, action, &rule);
        let old = self.inner.borrow().bits_of(read, initial);
        let new = change(old);
        if let Some(bits) = new {
            self.inner.borrow_mut().me().engine.announce(bits);
            self.wrote();
        }
        let seen = Seen::Bits { bits: old, initial };
        if new.is_some_and(|new| new != old) {
            self.check_spun(cell, seen);
            self.progress();
        } else {
            self.saw(cell, seen)
        }
        (old, new.is_some())
    }

    fn act_on_bits(&self, pending: Pending, action: Action, rule: &BitsRule<'_>) -> Value {
        let rule: *const BitsRule<'_> = rule;
        // The lifetime ends with this call, and so does the use of the pointer.
        self.act(pending, action, Rule::Bits(rule.cast()))
    }

    /// Returns the bits that the next read of an atomic must not see, because the thread spins on
    /// this atomic (weak/spin.rs).
    fn stale_bits(&self, cell: u32) -> Option<u64> {
        match self.inner.borrow_mut().me().engine.round.stale(cell)? {
            Seen::Bits { bits, .. } => Some(bits),
            Seen::Number(_) => None,
        }
    }

    /// Counts a write of the current thread to an atomic.
    fn wrote(&self) {
        self.inner.borrow_mut().me().engine.made += 1;
    }

    /// Updates a location of a primitive; may wait. Returns the value that it read.
    pub fn update(
        &self,
        cell: u32,
        orders: [MemoryOrder; 2],
        rule: &dyn Fn(Value) -> Effect,
        pending: Pending,
    ) -> Value {
        let [order, failure] = orders;
        let loc = Loc(cell);
        let action = Action::Update {
            loc,
            order,
            failure,
        };
        self.act_by(pending, action, rule)
    }

    /// Waits until a location of a primitive has a value that satisfies the condition.
    pub fn wait_for_value(
        &self,
        cell: u32,
        order: MemoryOrder,
        condition: &dyn Fn(Value) -> bool,
        pending: Pending,
    ) -> Value {
        let action = Action::Await {
            loc: Loc(cell),
            order,
        };
        let rule = |value| {
            if condition(value) {
                Effect::Keep
            } else {
                Effect::Wait
            }
        };
        self.act_by(pending, action, &rule)
    }

    fn act_by(&self, pending: Pending, action: Action, rule: &dyn Fn(Value) -> Effect) -> Value {
        let rule: *const (dyn Fn(Value) -> Effect + '_) = rule;
        // SAFETY: only the lifetime changes. `act` drops the pointer before it returns, and an
        // abandoned coroutine is never asked again.
        #[allow(unsafe_code)]
        let rule: *const (dyn Fn(Value) -> Effect + 'static) = unsafe { std::mem::transmute(rule) };
        self.act(pending, action, Rule::Number(rule))
    }

    /// Reads a location of a primitive.
    pub fn read_value(&self, cell: u32, order: MemoryOrder, pending: Pending) -> Value {
        let loc = Loc(cell);
        let stale = self.inner.borrow_mut().me().engine.round.stale(cell);
        let read = match stale {
            Some(Seen::Number(known)) => {
                let pending = Pending {
                    until: Until::Spin,
                    ..pending
                };
                self.wait_for_value(cell, order, &|value| value != known, pending)
            }
            _ => self.act(pending, Action::Read { loc, order }, Rule::Nothing),
        };
        self.saw(cell, Seen::Number(read));
        read
    }

    /// Reads a location, with no effect on the detection of spin loops.
    pub fn look(&self, cell: u32, order: MemoryOrder, pending: Pending) -> Value {
        let loc = Loc(cell);
        self.act(pending, Action::Read { loc, order }, Rule::Nothing)
    }

    /// Writes a location of a primitive.
    pub fn write_value(&self, cell: u32, order: MemoryOrder, value: Value, pending: Pending) {
        let loc = Loc(cell);
        self.act(pending, Action::Write { loc, order, value }, Rule::Nothing);
        self.progress();
    }

    /// Takes a lock of the engine.
    pub fn lock(&self, cell: u32, pending: Pending) {
        self.act(pending, Action::Lock { loc: Loc(cell) }, Rule::Nothing);
        self.took_lock();
    }

    /// Takes a lock of the engine if it is free. Returns whether it was.
    pub fn try_lock(&self, cell: u32, pending: Pending) -> bool {
        /// The value of a lock that is held.
        const HELD: Value = 1;
        let stale = self.inner.borrow_mut().me().engine.round.stale(cell);
        let taken = match stale {
            Some(_) => {
                self.act(pending, Action::Lock { loc: Loc(cell) }, Rule::Nothing);
                true
            }
            None => {
                let take = |value| match value {
                    0 => Effect::Write(HELD),
                    _ => Effect::Keep,
                };
                let orders = [MemoryOrder::Acquire, MemoryOrder::Relaxed];
                self.update(cell, orders, &take, pending) == 0
            }
        };
        if taken {
            self.check_spun(cell, Seen::Number(0));
            self.took_lock();
        } else {
            self.saw(cell, Seen::Number(HELD))
        }
        taken
    }

    /// Releases a lock of the engine. `dirty` tells whether the protected data may have changed.
    pub fn unlock(&self, cell: u32, dirty: bool, pending: Pending) {
        self.act(pending, Action::Unlock { loc: Loc(cell) }, Rule::Nothing);
        if dirty {
            self.progress();
        }
    }

    /// Records that the current thread has taken a lock or a turn (weak/wait.rs).
    pub fn took_lock(&self) {
        self.inner.borrow_mut().me().engine.round.locked();
    }

    /// Makes a fence.
    pub fn fence(&self, order: MemoryOrder, pending: Pending) {
        self.act(pending, Action::Fence { order }, Rule::Nothing);
    }

    /// Makes a plain access.
    pub fn plain(&self, cell: u32, writes: bool, pending: Pending) {
        let (loc, order, value) = (Loc(cell), MemoryOrder::Plain, INITIAL);
        let action = if writes {
            Action::Write { loc, order, value }
        } else {
            Action::Read { loc, order }
        };
        self.act(pending, action, Rule::Nothing);
        if writes {
            self.progress();
        }
    }

    /// Waits for the end of a thread.
    pub fn join(&self, process: ProcessId, pending: Pending) {
        let child = mazurka_memory::ThreadId(process.0);
        self.act(pending, Action::Join { child }, Rule::Nothing);
        self.progress();
        let mut inner = self.inner.borrow_mut();
        let ended = std::mem::take(&mut inner.threads[process.index()].engine.spawn_join_clock);
        let spawn_join_clock = &mut inner.me().engine.spawn_join_clock;
        if spawn_join_clock.len() < ended.len() {
            spawn_join_clock.resize(ended.len(), 0);
        }
        for (mine, theirs) in spawn_join_clock.iter_mut().zip(&ended) {
            *mine = (*mine).max(*theirs);
        }
        inner.threads[process.index()].engine.spawn_join_clock = ended;
    }

    /// Announces that a thread is about to be started.
    pub fn before_spawn(&self, pending: Pending) {
        // The program fills in the number of the thread.
        let child = mazurka_memory::ThreadId(0);
        self.act(pending, Action::Spawn { child }, Rule::Nothing);
        self.progress();
    }

    /// Chooses a number below a bound.
    pub fn choice(&self, outcomes: u32, pending: Pending) -> u32 {
        let action = Action::Choice { outcomes };
        self.act(pending, action, Rule::Nothing) as u32
    }

    /// Ends the search, because the next operation of the current thread cannot be explored under
    /// a memory model.
    pub fn refuse(&self, what: String) -> ! {
        self.inner.borrow_mut().refused.get_or_insert(what);
        self.suspend_for_ever()
    }

    /// Halts the current thread and discards the execution.
    pub fn discard(&self) -> ! {
        self.inner.borrow_mut().me().engine.action = Some(Action::Discard);
        self.suspend_for_ever()
    }

    /// Returns how many answers the current thread has received.
    pub fn answers(&self) -> u32 {
        self.inner.borrow_mut().me().engine.answers
    }
}

impl Inner {
    /// Returns the panics that no other thread has noticed.
    fn unnoticed(&self) -> impl Iterator<Item = u32> {
        let threads = self.threads.iter();
        let ended = threads.filter(|thread| thread.life != Life::Unborn && thread.panicked);
        ended.filter_map(|thread| thread.failure)
    }
}
