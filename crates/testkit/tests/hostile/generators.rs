//! The sources of test programs.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use mazurka_testkit::mutate::mutate;
use mazurka_testkit::oracle::ast::{Expr, Init, Item, ItemKind, Op, Ty};
use mazurka_testkit::oracle::{parse, print};
use mazurka_testkit::swarm::swarm;
use mazurka_testkit::{Config, generate};

/// A source of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generator {
    /// Random trees (generator A), whose generator has the same authors as the engines.
    Tree,
    /// Mutations of the corpus and the examples.
    Mutate,
    /// Batches with a few features each.
    Swarm,
}

impl Generator {
    pub const ALL: [Generator; 3] = [Generator::Tree, Generator::Mutate, Generator::Swarm];

    pub fn named(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|generator| generator.to_string() == name)
    }

    /// Returns the program of a seed, if there is one. Some programs have a false `requires`.
    pub fn program(self, seed: u64) -> Option<String> {
        let text = self.possible(seed)?;
        Some(layout(match seed % 30 {
            17 => impossible(&text).unwrap_or(text),
            _ => text,
        }))
    }

    fn possible(self, seed: u64) -> Option<String> {
        match self {
            Generator::Tree => {
                let config = Config {
                    interleavings: 300.0,
                    inputs: seed % 8 == 7,
                    ..Config::default()
                };
                // One statement a line, so that lines identify statements.
                let text = generate(seed, &config).to_string();
                Some(text.replace("; ", ";\n"))
            }
            Generator::Mutate => mutate(seed, originals()),
            Generator::Swarm => Some(swarm(seed)),
        }
    }
}

impl fmt::Display for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Generator::Tree => "tree",
            Generator::Mutate => "mutate",
            Generator::Swarm => "swarm",
        })
    }
}

/// Joins the lines of a program in which a choice spans several lines, because a failure in the
/// choice may be reported at any of these lines.
pub fn layout(text: String) -> String {
    let closes = |text: &str| text.matches('}').count() > text.matches('{').count();
    let goes_on = |line: &str| {
        line.split_once("<|")
            .is_some_and(|(first, _)| closes(first))
    };
    if text.lines().any(goes_on) && !text.contains("//") {
        text.replace('\n', " ")
    } else {
        text
    }
}

#[test]
fn choices_of_several_lines_are_joined() {
    let one = |text: &str| !layout(text.to_owned()).contains('\n');
    assert!(one("process { {\nerror } <| a[y] == 0 |> skip }"));
    assert!(one("process { {\nerror\n} <| x == 0 |> skip }"));
    assert!(!one(
        "var x: int = 0\nprocess { { error } <| x == 0 |> skip }"
    ));
}

/// Adds a `requires` that contradicts the first initial value of a number.
fn impossible(text: &str) -> Option<String> {
    let mut program = parse(text).ok()?;
    let number = |item: &Item| match &item.kind {
        ItemKind::Var(names, ty, None, Some(Init::One(Expr::Num(value)))) if *ty != Ty::Bool => {
            Some((names.first()?.clone(), *value))
        }
        _ => None,
    };
    let (at, (name, value)) = program
        .items
        .iter()
        .enumerate()
        .find_map(|(at, item)| Some((at, number(item)?)))?;
    let (name, value) = (Box::new(Expr::Name(name)), Box::new(Expr::Num(value)));
    let kind = ItemKind::Requires(None, Expr::Bin(Op::Ne, name, value));
    program.items.insert(at + 1, Item { line: 0, kind });
    Some(print(&program))
}

/// Returns the programs of the corpus and the examples, in the order of their paths.
fn originals() -> &'static [String] {
    static ALL: OnceLock<Vec<String>> = OnceLock::new();
    ALL.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut paths = Vec::new();
        for folder in ["corpus/maz", "corpus/prove", "examples"] {
            walk(&root.join(folder), &mut paths);
        }
        paths.sort();
        let read = paths
            .iter()
            .filter_map(|path| fs::read_to_string(path).ok());
        // Temporal properties have tests of their own.
        let temporal = ["always", "eventually", "infinitely_often", "whenever"];
        let is_temporal = |text: &String| temporal.iter().any(|word| text.contains(word));
        let short = read.filter(|text| text.len() < 1_500);
        let all: Vec<String> = short.filter(|text| !is_temporal(text)).collect();
        assert!(all.len() > 50, "the corpus was not found");
        all
    })
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "maz") {
            found.push(path);
        }
    }
}
