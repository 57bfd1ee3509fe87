//! Computes the cells that a task, and all tasks that it may still start, may touch until the end
//! of the execution. This is O in section 6.2 of the paper on context-sensitive DPOR (*CDPOR* in
//! GLOSSARY.md), computed from the flow graph of the code.
//!
//! The analysis follows the code through scheduling points, calls and messages. A message may reach
//! every object whose class has a method of that name, so this part distinguishes objects only by
//! their classes. Of the objects of these classes, only those count that the task can reach now:
//! through its variables, and through the fields of objects that it can reach. There is one
//! exception. If the task takes a reference from a future, or reads a reference from a field that
//! some method assigns, other tasks may pass further references to the task. Then all existing
//! objects of these classes count.

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use mazurka_core::{Access, Claims, ProcessId, add_claim};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use crate::Machine;
use crate::code::{Code, Op};
use crate::effects::reachable;
use crate::heap::{Life, OUTPUT, Task};

/// The possible effects of the code from one place on.
#[derive(Debug, Default)]
struct FutureEffects {
    /// The fields that may be touched: the class, the field, and whether it is written. Each field
    /// occurs once; sorted.
    fields: Vec<(u32, u32, bool)>,
    /// The classes on whose objects code may run.
    classes: Vec<u32>,
    prints: bool,
    /// Whether the code may reach objects that the task cannot reach now.
    open: bool,
}

/// Cached results.
#[derive(Debug, Default)]
pub(crate) struct Futures {
    /// Results by the class of the object and the place in the code.
    known: RefCell<FxHashMap<(u32, u32), Arc<FutureEffects>>>,
    /// The fields, by class, that a method may set to another reference.
    moving: OnceCell<FxHashSet<(u32, u32)>>,
    /// Scratch memory for [`Machine::find_reachable`]; kept to reuse the allocation.
    scratch: RefCell<ReachableObjects>,
}

/// Reachable objects.
#[derive(Debug, Default)]
struct ReachableObjects {
    /// For each object, whether it has been reached.
    reached: Vec<bool>,
    /// Objects whose fields have not been examined.
    pending: Vec<u32>,
}

/// Returns the fields, by class, that methods assign and that may refer to an object or a future.
fn moving(code: &Code) -> FxHashSet<(u32, u32)> {
    let mut all = FxHashSet::default();
    for (class, info) in code.classes.iter().enumerate() {
        if !info.carries.contains(&true) {
            continue;
        }
        let entries = info.methods.iter().map(|method| method.entry);
        let entries = entries.chain(info.recover.map(|(entry, _)| entry));
        for pc in reachable(code, entries.collect()) {
            if let Op::SetField(at) = code.ops[pc as usize]
                && info.carries[at as usize]
            {
                all.insert((class as u32, at));
            }
        }
    }
    all
}

/// Collects the effects of the code from a place on, on an object of a class.
fn follow(code: &Code, class: u32, pc: u32, moving: &FxHashSet<(u32, u32)>) -> FutureEffects {
    let mut open = false;
    let mut fields = Vec::new();
    let mut classes = vec![class];
    let mut prints = false;
    let mut seen = FxHashSet::with_capacity_and_hasher(64, FxBuildHasher);
    let mut pending = vec![(class, pc)];
    while let Some((class, pc)) = pending.pop() {
        if !seen.insert((class, pc)) {
            continue;
        }
        for handler in code.handlers.iter().filter(|handler| handler.covers(pc)) {
            pending.push((class, handler.target));
        }
        open |= code.carrying.contains(&pc);
        match code.ops[pc as usize] {
            Op::Jump(target) => pending.push((class, target)),
            Op::JumpUnless(target) | Op::JumpUnlessMade { target, .. } => {
                pending.extend([(class, target), (class, pc + 1)]);
                continue;
            }
            op if op.ends() => continue,
            Op::Field(at) => {
                fields.push((class, at, false));
                open |= moving.contains(&(class, at));
            }
            Op::SetField(at) => fields.push((class, at, true)),
            Op::Function { function, .. } => {
                pending.push((class, code.functions[function as usize].entry));
            }
            Op::Print { .. } => prints = true,
            Op::Async { method, .. } | Op::Sync { method, .. } => {
                for (number, info) in code.classes.iter().enumerate() {
                    if let Some(&at) = info.by_name.get(&method) {
                        classes.push(number as u32);
                        pending.push((number as u32, info.methods[at as usize].entry));
                        pending.extend(info.recover.map(|(entry, _)| (number as u32, entry)));
                    }
                }
            }
            Op::New { class: new, .. } => {
                let info = &code.classes[new as usize];
                classes.push(new);
                pending.push((new, info.init));
                pending.extend(info.run.map(|run| (new, info.methods[run as usize].entry)));
                pending.extend(info.recover.map(|(entry, _)| (new, entry)));
            }
            _ => {}
        }
        if !matches!(code.ops[pc as usize], Op::Jump(_)) {
            pending.push((class, pc + 1));
        }
    }
    // Sort writes before reads of the same field, so that the write is kept: a field that is
    // written need not be listed as read.
    fields.sort_unstable_by_key(|&(class, field, writes)| (class, field, !writes));
    fields.dedup_by_key(|(class, field, _)| (*class, *field));
    classes.sort_unstable();
    classes.dedup();
    FutureEffects {
        fields,
        classes,
        prints,
        open,
    }
}

impl Machine {
    /// Finds the cells that a task and all tasks that it may still start may touch.
    pub(crate) fn future_of(&self, process: ProcessId, into: &mut Claims) {
        into.clear();
        if self.is_clock(process) {
            into.push(Access::ANYTHING);
            return;
        }
        let Some(task) = self.task(process).filter(|task| task.life == Life::Alive) else {
            return;
        };
        if self.code.object.is_some() || self.code.timed {
            into.push(Access::ANYTHING);
            return;
        }
        let scratch = &mut *self.futures.scratch.borrow_mut();
        self.find_reachable(task, scratch);
        let reached = &scratch.reached;
        let class = self.names.object(task.object).class;
        if let Some((recover, _)) = self.code.classes[class as usize].recover {
            self.future_from(class, recover, reached, into);
        }
        let mut at = task.pc;
        for (number, frame) in task.frames.iter().enumerate().rev() {
            self.future_from(self.names.object(frame.object).class, at, reached, into);
            if number > 0 {
                at = self.code.after_call(frame.call);
            }
        }
    }

    /// Finds the objects that a task can reach.
    fn find_reachable(
        &self,
        task: &Task,
        ReachableObjects { reached, pending }: &mut ReachableObjects,
    ) {
        reached.clear();
        reached.resize(self.state.objects.len(), false);
        pending.extend(task.frames.iter().map(|frame| frame.object));
        let values = task.stack.iter();
        values.for_each(|value| value.objects(pending));
        while let Some(object) = pending.pop() {
            if !std::mem::replace(&mut reached[object as usize], true) {
                let fields = self.state.objects[object as usize].fields.iter();
                fields.for_each(|value| value.objects(pending));
            }
        }
    }

    fn future_from(&self, class: u32, pc: u32, reached: &[bool], into: &mut Claims) {
        let reach = {
            let mut known = self.futures.known.borrow_mut();
            let entry = known.entry((class, pc));
            Arc::clone(entry.or_insert_with(|| {
                let moving = self.futures.moving.get_or_init(|| moving(&self.code));
                Arc::new(follow(&self.code, class, pc, moving))
            }))
        };
        if reach.prints && !self.code.observed.no_output {
            add_claim(into, Access::write(OUTPUT));
        }
        for (number, object) in self.state.objects.iter().enumerate() {
            let reached = reach.open || reached[number];
            if !object.exists || !reached || reach.classes.binary_search(&object.class).is_err() {
                continue;
            }
            let first = self.names.object(number as u32).cells;
            let start = reach
                .fields
                .partition_point(|&(class, ..)| class < object.class);
            for &(class, field, writes) in &reach.fields[start..] {
                if class != object.class {
                    break;
                }
                let access = if writes {
                    Access::write(first + field)
                } else {
                    Access::read(first + field)
                };
                add_claim(into, access);
            }
            let root = &self.code.classes[self.state.objects[object.cog as usize].class as usize];
            if root.may_hold {
                let cell = self.names.object(object.cog).cells + root.cog_cell();
                add_claim(into, Access::write(cell));
            }
            let info = &self.code.classes[object.class as usize];
            if info.may_die {
                add_claim(into, Access::write(first + info.life_cell()));
            }
        }
    }
}
