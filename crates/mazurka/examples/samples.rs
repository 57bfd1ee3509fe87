//! Prints how many executions each sampling method draws until it finds a planted bug: the table of
//! docs/sampling.md.
//!
//! `cargo run --release -p mazurka --example samples`

use mazurka::search::{Method, Sample};
use mazurka::{Options, Program, Verdict, quietly};

/// Each method is tried with this many seeds, from 1 on.
const SEEDS: u64 = 20;
/// A method gives up after this many executions.
const MOST: u64 = 10_000;

/// A program with a bug.
struct Planted {
    name: &'static str,
    what: &'static str,
    text: String,
    set: Vec<(String, String)>,
}

fn planted() -> Vec<Planted> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/maz");
    let corpus = |name: &'static str, what, set: &[(&str, &str)]| {
        let path = format!("{root}/{name}/program.maz");
        let text = std::fs::read_to_string(&path);
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Planted {
            name,
            what,
            text: text.unwrap_or_else(|error| panic!("{path}: {error}")),
            set: set.iter().map(owned).collect(),
        }
    };
    let own = |name, what, text: String| Planted {
        name,
        what,
        text,
        set: Vec::new(),
    };
    let repeat = |count: usize, part: &dyn Fn(usize) -> String, between| {
        (1..=count).map(part).collect::<Vec<_>>().join(between)
    };
    let writes = repeat(12, &|k| format!("x := {k}"), "; ");
    let setters = repeat(8, &|_| "process { a := 1; b := 1 }".to_owned(), "\n");
    let workers = repeat(
        5,
        &|k| format!("process {{ lock(m{k}); w{k} := 1; unlock(m{k}); w{k} := 2 }}"),
        "\n",
    );
    let locks = repeat(5, &|k| format!("m{k}"), ", ");
    let vars = repeat(5, &|k| format!("w{k}"), ", ");
    vec![
        corpus(
            "philosophers",
            "6 philosophers eat twice: a deadlock",
            &[("N", "6"), ("EATS", "2")],
        ),
        corpus(
            "peterson-swapped",
            "mutual exclusion with two writes swapped",
            &[],
        ),
        own(
            "reorder",
            "a check between the first writes of 8 setters and the second",
            format!("var a, b: int = 0\n{setters}\nprocess {{ assert a == b }}"),
        ),
        own(
            "uneven",
            "one step that must come after 12 of another process",
            format!("var x: int = 0\nprocess {{ {writes} }}\nprocess {{ assert x != 12 }}"),
        ),
        own(
            "alternate",
            "four reads that must each see the next of four writes",
            "var x: int = 0
             process { x := 1; x := 2; x := 3; x := 4 }
             process { let a = x; let b = x; let c = x; let d = x;
                       assert !(a == 1 && b == 2 && c == 3 && d == 4) }"
                .to_owned(),
        ),
        own(
            "crossed",
            "two locks in two orders, beside 5 busy processes",
            format!(
                "lock p, q, {locks}\nvar {vars}: int = 0\n{workers}
                 process {{ lock(p); lock(q); unlock(q); unlock(p) }}
                 process {{ lock(q); lock(p); unlock(p); unlock(q) }}"
            ),
        ),
    ]
}

/// Returns the number of executions until the bug is found, or `None` if it is not found.
fn runs(program: &Program, sample: Sample) -> Option<u64> {
    let mut options = Options::default();
    options.limits.executions = Some(MOST);
    let record = program.sample(sample, &options, &mut quietly());
    let record = record.expect("it can be searched");
    let found = record.verdict == Verdict::Violated;
    record.sample.map(|sample| sample.runs).filter(|_| found)
}

fn main() {
    let names = Method::ALL.map(|method| format!(" `{}` |", method.name()));
    println!("| program | bug |{}", names.concat());
    println!("|---|---|{}", "---|".repeat(names.len()));
    for planted in planted() {
        let program = Program::load(planted.name, &planted.text, &planted.set);
        let program = program.unwrap_or_else(|mistakes| panic!("{}: {mistakes:?}", planted.name));
        let median = |method| {
            let drawn = |seed| runs(&program, Sample { method, seed });
            let mut all: Vec<Option<u64>> = (1..=SEEDS).map(drawn).collect();
            // Methods that never find the bug come last.
            all.sort_by_key(|runs| runs.unwrap_or(u64::MAX));
            match all[all.len() / 2] {
                Some(runs) => format!(" {runs} |"),
                None => format!(" > {MOST} |"),
            }
        };
        let medians = Method::ALL.map(median).concat();
        println!("| `{}` | {} |{medians}", planted.name, planted.what);
    }
}
