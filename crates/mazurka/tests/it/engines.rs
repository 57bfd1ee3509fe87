//! Runs every engine on the programs of two papers, and compares the counts with the table of
//! docs/engines.md.

use std::path::{Path, PathBuf};

use mazurka::permute::Permuting;
use mazurka::run::Plan;
use mazurka::unfold::{NetKind, Unfold};
use mazurka::{Algorithm, Options, Program, quietly};

/// The programs of the thesis and of the context-sensitive paper, at sizes that all engines can
/// handle.
const PROGRAMS: [(&str, &[(&str, &str)]); 16] = [
    ("maz/thesis-fib", &[("N", "2")]),
    ("maz/thesis-pi", &[("N", "5")]),
    ("maz/thesis-writes", &[("T", "3"), ("B", "2")]),
    ("maz/thesis-locking", &[("V", "1")]),
    ("maz/thesis-pairs", &[("K", "3")]),
    ("maz/thesis-branches", &[("N", "4")]),
    ("maz/thesis-updater", &[("FIRST", "0"), ("MAIN", "0")]),
    ("maz/thesis-synthetic", &[]),
    ("abs/producer-consumer", &[("n", "4")]),
    ("abs/fib", &[("n", "4")]),
    ("abs/qsort", &[]),
    ("abs/msort", &[]),
    ("abs/pi", &[("workers", "5")]),
    ("abs/psort", &[("n", "4")]),
    ("abs/registration", &[("clients", "4")]),
    ("abs/philosophers", &[("seats", "3")]),
];

const ENGINES: [Algorithm; 5] = [
    Algorithm::Dpor,
    Algorithm::Source,
    Algorithm::Optimal,
    Algorithm::CONTEXT,
    Algorithm::Stateful,
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn load(name: &str, set: &[(&str, &str)]) -> Program {
    let language = name.split('/').next().expect("a language");
    let file = format!("corpus/{name}/program.{language}");
    let source = std::fs::read_to_string(root().join(&file)).expect("a program");
    let own = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
    let set: Vec<(String, String)> = set.iter().map(own).collect();
    Program::load(&file, &source, &set).expect("a program without mistakes")
}

/// Returns the number of complete runs and of runs that were cut or blocked, as text.
fn runs(whole: u64, cut: u64) -> String {
    match cut {
        0 => whole.to_string(),
        _ => format!("{whole} + {cut}"),
    }
}

/// Returns one line of the table.
fn line(name: &str, set: &[(&str, &str)]) -> String {
    let program = load(name, set);
    let options = Options::default();
    let value = |(name, value): &(&str, &str)| format!(" {name} = {value}");
    let set: Vec<String> = set.iter().map(value).collect();
    let mut cells = vec![format!("`{name}`{}", set.join(","))];
    let mut traces = None;
    for algorithm in ENGINES {
        let record = program.explore(algorithm, &options, &mut quietly());
        let record = record.expect("a record");
        assert!(record.scope.exhaustive, "{name}, {algorithm}");
        let counts = &record.counts;
        if algorithm == Algorithm::Optimal {
            traces = counts.traces;
        }
        cells.push(runs(counts.executions, counts.blocked));
    }
    let traces = traces.expect("optimal counts traces");
    cells.insert(1, traces.to_string());
    let wanted = Permuting {
        plan: Plan::Seed(0),
        complete: true,
        paper: false,
        any_start: false,
        listed: 1,
    };
    cells.push(if program.unknowns().refused().is_empty() {
        let permuted = program.permute(&wanted, &options, &mut quietly());
        let permuted = permuted.expect("a record");
        assert_eq!(permuted.permutations.executable, traces, "{name}: permute");
        permuted.permutations.seeds.to_string()
    } else {
        "·".to_owned()
    });
    for &kind in NetKind::ALL {
        let net = program.unfold(Unfold { kind, seed: 0 }, &options, &mut quietly());
        let net = net.expect("a net");
        assert!(net.record.scope.bounds.is_empty(), "{name}, {kind}");
        if kind != NetKind::Stateful {
            assert!(net.tests <= traces, "{name}, {kind}: {} tests", net.tests);
        }
        cells.push(format!("{}, {}", net.tests, net.record.counts.events));
    }
    format!("| {} |\n", cells.join(" | "))
}

/// `UPDATE_EXPECT=1 cargo test -p mazurka --test it engines::` writes the table again.
#[test]
fn the_table_of_all_engines_is_as_printed() {
    let mut table = String::from("| program | traces |");
    for algorithm in ENGINES {
        table += &format!(" `{algorithm}` |");
    }
    table += " `permute` |";
    for kind in NetKind::ALL {
        table += &format!(" {kind} net |");
    }
    let columns = 3 + ENGINES.len() + NetKind::ALL.len();
    table += &format!("\n{}|\n", "|---".repeat(columns));
    for (name, set) in PROGRAMS {
        table += &line(name, set);
    }
    let page = root().join("docs/engines.md");
    let text = std::fs::read_to_string(&page).expect("the page");
    let start = text.find("| program |").expect("a table");
    let end = start + text[start..].find("\n\n").expect("its end") + 1;
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let text = format!("{}{table}{}", &text[..start], &text[end..]);
        std::fs::write(&page, text).expect("the page can be written");
    } else {
        assert_eq!(text[start..end], table, "UPDATE_EXPECT=1 writes it anew");
    }
}
