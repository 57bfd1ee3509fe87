//! Traces counted by Definition 12 of the guarded-command paper, with its swaps: errata E4.
//!
//! | paper | here |
//! |---|---|
//! | canon(θ) | [`canon`] |
//! | l₁ ~ l₂ (non-interference) | not [`dependent`] |
//! | l₁ < l₂ | the order of process names |
//!
//! Deviations: runs come from brute force, not from Fagiani's permutations, and independence is
//! this project's (locks, joins and claims included). The form is the fixed point of the printed
//! swaps. The recursion taken literally stops even earlier: canon(θ·l₁)·l₂ never compares
//! l₂ with the label that ends canon(θ·l₁), so z·y·f with y ≁ f and z independent
//! of both gives y·z·f although z and f could be swapped.

use std::collections::BTreeSet;

use mazurka_core::{Event, Execution, Fingerprint, ProcessTable, dependent};

use crate::brute::{Limit, Visit, every_run};
use crate::record::{Dependence, Recorder, Summary};

/// Brute force that takes runs for one trace iff their printed canonical forms are equal.
pub fn swapped_until_stable<E: Execution>(program: &mut E) -> Summary {
    program.back_to(0);
    let mut recorder = Recorder::new(program, Dependence::Claimed);
    let mut forms = BTreeSet::new();
    let limit = Limit {
        executions: u64::MAX,
        ..Limit::default()
    };
    let ended = every_run(program, limit, &mut |program, visit| match visit {
        Visit::Enter => recorder.push(program),
        Visit::Leave => recorder.pop(),
        Visit::Complete => {
            let before = recorder.summary().executions;
            recorder.complete(program);
            if recorder.summary().executions > before {
                let run: Vec<&Event> = program.events().iter().collect();
                forms.insert(key(&canon(run, program.processes()), program.processes()));
            }
        }
    });
    recorder.summary_mut().lost |= ended.is_err();
    recorder.summary_mut().traces = forms;
    recorder.finish()
}

/// Swaps independent neighbours that are out of order until there are none.
fn canon<'a>(mut run: Vec<&'a Event>, table: &ProcessTable) -> Vec<&'a Event> {
    let mut moved = true;
    while moved {
        moved = false;
        for at in 1..run.len() {
            let (one, other) = (run[at - 1], run[at]);
            let ordered = table.path(one.process) <= table.path(other.process);
            if !ordered && !dependent(one, other) {
                run.swap(at - 1, at);
                moved = true;
            }
        }
    }
    run
}

fn key(run: &[&Event], table: &ProcessTable) -> Fingerprint {
    run.iter().fold(Fingerprint::EMPTY, |key, event| {
        let key = key
            .then_all(table.name(event.process))
            .then(u64::from(event.number));
        event
            .outcomes
            .iter()
            .fold(key, |key, outcome| key.then(outcome.value as u64))
    })
}
