//! Tests every form of the grammar against the language description.

use crate::common::Dump;
use mazurka_lang::hir::{Atomicity, ExprKind, Program, Type};
use mazurka_lang::{Setting, load};

const HEAD: &str = "
    const N = 3
    var x, y, z: int = 0
    var b, c, d: bool = false
    var a: int[4] = 0
    var s: i32 = 0
    var w: u8 = 0
    var l: u64 = 0
    lock m, forks[N]
    proc p() { x := 1 }
    proc q(n: int, t: bool) { if t { x := n } }
";

fn program(source: &str) -> Program {
    load(source, &[]).unwrap_or_else(|mistakes| panic!("{source}\n{mistakes:#?}"))
}

/// Returns the body of a process with these statements.
fn body(statements: &str) -> String {
    let source = format!("{HEAD} process {{ {statements} }}");
    let program = program(&source);
    let process = &program.processes[0];
    let dump = Dump {
        program: &program,
        frame: &process.frame,
    };
    let list: Vec<String> = process.body.iter().map(|s| dump.stmt(s)).collect();
    list.join("; ")
}

fn codes(source: &str) -> Vec<&'static str> {
    let mistakes = load(source, &[]).err().unwrap_or_default();
    mistakes.iter().map(|mistake| mistake.code).collect()
}

/// Returns the codes of the mistakes in a process with these statements.
fn wrong(statements: &str) -> Vec<&'static str> {
    codes(&format!("{HEAD} process {{ {statements} }}"))
}

macro_rules! forms {
    ($($name:ident { $($source:literal => $expected:literal)* })*) => {
        $(#[test]
        fn $name() {
            $(assert_eq!(body($source), $expected, "{}", $source);)*
        })*
    };
}

forms! {
    simple_statements {
        "skip" => "skip"
        "end" => "end"
        "x := 1" => "x := 1"
        "x := 1;" => "x := 1"
        "x, y := y, x" => "x, y := y, x"
        "a[0], a[x] := 1, 2" => "a[0], a[x] := 1, 2"
        "p()" => "p()"
        "q(x + 1, b)" => "q((x Add 1), b)"
        "lock(m); unlock(m)" => "lock m; unlock m"
        "lock(forks[(x + 1) % N])" => "lock forks[((x Add 1) Rem 3)]"
        "assert x == 0" => "assert (x Eq 0) None"
        "assert b, \"why \\\"not\\\"\\n\"" => "assert b Some(\"why \\\"not\\\"\\n\")"
        "assume b" => "assume b"
        "error" => "error None"
        "error \"no\"" => "error Some(\"no\")"
        "await b" => "(b |> skip)"
    }
    compound_statements {
        "if b { x := 1 }" => "if b {x := 1} {}"
        "if b { x := 1 } else { x := 2 }" => "if b {x := 1} {x := 2}"
        "if b { skip } else if c { x := 2 } else { x := 3 }"
            => "if b {skip} {if c {x := 2} {x := 3}}"
        "while x < 3 { x := x + 1 }" => "while (x Lt 3) {x := (x Add 1)}"
        "while (x < 3) { skip }" => "while (x Lt 3) {skip}"
        "while (x < 3)[N + 1] { skip }" => "while (x Lt 3)[4] {skip}"
        "while (x) < 3 { skip }" => "while (x Lt 3) {skip}"
        "for i in 0..N { a[i] := i }" => "for i: Int in 0..3 {a[i] := i}"
        "for i in x + 1..y * 2 { skip }" => "for i: Int in (x Add 1)..(y Mul 2) {skip}"
        "for i in 0..w { w := i }" => "for i: Unsigned(8) in 0..w {w := i}"
        "atomic { x := 1; y := 2 }" => "atomic {x := 1; y := 2}"
        "{ }" => "{}"
        "{ x := 1; { y := 2 } }" => "{x := 1; {y := 2}}"
    }
    processes_and_locals {
        "spawn { x := 1 }" => "spawn {x := 1}"
        "spawn p(); join" => "spawn p(); join"
        "let h = spawn { x := 1 }; join h" => "h = spawn {x := 1}; join h"
        "let h = spawn q(1, true); join h" => "h = spawn q(1, true); join h"
        "let t = 1; spawn { let u = t; x := u }" => "let t: Int = 1; spawn {let u: Int = t; x := u}"
        "let t = 1" => "let t: Int = 1"
        "let t: u8 = 200" => "let t: Unsigned(8) = 200"
        "let t = s" => "let t: Signed(32) = s"
        "let t = b" => "let t: Bool = b"
        "let t: i32[3] = 0; t[1] := s" => "let t: Signed(32)[3] = 0, 0, 0; t[1] := s"
        "let t: int[2] = [x, 1]" => "let t: Int[2] = x, 1"
        "let t = [1, 2]; x := t[0]" => "let t: Int[2] = 1, 2; x := t[0]"
        "let t = [1, s]" => "let t: Signed(32)[2] = 1, s"
        "{ let t = 1 } { let t = 2 }" => "{let t: Int = 1}; {let t: Int = 2}"
        "b |> let t = x; y := t" => "(b |> let t: Int = x); y := t"
    }
    guards_and_choices {
        "x == 0 |> y := 1" => "((x Eq 0) |> y := 1)"
        "b |> c |> x := 1" => "(b |> (c |> x := 1))"
        "b |>* x := 1" => "(b |>* x := 1)"
        "b |>* { x := 1; y := 2 }" => "(b |>* {x := 1; y := 2})"
        "x := 1 <| b |> x := 2" => "(x := 1 <| b |> x := 2)"
        "b |> x := 1 <| c |> x := 2" => "(b |> (x := 1 <| c |> x := 2))"
        "(b |> x := 1) <| c |> x := 2" => "((b |> x := 1) <| c |> x := 2)"
        "x := 1 <| b |> (x := 2 <| c |> x := 3)" => "(x := 1 <| b |> (x := 2 <| c |> x := 3))"
        "(x := 1 <| b |> x := 2) <| c |> x := 3" => "((x := 1 <| b |> x := 2) <| c |> x := 3)"
        "b |>* x := 1 <| c |> x := 2" => "(b |>* (x := 1 <| c |> x := 2))"
        "b |> x := 1; y := 2" => "(b |> x := 1); y := 2"
        "b |> lock(m)" => "(b |> lock m)"
        "b |> if c { x := 1 }" => "(b |> if c {x := 1} {})"
        "b |> spawn p()" => "(b |> spawn p())"
        "skip <| b |> skip" => "(skip <| b |> skip)"
        "p() <| b |> q(1, c)" => "(p() <| b |> q(1, c))"
    }
    parentheses {
        "(x == 0 || b) |> x := 2*x" => "(((x Eq 0) Or b) |> x := (2 Mul x))"
        "(x := 1)" => "x := 1"
        "(x := 1; y := 2)" => "{x := 1; y := 2}"
        "((x := 1))" => "x := 1"
        "(x := 1; y := 2) <| b |> (x := 3)" => "({x := 1; y := 2} <| b |> x := 3)"
        "(x) + 1 == 2 |> skip" => "(((x Add 1) Eq 2) |> skip)"
        "((x + 1) * 2 > y) |> (y := 1)" => "((((x Add 1) Mul 2) Gt y) |> y := 1)"
        "(b) |>* (x := 1)" => "(b |>* x := 1)"
        "b |> (c |> x := 1)" => "(b |> (c |> x := 1))"
        "(if b then x else y) == 0 |> skip" => "(((if b x y) Eq 0) |> skip)"
    }
    semicolons {
        "if b { skip } x := 1" => "if b {skip} {}; x := 1"
        "while b { skip } for i in 0..2 { skip } atomic { skip } { skip } x := 1"
            => "while b {skip}; for i: Int in 0..2 {skip}; atomic {skip}; {skip}; x := 1"
        "let h = spawn { skip } join h" => "h = spawn {skip}; join h"
        "spawn { skip } (x == 0) |> skip" => "spawn {skip}; ((x Eq 0) |> skip)"
        "if b { skip }; x := 1;" => "if b {skip} {}; x := 1"
        "join; x := 1" => "join; x := 1"
    }
    precedence {
        "x := 1 + y * z" => "x := (1 Add (y Mul z))"
        "x := y - z - 1" => "x := ((y Sub z) Sub 1)"
        "x := y / z * 2 % 3" => "x := (((y Div z) Mul 2) Rem 3)"
        "x := -y * z" => "x := (-y Mul z)"
        "x := y - -z" => "x := (y Sub -z)"
        "x := (y + z) * 2" => "x := ((y Add z) Mul 2)"
        "await b || c && d" => "((b Or (c And d)) |> skip)"
        "await b && c || d" => "(((b And c) Or d) |> skip)"
        "await !b && c" => "((!b And c) |> skip)"
        "await !x == 0" => "(!(x Eq 0) |> skip)"
        "await !(x == 0 && b)" => "(!((x Eq 0) And b) |> skip)"
        "await x + 1 < y * 2 && b" => "((((x Add 1) Lt (y Mul 2)) And b) |> skip)"
        "await (x < y) == b" => "(((x Lt y) Eq b) |> skip)"
        "await b == !c" => "((b Eq !c) |> skip)"
        "await x<-1" => "((x Lt -1) |> skip)"
        "await x <-1 || x>-1" => "(((x Lt -1) Or (x Gt -1)) |> skip)"
        "x := y--1" => "x := (y Sub -1)"
        "b := !!c" => "b := !!c"
        "x := if b then y else z + 1" => "x := (if b y (z Add 1))"
        "x := 1 + if b then y else z" => "x := (1 Add (if b y z))"
        "x := if b then if c then 1 else 2 else 3" => "x := (if b (if c 1 2) 3)"
    }
    synonyms {
        "x ≤ 1 ∧ y ≥ 2 ∨ ¬(z ≠ 3) ▷ skip"
            => "((((x Le 1) And (y Ge 2)) Or !(z Ne 3)) |> skip)"
        "x := 1 ◁ b ▷ x := 2" => "(x := 1 <| b |> x := 2)"
        "b ▷* x := 1" => "(b |>* x := 1)"
        "b and c or not d |> skip" => "(((b And c) Or !d) |> skip)"
        "b := True; c := False; b := true" => "b := true; c := false; b := true"
    }
    choices_of_values {
        "x := choose(0..N)" => "x := choose(0, 3)"
        "let t = choose(0..3)" => "let t: Int = choose(0, 3)"
        "w := choose(0..3)" => "w := choose(0, 3)"
        "x := choose(x + 1..y) * 2" => "x := (choose((x Add 1), y) Mul 2)"
        "s := input()" => "s := input:Signed(32)"
        "w := input(u8) + 1" => "w := (input:Unsigned(8) Add 1)"
        "let t = input(bool)" => "let t: Bool = input:Bool"
        "q(choose(0..2), input(bool))" => "q(choose(0, 2), input:Bool)"
        "spawn q(choose(0..2), true)" => "spawn q(choose(0, 2), true)"
    }
    folding {
        "x := N - 1" => "x := 2"
        "a[N - 1] := 2 * (3 + 4)" => "a[2] := 14"
        "x := 7 / 2 - -7 / 2 + -7 % 4" => "x := 3"
        "x := 1 / 0" => "x := (1 Div 0)"
        "w := 1 % 0" => "w := (1 Rem 0)"
        "x := 9223372036854775807 + 1" => "x := (9223372036854775807 Add 1)"
        "x := -9223372036854775808" => "x := -9223372036854775808"
        "l := 18446744073709551615" => "l := -1"
        "l := 9223372036854775807 + 2" => "l := -9223372036854775807"
        "await N > 2 && !(N == 4)" => "(true |> skip)"
        "await false && b" => "((false And b) |> skip)"
        "x := if N == 3 then 1 else 2" => "x := 1"
        "w := 255 - 5 + w" => "w := (250 Add w)"
        "await l > 9223372036854775808" => "((l Gt -9223372036854775808) |> skip)"
        "await 18446744073709551615 > 1" => "(true |> skip)"
    }
}

#[test]
fn declarations() {
    let program = program(
        "atomicity access
         const N = 1 + 1
         const DEBUG = true
         var x, y: int = N * 2
         var t: bool ↦ DEBUG && N == 2
         var a: u8[N] = 7
         var c: i32[3] = [1, -2, 3]
         var free: i64
         var cells: u16[2]
         lock m, forks[N]
         requires free > 0
         invariant x >= 0
         invariant named: x + y < 10 || t
         ensures last: x == y
         observe x, a
         observe y
         process { skip }
         process named { skip }
         process (i in 0..2) { x := i }
         process p (i in N - 4..N) { x := i }",
    );
    assert_eq!(program.atomicity, Atomicity::Access);
    let init = |index: usize| program.vars[index].init.clone();
    assert_eq!(init(0), Some(vec![4]));
    assert_eq!(init(2), Some(vec![1]));
    assert_eq!(init(3), Some(vec![7, 7]));
    assert_eq!(init(4), Some(vec![1, -2, 3]));
    assert_eq!(init(5), None);
    assert_eq!(init(6), None);
    assert_eq!(program.vars[3].len, Some(2));
    assert_eq!(program.vars[3].ty, Type::Unsigned(8));
    assert_eq!(program.vars[6].len, Some(2));
    let locks: Vec<Option<u32>> = program.locks.iter().map(|lock| lock.len).collect();
    assert_eq!(locks, [None, Some(2)]);
    assert_eq!(program.requires.len(), 1);
    assert_eq!(program.invariants.len(), 2);
    assert_eq!(program.invariants[1].name.as_deref(), Some("named"));
    assert_eq!(program.ensures[0].name.as_deref(), Some("last"));
    let observed: Vec<u32> = program.observe.iter().flatten().map(|id| id.0).collect();
    assert_eq!(observed, [0, 3, 1]);
    let instances: Vec<Option<i64>> = program.processes.iter().map(|p| p.instance).collect();
    assert_eq!(
        instances,
        [
            None,
            None,
            Some(0),
            Some(1),
            Some(-2),
            Some(-1),
            Some(0),
            Some(1)
        ]
    );
    assert_eq!(program.processes[7].name.as_deref(), Some("p"));
}

#[test]
fn semicolons_and_comments_between_declarations() {
    let source = "/* one */ var x: int = 0; // two\n const N = 1; lock m;; process { x := N };";
    assert_eq!(program(source).processes.len(), 1);
}

#[test]
fn constants_are_folded_in_each_instance() {
    let source =
        "var a: int[4] = 0 process p (i in 0..3) { a[i + 1] := i * 2; for j in i..3 { skip } }";
    let program = program(source);
    let bodies: Vec<String> = program
        .processes
        .iter()
        .map(|process| {
            let frame = &process.frame;
            let dump = Dump {
                program: &program,
                frame,
            };
            dump.list(&process.body)
        })
        .collect();
    assert_eq!(bodies[0], "{a[1] := 0; for j: Int in 0..3 {skip}}");
    assert_eq!(bodies[2], "{a[3] := 4; for j: Int in 2..3 {skip}}");
}

#[test]
fn sizes_and_bounds_may_use_the_parameter() {
    let source = "var x: int = 0
        process p (i in 1..3) { let a: int[i + 1] = 0; while (x == 0)[i * 2] { x := a[i] } }";
    let program = program(source);
    let sizes: Vec<Option<u32>> = program
        .processes
        .iter()
        .map(|process| process.frame.locals[0].len)
        .collect();
    assert_eq!(sizes, [Some(2), Some(3)]);
}

#[test]
fn byte_order_mark_and_line_ends() {
    let source = "\u{feff}var x: int = 0\r\nprocess {\r\n  x := 1;\r\n  y := 2\r\n}\r\n";
    let mistakes = load(source, &[]).expect_err("an unknown name");
    assert_eq!(mistakes[0].span.line_column(source), (4, 3));
    assert_eq!(mistakes.len(), 1);
}

#[test]
fn an_empty_range_has_no_instance_but_is_checked() {
    assert_eq!(
        program("process p (i in 0..0) { skip } process { skip }")
            .processes
            .len(),
        1
    );
    assert_eq!(codes("process p (i in 0..0) { x := i }"), ["M0201"]);
    assert_eq!(codes("process p (i in 3..1) { y := i }"), ["M0201"]);
}

#[test]
fn procedures_call_each_other_in_any_order() {
    let program = program(
        "var x: int = 0
         process { even(4) }
         proc even(n: int) { if n > 0 { odd(n - 1) } }
         proc odd(n: int) { n := n - 1; if n > 0 { even(n) } }",
    );
    assert_eq!(program.procedures[0].params, 1);
    assert_eq!(program.procedures[1].frame.locals[0].name, "n");
}

#[test]
fn parameters_share_a_type() {
    let program = program("proc p(a, b: u8, c: bool) { skip } process { p(1, 2, true) }");
    let types: Vec<Type> = program.procedures[0]
        .frame
        .locals
        .iter()
        .map(|l| l.ty)
        .collect();
    assert_eq!(types, [Type::Unsigned(8), Type::Unsigned(8), Type::Bool]);
}

#[test]
fn spans_are_the_text_that_labels_show() {
    let source =
        "var x: int = 0 process { (x == 0) |> x := (x + 1) * 2; x := 1 <| x == 2 |> skip }";
    let program = program(source);
    let texts: Vec<&str> = program.processes[0]
        .body
        .iter()
        .map(|stmt| stmt.span.text(source))
        .collect();
    assert_eq!(
        texts,
        ["(x == 0) |> x := (x + 1) * 2", "x := 1 <| x == 2 |> skip"]
    );
}

#[test]
fn literals_take_the_type_of_their_context() {
    let program = program(&format!(
        "{HEAD} process {{ await 1 < w; await 2 == 1 / 0 }}"
    ));
    let mut types = Vec::new();
    for stmt in &program.processes[0].body {
        let mazurka_lang::hir::StmtKind::Guard(test, _) = &stmt.kind else {
            panic!("{stmt:?}");
        };
        let ExprKind::Binary(_, left, right) = &test.kind else {
            panic!("{test:?}");
        };
        types.push((left.ty, right.ty));
    }
    let byte = Type::Unsigned(8);
    assert_eq!(types, [(byte, byte), (Type::Int, Type::Int)]);
}

#[test]
fn wrong_forms_have_one_mistake() {
    for (source, code) in [
        ("x := choose(0, 3)", "M0101"),
        ("x := input(3)", "M0101"),
        ("await", "M0101"),
        ("if { skip }", "M0101"),
        ("if b skip", "M0116"),
        ("while (b)[x] { skip }", "M0404"),
        ("for i in choose(0..2)..3 { skip }", "M0403"),
        ("for in 0..3 { skip }", "M0110"),
        ("for i in 0..b { skip }", "M0304"),
        ("for i in w..s { skip }", "M0302"),
        ("spawn", "M0101"),
        ("spawn { x := 1", "M0103"),
        ("let = 1", "M0101"),
        ("let h: int = spawn p()", "M0310"),
        ("let h = spawn p(); h := 1", "M0310"),
        ("let h = spawn p(); await h == 1", "M0310"),
        ("let t = 1; join t", "M0204"),
        ("join p", "M0204"),
        ("lock(m[0])", "M0307"),
        ("lock(forks)", "M0306"),
        ("lock(forks[b])", "M0312"),
        ("unlock()", "M0101"),
        ("a := 1", "M0306"),
        ("x := a", "M0306"),
        ("x[1] := 1", "M0307"),
        ("x := y[1]", "M0307"),
        ("N := 1", "M0401"),
        ("m := 1", "M0401"),
        ("p := 1", "M0401"),
        ("x, y := 1", "M0309"),
        ("x := 1, 2", "M0309"),
        ("x, x := 1, 2", "M0402"),
        ("p(1)", "M0308"),
        ("q(1)", "M0308"),
        ("q(b, b)", "M0301"),
        ("x := p()", "M0115"),
        ("x := s", "M0301"),
        ("x := x + s", "M0302"),
        ("w := 256", "M0305"),
        ("w := w + 256", "M0305"),
        ("await w == -1", "M0305"),
        ("b := x", "M0301"),
        ("await b < c", "M0304"),
        ("await -b == 1", "M0304"),
        ("await b == 1", "M0302"),
        ("assert x", "M0303"),
        ("assume 1", "M0303"),
        ("assert b, c", "M0101"),
        ("assert choose(0..2) == 1", "M0403"),
        ("a[choose(0..2)] := 1", "M0403"),
        ("b |> ", "M0101"),
        ("x := 1 <| b", "M0101"),
        ("x := 1 <| x |> x := 2", "M0303"),
        ("x := 1 <| b |>* x := 2", "M0101"),
        ("b |> x := 1 |> y := 2", "M0101"),
        ("x := if b then 1 else c", "M0302"),
        ("x := if x then 1 else 2", "M0303"),
        ("let t = 1; let t = 2", "M0203"),
        ("let N = 1", "M0203"),
        ("for p in 0..3 { skip }", "M0203"),
        ("{ let t = 1 } x := t", "M0201"),
        ("b |>* let t = 1; x := t", "M0201"),
        ("let t: int[2] = [1]", "M0311"),
        ("let t: int = [1]", "M0311"),
        ("let t: int[0] = 0", "M0406"),
        ("let t: int[2] = x", "M0413"),
        ("let t: int[x] = 0", "M0404"),
        ("at := 1", "M0110"),
        ("x := 1 y := 2", "M0102"),
        ("x := (1", "M0103"),
        ("x := 1 2", "M0101"),
    ] {
        assert_eq!(wrong(source), [code], "{source}");
    }
}

#[test]
fn wrong_declarations_have_one_mistake() {
    for (source, code) in [
        ("var x", "M0113"),
        ("var : int", "M0101"),
        ("var x: int = y", "M0201"),
        ("var y: int = 1 var x: int = y", "M0404"),
        ("var x: u8 = 256", "M0305"),
        ("var x: int = 1 / 0", "M0405"),
        ("var x: bool = 1", "M0301"),
        ("var x: int[2] = [1, 2, 3]", "M0311"),
        ("var x: int[true] = 0", "M0301"),
        ("lock m = 1", "M0101"),
        ("lock m[0]", "M0406"),
        ("const N", "M0101"),
        ("const N: int = 1", "M0101"),
        ("const N = N", "M0205"),
        ("const N = input()", "M0403"),
        ("const N = -9223372036854775807 - 2", "M0405"),
        ("proc p { skip }", "M0101"),
        ("proc p(int n) { skip }", "M0113"),
        ("proc p(a: int[2]) { skip }", "M0306"),
        ("proc p(a: int, a: int) { skip }", "M0203"),
        ("requires 1", "M0303"),
        ("invariant x > 0", "M0201"),
        (
            "var x: int = 0 invariant a: x == 0 invariant a: x == 1",
            "M0202",
        ),
        ("ensures choose(0..2) == 0", "M0403"),
        ("observe", "M0110"),
        ("lock m observe m", "M0204"),
        ("atomicity", "M0101"),
        ("process p (i in 0..x) { skip }", "M0201"),
        ("process p (i in 0) { skip }", "M0101"),
        ("process p q { skip }", "M0101"),
        ("banana", "M0112"),
        ("x := 1", "M0112"),
        ("}", "M0104"),
    ] {
        let source = format!("{source}\nprocess {{ skip }}");
        assert_eq!(codes(&source), [code], "{source}");
    }
}

#[test]
fn settings_override_constants_and_initial_values() {
    let source = "const N = 2 const T = true const M = N + 1
        var x: u8 = 0 var y: bool var a: int[3] = 0 var c: int[2]
        process p (i in 0..N) { skip } process { x := M }";
    let set = |name: &str, value: &str| Setting {
        name: name.to_owned(),
        value: value.to_owned(),
    };
    let settings = [
        set("N", "1"),
        set("N", " 4 "),
        set("T", "False"),
        set("x", "255"),
        set("y", "true"),
        set("a", "[1, -2,3]"),
        set("c", "9"),
    ];
    let program = load(source, &settings).expect("a program");
    assert_eq!(program.processes.len(), 5);
    let inits: Vec<Option<Vec<i64>>> = program.vars.iter().map(|v| v.init.clone()).collect();
    let some = |values: &[i64]| Some(values.to_vec());
    assert_eq!(
        inits,
        [some(&[255]), some(&[1]), some(&[1, -2, 3]), some(&[9, 9])]
    );
    for (name, value, code) in [
        ("K", "1", "M0501"),
        ("p", "1", "M0501"),
        ("N", "", "M0502"),
        ("N", "1+1", "M0502"),
        ("N", "[1", "M0502"),
        ("N", "99999999999999999999999", "M0502"),
        ("N", "[1]", "M0503"),
        ("N", "true", "M0503"),
        ("T", "1", "M0503"),
        ("x", "-1", "M0503"),
        ("y", "0", "M0503"),
        ("a", "[1,2]", "M0504"),
        ("a", "[]", "M0504"),
        ("x", "[1]", "M0504"),
    ] {
        let mistakes = load(source, &[set(name, value)]).expect_err(value);
        assert_eq!(mistakes.len(), 1, "{mistakes:?}");
        assert_eq!(mistakes[0].code, code, "{name}={value}");
        assert_eq!((mistakes[0].span.start, mistakes[0].span.end), (0, 0));
    }
}

#[test]
fn figures_of_the_papers_can_be_pasted() {
    // Guarded-command paper, Example 5, as printed.
    let example5 = "x ↦ 0, y ↦ 0, flag ↦ true,
        True ▷ spawn(x == 0 ∨ flag ▷ x := 2 * x);           // ι1
        True ▷ spawn(x := x + 2 ◁ flag ▷ x := x - 1; True ▷ flag := ¬flag; // ι2
                   x := x + 2 ◁ flag ▷ x := x - 1; True ▷ flag := ¬flag;
        True ▷ y := y + 1)";
    let program = mazurka_lang::load(example5, &[]).expect("a program");
    assert_eq!(program.processes.len(), 1);
    let types: Vec<_> = program
        .vars
        .iter()
        .map(|var| (&*var.name, var.ty))
        .collect();
    use mazurka_lang::hir::Type::{Bool, Int};
    assert_eq!(types, [("x", Int), ("y", Int), ("flag", Bool)]);
    // Its Example 2 has parallel processes. One variant has the state on a separate line.
    for text in [
        "x ↦ 1, y ↦ 2, { x := x+1 ∥ y := 3 }",
        "x ↦ 1, y ↦ 2\n{ x := x+1 ∥ y := 3 }",
        "var x ↦ 1 var y ↦ 2 proc { x := x + 1 } proc { y := 3 }",
    ] {
        let program = mazurka_lang::load(text, &[]).expect("a program");
        assert_eq!(
            (program.vars.len(), program.processes.len()),
            (2, 2),
            "{text}"
        );
    }
    // SymPaths paper, Fig. 8 and section 6.2.
    let fig8 = "var i, m, x, j, n, y, p: int
        proc { while (i < m)[1] { x := x * i; i := i + 1 } }
        proc { while (j < n)[1] { y := y * j; j := j + 1 } }
        proc { if (i == m and j == n) { p := x * y } else { p := -1 } }";
    assert_eq!(
        mazurka_lang::load(fig8, &[])
            .expect("a program")
            .processes
            .len(),
        3
    );
    let new = "var x: int = 0 proc { new(x := 1; x := 2); x > 0 ▷ new(x := 3) }";
    let spawn = "var x: int = 0 process { spawn { x := 1; x := 2 }; x > 0 |> spawn { x := 3 } }";
    let code = |text: &str| {
        let program = mazurka_lang::load(text, &[]).expect("a program");
        format!("{:?}", program.processes[0].body).replace(|c: char| c.is_ascii_digit(), "")
    };
    assert_eq!(code(new), code(spawn));
    // A procedure may have the name `new`.
    let called = "var x: int = 0 proc new(k: int) { x := k } process { new(3) }";
    assert!(mazurka_lang::load(called, &[]).is_ok());
    // Mistakes are reported, without a panic.
    for text in [
        "x ↦",
        "x ↦ 1,",
        "x ↦ 1, {",
        "x ↦ 1, { x := 1 ∥",
        "x ↦ y, x := 1",
        "∥",
        "x ↦ 1 ∥",
    ] {
        let _ = mazurka_lang::load(text, &[]);
    }
    assert!(mazurka_lang::load("x ↦ 1, { x := 1 ∥ y := 2 }", &[]).is_err());
}

#[test]
fn an_inner_scope_takes_precedence() {
    let source = "var x, y, z: int = 1
        process { let x = 5; { let x = x + 1; y := x; x := 9 }; z := x; x := 7 }
        process { x := x + 1 }";
    let program = mazurka_lang::load(source, &[]).expect("a program");
    let code = mazurka_lang::compile(&program, source).expect("code");
    let mut machine = mazurka_lang::Machine::new(std::sync::Arc::new(code), 1000);
    use mazurka_core::{Execution, ProcessId, Status};
    for process in [0, 0, 1] {
        assert_eq!(machine.status(ProcessId(process)), Status::Ready);
        machine.step(ProcessId(process), &[]).expect("a step");
    }
    assert!(machine.is_final());
    let values: Vec<i64> = (0..3).map(|cell| machine.value(cell)).collect();
    assert_eq!(values, [2, 6, 5]);
    // The warning about an unread variable names the local, not the variable that the local hides.
    let unread = "var x: int = 0 ensures x == 1
        process { { let x = 5; skip }; x := 1 }";
    let program = mazurka_lang::load(unread, &[]).expect("a program");
    let warnings: Vec<_> = program.warnings.iter().map(|w| w.code).collect();
    assert_eq!(warnings, ["W0106"]);
}
