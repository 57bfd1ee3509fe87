//! The accesses that a step may make on any of its paths, and what it may have to wait for.
//!
//! The analysis follows all paths from a mark to the end of the step, through both sides of each
//! test. It depends only on the locals of the process, so the claims cannot change before the step
//! is made. An index over locals that the step has not changed selects one element; any other index
//! claims the whole array. In a value such as `if e then f else g`, the walk follows only the side
//! that these locals select, if they decide e. `lang/src/code/claims.rs` computes similar claims
//! for explorers, by another method. This analysis may claim less than the other; its soundness
//! does not depend on the other.

use std::collections::HashMap;
use std::rc::Rc;

use mazurka_lang::flat::{Flat, Op, Range};

use crate::machine::{Machine, Obstacle, Thread};

/// The kind of an access. Two accesses to one cell conflict unless both are reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Touch {
    Read,
    Write,
    Acquire,
    Release,
}

/// A range of cells, with the kind of the access to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Claim {
    pub first: u32,
    pub len: u32,
    pub touch: Touch,
}

impl Claim {
    fn conflicts(self, other: Claim) -> bool {
        let apart = self.first >= other.first + other.len || other.first >= self.first + self.len;
        !apart && (self.touch != Touch::Read || other.touch != Touch::Read)
    }
}

/// What a step may have to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Nothing, or the ends of processes, which stay ended.
    Free,
    /// This lock. The step does nothing else but acquire it.
    Lock(u32),
    /// Any other obstacle, such as a condition, or several obstacles.
    Guard {
        /// Whether the step may also wait for the end of a process.
        joins: bool,
    },
}

/// The result of the analysis of a step that is not made yet.
#[derive(Clone, Debug)]
pub(crate) struct NextStep {
    pub claims: Vec<Claim>,
    pub wait: Wait,
}

impl NextStep {
    /// Whether the claims of two steps conflict.
    pub fn conflicts(&self, other: &NextStep) -> bool {
        let mut pairs = self.claims.iter();
        pairs.any(|claim| other.claims.iter().any(|one| claim.conflicts(*one)))
    }

    /// Returns whether the step may acquire a lock, if it claims the lock for acquiring, releasing
    /// or writing; `None` if it claims the lock only for reading, or not at all.
    pub fn takes(&self, lock: u32) -> Option<bool> {
        let touches = |claim: &&Claim| {
            claim.touch != Touch::Read && (claim.first..claim.first + claim.len).contains(&lock)
        };
        let mut claims = self.claims.iter().filter(touches).map(|claim| claim.touch);
        let first = claims.next()?;
        Some(first != Touch::Release || claims.any(|touch| touch != Touch::Release))
    }

    /// Returns the locks that the step may release.
    pub fn released(&self) -> impl Iterator<Item = u32> {
        let gives = |claim: &&Claim| claim.touch == Touch::Release;
        let claims = self.claims.iter().filter(gives);
        claims.flat_map(|claim| claim.first..claim.first + claim.len)
    }

    /// Whether the steps conflict in a cell other than a lock.
    pub fn conflicts_beside_locks(&self, other: &NextStep) -> bool {
        let plain = |claim: &&Claim| matches!(claim.touch, Touch::Read | Touch::Write);
        let mut pairs = self.claims.iter().filter(plain);
        pairs.any(|claim| other.claims.iter().any(|one| claim.conflicts(*one)))
    }
}

/// The depth to which calls are followed. A step with deeper calls claims everything.
const MOST_CALLS: usize = 64;

/// The number of local states whose steps are cached.
const MOST_KNOWN: usize = 1 << 16;

/// A cache of the analysed steps, by the local states of processes.
#[derive(Default)]
pub(crate) struct Steps {
    known: HashMap<Thread, Rc<NextStep>>,
}

impl Steps {
    /// Returns the next step of a process.
    pub fn next(
        &mut self,
        machine: &Machine<'_>,
        thread: &Thread,
    ) -> Result<Rc<NextStep>, Obstacle> {
        if let Some(next) = self.known.get(thread) {
            return Ok(Rc::clone(next));
        }
        let next = Rc::new(ClaimWalk::new(machine, thread).all()?);
        if self.known.len() >= MOST_KNOWN {
            self.known.clear();
        }
        self.known.insert(thread.clone(), Rc::clone(&next));
        Ok(next)
    }
}

/// A position of the walk: an instruction, the state that decides which marks the step passes there
/// (`SwallowedMarks` in `machine.rs`), and the calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct WalkPosition {
    pc: u32,
    open: bool,
    merged: bool,
    atomic: u32,
    /// The return addresses, outermost first. The calls made before the step come before the calls
    /// that the step has made.
    returns: Vec<u32>,
}

/// The values that are known at a position, that is, the same on all paths to it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct KnownValues {
    /// The slots of the current frame and of its callers, the current frame last. Callers that were
    /// called before the step are omitted.
    frames: Vec<Vec<Option<i64>>>,
    operands: Vec<Option<i64>>,
}

impl KnownValues {
    /// Forgets each value that is unknown or different on another path. Returns whether a value was
    /// forgotten.
    fn meet(&mut self, other: &KnownValues) -> Result<bool, Obstacle> {
        let same = self.operands.len() == other.operands.len();
        if !same || self.frames.len() != other.frames.len() {
            return Err(Obstacle::Beyond(
                "two paths to one instruction have different stacks",
            ));
        }
        let mut less = false;
        let mine = self.frames.iter_mut().flatten().chain(&mut self.operands);
        for (mine, theirs) in mine.zip(other.frames.iter().flatten().chain(&other.operands)) {
            if mine.is_some() && mine != theirs {
                *mine = None;
                less = true;
            }
        }
        Ok(less)
    }

    fn slots(&mut self) -> &mut Vec<Option<i64>> {
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }
}

/// The analysis of one step: a worklist walk over the code from its mark, with its results.
struct ClaimWalk<'w, 'a> {
    machine: &'w Machine<'a>,
    flat: Flat<'a>,
    seen: HashMap<WalkPosition, KnownValues>,
    work: Vec<WalkPosition>,
    claims: Vec<Claim>,
    /// The instructions that can wait.
    waits: Vec<u32>,
    /// The mark at which the process rests before the step.
    mark: u32,
    /// The values at the mark: the locals of the process.
    start: KnownValues,
    /// The return addresses of the calls made before the step.
    returns: Vec<u32>,
    /// The size of the largest frame. All frames of the walk have this size.
    frame: usize,
    /// Whether some calls were too deep to follow.
    incomplete: bool,
}

/// Returns the number of operands of an instruction that only computes a value; `None` for other
/// instructions.
fn operand_count(op: Op) -> Option<usize> {
    Some(match op {
        Op::Const(_) | Op::Local(_) | Op::Load(_) | Op::ArithLocals(..) => 0,
        Op::LocalAt(_) | Op::LoadAt(_) | Op::Within(_) | Op::Not | Op::Neg(_) => 1,
        Op::Arith(..) | Op::Compare(..) | Op::Choose => 2,
        Op::Pick(len, _) => len as usize + 1,
        _ => return None,
    })
}

impl<'w, 'a> ClaimWalk<'w, 'a> {
    fn new(machine: &'w Machine<'a>, thread: &Thread) -> Self {
        let flat = machine.flat;
        let entries = flat.procedures.iter().chain(flat.processes);
        let largest = entries.map(|entry| entry.frame as usize).max();
        let frame = largest.unwrap_or(0).max(thread.locals().len());
        let mut slots: Vec<_> = thread.locals().iter().copied().map(Some).collect();
        slots.resize(frame, None);
        Self {
            machine,
            flat,
            seen: HashMap::new(),
            work: Vec::new(),
            claims: Vec::new(),
            waits: Vec::new(),
            mark: thread.pc,
            start: KnownValues {
                frames: vec![slots],
                operands: Vec::new(),
            },
            returns: thread.calls.iter().map(|&(pc, _)| pc).collect(),
            frame,
            incomplete: false,
        }
    }

    /// Follows all paths, and collects their claims.
    fn all(mut self) -> Result<NextStep, Obstacle> {
        let first = WalkPosition {
            pc: self.mark + 1,
            open: matches!(self.flat.ops[self.mark as usize], Op::Open(_)),
            merged: false,
            atomic: 0,
            returns: self.returns.clone(),
        };
        self.reach(first, self.start.clone())?;
        while let Some(at) = self.work.pop() {
            let known = self.seen[&at].clone();
            self.follow(at, known)?;
        }
        // The known values are final now, so the selected elements can be determined.
        let indices: Vec<(u32, Option<i64>)> = self
            .seen
            .iter()
            .map(|(at, known)| {
                let below_value = matches!(self.flat.ops[at.pc as usize], Op::StoreAt(_));
                let depth = 1 + usize::from(below_value);
                let index = known.operands.len().checked_sub(depth);
                (at.pc, index.and_then(|index| known.operands[index]))
            })
            .collect();
        for (pc, index) in indices {
            self.claim(pc, index);
        }
        if self.incomplete {
            let all = self.machine.watching.len() as u32;
            self.add(0..all, Touch::Write);
        }
        self.claims.sort_unstable();
        self.claims.dedup();
        self.waits.sort_unstable();
        self.waits.dedup();
        let wait = self.wait();
        Ok(NextStep {
            claims: self.claims,
            wait,
        })
    }

    fn reach(&mut self, at: WalkPosition, known: KnownValues) -> Result<(), Obstacle> {
        let changed = match self.seen.get_mut(&at) {
            Some(old) => old.meet(&known)?,
            None => {
                self.seen.insert(at.clone(), known);
                true
            }
        };
        if changed {
            self.work.push(at);
        }
        Ok(())
    }

    /// Follows one instruction.
    fn follow(&mut self, mut at: WalkPosition, mut known: KnownValues) -> Result<(), Obstacle> {
        const UNBALANCED: Obstacle = Obstacle::Beyond("an instruction lacks its operand");
        let op = self.flat.ops[at.pc as usize];
        at.pc += 1;
        let all = at.atomic > 0 || at.merged;
        match op {
            Op::Mark(_) if all => {}
            Op::Mark(_) if at.open => at.open = false,
            Op::Open(_) if all || at.open => {}
            Op::Mark(_) | Op::Open(_) | Op::Error | Op::End => return Ok(()),
            Op::Close => at.open = false,
            Op::BeginAtomic => at.atomic += 1,
            Op::EndAtomic => at.atomic = at.atomic.saturating_sub(1),
            Op::BeginSimple => at.merged |= std::mem::take(&mut at.open),
            Op::EndSimple => at.merged = false,
            Op::Fetch { slot, .. } | Op::Increment(slot, _) => {
                known.slots()[slot as usize] = None;
            }
            Op::SetLocal(slot) => {
                known.operands.pop().ok_or(UNBALANCED)?;
                known.slots()[slot as usize] = None;
            }
            Op::SetLocalAt(range) => {
                known.operands.pop().ok_or(UNBALANCED)?;
                known.operands.pop().ok_or(UNBALANCED)?;
                let slots = range.first as usize..(range.first + range.len) as usize;
                known.slots()[slots].fill(None);
            }
            Op::Store(_)
            | Op::Guard
            | Op::LockAt(_)
            | Op::UnlockAt(_)
            | Op::Join
            | Op::Drop
            | Op::Assert
            | Op::Assume
            | Op::Limit(_) => {
                known.operands.pop().ok_or(UNBALANCED)?;
            }
            Op::StoreAt(_) => {
                known.operands.pop().ok_or(UNBALANCED)?;
                known.operands.pop().ok_or(UNBALANCED)?;
            }
            Op::Lock(_) | Op::Unlock(_) | Op::JoinAll => {}
            Op::SpawnBlock(_) => known.operands.push(None),
            Op::SpawnCall(procedure) => {
                let params = self.flat.procedures[procedure as usize].params as usize;
                let first = known.operands.len().checked_sub(params).ok_or(UNBALANCED)?;
                known.operands.truncate(first);
                known.operands.push(None);
            }
            Op::Jump(to) => at.pc = to,
            Op::JumpIfFalse(to) => {
                let condition = known.operands.pop().ok_or(UNBALANCED)?;
                let decided = condition.filter(|_| !self.flat.is_branch(at.pc - 1));
                if decided != Some(1) {
                    let other = WalkPosition {
                        pc: to,
                        ..at.clone()
                    };
                    self.reach(other, known.clone())?;
                }
                if decided == Some(0) {
                    return Ok(());
                }
            }
            Op::JumpUnlessLess { to, .. } => {
                let other = WalkPosition {
                    pc: to,
                    ..at.clone()
                };
                self.reach(other, known.clone())?;
            }
            Op::Call(procedure) => {
                let entry = self.flat.procedures[procedure as usize];
                if at.returns.len() >= self.returns.len() + MOST_CALLS {
                    self.incomplete = true;
                    return Ok(());
                }
                let first = known.operands.len().checked_sub(entry.params as usize);
                known.operands.truncate(first.ok_or(UNBALANCED)?);
                at.returns.push(at.pc);
                at.pc = entry.pc;
                known.frames.push(vec![None; self.frame]);
            }
            Op::Return => {
                let Some(pc) = at.returns.pop() else {
                    return Ok(());
                };
                at.pc = pc;
                known.frames.pop();
                if known.frames.is_empty() {
                    // The step returns to a frame of a call made before the step.
                    known.frames.push(vec![None; self.frame]);
                }
            }
            op => {
                let Some(count) = operand_count(op) else {
                    return Err(Obstacle::Beyond(
                        "an instruction that this checker does not know",
                    ));
                };
                let first = known.operands.len().checked_sub(count).ok_or(UNBALANCED)?;
                let operands = known.operands.split_off(first);
                let value = value(op, &operands, known.slots());
                known.operands.push(value);
            }
        }
        self.reach(at, known)
    }

    /// Adds the accesses that an instruction may make. `index`: the value of its index, if it is
    /// known.
    fn claim(&mut self, pc: u32, index: Option<i64>) {
        let one = |cell: u32| cell..cell + 1;
        let element = |range: Range| match index {
            // An index out of bounds touches nothing.
            Some(at) if !(0..i64::from(range.len)).contains(&at) => 0..0,
            Some(at) => one(range.first + at as u32),
            None => range.first..range.first + range.len,
        };
        let (cells, touch) = match self.flat.ops[pc as usize] {
            Op::Load(cell) | Op::Fetch { cell, .. } => (one(cell), Touch::Read),
            Op::LoadAt(range) => (element(range), Touch::Read),
            Op::Store(cell) => (one(cell), Touch::Write),
            Op::StoreAt(range) => (element(range), Touch::Write),
            Op::Lock(cell) => (one(cell), Touch::Acquire),
            Op::LockAt(range) => (element(range), Touch::Acquire),
            Op::Unlock(cell) => (one(cell), Touch::Release),
            Op::UnlockAt(range) => (element(range), Touch::Release),
            _ => (0..0, Touch::Read),
        };
        match self.flat.ops[pc as usize] {
            Op::Guard | Op::Lock(_) | Op::LockAt(_) | Op::Join | Op::JoinAll => self.waits.push(pc),
            _ => {}
        }
        self.add(cells, touch);
    }

    /// Adds an access to cells. A write to a variable of an invariant also writes a pseudo-cell of
    /// the invariant, so writes to two variables of one invariant conflict. The pseudo-cells come
    /// after all cells.
    fn add(&mut self, cells: std::ops::Range<u32>, touch: Touch) {
        if cells.is_empty() {
            return;
        }
        self.claims.push(Claim {
            first: cells.start,
            len: cells.end - cells.start,
            touch,
        });
        if touch == Touch::Write {
            let first_pseudo_cell = self.machine.watching.len() as u32;
            let watched = cells.flat_map(|cell| &self.machine.watching[cell as usize]);
            let invariants = watched.map(|&number| Claim {
                first: first_pseudo_cell + number,
                len: 1,
                touch,
            });
            let invariants: Vec<_> = invariants.collect();
            self.claims.extend(invariants);
        }
    }

    /// Returns what the step may have to wait for.
    fn wait(&self) -> Wait {
        let join = |pc: &u32| matches!(self.flat.ops[*pc as usize], Op::Join | Op::JoinAll);
        let joins = self.incomplete || self.waits.iter().any(join);
        match self.waits[..] {
            _ if self.incomplete => Wait::Guard { joins },
            _ if self.waits.iter().all(join) => Wait::Free,
            [only] => match self.claims[..] {
                [lock]
                    if lock.touch == Touch::Acquire
                        && lock.len == 1
                        && self.is_straight_line(only) =>
                {
                    Wait::Lock(lock.first)
                }
                _ => Wait::Guard { joins },
            },
            _ => Wait::Guard { joins },
        }
    }

    /// Whether the instructions between the mark and this instruction only compute the index of a
    /// lock.
    fn is_straight_line(&self, to: u32) -> bool {
        let between = self.mark as usize + 1..to as usize;
        self.mark < to
            && self.flat.ops[between]
                .iter()
                .all(|&op| operand_count(op).is_some() || op == Op::BeginAtomic)
    }
}

/// Returns the value that an instruction computes, if its operands are known.
fn value(op: Op, operands: &[Option<i64>], slots: &[Option<i64>]) -> Option<i64> {
    let operand = |at: usize| operands.get(at).copied().flatten();
    let element = |range: Range, index: i64| {
        let at = usize::try_from(index)
            .ok()
            .filter(|&at| at < range.len as usize)?;
        slots[range.first as usize + at]
    };
    match op {
        Op::Const(value) => Some(value),
        Op::Local(slot) => slots[slot as usize],
        Op::LocalAt(range) => element(range, operand(0)?),
        Op::Pick(len, _) => {
            let at = usize::try_from(operand(len as usize)?).ok();
            operand(at.filter(|&at| at < len as usize)?)
        }
        Op::Within(len) => operand(0).filter(|at| (0..i64::from(len)).contains(at)),
        Op::Not => Some(i64::from(operand(0)? == 0)),
        Op::Neg(ty) => crate::number::negate(ty, operand(0)?).ok(),
        Op::Arith(op, ty) => crate::number::arith(op, ty, operand(0)?, operand(1)?).ok(),
        Op::Compare(op, unsigned) => {
            let holds = crate::number::compare(op, unsigned, operand(0)?, operand(1)?);
            Some(i64::from(holds))
        }
        Op::ArithLocals(op, ty, [a, b]) => {
            let (a, b) = (slots[usize::from(a)]?, slots[usize::from(b)]?);
            crate::number::arith(op, ty, a, b).ok()
        }
        _ => None,
    }
}
