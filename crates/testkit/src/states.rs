//! The results of a program without its traces: final states, deadlocked states and the sites of
//! failures.

use std::collections::BTreeSet;

use mazurka_core::{Execution, Fingerprint, MishapKind, Semantics, Status};
use mazurka_explore::{Findings, Observer, Variant};
use mazurka_lang::Machine;

use crate::brute::{Limit, Visit, every_run};
use crate::record::{Dependence, Recorder};

/// The aspects in which engines that merge states must agree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct States {
    /// The observations of final states.
    pub finals: BTreeSet<Fingerprint>,
    /// The deadlocked states: whole states, without the values that no later step can read.
    pub deadlocks: BTreeSet<Fingerprint>,
    /// The sites of failures.
    pub sites: BTreeSet<u32>,
    /// Whether a run was given up because a value exceeded the limits of the machine.
    pub lost: bool,
}

/// Returns every combination of the switches of the engine `context`, including the one that
/// chooses which process runs first.
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
    /// Adds the state at the end of a complete run.
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

    /// Adds the sites of the failures that a search found.
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

/// Finds all states by brute force; `None` if there are too many runs.
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
