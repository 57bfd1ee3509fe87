//! `repair`: changes of a program after which `check` verifies it.
//!
//! Each kind of change has a file that proposes candidates. A candidate is a list of edits
//! (`edit.rs`) of the text, so comments and layout are preserved. This file applies the edits,
//! checks the new program, counts its behaviours, and ranks the changes that work.
//!
//! | kind | what changes |
//! |---|---|
//! | `order.rs` | two statements change places; elements of a lock array are acquired in order |
//! | `join.rs` | a process waits for those that it has started |
//! | `lock.rs` | a lock of the program, or a new lock, around the smallest regions |
//! | `atomic.rs` | an `atomic` block around the smallest regions |
//! | `guard.rs` | a step waits for a condition, as weak as it can be |
//!
//! Changing an order costs nothing at run time, so such changes come first. The other changes make
//! processes wait. Guards come last, because a process may wait at them for ever. Among changes of
//! the same rank, those that add no trace come first, then those that keep more traces, then
//! shorter ones. If a lock or an `atomic` block around some regions works, larger regions are not
//! tried.
//!
//! ```
//! use mazurka::repair::ChangeKind;
//! use mazurka::{Options, Program, quietly};
//!
//! let source = "lock a, b\n\
//!     process { lock(a); lock(b); unlock(b); unlock(a) }\n\
//!     process { lock(b); lock(a); unlock(a); unlock(b) }\n";
//! let program = Program::load("abba.maz", source, &[]).unwrap();
//! let found = program.repair(source, &Options::default(), &mut quietly()).unwrap();
//! let best = &found.repairs[0];
//! assert_eq!(best.kind, ChangeKind::Order);
//! assert!(best.diff.contains("+process { lock(b); lock(a); unlock(b); unlock(a) }"));
//! ```

mod atomic;
mod edit;
mod guard;
mod join;
mod lock;
mod order;
mod region;

use std::time::{Duration, Instant};

use mazurka_core::record::Record;
use mazurka_core::{Counts, Limits, Verdict};
use mazurka_lang::Code;
use mazurka_lang::outline::{Block, Outline, Role, Statement};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use crate::{Algorithm, Options, Program, Refused, Watch};
use edit::{Edit, apply, targets, words};
use region::{Region, covers};

/// Number of steps after which the check of a candidate is abandoned.
const STEPS_OF_A_CHECK: u64 = 300_000;

/// Time after which the check of a candidate is abandoned.
const TIME_OF_A_CHECK: Duration = Duration::from_secs(4);

/// Time for all candidates, if the user gives no limit.
const TIME_OF_ALL: Duration = Duration::from_secs(30);

/// Limit on the changes of one kind that are kept.
const MOST_OF_A_KIND: usize = 6;

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// Another order of statements, or of lock acquisitions.
    Order,
    /// A process waits for the processes that it has started.
    Join,
    /// A lock around regions.
    Lock,
    /// An `atomic` block around regions.
    Atomic,
    /// A step waits for a condition.
    Guard,
}

impl ChangeKind {
    /// Whether the change adds no waiting.
    fn is_free(self) -> bool {
        self == ChangeKind::Order
    }
}

/// The record of `repair`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RepairRecord {
    /// The record of the unchanged program.
    #[serde(flatten)]
    pub record: Record,
    /// Number of changes that were checked.
    pub tried: u64,
    /// Whether all candidates were checked. False if the time was over before.
    pub all_tried: bool,
    /// The changes that work, the best first.
    pub repairs: Vec<Repair>,
}

/// The counted behaviour of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Behaviours {
    /// Number of traces; `None` if there are too many to count.
    pub traces: Option<u64>,
    /// Number of final states.
    pub final_states: u64,
}

/// A change after which the program is verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repair {
    /// The kind of change.
    pub kind: ChangeKind,
    /// The change in words.
    pub summary: String,
    /// The change as a unified diff.
    pub diff: String,
    /// The whole text after the change.
    pub source: String,
    /// Number of lines that are removed or added.
    pub lines: u64,
    /// The behaviour before the change.
    pub before: Behaviours,
    /// The behaviour after the change.
    pub after: Behaviours,
}

/// Why a program cannot be repaired.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRepaired {
    /// The program consists of several files.
    #[error("`repair` changes one file, and this program includes others")]
    Included,
    /// The program cannot be checked.
    #[error(transparent)]
    Refused(#[from] Refused),
}

/// A change that may work.
#[derive(Clone, Debug)]
struct Candidate {
    kind: ChangeKind,
    summary: String,
    edits: Vec<Edit>,
    /// The statements that it protects, if any.
    regions: Vec<Region>,
}

/// The program to change, with the data that the proposals need.
struct Subject<'a> {
    source: &'a str,
    outline: &'a Outline,
    code: &'a Code,
    /// The lines of the steps that show the violation.
    lines: FxHashSet<usize>,
}

impl Subject<'_> {
    /// Returns the line of a place.
    fn line(&self, at: usize) -> usize {
        self.source[..at].matches('\n').count() + 1
    }

    /// Whether a statement uses anything that other processes can access.
    fn touches_shared(&self, statement: &Statement) -> bool {
        let known = |word: &str| {
            let mut variables = self.outline.variables.iter();
            let mut locks = self.outline.locks.iter();
            let mut objects = self.outline.objects.iter();
            variables.any(|name| name == word)
                || objects.any(|name| name == word)
                || locks.any(|(name, _)| name == word)
        };
        words(statement.span.text(self.source)).any(known)
    }

    /// Returns all blocks: those of processes and procedures, each before the blocks inside it.
    fn blocks(&self) -> Vec<&Block> {
        fn add<'b>(block: &'b Block, into: &mut Vec<&'b Block>) {
            into.push(block);
            for inner in block.iter().flat_map(|statement| &statement.blocks) {
                add(inner, into);
            }
        }
        let mut all = Vec::new();
        for body in &self.outline.bodies {
            add(&body.block, &mut all);
        }
        all
    }

    /// Whether the order of two statements does not matter within their process. This is the case
    /// if they use no common shared variable, neither assigns a variable that the other uses, and
    /// neither calls a procedure. A procedure may do more than the text of the call shows.
    fn commute(&self, one: &Statement, two: &Statement) -> bool {
        let moves = |statement: &Statement| {
            let roles = matches!(
                statement.role,
                Role::Step | Role::Lock(..) | Role::Unlock(_) | Role::Join
            );
            let mut used = words(statement.span.text(self.source));
            roles && !used.any(|word| self.outline.callables.iter().any(|name| name == word))
        };
        let [first, second] = [one, two].map(|statement| statement.span.text(self.source));
        let uses = |text: &str, name: &str| words(text).any(|word| word == name);
        let mut variables = self.outline.variables.iter();
        let share = variables.any(|name| uses(first, name) && uses(second, name));
        let writes = |text: &str, other: &str| targets(text).any(|name| uses(other, name));
        moves(one) && moves(two) && !share && !writes(first, second) && !writes(second, first)
    }

    /// Whether a step of the run that shows the violation belongs to a statement.
    fn is_involved(&self, statement: &Statement) -> bool {
        let (start, end) = (statement.span.start as usize, statement.span.end as usize);
        let mut lines = self.line(start)..=self.line(end);
        lines.any(|line| self.lines.contains(&line))
    }
}

/// Returns the lines of regions, in words.
fn at_lines(lines: &[usize]) -> String {
    let shown: Vec<String> = lines.iter().map(usize::to_string).collect();
    match &shown[..] {
        [one] => format!("line {one}"),
        [rest @ .., last] => format!("lines {} and {last}", rest.join(", ")),
        [] => "nothing".to_owned(),
    }
}

/// Returns the lines of all steps in the evidence, and those where processes wait at the end.
fn lines_of(record: &Record) -> FxHashSet<usize> {
    let runs = record.witnesses.iter().flat_map(|witness| &witness.runs);
    let steps = runs.flat_map(|run| &run.steps).map(|step| step.line);
    let places = record
        .witnesses
        .iter()
        .filter_map(|witness| witness.place.as_ref());
    let waiting = record.witnesses.iter().flat_map(|witness| &witness.waiting);
    let waiting = waiting.map(|waiting| waiting.line);
    let places = places.map(|place| place.line);
    steps.chain(places).chain(waiting).collect()
}

/// Counts the behaviour within the limits of one check.
fn behaviours(
    program: &Program,
    options: &Options,
    watch: &mut Watch<'_>,
) -> Option<(Behaviours, Counts)> {
    let record = program.explore(Algorithm::Optimal, options, watch).ok()?;
    let counts = record.counts;
    let whole = record.scope.exhaustive;
    let counted = Behaviours {
        traces: counts.traces.filter(|_| whole),
        final_states: counts.final_states,
    };
    Some((counted, counts))
}

impl Program {
    /// Finds changes after which the program is verified. The text of the program must be given
    /// again.
    pub fn repair(
        &self,
        source: &str,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<RepairRecord, NotRepaired> {
        let start = Instant::now();
        let code = self.language.maz().ok_or(Refused::NotMaz)?;
        if source.contains(mazurka_diagnostics::MARK) {
            return Err(NotRepaired::Included);
        }
        let until = start + options.limits.time.unwrap_or(TIME_OF_ALL);
        let mut in_time = options.clone();
        in_time.limits.time.get_or_insert(TIME_OF_ALL);
        let record = self.check(&in_time, watch)?;
        let mut found = RepairRecord {
            record,
            tried: 0,
            all_tried: true,
            repairs: Vec::new(),
        };
        let outline = Outline::read(source).filter(|_| found.record.verdict == Verdict::Violated);
        let Some(outline) = outline else {
            return Ok(found);
        };
        let subject = Subject {
            source,
            outline: &outline,
            code,
            lines: lines_of(&found.record),
        };
        let mut trial = RepairSearch {
            program: self,
            source,
            options,
            until,
            before: None,
            tried: 0,
            all_tried: true,
        };
        trial.before = behaviours(self, &trial.options_now(), watch);
        let proposals: [fn(&Subject<'_>) -> Vec<Candidate>; 4] = [
            order::candidates,
            join::candidates,
            lock::candidates,
            atomic::candidates,
        ];
        for propose in proposals {
            let mut working: Vec<Vec<Region>> = Vec::new();
            for candidate in propose(&subject) {
                let regions = &candidate.regions;
                let more =
                    !regions.is_empty() && working.iter().any(|known| covers(regions, known));
                if more {
                    continue;
                }
                if let Some(repair) = trial.attempt(&candidate, watch) {
                    working.push(candidate.regions);
                    found.repairs.push(repair);
                }
            }
        }
        let attempt = &mut |candidate: &Candidate| trial.attempt(candidate, watch);
        found.repairs.extend(guard::repairs(&subject, attempt));
        (found.tried, found.all_tried) = (trial.tried, trial.all_tried);
        rank(&mut found.repairs);
        Ok(found)
    }
}

/// Sorts the repairs, the best first, and keeps only some of each kind.
fn rank(repairs: &mut Vec<Repair>) {
    repairs.sort_by_key(|repair| {
        // If traces were not counted, there are very many.
        let [before, after] =
            [repair.before, repair.after].map(|count| count.traces.unwrap_or(u64::MAX));
        (
            !repair.kind.is_free(),
            repair.kind == ChangeKind::Guard,
            after > before,
            before.saturating_sub(after),
            repair.lines,
            repair.source.len(),
        )
    });
    let mut seen = std::collections::BTreeMap::new();
    repairs.retain(|repair| {
        let count: &mut usize = seen.entry(repair.kind).or_default();
        *count += 1;
        *count <= MOST_OF_A_KIND
    });
}

/// Tries changes of a program.
struct RepairSearch<'a> {
    program: &'a Program,
    source: &'a str,
    options: &'a Options,
    until: Instant,
    /// The behaviour of the unchanged program; `None` if it could not be counted within the limits.
    before: Option<(Behaviours, Counts)>,
    /// Number of changes that were checked.
    tried: u64,
    /// Whether all candidates so far were checked.
    all_tried: bool,
}

impl RepairSearch<'_> {
    /// Returns the repair, if the change works and there is time to check it.
    fn attempt(&mut self, candidate: &Candidate, watch: &mut Watch<'_>) -> Option<Repair> {
        if Instant::now() >= self.until {
            self.all_tried = false;
            return None;
        }
        self.tried += 1;
        self.works(candidate, watch)
    }

    /// Returns the options for one check, with the time that is left.
    fn options_now(&self) -> Options {
        let left = self.until.saturating_duration_since(Instant::now());
        let steps = self.options.limits.steps;
        Options {
            limits: Limits {
                steps: Some(steps.map_or(STEPS_OF_A_CHECK, |most| most.min(STEPS_OF_A_CHECK))),
                time: Some(left.min(TIME_OF_A_CHECK)),
                ..self.options.limits.clone()
            },
            keep_going: false,
            cover: false,
            jobs: 1,
            ..self.options.clone()
        }
    }

    /// Returns the repair, if the program is verified with the change.
    fn works(&self, candidate: &Candidate, watch: &mut Watch<'_>) -> Option<Repair> {
        let text = apply(self.source, &candidate.edits);
        let of = self.program.record();
        let changed = Program::load(&of.file, &text, &of.set).ok()?;
        let checked = changed.check(&self.options_now(), watch).ok()?;
        if checked.verdict != Verdict::Verified {
            return None;
        }
        let (before, counts_before) = self.before?;
        let (after, counts) = behaviours(&changed, &self.options_now(), watch)?;
        // Even if the file allows deadlocks, a change must not introduce the first one.
        if counts.deadlocks > 0 && counts_before.deadlocks == 0 {
            return None;
        }
        let diff = similar::TextDiff::from_lines(self.source, &text);
        let lines = diff.iter_all_changes();
        let lines = lines.filter(|change| change.tag() != similar::ChangeTag::Equal);
        let lines = lines.count() as u64;
        let mut shown = diff.unified_diff();
        let shown = shown
            .context_radius(2)
            .header(&format!("a/{}", of.file), &format!("b/{}", of.file));
        Some(Repair {
            kind: candidate.kind,
            summary: candidate.summary.clone(),
            diff: shown.to_string(),
            lines,
            before,
            after,
            source: text,
        })
    }
}
