//! Stateful unfolding: the net stops where a state is reached again, and most of its events are
//! predicted, not run.
//!
//! Thesis, Fig. 7.6 and section 7.1. Extensions of the replicated net become events in the order ≺
//! of Esparza, Römer and Vogler. An event is a *terminal* if it and its causes lead to a marking to
//! which an earlier event has led: no event is added after it. The [model](super::model) predicts
//! the effect of an event. If it cannot, a test is run, and the model learns from the whole test.
//!
//! | thesis | here |
//! |---|---|
//! | St(e) | [`Prefix::marking`] |
//! | ≺_ERV | [`Rank`] |
//! | visited | `visited` |
//! | EXTENDMODEL | [`TestedModel::test`] |
//!
//! Deviation: the thesis runs a test if the model does not know all steps from St(e). Here a test
//! is run only if the model does not know the step of the extension itself, so fewer tests are run.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use mazurka_core::{Bound, Execution, Fingerprint, ProcessId, Schedule};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::extensions::Builder;
use super::model::{Marking, NOT_ENDED};
use super::model_net::{Labels, ModelNet, model_net};
use super::net::{Input, NONE, NetKind, Phase, Place};
use super::session::Session;
use super::tested_model::{Sides, TestedModel};
use crate::drive::driver::End;
use crate::drive::findings::Findings;

/// Up to this number of claims, scanning them is faster than looking up a place.
const FEW_CLAIMS: usize = 16;

/// The position of an extension in the order ≺: the number of its causes, then their labels in
/// order, then their labels layer by layer (the Foata normal form). Labels start at 1, so that 0
/// can end a layer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    size: usize,
    labels: Vec<u32>,
    layers: Vec<u32>,
    extension: u32,
}

/// The additional results of a stateful net.
#[derive(Debug, Default)]
pub(crate) struct Stateful {
    /// How many local states and how many steps the model has.
    pub model: (usize, usize),
    /// The model as a Petri net.
    pub model_net: ModelNet,
    /// Events that lead to a state to which an earlier event has led.
    pub terminals: Vec<u32>,
}

/// Builds a finite prefix of the net.
pub(crate) struct Prefix<'a, 'w, E> {
    tested: TestedModel<'a, 'w, E>,
    builder: Builder,
    /// The extensions that have not become events, in the order ≺.
    queue: BinaryHeap<Reverse<Rank>>,
    /// The markings that events have led to.
    visited: FxHashSet<Fingerprint>,
    /// For each condition, its valuation.
    valuations: Vec<u32>,
    /// For each thread, its local state.
    locals: Vec<u32>,
    /// For each event, its label and its layer (see [`Rank`]).
    labels: Vec<(u32, u32)>,
    /// The label of each transition of the model. A transition is given by a local state and the
    /// valuations of the cells that its step claims.
    known_labels: FxHashMap<(u32, Vec<u32>), u32>,
    /// Failing steps that a test has confirmed.
    shown: FxHashSet<u32>,
    /// Events that lead to a state to which an earlier event has led.
    terminals: Vec<u32>,
}

impl<'a, 'w, E: Execution> Prefix<'a, 'w, E> {
    pub fn new(session: Session<'a, 'w, E>, seed: u64) -> Self {
        let tested = TestedModel::new(session, seed);
        let conditional = tested.session.program.has_conditions();
        let start = &tested.start;
        let born = start.locals.iter().copied().filter(|&local| local != NONE);
        let locals: Vec<u32> = born.collect();
        let processes = locals.iter().map(|&local| tested.model.local(local));
        let processes = processes.map(|local| local.next.clone());
        let builder = Builder::new(NetKind::Replicated, conditional, None, processes);
        Self {
            locals,
            visited: std::iter::once(start.fingerprint()).collect(),
            tested,
            builder,
            queue: BinaryHeap::new(),
            valuations: Vec::new(),
            labels: Vec::new(),
            known_labels: FxHashMap::default(),
            shown: FxHashSet::default(),
            terminals: Vec::new(),
        }
    }

    /// Adds events until no extension is left.
    pub fn unfold(mut self) -> (Builder, Stateful, Findings) {
        if let ControlFlow::Break(bound) = self.add_all() {
            self.tested.session.break_off(bound);
        }
        let mut found = self.tested.session.finish();
        found.counts.events = self.builder.net.events.len() as u64;
        let model_net = model_net(&Labels {
            net: &self.builder.net,
            valuations: &self.valuations,
            locals: &self.locals,
            labels: &self.labels,
        });
        let stateful = Stateful {
            model: self.tested.model.size(),
            model_net,
            terminals: self.terminals,
        };
        (self.builder, stateful, found)
    }

    fn add_all(&mut self) -> ControlFlow<Bound> {
        self.tested.session.start()?;
        if self.builder.pending.is_empty() {
            let end = End::classify(self.tested.session.program);
            self.tested.session.end(end);
        }
        self.enqueue();
        while let Some(Reverse(rank)) = self.queue.pop() {
            self.add(rank.extension, rank.size)?;
            self.enqueue();
        }
        self.find_deadlocks()
    }

    /// Ranks the new extensions.
    fn enqueue(&mut self) {
        self.valuations.resize(self.builder.net.conditions.len(), 0);
        for extension in std::mem::take(&mut self.builder.pending) {
            let rank = self.rank(extension);
            self.queue.push(Reverse(rank));
        }
    }

    /// Returns the valuations of the cells that an extension claims.
    fn claimed(&self, extension: u32) -> Vec<u32> {
        let inputs = self.builder.net.preset(extension).iter();
        inputs.map(|input| self.valuation(input)).collect()
    }

    /// Returns the valuation of a cell in the condition of an arc; for the end of a process, its
    /// ending.
    fn valuation(&self, input: &Input) -> u32 {
        let net = &self.builder.net;
        let condition = net.condition(input.condition);
        match net.places[condition.place as usize] {
            Place::Cell(_) => self.valuations[input.condition as usize],
            Place::End(_) if condition.producer == NONE => NOT_ENDED,
            Place::End(process) => {
                // The local state of the process after its last event or, if it has no events,
                // after the event that started it.
                let last = net.event(condition.producer);
                let mut threads = last.thread..last.thread + last.thread_count;
                let own = threads.find(|&thread| net.thread(thread).process == process);
                let thread = own.unwrap_or(last.thread);
                self.tested.model.ending_in(self.locals[thread as usize])
            }
        }
    }

    fn local(&self, extension: u32) -> u32 {
        self.locals[self.builder.net.extension(extension).thread as usize]
    }

    /// Returns the label of an extension: its transition in the model.
    fn label(&mut self, extension: u32) -> u32 {
        let key = (self.local(extension), self.claimed(extension));
        let next = self.known_labels.len() as u32 + 1;
        *self.known_labels.entry(key).or_insert(next)
    }

    /// Returns the position of an extension in the order ≺.
    fn rank(&mut self, extension: u32) -> Rank {
        let label = self.label(extension);
        let mut all: Vec<(u32, u32)> = Vec::new();
        let net = &self.builder.net;
        for &last in net.past(extension) {
            let mut event = last;
            while event != NONE {
                let (label, layer) = self.labels[event as usize];
                all.push((layer, label));
                event = net.event(event).parent;
            }
        }
        all.push((self.layer(extension), label));
        all.sort_unstable();
        let mut layers = Vec::with_capacity(all.len() + 8);
        for (at, &(layer, label)) in all.iter().enumerate() {
            if at > 0 && all[at - 1].0 != layer {
                layers.push(0);
            }
            layers.push(label);
        }
        let mut labels: Vec<u32> = all.iter().map(|&(_, label)| label).collect();
        labels.sort_unstable();
        Rank {
            size: all.len(),
            labels,
            layers,
            extension,
        }
    }

    /// Returns the layer of an extension: the one after the layers of all its causes.
    fn layer(&self, extension: u32) -> u32 {
        let last = self
            .builder
            .net
            .past(extension)
            .iter()
            .filter(|&&e| e != NONE);
        last.map(|&e| self.labels[e as usize].1 + 1)
            .max()
            .unwrap_or(0)
    }

    /// Adds the events of the extension that comes next in the order.
    fn add(&mut self, extension: u32, size: usize) -> ControlFlow<Bound> {
        if self.builder.net.extension(extension).phase != Phase::Pending {
            return ControlFlow::Continue(());
        }
        if size as u64 > self.tested.session.limits.depth() {
            let bound = Bound::MaxDepth(self.tested.session.limits.depth());
            self.tested.session.ledger.found.bound(bound);
            return ControlFlow::Continue(());
        }
        loop {
            self.tested.session.check_limits_at_intervals()?;
            if self.has_conditions(extension) {
                return self.add_sides(extension);
            }
            let (steps, untried) = self.predicted(extension);
            let Some(outcomes) = untried else {
                for step in steps {
                    self.insert(extension, step)?;
                }
                return ControlFlow::Continue(());
            };
            if !self.test(extension, &outcomes)? {
                let (local, claimed) = (self.local(extension), self.claimed(extension));
                self.tested.model.close(local, claimed);
                self.builder.net.extensions[extension as usize].phase = Phase::Closed;
                return ControlFlow::Continue(());
            }
        }
    }

    /// Whether conditions over inputs decide which events an extension has, or whether the
    /// extension is reachable.
    fn has_conditions(&self, extension: u32) -> bool {
        let net = &self.builder.net;
        self.tested.session.program.has_conditions() && {
            let decides = |&step: &u32| !self.tested.model.step(step).done.outcomes.is_empty();
            let mut past = net.past(extension).iter().copied().filter(|&e| e != NONE);
            let steps: Vec<u32> = self.known(extension);
            steps.is_empty()
                || steps.iter().any(decides)
                || past.any(|last| {
                    let before = std::iter::successors(Some(last), |&event| {
                        Some(net.event(event).parent).filter(|&event| event != NONE)
                    });
                    before
                        .into_iter()
                        .any(|event| net.event(event).outcome_count > 0)
                })
        }
    }

    /// Returns the valuation of a cell that an extension claims; for the end of a process, its
    /// ending.
    fn valuation_of(&self, extension: u32, wanted: Place) -> u32 {
        let net = &self.builder.net;
        let claimed = net.claimed(extension);
        let at = match claimed.len() {
            // A step that claims a whole array may read each element.
            FEW_CLAIMS.. => net.known_place(wanted).and_then(|place| {
                let found = claimed.binary_search_by_key(&place, |claim| claim.place);
                found.ok()
            }),
            _ => claimed
                .iter()
                .position(|claim| net.places[claim.place as usize] == wanted),
        };
        at.map_or(0, |at| self.valuation(&net.preset(extension)[at]))
    }

    /// Returns the known steps from the local state and the valuations of an extension.
    fn known(&self, extension: u32) -> Vec<u32> {
        let valuation = |cell: u32| self.valuation_of(extension, Place::Cell(cell));
        let ending = |process: ProcessId| self.valuation_of(extension, Place::End(process));
        let (model, local) = (&self.tested.model, self.local(extension));
        model.predict(local, &valuation, &ending).collect()
    }

    /// Adds an event for each side of an extension; sides that the model does not know are tested.
    fn add_sides(&mut self, extension: u32) -> ControlFlow<Bound> {
        let (causes, process) = self.causes(extension);
        let net = &self.builder.net;
        let steps = causes.iter();
        let steps = steps.map(|&event| (net.event(event).process, net.chosen(event)));
        let sides = match self.tested.sides(steps, process)? {
            Sides::Impossible => {
                self.builder.net.extensions[extension as usize].phase = Phase::Impossible;
                return ControlFlow::Continue(());
            }
            Sides::Closed => {
                self.builder.net.extensions[extension as usize].phase = Phase::Closed;
                return ControlFlow::Continue(());
            }
            Sides::Possible(sides) => sides,
        };
        for outcomes in sides {
            let find = |prefix: &Self| {
                let valuation = |cell: u32| prefix.valuation_of(extension, Place::Cell(cell));
                let ending =
                    |process: ProcessId| prefix.valuation_of(extension, Place::End(process));
                let (model, local) = (&prefix.tested.model, prefix.local(extension));
                model.with_outcomes(local, &outcomes, &valuation, &ending)
            };
            if find(self).is_none() {
                self.test(extension, &outcomes)?;
            }
            if let Some(step) = find(self) {
                self.insert(extension, step)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Returns the known steps of an extension that are possible, and outcomes to try if some are
    /// not known.
    fn predicted(&mut self, extension: u32) -> (Vec<u32>, Option<SmallVec<[i64; 1]>>) {
        let (local, claimed) = (self.local(extension), self.claimed(extension));
        if self.tested.model.is_closed(local, &claimed) {
            self.builder.net.extensions[extension as usize].phase = Phase::Closed;
            return (Vec::new(), None);
        }
        let valuation = |cell: u32| self.valuation_of(extension, Place::Cell(cell));
        let ending = |process: ProcessId| self.valuation_of(extension, Place::End(process));
        let known: Vec<u32> = self.known(extension);
        if known.is_empty() {
            return (known, Some(SmallVec::new()));
        }
        if !known
            .iter()
            .all(|&step| self.tested.model.is_possible(step, &valuation, &ending))
        {
            self.builder.net.extensions[extension as usize].phase = Phase::Closed;
            return (Vec::new(), None);
        }
        let untried = self.tested.model.untried(&known);
        (known, untried)
    }

    /// Turns a known step of an extension into an event.
    fn insert(&mut self, extension: u32, step: u32) -> ControlFlow<Bound> {
        let learned = self.tested.model.step(step).clone();
        if learned.fails && !self.shown.contains(&step) {
            // Whether the failure counts depends on the causes, so the step is run.
            let depth = self.causes(extension).0.len();
            self.test(extension, &learned.done.outcomes)?;
            if self.tested.has_failed(depth) {
                self.shown.insert(step);
            }
        }
        let label = self.label(extension);
        let (event, new) = self.builder.insert(extension, &learned.done);
        if !new {
            return ControlFlow::Continue(());
        }
        let net = &self.builder.net;
        let node = *net.event(event);
        self.labels.push((label, self.layer(node.extension)));
        self.valuations.resize(net.conditions.len(), 0);
        let taken = net.inputs(event).iter().filter(|input| input.write);
        for (output, input) in (node.outputs..).zip(taken) {
            let place = net.condition(input.condition).place;
            if let Place::Cell(cell) = net.places[place as usize] {
                let before = self.valuations[input.condition as usize];
                self.valuations[output as usize] = learned.writes(cell).unwrap_or(before);
            }
        }
        self.locals.extend_from_slice(&learned.locals);
        let mut clock = Vec::new();
        self.builder.net.clock(event, &mut clock);
        let marking = self.marking(&clock).fingerprint();
        if self.visited.insert(marking) {
            let session = &mut self.tested.session;
            let look = &mut || session.check_limits_at_intervals();
            self.builder.extend(event, look)
        } else {
            self.terminals.push(event);
            ControlFlow::Continue(())
        }
    }

    /// Returns the state after a configuration.
    fn marking(&mut self, clock: &[u32]) -> Marking {
        let Builder { net, examiner, .. } = &mut self.builder;
        let places: Vec<u32> = (0..net.places.len() as u32).collect();
        let mut conditions = Vec::new();
        examiner.marking(net, clock, &places, &mut conditions);
        let mut marking = Marking::default();
        for (place, condition) in net.places.iter().zip(conditions) {
            if let Place::Cell(cell) = *place {
                let cell = cell as usize;
                if marking.cells.len() <= cell {
                    marking.cells.resize(cell + 1, 0);
                }
                marking.cells[cell] = self.valuations[condition as usize];
            }
        }
        let threads = net.threads_after(clock);
        for thread in threads {
            let process = net.thread(thread).process;
            super::net::set(&mut marking.locals, process, self.locals[thread as usize]);
        }
        marking
    }

    /// Runs a test to an extension, makes its step with these outcomes, and continues to the end;
    /// the model learns from the whole test. Returns false if the step is not possible, which does
    /// not count as a test.
    fn test(&mut self, extension: u32, outcomes: &[i64]) -> ControlFlow<Bound, bool> {
        let (causes, process) = self.causes(extension);
        let net = &self.builder.net;
        let steps = causes.iter();
        let steps = steps.map(|&event| (net.event(event).process, net.chosen(event)));
        self.tested.test(steps, process, outcomes)
    }

    /// Returns the causes of an extension in an order in which they can happen, and the process of
    /// its step.
    fn causes(&mut self, extension: u32) -> (Vec<u32>, ProcessId) {
        let Builder { net, examiner, .. } = &mut self.builder;
        let past = net.past(extension).to_vec();
        let mut schedule = Vec::new();
        examiner.schedule(net, &past, &mut schedule);
        let process = net.thread(net.extension(extension).thread).process;
        (schedule, process)
    }

    /// Finds the deadlocked states that the prefix represents. Each is run, and counts if some
    /// inputs lead to it.
    fn find_deadlocks(&mut self) -> ControlFlow<Bound> {
        let clocks = self.tested.session.deadlocks(&mut self.builder);
        let mut known = FxHashSet::default();
        let mut schedule = Vec::new();
        self.tested.session.ledger.found.counts.deadlocks = 0;
        for clock in clocks {
            if !known.insert(self.marking(&clock).fingerprint()) {
                continue;
            }
            let Builder { net, examiner, .. } = &mut self.builder;
            examiner.schedule(net, &clock, &mut schedule);
            let session = &mut self.tested.session;
            session.program.back_to(0);
            let mut possible = true;
            for &event in &schedule {
                let (process, outcomes) = (net.event(event).process, net.chosen(event));
                possible = session.step(process, outcomes)?.is_ok();
                if !possible {
                    break;
                }
            }
            if !possible && session.program.has_conditions() {
                continue;
            }
            assert!(possible, "a schedule of the net cannot be followed");
            let end = End::classify(session.program);
            if end != End::Deadlock && session.program.has_conditions() {
                // This run is not deadlocked: a step in which a process stays may have been made
                // too late (see the head of `deadlocks`).
                continue;
            }
            let run = || Schedule::from_run(session.program.events(), session.program.processes());
            assert_eq!(
                end,
                End::Deadlock,
                "the net has no such deadlock: {}",
                run()
            );
            session.ledger.deadlock(session.program);
            session.ledger.found.counts.deadlocks += 1;
            self.builder.add_deadlock(session.program, &schedule);
        }
        ControlFlow::Continue(())
    }
}
