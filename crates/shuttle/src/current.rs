//! The current task.

use mazurka_rt::facade::in_model;
use mazurka_rt::thread::{self, ThreadId};

/// An identifier that is unique among the tasks of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TaskId(ThreadId);

/// Returns the current task; `None` outside a test.
pub fn get_current_task() -> Option<TaskId> {
    in_model().then(me)
}

/// Returns the current task.
pub fn me() -> TaskId {
    TaskId(thread::current().id())
}

/// Does nothing. In shuttle it allows a long execution more steps; here the limit of `mazurka-rt`
/// stays in force.
pub fn reset_step_count() {}
