//! Regions: consecutive statements that a lock or an `atomic` block can protect. The proposals of
//! `lock.rs` and `atomic.rs` choose at most one region of each process.

use mazurka_lang::outline::{Block, Role, Statement};

use super::Subject;

/// Limit on the statements of one region.
const MOST_STATEMENTS: usize = 8;

/// Limit on the combinations of regions that are tried for one kind of protection.
const MOST_COMBINATIONS: usize = 160;

/// Consecutive statements of one block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Region {
    /// The index of the process or procedure.
    pub body: usize,
    /// The first byte.
    pub start: usize,
    /// The byte after the end of the region.
    pub end: usize,
    /// Number of statements, including nested ones.
    pub statements: usize,
    /// The locks that are acquired or released in it.
    pub locks: Vec<String>,
}

impl Region {
    fn contains(&self, other: &Region) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// Whether each region of `smaller` is within a region of `larger`.
pub(super) fn covers(larger: &[Region], smaller: &[Region]) -> bool {
    let inside = |region: &Region| larger.iter().any(|large| large.contains(region));
    smaller.iter().all(inside)
}

fn count(statement: &Statement) -> usize {
    1 + statement.blocks.iter().flatten().map(count).sum::<usize>()
}

fn locks(statement: &Statement, into: &mut Vec<String>) {
    if let Role::Lock(name, _) | Role::Unlock(name) = &statement.role {
        into.push(name.clone());
    }
    for inner in statement.blocks.iter().flatten() {
        locks(inner, into);
    }
}

fn leaves(statement: &Statement) -> bool {
    statement.role == Role::Leave || statement.blocks.iter().flatten().any(leaves)
}

fn in_block(subject: &Subject<'_>, body: usize, block: &Block, into: &mut Vec<Region>) {
    for (first, one) in block.iter().enumerate() {
        for inner in &one.blocks {
            in_block(subject, body, inner, into);
        }
        if !subject.touches_shared(one) {
            continue;
        }
        for last in first..block.len().min(first + MOST_STATEMENTS) {
            let all = &block[first..=last];
            if all.iter().any(leaves) {
                break;
            }
            if !subject.touches_shared(&block[last]) || !all.iter().any(|s| subject.is_involved(s))
            {
                continue;
            }
            let mut held = Vec::new();
            all.iter().for_each(|statement| locks(statement, &mut held));
            into.push(Region {
                body,
                start: one.span.start as usize,
                end: block[last].span.end as usize,
                statements: all.iter().map(count).sum(),
                locks: held,
            });
        }
    }
}

/// Returns combinations of regions, at most one of each process or procedure, the smallest first.
pub(super) fn combinations(
    subject: &Subject<'_>,
    suits: impl Fn(&Region) -> bool,
) -> Vec<Vec<Region>> {
    let mut by_body: Vec<Vec<Region>> = Vec::new();
    for (number, body) in subject.outline.bodies.iter().enumerate() {
        let mut regions = Vec::new();
        in_block(subject, number, &body.block, &mut regions);
        regions.retain(|region| suits(region));
        regions.sort_by_key(|region| (region.statements, region.start));
        by_body.push(regions);
    }
    let mut all: Vec<Vec<Region>> = vec![Vec::new()];
    for regions in &by_body {
        let mut more = Vec::new();
        for known in &all {
            for region in regions {
                let mut longer = known.clone();
                longer.push(region.clone());
                more.push(longer);
            }
        }
        all.extend(more);
        // Keep only the smallest combinations before regions of the next process are added.
        all.sort_by_key(|regions| size(regions));
        all.truncate(4 * MOST_COMBINATIONS);
    }
    all.retain(|regions| !regions.is_empty());
    all.truncate(MOST_COMBINATIONS);
    all
}

fn size(regions: &[Region]) -> (usize, usize) {
    let statements = regions.iter().map(|region| region.statements).sum();
    (statements, regions.len())
}
