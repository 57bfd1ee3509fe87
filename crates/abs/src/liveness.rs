//! Computes for each place where a frame can rest which slots are live: some path from there reads
//! the slot before writing it. The machine clears the other slots, so that states which differ only
//! in dead values are equal.

use crate::code::{Code, Op};

/// A set of slots: one bit for each slot.
type Row = Vec<u64>;

/// Computes, for each place where a frame can rest, the slots that are dead there.
pub(crate) fn find_dead_slots(code: &mut Code) {
    let slots = code
        .classes
        .iter()
        .flat_map(|class| class.methods.iter().map(|method| method.slots))
        .max()
        .unwrap_or(0);
    let words = (slots as usize).div_ceil(64).max(1);
    let mut live: Vec<Row> = vec![vec![0; words]; code.ops.len() + 1];
    let mut changed = true;
    while changed {
        changed = false;
        for pc in (0..code.ops.len()).rev() {
            let row = row_before(code, pc, &live, words);
            if row != live[pc] {
                live[pc] = row;
                changed = true;
            }
        }
    }
    for pc in 0..code.ops.len() {
        let after = match code.ops[pc] {
            Op::Await | Op::Suspend | Op::Get | Op::Block | Op::Print { .. } | Op::New { .. } => {
                pc + 1
            }
            Op::Sync { .. } => pc + 2,
            _ => continue,
        };
        let dead = (0..slots)
            .filter(|&slot| !has(&live[after], slot))
            .collect();
        code.dead.insert(after as u32, dead);
    }
}

fn has(row: &Row, slot: u32) -> bool {
    row.get(slot as usize / 64)
        .is_some_and(|word| word & (1 << (slot % 64)) != 0)
}

/// Returns the slots that are live before an instruction. `live` has the rows of all instructions.
fn row_before(code: &Code, pc: usize, live: &[Row], words: usize) -> Row {
    let mut row = vec![0; words];
    let mut add = |target: usize, except: Option<u32>| {
        for (at, word) in live[target].iter().enumerate() {
            let hidden = except
                .filter(|slot| *slot as usize / 64 == at)
                .map_or(0, |slot| 1u64 << (slot % 64));
            row[at] |= word & !hidden;
        }
    };
    match code.ops[pc] {
        Op::Jump(target) => add(target as usize, None),
        Op::JumpUnless(target) | Op::JumpUnlessMade { target, .. } => {
            add(target as usize, None);
            add(pc + 1, None);
        }
        op if op.ends() => {}
        _ => add(pc + 1, None),
    }
    for handler in &code.handlers {
        if handler.covers(pc as u32) {
            add(handler.target as usize, Some(handler.slot));
        }
    }
    let bit = |slot: u32| (slot as usize / 64, 1u64 << (slot % 64));
    match code.ops[pc] {
        Op::Set(slot) => {
            let (word, bit) = bit(slot);
            if let Some(word) = row.get_mut(word) {
                *word &= !bit;
            }
        }
        // The first slot holds the exception from which the task recovers.
        Op::Recovered => {
            if let Some(word) = row.first_mut() {
                *word |= 1;
            }
        }
        Op::Local(slot) | Op::Deadline(slot) => {
            let (word, bit) = bit(slot);
            if let Some(word) = row.get_mut(word) {
                *word |= bit;
            }
        }
        _ => {}
    }
    row
}
