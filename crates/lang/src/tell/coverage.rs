//! Which sides of which branches runs have taken.

use mazurka_core::record::Branch;
use mazurka_core::{Execution, Schedule};
use rustc_hash::FxHashSet;

use crate::code::{Code, Op};
use crate::run::machine::Machine;
use crate::run::{Heard, Listener};

/// Conditional jumps that were passed, and whether their condition held.
#[derive(Clone, Debug, Default)]
pub struct Sides(FxHashSet<(u32, bool)>);

impl Listener for Sides {
    const LISTENS: bool = true;

    fn hear(&mut self, code: &Code, pc: u32, heard: Heard<'_>) {
        let local = |slot: u16| heard.locals[usize::from(slot)];
        let held = match code.ops[pc as usize] {
            Op::JumpIfFalse(_) => heard.operands.last().is_some_and(|&top| top != 0),
            Op::JumpUnlessLess {
                slots: [a, b],
                unsigned,
                ..
            } => {
                let op = crate::code::Compare::Lt;
                crate::code::numbers::compare(op, unsigned, local(a), local(b))
            }
            _ => return,
        };
        self.0.insert((pc, held));
    }
}

impl Machine {
    /// Runs a schedule of this program from the start and adds what it covers. What processes do
    /// before their first step is not looked at. A step that is not possible ends the run.
    pub fn cover(&mut self, schedule: &Schedule, sides: &mut Sides) {
        self.back_to(0);
        for step in &schedule.0 {
            let known = self.processes().find(&step.process);
            let made = known.map(|process| self.step_heard(process, &step.outcomes, sides));
            if !matches!(made, Some(Ok(_))) {
                return;
            }
        }
    }
}

impl Code {
    /// All branches of the program in the order of its text, and which sides these runs have taken.
    /// One that the compiler has made several times, for several processes, counts once.
    pub fn branches(&self, sides: &Sides) -> Vec<Branch> {
        let mut branches: Vec<Branch> = Vec::new();
        for (pc, op) in self.ops.iter().enumerate() {
            if !matches!(op, Op::JumpIfFalse(_) | Op::JumpUnlessLess { .. }) {
                continue;
            }
            let place = self.place(self.spans[pc]);
            let pc = pc as u32;
            let (held, failed) = (
                sides.0.contains(&(pc, true)),
                sides.0.contains(&(pc, false)),
            );
            match branches.iter_mut().find(|branch| branch.place == place) {
                Some(branch) => {
                    branch.held |= held;
                    branch.failed |= failed;
                }
                None => branches.push(Branch {
                    place,
                    held,
                    failed,
                }),
            }
        }
        branches.sort_by_key(|branch| (branch.place.line, branch.place.column));
        branches
    }
}
