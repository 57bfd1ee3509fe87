//! Compares the oracle with the figures of the corpus, which were counted independently, and the
//! generators with the oracle.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use mazurka::{Algorithm, Options, Program, quietly};
use mazurka_testkit::features::{Feature, Pairs, features};
use mazurka_testkit::mutate::mutate;
use mazurka_testkit::oracle::{Answer, Failure, FailureKind, Limits, Truth, judge, parse, print};
use mazurka_testkit::swarm::{BATCH, swarm};

/// The part of a `[[case]]` of an `expect.toml` that the oracle can decide.
#[derive(Debug, Default)]
struct Case {
    set: Vec<(String, i128)>,
    deterministic: Option<bool>,
    deadlocks: Option<i128>,
    failures: Option<i128>,
    final_states: Option<i128>,
    discarded: Option<i128>,
    too_large: bool,
    verified: bool,
}

fn number(text: &str) -> i128 {
    match text {
        "true" => 1,
        "false" => 0,
        digits => digits.parse().expect("a number"),
    }
}

fn settings(text: &str) -> Vec<(String, i128)> {
    let inner = text.trim_matches(|c| "{} ".contains(c));
    let pairs = inner.split(',').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (name.trim().into(), number(value.trim())))
        .collect()
}

fn cases(text: &str) -> Vec<Case> {
    let mut all = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with("[[") {
            inside = line == "[[case]]";
            if inside {
                all.push(Case::default());
            }
        }
        let Some((key, value)) = line.split_once('=') else {
            continue;
        };
        let value = value.trim();
        let Some(case) = all.last_mut().filter(|_| inside) else {
            continue;
        };
        match key.trim() {
            "set" => case.set = settings(value),
            "check" => case.verified = value == "\"verified\"",
            "deterministic" => case.deterministic = Some(value == "true"),
            "deadlocks" => case.deadlocks = Some(number(value)),
            "failures" => case.failures = Some(number(value)),
            "final_states" => case.final_states = Some(number(value)),
            "discarded" => case.discarded = Some(number(value)),
            "brute_force" => case.too_large = value == "false",
            _ => {}
        }
    }
    all
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn programs() -> Vec<PathBuf> {
    let folder = root().join("corpus/maz");
    let mut all: Vec<_> = fs::read_dir(folder)
        .expect("the corpus")
        .map(|entry| entry.expect("a folder").path())
        .collect();
    all.sort();
    all
}

fn texts() -> Vec<String> {
    let read = |path: PathBuf| fs::read_to_string(path).expect("a program");
    // The parser replaces sugar, so printing does not restore it.
    let prints = |path: &PathBuf| !path.to_string_lossy().contains("/data-");
    programs()
        .into_iter()
        .filter(prints)
        .map(|path| read(path.join("program.maz")))
        .collect()
}

/// Returns where the oracle and the corpus disagree.
fn differences(case: &Case, truth: &Truth, inputs: bool) -> Vec<String> {
    let mut all = Vec::new();
    let mut compare = |what: &str, wanted: Option<i128>, found: i128| {
        if wanted.is_some_and(|wanted| wanted != found) {
            all.push(format!("{what}: {found}, not {wanted:?}"));
        }
    };
    let some = |count: Option<i128>| count.map(|count| i128::from(count > 0));
    let deterministic = truth.deterministic.map(i128::from);
    compare(
        "deterministic",
        case.deterministic.map(i128::from),
        deterministic.unwrap_or(-1),
    );
    compare("deadlocks", some(case.deadlocks), truth.deadlock.into());
    compare(
        "failures",
        some(case.failures),
        (!truth.failures.is_empty()).into(),
    );
    compare("discarded", some(case.discarded), truth.discarded.into());
    if !inputs {
        // With inputs, the final states in the corpus are terms, which the oracle does not have.
        compare(
            "final states",
            case.final_states,
            truth.final_states.len() as i128,
        );
    }
    let fails = truth.deadlock || !truth.failures.is_empty() || truth.livelock;
    if case.verified && fails {
        all.push("it is verified".into());
    }
    all
}

#[test]
fn the_oracle_agrees_with_the_corpus() {
    let (mut compared, mut skipped) = (0, 0);
    for path in programs() {
        let text = fs::read_to_string(path.join("program.maz")).expect("a program");
        let expected = fs::read_to_string(path.join("expect.toml")).expect("its figures");
        let inputs = expected.contains("needs = ");
        for case in cases(&expected).into_iter().filter(|case| !case.too_large) {
            let limits = Limits {
                states: 20_000,
                set: case.set.clone(),
                ..Limits::default()
            };
            match judge(&text, &limits) {
                Answer::Truth(truth) => {
                    let all = differences(&case, &truth, inputs);
                    assert!(all.is_empty(), "{}: {case:?}: {all:?}", path.display());
                    compared += 1;
                }
                Answer::TooLarge => skipped += 1,
                Answer::Impossible => panic!("{}: impossible", path.display()),
                Answer::Refused(why) => panic!("{}: {why}", path.display()),
            }
        }
    }
    assert!(
        compared > 200 && skipped < 20,
        "{compared} compared, {skipped} too large"
    );
}

#[test]
fn printing_changes_no_program() {
    let generated = (0..200).map(|at| swarm(at * BATCH / 2));
    for text in texts().into_iter().chain(generated) {
        let once = print(&parse(&text).expect("a program"));
        let again = print(&parse(&once).expect("a printed program"));
        assert_eq!(once, again);
    }
}

fn truth(text: &str) -> Truth {
    match judge(text, &Limits::default()) {
        Answer::Truth(truth) => truth,
        other => panic!("{other:?}"),
    }
}

fn failures(text: &str) -> BTreeSet<(u32, FailureKind)> {
    let all = truth(text).failures.into_iter();
    all.map(|Failure { line, kind }| (line, kind)).collect()
}

#[test]
fn failures_count_unless_a_false_assume_happens_before_them() {
    let error = BTreeSet::from([(1, FailureKind::Error)]);
    let independent = "var x: int = 1  process { x := 0; error }  process { assume x == 0 }";
    assert_eq!(failures(independent), error);
    let after = "var x: int = 0  process { assume x == 1; x := 2 }
        process { x := 1; await x == 2; error }  process { x := 3 }";
    assert!(!failures(after).is_empty());
    let never = "var x: int = 0  process { x := 1; assume false }  process { await x == 1; error }";
    assert_eq!(failures(never), BTreeSet::new());
    assert!(truth(never).discarded);
}

#[test]
fn the_defects_that_the_issue_lists_are_found() {
    let child = "var y: int = 5
        process { let q = y; spawn { if q <= 3 { y := 0; error } } }
        process { y := 0 }";
    assert_eq!(failures(child), BTreeSet::from([(2, FailureKind::Error)]));
    let symbolic =
        "var x: int = 0  var y: i8  ensures x == 2  process { x := 3 }  process { x := 2 }";
    assert_eq!(truth(symbolic).deterministic, Some(false));
    let other = "var x: i32 = 0
        process { let a = spawn { x := 0 }; let b = spawn { join a; let l: i32 = x } }";
    assert!(!truth(other).deadlock && truth(other).failures.is_empty());
    let never = judge(
        "var c: int = 0  requires c > 0  process { c := 7 }",
        &Limits::default(),
    );
    assert_eq!(never, Answer::Impossible);
}

#[test]
fn generated_programs_are_mostly_judged_and_of_all_kinds() {
    let limits = Limits {
        states: 2000,
        ..Limits::default()
    };
    let texts = texts();
    let swarmed = (0..300).map(|at| swarm(at * 17));
    let mutated = (0..100).filter_map(|seed| mutate(seed, &texts));
    let (mut judged, mut refused) = (0, 0);
    let mut pairs = Pairs::default();
    for text in swarmed.chain(mutated) {
        match judge(&text, &limits) {
            Answer::Truth(truth) => {
                judged += 1;
                pairs.count(
                    &features(&text),
                    truth.deadlock || !truth.failures.is_empty(),
                );
            }
            Answer::TooLarge => {}
            Answer::Impossible | Answer::Refused(_) => refused += 1,
        }
    }
    assert!(
        judged > 250 && refused < 20,
        "{judged} judged, {refused} refused"
    );
    for feature in Feature::ALL {
        assert!(
            pairs.counts(feature, feature).0 > 0,
            "{feature:?} never occurs"
        );
    }
    assert!(pairs.to_string().contains("pairs without a violation"));
}

/// An invariant is also checked after steps that write a variable which only an index in the
/// invariant reads.
#[test]
fn a_conditional_index_is_not_constant() {
    let text = "
        var z: int = 1
        var a: int[2] = 0
        invariant a[if z == 0 then 0 else 1] <= 1
        process { a[0] := 2 }
        process { z := 0 }
    ";
    let truth = truth(text);
    // Whichever of the two steps comes second breaks the invariant.
    assert!(truth.final_states.is_empty(), "{truth:?}");
    assert_eq!(truth.failures.len(), 1, "{truth:?}");
}

/// Whether the step waits depends on its input. The oracle does not remember inputs, so it gives no
/// answer.
#[test]
fn a_step_that_waits_for_some_inputs_is_not_supported() {
    let text = "
        var x: i8[2] = 0
        process { atomic { x[0] := input(i8); await x[1] > x[0] } }
    ";
    let answer = judge(text, &Limits::default());
    assert!(matches!(answer, Answer::TooLarge), "{answer:?}");
}

/// A failure halts a process without ending it (docs/language.md, Verdicts), so it is not a way out
/// of a server: replacing `assert false` by `error` must change nothing.
#[test]
fn a_failure_does_not_end_a_server() {
    let livelock = |source: &str| match judge(source, &Limits::default()) {
        Answer::Truth(truth) => truth.livelock,
        other => panic!("{source}: {other:?}"),
    };
    for failure in ["error", "assert false"] {
        let head = format!("var x: int = 0 proc test() {{ if x == 5 {{ {failure} }} }}");
        for (body, expected) in [
            ("while true { test(); x := 1 - x }", false),
            ("test(); while true { x := 1 - x }", false),
            ("for i in 0..2 { while true { test(); x := 1 - x } }", false),
            ("while true { x := 1 - x; while false { end } }", false),
            ("while x < 5 { x := 1 - x }; test()", true),
            (
                "for i in 2..2 { while true { test() } } while x < 5 { x := 1 - x }",
                true,
            ),
        ] {
            let source = format!("{head} process {{ {body} }}");
            assert_eq!(livelock(&source), expected, "{source}");
        }
    }
}

/// A send to an unbounded channel never waits: its index is evaluated only if the alternative is
/// chosen.
#[test]
fn an_alternative_that_is_always_open_is_not_evaluated() {
    let text = "
        chan r[2][..4]: int
        var x: int = 6
        process { select { r[x] ! 4 |> { skip } [] x > 0 |> { x := 0 } } }
    ";
    let truth = truth(text);
    assert_eq!((truth.final_states.len(), truth.failures.len()), (1, 1));
    let program = Program::load("found", text, &[]).expect("a program");
    let record = program
        .explore(Algorithm::Optimal, &Options::default(), &mut quietly())
        .expect("a record");
    let counts = &record.counts;
    assert_eq!((counts.final_states, counts.failures), (1, 1));
}
