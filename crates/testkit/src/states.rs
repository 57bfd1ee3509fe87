//! What remains of a program if traces do not count: its final states, deadlocked states and places
//! of failures.

use std::collections::BTreeSet;

use mazurka_core::{Execution, Fingerprint, MishapKind, Semantics, Status};
use mazurka_explore::{Findings, Observer, Variant};
use mazurka_lang::Machine;

use crate::brute::{Limit, Visit, every_run};
use crate::record::{Dependence, Recorder};

/// What engines that merge states must agree on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct States {
    /// What is observed in final states.
    pub finals: BTreeSet<Fingerprint>,
    /// Whole states: what is dead in them does not count.
    pub deadlocks: BTreeSet<Fingerprint>,
    /// Where something fails.
    pub sites: BTreeSet<u32>,
    /// The evaluator could not tell everything.
    pub lost: bool,
}

/// Every combination of the switches of `context`, and both choices of the first process.
///
/// ```
/// assert_eq!(mazurka_testkit::variants().count(), 16);
/// ```
pub fn variants() -> impl Iterator<Item = Variant> {
    (0..16).map(|bits| Variant {
        anticipate: bits & 1 == 0,
        guide: bits & 2 == 0,
        last_first: bits & 4 != 0,
        wakeup: bits & 8 != 0,
        paper: false,
    })
}

impl States {
    /// A run is complete.
    pub fn add(&mut self, program: &Machine) {
        let all = program.processes().in_order();
        let any = |status: Status| all.iter().any(|&p| program.status(p) == status);
        self.lost |= any(Status::Lost);
        if any(Status::Lost) || any(Status::Discarded) || any(Status::Failed) {
            return;
        }
        if any(Status::Waiting) {
            self.deadlocks.insert(program.fingerprint());
        } else {
            self.finals.insert(program.observation());
        }
    }

    /// Takes over where a search has found failures.
    pub fn add_sites(&mut self, found: &Findings) {
        let failures = found.failures.iter().filter_map(|finding| finding.mishap);
        let failures = failures.filter(|mishap| mishap.kind == MishapKind::Failure);
        self.sites.extend(failures.map(|mishap| mishap.site));
    }
}

impl Observer<Machine> for States {
    fn complete(&mut self, program: &Machine) {
        self.add(program);
    }
}

/// All there are, found by brute force; none if there are too many runs.
pub fn every_state(program: &mut Machine, limit: Limit) -> Option<States> {
    let mut seen = States::default();
    let mut recorder = Recorder::new(program, Dependence::Claimed);
    every_run(program, limit, &mut |program, visit| match visit {
        Visit::Enter => recorder.push(program),
        Visit::Leave => recorder.pop(),
        Visit::Complete => {
            recorder.complete(program);
            seen.add(program);
        }
    })
    .ok()?;
    let summary = recorder.finish();
    seen.sites = summary.failures.iter().map(|(_, site)| *site).collect();
    seen.lost |= summary.lost;
    Some(seen)
}
