//! The view of `bench`: one table for each measure (traces per second, seconds, steps per second),
//! with the figures of other tools beside those of Mazurka.

use mazurka_core::bench::{Benchmark, Clock, Measure, Measured};

use crate::{Paint, View};

/// A column: its title, whether it is text, and its content for a row.
type ReportColumn = (&'static str, bool, fn(&Measured) -> String);

/// Returns the measurements, with the figures of other tools beside them and, if requested, the
/// targets.
pub fn bench(benchmark: &Benchmark, targets: bool, view: &View) -> String {
    let clock = match benchmark.clock {
        Clock::ThreadCpu => "CPU time of the one thread that explores",
        Clock::Wall => "wall clock of the one thread that explores",
    };
    let mut text = format!("seconds: {clock}, best of {}\n", benchmark.repeat);
    if benchmark.quick {
        let quick = "quick: the sizes are too small to measure speed";
        text += &format!("{}\n", view.paint.unsure(quick));
    }
    for (measure, title) in [
        (Measure::Traces, "traces per second"),
        (Measure::Seconds, "seconds to the end, states merged"),
        (Measure::Steps, "steps per second, without any reduction"),
    ] {
        let of_measure = |row: &&Measured| row.measure == measure;
        let rows: Vec<&Measured> = benchmark.rows.iter().filter(of_measure).collect();
        if !rows.is_empty() {
            text += &format!("\n{}\n", view.paint.strong(title));
            text += &table(&columns(measure, targets), &rows, view.paint);
        }
    }
    if benchmark.rows.iter().any(|row| !row.peers.is_empty()) {
        text += &format!("\npeers: {}\n", benchmark.source);
    }
    let (hit, all) = benchmark
        .rows
        .iter()
        .filter_map(Measured::hit)
        .fold((0, 0), |(hit, all), one| (hit + u64::from(one), all + 1));
    if targets && all > 0 {
        text += &format!("targets: {hit} of {all} reached\n");
    }
    for row in benchmark.rows.iter().filter(|row| !row.agrees()) {
        let (found, known) = (row.counts.traces, row.expected);
        let wrong = format!(
            "wrong: {} finds {} traces of {}, which has {}: this is a defect of the engine",
            row.algorithm,
            found.unwrap_or(0),
            row.program,
            known.unwrap_or(0)
        );
        text += &format!("{}\n", view.paint.bad(&wrong));
    }
    text
}

const PROGRAM: &[ReportColumn] = &[
    ("program", true, |row| row.program.clone()),
    ("engine", true, |row| row.algorithm.clone()),
];
const TRACES: &[ReportColumn] = &[
    ("traces", false, |row| count_or_blank(row.counts.traces)),
    ("executions", false, |row| row.counts.executions.to_string()),
    ("blocked", false, |row| row.counts.blocked.to_string()),
];
const STATES: &[ReportColumn] = &[
    ("states", false, |row| count_or_blank(row.states)),
    ("final", false, |row| row.counts.final_states.to_string()),
];
const TIME: &[ReportColumn] = &[
    ("steps", false, |row| row.counts.steps.to_string()),
    ("seconds", false, |row| match row.seconds {
        n if n < 0.001 => format!("{n:.6}"),
        n => format!("{n:.4}"),
    }),
];
const TRACE_RATE: &[ReportColumn] = &[("traces/s", false, rate)];
const STEP_RATE: &[ReportColumn] = &[("steps/s", false, rate)];
const OTHERS: &[ReportColumn] = &[("peers", true, peers)];
const TARGETS: &[ReportColumn] = &[
    ("target", false, |row| {
        row.target.map_or(String::new(), |n| value(row.measure, n))
    }),
    ("", true, |row| note(row).unwrap_or_else(|| hit(row))),
];
const NOTES: &[ReportColumn] = &[("", true, |row| note(row).unwrap_or_default())];

fn columns(measure: Measure, targets: bool) -> Vec<ReportColumn> {
    let last = if targets { TARGETS } else { NOTES };
    match measure {
        Measure::Traces => [PROGRAM, TRACES, TIME, TRACE_RATE, OTHERS, last].concat(),
        Measure::Steps => [PROGRAM, TRACES, TIME, STEP_RATE, OTHERS, last].concat(),
        Measure::Seconds => [PROGRAM, STATES, TIME, OTHERS, last].concat(),
    }
}

fn rate(row: &Measured) -> String {
    row.reached().map_or("-".to_owned(), short)
}

fn count_or_blank(count: Option<u64>) -> String {
    count.map_or("-".to_owned(), |n| n.to_string())
}

fn peers(row: &Measured) -> String {
    let one = |peer: &mazurka_core::bench::Peer| {
        format!("{} {}", peer.tool, value(row.measure, peer.value))
    };
    row.peers.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Returns the reason why a measurement does not count; `None` if it counts.
fn note(row: &Measured) -> Option<String> {
    match (row.agrees(), row.bounds.first()) {
        (false, _) => Some("WRONG".to_owned()),
        (true, Some(bound)) => Some(format!("cut: {bound}")),
        (true, None) => None,
    }
}

/// Returns in a word whether the target was reached; empty if there is no target.
fn hit(row: &Measured) -> String {
    let text = match row.hit() {
        Some(true) => "reached",
        Some(false) => "missed",
        None => "",
    };
    text.to_owned()
}

fn value(measure: Measure, n: f64) -> String {
    match measure {
        Measure::Traces | Measure::Steps => short(n),
        Measure::Seconds => format!("{n} s"),
    }
}

/// Returns a number with three digits, because measurements are not more precise.
fn short(n: f64) -> String {
    let (n, unit) = match n {
        n if n < 1e3 => (n, ""),
        n if n < 999_500.0 => (n / 1e3, " k"),
        n => (n / 1e6, " M"),
    };
    match n {
        n if n < 10.0 => format!("{n:.2}{unit}"),
        n if n < 100.0 => format!("{n:.1}{unit}"),
        n => format!("{n:.0}{unit}"),
    }
}

/// Returns a table with text aligned left and numbers aligned right; empty columns are left out.
fn table(columns: &[ReportColumn], rows: &[&Measured], paint: Paint) -> String {
    let mut lines = vec![String::from(" "); rows.len() + 1];
    for (title, left, show) in columns {
        let cells: Vec<String> = rows.iter().map(|row| show(row)).collect();
        if cells.iter().all(String::is_empty) {
            continue;
        }
        let all = [(*title).to_owned()].into_iter().chain(cells);
        let all: Vec<String> = all.collect();
        let width = all.iter().map(|cell| cell.chars().count()).max();
        let width = width.unwrap_or(0);
        for (line, cell) in lines.iter_mut().zip(&all) {
            if *left {
                *line += &format!(" {cell:<width$} ")
            } else {
                *line += &format!(" {cell:>width$} ")
            }
        }
    }
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        text += &match at {
            0 => paint.dim(line.trim_end()),
            _ => line.trim_end().to_owned(),
        };
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use mazurka_core::bench::Peer;
    use mazurka_core::{Bound, Counts};

    fn row(measure: Measure, target: Option<f64>) -> Measured {
        Measured {
            program: "writers(9)".into(),
            algorithm: "optimal".into(),
            set: Vec::new(),
            counts: Counts {
                executions: 362_880,
                traces: Some(362_880),
                steps: 986_409,
                ..Counts::default()
            },
            states: None,
            expected: Some(362_880),
            bounds: Vec::new(),
            seconds: 0.05,
            measure,
            peers: vec![Peer {
                tool: "GenMC".into(),
                value: 50_000.0,
            }],
            target,
        }
    }

    fn shown(rows: Vec<Measured>, targets: bool) -> String {
        let benchmark = Benchmark {
            version: 1,
            clock: Clock::ThreadCpu,
            repeat: 3,
            quick: false,
            source: "a machine".into(),
            rows,
        };
        bench(&benchmark, targets, &View::default())
    }

    #[test]
    fn the_whole_table() {
        let mut cut = row(Measure::Traces, None);
        cut.program = "readers(16)".into();
        cut.bounds.push(Bound::TimeLimit(10_000));
        cut.peers.clear();
        let rows = vec![row(Measure::Traces, Some(5e6)), cut];
        let text = shown(rows.clone(), false);
        insta::assert_snapshot!(text, @r"
        seconds: CPU time of the one thread that explores, best of 3

        traces per second
          program      engine   traces  executions  blocked   steps  seconds  traces/s  peers
          writers(9)   optimal  362880      362880        0  986409   0.0500    7.26 M  GenMC 50.0 k
          readers(16)  optimal  362880      362880        0  986409   0.0500    7.26 M                cut: --time-limit 10 was reached

        peers: a machine
        ");
        insta::assert_snapshot!(shown(rows, true), @r"
        seconds: CPU time of the one thread that explores, best of 3

        traces per second
          program      engine   traces  executions  blocked   steps  seconds  traces/s  peers         target
          writers(9)   optimal  362880      362880        0  986409   0.0500    7.26 M  GenMC 50.0 k  5.00 M  reached
          readers(16)  optimal  362880      362880        0  986409   0.0500    7.26 M                        cut: --time-limit 10 was reached

        peers: a machine
        targets: 1 of 1 reached
        ");
    }

    #[test]
    fn a_wrong_count_is_reported() {
        let mut wrong = row(Measure::Traces, Some(5e6));
        wrong.expected = Some(362_881);
        let text = shown(vec![wrong], false);
        assert!(text.contains("WRONG"), "{text}");
        assert!(text.contains("which has 362881"), "{text}");
    }

    #[test]
    fn three_digits() {
        let texts = [7.0, 999.0, 8_700.0, 50_000.0, 999_499.0, 999_500.0, 5e6].map(short);
        let wanted = [
            "7.00", "999", "8.70 k", "50.0 k", "999 k", "1.00 M", "5.00 M",
        ];
        assert_eq!(texts, wanted);
    }
}
