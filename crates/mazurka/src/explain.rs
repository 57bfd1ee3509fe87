//! Explains the first witness of `check` by orders of steps: a smallest set of pairs "this step
//! before that step" such that every complete run with these orders shows the violation.
//! explore/src/witness/explain.rs finds the set.

use std::sync::Arc;

use mazurka_core::record::{Explanation, NamedStep, OrderedSteps, Record, Run};
use mazurka_core::{Execution, Kind, Mishap, MishapKind, Schedule};
use mazurka_explore::{ShownViolation, explain};
use mazurka_lang::Machine;

use crate::{Options, Program, Watch};

impl Program {
    /// Returns the explanation of the first witness, if it shows a failure or a deadlock of a
    /// `.maz` program without unknown values. Returns `None` also if the program is too large to be
    /// explained.
    pub(crate) fn explanation(
        &self,
        record: &Record,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Option<Explanation> {
        let witness = record.witnesses.first()?;
        let [run] = &witness.runs[..] else {
            return None;
        };
        let code = self.language.maz()?;
        if witness.lasso.is_some() || self.language.for_all().is_some() {
            return None;
        }
        let mut machine = Machine::new(Arc::clone(code), options.limits.local);
        let schedule: Schedule = run.schedule.parse().ok()?;
        for step in &schedule.0 {
            let process = machine.processes().find(&step.process)?;
            machine.step(process, &step.outcomes).ok()?;
        }
        let shown = match witness.kind {
            Kind::Deadlock => ShownViolation::Deadlock,
            Kind::Failure => ShownViolation::Failure(failed_site(&machine)?),
            _ => return None,
        };
        let explained = explain(&mut machine, shown, watch)?;
        let orders = explained
            .orders
            .iter()
            .map(|&[first, second]| OrderedSteps {
                first: named(run, first),
                second: named(run, second),
            });
        Some(Explanation {
            orders: orders.collect(),
            traces: explained.traces,
            shown: explained.shown,
        })
    }
}

/// Returns the location of the failure in the last step of the current run, or in its final state.
fn failed_site(machine: &Machine) -> Option<u32> {
    let fails = |mishap: &&Mishap| mishap.kind == MishapKind::Failure && machine.counts(mishap);
    let last = machine.events().last()?;
    let own = last.mishaps.iter().find(fails).map(|mishap| mishap.site);
    own.or_else(|| {
        let at_end = machine.is_final().then(|| machine.final_mishaps())?;
        at_end.iter().find(fails).map(|mishap| mishap.site)
    })
}

/// Returns the name of a step of a run.
fn named(run: &Run, at: usize) -> NamedStep {
    let process = &run.steps[at].process;
    let before = run.steps[..=at].iter();
    NamedStep {
        process: process.clone(),
        index: before.filter(|step| step.process == *process).count(),
        step: at + 1,
    }
}
