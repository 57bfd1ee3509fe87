//! Keeps panics of the code under test from being printed. The code itself catches most of them; a
//! panic that it does not catch becomes part of the one report at the end.

use std::panic::{self, PanicHookInfo};
use std::sync::Once;

use crate::life::NO_TEXT;
use crate::world::{Failure, world};

/// Messages that the standard library prints just before it aborts.
const ABORT_MESSAGES: [&str; 2] = [
    "panic in a destructor during cleanup",
    "panic in a function that cannot unwind",
];

/// Installs a panic hook that stores panics of threads of models. Other panics are handled as
/// before.
pub(crate) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !keep_panic(info) {
                before(info);
            }
        }));
    });
}

/// Stores a panic of a thread of a model instead of printing it. Returns false if the current
/// thread belongs to no model.
fn keep_panic(info: &PanicHookInfo<'_>) -> bool {
    let Some(world) = world() else {
        return false;
    };
    let Ok(mut inner) = world.inner.try_borrow_mut() else {
        return false;
    };
    let text = info.payload_as_str();
    let failure = Failure {
        message: text.unwrap_or(NO_TEXT).into(),
        place: info.location().map(ToString::to_string).unwrap_or_default(),
    };
    if ABORT_MESSAGES.contains(&failure.message.as_str()) {
        crate::say::print_abort_reason(&inner, &failure);
        return false;
    }
    let failure = inner.underlying_panic(failure);
    inner.failed(failure);
    true
}
