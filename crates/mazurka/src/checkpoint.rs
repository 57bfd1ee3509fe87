//! Checkpoints: an interrupted search as a file, from which it can be resumed.
//!
//! The search space is cut into parts (explore/src/drive/cut.rs). A checkpoint contains the merged
//! findings of the finished parts, and the list of the remaining parts. An unfinished part counts
//! as not begun, so a resumed search has exactly the result of an uninterrupted search.
//!
//! A checkpoint can be used only for the same program, explored with the same options by the same
//! version of Mazurka, because another version may compute other fingerprints and number the
//! locations of a program in another way. A developer may forget to increase the version. So a
//! checkpoint also contains the combined fingerprints of one run. The reader makes the same run and
//! compares its fingerprints.
//!
//! A checkpoint contains a checksum of its own text. Without it, a changed digit could be another
//! valid count or part, and the resumed search would give a wrong result. The checksum covers the
//! bytes and not the values, so it detects every change.
//!
//! ```
//! use mazurka::{Algorithm, Limits, Options, Program, quietly};
//!
//! let source = "var x: int = 0  process { x := 1 }  process { x := 2 }  process { x := 3 }";
//! let program = Program::load("three.maz", source, &[]).unwrap();
//! let limits = Limits { executions: Some(1), ..Limits::default() };
//! let short = Options { limits, ..Options::default() };
//! let engine = Algorithm::Optimal;
//! let (_, rest) = program.explore_from(None, engine, &short, &mut quietly()).unwrap();
//! assert!(rest.is_some());
//! let (all, rest) = program
//!     .explore_from(rest.as_ref(), engine, &Options::default(), &mut quietly())
//!     .unwrap();
//! assert_eq!((all.counts.executions, rest.is_some()), (6, false));
//! ```

use std::fmt;
use std::ops::ControlFlow;

use mazurka_core::record::ProgramRecord;
use mazurka_core::{
    Bound, Counts, Fingerprint, Limits, Mishap, MishapKind, ParseProcessError, Schedule, StopReason,
};
use mazurka_explore::{
    Finding, Findings, Goal, Part, Parts, Prints, Search, Seen, Stateless, Tally,
};
use serde::{Deserialize, Serialize};

use crate::front::{Front, on_front};
use crate::{Algorithm, Options, Program};

/// The version of the format, and of the fingerprints in it.
const VERSION: u32 = 3;

/// Limit on the steps of the run whose fingerprints are compared.
const SAMPLE_STEPS: u64 = 10_000;

/// The placeholder for the checksum while the checksum is computed.
const UNSEALED: &str = "00000000000000000000000000000000";

/// The data needed to resume an exploration. [`text`](Checkpoint::text) and
/// [`parse`](Checkpoint::parse) are the only ways to write and read it, so every checkpoint is
/// written with its checksum, and the checksum is always verified.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint(Saved);

/// The fields of the file. The checksum comes before all text that a program can choose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    checkpoint: u32,
    /// Set when the text is created. In memory it is always [`UNSEALED`].
    checksum: String,
    mazurka: String,
    program: ProgramRecord,
    options: FindingOptions,
    /// The combined fingerprints of one run, from [`sample`].
    sample: Hex,
    seconds: f64,
    counts: Counts,
    bounds: Vec<Bound>,
    /// For each failure, its location in the program and the schedule of a run that shows it.
    failures: Vec<(u32, String)>,
    deadlock: Option<String>,
    /// The fingerprints of at most two different results, each with the schedule of a run.
    finals: Vec<(Hex, String)>,
    failed: Vec<Hex>,
    observed: Vec<Hex>,
    broken_ensures: u64,
    /// If traces are recorded: for each, its fingerprint, its deadlocks, and its violations of
    /// `ensures`.
    traces: Option<Vec<(Hex, u64, u64)>>,
    /// Coverage: two digits for each instruction of the program. Only the results of a job
    /// (`cluster`) have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reached: Option<String>,
    left: Vec<RemainingPart>,
}

/// The first fields. They determine whether this version can read the rest.
#[derive(Deserialize)]
struct Header {
    #[serde(default)]
    checkpoint: serde_json::Value,
    #[serde(default)]
    mazurka: serde_json::Value,
}

/// The options that affect the findings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FindingOptions {
    algorithm: String,
    max_depth: u64,
    max_local: u64,
}

impl fmt::Display for FindingOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FindingOptions {
            algorithm,
            max_depth,
            max_local,
        } = self;
        write!(
            f,
            "--algorithm {algorithm} --max-depth {max_depth} --max-local {max_local}"
        )
    }
}

/// A remaining part: the schedule of its prefix, the processes that sleep after the prefix, and its
/// share of the whole search space.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct RemainingPart {
    prefix: String,
    asleep: Vec<String>,
    share: f64,
}

/// A fingerprint as text, because JSON has no 128-bit numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
struct Hex(u128);

impl From<Hex> for String {
    fn from(hex: Hex) -> Self {
        format!("{:032x}", hex.0)
    }
}

impl TryFrom<String> for Hex {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        u128::from_str_radix(&text, 16).map(Hex)
    }
}

fn hex(fingerprint: &Fingerprint) -> Hex {
    Hex(fingerprint.bits())
}

/// Returns why an engine cannot be interrupted.
fn obstacle_to_checkpoints(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::DporAwake => "without sleep sets its parts would overlap",
        _ if algorithm.sample().is_some() => {
            "it draws executions at random, and another --seed draws others"
        }
        _ => "it compares states with each other",
    }
}

/// Why a search cannot be resumed from a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResumeError {
    /// Programs with unknown values are not explored in parts.
    #[error(
        "a program with inputs or without initial values cannot be explored in parts; leave out --checkpoint and --resume"
    )]
    Unknowns,
    /// The text is not a checkpoint.
    #[error("this is not a checkpoint, or a damaged one: {0}; name another file, or start anew")]
    Shape(String),
    /// The checkpoint was changed after it was created.
    #[error(
        "this checkpoint is damaged: its text has changed since it was saved (the checksum differs); take another copy, or start anew"
    )]
    Damaged,
    /// Another version of Mazurka has created the checkpoint.
    #[error("this checkpoint was made by Mazurka {made}, and this is {here}; start anew")]
    Version {
        /// The version that made it.
        made: String,
        /// The version that reads it.
        here: String,
    },
    /// A build of Mazurka with other fingerprints has created the checkpoint.
    #[error(
        "this checkpoint was made by another build of Mazurka, whose fingerprints differ from those of this one; start anew"
    )]
    Fingerprints,
    /// The checkpoint belongs to another program.
    #[error(
        "this is a checkpoint of another program: `{file}` with the hash {made}, not {here}; restore that program and its --set, or start anew"
    )]
    OtherProgram {
        /// The file, as given by the user.
        file: String,
        /// The hash of the program in the checkpoint.
        made: String,
        /// The hash of the program here.
        here: String,
    },
    /// The checkpoint was created with other options.
    #[error("this checkpoint was made with `{made}`, not with `{here}`; give the same options")]
    OtherOptions {
        /// The options with which it was made.
        made: String,
        /// The current options.
        here: String,
    },
    /// This engine cannot be interrupted.
    #[error("`{0}` cannot go on from a checkpoint: {why}; leave --checkpoint and --resume out", why = obstacle_to_checkpoints(*.0))]
    Engine(Algorithm),
}

fn finding_options(algorithm: Stateless, options: &Options) -> FindingOptions {
    FindingOptions {
        algorithm: algorithm.to_string(),
        max_depth: options.limits.depth(),
        max_local: options.limits.local,
    }
}

fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// Makes the first run of the engine `naive`, and combines the fingerprints of its trace, its
/// observed result and its failures.
fn sample<F: Front>(front: &F, options: &Options) -> Hex {
    let mut machine = front.machine(options);
    let limits = Limits {
        steps: Some(SAMPLE_STEPS),
        executions: Some(1),
        local: options.limits.local,
        ..Limits::default()
    };
    let search = Search {
        algorithm: Stateless::Naive,
        limits,
        goal: Goal::Everything,
    };
    let watch = &mut |_: &_| ControlFlow::Continue(());
    let seen = search.run(&mut machine, watch, &mut ()).seen;
    let traces = seen.traces.iter().flat_map(Prints::prints);
    let all = traces
        .chain(seen.observed.prints())
        .chain(seen.failed.prints());
    Hex(all
        .fold(Fingerprint::EMPTY, |all, &print| all.and(print))
        .bits())
}

/// Returns the range of the checksum in a text.
fn checksum_place(text: &str) -> Option<std::ops::Range<usize>> {
    const FIELD: &str = "\"checksum\": \"";
    let start = text.find(FIELD)? + FIELD.len();
    let place = start..start + UNSEALED.len();
    text.get(place.clone()).map(|_| place)
}

/// Returns the text with its correct checksum.
fn seal(text: &str) -> Option<String> {
    let mut sealed = text.to_owned();
    let place = checksum_place(text)?;
    sealed.replace_range(place.clone(), UNSEALED);
    let checksum = crate::program::hash(&sealed, &[]);
    sealed.replace_range(place, &checksum);
    Some(sealed)
}

impl Checkpoint {
    /// Returns the text to save.
    pub fn text(&self) -> serde_json::Result<String> {
        let mut text = serde_json::to_string_pretty(&self.0)?;
        text.push('\n');
        Ok(seal(&text).unwrap_or(text))
    }

    /// Whether more parts are finished than in the checkpoint from which the search was resumed. If
    /// not, saving this one is useless.
    pub fn is_further_than(&self, from: Option<&Checkpoint>) -> bool {
        self.0.counts != from.map(|from| from.0.counts).unwrap_or_default()
    }

    /// Parses a text that was created by [`text`](Checkpoint::text) and not changed.
    pub fn parse(text: &str) -> Result<Self, ResumeError> {
        let shape = |error: serde_json::Error| ResumeError::Shape(error.to_string());
        let header: Header = serde_json::from_str(text).map_err(shape)?;
        if header.checkpoint.is_null() {
            let what = "it has no field `checkpoint`";
            return Err(ResumeError::Shape(what.to_owned()));
        }
        let of = |version: &str, format: String| format!("{version} (format {format})");
        let made = header.mazurka.as_str().unwrap_or("?");
        let other = || ResumeError::Version {
            made: of(made, header.checkpoint.to_string()),
            here: of(&version(), VERSION.to_string()),
        };
        // Other formats have other checksums, or no checksum.
        if header.checkpoint != VERSION {
            return Err(other());
        }
        if seal(text).is_none_or(|sealed| sealed != text) {
            return Err(ResumeError::Damaged);
        }
        if made != version() {
            return Err(other());
        }
        let saved: Saved = serde_json::from_str(text).map_err(shape)?;
        Ok(Self(Saved {
            checksum: UNSEALED.to_owned(),
            ..saved
        }))
    }

    /// Returns the number of remaining parts.
    pub fn left(&self) -> usize {
        self.0.left.len()
    }

    /// Returns the counts of the finished parts.
    pub fn counts(&self) -> Counts {
        self.0.counts
    }

    /// For each remaining part, returns a checkpoint with only this part and without findings.
    pub(crate) fn each_alone(&self) -> impl Iterator<Item = Checkpoint> + '_ {
        self.0.left.iter().map(|part| {
            Checkpoint(Saved {
                checkpoint: VERSION,
                checksum: UNSEALED.to_owned(),
                mazurka: version(),
                program: self.0.program.clone(),
                options: self.0.options.clone(),
                sample: self.0.sample,
                seconds: 0.0,
                counts: Counts::default(),
                bounds: Vec::new(),
                failures: Vec::new(),
                deadlock: None,
                finals: Vec::new(),
                failed: Vec::new(),
                observed: Vec::new(),
                broken_ensures: 0,
                traces: self.0.traces.as_ref().map(|_| Vec::new()),
                reached: None,
                left: vec![part.clone()],
            })
        })
    }

    pub(crate) fn new(program: &Program, options: &Options, parts: &Parts) -> Self {
        let Parts {
            search,
            found,
            left,
            ..
        } = parts;
        let sorted = |mut all: Vec<Hex>| {
            all.sort_unstable();
            all
        };
        let seen = &found.seen;
        let traces = seen.traces.as_ref().map(|traces| {
            let entry = |(trace, tally): (&Fingerprint, &Tally)| {
                (
                    hex(trace),
                    u64::from(tally.deadlocks),
                    u64::from(tally.broken_ensures),
                )
            };
            let mut all: Vec<_> = traces.iter().map(entry).collect();
            all.sort_unstable();
            all
        });
        let finals = found.finals.iter().zip(&seen.finals);
        Self(Saved {
            checkpoint: VERSION,
            checksum: UNSEALED.to_owned(),
            mazurka: version(),
            program: program.record().clone(),
            options: finding_options(search.algorithm, options),
            sample: on_front!(program.language, front => sample(front, options)),
            seconds: found.elapsed.as_secs_f64(),
            counts: found.counts,
            bounds: found.bounds.clone(),
            failures: found
                .failures
                .iter()
                .filter_map(|finding| Some((finding.mishap?.site, finding.schedule.to_string())))
                .collect(),
            deadlock: found.deadlock.as_ref().map(|f| f.schedule.to_string()),
            finals: finals
                .map(|(finding, observed)| (hex(observed), finding.schedule.to_string()))
                .collect(),
            failed: sorted(seen.failed.prints().map(hex).collect()),
            observed: sorted(seen.observed.prints().map(hex).collect()),
            broken_ensures: seen.broken_ensures,
            traces,
            reached: None,
            left: left.iter().map(RemainingPart::new).collect(),
        })
    }

    /// Adds the coverage: one byte for each instruction of the program.
    pub(crate) fn with_reached(mut self, notes: &[u8]) -> Self {
        let digits = notes.iter().map(|note| format!("{note:02x}"));
        self.0.reached = Some(digits.collect());
        self
    }

    /// Returns the coverage, one byte for each instruction, or `None` if the checkpoint has none.
    pub(crate) fn reached(&self) -> Result<Option<Vec<u8>>, ResumeError> {
        let Some(digits) = &self.0.reached else {
            return Ok(None);
        };
        let note = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let notes: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(note).collect();
        let shape = || ResumeError::Shape("what was reached is not a list of digits".to_owned());
        notes.ok_or_else(shape).map(Some)
    }

    /// Returns the saved search, if it is of this program and these options.
    pub(crate) fn parts<F: Front>(
        &self,
        program: &Program,
        front: &F,
        search: Search<Stateless>,
        options: &Options,
    ) -> Result<Parts, ResumeError> {
        let (here, saved) = (finding_options(search.algorithm, options), &self.0);
        if saved.program.hash != program.record().hash {
            return Err(ResumeError::OtherProgram {
                file: saved.program.file.clone(),
                made: saved.program.hash.clone(),
                here: program.record().hash.clone(),
            });
        }
        if saved.options != here {
            return Err(ResumeError::OtherOptions {
                made: saved.options.to_string(),
                here: here.to_string(),
            });
        }
        if saved.sample != sample(front, options) {
            return Err(ResumeError::Fingerprints);
        }
        let parts = Parts {
            search,
            found: saved.found()?,
            left: saved
                .left
                .iter()
                .map(RemainingPart::part)
                .collect::<Result<_, _>>()?,
            most_steps: None,
        };
        match parts.fit(&mut front.machine(options)) {
            Ok(()) => Ok(parts),
            Err(error) => Err(ResumeError::Shape(error.to_string())),
        }
    }
}

impl Saved {
    fn found(&self) -> Result<Findings, ResumeError> {
        let finding = |mishap: Option<Mishap>, schedule: &String| {
            let schedule = schedule.parse::<Schedule>();
            let schedule = schedule.map_err(|error| ResumeError::Shape(error.to_string()))?;
            Ok(Finding { mishap, schedule })
        };
        let failure = |(site, schedule): &(u32, String)| {
            let mishap = Mishap {
                process: None,
                kind: MishapKind::Failure,
                site: *site,
            };
            finding(Some(mishap), schedule)
        };
        let print = |hex: &Hex| Fingerprint::from_bits(hex.0);
        let traces = self.traces.as_ref().map(|traces| {
            let entry = |&(trace, deadlocks, broken_ensures): &(Hex, u64, u64)| {
                let tally = Tally {
                    deadlocks: deadlocks as u32,
                    broken_ensures: broken_ensures as u32,
                    times: 0,
                };
                (print(&trace), tally)
            };
            traces.iter().map(entry).collect()
        });
        let deadlock = self.deadlock.as_ref();
        let finals = self.finals.iter();
        Ok(Findings {
            // `halted` is about failures that do not count, and in an exploration every failure
            // counts.
            halted: false,
            counts: self.counts,
            bounds: self.bounds.clone(),
            stopped: StopReason::Bound,
            broken_off: false,
            failures: self
                .failures
                .iter()
                .map(failure)
                .collect::<Result<_, _>>()?,
            deadlock: deadlock
                .map(|schedule| finding(None, schedule))
                .transpose()?,
            finals: finals
                .map(|(_, schedule)| finding(None, schedule))
                .collect::<Result<_, _>>()?,
            livelock: None,
            broken: Vec::new(),
            elapsed: std::time::Duration::try_from_secs_f64(self.seconds)
                .map_err(|error| ResumeError::Shape(error.to_string()))?,
            walks: 0,
            seen: Seen {
                failed: self.failed.iter().map(print).collect(),
                observed: self.observed.iter().map(print).collect(),
                finals: self
                    .finals
                    .iter()
                    .map(|(observed, _)| print(observed))
                    .collect(),
                renamed: Vec::new(),
                broken_ensures: self.broken_ensures,
                traces,
            },
        })
    }
}

impl RemainingPart {
    fn new(part: &Part) -> Self {
        Self {
            prefix: part.prefix.to_string(),
            asleep: part.asleep.iter().map(ToString::to_string).collect(),
            share: part.share,
        }
    }

    fn part(&self) -> Result<Part, ResumeError> {
        let prefix = self.prefix.parse::<Schedule>();
        let asleep = self.asleep.iter().map(|name| name.parse());
        let asleep: Result<_, ParseProcessError> = asleep.collect();
        Ok(Part {
            prefix: prefix.map_err(|error| ResumeError::Shape(error.to_string()))?,
            asleep: asleep.map_err(|error| ResumeError::Shape(error.to_string()))?,
            share: self.share,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quietly;

    const SOURCE: &str = "var x: int = 0 process p(i in 0..3) { x := i; x := x + 1 }";

    fn options() -> Options {
        let mut options = Options::default();
        options.limits.executions = Some(3);
        options
    }

    fn program() -> Program {
        Program::load("three.maz", SOURCE, &[]).expect("a good program")
    }

    fn checkpoint() -> Checkpoint {
        let done = program().explore_from(None, Algorithm::Optimal, &options(), &mut quietly());
        done.expect("a search").1.expect("three are not all")
    }

    fn text() -> String {
        checkpoint().text().expect("JSON")
    }

    /// Resumes from a text that was changed and sealed again.
    fn resumed(from: &str, to: &str) -> Result<(), ResumeError> {
        let text = text();
        let changed = seal(&text.replacen(from, to, 1)).expect("the field is there");
        assert_ne!(changed, text, "{from}");
        let checkpoint = Checkpoint::parse(&changed)?;
        let way = (Algorithm::Optimal, &options());
        program()
            .explore_from(Some(&checkpoint), way.0, way.1, &mut quietly())
            .map(|_| ())
    }

    #[test]
    fn a_checkpoint_comes_back_as_it_was() {
        let made = checkpoint();
        let text = made.text().expect("JSON");
        let read = Checkpoint::parse(&text).expect("it is whole");
        assert_eq!((read.left(), read.0.counts), (made.left(), made.0.counts));
        assert_eq!(seal(&text), Some(text));
    }

    #[test]
    fn every_byte_counts() {
        let text = text();
        let refused = |changed: String| {
            assert_ne!(changed, text);
            assert!(Checkpoint::parse(&changed).is_err(), "{changed}");
        };
        for at in 0..text.len() {
            let (before, after) = text.split_at(at);
            let here = &after[..1];
            refused(format!("{before}{}", &after[1..]));
            for other in ["0", "1", " ", "\n", ",", "\"", "A"] {
                if other != here {
                    refused(format!("{before}{other}{}", &after[1..]));
                    refused(format!("{before}{other}{after}"));
                }
            }
            refused(before.to_owned());
        }
        refused(format!("{text} "));
        refused(text.to_uppercase());
        refused(text.replace('\n', "\r\n"));
    }

    #[test]
    fn a_whole_checkpoint_of_another_mazurka_is_refused() {
        let here = version();
        let other = resumed(&format!("\"{here}\""), "\"0.0.7\"").expect_err("another version");
        assert!(
            other.to_string().contains("made by Mazurka 0.0.7"),
            "{other}"
        );
        let older = resumed("\"checkpoint\": 3", "\"checkpoint\": 2").expect_err("older");
        assert!(older.to_string().contains("(format 2)"), "{older}");
        let Hex(sample) = checkpoint().0.sample;
        let from = format!("{sample:032x}");
        assert_eq!(resumed(&from, UNSEALED), Err(ResumeError::Fingerprints));
    }

    #[test]
    fn a_schedule_that_does_not_fit_is_no_defect() {
        let torn = resumed("\"prefix\": \"0", "\"prefix\": \"77");
        assert!(matches!(torn, Err(ResumeError::Shape(_))), "{torn:?}");
        let unknown = resumed("\"left\"", "\"right\"");
        assert!(matches!(unknown, Err(ResumeError::Shape(_))), "{unknown:?}");
    }
}
