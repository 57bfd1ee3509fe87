//! Describes a data race: both accesses, and the missing order between them.

use mazurka_core::{SyncAction, SyncStep, missing_order};
use rustc_hash::FxHashMap;

use crate::clock::{AccessInfo, AccessMark, SyncKind, SyncOperation, acquires, releases};
use crate::world::{Failure, World};

/// Describes the kind of an access.
fn verb(writes: bool, atomic: bool, frees: bool) -> &'static str {
    match (writes, atomic, frees) {
        (_, _, true) => "freed",
        (true, false, _) => "written",
        (false, false, _) => "read",
        (true, true, _) => "written atomically",
        (false, true, _) => "read atomically",
    }
}

/// Converts synchronisation operations to the steps of `missing_order`. A step that reads a cell
/// reads from the most recent write to the cell.
fn steps(made: &[SyncOperation]) -> Vec<SyncStep> {
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
            SyncKind::Read => access(true, false),
            SyncKind::Write => access(false, true),
            SyncKind::Update => access(true, true),
            SyncKind::Lock => SyncAction::Lock {
                lock: it.cell,
                after: before,
            },
            SyncKind::Unlock => SyncAction::Unlock { lock: it.cell },
            SyncKind::Fence => SyncAction::Fence {
                releases: releases(it.order),
                acquires: acquires(it.order),
            },
            SyncKind::Orders => SyncAction::Orders { thread: it.cell },
        };
        if matches!(
            it.what,
            SyncKind::Write | SyncKind::Update | SyncKind::Unlock
        ) {
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
    /// Describes a race.
    pub fn race(&self, address: usize, how: AccessInfo, other: AccessMark) -> Failure {
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

    /// Describes the missing order between an earlier access and the current one. `later_first`
    /// says whether the description starts with the current access.
    fn missing(&self, other: AccessMark, later_first: bool) -> String {
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
            let SyncOperation { cell, what, pc, .. } = self.clocks.made[at];
            let verb = match what {
                SyncKind::Read => "load",
                SyncKind::Write => "store",
                _ => "update",
            };
            format!("the {verb} of `{}` {}", name(cell), self.image_place(pc))
        };
        missing.in_words(access, name)
    }
}
