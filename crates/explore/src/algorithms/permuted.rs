//! Runs with interchangeable processes renamed. A search up to
//! [symmetry](crate::algorithms::symmetry) visits one state of each orbit (the states that
//! permutations make of one state). For a finding in a state that was not visited, this file makes
//! a run that leads to it, from a run to the visited state of the same orbit.
//!
//! This follows no paper. A permutation π leads from a run s₀ s₁ … sₙ to the run π·s₀ π·s₁ … π·sₙ,
//! and π·s₀ is s₀. The renamed processes make the steps of the new run. The outcomes of these steps
//! are found by trial: the right ones lead to the state π·sₖ, whose fingerprint is known. So the
//! result is a real run, and engines need not know which outcomes denote processes.

use mazurka_core::{Fingerprint, MishapKind, Schedule, Semantics};
use smallvec::SmallVec;

use crate::algorithms::naive::next_outcomes;
use crate::algorithms::symmetry::Orbits;
use crate::drive::findings::{Finding, Findings};

/// The search may have visited not the last final state to show, but another state of its orbit.
/// Then replaces the run to the visited state by its image, which leads to the state to show. With
/// `all`, also adds the failures in the states that were not visited.
pub(crate) fn complete<E: Semantics>(program: &mut E, found: &mut Findings, all: bool) {
    let Some(orbits) = program.symmetry().map(Orbits::new) else {
        return;
    };
    let labels = std::mem::take(&mut found.seen.renamed);
    if let Some(last) = found.finals.last_mut()
        && !labels.is_empty()
        && let Some(schedule) = renamed(program, &last.schedule, &labels)
    {
        last.schedule = schedule;
    }
    let mut at = 0;
    while all && at < found.failures.len() {
        for exchanged in orbits.exchanges() {
            let members: u32 = program
                .symmetry()
                .map_or(0, |one| one.groups().iter().sum());
            let labels: Vec<u32> = (0..members).map(exchanged).collect();
            let schedule = renamed(program, &found.failures[at].schedule, &labels);
            if let Some(schedule) = schedule {
                add_failures(program, found, schedule);
            }
        }
        at += 1;
    }
    program.back_to(0);
}

/// Adds the failures of the last step of the current run, or of its final state, if their sites are
/// new.
fn add_failures<E: Semantics>(program: &E, found: &mut Findings, schedule: Schedule) {
    let mut mishaps = Vec::new();
    if let Some(last) = program.whole().last() {
        mishaps.extend(last.mishaps.iter().copied());
    }
    if program.is_final() {
        mishaps.extend(program.final_mishaps());
    }
    for mishap in mishaps {
        let site = |known: &Finding| known.mishap.map(|known| known.site);
        let counts = mishap.kind == MishapKind::Failure && program.counts(&mishap);
        if counts
            && found
                .failures
                .iter()
                .all(|known| site(known) != Some(mishap.site))
        {
            found.failures.push(Finding {
                mishap: Some(mishap),
                schedule: schedule.clone(),
            });
        }
    }
}

fn print<E: Semantics>(program: &E, labels: &[u32]) -> Option<Fingerprint> {
    let symmetric = program.symmetry()?;
    Some(symmetric.unmoved().and(symmetric.image(labels)))
}

/// Executes the image of a run under the permutation `labels`. Returns the schedule of the image,
/// or `None` if the program cannot follow it.
fn renamed<E: Semantics>(program: &mut E, schedule: &Schedule, labels: &[u32]) -> Option<Schedule> {
    program.back_to(0);
    let mut wanted = Vec::with_capacity(schedule.0.len());
    for step in &schedule.0 {
        let process = program.processes().find(&step.process)?;
        program.step(process, &step.outcomes).ok()?;
        let renamed = program.symmetry()?.process_of(process, labels);
        wanted.push((renamed, print(program, labels)?));
    }
    program.back_to(0);
    let same: Vec<u32> = (0..labels.len() as u32).collect();
    for (depth, (process, state)) in wanted.into_iter().enumerate() {
        let mut outcomes: SmallVec<[i64; 1]> = SmallVec::new();
        loop {
            let event = program.step(process, &outcomes).ok()?;
            let next = next_outcomes(event);
            if print(program, &same)? == state {
                break;
            }
            program.back_to(depth);
            outcomes = next?;
        }
    }
    Some(Schedule::from_run(program.whole(), program.processes()))
}
