//! Visits every state that a program can reach.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use super::claims::{Claims, claims};
use super::code::Code;
use super::cycles::{Graph, fair};
use super::machine::{Machine, Process, State, Status, StepEffect, TooLarge};
use super::temporal::Runs;
use super::{Answer, Failure, FailureKind, Limits, Observation, Truth};

/// Returns the possible behaviour of the code.
pub(super) fn explore(code: &Code, limits: &Limits) -> Answer {
    let mut explorer = Explorer {
        machine: Machine::new(code, limits),
        truth: Truth {
            final_states: BTreeSet::new(),
            deadlock: false,
            deadlock_states: 0,
            failures: BTreeSet::new(),
            discarded: false,
            livelock: false,
            temporal: Vec::new(),
            covers: Vec::new(),
            deterministic: None,
            exact: true,
            states: 0,
        },
        ends: BTreeMap::new(),
        seen: HashMap::new(),
        graph: Graph::new(),
        unended: Vec::new(),
        open: Vec::new(),
        starts: Vec::new(),
    };
    match explorer.all() {
        Ok(true) => {}
        Ok(false) if explorer.machine.exact || code.contradicts => return Answer::Impossible,
        // No initial state satisfies the requirements, but values that were not tried may satisfy
        // them.
        Ok(false) => return Answer::TooLarge,
        Err(TooLarge) => return Answer::TooLarge,
    }
    let Some(deterministic) = explorer.deterministic() else {
        return Answer::TooLarge;
    };
    let Ok((temporal, livelock)) = explorer.temporal(limits.strong) else {
        return Answer::TooLarge;
    };
    let Ok(covers) = explorer.covers() else {
        return Answer::TooLarge;
    };
    let mut truth = explorer.truth;
    truth.covers = covers;
    truth.temporal = temporal;
    truth.deterministic = deterministic;
    truth.exact = explorer.machine.exact;
    truth.states = explorer.seen.len();
    truth.livelock = livelock;
    Answer::Truth(truth)
}

type Inputs = BTreeMap<(usize, u32), i128>;

/// A state and the process that makes a step from it.
struct Departure<'a> {
    state: &'a State,
    /// The process that makes the step.
    number: usize,
    /// The accesses that the step may make.
    claims: &'a Claims,
}

/// Visits each state once, from a stack of open states, and collects the [`Truth`]. It records the
/// state graph for livelocks and temporal properties. A failure does not count if a false `assume`
/// happens before it. So each state has a *taint*: the accesses that a false `assume` happens
/// before.
struct Explorer<'a> {
    machine: Machine<'a>,
    truth: Truth,
    /// The observations of final states, by the values of the inputs.
    ends: BTreeMap<Inputs, BTreeSet<Observation>>,
    /// Every visited state, with its index in `graph`.
    seen: HashMap<Rc<State>, usize>,
    open: Vec<Rc<State>>,
    /// The indices of the initial states, including those in which an invariant is false: a false
    /// invariant halts no process there.
    starts: Vec<usize>,
    graph: Graph,
    /// For each state, whether a process that is meant to end is still running.
    unended: Vec<bool>,
}

impl Explorer<'_> {
    /// Visits all states. Returns false if no initial values are allowed.
    fn all(&mut self) -> Result<bool, TooLarge> {
        let starts = self.machine.start()?;
        if starts.is_empty() {
            return Ok(false);
        }
        for (mut state, mut step) in starts {
            if step.discarded {
                // An `assume` in the local work before the first step happens before everything
                // (docs/inputs.md).
                self.truth.discarded = true;
                continue;
            }
            self.check_invariants(&mut state, &mut step, None)?;
            self.truth.failures.extend(step.failures);
            let number = self.open(state);
            self.starts.push(number);
        }
        while let Some(state) = self.open.pop() {
            self.expand(&state)?;
            if self.seen.len() > self.machine.limits.states {
                return Err(TooLarge);
            }
        }
        Ok(true)
    }

    /// Returns the index of a state. A new state is added to the open ones.
    fn open(&mut self, state: State) -> usize {
        if let Some(&number) = self.seen.get(&state) {
            return number;
        }
        let number = self.graph.len();
        let state = Rc::new(state);
        self.seen.insert(state.clone(), number);
        self.graph.push(Vec::new());
        let endless = &self.machine.code.endless;
        let unended = |p: &Process| p.status == Status::Running && !endless.contains(&p.entry);
        self.unended.push(state.processes.values().any(unended));
        self.open.push(state);
        number
    }

    fn expand(&mut self, state: &State) -> Result<(), TooLarge> {
        let mut stuck = true;
        let running = state
            .processes
            .iter()
            .filter(|(_, p)| p.status == Status::Running);
        for number in running.map(|(number, _)| number) {
            let ends = self.machine.step(state, number)?;
            if ends.is_empty() {
                continue;
            }
            stuck = false;
            let code = self.machine.code;
            let claims = if code.assumes {
                claims(code, state, number)
            } else {
                Claims::default()
            };
            let from = Departure {
                state,
                number,
                claims: &claims,
            };
            for (next, step) in ends {
                self.arrive(&from, next, step)?;
            }
        }
        if stuck { self.complete(state) } else { Ok(()) }
    }

    /// Records the state that a step leads to.
    fn arrive(
        &mut self,
        from: &Departure<'_>,
        mut next: State,
        mut step: StepEffect,
    ) -> Result<(), TooLarge> {
        let Departure {
            state: before,
            number,
            claims,
        } = *from;
        self.check_invariants(&mut next, &mut step, Some(number))?;
        // A false `assume` happens before everything else in its step.
        if step.discarded || self.is_tainted(from) {
            self.taint(&mut next, number, claims, &step.spawned);
        } else {
            self.truth.failures.extend(step.failures);
        }
        // A run with a discarded or failed process is not a livelock, so there are no edges from
        // its states. But the edge to the first of these states is recorded: it shows that the
        // process is ready, and in a fair run a ready process must make its step at some time.
        let halted = |p: &Process| matches!(p.status, Status::Failed | Status::Discarded);
        let counts = !before.processes.values().any(halted);
        let (from, to) = (self.seen[before], self.open(next));
        if counts {
            self.graph[from].push((number, to));
        }
        Ok(())
    }

    /// Checks the invariants over the cells that the step wrote. A false invariant halts the
    /// process, even if the invariant was already false before the step.
    fn check_invariants(
        &mut self,
        state: &mut State,
        step: &mut StepEffect,
        by: Option<usize>,
    ) -> Result<(), TooLarge> {
        let code = self.machine.code;
        for invariant in &code.invariants {
            let touched = invariant
                .cells
                .iter()
                .any(|cell| step.written.contains(cell));
            if by.is_some() && !touched || self.machine.check(invariant, state)? != Some(false) {
                continue;
            }
            let kind = FailureKind::Invariant;
            step.failures.push(Failure {
                line: invariant.line,
                kind,
            });
            let process = by.and_then(|number| state.processes.get_mut(&number));
            if let Some(process) = process.filter(|p| p.status != Status::Discarded) {
                process.status = Status::Failed;
                process.frames.clear();
                process.stack.clear();
            }
        }
        Ok(())
    }

    /// Whether a false `assume` happens before this step.
    fn is_tainted(&self, from: &Departure<'_>) -> bool {
        let Departure {
            state: before,
            number,
            claims,
        } = *from;
        let taint = &before.taint;
        let process = |number: &usize| before.processes.get(number).is_some_and(|p| p.tainted);
        let mut invariants = self.machine.code.invariants.iter().zip(&taint.invariants);
        process(&number)
            || claims.reads.iter().any(|&cell| taint.written[cell])
            || claims
                .writes
                .iter()
                .any(|&cell| taint.written[cell] || taint.read[cell])
            || claims.locks.iter().any(|&lock| taint.locks[lock])
            || claims.joins.iter().any(process)
            || invariants.any(|(one, tainted)| *tainted && !apart(&one.cells, claims))
    }

    fn taint(&self, state: &mut State, number: usize, claims: &Claims, spawned: &[usize]) {
        let taint = Rc::make_mut(&mut state.taint);
        claims
            .reads
            .iter()
            .for_each(|&cell| taint.read[cell] = true);
        claims
            .writes
            .iter()
            .for_each(|&cell| taint.written[cell] = true);
        claims
            .locks
            .iter()
            .for_each(|&lock| taint.locks[lock] = true);
        let invariants = self
            .machine
            .code
            .invariants
            .iter()
            .zip(&mut taint.invariants);
        for (invariant, tainted) in invariants {
            *tainted |= !apart(&invariant.cells, claims);
        }
        for number in spawned.iter().chain([&number]) {
            if let Some(process) = state.processes.get_mut(number) {
                process.tainted = true;
            }
        }
    }

    /// Records a state in which no process can continue.
    fn complete(&mut self, state: &State) -> Result<(), TooLarge> {
        let any = |status| {
            state
                .processes
                .values()
                .any(|process| process.status == status)
        };
        if any(Status::Discarded) {
            self.truth.discarded = true;
        } else if any(Status::Failed) {
            // Its failures were recorded when they happened.
        } else if any(Status::Running) {
            self.truth.deadlock = true;
            self.truth.deadlock_states += 1;
        } else {
            self.finish(state)?;
        }
        Ok(())
    }

    fn finish(&mut self, state: &State) -> Result<(), TooLarge> {
        let code = self.machine.code;
        for property in &code.ensures {
            if self.machine.check(property, state)? == Some(false) {
                let kind = FailureKind::Ensures;
                self.truth.failures.insert(Failure {
                    line: property.line,
                    kind,
                });
            }
        }
        let cell = |&cell: &usize| (code.cells[cell].0.clone(), state.cells[cell]);
        let observation: Observation = code.observed.iter().map(cell).collect();
        self.truth.final_states.insert(observation.clone());
        self.ends
            .entry(state.inputs.clone())
            .or_default()
            .insert(observation);
        Ok(())
    }

    /// Returns which temporal properties hold, and whether there is a livelock.
    fn temporal(&mut self, strong: bool) -> Result<(Vec<bool>, bool), TooLarge> {
        let code = self.machine.code;
        let mut runs = Runs {
            graph: &self.graph,
            starts: &self.starts,
            counts: vec![false; self.graph.len()],
            strong,
        };
        for (state, &number) in &self.seen {
            let halted = |p: &Process| matches!(p.status, Status::Failed | Status::Discarded);
            runs.counts[number] = !state.processes.values().any(halted);
        }
        if runs.too_many() {
            return Err(TooLarge);
        }
        let livelock = if strong {
            runs.livelock(&self.unended)
        } else {
            fair(&self.graph, &self.unended)
        };
        let mut all = Vec::new();
        for (kind, conditions) in &code.temporal {
            let mut truths = vec![Vec::new(); conditions.len()];
            for (condition, truth) in conditions.iter().zip(&mut truths) {
                truth.resize(self.graph.len(), false);
                for (state, &number) in &self.seen {
                    // A condition that fails does not hold; if an `int` leaves 64 bits there is no
                    // answer.
                    let holds = self.machine.check(condition, state)?.ok_or(TooLarge)?;
                    truth[number] = holds;
                }
            }
            all.push(runs.satisfy(*kind, &truths));
        }
        Ok((all, livelock))
    }

    /// Returns which covers hold in some state that no false `assume` has led to.
    fn covers(&mut self) -> Result<Vec<bool>, TooLarge> {
        let mut all = Vec::new();
        let code = self.machine.code;
        for condition in &code.covers {
            let mut reached = false;
            for state in self.seen.keys() {
                let mut processes = state.processes.values();
                if processes.all(|process| process.status != Status::Discarded) {
                    reached |= self.machine.check(condition, state)?.ok_or(TooLarge)?;
                }
            }
            all.push(reached);
        }
        Ok(all)
    }

    /// Returns [`Truth::deterministic`]: whether runs with the same inputs end alike. The outer
    /// `None` means that there are too many runs to compare.
    fn deterministic(&self) -> Option<Option<bool>> {
        if self.ends.is_empty() {
            return Some(None);
        }
        if self.ends.values().any(|states| states.len() > 1) {
            return Some(Some(false));
        }
        let keys: BTreeSet<Vec<_>> = self
            .ends
            .keys()
            .map(|inputs| inputs.keys().collect())
            .collect();
        if keys.len() == 1 {
            return Some(Some(true));
        }
        if self.ends.len() > 3000 {
            return None;
        }
        let all: Vec<_> = self.ends.iter().collect();
        let differ = all.iter().enumerate().any(|(at, (inputs, states))| {
            all[..at]
                .iter()
                .any(|(other, ends)| states != ends && agree(inputs, other))
        });
        Some(Some(!differ))
    }
}

/// Whether the step writes none of these cells.
fn apart(cells: &[usize], claims: &Claims) -> bool {
    !cells.iter().any(|cell| claims.writes.contains(cell))
}

/// Whether the two assignments of inputs agree, so that one run could have both.
fn agree(one: &Inputs, other: &Inputs) -> bool {
    one.iter()
        .all(|(name, value)| other.get(name).is_none_or(|found| found == value))
}
