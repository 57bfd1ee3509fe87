//! Tests that a step claims all of its accesses, also those in another procedure.

use mazurka::{Algorithm, Options, Program, Verdict, quietly};

/// Each program fails in one of its orders. The engines find this order only with the claims after
/// a call or a return.
const BEHIND_A_CALL: [&str; 7] = [
    // The ghost is in the procedure that is called.
    "var x, y: int = 0  ghost var g: int = 0  ensures g == 2
     proc mark() { g := 1 }
     process { x := 1; mark() }
     process { y := 1; g := 2 }",
    // The ghost comes after the procedure with the step.
    "var x, y: int = 0  ghost var g: int = 0  ensures g == 2
     proc step() { x := 1 }
     process { step(); g := 1 }
     process { y := 1; g := 2 }",
    // The ghost comes after a procedure without steps.
    "var x, y: int = 0  ghost var g: int = 0  ensures g == 2
     proc nothing() { skip }
     process { x := 1; nothing(); g := 1 }
     process { y := 1; g := 2 }",
    "var flag: bool[2] = false  ghost var inside: int = 0  invariant inside <= 1
     proc enter(me: int) { flag[me] := true }
     process p (me in 0..2) { enter(me); inside := inside + 1; flag[me] := false; inside := inside - 1 }",
    // An operation that consists of its call.
    "allows deadlock  var x: int = 0
     op f0() { skip }
     op f1(): int { x := x + 1; await x >= 2; return 0 }
     spec object for 2 clients of 2 operations {
       var n, t: int = 0
       op f0() { n := n + 1 }
       op f1(): int { if n == 2 && t == 0 { return 1 }; t := t + 1; return 0 }
     }",
    // An operation that calls a procedure.
    "allows deadlock  var x, y: int = 0
     proc set() { y := 1 }
     op f0() { set() }
     op f1(): int { x := x + 1; await x >= 2; return 0 }
     spec object for 2 clients of 2 operations {
       var n, t: int = 0
       op f0() { n := n + 1 }
       op f1(): int { if n == 2 && t == 0 { return 1 }; t := t + 1; return 0 }
     }",
    "var x: int = 0  ghost var g: int = 0  ensures g == 1
     op f() { g := 1 }
     spec object for 1 client of 1 operation { op f() { skip } }
     process { x := 1; g := 2 }",
];

#[test]
fn ghosts_behind_calls_and_returns_belong_to_their_step() {
    for source in BEHIND_A_CALL {
        let program = Program::load("ghost.maz", source, &[]);
        let program = program.unwrap_or_else(|mistakes| panic!("{mistakes:?}\n{source}"));
        let record = program.check(&Options::default(), &mut quietly());
        assert_eq!(
            record.expect("it starts").verdict,
            Verdict::Violated,
            "{source}"
        );
        let engines = [Algorithm::Source, Algorithm::Optimal, Algorithm::Stateful];
        for engine in engines {
            let found = program.explore(engine, &Options::default(), &mut quietly());
            let failures = found.expect("it starts").counts.failures;
            assert!(failures > 0, "{engine}\n{source}");
        }
    }
}
