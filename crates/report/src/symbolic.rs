//! The view of `symbolic`: the counts, the number of states during the search as a curve (Fig. 9 of
//! the SymPaths paper), and the symbolic states at the end.

use mazurka_core::record::{
    Ending, PathEvent, ProgramRecord, Record, SymbolicStateRecord, SymbolicStates,
};
use mazurka_core::{Verdict, conjunction};

use crate::events::bindings;
use crate::svg::{INK, MARGIN, TITLE, sheet, text_element, text_width};
use crate::table::counts_with_meanings;
use crate::verdict::hit_bounds;
use crate::{View, clip, counted};

const CONDITION_WIDTH: usize = 240;
const STATE_WIDTH: usize = 240;
/// The size of the curve in the terminal, in characters.
const COLUMNS: usize = 64;
const ROWS: usize = 12;
/// The size of the curve as a picture, in pixels.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 320.0;
const AXIS: f64 = 64.0;
/// The height of a line of the legend, in pixels.
const LINE: f64 = 20.0;

/// Returns the answer, the counts, the curve, and the states at the end.
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
    text += &hit_bounds(record, view);
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
    let feasible = if states.feasible {
        "feasible ones only"
    } else {
        "feasible or not"
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
            "symbolic states in which no process can continue",
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

/// Returns the height of the curve in each column: the height of the last point in this column or
/// before it. A point is a number of steps, and the number of states after these steps.
fn heights(curve: &[(u64, u64)], columns: usize) -> Vec<u64> {
    let end = curve.last().map_or(0, |point| point.0);
    let at = |column: usize| {
        let step = end as u128 * (column as u128 + 1) / columns as u128;
        let next = curve.partition_point(|point| u128::from(point.0) <= step);
        curve.get(next.saturating_sub(1)).map_or(0, |point| point.1)
    };
    (0..columns).map(at).collect()
}

/// Returns the curve drawn with characters. A character is a bar with one of eight heights.
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
        let trimmed = text.trim_end().len();
        text.truncate(trimmed);
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
    for (at, state) in states.open.iter().enumerate() {
        let title = format!("open {}: a limit ended the search here", at + 1);
        text += &format!("\n{}\n", view.paint.unsure(&title));
        text += &state_text(record, state);
    }
    let hidden = states.count.saturating_sub(states.listed.len() as u64);
    if hidden > 0 {
        let more = counted(hidden, "state", "states");
        text += &format!("\n{more} more; --states N lists up to N states\n");
    }
    text
}

/// Returns a path in the papers' notation: ι⟨e, W, R⟩ of symbolic paths, ι⟨W, R⟩ of runs.
pub(crate) fn path_events(program: &ProgramRecord, path: &[PathEvent]) -> String {
    let set = |names: &[String]| match names {
        [] => "∅".to_owned(),
        names => format!("{{{}}}", names.join(", ")),
    };
    let event = |event: &PathEvent| {
        let condition = event.condition.as_ref();
        let condition = condition.map_or_else(String::new, |e| format!("{e}, "));
        let (writes, reads) = (set(&event.writes), set(&event.reads));
        format!(
            "{}⟨{condition}{writes}, {reads}⟩",
            program.name_of(&event.process)
        )
    };
    path.iter().map(event).collect::<Vec<_>>().join(" · ")
}

fn state_text(record: &Record, state: &SymbolicStateRecord) -> String {
    let condition = clip(&conjunction(&state.path_condition), CONDITION_WIDTH);
    let mut text = format!("   if   {condition}\n");
    let values = clip(&bindings(&state.substitution), STATE_WIDTH);
    text += &format!("   then {values}\n");
    for mishap in &state.mishaps {
        text += &format!("   but  {mishap}, for some of these\n");
    }
    if !state.path.is_empty() {
        text += &format!("   path {}\n", path_events(&record.program, &state.path));
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

/// Returns the curve as a picture.
pub fn curve_svg(record: &Record, states: &SymbolicStates) -> String {
    let title = format!(
        "{}: {} in {} ({})",
        record.program.file,
        counted(states.count, "symbolic state", "symbolic states"),
        counted(record.counts.steps, "step", "steps"),
        states.por
    );
    plot_svg(&title, &[(String::new(), &states.curve)], Scale::Linear)
}

/// Returns the curves of several reductions of one program in one picture, Fig. 9 of the SymPaths
/// paper. Both axes are logarithmic, because without reduction there are many more states.
pub fn curves_svg(all: &[(&Record, &SymbolicStates)]) -> String {
    let file = all.first().map_or("", |(record, _)| &record.program.file);
    let title = format!("{file}: symbolic states during the search");
    let mut curves: Vec<(String, &[(u64, u64)])> = Vec::new();
    for (record, states) in all {
        let name = format!(
            "{}: {} in {}, at most {}",
            states.por,
            counted(states.count, "state", "states"),
            counted(record.counts.steps, "step", "steps"),
            states.peak
        );
        curves.push((name, &states.curve));
    }
    plot_svg(&title, &curves, Scale::Logarithmic)
}

/// Returns a table of several reductions of one program.
pub fn reductions(all: &[(&Record, &SymbolicStates)]) -> String {
    let mut text = format!(
        "{:<12}{:>12}{:>12}{:>12}\n",
        "merged by", "states", "steps", "peak"
    );
    for (record, states) in all {
        let (name, steps) = (&states.por, record.counts.steps);
        text += &format!(
            "{name:<12}{:>12}{steps:>12}{:>12}\n",
            states.count, states.peak
        );
    }
    text
}

/// The scale of both axes.
#[derive(Clone, Copy, PartialEq)]
enum Scale {
    Linear,
    Logarithmic,
}

impl Scale {
    /// Returns the position of a number on an axis that ends at `end`, from 0 to 1.
    fn place(self, value: u64, end: f64) -> f64 {
        match self {
            Scale::Linear => value as f64 / end,
            Scale::Logarithmic => (1.0 + value as f64).ln() / (1.0 + end).ln(),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Scale::Linear => "",
            Scale::Logarithmic => " (logarithmic)",
        }
    }
}

/// A colour for each curve.
const COLOURS: [&str; 3] = ["#2980b9", "#c0392b", "#1e8449"];

/// Returns curves with their names, each a list of points, in one picture.
fn plot_svg(title: &str, curves: &[(String, &[(u64, u64)])], scale: Scale) -> String {
    let named = curves.iter().filter(|(name, _)| !name.is_empty());
    let legend = named.clone().count() as f64 * LINE;
    let names = named.map(|(name, _)| text_width(name) + 2.0 * MARGIN);
    let width = names.fold((WIDTH + AXIS).max(text_width(title)), f64::max) + 2.0 * MARGIN;
    let height = HEIGHT + TITLE + legend + 4.0 * MARGIN;
    let points = || curves.iter().flat_map(|(_, curve)| curve.iter());
    let end = points().map(|point| point.0).max().unwrap_or(0).max(1) as f64;
    let most = points().map(|point| point.1).max().unwrap_or(0).max(1) as f64;
    let (left, top) = (MARGIN + AXIS, 2.0 * MARGIN + TITLE);
    let place = |&(steps, count): &(u64, u64)| {
        let x = left + WIDTH * scale.place(steps, end);
        let y = top + HEIGHT * (1.0 - scale.place(count, most));
        format!("{x:.1},{y:.1}")
    };
    let mut text = sheet(width, height);
    text += &text_element(MARGIN, MARGIN, title, "font-weight=\"bold\"");
    let bottom = top + HEIGHT;
    text += &format!(
        "<path d=\"M{left:.1},{top:.1} V{bottom:.1} H{:.1}\" fill=\"none\" stroke=\"{INK}\"/>\n",
        left + WIDTH
    );
    for (at, (name, curve)) in curves.iter().enumerate() {
        let colour = COLOURS[at % COLOURS.len()];
        let points: Vec<String> = curve.iter().map(place).collect();
        text += &format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n",
            points.join(" ")
        );
        if !name.is_empty() {
            let y = bottom + 2.0 * MARGIN + (at as f64 + 0.5) * LINE;
            let end = left + MARGIN;
            text += &format!(
                "<path d=\"M{left:.1},{y:.1} H{end:.1}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n"
            );
            text += &text_element(end + 8.0, y, name, "");
        }
    }
    // The numbers are outside the axes, and each axis names what it counts.
    let before_axis = |text: &str| left - text_width(text) - 6.0;
    let highest = format!("{most:.0}");
    text += &text_element(before_axis(&highest), top + 4.0, &highest, "");
    text += &text_element(before_axis("0"), bottom, "0", "");
    let counted = format!("symbolic states{}", scale.name());
    text += &text_element(MARGIN, top - 14.0, &counted, "");
    text += &text_element(left, bottom + MARGIN, "0", "");
    let longest = format!("{end:.0}");
    let ends = left + WIDTH - text_width(&longest);
    text += &text_element(ends, bottom + MARGIN, &longest, "");
    let steps = format!("steps{}", scale.name());
    let middle = left + (WIDTH - text_width(&steps)) / 2.0;
    text += &text_element(middle, bottom + MARGIN, &steps, "");
    text += "</svg>\n";
    text
}

#[cfg(test)]
mod tests {
    use mazurka_core::Verdict;

    use super::*;
    use crate::wellformed::{assert_sound, texts};

    #[test]
    fn several_curves_have_names() {
        let record = crate::tests::record(Verdict::Verified, Vec::new(), Vec::new());
        let states = |por: &str, curve: Vec<(u64, u64)>| SymbolicStates {
            por: por.into(),
            prefix_pruning: false,
            feasible: false,
            count: 3,
            peak: 7,
            curve,
            mishaps: Vec::new(),
            listed: Vec::new(),
            open: Vec::new(),
        };
        let many = states("none", vec![(0, 1), (1_000_000, 4_000_000)]);
        let few = states("canonical", vec![(0, 1), (10, 7), (20, 3)]);
        let all = [(&record, &many), (&record, &few)];
        let svg = curves_svg(&all);
        assert_sound(&svg);
        assert_eq!(svg.matches("<polyline").count(), 2);
        for name in ["none: 3 states", "canonical: 3 states", "logarithmic"] {
            assert!(svg.contains(name), "{name}: {svg}");
        }
        assert!(reductions(&all).contains("canonical "));
    }

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
            open: Vec::new(),
        };
        let svg = curve_svg(&record, &states);
        assert_sound(&svg);
        let words: Vec<String> = texts(&svg).into_iter().map(|(_, _, text)| text).collect();
        for label in ["symbolic states", "steps", "4000000", "2000000"] {
            assert!(words.iter().any(|word| word == label), "{label}: {words:?}");
        }
    }
}
