//! The view of the coverage of a set of tests: how many sides of branches they take, and which
//! sides they do not take.

use mazurka_core::record::{Branch, Coverage};

use crate::events::line_of;

/// Limit on the branches that are listed.
const MOST: usize = 10;

/// Returns a text that says how many sides of branches the tests in a folder take, and lists the
/// other sides.
pub fn coverage(tests: u64, coverage: &Coverage, folder: &str) -> String {
    let branches = &coverage.branches;
    let taken = |branch: &Branch| usize::from(branch.held) + usize::from(branch.failed);
    let covered: usize = branches.iter().map(taken).sum();
    let (sides, s) = (2 * branches.len(), if tests == 1 { "" } else { "s" });
    let mut text =
        format!("{tests} test{s} in {folder}: they take {covered} of {sides} sides of branches");
    let missed = branches.iter().filter(|branch| taken(branch) < 2);
    for branch in missed.clone().take(MOST) {
        let what = match (branch.held, branch.failed) {
            (false, false) => "is never reached",
            (true, _) => "always holds",
            (false, true) => "never holds",
        };
        let place = &branch.place;
        let line = line_of(place.line, place.file.as_deref());
        text += &format!("\n  {line}: `{}` {what}", place.text);
    }
    let more = missed.count().saturating_sub(MOST);
    if more > 0 {
        text += &format!("\n  and {more} more");
    }
    text
}
