//! Tests `mazurka table`: it has a row for each search, with the same counts as the search alone.

use crate::support::{mazurka, with_input};
use crate::wellformed::assert_sound;

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
    let result = with_input(&[&flags[..], &more].concat(), READERS);
    assert_eq!(result.code, 0, "{result:?}");
    let rows = rows(&result.out);
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
    assert_sound(&svg);
    assert_eq!(svg.matches("<circle").count(), 2);
}

#[test]
fn nets_states_and_verdicts_are_experiments_too() {
    for command in ["check", "unfold", "symbolic"] {
        let flags = ["table", "-", "--set", "N=1,2", "--command", command];
        let result = with_input(
            &[&flags[..], &["--format", "csv", "--quiet"]].concat(),
            READERS,
        );
        assert_eq!(
            column(&rows(&result.out), "command"),
            [command; 2],
            "{result:?}"
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
    let result = mazurka(&[&flags[..], &["--set", "N=2"], &nets].concat());
    assert_eq!(
        column(&rows(&result.out), "verdict"),
        ["violated", "violated"],
        "{result:?}"
    );
    assert_eq!(column(&rows(&result.out), "deadlocks").len(), 2);
}

#[test]
fn states_are_searched_for() {
    let flags = ["table", "-", "--set", "N=1,2", "--command", "reach"];
    let states = ["--property", "r[0] == 1", "--property", "r[0] == 2"];
    let more = ["--method", "search,smt", "--format", "csv", "--quiet"];
    let result = with_input(&[&flags[..], &states, &more].concat(), READERS);
    assert_eq!(result.code, 0, "{result:?}");
    let rows = rows(&result.out);
    let answers = ["reachable", "reachable", "unreachable", "unreachable"];
    assert_eq!(column(&rows, "answer"), [answers, answers].concat());
    assert_eq!(column(&rows, "algorithm")[..2], ["search", "smt"]);
    assert_eq!(column(&rows, "state")[1..3], ["r[0] == 1", "r[0] == 2"]);
    assert_eq!(column(&rows, "net"), ["contextual"; 8]);
    let actors = "corpus/abs/producer-consumer/program.abs";
    let result = mazurka(&["table", actors, "--command", "reach", "--property", "true"]);
    assert_eq!(result.code, 3, "{result:?}");
    assert!(result.err.contains("asked about states"), "{result:?}");
}

#[test]
fn a_search_that_is_cut_is_reported() {
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
    let result = with_input(&flags, READERS);
    assert_eq!(result.code, 2, "{result:?}");
    assert_eq!(column(&rows(&result.out), "exhaustive"), ["true", "false"]);
    assert!(
        result.err.contains("N=9") && !result.err.contains("N=3"),
        "{result:?}"
    );
}

#[test]
fn bad_usage_is_reported() {
    for (flags, words) in [
        (&["--set", "N=5..2"][..], "NAME=2..6"),
        (&["--set", "N=0..100000"], "at most"),
        (&["--set", "M=1,2"], "M"),
        (&["--set", "N=2..4", "--set", "N=2"], "given twice"),
        (&["--format", "svg"], "--set N=2..6"),
        (
            &["--set", "N=2,3", "--format", "svg", "--plot", "colour"],
            "no column",
        ),
        (&["--net", "stateful"], "--command unfold"),
        (&["--property", "x == 1"], "--command reach"),
        (&["--command", "reach"], "--property"),
        (&["--command", "reach", "--property", "z == 1"], "z"),
        (
            &["--command", "symbolic", "--algorithm", "naive"],
            "--command explore",
        ),
    ] {
        let result = with_input(&[&["table", "-"], flags].concat(), READERS);
        assert_eq!(result.code, 3, "{flags:?}: {result:?}");
        assert!(result.err.contains(words), "{flags:?}: {result:?}");
    }
}

#[test]
fn columns_are_chosen() {
    let flags = ["table", "-", "--set", "N=2", "--columns", "traces,set"];
    let result = with_input(&flags, READERS);
    assert_eq!(
        (result.code, result.out.as_str()),
        (0, "traces  set\n     4  N=2\n")
    );
    // `states` is empty for a search that does not merge states.
    let empty = with_input(&["table", "-", "--columns", "states,traces"], READERS);
    assert!(empty.out.starts_with("states  traces\n"), "{empty:?}");
    let all = with_input(&["table", "-"], READERS);
    assert!(!all.out.contains(" states "), "{all:?}");
    let wrong = with_input(&["table", "-", "--columns", "colour"], READERS);
    assert_eq!(wrong.code, 3, "{wrong:?}");
    assert!(wrong.err.contains("no column `colour`"), "{wrong:?}");
}

/// Returns the table of a list of the repository, or of some of its programs: the names of the
/// columns, then the rows.
fn listed(list: &str, only: &str) -> Vec<Vec<String>> {
    let flags = ["table", list, "--only", only, "--format", "csv", "--quiet"];
    let result = mazurka(&flags);
    assert_eq!(result.code, 0, "{result:?}");
    let all = result.out.lines();
    // A name such as `1,1` is in quotes.
    let all = all.map(|line| line.replace("\"1,1\"", "1;1").replace("\"2,1\"", "2;1"));
    rows(&all.collect::<Vec<String>>().join("\n"))
}

#[test]
fn each_of_the_papers_tables_is_one_command() {
    // Context-sensitive DPOR, Table 1: the counts are those printed.
    let table = listed("corpus/context-table-1.toml", "N");
    assert_eq!(column(&table, "executions"), column(&table, "paper"));
    let printed = ["20", "8", "252", "32", "3432", "128", "48620", "512"];
    assert_eq!(column(&table, "paper"), printed);
    // Table 2: where the programs are the paper's, Source-DPOR agrees.
    for (name, executions) in [("Pi(5)", "120"), ("PSort(4)", "288"), ("Reg(4)", "384")] {
        let table = listed("corpus/context-table-2.toml", name);
        assert_eq!(column(&table, "executions")[0], executions, "{name}");
        assert_eq!(column(&table, "paper")[0], executions, "{name}");
    }
    // SymPaths: with the paper's normal form there are as many states as in the paper; with a true
    // normal form there are fewer.
    let table = listed("corpus/sympaths-table.toml", "1,1");
    assert_eq!(column(&table, "algorithm"), ["none", "paper", "canonical"]);
    assert_eq!(column(&table, "final_states"), ["6744", "35", "25"]);
    assert_eq!(column(&table, "paper"), ["6744", "35", ""]);
    // The thesis, Table 8.1.
    let table = listed("corpus/thesis-8-1.toml", "Fib 1");
    assert_eq!(
        column(&table, "algorithm"),
        ["replicated", "contextual", "stateful"]
    );
    assert_eq!(column(&table, "thesis"), ["19605", "4950", "4946"]);
    // The replicated net has a test for each trace, in any order of the tests.
    assert_eq!(column(&table, "executions")[0], "19605");
    for (name, traces) in [
        ("Locking 1", "2520"),
        ("Parallel Pi 1", "720"),
        ("Filesystem(16)", "8"),
    ] {
        let table = listed("corpus/thesis-8-1-traces.toml", name);
        assert_eq!(column(&table, "traces")[0], traces, "{name}");
        assert_eq!(column(&table, "thesis")[0], traces, "{name}");
    }
    // Table 8.2: a state printed as unreachable is reachable (errata E15).
    let table = listed("corpus/thesis-8-2.toml", "Updater 1");
    let answers = ["reachable", "reachable", "unreachable"];
    assert_eq!(column(&table, "answer"), answers);
    assert_eq!(column(&table, "thesis"), ["UNSAT", "SAT", "UNSAT"]);
}

#[test]
fn lists_name_programs_that_are_there() {
    let folder = crate::support::root().join("corpus");
    let mut lists = 0;
    for entry in std::fs::read_dir(&folder).expect("the corpus") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a list");
        let list: toml::Table = text.parse().expect("TOML");
        for program in list["program"].as_array().expect("programs") {
            let file = program["file"].as_str().expect("a file");
            assert!(folder.join(file).is_file(), "{}: {file}", path.display());
            let published = program["published"].as_table().expect("figures");
            assert!(!published.is_empty(), "{file}");
        }
        lists += 1;
    }
    assert_eq!(lists, 6);
}

#[test]
fn a_list_is_given_alone() {
    let list = "corpus/context-table-1.toml";
    for (flags, words) in [
        (&[list, "--set", "n=3"][..], "without other"),
        (&[list, "--algorithm", "naive"], "without other"),
        (&[list, list], "without other"),
        (&[list, "--only", "nothing"], "no program of the list"),
        (&["examples/counter.maz", "--only", "N"], "for lists"),
        (
            &["examples/counter.maz", "--por", "none"],
            "--command symbolic",
        ),
    ] {
        let result = mazurka(&[&["table"], flags].concat());
        assert_eq!(result.code, 3, "{flags:?}: {result:?}");
        assert!(result.err.contains(words), "{flags:?}: {result:?}");
    }
}

#[test]
fn a_list_counts_no_samples() {
    let folder = tempfile::tempdir().expect("a folder");
    let list = folder.path().join("list.toml");
    let text = "algorithm = [\"random\"]\n[[program]]\nname = \"a\"\nfile = \"a.maz\"\n";
    std::fs::write(&list, text).expect("a list");
    std::fs::write(folder.path().join("a.maz"), READERS).expect("a program");
    let result = mazurka(&["table", list.to_str().expect("a path")]);
    assert_eq!(result.code, 3, "{result:?}");
    assert!(result.err.contains("no `random`"), "{result:?}");
}

#[test]
fn a_column_without_numbers_is_not_plotted() {
    let words = ["table", "corpus/maz/writers/program.maz", "--set", "N=2,3"];
    let result = mazurka(&[&words[..], &["--format", "svg", "--plot", "verdict"]].concat());
    assert_eq!(result.code, 3, "{result:?}");
    assert!(
        result
            .err
            .contains("no row has a number in the column `verdict`"),
        "{result:?}"
    );
}
