//! Traces counted by Definition 12 of the guarded-command paper, as printed: errata E4.
//!
//! | paper | here |
//! |---|---|
//! | canon(θ) | [`canon`] |
//! | l₁ ~ l₂ (non-interference) | not [`dependent`] |
//! | l₁ < l₂ | the order of process names |
//!
//! Deviations: none in the form. Runs come from brute force, not from Fagiani's permutations, and
//! independence is this project's (locks, joins and claims included).

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

/// canon(θ·l₁·l₂) = canon(θ·l₁)·l₂ if l₁ ≁ l₂ or l₁ < l₂, else canon(canon(θ·l₂)·l₁).
fn canon<'a>(mut run: Vec<&'a Event>, table: &ProcessTable) -> Vec<&'a Event> {
    let Some(last) = run.pop() else { return run };
    let Some(before) = run.pop() else { return vec![last] };
    let ordered = table.path(before.process) < table.path(last.process);
    if ordered || dependent(before, last) {
        run.push(before);
        let mut form = canon(run, table);
        form.push(last);
        form
    } else {
        run.push(last);
        let mut form = canon(run, table);
        form.push(before);
        canon(form, table)
    }
}

fn key(run: &[&Event], table: &ProcessTable) -> Fingerprint {
    run.iter().fold(Fingerprint::EMPTY, |key, event| {
        let key = key.then_all(table.name(event.process)).then(u64::from(event.number));
        event.outcomes.iter().fold(key, |key, outcome| key.then(outcome.value as u64))
    })
}
