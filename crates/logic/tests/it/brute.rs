//! Tests the calculus against brute force, with random programs over small domains and without
//! endless loops. A proof must be found exactly if brute force finds no violation, with and without
//! reduction, and the checker must accept it. A diamond must hold exactly if the oracle, which
//! follows only docs/language.md, finds a run that ends without a failure in a state that satisfies
//! the formula after the diamond.
//!
//! The long test: `MAZURKA_PROGRAMS=5000 cargo test --release -p mazurka-logic --test it brute:: --
//! --ignored`

use std::ops::ControlFlow;
use std::sync::Arc;

use mazurka_core::Bound;
use mazurka_core::record::ProgramRecord;
use mazurka_lang::{Machine, Setting};
use mazurka_logic::{Formula, Options, Theorem, check_proof, parse, prove, stated};
use mazurka_smt::Embedded;
use mazurka_testkit::oracle::{Answer, Limits, judge};
use mazurka_testkit::{Config, Dependence, Limit, generate, naive};

/// Returns a configuration for programs with small values, so that `i8` never wraps around by
/// accident and the embedded solver decides all questions.
fn config() -> Config {
    Config {
        processes: 3,
        interleavings: 400.0,
        access: false,
        ..Config::default()
    }
}

/// Makes some initial values of a generated program unknown. Returns the program and the names of
/// these variables.
fn symbolic(text: &str) -> (String, Vec<String>) {
    let mut unknown = Vec::new();
    let mut lines: Vec<String> = Vec::new();
    for line in text.replace(": int", ": i8").lines() {
        let declared = line.strip_prefix("var ").and_then(|rest| {
            let (name, rest) = rest.split_once(": i8 = ")?;
            rest.parse::<i64>().ok()?;
            (unknown.len() < 2).then(|| name.to_owned())
        });
        match declared {
            Some(name) => {
                lines.push(format!("var {name}: i8"));
                lines.push(format!("requires 0 <= {name} && {name} <= 2"));
                unknown.push(name);
            }
            None => lines.push(line.to_owned()),
        }
    }
    (lines.join("\n"), unknown)
}

/// Whether brute force finds no failure, and no deadlock, for all initial values; `None` if it
/// cannot decide.
fn truth(text: &str, unknown: &[String]) -> Option<(bool, bool)> {
    let (mut right, mut live) = (true, true);
    for case in 0..3usize.pow(unknown.len() as u32) {
        let set: Vec<Setting> = unknown
            .iter()
            .enumerate()
            .map(|(at, name)| Setting {
                name: name.clone(),
                value: (case / 3usize.pow(at as u32) % 3).to_string(),
            })
            .collect();
        let program = mazurka_lang::load(text, &set).ok()?;
        let code = mazurka_lang::compile(&program, text).ok()?;
        let mut machine = Machine::new(Arc::new(code), 1_000_000);
        let found = naive(&mut machine, Limit::default(), Dependence::Claimed).ok()?;
        if found.lost {
            return None;
        }
        right &= found.failures.is_empty();
        live &= found.deadlocks.is_empty();
    }
    Some((right, live))
}

/// Whether there is a proof; `None` if the search gave up.
fn proved(text: &str, reduce: bool) -> Option<bool> {
    let program = mazurka_lang::load(text, &[]).ok()?;
    let record = ProgramRecord {
        file: String::new(),
        hash: String::new(),
        set: Vec::new(),
        names: Vec::new(),
    };
    let options = Options {
        reduce,
        deadlock: true,
        ..Options::default()
    };
    let formula = stated(&program);
    let watch = &mut |goals: u64| {
        if goals > 4000 {
            ControlFlow::Break(Bound::Interrupted)
        } else {
            ControlFlow::Continue(())
        }
    };
    let solver = &mut Embedded::default();
    let theorem = Theorem {
        program: &program,
        source: text,
        record: &record,
        goal: None,
        formula: &formula,
    };
    let found = prove(&theorem, &options, solver, watch);
    let found = found.ok()?;
    if !found.bounds.is_empty() || found.unfolded {
        return None;
    }
    // Without an invariant, the search cannot complete an unbounded loop within one step.
    let too_much = |goal: &mazurka_core::proof::OpenGoal| goal.why.contains("does too much");
    if found.open.iter().any(too_much) {
        return None;
    }
    let closed = found.proof.is_closed();
    assert!(
        closed || !found.refutations.is_empty(),
        "neither proved nor refuted:\n{text}"
    );
    let checked = check_proof(&found.proof, &theorem, &mut Embedded::default());
    assert_eq!(checked.is_ok(), closed, "{checked:?}\n{text}");
    Some(closed)
}

/// Whether a goal without a rule holds, decided by execution; `None` if that is unknown. Without a
/// goal, the formula is the disjunction of the file's box with itself.
fn executed(text: &str, goal: Option<&str>) -> Option<bool> {
    let program = mazurka_lang::load(text, &[]).ok()?;
    let record = ProgramRecord {
        file: String::new(),
        hash: String::new(),
        set: Vec::new(),
        names: Vec::new(),
    };
    let formula = match goal {
        Some(goal) => parse(goal, &program).expect(goal),
        None => {
            let twice = || Box::new(stated(&program));
            Formula::Or(twice(), twice())
        }
    };
    assert!(!formula.has_rules());
    let theorem = Theorem {
        program: &program,
        source: text,
        record: &record,
        goal: None,
        formula: &formula,
    };
    let watch = &mut |states: u64| {
        if states > 2000 {
            ControlFlow::Break(Bound::Interrupted)
        } else {
            ControlFlow::Continue(())
        }
    };
    let solver = &mut Embedded::default();
    let found = prove(&theorem, &Options::default(), solver, watch).ok()?;
    let known = found.closed || !found.refutations.is_empty();
    known.then_some(found.closed)
}

fn agree(first: u64, programs: u64) {
    let (mut compared, mut executions) = ([0, 0], 0);
    for seed in first..first + programs {
        let (text, unknown) = symbolic(&generate(seed, &config()).to_string());
        let Some((right, live)) = truth(&text, &unknown) else {
            continue;
        };
        let fine = right && live;
        if let Some(holds) = executed(&text, None) {
            assert_eq!(holds, right, "by executing it, seed {seed}\n{text}");
            executions += 1;
        }
        for reduce in [true, false] {
            if let Some(proved) = proved(&text, reduce) {
                assert_eq!(proved, fine, "reduce: {reduce}, seed {seed}\n{text}");
                compared[usize::from(fine)] += 1;
            }
        }
    }
    println!("{compared:?} of {programs} programs: wrong, right");
    assert!(
        compared[0] * 5 > programs && compared[1] * 10 > programs,
        "{compared:?}"
    );
    assert!(executions * 3 > programs, "{executions}");
}

#[test]
fn proofs_are_found_exactly_where_brute_force_finds_nothing_wrong() {
    agree(0, 150);
}

#[test]
#[ignore = "long"]
fn many_proofs_are_found_where_brute_force_finds_nothing_wrong() {
    let programs = std::env::var("MAZURKA_PROGRAMS").ok();
    agree(
        10_000,
        programs.and_then(|n| n.parse().ok()).unwrap_or(5000),
    );
}

/// Adds `requires` which say that the invariants hold in the initial state. If an invariant did not
/// hold in the initial state, every run would count as failed for a diamond.
fn with_required_invariants(text: &str) -> String {
    let line = |line: &str| match line.strip_prefix("invariant ") {
        Some(invariant) => format!("requires {invariant}\n{line}\n"),
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// Returns, for each value of a variable, the number of initial states with a run that ends with
/// this value; the number of all initial states; and whether some run fails. `None` if this is
/// unknown.
fn endings(text: &str, unknown: &[String], variable: &str) -> Option<([usize; 3], usize, bool)> {
    let (mut ending, mut cases, mut fails) = ([0; 3], 0, false);
    for case in 0..3usize.pow(unknown.len() as u32) {
        let mut known = text.to_owned();
        for (at, name) in unknown.iter().enumerate() {
            let value = case / 3usize.pow(at as u32) % 3;
            let declared = format!("var {name}: i8\n");
            known = known.replace(&declared, &format!("var {name}: i8 = {value}\n"));
        }
        let limits = Limits {
            states: 20_000,
            ..Limits::default()
        };
        let truth = match judge(&known, &limits) {
            Answer::Truth(truth) => truth,
            Answer::Impossible => continue,
            _ => return None,
        };
        cases += 1;
        fails |= !truth.failures.is_empty();
        for (value, count) in (0..).zip(&mut ending) {
            let mut ends = truth.final_states.iter().flatten();
            *count += usize::from(ends.any(|(name, end)| name == variable && *end == value));
        }
    }
    (cases > 0).then_some((ending, cases, fails))
}

/// Compares `<*> v == k`, and its negation, with the runs that end.
fn diamonds_agree(first: u64, programs: u64) {
    let (mut compared, mut failing) = ([0, 0], 0);
    for seed in first..first + programs {
        let (text, unknown) = symbolic(&generate(seed, &config()).to_string());
        let text = with_required_invariants(&text);
        let observed = text.contains("observe");
        let Some(variable) = unknown.first().filter(|_| !observed) else {
            continue;
        };
        let Some((ending, cases, fails)) = endings(&text, &unknown, variable) else {
            continue;
        };
        for (value, count) in ending.into_iter().enumerate() {
            let goal = format!("<*> {variable} == {value}");
            for (goal, holds) in [(format!("!({goal})"), count == 0), (goal, count == cases)] {
                if let Some(executed) = executed(&text, Some(&goal)) {
                    assert_eq!(executed, holds, "{goal}, seed {seed}\n{text}");
                    compared[usize::from(holds)] += 1;
                    failing += u64::from(fails);
                }
            }
        }
    }
    println!(
        "{compared:?} diamonds of {programs} programs: false, true; {failing} with failing runs"
    );
    assert!(compared.iter().all(|&n| n * 2 > programs), "{compared:?}");
    assert!(failing * 2 > programs, "{failing}");
}

#[test]
fn diamonds_are_about_runs_that_end() {
    diamonds_agree(0, 150);
}

#[test]
#[ignore = "long"]
fn many_diamonds_are_about_runs_that_end() {
    let programs = std::env::var("MAZURKA_PROGRAMS").ok();
    diamonds_agree(
        10_000,
        programs.and_then(|n| n.parse().ok()).unwrap_or(5000),
    );
}
