//! sc and tso as machines: interleavings, and interleavings with a store buffer for each thread.
//!
//! The machines define the two models; the axioms of the engine describe the same models in another
//! way. Both must give the same final values of registers and memory, including deadlocks.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::ops::ControlFlow;

use mazurka_core::{Limits, Random};
use mazurka_memory::litmus::{Litmus, REGISTERS};
use mazurka_memory::{
    Action, Effect, End, Ending, Loc, Memory, MemoryOrder, Program, ThreadId, Value, visit,
};

use crate::generate::sketch;

/// An entry of a store buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Buffered {
    Store(Loc, Value),
    Spawn(usize),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    /// The answers that each thread has received.
    answers: Vec<Vec<Value>>,
    memory: BTreeMap<Loc, Value>,
    buffers: Vec<VecDeque<Buffered>>,
    started: BTreeSet<usize>,
}

/// How an execution ended (a code), the values of the registers, and the values of the locations
/// that were written.
type Outcome = (u8, Vec<Value>, BTreeMap<Loc, Value>);

struct Machine {
    program: Litmus,
    buffers: bool,
    known: HashSet<State>,
    open: Vec<State>,
    outcomes: BTreeSet<Outcome>,
}

fn registers(program: &Litmus) -> Vec<Value> {
    let threads = 0..program.code().len();
    let all = |thread| (0..REGISTERS).map(move |register| (thread, register));
    let all = threads.flat_map(all);
    all.map(|(thread, register)| program.register(thread, register))
        .collect()
}

impl Machine {
    /// Returns all outcomes, if there are at most `most` states.
    fn outcomes(program: &Litmus, buffers: bool, most: usize) -> Option<BTreeSet<Outcome>> {
        let threads = program.code().len();
        let mut machine = Self {
            program: program.clone(),
            buffers,
            known: HashSet::new(),
            open: vec![State {
                answers: vec![Vec::new(); threads],
                memory: BTreeMap::new(),
                buffers: vec![VecDeque::new(); threads],
                started: (0..program.initial_threads() as usize).collect(),
            }],
            outcomes: BTreeSet::new(),
        };
        while let Some(state) = machine.open.pop() {
            machine.expand(&state);
            if machine.known.len() > most {
                return None;
            }
        }
        Some(machine.outcomes)
    }

    fn reach(&mut self, state: State) {
        if self.known.insert(state.clone()) {
            self.open.push(state);
        }
    }

    fn actions(&mut self, state: &State) -> Vec<Action> {
        self.program.rewind(&mut vec![0; state.answers.len()]);
        let program = &mut self.program;
        let action = |(thread, answers): (usize, &Vec<Value>)| {
            let thread = ThreadId(thread as u32);
            answers
                .iter()
                .for_each(|&value| program.answer(thread, value));
            program.pending(thread)
        };
        state.answers.iter().enumerate().map(action).collect()
    }

    fn expand(&mut self, state: &State) {
        let actions = self.actions(state);
        let mut moved = false;
        for &thread in &state.started {
            if let Some(&first) = state.buffers[thread].front() {
                moved = true;
                let mut next = state.clone();
                next.buffers[thread].pop_front();
                leave(&mut next, first);
                self.reach(next);
            }
        }
        for &thread in &state.started {
            // `reach` does not run the program, so the program stays in this state.
            for next in self.steps(state, &actions, thread) {
                moved = true;
                self.reach(next);
            }
        }
        if !moved {
            let started = state.started.iter().map(|&thread| actions[thread]);
            let has = |wanted: fn(&Action) -> bool| started.clone().any(|action| wanted(&action));
            let ending = if has(|action| *action == Action::Discard) {
                Ending::Discarded
            } else if has(|action| matches!(action, Action::Fail(_))) {
                Ending::Failed
            } else if has(|action| *action != Action::End) {
                Ending::Deadlock
            } else {
                Ending::Complete
            };
            let outcome = (ending as u8, registers(&self.program), state.memory.clone());
            self.outcomes.insert(outcome);
        }
    }

    /// Returns the value that a thread sees.
    fn value(&self, state: &State, thread: usize, loc: Loc) -> Value {
        let own = state.buffers[thread].iter().rev().find_map(|it| match it {
            Buffered::Store(at, value) if *at == loc => Some(*value),
            _ => None,
        });
        let memory = state.memory.get(&loc).copied();
        own.or(memory)
            .unwrap_or_else(|| self.program.initial_value(loc))
    }

    /// Returns the states after a step of a thread.
    fn steps(&self, state: &State, actions: &[Action], thread: usize) -> Vec<State> {
        let id = ThreadId(thread as u32);
        let answer = |value| {
            let mut next = state.clone();
            next.answers[thread].push(value);
            next
        };
        let buffer = |buffered, fenced: bool| {
            let mut next = answer(0);
            if self.buffers && !fenced {
                next.buffers[thread].push_back(buffered)
            } else {
                leave(&mut next, buffered)
            }
            next
        };
        let is_drained = state.buffers[thread].is_empty();
        let sc = MemoryOrder::SeqCst;
        match actions[thread] {
            Action::End | Action::Fail(_) | Action::Discard => vec![],
            Action::Read { loc, .. } => vec![answer(self.value(state, thread, loc))],
            Action::Await { loc, .. } => {
                let value = self.value(state, thread, loc);
                match self.program.clone().modify(id, value) {
                    Effect::Wait => vec![],
                    _ => vec![answer(value)],
                }
            }
            // A seq_cst store waits until the buffer is empty.
            Action::Write { order, .. } if order == sc && !is_drained => vec![],
            Action::Write { loc, order, value } => {
                vec![buffer(Buffered::Store(loc, value), order == sc)]
            }
            Action::Unlock { loc } => vec![buffer(Buffered::Store(loc, 0), false)],
            Action::Update { .. } | Action::Lock { .. } if !is_drained => vec![],
            Action::Update { loc, .. } => {
                let value = self.value(state, thread, loc);
                match self.program.clone().modify(id, value) {
                    Effect::Wait => vec![],
                    Effect::Keep => vec![answer(value)],
                    Effect::Write(new) => {
                        let mut next = answer(value);
                        next.memory.insert(loc, new);
                        vec![next]
                    }
                }
            }
            Action::Lock { loc } if self.value(state, thread, loc) == 0 => {
                let mut next = answer(0);
                next.memory.insert(loc, 1);
                vec![next]
            }
            Action::Lock { .. } => vec![],
            Action::Fence { order } if order == sc && !is_drained => vec![],
            Action::Fence { .. } => vec![answer(0)],
            Action::Spawn { child } => vec![buffer(Buffered::Spawn(child.index()), false)],
            Action::Join { child } => {
                let child = child.index();
                let ended = state.started.contains(&child)
                    && actions[child] == Action::End
                    && state.buffers[child].is_empty();
                if ended { vec![answer(0)] } else { vec![] }
            }
            Action::Choice { outcomes } => (0..i64::from(outcomes)).map(answer).collect(),
            Action::Decide { .. } => unreachable!("nothing is unknown here"),
        }
    }
}

/// Applies an entry that leaves a buffer.
fn leave(state: &mut State, buffered: Buffered) {
    match buffered {
        Buffered::Store(loc, value) => {
            state.memory.insert(loc, value);
        }
        Buffered::Spawn(child) => {
            state.started.insert(child);
        }
    }
}

/// Returns the outcomes that the engine finds.
fn found(program: &Litmus, memory: Memory) -> BTreeSet<Outcome> {
    let mut outcomes = BTreeSet::new();
    let mut visitor = |end: &mut End<'_, Litmus>| {
        if end.ending() != Ending::Blocked {
            let registers = registers(end.program());
            let graph = end.graph();
            let written = (0..graph.locations()).map(Loc);
            let written = written.filter(|&loc| !graph.mo(loc).is_empty());
            let values = written.map(|loc| (loc, graph.final_value(loc)));
            outcomes.insert((end.ending() as u8, registers, values.collect()));
        }
        ControlFlow::Continue(())
    };
    let found = visit(program.clone(), memory, &Limits::default(), &mut visitor);
    assert!(found.is_exhaustive());
    outcomes
}

#[test]
fn outcomes_are_those_of_the_machines() {
    let mut compared = 0;
    for seed in 0..1500 {
        let program = sketch(&mut Random::new(40_000 + seed)).program();
        for (memory, buffers) in [(Memory::Sc, false), (Memory::Tso, true)] {
            let Some(expected) = Machine::outcomes(&program, buffers, 5000) else {
                continue;
            };
            compared += 1;
            let found = found(&program, memory);
            assert_eq!(found, expected, "seed {seed}, {memory}: {program:?}");
        }
    }
    assert!(compared > 2500, "{compared} are small enough");
}
