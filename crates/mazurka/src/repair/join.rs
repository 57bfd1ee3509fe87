//! Proposes a missing `join`: a process waits for the processes that it has started.

use mazurka_lang::outline::{Block, Role};

use super::edit::{after, before};
use super::{Candidate, ChangeKind, Subject};

/// Returns changes that wait for children.
pub(super) fn candidates(subject: &Subject<'_>) -> Vec<Candidate> {
    let blocks = subject.blocks().into_iter();
    blocks.flat_map(|block| in_block(subject, block)).collect()
}

fn in_block(subject: &Subject<'_>, block: &Block) -> Vec<Candidate> {
    let source = subject.source;
    let spawns = |statement: &mazurka_lang::outline::Statement| {
        statement.role == Role::Spawn
            || statement
                .blocks
                .iter()
                .flatten()
                .any(|s| s.role == Role::Spawn)
    };
    let mut all = Vec::new();
    if let Some(first) = block.iter().position(spawns) {
        // A later `join` allows more concurrency, so it is proposed first.
        for at in (first + 1..=block.len()).rev() {
            let edit = match block.get(at) {
                Some(next) => before(source, next.span.start as usize, "join"),
                None => {
                    let last = block[at - 1].span;
                    after(source, (last.start as usize, last.end as usize), "join")
                }
            };
            let line = subject.line(block[at - 1].span.end as usize);
            all.push(Candidate {
                kind: ChangeKind::Join,
                summary: format!("a join after line {line}"),
                edits: vec![edit],
                regions: Vec::new(),
            });
        }
    }
    all
}
