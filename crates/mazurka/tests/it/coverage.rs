//! Tests coverage: every engine reaches the same parts of a program, and there are warnings about
//! the other parts.

use std::fs;
use std::path::Path;
use std::time::Duration;

use mazurka::record::{Branch, Coverage, Record};
use mazurka::search::{Limits, TestCoverage};
use mazurka::{Algorithm, Options, Program, Verdict, quietly};

fn load(source: &str) -> Program {
    let read = Program::load("test.maz", source, &[]);
    read.unwrap_or_else(|mistakes| panic!("{mistakes:#?}"))
}

fn covering(jobs: usize, limits: Limits) -> Options {
    Options {
        cover: true,
        jobs,
        limits,
        ..Options::default()
    }
}

fn check(source: &str) -> Record {
    let options = covering(1, Limits::default());
    let checked = load(source).check(&options, &mut quietly());
    checked.expect("a record")
}

/// Returns the codes of the warnings, each with the text to which it points.
#[track_caller]
fn warned(source: &str) -> Vec<(String, String)> {
    let record = check(source);
    assert!(record.scope.exhaustive, "{record:#?}");
    let text = |at: mazurka::record::SpanRecord| {
        let line = source.lines().nth(at.line - 1).expect("a line");
        line.chars().skip(at.column - 1).take(at.length).collect()
    };
    let warnings = record.warnings.into_iter();
    let told = warnings.map(|w| (w.code, w.span.map(text).unwrap_or_default()));
    told.collect()
}

#[test]
fn there_are_warnings_about_unreached_parts() {
    let cases: &[(&str, &[(&str, &str)])] = &[
        (
            "var x: int = 0 process { while true { x := 1 - x }; x := 2 } allows livelock",
            &[("W0201", "x := 2")],
        ),
        (
            "var x: int = 0 process { x := 1 } process { if x > 1 { x := 5 } }",
            &[("W0202", "x > 1")],
        ),
        (
            "var x: int = 0 process { while x == 3 { x := 5 }; x := 1 }",
            &[("W0202", "x == 3")],
        ),
        (
            "var x: int = 0 process { for i in x..0 { x := i } }",
            &[("W0202", "x..0")],
        ),
        (
            "var x: int = 0 process { x := 1 } process { if x >= 0 { x := 1 } }",
            &[("W0203", "x >= 0")],
        ),
        (
            "var x: int = 0 allows deadlock process { x := 1 } process { await x == 2; x := 3 }",
            &[("W0204", "x == 2"), ("W0201", "x := 3")],
        ),
        // An operation that never returns: it has no `return`, so no `return` is reported as never
        // reached.
        (
            "allows deadlock var x: int = 0
             op get() { x > 5 |> skip }
             op set(v: 1..2) { x := v }
             spec object for 2 clients of 1 operations {
                 var y: int = 0
                 op get() { assume y > 5 }
                 op set(v: 1..2) { y := v }
             }",
            &[("W0204", "x > 5")],
        ),
        (
            "var x: int = 0 process { if x == 1 { assert x > 1 } }",
            &[("W0202", "x == 1"), ("W0205", "assert x > 1")],
        ),
        (
            "var x: int = 0 process { assume x == 1; x := 2; assert x == 3 }",
            &[
                ("W0206", "assume x == 1"),
                ("W0201", "x := 2"),
                ("W0205", "assert x == 3"),
            ],
        ),
        // A guard that is true but whose step is never possible, because the lock after it is never
        // free.
        (
            "var x: int = 0 lock m allows deadlock
             process { lock(m); x := 1 }
             process { await x == 1; atomic { await x == 1; lock(m) }; x := 2 }",
            &[
                ("W0204", "atomic { await x == 1; lock(m) }"),
                ("W0201", "x := 2"),
            ],
        ),
    ];
    for (source, expected) in cases {
        let expected: Vec<(String, String)> = expected
            .iter()
            .map(|&(code, text)| (code.to_owned(), text.to_owned()))
            .collect();
        let mut found = warned(source);
        // Sorted by code and text: the renderer sorts by place.
        found.sort();
        let mut sorted = expected;
        sorted.sort();
        assert_eq!(found, sorted, "{source}");
    }
}

#[test]
fn there_are_no_warnings_about_intended_code() {
    let fine = [
        // Alarms need not be reachable.
        "var x: int = 0 process { x := 1 } process { if x > 1 { error } }",
        "var x: int = 0 process { x := 1 } process { if x > 1 { x := 3; error \"no\" } }",
        "var x: int = 0 process { if x == 0 { x := 1 } else { assert false } }",
        // Endless processes, and constants that choose a branch.
        "var x: int = 0 process { while true { x := 1 - x } }",
        "const N = 0 var x: int = 0 process { if N > 0 { x := 1 } else { x := 2 } }",
        "var x: int[2] = 0 process p (i in 0..2) { if i == 0 { x[0] := 1 } else { x[1] := 1 } }",
        "const N = 0 var x: int = 1 process { for i in 0..N { x := i } }",
        // A procedure that returns, one that is spawned, and local work before the first step.
        "var x: int = 0 proc p(n: int) { if n > 0 { p(n - 1) }; x := n } process { p(2); x := 7 }",
        "var x: int = 0 proc p() { x := 1 } process { spawn p(); join; x := 2 }",
        "var x: int = 0 process { let t = 0; while t < 3 { t := t + 1 }; x := t }",
    ];
    for source in fine {
        assert_eq!(warned(source), [], "{source}");
    }
}

#[test]
fn documented_warnings_are_given_for_the_example_and_not_for_its_repair() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/diagnostics.md");
    let documented = fs::read_to_string(path).expect("the documentation");
    let mut tested = 0;
    for section in documented.split("\n### W").skip(1) {
        let code = format!("W{}", section.lines().next().unwrap_or_default());
        if code.contains(' ') {
            continue;
        }
        let blocks = section.split("```").skip(1).step_by(2);
        let examples: Vec<&str> = blocks
            .filter_map(|block| block.strip_prefix("text\n"))
            .collect();
        assert!(
            examples.len() >= 2,
            "{code} needs an example and its repair"
        );
        let gives = |source: &str| check(source).warnings.iter().any(|one| one.code == code);
        assert!(gives(examples[0]), "{code}: the example is fine");
        assert!(!gives(examples[1]), "{code}: the repair repairs nothing");
        tested += 1;
    }
    assert_eq!(tested, 12);
}

#[test]
fn there_are_no_warnings_about_unexplored_parts() {
    let source = "var x: int = 0 process { x := 1 } process { if x > 1 { x := 5 } }";
    let limits = Limits {
        steps: Some(1),
        ..Limits::default()
    };
    let options = covering(1, limits);
    let record = load(source).check(&options, &mut quietly());
    let record = record.expect("a record");
    assert_eq!(record.verdict, Verdict::Inconclusive);
    assert_eq!((record.coverage, record.warnings), (None, Vec::new()));
}

/// Conditions before the first step of a process count, and this program has no others.
#[test]
fn branches_before_the_first_step_are_covered() {
    let path = "../../corpus/maz/thesis-fig2-3/program.maz";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let source = fs::read_to_string(path).expect("a program");
    let explored = load(&source).explore_tests(
        Algorithm::Optimal,
        &covering(1, Limits::default()),
        &mut quietly(),
        &mut |_, _| {},
    );
    let (record, TestCoverage { tests, coverage }) = explored.expect("a record");
    assert!(tests > 2 && record.verdict == Verdict::Violated);
    let sides = |branch: &Branch| (branch.place.line, branch.held, branch.failed);
    let taken: Vec<_> = coverage.branches.iter().map(sides).collect();
    assert_eq!(taken, [(8, true, true), (9, true, true), (10, true, true)]);
    assert_eq!((coverage.statements, coverage.reached), (6, 6));
}

/// Returns the coverage according to an engine, if it explores everything within the limits.
fn covered(program: &Program, algorithm: Algorithm, jobs: usize) -> Option<Coverage> {
    let limits = Limits {
        steps: Some(3000),
        time: Some(Duration::from_secs(5)),
        ..Limits::default()
    };
    let options = covering(jobs, limits);
    let record = program.explore(algorithm, &options, &mut quietly());
    record.ok()?.coverage
}

#[test]
fn all_engines_reach_the_same() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/maz");
    let mut compared = 0;
    for entry in fs::read_dir(corpus).expect("the corpus") {
        let path = entry.expect("a folder").path();
        let Ok(source) = fs::read_to_string(path.join("program.maz")) else {
            continue;
        };
        let Ok(program) = Program::load("program.maz", &source, &[]) else {
            continue;
        };
        let mut first: Option<Coverage> = None;
        for &algorithm in Algorithm::ALL {
            let workers = match algorithm {
                Algorithm::Optimal | Algorithm::Naive => 1..=2,
                _ => 1..=1,
            };
            for jobs in workers {
                let Some(coverage) = covered(&program, algorithm, jobs) else {
                    continue;
                };
                compared += 1;
                let known = first.get_or_insert_with(|| coverage.clone());
                assert_eq!(*known, coverage, "{}: {algorithm}, {jobs}", path.display());
            }
        }
    }
    assert!(compared > 400, "{compared}");
}
