//! Tests that words of other languages get a hint that shows what to write instead.

use mazurka_lang::load;

/// Returns the first hint about a text.
#[track_caller]
fn hint(source: &str) -> String {
    let mistakes = load(source, &[]).expect_err("a mistake");
    let help = mistakes[0].help.clone();
    help.unwrap_or_else(|| panic!("no hint: {mistakes:#?}"))
}

#[test]
fn declarations_of_other_languages_get_a_hint() {
    let cases = [
        ("enum { RED, GREEN }", "enum Color {"),
        ("mtype = { req, ack };", "enum Color {"),
        ("record Point { x: int }", "struct Point {"),
        ("class Point { int x; };", "struct Point {"),
        ("channel c", "chan c[4]: int"),
        ("chan c = [4] of { int };", "chan c[4]: int"),
        ("type Index = int", "write the type itself"),
        ("typedef int index;", "write the type itself"),
        ("ltl p { [] (x == 0) }", "always e"),
        ("never { skip }", "always e"),
        ("import other", "include \"name.maz\""),
        ("include <other.maz>", "include \"name.maz\""),
        ("module Peterson", "leave this out"),
        ("active proctype P() { x := 1 }", "process p { … }"),
        ("proctype P() { x := 1 }", "proc p() { … }"),
        ("condition c", "`await` its value"),
    ];
    for (item, expected) in cases {
        let source = format!("var x: int = 0\n{item}\nprocess {{ x := 1 }}");
        let found = hint(&source);
        assert!(found.contains(expected), "{item}: {found}");
    }
    let found = hint("var x: int = 0\nfair process { x := 1 }");
    assert!(found.contains("every process is weakly fair"), "{found}");
}

#[test]
fn statements_of_other_languages_get_a_hint() {
    let cases = [
        ("enum Color { RED }", "enum Color {"),
        ("record Point { x }", "struct Point {"),
        ("chan c", "chan c[4]: int"),
        ("typedef int index", "write the type itself"),
        ("include \"x\"", "outside of all blocks"),
        ("do :: x == 0 -> x := 1 od", "while e { … }"),
        ("if :: x == 0 -> x := 1 fi", "if e { … } else { … }"),
        ("od", "close the block"),
        ("fi", "close the block"),
        ("either { x := 1 } or { x := 2 }", "choose(0..2)"),
        ("wait_until(x == 0)", "await e"),
        ("d_step { x := 1 }", "atomic { … }"),
        ("send(x)", "chan c[4]: int"),
    ];
    for (stmt, expected) in cases {
        let source = format!("var x: int = 0\nprocess {{ {stmt} }}");
        let found = hint(&source);
        assert!(found.contains(expected), "{stmt}: {found}");
    }
}

/// The hint for a function that tests and changes a value must be one step: between two steps
/// another process could run.
#[test]
fn hints_for_updates_show_one_step() {
    for call in [
        "try_lock(m)",
        "cas(x, 0, 1)",
        "test_and_set(x)",
        "fetch_add(x, 1)",
    ] {
        let source = format!("var x: int = 0  lock m  process {{ x := {call} }}");
        assert!(hint(&source).contains("`atomic {"), "{call}");
    }
    let own = hint("var x: int = 0  proc cas() { x := 1 }  process { x := cas() }");
    assert!(own.contains("`atomic { cas(…); x := r }`"), "{own}");
}

#[test]
fn a_variable_may_have_the_name_of_such_a_word() {
    let source = "var fair, never, chan: int = 0  process { fair := 1; never := chan + fair }";
    assert!(load(source, &[]).is_ok());
    let outside = load("var x: int = 0  start := 1  process { x := 1 }", &[]);
    assert_eq!(outside.expect_err("a mistake")[0].code, "M0112");
}
