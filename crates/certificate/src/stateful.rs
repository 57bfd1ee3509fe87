//! The check and the construction of a set of states that is closed under steps.
//!
//! A set that contains the initial state and the successors of each of its states contains every
//! reachable state. Steps with a false `assume` are omitted, because they lead to discarded runs. A
//! failure counts only if no step in its past has a false `assume`. So the set contains a run that
//! leads to the failure.
//!
//! Each state has a *rank*, and no step leads to a higher rank. So an infinite run stays in one
//! class of equal rank from some point on. Such a run is a livelock only if a weakly fair scheduler
//! allows it. The scheduler does not allow it if some process is ready in every state of the class
//! and all of its steps leave the class.
//!
//! The evidence describes each state but the first by a step from an earlier state: the number of
//! that state, the process, and the outcomes of its step. After the states, it lists their ranks,
//! and the ranks for temporal properties (`temporal.rs`). The checker computes the states, so a
//! file cannot contain an unreachable state.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use crate::format::{Reader, put, put_signed};
use crate::machine::{Choice, Life, Machine, MadeStep, Mishap, Obstacle, Process, State};
use crate::temporal::{Exits, Graph, is_decided};
use crate::{Facts, Rejected, STEPS_PER_CHECK};

/// Limit on the size of all states together, counted in the numbers that they store.
const MOST_NUMBERS: usize = 1 << 28;

pub(crate) fn beyond(obstacle: Obstacle) -> Rejected {
    match obstacle {
        Obstacle::Waits => Rejected::States("a step has to wait"),
        Obstacle::NoSuchOutcome => Rejected::States("a step does not have this outcome"),
        Obstacle::Beyond(why) => Rejected::Beyond(why),
    }
}

/// The different states, with their numbers.
#[derive(Default)]
struct States {
    numbers: HashMap<State, u32>,
    all: Vec<State>,
}

impl States {
    fn add(&mut self, state: State) -> Result<(u32, bool), Rejected> {
        if let Some(&number) = self.numbers.get(&state) {
            return Ok((number, false));
        }
        let size = 2 * (state.cells.len() + 12 * state.threads.len());
        let number = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        if size.saturating_mul(self.all.len()) > MOST_NUMBERS || number == u32::MAX {
            return Err(Rejected::Beyond("it has too many states to be kept"));
        }
        self.numbers.insert(state.clone(), number);
        self.all.push(state);
        Ok((number, true))
    }
}

/// Makes the next step of a process from a state, once for each combination of choices, and calls
/// `each` with each resulting state. Returns whether the process is ready.
fn for_each_successor(
    machine: &mut Machine<'_>,
    state: &State,
    process: Process,
    each: &mut dyn FnMut(&mut Machine<'_>, State, &MadeStep) -> Result<(), Rejected>,
) -> Result<bool, Rejected> {
    let mut outcomes: Option<Vec<i64>> = Some(Vec::new());
    while let Some(given) = outcomes.take() {
        let mut after = state.clone();
        let known = machine.known_children();
        let made = match machine.step(&mut after, process, &given) {
            Ok(made) => made,
            Err(Obstacle::Waits) => return Ok(false),
            Err(other) => return Err(beyond(other)),
        };
        let more = |choice: &Choice| choice.value + 1 < choice.end;
        if let Some(at) = made.choices.iter().rposition(more) {
            let mut next: Vec<i64> = made.choices[..=at].iter().map(|one| one.value).collect();
            next[at] += 1;
            outcomes = Some(next);
        }
        each(machine, after, &made)?;
        // A discarded step has no successor.
        if made.mishaps.contains(&Mishap::Discarded) {
            machine.forget_children(known);
        }
    }
    Ok(true)
}

/// The states of one rank.
#[derive(Default)]
pub(crate) struct Class {
    /// The processes that are ready in all states of the class so far.
    ready: Option<Vec<Process>>,
    /// The processes with a step that stays in the class.
    inside: Vec<Process>,
}

impl Class {
    /// Adds a state. `ready`: the processes that are ready in it. `inside`: the processes with a
    /// step from it that stays in the class.
    pub fn add(&mut self, ready: &[Process], inside: &[Process]) {
        self.inside.extend(inside);
        self.inside.sort_unstable();
        self.inside.dedup();
        match &mut self.ready {
            Some(all) => all.retain(|process| ready.contains(process)),
            None => self.ready = Some(ready.to_vec()),
        }
    }

    /// Whether a fair run may stay in the class.
    pub fn has_a_fair_run(&self) -> bool {
        let has_no_step_inside = |process: &Process| !self.inside.contains(process);
        let unfair = self.ready.iter().flatten().any(has_no_step_inside);
        !self.inside.is_empty() && !unfair
    }
}

/// The check of all states, with the facts found so far.
struct StatesCheck<'s> {
    states: &'s States,
    ranks: &'s [u32],
    classes: BTreeMap<u32, Class>,
    /// The ranks of states in which some process that should end has not ended, and no process has
    /// failed.
    unfinished: BTreeSet<u32>,
    /// The possible steps in each state, if a temporal property needs them.
    exits: Option<Vec<Exits>>,
    facts: Facts,
    first_result: Option<Vec<i64>>,
}

impl StatesCheck<'_> {
    /// Checks that the successors of a state are in the set and that their ranks are not higher.
    /// Records the facts about the state.
    fn check_state(&mut self, machine: &mut Machine<'_>, number: u32) -> Result<(), Rejected> {
        let states = self.states;
        let state = &states.all[number as usize];
        let rank = self.ranks[number as usize];
        let mut ready = Vec::new();
        let mut inside = Vec::new();
        let mut steps = Vec::new();
        let mut failures = 0;
        for process in state.alive() {
            let mut each = |_: &mut Machine<'_>, after: State, made: &MadeStep| {
                if made.mishaps.contains(&Mishap::Discarded) {
                    return Ok(());
                }
                failures += made.mishaps.len() as u64;
                let Some(&next) = states.numbers.get(&after) else {
                    return Err(Rejected::States("a step leads out of it"));
                };
                let next_rank = self.ranks[next as usize];
                if next_rank > rank {
                    return Err(Rejected::States("a rank rises"));
                }
                if next_rank == rank {
                    inside.push(process);
                }
                steps.push((process, next));
                Ok(())
            };
            if for_each_successor(machine, state, process, &mut each)? {
                ready.push(process);
            }
        }
        self.facts.steps += 1;
        self.facts.failures += failures;
        let failed = state
            .threads
            .iter()
            .any(|thread| thread.life == Life::Failed);
        if ready.is_empty() {
            self.end(machine, state, failed)?;
        }
        let should_end = |process: Process| {
            let thread = &state.threads[process as usize];
            let outermost = thread.calls.first().map_or(thread.pc, |&(pc, _)| pc);
            !machine.flat.is_endless(outermost)
        };
        if !failed && state.alive().any(should_end) {
            self.unfinished.insert(rank);
        }
        self.classes.entry(rank).or_default().add(&ready, &inside);
        if let Some(exits) = &mut self.exits {
            exits.push(Exits { ready, steps });
        }
        Ok(())
    }

    /// Records the facts about a state in which runs end.
    fn end(
        &mut self,
        machine: &mut Machine<'_>,
        state: &State,
        failed: bool,
    ) -> Result<(), Rejected> {
        if failed {
            return Ok(());
        }
        if state.alive().next().is_some() {
            self.facts.deadlocks += 1;
            return Ok(());
        }
        for condition in machine.flat.ensures() {
            let holds = machine.holds(condition, state).map_err(beyond)?;
            self.facts.failures += u64::from(!holds);
        }
        let observed = machine.flat.observed.iter();
        let result: Vec<i64> = observed.map(|&cell| state.cells[cell as usize]).collect();
        match &self.first_result {
            None => self.first_result = Some(result),
            Some(first) => self.facts.results_differ |= *first != result,
        }
        Ok(())
    }
}

/// Returns the initial state, and the number of failures in the work before it; `None` if a false
/// `assume` discards all runs.
fn start(machine: &mut Machine<'_>) -> Result<Option<(State, u64)>, Rejected> {
    let (state, made) = machine.start().map_err(beyond)?;
    let discarded = made.mishaps.contains(&Mishap::Discarded);
    Ok((!discarded).then_some((state, made.mishaps.len() as u64)))
}

/// Checks the evidence.
pub(crate) fn check(
    machine: &mut Machine<'_>,
    evidence: &[u8],
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Facts, Rejected> {
    let Some((initial, failures)) = start(machine)? else {
        // All runs are discarded.
        let broken = Some(0);
        return Ok(Facts {
            broken,
            ..Facts::default()
        });
    };
    let mut reader = Reader::new(evidence);
    let count = reader.length()?;
    let mut states = States::default();
    states.add(initial)?;
    let mut parent = 0u64;
    for made in 0..count {
        if (made as u64).is_multiple_of(STEPS_PER_CHECK) && !go_on() {
            return Err(Rejected::Stopped);
        }
        let head = reader.number()?;
        parent = parent.saturating_add(head >> 1);
        let process = reader.number()?;
        let outcomes: Vec<i64> = match head & 1 {
            0 => Vec::new(),
            _ => {
                let count = reader.length()?;
                (0..count)
                    .map(|_| reader.signed())
                    .collect::<Result<_, _>>()?
            }
        };
        let from = usize::try_from(parent)
            .ok()
            .and_then(|at| states.all.get(at));
        let from = from.ok_or(Rejected::States("a state precedes its predecessor"))?;
        let process = Process::try_from(process).unwrap_or(Process::MAX);
        if from.life(process) != Life::Alive {
            return Err(Rejected::States("a step of a process that is not alive"));
        }
        let mut after = from.clone();
        let made = machine
            .step(&mut after, process, &outcomes)
            .map_err(beyond)?;
        if made.mishaps.contains(&Mishap::Discarded) {
            return Err(Rejected::States("a state of a discarded run"));
        }
        states.add(after)?;
    }
    let ranks: Result<Vec<u32>, Rejected> = (0..states.all.len())
        .map(|_| Ok(u32::try_from(reader.number()?).unwrap_or(u32::MAX)))
        .collect();
    let ranks = ranks?;
    let temporal = machine.flat.temporal().next().is_some() && is_decided(machine);
    let mut states_check = StatesCheck {
        states: &states,
        ranks: &ranks,
        classes: BTreeMap::new(),
        unfinished: BTreeSet::new(),
        exits: temporal.then(Vec::new),
        facts: Facts {
            failures,
            ..Facts::default()
        },
        first_result: None,
    };
    for number in 0..states.all.len() as u32 {
        if u64::from(number).is_multiple_of(STEPS_PER_CHECK) && !go_on() {
            return Err(Rejected::Stopped);
        }
        states_check.check_state(machine, number)?;
    }
    let mut facts = states_check.facts;
    let unfinished = |rank: &u32| states_check.unfinished.contains(rank);
    let classes = states_check
        .classes
        .iter()
        .filter(|(rank, _)| unfinished(rank));
    facts.livelocks = classes.filter(|(_, class)| class.has_a_fair_run()).count() as u64;
    if let Some(exits) = &states_check.exits {
        let states = &states.all;
        facts.broken = Graph { states, exits }.broken(machine, &mut reader)?;
    }
    if reader.rest.is_empty() {
        Ok(facts)
    } else {
        Err(Rejected::Malformed("there is data after the ranks"))
    }
}

/// Makes the evidence: all states in breadth-first order, with strongly connected components as
/// ranks.
pub(crate) fn grow(
    machine: &mut Machine<'_>,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Vec<u8>, Rejected> {
    let Some((initial, _)) = start(machine)? else {
        return Ok(Vec::new());
    };
    let mut states = States::default();
    states.add(initial)?;
    let mut exits: Vec<Exits> = Vec::new();
    let mut written = Vec::new();
    let (mut count, mut last) = (0, 0);
    let mut queue = VecDeque::from([0u32]);
    while let Some(number) = queue.pop_front() {
        if u64::from(number).is_multiple_of(STEPS_PER_CHECK) && !go_on() {
            return Err(Rejected::Stopped);
        }
        let state = states.all[number as usize].clone();
        let mut out = Exits::default();
        for process in state.alive() {
            let mut each = |_: &mut Machine<'_>, after: State, made: &MadeStep| {
                if made.mishaps.contains(&Mishap::Discarded) {
                    return Ok(());
                }
                let (next, new) = states.add(after)?;
                out.steps.push((process, next));
                if new {
                    queue.push_back(next);
                    count += 1;
                    let head = u64::from(number - last) << 1;
                    last = number;
                    put(&mut written, head | u64::from(!made.choices.is_empty()));
                    put(&mut written, process.into());
                    if !made.choices.is_empty() {
                        put(&mut written, made.choices.len() as u64);
                        let values = made.choices.iter().map(|choice| choice.value);
                        values.for_each(|value| put_signed(&mut written, value));
                    }
                }
                Ok(())
            };
            if for_each_successor(machine, &state, process, &mut each)? {
                out.ready.push(process);
            }
        }
        exits.push(out);
    }
    let mut evidence = Vec::new();
    put(&mut evidence, count);
    evidence.extend(written);
    let next = |exits: &Exits| exits.steps.iter().map(|&(_, next)| next).collect();
    let edges: Vec<Vec<u32>> = exits.iter().map(next).collect();
    for rank in components(&edges) {
        put(&mut evidence, rank.into());
    }
    if is_decided(machine) {
        let (states, exits) = (&states.all, &exits);
        Graph { states, exits }.ranks(machine, &mut evidence)?;
    }
    Ok(evidence)
}

/// Returns the strongly connected component of each state, numbered so that no edge leads to a
/// higher number (Tarjan, SIAM J. Comput. 1972, without recursion).
pub(crate) fn components(edges: &[Vec<u32>]) -> Vec<u32> {
    const NEW: u32 = u32::MAX;
    let mut discovered = vec![NEW; edges.len()];
    let mut low = vec![0; edges.len()];
    let mut component = vec![NEW; edges.len()];
    let (mut next, mut done) = (0, 0);
    let (mut open, mut path): (Vec<u32>, Vec<(u32, usize)>) = (Vec::new(), Vec::new());
    for root in 0..edges.len() as u32 {
        if discovered[root as usize] != NEW {
            continue;
        }
        path.push((root, 0));
        while let Some((state, at)) = path.pop() {
            let here = state as usize;
            if at == 0 {
                (discovered[here], low[here]) = (next, next);
                next += 1;
                open.push(state);
            } else {
                let child = edges[here][at - 1] as usize;
                if component[child] == NEW {
                    low[here] = low[here].min(low[child]);
                }
            }
            let mut at = at;
            let mut descends = false;
            while let Some(&child) = edges[here].get(at) {
                at += 1;
                let to = child as usize;
                if discovered[to] == NEW {
                    path.push((state, at));
                    path.push((child, 0));
                    descends = true;
                    break;
                }
                if component[to] == NEW {
                    low[here] = low[here].min(discovered[to]);
                }
            }
            if !descends && low[here] == discovered[here] {
                while let Some(member) = open.pop() {
                    component[member as usize] = done;
                    if member == state {
                        break;
                    }
                }
                done += 1;
            }
        }
    }
    component
}
