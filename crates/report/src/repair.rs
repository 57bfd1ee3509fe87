//! The view of `repair`: the violation, and the changes that repair it, as diffs.

use mazurka_core::Verdict;
use mazurka_core::record::Record;

use crate::View;
use crate::verdict::hit_bounds;

/// A change after which the program is verified.
#[derive(Clone, Debug)]
pub struct Repaired<'a> {
    /// The change in words.
    pub summary: &'a str,
    /// The change as a unified diff.
    pub diff: &'a str,
    /// Before the change: the number of traces, if they were counted, and the number of final
    /// states.
    pub before: (Option<u64>, u64),
    /// The same two numbers after the change.
    pub after: (Option<u64>, u64),
}

/// The changes of a program that were found.
#[derive(Clone, Debug)]
pub struct Repairs<'a> {
    /// How many changes were tried.
    pub tried: u64,
    /// Whether all changes were tried.
    pub all_tried: bool,
    /// Limit on the changes that are shown.
    pub most: usize,
    /// The changes that work, the best first.
    pub all: Vec<Repaired<'a>>,
}

fn counted(count: u64, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {many}"),
    }
}

/// Returns how many traces and final states a change leaves, in words.
fn remains(repair: &Repaired<'_>) -> String {
    let traces = match (repair.after.0, repair.before.0) {
        (Some(after), Some(before)) => {
            format!("{after} of {}", counted(before, "trace", "traces"))
        }
        (Some(after), None) => counted(after, "trace", "traces"),
        (None, _) => "many traces".to_owned(),
    };
    let states = counted(repair.after.1, "final state", "final states");
    format!("leaves {traces} and {states}")
}

/// Returns the violation, and the changes that repair it.
pub fn repaired(record: &Record, repairs: &Repairs<'_>, view: &View) -> String {
    let paint = view.paint;
    let tried = format!("({} tried)", counted(repairs.tried, "change", "changes"));
    let wrong = record.witnesses.first();
    let wrong = wrong.map_or_else(String::new, |witness| witness.message.clone());
    let mut text = match (record.verdict, repairs.all.len()) {
        (Verdict::Verified, _) => {
            return format!("{} there is nothing to repair\n", paint.good("verified:"));
        }
        (Verdict::Inconclusive, _) => {
            let unknown = paint.unsure("inconclusive:");
            let text = format!("{unknown} no violation is known, so there is nothing to repair\n");
            return text + &hit_bounds(record, view);
        }
        (Verdict::Violated, 0) if repairs.all_tried => {
            let none = paint.bad("no repair:");
            format!("{none} {wrong}; none of the possible changes works {tried}\n")
        }
        (Verdict::Violated, 0) => {
            let none = paint.unsure("no repair in time:");
            format!("{none} {wrong} {tried}\n")
        }
        (Verdict::Violated, found) => {
            let good = paint.good("repaired:");
            let changes = counted(found as u64, "change works", "changes work");
            format!("{good} {wrong}; {changes} {tried}\n")
        }
    };
    for (at, repair) in repairs.all.iter().take(repairs.most).enumerate() {
        let number = paint.strong(&format!("{}.", at + 1));
        text += &format!("\n{number} {}; {}\n", repair.summary, remains(repair));
        text += repair.diff;
    }
    let hidden = repairs.all.len().saturating_sub(repairs.most);
    if hidden > 0 {
        text += &format!("\n{} more with --most {}\n", hidden, repairs.all.len());
    }
    text
}
