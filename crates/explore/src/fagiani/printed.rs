//! The permutations of one run as the paper prints them: with the interference of Definition 9 and
//! the normal form of Definition 12. That form is not canonical (erratum E4 in docs/algorithms.md),
//! so some classes are counted more than once.
//!
//! | paper | here |
//! |---|---|
//! | R(l), W(l) | [`Label::named`] |
//! | l₁ ≁ l₂, Definition 9 | [`interfere`] |
//! | canon(θ′ · l), Definition 12 | [`Printed::insert`] |
//! | I | [`Printed::met`] |
//!
//! Where it deviates: the paper has no locks and no joins; here they interfere as in the other
//! algorithms. I is filled depth first instead of by length; its members are the same.
//!
//! canon(θ′·l) moves l to the left past greater neighbours that it does not interfere with. All
//! other labels stay where they are: θ′ ∈ I is the result of such moves, so no two of its
//! neighbours can be swapped. The labels that now follow l are greater than l, so they do not move
//! before it.

use mazurka_core::{Bound, Fingerprint, Labelled, ProcessId, Status};
use smallvec::SmallVec;

use super::seed::{Label, Seed, conflict, print};
use crate::drive::driver::Policy;
use crate::drive::prints::Prints;
use crate::drive::search::Session;

/// The counts of Algorithm 1 as printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrintedForms {
    /// Prefixes extended by the next label of a process.
    pub candidates: u64,
    /// Candidates that the program cannot follow.
    pub infeasible: u64,
    /// Candidates whose form (Definition 12) was already in I, the set of forms met.
    pub duplicates: u64,
    /// The size of I at the end.
    pub executable: u64,
}

/// Permutes a seed. Returns the counts, and the bounds that were hit.
pub(super) fn count<E: Labelled>(
    mut session: Session<'_, '_, E>,
    seed: Seed,
) -> (PrintedForms, Vec<Bound>) {
    let mut policy = Printed {
        seed,
        word: Vec::new(),
        places: Vec::new(),
        made: vec![0; session.program.processes().len()],
        met: Prints::default(),
        nodes: Vec::new(),
        known: false,
        counts: PrintedForms::default(),
    };
    let found = session.explore(&mut policy);
    (policy.counts, found.bounds)
}

/// Whether two labels interfere by Definition 9, over the variables that they name.
fn interfere(one: (ProcessId, &Label), other: (ProcessId, &Label)) -> bool {
    let orders = |a: &Label, p: ProcessId| a.spawned.contains(&p) || a.joined.contains(&p);
    one.0 == other.0
        || orders(one.1, other.0)
        || orders(other.1, one.0)
        || conflict(&one.1.named, &other.1.named)
}

/// A prefix in its form, and the processes to extend it by.
#[derive(Debug, Default)]
struct FormNode {
    tries: SmallVec<[ProcessId; 8]>,
    tried: usize,
    again: Option<SmallVec<[i64; 1]>>,
    /// Whether the last label of the prefix has been inserted into the word.
    placed: bool,
}

/// The policy of Algorithm 1 as printed.
struct Printed {
    seed: Seed,
    /// The form of the current run, as a sequence of labels: each is a process and the index of the
    /// label among those of the process.
    word: Vec<(ProcessId, u32)>,
    /// The position at which each label of the current path was inserted.
    places: Vec<usize>,
    made: Vec<u32>,
    /// The forms met.
    met: Prints,
    nodes: Vec<FormNode>,
    known: bool,
    counts: PrintedForms,
}

impl Printed {
    fn label(&self, (process, number): (ProcessId, u32)) -> Option<(ProcessId, &Label)> {
        Some((process, self.seed.next(process, number)?))
    }

    /// Inserts a label at the position that Definition 12 prescribes.
    fn insert<E: Labelled>(&mut self, program: &E, letter: (ProcessId, u32)) {
        let table = program.processes();
        let mut place = self.word.len();
        while let Some(&before) = place.checked_sub(1).and_then(|at| self.word.get(at)) {
            let (one, other) = (self.label(before), self.label(letter));
            let stays = one.zip(other).is_none_or(|(l1, l2)| interfere(l1, l2));
            if stays || table.path(before.0) < table.path(letter.0) {
                break;
            }
            place -= 1;
        }
        self.word.insert(place, letter);
        self.places.push(place);
    }

    fn print(&self) -> Fingerprint {
        let letter = |all: Fingerprint, &(process, number): &(ProcessId, u32)| {
            all.then((u64::from(process.0) << 32) | u64::from(number))
        };
        self.word.iter().fold(Fingerprint::EMPTY, letter)
    }

    /// Returns the processes that may extend a new prefix.
    fn open<E: Labelled>(&mut self, program: &E) -> FormNode {
        let mut node = FormNode::default();
        for &process in program.processes().in_order() {
            let status = program.status(process);
            let made = self.made.get(process.index()).copied().unwrap_or(0);
            if status == Status::Unborn || self.seed.next(process, made).is_none() {
                continue;
            }
            self.counts.candidates += 1;
            match status {
                Status::Ready => node.tries.push(process),
                _ => self.counts.infeasible += 1,
            }
        }
        self.counts.executable += u64::from(program.events().len() == self.seed.length);
        node
    }
}

impl<E: Labelled> Policy<E> for Printed {
    const UNIQUE: bool = true;

    fn enter(&mut self, program: &E) {
        self.known = false;
        let Some(at) = program.events().len().checked_sub(1) else {
            let node = self.open(program);
            return self.nodes.push(node);
        };
        let event = &program.events()[at];
        let letter = (event.process, event.number);
        let label = self.seed.next(letter.0, letter.1);
        if label.is_none_or(|label| label.print != print(program, at)) {
            self.known = true;
            return self.nodes.push(FormNode::default());
        }
        self.insert(program, letter);
        self.made[letter.0.index()] += 1;
        let mut node = FormNode::default();
        if self.met.insert(self.print()) {
            node = self.open(program);
        } else {
            self.counts.duplicates += 1;
            self.known = true;
        }
        node.placed = true;
        self.nodes.push(node);
    }

    fn next(&mut self, _program: &E, outcomes: &mut Vec<i64>) -> Option<ProcessId> {
        let node = self.nodes.last_mut()?;
        match node.again.take() {
            Some(again) => outcomes.extend(again),
            None => node.tried += 1,
        }
        node.tries.get(node.tried - 1).copied()
    }

    fn known(&self) -> bool {
        self.known
    }

    fn leave(&mut self, program: &E) {
        self.known = false;
        let (Some(node), Some(event)) = (self.nodes.pop(), program.events().last()) else {
            return;
        };
        if node.placed {
            self.made[event.process.index()] -= 1;
            if let Some(place) = self.places.pop() {
                self.word.remove(place);
            }
            return;
        }
        let again = self.seed.recorded_outcomes(event);
        self.counts.infeasible += u64::from(again.is_none());
        if let Some(parent) = self.nodes.last_mut() {
            parent.again = again;
        }
    }
}
