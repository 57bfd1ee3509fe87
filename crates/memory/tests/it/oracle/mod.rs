//! An oracle: finds all consistent graphs of a small program by a different construction.
//!
//! A graph is extended in all ways: by the next read of any thread, from any write, and by the next
//! write of any thread, at any position in mo. Each extension is a new graph, and graphs with equal
//! keys are merged. The axioms are transcribed literally and checked on matrices. There are no
//! clocks, revisits or stamps.

pub mod axioms;
pub mod matrix;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use mazurka_memory::litmus::Litmus;
use mazurka_memory::{Action, Effect, Ending, Loc, Memory, MemoryOrder, Program, ThreadId, Value};

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    Read,
    Write,
    Fence,
    Spawn(usize),
    Join(usize),
    Choice,
    Decision,
}

impl EventKind {
    fn code(self) -> i64 {
        match self {
            Self::Read => 0,
            Self::Write => 1,
            Self::Fence => 2,
            Self::Spawn(_) => 3,
            Self::Join(_) => 4,
            Self::Choice => 5,
            Self::Decision => 6,
        }
    }
}

/// The name of an event: its thread, and its index in that thread.
pub type Name = (usize, usize);

/// An event.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub kind: EventKind,
    pub loc: Loc,
    pub order: MemoryOrder,
    pub value: Value,
    /// The write that a read reads from; `None` is the initial write.
    pub rf: Option<Name>,
    /// Whether it is a part of an update, or a failed update.
    pub locked: bool,
    /// Whether it is the write of an update; the event before it is the read.
    pub rmw: bool,
}

/// A graph.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub threads: Vec<Vec<Event>>,
    pub mo: BTreeMap<Loc, Vec<Name>>,
}

/// A key that equal graphs share; also computed for the engine's graphs.
pub type Key = Vec<i64>;

impl Graph {
    pub fn event(&self, (thread, index): Name) -> &Event {
        &self.threads[thread][index]
    }

    fn key(&self) -> Key {
        let mut key = Vec::new();
        let name = |key: &mut Key, name: Option<Name>| match name {
            Some((thread, index)) => key.extend([thread as i64, index as i64]),
            None => key.push(-1),
        };
        for (number, thread) in self.threads.iter().enumerate() {
            if !thread.is_empty() {
                key.extend([-2, number as i64]);
            }
            for event in thread {
                key.extend([event.kind.code(), i64::from(event.loc.0), event.value]);
                if event.kind == EventKind::Read {
                    name(&mut key, event.rf);
                }
            }
        }
        for (loc, mo) in self.mo.iter().filter(|(_, mo)| !mo.is_empty()) {
            key.extend([-3, i64::from(loc.0)]);
            mo.iter().for_each(|&write| name(&mut key, Some(write)));
        }
        key
    }

    /// Returns the value of a write, or the initial value if there is no write.
    fn value(&self, program: &Litmus, loc: Loc, write: Option<Name>) -> Value {
        match write {
            Some(write) => self.event(write).value,
            None => program.initial_value(loc),
        }
    }

    /// Returns the event that starts a thread, if there is one.
    fn spawn_of(&self, child: usize) -> Option<Name> {
        let all = self.threads.iter().enumerate();
        let mut all =
            all.flat_map(|(thread, events)| (0..events.len()).map(move |at| (thread, at)));
        all.find(|&name| self.event(name).kind == EventKind::Spawn(child))
    }

    /// For each thread, returns the number of its events that precede the current position of a
    /// given thread by po and rf.
    fn past(&self, thread: usize) -> Vec<usize> {
        let mut past = vec![0; self.threads.len()];
        let mut open = vec![(thread, self.threads[thread].len())];
        open.extend(self.spawn_of(thread).map(|(parent, at)| (parent, at + 1)));
        while let Some((thread, count)) = open.pop() {
            if past[thread] >= count {
                continue;
            }
            for event in &self.threads[thread][past[thread]..count] {
                open.extend(event.rf.map(|(other, at)| (other, at + 1)));
                if let EventKind::Join(child) = event.kind {
                    open.push((child, self.threads[child].len()));
                }
            }
            past[thread] = count;
            open.extend(self.spawn_of(thread).map(|(parent, at)| (parent, at + 1)));
        }
        past
    }

    /// Whether a false assumption happens before the current position of a thread.
    fn discards_before(&self, thread: usize, actions: &[Option<Action>]) -> bool {
        let past = self.past(thread);
        let discarded = (0..actions.len()).filter(|&at| actions[at] == Some(Action::Discard));
        let mut met =
            discarded.map(
                |other| match (self.threads[other].len(), self.spawn_of(other)) {
                    (0, None) => true,
                    (0, Some((parent, at))) => past[parent] > at,
                    (events, _) => past[other] >= events,
                },
            );
        met.any(|before| before)
    }

    fn writes(&self, loc: Loc) -> &[Name] {
        self.mo.get(&loc).map_or(&[], Vec::as_slice)
    }

    fn final_value(&self, program: &Litmus, loc: Loc) -> Value {
        self.value(program, loc, self.writes(loc).last().copied())
    }
}

/// Returns the key of a graph of the engine, without awaits that are stuck.
pub fn key_of(graph: &mazurka_memory::graph::Graph) -> Key {
    use mazurka_memory::graph::{Kind, Slot};
    let mut mine = Graph::default();
    let name = |slot: Slot| {
        let event = graph.event(slot);
        (event.thread.index(), event.index as usize)
    };
    for thread in (0..graph.threads()).map(ThreadId) {
        let events = graph.thread(thread).iter().map(|&slot| graph.event(slot));
        let events = events.filter(|event| event.kind != Kind::Stuck);
        let events = events.map(|event| {
            let other = event.loc.index();
            let (kind, loc) = match event.kind {
                Kind::Fence => (EventKind::Fence, Loc(0)),
                Kind::Spawn => (EventKind::Spawn(other), Loc(0)),
                Kind::Join => (EventKind::Join(other), Loc(0)),
                Kind::Choice => (EventKind::Choice, Loc(0)),
                Kind::Decision => (EventKind::Decision, event.loc),
                kind if kind.is_read() => (EventKind::Read, event.loc),
                _ => (EventKind::Write, event.loc),
            };
            let reads = kind == EventKind::Read && event.rf != Slot::INITIAL;
            Event {
                kind,
                loc,
                order: event.order,
                value: event.value,
                rf: reads.then(|| name(event.rf)),
                locked: false,
                rmw: false,
            }
        });
        mine.threads.push(events.collect());
    }
    for loc in (0..graph.locations()).map(Loc) {
        let mo = graph.mo(loc).iter().map(|&slot| name(slot));
        mine.mo.insert(loc, mo.collect());
    }
    mine.key()
}

/// The oracle's answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The ends of executions: the code of the ending ([`code`]), and the key of the graph. Blocked
    /// ones are left out, because they depend on the engine.
    pub ends: BTreeSet<(u8, Key)>,
    /// Whether there is a data race. Then the ends are incomplete.
    pub races: bool,
    /// The failures of threads: the thread, and the number of the failure.
    pub failures: BTreeSet<(ThreadId, u32)>,
}

/// Returns a number for an ending, so that endings can be compared.
pub fn code(ending: Ending) -> u8 {
    match ending {
        Ending::Complete => 0,
        Ending::Deadlock => 1,
        Ending::Discarded => 2,
        Ending::Failed => 3,
        Ending::Blocked => 4,
        Ending::Race => 5,
    }
}

/// The error that a program is too large for the oracle.
#[derive(Debug)]
pub struct TooLarge;

struct Oracle<'a> {
    program: Litmus,
    memory: Memory,
    most: usize,
    /// Whether the axioms are checked on each graph, or only on those at the end.
    early: bool,
    known: HashSet<Key>,
    open: Vec<Graph>,
    answer: &'a mut Answer,
}

/// Returns all ends of a program, if the oracle visits at most `most` graphs.
pub fn ends(
    program: &Litmus,
    memory: Memory,
    most: usize,
    early: bool,
) -> Result<Answer, TooLarge> {
    let mut answer = Answer::default();
    let mut program = program.clone();
    program.rewind(&mut vec![0; program.code().len()]);
    let threads = program.code().len();
    let mut oracle = Oracle {
        program,
        memory,
        most,
        early,
        known: HashSet::new(),
        open: vec![Graph {
            threads: vec![Vec::new(); threads],
            mo: BTreeMap::new(),
        }],
        answer: &mut answer,
    };
    while let Some(graph) = oracle.open.pop() {
        oracle.grow(&graph)?;
    }
    Ok(answer)
}

impl Oracle<'_> {
    /// Returns the next action of each thread in a graph.
    fn actions(&mut self, graph: &Graph) -> Vec<Option<Action>> {
        let threads = graph.threads.len();
        self.program.rewind(&mut vec![0; threads]);
        let initial = self.program.initial_threads() as usize;
        let mut spawned: BTreeSet<usize> = (0..initial).collect();
        for event in graph.threads.iter().flatten() {
            if let EventKind::Spawn(child) = event.kind {
                spawned.insert(child);
            }
        }
        let mut actions = Vec::new();
        for (thread, events) in graph.threads.iter().enumerate() {
            let id = ThreadId(thread as u32);
            for (at, event) in events.iter().enumerate() {
                if events.get(at + 1).is_some_and(|next| next.rmw) {
                    continue;
                }
                let value = match event.kind {
                    _ if event.rmw => events[at - 1].value,
                    EventKind::Read | EventKind::Choice | EventKind::Decision => event.value,
                    _ => 0,
                };
                self.program.answer(id, value);
            }
            let started = spawned.contains(&thread);
            actions.push(started.then(|| self.program.pending(id)));
        }
        actions
    }

    fn grow(&mut self, graph: &Graph) -> Result<(), TooLarge> {
        let actions = self.actions(graph);
        let mut waits = false;
        let mut reads = Vec::new();
        let (mut discarded, mut failed) = (false, false);
        for (thread, action) in actions.iter().enumerate() {
            let Some(action) = *action else {
                continue;
            };
            match action {
                Action::End => {}
                Action::Discard => discarded = true,
                Action::Fail(code) => {
                    failed = true;
                    let id = ThreadId(thread as u32);
                    if !graph.discards_before(thread, &actions) {
                        self.answer.failures.insert((id, code));
                    }
                }
                Action::Join { child } if actions[child.index()] != Some(Action::End) => {
                    waits = true;
                }
                Action::Read { .. } => reads.push((thread, action, false)),
                Action::Update { loc, .. } | Action::Await { loc, .. } | Action::Lock { loc } => {
                    let last = graph.final_value(&self.program, loc);
                    let stuck = self.effect(thread, action, last) == Effect::Wait;
                    reads.push((thread, action, stuck));
                }
                // The actions of other threads do not affect this action, so it is made first and
                // alone.
                _ => return self.act(graph, thread, action),
            }
        }
        if reads.iter().all(|read| read.2) {
            let ending = match (discarded, failed, waits || !reads.is_empty()) {
                (true, ..) => Ending::Discarded,
                (_, true, _) => Ending::Failed,
                (.., true) => Ending::Deadlock,
                _ => Ending::Complete,
            };
            self.answer.races |= self.stuck_reads_race(graph, &reads);
            if self.early || axioms::hold(graph, self.memory) {
                self.answer.ends.insert((code(ending), graph.key()));
            }
        }
        for (thread, action, _) in reads {
            self.read(graph, thread, action)?;
        }
        Ok(())
    }

    /// Whether the reads of awaits that are stuck for ever race. Each has read the last write of
    /// its location.
    fn stuck_reads_race(&self, graph: &Graph, stuck: &[(usize, Action, bool)]) -> bool {
        let mut graph = graph.clone();
        for &(thread, action, _) in stuck {
            let (Action::Await { loc, order }
            | Action::Update {
                loc,
                failure: order,
                ..
            }) = action
            else {
                continue;
            };
            let rf = graph.writes(loc).last().copied();
            graph.threads[thread].push(Event {
                kind: EventKind::Read,
                loc,
                order,
                value: 0,
                rf,
                locked: false,
                rmw: false,
            });
        }
        self.memory == Memory::Rc11 && axioms::races(&graph)
    }

    fn effect(&self, thread: usize, action: Action, value: Value) -> Effect {
        match (action, value) {
            (Action::Lock { .. }, 0) => Effect::Write(1),
            (Action::Lock { .. }, _) => Effect::Wait,
            (Action::Read { .. }, _) => Effect::Keep,
            _ => self.program.clone().modify(ThreadId(thread as u32), value),
        }
    }

    /// Makes an action that reads nothing.
    fn act(&mut self, graph: &Graph, thread: usize, action: Action) -> Result<(), TooLarge> {
        let event = |kind| Event {
            kind,
            loc: Loc(0),
            order: MemoryOrder::Relaxed,
            value: 0,
            rf: None,
            locked: false,
            rmw: false,
        };
        let (loc, order, value) = match action {
            Action::Write { loc, order, value } => (loc, order, value),
            Action::Unlock { loc } => (loc, MemoryOrder::Release, 0),
            Action::Choice { outcomes } => {
                for value in 0..i64::from(outcomes) {
                    let choice = event(EventKind::Choice);
                    self.add(graph, thread, &[Event { value, ..choice }], None)?;
                }
                return Ok(());
            }
            Action::Decide { question } => {
                let mut decision = event(EventKind::Decision);
                decision.loc = Loc(question);
                for value in 0..4 {
                    decision.value = value;
                    if self.is_possible(graph, &decision) {
                        self.add(graph, thread, &[decision], None)?;
                    }
                }
                return Ok(());
            }
            Action::Fence { order } => {
                let fence = event(EventKind::Fence);
                return self.add(graph, thread, &[Event { order, ..fence }], None);
            }
            Action::Spawn { child } => {
                return self.add(
                    graph,
                    thread,
                    &[event(EventKind::Spawn(child.index()))],
                    None,
                );
            }
            Action::Join { child } => {
                return self.add(
                    graph,
                    thread,
                    &[event(EventKind::Join(child.index()))],
                    None,
                );
            }
            _ => unreachable!("{action:?}"),
        };
        let write = Event {
            loc,
            order,
            value,
            ..event(EventKind::Write)
        };
        for place in 0..=graph.writes(loc).len() {
            self.add(graph, thread, &[write], Some(place))?;
        }
        Ok(())
    }

    /// Whether some number below 8 gives all decisions their outcomes.
    fn is_possible(&self, graph: &Graph, decision: &Event) -> bool {
        let outcome = |question: u32, number: u32| match question {
            0 => number % 2,
            1 => number / 2 % 2,
            2 => number / 4,
            3 => number % 4,
            4 => number / 2,
            _ => number / 4,
        };
        let decisions = graph.threads.iter().flatten();
        let decisions = decisions.filter(|event| event.kind == EventKind::Decision);
        let decisions: Vec<&Event> = decisions.chain([decision]).collect();
        let fits = |number: u32| {
            let mut decisions = decisions.iter();
            decisions.all(|it| i64::from(outcome(it.loc.0, number)) == it.value)
        };
        (0..8).any(fits)
    }

    /// Makes an action that reads, from every write.
    fn read(&mut self, graph: &Graph, thread: usize, action: Action) -> Result<(), TooLarge> {
        let (loc, order, failure, update) = match action {
            Action::Read { loc, order } | Action::Await { loc, order } => {
                (loc, order, order, false)
            }
            Action::Update {
                loc,
                order,
                failure,
            } => (loc, order, failure, true),
            Action::Lock { loc } => (loc, MemoryOrder::Acquire, MemoryOrder::Acquire, true),
            _ => unreachable!("{action:?}"),
        };
        // An earlier extension may have left the threads in the states of another graph.
        self.actions(graph);
        for place in 0..=graph.writes(loc).len() {
            let rf = place.checked_sub(1).map(|at| graph.writes(loc)[at]);
            let value = graph.value(&self.program, loc, rf);
            let read = Event {
                kind: EventKind::Read,
                loc,
                order,
                value,
                rf,
                locked: update,
                rmw: false,
            };
            match self.effect(thread, action, value) {
                Effect::Wait => {}
                Effect::Keep => {
                    let order = failure;
                    self.add(graph, thread, &[Event { order, ..read }], None)?;
                }
                Effect::Write(value) => {
                    let kind = EventKind::Write;
                    let write = Event {
                        kind,
                        value,
                        rf: None,
                        rmw: true,
                        ..read
                    };
                    // At any position: atomicity is an axiom.
                    for place in 0..=graph.writes(loc).len() {
                        self.add(graph, thread, &[read, write], Some(place))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds events; the last one gets a position in mo.
    fn add(
        &mut self,
        graph: &Graph,
        thread: usize,
        events: &[Event],
        place: Option<usize>,
    ) -> Result<(), TooLarge> {
        let mut graph = graph.clone();
        graph.threads[thread].extend(events);
        if let Some(place) = place {
            let loc = events[events.len() - 1].loc;
            let name = (thread, graph.threads[thread].len() - 1);
            graph.mo.entry(loc).or_default().insert(place, name);
        }
        if self.early && !axioms::hold(&graph, self.memory) {
            return Ok(());
        }
        if self.memory == Memory::Rc11 && axioms::races(&graph) {
            self.answer.races = true;
            return Ok(());
        }
        if self.known.insert(graph.key()) {
            self.open.push(graph);
        }
        if self.known.len() > self.most {
            Err(TooLarge)
        } else {
            Ok(())
        }
    }
}
