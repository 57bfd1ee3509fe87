//! The check and the construction of a tree of executions that contains every trace.
//!
//! `docs/proofs/certificates.md` proves that the conditions suffice. In short: T is an ordered tree
//! of steps from the initial state. sleep(root) = ∅. The candidates for sleep(E·p) are the
//! processes in sleep(E) and the processes of the children of E before p. A candidate is in
//! sleep(E·p) if its next step is independent of the step of p. T contains every trace if
//!
//! 1. every leaf has no ready process outside its sleep set;
//! 2. (a) for each race between an event e after E and a later event e', whose step need not wait
//!    for a condition, an initial of notdep(e)·e' is in children(E) ∪ sleep(E). Two acquisitions of
//!    one lock race if nothing else orders them and no third acquisition is between them. At the
//!    end of the run, the second may be an acquisition that a process still waits for;
//! 3. (b) if e conflicts with a later step of another process that may wait for a condition, all
//!    ready processes are in children(E) ∪ sleep(E). The later step is made in the run, or its
//!    process still waits for it at the end;
//! 4. (c) the children of one process are adjacent and have all outcomes of its step;
//! 5. no child sleeps.
//!
//! | in the proof | here |
//! |---|---|
//! | E, sleep(E), children(E) | [`RunState`] |
//! | e, happens-before | [`Event`], its `clock` |
//! | notdep(e)·e', its initials | [`TreeWalk::initials`] |
//! | obligations of E by (a) and (b) | [`RunState::obligations`], [`RunState::requires_all`] |
//!
//! The walk visits the tree in order and keeps the nodes of one run. The obligations of a node are
//! recorded at the node, and checked after its last child.

use std::collections::HashMap;
use std::rc::Rc;

use mazurka_lang::flat::Op;

use crate::claims::{NextStep, Steps, Wait};
use crate::format::{Reader, put, put_signed};
use crate::machine::{Choice, Life, Machine, MadeStep, Mishap, Obstacle, Process, State};
use crate::{Facts, Rejected, STEPS_PER_CHECK};

/// Limit on the size of the states of one run together, counted in the numbers that they store.
const MOST_NUMBERS: usize = 1 << 28;

/// A child of a node: a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub process: Process,
    pub outcomes: Vec<i64>,
}

/// A state of the current run, with the data of its node in the tree.
pub(crate) struct RunState {
    state: State,
    sleep: Vec<Process>,
    /// The processes of the children so far.
    children: Vec<Process>,
    /// The choices of the steps of the last of these processes, one list for each child.
    choices: Vec<Vec<Choice>>,
    /// Sets of processes. At least one process of each set must be a child or sleep. No set
    /// contains another.
    obligations: Vec<Vec<Process>>,
    /// Whether all ready processes must be children or sleep.
    requires_all: bool,
}

impl RunState {
    fn new(state: State, sleep: Vec<Process>) -> Self {
        Self {
            state,
            sleep,
            children: Vec::new(),
            choices: Vec::new(),
            obligations: Vec::new(),
            requires_all: false,
        }
    }

    fn has(&self, process: Process) -> bool {
        self.children.contains(&process) || self.sleep.contains(&process)
    }

    fn is_unmet(&self, set: &[Process]) -> bool {
        !set.iter().any(|&process| self.has(process))
    }
}

/// An event of the current run.
struct Event {
    process: Process,
    /// Its index among the events of its process, from 1.
    number: u32,
    next: Rc<NextStep>,
    spawned: Vec<Process>,
    /// The locks that the event has actually acquired or released, not only claimed.
    locks: Vec<u32>,
    /// For each process, the number of its events that happen before this event. The number for its
    /// own process includes this event.
    clock: Vec<u32>,
    discarded: bool,
}

impl Event {
    /// Whether this event happens before the event with this clock.
    fn is_in(&self, clock: &[u32]) -> bool {
        clock
            .get(self.process as usize)
            .is_some_and(|&count| count >= self.number)
    }
}

impl Event {
    /// Whether a later step that conflicts with this event could have come before the event. The
    /// step did not have to wait, and has acquired or released `locks`. The result is false only if
    /// they conflict in nothing but locks that the step may release, and both have really acquired
    /// or released each of these locks.
    fn can_come_after(&self, next: &NextStep, locks: &[u32]) -> bool {
        let is_only_claimed = |lock: u32| {
            let touched_by_both = self.locks.contains(&lock) && locks.contains(&lock);
            self.next.takes(lock).is_some() && !touched_by_both
        };
        self.next.conflicts_beside_locks(next) || next.released().any(is_only_claimed)
    }
}

fn join(clock: &mut Vec<u32>, other: &[u32]) {
    if clock.len() < other.len() {
        clock.resize(other.len(), 0);
    }
    for (mine, theirs) in clock.iter_mut().zip(other) {
        *mine = (*mine).max(*theirs);
    }
}

/// A source of the children of nodes.
pub(crate) trait Children {
    /// Returns the next child.
    fn next(
        &mut self,
        machine: &mut Machine<'_>,
        node: &RunState,
    ) -> Result<Option<Edge>, Rejected>;
}

/// The children that the evidence lists.
pub(crate) struct RecordedChildren<'a>(pub Reader<'a>);

impl Children for RecordedChildren<'_> {
    fn next(&mut self, _: &mut Machine<'_>, _: &RunState) -> Result<Option<Edge>, Rejected> {
        // The ends of the last nodes are omitted.
        if self.0.rest.is_empty() {
            return Ok(None);
        }
        let head = self.0.number()?;
        if head == 0 {
            return Ok(None);
        }
        let process = (head >> 1)
            .checked_sub(1)
            .and_then(|number| Process::try_from(number).ok());
        let process = process.ok_or(Rejected::Malformed("a step of no process"))?;
        let outcomes = match head & 1 {
            0 => Vec::new(),
            _ => {
                let count = self.0.length()?;
                (0..count)
                    .map(|_| self.0.signed())
                    .collect::<Result<_, _>>()?
            }
        };
        Ok(Some(Edge { process, outcomes }))
    }
}

fn write(out: &mut Vec<u8>, edge: Option<&Edge>) {
    let Some(Edge { process, outcomes }) = edge else {
        return put(out, 0);
    };
    let head = (u64::from(*process) + 1) << 1;
    put(out, head | u64::from(!outcomes.is_empty()));
    if !outcomes.is_empty() {
        put(out, outcomes.len() as u64);
        outcomes
            .iter()
            .for_each(|&outcome| put_signed(out, outcome));
    }
}

/// Records the tree that any search walks.
///
/// ```
/// use mazurka_certificate::Tree;
/// let mut tree = Tree::new(2);
/// for order in [[0, 1], [1, 0]] {
///     for process in order {
///         tree.step(process, &[], &[]);
///     }
///     tree.back();
///     tree.back();
/// }
/// assert_eq!(tree.finish().len(), 8);
/// ```
#[derive(Clone, Debug)]
pub struct Tree {
    evidence: Vec<u8>,
    roots: u32,
    /// The numbers of processes in the evidence, by their numbers in the search.
    numbers: HashMap<u32, Process>,
}

impl Tree {
    /// Makes the tree of a program with this number of initial processes, without steps.
    pub fn new(roots: u32) -> Self {
        Self {
            evidence: Vec::new(),
            roots,
            numbers: HashMap::new(),
        }
    }

    /// Records a step of the search, with its outcomes and the processes that it starts.
    pub fn step(&mut self, process: u32, outcomes: &[i64], spawned: &[u32]) {
        let edge = Edge {
            process: self.number(process),
            outcomes: outcomes.to_vec(),
        };
        write(&mut self.evidence, Some(&edge));
        for &child in spawned {
            self.number(child);
        }
    }

    /// Records that the search takes back its last step.
    pub fn back(&mut self) {
        write(&mut self.evidence, None);
    }

    /// Returns the evidence.
    pub fn finish(self) -> Vec<u8> {
        self.evidence
    }

    /// Numbers processes in the order in which they are started.
    fn number(&mut self, process: u32) -> Process {
        if process < self.roots {
            return process;
        }
        let next = self.roots + self.numbers.len() as u32;
        *self.numbers.entry(process).or_insert(next)
    }
}

/// A source of exactly the children that a node needs: source sets, without optimisations.
pub(crate) struct TreeGrower;

impl Children for TreeGrower {
    fn next(
        &mut self,
        machine: &mut Machine<'_>,
        node: &RunState,
    ) -> Result<Option<Edge>, Rejected> {
        if let (Some(&process), Some(choices)) = (node.children.last(), node.choices.last()) {
            let more = choices
                .iter()
                .rposition(|choice| choice.value + 1 < choice.end);
            if let Some(at) = more {
                let mut outcomes: Vec<i64> = choices[..=at].iter().map(|one| one.value).collect();
                outcomes[at] += 1;
                return Ok(Some(Edge { process, outcomes }));
            }
        }
        let obligations = node.obligations.iter().find(|set| node.is_unmet(set));
        let candidates: Vec<Process> = match obligations {
            Some(set) => set.clone(),
            None if node.requires_all || node.children.is_empty() => node.state.alive().collect(),
            None => Vec::new(),
        };
        for process in candidates {
            let alive = node.state.life(process) == Life::Alive;
            if alive && !node.has(process) && ready(machine, &node.state, process)? {
                let outcomes = Vec::new();
                return Ok(Some(Edge { process, outcomes }));
            }
        }
        Ok(None)
    }
}

/// A source that follows a recorded tree and adds the missing children.
pub(crate) struct TreeMender<'a> {
    recorded: RecordedChildren<'a>,
    /// The number of nodes on the current path that the recorded tree does not contain.
    beyond: usize,
    /// Whether the last node on the path that the recorded tree contains has no more recorded
    /// children.
    exhausted: bool,
    /// The number of missing children.
    pub missing: u64,
    /// The number of recorded children that sleep.
    pub superfluous: u64,
}

impl<'a> TreeMender<'a> {
    pub fn new(evidence: &'a [u8]) -> Self {
        Self {
            recorded: RecordedChildren(Reader::new(evidence)),
            beyond: 0,
            exhausted: false,
            missing: 0,
            superfluous: 0,
        }
    }

    /// Skips the recorded subtree of the child that was read last.
    fn skip(&mut self, machine: &mut Machine<'_>, node: &RunState) -> Result<(), Rejected> {
        let mut open = 1u64;
        while open > 0 {
            match self.recorded.next(machine, node)? {
                Some(_) => open += 1,
                None => open -= 1,
            }
        }
        Ok(())
    }
}

impl Children for TreeMender<'_> {
    fn next(
        &mut self,
        machine: &mut Machine<'_>,
        node: &RunState,
    ) -> Result<Option<Edge>, Rejected> {
        if self.beyond == 0 && !self.exhausted {
            while let Some(edge) = self.recorded.next(machine, node)? {
                if !node.sleep.contains(&edge.process) {
                    return Ok(Some(edge));
                }
                // By the checker's claims, neither this child nor its subtree is needed.
                self.superfluous += 1;
                self.skip(machine, node)?;
            }
            self.exhausted = true;
        }
        let edge = TreeGrower.next(machine, node)?;
        match (&edge, self.beyond) {
            (Some(_), beyond) => {
                self.missing += u64::from(beyond == 0);
                self.beyond += 1;
            }
            (None, 0) => self.exhausted = false,
            (None, _) => self.beyond -= 1,
        }
        Ok(edge)
    }
}

fn ready(machine: &mut Machine<'_>, state: &State, process: Process) -> Result<bool, Rejected> {
    machine.is_ready(state, process).map_err(beyond)
}

fn beyond(obstacle: Obstacle) -> Rejected {
    match obstacle {
        Obstacle::Waits => Rejected::Tree("a step that has to wait"),
        Obstacle::NoSuchOutcome => Rejected::Tree("an outcome that its step does not have"),
        Obstacle::Beyond(why) => Rejected::Beyond(why),
    }
}

/// A walk through a tree. It holds the nodes and events of the current run, and the facts shown so
/// far.
pub(crate) struct TreeWalk<'w, 'a> {
    machine: &'w mut Machine<'a>,
    steps: Steps,
    ensures: Vec<&'a [Op]>,
    nodes: Vec<RunState>,
    events: Vec<Event>,
    /// The analysed next steps of processes. They depend only on the local state.
    nexts: Vec<Option<Rc<NextStep>>>,
    facts: Facts,
    first_result: Option<Vec<i64>>,
    /// Whether a false `assume` comes before the first step, so that all runs are discarded.
    all_discarded: bool,
}

impl<'w, 'a> TreeWalk<'w, 'a> {
    /// Makes a walk before its first step.
    pub fn new(machine: &'w mut Machine<'a>) -> Result<Self, Rejected> {
        let (state, made) = machine.start().map_err(beyond)?;
        let mut facts = Facts::default();
        let all_discarded = made.mishaps.contains(&Mishap::Discarded);
        if !all_discarded {
            facts.failures += made.mishaps.len() as u64;
        }
        let ensures = machine.flat.ensures().collect();
        Ok(Self {
            machine,
            steps: Steps::default(),
            ensures,
            nodes: vec![RunState::new(state, Vec::new())],
            events: Vec::new(),
            nexts: Vec::new(),
            facts,
            first_result: None,
            all_discarded,
        })
    }

    /// Walks the whole tree, and writes it to `out`.
    pub fn all(
        mut self,
        children: &mut dyn Children,
        out: &mut Vec<u8>,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Facts, Rejected> {
        while let Some(node) = self.nodes.last() {
            let edge = children.next(self.machine, node)?;
            write(out, edge.as_ref());
            match edge {
                Some(edge) => {
                    self.facts.steps += 1;
                    if self.facts.steps.is_multiple_of(STEPS_PER_CHECK) && !go_on() {
                        return Err(Rejected::Stopped);
                    }
                    self.enter(edge)?;
                }
                None => self.leave()?,
            }
        }
        Ok(self.facts)
    }

    /// Makes a step.
    fn enter(&mut self, edge: Edge) -> Result<(), Rejected> {
        let Edge { process, outcomes } = edge;
        let depth = self.events.len();
        if self.nodes[depth].state.life(process) != Life::Alive {
            return Err(Rejected::Tree("a step of a process that is not alive"));
        }
        if self.nodes[depth].sleep.contains(&process) {
            return Err(Rejected::Tree("a step of a process that sleeps"));
        }
        let next = self.next_of(process)?;
        let node = &self.nodes[depth];
        let mut state = node.state.clone();
        let numbers = state.cells.len() + 8 * state.threads.len();
        if numbers.saturating_mul(depth) > MOST_NUMBERS {
            return Err(Rejected::Beyond("its runs have too many states to be kept"));
        }
        let made = self
            .machine
            .step(&mut state, process, &outcomes)
            .map_err(beyond)?;
        let new = node.children.last() != Some(&process);
        if new {
            if node.children.contains(&process) {
                return Err(Rejected::Tree(
                    "children of one process that are not adjacent",
                ));
            }
            complete(&node.choices)?;
        }
        let sleep = self.sleep_after(depth, process, &next)?;
        let node = &mut self.nodes[depth];
        if new {
            node.children.push(process);
            node.choices.clear();
        }
        node.choices.push(made.choices.clone());
        self.add_event(process, next, &made);
        self.nodes.push(RunState::new(state, sleep));
        Ok(())
    }

    /// Returns the next step of a process after the last event.
    fn next_of(&mut self, process: Process) -> Result<Rc<NextStep>, Rejected> {
        let at = process as usize;
        if let Some(Some(next)) = self.nexts.get(at) {
            return Ok(Rc::clone(next));
        }
        let thread = &self.nodes[self.events.len()].state.threads[at];
        let next = self.steps.next(self.machine, thread).map_err(beyond)?;
        if self.nexts.len() <= at {
            self.nexts.resize(at + 1, None);
        }
        self.nexts[at] = Some(Rc::clone(&next));
        Ok(next)
    }

    /// Removes the analysed next steps of these processes, because they change.
    fn forget_next(&mut self, processes: impl Iterator<Item = Process>) {
        for process in processes {
            if let Some(next) = self.nexts.get_mut(process as usize) {
                *next = None;
            }
        }
    }

    /// Returns the processes that sleep after a step.
    fn sleep_after(
        &mut self,
        depth: usize,
        process: Process,
        next: &NextStep,
    ) -> Result<Vec<Process>, Rejected> {
        let node = &self.nodes[depth];
        let before = node.sleep.iter().chain(&node.children).copied();
        let before: Vec<Process> = before.filter(|&other| other != process).collect();
        let mut sleep = Vec::with_capacity(before.len());
        for other in before {
            if !self.next_of(other)?.conflicts(next) {
                sleep.push(other);
            }
        }
        Ok(sleep)
    }

    /// Returns the number of events of a process, and the clock of its last event. If it has no
    /// event yet, the clock is that of the event that started it, or empty for an initial process.
    fn past(&self, process: Process) -> (u32, Vec<u32>) {
        let own = self
            .events
            .iter()
            .rev()
            .find(|event| event.process == process);
        if let Some(event) = own {
            return (event.number, event.clock.clone());
        }
        let start = self
            .events
            .iter()
            .rev()
            .find(|event| event.spawned.contains(&process));
        (0, start.map_or(Vec::new(), |event| event.clock.clone()))
    }

    /// Adds an event, and records the obligations that arise from it.
    fn add_event(&mut self, process: Process, next: Rc<NextStep>, made: &MadeStep) {
        let (number, mut past) = self.past(process);
        for &joined in &made.joined {
            let last = self.past(joined).1;
            join(&mut past, &last);
        }
        let mut clock = past.clone();
        let mut races = Vec::new();
        for (at, event) in self.events.iter().enumerate().rev() {
            if event.process == process || !event.next.conflicts(&next) {
                continue;
            }
            if !event.is_in(&clock) {
                if next.wait == Wait::Free && event.can_come_after(&next, &made.locks) {
                    races.push(at);
                }
                join(&mut clock, &event.clock);
            }
        }
        for at in races {
            let set = self.initials(at, process, &clock);
            self.require_one_of(at, set);
        }
        self.wait(process, &next, &past);
        if clock.len() <= process as usize {
            clock.resize(process as usize + 1, 0);
        }
        clock[process as usize] = number + 1;
        let discarded = made.mishaps.contains(&Mishap::Discarded);
        if made.mishaps.contains(&Mishap::Failure) && !discarded && !self.all_discarded {
            let mut before = self.events.iter();
            let is_discarded_before = before.any(|event| event.discarded && event.is_in(&clock));
            self.facts.failures += u64::from(!is_discarded_before);
        }
        let born = made.spawned.iter().copied();
        self.forget_next(std::iter::once(process).chain(born));
        self.events.push(Event {
            process,
            number: number + 1,
            next,
            spawned: made.spawned.clone(),
            locks: made.locks.clone(),
            clock,
            discarded,
        });
    }

    /// Records the obligations of a step that may wait. The step is made, or waits at the end of
    /// the run.
    fn wait(&mut self, process: Process, next: &NextStep, past: &[u32]) {
        match next.wait {
            Wait::Free => {}
            Wait::Lock(lock) => self.wait_for(lock, process, past),
            Wait::Guard { joins } => {
                for (event, node) in self.events.iter().zip(&mut self.nodes) {
                    let other = event.process != process;
                    node.requires_all |= other && (joins || event.next.conflicts(next));
                }
            }
        }
    }

    /// Records the obligations of an acquisition, which is made or waits at the end of the run. It
    /// races with the last acquisition, and with later steps that could have touched the lock but
    /// have not.
    fn wait_for(&mut self, lock: u32, process: Process, past: &[u32]) {
        let mut clock = past.to_vec();
        let mut races = Vec::new();
        for (at, event) in self.events.iter().enumerate().rev() {
            let Some(takes) = event.next.takes(lock) else {
                continue;
            };
            // The lock is held before this event, so the last acquisition is an earlier event.
            if self.nodes[at].state.cells[lock as usize] != 0 {
                continue;
            }
            if !event.is_in(&clock) {
                races.push((at, self.initials(at, process, &clock)));
            }
            join(&mut clock, &event.clock);
            if takes && event.locks.contains(&lock) {
                break;
            }
        }
        for (at, set) in races {
            self.require_one_of(at, set);
        }
    }

    /// Returns the initials of notdep(e)·e', where e is the event at position `at`, and e' is a
    /// step of `process` with this clock.
    fn initials(&self, at: usize, process: Process, clock: &[u32]) -> Vec<Process> {
        let first = &self.events[at];
        let after = self.events[at + 1..].iter();
        let mut sequence: Vec<&Event> = Vec::new();
        let mut initials = Vec::new();
        for event in after.filter(|event| !first.is_in(&event.clock)) {
            if !sequence.iter().any(|earlier| earlier.is_in(&event.clock)) {
                initials.push(event.process);
            }
            sequence.push(event);
        }
        let depends = |earlier: &&Event| earlier.process == process || earlier.is_in(clock);
        if !sequence.iter().any(depends) {
            initials.push(process);
        }
        initials.sort_unstable();
        initials
    }

    fn require_one_of(&mut self, at: usize, set: Vec<Process>) {
        let node = &mut self.nodes[at];
        // A process in a subset is also in the set.
        let within = |part: &[Process], whole: &[Process]| part.iter().all(|p| whole.contains(p));
        if node.is_unmet(&set) && !node.obligations.iter().any(|known| within(known, &set)) {
            node.obligations.retain(|known| !within(&set, known));
            node.obligations.push(set);
        }
    }

    /// Leaves a node after its last child. Checks that its obligations are met.
    fn leave(&mut self) -> Result<(), Rejected> {
        let depth = self.nodes.len() - 1;
        if self.nodes[depth].children.is_empty() {
            self.end()?;
        }
        let Some(node) = self.nodes.pop() else {
            return Ok(());
        };
        complete(&node.choices)?;
        if node.obligations.iter().any(|set| node.is_unmet(set)) {
            return Err(Rejected::Tree("a race that is not reversed"));
        }
        // A leaf has no ready process outside its sleep set, so it needs no check.
        if node.requires_all && !node.children.is_empty() {
            for process in node.state.alive() {
                if !node.has(process) && ready(self.machine, &node.state, process)? {
                    return Err(Rejected::Tree("an order in which a condition may differ"));
                }
            }
        }
        if let Some(event) = self.events.pop() {
            self.forget_next(event.spawned.iter().copied());
            self.nexts[event.process as usize] = Some(event.next);
        }
        Ok(())
    }

    /// Checks the end of a run.
    fn end(&mut self) -> Result<(), Rejected> {
        let depth = self.nodes.len() - 1;
        let alive: Vec<Process> = self.nodes[depth].state.alive().collect();
        let mut sleeps = false;
        for process in alive {
            let node = &self.nodes[depth];
            if node.sleep.contains(&process) {
                sleeps = true;
                continue;
            }
            if ready(self.machine, &node.state, process)? {
                return Err(Rejected::Tree("a run that could continue"));
            }
            let next = self.next_of(process)?;
            let past = self.past(process).1;
            self.wait(process, &next, &past);
        }
        // Another run covers this run.
        if sleeps {
            self.facts.blocked += 1;
            return Ok(());
        }
        self.facts.executions += 1;
        let state = &self.nodes[depth].state;
        let lives = || state.threads.iter().map(|thread| thread.life);
        if lives().any(|life| life == Life::Discarded) {
            self.facts.discarded += 1;
        } else if lives().any(|life| life == Life::Failed) {
        } else if lives().any(|life| life == Life::Alive) {
            self.facts.deadlocks += 1;
        } else {
            let mut broken = 0;
            for condition in &self.ensures {
                broken += u64::from(!self.machine.holds(condition, state).map_err(beyond)?);
            }
            self.facts.failures += broken;
            let observed = self.machine.flat.observed.iter();
            let result: Vec<i64> = observed.map(|&cell| state.cells[cell as usize]).collect();
            match &self.first_result {
                None => self.first_result = Some(result),
                Some(first) => self.facts.results_differ |= *first != result,
            }
        }
        Ok(())
    }
}

/// Checks that the steps of one process from one state have all possible outcomes.
fn complete(made: &[Vec<Choice>]) -> Result<(), Rejected> {
    let mut all: Vec<&[Choice]> = made.iter().map(|choices| &choices[..]).collect();
    all.sort_unstable_by_key(|choices| choices.iter().map(|one| one.value).collect::<Vec<_>>());
    if covers(&all) {
        Ok(())
    } else {
        Err(Rejected::Tree("a step without all its outcomes"))
    }
}

/// Whether sorted sequences of choices have all values of their first choice, each with all its
/// continuations. The range of a choice depends only on the earlier choices of the step, so the
/// sequences agree on it.
fn covers(all: &[&[Choice]]) -> bool {
    let Some([choice, ..]) = all.first() else {
        // Without further choices there is at most one step.
        return all.len() <= 1;
    };
    let mut rest = all;
    let mut expected = choice.first;
    while let Some([one, ..]) = rest.first() {
        let same = |choices: &&&[Choice]| choices.first().is_some_and(|c| c.value == one.value);
        let count = rest.iter().take_while(same).count();
        let continuations: Vec<&[Choice]> =
            rest[..count].iter().map(|choices| &choices[1..]).collect();
        if one.value != expected || !covers(&continuations) {
            return false;
        }
        expected += 1;
        rest = &rest[count..];
    }
    rest.is_empty() && expected == choice.end
}
