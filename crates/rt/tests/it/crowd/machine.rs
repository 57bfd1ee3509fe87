//! The interpreter: visits all states of a program.

use std::collections::{BTreeSet, HashSet, VecDeque};

use super::*;

/// How a thread holds the `RwLock`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Holding {
    Nothing,
    Reads,
    Writes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Waits {
    No,
    ForNotify,
    ForLock,
}

/// A thread of the interpreter.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Thread {
    at: usize,
    locks: bool,
    holds: Holding,
    waits: Waits,
    /// The number of channel ends that the thread has dropped so far, after its operations.
    ended: usize,
    log: Vec<u32>,
}

/// A channel: its messages, the number of its senders, and whether it has a receiver.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Channel {
    messages: VecDeque<u32>,
    senders: usize,
    receiver: bool,
}

/// A state of a program.
#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    threads: Vec<Thread>,
    atomics: [u32; ATOMICS],
    /// The protected value, and whether the lock is poisoned.
    lock: (u32, bool),
    rw: (u32, bool),
    channels: [Channel; 2],
}

/// The behaviour of a program.
#[derive(Default)]
pub struct Verdict {
    pub outcomes: BTreeSet<Outcome>,
    pub deadlock: bool,
}

impl State {
    fn new(program: &Program) -> Self {
        let count = program.threads.len();
        let thread = Thread {
            at: 0,
            locks: false,
            holds: Holding::Nothing,
            waits: Waits::No,
            ended: 0,
            log: Vec::new(),
        };
        let channel = Channel {
            messages: VecDeque::new(),
            senders: count,
            receiver: true,
        };
        Self {
            threads: vec![thread; count],
            atomics: [0; ATOMICS],
            lock: (0, false),
            rw: (0, false),
            channels: [channel.clone(), channel],
        }
    }

    fn locked(&self) -> bool {
        self.threads.iter().any(|thread| thread.locks)
    }

    fn held(&self, by: Holding) -> bool {
        self.threads.iter().any(|thread| thread.holds == by)
    }

    fn see(&mut self, thread: usize, value: u32) {
        self.threads[thread].log.push(value);
    }

    fn take(&mut self, thread: usize) {
        self.threads[thread].locks = true;
        self.lock.0 += 1;
        let seen = self.lock.0 + POISON * u32::from(self.lock.1);
        self.see(thread, seen);
    }

    fn hold(&mut self, thread: usize, how: Holding) {
        self.threads[thread].holds = how;
        self.rw.0 += u32::from(how == Holding::Writes);
        let seen = self.rw.0 + POISON * u32::from(self.rw.1);
        self.see(thread, seen);
    }

    /// Returns the states after the next step of a thread; empty if the thread has to wait or has
    /// ended.
    fn next(&self, thread: usize, body: &Body) -> Vec<Self> {
        let mut next = self.clone();
        let own = &self.threads[thread];
        match own.waits {
            Waits::ForNotify => return Vec::new(),
            Waits::ForLock if self.locked() => return Vec::new(),
            Waits::ForLock => {
                next.threads[thread].waits = Waits::No;
                next.take(thread);
                return vec![next];
            }
            Waits::No => {}
        }
        let Some(&op) = body.ops.get(own.at) else {
            return if next.end(thread, body.panics) {
                vec![next]
            } else {
                Vec::new()
            };
        };
        next.threads[thread].at += 1;
        if let Op::Notify(false) = op {
            let waiting = |at: &usize| self.threads[*at].waits == Waits::ForNotify;
            let all: Vec<usize> = (0..self.threads.len()).filter(waiting).collect();
            let wake = |&at: &usize| {
                let mut next = next.clone();
                next.threads[at].waits = Waits::ForLock;
                next
            };
            return if all.is_empty() {
                vec![next]
            } else {
                all.iter().map(wake).collect()
            };
        }
        if next.run(thread, op) {
            vec![next]
        } else {
            Vec::new()
        }
    }

    /// Makes the next step of a thread that has made all its operations. Returns false
    /// if it has ended.
    fn end(&mut self, thread: usize, panics: bool) -> bool {
        let own = &mut self.threads[thread];
        if own.holds != Holding::Nothing {
            self.rw.1 |= panics && own.holds == Holding::Writes;
            own.holds = Holding::Nothing;
            return true;
        }
        if own.locks {
            self.lock.1 |= panics;
            own.locks = false;
            return true;
        }
        let ended = own.ended;
        own.ended += 1;
        match ended {
            0 | 1 => self.channels[ended].senders -= 1,
            2 | 3 if thread == 0 => self.channels[ended - 2].receiver = false,
            _ => {
                own.ended -= 1;
                return false;
            }
        }
        true
    }

    fn receive(&mut self, thread: usize, channel: usize) -> bool {
        let from = &mut self.channels[channel];
        let seen = match from.messages.pop_front() {
            Some(message) => message,
            None if from.senders == 0 => GONE,
            None => return false,
        };
        self.see(thread, seen);
        true
    }

    /// Performs an operation. Returns false if it has to wait.
    fn run(&mut self, thread: usize, op: Op) -> bool {
        match op {
            Op::Load(x, _) => {
                let value = self.atomics[x];
                self.see(thread, value);
            }
            Op::Store(x, value, _) => self.atomics[x] = value,
            Op::Add(x, _) => {
                let old = self.atomics[x];
                self.atomics[x] += 1;
                self.see(thread, old);
            }
            Op::Exchange(x, new, _) => {
                let old = self.atomics[x];
                if old == 0 {
                    self.atomics[x] = new;
                }
                self.see(thread, old);
            }
            Op::Spin(x) => {
                let value = self.atomics[x];
                if value == 0 {
                    return false;
                }
                self.see(thread, value);
            }
            Op::Lock if self.locked() => return false,
            Op::TryLock if self.locked() => self.see(thread, HELD),
            Op::Lock | Op::TryLock => self.take(thread),
            Op::Unlock => self.threads[thread].locks = false,
            Op::Wait if self.threads[thread].locks => {
                self.threads[thread].locks = false;
                self.threads[thread].waits = Waits::ForNotify;
            }
            Op::Wait => {}
            Op::Notify(_) => {
                let all = self.threads.iter_mut();
                for thread in all.filter(|thread| thread.waits == Waits::ForNotify) {
                    thread.waits = Waits::ForLock;
                }
            }
            Op::Read if self.held(Holding::Writes) => return false,
            Op::TryRead if self.held(Holding::Writes) => self.see(thread, HELD),
            Op::Read | Op::TryRead => self.hold(thread, Holding::Reads),
            Op::Write | Op::TryWrite if self.held(Holding::Writes) || self.held(Holding::Reads) => {
                if matches!(op, Op::Write) {
                    return false;
                }
                self.see(thread, HELD);
            }
            Op::Write | Op::TryWrite => self.hold(thread, Holding::Writes),
            Op::Release => self.threads[thread].holds = Holding::Nothing,
            Op::Send(message) => {
                if self.channels[0].receiver {
                    self.channels[0].messages.push_back(message)
                } else {
                    self.see(thread, GONE)
                }
            }
            Op::SyncSend(message) => {
                let to = &mut self.channels[1];
                if !to.receiver {
                    self.see(thread, GONE);
                } else if to.messages.len() == BOUND {
                    return false;
                } else {
                    to.messages.push_back(message);
                }
            }
            Op::Recv if thread == 0 => return self.receive(thread, 0),
            Op::SyncRecv if thread == 0 => return self.receive(thread, 1),
            Op::TryRecv if thread == 0 => {
                if !self.receive(thread, 0) {
                    self.see(thread, NONE);
                }
            }
            Op::Recv | Op::SyncRecv | Op::TryRecv => {}
        }
        true
    }
}

/// Returns the answer of the interpreter; `None` if there are too many states.
pub fn expected(program: &Program) -> Option<Verdict> {
    const MOST: usize = 200_000;
    let mut verdict = Verdict::default();
    let first = State::new(program);
    let mut open = vec![first.clone()];
    let mut known = HashSet::from([first]);
    while let Some(state) = open.pop() {
        let bodies = program.threads.iter().enumerate();
        let next: Vec<State> = bodies
            .flat_map(|(thread, body)| state.next(thread, body))
            .collect();
        if next.is_empty() {
            let bodies = state.threads.iter().zip(&program.threads);
            let ended = |thread: &Thread| thread.waits == Waits::No && thread.ended > 0;
            if state.threads.iter().all(ended) {
                let logs = bodies.map(|(thread, body)| (thread.log.clone(), body.panics));
                let mut values = state.atomics.to_vec();
                values.extend([state.lock.0, state.rw.0]);
                verdict.outcomes.insert((logs.collect(), values));
            } else {
                verdict.deadlock = true;
            }
        }
        for state in next {
            if known.insert(state.clone()) {
                open.push(state);
            }
        }
        if known.len() > MOST {
            return None;
        }
    }
    Some(verdict)
}
