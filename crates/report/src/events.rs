//! Tables of steps, with one line for each step: its number, its process, its label, the values
//! that it changes, and its line in the source.

use std::ops::Range;

use mazurka_core::record::{Binding, Change, Ending, Run, Step};

use crate::fit::visible;
use crate::{Paint, View, clip, pad};

/// Returns a line number, with its file if the program has several.
pub(crate) fn line_of(line: usize, file: Option<&str>) -> String {
    match file {
        Some(file) => format!("line {line} of {file}"),
        None => format!("line {line}"),
    }
}

/// Limits on the widths of labels, values and process names in a table.
const LABEL_WIDTH: usize = 60;
const VALUES_WIDTH: usize = 48;
const PROCESS_WIDTH: usize = 32;
/// The least width of labels and values together, even if lines become wider than the terminal.
const LEAST_ROOM: usize = 24;

/// Labels and values share a width. Labels get at least this fraction of it.
const PART_OF_LABELS: (usize, usize) = (3, 5);

/// The widths of columns. All tables of a view share them.
pub(crate) struct Columns {
    number: usize,
    process: usize,
    label: usize,
    values: usize,
    line: usize,
    /// The greatest width of a line; `None` for no limit.
    most: Option<usize>,
}

impl Columns {
    /// Makes columns as wide as these runs need, but no wider than the view.
    pub fn fitting(runs: &[Run], view: &View) -> Self {
        let rows: Vec<StepRow> = runs
            .iter()
            .flat_map(|run| (0..run.steps.len()).map(|at| StepRow::new(run, at)))
            .collect();
        Self::for_rows(&rows, view)
    }

    /// Makes columns as wide as these rows need, but no wider than the view.
    pub fn for_rows(rows: &[StepRow], view: &View) -> Self {
        let widest = |cell: fn(&StepRow) -> &str| {
            let widths = rows.iter().map(|row| cell(row).chars().count());
            widths.max().unwrap_or(0)
        };
        let mut columns = Self {
            number: widest(|row| &row.number),
            process: widest(|row| &row.process),
            label: widest(|row| &row.label),
            values: widest(|row| &row.values),
            line: widest(|row| &row.line),
            most: view.width,
        };
        if let Some(most) = view.width {
            columns.narrow(most);
        }
        columns
    }

    /// Narrows labels and values so that a line fits.
    fn narrow(&mut self, most: usize) {
        let gaps = 2 + 2 + 2 + 2 + if self.values > 0 { 2 } else { 0 };
        let fixed = gaps + self.number + self.process + self.line;
        let room = most.saturating_sub(fixed).max(LEAST_ROOM);
        let (part, whole) = PART_OF_LABELS;
        let label = self.label.min(room * part / whole);
        self.values = self.values.min(room - label);
        self.label = self.label.min(room - self.values);
    }

    /// Returns the column where labels begin.
    fn label_column(&self) -> usize {
        2 + self.number + 2 + self.process + 2
    }

    /// Returns the steps of a run within a range, a line for each. If `most` is given, the middle
    /// of a longer run is left out, except for racing steps, and the text tells how to see it.
    pub fn steps(
        &self,
        run: &Run,
        range: Range<usize>,
        most: Option<usize>,
        paint: Paint,
    ) -> String {
        let middle = match most {
            Some(most) if range.len() > most => {
                range.start + most / 2..range.end - most.div_ceil(2)
            }
            _ => 0..0,
        };
        let marks = marks(run);
        let hidden = |at: usize| middle.contains(&at) && !run.steps[at].racing;
        let mut left_out = 0;
        let mut text = String::new();
        for at in range {
            if hidden(at) {
                left_out += 1;
                continue;
            }
            if left_out > 0 {
                text += &left_out_note(left_out);
                left_out = 0;
            }
            text += &self.line(&StepRow::new(run, at), &marks[at], paint);
        }
        text
    }

    /// Returns a row as a line, with the text of `mark` at its end.
    pub fn line(&self, row: &StepRow, mark: &str, paint: Paint) -> String {
        let number = self.number;
        let mut line = format!(
            "  {:>number$}  {}  {}",
            row.number,
            pad(&row.process, self.process),
            pad(&clip(&row.label, self.label), self.label)
        );
        if self.values > 0 {
            let values = clip(&row.values, self.values);
            line += &format!("  {}", pad(&values, self.values));
        }
        line += &format!("  {}", paint.dim(&row.line));
        let mishap = row.mishap.as_ref().map(|mishap| format!("<- {mishap}"));
        let besides = [
            (mark, paint.unsure(mark)),
            (
                mishap.as_deref().unwrap_or(""),
                paint.bad(mishap.as_deref().unwrap_or("")),
            ),
        ];
        let missing = self.line.saturating_sub(row.line.chars().count());
        let mut padding = " ".repeat(missing);
        for (plain, painted) in besides {
            if plain.is_empty() {
                continue;
            }
            let wide = visible(&line) + padding.len() + 2 + plain.chars().count();
            let separator = match self.most {
                Some(most) if wide > most => format!("\n{}", " ".repeat(self.label_column())),
                _ => format!("{padding}  "),
            };
            line = format!("{}{separator}{painted}", line.trim_end());
            padding.clear();
        }
        let indent = " ".repeat(self.label_column());
        let mut text = format!("{}\n", line.trim_end());
        for printed in &row.printed {
            text += &format!("{indent}» {}\n", clip(printed, LABEL_WIDTH));
        }
        text
    }
}

fn left_out_note(steps: usize) -> String {
    let steps = crate::counted(steps as u64, "step", "steps");
    format!("  … {steps} left out: `mazurka run` with the schedule below shows all …\n")
}

/// Returns, for each step, a note on the steps that it races with; empty if there are none.
pub(crate) fn marks(run: &Run) -> Vec<String> {
    let racing: Vec<usize> = (0..run.steps.len())
        .filter(|&at| run.steps[at].racing)
        .collect();
    // In a deadlock, the marked steps acquire different locks in crossing orders, so the note says
    // "crosses". All other marked steps race.
    let label = |&at: &usize| run.steps[at].label.as_str();
    let crossing = run.ending == Ending::Deadlock
        && racing.iter().all(|at| label(at).contains("lock("))
        && (1..racing.len()).all(|k| !racing[..k].iter().any(|at| label(at) == label(&racing[k])));
    let verb = if crossing { "crosses" } else { "races with" };
    let mark = |at: usize| {
        let others = racing.iter().filter(|&&other| other != at);
        let others: Vec<String> = others.map(|other| (other + 1).to_string()).collect();
        match (run.steps[at].racing, &others[..]) {
            (true, [other]) => format!("◀ {verb} step {other}"),
            (true, [most @ .., last]) => {
                format!("◀ {verb} steps {} and {last}", most.join(", "))
            }
            _ => String::new(),
        }
    };
    (0..run.steps.len()).map(mark).collect()
}

/// The cells of a step in a table.
pub(crate) struct StepRow {
    pub number: String,
    pub process: String,
    pub label: String,
    pub values: String,
    pub line: String,
    pub mishap: Option<String>,
    pub printed: Vec<String>,
}

impl StepRow {
    /// Makes the row of a step.
    pub fn new(run: &Run, at: usize) -> Self {
        let step = &run.steps[at];
        let mut process = clip(run.name_of(&step.process), PROCESS_WIDTH);
        for (k, value) in step.outcomes.iter().enumerate() {
            process += if k == 0 { "=" } else { "," };
            process += &value.to_string();
        }
        StepRow {
            number: (at + 1).to_string(),
            process,
            label: clip(&step.label, LABEL_WIDTH),
            values: clip(&values(step), VALUES_WIDTH),
            // The clock of an ABS program has no line in the source.
            line: match step.line {
                0 => String::new(),
                line => line_of(
                    line,
                    step.actor.as_ref().and_then(|actor| actor.file.as_deref()),
                ),
            },
            mishap: step.mishap.as_ref().map(|text| clip(text, LABEL_WIDTH)),
            printed: step.printed.clone(),
        }
    }
}

/// Returns the values that a step changed, or those that it read if it changed nothing.
pub(crate) fn values(step: &Step) -> String {
    let change = |c: &Change| format!("{}: {} -> {}", c.name, c.from, c.to);
    if step.changes.is_empty() {
        bindings(&step.reads)
    } else {
        step.changes
            .iter()
            .map(change)
            .collect::<Vec<_>>()
            .join(", ")
    }
}

/// Returns names and values as text: `x = 1, y = 2`.
pub(crate) fn bindings(all: &[Binding]) -> String {
    let each = all.iter().map(|b| format!("{} = {}", b.name, b.value));
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(steps: &[Step], most: Option<usize>, paint: Paint) -> String {
        let run = Run {
            schedule: String::new(),
            inputs: Vec::new(),
            ending: Ending::Open,
            steps: steps.to_vec(),
            state: Vec::new(),
            names: vec![("0.10".into(), "p(0).10".into())],
            processes: Vec::new(),
        };
        let columns = Columns::fitting(std::slice::from_ref(&run), &View::default());
        columns.steps(&run, 0..steps.len(), most, paint)
    }

    fn step(process: &str, label: &str, changes: &[(&str, &str, &str)]) -> Step {
        let change = |&(name, from, to): &(&str, &str, &str)| Change {
            name: name.into(),
            from: from.into(),
            to: to.into(),
        };
        Step {
            process: process.into(),
            outcomes: Vec::new(),
            label: label.into(),
            line: 7,
            file: None,
            enabled: Vec::new(),
            reads: Vec::new(),
            changes: changes.iter().map(change).collect(),
            locks: Vec::new(),
            mishap: None,
            racing: false,
            actor: None,
            memory: None,
            printed: Vec::new(),
        }
    }

    #[test]
    fn columns_align_and_only_changes_are_shown() {
        let mut test = step("1", "x == 1 ▷ skip", &[]);
        test.reads.push(Binding {
            name: "x".into(),
            value: "1".into(),
        });
        let steps = [step("0.10", "x := x + 1", &[("x", "0", "1")]), test];
        insta::assert_snapshot!(events(&steps, None, Paint::Plain), @r"
          1  p(0).10  x := x + 1     x: 0 -> 1  line 7
          2  1        x == 1 ▷ skip  x = 1      line 7
        ");
    }

    #[test]
    fn a_very_long_label_does_not_widen_the_table() {
        let steps = [step("0", &"x + ".repeat(100), &[("x", "0", "1")])];
        let text = events(&steps, None, Paint::Plain);
        assert!(text.contains('…'));
        assert!(
            text.lines().all(|line| line.chars().count() < 100),
            "{text}"
        );
    }

    #[test]
    fn the_text_reports_that_the_middle_of_a_long_run_is_left_out() {
        let steps = vec![step("0", "x := 1", &[]); 10];
        let text = events(&steps, Some(3), Paint::Plain);
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let shown = [
            "1  0  x := 1  line 7",
            "… 7 steps left out: `mazurka run` with the schedule below shows all …",
            "9  0  x := 1  line 7",
        ];
        assert_eq!(lines[..3], shown);
        assert_eq!(lines[3..], ["10  0  x := 1  line 7"]);
    }

    #[test]
    fn racing_steps_name_each_other_and_are_never_left_out() {
        let mut steps = vec![step("0", "x := 1", &[]); 9];
        steps[3].racing = true;
        steps[5].racing = true;
        insta::assert_snapshot!(events(&steps, Some(2), Paint::Plain), @r"
          1  0  x := 1  line 7
          … 2 steps left out: `mazurka run` with the schedule below shows all …
          4  0  x := 1  line 7  ◀ races with step 6
          … 1 step left out: `mazurka run` with the schedule below shows all …
          6  0  x := 1  line 7  ◀ races with step 4
          … 2 steps left out: `mazurka run` with the schedule below shows all …
          9  0  x := 1  line 7
        ");
    }

    #[test]
    fn a_chosen_value_is_beside_its_process() {
        let mut chosen = step("0.1", "x := choose(0..3)", &[]);
        chosen.outcomes = vec![2];
        assert!(events(&[chosen], None, Paint::Plain).contains("0.1=2"));
    }

    #[test]
    fn at_80_columns_no_line_is_wider_and_only_ends_of_cells_are_cut() {
        let label = "counter[0] == 0 && counter[1] == 0 ▷ counter[0] := counter[1] + 1";
        let changes = [
            ("counter[0]", "1000000", "1000001"),
            ("counter[1]", "0", "1"),
        ];
        let mut steps = vec![step("0", label, &changes); 12];
        steps[2].racing = true;
        steps[11].racing = true;
        steps[11].mishap = Some("assertion failed: client 3 saw 17 and expected 18".into());
        let run = Run {
            schedule: String::new(),
            inputs: Vec::new(),
            ending: Ending::Open,
            steps: steps.clone(),
            state: Vec::new(),
            names: vec![("0".into(), "philosopher(0)".into())],
            processes: Vec::new(),
        };
        for width in [60, 80, 100, 200] {
            let view = View {
                width: Some(width),
                ..View::default()
            };
            let columns = Columns::fitting(std::slice::from_ref(&run), &view);
            let text = columns.steps(&run, 0..steps.len(), None, Paint::Plain);
            let text = crate::fit(&text, Some(width));
            let wide = text.lines().find(|line| line.chars().count() > width);
            assert_eq!(wide, None, "{width}: {text}");
            assert!(text.contains("counter[0] == 0"), "{text}");
            assert!(text.contains("◀ races with step 12"), "{text}");
            assert!(text.contains("<- assertion failed: client 3"), "{text}");
        }
    }
}
