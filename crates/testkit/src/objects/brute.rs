//! Brute force over objects: visits every reachable state together with the history that led to it,
//! and tries every order of that history.

use std::collections::{BTreeMap, BTreeSet};

use super::{Action, LOCALS, Object, Part, Sum, Target, Test, VARS, Value};

/// The findings of brute force about an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// Whether each history is explained by some order of its calls.
    pub linearizable: bool,
    /// Whether there is a state in which no client can make a step and some client is within an
    /// operation.
    pub deadlock: bool,
    /// The number of states that were visited, each with its history.
    pub states: usize,
}

/// An instruction of an operation.
#[derive(Clone, Debug)]
enum Instruction {
    Step(Option<Test>, Vec<Action>),
    /// Continues at the instruction with this index if the test holds or there is no test.
    Jump(Option<Test>, usize),
    Return(Sum),
}

fn flatten(parts: &[Part], into: &mut Vec<Instruction>) {
    for part in parts {
        match part {
            Part::Step(waits, actions) => into.push(Instruction::Step(*waits, actions.clone())),
            Part::Return(what) => into.push(Instruction::Return(*what)),
            Part::ReturnIf(holds, what) => {
                let not = Test {
                    equal: !holds.equal,
                    ..*holds
                };
                into.push(Instruction::Jump(Some(not), into.len() + 2));
                into.push(Instruction::Return(*what));
            }
            Part::Until(holds, inner) => {
                let head = into.len();
                into.push(Instruction::Jump(Some(*holds), 0));
                flatten(inner, into);
                into.push(Instruction::Jump(None, head));
                into[head] = Instruction::Jump(Some(*holds), into.len());
            }
        }
    }
}

/// The values that an operation works with.
struct Memory<'a> {
    shared: &'a mut [i64; VARS],
    locals: &'a mut [i64; LOCALS],
    arg: i64,
}

impl Memory<'_> {
    fn value(&self, value: Value) -> i64 {
        match value {
            Value::Const(number) => number,
            Value::Shared(at) => self.shared[at],
            Value::Local(at) => self.locals[at],
            Value::Arg => self.arg,
        }
    }

    fn sum(&self, (left, right): Sum) -> i64 {
        self.value(left) + right
    }

    fn holds(&self, test: Test) -> bool {
        (self.value(test.value) == test.is) == test.equal
    }

    fn act(&mut self, actions: &[Action]) {
        for action in actions {
            match action {
                Action::Set(Target::Shared(at), to) => self.shared[*at] = self.sum(*to),
                Action::Set(Target::Local(at), to) => self.locals[*at] = self.sum(*to),
                Action::If(test, then, other) => {
                    if self.holds(*test) {
                        self.act(then)
                    } else {
                        self.act(other)
                    }
                }
            }
        }
    }
}

/// A client.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Client {
    calls: usize,
    /// If the client is within an operation: the index of its next instruction, its locals, and the
    /// index of the call in the history.
    inside: Option<(usize, [i64; LOCALS], usize)>,
}

/// A call in a history. `before` holds the indices of the calls that had returned when this one was
/// made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct HistoryCall {
    client: usize,
    call: usize,
    before: BTreeSet<usize>,
    result: Option<i64>,
}

/// A state of the object and its clients, with the history that led to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    shared: [i64; VARS],
    clients: Vec<Client>,
    history: Vec<HistoryCall>,
}

/// A search over all states of an object. `explained` keeps for each history whether some order of
/// its calls explains it.
struct Search<'a> {
    object: &'a Object,
    calls: Vec<(usize, i64)>,
    code: Vec<Vec<Instruction>>,
    specs: Vec<Vec<Instruction>>,
    seen: BTreeSet<State>,
    explained: BTreeMap<Vec<HistoryCall>, bool>,
    judged: Judgement,
}

/// Judges an object by visiting all its states. `None` if there are more than `most`.
pub fn brute(object: &Object, most: usize) -> Option<Judgement> {
    let flat = |parts: &[Part]| {
        let mut all = Vec::new();
        flatten(parts, &mut all);
        all
    };
    let client = Client {
        calls: 0,
        inside: None,
    };
    let start = State {
        shared: [0; VARS],
        clients: vec![client; object.clients],
        history: Vec::new(),
    };
    let mut search = Search {
        object,
        calls: object.calls_to_choose(),
        code: object.ops.iter().map(|op| flat(&op.parts)).collect(),
        specs: object.ops.iter().map(|op| flat(&op.spec)).collect(),
        seen: BTreeSet::new(),
        explained: BTreeMap::new(),
        judged: Judgement {
            linearizable: true,
            deadlock: false,
            states: 0,
        },
    };
    let mut left = vec![start];
    while let Some(state) = left.pop() {
        if search.seen.len() > most {
            return None;
        }
        if search.seen.insert(state.clone()) {
            search.judged.states += 1;
            left.extend(search.next(&state));
        }
    }
    Some(search.judged)
}

impl Search<'_> {
    /// Returns the states after one step of one client.
    fn next(&mut self, state: &State) -> Vec<State> {
        let mut all = Vec::new();
        let mut waits = false;
        for at in 0..state.clients.len() {
            let client = &state.clients[at];
            match client.inside {
                None if client.calls == self.object.calls => {}
                None => {
                    for call in 0..self.calls.len() {
                        all.push(called(state, at, call));
                    }
                }
                Some(_) => match self.step(state, at) {
                    Some(next) => all.push(next),
                    None => waits = true,
                },
            }
        }
        self.judged.deadlock |= all.is_empty() && waits;
        all
    }

    /// Makes a step of a client that is in an operation; `None` if it has to wait.
    fn step(&mut self, state: &State, at: usize) -> Option<State> {
        let mut next = state.clone();
        let (mut pc, mut locals, number) = next.clients[at].inside?;
        let (op, arg) = self.calls[next.history[number].call];
        let mut memory = Memory {
            shared: &mut next.shared,
            locals: &mut locals,
            arg,
        };
        // The tests of jumps read only locals.
        while let Instruction::Jump(test, to) = self.code[op][pc] {
            pc = if test.is_none_or(|test| memory.holds(test)) {
                to
            } else {
                pc + 1
            };
        }
        match &self.code[op][pc] {
            Instruction::Step(waits, actions) => {
                if !waits.is_none_or(|test| memory.holds(test)) {
                    return None;
                }
                memory.act(actions);
                next.clients[at].inside = Some((pc + 1, locals, number));
            }
            Instruction::Return(what) => {
                next.history[number].result = Some(memory.sum(*what));
                let client = &mut next.clients[at];
                client.inside = None;
                client.calls += 1;
                self.judged.linearizable &= self.is_explained(&next.history);
            }
            Instruction::Jump(..) => {}
        }
        Some(next)
    }

    fn is_explained(&mut self, history: &[HistoryCall]) -> bool {
        if let Some(&known) = self.explained.get(history) {
            return known;
        }
        let mut order = Vec::new();
        let explained = self.orders(history, &mut order);
        self.explained.insert(history.to_vec(), explained);
        explained
    }

    /// Whether some extension of `order` explains the history. An explanation contains all calls
    /// that have returned, and any of the calls that have not.
    fn orders(&self, history: &[HistoryCall], order: &mut Vec<usize>) -> bool {
        let complete =
            (0..history.len()).all(|at| history[at].result.is_none() || order.contains(&at));
        if complete && self.explains(history, order) {
            return true;
        }
        for at in 0..history.len() {
            if !order.contains(&at) {
                order.push(at);
                let found = self.orders(history, order);
                order.pop();
                if found {
                    return true;
                }
            }
        }
        false
    }

    /// Whether an order of calls respects the order of the history and gives its results.
    fn explains(&self, history: &[HistoryCall], order: &[usize]) -> bool {
        let mut shared = [0; VARS];
        for (place, &at) in order.iter().enumerate() {
            let earlier = &order[..place];
            if !history[at].before.iter().all(|one| earlier.contains(one)) {
                return false;
            }
            let Some(result) = self.specified(history[at].call, &mut shared) else {
                return false;
            };
            if history[at].result.is_some_and(|seen| seen != result) {
                return false;
            }
        }
        true
    }

    /// Makes a call of the specification. Returns its result; `None` if the specification does not
    /// allow the call.
    fn specified(&self, call: usize, shared: &mut [i64; VARS]) -> Option<i64> {
        let (op, arg) = self.calls[call];
        let mut locals = [0; LOCALS];
        let mut memory = Memory {
            shared,
            locals: &mut locals,
            arg,
        };
        let mut pc = 0;
        for _ in 0..1000 {
            match &self.specs[op][pc] {
                Instruction::Step(waits, actions) => {
                    if !waits.is_none_or(|test| memory.holds(test)) {
                        return None;
                    }
                    memory.act(actions);
                    pc += 1;
                }
                Instruction::Jump(test, to) => {
                    pc = if test.is_none_or(|test| memory.holds(test)) {
                        *to
                    } else {
                        pc + 1
                    };
                }
                Instruction::Return(what) => return Some(memory.sum(*what)),
            }
        }
        panic!("a specification does not end");
    }
}

/// Returns the state after a client makes a call.
fn called(state: &State, at: usize, call: usize) -> State {
    let mut next = state.clone();
    let number = next.history.len();
    let ended = |one: &usize| state.history[*one].result.is_some();
    next.history.push(HistoryCall {
        client: at,
        call,
        before: (0..number).filter(ended).collect(),
        result: None,
    });
    next.clients[at].inside = Some((0, [0; LOCALS], number));
    next
}
