//! Diagnostics for programs that pass the checker but cannot be explored, such as a step that
//! chooses first and then may wait. The compiler finds these mistakes; this file writes their
//! texts.

use crate::check::hir::Program;
use crate::code::LateWait;
use crate::code::claims::CALL_DEPTH;
use mazurka_diagnostics::{Diagnostic, Span};

/// Returns a mistake for each step that may choose first and then wait depending on the choice.
pub(crate) fn late_waits(steps: &[LateWait]) -> Vec<Diagnostic> {
    let within =
        |one: &Span, other: &Span| one != other && other.start <= one.start && one.end <= other.end;
    let mut outer: Vec<LateWait> = Vec::new();
    for late in steps {
        let known = outer.iter().any(|other| other.span == late.span);
        if !known && !steps.iter().any(|other| within(&late.span, &other.span)) {
            outer.push(*late);
        }
    }
    outer.into_iter().map(late_wait).collect()
}

fn late_wait(late: LateWait) -> Diagnostic {
    let (code, message, label, help) = if late.certain {
        (
            "M0604",
            "whether this step has to wait depends on what it chooses".to_owned(),
            "it chooses first, and then may have to wait",
            "choose before the atomic block, or after every statement in it that can wait",
        )
    } else {
        (
            "M0605",
            format!(
                "whether this step has to wait may depend on what it chooses: more calls than can be followed ({CALL_DEPTH} deep) are in it"
            ),
            "it chooses, and may have to wait",
            "choose or wait before the atomic block, or make fewer calls in it",
        )
    };
    Diagnostic {
        code,
        message,
        span: late.span,
        label: label.to_owned(),
        related: Vec::new(),
        help: Some(help.to_owned()),
    }
}

/// Returns the mistake of an assignment to ghost variables that may run before the first step of
/// its process, so that it cannot join a step.
pub(crate) fn ghost_without_a_step(span: Span) -> Diagnostic {
    Diagnostic::new("M0606", span, "there may be no step before this assignment")
        .label("an assignment to a ghost belongs to the step before it")
        .help("put it after the step that it belongs to, or declare it with this value")
}

/// Returns a mistake for each `requires` that is not true in the initial state.
pub(crate) fn broken_requires(program: &Program, holds: &[Option<bool>]) -> Vec<Diagnostic> {
    let broken = program.requires.iter().zip(holds);
    broken
        .filter(|(_, holds)| **holds != Some(true))
        .map(|(property, holds)| Diagnostic {
            code: "M0603",
            message: "the initial values break this `requires`".to_owned(),
            span: property.span,
            label: match holds {
                Some(_) => "false in the initial state".to_owned(),
                None => "it cannot be computed in the initial state: a number leaves its range, an index its array, or a divisor is zero".to_owned(),
            },
            related: Vec::new(),
            help: Some("change the initial values, in the file or with `--set`".to_owned()),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    fn codes(source: &str) -> Vec<&'static str> {
        let program = crate::load(source, &[]).expect("a program");
        let refused = crate::compile(&program, source).err().unwrap_or_default();
        let unknown = program.unknowns().refused();
        unknown
            .iter()
            .chain(&refused)
            .map(|mistake| mistake.code)
            .collect()
    }

    #[test]
    fn each_reason_has_its_code() {
        let rest = "process { x := x + 1 }";
        assert_eq!(codes(&format!("var x: int {rest}")), ["M0601"]);
        let asks = "var x: i32 = 0 process { x := input() }";
        assert_eq!(codes(asks), ["M0602"]);
        let broken = format!("var x: int = 0 requires x > 0 {rest}");
        assert_eq!(codes(&broken), ["M0603"]);
        assert_eq!(codes(&format!("var x: int = 0 {rest}")), [""; 0]);
    }

    #[test]
    fn nothing_waits_because_of_a_choice() {
        let program = |body: &str| {
            format!("lock m var x: int = 0 process main {{ let p = spawn {{ x := 1 }}; {body} }}")
        };
        for waits in [
            "atomic { let a = choose(0..2); if a == 1 { join p }; x := a }",
            "atomic { let a = choose(0..2); if a == 0 { await x == 1 }; x := a }",
            "atomic { x := choose(0..2); let b = x + 1; if b > 1 { skip }; lock(m) }",
            "atomic { for i in 0..2 { x < 1 |> skip; x := choose(0..2) } }",
        ] {
            assert_eq!(codes(&program(waits)), ["M0604"], "{waits}");
        }
        for fine in [
            "atomic { await x == 1; x := choose(0..2) }",
            "atomic { lock(m); x := choose(0..2); unlock(m) }",
            "atomic { x := choose(0..2); lock(m); x := 1; await x == 1; unlock(m) }",
            "x := choose(0..2); await x == 1; join p",
        ] {
            assert_eq!(codes(&program(fine)), [""; 0], "{fine}");
        }
    }

    #[test]
    fn calls_too_deep_to_follow() {
        let program = |down: &str, body: &str| {
            format!(
                "lock m var x, y: int = 0
                 proc locks() {{ lock(m); x := choose(0..2); unlock(m) }}
                 proc waits(n: int) {{ await x == n }}
                 proc down(n: int) {{ if n > 0 {{ down(n - 1) }} else {{ {down} }} }}
                 process {{ atomic {{ {body} }} }}"
            )
        };
        for (down, waits) in [
            (
                "skip",
                "let a = choose(0..2); down(20); if a == 1 { lock(m) }",
            ),
            ("skip", "y := choose(0..2); down(20); lock(m)"),
            ("if x == 1 { lock(m) }", "x := choose(0..2); down(20)"),
            ("lock(m)", "down(choose(0..20))"),
            ("waits(1)", "x := choose(0..2); down(20)"),
            ("x := choose(0..2); lock(m)", "down(20)"),
            ("x := choose(0..2)", "down(20); if x == 1 { lock(m) }"),
        ] {
            assert_eq!(codes(&program(down, waits)), ["M0605"], "{down}: {waits}");
        }
        for (down, fine) in [
            ("y := x", "x := choose(0..2); down(20)"),
            ("x := choose(0..2)", "down(20)"),
            ("x := choose(0..2)", "lock(m); down(20); unlock(m)"),
            ("lock(m)", "down(20); x := choose(0..2)"),
            ("lock(m)", "let a = choose(0..2); down(20); x := a"),
            ("spawn waits(1)", "x := choose(0..2); down(20)"),
            ("skip", "down(20); locks()"),
        ] {
            assert_eq!(codes(&program(down, fine)), [""; 0], "{down}: {fine}");
        }
    }

    /// The number of visits of a place does not grow with the number of paths to it.
    #[test]
    fn many_paths_through_a_step() {
        let calls = |n: usize| format!("proc p{n}() {{ {} }}", format!("p{}(); ", n + 1).repeat(4));
        let procs: String = (0..14).map(calls).collect();
        let body = "process { atomic { x := choose(0..2); p0() } }";
        let last = |does: &str| {
            codes(&format!(
                "var x: int = 0 proc p14() {{ {does} }} {procs} {body}"
            ))
        };
        assert_eq!(last("x := x + 1"), [""; 0]);
        assert_eq!(last("await x == 0"), ["M0605"]);
        let sets: String = (0..40)
            .map(|n| format!("if x == {n} {{ a[{n}] := choose(0..2) }};"))
            .collect();
        let wide = |end: &str| {
            codes(&format!(
                "var x: int = 0 var a: int[40] = 0 process {{ atomic {{ {sets} {end} }} }}"
            ))
        };
        assert_eq!(wide("x := 1"), [""; 0]);
        assert_eq!(wide("await a[3] == 0"), ["M0604"]);
    }
}
