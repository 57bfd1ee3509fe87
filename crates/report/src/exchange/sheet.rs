//! Tables of counts and measurements for spreadsheets and papers, as CSV (RFC 4180), Markdown,
//! LaTeX, or text in columns.

use mazurka_core::bench::{Benchmark, Measured};
use mazurka_core::record::Record;

use crate::pad;

/// A table: a name for each column, and rows with a text for each column.
///
/// ```
/// use mazurka_report::Sheet;
/// let sheet = Sheet {
///     head: vec!["program".to_owned(), "traces".to_owned()],
///     rows: vec![vec!["a|b, c".to_owned(), "2".to_owned()]],
/// };
/// assert_eq!(sheet.csv(), "program,traces\r\n\"a|b, c\",2\r\n");
/// assert_eq!(sheet.markdown(), "| program | traces |\n|---|---:|\n| a\\|b, c | 2 |\n");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sheet {
    /// The names of the columns.
    pub head: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

/// The columns of the counts of a search.
const SEARCH: [&str; 19] = [
    "file",
    "set",
    "command",
    "algorithm",
    "verdict",
    "exhaustive",
    "deterministic",
    "executions",
    "traces",
    "deadlocks",
    "failures",
    "final_states",
    "states",
    "discarded",
    "blocked",
    "events",
    "steps",
    "seconds",
    "memory",
];

/// The columns of measurements.
const BENCH: [&str; 9] = [
    "program",
    "algorithm",
    "set",
    "executions",
    "traces",
    "states",
    "steps",
    "seconds",
    "complete",
];

impl Sheet {
    /// Makes a table of the counts of searches, with a row for each. Unknown counts are left empty.
    pub fn of_searches<'r>(records: impl IntoIterator<Item = &'r Record>) -> Self {
        Self {
            head: SEARCH.map(str::to_owned).to_vec(),
            rows: records.into_iter().map(search).collect(),
        }
    }

    /// Makes a table of measurements, with the figures of other tools on the same programs.
    pub fn of_bench(measured: &Benchmark) -> Self {
        let mut tools: Vec<&str> = Vec::new();
        for peer in measured.rows.iter().flat_map(|row| &row.peers) {
            if !tools.contains(&&*peer.tool) {
                tools.push(&peer.tool);
            }
        }
        let mut head = BENCH.map(str::to_owned).to_vec();
        head.push("measure".to_owned());
        head.push("reached".to_owned());
        head.extend(tools.iter().map(|tool| (*tool).to_owned()));
        let row = |row: &Measured| {
            let mut cells = bench(row);
            for tool in &tools {
                let peer = row.peers.iter().find(|peer| peer.tool == **tool);
                cells.push(peer.map_or(String::new(), |peer| peer.value.to_string()));
            }
            cells
        };
        let rows = measured.rows.iter().map(row).collect();
        Self { head, rows }
    }

    /// Returns the table as comma-separated values, with the line ends of RFC 4180.
    pub fn csv(&self) -> String {
        let cell = |text: &String| {
            if text.contains([',', '"', '\n', '\r']) {
                format!("\"{}\"", text.replace('"', "\"\""))
            } else {
                text.clone()
            }
        };
        let line = |cells: &Vec<String>| {
            let cells: Vec<String> = cells.iter().map(cell).collect();
            cells.join(",") + "\r\n"
        };
        std::iter::once(&self.head)
            .chain(&self.rows)
            .map(line)
            .collect()
    }

    /// Returns the table in Markdown. Columns of numbers are aligned to the right.
    pub fn markdown(&self) -> String {
        let line = |cells: &Vec<String>| {
            let cell = |text: &String| {
                let text = text.replace('\\', "\\\\").replace('|', "\\|");
                text.replace(['\n', '\r'], " ")
            };
            let cells: Vec<String> = cells.iter().map(cell).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule = (0..self.head.len()).map(|column| {
            if self.is_numeric(column) {
                "---:|"
            } else {
                "---|"
            }
        });
        let rule: String = rule.collect();
        let rows: String = self.rows.iter().map(line).collect();
        format!("{}|{rule}\n{rows}", line(&self.head))
    }

    /// Returns the table in LaTeX, for `booktabs`.
    ///
    /// ```
    /// use mazurka_report::Sheet;
    /// let sheet = Sheet {
    ///     head: vec!["file".to_owned(), "traces".to_owned()],
    ///     rows: vec![vec!["a_b & 50%".to_owned(), "2".to_owned()]],
    /// };
    /// assert!(sheet.latex().contains("a\\_b \\& 50\\% & 2 \\\\\n"));
    /// assert!(sheet.latex().starts_with("\\begin{tabular}{lr}\n"));
    /// ```
    pub fn latex(&self) -> String {
        let cell = |text: &String| -> String {
            let each = text.chars().map(|c| match c {
                '&' | '%' | '$' | '#' | '_' | '{' | '}' => format!("\\{c}"),
                '\\' => "\\textbackslash{}".to_owned(),
                '~' => "\\textasciitilde{}".to_owned(),
                '^' => "\\textasciicircum{}".to_owned(),
                '\n' | '\r' => " ".to_owned(),
                c => c.to_string(),
            });
            let text: String = each.collect();
            // After `\\`, a bracket would begin the argument of the line break.
            match text.strip_prefix('[') {
                Some(rest) => format!("{{[}}{rest}"),
                None => text,
            }
        };
        let line = |cells: &Vec<String>| {
            let cells: Vec<String> = cells.iter().map(cell).collect();
            format!("{} \\\\\n", cells.join(" & "))
        };
        let columns =
            (0..self.head.len()).map(|column| if self.is_numeric(column) { 'r' } else { 'l' });
        let columns: String = columns.collect();
        let rows: String = self.rows.iter().map(line).collect();
        format!(
            "\\begin{{tabular}}{{{columns}}}\n\\toprule\n{}\\midrule\n{rows}\\bottomrule\n\\end{{tabular}}\n",
            line(&self.head)
        )
    }

    /// Returns the table without the columns that are empty in every row.
    pub fn without_empty_columns(&self) -> Self {
        let has_cells = |column: &usize| {
            let mut cells = self.rows.iter().filter_map(|row| row.get(*column));
            cells.any(|cell| !cell.is_empty())
        };
        let kept: Vec<usize> = (0..self.head.len()).filter(has_cells).collect();
        let line = |cells: &Vec<String>| {
            let cell = |&column: &usize| cells.get(column).cloned().unwrap_or_default();
            kept.iter().map(cell).collect()
        };
        Self {
            head: line(&self.head),
            rows: self.rows.iter().map(line).collect(),
        }
    }

    /// Returns the table in columns of text.
    pub fn text(&self) -> String {
        let lines = || std::iter::once(&self.head).chain(&self.rows);
        let column = |column: usize| {
            let widths = lines().filter_map(|line| line.get(column));
            let width = widths.map(|cell| cell.chars().count()).max();
            (column, width.unwrap_or(0), self.is_numeric(column))
        };
        let columns: Vec<(usize, usize, bool)> = (0..self.head.len()).map(column).collect();
        let mut text = String::new();
        for line in lines() {
            let cells = columns.iter().map(|&(column, width, numeric)| {
                let cell = line.get(column).map_or("", String::as_str);
                if numeric {
                    format!("{cell:>width$}")
                } else {
                    pad(cell, width)
                }
            });
            let cells: Vec<String> = cells.collect();
            text += cells.join("  ").trim_end();
            text.push('\n');
        }
        text
    }

    /// Whether a column has only numbers.
    fn is_numeric(&self, column: usize) -> bool {
        let mut cells = self.rows.iter().filter_map(|row| row.get(column));
        let mut some = false;
        let numbers = cells.all(|cell| {
            some |= !cell.is_empty();
            cell.is_empty() || cell.parse::<f64>().is_ok()
        });
        some && numbers
    }
}

/// Returns the settings of a program as text: `N=3 M=4`.
fn settings(set: &[(String, String)]) -> String {
    let all = set.iter().filter(|(name, _)| !name.starts_with('@'));
    let all: Vec<String> = all.map(|(name, value)| format!("{name}={value}")).collect();
    all.join(" ")
}

fn maybe<T: ToString>(value: Option<T>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

fn search(record: &Record) -> Vec<String> {
    let counts = &record.counts;
    let cells = [
        record.program.file.clone(),
        settings(&record.program.set),
        record.command.clone(),
        record.algorithm.clone(),
        record.verdict.name().to_owned(),
        record.scope.exhaustive.to_string(),
        maybe(record.deterministic),
        counts.executions.to_string(),
        maybe(counts.traces),
        counts.deadlocks.to_string(),
        counts.failures.to_string(),
        counts.final_states.to_string(),
        maybe(counts.states),
        counts.discarded.to_string(),
        counts.blocked.to_string(),
        counts.events.to_string(),
        counts.steps.to_string(),
        format!("{:.6}", record.seconds),
        maybe(record.memory),
    ];
    cells.to_vec()
}

fn bench(row: &Measured) -> Vec<String> {
    let measure = match row.measure {
        mazurka_core::bench::Measure::Traces => "traces/s",
        mazurka_core::bench::Measure::Steps => "steps/s",
        mazurka_core::bench::Measure::Seconds => "seconds",
    };
    let cells = [
        row.program.clone(),
        row.algorithm.clone(),
        settings(&row.set),
        row.counts.executions.to_string(),
        maybe(row.counts.traces),
        maybe(row.states),
        row.counts.steps.to_string(),
        format!("{:.6}", row.seconds),
        row.complete().to_string(),
        measure.to_owned(),
        maybe(row.reached().map(|reached| format!("{reached:.3}"))),
    ];
    cells.to_vec()
}
