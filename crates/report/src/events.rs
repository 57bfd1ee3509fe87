//! One dense line per event: number, process, label, values, source line.

use mazurka_core::record::{Binding, Step};

use crate::{Paint, clip, pad};

/// Labels and values may be as wide as the program likes; the table may not.
const LABEL_WIDTH: usize = 60;
const VALUES_WIDTH: usize = 48;

/// The steps of a run. At most `most` of them, if that is given: from the middle of a long run the
/// rest is left out, and the text says so.
pub(crate) fn events(steps: &[Step], most: Option<usize>, paint: Paint) -> String {
    let rows: Vec<Row> = steps.iter().enumerate().map(Row::of).collect();
    let widest = |cell: fn(&Row) -> &str| {
        let widths = rows.iter().map(|row| cell(row).chars().count());
        widths.max().unwrap_or(0)
    };
    let number = widest(|row| &row.number);
    let process = widest(|row| &row.process);
    let label = widest(|row| &row.label);
    let values = widest(|row| &row.values);
    let hidden = match most {
        Some(most) if rows.len() > most => most / 2..rows.len() - most.div_ceil(2),
        _ => 0..0,
    };
    let mut text = String::new();
    for (at, row) in rows.iter().enumerate() {
        if !hidden.is_empty() && at == hidden.start {
            text += &format!("  … {} steps …\n", hidden.len());
        }
        if hidden.contains(&at) {
            continue;
        }
        let mut line = format!(
            "  {:>number$}  {}  {}",
            row.number,
            pad(&row.process, process),
            pad(&row.label, label)
        );
        if values > 0 {
            line += &format!("  {}", pad(&row.values, values));
        }
        line += &format!("  {}", paint.dim(&row.line));
        if let Some(mishap) = &row.mishap {
            line += &format!("  {}", paint.bad(&format!("<- {mishap}")));
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
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
    fn of((at, step): (usize, &Step)) -> Self {
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
            "… 7 steps …",
            "9  0  x := 1  line 7",
        ];
        assert_eq!(lines[..3], shown);
        assert_eq!(lines[3..], ["10  0  x := 1  line 7"]);
    }

    #[test]
    fn a_chosen_value_stands_beside_its_process() {
        let mut chosen = step("0.1", "x := choose(0..3)", &[]);
        chosen.outcomes = vec![2];
        assert!(events(&[chosen], None, Paint::Plain).contains("0.1=2"));
    }
}
