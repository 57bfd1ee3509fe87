//! Computes the claims of the next step of a task: the cells that it may touch. For each place in
//! the code, `effects.rs` says which fields of `this`, and which fields of the objects of each
//! class, a step from there may touch. This file turns fields into cells: for the objects that
//! exist in the current state, it looks up the cell of each field. As in `effects.rs`, a *run* is
//! one step of a task.

use mazurka_core::{Access, Claims, ProcessId, add_claim};

use crate::Machine;
use crate::code::Op;
use crate::effects::Effects;
use crate::heap::{CLOCK, OUTPUT, Task};
use crate::nets::Cells;

impl Machine {
    /// Finds the claims of a resting task. Returns a key: tasks with the same key other than 0 have
    /// the same claims. The key is 0 if the claims are not cached.
    pub(crate) fn claims_of(&self, process: ProcessId, into: &mut Claims) -> u32 {
        into.clear();
        if self.code.object.is_some() {
            // Only the scheduling of a chosen object varies, and any step may change which task
            // comes next. So all steps are dependent: they all write cell 0.
            into.push(Access::write(0));
            return 0;
        }
        if self.is_clock(process) {
            into.push(Access::write(CLOCK));
            return 0;
        }
        let task = &self.state.tasks[process.index()];
        let place = (task.pc, task.object);
        if let (1, Some((key, claims))) = (task.frames.len(), self.known.borrow().get(&place)) {
            into.extend_from_slice(claims);
            return *key;
        }
        let fixed = self.find_claims(process, task, into);
        if !fixed || task.frames.len() != 1 {
            return 0;
        }
        let known = &mut *self.known.borrow_mut();
        let key = known.len() as u32 + 1;
        known.insert(place, (key, into.clone()));
        key
    }

    /// Computes the claims of a task. Returns true if the claims depend only on where the task
    /// rests and on its object, so that they can be cached. Otherwise they also depend on which
    /// other objects exist.
    pub(crate) fn find_claims(&self, process: ProcessId, task: &Task, into: &mut Claims) -> bool {
        let mut fixed = true;
        let cog = self.cog(task);
        let (mut holds, mut prints, mut throws) = (false, false, false);
        for (effects, object) in self.next_effects(task) {
            holds |= effects.holds;
            prints |= effects.prints;
            throws |= effects.throws;
            fixed &= effects.others.is_empty();
            self.claim_effects(object, effects, into);
            if effects.dies {
                self.claim_life(object, true, into);
            }
        }
        let class = &self.code.classes[self.names.object(task.object).class as usize];
        if let (true, Some((recover, _))) = (throws, class.recover) {
            let effects = &self.code.effects[&recover];
            holds |= effects.holds;
            prints |= effects.prints;
            fixed &= effects.others.is_empty();
            self.claim_effects(task.object, effects, into);
        }
        let frames = if self.code.is_idle(task.pc) {
            &[]
        } else {
            &task.frames[..]
        };
        for frame in frames {
            self.claim_life(frame.object, throws && frame.object == task.object, into);
        }
        if prints && !self.code.observed.no_output {
            add_claim(into, Access::write(OUTPUT));
        }
        if self.code.timed {
            // Time passes only if no task can continue, so each step of a task depends on the
            // clock.
            add_claim(into, Access::read(CLOCK));
        }
        self.claim_cog(cog, holds, process, into);
        // A task that rests in the init block of a new object also holds the cog of this object.
        for frame in &task.frames {
            let other = self.state.objects[frame.object as usize].cog;
            if other != cog {
                fixed = false;
                self.claim_cog(other, holds, process, into);
            }
        }
        into.sort_unstable();
        fixed
    }

    /// Returns the effects of the next step of a resting task: for each method that the task is in,
    /// the innermost first, the effects of its next code, and the object that it runs on.
    pub(crate) fn next_effects<'a>(
        &'a self,
        task: &'a Task,
    ) -> impl Iterator<Item = (&'a Effects, u32)> {
        let mut at = match self.code.ops[task.pc as usize] {
            Op::Get | Op::Block => task.pc + 1,
            _ => task.pc,
        };
        let frames = task.frames.iter().enumerate().rev();
        frames.filter_map(move |(number, frame)| {
            // A calling method will continue after its call.
            let next = match number {
                0 => at,
                _ => self.code.after_call(frame.call),
            };
            let here = std::mem::replace(&mut at, next);
            let effects = self.code.effects.get(&here)?;
            Some((effects, frame.object))
        })
    }

    /// Adds the claims of a run on an object.
    fn claim_effects(&self, object: u32, effects: &Effects, into: &mut Claims) {
        let first = self.first_cell(object);
        for &field in &effects.writes {
            add_claim(into, Access::write(first + field));
        }
        for &field in &effects.reads {
            add_claim(into, Access::read(first + field));
        }
        if !effects.others.is_empty() {
            let cog = self.state.objects[object as usize].cog;
            self.claim_others(cog, &effects.others, into);
        }
    }

    /// Adds the claim on the cell that says whether an object is alive: a run on the object reads
    /// the cell, and writes it if it may kill the object.
    fn claim_life(&self, object: u32, kills: bool, into: &mut Claims) {
        let name = self.names.object(object);
        let info = &self.code.classes[name.class as usize];
        if info.may_die {
            let cell = self.first_cell(object) + info.life_cell();
            add_claim(
                into,
                if kills {
                    Access::write(cell)
                } else {
                    Access::read(cell)
                },
            );
        }
    }

    /// Adds the claim on the cell of a cog: a run reads it, and writes it if it may keep the cog
    /// while the task rests.
    fn claim_cog(&self, cog: u32, holds: bool, process: ProcessId, into: &mut Claims) {
        let root = &self.state.objects[cog as usize];
        let info = &self.code.classes[root.class as usize];
        if info.may_hold {
            let cell = self.first_cell(cog) + info.cog_cell();
            let writes = holds || root.holder == Some(process.0);
            add_claim(
                into,
                if writes {
                    Access::write(cell)
                } else {
                    Access::read(cell)
                },
            );
        }
    }

    /// Adds the claims on fields of the objects of a cog. Each element of `others` is a class, a
    /// field of its objects, and whether the field is written.
    fn claim_others(&self, cog: u32, others: &[(u32, u32, bool)], into: &mut Claims) {
        if let Some(Cells::Shared(cells)) = &self.nets {
            return self.claim_shared(cells, cog, others, into);
        }
        for (number, object) in self.state.objects.iter().enumerate() {
            if !object.exists || object.cog != cog {
                continue;
            }
            let first = self.names.object(number as u32).cells;
            let info = &self.code.classes[object.class as usize];
            for &(class, field, writes) in others {
                let counts = field != info.life_cell() || info.may_die;
                if class == object.class && counts {
                    let access = if writes {
                        Access::write(first + field)
                    } else {
                        Access::read(first + field)
                    };
                    add_claim(into, access);
                }
            }
        }
    }
}
