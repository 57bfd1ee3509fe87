//! The claims of a step: the shared objects that it may touch on any path through it.
//! docs/language.md ("Which executions are the same") defines them. For example, a step claims both
//! branches of a choice, everything in an atomic block, and a whole array if the index is read from
//! shared memory. The walk along the paths uses the values of locals, but treats every value in
//! shared memory as unknown.

use std::collections::{BTreeSet, HashSet};

use super::code::{Code, Instr, OperationResult, apply};
use super::machine::{DEEPEST, State, within};
use super::objects::ObjectAction;

/// The cells, locks and processes that a step may touch.
#[derive(Clone, Debug, Default)]
pub(super) struct Claims {
    pub reads: BTreeSet<usize>,
    pub writes: BTreeSet<usize>,
    pub locks: BTreeSet<usize>,
    pub joins: BTreeSet<usize>,
}

type Value = Option<i128>;

/// A position on a path through the step, with the known values there; `None` in place of an
/// unknown value.
#[derive(Clone, PartialEq, Eq, Hash)]
struct PathPosition {
    frames: Vec<(usize, Vec<Value>)>,
    stack: Vec<Value>,
    atomic: u32,
    fused: bool,
    whole: bool,
}

/// Returns the claims of the next step of a process.
pub(super) fn claims(code: &Code, state: &State, number: usize) -> Claims {
    let Some(process) = state.processes.get(&number) else {
        return Claims::default();
    };
    let known = |values: &[i128]| values.iter().map(|value| Some(*value)).collect::<Vec<_>>();
    let mut frames: Vec<_> = process
        .frames
        .iter()
        .map(|frame| (frame.at, known(&frame.locals)))
        .collect();
    if let Some(frame) = frames.last_mut() {
        frame.0 += 1;
    }
    let (atomic, fused, whole) = (process.atomic, process.fused, process.whole);
    let start = PathPosition {
        frames,
        stack: known(&process.stack),
        atomic,
        fused,
        whole,
    };
    let mut walk = Walk {
        code,
        state,
        number,
        claims: Claims::default(),
        open: vec![start],
    };
    let mut seen = HashSet::new();
    while let Some(place) = walk.open.pop() {
        if seen.len() > 1000 {
            return everything(code, state);
        }
        if seen.insert(place.clone()) {
            walk.follow(place);
        }
    }
    walk.claims
}

/// A walk along all paths through the next step of a process.
struct Walk<'a> {
    code: &'a Code,
    state: &'a State,
    number: usize,
    /// The accesses on the paths walked so far.
    claims: Claims,
    /// The positions whose continuations are not yet explored.
    open: Vec<PathPosition>,
}

fn everything(code: &Code, state: &State) -> Claims {
    let cells: BTreeSet<_> = (0..code.cells.len()).collect();
    Claims {
        reads: cells.clone(),
        writes: cells,
        locks: (0..code.locks + code.objects.len()).collect(),
        joins: state.processes.keys().collect(),
    }
}

/// Returns the elements of an array that an index may select: one if the index is known, otherwise
/// all.
fn elements(base: usize, len: usize, index: Value) -> Vec<usize> {
    match index {
        None => (base..base + len).collect(),
        Some(index) => within(index, len).map(|at| base + at).into_iter().collect(),
    }
}

impl Walk<'_> {
    /// Follows one instruction from this position.
    fn follow(&mut self, mut place: PathPosition) {
        let Walk {
            code,
            state,
            number,
            ref mut claims,
            ref mut open,
        } = *self;
        let stack = &mut place.stack;
        let mut pop = || stack.pop().flatten();
        let Some((at, locals)) = place.frames.last_mut() else {
            return;
        };
        let instr = &code.instrs[*at];
        *at += 1;
        let mut push = None;
        match *instr {
            Instr::Yield => {
                if place.atomic == 0 && !place.whole && !std::mem::take(&mut place.fused) {
                    return;
                }
            }
            Instr::Fuse => place.fused = true,
            Instr::EndFuse => place.fused = false,
            Instr::Begin => place.whole = std::mem::take(&mut place.fused),
            Instr::Over => place.whole = false,
            Instr::AtomicBegin => place.atomic += 1,
            Instr::AtomicEnd => place.atomic -= 1,
            Instr::Push(value) => push = Some(Some(value)),
            Instr::Local(slot) => push = Some(locals[slot]),
            Instr::LocalAt(slot, len) => {
                let index = pop();
                if index.is_some_and(|index| within(index, len).is_none()) {
                    return;
                }
                push = Some(index.and_then(|index| locals[slot + index as usize]));
            }
            Instr::Pick(ref numbers) => {
                let index = pop();
                let found = index.map(|index| within(index, numbers.len()));
                if found.is_some_and(|found| found.is_none()) {
                    return;
                }
                push = Some(found.flatten().map(|at| numbers[at]));
            }
            Instr::Shared(cell) => {
                claims.reads.insert(cell);
                push = Some(None);
            }
            Instr::SharedAt(base, len) => {
                claims.reads.extend(elements(base, len, pop()));
                push = Some(None);
            }
            Instr::SetLocal(slot) => locals[slot] = pop(),
            Instr::SetLocalAt(slot, len) => {
                let value = pop();
                match pop() {
                    Some(index) => match within(index, len) {
                        Some(at) => locals[slot + at] = value,
                        None => return,
                    },
                    None => locals[slot..slot + len].fill(None),
                }
            }
            Instr::SetShared(cell) => {
                pop();
                claims.writes.insert(cell);
            }
            Instr::SetSharedAt(base, len) => {
                pop();
                claims.writes.extend(elements(base, len, pop()));
            }
            Instr::Bin(op, ty) => {
                let (right, left) = (pop(), pop());
                push = Some(match (left, right) {
                    (Some(left), Some(right)) => match apply(op, ty, left, right) {
                        OperationResult::Value(value) => Some(value),
                        OperationResult::Zero | OperationResult::TooWide => return,
                    },
                    _ => None,
                });
            }
            Instr::Not => push = Some(pop().map(|value| 1 - value)),
            Instr::Neg(_) => push = Some(pop().map(|value| -value)),
            Instr::Jump(to) => *at = to,
            Instr::JumpIfNot(to) => match pop() {
                Some(0) => *at = to,
                Some(_) => {}
                None => {
                    open.push(place.clone());
                    if let Some((at, _)) = place.frames.last_mut() {
                        *at = to;
                    }
                }
            },
            Instr::JumpKeep(on, to) => {
                let value = pop();
                if value.is_none_or(|value| (value == 1) != on) {
                    open.push(place.clone());
                }
                if value.is_some_and(|value| (value == 1) != on) {
                    return;
                }
                if let Some((at, _)) = place.frames.last_mut() {
                    *at = to;
                }
                push = Some(value.map(|_| on.into()));
            }
            Instr::Choose => {
                pop();
                pop();
                push = Some(None);
            }
            Instr::Input(_) => push = Some(None),
            Instr::Wait | Instr::Assert | Instr::Assume => {
                if pop() == Some(0) {
                    return;
                }
            }
            Instr::Lock(base, len) | Instr::Unlock(base, len) => {
                claims.locks.extend(elements(base, len, pop()));
            }
            // Objects are claimed like locks, and their numbers follow those of the locks.
            Instr::Object(action, base, len) => {
                claims.locks.extend(elements(code.locks + base, len, pop()));
                match action {
                    ObjectAction::Pick | ObjectAction::Len => push = Some(None),
                    ObjectAction::Send(count) => place.stack.truncate(place.stack.len() - count),
                    ObjectAction::Wake => _ = pop(),
                    _ => {}
                }
            }
            Instr::Possible(_, base, len) => {
                claims.locks.extend(elements(code.locks + base, len, pop()));
                push = Some(None);
            }
            Instr::IsFree(base, len) => {
                claims.locks.extend(elements(base, len, pop()));
                push = Some(None);
            }
            Instr::OneOpen(count, _) => {
                place.stack.truncate(place.stack.len() - count);
                push = Some(None);
            }
            Instr::Trying(true) => {}
            Instr::Trying(false) => push = Some(None),
            // In this step the child touches only its own state.
            Instr::Spawn(_) => push = Some(None),
            Instr::SpawnCall(_, count) => {
                for _ in 0..count {
                    pop();
                }
                push = Some(None);
            }
            Instr::Join => claims.joins.extend(pop().map(|child| child as usize)),
            Instr::JoinAll => claims.joins.extend(&state.processes[&number].children),
            Instr::Call(procedure, count) => {
                if place.frames.len() > DEEPEST {
                    *claims = everything(code, state);
                    return;
                }
                let procedure = &code.procedures[procedure];
                let mut locals = place.stack.split_off(place.stack.len() - count);
                locals.resize(procedure.locals.max(count), Some(0));
                place.frames.push((procedure.entry, locals));
            }
            Instr::Return => {
                place.frames.pop();
            }
            Instr::End | Instr::Fail(_) => return,
        }
        place.stack.extend(push);
        open.push(place);
    }
}
