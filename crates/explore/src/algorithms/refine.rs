//! Refinement: whether the observed values of every run of a program are those of some run of
//! another program, its specification.
//!
//! Abadi and Lamport (1991, *The existence of refinement mappings*): the observation of a run is
//! the sequence of the values of some variables, without repetitions. So a step of the program that
//! changes no observed variable may correspond to no step of the specification, and vice versa. A
//! program refines its specification if for each of its runs some run of the specification has the
//! same observation; if the run is final, the run of the specification must be final too.
//!
//! The specification may have variables that are not observed. So after a run of the program, the
//! specification may be in one of many states. All these states are followed at once, as in the
//! subset construction for automata (Rabin and Scott 1959). The search is breadth-first, over
//! pairs: a state of the program, and the set of all states of the specification that are possible
//! after the same observation, closed under unobserved steps. An observed step leads to the states
//! that the specification reaches by a step to the same values. If there are no such states, the
//! run up to that step is a counterexample of minimal length.
//!
//! As in other searches, a run of the program or of the specification does not count if a false
//! `assume` has halted a process in it. A process that has failed makes no step, and its run is not
//! final.

use std::ops::ControlFlow;
use std::rc::Rc;

use mazurka_core::{
    Bound, Counts, Fingerprint, Limits, MishapKind, Schedule, ScheduledStep, Semantics, Status,
    with_status,
};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::algorithms::naive::next_outcomes;
use crate::drive::budget::{Budget, broken_by};
use crate::drive::driver::Watch;

/// The values of the observed variables, in a fixed order.
type Values = Rc<[i64]>;

/// A program, and how its states are observed.
pub struct Observed<'a, E> {
    /// The program.
    pub program: &'a mut E,
    /// Returns the observed values of its current state.
    pub values: &'a dyn Fn(&E) -> Vec<i64>,
}

/// How a run deviates from all runs of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefinementGap {
    /// It starts with values with which no run of the specification starts.
    Start,
    /// Its last step leads to values that cannot follow the values before.
    Step,
    /// It is final, but no run of the specification with the same values is final.
    End,
}

/// The findings of a search for a run that the specification does not have.
#[derive(Clone, Debug)]
pub struct Refined {
    /// A shortest run that the specification does not have.
    pub broken: Option<(Schedule, RefinementGap)>,
    /// The limits that have cut the search short.
    pub bounds: Vec<Bound>,
    /// Number of pairs of a state of the program and a set of states of the specification.
    pub pairs: u64,
    /// Number of states of the specification that were met.
    pub states: u64,
    /// Number of steps of the program and of the specification.
    pub steps: u64,
}

/// Searches for a run of the program that the specification does not have.
pub fn refine<A: Semantics, B: Semantics>(
    program: Observed<'_, A>,
    specification: Observed<'_, B>,
    limits: &Limits,
    watch: &mut Watch<'_>,
) -> Refined {
    let mut search = Search {
        program,
        spec: SpecificationStates::new(specification, limits, watch),
        limits,
        met: FxHashSet::default(),
        pairs: Vec::new(),
        bounds: Vec::new(),
        steps: 0,
    };
    let broken = search.run();
    let mut bounds = search.bounds;
    // If the specification was not explored completely, it may have the run that seems missing.
    let certain = search.spec.bounds.is_empty();
    bounds.extend(search.spec.bounds);
    bounds.sort_unstable();
    bounds.dedup();
    Refined {
        broken: broken.filter(|_| certain),
        bounds,
        pairs: search.pairs.len() as u64,
        states: search.spec.states.len() as u64,
        steps: search.steps + search.spec.steps,
    }
}

/// Returns how a run deviates from all runs of the specification. The result is `None` if the run
/// does not deviate, or if a limit ends the check.
pub fn exceeds<A: Semantics, B: Semantics>(
    program: Observed<'_, A>,
    specification: Observed<'_, B>,
    schedule: &Schedule,
    limits: &Limits,
) -> Option<RefinementGap> {
    let watch: &mut Watch<'_> = &mut |_| ControlFlow::Continue(());
    let mut spec = SpecificationStates::new(specification, limits, watch);
    let Observed { program, values } = program;
    program.back_to(0);
    let mut last: Values = values(program).into();
    let Some(mut set) = spec.start(&last) else {
        return spec.bounds.is_empty().then_some(RefinementGap::Start);
    };
    let steps = schedule.0.len();
    for (at, step) in schedule.0.iter().enumerate() {
        let process = program.processes().find(&step.process)?;
        program.step(process, &step.outcomes).ok()?;
        let next: Values = values(program).into();
        if next != last {
            set = match spec.follow(set, &next) {
                Some(set) => set,
                None => {
                    return (spec.bounds.is_empty() && at + 1 == steps)
                        .then_some(RefinementGap::Step);
                }
            };
            last = next;
        }
    }
    let ends = program.is_final() && !spec.may_end(set);
    (ends && spec.bounds.is_empty()).then_some(RefinementGap::End)
}

/// Returns the limit of the program's evaluator that broke off the last step, if any.
fn evaluator_bound<E: Semantics>(program: &E, limits: &Limits) -> Option<Bound> {
    let mishaps = program.events().last().map(|event| &event.mishaps);
    mishaps
        .into_iter()
        .flatten()
        .find_map(|mishap| match mishap.kind {
            MishapKind::OutOfRange => Some(Bound::IntRange),
            MishapKind::LocalLimit => Some(Bound::MaxLocal(limits.local)),
            MishapKind::MessageLimit(most) => Some(Bound::MaxMessages(most)),
            MishapKind::Undecided => Some(Bound::Undecided),
            MishapKind::BrokenOff => Some(broken_by(limits)),
            MishapKind::Failure | MishapKind::Discarded => None,
        })
}

/// Makes every step from the current state, calls `visit` after each, and undoes it.
fn each_step<E: Semantics>(program: &mut E, visit: &mut dyn FnMut(&mut E, &ScheduledStep)) {
    for process in with_status(program, Status::Ready) {
        let mut outcomes = Some(SmallVec::new());
        while let Some(values) = outcomes {
            outcomes = match program.step(process, &values) {
                Ok(event) => next_outcomes(event),
                Err(error) => panic!("a ready process cannot step: {error}"),
            };
            let last = program.events().last().map(std::slice::from_ref);
            let mut made = Schedule::from_run(last.unwrap_or_default(), program.processes());
            if let Some(step) = made.0.pop() {
                visit(program, &step);
            }
            program.back_to(0);
        }
    }
}

fn is_discarded<E: Semantics>(program: &E) -> bool {
    !with_status(program, Status::Discarded).is_empty()
}

/// A state that the specification can reach.
struct SpecState<S> {
    state: S,
    values: Values,
    is_final: bool,
    /// The states after one step, if they are known.
    next: Option<Rc<[u32]>>,
}

/// The known part of the specification, and sets of its states.
struct SpecificationStates<'a, 'w, B: Semantics> {
    observed: Observed<'a, B>,
    limits: &'a Limits,
    budget: Budget<'a>,
    watch: &'a mut Watch<'w>,
    states: Vec<SpecState<B::State>>,
    /// The index in `states` of each known state, by its fingerprint and values.
    known: FxHashMap<(Fingerprint, Values), u32>,
    /// The sets of states, as sorted indices into `states`.
    sets: Vec<Rc<[u32]>>,
    /// The index in `sets` of each set.
    set_ids: FxHashMap<Rc<[u32]>, u32>,
    /// For a set and the values after an observed step: the set that the step leads to; `None` if
    /// no step of the specification leads to these values.
    moves: FxHashMap<(u32, Values), Option<u32>>,
    bounds: Vec<Bound>,
    /// Steps of the specification.
    steps: u64,
    /// Number of pairs, and of steps of the program.
    pairs: u64,
    program_steps: u64,
}

impl<'a, 'w, B: Semantics> SpecificationStates<'a, 'w, B> {
    fn new(observed: Observed<'a, B>, limits: &'a Limits, watch: &'a mut Watch<'w>) -> Self {
        Self {
            observed,
            limits,
            budget: Budget::new(limits),
            watch,
            pairs: 0,
            program_steps: 0,
            states: Vec::new(),
            known: FxHashMap::default(),
            sets: Vec::new(),
            set_ids: FxHashMap::default(),
            moves: FxHashMap::default(),
            bounds: Vec::new(),
            steps: 0,
        }
    }

    /// Returns the set of states in which a run can start with these values; `None` if there are
    /// none.
    fn start(&mut self, values: &Values) -> Option<u32> {
        self.observed.program.back_to(0);
        if is_discarded(self.observed.program) {
            return None;
        }
        let first = self.current();
        let same = self.states[first as usize].values == *values;
        same.then(|| self.closed(vec![first]))
    }

    /// Returns the limit that has been reached, if any.
    fn bound_reached(&mut self) -> Option<Bound> {
        let steps = self.steps + self.program_steps;
        let counts = Counts {
            steps,
            events: steps,
            states: Some(self.pairs + self.states.len() as u64),
            ..Counts::default()
        };
        let stepped = self.budget.may_step(steps).break_value();
        stepped.or_else(|| self.budget.look(counts, self.watch).break_value())
    }

    /// Returns the index of the current state; adds the state if it is new.
    fn current(&mut self) -> u32 {
        let program = &*self.observed.program;
        let values: Values = (self.observed.values)(program).into();
        let key = (program.fingerprint(), Rc::clone(&values));
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        let number = self.states.len() as u32;
        self.states.push(SpecState {
            state: program.state(),
            values,
            is_final: program.is_final(),
            next: None,
        });
        self.known.insert(key, number);
        number
    }

    /// Returns the states after one step; empty if a limit has been reached.
    fn next(&mut self, of: u32) -> Rc<[u32]> {
        if let Some(next) = &self.states[of as usize].next {
            return Rc::clone(next);
        }
        if !self.bounds.is_empty() {
            return Rc::default();
        }
        if let Some(bound) = self.bound_reached() {
            self.bounds.push(bound);
            return Rc::default();
        }
        let state = self.states[of as usize].state.clone();
        self.observed.program.restore(&state);
        let mut ways: Vec<ScheduledStep> = Vec::new();
        each_step(self.observed.program, &mut |_, step| {
            ways.push(step.clone())
        });
        let mut next = Vec::new();
        for step in ways {
            let program = &mut *self.observed.program;
            let made = match program.processes().find(&step.process) {
                Some(process) => program.step(process, &step.outcomes).is_ok(),
                None => false,
            };
            assert!(made, "a step can be made again");
            self.steps += 1;
            match evaluator_bound(self.observed.program, self.limits) {
                Some(bound) => self.bounds.push(bound),
                None if is_discarded(self.observed.program) => {}
                None => next.push(self.current()),
            }
            self.observed.program.back_to(0);
        }
        next.sort_unstable();
        next.dedup();
        let next: Rc<[u32]> = next.into();
        self.states[of as usize].next = Some(Rc::clone(&next));
        next
    }

    /// Returns the set of these states, which have the same values, closed under unobserved steps.
    fn closed(&mut self, mut all: Vec<u32>) -> u32 {
        let mut seen: FxHashSet<u32> = all.iter().copied().collect();
        let mut at = 0;
        while at < all.len() {
            let here = all[at];
            at += 1;
            for &next in self.next(here).iter() {
                let same = self.states[next as usize].values == self.states[here as usize].values;
                if same && seen.insert(next) {
                    all.push(next);
                }
            }
        }
        all.sort_unstable();
        let set: Rc<[u32]> = all.into();
        if let Some(&known) = self.set_ids.get(&set) {
            return known;
        }
        let number = self.sets.len() as u32;
        self.sets.push(Rc::clone(&set));
        self.set_ids.insert(set, number);
        number
    }

    /// Returns the set that a step to these values leads to, if any. The values must differ from
    /// those that the states of `set` have.
    fn follow(&mut self, set: u32, values: &Values) -> Option<u32> {
        let key = (set, Rc::clone(values));
        if let Some(&known) = self.moves.get(&key) {
            return known;
        }
        let mut after = Vec::new();
        for &state in Rc::clone(&self.sets[set as usize]).iter() {
            let next = self.next(state);
            let fits = |next: &&u32| self.states[**next as usize].values == *values;
            after.extend(next.iter().filter(fits).copied());
        }
        after.sort_unstable();
        after.dedup();
        let found = (!after.is_empty()).then(|| self.closed(after));
        self.moves.insert(key, found);
        found
    }

    /// Whether a state of the set is final, so that a run may end there.
    fn may_end(&self, set: u32) -> bool {
        let mut all = self.sets[set as usize].iter();
        all.any(|&state| self.states[state as usize].is_final)
    }
}

/// A state of the program with a set of states of the specification.
struct Pair<S> {
    state: S,
    values: Values,
    /// The set of states of the specification, as an index.
    set: u32,
    /// The previous pair, and the step from it; `None` for the first pair.
    by: Option<(u32, ScheduledStep)>,
    /// Number of steps from the initial state.
    depth: u64,
}

struct Search<'a, 'w, A: Semantics, B: Semantics> {
    program: Observed<'a, A>,
    spec: SpecificationStates<'a, 'w, B>,
    limits: &'a Limits,
    met: FxHashSet<(Fingerprint, Values, u32)>,
    pairs: Vec<Pair<A::State>>,
    bounds: Vec<Bound>,
    steps: u64,
}

impl<A: Semantics, B: Semantics> Search<'_, '_, A, B> {
    /// Searches for a shortest run of the program that the specification does not have.
    fn run(&mut self) -> Option<(Schedule, RefinementGap)> {
        self.program.program.back_to(0);
        if is_discarded(self.program.program) {
            return None;
        }
        let values: Values = (self.program.values)(self.program.program).into();
        let Some(set) = self.spec.start(&values) else {
            return Some((Schedule::default(), RefinementGap::Start));
        };
        if let Some(excess) = self.arrive(values, set, None) {
            return Some((Schedule::default(), excess));
        }
        let mut at = 0;
        while at < self.pairs.len() {
            self.spec.pairs = self.pairs.len() as u64;
            self.spec.program_steps = self.steps;
            if let Some(bound) = self.spec.bound_reached() {
                self.bounds.push(bound);
                return None;
            }
            if let Some(found) = self.expand(at as u32) {
                return Some(found);
            }
            at += 1;
        }
        None
    }

    /// Makes every step from a pair.
    fn expand(&mut self, from: u32) -> Option<(Schedule, RefinementGap)> {
        let pair = &self.pairs[from as usize];
        let (state, last, set) = (pair.state.clone(), Rc::clone(&pair.values), pair.set);
        let depth = pair.depth;
        self.program.program.restore(&state);
        let mut ways: Vec<ScheduledStep> = Vec::new();
        each_step(self.program.program, &mut |_, step| ways.push(step.clone()));
        if self.limits.depth.is_some_and(|most| depth >= most) {
            if !ways.is_empty() {
                self.bounds.extend(self.limits.depth.map(Bound::MaxDepth));
            }
            return None;
        }
        for step in ways {
            let program = &mut *self.program.program;
            let made = match program.processes().find(&step.process) {
                Some(process) => program.step(process, &step.outcomes).is_ok(),
                None => false,
            };
            assert!(made, "a step can be made again");
            self.steps += 1;
            let lost = evaluator_bound(program, self.limits);
            let discarded = is_discarded(program);
            let values: Values = (self.program.values)(program).into();
            self.bounds.extend(lost);
            if lost.is_none() && !discarded {
                let after = if values == last {
                    Some(set)
                } else {
                    self.spec.follow(set, &values)
                };
                let excess = match after {
                    None => Some(RefinementGap::Step),
                    Some(set) => self.arrive(values, set, Some((from, step.clone()))),
                };
                if let Some(excess) = excess {
                    let mut all = self.schedule(from);
                    all.0.push(step);
                    return Some((all, excess));
                }
            }
            self.program.program.back_to(0);
        }
        None
    }

    /// Adds the pair of the current state of the program and a set, if the pair is new.
    fn arrive(
        &mut self,
        values: Values,
        set: u32,
        by: Option<(u32, ScheduledStep)>,
    ) -> Option<RefinementGap> {
        let program = &*self.program.program;
        if program.is_final() && !self.spec.may_end(set) {
            return Some(RefinementGap::End);
        }
        let key = (program.fingerprint(), Rc::clone(&values), set);
        if self.met.insert(key) {
            let before = by.as_ref().map(|(before, _)| &self.pairs[*before as usize]);
            let depth = before.map_or(0, |pair| pair.depth + 1);
            self.pairs.push(Pair {
                state: program.state(),
                values,
                set,
                by,
                depth,
            });
        }
        None
    }

    /// Returns the steps to a pair.
    fn schedule(&self, mut pair: u32) -> Schedule {
        let mut steps = Vec::new();
        while let Some((before, step)) = &self.pairs[pair as usize].by {
            steps.push(step.clone());
            pair = *before;
        }
        steps.reverse();
        Schedule(steps)
    }
}
