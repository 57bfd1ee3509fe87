//! `condition`: compares the formulas of random programs with unknown values with the oracle, which
//! runs the program with each choice of small values and evaluates the formula for it.

use std::fmt::Write;

use crate::common::programs;
use mazurka::condition::{ConditionRecord, SoughtProperty};
use mazurka::{Limits, Options, Program, quietly};
use mazurka_testkit::Rng;
use mazurka_testkit::oracle::{self, Answer, Truth, judge};

/// A program with placeholders for its values, and for each process whether it has an input.
struct Template {
    /// `INPUT` is the placeholder for the input of a process.
    text: String,
    asks: Vec<bool>,
}

/// Values for the placeholders of a program.
#[derive(Clone, Debug)]
struct Values {
    n: i64,
    b: bool,
    /// The inputs, by process.
    inputs: Vec<i64>,
}

fn number(rng: &mut Rng, local: bool) -> String {
    let all = ["x", "y", "n", "x + 1", "n - 1", "x + n", "i", "i + 1"];
    if rng.percent(40) {
        rng.below(3).to_string()
    } else {
        all[rng.below(if local { 8 } else { 6 })].to_owned()
    }
}

fn test(rng: &mut Rng, local: bool) -> String {
    let compare = ["==", "!=", "<", "<=", ">"][rng.below(5)];
    match rng.below(6) {
        0 => "b".to_owned(),
        1 => format!("n {compare} {}", rng.below(3)),
        2 if local => format!("i {compare} {}", rng.below(3)),
        3 => format!("b || x {compare} {}", number(rng, local)),
        _ => format!(
            "{} {compare} {}",
            ["x", "y"][rng.below(2)],
            number(rng, local)
        ),
    }
}

fn assignment(rng: &mut Rng, local: bool) -> String {
    let place = ["x", "y"][rng.below(2)];
    if rng.percent(10) {
        format!("{place} := choose(0..2)")
    } else {
        format!("{place} := {}", number(rng, local))
    }
}

fn statement(rng: &mut Rng, local: bool) -> String {
    match rng.weighted(&[8, 4, 2, 2, 1, 1]) {
        0 => assignment(rng, local),
        1 => {
            let (test, one) = (test(rng, local), assignment(rng, local));
            if rng.percent(50) {
                format!("if {test} {{ {one} }}")
            } else {
                format!(
                    "if {test} {{ {one} }} else {{ {} }}",
                    assignment(rng, local)
                )
            }
        }
        2 => format!("{} |> {}", test(rng, local), assignment(rng, local)),
        3 => format!("assert {}", test(rng, local)),
        4 => format!("lock(m); {}; unlock(m)", assignment(rng, local)),
        _ => format!("assume {}", test(rng, local)),
    }
}

fn template(seed: u64) -> Template {
    let mut rng = Rng::new(seed);
    let mut text = String::from("var x, y: int = 0\nVALUES\nlock m\n");
    if rng.percent(20) {
        let _ = writeln!(text, "ensures {}", test(&mut rng, false));
    }
    if rng.percent(10) {
        let _ = writeln!(text, "invariant {}", test(&mut rng, false));
    }
    let mut asks = Vec::new();
    for process in 0..2 + usize::from(rng.percent(20)) {
        let local = rng.percent(35);
        asks.push(local);
        text += "process {\n";
        if local {
            let _ = writeln!(text, "  let i: i8 = INPUT{process};");
            if rng.percent(40) {
                text += "  assume i >= 0;\n";
            }
        }
        for _ in 0..1 + rng.below(3) {
            let _ = writeln!(text, "  {};", statement(&mut rng, local));
        }
        text += "  skip\n}\n";
    }
    // `x` is an `int`, so a local that is combined with it must be one.
    Template {
        text: text.replace("let i: i8", "let i: int"),
        asks,
    }
}

impl Template {
    fn open(&self) -> String {
        let mut text = self.text.replace(
            "VALUES",
            "var n: int\nvar b: bool\nrequires 0 <= n && n < 3",
        );
        for process in 0..self.asks.len() {
            text = text.replace(&format!("INPUT{process}"), "input(int)");
        }
        text
    }

    fn with(&self, values: &Values) -> String {
        let given = format!("var n: int = {}\nvar b: bool = {}\n", values.n, values.b);
        let mut text = self.text.replace("VALUES", &given);
        for (process, value) in values.inputs.iter().enumerate() {
            text = text.replace(&format!("INPUT{process}"), &value.to_string());
        }
        text
    }

    /// Returns all choices of small values.
    fn values(&self) -> Vec<Values> {
        let mut all = Vec::new();
        for n in 0..3 {
            for b in [false, true] {
                all.push(Values {
                    n,
                    b,
                    inputs: Vec::new(),
                });
            }
        }
        for &asks in &self.asks {
            let given = if asks { -1..3 } else { 0..1 };
            let with = |values: &Values, input: i64| {
                let mut inputs = values.inputs.clone();
                inputs.push(input);
                Values {
                    inputs,
                    ..values.clone()
                }
            };
            let more = all
                .iter()
                .flat_map(|values| given.clone().map(move |k| with(values, k)));
            all = more.collect();
        }
        all
    }
}

/// Whether a formula holds for some values, according to the oracle.
fn holds(formula: &str, values: &Values) -> bool {
    let mut text = format!("var n: int = {}\nvar b: bool = {}\n", values.n, values.b);
    let mut formula = formula.to_owned();
    for (process, value) in values.inputs.iter().enumerate() {
        formula = formula.replace(&format!("{process}#0"), &format!("input_{process}"));
        let _ = writeln!(text, "var input_{process}: int = {value}");
    }
    let _ = write!(text, "ensures {formula}\nprocess {{ skip }}\n");
    match judge(&text, &oracle::Limits::default()) {
        Answer::Truth(truth) => truth.failures.is_empty(),
        other => panic!("{other:?}\n{text}"),
    }
}

/// A property, and how to read it from the oracle's answer for known values.
type Property = (&'static str, fn(&Truth) -> bool);

fn value(truth: &[(String, i128)], name: &str) -> i128 {
    let found = truth.iter().find(|(known, _)| known == name);
    found.map_or(0, |(_, value)| *value)
}

const PROPERTIES: [Property; 5] = [
    ("deterministic", |truth| truth.deterministic != Some(false)),
    ("failure", |truth| !truth.failures.is_empty()),
    ("deadlock", |truth| truth.deadlock),
    ("x == y", |truth| {
        let mut ends = truth.final_states.iter();
        ends.all(|end| value(end, "x") == value(end, "y"))
    }),
    ("x <= 1", |truth| {
        truth.final_states.iter().all(|end| value(end, "x") <= 1)
    }),
];

fn condition(text: &str, property: &str, depth: Option<u64>) -> ConditionRecord {
    let program = Program::load("random.maz", text, &[]).expect("a program");
    let wanted = SoughtProperty::read(text, &[], property).expect("a property");
    let options = Options {
        limits: Limits {
            depth,
            ..Limits::default()
        },
        solver: mazurka::solving::SolverChoice::Embedded.into(),
        ..Options::default()
    };
    let found = program.condition(&wanted, &options, &mut quietly());
    found.unwrap_or_else(|why| panic!("{why}\n{text}"))
}

/// Checks the conditions of one program. An error says what is wrong; otherwise returns the number
/// of values that the conditions leave open, and the number of all values.
fn faults(seed: u64, depth: Option<u64>) -> Result<(usize, usize), String> {
    let template = template(seed);
    let (name, truly) = PROPERTIES[seed as usize % PROPERTIES.len()];
    let text = template.open();
    let found = condition(&text, name, depth);
    let (mut open, mut all) = (0, 0);
    for values in template.values() {
        let concrete = template.with(&values);
        let truth = match judge(&concrete, &oracle::Limits::default()) {
            Answer::Truth(truth) => truth,
            Answer::TooLarge => continue,
            other => return Err(format!("{other:?}\n{concrete}")),
        };
        let idle = truth.final_states.is_empty() && !truth.deadlock && truth.failures.is_empty();
        // All runs are discarded, but a failure happens before that: the failure counts, the runs
        // do not.
        let only_failures = truth.final_states.is_empty()
            && !truth.deadlock
            && !truth.failures.is_empty()
            && truth.discarded
            && name != "failure";
        let holds_here = |formula: &Option<String>| {
            let formula = formula.as_ref();
            formula.is_some_and(|formula| holds(formula, &values))
        };
        let (discarded, unknown) = (holds_here(&found.all_discarded), holds_here(&found.unknown));
        let (yes, no) = (holds(&found.holds, &values), holds(&found.fails, &values));
        all += 1;
        let fault = match () {
            () if discarded => (!idle && !only_failures).then_some("some run counts"),
            () if unknown => {
                open += 1;
                (yes || no).then_some("known and unknown")
            }
            () if yes == no => Some("neither or both"),
            // All runs are discarded, but the search within the limit has not found this out.
            () if idle && depth.is_some() => None,
            () if idle => Some("no run counts"),
            () => (yes != truly(&truth)).then_some("not so"),
        };
        if let Some(fault) = fault {
            let ConditionRecord {
                holds,
                fails,
                unknown,
                all_discarded,
                ..
            } = &found;
            return Err(format!(
                "seed {seed}, {name}, {values:?}: {fault}\n  holds {holds}\n  fails {fails}\n  \
                 unknown {unknown:?}\n  discarded {all_discarded:?}\n{text}"
            ));
        }
    }
    if depth.is_none() && found.exact && open > 0 {
        return Err(format!("seed {seed}: exact, and open\n{text}"));
    }
    Ok((open, all))
}

fn all_are_right(first: u64, count: u64) {
    let (mut open, mut all, mut programs_open) = (0, 0, 0);
    for seed in first..first + count {
        match faults(seed, None) {
            Ok((left, total)) => {
                open += left;
                all += total;
                programs_open += u64::from(left > 0);
            }
            Err(fault) => panic!("{fault}"),
        }
    }
    println!("{all} choices of values, {open} left open, {programs_open} of {count} programs");
    assert!(programs_open * 50 <= count, "{programs_open} of {count}");
}

#[test]
fn conditions_are_exact() {
    all_are_right(0, programs(60));
}

#[test]
#[ignore = "five thousand programs; .ci/long has it"]
fn conditions_of_many_programs_are_exact() {
    all_are_right(1_000_000, programs(5_000).min(5_000));
}

#[test]
fn conditions_within_a_depth_are_right_on_both_sides() {
    let (mut open, mut all) = (0, 0);
    for seed in 0..programs(60) {
        match faults(seed, Some(2 + seed % 4)) {
            Ok((left, total)) => {
                open += left;
                all += total;
            }
            Err(fault) => panic!("{fault}"),
        }
    }
    // Some values are left open, and some are decided nevertheless.
    assert!(open > 0 && open < all, "{open} of {all}");
}

#[test]
fn the_cases_of_a_condition_run() {
    for seed in 0..programs(40) {
        let template = template(seed);
        let (name, _) = PROPERTIES[seed as usize % PROPERTIES.len()];
        let text = template.open();
        let found = condition(&text, name, None);
        for case in &found.cases {
            let runs = if name == "deterministic" { 2 } else { 1 };
            assert_eq!(case.runs.len(), runs, "seed {seed}\n{text}");
            if name == "deterministic" {
                assert_ne!(
                    case.runs[0].state, case.runs[1].state,
                    "seed {seed}\n{text}"
                );
            }
        }
        let shown = if matches!(name, "failure" | "deadlock") {
            &found.holds
        } else {
            &found.fails
        };
        assert_eq!(
            found.cases.is_empty(),
            shown == "false",
            "seed {seed}\n{text}"
        );
    }
}
