//! Describes the tasks of a state: where they rest, their variables, and the cogs that they hold.

use mazurka_core::record::{Binding, Place};
use mazurka_core::{HeldLock, ProcessId};
use mazurka_diagnostics::Span;

use crate::Machine;
use crate::code::{MethodInfo, Op};
use crate::heap::Life;
use crate::text::object_name;
use crate::value::Value;

impl Machine {
    /// Returns the cogs that tasks hold while they wait.
    pub(crate) fn held_cogs(&self) -> Vec<HeldLock> {
        let objects = self.state.objects.iter().enumerate();
        let mut held: Vec<(u32, u32)> = objects
            .filter_map(|(number, object)| Some((number as u32, object.holder?)))
            .collect();
        held.sort_by(|&(a, _), &(b, _)| Value::Object(a).order(&Value::Object(b), &self.names));
        let lock = |(cog, holder): (u32, u32)| HeldLock {
            lock: format!("cog of {}", object_name(cog, &self.code, &self.names)),
            process: self.names.tasks.path(ProcessId(holder)).to_string(),
        };
        held.into_iter().map(lock).collect()
    }

    /// Returns the variables that a task may still read, in the order of its methods, the outermost
    /// method first. The other variables were cleared when the task came to rest.
    pub(crate) fn task_locals(&self, process: ProcessId) -> Vec<Binding> {
        let mut all = Vec::new();
        let Some(task) = self.task(process).filter(|task| task.life == Life::Alive) else {
            return all;
        };
        for (at, frame) in task.frames.iter().enumerate() {
            let inner = task.frames.get(at + 1);
            let pc = inner.map_or(task.pc, |inner| inner.call);
            let Some((start, variables)) = self.body_at(pc) else {
                continue;
            };
            for (slot, name) in variables {
                let slot = frame.base + slot;
                let value = task.stack.get(slot as usize);
                let Some(value) = value.filter(|&v| slot < frame.top && *v != Value::Unit) else {
                    continue;
                };
                all.push(Binding {
                    name: match self.method_at(*start).filter(|_| at > 0) {
                        Some(method) => format!("{}.{name}", method.name),
                        None => name.clone(),
                    },
                    value: self.shown(value),
                });
            }
        }
        all
    }

    /// Returns the place where a task rests, given the instruction with which it continues. The
    /// place is the awaited expression, or the method.
    pub(crate) fn resting_place(&self, pc: u32) -> Place {
        let op = |pc: u32| self.code.ops.get(pc as usize);
        let before = pc.checked_sub(1).and_then(op);
        let (span, text) = match (op(pc), before) {
            (Some(Op::Get | Op::Print { .. } | Op::Block), _) => {
                (self.code.spans[pc as usize], self.words(pc))
            }
            (_, Some(Op::Await | Op::Suspend)) => {
                let text = self.words(pc - 1).trim_end_matches(';').to_owned();
                (self.code.spans[pc as usize - 1], text)
            }
            _ => match self.method_at(pc) {
                Some(method) => (method.span, method.name.clone()),
                None => (Span::default(), String::new()),
            },
        };
        let (line, column) = self.code.line_column(span);
        let file = self.code.file(span);
        Place {
            line,
            column,
            text,
            file,
        }
    }

    /// Returns the body that contains an instruction: its first instruction, and its variables.
    fn body_at(&self, pc: u32) -> Option<&(u32, Vec<(u32, String)>)> {
        let all = &self.code.variables;
        let after = all.partition_point(|(start, _)| *start <= pc);
        all.get(after.checked_sub(1)?)
    }

    fn method_at(&self, entry: u32) -> Option<&MethodInfo> {
        let classes = self.code.classes.iter();
        let mut methods = classes.flat_map(|class| &class.methods);
        methods.find(|method| method.entry == entry)
    }
}
