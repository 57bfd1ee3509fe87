//! Many programs, one after the other.

use std::collections::BTreeMap;
use std::fmt;

use mazurka_testkit::oracle::Limits;

use crate::expected::{Expected, Unknown};
use crate::generators::Generator;
use crate::harness::{Fault, Plant, Tallies, fault};
use crate::shrink::shrink;

/// Which programs to look at.
#[derive(Clone, Copy, Debug)]
pub struct Tour {
    pub generator: Generator,
    pub first: u64,
    pub programs: u64,
}

/// A program that a command gets wrong.
#[derive(Clone, Debug)]
pub struct Finding {
    pub generator: Generator,
    pub seed: u64,
    pub fault: Fault,
    /// The same mistake in a smaller program.
    pub small: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            generator,
            seed,
            fault: Fault { command, what },
            small,
        } = self;
        writeln!(f, "mazurka {command}: {what}")?;
        writeln!(f, "{small}")?;
        write!(f, "again: .ci/long --generator {generator} --seed {seed} --programs 1")
    }
}

/// What a tour has seen.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub programs: u64,
    /// Programs that were compared.
    pub compared: u64,
    pub too_large: u64,
    pub refused: u64,
    pub violated: u64,
    pub tallies: Tallies,
    /// How many programs a command gets wrong.
    pub wrong: u64,
    /// Some of them.
    pub findings: Vec<Finding>,
    /// How many there are of a kind: the command, and what it says without the numbers.
    kinds: BTreeMap<String, u64>,
}

/// More of a kind are not worth the time of shrinking.
const MOST_OF_A_KIND: u64 = 2;

/// More kinds than this have one cause.
const MOST_KINDS: usize = 20;

fn kind(fault: &Fault) -> String {
    let words = format!("{}: {}", fault.command.name(), fault.what);
    let words = words.chars().filter(|c| !c.is_ascii_digit());
    words.take(80).collect()
}

/// How far the oracle goes: what it takes longer for is too large for the engines, too.
fn limits() -> Limits {
    Limits {
        states: 4_000,
        ..Limits::default()
    }
}

/// Looks at programs, and tells each comparison that was made.
pub fn tour(wanted: &Tour, each: &mut dyn FnMut(&Visit)) -> Report {
    planted_tour(wanted, None, each)
}

/// A program that was compared.
pub struct Visit<'a> {
    pub seed: u64,
    pub text: &'a str,
    pub truth: &'a Expected,
}

/// The same with a wrong command.
pub fn planted_tour(
    wanted: &Tour,
    plant: Option<&Plant>,
    each: &mut dyn FnMut(&Visit),
) -> Report {
    let mut report = Report::default();
    for seed in wanted.first..wanted.first + wanted.programs {
        let Some(text) = wanted.generator.program(seed) else {
            continue;
        };
        report.programs += 1;
        if crate::harness::trace() {
            eprintln!("{seed}:\n{text}");
        }
        let truth = match Expected::of(&text, &limits()) {
            Ok(truth) => truth,
            Err(Unknown::TooLarge) => {
                report.too_large += 1;
                continue;
            }
            Err(Unknown::Refused(_)) => {
                report.refused += 1;
                continue;
            }
        };
        report.compared += 1;
        report.violated += u64::from(truth.violated());
        each(&Visit {
            seed,
            text: &text,
            truth: &truth,
        });
        let found = fault(&text, seed, &truth, None, plant, &mut report.tallies);
        let Some(found) = found else {
            continue;
        };
        report.wrong += 1;
        let known = report.kinds.entry(kind(&found)).or_default();
        *known += 1;
        if *known <= MOST_OF_A_KIND && report.kinds.len() <= MOST_KINDS {
            let finding = shrunk(wanted.generator, seed, &text, found, plant);
            report.findings.push(finding);
        }
    }
    report
}

/// What is wrong with a text, if its oracle knows.
fn wrong(text: &str, seed: u64, only: &str, plant: Option<&Plant>) -> Option<Fault> {
    let truth = Expected::of(text, &limits()).ok()?;
    fault(text, seed, &truth, Some(only), plant, &mut Tallies::new())
}

fn shrunk(
    generator: Generator,
    seed: u64,
    text: &str,
    found: Fault,
    plant: Option<&Plant>,
) -> Finding {
    let (only, wanted) = (found.command.name(), kind(&found));
    let same = |text: &str| wrong(text, seed, &only, plant).filter(|fault| kind(fault) == wanted);
    let small = shrink(text, |text| same(text).is_some());
    let fault = same(&small).unwrap_or(found);
    Finding {
        generator,
        seed,
        fault,
        small,
    }
}

impl Report {
    pub fn assert_right(&self) {
        let all: Vec<String> = self.findings.iter().map(ToString::to_string).collect();
        assert!(all.is_empty(), "\n{}\n", all.join("\n\n"));
        assert!(
            self.compared * 2 > self.programs,
            "{} of {} programs were compared",
            self.compared,
            self.programs
        );
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} programs: {} compared ({} violated), {} too large, {} refused; {} disagreements",
            self.programs,
            self.compared,
            self.violated,
            self.too_large,
            self.refused,
            self.wrong
        )?;
        for (kind, number) in &self.kinds {
            writeln!(f, "  {number:7} × {kind}")?;
        }
        for (name, tally) in &self.tallies {
            writeln!(
                f,
                "  {name:32} {:7} asked {:7} refused {:7} inconclusive {:7} violated {:8.1} s",
                tally.asked, tally.refused, tally.inconclusive, tally.violated, tally.seconds
            )?;
        }
        Ok(())
    }
}
