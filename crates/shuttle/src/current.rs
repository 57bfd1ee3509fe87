//! The task that runs.

use mazurka_rt::facade::in_model;
use mazurka_rt::thread::{self, ThreadId};

/// An identifier that is unique among the tasks of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TaskId(ThreadId);

/// Returns the task that runs, in a test.
pub fn get_current_task() -> Option<TaskId> {
    in_model().then(me)
}

/// Returns the task that runs.
pub fn me() -> TaskId {
    TaskId(thread::current().id())
}

/// Would give a long execution more steps. The limit is that of `mazurka-rt`.
pub fn reset_step_count() {}
