//! Proposes an `atomic` block around a region of each process, the smallest regions first.

use super::edit::wrap;
use super::region::{Region, combinations};
use super::{Candidate, ChangeKind, Subject};

/// Returns changes that turn regions into single steps.
pub(super) fn candidates(subject: &Subject<'_>) -> Vec<Candidate> {
    let suits = |region: &Region| region.locks.is_empty();
    let candidate = |regions: Vec<Region>| {
        let edits = regions.iter();
        let edits = edits.flat_map(|r| wrap(subject.source, (r.start, r.end), "atomic"));
        let lines: Vec<usize> = regions.iter().map(|r| subject.line(r.start)).collect();
        Candidate {
            kind: ChangeKind::Atomic,
            summary: format!("an atomic block around {}", super::at_lines(&lines)),
            edits: edits.collect(),
            regions,
        }
    };
    let combined = combinations(subject, suits).into_iter();
    combined.map(candidate).collect()
}
