//! A data race in words: both accesses, and the order that is missing between them.

use mazurka_core::{SyncAction, SyncStep, missing_order};
use rustc_hash::FxHashMap;

use crate::clock::{How, Made, Mark, What, acquires, releases};
use crate::world::{Failure, World};

/// What an access does, in words.
fn verb(writes: bool, atomic: bool, frees: bool) -> &'static str {
    match (writes, atomic, frees) {
        (_, _, true) => "freed",
        (true, false, _) => "written",
        (false, false, _) => "read",
        (true, true, _) => "written atomically",
        (false, true, _) => "read atomically",
    }
}

/// Synchronisation, with the steps that each has read from: the last ones that have written.
fn steps(made: &[Made]) -> Vec<SyncStep> {
    let mut last: FxHashMap<u32, usize> = FxHashMap::default();
    let mut all = Vec::with_capacity(made.len());
    for (at, it) in made.iter().enumerate() {
        let before = last.get(&it.cell).copied();
        let access = |reads: bool, writes: bool| SyncAction::Access {
            reads_from: before.filter(|_| reads),
            writes,
            releases: writes && releases(it.order),
            acquires: reads && acquires(it.order),
        };
        let action = match it.what {
            What::Read => access(true, false),
            What::Write => access(false, true),
            What::Update => access(true, true),
            What::Lock => SyncAction::Lock {
                lock: it.cell,
                after: before,
            },
            What::Unlock => SyncAction::Unlock { lock: it.cell },
            What::Fence => SyncAction::Fence {
                releases: releases(it.order),
                acquires: acquires(it.order),
            },
            What::Orders => SyncAction::Orders { thread: it.cell },
        };
        if matches!(it.what, What::Write | What::Update | What::Unlock) {
            last.insert(it.cell, at);
        }
        all.push(SyncStep {
            thread: it.thread,
            action,
        });
    }
    all
}

impl World {
    /// A race in words.
    pub fn race(&self, address: usize, how: How, other: Mark) -> Failure {
        let mut sides = [
            (verb(how.writes, how.atomic, how.frees), how.pc, true),
            (
                verb(other.writes, other.atomic, other.frees),
                other.pc,
                false,
            ),
        ];
        sides.sort_by_key(|&(_, pc, _)| pc);
        let name = self.name_of(address);
        let [(one, here, later_first), (two, there, _)] = sides;
        let (here, there) = (self.image_place(here), self.image_place(there));
        let message = format!(
            "data race on `{name}`: it is {one} {here} and {two} {there}, and no synchronisation orders the two"
        );
        Failure {
            message,
            pc: how.pc,
            more: format!(": {}", self.missing(other, later_first)),
        }
    }

    /// What is missing between an earlier access and the current one, which `later_first` says is
    /// the one that is named first.
    fn missing(&self, other: Mark, later_first: bool) -> String {
        let steps = steps(&self.clocks.made);
        let first = (other.thread, other.before as usize);
        let missing = missing_order(&steps, first, self.current.0);
        let missing = if later_first {
            missing.swapped()
        } else {
            missing
        };
        let name = |cell: u32| self.name_of(self.cells[cell as usize].address);
        let access = |at: usize| {
            let Made { cell, what, pc, .. } = self.clocks.made[at];
            let verb = match what {
                What::Read => "load",
                What::Write => "store",
                _ => "update",
            };
            format!("the {verb} of `{}` {}", name(cell), self.image_place(pc))
        };
        missing.in_words(access, name)
    }
}
