//! The naive stateful search: the reachable markings of the model, one after the other.
//!
//! Thesis, Fig. 7.5. A depth-first search over the states of the [model](super::model). Most steps
//! are predicted; if the model does not know the step of a process, a test is run. The search tries
//! all orders of independent steps, and recognises that they lead to the same state only when it
//! reaches that state. So it is meant for few processes, and for comparisons with the stateful net.
//!
//! | thesis | here |
//! |---|---|
//! | EXPLORE(M, S) | [`Walk::enter`], and [`Walk::walk`] for the loop |
//! | S | `path` |
//! | visited | `visited` |
//! | PREDICTTRANSITIONSFROMMODEL, "model is incomplete at M" | [`Walk::enabled`] |
//! | EXTENDMODEL | [`TestedModel::test`] |
//! | sleep sets (section 8.3.3) | `asleep` |
//!
//! Deviations. There is no first random test, because the search runs a test in the initial state
//! in any case. A test is run for each process whose step is not known, not for the state as a
//! whole, so fewer tests are run.
//!
//! Sleep sets are those of Godefroid (LNCS 1032, 1996, chapter 5) for a search that knows the
//! states it has visited. They save steps but no states. For each state the search stores the
//! processes that have slept on every visit so far. If one of these processes is awake on a later
//! visit, it is run then and removed; otherwise steps would be lost. Two steps are independent if
//! their claims do not conflict.

use std::collections::hash_map::Entry;
use std::ops::ControlFlow;

use mazurka_core::{Bound, Execution, Fingerprint, ProcessId, Status, Wait};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::WalkStates;
use super::model::Marking;
use super::net::NONE;
use super::session::Session;
use super::tested_model::{Sides, TestedModel};
use crate::drive::driver::End;
use crate::drive::findings::Findings;
use crate::relations::catalogue::conflict;

/// The results of a walk through the states of a program's model.
#[derive(Debug)]
pub struct Walked {
    /// Number of states visited.
    pub states: u64,
    /// How many local states and how many steps the model has.
    pub model: (usize, usize),
    /// The findings. In the counts, executions are tests, events are steps between states, and
    /// deadlocks are deadlocked states.
    pub found: Findings,
}

/// Processes that sleep in a state, that is, need not be run from it: the runs that start with
/// their steps are explored elsewhere.
type Asleep = SmallVec<[ProcessId; 2]>;

/// A state on the current path, and the remaining steps from it, grouped by process.
struct Visited {
    marking: Marking,
    /// The steps that remain to be made.
    left: Vec<u32>,
    /// The processes that sleep here.
    asleep: Asleep,
    /// The process whose steps are being made.
    active: Option<ProcessId>,
}

/// A walk through the states of a model.
pub(crate) struct Walk<'a, 'w, E> {
    tested: TestedModel<'a, 'w, E>,
    /// The states, each with the processes that have slept on every visit.
    visited: FxHashMap<Fingerprint, Asleep>,
    /// Whether there are sleep sets.
    sleeps: bool,
    /// The steps that lead to the current state.
    path: Vec<u32>,
    /// The states on the current path.
    way: Vec<Visited>,
    /// Failing steps that a test has confirmed.
    shown: FxHashSet<u32>,
    /// Number of steps between states.
    edges: u64,
    deadlocks: u64,
}

impl<'a, 'w, E: Execution> Walk<'a, 'w, E> {
    pub fn new(session: Session<'a, 'w, E>, WalkStates { seed, sleep }: WalkStates) -> Self {
        Self {
            tested: TestedModel::new(session, seed),
            visited: FxHashMap::default(),
            sleeps: sleep,
            path: Vec::new(),
            way: Vec::new(),
            shown: FxHashSet::default(),
            edges: 0,
            deadlocks: 0,
        }
    }

    /// Walks until no step remains.
    pub fn walk(mut self) -> Walked {
        let start = self.tested.start.clone();
        let mut done = self.tested.session.start();
        if done.is_continue() {
            done = self.enter(start, Asleep::new());
        }
        while let (ControlFlow::Continue(()), Some(here)) = (done, self.way.last_mut()) {
            match here.left.pop() {
                Some(step) => {
                    let mut marking = here.marking.clone();
                    marking.follow(&self.tested.model, step);
                    let asleep = self.asleep_after(step);
                    done = self.fire(step, marking, asleep);
                }
                None => {
                    self.way.pop();
                    self.path.pop();
                }
            }
        }
        let session = &mut self.tested.session;
        if let ControlFlow::Break(bound) = done {
            session.break_off(bound);
        }
        let mut found = self.tested.session.finish();
        found.counts.events = self.edges;
        found.counts.deadlocks = self.deadlocks;
        Walked {
            states: self.visited.len() as u64,
            model: self.tested.model.size(),
            found,
        }
    }

    /// Returns the processes that sleep after a step from the current state: those that sleep there
    /// or have been run from there, unless the step conflicts with their steps.
    fn asleep_after(&mut self, step: u32) -> Asleep {
        let process = self.process(step);
        let (true, Some(here)) = (self.sleeps, self.way.last_mut()) else {
            return Asleep::new();
        };
        if let Some(before) = here.active.replace(process).filter(|&p| p != process) {
            here.asleep.push(before);
        }
        let claims = |process: ProcessId| {
            let local = here.marking.locals[process.index()];
            &self.tested.model.local(local).next.claims
        };
        let stays = |&&other: &&ProcessId| !conflict(claims(other), claims(process));
        here.asleep.iter().filter(stays).copied().collect()
    }

    /// Makes a step from the current state.
    fn fire(&mut self, step: u32, to: Marking, asleep: Asleep) -> ControlFlow<Bound> {
        self.tested.session.check_limits_at_intervals()?;
        self.edges += 1;
        if self.tested.model.step(step).fails && !self.shown.contains(&step) {
            // Whether the failure counts depends on the steps before, so the step is run.
            let process = self.process(step);
            let outcomes = self.tested.model.step(step).done.outcomes.clone();
            self.test(process, &outcomes)?;
            if self.tested.has_failed(self.path.len()) {
                self.shown.insert(step);
            }
        }
        self.path.push(step);
        let ways = self.way.len();
        self.enter(to, asleep)?;
        if self.way.len() == ways {
            self.path.pop();
        }
        ControlFlow::Continue(())
    }

    /// Visits a state, unless all processes to run from it have been run before.
    fn enter(&mut self, marking: Marking, asleep: Asleep) -> ControlFlow<Bound> {
        let mut woken = None;
        let asleep = match self.visited.entry(marking.fingerprint()) {
            Entry::Vacant(new) => new.insert(asleep).clone(),
            Entry::Occupied(mut known) => {
                let slept = known.get_mut();
                let all = slept.iter().copied();
                let (still, awake): (Asleep, Asleep) = all.partition(|p| asleep.contains(p));
                if awake.is_empty() {
                    return ControlFlow::Continue(());
                }
                slept.clone_from(&still);
                woken = Some(awake);
                still
            }
        };
        let depth = self.tested.session.limits.depth();
        if self.path.len() as u64 >= depth {
            self.tested
                .session
                .ledger
                .found
                .bound(Bound::MaxDepth(depth));
            return ControlFlow::Continue(());
        }
        let mut left = Vec::new();
        let mut waiting = false;
        for process in 0..marking.locals.len() as u32 {
            let local = marking.locals[process as usize];
            let rests = match &woken {
                Some(woken) => !woken.contains(&ProcessId(process)),
                None => asleep.contains(&ProcessId(process)),
            };
            if local == NONE || rests {
                continue;
            }
            if matches!(
                self.tested.model.local(local).next.status,
                Status::Ready | Status::Waiting
            ) {
                let steps = self.enabled(&marking, ProcessId(process))?;
                waiting |= steps.is_empty();
                left.extend(steps);
            }
        }
        // A process that sleeps can make a step.
        if left.is_empty() && asleep.is_empty() {
            self.end(waiting)?;
        }
        self.way.push(Visited {
            marking,
            left,
            asleep,
            active: None,
        });
        ControlFlow::Continue(())
    }

    /// Returns the steps of a process from a state. Runs tests until all are known.
    fn enabled(&mut self, marking: &Marking, process: ProcessId) -> ControlFlow<Bound, Vec<u32>> {
        let local = marking.locals[process.index()];
        let valuation = |cell: u32| marking.cell(cell);
        loop {
            let model = &self.tested.model;
            let ending = |process: ProcessId| model.ending(marking, process);
            let next = &model.local(local).next;
            let cells = next.claims.iter().flat_map(|access| access.cells());
            let mut valuations: Vec<u32> = cells.map(|cell| marking.cell(cell as u32)).collect();
            if matches!(next.wait, Wait::Process | Wait::Guard) {
                let processes = (0..marking.locals.len() as u32).map(ProcessId);
                valuations.extend(processes.map(ending));
            }
            if model.is_closed(local, &valuations) {
                return ControlFlow::Continue(Vec::new());
            }
            let known: Vec<u32> = model.predict(local, &valuation, &ending).collect();
            if self.has_conditions(&known) {
                return self.sides(marking, process);
            }
            let possible = |&step: &u32| model.is_possible(step, &valuation, &ending);
            if !known.iter().all(possible) {
                return ControlFlow::Continue(Vec::new());
            }
            let untried = if known.is_empty() {
                Some(SmallVec::new())
            } else {
                model.untried(&known)
            };
            let Some(outcomes) = untried else {
                return ControlFlow::Continue(known);
            };
            if !self.test(process, &outcomes)? {
                self.tested.model.close(local, valuations);
            }
        }
    }

    /// Whether conditions over inputs decide which of some known steps are possible.
    fn has_conditions(&self, known: &[u32]) -> bool {
        let decides = |step: &u32| !self.tested.model.step(*step).done.outcomes.is_empty();
        self.tested.session.program.has_conditions()
            && (known.is_empty() || known.iter().chain(&self.path).any(decides))
    }

    /// Returns the steps of a process for the feasible sides; sides that the model does not know
    /// are tested.
    fn sides(&mut self, marking: &Marking, process: ProcessId) -> ControlFlow<Bound, Vec<u32>> {
        let steps = self.steps();
        let along = steps.iter();
        let along = along.map(|(process, outcomes)| (*process, &outcomes[..]));
        let sides = match self.tested.sides(along, process)? {
            Sides::Impossible | Sides::Closed => return ControlFlow::Continue(Vec::new()),
            Sides::Possible(sides) => sides,
        };
        let local = marking.locals[process.index()];
        let valuation = |cell: u32| marking.cell(cell);
        let mut found = Vec::new();
        for outcomes in sides {
            let find = |walk: &Self| {
                let model = &walk.tested.model;
                let ending = |process: ProcessId| model.ending(marking, process);
                model.with_outcomes(local, &outcomes, &valuation, &ending)
            };
            if find(self).is_none() {
                self.test(process, &outcomes)?;
            }
            found.extend(find(self));
        }
        ControlFlow::Continue(found)
    }

    /// Returns the process that makes a step.
    fn process(&self, step: u32) -> ProcessId {
        let model = &self.tested.model;
        model.local(model.step(step).locals[0]).next.process
    }

    /// Runs a test that makes a step from the current state.
    fn test(&mut self, process: ProcessId, outcomes: &[i64]) -> ControlFlow<Bound, bool> {
        let steps = self.steps();
        let steps = steps
            .iter()
            .map(|(process, outcomes)| (*process, &outcomes[..]));
        self.tested.test(steps, process, outcomes)
    }

    /// Returns the steps to the current state.
    fn steps(&self) -> Vec<(ProcessId, Vec<i64>)> {
        let outcomes = |step: u32| self.tested.model.step(step).done.outcomes.clone();
        let path = self.path.iter();
        path.map(|&step| (self.process(step), outcomes(step)))
            .collect()
    }

    /// Handles a state without enabled steps. If a process waits, the state is run, to check
    /// whether it is a deadlock.
    fn end(&mut self, waiting: bool) -> ControlFlow<Bound> {
        let steps = self.steps();
        let session = &mut self.tested.session;
        if waiting {
            session.program.back_to(0);
            for (process, outcomes) in steps {
                let made = session.step(process, &outcomes)?;
                assert!(made.is_ok(), "a way through the model cannot be followed");
            }
            if End::classify(session.program) == End::Deadlock {
                self.deadlocks += 1;
                session.ledger.deadlock(session.program);
            }
        } else if self.path.is_empty() {
            // A run without steps is a run, too.
            let end = End::classify(session.program);
            session.end(end);
        }
        ControlFlow::Continue(())
    }
}
