//! Optimal DPOR: each trace exactly once.
//!
//! Abdulla, Aronis, Jonsson, Sagonas, "Source Sets: A Foundation for Optimal Dynamic Partial Order
//! Reduction", JACM 64(4), 2017, section 7 (wakeup trees). The search is depth first, on the
//! driver's explicit stack; a step allocates nothing once the stacks have grown.
//!
//! | paper | here |
//! |---|---|
//! | E | the current execution, [`Order`] |
//! | e →_E e' | `Occurrence::before` |
//! | e ≾_E e' (reversible race) | `Occurrence::races` |
//! | notdep(e, E)·proc(e') = v | a set of positions, [`Reversal`] |
//! | WI_\[E\](v) (weak initials) | [`Optimal::weak_initial`] |
//! | sleep(E) | `sleepers`, with the claims of each sleeper's next step |
//! | wut(E) | `SearchNode::branches`, whose children are in [`Forest`] |
//! | insert_\[E\](v, wut(E)) | [`Optimal::reverse`], and `insert` below |
//!
//! Where it deviates:
//! - Races are analysed when a run is complete. A race is *old* if both of its events were in the
//!   previous run. An old race is analysed again only if some new event does not happen after the
//!   first event of the race: otherwise v is unchanged.
//! - *Short sequences*: instead of v, only the part of v that e' needs is used, as long as this
//!   part decides whether v is covered. This is enough: every sequence that starts with v also
//!   starts with this part, and the paper's argument requires only that no sleeping process and no
//!   earlier branch is a weak initial of the inserted sequence. A weak initial of the part that is
//!   one of its own steps is a weak initial of v too (all its predecessors in v are in the part). A
//!   weak initial that is foreign to the part may conflict with the rest of v, so then all of v is
//!   used. For a sleeping process it suffices to check the events that come before its own event or
//!   conflict with it ([`Optimal::leads`]).
//! - *The next process*: where no wakeup tree decides, `preference` does. Its hints from the first
//!   run can only change the order of the search: every ready process that is not asleep is tried
//!   after the hints. So a run ends blocked only if all ready processes sleep at its end. In
//!   programs without guards and outcomes this never happens if each step of v has the claims that
//!   it had in the run from which v was taken; the paper proves it, and `leaf` asserts it. The
//!   claims may differ in `mazurka-rt`: a write that wakes waiting threads also claims the objects
//!   for which they compete, and it claims less if they do not wait in v. Then a process that the
//!   write woke in the earlier run may stay asleep after it. In that case v was covered already,
//!   and its run ends blocked.
//! - *Locks*: an acquisition races with the acquisition before it. In v, only the program past of
//!   the later acquisition comes before it. In the run it had other predecessors only because it
//!   followed the critical section, which it precedes in v. An acquisition that still waits at the
//!   end of a run is treated as one more event, although it was not made.
//! - *Guards* (errata E3): the run does not show whether a guarded step is possible after a
//!   reversal. So all ready processes are tried in the state before every event that conflicts with
//!   a guarded step, made or waiting, and is not in the program past of that step. Sleep sets
//!   prevent that a trace is explored twice, but some runs may end blocked; for programs without
//!   guards no run does. Why no run is missed: suppose that a run w from E is missed. Let p be an
//!   explored step at E that is not a weak initial of w, and let q be the process that makes the
//!   first step in w that depends on p. If that step is guarded, every run through E·p contains it
//!   too, made or waiting, and p is not in its program past, so all ready processes are tried at E.
//!   If it is not guarded, the paper's argument applies. In this argument p covers w only if its
//!   step is in w: a *true* initial. So some sleeping processes are marked as `inherited`. Such a
//!   process covers v only if its step is in v; it is not enough that the step could come before
//!   all of v. These are the processes whose step conflicts with a guarded step, and those that
//!   still sleep where a wakeup sequence ends (which never happens in the paper).
//! - *Outcomes* of `choose`: a process is explored with all its outcomes, one after the other, and
//!   then it sleeps. In a wakeup sequence a step keeps the outcomes that the rest of the sequence
//!   depends on. The other outcomes are explored in the same state. If the step with such an
//!   outcome wakes no sleeping process, its run ends blocked, because the equivalent runs in which
//!   the sleeping process comes first have been explored.
//! - Blocked runs are also analysed for races.
//! - *Cut runs*: the next steps of all processes count as last events that are not made. Otherwise,
//!   if a loop does not end, no run might contain the steps of other processes.
//!
//! Memory: the branches that remain to be explored from the states of one path.

mod context;
mod insert;
mod preference;
mod wakeup;

use mazurka_core::{Access, Claims, Event, Execution, ProcessId, Status, Wait};
use smallvec::SmallVec;

use self::insert::Cover;
use self::preference::Preference;
use self::wakeup::{Forest, Key, NONE, NextStep};
use crate::algorithms::naive::next_outcomes;
use crate::algorithms::reducing::{ScheduledReversals, may_race, pending};
use crate::drive::driver::{End, Policy, RacingStep, ReversedRace};
use crate::relations::catalogue::Catalogue;
use crate::relations::order::Order;
use crate::relations::set::{Set, for_each, members};

/// The reason why a step is a weak initial of v.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Initial {
    /// It is a step of v, and no other step of v must come before it.
    Own,
    /// It is not a step of v, but conflicts with no step of v.
    Foreign,
}

/// A state on the current path. Its size is a power of two, which makes indexing a vector cheaper.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct SearchNode {
    /// Index of its first sleeping process; the list ends where the list of the next node starts.
    sleepers: u32,
    /// Index of its first ready process; kept only if there are guards.
    ready: u32,
    /// The wakeup tree, without the branch that is being explored.
    branches: u32,
    /// The process that is being explored.
    active: Option<ProcessId>,
    /// The outcomes of the step that led here.
    key: Key,
    /// The remaining work in this state, apart from the wakeup tree: a set of the flags below.
    todo: u8,
    /// Whether the step that is being explored conflicts with a guarded step.
    rival: bool,
    /// Number of processes that have been explored from here.
    explored: u8,
}

/// No process has been run from the state yet.
const FRESH: u8 = 1;
/// The process must be run again, with the outcomes on top of `Optimal::again`.
const AGAIN: u8 = 2;
/// All ready processes must be tried.
const EXPAND: u8 = 4;

impl SearchNode {
    /// Whether no process remains to be run from here.
    #[inline]
    fn is_done(&self) -> bool {
        self.todo == 0 && self.branches == NONE
    }
}

/// The sequence v that reverses a race: the positions of its events, and the position of the last
/// one.
#[derive(Clone)]
struct Reversal<S> {
    all: S,
    last: usize,
}

/// The policy of Optimal DPOR.
#[derive(Debug)]
pub(crate) struct Optimal<S> {
    order: Order<S>,
    /// The states on the path.
    nodes: Vec<SearchNode>,
    /// The sleeping processes of all states on the path, one state after the other.
    sleepers: Vec<NextStep>,
    /// The ready processes of all states on the path, if they are stored.
    ready: Vec<ProcessId>,
    forest: Forest,
    /// The claims of sleeping processes and of branches.
    catalogue: Catalogue,
    /// The lists of outcomes met so far. The index of a list is its [`Key`].
    outcomes: Vec<SmallVec<[i64; 1]>>,
    /// The outcomes with which processes on the path must be run next.
    again: Vec<SmallVec<[i64; 1]>>,
    /// Length of the common prefix of the current run and the last complete one.
    shared: usize,
    /// The claims of a step that is not made, while its races are analysed.
    next_claims: u32,
    /// The order of processes where the algorithm leaves it open; not known during the first run.
    preference: Option<Preference>,
    /// The wakeup tree of the next state: the children of the branch that has just been taken.
    woken: u32,
    /// The cells that guarded steps may touch.
    guards: Claims,
    /// Whether the ready processes of each state are stored although there are no guards.
    keeps_ready: bool,
    /// Whether runs may end blocked: there are guards or outcomes, or the search is a part of a
    /// larger one.
    may_block: bool,
    /// The claims that the next step had in the run from which its branch was made; `None` if no
    /// branch led to it, or outside debug builds.
    expected: Option<u32>,
    /// Whether a run has more events than the sets can hold.
    overflow: bool,
    noted: ScheduledReversals,
}

impl<S: Set> Optimal<S> {
    pub fn new() -> Self {
        Self {
            order: Order::new(),
            nodes: Vec::new(),
            sleepers: Vec::new(),
            ready: Vec::new(),
            forest: Forest::new(),
            catalogue: Catalogue::new(),
            outcomes: vec![SmallVec::new()],
            again: Vec::new(),
            shared: 0,
            next_claims: 0,
            preference: None,
            woken: NONE,
            guards: Claims::new(),
            keeps_ready: false,
            may_block: false,
            expected: None,
            overflow: false,
            noted: ScheduledReversals::default(),
        }
    }

    #[inline(never)]
    fn key_of(&mut self, event: &Event) -> Key {
        let values: SmallVec<[i64; 1]> = event.outcomes.iter().map(|o| o.value).collect();
        let known = self.outcomes.iter().position(|known| *known == values);
        known.unwrap_or_else(|| {
            self.outcomes.push(values);
            self.outcomes.len() - 1
        }) as Key
    }

    #[inline]
    fn sleepers_of(&self, node: usize) -> &[NextStep] {
        let end = self
            .nodes
            .get(node + 1)
            .map_or(self.sleepers.len(), |next| next.sleepers as usize);
        &self.sleepers[self.nodes[node].sleepers as usize..end]
    }

    /// Whether a step can come first in v, or before all of it.
    #[inline(always)]
    fn weak_initial(&self, step: &NextStep, v: &Reversal<S>) -> Option<Initial> {
        match self.order.first_of(step.process, &v.all) {
            Some(first) => {
                let event = &self.order.events[first];
                let free = !event.before.meets(&v.all)
                    || event.acquires && first == v.last && !event.program.meets(&v.all);
                free.then_some(Initial::Own)
            }
            None => {
                let free = !step.inherited && !self.conflicts(step.claims, &v.all);
                free.then_some(Initial::Foreign)
            }
        }
    }

    /// Whether claims conflict with an event of a set.
    #[inline]
    fn conflicts(&self, claims: u32, with: &S) -> bool {
        match self.catalogue.listed(claims) {
            None => with.meets(self.order.rivals_of(claims)),
            Some(claims) => self.order.conflicts(claims, with),
        }
    }

    /// Returns the events that conflict with claims.
    #[inline]
    fn rivals_of(&self, claims: u32) -> S {
        match self.catalogue.listed(claims) {
            None => self.order.rivals_of(claims).clone(),
            Some(claims) => self.order.conflicting(claims),
        }
    }

    /// Analyses the races of a complete run. Reversals are noted only if `NOTES`.
    #[inline(never)]
    fn races<const NOTES: bool>(&mut self, run: &[Event]) {
        let (old, new) = self.order.events.split_at(self.shared);
        if let Some(last) = old.last() {
            // A race whose first event happens before all new events is unchanged.
            let mut open = last.firsts.clone();
            open.remove_all(&Order::common_past(new));
            if !open.is_empty() {
                for second in 0..self.shared {
                    self.races_of::<NOTES>(second, Some(&open), run);
                }
            }
        }
        for second in self.shared..self.order.len() {
            self.races_of::<NOTES>(second, None, run);
        }
    }

    /// Analyses the races of an event with all earlier events, or with those in `with`.
    #[inline]
    fn races_of<const NOTES: bool>(&mut self, second: usize, with: Option<&S>, run: &[Event]) {
        let event = &self.order.events[second];
        if event.guarded {
            return;
        }
        let mut firsts = event.races.clone();
        if let Some(with) = with {
            firsts.keep_all(with);
        }
        for_each(&firsts, |first| {
            if NOTES {
                self.reverse_noting(first, RacingStep::Event(second), run)
            } else {
                self.reverse(first, second, run)
            }
        });
    }

    /// Reverses a race, and records it if a branch was added.
    fn reverse_noting(&mut self, first: usize, second: RacingStep, run: &[Event]) {
        let last = match second {
            RacingStep::Event(at) => at,
            // The step that was not made is the last event of the order.
            RacingStep::Next(_) => self.order.len() - 1,
        };
        let before = self.forest.mark();
        self.reverse(first, last, run);
        if self.forest.mark() != before {
            self.noted.note(first, second);
        }
    }

    /// Ensures that runs are explored that reverse the race of an event with a later one.
    #[inline(never)]
    fn reverse(&mut self, first: usize, last: usize, run: &[Event]) {
        let mut v = self.needed(first, last);
        let mut decides = true;
        for sleeper in self.sleepers_of(first) {
            match self.weak_initial(sleeper, &v) {
                Some(Initial::Own) => return,
                Some(Initial::Foreign) if self.leads(sleeper, first) => return,
                Some(Initial::Foreign) => decides = false,
                None => {}
            }
        }
        if decides {
            match self.branch_for(self.nodes[first].branches, &v) {
                Cover::Branch(at, Initial::Own) => {
                    if self.insert_below(at, v.clone(), false, run) {
                        return;
                    }
                }
                Cover::Branch(_, Initial::Foreign) => {}
                Cover::None { after } => return self.add(first, after, &v, run),
            }
        }
        v.all = self.order.not_after(first);
        v.all.insert(last);
        match self.branch_for(self.nodes[first].branches, &v) {
            Cover::Branch(at, _) => {
                self.insert_below(at, v, true, run);
            }
            Cover::None { after } => self.add(first, after, &v, run),
        }
    }

    /// Whether a sleeping process is a weak initial of all of v; it is known to be foreign to the
    /// part of v that the last event of v needs. If its step is in v, no other event of v may
    /// happen before it. If its step is not in v, no event of v may conflict with it.
    #[inline(always)]
    fn leads(&self, sleeper: &NextStep, first: usize) -> bool {
        let events = &self.order.events;
        let in_v = |at: usize| !events[at].before.contains(first);
        let own = self.order.next_of(sleeper.process, first);
        let mut rivals = match own.filter(|&own| in_v(own)) {
            Some(own) => events[own].before.clone(),
            None => self.rivals_of(sleeper.claims),
        };
        rivals.keep_above(first);
        !members(&rivals).any(in_v)
    }

    /// Returns the part of v that its last event needs.
    #[inline]
    fn needed(&self, first: usize, last: usize) -> Reversal<S> {
        let mut past = self.past_in_reversal(last).clone();
        past.keep_above(first);
        let mut all = S::default();
        for_each(&past, |at| {
            all.insert_if(!self.order.events[at].before.contains(first), at);
        });
        all.insert(last);
        Reversal { all, last }
    }

    /// Returns the past of the last event of v. A reversed acquisition comes before the critical
    /// section that it followed.
    #[inline]
    fn past_in_reversal(&self, last: usize) -> &S {
        let event = &self.order.events[last];
        if event.acquires {
            &event.program
        } else {
            &event.before
        }
    }

    /// Learns the preferred order of processes from the first run.
    fn rehearse(&mut self, program: &impl Execution) {
        let events = &self.order.events;
        let races = events.iter().flat_map(|second| {
            let firsts = members(&second.races);
            firsts.map(|first| (events[first].process, second.process))
        });
        let (processes, run) = (program.processes(), program.events());
        self.preference = Some(Preference::new(races, processes, run));
    }

    /// Expands all states whose event may have opened or closed the guard of a step.
    #[inline(never)]
    fn expand_rivals(&mut self, process: ProcessId, claims: &[Access], step: RacingStep) {
        let Self { nodes, noted, .. } = self;
        self.order.for_each_rival(process, claims, |at| {
            if nodes[at].todo & EXPAND == 0 {
                noted.note(at, step);
            }
            nodes[at].todo |= EXPAND;
            nodes[at].rival = true;
        });
    }

    /// Handles the steps that processes wait to make, or could make, at the end of a run.
    fn pending<E: Execution>(&mut self, program: &E, end: End) {
        let mut claims = Claims::new();
        for (process, status) in pending(program) {
            let step = RacingStep::Next(process);
            let wait = program.wait(process);
            if wait == Wait::Guard {
                program.claims(process, &mut claims);
                self.expand_rivals(process, &claims, step);
            } else if may_race(wait, status, end) {
                program.claims(process, &mut claims);
                self.next_claims = self.catalogue.number(process, &claims);
                let acquires = wait == Wait::Lock;
                self.order.push_virtual(process, &claims, acquires);
                let last = self.order.len() - 1;
                let firsts = self.order.events[last].races.clone();
                for_each(&firsts, |first| {
                    self.reverse_noting(first, step, program.events());
                });
                self.order.pop_virtual(&claims);
            }
        }
    }

    /// Adds a branch for every ready process that is not asleep and has none.
    fn expand(&mut self, program: &impl Execution) {
        self.branch_out(program, |_| true);
    }

    /// Adds a branch for each of these processes that is ready, not asleep, and has none.
    #[inline(never)]
    fn branch_out(&mut self, program: &impl Execution, who: impl Fn(ProcessId) -> bool) {
        let node = self.nodes.len() - 1;
        let mut claims = Claims::new();
        for at in self.nodes[node].ready as usize..self.ready.len() {
            let process = self.ready[at];
            let asleep = self.is_asleep(node, process);
            let mut last = NONE;
            let mut branch = self.nodes[node].branches;
            let mut known = false;
            while branch != NONE {
                let here = self.forest.nodes[branch as usize];
                known |= here.step.process == process;
                last = branch;
                branch = here.sibling;
            }
            if asleep || known || !who(process) {
                continue;
            }
            program.claims(process, &mut claims);
            self.order.make_room_for(process, &claims);
            let claims = self.catalogue.number(process, &claims);
            let added = self.forest.add(NextStep {
                process,
                claims,
                key: 0,
                inherited: false,
            });
            if last == NONE {
                self.nodes[node].branches = added;
            } else {
                self.forest.nodes[last as usize].sibling = added;
            }
        }
    }

    /// Returns the process to run from the last state. There is work besides the wakeup tree
    /// (`SearchNode::todo`).
    #[inline(never)]
    fn next_beside(
        &mut self,
        program: &impl Execution,
        outcomes: &mut Vec<i64>,
    ) -> Option<ProcessId> {
        let last = self.nodes.len() - 1;
        let node = &mut self.nodes[last];
        if node.todo & AGAIN != 0 {
            node.todo &= !AGAIN;
            outcomes.extend(self.again.pop().unwrap_or_default());
            return node.active;
        }
        let todo = std::mem::take(&mut node.todo);
        let mut process = self.wake(last);
        if process.is_some() {
            self.nodes[last].todo = todo & EXPAND;
        } else {
            self.expand(program);
            process = self.wake(last);
        }
        if process.is_none() && todo & FRESH != 0 && !program.is_final() {
            process = self.preferred(program);
        }
        self.nodes[last].active = process;
        process
    }

    /// Stores the ready processes of the last state.
    #[inline(never)]
    fn note_ready(&mut self, program: &impl Execution) {
        let all = program.processes().in_order().iter();
        let ready = all.filter(|&&p| program.status(p) == Status::Ready);
        self.ready.extend(ready);
    }

    fn is_asleep(&self, node: usize, process: ProcessId) -> bool {
        self.sleepers_of(node).iter().any(|s| s.process == process)
    }

    /// Returns a process that is ready and awake.
    #[inline(always)]
    fn preferred(&self, program: &impl Execution) -> Option<ProcessId> {
        let sleepers = &self.sleepers[self.nodes.last()?.sleepers as usize..];
        let awake = |p: ProcessId| !sleepers.iter().any(|sleeper| sleeper.process == p);
        let can = |p: ProcessId| program.status(p) == Status::Ready && awake(p);
        match &self.preference {
            Some(preference) => {
                let made = |p: ProcessId| self.order.event_count(p);
                preference.first(program.processes(), can, made)
            }
            None => {
                let mut all = program.processes().in_order().iter();
                all.find(|&&p| can(p)).copied()
            }
        }
    }

    /// Takes the first branch that is not asleep from the wakeup tree.
    fn wake(&mut self, node: usize) -> Option<ProcessId> {
        while self.nodes[node].branches != NONE {
            let at = self.nodes[node].branches;
            let branch = self.forest.nodes[at as usize];
            let asleep = self.is_asleep(node, branch.step.process);
            if !asleep && branch.step.key != 0 {
                // The branch stays in the tree until the step is made with these outcomes
                // (`wake_with`).
                return Some(branch.step.process);
            }
            self.nodes[node].branches = branch.sibling;
            self.forest.release(at);
            if !asleep {
                self.woken = branch.child;
                self.expected = cfg!(debug_assertions).then_some(branch.step.claims);
                return Some(branch.step.process);
            }
            self.forest.release_all(branch.child);
        }
        None
    }

    /// Takes the branch of a process with the outcomes of its step from the wakeup tree, and
    /// returns its children.
    #[inline(never)]
    fn wake_with(&mut self, node: usize, process: ProcessId, key: Key) -> u32 {
        let mut before = NONE;
        let mut at = self.nodes[node].branches;
        while at != NONE {
            let branch = self.forest.nodes[at as usize];
            if branch.step.process == process && branch.step.key == key {
                match before {
                    NONE => self.nodes[node].branches = branch.sibling,
                    before => self.forest.nodes[before as usize].sibling = branch.sibling,
                }
                self.forest.release(at);
                return branch.child;
            }
            before = at;
            at = branch.sibling;
        }
        NONE
    }

    /// Estimates the finished fraction, assuming that no branches are added and that all are
    /// equally large.
    fn share_done(&self) -> f64 {
        let (mut done, mut share) = (0.0, 1.0);
        for node in &self.nodes {
            let mut branches = u32::from(node.active.is_some());
            let mut at = node.branches;
            while at != NONE {
                branches += 1;
                at = self.forest.nodes[at as usize].sibling;
            }
            let explored = u32::from(node.explored);
            share /= f64::from((explored + branches).max(1));
            done += share * f64::from(explored);
        }
        done
    }
}

impl<E: Execution, S: Set> Policy<E> for Optimal<S> {
    const SEPARATES: bool = true;
    const UNIQUE: bool = true;

    #[inline]
    fn enter(&mut self, program: &E) {
        let start = self.sleepers.len();
        let mut branches = std::mem::replace(&mut self.woken, NONE);
        let mut key = 0;
        match program.events().last() {
            None => {
                self.guards = program.guards().into();
                self.may_block |= !self.guards.is_empty() || program.has_conditions();
            }
            Some(event) => {
                // One more position, for a waiting step.
                self.overflow |= self.order.len() + 2 >= S::CAPACITY;
                if self.overflow {
                    return;
                }
                if !event.plain && event.wait == Wait::Guard {
                    let step = RacingStep::Event(self.order.len());
                    self.expand_rivals(event.process, &event.claims, step);
                }
                let single = self.order.push(event);
                let parent = self.nodes.len() - 1;
                if !event.plain && !event.outcomes.is_empty() {
                    self.may_block = true;
                    key = self.key_of(event);
                    branches = self.wake_with(parent, event.process, key);
                }
                if cfg!(debug_assertions)
                    && let Some(expected) = self.expected.take()
                {
                    let claims = self.catalogue.number_of_event(event, single);
                    self.may_block |= claims != expected;
                }
                for at in self.nodes[parent].sleepers as usize..start {
                    // Copies field by field, as the last sleeper has just been written: a copy in
                    // larger pieces would cause a store-forwarding stall.
                    let NextStep {
                        process,
                        claims,
                        inherited,
                        ..
                    } = self.sleepers[at];
                    if process != event.process
                        && !self.catalogue.conflict(claims, single, &event.claims)
                    {
                        self.sleepers.push(NextStep {
                            process,
                            claims,
                            key: 0,
                            inherited: inherited || branches == NONE,
                        });
                    }
                }
            }
        }
        self.nodes.push(SearchNode {
            sleepers: start as u32,
            ready: self.ready.len() as u32,
            branches,
            active: None,
            key,
            todo: FRESH,
            rival: false,
            explored: 0,
        });
        if self.keeps_ready || !self.guards.is_empty() {
            self.note_ready(program);
        }
    }

    #[inline(always)]
    fn next(&mut self, program: &E, outcomes: &mut Vec<i64>) -> Option<ProcessId> {
        let last = self.nodes.len() - 1;
        let node = &mut self.nodes[last];
        if self.overflow {
            return None;
        }
        if node.todo & !FRESH != 0 {
            return self.next_beside(program, outcomes);
        }
        let fresh = std::mem::take(&mut node.todo) == FRESH;
        let mut process = match node.branches {
            NONE => None,
            _ => self.wake(last),
        };
        if process.is_none() && fresh && !program.is_final() {
            process = self.preferred(program);
        }
        self.nodes[last].active = process;
        process
    }

    fn put_to_sleep(&mut self, program: &E, process: ProcessId) {
        self.may_block = true;
        let mut claims = Claims::new();
        program.claims(process, &mut claims);
        self.order.make_room_for(process, &claims);
        let claims = self.catalogue.number(process, &claims);
        self.sleepers.push(NextStep {
            process,
            claims,
            key: 0,
            inherited: true,
        });
    }

    fn leave(&mut self, program: &E) {
        self.leave_to(program);
    }

    /// Leaves states up to the last one from which more runs must be explored.
    #[inline(always)]
    fn leave_to(&mut self, program: &E) -> usize {
        let run = program.events();
        let mut depth = run.len();
        if self.overflow {
            return depth.saturating_sub(1);
        }
        while depth > 0 {
            depth -= 1;
            let event = &run[depth];
            let single = self.order.pop(event);
            let (Some(node), Some(parent)) = (self.nodes.pop(), self.nodes.last_mut()) else {
                break;
            };
            let again = match node.key {
                0 => None,
                _ => next_outcomes(event),
            };
            if again.is_none() && parent.is_done() {
                continue;
            }
            self.sleepers.truncate(node.sleepers as usize);
            self.ready.truncate(node.ready as usize);
            if let Some(outcomes) = again {
                parent.todo |= AGAIN;
                self.again.push(outcomes);
                break;
            }
            parent.explored = parent.explored.saturating_add(1);
            self.sleepers.push(NextStep {
                process: event.process,
                claims: self.catalogue.number_of_event(event, single),
                key: 0,
                inherited: std::mem::take(&mut parent.rival),
            });
            break;
        }
        self.shared = self.shared.min(depth);
        depth
    }

    fn progress(&self) -> Option<f64> {
        Some(self.share_done())
    }

    fn leaf(&mut self, program: &E, end: End) {
        if self.overflow {
            return;
        }
        debug_assert!(
            end != End::Blocked || self.may_block,
            "optimal blocked a run of a program without guards and outcomes"
        );
        if self.preference.is_none() {
            self.rehearse(program);
        }
        if self.noted.is_on() {
            self.races::<true>(program.events())
        } else {
            self.races::<false>(program.events())
        }
        if end != End::Final {
            self.pending(program, end);
        }
        self.shared = self.order.len();
    }

    fn note_reversals(&mut self) {
        self.noted.start();
    }

    fn take_reversals(&mut self) -> Vec<ReversedRace> {
        self.noted.take()
    }

    fn gives_up(&self) -> bool {
        self.overflow
    }
}
