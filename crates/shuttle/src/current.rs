//! The current task.

use std::fmt;

use mazurka_rt::facade::{in_model, thread_name};
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

/// Returns the current task; `None` outside a test.
pub fn try_get_current_task() -> Option<TaskId> {
    get_current_task()
}

/// The name of a task.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskName(String);

impl fmt::Debug for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<TaskName> for String {
    fn from(name: TaskName) -> Self {
        name.0
    }
}

/// Returns the name that a thread was given when it was started.
pub fn get_name_for_task(task_id: TaskId) -> Option<TaskName> {
    thread_name(task_id.0).map(TaskName)
}

/// Does nothing. In shuttle it allows a long execution more steps; here the limit of `mazurka-rt`
/// stays in force.
pub fn reset_step_count() {}
