//! A missing `join`: a process waits for those that it has started.

use mazurka_lang::outline::{Block, Role};

use super::edit::{after, before};
use super::{Candidate, ChangeKind, Subject};

/// Changes that wait for children.
pub(super) fn candidates(subject: &Subject<'_>) -> Vec<Candidate> {
    let mut all = Vec::new();
    for body in &subject.outline.bodies {
        in_block(subject, &body.block, &mut all);
    }
    all
}

fn in_block(subject: &Subject<'_>, block: &Block, into: &mut Vec<Candidate>) {
    let source = subject.source;
    let spawns = |statement: &mazurka_lang::outline::Statement| {
        statement.role == Role::Spawn
            || statement
                .blocks
                .iter()
                .flatten()
                .any(|s| s.role == Role::Spawn)
    };
    if let Some(first) = block.iter().position(spawns) {
        // The later it waits, the more goes on at the same time.
        for at in (first + 1..=block.len()).rev() {
            let edit = match block.get(at) {
                Some(next) => before(source, next.span.start as usize, "join"),
                None => {
                    let last = block[at - 1].span;
                    after(source, (last.start as usize, last.end as usize), "join")
                }
            };
            let line = subject.line(block[at - 1].span.end as usize);
            into.push(Candidate {
                kind: ChangeKind::Join,
                summary: format!("a join behind line {line}"),
                edits: vec![edit],
                regions: Vec::new(),
            });
        }
    }
    for inner in block.iter().flat_map(|statement| &statement.blocks) {
        in_block(subject, inner, into);
    }
}
