//! `refines`: compares random pairs of programs with brute force, which executes every run of both
//! and compares the observations run by run.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::common::programs;
use mazurka::replay::Recording;
use mazurka::{Options, Program, Verdict, quietly};
use mazurka_core::{Execution, Kind, Status, with_status};
use mazurka_explore::next_outcomes;
use mazurka_lang::{Machine, compile, load};
use mazurka_testkit::Rng;

fn any_of(rng: &mut Rng, all: &[&str]) -> String {
    (*rng.pick(all).expect("not empty")).to_owned()
}

fn statement(rng: &mut Rng) -> String {
    let simple = [
        "x := 1",
        "x := 2",
        "x := x + 1",
        "y := 1",
        "y := x",
        "h := 1",
        "h := x",
        "x, y := y, x",
        "x := choose(0..3)",
        "h := choose(0..2)",
        "y := h",
        "lock(m); x := 1; unlock(m)",
    ];
    let test = ["x == 0", "x == 1", "h == 1", "y == x", "y == 0"];
    match rng.below(8) {
        0 => format!("{} |> {}", any_of(rng, &test), any_of(rng, &simple)),
        1 => format!("if {} {{ {} }}", any_of(rng, &test), any_of(rng, &simple)),
        2 => format!(
            "atomic {{ {}; {} }}",
            any_of(rng, &simple[..10]),
            any_of(rng, &simple[..10])
        ),
        3 => match rng.below(3) {
            0 => format!("assume {}", any_of(rng, &test)),
            1 => format!("assert {}", any_of(rng, &test)),
            _ => "x := 0".to_owned(),
        },
        _ => any_of(rng, &simple),
    }
}

fn processes(rng: &mut Rng) -> Vec<Vec<String>> {
    let process = |rng: &mut Rng| (0..1 + rng.below(2)).map(|_| statement(rng)).collect();
    (0..1 + rng.below(2)).map(|_| process(rng)).collect()
}

fn text(head: &str, processes: &[Vec<String>]) -> String {
    let mut text = format!("{head}var x, y, h: int = 0\nlock m\n");
    for body in processes {
        text += &format!("process {{ {} }}\n", body.join("; "));
    }
    text
}

/// Returns a program and its specification, which is often the same with something added or
/// removed.
fn pair(rng: &mut Rng) -> (String, String) {
    let concrete = processes(rng);
    let mut other = if rng.percent(70) {
        concrete.clone()
    } else {
        processes(rng)
    };
    for _ in 0..rng.below(3) {
        let at = rng.below(other.len());
        let body = &mut other[at];
        match rng.below(4) {
            0 => body.push(statement(rng)),
            1 if body.len() > 1 => drop(body.remove(0)),
            2 => body[0] = format!("if h == 0 {{ h := choose(0..2) }}; {}", body[0]),
            _ => {
                let last = body.len() - 1;
                body[last] = statement(rng);
            }
        }
    }
    let via = any_of(
        rng,
        &["x -> x", "x -> x, y -> y", "y -> x", "x -> x, h -> y"],
    );
    let head = format!("refines \"spec.maz\" via {{ {via} }}\nallows failure, deadlock\n");
    (text(&head, &concrete), text("", &other))
}

/// The observations of all runs, and of the final ones.
type Observations = (BTreeSet<Vec<Vec<i64>>>, BTreeSet<Vec<Vec<i64>>>);

fn runs(machine: &mut Machine, cells: &[u32], so_far: &[Vec<i64>], seen: &mut Observations) {
    if !with_status(machine, Status::Discarded).is_empty() {
        return;
    }
    let now: Vec<i64> = cells.iter().map(|&cell| machine.value(cell)).collect();
    let mut so_far = so_far.to_vec();
    if so_far.last() != Some(&now) {
        so_far.push(now);
    }
    seen.0.insert(so_far.clone());
    if machine.is_final() {
        seen.1.insert(so_far.clone());
    }
    let depth = machine.events().len();
    for process in with_status(machine, Status::Ready) {
        let mut outcomes = Some(Vec::new());
        while let Some(values) = outcomes {
            let event = machine.step(process, &values).expect("it is ready");
            outcomes = next_outcomes(event).map(|values| values.to_vec());
            runs(machine, cells, &so_far, seen);
            machine.back_to(depth);
        }
    }
}

fn all_runs(text: &str, names: &[&str]) -> Observations {
    let code = compile(&load(text, &[]).expect("a program"), text).expect("nothing to refuse");
    let parts = names.iter().flat_map(|name| code.parts_of(name));
    let cells: Vec<u32> = parts.flat_map(|part| part.cells).collect();
    let mut machine = Machine::new(Arc::new(code), 1_000_000);
    let mut seen = Observations::default();
    runs(&mut machine, &cells, &[], &mut seen);
    seen
}

fn compare(first: u64, programs: u64) -> [u64; 2] {
    let mut found = [0; 2];
    for seed in first..first + programs {
        let (concrete, other) = pair(&mut Rng::new(seed));
        let via = concrete.split(['{', '}']).nth(1).expect("what is observed");
        let (ours, theirs): (Vec<&str>, Vec<&str>) = via
            .split(',')
            .filter_map(|pair| pair.split_once("->"))
            .map(|(ours, theirs)| (ours.trim(), theirs.trim()))
            .unzip();
        let (a, b) = (all_runs(&concrete, &ours), all_runs(&other, &theirs));
        let holds = a.0.is_subset(&b.0) && a.1.is_subset(&b.1);
        let program = Program::load("random.maz", &concrete, &[]).expect("a right program");
        let spec = Program::load("spec.maz", &other, &[]).expect("a right program");
        let options = Options {
            specification: Some(Arc::new(spec)),
            ..Options::default()
        };
        let record = program
            .check(&options, &mut quietly())
            .expect("all is known");
        let verdict = if holds {
            Verdict::Verified
        } else {
            Verdict::Violated
        };
        assert_eq!(record.verdict, verdict, "seed {seed}\n{concrete}\n{other}");
        if !holds {
            let [shown] = &record.witnesses[..] else {
                panic!("{:?}\n{concrete}", record.witnesses);
            };
            assert_eq!((shown.kind, shown.runs.len()), (Kind::Property, 1));
            let saved = serde_json::to_string(&record).expect("a record");
            let recording = Recording::parse(&saved).expect("its own record");
            let again = program.replay(&recording, &options);
            let again = again.unwrap_or_else(|error| panic!("{error}\n{concrete}\n{other}"));
            assert_eq!(again.witnesses, record.witnesses, "{concrete}\n{other}");
        }
        found[usize::from(!holds)] += 1;
    }
    println!("{programs} pairs, refining and not: {found:?}");
    found
}

#[test]
fn agrees_with_brute_force() {
    let programs = programs(300);
    let found = compare(0, programs);
    assert!(
        found.iter().all(|&count| count > programs / 10),
        "{found:?}"
    );
}

/// Run with `cargo test -p mazurka-testkit -- --ignored`; `MAZURKA_PROGRAMS=n` for more.
#[test]
#[ignore = "takes minutes"]
fn agrees_with_brute_force_for_long() {
    let found = compare(1_000_000, programs(50_000));
    assert!(found.iter().all(|&count| count > 0), "{found:?}");
}
