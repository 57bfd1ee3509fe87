//! The model of a program that is learned from tests: a Petri net of local states, which predicts
//! further steps.
//!
//! Thesis, sections 7.2 and 7.3. A process is in a *local state*, a variable in a *valuation*; both
//! are represented by numbers. The effect of a step depends on the local state and on the
//! valuations that it reads before it writes them. So a step that was observed once is known
//! wherever these are the same, whatever else has happened. A known step that writes a variable
//! leads to the same valuation each time, and a free lock always has the same valuation.
//!
//! | thesis | here |
//! |---|---|
//! | place of a thread | [`Local`] |
//! | place of a shared variable | a valuation: a number, 0 at the start and for a free lock |
//! | transition | [`Learned`], without places that are read and restored |
//! | PREDICTTRANSITIONSFROMMODEL | [`Model::predict`] |
//!
//! With inputs, a side of a condition is an outcome and leads to a local state of its own. So a
//! local state determines which sides were taken, and equal markings have equal path constraints.
//! Which sides are feasible depends on the whole path constraint, so this is not predicted: the
//! program decides it ([`TestedModel::sides`](super::tested_model::TestedModel::sides)).
//!
//! Deviation: if processes end with a result, as tasks of actors do, a step that joins a process
//! depends on the local state in which the process has ended.
//!
//! Deviation: steps may touch many places (an atomic block). A place that a step claims to write
//! and does not touch counts as read and as written, because it may represent something that is not
//! recorded, such as an invariant.

use mazurka_core::{AccessKind, Event, Execution, Fingerprint, ProcessId, Status};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::extensions::{Next, ObservedEffects};
use super::net::{NONE, set};
use super::numbers::Numbers;
use super::session::{done, joined, next};
use crate::algorithms::naive::next_outcomes;

/// The number that stands for "has not ended" where the ending of a process is asked for: see
/// [`Model::ending`].
pub(crate) const NOT_ENDED: u32 = 0;

/// A step that a test has made.
#[derive(Clone, Debug)]
pub(crate) struct Learned {
    /// The cells that the step read, each with its valuation.
    reads: Vec<(u32, u32)>,
    /// The locks that must be free.
    needs: Vec<u32>,
    /// The processes that it joined, each with its ending.
    joined: Vec<(ProcessId, u32)>,
    /// For a step that changed nothing because its guard was closed: the processes that it may
    /// join, each with its ending.
    ends: Vec<(ProcessId, u32)>,
    /// The cells that it wrote, each with its new valuation, in the order of the cells.
    writes: Vec<(u32, u32)>,
    /// Whether its outcomes are the first possible ones in some state in which the step was made.
    first: bool,
    /// The outcomes of the same step that come next in the order of trial, if any.
    pub more: Option<SmallVec<[i64; 1]>>,
    pub done: ObservedEffects,
    /// The local states after the step: that of the process, then those of the processes that it
    /// starts.
    pub locals: Vec<u32>,
    pub fails: bool,
}

impl Learned {
    /// Returns the new valuation of a cell, if the step writes it.
    pub fn writes(&self, cell: u32) -> Option<u32> {
        let at = self.writes.binary_search_by_key(&cell, |write| write.0);
        at.ok().map(|at| self.writes[at].1)
    }
}

/// A local state: the next step of its process, and the steps that tests have made from it, as
/// indices into [`Model`]'s `steps`.
#[derive(Clone, Debug)]
pub(crate) struct Local {
    pub next: Next,
    steps: Vec<u32>,
}

/// A state of the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marking {
    /// For each cell, its valuation; 0 beyond the end.
    pub cells: Vec<u32>,
    /// For each process, its local state; `NONE` before it is started.
    pub locals: Vec<u32>,
}

impl Marking {
    pub fn cell(&self, cell: u32) -> u32 {
        self.cells.get(cell as usize).copied().unwrap_or(0)
    }

    /// Returns a fingerprint that equal markings share.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut all = Fingerprint::EMPTY;
        for (cell, &valuation) in self.cells.iter().enumerate().filter(|(_, v)| **v != 0) {
            all = all.and(
                Fingerprint::EMPTY
                    .then(2 * cell as u64)
                    .then(u64::from(valuation)),
            );
        }
        for (process, &local) in self.locals.iter().enumerate().filter(|(_, l)| **l != NONE) {
            all = all.and(
                Fingerprint::EMPTY
                    .then(2 * process as u64 + 1)
                    .then(u64::from(local)),
            );
        }
        all
    }

    /// Changes the marking by a known step.
    pub fn follow(&mut self, model: &Model, step: u32) {
        let learned = model.step(step);
        for &(cell, valuation) in &learned.writes {
            if self.cells.len() <= cell as usize {
                self.cells.resize(cell as usize + 1, 0);
            }
            self.cells[cell as usize] = valuation;
        }
        for &local in &learned.locals {
            set(&mut self.locals, model.local(local).next.process, local);
        }
    }
}

/// A model of a program.
#[derive(Debug, Default)]
pub(crate) struct Model {
    /// Whether a step that joins a process may get a result from it.
    results: bool,
    locals: Vec<Local>,
    steps: Vec<Learned>,
    /// The valuations of held locks, by lock and holder.
    held: FxHashMap<(u32, ProcessId), u32>,
    valuations: u32,
    /// Cases in which the next step is known to be impossible: a local state, with the valuations
    /// of all cells that its next step claims.
    closed: rustc_hash::FxHashSet<(u32, Vec<u32>)>,
}

impl Model {
    /// Adds the local states of the initial processes to an empty model. Returns the initial state.
    pub fn start<E: Execution>(&mut self, program: &E) -> Marking {
        self.results = program.ends_with_results();
        let mut marking = Marking::default();
        let born = |process: &ProcessId| program.status(*process) != Status::Unborn;
        let processes: Vec<_> = program
            .processes()
            .in_order()
            .iter()
            .copied()
            .filter(born)
            .collect();
        for process in processes {
            let local = self.add(next(program, process));
            set(&mut marking.locals, process, local);
        }
        marking
    }

    fn add(&mut self, next: Next) -> u32 {
        self.locals.push(Local {
            next,
            steps: Vec::new(),
        });
        self.locals.len() as u32 - 1
    }

    /// Returns how many local states and how many steps are known.
    pub fn size(&self) -> (usize, usize) {
        (self.locals.len(), self.steps.len())
    }

    pub fn local(&self, local: u32) -> &Local {
        &self.locals[local as usize]
    }

    pub fn step(&self, step: u32) -> &Learned {
        &self.steps[step as usize]
    }

    /// Returns the known steps from a local state, given the valuations of the cells and the
    /// endings of the processes ([`Model::ending`]). [`Model::is_possible`] determines whether they
    /// are possible.
    pub fn predict<'a>(
        &'a self,
        local: u32,
        valuation: &'a dyn Fn(u32) -> u32,
        ending: &'a dyn Fn(ProcessId) -> u32,
    ) -> impl Iterator<Item = u32> + 'a {
        let fits = move |step: &u32| {
            let step = self.step(*step);
            let mut joined = step.joined.iter();
            let mut reads = step.reads.iter();
            reads.all(|&(cell, read)| valuation(cell) == read)
                && joined.all(|&(process, how)| [NOT_ENDED, how].contains(&ending(process)))
        };
        self.local(local).steps.iter().copied().filter(fits)
    }

    /// Whether a known step is possible: the locks that it takes are free, and the processes that
    /// it joins have ended.
    pub fn is_possible(
        &self,
        step: u32,
        valuation: &dyn Fn(u32) -> u32,
        ending: &dyn Fn(ProcessId) -> u32,
    ) -> bool {
        let step = self.step(step);
        let mut ends = step.joined.iter().chain(&step.ends);
        step.needs.iter().all(|&lock| valuation(lock) == 0)
            && ends.all(|&(process, how)| ending(process) == how)
    }

    /// Returns the known step from a local state with these outcomes, if there is one and it is
    /// possible, given the valuations of the cells and the endings of the processes.
    pub fn with_outcomes(
        &self,
        local: u32,
        outcomes: &[i64],
        valuation: &dyn Fn(u32) -> u32,
        ending: &dyn Fn(ProcessId) -> u32,
    ) -> Option<u32> {
        let same = |step: &u32| {
            self.step(*step).done.outcomes == outcomes && self.is_possible(*step, valuation, ending)
        };
        self.predict(local, valuation, ending).find(same)
    }

    /// Returns the ending of a process in a local state: a number that is the same only for equal
    /// results, or [`NOT_ENDED`].
    pub fn ending_in(&self, local: u32) -> u32 {
        match self.local(local).next.ended {
            true if self.results => local + 1,
            ended => u32::from(ended),
        }
    }

    /// Returns the ending of a process in a state.
    pub fn ending(&self, marking: &Marking, process: ProcessId) -> u32 {
        let local = marking.locals.get(process.index()).copied();
        let local = local.filter(|&local| local != NONE);
        local.map_or(NOT_ENDED, |local| self.ending_in(local))
    }

    /// Returns the outcomes to try next for a step that chooses: the first ones, or those after the
    /// last known ones. The reads of a step depend on its choices, so the known steps that fit a
    /// state may lack the first outcomes.
    pub fn untried(&self, steps: &[u32]) -> Option<SmallVec<[i64; 1]>> {
        let later = |&step: &u32| {
            let step = self.step(step);
            !step.first && !step.done.outcomes.is_empty()
        };
        if !steps.is_empty() && steps.iter().all(later) {
            return Some(SmallVec::new());
        }
        let known = |outcomes: &[i64]| {
            steps
                .iter()
                .any(|&step| self.step(step).done.outcomes.starts_with(outcomes))
        };
        let mut more = steps
            .iter()
            .filter_map(|&step| self.step(step).more.clone());
        more.find(|outcomes| !known(outcomes))
    }

    /// Whether the next step is known to be impossible where the claimed cells have these
    /// valuations.
    pub fn is_closed(&self, local: u32, valuations: &[u32]) -> bool {
        self.closed.contains(&(local, valuations.to_vec()))
    }

    pub fn close(&mut self, local: u32, valuations: Vec<u32>) {
        self.closed.insert((local, valuations));
    }

    /// Learns the last step of a program. It was made in this marking, which is updated. `first`
    /// says whether its outcomes are the first ones that it can have there. Returns the index of
    /// the step in the model.
    pub fn learn<E: Execution>(
        &mut self,
        program: &E,
        event: &Event,
        marking: &mut Marking,
        first: bool,
    ) -> u32 {
        let local = marking.locals[event.process.index()];
        let mut read = Numbers::default();
        let mut written = Numbers::default();
        let mut released = Numbers::default();
        let mut needs: Vec<u32> = Vec::new();
        for access in &event.touched {
            for cell in access.cells() {
                let cell = cell as u32;
                match access.kind {
                    AccessKind::Read if !written.contains(cell) => {
                        read.insert(cell);
                    }
                    AccessKind::Write => {
                        written.insert(cell);
                    }
                    AccessKind::Acquire if !released.contains(cell) => needs.push(cell),
                    AccessKind::Release => {
                        released.insert(cell);
                    }
                    AccessKind::Read | AccessKind::Acquire => {}
                }
            }
        }
        if event.stayed {
            // The step has undone its effects. It is tried again when a cell that it claims has
            // changed.
            written.clear();
            needs.clear();
        }
        let stays = event.stayed;
        let claims = event.claims.iter();
        for access in claims.filter(|access| stays || access.kind == AccessKind::Write) {
            for cell in access.cells() {
                let cell = cell as u32;
                if !written.contains(cell) && read.insert(cell) && !stays {
                    written.insert(cell);
                }
            }
        }
        let reads = read.into_list().into_iter();
        let reads: Vec<(u32, u32)> = reads.map(|cell| (cell, marking.cell(cell))).collect();
        let joins = self.local(local).next.joins.iter().filter(|_| stays);
        let ending = |&process: &ProcessId| (process, self.ending(marking, process));
        let ends: Vec<(ProcessId, u32)> = joins.map(ending).collect();
        let joined: Vec<(ProcessId, u32)> = joined(event).map(ending).collect();
        let outcomes: Vec<i64> = event.outcomes.iter().map(|o| o.value).collect();
        let same = |step: &u32| {
            let known = self.step(*step);
            known.reads == reads
                && known.done.outcomes == outcomes
                && (&known.ends, &known.joined) == (&ends, &joined)
        };
        let known = self.local(local).steps.iter().copied().find(same);
        let step = known.unwrap_or_else(|| {
            let done = done(program, event);
            let mut writes: Vec<(u32, u32)> = Vec::new();
            for cell in written.into_list() {
                if done.lock(cell).is_none() {
                    self.valuations += 1;
                    writes.push((cell, self.valuations));
                }
            }
            for &(cell, held) in &done.locks {
                let valuation = if held {
                    *self.held.entry((cell, event.process)).or_insert_with(|| {
                        self.valuations += 1;
                        self.valuations
                    })
                } else {
                    0
                };
                writes.push((cell, valuation));
            }
            writes.sort_unstable();
            let locals = done
                .next
                .iter()
                .cloned()
                .map(|next| self.add(next))
                .collect();
            self.steps.push(Learned {
                reads,
                needs,
                joined,
                ends,
                writes,
                first,
                more: next_outcomes(event),
                done,
                locals,
                fails: !event.mishaps.is_empty(),
            });
            let step = self.steps.len() as u32 - 1;
            self.locals[local as usize].steps.push(step);
            step
        });
        self.steps[step as usize].first |= first;
        marking.follow(self, step);
        step
    }
}
