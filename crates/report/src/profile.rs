//! The view of a profile: a table of the pairs of steps whose races have started the most
//! executions.

use mazurka_core::record::{Place, ReversedPair};

use crate::events::line_of;
use crate::{View, clip, counted, pad};

/// Limit on the pairs that are shown; the record has all of them.
const PAIRS_SHOWN: usize = 20;
/// Limit on the length of the text of a step.
const TEXT_WIDTH: usize = 40;

/// Returns the pairs of steps whose reversals have started the most executions.
pub(crate) fn profile(pairs: &[ReversedPair], view: &View) -> String {
    if pairs.is_empty() {
        return "\nno race was reversed: there is only one execution\n".to_owned();
    }
    let title =
        "where the executions come from: each reversal of one of these pairs has started one";
    let mut text = format!("\n{}\n", view.paint.strong(title));
    let shown = &pairs[..pairs.len().min(PAIRS_SHOWN)];
    let cells: Vec<[String; 3]> = shown
        .iter()
        .map(|pair| {
            let count = pair.executions.to_string();
            [count, step(&pair.first), step(&pair.second)]
        })
        .collect();
    let width = |at: usize| {
        let widths = cells.iter().map(|row| row[at].chars().count());
        widths.max().unwrap_or(0)
    };
    let (number, first) = (width(0), width(1));
    for [count, one, other] in &cells {
        let line = format!("  {count:>number$}  {}  before  {other}", pad(one, first));
        text += &format!("{}\n", line.trim_end());
    }
    if pairs.len() > shown.len() {
        let more = counted((pairs.len() - shown.len()) as u64, "pair", "pairs");
        text += &format!("  … and {more} more: --format json has all\n");
    }
    text
}

fn step(place: &Place) -> String {
    let line = line_of(place.line, place.file.as_deref());
    format!("{line} `{}`", clip(&place.text, TEXT_WIDTH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_pairs_are_shown() {
        let place = |line: usize, text: &str| Place {
            line,
            column: 1,
            text: text.to_owned(),
            file: None,
        };
        let pair = |executions: u64| ReversedPair {
            first: place(3, "read of x := x + 1"),
            second: place(14, "x := 2"),
            executions,
        };
        let pairs: Vec<ReversedPair> = (0..22).map(|at| pair(120 - at)).collect();
        let text = profile(&pairs, &View::default());
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            lines[0],
            "  120  line 3 `read of x := x + 1`  before  line 14 `x := 2`"
        );
        assert_eq!(lines.len(), 21);
        assert!(lines[20].contains("2 pairs more"), "{text}");
        assert!(profile(&[], &View::default()).contains("no race"));
    }
}
