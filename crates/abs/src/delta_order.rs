//! The order in which the deltas of a product are applied: the order of the text, except that each
//! delta comes after the deltas that its `after` clause names.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::syntax::ast::Name;
use crate::syntax::variability::DeltaClause;

/// Returns the clauses in an order in which each clause comes after the clauses that it names. If
/// several clauses can be next, the first of them in the text is next. If some clauses wait for
/// each other in a cycle, returns the clauses that can be ordered, and the delta of the first
/// clause that cannot.
pub(crate) fn in_order<'c>(
    clauses: &[&'c DeltaClause],
) -> (Vec<&'c DeltaClause>, Option<&'c Name>) {
    let mut named: FxHashMap<&str, usize> = FxHashMap::default();
    let mut later: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
    for (at, clause) in clauses.iter().enumerate() {
        *named.entry(&clause.delta.text).or_default() += 1;
        for after in &clause.after {
            later.entry(&after.text).or_default().push(at);
        }
    }
    // For each clause, the number of unprocessed clauses that must come before it.
    let before = |after: &Name| named.get(after.text.as_str()).copied().unwrap_or(0);
    let mut waits: Vec<usize> = { clauses.iter() }
        .map(|clause| clause.after.iter().map(before).sum())
        .collect();
    let free = (0..clauses.len()).filter(|&at| waits[at] == 0);
    let mut free: BTreeSet<usize> = free.collect();
    let mut done: Vec<&DeltaClause> = Vec::new();
    while let Some(at) = free.pop_first() {
        done.push(clauses[at]);
        let next = later.get(clauses[at].delta.text.as_str());
        for &next in next.into_iter().flatten() {
            waits[next] -= 1;
            if waits[next] == 0 {
                free.insert(next);
            }
        }
    }
    let cyclic = waits.iter().position(|&waits| waits > 0);
    (done, cyclic.map(|at| &clauses[at].delta))
}
