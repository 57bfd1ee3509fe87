//! The behaviour of random programs according to tokio's documentation: all interleavings of small
//! atomic steps, by a search through states. The interpreter has no wakers, polls or runtimes.

use std::collections::{BTreeSet, HashSet};

/// An operation of a task. The result of each is a number.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// Waits for permits of the semaphore. The result is 1, or -1 if the semaphore is closed.
    Acquire(u8),
    /// Like `Acquire`, but the result is 0 if the time is over first.
    AcquireInTime(u8),
    /// Takes permits without waiting. The result is 0 if there are not enough.
    TryAcquire(u8),
    Add(u8),
    Close,
    /// Reads a number under the mutex, and adds one to it.
    Increment,
    /// Sends a message. The result is 1, or for `TrySend` 0 if there is no room.
    Send,
    TrySend,
    /// Receives a message; `TryRecv` returns 0 if there is none.
    Recv,
    TryRecv,
    /// Waits for a notification.
    Wait,
    NotifyOne,
    NotifyWaiters,
    /// Waits for a notification or for a permit, whichever comes first; the notification if both
    /// have come. The result is 2 for the notification, 1 for the permit, and -1 if the semaphore
    /// is closed.
    Either,
}

/// A program: the number of permits, the capacity of the channel, and the operations of each task.
#[derive(Clone, Debug)]
pub struct Program {
    pub permits: u8,
    pub room: u8,
    pub tasks: Vec<Vec<Op>>,
}

/// Returns the message that a task sends by its operation.
pub fn message(task: usize, op: usize) -> i32 {
    10 * (task as i32 + 1) + op as i32
}

/// Units that tasks queue for: permits of the semaphore, the mutex, or room in the channel. `line`
/// contains the waiting tasks: the task, the number of units that it wants, and the number that it
/// already has.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct Queue {
    free: u8,
    line: Vec<(usize, u8, u8)>,
    /// Tasks that have got all their units and have not noticed it yet, each with the number of
    /// units.
    served: Vec<(usize, u8)>,
    closed: bool,
}

impl Queue {
    /// Hands out units one at a time, to the first task in the line.
    fn add(&mut self, count: u8) {
        for _ in 0..count {
            match self.line.first_mut().filter(|_| !self.closed) {
                None => self.free += 1,
                Some((task, wants, got)) => {
                    *got += 1;
                    if got == wants {
                        self.served.push((*task, *wants));
                        self.line.remove(0);
                    }
                }
            }
        }
    }

    /// Joins the line, taking all free units.
    fn request(&mut self, task: usize, wants: u8) {
        let free = std::mem::take(&mut self.free);
        self.line.push((task, wants, free));
    }

    fn is_served(&self, task: usize) -> bool {
        self.served.iter().any(|(one, _)| *one == task)
    }

    /// Leaves the line, and returns the units that the task has.
    fn leave(&mut self, task: usize) {
        let mut back = 0;
        if let Some(at) = self.served.iter().position(|(one, _)| *one == task) {
            back = self.served.remove(at).1;
        }
        if let Some(at) = self.line.iter().position(|(one, ..)| *one == task) {
            back = self.line.remove(at).2;
        }
        self.add(back);
    }

    /// Records that the task has noticed that it is served. It keeps its units.
    fn keep(&mut self, task: usize) {
        self.served.retain(|(one, _)| *one != task);
    }
}

#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct Task {
    at: usize,
    phase: u8,
    /// A value that an operation of several steps keeps between its steps.
    remembered: i32,
    results: Vec<i32>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    tasks: Vec<Task>,
    semaphore: Queue,
    mutex: Queue,
    number: i32,
    room: Queue,
    messages: Vec<i32>,
    /// `left`: whether a notification is stored. `waits`: the waiting tasks. `notified`: the
    /// notified tasks, each with whether `notify_one` notified it. `calls`: the number of calls of
    /// `notify_waiters`.
    left: bool,
    waits: Vec<usize>,
    notified: Vec<(usize, bool)>,
    calls: i32,
}

impl State {
    fn notify_one(&mut self) {
        if self.waits.is_empty() {
            self.left = true
        } else {
            let first = self.waits.remove(0);
            self.notified.push((first, true));
        }
    }

    fn notification_of(&self, task: usize) -> Option<bool> {
        let notified = self.notified.iter().find(|(one, _)| *one == task);
        notified.map(|(_, alone)| *alone)
    }

    /// Stops waiting. If `notify_one` has notified this task and the task has not noticed, the next
    /// task is notified.
    fn stop_waiting(&mut self, task: usize) {
        self.waits.retain(|one| *one != task);
        let alone = self.notification_of(task);
        self.notified.retain(|(one, _)| *one != task);
        if alone == Some(true) {
            self.notify_one();
        }
    }

    /// Ends an operation.
    fn finish(mut self, task: usize, result: i32) -> Vec<Self> {
        let one = &mut self.tasks[task];
        one.results.push(result);
        (one.at, one.phase, one.remembered) = (one.at + 1, 0, 0);
        vec![self]
    }

    /// Continues within an operation.
    fn advance(mut self, task: usize, phase: u8) -> Vec<Self> {
        self.tasks[task].phase = phase;
        vec![self]
    }

    /// Returns the states after a step of a task; empty if the task has to wait.
    fn successors(&self, task: usize, op: Op) -> Vec<Self> {
        let mut next = self.clone();
        let (phase, at) = (self.tasks[task].phase, self.tasks[task].at);
        match (op, phase) {
            (Op::Acquire(_) | Op::AcquireInTime(_) | Op::TryAcquire(_), 0)
                if self.semaphore.closed =>
            {
                next.finish(task, -1)
            }
            (Op::Acquire(n) | Op::AcquireInTime(n) | Op::TryAcquire(n), 0)
                if self.semaphore.free >= n =>
            {
                next.semaphore.free -= n;
                next.finish(task, 1)
            }
            (Op::TryAcquire(_), _) => next.finish(task, 0),
            (Op::Acquire(n) | Op::AcquireInTime(n), 0) => {
                next.semaphore.request(task, n);
                next.advance(task, 1)
            }
            // A task whose time is over stays in the line until it leaves.
            (Op::AcquireInTime(_), 2) => {
                next.semaphore.leave(task);
                next.finish(task, 0)
            }
            (Op::Acquire(_) | Op::AcquireInTime(_), _) if self.semaphore.closed => {
                next.semaphore.leave(task);
                next.finish(task, -1)
            }
            (Op::Acquire(_) | Op::AcquireInTime(_), _) if self.semaphore.is_served(task) => {
                next.semaphore.keep(task);
                next.finish(task, 1)
            }
            (Op::Acquire(_), _) => vec![],
            (Op::AcquireInTime(_), _) => next.advance(task, 2),
            (Op::Add(n), _) => {
                next.semaphore.add(n);
                next.finish(task, 0)
            }
            (Op::Close, _) => {
                next.semaphore.closed = true;
                next.finish(task, 0)
            }
            (Op::Increment, 0) if self.mutex.free == 1 => {
                next.mutex.free = 0;
                next.advance(task, 2)
            }
            (Op::Increment, 0) => {
                next.mutex.request(task, 1);
                next.advance(task, 1)
            }
            (Op::Increment, 1) if self.mutex.is_served(task) => {
                next.mutex.keep(task);
                next.advance(task, 2)
            }
            (Op::Increment, 1) => vec![],
            (Op::Increment, 2) => {
                next.tasks[task].remembered = self.number;
                next.advance(task, 3)
            }
            (Op::Increment, _) => {
                let remembered = self.tasks[task].remembered;
                next.number = remembered + 1;
                next.mutex.add(1);
                next.finish(task, remembered)
            }
            (Op::Send | Op::TrySend, 0) if self.room.free > 0 => {
                next.room.free -= 1;
                next.messages.push(message(task, at));
                next.finish(task, 1)
            }
            (Op::TrySend, _) => next.finish(task, 0),
            (Op::Send, 0) => {
                next.room.request(task, 1);
                next.advance(task, 1)
            }
            (Op::Send, _) if self.room.is_served(task) => {
                next.room.keep(task);
                next.messages.push(message(task, at));
                next.finish(task, 1)
            }
            (Op::Send, _) => vec![],
            (Op::Recv | Op::TryRecv, _) if !self.messages.is_empty() => {
                let message = next.messages.remove(0);
                next.room.add(1);
                next.finish(task, message)
            }
            (Op::Recv, _) => vec![],
            (Op::TryRecv, _) => next.finish(task, 0),
            (Op::NotifyOne, _) => {
                next.notify_one();
                next.finish(task, 0)
            }
            (Op::NotifyWaiters, _) => {
                next.calls += 1;
                let waits = std::mem::take(&mut next.waits);
                next.notified
                    .extend(waits.into_iter().map(|one| (one, false)));
                next.finish(task, 0)
            }
            // A call of `notify_waiters` counts if it comes after the call of `notified`.
            (Op::Wait | Op::Either, 0) => {
                next.tasks[task].remembered = self.calls;
                next.advance(task, 1)
            }
            (Op::Wait | Op::Either, 1) if self.left => {
                next.left = false;
                next.finish(task, 2)
            }
            (Op::Wait | Op::Either, 1) if self.calls != self.tasks[task].remembered => {
                next.finish(task, 2)
            }
            (Op::Wait | Op::Either, 1) => {
                next.waits.push(task);
                next.advance(task, 2)
            }
            (Op::Wait, _) => match self.notification_of(task) {
                Some(_) => {
                    next.notified.retain(|(one, _)| *one != task);
                    next.finish(task, 2)
                }
                None => vec![],
            },
            // The task looks at the semaphore, and then waits for the notification or a permit.
            (Op::Either, 2) if self.semaphore.closed => next.advance(task, 7),
            (Op::Either, 2) if self.semaphore.free > 0 => {
                next.semaphore.free -= 1;
                next.advance(task, 6)
            }
            (Op::Either, 2) => {
                next.semaphore.request(task, 1);
                next.advance(task, 3)
            }
            (Op::Either, 3) => {
                let notified = self.notification_of(task).is_some();
                let served = self.semaphore.is_served(task) || self.semaphore.closed;
                if notified || served {
                    next.advance(task, 4)
                } else {
                    vec![]
                }
            }
            (Op::Either, 4) => match self.notification_of(task) {
                Some(_) => {
                    next.notified.retain(|(one, _)| *one != task);
                    next.advance(task, 8)
                }
                None => next.advance(task, 5),
            },
            (Op::Either, 5) if self.semaphore.closed => {
                next.semaphore.leave(task);
                next.advance(task, 7)
            }
            (Op::Either, 5) if self.semaphore.is_served(task) => {
                next.semaphore.keep(task);
                next.advance(task, 6)
            }
            (Op::Either, 5) => next.advance(task, 3),
            (Op::Either, 6 | 7) => {
                next.stop_waiting(task);
                next.finish(task, if phase == 6 { 1 } else { -1 })
            }
            (Op::Either, _) => {
                next.semaphore.leave(task);
                next.finish(task, 2)
            }
        }
    }
}

/// Returns all results of the tasks, and whether they can deadlock.
pub fn run(program: &Program) -> (BTreeSet<Vec<Vec<i32>>>, bool) {
    let of = |free| Queue {
        free,
        ..Queue::default()
    };
    let start = State {
        tasks: vec![Task::default(); program.tasks.len()],
        semaphore: of(program.permits),
        mutex: of(1),
        number: 0,
        room: of(program.room),
        messages: vec![],
        left: false,
        waits: vec![],
        notified: vec![],
        calls: 0,
    };
    let (mut results, mut deadlock) = (BTreeSet::new(), false);
    let mut seen = HashSet::from([start.clone()]);
    let mut open = vec![start];
    while let Some(state) = open.pop() {
        let mut all_ended = true;
        let mut stuck = true;
        for (task, ops) in program.tasks.iter().enumerate() {
            let Some(&op) = ops.get(state.tasks[task].at) else {
                continue;
            };
            all_ended = false;
            for next in state.successors(task, op) {
                stuck = false;
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
        if all_ended {
            results.insert(state.tasks.into_iter().map(|task| task.results).collect());
        } else {
            deadlock |= stuck;
        }
    }
    (results, deadlock)
}
