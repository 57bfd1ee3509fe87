//! Sleep sequences: steps that lead from a state to a state whose future is already known.
//!
//! A sequence belongs to the state that it starts from (its *home*), and is handed down to the
//! states after it. [`Meter`](crate::algorithms::meter::Meter) computes the *sum* of a state from
//! its parts. The expected final sum of a sequence is the sum of the state to which the sequence
//! should lead. If a step of the sequence is made, it is removed from the sequence. If a step
//! outside the sequence is made and is independent of all remaining steps, it adds the same amount
//! to the expected final sum as to the current sum. Any other step *suspends* the sequence. When a
//! later step continues it, the expected sum is computed on a [`Trip`](super::trip::Trip): the rest
//! of the sequence is made first, and then the steps made since the suspension.
//!
//! The order of the steps does not matter. It matters only that all of them have been made and
//! which state they lead to. So a sequence is a set of steps, with an order in which they can be
//! tried.
//!
//! Only the difference between the expected sum and the current one is stored. Then an independent
//! step does not change a sequence, so most sequences are handed down unchanged.

use std::ops::Range;

use mazurka_core::{Claims, Event, Fingerprint, ProcessId};
use smallvec::SmallVec;

use crate::relations::catalogue::{Catalogue, single};

/// Limit on the steps of a sequence. Longer sequences are discarded, because they are unlikely to
/// be followed to the end.
pub(super) const MOST_STEPS: usize = 64;
/// Limit on the number of sequences that start from one state.
const MOST_SEQUENCES: usize = 256;
/// A suspended sequence is discarded when its remaining steps and the steps since its suspension
/// are more than this.
const MOST_AHEAD: u32 = 32;

/// A step of a sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SequenceStep {
    pub process: ProcessId,
    pub outcomes: SmallVec<[i64; 1]>,
    /// The claims of the step when it was made, as their number in the [`Catalogue`].
    pub claims: u32,
}

impl SequenceStep {
    /// Adds the step of an event. The outcomes are added in place afterwards, because moving a step
    /// that has just been written would cost a store-forwarding stall.
    #[inline(always)]
    pub fn push(steps: &mut Vec<Self>, event: &Event, claims: u32) {
        steps.push(Self {
            process: event.process,
            outcomes: SmallVec::new(),
            claims,
        });
        if let ([_, ..], Some(step)) = (&event.outcomes[..], steps.last_mut()) {
            let values = event.outcomes.iter().map(|outcome| outcome.value);
            step.outcomes.extend(values);
        }
    }

    /// Whether an event repeats the step: it has the same outcomes and the same claims.
    fn is(&self, event: &Event, claims: u32) -> bool {
        let values = event.outcomes.iter().map(|outcome| outcome.value);
        self.claims == claims && self.outcomes.iter().copied().eq(values)
    }
}

/// A sequence that starts from a state of the path.
#[derive(Debug, Default)]
struct Sequence {
    /// The depth of that state.
    home: usize,
    steps: Vec<SequenceStep>,
    /// For each step, its position in the run in which the sequence was found.
    places: Vec<usize>,
    /// The sequence with all of its steps remaining.
    whole: Followed,
    /// Whether the states at the end of the sequence have been compared, not only their sums, and
    /// differed.
    compared: bool,
}

/// A sequence that has been followed up to a state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Followed {
    /// The number of the sequence: its index in [`Sequences::all`].
    number: u32,
    /// The depth of the state from which on the sequence is suspended: the step made there is
    /// outside the sequence and conflicts with a step of it. `NEVER` if the sequence is not
    /// suspended.
    since: u32,
    /// The remaining steps, as bits: bit i stands for step i of the sequence.
    left: u64,
    /// Number of remaining steps.
    length: u32,
    /// The process that makes the first remaining step.
    first: ProcessId,
    /// The processes of the remaining steps, as bits; several processes may share a bit.
    processes: u64,
    /// The amount that the remaining steps add to the sum if they are made from the state `since`
    /// or, unless suspended, from the current state.
    adds: Fingerprint,
}

const NEVER: u32 = u32::MAX;

impl Default for Followed {
    fn default() -> Self {
        Self {
            number: 0,
            since: NEVER,
            left: 0,
            length: 0,
            first: ProcessId(0),
            processes: 0,
            adds: Fingerprint::ZERO,
        }
    }
}

/// Returns the bit of a process. Several processes may share it.
#[inline]
fn bit(process: ProcessId) -> u64 {
    1 << (process.index() % 64)
}

impl Followed {
    pub fn length(&self) -> u32 {
        self.length
    }

    /// Whether to hand the sequence down from the state at depth `from`: it is not suspended, or
    /// its remaining steps and the steps since its suspension are few.
    #[inline]
    fn is_worth_while(&self, from: usize) -> bool {
        self.since == NEVER || self.length + (from as u32 - self.since) < MOST_AHEAD
    }

    /// Sets the remaining steps.
    #[inline]
    fn leave(&mut self, left: u64, steps: &[SequenceStep]) {
        self.left = left;
        (self.length, self.processes) = (0, 0);
        let mut left = left;
        while left != 0 {
            let process = steps[left.trailing_zeros() as usize].process;
            if self.length == 0 {
                self.first = process;
            }
            self.length += 1;
            self.processes |= bit(process);
            left &= left - 1;
        }
    }
}

/// A suspended sequence that the last step continues.
#[derive(Clone, Copy, Debug)]
pub(super) struct SuspendedSequence {
    pub sequence: Followed,
    /// The depth of the state from which on it was suspended.
    pub since: usize,
    /// The index, in the sequence, of the step that was made.
    made: u32,
}

/// A step that was made, with its contribution to the sum.
#[derive(Clone, Copy)]
pub(super) struct SummedStep<'a> {
    pub event: &'a Event,
    pub claims: u32,
    /// The amount that it has added to the sum.
    pub adds: Fingerprint,
}

/// The sequences of the states on the current path.
#[derive(Debug, Default)]
pub(super) struct Sequences {
    /// All sequences; the *number* of a sequence is its index here.
    all: Vec<Sequence>,
    /// Free numbers for new sequences.
    free: Vec<u32>,
    /// For each sequence, by number, whether it led to an unexpected state, because the order of
    /// its steps matters in this program. Such a sequence is not tried again.
    useless: Vec<bool>,
    /// For each state, the sequences that start from it.
    homes: Vec<Vec<u32>>,
    /// The sequences that have been handed down to each state, one state after the other.
    followed: Vec<Followed>,
    /// For each state, the index of its first sequence in `followed`.
    starts: Vec<usize>,
    /// The suspended sequences that the last step may continue; they have not been examined yet.
    resumable: Vec<SuspendedSequence>,
    /// The suspended sequences that the last step has continued.
    continued: Vec<Followed>,
    /// The sequences that the last step completed in a state with an unexpected sum.
    mismatched: Vec<Followed>,
    /// Whether a sequence handed down to the last state may have a single step left.
    single: bool,
    /// The greatest number of sequences stored at any time.
    most: usize,
}

impl Sequences {
    /// Starts in the initial state.
    pub fn start(&mut self) {
        *self = Self::default();
        self.enter();
    }

    /// Enters a new state, to which no sequences are handed down yet.
    #[inline]
    pub fn enter(&mut self) {
        self.starts.push(self.followed.len());
        if self.homes.len() < self.starts.len() {
            self.homes.push(Vec::new());
        }
        self.resumable.clear();
        self.continued.clear();
        self.mismatched.clear();
        self.single = false;
    }

    /// Leaves the last state.
    #[inline]
    pub fn leave(&mut self) {
        if let Some(start) = self.starts.pop() {
            self.followed.truncate(start);
            let home = &mut self.homes[self.starts.len()];
            if !home.is_empty() {
                self.free.append(home);
            }
        }
    }

    /// Returns the greatest number of sequences stored at any time. Each stores one state, as a
    /// sum.
    pub fn most_stored(&self) -> usize {
        self.most
    }

    /// Enters the state that a step has led to. Returns whether the step has ended a sequence in
    /// the expected state. Does not hand down sequences.
    #[inline]
    pub fn follow(&mut self, made: SummedStep<'_>) -> bool {
        self.enter();
        !self.handed().is_empty() && self.follow_some(made)
    }

    fn follow_some(&mut self, made: SummedStep<'_>) -> bool {
        let mine = bit(made.event.process);
        let mut known = false;
        // Only sequences handed down to the state before are examined. Those that start there have
        // at least two steps, so this step does not end them, and they are not suspended.
        for at in self.handed() {
            if self.followed[at].processes & mine != 0 {
                known |= self.ends(self.followed[at], made);
            }
        }
        known
    }

    /// Returns the positions of the sequences handed down to the state before the last.
    #[inline]
    fn handed(&self) -> Range<usize> {
        let last = self.starts.len() - 1;
        self.starts[last - 1]..self.starts[last]
    }

    /// Whether the last step completes a sequence in the expected state. A suspended sequence is
    /// added to `resumable`.
    fn ends(&mut self, followed: Followed, made: SummedStep<'_>) -> bool {
        let steps = &self.all[followed.number as usize].steps;
        let mine = next_of(made.event.process, &followed, steps);
        let Some(at) = mine.filter(|&at| steps[at as usize].is(made.event, made.claims)) else {
            return false;
        };
        if self.useless[followed.number as usize] {
            return false;
        }
        if followed.since != NEVER {
            self.resumable.push(SuspendedSequence {
                sequence: followed,
                since: followed.since as usize,
                made: at,
            });
            return false;
        }
        let known = followed.length == 1 && self.expects(followed, made.adds);
        if followed.length == 1 && !known {
            self.record_mismatch(followed);
        }
        known
    }

    /// Whether sequences must be handed down to the last state.
    #[inline]
    pub fn can_hand_down(&self) -> bool {
        let from = self.starts.len() - 2;
        !self.handed().is_empty() || !self.homes[from].is_empty()
    }

    /// Hands the sequences of the state before the last down to the last one. The suspended
    /// sequences that have continued come after them.
    pub fn hand_down(&mut self, made: SummedStep<'_>, catalogue: &Catalogue) {
        let from = self.starts.len() - 2;
        let mine = bit(made.event.process);
        // Copies all sequences, because most of them do not change, and closes the gaps of those
        // that end.
        let start = self.followed.len();
        self.followed.extend_from_within(self.handed());
        let mut kept = start;
        for at in start..self.followed.len() {
            let followed = &self.followed[at];
            if self.useless[followed.number as usize] {
                continue;
            }
            if followed.since == NEVER || followed.processes & mine != 0 {
                let Some(followed) = self.next(*followed, made, catalogue) else {
                    continue;
                };
                self.followed[kept] = followed;
            } else if !followed.is_worth_while(from) {
                continue;
            } else if kept < at {
                self.followed[kept] = *followed;
            }
            self.single |= self.followed[kept].length == 1;
            kept += 1;
        }
        self.followed.truncate(kept);
        for at in 0..self.homes[from].len() {
            let number = self.homes[from][at] as usize;
            if !self.useless[number]
                && let Some(followed) = self.next(self.all[number].whole, made, catalogue)
            {
                self.push(followed);
            }
        }
        for at in 0..self.continued.len() {
            self.push(self.continued[at]);
        }
    }

    fn push(&mut self, followed: Followed) {
        self.single |= followed.length == 1;
        self.followed.push(followed);
    }

    /// Returns the sequence after the last step; `None` if no step of it remains, or if it need not
    /// be handed down.
    fn next(
        &self,
        mut followed: Followed,
        made: SummedStep<'_>,
        catalogue: &Catalogue,
    ) -> Option<Followed> {
        let Event {
            process, claims, ..
        } = made.event;
        let steps = &self.all[followed.number as usize].steps;
        if followed.processes & bit(*process) != 0
            && let Some(at) = next_of(*process, &followed, steps)
        {
            // A suspended sequence is in `resumable`.
            let can_continue = followed.since == NEVER
                && followed.length > 1
                && steps[at as usize].is(made.event, made.claims);
            followed.leave(followed.left & !(1 << at), steps);
            followed.adds = followed.adds.without(made.adds);
            return can_continue.then_some(followed);
        }
        let from = self.starts.len() - 2;
        if followed.since == NEVER && conflict(&followed, steps, claims, catalogue) {
            followed.since = from as u32;
        }
        followed.is_worth_while(from).then_some(followed)
    }

    /// Returns the suspended sequences that the last step continues: first the sequences that it
    /// completes, then all others; within each group, the sequence suspended last comes first.
    pub fn resumable(&mut self) -> Vec<SuspendedSequence> {
        let mut resumable = std::mem::take(&mut self.resumable);
        resumable.sort_by_key(|suspended| {
            let ends = suspended.sequence.length == 1;
            (!ends, std::cmp::Reverse(suspended.since))
        });
        resumable
    }

    /// Clears the suspended sequences after they have been examined.
    pub fn clear_resumable(&mut self, mut resumable: Vec<SuspendedSequence>) {
        resumable.clear();
        self.resumable = resumable;
    }

    pub fn has_resumable(&self) -> bool {
        !self.resumable.is_empty()
    }

    /// Returns the remaining steps of a sequence, in a possible order.
    pub fn left(&self, followed: Followed) -> impl Iterator<Item = &SequenceStep> {
        let steps = self.all[followed.number as usize].steps.iter().enumerate();
        steps
            .filter(move |(at, _)| followed.left >> at & 1 == 1)
            .map(|(_, step)| step)
    }

    /// Whether the remaining steps add as much as when the sequence was found. If not, the sequence
    /// is not tried again.
    pub fn expects(&mut self, followed: Followed, adds: Fingerprint) -> bool {
        self.useless[followed.number as usize] |= followed.adds != adds;
        followed.adds == adds
    }

    /// Records that a sequence was completed in a state with an unexpected sum.
    pub fn record_mismatch(&mut self, followed: Followed) {
        if !self.all[followed.number as usize].compared {
            self.mismatched.push(followed);
        }
    }

    pub fn has_mismatched(&self) -> bool {
        !self.mismatched.is_empty()
    }

    /// Returns the sequences that the last step completed in a state with an unexpected sum, and
    /// that may still lead to the expected state.
    pub fn mismatched(&mut self) -> Vec<Followed> {
        std::mem::take(&mut self.mismatched)
    }

    /// Returns the depth of the state that a sequence starts from.
    pub fn home(&self, followed: Followed) -> usize {
        self.all[followed.number as usize].home
    }

    /// Records the comparison of the states at the end of a sequence.
    pub fn compared(&mut self, followed: Followed, equal: bool) {
        self.useless[followed.number as usize] = !equal;
        self.all[followed.number as usize].compared = !equal;
    }

    /// Returns the steps since the home of a completed sequence: first the steps of the sequence,
    /// in the order of the run in which it was found, then the other steps.
    pub fn as_found<'a>(
        &'a self,
        followed: Followed,
        since: &'a [SequenceStep],
    ) -> Vec<&'a SequenceStep> {
        let Sequence { steps, places, .. } = &self.all[followed.number as usize];
        let mut own: Vec<usize> = (0..steps.len()).collect();
        own.sort_unstable_by_key(|&at| places[at]);
        let own = own.into_iter().map(|at| &steps[at]);
        // The steps of a process in the sequence are its first steps since the home state.
        let mut left: SmallVec<[ProcessId; 16]> = own.clone().map(|step| step.process).collect();
        let others = since.iter().filter(|step| {
            let mine = left.iter().position(|&process| process == step.process);
            mine.map(|at| left.swap_remove(at)).is_none()
        });
        own.chain(others).collect()
    }

    /// Continues a sequence with the step that was made; the remaining steps add `adds` to the sum.
    /// Returns whether the sequence is completed.
    pub fn resume(&mut self, suspended: SuspendedSequence, adds: Fingerprint) -> bool {
        let mut followed = suspended.sequence;
        let steps = &self.all[followed.number as usize].steps;
        followed.leave(followed.left & !(1 << suspended.made), steps);
        followed.adds = adds;
        followed.since = NEVER;
        if followed.left != 0 {
            self.continued.push(followed);
        }
        followed.left == 0
    }

    /// Adds a sequence that starts from a state of the path and adds `adds` to its sum, unless the
    /// sequence is known. It consists of the steps at `places` of the run.
    pub fn add(&mut self, home: usize, places: &[usize], run: &[SequenceStep], adds: Fingerprint) {
        let here = &mut self.homes[home];
        let steps = places.iter().map(|&at| &run[at]);
        let same = |&known: &u32| {
            let known = &self.all[known as usize];
            known.whole.adds == adds && known.steps.iter().eq(steps.clone())
        };
        if here.len() == MOST_SEQUENCES || here.iter().any(same) {
            return;
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.all.push(Sequence::default());
            self.useless.push(false);
            self.all.len() as u32 - 1
        });
        here.push(number);
        self.useless[number as usize] = false;
        let followed = &mut self.all[number as usize];
        (followed.home, followed.compared) = (home, false);
        followed.steps.clear();
        followed.steps.extend(steps.cloned());
        followed.places.clear();
        followed.places.extend_from_slice(places);
        (followed.whole.number, followed.whole.adds) = (number, adds);
        let all = u64::MAX >> (MOST_STEPS - places.len());
        followed.whole.leave(all, &followed.steps);
        self.most = self.most.max(self.all.len() - self.free.len());
    }

    /// Whether any sequence may continue from the last state.
    pub fn may_continue(&self) -> bool {
        let depth = self.starts.len() - 1;
        self.followed.len() > self.starts[depth] || !self.homes[depth].is_empty()
    }

    /// Whether some sequence may end with the next step, if no process has been run from the last
    /// state.
    #[inline]
    pub fn may_end(&self) -> bool {
        self.single
    }

    /// Returns the processes whose next step would end a sequence.
    pub fn ending(&self) -> impl Iterator<Item = ProcessId> {
        let start = self.starts[self.starts.len() - 1];
        let singles = self.followed[start..]
            .iter()
            .filter(|followed| followed.length == 1);
        let useful = singles.filter(|followed| !self.useless[followed.number as usize]);
        useful.map(|followed| followed.first)
    }

    /// For each process, returns the length of the shortest sequence that its step continues from
    /// the last state.
    pub fn shortest(&self, lengths: &mut ProcessLengths) {
        lengths.clear();
        let depth = self.starts.len() - 1;
        for followed in &self.followed[self.starts[depth]..] {
            if !self.useless[followed.number as usize] {
                lengths.add(followed.first, followed.length);
            }
        }
        for &number in &self.homes[depth] {
            if !self.useless[number as usize] {
                let whole = &self.all[number as usize].whole;
                lengths.add(whole.first, whole.length);
            }
        }
    }
}

/// Returns the index, in a sequence, of the first remaining step of a process.
#[inline]
fn next_of(process: ProcessId, followed: &Followed, steps: &[SequenceStep]) -> Option<u32> {
    let mut left = followed.left;
    while left != 0 {
        let at = left.trailing_zeros();
        if steps[at as usize].process == process {
            return Some(at);
        }
        left &= left - 1;
    }
    None
}

/// Whether a remaining step of a sequence conflicts with these claims.
#[inline]
fn conflict(
    followed: &Followed,
    steps: &[SequenceStep],
    claims: &Claims,
    catalogue: &Catalogue,
) -> bool {
    let number = single(claims);
    let mut left = followed.left;
    while left != 0 {
        let step = &steps[left.trailing_zeros() as usize];
        if catalogue.conflict(step.claims, number, claims) {
            return true;
        }
        left &= left - 1;
    }
    false
}

/// A length for each process; kept to reuse the allocation.
#[derive(Debug, Default)]
pub(super) struct ProcessLengths {
    /// For each process, the round in which its length was entered, and the length.
    all: Vec<(u32, u32)>,
    /// Only lengths that were entered in this round are valid.
    round: u32,
}

impl ProcessLengths {
    fn clear(&mut self) {
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.all.clear();
            self.round = 1;
        }
    }

    fn add(&mut self, process: ProcessId, length: u32) {
        if self.all.len() <= process.index() {
            self.all.resize(process.index() + 1, (0, 0));
        }
        let (round, known) = &mut self.all[process.index()];
        *known = if *round == self.round {
            length.min(*known)
        } else {
            length
        };
        *round = self.round;
    }

    /// Returns the length for a process; `u32::MAX` if the process has no length.
    pub fn get(&self, process: ProcessId) -> u32 {
        let known = self.all.get(process.index());
        let known = known.filter(|(round, _)| *round == self.round);
        known.map_or(u32::MAX, |(_, length)| *length)
    }
}
