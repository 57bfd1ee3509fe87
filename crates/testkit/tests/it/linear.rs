//! `spec object`: compares random objects with brute force, which makes every run of all clients,
//! with separate steps for calls and returns, and tries every order of every history.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::common::programs;
use mazurka::replay::Recording;
use mazurka::{Algorithm, Options, Program, Verdict, quietly};
use mazurka_core::{Kind, Kinds, Limits};
use mazurka_testkit::objects::{Judgement, Object, brute, scrambled, weakened};
use mazurka_testkit::oracle::{Answer, Limits as OracleLimits, Observation, judge};

/// The maximal number of states for brute force.
const MOST: usize = 20_000;

fn is_right(object: &Object, truth: Judgement, seed: u64) {
    let text = object.text();
    let program = Program::load("random.maz", &text, &[]);
    let program = program.unwrap_or_else(|why| panic!("{why:?}\n{text}"));
    let options = Options::default();
    let record = program
        .check(&options, &mut quietly())
        .expect("it is explored");
    let verdict = if truth.linearizable {
        Verdict::Verified
    } else {
        Verdict::Violated
    };
    assert_eq!(record.verdict, verdict, "seed {seed}, {truth:?}\n{text}");
    if let [shown] = &record.witnesses[..] {
        assert!(shown.message.starts_with("not linearizable"), "{text}");
        assert!(!shown.history.is_empty(), "{text}");
        let saved = serde_json::to_string(&record).expect("a record");
        let recording = Recording::parse(&saved).expect("its own record");
        let again = program.replay(&recording, &options);
        let again = again.unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(again.witnesses, record.witnesses, "{text}");
    }
    assert_eq!(record.witnesses.is_empty(), truth.linearizable, "{text}");
    for &algorithm in Algorithm::ALL {
        let options = Options {
            limits: Limits {
                executions: Some(20_000),
                time: Some(Duration::from_secs(5)),
                ..Limits::default()
            },
            counted: Some(Kinds::of(&[Kind::Failure, Kind::Deadlock])),
            ..Options::default()
        };
        let found = program.explore(algorithm, &options, &mut quietly());
        let found = found.expect("it is explored");
        let failed = found.found().contains(Kind::Failure);
        if found.scope.exhaustive {
            let stuck = found.found().contains(Kind::Deadlock);
            assert_eq!(
                failed, !truth.linearizable,
                "{algorithm}, seed {seed}\n{text}"
            );
            // A violation of linearizability halts a client, so deadlocks may differ.
            let same = !truth.linearizable || stuck == truth.deadlock;
            assert!(same, "{algorithm}, seed {seed}: {truth:?}\n{text}");
        } else {
            assert!(
                !failed || !truth.linearizable,
                "{algorithm}, seed {seed}\n{text}"
            );
        }
    }
}

fn compare(make: fn(u64) -> Object, first: u64, programs: u64) -> [u64; 3] {
    let mut found = [0; 3];
    for seed in first..first + programs {
        let object = make(seed);
        match brute(&object, MOST) {
            Some(truth) => {
                found[usize::from(!truth.linearizable)] += 1;
                is_right(&object, truth, seed);
            }
            None => found[2] += 1,
        }
    }
    println!("{programs} objects, linearizable, not, too large: {found:?}");
    found
}

#[test]
fn scrambled_objects_agree_with_brute_force() {
    let programs = programs(40);
    let [right, wrong, _] = compare(scrambled, 0, programs);
    assert!(
        right > programs / 20 && wrong > programs / 20,
        "{right} {wrong}"
    );
}

#[test]
fn weakened_objects_agree_with_brute_force() {
    let programs = programs(100);
    let [right, wrong, _] = compare(weakened, 0, programs);
    assert!(
        right > programs / 20 && wrong > programs / 20,
        "{right} {wrong}"
    );
}

/// A call of an operation that puts a number into the object or takes one out, with the numbers
/// that the text of the model uses.
#[derive(Clone, Copy, Debug)]
enum Call {
    Put(i128),
    Take,
}

/// A model of `examples/`, with the data about it that the tests need.
struct Model {
    name: &'static str,
    calls: &'static [Call],
    /// `holds` is the initial content of the object; `from_the_end` says whether the number that
    /// was put last is taken first.
    holds: &'static [i128],
    from_the_end: bool,
    /// The variables of the object.
    vars: &'static [&'static str],
}

const MODELS: [Model; 2] = [
    Model {
        name: "michael-scott",
        calls: &[Call::Put(1), Call::Put(2), Call::Take],
        holds: &[],
        from_the_end: false,
        vars: &["value", "next", "head", "tail", "used"],
    },
    Model {
        name: "treiber-stack",
        calls: &[Call::Put(3), Call::Take],
        holds: &[1, 2],
        from_the_end: true,
        vars: &["value", "below", "top", "used", "spare"],
    },
];

const CLIENTS: usize = 2;
const CALLS: usize = 2;
const SLOTS: usize = CLIENTS * CALLS;

/// Returns the program of a model without operations: clients are processes, and variables of the
/// program record the history. A separate step writes each result.
fn written_out(model: &Model, text: &str, bug: u8) -> String {
    let (object, _) = text.split_once("spec object").expect("a specification");
    let object = object
        .replace("const BUG = 0", &format!("const BUG = {bug}"))
        .replace(
            "let node = used.fetch_add(1)",
            "let node = 0; atomic { node := used; used := used + 1 }",
        );
    let mut text = String::new();
    let mut returns_nothing = false;
    for line in object.lines() {
        let line = match line.strip_prefix("op ") {
            Some(head) => {
                returns_nothing = !head.contains("): int");
                let (name, _) = head.split_once('(').expect("parameters");
                let param = if returns_nothing { "v: int, " } else { "" };
                format!("proc {name}({param}c: int, s: int) {{")
            }
            None => match line.split_once("return") {
                Some((before, rest)) => {
                    let end = rest.find('}').unwrap_or(rest.len());
                    let (value, rest) = rest.split_at(end);
                    let result = match value.trim() {
                        "" => String::new(),
                        value => format!("result[s] := {value}; "),
                    };
                    format!("{before}{result}ended[c] := s + 1; return {rest}")
                }
                None if line == "}" && returns_nothing => "; ended[c] := s + 1 }".to_owned(),
                None => line.to_owned(),
            },
        };
        text += &format!("{line}\n");
    }
    let one = |(at, call): (usize, &Call)| {
        let put = if model.from_the_end {
            "push"
        } else {
            "enqueue"
        };
        let take = if model.from_the_end { "pop" } else { "dequeue" };
        let call = match call {
            Call::Put(number) => format!("{put}({number}, c, s)"),
            Call::Take => format!("{take}(c, s)"),
        };
        format!("if n == {at} {{ {call} }}")
    };
    let dispatch: Vec<String> = model.calls.iter().enumerate().map(one).collect();
    let (dispatch, most) = (dispatch.join(" else "), model.calls.len());
    let more = SLOTS * CLIENTS;
    text + &format!(
        "var ended: int[{CLIENTS}] = [i * {CALLS} for i in 0..{CLIENTS}]
var called, result: int[{SLOTS}] = 0
var seen: int[{more}] = 0
process client (c in 0..{CLIENTS}) {{
  for k in 0..{CALLS} {{
    let s = c * {CALLS} + k;
    let n = 0;
    atomic {{
      n := choose(0..{most});
      called[s] := n;
      for q in 0..{CLIENTS} {{ seen[s * {CLIENTS} + q] := ended[q] }}
    }};
    {dispatch}
  }}
}}
"
    )
}

/// Whether some order of the calls, all of which have returned, explains a history.
fn explained(model: &Model, history: &[i128], order: &mut Vec<usize>) -> bool {
    let (called, rest) = history.split_at(SLOTS);
    let (result, seen) = rest.split_at(SLOTS);
    if order.len() < SLOTS {
        return (0..SLOTS).any(|slot| {
            !order.contains(&slot) && {
                order.push(slot);
                let found = explained(model, history, order);
                order.pop();
                found
            }
        });
    }
    let mut held = model.holds.to_vec();
    order.iter().enumerate().all(|(at, &slot)| {
        let before = |other: usize| {
            let client = other / CALLS;
            (other as i128) < seen[slot * CLIENTS + client]
        };
        let kept = (0..SLOTS).all(|other| !before(other) || order[..at].contains(&other));
        let returned = match model.calls[called[slot] as usize] {
            Call::Put(number) => {
                held.push(number);
                0
            }
            Call::Take if held.is_empty() => 0,
            Call::Take if model.from_the_end => held.pop().unwrap_or_default(),
            Call::Take => held.remove(0),
        };
        kept && returned == result[slot]
    })
}

/// The oracle gets the models of `examples/` without operations. For each history that it finds,
/// brute force decides whether an order explains it. The tool and the oracle count the same
/// results.
#[test]
#[ignore = "takes a minute"]
fn the_objects_of_the_examples_have_the_expected_results() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let mut counts = Vec::new();
    for model in &MODELS {
        let path = format!("{folder}/{}.maz", model.name);
        let text = std::fs::read_to_string(&path).expect("an example");
        for bug in [0, 1] {
            let plain = written_out(model, &text, bug);
            let limits = OracleLimits {
                states: 1_000_000,
                ..OracleLimits::default()
            };
            let truth = match judge(&plain, &limits) {
                Answer::Truth(truth) => truth,
                other => panic!("{other:?}\n{plain}"),
            };
            let part = |state: &Observation, wanted: &[&str]| -> Vec<i128> {
                let variable = |name: &str| name.split('[').next().unwrap_or_default().to_owned();
                let known = |name: &str| wanted.iter().position(|one| *one == variable(name));
                let mut found: Vec<(usize, i128)> = state
                    .iter()
                    .filter_map(|(name, value)| Some((known(name)?, *value)))
                    .collect();
                found.sort_by_key(|(at, _)| *at);
                found.into_iter().map(|(_, value)| value).collect()
            };
            let all = || truth.final_states.iter();
            let log = ["called", "result", "seen"];
            let histories: BTreeSet<Vec<i128>> = all().map(|state| part(state, &log)).collect();
            let results: BTreeSet<Vec<i128>> = all().map(|state| part(state, model.vars)).collect();
            let wrong = histories.iter();
            let wrong = wrong.filter(|history| !explained(model, history, &mut Vec::new()));
            let wrong = wrong.count();
            assert_eq!(wrong > 0, bug == 1, "{}: {wrong}", model.name);
            assert!(!truth.deadlock && truth.failures.is_empty());
            counts.push((model.name, histories.len(), wrong, results.len()));
            let set = [("BUG".to_owned(), bug.to_string())];
            let program = Program::load(&path, &text, &set).expect("a program");
            let record = program
                .check(&Options::default(), &mut quietly())
                .expect("a record");
            assert_eq!(
                record.verdict == Verdict::Violated,
                bug == 1,
                "{}",
                model.name
            );
            match record.witnesses.first() {
                Some(shown) => assert!(shown.history.len() <= 6, "{:?}", shown.history),
                // A violation of linearizability halts a client, so only then do the counts differ.
                None => assert_eq!(record.counts.final_states as usize, results.len()),
            }
        }
    }
    // The number of histories, of those that no order explains, and of results.
    let wanted = [
        ("michael-scott", 2125, 0, 205),
        ("michael-scott", 2185, 60, 1045),
        ("treiber-stack", 500, 0, 36),
        ("treiber-stack", 508, 8, 66),
    ];
    assert_eq!(counts, wanted);
}

/// Run with `cargo test -p mazurka-testkit -- --ignored`; `MAZURKA_PROGRAMS=n` for more.
#[test]
#[ignore = "takes minutes"]
fn objects_agree_with_brute_force_for_long() {
    for make in [scrambled, weakened] {
        let [right, wrong, _] = compare(make, 1_000_000, programs(5_000));
        assert!(right > 0 && wrong > 0, "{right} {wrong}");
    }
}
