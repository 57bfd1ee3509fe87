//! Compares ghost variables with the oracle, which does not support them: it gets the same program
//! with plain variables, each written in one atomic block with the step before it.

use std::collections::BTreeSet;

use crate::common::{programs, records};
use mazurka::record::Record;
use mazurka::unfold::{NetKind, Unfold};
use mazurka::{Options, Program, quietly};
use mazurka_core::Kind;
use mazurka_testkit::Rng;
use mazurka_testkit::oracle::{Answer, FailureKind, Limits, judge};

/// A piece of a program, with ghosts and without.
#[derive(Clone, Default)]
struct ProgramPiece {
    ghosts: String,
    plain: String,
}

impl ProgramPiece {
    fn same(text: &str) -> Self {
        Self {
            ghosts: text.to_owned(),
            plain: text.to_owned(),
        }
    }

    fn then(&mut self, next: Self) {
        self.ghosts += &format!("; {}", next.ghosts);
        self.plain += &format!("; {}", next.plain);
    }
}

struct ProgramWriter {
    rng: Rng,
    access: bool,
    /// The number of locals made for the plain program.
    tests: u64,
}

impl ProgramWriter {
    fn any_of(&mut self, all: &[&str]) -> String {
        (*self.rng.pick(all).expect("not empty")).to_owned()
    }

    fn ghost(&mut self) -> String {
        let one = [
            "g := 1",
            "g := 2",
            "g := g + 1",
            "h := g",
            "h := x",
            "a[x % 2] := 1",
            "a[g % 2] := y",
            "g, h := h, g",
            "h := a[0] + a[1]",
            "a[l % 2] := l",
            "h := 6 / (g + 1)",
        ];
        let mut all = self.any_of(&one);
        if self.rng.percent(25) {
            all = format!("{all}; {}", self.any_of(&one));
        }
        if self.rng.percent(20) {
            all = format!("if l == 1 {{ {all} }}");
        }
        all
    }

    fn condition(&mut self) -> String {
        self.any_of(&["x == 0", "x == 1", "y < 2", "x != y", "y == 1"])
    }

    /// Returns one step, perhaps with ghosts after it.
    fn step(&mut self) -> ProgramPiece {
        let assign = if self.access {
            self.any_of(&["x := 1", "y := 1", "x := 2", "y := l", "l := x", "l := y"])
        } else {
            self.any_of(&[
                "x := x + 1",
                "y := x",
                "x := 1",
                "l := x + y",
                "y := l",
                "x, y := y, x",
            ])
        };
        if self.rng.percent(35) {
            return ProgramPiece::same(&assign);
        }
        let ghost = self.ghost();
        match self.rng.below(5) {
            0 => {
                let test = self.condition();
                ProgramPiece {
                    ghosts: format!("await {test}; {ghost}"),
                    plain: format!("{test} |> atomic {{ {ghost}; x := x }}"),
                }
            }
            1 => ProgramPiece {
                ghosts: format!("lock(m); {ghost}; {assign}; unlock(m); {ghost}"),
                plain: format!(
                    "atomic {{ lock(m); {ghost} }}; {assign}; atomic {{ unlock(m); {ghost} }}"
                ),
            },
            2 if !self.access => {
                let (test, next) = (self.condition(), self.any_of(&["x := 0", "y := 0", "skip"]));
                self.tests += 1;
                let t = format!("t{}", self.tests);
                ProgramPiece {
                    ghosts: format!("if {test} {{ {ghost}; {next} }}"),
                    plain: format!(
                        "let {t} = false; atomic {{ {t} := {test}; if {t} {{ {ghost} }} }}; if {t} {{ {next} }}"
                    ),
                }
            }
            _ => ProgramPiece {
                ghosts: format!("{assign}; {ghost}"),
                plain: format!("atomic {{ {assign}; {ghost} }}"),
            },
        }
    }

    fn program(mut self) -> ProgramPiece {
        let claims = [
            "g == 2",
            "g < 3",
            "h == g",
            "a[0] + a[1] < 2",
            "g != 1 || x == 1",
            "h <= x",
            "true",
        ];
        let mut head = if self.access {
            "atomicity access\n".to_owned()
        } else {
            String::new()
        };
        head += "var x, y: int = 0\nlock m\nobserve x, y\n";
        head += &format!("ensures {}\n", self.any_of(&claims));
        if self.rng.percent(50) {
            head += &format!("invariant {}\n", self.any_of(&claims));
        }
        head += &format!(
            "cover {}\n",
            self.any_of(&["g == 2", "h == 1 && g == 0", "a[1] == 1"])
        );
        let vars = "var g, h: int = 0\nvar a: int[2] = 0\n";
        let mut all = ProgramPiece {
            ghosts: format!("{head}{}", vars.replace("var", "ghost var")),
            plain: format!("{head}{vars}"),
        };
        for _ in 0..2 + self.rng.below(2) {
            let mut body = ProgramPiece::same("let l = 0");
            // Ghosts need a step before them.
            body.then(ProgramPiece::same(if self.access {
                "l := y"
            } else {
                "l := x + y"
            }));
            for _ in 0..1 + self.rng.below(3) {
                let step = self.step();
                body.then(step);
            }
            all.ghosts += &format!("process {{ {} }}\n", body.ghosts);
            all.plain += &format!("process {{ {} }}\n", body.plain);
        }
        all
    }
}

/// Returns the relevant part of a record: the lines of broken properties, other failures, and
/// whether there is a deadlock.
fn found(record: &Record) -> (BTreeSet<u32>, bool) {
    let line = |kind: Kind| {
        let shown = record
            .witnesses
            .iter()
            .filter(move |shown| shown.kind == kind);
        shown.filter_map(|shown| shown.place.as_ref())
    };
    let broken = line(Kind::Failure).map(|place| place.line as u32).collect();
    let deadlock = record
        .witnesses
        .iter()
        .any(|shown| shown.kind == Kind::Deadlock);
    (broken, deadlock)
}

fn compare(first: u64, programs: u64) -> [u64; 3] {
    let mut counts = [0; 3];
    for seed in first..first + programs {
        let mut rng = Rng::new(seed);
        let access = rng.percent(30);
        let author = ProgramWriter {
            rng,
            access,
            tests: 0,
        };
        let both = author.program();
        let truth = match judge(&both.plain, &Limits::default()) {
            Answer::Truth(truth) => truth,
            Answer::TooLarge => continue,
            other => panic!("{other:?}\n{}", both.plain),
        };
        let text = &both.ghosts;
        let program = Program::load("random.maz", text, &[]);
        let program = program.unwrap_or_else(|mistakes| panic!("{mistakes:?}\n{text}"));
        let stated = |kind| matches!(kind, FailureKind::Invariant | FailureKind::Ensures);
        let failures = truth.failures.iter();
        let broken: BTreeSet<u32> = failures.map(|failure| failure.line).collect();
        assert!(
            truth.failures.iter().all(|failure| stated(failure.kind)),
            "{text}"
        );
        for (engine, record) in records(&program) {
            let expected = (broken.clone(), truth.deadlock);
            assert_eq!(
                found(&record),
                expected,
                "{engine}, seed {seed}\n{text}\n{}",
                both.plain
            );
            let covered = record.covers[0].run.is_some();
            assert_eq!(covered, truth.covers[0], "{engine}, seed {seed}\n{text}");
            let finals = record.counts.final_states;
            assert_eq!(
                finals,
                truth.final_states.len() as u64,
                "{engine}, seed {seed}\n{text}"
            );
        }
        let how = Unfold {
            kind: NetKind::Contextual,
            seed: 0,
        };
        let net = program
            .unfold(how, &Options::default(), &mut quietly())
            .expect("a net");
        let deadlock = found(&net.record).1;
        assert_eq!(deadlock, truth.deadlock, "a net, seed {seed}\n{text}");
        let hits = [!broken.is_empty(), truth.deadlock, truth.covers[0]];
        for (count, hit) in counts.iter_mut().zip(hits) {
            *count += u64::from(hit);
        }
    }
    counts
}

#[test]
fn agree_with_the_oracle() {
    let programs = programs(60);
    let counts = compare(0, programs);
    assert!(
        counts.iter().all(|&count| count > 0 && count < programs),
        "{counts:?}"
    );
}

/// Run with `cargo test -p mazurka-testkit -- --ignored`; `MAZURKA_PROGRAMS=n` for more.
#[test]
#[ignore = "takes minutes"]
fn agree_with_the_oracle_for_long() {
    let counts = compare(1_000_000, programs(20_000));
    assert!(counts.iter().all(|&count| count > 0), "{counts:?}");
}
