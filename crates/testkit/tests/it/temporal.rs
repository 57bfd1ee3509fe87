//! Temporal properties: compares the engine with the oracle, on random programs with loops, locks,
//! choices, false assumptions and failures.

use crate::common::programs;
use mazurka::replay::Recording;
use mazurka::search::Algorithm;
use mazurka::{Options, Program, quietly};
use mazurka_core::{Fairness, Kind};
use mazurka_testkit::Rng;
use mazurka_testkit::oracle::{Answer, Limits, judge};

/// Writes a program with four temporal properties, called `p0` to `p3`. Process `qk` keeps a copy
/// of its local `n` in the shared variable `gk`.
struct ProgramWriter {
    rng: Rng,
    text: String,
    process: usize,
}

impl ProgramWriter {
    fn any_of(&mut self, all: &[&str]) -> String {
        (*self.rng.pick(all).expect("not empty")).to_owned()
    }

    fn condition(&mut self) -> String {
        let simple = [
            "x == 0",
            "x == 1",
            "x != 2",
            "y == 0",
            "y == x",
            "b",
            "!b",
            "a[x] == 1",
            "true",
        ];
        match self.rng.below(4) {
            0 => format!("{} && {}", self.any_of(&simple), self.any_of(&simple)),
            1 => format!("{} || {}", self.any_of(&simple), self.any_of(&simple)),
            _ => self.any_of(&simple),
        }
    }

    /// Returns a condition on a state for a property.
    fn claim(&mut self) -> String {
        let local = ["g0 == 0", "g0 == 1", "g1 == 2", "g1 != 1", "g0 == g1"];
        match self.rng.below(4) {
            0 => self.any_of(&local),
            1 => format!("{} && {}", self.any_of(&local), self.condition()),
            _ => self.condition(),
        }
    }

    /// Returns an assignment of a process to its local `n` and to the copy of it.
    fn own(&mut self) -> String {
        let (process, value) = (self.process, self.rng.below(3));
        format!("atomic {{ n := {value}; g{process} := {value} }}")
    }

    fn simple(&mut self) -> String {
        self.any_of(&[
            "x := 0",
            "x := 1",
            "x := 1 - y",
            "x := (x + 1) % 3",
            "y := x % 2",
            "y := 1",
            "b := !b",
            "b := true",
            "b := x == y",
            "a[y] := 1 - a[y]",
            "x := choose(0..2)",
            "x, y := y, 1",
            "skip",
        ])
    }

    fn statement(&mut self, depth: u32) -> String {
        match self.rng.below(if depth == 0 { 9 } else { 14 }) {
            0..=3 => self.simple(),
            4 => self.own(),
            5 => format!("await {}", self.condition()),
            6 => format!("{} |> {}", self.condition(), self.simple()),
            7 => format!("atomic {{ {}; {} }}", self.simple(), self.simple()),
            8 if self.rng.percent(30) => format!("assume {}", self.condition()),
            8 if self.rng.percent(30) => format!("assert {}", self.condition()),
            8 => self.simple(),
            9 => {
                let body = self.block(depth - 1);
                format!("lock(m); {body}; unlock(m)")
            }
            10 => {
                let (test, then) = (self.condition(), self.block(depth - 1));
                format!(
                    "if {test} {{ {then} }} else {{ {} }}",
                    self.block(depth - 1)
                )
            }
            11 => {
                let test = self.condition();
                format!("while {test} {{ {} }}", self.block(depth - 1))
            }
            12 => format!("spawn {{ {} }}; join", self.simple()),
            _ => {
                let (test, body) = (self.condition(), self.simple());
                format!("{test} |>* {body}")
            }
        }
    }

    fn block(&mut self, depth: u32) -> String {
        let all: Vec<String> = (0..1 + self.rng.below(3))
            .map(|_| self.statement(depth))
            .collect();
        all.join("; ")
    }

    fn program(mut self) -> String {
        if self.rng.percent(20) {
            self.text += "atomicity access\n";
        }
        self.text +=
            "var x, y, d, g0, g1, g2: int = 0\nvar b: bool = false\nvar a: int[2] = 0\nlock m\n";
        let (e, f, g, h) = (self.claim(), self.claim(), self.claim(), self.claim());
        self.text += &format!("always p0: {e}\neventually p1: {f}\n");
        self.text += &format!("infinitely_often p2: {g}\nwhenever p3: {h} leads_to {f}\n");
        for process in 0..2 + self.rng.below(2) {
            self.process = process;
            let body = self.block(1);
            let body = if self.rng.percent(60) {
                format!("while true {{ {body} }}")
            } else {
                body
            };
            self.text += &format!("process q{process} {{ let n = 0; {body} }}\n");
        }
        self.text
    }
}

fn program(seed: u64) -> String {
    let author = ProgramWriter {
        rng: Rng::new(seed),
        text: String::new(),
        process: 0,
    };
    author.program()
}

/// Returns the program without the copies of locals. Its properties refer to the locals instead,
/// which no other process reads.
fn with_locals(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let mut line = line.to_owned();
        let first = line.split(' ').next().unwrap_or_default();
        let property = !matches!(first, "var" | "lock" | "atomicity" | "process");
        for process in 0..3 {
            let copy = format!("g{process}");
            line = if property {
                line.replace(&copy, &format!("q{process}.n"))
            } else {
                line.replace(&format!("{copy} := "), "d := 0 * ")
            };
        }
        lines.push(line);
    }
    lines.join("\n")
}

/// Returns whether `p0` to `p3` hold, and whether there is a livelock, according to the engine;
/// `None` if it hit a bound. Each witness is replayed.
fn verdicts(text: &str, fairness: Fairness) -> Option<(Vec<bool>, bool)> {
    let program = Program::load("random.maz", text, &[]).expect("a right program");
    let options = Options {
        fairness,
        ..Options::default()
    };
    let record = program.explore(Algorithm::Stateful, &options, &mut quietly());
    let record = record.expect("all values are known");
    if !record.scope.bounds.is_empty() {
        return None;
    }
    let saved = serde_json::to_string(&record).expect("a record");
    if !record.witnesses.is_empty() {
        let recording = Recording::parse(&saved).expect("its own record");
        // The record names the fairness that it assumes.
        let again = program.replay(&recording, &Options::default());
        let again = again.unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(again.witnesses, record.witnesses, "{text}");
    }
    let violated = |name: &str| {
        let shown = record.witnesses.iter();
        let mut shown = shown.filter(|witness| witness.kind == Kind::Property);
        shown.any(|witness| witness.message.contains(&format!("`{name}`")))
    };
    let holds = ["p0", "p1", "p2", "p3"].map(|name| !violated(name));
    let mut kinds = record.witnesses.iter().map(|witness| witness.kind);
    Some((holds.to_vec(), kinds.any(|kind| kind == Kind::Livelock)))
}

/// Compares this many programs, most of which must be small enough. Returns how often each property
/// was violated, and how often there was a livelock.
fn compare(first: u64, programs: u64, fairness: Fairness) -> [u64; 5] {
    let limits = Limits {
        states: 3_000,
        strong: fairness == Fairness::Strong,
        ..Limits::default()
    };
    let mut violated = [0; 5];
    let mut compared = 0;
    for seed in first..first + programs {
        let text = program(seed);
        let truth = match judge(&text, &limits) {
            Answer::Truth(truth) => truth,
            Answer::TooLarge => continue,
            other => panic!("{other:?}\n{text}"),
        };
        for text in [with_locals(&text), text] {
            if let Some((holds, livelock)) = verdicts(&text, fairness) {
                assert_eq!(holds, truth.temporal, "seed {seed}, {fairness}\n{text}");
                assert_eq!(livelock, truth.livelock, "seed {seed}, {fairness}\n{text}");
                compared += 1;
            }
        }
        let broken = truth.temporal.iter().map(|holds| !holds);
        for (count, broken) in violated.iter_mut().zip(broken.chain([truth.livelock])) {
            *count += u64::from(broken);
        }
    }
    println!("{fairness}: {compared} comparisons of {programs} programs, violated {violated:?}");
    assert!(compared * 10 > programs * 15, "{compared} comparisons");
    violated
}

/// Asserts that each property fails in many programs, and not in all.
fn varied(violated: [u64; 5], programs: u64) {
    for count in violated {
        assert!(count * 25 > programs, "{violated:?} of {programs}");
        assert!(count < programs, "{violated:?} of {programs}");
    }
}

#[test]
fn agrees_with_the_oracle() {
    let programs = programs(300);
    let weak = compare(0, programs, Fairness::Weak);
    varied(weak, programs);
    let strong = compare(0, programs, Fairness::Strong);
    varied(strong, programs);
    let fewer = weak
        .iter()
        .zip(strong)
        .filter(|(weak, strong)| *weak > strong);
    assert!(fewer.count() >= 3, "{weak:?}, {strong:?}");
}

/// Run with `cargo test -p mazurka-testkit -- --ignored`; `MAZURKA_PROGRAMS=n` for more.
#[test]
#[ignore = "takes minutes"]
fn agrees_with_the_oracle_for_long() {
    for fairness in Fairness::ALL {
        let violated = compare(1_000_000, programs(20_000), fairness);
        assert!(violated.iter().all(|&count| count > 0), "{violated:?}");
    }
}
