//! The shrinker keeps the relevant part of a program and removes the rest.

use mazurka_testkit::planted::{Switches, source};
use mazurka_testkit::tree::{Expr, Program, Stmt, Type, Var};
use mazurka_testkit::{Config, disagreement, generate, machine, shrink};

fn assign(name: &str, value: Expr) -> Stmt {
    Stmt::Assign(vec![Expr::var(name)], vec![value])
}

#[test]
fn irrelevant_parts_are_removed() {
    let sum = Expr::binary(
        "+",
        Expr::var("x"),
        Expr::binary("*", Expr::Int(2), Expr::var("y")),
    );
    let shared = |name: &str| Var {
        name: name.to_owned(),
        ty: Type::Int,
        len: None,
        init: 2,
    };
    let program = Program {
        access: true,
        vars: vec![shared("x"), shared("y")],
        processes: vec![
            vec![Stmt::If(
                Expr::binary("==", Expr::var("x"), Expr::Int(0)),
                vec![
                    Stmt::Skip,
                    Stmt::Guard(Expr::Bool(true), Box::new(assign("x", sum))),
                ],
                vec![Stmt::Error],
            )],
            vec![assign("y", Expr::Int(1))],
        ],
        ..Program::default()
    };
    assert!(machine(&program.to_string()).is_ok());
    let small = shrink(program, |program| {
        let text = program.to_string();
        text.contains("y") && text.contains("x :=") && machine(&text).is_ok()
    });
    assert_eq!(
        small.to_string().trim(),
        "var x: int = 0\nvar y: int = 0\nprocess { x := 0 }"
    );
}

#[test]
fn pairs_are_removed_together() {
    let program = Program {
        locks: vec![mazurka_testkit::tree::Lock {
            name: "m".to_owned(),
            len: None,
        }],
        vars: vec![Var {
            name: "x".to_owned(),
            ty: Type::Int,
            len: None,
            init: 0,
        }],
        processes: vec![vec![
            Stmt::Lock("m".to_owned(), None),
            assign("x", Expr::Int(0)),
            Stmt::Unlock("m".to_owned(), None),
        ]],
        ..Program::default()
    };
    // The numbers of locks and unlocks must be equal: neither can be removed alone.
    let small = shrink(program, |program| {
        let text = program.to_string();
        let unlocks = text.matches("unlock(").count();
        text.contains("x :=") && text.matches("lock(").count() == 2 * unlocks
    });
    assert_eq!(small.processes, [vec![assign("x", Expr::Int(0))]]);
}

#[test]
fn a_program_that_never_fails_stays_as_it_is() {
    let program = generate(12, &Config::default());
    assert_eq!(shrink(program.clone(), |_| false), program);
}

#[test]
fn shrinking_anything_ends_in_nothing() {
    for seed in 0..20 {
        let small = shrink(generate(seed, &Config::default()), |_| true);
        assert_eq!(small, Program::default());
    }
}

#[test]
fn shrunk_programs_are_programs_and_still_fail() {
    let wrong = Switches {
        ignore_pending_guards: true,
        ..Switches::default()
    };
    let mut shrunk = 0;
    for seed in 0..40 {
        let program = generate(seed, &Config::default());
        let fails = |program: &Program| {
            disagreement(&program.to_string(), |machine| source(machine, wrong)).is_some()
        };
        if fails(&program) {
            let small = shrink(program, fails);
            assert!(machine(&small.to_string()).is_ok());
            assert!(fails(&small));
            shrunk += 1;
        }
    }
    assert!(shrunk > 0);
}

#[test]
fn every_statement_can_be_printed_and_read() {
    for seed in 0..2000 {
        let text = generate(seed, &Config::default()).to_string();
        assert!(
            machine(&text).is_ok(),
            "seed {seed}: {:?}\n{text}",
            machine(&text).err()
        );
    }
}
