//! One dense line per event: number, process, label, values, source line.

use std::ops::Range;

use mazurka_core::record::{Binding, Ending, Run, Step};

use crate::{Paint, clip, pad};

/// Labels and values may be as wide as the program likes; the table may not.
const LABEL_WIDTH: usize = 60;
const VALUES_WIDTH: usize = 48;

/// Tables of steps with the same columns.
pub(crate) struct Columns {
    number: usize,
    process: usize,
    label: usize,
    values: usize,
    line: usize,
}

impl Columns {
    /// As wide as these runs need.
    pub fn fitting(runs: &[Run]) -> Self {
        let rows: Vec<Row> = runs
            .iter()
            .flat_map(|run| run.steps.iter().enumerate().map(Row::new))
            .collect();
        let widest = |cell: fn(&Row) -> &str| {
            let widths = rows.iter().map(|row| cell(row).chars().count());
            widths.max().unwrap_or(0)
        };
        Self {
            number: widest(|row| &row.number),
            process: widest(|row| &row.process),
            label: widest(|row| &row.label),
            values: widest(|row| &row.values),
            line: widest(|row| &row.line),
        }
    }

    /// Some steps of a run. At most `most` of them, if that is given, and the racing ones: from the
    /// middle of a long run the rest is left out, and the text says so and how to see it.
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
                text += &elided(left_out);
                left_out = 0;
            }
            text += &self.line(&Row::new((at, &run.steps[at])), &marks[at], paint);
        }
        text
    }

    fn line(&self, row: &Row, mark: &str, paint: Paint) -> String {
        let number = self.number;
        let mut line = format!(
            "  {:>number$}  {}  {}",
            row.number,
            pad(&row.process, self.process),
            pad(&row.label, self.label)
        );
        if self.values > 0 {
            line += &format!("  {}", pad(&row.values, self.values));
        }
        line += &format!("  {}", paint.dim(&row.line));
        if !mark.is_empty() || row.mishap.is_some() {
            line += &" ".repeat(self.line.saturating_sub(row.line.chars().count()));
        }
        if !mark.is_empty() {
            line += &format!("  {}", paint.unsure(mark));
        }
        if let Some(mishap) = &row.mishap {
            line += &format!("  {}", paint.bad(&format!("<- {mishap}")));
        }
        format!("{}\n", line.trim_end())
    }
}

fn elided(steps: usize) -> String {
    let steps = crate::counted(steps as u64, "step", "steps");
    format!("  … {steps} left out: `mazurka run` with the schedule below shows all …\n")
}

/// For each step what is to be said of it beside the others that race.
fn marks(run: &Run) -> Vec<String> {
    let racing: Vec<usize> = (0..run.steps.len())
        .filter(|&at| run.steps[at].racing)
        .collect();
    // Locks that are taken crosswise are different ones; a race is about one.
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

struct Row {
    number: String,
    process: String,
    label: String,
    values: String,
    line: String,
    mishap: Option<String>,
}

impl Row {
    fn new((at, step): (usize, &Step)) -> Self {
        let mut process = step.process.clone();
        for (k, value) in step.outcomes.iter().enumerate() {
            process += if k == 0 { "=" } else { "," };
            process += &value.to_string();
        }
        let changes = step
            .changes
            .iter()
            .map(|c| format!("{}: {} -> {}", c.name, c.from, c.to));
        // A step that changes nothing is there for what it saw.
        let values = match step.changes.is_empty() {
            false => changes.collect::<Vec<_>>().join(", "),
            true => bindings(&step.reads),
        };
        Row {
            number: (at + 1).to_string(),
            process,
            label: clip(&step.label, LABEL_WIDTH),
            values: clip(&values, VALUES_WIDTH),
            line: format!("line {}", step.line),
            mishap: step.mishap.as_ref().map(|text| clip(text, LABEL_WIDTH)),
        }
    }
}

/// `x = 1, y = 2`
pub(crate) fn bindings(all: &[Binding]) -> String {
    let each = all.iter().map(|b| format!("{} = {}", b.name, b.value));
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use mazurka_core::record::Change;

    fn events(steps: &[Step], most: Option<usize>, paint: Paint) -> String {
        let run = Run {
            schedule: String::new(),
            inputs: Vec::new(),
            ending: Ending::Open,
            steps: steps.to_vec(),
            state: Vec::new(),
        };
        let columns = Columns::fitting(std::slice::from_ref(&run));
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
            enabled: Vec::new(),
            reads: Vec::new(),
            changes: changes.iter().map(change).collect(),
            mishap: None,
            racing: false,
            actor: None,
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
          1  0.10  x := x + 1     x: 0 -> 1  line 7
          2  1     x == 1 ▷ skip  x = 1      line 7
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
    fn the_middle_of_a_long_run_is_left_out_loudly() {
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
    fn a_chosen_value_stands_beside_its_process() {
        let mut chosen = step("0.1", "x := choose(0..3)", &[]);
        chosen.outcomes = vec![2];
        assert!(events(&[chosen], None, Paint::Plain).contains("0.1=2"));
    }
}
