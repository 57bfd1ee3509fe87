//! Context-sensitive DPOR exactly as printed in the paper (`--paper`), which loses final states: E1
//! of docs/algorithms.md.

use std::ops::ControlFlow;

use mazurka_core::{Limits, Semantics};
use mazurka_explore::{Algorithm, Goal, Search, Variant};

use crate::record::{Recording, Summary};

/// Explores a program; loses final states.
pub fn context<E: Semantics>(program: &mut E) -> Summary {
    let variant = Variant {
        paper: true,
        ..Variant::BEST
    };
    let mut recording = Recording::default();
    let search = Search {
        algorithm: Algorithm::Context(variant),
        limits: Limits::default(),
        goal: Goal::Everything,
    };
    search.run(program, &mut |_| ControlFlow::Continue(()), &mut recording);
    recording.finish()
}
