//! Proposes a lock around a region of each process, the smallest regions first. The lock is one of
//! the program, or a new one.

use super::edit::{after, before, declare, fresh};
use super::region::combinations;
use super::{Candidate, ChangeKind, Subject};

/// Returns changes that protect regions by a lock.
pub(super) fn candidates(subject: &Subject<'_>) -> Vec<Candidate> {
    let source = subject.source;
    let own = subject.outline.locks.iter().filter(|(_, array)| !array);
    let mut all = Vec::new();
    for (name, _) in own {
        all.extend(with_lock(subject, name, None));
    }
    let new = fresh(source, &["m", "mutex", "l", "guard"]);
    if let Some(declared) = declare(source, subject.outline, &format!("lock {new}")) {
        all.extend(with_lock(subject, &new, Some(declared)));
    }
    all
}

fn with_lock(
    subject: &Subject<'_>,
    name: &str,
    declared: Option<super::edit::Edit>,
) -> Vec<Candidate> {
    let source = subject.source;
    let suits = |region: &super::region::Region| !region.locks.iter().any(|lock| lock == name);
    let combined = combinations(subject, suits).into_iter();
    let candidate = |regions: Vec<super::region::Region>| {
        let mut edits: Vec<_> = declared.iter().cloned().collect();
        for region in &regions {
            edits.push(before(source, region.start, &format!("lock({name})")));
            let place = (region.start, region.end);
            edits.push(after(source, place, &format!("unlock({name})")));
        }
        let lines: Vec<usize> = regions.iter().map(|r| subject.line(r.start)).collect();
        let new = if declared.is_some() {
            "a new lock"
        } else {
            "the lock"
        };
        Candidate {
            kind: ChangeKind::Lock,
            summary: format!("{new} `{name}` around {}", super::at_lines(&lines)),
            edits,
            regions,
        }
    };
    combined.map(candidate).collect()
}
