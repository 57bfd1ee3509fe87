//! How a search ends a test: by a panic at the line of the call that started it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use mazurka_core::record::Record;

use crate::say;

/// A message, and the record for other programs.
struct Verdict(String, Option<Box<Record>>);

/// Ends the test with a message, which [`at_caller`] reports.
pub(crate) fn end(message: String) -> ! {
    resume_unwind(Box::new(Verdict(message, None)))
}

/// Ends the test with a message and a record.
pub(crate) fn end_with(message: String, record: Record) -> ! {
    resume_unwind(Box::new(Verdict(message, Some(Box::new(record)))))
}

/// Ends the test with a message, with the syntax of `panic!`.
macro_rules! end_test {
    ($($message:tt)*) => {
        $crate::verdict::end(format!($($message)*))
    };
}
pub(crate) use end_test;

/// Runs a search. If it ends the test, the panic is at the line of the caller.
#[track_caller]
pub(crate) fn at_caller<R>(search: impl FnOnce() -> R) -> R {
    // The search owns the state that it changes, and this state is dropped with the search.
    match catch_unwind(AssertUnwindSafe(search)) {
        Ok(result) => result,
        Err(payload) => panic_with(payload),
    }
}

#[track_caller]
fn panic_with(payload: Box<dyn Any + Send>) -> ! {
    match payload.downcast::<Verdict>() {
        Ok(verdict) => {
            say::failure(&verdict.0, verdict.1.as_deref());
            panic!("{}", verdict.0)
        }
        Err(other) => resume_unwind(other),
    }
}
