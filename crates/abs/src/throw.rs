//! Executes exceptions: finds the handler of an exception, from the innermost method of the task
//! outwards, and then the recovery block of the class. If there is neither, ends the task and kills
//! its object.

use mazurka_core::{Access, MishapKind};

use crate::heap::{Frame, Life, Task};
use crate::step::{Cpu, Listener, StepAction, Undo, touch};
use crate::value::Value;

impl<L: Listener> Cpu<'_, L> {
    /// Throws an exception. Returns the place of its handler, or of the recovery block of the class
    /// (for a false assertion, only if the block names this exception). Returns `None` if there is
    /// neither a handler nor such a block: the exception has then ended the task and killed its
    /// object.
    pub(crate) fn throw(&mut self, pc: u32, exception: Value, task: &mut Task) -> Option<u32> {
        let recovered_from = if task.recovers {
            task.stack.first().cloned()
        } else {
            None
        };
        if let Some(handler) = self.catch(pc, &exception, task) {
            return Some(handler);
        }
        let class = self.state.objects[task.object as usize].class;
        let class = &self.code.classes[class as usize];
        let failed = self.is_assertion(&exception);
        if let Some((recover, slots)) = class.recover
            && !task.recovers
            && (!failed || class.recovers_assertions)
        {
            self.listener
                .record(|| StepAction::Threw(exception.clone()));
            task.recovers = true;
            task.stack.clear();
            task.stack.push(exception);
            task.stack.resize(slots as usize, Value::Unit);
            task.frames.push(Frame {
                call: u32::MAX,
                base: 0,
                top: slots,
                object: task.object,
            });
            return Some(recover);
        }
        self.kill(task.object);
        // If the recovery block has thrown this exception, the task ends with the exception from
        // which it should have recovered.
        let exception = match recovered_from {
            Some(original) if !failed => original,
            _ => exception,
        };
        if task.kept && !self.is_assertion(&exception) {
            self.listener
                .record(|| StepAction::Threw(exception.clone()));
            task.life = Life::Thrown;
            self.end(task, Some(exception));
        } else {
            self.halt(task, MishapKind::Failure, pc, Some(exception));
        }
        None
    }

    /// Executes `die`: kills `this`. If the task runs on this object, the task ends, and the result
    /// is `None`. Otherwise a method of another object of the same cog has called a method of this
    /// object. Then the exception is thrown in the calling method, and the result is that of
    /// [`throw`](Self::throw).
    pub(crate) fn die(&mut self, exception: Value, task: &mut Task) -> Option<u32> {
        let this = task.frames.last().map_or(task.object, |frame| frame.object);
        self.kill(this);
        if this != task.object {
            let mut call = u32::MAX;
            while let Some(frame) = task.frames.last().filter(|frame| frame.object == this) {
                call = frame.call;
                task.stack.truncate(frame.base as usize);
                task.frames.pop();
            }
            let handler = self.throw(call, exception, task)?;
            if let Some(trail) = self.trail {
                trail.turn(handler, true);
            }
            return Some(handler);
        }
        self.listener
            .record(|| StepAction::Threw(exception.clone()));
        task.life = Life::Thrown;
        self.end(task, Some(exception));
        None
    }

    /// Kills an object. The object of the main block cannot die, because only the main block runs
    /// on it.
    pub(crate) fn kill(&mut self, object: u32) {
        if object == 0 {
            return;
        }
        if let Some(died) = self.died.as_deref_mut() {
            *died = Some(self.names.object(object).class);
            return;
        }
        self.state.objects[object as usize].dead = true;
        self.undo.push(Undo::Died(object));
        self.listener.record(|| StepAction::Died(object));
        let name = self.names.object(object);
        let cell = self.code.classes[name.class as usize].life_cell();
        touch(self.event, Access::write(name.cells + cell));
    }

    pub(crate) fn is_assertion(&self, exception: &Value) -> bool {
        let assertion = self.code.exceptions.assertion_failed;
        matches!(exception, Value::Data(data) if data.constructor == assertion)
    }

    /// Finds the handler of an exception, from the innermost method outwards. Removes the frames of
    /// the methods that have no handler for it.
    pub(crate) fn catch(&self, mut pc: u32, exception: &Value, task: &mut Task) -> Option<u32> {
        while let Some(frame) = task.frames.last() {
            if let Some(handler) = self.code.handlers.iter().find(|handler| handler.covers(pc)) {
                task.stack.truncate(frame.top as usize);
                task.stack[(frame.base + handler.slot) as usize] = exception.clone();
                return Some(handler.target);
            }
            pc = frame.call;
            task.stack.truncate(frame.base as usize);
            task.frames.pop();
        }
        None
    }
}
