//! The symbolic states of `symbolic`: counts, the curve of Fig. 9, and the states at the end.

use mazurka_core::record::{Ending, Record, SymbolicStateRecord, SymbolicStates};
use mazurka_core::{Verdict, conjunction};

use crate::events::bindings;
use crate::svg::{INK, MARGIN, TITLE, sheet, wide, words};
use crate::table::counts_with_meanings;
use crate::verdict::cut;
use crate::{View, clip, counted};

const CONDITION_WIDTH: usize = 240;
const STATE_WIDTH: usize = 240;
/// The curve in the terminal, in characters.
const COLUMNS: usize = 64;
const ROWS: usize = 12;
/// The curve as a picture, in pixels.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 320.0;
const AXIS: f64 = 64.0;

/// The answer, the counts, the curve, and the states at the end.
pub fn symbolic_states(record: &Record, states: &SymbolicStates, view: &View) -> String {
    let paint = view.paint;
    let mut text = headline(record, states, view);
    for mishap in &states.mishaps {
        let example = match &mishap.example[..] {
            [] => String::new(),
            values => format!(", for example if {}", clip(&bindings(values), STATE_WIDTH)),
        };
        let run = record.program.schedule(&mishap.schedule);
        let run = clip(&run, CONDITION_WIDTH);
        text += &format!("  {}{example}\n    by {run}\n", mishap.what);
    }
    text += &cut(record, view);
    text.push('\n');
    text += &counts_with_meanings(&rows(record, states), paint);
    text += &format!(
        "\n{}\n",
        paint.strong("symbolic states after so many steps:")
    );
    text += &plot(&states.curve);
    text += &listed(record, states, view);
    text
}

fn headline(record: &Record, states: &SymbolicStates, view: &View) -> String {
    let found = counted(states.count, "symbolic state", "symbolic states");
    let steps = counted(record.counts.steps, "step", "steps");
    let merged = match (states.por.as_str(), states.prefix_pruning) {
        ("none", _) => "nothing merged".to_owned(),
        (form, false) => format!("merged by the {form} form"),
        (form, true) => format!("merged by the {form} form, pruned"),
    };
    let feasible = match states.feasible {
        true => "feasible ones only",
        false => "feasible or not",
    };
    let word = match record.verdict {
        Verdict::Verified => view.paint.good("executed:"),
        Verdict::Violated => view.paint.bad("violated:"),
        Verdict::Inconclusive => view.paint.unsure("inconclusive:"),
    };
    format!("{word} {found} in {steps} ({merged}, {feasible})\n")
}

fn rows<'a>(record: &Record, states: &SymbolicStates) -> Vec<(&'a str, String, &'a str)> {
    let row = |name, n: u64, meaning| (name, n.to_string(), meaning);
    let counts = &record.counts;
    let mut rows = vec![
        row(
            "states",
            states.count,
            "symbolic states in which no process can go on",
        ),
        row(
            "steps",
            counts.steps,
            "symbolic states replaced by their successors (SCHEDULE)",
        ),
        row("peak", states.peak, "the most symbolic states at one time"),
        row(
            "deadlocks",
            counts.deadlocks,
            "of the states: a process waits for ever",
        ),
        row(
            "failures",
            counts.failures,
            "of the states: a process failed, or `ensures` may not hold",
        ),
    ];
    if counts.discarded > 0 {
        rows.push(row(
            "discarded",
            counts.discarded,
            "states with a false `assume`, not counted above",
        ));
    }
    rows
}

/// The height of the curve at each of some columns: the last point that is not beyond.
fn heights(curve: &[(u64, u64)], columns: usize) -> Vec<u64> {
    let end = curve.last().map_or(0, |point| point.0);
    let at = |column: usize| {
        let step = end as u128 * (column as u128 + 1) / columns as u128;
        let next = curve.partition_point(|point| u128::from(point.0) <= step);
        curve.get(next.saturating_sub(1)).map_or(0, |point| point.1)
    };
    (0..columns).map(at).collect()
}

/// The curve in characters, eight heights to a row.
fn plot(curve: &[(u64, u64)]) -> String {
    let end = curve.last().map_or(0, |point| point.0);
    let columns = COLUMNS.min(usize::try_from(end).unwrap_or(COLUMNS)).max(1);
    let heights = heights(curve, columns);
    let most = heights.iter().copied().max().unwrap_or(0).max(1);
    let label = most.to_string();
    let mut text = String::new();
    for row in (0..ROWS).rev() {
        let name = match row {
            _ if row == ROWS - 1 => label.clone(),
            0 => "0".to_owned(),
            _ => String::new(),
        };
        text += &format!("  {name:>width$} │", width = label.len());
        for &height in &heights {
            let eighths = u128::from(height) * (ROWS as u128 * 8) / u128::from(most);
            let here = eighths.saturating_sub(row as u128 * 8).min(8) as usize;
            text.push([' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'][here]);
        }
        let kept = text.trim_end().len();
        text.truncate(kept);
        text.push('\n');
    }
    let line = "─".repeat(columns);
    let steps = format!("{end} steps");
    let indent = " ".repeat(label.len() + 2);
    text += &format!("{indent} └{line}\n");
    text += &format!(
        "{indent}  0{steps:>width$}\n",
        width = columns.saturating_sub(1).max(steps.len() + 1)
    );
    text
}

fn listed(record: &Record, states: &SymbolicStates, view: &View) -> String {
    let mut text = String::new();
    for (at, state) in states.listed.iter().enumerate() {
        let title = format!("{}. {}", at + 1, ending(state.ending));
        text += &format!("\n{}\n", view.paint.strong(&title));
        text += &state_text(record, state);
    }
    let hidden = states.count.saturating_sub(states.listed.len() as u64);
    if hidden > 0 {
        let more = counted(hidden, "state", "states");
        text += &format!("\n{more} more; --states N lists as many\n");
    }
    text
}

fn state_text(record: &Record, state: &SymbolicStateRecord) -> String {
    let condition = clip(&conjunction(&state.path_condition), CONDITION_WIDTH);
    let mut text = format!("   if   {condition}\n");
    let values = clip(&bindings(&state.substitution), STATE_WIDTH);
    text += &format!("   then {values}\n");
    for mishap in &state.mishaps {
        text += &format!("   but  {mishap}, for some of these\n");
    }
    let schedule = record.program.schedule(&state.schedule);
    text += &format!("   by   {}\n", clip(&schedule, CONDITION_WIDTH));
    if !state.example.is_empty() {
        let values = clip(&bindings(&state.example), STATE_WIDTH);
        text += &format!("   e.g. {values}\n");
    }
    text
}

fn ending(ending: Ending) -> &'static str {
    match ending {
        Ending::Final => "final",
        Ending::Deadlock => "deadlock",
        Ending::Failure => "a process has failed",
        Ending::Discarded => "discarded",
        Ending::Lost => "lost",
        Ending::Open => "open",
    }
}

/// The curve as a picture.
pub fn curve_svg(record: &Record, states: &SymbolicStates) -> String {
    let title = format!(
        "{}: {} in {} ({})",
        record.program.file,
        counted(states.count, "symbolic state", "symbolic states"),
        counted(record.counts.steps, "step", "steps"),
        states.por
    );
    let width = (WIDTH + AXIS).max(wide(&title)) + 2.0 * MARGIN;
    let height = HEIGHT + TITLE + 4.0 * MARGIN;
    let end = states.curve.last().map_or(0, |point| point.0).max(1) as f64;
    let most = states
        .curve
        .iter()
        .map(|point| point.1)
        .max()
        .unwrap_or(0)
        .max(1) as f64;
    let (left, top) = (MARGIN + AXIS, 2.0 * MARGIN + TITLE);
    let place = |&(steps, count): &(u64, u64)| {
        let x = left + WIDTH * steps as f64 / end;
        let y = top + HEIGHT * (1.0 - count as f64 / most);
        format!("{x:.1},{y:.1}")
    };
    let points: Vec<String> = states.curve.iter().map(place).collect();
    let mut text = sheet(width, height);
    text += &words(MARGIN, MARGIN, &title, "font-weight=\"bold\"");
    let bottom = top + HEIGHT;
    text += &format!(
        "<path d=\"M{left:.1},{top:.1} V{bottom:.1} H{:.1}\" fill=\"none\" stroke=\"{INK}\"/>\n",
        left + WIDTH
    );
    text += &format!(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"#2980b9\" stroke-width=\"2\"/>\n",
        points.join(" ")
    );
    // The numbers stand outside the axes, and each axis says what it counts.
    let before_axis = |text: &str| left - wide(text) - 6.0;
    let highest = format!("{most:.0}");
    text += &words(before_axis(&highest), top + 4.0, &highest, "");
    text += &words(before_axis("0"), bottom, "0", "");
    text += &words(MARGIN, top - 14.0, "symbolic states", "");
    text += &words(left, bottom + MARGIN, "0", "");
    let longest = format!("{end:.0}");
    let ends = left + WIDTH - wide(&longest);
    text += &words(ends, bottom + MARGIN, &longest, "");
    let middle = left + (WIDTH - wide("steps")) / 2.0;
    text += &words(middle, bottom + MARGIN, "steps", "");
    text += "</svg>\n";
    text
}

#[cfg(test)]
mod tests {
    use mazurka_core::Verdict;

    use super::*;
    use crate::wellformed::{is_sound, texts};

    #[test]
    fn the_axes_of_the_curve_say_what_they_count() {
        let mut record = crate::tests::record(Verdict::Verified, Vec::new(), Vec::new());
        record.program.file = "a/very/long/folder/".repeat(12);
        let states = SymbolicStates {
            por: "canonical".into(),
            prefix_pruning: true,
            feasible: true,
            count: 3,
            peak: 4_000_000,
            curve: vec![(0, 1), (1_000_000, 4_000_000), (2_000_000, 3)],
            mishaps: Vec::new(),
            listed: Vec::new(),
        };
        let svg = curve_svg(&record, &states);
        is_sound(&svg);
        let words: Vec<String> = texts(&svg).into_iter().map(|(_, _, text)| text).collect();
        for label in ["symbolic states", "steps", "4000000", "2000000"] {
            assert!(words.iter().any(|word| word == label), "{label}: {words:?}");
        }
    }
}
