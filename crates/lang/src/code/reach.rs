//! The accesses that are still possible from each place of the code.
//!
//! This is a backward dataflow analysis as in `liveness.rs`, but over sets of accesses. An
//! instruction reaches its own access and the accesses that its successors reach. An access to an
//! element counts as an access to the whole array. A call reaches the accesses of the procedure and
//! of the code after the call; a spawn, those of the new process and of the code after the spawn. A
//! `return` reaches nothing: for a process in a call, the users of [`Reach`] add the accesses that
//! are reached from the return addresses of the process.
//!
//! If sends and receives access separate ends of a channel, a send reaches the number of waiting
//! messages, a receive reaches the messages, and any other access to the channel reaches both
//! (docs/proofs/stubborn.md).
//!
//! The result is computed on first use, because most searches never need it.

use mazurka_core::{Access, AccessKind, Claims, add_claim};

use smallvec::SmallVec;

use crate::code::{Code, Op, Range};

/// The greatest number of different accesses. Beyond it, a process that can continue counts as
/// reaching everything.
const MOST_ACCESSES: usize = 1024;

/// The accesses that are reached from each place where a process can rest or to which it can
/// return.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reach {
    accesses: Vec<Access>,
    /// For each instruction, a range of `accesses`.
    parts: Vec<(u32, u32)>,
}

impl Reach {
    /// Adds the accesses that are reached from an instruction.
    pub fn add_from(&self, pc: u32, into: &mut Claims) {
        let (first, end) = self.parts[pc as usize];
        let here = &self.accesses[first as usize..end as usize];
        if into.is_empty() {
            into.extend_from_slice(here);
        } else {
            here.iter().for_each(|&access| add_claim(into, access));
        }
    }
}

/// Returns the access that an instruction makes.
fn touches(op: Op) -> Option<Access> {
    let whole = |kind, range: Range| Access::new(kind, range.first).over(range.len);
    let access = match op {
        Op::Load(cell) | Op::Fetch { cell, .. } => Access::read(cell),
        Op::LoadAt(range) => whole(AccessKind::Read, range),
        Op::Store(cell) => Access::write(cell),
        Op::StoreAt(range) => whole(AccessKind::Write, range),
        Op::Lock(cell) => Access::new(AccessKind::Acquire, cell),
        Op::LockAt(range) => whole(AccessKind::Acquire, range),
        Op::Unlock(cell) => Access::new(AccessKind::Release, cell),
        Op::UnlockAt(range) => whole(AccessKind::Release, range),
        _ => return None,
    };
    Some(access)
}

/// Returns the accesses of an instruction itself, without those of its successors.
fn own_accesses(code: &Code, pc: usize, separate: bool) -> SmallVec<[Access; 2]> {
    let mut accesses = SmallVec::new();
    let Some(access) = touches(code.ops[pc]) else {
        return accesses;
    };
    let mut channels = code.channels.iter();
    let channel = channels.find(|channel| separate && channel.has(access.first));
    let Some(channel) = channel else {
        accesses.push(access);
        return accesses;
    };
    let is_count = channel.counts.contains(access.first);
    match code.pure_ends.get(&(pc as u32)) {
        Some(sends) if *sends != is_count => {}
        Some(_) => accesses.push(access),
        None => {
            accesses.push(access);
            if is_count {
                accesses.extend(channel.messages_of(access));
            }
        }
    }
    accesses
}

/// Returns the instructions that may follow an instruction, including the first instruction of the
/// code that it calls or spawns.
pub(crate) fn followers(code: &Code, pc: usize) -> impl Iterator<Item = usize> {
    let leads = match code.ops[pc] {
        Op::Jump(to) | Op::JumpIfFalse(to) | Op::JumpUnlessLess { to, .. } => Some(to),
        Op::SpawnBlock(to) => Some(to),
        Op::Call(procedure) | Op::SpawnCall(procedure) => {
            Some(code.procedures[procedure as usize].pc)
        }
        _ => None,
    };
    let stops = matches!(code.ops[pc], Op::Jump(_) | Op::Return | Op::Error | Op::End);
    let next = (!stops && pc + 1 < code.ops.len()).then_some(pc + 1);
    next.into_iter().chain(leads.map(|to| to as usize))
}

/// Computes the accesses that compiled code reaches. `separate`: whether sends and receives access
/// different ends of a channel.
pub(crate) fn analyse(code: &Code, separate: bool) -> Reach {
    let all = 0..code.ops.len();
    let own: Vec<_> = all.map(|pc| own_accesses(code, pc, separate)).collect();
    let mut universe: Vec<Access> = own.iter().flatten().copied().collect();
    universe.sort_unstable();
    universe.dedup();
    if universe.len() > MOST_ACCESSES {
        return Reach {
            accesses: vec![Access::ANYTHING],
            parts: vec![(0, 1); code.ops.len()],
        };
    }
    let sets = solve(code, &universe, &own);
    let words = universe.len().div_ceil(64);
    let mut result = Reach::default();
    for (pc, op) in code.ops.iter().enumerate() {
        let rests = matches!(op, Op::Mark(_) | Op::Open(_));
        let returns = pc > 0 && matches!(code.ops[pc - 1], Op::Call(_));
        let first = result.accesses.len() as u32;
        if rests || returns {
            let mut claims = Claims::new();
            for (at, &access) in universe.iter().enumerate() {
                if sets[pc * words + at / 64] >> (at % 64) & 1 == 1 {
                    add_claim(&mut claims, access);
                    invariants(code, access, &mut claims);
                }
            }
            result.accesses.extend(claims);
        }
        result.parts.push((first, result.accesses.len() as u32));
    }
    result
}

/// Adds a write of the pseudo-cell of each invariant that reads a written cell.
fn invariants(code: &Code, access: Access, claims: &mut Claims) {
    if access.kind != AccessKind::Write || code.watched.is_empty() {
        return;
    }
    for cell in access.cells() {
        for &invariant in code.watched.get(cell).into_iter().flatten() {
            add_claim(claims, Access::write(code.invariant_cell(invariant)));
        }
    }
}

/// Computes the least solution of the dataflow equations. It is a set of accesses for each
/// instruction, as bits.
fn solve(code: &Code, universe: &[Access], own: &[SmallVec<[Access; 2]>]) -> Vec<u64> {
    let words = universe.len().div_ceil(64);
    let mut sets = vec![0u64; code.ops.len() * words];
    for (pc, own) in own.iter().enumerate() {
        for at in own.iter().flat_map(|access| universe.binary_search(access)) {
            sets[pc * words + at / 64] |= 1 << (at % 64);
        }
    }
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for pc in (0..code.ops.len()).rev() {
            for follower in followers(code, pc) {
                for word in 0..words {
                    let theirs = sets[follower * words + word];
                    let mine = &mut sets[pc * words + word];
                    changed |= theirs & !*mine != 0;
                    *mine |= theirs;
                }
            }
        }
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of accesses reached from where each step starts, in order.
    fn reached(source: &str) -> Vec<usize> {
        let program = crate::load(source, &[]).expect("a program");
        let code = crate::compile(&program, source).expect("it can be explored");
        let reach = analyse(&code, false);
        let rests = |op: &Op| matches!(op, Op::Mark(_) | Op::Open(_));
        let marks = (0..code.ops.len()).filter(|&pc| rests(&code.ops[pc]));
        let count = |pc: usize| {
            let mut claims = Claims::new();
            reach.add_from(pc as u32, &mut claims);
            claims.len()
        };
        marks.map(count).collect()
    }

    #[test]
    fn less_is_reached_towards_the_end() {
        let source = "var x, y, z: int = 0 process { x := 1; y := 1; z := 1 }";
        assert_eq!(reached(source), [3, 2, 1]);
    }

    #[test]
    fn loops_reach_what_comes_before() {
        let source = "var x, y, z: int = 0 process { while x < 1 { y := 1; x := 1 }; z := 1 }";
        assert_eq!(reached(source), [3, 3, 3, 1]);
    }

    #[test]
    fn a_spawn_reaches_what_it_starts_and_a_call_its_procedure() {
        let source = "var x, y, z: int = 0 process { spawn { x := 1 }; y := 1 }";
        assert_eq!(reached(source), [2, 1, 1]);
        let source = "var x, y, z: int = 0
            proc p() { x := 1 }
            process { p(); y := 1 }";
        assert_eq!(reached(source), [1, 1]);
    }

    #[test]
    fn in_a_large_program_everything_is_reached() {
        let names: Vec<String> = (0..1100).map(|n| format!("x{n}")).collect();
        let writes: Vec<String> = names.iter().map(|name| format!("{name} := 1")).collect();
        let source = format!(
            "var {}: int = 0 process {{ {} }}",
            names.join(", "),
            writes.join("; ")
        );
        assert_eq!(reached(&source), [1; 1100]);
    }

    #[test]
    fn writes_reach_their_invariants() {
        let source = "var x, y: int = 0 invariant x <= 1 process { x := 1; y := 1 }";
        assert_eq!(reached(source), [3, 1]);
    }
}
