//! Symbolic execution with partial order reduction: all symbolic states, merged by their paths.
//!
//! De Boer, Bonsangue, Johnsen, Pun, Tapia Tarifa, Tveito, "SymPaths: Symbolic Execution Meets
//! Partial Order Reduction", sections 3.3 (Fig. 5), 3.5 (POR), 5 (the prototype) and 6.
//!
//! | paper | here |
//! |---|---|
//! | cn, a configuration | the states ended so far, and the [`Entry`]s of two levels |
//! | ⟨σ, φ, Σ⟩ | a state of a [`Symbolic`] program, and its [`PathLink`] |
//! | SCHEDULE | [`Search::expand`]: a state is replaced by all its successors |
//! | ev₁ ~ ev₂, Definition 4 | [`Search::independent`] |
//! | the canonical form of φ, section 5 | [`PathLink`], its last event first |
//! | POR_γ | [`Search::arrive`]: of the states with equal paths and pools one stays |
//!
//! Where it deviates:
//! - *The form.* The form of a path is the same for all paths that count as equivalent. The printed
//!   form swaps neighbours until no swap is possible, which is not canonical (erratum E5 in
//!   docs/algorithms.md); `Paper` implements it. `Canonical` keeps the events in the order in which
//!   they happened, gives each a fingerprint of all earlier events that it depends on, and adds the
//!   fingerprints up. Paths are equivalent if and only if their sums are equal.
//! - *Order.* The search is breadth first, level by level, because merging within the configuration
//!   requires that (erratum E10). Equal states are on one level, because equal paths and pools took
//!   equally many steps. Without reduction the search is depth first: nothing is merged, so the
//!   order does not matter, and only the path is kept.
//! - *Pruning.* In a breadth-first search, suppose that a state with the same path was expanded
//!   before. Then the new state was reached from it by a step without an event: the end of a
//!   bounded loop that had used up its bound. If the process of this step has nothing left to do
//!   and another process is certain to make a step, the new state is dropped, because that other
//!   step is explored from the earlier state, too. Both conditions are needed: without the first,
//!   what the process does after the loop would be lost, and without the second, the deadlock in
//!   which all processes wait.
//! - *Dependence.* Two steps are dependent if accesses that they really made conflict, or if they
//!   evaluate the same invariant. Two unknown elements of an array are different if the path
//!   condition implies it (section 6.1). The condition of the whole path is used, even if it became
//!   known only after the two steps. That is enough here, because all processes are run from every
//!   state.
//! - *Waiting* (section 6.3). A step in which a process only finds that it must wait leads to no
//!   new state. But if every process can find that it must wait, the states in which all of them
//!   wait are deadlocks.
//!
//! Memory: one or two levels of states. Their paths are lists that share their beginnings.

use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Duration;

mod path;
mod reduction;

use mazurka_core::{
    Access, Bound, Counts, Event, Fingerprint, Limits, Mishap, MishapKind, ProcessId, Schedule,
    ScheduledStep, Status, StopReason, Symbolic, with_status,
};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::algorithms::naive::next_outcomes;
use crate::drive::budget::{Budget, broken_by};
use crate::drive::driver::{End, Watch, is_broken_off};
use crate::drive::pace::Pace;

use path::{MadeStep, MadeSteps, PastEvent, Path, PathLink, form, is_silent, nodes, schedule};
pub use reduction::{Reduction, UnknownReduction};

/// Receives the findings of a search. At each call the program is in the state found.
pub trait Audience<E> {
    /// Receives a symbolic state in which no process can continue, or, with [`End::Cut`], a state
    /// that a limit has left unexpanded.
    fn ended(&mut self, program: &E, end: End, leads_here: &dyn LeadsHere);

    /// Receives a mishap of the last event, or of a final state.
    fn failed(&mut self, program: &E, mishap: Mishap, leads_here: &dyn LeadsHere);
}

/// Runs that lead to a finding.
pub trait LeadsHere {
    /// Returns a run that makes the events of the path in the order of the path's form. Steps that
    /// leave no event are left out.
    fn schedule(&self) -> Schedule;

    /// Returns the run as it was made, step by step.
    fn run(&self) -> Schedule;
}

struct CurrentPath<'a, E: Symbolic> {
    program: &'a E,
    path: &'a Path,
    made: &'a MadeSteps,
}

impl<E: Symbolic> LeadsHere for CurrentPath<'_, E> {
    fn schedule(&self) -> Schedule {
        schedule(self.program, self.path)
    }

    fn run(&self) -> Schedule {
        let before = std::iter::successors(self.made.as_deref(), |made| made.before.as_deref());
        let mut steps: Vec<ScheduledStep> = before.map(|made| made.step.clone()).collect();
        steps.reverse();
        let since = Schedule::from_run(self.program.events(), self.program.processes());
        steps.extend(since.0);
        Schedule(steps)
    }
}

/// The findings of a search over symbolic states.
#[derive(Clone, Debug)]
pub struct SymbolicFindings {
    /// Number of symbolic states at the end.
    pub states: u64,
    /// Number of states at the end in which a process waits for ever.
    pub deadlocks: u64,
    /// Number of states at the end that have a failed process, or are final and break a claim about
    /// final states.
    pub failures: u64,
    /// Number of states at the end with a false `assume`. The three numbers above do not include
    /// these.
    pub discarded: u64,
    /// Number of applications of SCHEDULE.
    pub steps: u64,
    /// The greatest number of states in the configuration.
    pub peak: u64,
    /// Points of the curve of Fig. 9: a number of steps, and the number of states in the
    /// configuration after these steps.
    pub curve: Vec<(u64, u64)>,
    /// Bounds that were hit.
    pub bounds: Vec<Bound>,
    /// Why the search ended.
    pub stopped: StopReason,
    /// Time taken.
    pub elapsed: Duration,
}

/// The settings of a search over all symbolic states.
#[derive(Clone, Debug)]
pub struct SymbolicSearch {
    /// Which states are merged.
    pub reduction: Reduction,
    /// Whether the state after the last step of a process is dropped if that step leaves no event
    /// and another process is certain to make a step (prefix pruning).
    pub pruned: bool,
    /// The limits of the search.
    pub limits: Limits,
}

impl SymbolicSearch {
    /// Explores the symbolic states of a program.
    pub fn run<E: Symbolic>(
        &self,
        program: &mut E,
        watch: &mut Watch<'_>,
        audience: &mut dyn Audience<E>,
    ) -> SymbolicFindings {
        program.back_to(0);
        let mut initial = program.initial_mishaps().iter();
        let void = initial.any(|mishap| mishap.kind == MishapKind::Discarded);
        let mut search = Search {
            void,
            program,
            reduction: self.reduction,
            pruned: self.pruned,
            limits: &self.limits,
            watch,
            audience,
            budget: Budget::new(&self.limits),
            pace: Pace::new(STEPS_BETWEEN_CHECKS),
            made: None,
            open: 1,
            stride: 1,
            found: SymbolicFindings {
                states: 0,
                deadlocks: 0,
                failures: 0,
                discarded: 0,
                steps: 0,
                peak: 1,
                curve: vec![(0, 1)],
                bounds: Vec::new(),
                stopped: StopReason::Complete,
                elapsed: Duration::ZERO,
            },
        };
        let initial = search.program.initial_mishaps().iter();
        let shown = |mishap: &&Mishap| match mishap.kind {
            MishapKind::Failure => !search.void,
            MishapKind::Discarded | MishapKind::BrokenOff => false,
            _ => true,
        };
        for &mishap in initial.filter(shown) {
            let here = CurrentPath {
                program: &*search.program,
                path: &None,
                made: &None,
            };
            search.audience.failed(search.program, mishap, &here);
        }
        let broken_off = match self.reduction {
            _ if is_broken_off(search.program.initial_mishaps()) => {
                ControlFlow::Break(search.why_broken())
            }
            Reduction::None => search.depth_first(),
            _ => search.breadth_first(),
        };
        if let ControlFlow::Break(bound) = broken_off {
            search.bound(bound);
        }
        let mut found = search.found;
        let last = (found.steps, found.states + search.open);
        if found.curve.last() != Some(&last) {
            found.curve.push(last);
        }
        if !found.bounds.is_empty() {
            found.stopped = StopReason::Bound;
        }
        found.elapsed = search.budget.elapsed();
        found
    }
}

/// A step to make.
struct Choice {
    process: ProcessId,
    outcomes: SmallVec<[i64; 1]>,
}

/// A state that is still to be expanded.
struct Entry<E: Symbolic> {
    state: E::State,
    path: Path,
    made: MadeSteps,
}

/// The states of a level, and the keys that identify them.
struct Level<E: Symbolic> {
    entries: Vec<Entry<E>>,
    known: FxHashSet<(Fingerprint, Fingerprint)>,
}

type Processes = SmallVec<[ProcessId; 8]>;

/// Limit on the unexpanded states that are shown after a limit was hit.
const MOST_OPEN: usize = 1000;
/// Limit on the points of the curve.
const POINTS: usize = 2048;
/// Greatest number of states between two checks of the limits.
const STEPS_BETWEEN_CHECKS: u32 = 64;

struct Search<'a, 'w, E: Symbolic> {
    /// Whether there is a false `assume` before the first step. Then no failure counts.
    void: bool,
    program: &'a mut E,
    reduction: Reduction,
    pruned: bool,
    limits: &'a Limits,
    watch: &'a mut Watch<'w>,
    audience: &'a mut dyn Audience<E>,
    budget: Budget<'a>,
    pace: Pace,
    /// The steps to the state that is being expanded. In a breadth-first search the program does
    /// not store their events.
    made: MadeSteps,
    /// States that have not ended.
    open: u64,
    /// Number of steps between two points of the curve.
    stride: u64,
    found: SymbolicFindings,
}

impl<E: Symbolic> Search<'_, '_, E> {
    /// Explores level by level: expands all states of a level, and merges equal ones of the next
    /// level.
    fn breadth_first(&mut self) -> ControlFlow<Bound> {
        let mut level = vec![Entry::<E> {
            state: self.program.state(),
            path: None,
            made: None,
        }];
        let mut depth = 0;
        while !level.is_empty() {
            if depth >= self.limits.depth() {
                self.report_unexpanded(level);
                return ControlFlow::Break(Bound::MaxDepth(depth));
            }
            let mut next = Level {
                entries: Vec::new(),
                known: FxHashSet::default(),
            };
            let mut entries = level.into_iter();
            while let Some(Entry { state, path, made }) = entries.next() {
                self.program.restore(&state);
                self.made.clone_from(&made);
                let (mut kept, mut covered) = (Processes::new(), None);
                let expanded = self.expand(&path, |search, choice| {
                    if search.pruned && search.is_covered() {
                        covered.get_or_insert(choice);
                    } else {
                        kept.push(choice.process);
                        search.arrive(&path, &mut next);
                    }
                });
                let may_stay = match expanded {
                    ControlFlow::Continue(may_stay) => may_stay,
                    ControlFlow::Break(bound) => {
                        let here = Entry { state, path, made };
                        let open = std::iter::once(here).chain(entries).chain(next.entries);
                        self.report_unexpanded(open);
                        return ControlFlow::Break(bound);
                    }
                };
                let goes_on = kept.iter().any(|process| !may_stay.contains(process));
                if let (Some(choice), false) = (covered, goes_on)
                    && self.make(&choice)?
                {
                    self.arrive(&path, &mut next);
                }
            }
            level = next.entries;
            depth += 1;
        }
        ControlFlow::Continue(())
    }

    /// Reports states that a limit has left unexpanded.
    fn report_unexpanded(&mut self, open: impl IntoIterator<Item = Entry<E>>) {
        for Entry { state, path, made } in open.into_iter().take(MOST_OPEN) {
            self.program.restore(&state);
            let here = CurrentPath {
                program: &*self.program,
                path: &path,
                made: &made,
            };
            self.audience.ended(self.program, End::Cut, &here);
        }
    }

    /// Adds a successor to the next level, unless an equal state is in it. A final state is
    /// recorded instead.
    fn arrive(&mut self, before: &Path, next: &mut Level<E>) {
        let path = self.extended(before);
        self.mishaps(&path);
        if !next.known.insert((form(&path), self.program.pool())) {
            return;
        }
        self.open += 1;
        if self.program.is_final() {
            self.end(&path);
        } else {
            let state = self.program.state();
            let made = self.made_to_here();
            next.entries.push(Entry { state, path, made });
        }
    }

    fn made_to_here(&self) -> MadeSteps {
        let since = Schedule::from_run(self.program.events(), self.program.processes());
        since.0.into_iter().fold(self.made.clone(), |before, step| {
            Some(Rc::new(MadeStep { step, before }))
        })
    }

    /// Whether the last step left no event and its process has nothing left to do. Then the state
    /// is dropped if another process is certain to make a step (*Pruning* in the head of this
    /// file).
    fn is_covered(&self) -> bool {
        let last = self.program.events().last();
        let ended = |event: &Event| self.program.status(event.process) == Status::Ended;
        last.is_some_and(|event| is_silent(event) && ended(event))
    }

    /// Explores without merging, along one path at a time.
    fn depth_first(&mut self) -> ControlFlow<Bound> {
        // The remaining choices of each state on the path, the next one last.
        let mut choices: Vec<Choice> = Vec::new();
        let mut marks: Vec<usize> = Vec::new();
        let mut fresh = true;
        loop {
            let depth = self.program.events().len();
            if fresh {
                self.mishaps(&None);
                marks.push(choices.len());
                if self.program.is_final() {
                    self.end(&None);
                } else if depth as u64 >= self.limits.depth() {
                    self.bound(Bound::MaxDepth(self.limits.depth()));
                    let here = CurrentPath {
                        program: &*self.program,
                        path: &None,
                        made: &self.made,
                    };
                    self.audience.ended(self.program, End::Cut, &here);
                } else {
                    let first = choices.len();
                    self.expand(&None, |search, choice| {
                        search.open += 1;
                        choices.push(choice);
                    })?;
                    choices[first..].reverse();
                }
            }
            let first = marks.last().copied().unwrap_or(0);
            match (choices.len() > first).then(|| choices.pop()).flatten() {
                Some(choice) => {
                    fresh = self.make(&choice)?;
                }
                None => {
                    marks.pop();
                    let Some(depth) = depth.checked_sub(1) else {
                        return ControlFlow::Continue(());
                    };
                    self.program.back_to(depth);
                    fresh = false;
                }
            }
        }
    }

    /// Repeats a step. Returns whether it is possible.
    fn make(&mut self, choice: &Choice) -> ControlFlow<Bound, bool> {
        match self.program.step(choice.process, &choice.outcomes) {
            Ok(event) if is_broken_off(&event.mishaps) => ControlFlow::Break(self.why_broken()),
            made => ControlFlow::Continue(made.is_ok()),
        }
    }

    /// Applies SCHEDULE to the current state: calls `visit` in each of its successors. Returns the
    /// processes that may find that they must wait.
    fn expand(
        &mut self,
        path: &Path,
        mut visit: impl FnMut(&mut Self, Choice),
    ) -> ControlFlow<Bound, Processes> {
        self.look_at_limits()?;
        let depth = self.program.events().len();
        let ready = with_status(self.program, Status::Ready);
        let mut moved = false;
        let mut may_stay = Processes::new();
        for &process in &ready {
            let mut stays = false;
            let mut outcomes = Some(SmallVec::new());
            while let Some(chosen) = outcomes {
                let Ok(event) = self.program.step(process, &chosen) else {
                    break;
                };
                if is_broken_off(&event.mishaps) {
                    return ControlFlow::Break(self.why_broken());
                }
                outcomes = next_outcomes(event);
                let values = event.outcomes.iter().map(|o| o.value).collect();
                if event.stayed {
                    stays = true;
                } else {
                    moved = true;
                    let choice = Choice {
                        process,
                        outcomes: values,
                    };
                    visit(self, choice);
                }
                self.program.back_to(depth);
                // A `choose` may have very many outcomes, and there may be many processes.
                self.check_limits_at_intervals()?;
            }
            if stays {
                may_stay.push(process);
            }
        }
        if may_stay.len() == ready.len() {
            self.end_waiting(path, &ready);
        }
        self.open -= 1;
        if moved {
            self.found.steps += 1;
            self.point();
        }
        ControlFlow::Continue(may_stay)
    }

    /// Lets all these processes find, one after the other, that they must wait. Each combination in
    /// which all of them wait is a state without successors.
    fn end_waiting(&mut self, path: &Path, ready: &[ProcessId]) {
        let Some((&process, others)) = ready.split_first() else {
            self.open += 1;
            return self.end(path);
        };
        let depth = self.program.events().len();
        if self.program.status(process) != Status::Ready {
            return self.end_waiting(path, others);
        }
        let mut outcomes = Some(SmallVec::new());
        while let Some(chosen) = outcomes {
            let Ok(event) = self.program.step(process, &chosen) else {
                break;
            };
            outcomes = next_outcomes(event);
            if event.stayed {
                self.end_waiting(path, others);
            }
            self.program.back_to(depth);
        }
    }

    /// Records a symbolic state in which no process can continue.
    fn end(&mut self, path: &Path) {
        self.open -= 1;
        let end = End::classify(self.program);
        match end {
            End::Discarded => {
                self.found.discarded += 1;
                return;
            }
            End::Lost | End::Blocked | End::Cut => return,
            End::Final | End::Deadlock | End::Failure => {}
        }
        self.found.states += 1;
        self.found.deadlocks += u64::from(end == End::Deadlock);
        let here = CurrentPath {
            program: &*self.program,
            path,
            made: &self.made,
        };
        let mut failed = end == End::Failure;
        if end == End::Final {
            for mishap in self.program.final_mishaps() {
                match mishap.kind {
                    MishapKind::Failure => {
                        failed = true;
                        self.audience.failed(self.program, mishap, &here);
                    }
                    kind => bound_of(kind, self.limits, &mut self.found.bounds),
                }
            }
        }
        self.found.failures += u64::from(failed);
        self.audience.ended(self.program, end, &here);
    }

    /// Records the mishaps of the last event.
    fn mishaps(&mut self, path: &Path) {
        let Some(event) = self.program.events().last() else {
            return;
        };
        for &mishap in &event.mishaps {
            let discarded = match path {
                _ if self.void => true,
                Some(node) => node.discarded,
                None => {
                    let last = self.program.events().len() - 1;
                    crate::past_is_discarded(self.program, last)
                }
            };
            match mishap.kind {
                MishapKind::Failure if !discarded => {
                    let here = CurrentPath {
                        program: &*self.program,
                        path,
                        made: &self.made,
                    };
                    self.audience.failed(self.program, mishap, &here);
                }
                MishapKind::Failure | MishapKind::Discarded => {}
                kind => bound_of(kind, self.limits, &mut self.found.bounds),
            }
        }
    }

    /// Returns the path extended by the last event of the program, in its form.
    fn extended(&self, path: &Path) -> Path {
        let event = self.program.events().last()?;
        if is_silent(event) {
            return path.clone();
        }
        let indices = self.program.indices();
        let index = |at: usize| indices.get(at).copied().flatten();
        let touched = event.touched.iter().enumerate();
        let touched = touched.map(|(at, &access)| (access, index(at)));
        // A claimed cell whose index is beyond the cells of a state represents an invariant that
        // the step has evaluated.
        let cells = self.program.cells() as u32;
        let claims = event.claims.iter();
        let watched = claims.filter(|claim| claim.first >= cells);
        let new = Rc::new(PastEvent {
            process: event.process,
            outcomes: event.outcomes.iter().map(|o| o.value).collect(),
            touched: touched.chain(watched.map(|&claim| (claim, None))).collect(),
            spawned: event.spawned.as_slice().into(),
            joined: event.joined.as_slice().into(),
            discards: event
                .mishaps
                .iter()
                .any(|m| m.kind == MishapKind::Discarded),
        });
        // A new condition may show that elements which earlier events touched are different.
        let unknown = path.as_ref().is_some_and(|node| node.unknown);
        if self.reduction == Reduction::Canonical && unknown && !new.outcomes.is_empty() {
            let mut events: Vec<Rc<PastEvent>> =
                nodes(path).map(|node| Rc::clone(&node.event)).collect();
            events.reverse();
            let again = events
                .into_iter()
                .fold(None, |path, event| Some(self.appended(&path, event)));
            return Some(self.appended(&again, new));
        }
        Some(self.appended(path, new))
    }

    /// Returns the path extended by an event, in its form, under the current path condition.
    fn appended(&self, path: &Path, new: Rc<PastEvent>) -> Rc<PathLink> {
        let name = self.program.processes().name(new.process);
        let values = new.outcomes.iter();
        let own = values.fold(name, |all, &value| all.then(value as u64));
        let (mut past, mut discarded) = (own, new.discards);
        for node in nodes(path) {
            if !self.independent(&node.event, &new) {
                past = past.and(node.past);
                discarded |= node.discarded;
            }
        }
        if self.reduction == Reduction::Paper {
            return self.inserted(path, new, own, discarded);
        }
        let past = past.then(1);
        let unknown = new.is_unknown() || path.as_ref().is_some_and(|node| node.unknown);
        Rc::new(PathLink {
            path: form(path).and(past),
            past,
            discarded,
            unknown,
            event: new,
            before: path.clone(),
        })
    }

    /// Moves an event before its neighbours as long as they are independent of it and its process
    /// comes before theirs.
    fn inserted(
        &self,
        path: &Path,
        new: Rc<PastEvent>,
        own: Fingerprint,
        discarded: bool,
    ) -> Rc<PathLink> {
        let processes = self.program.processes();
        let mut place = path.clone();
        let mut moved = Vec::new();
        while let Some(node) = place.clone() {
            let smaller = processes.path(new.process) < processes.path(node.event.process);
            if !smaller || !self.independent(&node.event, &new) {
                break;
            }
            place = node.before.clone();
            moved.push(node);
        }
        let after = |before: Path, event: Rc<PastEvent>, own: Fingerprint, discarded: bool| {
            Rc::new(PathLink {
                path: form(&before).then_all(own),
                past: own,
                discarded,
                unknown: false,
                event,
                before,
            })
        };
        let mut path = after(place, new, own, discarded);
        for node in moved.into_iter().rev() {
            let discarded = node.discarded;
            path = after(Some(path), Rc::clone(&node.event), node.past, discarded);
        }
        path
    }

    /// Whether two events are independent: Definition 4, with spawns and joins (erratum E9), and
    /// with array elements that the path condition keeps apart.
    fn independent(&self, one: &PastEvent, other: &PastEvent) -> bool {
        let orders = |a: &PastEvent, b: &PastEvent| {
            a.spawned.contains(&b.process) || a.joined.contains(&b.process)
        };
        let conflict = |&x: &(Access, Option<u32>), &y: &(Access, Option<u32>)| {
            let unknown = x.1.is_some() || y.1.is_some();
            x.0.conflicts(y.0) && !(unknown && self.program.apart(x, y))
        };
        let mut accesses = one.touched.iter();
        one.process != other.process
            && !orders(one, other)
            && !orders(other, one)
            && !accesses.any(|x| other.touched.iter().any(|y| conflict(x, y)))
    }

    /// Adds a point to the curve; the longer the curve, the larger the distance between its points.
    fn point(&mut self) {
        let states = self.found.states + self.open;
        self.found.peak = self.found.peak.max(states);
        if self.found.steps.is_multiple_of(self.stride) {
            self.found.curve.push((self.found.steps, states));
        }
        if self.found.curve.len() >= POINTS {
            self.stride *= 2;
            let stride = self.stride;
            self.found
                .curve
                .retain(|point| point.0.is_multiple_of(stride));
        }
    }

    fn bound(&mut self, bound: Bound) {
        if !self.found.bounds.contains(&bound) {
            self.found.bounds.push(bound);
        }
    }

    fn look_at_limits(&mut self) -> ControlFlow<Bound> {
        self.budget.may_step(self.found.steps)?;
        self.budget.may_run(self.found.states)?;
        self.check_limits_at_intervals()
    }

    fn check_limits_at_intervals(&mut self) -> ControlFlow<Bound> {
        if self.pace.is_due() {
            self.budget.look(self.counts(), self.watch)
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Returns the limit that broke off a step.
    fn why_broken(&mut self) -> Bound {
        self.budget.why_broken(self.counts(), self.watch)
    }

    fn counts(&self) -> Counts {
        Counts {
            executions: self.found.states,
            deadlocks: self.found.deadlocks,
            steps: self.found.steps,
            events: self.found.steps,
            ..Counts::default()
        }
    }
}

fn bound_of(kind: MishapKind, limits: &Limits, bounds: &mut Vec<Bound>) {
    let bound = match kind {
        MishapKind::LocalLimit => Bound::MaxLocal(limits.local),
        MishapKind::MessageLimit(most) => Bound::MaxMessages(most),
        MishapKind::Undecided => Bound::Undecided,
        MishapKind::BrokenOff => broken_by(limits),
        _ => Bound::IntRange,
    };
    if !bounds.contains(&bound) {
        bounds.push(bound);
    }
}
