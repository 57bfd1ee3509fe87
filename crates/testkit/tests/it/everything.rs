//! All features of the language in one program: enumerations, structs, functions, quantifiers,
//! `match`, bit operations, objects, channels with and without a capacity, `select`, ghosts,
//! covers, prints, labels and included files. Every engine is compared with the oracle.
//!
//! The oracle does not support ghosts and files. It gets the same program as one text, with plain
//! variables that are written in one atomic block with the step before them.

use crate::common::{in_three_files, programs, records};
use mazurka::unfold::{NetKind, Unfold};
use mazurka::{Bound, Options, Program, quietly};
use mazurka_core::Kind;
use mazurka_testkit::Rng;
use mazurka_testkit::oracle::{Answer, Limits, judge};

/// A piece of a program, as written and as the oracle reads it.
#[derive(Clone, Default)]
struct ProgramPiece {
    written: String,
    plain: String,
}

impl ProgramPiece {
    fn same(text: &str) -> Self {
        Self {
            written: text.to_owned(),
            plain: text.to_owned(),
        }
    }
}

struct ProgramWriter {
    rng: Rng,
    labels: u32,
}

impl ProgramWriter {
    fn any_of(&mut self, all: &[&str]) -> String {
        (*self.rng.pick(all).expect("not empty")).to_owned()
    }

    fn ghost(&mut self) -> String {
        self.any_of(&[
            "g := g + 1",
            "g := x",
            "h[l % 2] := g",
            "g, h[0] := h[0], g",
            "h[1] := len(c)",
        ])
    }

    fn condition(&mut self) -> String {
        self.any_of(&[
            "x == 0",
            "even(x)",
            "w & 3 == 1",
            "s == Idle",
            "len(c) > 0",
            "len(d) < 2",
            "(count v in a: v == 0) == 2",
            "exists i in 0..2: a[i] > 0",
            "l < 2",
            "t.load(acquire) > 0",
        ])
    }

    /// Returns one step that does not wait and chooses nothing.
    fn simple(&mut self) -> String {
        self.any_of(&[
            "x := x + 1",
            "x := 1 - x",
            "a[x % 2] := 1",
            "w := w | 1 << 1",
            "w := ~w >> 6 ^ 1",
            "s := Busy",
            "s := match s { Idle: Done, Busy, Done: Idle }",
            "m := Msg(from: x, kind: Busy)",
            "l := x",
            "l, x := x, l",
            "x := max v in a: v",
            "t.fetch_add(x + 1, relaxed)",
            "l := t.swap(x)",
            "t.compare_exchange(l, a[0])",
        ])
    }

    /// Returns one step that may wait.
    fn waits(&mut self) -> String {
        let test = self.condition();
        match self.rng.below(10) {
            0 | 1 => self.any_of(&["c ! 3", "c ! x", "c ! l"]),
            2 | 3 => self.any_of(&["c ? l", "c ? x", "c ? a[1]"]),
            4 => self.any_of(&["d ! Msg(from: l, kind: s)", "d ! m"]),
            5 => "d ? m".to_owned(),
            6 => self.any_of(&["acquire(p)", "release(p)"]),
            7 => self.any_of(&["ok := try c ! 7", "ok := try d ? m", "ok := try acquire(p)"]),
            _ => format!("{test} |> {}", self.simple()),
        }
    }

    fn step(&mut self) -> ProgramPiece {
        let step = if self.rng.percent(55) {
            self.simple()
        } else {
            self.waits()
        };
        let ghost = self.ghost();
        match self.rng.below(14) {
            0..=3 => ProgramPiece {
                plain: format!("atomic {{ {step}; {ghost} }}"),
                written: format!("{step}; {ghost}"),
            },
            4 => {
                self.labels += 1;
                ProgramPiece {
                    written: format!("here{}: {step}; print \"{{x}} and {{l}}\"", self.labels),
                    plain: step,
                }
            }
            5 => {
                let (test, other) = (self.condition(), self.simple());
                let gate = self.any_of(&["c ? l", "c ! 9", "d ? m", "acquire(p)"]);
                let last = self.any_of(&["", " [] else |> { skip }"]);
                ProgramPiece::same(&format!(
                    "select {{ {gate} |> {{ {other} }} [] {test} |> {{ skip }}{last} }}"
                ))
            }
            6 => ProgramPiece::same(&format!(
                "if {} {{ {step} }} else {{ bump(1) }}",
                self.condition()
            )),
            7 => ProgramPiece::same(&format!("for i in 0..2 {{ {step} }}")),
            8 => ProgramPiece::same("lock(k); x := x + 1; unlock(k)"),
            9 => ProgramPiece::same("read_lock(r); l := x; read_unlock(r)"),
            10 => ProgramPiece::same(&format!("assume {}", self.condition())),
            11 => ProgramPiece::same(&format!("assert {}", self.condition())),
            12 => ProgramPiece::same("x := choose(0..2)"),
            _ => ProgramPiece::same(&step),
        }
    }

    fn program(mut self) -> ProgramPiece {
        let mut head = String::from(
            "enum State { Idle, Busy, Done }\nstruct Msg { from: int, kind: State }\n",
        );
        head += &format!("chan c[{}]: int\n", self.any_of(&["1", "2", "..", "..1"]));
        head += &format!("chan d[{}]: Msg\n", self.any_of(&["1", "2", ".."]));
        head += "fn even(v: int): bool { v % 2 == 0 }\nproc bump(n: int) { x := x + n }\n";
        head += "var x: int = 0\nvar w: u8 = 1\nvar a: int[2] = 0\nvar t: atomic int = 0\nvar s: State = Idle\n";
        head += "var m: Msg = Msg(from: 0, kind: Idle)\nlock k\nrwlock r\n";
        head += &format!("semaphore p = {}\nobserve x, w, s\n", self.rng.below(2));
        // The oracle supports invariants over variables only.
        let claims = ["x < 2", "g < 3", "w != 3", "h[1] == 0"];
        if self.rng.percent(60) {
            head += &format!("ensures {}\n", self.any_of(&claims));
        }
        if self.rng.percent(30) {
            head += &format!("invariant {}\n", self.any_of(&claims));
        }
        for _ in 0..2 {
            let covers = ["g == 2", "x == 2 && w & 2 == 2", "len(c) == 2", "h[1] == 1"];
            head += &format!("cover {}\n", self.any_of(&covers));
        }
        let ghosts = "var g: int = 0\nvar h: int[2] = 0\n";
        let mut all = ProgramPiece {
            written: format!("{}{head}", ghosts.replace("var", "ghost var")),
            plain: format!("{ghosts}{head}"),
        };
        for _ in 0..2 {
            let mut body = ProgramPiece::same("let l = 0; let ok = true; skip");
            for _ in 0..1 + self.rng.below(3) {
                let next = self.step();
                body.written += &format!("; {}", next.written);
                body.plain += &format!("; {}", next.plain);
            }
            all.written += &format!("process {{ {} }}\n", body.written);
            all.plain += &format!("process {{ {} }}\n", body.plain);
        }
        all
    }
}

fn compare(first: u64, programs: u64) -> [u64; 5] {
    let mut counts = [0; 5];
    for seed in first..first + programs {
        let author = ProgramWriter {
            rng: Rng::new(seed ^ 0x6576_6572_7974_6869),
            labels: 0,
        };
        let both = author.program();
        let limits = Limits {
            states: 20_000,
            ..Limits::default()
        };
        let truth = match judge(&both.plain, &limits) {
            Answer::Truth(truth) => truth,
            Answer::TooLarge => continue,
            other => panic!("{other:?}\n{}", both.plain),
        };
        let text = match seed % 2 {
            0 => both.written.clone(),
            _ => in_three_files(&both.written),
        };
        let program = Program::load("random.maz", &text, &[]);
        let program = program.unwrap_or_else(|mistakes| panic!("{mistakes:?}\n{text}"));
        let fails = !truth.failures.is_empty();
        for (engine, record) in records(&program) {
            let has_witness = |kind: Kind| record.witnesses.iter().any(|shown| shown.kind == kind);
            let seen = (has_witness(Kind::Failure), has_witness(Kind::Deadlock));
            let context = || format!("{engine}, seed {seed}\n{text}\n{}", both.plain);
            let limit = |bound: &Bound| matches!(bound, Bound::MaxMessages(_));
            if record.scope.bounds.iter().any(limit) {
                // The limit was hit, but the findings are real.
                assert!(!seen.0 || fails, "{}", context());
                assert!(!seen.1 || truth.deadlock, "{}", context());
                counts[3] += 1;
                continue;
            }
            assert_eq!(seen, (fails, truth.deadlock), "{}", context());
            let covered = record.covers.iter().map(|cover| cover.run.is_some());
            assert_eq!(covered.collect::<Vec<_>>(), truth.covers, "{}", context());
            let finals = record.counts.final_states;
            assert_eq!(finals, truth.final_states.len() as u64, "{}", context());
            counts[4] += 1;
        }
        let how = Unfold {
            kind: NetKind::Contextual,
            seed: 0,
        };
        let net = program.unfold(how, &Options::default(), &mut quietly());
        let record = net.expect("a net").record;
        let deadlock = record.witnesses.iter().any(|w| w.kind == Kind::Deadlock);
        let cut = record
            .scope
            .bounds
            .iter()
            .any(|b| matches!(b, Bound::MaxMessages(_)));
        assert!(
            deadlock == truth.deadlock || cut && truth.deadlock,
            "a net, seed {seed}\n{text}"
        );
        let hits = [fails, truth.deadlock, truth.covers.contains(&true)];
        for (count, hit) in counts.iter_mut().zip(hits) {
            *count += u64::from(hit);
        }
    }
    println!("failures, deadlocks, covers, beyond a limit, compared: {counts:?}");
    counts
}

#[test]
fn agree_with_the_oracle() {
    let programs = programs(120);
    let counts = compare(0, programs);
    assert!(counts.iter().all(|&count| count > 0), "{counts:?}");
    assert!(counts[4] > programs * 4, "{counts:?}");
}

/// Run with `cargo test -p mazurka-testkit -- --ignored`; `MAZURKA_PROGRAMS=n` for more.
#[test]
#[ignore = "takes minutes"]
fn agree_with_the_oracle_for_long() {
    let counts = compare(1_000_000, programs(20_000));
    assert!(counts.iter().all(|&count| count > 0), "{counts:?}");
}
