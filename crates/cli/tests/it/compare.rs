//! Tests the answers and the refusals of `compare`.

use tempfile::TempDir;

use crate::support::{CommandResult, mazurka, with_input};

/// Compares two texts.
fn compare(one: &str, two: &str, flags: &[&str]) -> CommandResult {
    let folder = TempDir::new().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("written");
        path.to_str().expect("a name").to_owned()
    };
    let (one, two) = (file("one.maz", one), file("two.maz", two));
    let mut args = vec!["compare", &one, &two];
    args.extend(flags);
    mazurka(&args)
}

const N: &str = "var n: i8  var r: int = 0  process { if n > 3 { r := 1 } else { r := 2 } }";

#[test]
fn unknown_values_are_the_same_in_both() {
    let other = N.replace("n > 3", "n >= 3");
    let result = compare(N, &other, &["--format", "json"]);
    assert_eq!(result.code, 1, "{result:?}");
    let record = result.json();
    assert_eq!(record["difference"]["of"], 1);
    assert_eq!(record["difference"]["run"]["inputs"][0]["value"], "3");
    let result = compare(N, &other, &["--set", "n=4"]);
    assert_eq!(result.code, 0, "{result:?}");
    // The answer shows the value of an input even if only the other program reads it.
    let asks = "var x: int = 0  process { let a = input(bool); if a { x := 1 } }";
    let chooses = "var x: int = 0  process { x := choose(0..2) }";
    let result = compare(asks, chooses, &[]);
    assert_eq!(result.code, 1, "{result:?}");
    assert!(result.out.contains("for 0#0 = "), "{result:?}");
    assert_eq!(compare(chooses, asks, &["--within"]).code, 0);
    // The `requires` of a program restricts its outcomes.
    let fewer = format!("{N} requires n > 0");
    assert_eq!(compare(N, &fewer, &["--within"]).code, 0);
    assert_eq!(compare(&fewer, N, &["--within"]).code, 1);
    let none = format!("{N} requires n > 3 && n < 2");
    assert_eq!(compare(N, &none, &["--within"]).code, 3);
}

#[test]
fn endings_are_distinguished() {
    let ends = "var x: int = 0  process { x := 1 }";
    let fails = "var x: int = 0  process { x := 1; assert x != 1 }";
    let waits = "var x: int = 0  process { x := 1; await x == 0 }";
    for (one, two, says) in [
        (ends, fails, "a failure, with x = 1"),
        (ends, waits, "a deadlock, with x = 1"),
        (fails, ends, "the end, with x = 1"),
    ] {
        let result = compare(one, two, &[]);
        assert_eq!(result.code, 1, "{result:?}");
        assert!(result.out.contains(says), "{result:?}");
    }
}

#[test]
fn a_run_without_an_end_has_no_outcome() {
    let ends = "var x: int = 0  process { x := 1 }";
    let loops = "var x: int = 0  process { while x == 0 { x := choose(0..2) } }";
    let result = compare(ends, loops, &[]);
    assert_eq!(result.code, 0, "{result:?}");
    assert!(
        result.out.contains("without an end are not compared"),
        "{result:?}"
    );
}

#[test]
fn a_limit_leaves_it_open() {
    let one = "var x: int = 0  process { x := 1 }  process { x := 2 }";
    let two = "var x: int = 0  process { x := 2; x := 3; x := 1 }  process { x := 2 }";
    let result = compare(one, two, &["--max-steps", "2"]);
    assert_eq!(result.code, 2, "{result:?}");
    assert!(result.out.contains("--max-steps"), "{result:?}");
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let x = "var x: int = 0  process { x := 1 }";
    let y = "var x: int = 0  var y: int = 0  process { x := 1 }";
    let truth = "var x: bool = false  process { x := true }";
    for (one, two, flags, says) in [
        (x, y, &[][..], "observes `y`"),
        (x, y, &["--observe", "y"][..], "no shared variable `y`"),
        (x, truth, &[][..], "does not have the same type"),
    ] {
        let result = compare(one, two, flags);
        assert_eq!(result.code, 3, "{result:?}");
        assert!(result.err.contains(says), "{result:?}");
    }
    assert_eq!(compare(x, y, &["--observe", "x"]).code, 0);
    // Synchronisation objects are not part of the result.
    let takes = "semaphore s = 1  var x: int = 0  process { x := 1; acquire(s) }";
    assert_eq!(compare(x, takes, &[]).code, 0);
    let result = with_input(&["compare", "-", "-"], x);
    assert_eq!(result.code, 3, "{result:?}");
}

#[test]
fn actors_are_compared_by_what_they_observe() {
    let folder = TempDir::new().expect("a folder");
    let file = |name: &str, first: &str, second: &str| {
        let text = format!(
            "module M; interface I {{ Unit say(String s); }} class C implements I {{ Unit say(String s) {{ println(s); }} }} {{ I o = new C(); {first} {second} }}"
        );
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("written");
        path.to_str().expect("a name").to_owned()
    };
    let free = file("one.abs", "o!say(\"a\");", "o!say(\"b\");");
    let fixed = file("two.abs", "await o!say(\"a\");", "await o!say(\"b\");");
    let compare = |flags: &[&str]| {
        let mut args = vec!["compare", &free, &fixed, "--observe", "output"];
        args.extend(flags);
        mazurka(&args)
    };
    assert_eq!(compare(&[]).code, 1, "{:?}", compare(&[]));
    assert_eq!(compare(&["--within"]).code, 0);
    let result = mazurka(&["compare", &free, &fixed, "--observe", "C"]);
    assert!(
        result.code == 3 && result.err.contains("by their output"),
        "{result:?}"
    );
    let result = mazurka(&["compare", &free, "examples/counter.maz"]);
    assert!(
        result.code == 3 && result.err.contains("two languages"),
        "{result:?}"
    );
}
