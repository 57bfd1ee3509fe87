//! The long run (`.ci/long`): it compares commands with the oracle on many programs, slice by
//! slice, can be resumed, and makes the table of pairs of features that violated programs have
//! covered.
//!
//! The state is a text file to which every finished slice appends its lines, so a killed run loses
//! only one slice.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use mazurka_testkit::features::{Feature, Pairs, features};

use crate::commands::quiet;
use crate::generators::Generator;
use crate::harness::{Tallies, Tally};
use crate::tour::{Report, Tour, expected_by_oracle, tour};

/// The number of programs in a slice.
const SLICE: u64 = 1_000;

/// The settings of a long run, read from the environment variables that `.ci/long` sets.
pub struct LongRunSettings {
    pub generators: Vec<Generator>,
    pub seed: u64,
    pub programs: u64,
    /// The file of the state; `None` if the state is not saved.
    state: Option<PathBuf>,
}

impl LongRunSettings {
    pub fn by_environment() -> Self {
        let variable = |name: &str| std::env::var(name).ok();
        let number = |name: &str| variable(name).and_then(|n| n.parse().ok());
        let generator = variable("MAZURKA_GENERATOR").map(|name| {
            let known = Generator::named(&name);
            known.unwrap_or_else(|| panic!("there is no generator `{name}`"))
        });
        Self {
            generators: generator.map_or(Generator::ALL.to_vec(), |one| vec![one]),
            seed: number("MAZURKA_SEED").unwrap_or(0),
            programs: number("MAZURKA_PROGRAMS").unwrap_or(1_000),
            state: variable("MAZURKA_STATE").map(PathBuf::from),
        }
    }
}

/// The results of all slices, including those of earlier runs.
#[derive(Default)]
pub struct Total {
    done: Vec<String>,
    numbers: BTreeMap<String, [u64; 4]>,
    pairs: BTreeMap<(String, String), [u64; 2]>,
    tallies: Tallies,
    wrong: u64,
}

/// Runs all programs, slice by slice.
pub fn long_run(settings: &LongRunSettings) -> Total {
    let mut total = Total::default();
    let before = settings.state.as_ref().map(fs::read_to_string);
    if let Some(Ok(text)) = before {
        text.lines().for_each(|line| total.add(line));
    }
    for &generator in &settings.generators {
        for first in (settings.seed..settings.seed + settings.programs).step_by(SLICE as usize) {
            let programs = SLICE.min(settings.seed + settings.programs - first);
            let name = format!("{generator} {first} {programs}");
            if !total.done.contains(&name) {
                let lines = one_slice(generator, first, programs);
                lines.lines().for_each(|line| total.add(line));
                settings.save(&lines);
            }
        }
    }
    total
}

impl LongRunSettings {
    /// Appends the lines of a slice to the state.
    fn save(&self, lines: &str) {
        let Some(path) = &self.state else {
            return;
        };
        let file = fs::OpenOptions::new().create(true).append(true).open(path);
        let saved = file.and_then(|mut file| file.write_all(lines.as_bytes()));
        saved.unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
    }
}

/// Runs one slice and returns its lines; mistakes are printed at once.
fn one_slice(generator: Generator, first: u64, programs: u64) -> String {
    let wanted = Tour {
        generator,
        first,
        programs,
        stride: 1,
    };
    let mut pairs = Pairs::default();
    let report = quiet(|| {
        tour(&wanted, &mut |visit| {
            pairs.count(&features(visit.text), visit.violated);
        })
    });
    let Report {
        compared,
        violated,
        wrong,
        ..
    } = report;
    println!(
        "{generator} {first}..{}: {compared} compared, {wrong} wrong",
        first + programs
    );
    for finding in &report.findings {
        println!("{finding}\n");
    }
    let mut lines = pair_lines(&pairs);
    for (name, tally) in &report.tallies {
        let (name, milliseconds) = (name.replace(' ', "_"), (tally.seconds * 1e3) as u64);
        let (runs, refused) = (tally.runs, tally.refused);
        let (inconclusive, violated) = (tally.inconclusive, tally.violated);
        let numbers = format!("{runs} {refused} {inconclusive} {violated} {milliseconds}");
        writeln!(lines, "tally {name} {numbers}").expect("memory");
    }
    writeln!(
        lines,
        "slice {generator} {first} {programs} {compared} {violated} {wrong}"
    )
    .expect("memory");
    lines
}

/// Returns the lines for the table of a slice.
fn pair_lines(pairs: &Pairs) -> String {
    let mut lines = String::new();
    for one in Feature::ALL {
        for other in Feature::ALL.into_iter().filter(|other| one <= *other) {
            let (programs, violated) = pairs.counts(one, other);
            if programs > 0 {
                writeln!(lines, "pair {one:?} {other:?} {programs} {violated}").expect("memory");
            }
        }
    }
    lines
}

/// Makes only the table, from the oracle's answers about the generated programs, without running a
/// command.
pub fn table(settings: &LongRunSettings) -> Total {
    let mut pairs = Pairs::default();
    for &generator in &settings.generators {
        for seed in settings.seed..settings.seed + settings.programs {
            if let Some(text) = generator.program(seed)
                && let Ok(truth) = expected_by_oracle(&text)
            {
                pairs.count(&features(&text), truth.violated());
            }
        }
    }
    let mut total = Total::default();
    pair_lines(&pairs).lines().for_each(|line| total.add(line));
    total
}

impl Total {
    /// Adds a line of the state; an incomplete one is ignored.
    fn add(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words.get(at).and_then(|n: &&str| n.parse::<u64>().ok());
        match words[..] {
            ["pair", one, other, ..] => {
                let pair = self.pairs.entry((one.to_owned(), other.to_owned()));
                let pair = pair.or_default();
                pair[0] += number(3).unwrap_or(0);
                pair[1] += number(4).unwrap_or(0);
            }
            ["tally", name, ..] => {
                let tally: &mut Tally = self.tallies.entry(name.replace('_', " ")).or_default();
                tally.runs += number(2).unwrap_or(0);
                tally.refused += number(3).unwrap_or(0);
                tally.inconclusive += number(4).unwrap_or(0);
                tally.violated += number(5).unwrap_or(0);
                tally.seconds += number(6).unwrap_or(0) as f64 / 1e3;
            }
            ["slice", generator, first, programs, ..] => {
                self.done.push(format!("{generator} {first} {programs}"));
                let all = self.numbers.entry(generator.to_owned()).or_default();
                for (sum, at) in all.iter_mut().zip([3, 4, 5, 6]) {
                    *sum += number(at).unwrap_or(0);
                }
                self.wrong += number(6).unwrap_or(0);
            }
            _ => {}
        }
    }

    /// Returns the number of programs that some command gets wrong.
    pub fn wrong(&self) -> u64 {
        self.wrong
    }

    /// Returns the commands that gave no answer for any program: they refused it or were
    /// inconclusive.
    pub fn commands_without_answers(&self) -> Vec<&str> {
        let gave_no_answer = |tally: &Tally| tally.runs == tally.refused + tally.inconclusive;
        let found = self
            .tallies
            .iter()
            .filter(|(_, tally)| gave_no_answer(tally));
        found.map(|(name, _)| name.as_str()).collect()
    }

    /// Returns the pairs that never occurred together with a violation, and are not excused.
    pub fn missing(&self) -> Vec<(Feature, Feature)> {
        let mut missing = Vec::new();
        for one in Feature::ALL {
            for other in Feature::ALL.into_iter().filter(|other| one < *other) {
                let key = (format!("{one:?}"), format!("{other:?}"));
                let violated = self.pairs.get(&key).map_or(0, |pair| pair[1]);
                if violated == 0 && allowed(one, other).is_none() {
                    missing.push((one, other));
                }
            }
        }
        missing
    }

    /// Prints all results.
    pub fn print(&self) {
        for (generator, [programs, compared, violated, wrong]) in &self.numbers {
            println!(
                "{generator}: {programs} programs, {compared} compared, {violated} of them violated, {wrong} wrong"
            );
        }
        for (name, tally) in &self.tallies {
            println!("  {name:32} {tally}");
        }
        println!("programs with both features, and how many of them are violated:");
        for one in Feature::ALL {
            let others = self
                .pairs
                .iter()
                .filter(|(pair, _)| pair.0 == format!("{one:?}"));
            let others =
                others.map(|(pair, [programs, bad])| format!("{} {programs}/{bad}", pair.1));
            println!("  {one:?}: {}", others.collect::<Vec<_>>().join(", "));
        }
        for (one, other, why) in ALLOWED {
            println!("allowed to have no violation: {one:?} and {other:?}, {why}");
        }
        for (one, other) in self.missing() {
            println!("no violation with {one:?} and {other:?}");
        }
    }
}

/// Pairs of features for which no program with a violation is required, each with the reason.
const ALLOWED: &[(Feature, Feature, &str)] = &[];

fn allowed(one: Feature, other: Feature) -> Option<&'static str> {
    let found = ALLOWED.iter().find(|(a, b, _)| (*a, *b) == (one, other));
    found.map(|(.., why)| *why)
}
