//! `cover e`: compares every engine with the oracle, on random programs with guards, locks,
//! choices, unknown values, failures and false assumptions.

use crate::common::{follow, programs, records};
use mazurka::Program;
use mazurka::record::{CoverAnswer, Record};
use mazurka::run::parse_input;
use mazurka_lang::{Machine, Property, compile, load};
use mazurka_testkit::Rng;
use mazurka_testkit::oracle::{Answer, Limits, judge};

const COVERS: usize = 4;

struct ProgramWriter(Rng);

impl ProgramWriter {
    fn any_of(&mut self, all: &[&str]) -> String {
        (*self.0.pick(all).expect("not empty")).to_owned()
    }

    fn condition(&mut self) -> String {
        let simple = [
            "x == 0",
            "x == 1",
            "x == 3",
            "y == 2",
            "y == x",
            "b",
            "!b",
            "s",
            "a[x] == 1",
            "6 / y == 3",
            "a[0] + a[1] == 2",
            "x + y > 3",
        ];
        match self.0.below(4) {
            0 => format!("{} && {}", self.any_of(&simple), self.any_of(&simple)),
            1 => format!(
                "({} || {}) && x != y",
                self.any_of(&simple),
                self.any_of(&simple)
            ),
            _ => self.any_of(&simple),
        }
    }

    fn simple(&mut self) -> String {
        self.any_of(&[
            "x := 1",
            "x := y + 1",
            "x := x + 1",
            "y := 2",
            "y := x",
            "b := true",
            "b := x == y",
            "a[1] := 1",
            "a[y % 2] := a[x % 2] + 1",
            "x := choose(0..3)",
            "x, y := y, x",
            "y := if s then 3 else 0",
        ])
    }

    fn statement(&mut self) -> String {
        match self.0.below(9) {
            0..=2 => self.simple(),
            3 => format!("{} |> {}", self.condition(), self.simple()),
            4 => format!("atomic {{ {}; {} }}", self.simple(), self.simple()),
            5 => format!("lock(m); {}; {}; unlock(m)", self.simple(), self.simple()),
            6 => format!("if {} {{ {} }}", self.condition(), self.simple()),
            7 => format!("assume {}", self.condition()),
            _ => format!(
                "atomic {{ {}; assert {} }}",
                self.simple(),
                self.condition()
            ),
        }
    }

    fn program(mut self) -> String {
        let mut text = String::new();
        if self.0.percent(25) {
            text += "atomicity access\n";
        }
        let s = if self.0.percent(25) {
            "var s: bool"
        } else {
            "var s: bool = false"
        };
        text +=
            &format!("var x, y: int = 0\nvar b: bool = false\n{s}\nvar a: int[2] = 0\nlock m\n");
        if self.0.percent(30) {
            text += "invariant x + y < 4\n";
        }
        for at in 0..COVERS {
            text += &format!("cover c{at}: {}\n", self.condition());
        }
        for _ in 0..2 + self.0.below(2) {
            let count = 1 + self.0.below(3);
            let body: Vec<String> = (0..count).map(|_| self.statement()).collect();
            text += &format!("process {{ {} }}\n", body.join("; "));
        }
        text
    }
}

/// Returns whether each cover is reached, according to a record; `None` if the record leaves one
/// open. Checks that the run that is shown for a cover reaches it.
fn covered(text: &str, record: &Record) -> Option<Vec<bool>> {
    let code = compile(&load(text, &[]).expect("a program"), text).expect("nothing to refuse");
    assert_eq!(record.covers.len(), COVERS, "{text}");
    let mut all = Vec::new();
    for cover in &record.covers {
        assert_eq!(cover.run.is_some(), cover.answer == CoverAnswer::Reached);
        if let Some(run) = &cover.run {
            let value = |text: &str| parse_input(text).expect("a value") as i64;
            let inputs = run.inputs.iter();
            let inputs = inputs.map(|input| (&*input.name, value(&input.value)));
            let mut machine = Machine::new(code.with_inputs(inputs).into(), 1_000_000);
            follow(&mut machine, &run.schedule.parse().expect("a schedule"));
            let state = Property::read(text, &[], &cover.condition).expect("a condition");
            let holds = state.holds(&|cell| machine.value(cell), &[]);
            assert!(holds, "{} after {}\n{text}", cover.condition, run.schedule);
        }
        if cover.answer == CoverAnswer::Open {
            return None;
        }
        all.push(cover.answer == CoverAnswer::Reached);
    }
    Some(all)
}

/// Compares this many programs; returns how many covers were reached, and how many never.
fn compare(first: u64, programs: u64) -> [u64; 2] {
    let mut found = [0; 2];
    let mut compared = 0;
    for seed in first..first + programs {
        let text = ProgramWriter(Rng::new(seed)).program();
        let truth = match judge(&text, &Limits::default()) {
            Answer::Truth(truth) => truth,
            Answer::TooLarge => continue,
            other => panic!("{other:?}\n{text}"),
        };
        let program = Program::load("random.maz", &text, &[]).expect("a right program");
        for (engine, record) in records(&program) {
            if let Some(covers) = covered(&text, &record) {
                assert_eq!(covers, truth.covers, "{engine}, seed {seed}\n{text}");
                compared += 1;
            }
        }
        for reached in truth.covers {
            found[usize::from(!reached)] += 1;
        }
    }
    println!("{compared} comparisons of {programs} programs, reached and not: {found:?}");
    assert!(compared * 10 > programs * 45, "{compared} comparisons");
    found
}

#[test]
fn agree_with_the_oracle() {
    let programs = programs(60);
    let found = compare(0, programs);
    assert!(found.iter().all(|&count| count > programs / 2), "{found:?}");
}

/// Run with `cargo test -p mazurka-testkit -- --ignored`; `MAZURKA_PROGRAMS=n` for more.
#[test]
#[ignore = "takes minutes"]
fn agree_with_the_oracle_for_long() {
    let found = compare(1_000_000, programs(20_000));
    assert!(found.iter().all(|&count| count > 0), "{found:?}");
}
