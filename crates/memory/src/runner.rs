//! Keeps the program in step with the graph.
//!
//! The graph changes throughout the search: events are added, revisits remove some, and
//! backtracking restores others. The program follows only when it is needed: threads whose events
//! have changed are taken back and answered again.

use crate::graph::{Event, Graph, Kind, Slot};
use crate::program::{Action, Decision, Effect, Known, Loc, Program, ThreadId, Value};

/// A program, and how far each of its threads has run.
#[derive(Debug)]
pub(crate) struct Runner<P> {
    program: P,
    /// For each thread, the number of its events that the program has made.
    made: Vec<u32>,
    /// For each thread, its next action, if its events have not changed since.
    actions: Vec<Option<Action>>,
    /// Threads to run, each with the number of events that it must have made afterwards.
    open: Vec<(ThreadId, u32)>,
    /// For each thread, the number of answers to keep, while threads are taken back.
    answers: Vec<u32>,
    /// Accesses that a thread makes again.
    known: Vec<Known>,
    /// Number of answers that the program has got.
    answered: u64,
    /// For each location: of the writes that the program has made, the last in mo, and its value.
    last: (Vec<Slot>, Vec<Option<Value>>),
    /// Whether the current execution has ended in a race.
    races: bool,
}

impl<P: Program> Runner<P> {
    pub(crate) fn new(program: P) -> Self {
        Self {
            program,
            made: Vec::new(),
            actions: Vec::new(),
            open: Vec::new(),
            answers: Vec::new(),
            known: Vec::new(),
            answered: 0,
            last: Default::default(),
            races: false,
        }
    }

    pub(crate) fn initial_threads(&self) -> u32 {
        self.program.initial_threads()
    }

    /// Returns the number of answers that the program has got, including those of repeated runs.
    #[inline]
    pub(crate) fn answered(&self) -> u64 {
        self.answered
    }

    pub(crate) fn initial_value(&self, loc: Loc) -> Value {
        self.program.initial_value(loc)
    }

    /// Returns the reason why the program has given up, if it has.
    #[inline]
    pub(crate) fn gives_up(&self) -> Option<u32> {
        self.program.gives_up()
    }

    /// Reports to the program that a thread which is run again does not make the same steps; does
    /// nothing if the program has given up.
    pub(crate) fn report_difference(&mut self, thread: ThreadId) {
        if self.program.gives_up().is_none() {
            self.program.differs(thread);
        }
    }

    /// Returns the next action of a thread.
    #[inline]
    pub(crate) fn action(&mut self, graph: &mut Graph, thread: ThreadId) -> Action {
        self.know_threads(graph);
        if graph.take_changed(thread) {
            self.actions[thread.index()] = None;
        }
        match self.actions[thread.index()] {
            Some(action) => action,
            None => {
                self.catch_up(graph, thread);
                let action = self.program.pending(thread);
                self.actions[thread.index()] = Some(action);
                action
            }
        }
    }

    #[inline]
    fn know_threads(&mut self, graph: &Graph) {
        if self.actions.len() < graph.threads() as usize {
            self.actions.resize(graph.threads() as usize, None);
            self.made.resize(graph.threads() as usize, 0);
        }
    }

    /// Returns the effect of the pending update or await of a thread with a value. A program that
    /// stores values itself knows the values of all writes in the graph only if all threads have
    /// caught up.
    #[inline]
    pub(crate) fn modify(&mut self, graph: &mut Graph, thread: ThreadId, read: Value) -> Effect {
        if P::INDEPENDENT {
            self.catch_up(graph, thread)
        } else {
            _ = self.program(graph)
        }
        self.program.modify(thread, read)
    }

    /// Returns the first feasible outcome of a question, or the next one after another.
    pub(crate) fn decide(
        &mut self,
        made: &[Decision],
        question: u32,
        after: Option<Value>,
    ) -> Option<Value> {
        self.program.decide(made, question, after)
    }

    /// Returns the program, with all threads caught up with the graph.
    pub(crate) fn program(&mut self, graph: &mut Graph) -> &mut P {
        self.know_threads(graph);
        for thread in (0..graph.threads()).map(ThreadId) {
            self.catch_up(graph, thread);
        }
        &mut self.program
    }

    /// Takes back the threads whose events have changed.
    fn take_back(&mut self, graph: &mut Graph) {
        if !graph.take_dirty() {
            return;
        }
        let mut stale = false;
        for at in 0..self.made.len() {
            let intact = graph.take_intact(ThreadId(at as u32));
            stale |= self.made[at] > intact;
            self.made[at] = self.made[at].min(intact);
        }
        if !stale {
            return;
        }
        self.answers.clear();
        for (at, &made) in self.made.iter().enumerate() {
            let events = graph.thread(ThreadId(at as u32));
            let last = (made as usize).checked_sub(1).map(|last| events[last]);
            let answers = last.map_or(0, |last| graph.event(last).answers);
            self.answers.push(answers);
        }
        if !P::INDEPENDENT {
            if !std::mem::take(&mut self.races) {
                self.program.leave(&self.last.1);
            }
            self.last.0.clear();
            self.last.1.clear();
        }
        self.program.rewind(&mut self.answers);
        for (at, &answers) in self.answers.iter().enumerate() {
            let events = graph.thread(ThreadId(at as u32));
            // The read of an update counts as made only together with its write: the update can
            // only be repeated after the write that it reads from.
            let is_made = |count: u32| {
                let event = graph.event(events[count as usize - 1]);
                event.answers <= answers && !event.kind.reads_exclusively()
            };
            let made = &mut self.made[at];
            while *made > 0 && !is_made(*made) {
                *made -= 1;
            }
        }
    }

    /// Records that the execution has ended in a race.
    pub(crate) fn note_race(&mut self) {
        self.races = true;
    }

    /// Records a write that the program makes.
    fn note_write(&mut self, graph: &Graph, slot: Slot) {
        let event = graph.event(slot);
        let (slots, values) = &mut self.last;
        if slots.len() <= event.loc.index() {
            slots.resize(event.loc.index() + 1, Slot::NONE);
            values.resize(event.loc.index() + 1, None);
        }
        let last = &mut slots[event.loc.index()];
        if *last == Slot::NONE || graph.event(*last).position < event.position {
            *last = slot;
            values[event.loc.index()] = Some(event.value);
        }
    }

    /// Runs a thread until it has caught up with the graph.
    fn catch_up(&mut self, graph: &mut Graph, thread: ThreadId) {
        self.take_back(graph);
        // An update that has only read has neither a write nor an answer yet.
        let all = graph.thread(thread).len() as u32;
        let started = || {
            let spawn = graph.spawn_of(thread).map(|spawn| graph.event(spawn));
            spawn.is_none_or(|spawn| self.made[spawn.thread.index()] > spawn.index)
        };
        if self.made[thread.index()] == all && (all > 0 || started()) {
            return;
        }
        if P::INDEPENDENT {
            self.run(graph, thread, all);
            return;
        }
        self.open.push((thread, all));
        if let Some(spawn) = graph.spawn_of(thread) {
            let spawn = graph.event(spawn);
            self.open.push((spawn.thread, spawn.index + 1));
        }
        while let Some(&(thread, count)) = self.open.last() {
            let made = self.made[thread.index()];
            let events = graph.thread(thread);
            let mut end = made;
            let mut next = None;
            while end < count && next.is_none() {
                next = self.needed(graph, graph.event(events[end as usize]));
                end += u32::from(next.is_none());
            }
            if end > made {
                self.run(graph, thread, end);
            }
            match next {
                Some(next) => self.open.push(next),
                None => _ = self.open.pop(),
            }
        }
    }

    /// Returns a thread that must run further before an event can be made, and the number of events
    /// that this thread must have made.
    #[inline]
    fn needed(&self, graph: &Graph, event: &Event) -> Option<(ThreadId, u32)> {
        let missing = |slot: Slot| {
            let before = graph.event(slot);
            let (thread, count) = (before.thread, before.index + 1);
            let made = thread == event.thread || self.made[thread.index()] >= count;
            (!made).then_some((thread, count))
        };
        if event.index == 0
            && let Some(needed) = graph.spawn_of(event.thread).and_then(missing)
        {
            return Some(needed);
        }
        if event.kind.is_read() && event.rf != Slot::INITIAL {
            return missing(event.rf);
        }
        match event.kind {
            Kind::Join => graph.tip(ThreadId(event.loc.0)).and_then(missing),
            _ => None,
        }
    }

    /// Answers a thread until it has made `count` events.
    fn run(&mut self, graph: &Graph, thread: ThreadId, count: u32) {
        let made = self.made[thread.index()];
        let mut last = None;
        for &slot in &graph.thread(thread)[made as usize..count as usize] {
            let event = graph.event(slot);
            if !P::INDEPENDENT && event.kind.is_write() {
                self.note_write(graph, slot);
            }
            last = Some(event);
            let value = match event.kind {
                Kind::UpdateRead | Kind::LockRead | Kind::Stuck => continue,
                Kind::UpdateWrite => {
                    let read = graph.before(event).expect("an update reads first");
                    graph.event(read).value
                }
                Kind::Choice | Kind::Decision => event.value,
                kind if kind.is_read() => event.value,
                _ => 0,
            };
            if P::INDEPENDENT {
                self.program.answer(thread, value)
            } else {
                self.known.push(Known::new(event, value))
            }
        }
        if !P::INDEPENDENT {
            self.program.answer_again(thread, &self.known);
            self.known.clear();
            if let Some(event) = last {
                self.check_unfinished(thread, event);
            }
        }
        self.answered += u64::from(count - made);
        self.made[thread.index()] = count;
    }

    /// Checks an event that its thread does not complete: the read of an update or lock, or a stuck
    /// read. The next action of the thread must be the access of this event.
    fn check_unfinished(&mut self, thread: ThreadId, event: &Event) {
        if !matches!(event.kind, Kind::UpdateRead | Kind::LockRead | Kind::Stuck) {
            return;
        }
        if !Known::new(event, event.value).fits(self.program.pending(thread)) {
            return self.program.differs(thread);
        }
        if event.kind == Kind::UpdateRead {
            // With the value read, the program computes the value to write.
            self.program.modify(thread, event.value);
        }
    }
}
