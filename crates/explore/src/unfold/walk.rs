//! The naive stateful search: the reachable markings of the model, one after the other.
//!
//! Thesis, Fig. 7.5. A depth-first search over the states of the [model](super::model). Most steps
//! are predicted; if the model does not know the step of a process, a test is run. The search tries
//! all orders of independent steps, and recognises that they lead to the same state only when it
//! gets there. So it is for few processes, and for comparisons with the stateful net.
//!
//! | thesis | here |
//! |---|---|
//! | EXPLORE(M, S) | [`Walk::enter`], and [`Walk::walk`] for the loop |
//! | S | `path` |
//! | visited | `visited` |
//! | PREDICTTRANSITIONSFROMMODEL, "model is incomplete at M" | [`Walk::enabled`] |
//! | EXTENDMODEL | [`TestedModel::test`] |
//!
//! Deviations. There is no first random test: the initial state asks for one. A test is run for
//! each process whose step is not known, not for the state as a whole, so fewer are run. The
//! experiments of section 8.3.3 add sleep sets, which save steps but no states; they are left out.

use std::ops::ControlFlow;

use mazurka_core::{Bound, Execution, Fingerprint, ProcessId, Status, Wait};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::model::Marking;
use super::net::NONE;
use super::session::Session;
use super::tested_model::{Sides, TestedModel};
use crate::drive::driver::End;
use crate::drive::findings::Findings;

/// The results of a walk through the states of a program's model.
#[derive(Debug)]
pub struct Walked {
    /// Number of states visited.
    pub states: u64,
    /// Numbers of local states and of steps of the model.
    pub model: (usize, usize),
    /// The findings. Executions are tests, events are steps between states, deadlocks are states.
    pub found: Findings,
}

/// A state on the current path, and the steps from it that are left.
struct Visited {
    marking: Marking,
    left: Vec<u32>,
}

/// A walk through the states of a model.
pub(crate) struct Walk<'a, 'w, E> {
    tested: TestedModel<'a, 'w, E>,
    visited: FxHashSet<Fingerprint>,
    /// The steps that lead to the current state.
    path: Vec<u32>,
    way: Vec<Visited>,
    /// Failing steps whose failure a test has confirmed.
    shown: FxHashSet<u32>,
    edges: u64,
    deadlocks: u64,
}

impl<'a, 'w, E: Execution> Walk<'a, 'w, E> {
    pub fn new(session: Session<'a, 'w, E>, seed: u64) -> Self {
        Self {
            tested: TestedModel::new(session, seed),
            visited: FxHashSet::default(),
            path: Vec::new(),
            way: Vec::new(),
            shown: FxHashSet::default(),
            edges: 0,
            deadlocks: 0,
        }
    }

    /// Walks until no step is left.
    pub fn walk(mut self) -> Walked {
        let start = self.tested.start.clone();
        let mut done = self.tested.session.start();
        if done.is_continue() {
            done = self.enter(start);
        }
        while let (ControlFlow::Continue(()), Some(here)) = (done, self.way.last_mut()) {
            match here.left.pop() {
                Some(step) => {
                    let mut marking = here.marking.clone();
                    marking.follow(&self.tested.model, step);
                    done = self.fire(step, marking);
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

    /// Makes a step from the current state.
    fn fire(&mut self, step: u32, to: Marking) -> ControlFlow<Bound> {
        self.tested.session.look_now_and_then()?;
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
        self.enter(to)?;
        if self.way.len() == ways {
            self.path.pop();
        }
        ControlFlow::Continue(())
    }

    /// Visits a state, unless it has been visited before.
    fn enter(&mut self, marking: Marking) -> ControlFlow<Bound> {
        if !self.visited.insert(marking.fingerprint()) {
            return ControlFlow::Continue(());
        }
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
            if local == NONE {
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
        if left.is_empty() {
            self.end(waiting)?;
        }
        self.way.push(Visited { marking, left });
        ControlFlow::Continue(())
    }

    /// Returns the steps of a process from a state; tests are run until they are known.
    fn enabled(&mut self, marking: &Marking, process: ProcessId) -> ControlFlow<Bound, Vec<u32>> {
        let local = marking.locals[process.index()];
        let valuation = |cell: u32| marking.cell(cell);
        loop {
            let model = &self.tested.model;
            let ending = |process: ProcessId| model.ending(marking, process);
            let next = &model.local(local).next;
            let cells = next.claims.iter().flat_map(|access| access.cells());
            let mut seen: Vec<u32> = cells.map(|cell| marking.cell(cell as u32)).collect();
            if matches!(next.wait, Wait::Process | Wait::Guard) {
                let processes = (0..marking.locals.len() as u32).map(ProcessId);
                seen.extend(processes.map(ending));
            }
            if model.is_closed(local, &seen) {
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
            let untried = match known.is_empty() {
                true => Some(SmallVec::new()),
                false => model.untried(&known),
            };
            let Some(outcomes) = untried else {
                return ControlFlow::Continue(known);
            };
            if !self.test(process, &outcomes)? {
                self.tested.model.close(local, seen);
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
