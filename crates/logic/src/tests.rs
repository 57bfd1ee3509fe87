//! Tests the figures of the paper, and proofs with invariants and boxes.

use std::ops::ControlFlow;

use mazurka_core::record::ProgramRecord;
use mazurka_smt::Embedded;

use crate::search::{AppliedRule, Search};
use crate::{Options, Theorem, parse};
use mazurka_core::proof::Proof;

const FIG_8: &str = "
    const M = 1; const N = 1
    var i, j, m, n, x, y, p: i32
    process { while (i < m)[M] { x := x * i; i := i + 1 } }
    process { while (j < n)[N] { y := y * j; j := j + 1 } }
    process { if i == m && j == n { p := x * y } else { p := -1 } }
";

fn record() -> ProgramRecord {
    ProgramRecord {
        file: "test.maz".to_owned(),
        hash: String::new(),
        set: Vec::new(),
        names: Vec::new(),
    }
}

/// Returns the numbers of SCHEDULE steps and of leaf sequents.
fn count(source: &str, goal: &str, options: &Options) -> (usize, usize) {
    let program = mazurka_lang::load(source, &[]).unwrap();
    let formula = parse(goal, &program).unwrap();
    let mut solver = Embedded::default();
    let theorem = Theorem {
        program: &program,
        source,
        record: &record(),
        goal: Some(goal),
        formula: &formula,
    };
    let mut search = Search::new(&theorem, &mut solver, options);
    let watch = &mut |_| ControlFlow::Continue(());
    search.open(&formula, watch).unwrap();
    search.run(&mut |_| ControlFlow::Continue(())).unwrap();
    let count =
        |is: fn(&AppliedRule) -> bool| search.goals.iter().filter(|goal| is(&goal.by)).count();
    (
        count(|by| matches!(by, AppliedRule::Schedule { .. })),
        count(|by| matches!(by, AppliedRule::Reduce { .. })),
    )
}

#[test]
fn a_goal_has_the_expressions_of_programs() {
    let source = "var x, y: int  var p: bool  process { if p { x := y } }";
    let closed = |goal: &str| prove(source, goal).is_ok();
    assert!(closed(
        "forall k: int. x == k ==> [*] x == (if p then y else k)"
    ));
    assert!(closed("p ==> {x := if p then y else x} x == y"));
    assert!(!closed(
        "forall k: int. x == k ==> [*] x == (if p then k else y)"
    ));
    let program = mazurka_lang::load(source, &[]).unwrap();
    let wrong = |goal: &str| parse(goal, &program).unwrap_err().to_string();
    assert_eq!(wrong("x == if p y"), "unexpected `y`: expected `then`");
    assert_eq!(
        wrong("(if p then x else p) == x"),
        "this is a truth value: expected an `int`"
    );
}

#[test]
fn proof_search_explores_what_symbolic_execution_explores() {
    let plain = Options {
        reduce: false,
        feasible: false,
        ..Options::default()
    };
    assert_eq!(count(FIG_8, "[*] true", &plain), (14_495, 6_744));
    let reduced = Options {
        feasible: false,
        ..Options::default()
    };
    assert_eq!(count(FIG_8, "[*] true", &reduced).1, 25);
}

/// Proves a formula and checks the proof. Returns an error if there is no proof.
fn prove(source: &str, goal: &str) -> Result<Proof, String> {
    with_proof(source, goal, |proof, _| {
        if proof.is_closed() {
            Ok(proof.clone())
        } else {
            Err("open".to_owned())
        }
    })
}

/// Searches for a proof, and calls `work` with the proof and a function that checks a proof, so
/// that `work` can also check variants of it.
fn with_proof<T>(
    source: &str,
    goal: &str,
    work: impl FnOnce(&Proof, &dyn Fn(&Proof) -> bool) -> T,
) -> T {
    let program = mazurka_lang::load(source, &[]).expect(source);
    let formula = parse(goal, &program).expect(goal);
    let theorem = Theorem {
        program: &program,
        source,
        record: &record(),
        goal: Some(goal),
        formula: &formula,
    };
    let options = Options {
        deadlock: true,
        ..Options::default()
    };
    let watch = &mut |goals: u64| {
        if goals > 3000 {
            ControlFlow::Break(mazurka_core::Bound::Interrupted)
        } else {
            ControlFlow::Continue(())
        }
    };
    let found = crate::prove(&theorem, &options, &mut Embedded::default(), watch).expect(source);
    // A solver belongs to one set of terms, and the checker has its own terms.
    let check =
        |proof: &Proof| crate::check_proof(proof, &theorem, &mut Embedded::default()).is_ok();
    assert_eq!(check(&found.proof), found.proof.is_closed(), "{source}");
    work(&found.proof, &check)
}

const HANDOVER: &str = "var data: i32 = 0 var flag: bool = false
    process { data := 42; flag := true }
    process { while !flag { }; data := data + 1 }";

const COUNTER: &str = "var c: i8 = 0 var n: i8
    requires n >= 0
    process { while c < n invariant 0 <= c && c <= n { c := c + 1 } }";

const TWO: &str = "var c, a, b: i8 = 0 lock m
    process { while true invariant c == a + b { lock(m); c := c + 1; a := a + 1; unlock(m) } }
    process { while c < 9 invariant c == a + b { lock(m); c := c + 1; b := b + 1; unlock(m) } }";

#[test]
fn loops_without_bounds_are_proved_with_invariants() {
    assert!(prove(HANDOVER, "[*] data == 43").is_ok());
    assert!(prove(COUNTER, "[*] c == n").is_ok());
    assert!(
        prove(TWO, "[*] false").is_ok(),
        "the first process never ends"
    );
    assert!(prove(COUNTER, "[*] c == n + 1").is_err());
}

#[test]
fn formulas_are_split() {
    let add = "var x: i8 process p { x := x + 1 } process q { x := x + 1 }";
    assert!(prove(add, "forall k: i8. x == k ==> [*] x == k + 2").is_ok());
    assert!(prove(add, "{x := 1} [p] (x == 2 && [q] x == 3)").is_ok());
    assert!(prove(add, "x == 0 ==> [*] x == 2 && [p] x == 3").is_ok());
    assert!(prove(add, "x != 0 || [*] x == 2").is_ok());
    assert!(prove(add, "x == 0 ==> [*] x == 3").is_err());
    assert!(prove(add, "exists b: bool. b").is_ok());
    // An input in an inner box may have another value than the input in the outer box.
    let ask = "var x, y: i8 process p { y := x; x := input(i8) }";
    assert!(prove(ask, "[p] [p] x == y").is_err());
    let choose = "var x, y: i8 process p { y := x; x := choose(0..2) }";
    assert!(prove(choose, "[p] [p] x == y").is_err());
    assert!(prove(choose, "[p] [p] x <= 1 && y <= 1").is_ok());
    assert!(prove(add, "forall b: bool. b || !b").is_ok());
    let program = mazurka_lang::load(add, &[]).unwrap();
    for misplaced in [
        "![*] x == 0",
        "[*] x == 0 ==> x == 1",
        "exists k: i8. [*] x == k",
    ] {
        let theorem = Theorem {
            program: &program,
            source: add,
            record: &record(),
            goal: Some(misplaced),
            formula: &parse(misplaced, &program).unwrap(),
        };
        let solver = &mut Embedded::default();
        let watch = &mut |_| ControlFlow::Continue(());
        // These formulas are decided without a proof.
        let found = crate::prove(&theorem, &Options::default(), solver, watch).unwrap();
        assert!(
            found.by_execution && !found.proof.is_closed(),
            "{misplaced}"
        );
        let checked = crate::check_proof(&found.proof, &theorem, &mut Embedded::default());
        assert!(checked.is_err(), "{misplaced}");
    }
}

#[test]
fn a_run_that_fails_is_no_witness_of_a_diamond() {
    let fails = "var x: i8 = 0 process p { x := 1; assert false } process q { x := 2 }";
    let divides = "var x: i8 = 0 process p { x := 1 / x } process q { x := 2 }";
    let breaks = "var x: i8 = 0 invariant x <= 2 process p { x := 3; x := 1 } process q { x := 2 }";
    let discards = "var x: i8 = 0 process p { x := 1; assume false } process q { x := 2 }";
    for program in [fails, divides, breaks, discards] {
        for (goal, holds) in [
            ("<p> false", false),
            ("<p> true", false),
            ("<p> x == 7", false),
            ("!(<p> true)", true),
            ("<p> <q> true", false),
            ("<q> <p> false", false),
            ("<q> x == 2", true),
            ("!(<q> x == 2)", false),
            ("[q] <p> false", false),
            ("[q] <q> x == 2", true),
            ("<q> [q] x == 2", true),
            ("<q> !(<q> x == 0)", true),
            ("(<p> x == 1) || <q> x == 2", true),
            ("<p> x == 1 <==> <q> x == 1", true),
        ] {
            assert_eq!(valid(program, goal), holds, "{goal}\n{program}");
        }
    }
    // A box inside a diamond is false if one of its runs fails.
    assert!(!valid(fails, "<q> [p] true"));
    assert!(valid(fails, "<q> !([p] true)"));
    assert!(!valid(fails, "<p || q> false"));
    // After `q`, the step of `p` divides by 2, and does not fail.
    assert!(valid(divides, "<q> <p> x == 0"));
    let some = "var x: i8 process p { assert x > 0 || x < -3; x := choose(0..3) }";
    assert!(valid(some, "<p> x == 2 <==> x > 0 || x < -3"));
    assert!(valid(some, "x == 0 ==> !(<p> true)"));
    // On two paths of the process, the first choice has different bounds.
    let paths = "var x, y: i8 var f: bool = false process p { atomic { \
                 if !f { x := choose(0..1) }; y := choose(2..3) } } process { f := true }";
    assert!(!valid(paths, "!(<*> x == 2)"));
    assert!(valid(paths, "x == 2 ==> <*> x == 2"));
    let unbounded = "var x, y: i8 var f: bool = false process p { atomic { \
                     if !f { x := choose(0..1) }; y := choose(x..3) } } process { f := true }";
    assert!(!valid(unbounded, "!(<*> (x == 2 && y == 2))"));
}

/// Whether a goal to which no rule applies is valid. The goal must be decided.
fn valid(source: &str, goal: &str) -> bool {
    let program = mazurka_lang::load(source, &[]).unwrap();
    let theorem = Theorem {
        program: &program,
        source,
        record: &record(),
        goal: Some(goal),
        formula: &parse(goal, &program).unwrap(),
    };
    let solver = &mut Embedded::default();
    let watch = &mut |_| ControlFlow::Continue(());
    let found = crate::prove(&theorem, &Options::default(), solver, watch).unwrap();
    assert!(
        found.closed == found.refutations.is_empty(),
        "{goal}: {:?}",
        found.open
    );
    found.closed
}
