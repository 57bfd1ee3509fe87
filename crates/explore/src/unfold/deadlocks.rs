//! Finds deadlocks in the net, without running the program.
//!
//! Thesis, section 6.3 (Fig. 6.4 and 6.5), for every kind of wait: locks, locks that are never
//! released, guards and joins. In a deadlock each process has ended or is at a closed extension,
//! that is, at a next step that is not possible. The search takes a closed extension and finds the
//! process that it waits for. It decides where that process stops, then where the process stops for
//! which the stopped process waits, and so on. The decisions must be reachable together, and the
//! conditions that processes wait for must not change. So the search finds a cycle of locks by
//! following it: the holder of a lock cannot go beyond the point where it releases the lock. When
//! the cycle is closed, the other processes are followed to all the states where they can stop.
//!
//! | thesis | here |
//! |---|---|
//! | FINDNEXT(c) | [`Search::stops`] |
//! | coSet | `clock`, and `kept`: conditions that must stay |
//! | wants(c) ∈ holds(a) | the condition that is waited for was made by a |
//!
//! Deviations. The thesis stops at the cycle; here each complete deadlocked execution is reported,
//! so that they can be counted. The search starts with the first waiting process, and all processes
//! before it must have ended: otherwise the deadlock would be found once for each waiting process.
//!
//! With inputs a step may *stay*: it decides a condition, and then must wait for the end of a
//! process. Such an event must come before that end, but the net does not order the two. To order
//! them, each event that may end its process would have to claim the end, and only when a step has
//! been made is it known whether it ends its process. In a replicated net the end would also have
//! to be distinguished by the stays before it. So where conditions decide, the callers run each
//! deadlock, and discard it if the run is not deadlocked.

use std::ops::ControlFlow;

use mazurka_core::{Bound, ProcessId, Status};
use rustc_hash::{FxHashMap, FxHashSet};

use super::configuration::Examiner;
use super::net::{NONE, Net, Phase, Place};

/// Returns the threads at which the processes `waiting` wait after some events, in the order of
/// `waiting`.
pub(crate) fn stuck(net: &Net, events: &[u32], waiting: &[ProcessId]) -> Vec<u32> {
    let made = |event: u32| {
        let node = net.event(event);
        node.thread..node.thread + node.thread_count
    };
    // The threads of the initial processes come before the threads that events make.
    let first = net.events.first().map(|event| event.thread);
    let first = 0..first.unwrap_or(net.threads.len() as u32);
    let mut now: FxHashMap<ProcessId, u32> = FxHashMap::default();
    for thread in first.chain(events.iter().flat_map(|&event| made(event))) {
        now.insert(net.thread(thread).process, thread);
    }
    waiting
        .iter()
        .filter_map(|process| now.get(process).copied())
        .collect()
}

/// Receives the results of a search, and may stop it.
pub(crate) trait Hunter {
    /// Receives the clock of a deadlocked execution.
    fn found(&mut self, clock: Vec<u32>) -> ControlFlow<Bound>;

    /// Called at every step of the search. May stop it.
    fn tick(&mut self) -> ControlFlow<Bound>;
}

/// Finds every deadlocked execution that a net represents.
pub(crate) fn search(
    net: &Net,
    examiner: &mut Examiner,
    hunter: &mut dyn Hunter,
) -> ControlFlow<Bound> {
    let mut search = Search {
        net,
        examiner,
        hunter,
        children: children(net),
        births: births(net),
        reported: FxHashSet::default(),
    };
    for extension in 0..net.extensions.len() as u32 {
        if net.extension(extension).phase == Phase::Closed {
            let process = net.thread(net.extension(extension).thread).process;
            let mut at = Position {
                clock: Vec::new(),
                kept: Vec::new(),
                decided: Vec::new(),
                first: process,
            };
            if search.stop_at(&mut at, extension) {
                search.decide(&at)?;
            }
        }
    }
    ControlFlow::Continue(())
}

/// The decisions so far.
#[derive(Clone, Debug)]
struct Position {
    clock: Vec<u32>,
    /// Conditions that must not change, because a process waits until they do.
    kept: Vec<u32>,
    /// For each process, the thread at which it stops; `NONE` if not decided.
    decided: Vec<u32>,
    /// The first waiting process.
    first: ProcessId,
}

struct Search<'a> {
    net: &'a Net,
    examiner: &'a mut Examiner,
    hunter: &'a mut dyn Hunter,
    /// For each thread, the events that continue it: the start of each thread's range, and the list
    /// of events.
    children: (Vec<u32>, Vec<u32>),
    /// For each process, the threads at which it starts.
    births: Vec<Vec<u32>>,
    /// The clocks of the deadlocks that were reported.
    reported: FxHashSet<Vec<u32>>,
}

/// Returns the events that continue each thread: the start of each thread's range, and the list of
/// events.
fn children(net: &Net) -> (Vec<u32>, Vec<u32>) {
    let thread = |event: u32| net.extension(net.event(event).extension).thread as usize;
    let mut starts = vec![0; net.threads.len() + 1];
    for event in 0..net.events.len() as u32 {
        starts[thread(event) + 1] += 1;
    }
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    let mut next = starts.clone();
    let mut events = vec![0; net.events.len()];
    for event in 0..net.events.len() as u32 {
        let place = &mut next[thread(event)];
        events[*place as usize] = event;
        *place += 1;
    }
    (starts, events)
}

fn births(net: &Net) -> Vec<Vec<u32>> {
    let mut births: Vec<Vec<u32>> = Vec::new();
    for (number, thread) in net.threads.iter().enumerate() {
        if thread.last == NONE {
            let process = thread.process.index();
            if births.len() <= process {
                births.resize(process + 1, Vec::new());
            }
            births[process].push(number as u32);
        }
    }
    births
}

impl Search<'_> {
    /// Decides that a process waits at an extension for ever. Returns false if it cannot.
    fn stop_at(&mut self, at: &mut Position, extension: u32) -> bool {
        let net = self.net;
        let thread = net.extension(extension).thread;
        if !net.join(&mut at.clock, net.past(extension)) {
            return false;
        }
        let inputs = net.preset(extension).iter();
        at.kept.extend(inputs.map(|input| input.condition));
        self.settle(at, thread)
    }

    /// Decides that a process stops at a thread. Returns false if it cannot.
    fn settle(&mut self, at: &mut Position, thread: u32) -> bool {
        let process = self.net.thread(thread).process;
        super::net::set(&mut at.decided, process, thread);
        self.possible(at)
    }

    /// Whether all decisions are possible together.
    fn possible(&mut self, at: &Position) -> bool {
        let stopped = at.decided.iter().enumerate().all(|(process, &thread)| {
            thread == NONE || {
                let last = at.clock.get(process).copied().unwrap_or(NONE);
                last == self.net.thread(thread).last
            }
        });
        stopped && self.examiner.reaches(self.net, &at.clock, &at.kept)
    }

    /// Decides where the remaining processes stop.
    fn decide(&mut self, at: &Position) -> ControlFlow<Bound> {
        self.hunter.tick()?;
        let Some(thread) = self.next(at) else {
            let mut clock = at.clock.clone();
            while clock.last() == Some(&NONE) {
                clock.pop();
            }
            return if self.reported.insert(clock.clone()) {
                self.hunter.found(clock)
            } else {
                ControlFlow::Continue(())
            };
        };
        self.stops(at, thread)
    }

    /// Returns the current thread of an undecided process, preferably one that another process
    /// waits for.
    fn next(&self, at: &Position) -> Option<u32> {
        let decided = |process: ProcessId| {
            let thread = at.decided.get(process.index());
            thread.is_some_and(|&thread| thread != NONE)
        };
        let holder = |&condition: &u32| {
            let condition = self.net.condition(condition);
            let process = match self.net.places[condition.place as usize] {
                Place::End(process) => process,
                Place::Cell(_) if condition.producer == NONE => return None,
                Place::Cell(_) => self.net.event(condition.producer).process,
            };
            (!decided(process)).then(|| self.thread(at, process))?
        };
        let all = (0..self.births.len() as u32).map(ProcessId);
        at.kept.iter().find_map(holder).or_else(|| {
            let mut left = all.filter(|&process| !decided(process));
            left.find_map(|process| self.thread(at, process))
        })
    }

    /// Returns the thread of a process after the decisions so far, if it has been started.
    fn thread(&self, at: &Position, process: ProcessId) -> Option<u32> {
        match at.clock.get(process.index()).copied().unwrap_or(NONE) {
            NONE => {
                let births = self.births.get(process.index())?.iter().copied();
                let mut there = births.filter(|&birth| {
                    let origin = self.net.thread(birth).origin;
                    origin == NONE || {
                        let parent = self.net.event(origin).process;
                        let last = at.clock.get(parent.index()).copied().unwrap_or(NONE);
                        last != NONE && self.net.is_at_or_after(last, origin)
                    }
                });
                there.next()
            }
            last => Some(self.net.event(last).thread),
        }
    }

    /// Follows a process to all states where it can stop.
    fn stops(&mut self, at: &Position, thread: u32) -> ControlFlow<Bound> {
        let net = self.net;
        let process = net.thread(thread).process;
        let mut left = vec![(thread, at.clone())];
        while let Some((thread, here)) = left.pop() {
            self.hunter.tick()?;
            if net.thread(thread).status == Status::Ended {
                let mut next = here.clone();
                if self.settle(&mut next, thread) {
                    self.decide(&next)?;
                }
                continue;
            }
            if process > at.first {
                for extension in net.extensions_of(thread) {
                    if net.extension(extension).phase == Phase::Closed {
                        let mut next = here.clone();
                        if self.stop_at(&mut next, extension) {
                            self.decide(&next)?;
                        }
                    }
                }
            }
            let starts = &self.children.0;
            let range = starts[thread as usize] as usize..starts[thread as usize + 1] as usize;
            for at in range {
                let event = self.children.1[at];
                let mut next = here.clone();
                if net.join_event(&mut next.clock, event) && self.possible(&next) {
                    left.push((net.event(event).thread, next));
                }
            }
        }
        ControlFlow::Continue(())
    }
}
