//! Runs the commands on many programs, one after the other.

use std::collections::BTreeMap;
use std::fmt;

use mazurka_testkit::oracle::Limits;

use crate::expected::{Expected, Unknown};
use crate::generators::Generator;
use crate::harness::{Fault, Plant, Tallies, Trial, fault, fault_of_impossible, timed};
use crate::shrink::shrink;

/// Which programs to try.
#[derive(Clone, Copy, Debug)]
pub struct Tour {
    pub generator: Generator,
    pub first: u64,
    pub programs: u64,
    /// The distance between seeds. Seeds of one `swarm` batch give similar programs, so a short
    /// tour should take seeds that are far apart.
    pub stride: u64,
}

/// A program that a command gets wrong.
#[derive(Clone, Debug)]
pub struct Finding {
    pub generator: Generator,
    pub seed: u64,
    pub fault: Fault,
    /// A smaller program with the same mistake.
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
        write!(
            f,
            "again: .ci/long --generator {generator} --seed {seed} --programs 1"
        )
    }
}

/// The results of a tour.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub programs: u64,
    /// Programs that were compared.
    pub compared: u64,
    pub too_large: u64,
    pub refused: u64,
    /// Programs whose requirements no initial values satisfy.
    pub impossible: u64,
    pub violated: u64,
    pub tallies: Tallies,
    /// The number of programs that some command gets wrong.
    pub wrong: u64,
    /// Some of the wrong programs.
    pub findings: Vec<Finding>,
    /// For each kind of mistake, the number of programs with this mistake. A kind is the name of
    /// the command, and the description of the mistake without its digits.
    kinds: BTreeMap<String, u64>,
}

/// The maximal number of programs with one kind of mistake that are shrunk.
const MOST_OF_A_KIND: u64 = 2;

/// The maximal number of kinds of mistakes of which programs are shrunk. If there are more kinds,
/// they usually have one cause.
const MOST_KINDS: usize = 20;

fn kind(fault: &Fault) -> String {
    let words = format!("{}: {}", fault.command.name(), fault.what);
    let words = words.chars().filter(|c| !c.is_ascii_digit());
    words.take(80).collect()
}

/// Returns the limits of the oracle. Programs that exceed them are too large for the engines, too.
fn limits() -> Limits {
    Limits {
        states: 4_000,
        ..Limits::default()
    }
}

/// Returns the true behaviour by the oracle.
pub fn expected_by_oracle(text: &str) -> Result<Expected, Unknown> {
    Expected::by_oracle(text, &limits())
}

/// A program that was compared.
pub struct ComparedProgram<'a> {
    pub text: &'a str,
    pub violated: bool,
}

/// Tries the programs, and calls `each` for every one that was compared.
pub fn tour(wanted: &Tour, each: &mut dyn FnMut(&ComparedProgram)) -> Report {
    let mut report = Report::default();
    for (seed, text) in wanted.texts() {
        if crate::harness::trace() {
            eprintln!("{seed}:\n{text}");
        }
        report.programs += 1;
        let truth = timed("(oracle)", &mut report.tallies, || {
            expected_by_oracle(&text)
        });
        match &truth {
            Ok(truth) => {
                report.compared += 1;
                let violated = truth.violated();
                report.violated += u64::from(violated);
                let text = &text;
                each(&ComparedProgram { text, violated });
            }
            Err(Unknown::TooLarge) => report.too_large += 1,
            Err(Unknown::Refused) => report.refused += 1,
            Err(Unknown::Impossible { .. }) => report.impossible += 1,
        }
        let found = wrong_with(&truth, &text, seed, Trial::default(), &mut report.tallies);
        let Some(found) = found else {
            continue;
        };
        report.wrong += 1;
        let known = report.kinds.entry(kind(&found)).or_default();
        *known += 1;
        if *known <= MOST_OF_A_KIND && report.kinds.len() <= MOST_KINDS {
            let finding = shrunk(wanted.generator, seed, &text, found, None);
            report.findings.push(finding);
        }
    }
    report
}

/// Finds the first program that exposes a planted defect, and on which the command without the
/// defect is right. Also returns the number of programs tried.
pub fn first_caught(wanted: &Tour, only: &str, plant: &Plant) -> Option<(u64, Finding)> {
    let none = &mut Tallies::new();
    let plain = Trial {
        only: Some(only),
        plant: None,
    };
    let planted = Trial {
        plant: Some(plant),
        ..plain
    };
    for (after, (seed, text)) in wanted.texts().enumerate() {
        let truth = expected_by_oracle(&text);
        let found = wrong_with(&truth, &text, seed, planted, none);
        let Some(found) = found else {
            continue;
        };
        if wrong_with(&truth, &text, seed, plain, none).is_none() {
            let finding = shrunk(wanted.generator, seed, &text, found, Some(plant));
            return Some((after as u64 + 1, finding));
        }
    }
    None
}

impl Tour {
    fn texts(&self) -> impl Iterator<Item = (u64, String)> {
        let Tour {
            generator,
            first,
            programs,
            stride,
        } = *self;
        let seeds = (0..programs).map(move |at| first + at * stride);
        seeds.filter_map(move |seed| Some((seed, generator.program(seed)?)))
    }
}

fn wrong_with(
    truth: &Result<Expected, Unknown>,
    text: &str,
    seed: u64,
    trial: Trial<'_>,
    tallies: &mut Tallies,
) -> Option<Fault> {
    match truth {
        Ok(truth) => fault(text, seed, truth, trial, tallies),
        Err(Unknown::Impossible { hard }) => fault_of_impossible(text, *hard, trial, tallies),
        Err(_) => None,
    }
}

/// Returns the first mistake that a command makes about a program; `None` if there is none.
pub fn any_mistake(text: &str) -> Option<Fault> {
    // The seed decides which commands are run.
    (0..60).find_map(|seed| wrong(text, seed, "", None))
}

/// Returns the first mistake that a command makes about a program. Returns `None` if there is none,
/// or if the oracle does not know the truth.
fn wrong(text: &str, seed: u64, only: &str, plant: Option<&Plant>) -> Option<Fault> {
    let only = Some(only);
    let trial = Trial { only, plant };
    wrong_with(
        &expected_by_oracle(text),
        text,
        seed,
        trial,
        &mut Tallies::new(),
    )
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
            "{} programs: {} compared ({} violated), {} too large, {} refused, {} impossible; {} disagreements",
            self.programs,
            self.compared,
            self.violated,
            self.too_large,
            self.refused,
            self.impossible,
            self.wrong
        )?;
        for (kind, number) in &self.kinds {
            writeln!(f, "  {number:7} × {kind}")?;
        }
        for (name, tally) in &self.tallies {
            writeln!(f, "  {name:32} {tally}")?;
        }
        Ok(())
    }
}
