//! Tests the warnings about programs without mistakes.

use std::collections::BTreeSet;
use std::path::Path;

use mazurka_lang::load;

/// Returns the codes of the warnings about a program, each with the text at its place.
#[track_caller]
fn warned(source: &str) -> Vec<(&'static str, &str)> {
    let program = load(source, &[]).expect("a program");
    let warnings = program.warnings.iter();
    warnings.map(|w| (w.code, w.span.text(source))).collect()
}

#[test]
fn unused_declarations_cause_warnings() {
    let cases: &[(&str, &[(&str, &str)])] = &[
        ("var x, y: int = 0  process { x := 1 }", &[("W0101", "y")]),
        (
            "var x, y: int = 0  process { x := 1; y := 2; assert x == 1 }",
            &[("W0102", "y")],
        ),
        (
            "const N = 2  const M = 3  var a: int[N] = 0  process { a[0] := 1 }",
            &[("W0103", "M")],
        ),
        (
            "var x: int = 0  proc p() { q() }  proc q() { p(); x := 1 }  process { x := 2 }",
            &[("W0104", "p"), ("W0104", "q")],
        ),
        (
            "lock m  lock n[2]  var x: int = 0  process { lock(n[1]); x := 1; unlock(n[1]) }",
            &[("W0105", "m")],
        ),
        (
            "var x: int = 0  process { let t = x; let u = 1; x := u }",
            &[("W0106", "t")],
        ),
        (
            "var x: int = 0  process { let h = spawn { x := 1 }; x := 2 }",
            &[("W0106", "h")],
        ),
        // Each block has its own `t`.
        (
            "var x: int = 0  process { { let t = 1; x := t }; { let t = 2; t := 3 } }",
            &[("W0106", "t")],
        ),
    ];
    for (source, expected) in cases {
        assert_eq!(warned(source), *expected, "{source}");
    }
}

#[test]
fn used_declarations_cause_no_warnings() {
    let fine = [
        // By default all variables are observed in final states; `observe` names the variables that
        // are observed instead.
        "var x: int = 0  process { x := 1 }",
        "var x: int = 0  observe x  process { x := 1; assert true }",
        "var x: int = 0  expects deterministic  process { x := 1; assert true }",
        "var x: int = 0  invariant x >= 0  process { x := 1 }",
        "var x: int = 0  prove \"[*] x == 1\"  process { x := 1; assert true }",
        // A constant may be used in other constants, sizes, ranges and bounds.
        "const N = 1  const M = N + 1  var x: int = 0  process p (i in 0..M) { x := i }",
        // A process without instances uses the names in its body.
        "const N = 0  lock m  var x: int = 0  proc q() { x := 1 }
         process p (i in 0..N) { lock(m); q(); let t = x; x := t; unlock(m) }",
        // A loop counter counts rounds even if it is not read, and callers need a parameter.
        "var x: int = 0  proc q(n: int) { x := 1 }  process { for i in 0..3 { q(1) } }",
        "var x: int = 0  proc q() { x := 1 }  process { let h = spawn q(); join h }",
        "var x: int = 0  process { let _t = x }",
    ];
    for source in fine {
        assert_eq!(warned(source), [], "{source}");
    }
}

/// Returns the codes `W…` of a text.
fn codes_in(text: &str) -> BTreeSet<&str> {
    let starts = text.match_indices("W0").map(|(at, _)| at);
    let codes = starts.filter_map(|at| text.get(at..at + 5));
    let digits = |code: &&str| code[1..].bytes().all(|b| b.is_ascii_digit());
    codes.filter(digits).collect()
}

#[test]
fn every_warning_is_documented() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(root.join(path)).expect("a file");
    let sources = read("src/check/warnings.rs") + &read("src/tell/coverage.rs");
    let documented = read("../../docs/diagnostics.md");
    assert_eq!(codes_in(&sources).len(), 12);
    assert_eq!(codes_in(&sources), codes_in(&documented));
}
