//! The answer of `repair`.

use mazurka_core::Verdict;
use mazurka_core::record::Record;

use crate::View;
use crate::verdict::cut;

/// A change after which the program is verified.
#[derive(Clone, Debug)]
pub struct Repaired<'a> {
    /// What it does, in words.
    pub summary: &'a str,
    /// The change as a unified diff.
    pub diff: &'a str,
    /// Traces, if they were counted, and final states of the program as it is.
    pub before: (Option<u64>, u64),
    /// The same with the change.
    pub after: (Option<u64>, u64),
}

/// Changes of a program.
#[derive(Clone, Debug)]
pub struct Repairs<'a> {
    /// How many were tried.
    pub tried: u64,
    /// Whether all were.
    pub all_tried: bool,
    /// How many are shown.
    pub most: usize,
    /// Those that work, the best first.
    pub all: Vec<Repaired<'a>>,
}

fn counted(count: u64, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {many}"),
    }
}

/// What a change leaves.
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

/// What was wrong, and the changes that mend it.
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
            let text = format!("{unknown} nothing is known to be wrong, so nothing is changed\n");
            return text + &cut(record, view);
        }
        (Verdict::Violated, 0) if repairs.all_tried => {
            let none = paint.bad("no repair:");
            format!("{none} {wrong}; none of the changes that are known works {tried}\n")
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
