//! A recorded run, process by process: the labels that its permutations keep.
//!
//! | paper | here |
//! |---|---|
//! | l, Definition 4 | [`Label`] |
//! | θ↓ι, the labels of one process in order | [`Seed::labels`] |
//! | next(ι, θ′), Definition 16 | [`Seed::next`] |
//! | seed trace, section 8 | [`Seed`] |

use mazurka_core::{Access, Claims, Event, Fingerprint, Labelled, ProcessId, Status};
use smallvec::SmallVec;

/// The part of a step that a permutation must repeat.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    /// Fingerprint of the step's path through the code, its outcomes, its claims and its mishaps.
    pub print: Fingerprint,
    /// Fingerprint of all labels of the process up to and including this one.
    pub chain: Fingerprint,
    pub claims: Claims,
    /// Its outcomes.
    pub outcomes: SmallVec<[i64; 1]>,
    /// Definition 9's R and W.
    pub named: Claims,
    pub spawned: SmallVec<[ProcessId; 1]>,
    pub joined: SmallVec<[ProcessId; 1]>,
}

/// Returns the fingerprint of the part of an event that a permutation must repeat.
pub(crate) fn print<E: Labelled>(program: &E, at: usize) -> Fingerprint {
    let event = &program.events()[at];
    let mut print = program.path(at);
    for outcome in &event.outcomes {
        print = print.then(outcome.value as u64);
    }
    for access in &event.claims {
        let cells = (u64::from(access.first) << 32) | u64::from(access.len);
        print = print.then(cells).then(access.kind as u64);
    }
    for mishap in &event.mishaps {
        print = print.then(u64::MAX).then(u64::from(mishap.site));
    }
    print
}

/// For one cell and one process: the last step that accesses the cell (`read`), and the last one
/// that changes it (`write`). Each is stored as one more than its index among the steps of the
/// process; 0 if there is none.
#[derive(Clone, Copy, Debug)]
struct LastAccesses {
    process: ProcessId,
    read: u32,
    write: u32,
}

/// A run, process by process.
#[derive(Clone, Debug)]
pub(crate) struct Seed {
    /// For each process, its labels in order.
    labels: Vec<Vec<Label>>,
    /// Total number of labels.
    pub length: usize,
    /// The process of each label, in the order of the run.
    pub order: Vec<ProcessId>,
    /// Fingerprint of the labels of all processes, independent of their order: runs with equal
    /// fingerprints are permutations of each other.
    pub print: Fingerprint,
    /// For each process, one more than the index of its last step whose code location does not
    /// determine its claims; 0 if there is none.
    varies: Vec<u32>,
    /// For each process, the number of its steps, plus one if it waits at the end of the run.
    steps: Vec<u32>,
    /// For each process that waits at the end, the claims of its next step.
    waiting: Vec<Option<Claims>>,
    /// For each cell, the last accesses of each process to it.
    cells: Vec<SmallVec<[LastAccesses; 2]>>,
}

impl Seed {
    /// Returns the seed of the empty run.
    pub fn empty() -> Self {
        Self {
            labels: Vec::new(),
            length: 0,
            order: Vec::new(),
            print: Fingerprint::EMPTY,
            varies: Vec::new(),
            steps: Vec::new(),
            waiting: Vec::new(),
            cells: Vec::new(),
        }
    }

    /// Creates a seed from the current run. `fixed` says for each step whether its code location
    /// determined its claims.
    pub fn from_run<E: Labelled>(program: &E, fixed: &[bool]) -> Self {
        let mut seed = Self::empty();
        for (at, event) in program.events().iter().enumerate() {
            let print = print(program, at);
            let labels = seed.labels_of(event.process);
            let start = || program.processes().name(event.process);
            let before = labels.last().map_or_else(start, |label| label.chain);
            let chain = before.then_all(print);
            let label = Label {
                print,
                chain,
                claims: event.claims.clone(),
                outcomes: event.outcomes.iter().map(|o| o.value).collect(),
                named: program.named(at).to_vec(),
                spawned: event.spawned.iter().copied().collect(),
                joined: event.joined.iter().copied().collect(),
            };
            labels.push(label);
            seed.length += 1;
            seed.order.push(event.process);
            seed.print = seed.print.and(chain);
            seed.touch(event.process, &event.claims, fixed[at]);
        }
        let mut claims = Claims::new();
        for &process in program.processes().in_order() {
            if program.status(process) == Status::Waiting {
                program.claims(process, &mut claims);
                seed.labels_of(process);
                seed.touch(process, &claims, program.claims_fixed(process));
                seed.waiting[process.index()] = Some(claims.clone());
            }
        }
        seed
    }

    fn labels_of(&mut self, process: ProcessId) -> &mut Vec<Label> {
        let needed = process.index() + 1;
        if self.labels.len() < needed {
            self.labels.resize_with(needed, Vec::new);
            self.varies.resize(needed, 0);
            self.steps.resize(needed, 0);
            self.waiting.resize(needed, None);
        }
        &mut self.labels[process.index()]
    }

    /// Adds the accesses of the next step of a process.
    fn touch(&mut self, process: ProcessId, claims: &[Access], fixed: bool) {
        let steps = &mut self.steps[process.index()];
        *steps += 1;
        if !fixed {
            self.varies[process.index()] = *steps;
        }
        for access in claims {
            if self.cells.len() < access.cells().end {
                self.cells.resize_with(access.cells().end, SmallVec::new);
            }
            for cell in &mut self.cells[access.cells()] {
                let at = cell.iter().position(|last| last.process == process);
                let at = at.unwrap_or_else(|| {
                    cell.push(LastAccesses {
                        process,
                        read: 0,
                        write: 0,
                    });
                    cell.len() - 1
                });
                if access.writes() {
                    cell[at].write = *steps
                } else {
                    cell[at].read = *steps
                }
            }
        }
    }

    /// Returns the label of a process after `made` others.
    pub fn next(&self, process: ProcessId, made: u32) -> Option<&Label> {
        self.labels.get(process.index())?.get(made as usize)
    }

    /// Returns the claims of the next step of a process after `made` others, if they are known.
    pub fn next_claims(&self, process: ProcessId, made: u32) -> Option<&Claims> {
        let waiting = || self.waiting.get(process.index())?.as_ref();
        let label = self.next(process, made);
        label.map_or_else(waiting, |label| Some(&label.claims))
    }

    /// Returns the fingerprint of the first `made` labels of a process.
    pub fn chain<E: Labelled>(&self, program: &E, process: ProcessId, made: u32) -> Fingerprint {
        let chain = self.chain_after(process.index(), made);
        chain.unwrap_or_else(|| program.processes().name(process))
    }

    /// Returns the same fingerprint as `chain`, or `None` if `made` is 0.
    pub fn chain_after(&self, process: usize, made: u32) -> Option<Fingerprint> {
        let labels = self.labels.get(process)?;
        Some(labels.get(made.checked_sub(1)? as usize)?.chain)
    }

    /// Returns the fingerprints of [`chain`](Seed::chain) after one, two, … steps, process by
    /// process.
    pub fn chains(&self) -> impl Iterator<Item = impl Iterator<Item = Fingerprint>> {
        let labels = self.labels.iter();
        labels.map(|labels| labels.iter().map(|label| label.chain))
    }

    /// Returns the outcomes with which to repeat the step of an event, so that it has the recorded
    /// outcomes. The result is `None` if the event has the recorded outcomes already, or cannot
    /// have them.
    pub fn recorded_outcomes(&self, event: &Event) -> Option<SmallVec<[i64; 1]>> {
        let recorded = &self.next(event.process, event.number)?.outcomes;
        let mut pairs = event.outcomes.iter().zip(recorded);
        let at = pairs.position(|(chosen, recorded)| chosen.value != *recorded)?;
        // All outcomes before position `at` are the recorded ones, so the chosen one at `at` is the
        // least possible.
        let possible = event.outcomes[at].value..event.outcomes[at].end;
        possible
            .contains(&recorded[at])
            .then(|| recorded[..=at].iter().copied().collect())
    }

    /// Returns the number of processes.
    pub fn width(&self) -> usize {
        self.labels.len()
    }

    /// Whether a process has another step after `made` steps, even if it only waits.
    pub fn goes_on(&self, process: usize, made: u32) -> bool {
        self.steps[process] > made
    }

    /// Whether a later step of one of the processes in `moves` conflicts with the next step of
    /// `process`. With `unsure`, also returns true if such a step could conflict by claiming
    /// something else than recorded.
    pub fn may_wake(&self, process: ProcessId, made: &[u32], moves: &[bool], unsure: bool) -> bool {
        let Some(label) = self.next(process, made[process.index()]) else {
            return true;
        };
        let to_come = |last: &LastAccesses, writes: bool| {
            let q = last.process.index();
            let other = last.process != process && moves[q];
            other && (last.write > made[q] || (writes && last.read > made[q]))
        };
        let conflicts = |access: &Access| {
            let cells = self.cells[access.cells()].iter();
            cells.flatten().any(|last| to_come(last, access.writes()))
        };
        let varies = |q: usize| q != process.index() && moves[q] && self.varies[q] > made[q];
        label.claims.iter().any(conflicts) || (unsure && (0..self.width()).any(varies))
    }
}

/// Whether two steps conflict by their claims, so that they may not be swapped.
pub(crate) fn conflict(one: &[Access], other: &[Access]) -> bool {
    one.iter().any(|a| other.iter().any(|b| a.conflicts(*b)))
}
