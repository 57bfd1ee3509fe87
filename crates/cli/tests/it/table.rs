//! `mazurka table`: a row for each search, and the counts that the searches alone give.

use crate::support::{mazurka, with_input};
use crate::wellformed::is_sound;

const READERS: &str = "const N = 2
var x: int = 0
var r: int[N] = 0
process { x := 1 }
process reader (i in 0..N) { r[i] := x }
";

fn rows(out: &str) -> Vec<Vec<String>> {
    let lines = out
        .lines()
        .map(|line| line.split(',').map(str::to_owned).collect());
    lines.collect()
}

fn column(rows: &[Vec<String>], name: &str) -> Vec<String> {
    let at = rows[0]
        .iter()
        .position(|known| known == name)
        .expect("a column");
    rows[1..].iter().map(|row| row[at].clone()).collect()
}

#[test]
fn every_size_and_engine_has_a_row() {
    let flags = ["table", "-", "--set", "N=2..5", "--algorithm", "optimal"];
    let more = ["--algorithm", "naive", "--format", "csv", "--quiet"];
    let said = with_input(&[&flags[..], &more].concat(), READERS);
    assert_eq!(said.code, 0, "{said:?}");
    let rows = rows(&said.out);
    assert_eq!(
        column(&rows, "set"),
        ["N=2", "N=2", "N=3", "N=3", "N=4", "N=4"]
    );
    // A writer beside n readers has 2^n traces and (n + 1)! interleavings.
    assert_eq!(
        column(&rows, "executions"),
        ["4", "6", "8", "24", "16", "120"]
    );
    assert_eq!(column(&rows, "traces"), ["4", "4", "8", "8", "16", "16"]);
    assert_eq!(column(&rows, "algorithm")[..2], ["optimal", "naive"]);
}

#[test]
fn all_formats_have_the_same_rows() {
    let ask = |format: &str| {
        let flags = [
            "table", "-", "--set", "N=2,4", "--format", format, "--quiet",
        ];
        with_input(&flags, READERS).out
    };
    assert_eq!(ask("text").lines().count(), 3);
    assert_eq!(ask("markdown").lines().count(), 4);
    let latex = ask("latex");
    assert!(latex.starts_with("\\begin{tabular}") && latex.ends_with("\\end{tabular}\n"));
    assert!(
        latex.contains("N=4 & explore & optimal & verified"),
        "{latex}"
    );
    let json: serde_json::Value = serde_json::from_str(&ask("json")).expect("JSON");
    assert_eq!(json[1]["executions"], 16);
    let svg = ask("svg");
    is_sound(&svg);
    assert_eq!(svg.matches("<circle").count(), 2);
}

#[test]
fn nets_states_and_verdicts_are_experiments_too() {
    for command in ["check", "unfold", "symbolic"] {
        let flags = ["table", "-", "--set", "N=1,2", "--command", command];
        let said = with_input(
            &[&flags[..], &["--format", "csv", "--quiet"]].concat(),
            READERS,
        );
        assert_eq!(
            column(&rows(&said.out), "command"),
            [command; 2],
            "{said:?}"
        );
    }
    let nets = [
        "--net",
        "contextual",
        "--net",
        "stateful",
        "--format",
        "csv",
        "--quiet",
    ];
    let flags = ["table", "examples/philosophers.maz", "--command", "unfold"];
    let said = mazurka(&[&flags[..], &["--set", "N=2"], &nets].concat());
    assert_eq!(
        column(&rows(&said.out), "verdict"),
        ["violated", "violated"],
        "{said:?}"
    );
    assert_eq!(column(&rows(&said.out), "deadlocks").len(), 2);
}

#[test]
fn a_search_that_is_cut_is_told() {
    let flags = [
        "table",
        "-",
        "--set",
        "N=3,9",
        "--max-executions",
        "20",
        "--format",
        "csv",
    ];
    let said = with_input(&flags, READERS);
    assert_eq!(said.code, 2, "{said:?}");
    assert_eq!(column(&rows(&said.out), "exhaustive"), ["true", "false"]);
    assert!(
        said.err.contains("N=9") && !said.err.contains("N=3"),
        "{said:?}"
    );
}

#[test]
fn bad_usage_is_told() {
    for (flags, words) in [
        (&["--set", "N=5..2"][..], "NAME=2..6"),
        (&["--set", "N=0..100000"], "at most"),
        (&["--set", "M=1,2"], "M"),
        (&["--format", "svg"], "--set N=2..6"),
        (
            &["--set", "N=2,3", "--format", "svg", "--plot", "colour"],
            "no column",
        ),
        (&["--net", "stateful"], "--command unfold"),
        (
            &["--command", "symbolic", "--algorithm", "naive"],
            "--command explore",
        ),
    ] {
        let said = with_input(&[&["table", "-"], flags].concat(), READERS);
        assert_eq!(said.code, 3, "{flags:?}: {said:?}");
        assert!(said.err.contains(words), "{flags:?}: {said:?}");
    }
}
