//! Sleep sequences: steps that lead from a state to one whose future is known already.
//!
//! A sequence belongs to the state that it starts from (its *home*), and is handed down to the
//! states after it. If a step of the sequence is made, it is removed from the sequence. If another
//! step is made that is independent of all remaining steps, it adds the same amount to the expected
//! final sum as to the current sum. Any other step *suspends* the sequence: when it continues, the
//! expected sum is computed by making the rest of the sequence first, and then the steps since.
//!
//! The order of the steps does not matter, only that all of them have been made and which state
//! they lead to. So a sequence is a set of steps, with an order in which they can be tried.
//!
//! Only the difference between the expected sum and the current one is stored: then an independent
//! step does not change a sequence, and most sequences are handed down unchanged.

use std::ops::Range;

use mazurka_core::{Claims, Event, Fingerprint, ProcessId};
use smallvec::SmallVec;

use crate::relations::catalogue::{Catalogue, single};

/// Longer sequences are not kept, because they are unlikely to be followed to the end.
pub(super) const MOST_STEPS: usize = 64;
/// Limit on the sequences that start from a state.
const MOST_SEQUENCES: usize = 256;
/// A sequence is dropped if it is suspended for more steps than this, or has more steps left.
const MOST_AHEAD: u32 = 32;

/// A step of a sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SequenceStep {
    pub process: ProcessId,
    pub outcomes: SmallVec<[i64; 1]>,
    /// The claims of the step when it was made.
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

    fn is(&self, event: &Event, claims: u32) -> bool {
        let values = event.outcomes.iter().map(|outcome| outcome.value);
        self.claims == claims && self.outcomes.iter().copied().eq(values)
    }
}

/// A sequence that starts from a state.
#[derive(Debug, Default)]
struct Sequence {
    /// The depth of that state.
    home: usize,
    steps: Vec<SequenceStep>,
    /// For each step, its position in the run that it was made in.
    places: Vec<usize>,
    /// The sequence with all of its steps left.
    whole: Followed,
    /// Whether the states themselves have been compared, and differed.
    compared: bool,
}

/// A sequence that has been followed up to a state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Followed {
    /// The number of the sequence.
    number: u32,
    /// The depth of the state from which the sequence was suspended, because a step was made that
    /// it depends on; `NEVER` if it is not suspended.
    since: u32,
    /// The steps that are left, as bits.
    left: u64,
    /// Number of steps that are left.
    length: u32,
    /// The process of the first remaining step.
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

    /// Whether it is not suspended, or only for a few steps, when the search leaves a state of this
    /// depth.
    #[inline]
    fn is_worth_while(&self, from: usize) -> bool {
        self.since == NEVER || self.length + (from as u32 - self.since) < MOST_AHEAD
    }

    /// Sets the steps that are left.
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
    /// The depth of the state after which it was suspended.
    pub since: usize,
    /// The step that was made.
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
    /// All sequences, by number.
    all: Vec<Sequence>,
    /// Numbers that can be reused.
    free: Vec<u32>,
    /// For each number, whether the sequence led to an unexpected state, because the order of its
    /// steps matters here.
    useless: Vec<bool>,
    /// For each state, the sequences that start from it.
    homes: Vec<Vec<u32>>,
    /// The sequences that have been handed down to each state, one state after the other.
    followed: Vec<Followed>,
    /// For each state, the index of its first sequence in `followed`.
    starts: Vec<usize>,
    doubts: Vec<SuspendedSequence>,
    /// The doubted sequences that continue.
    went_on: Vec<Followed>,
    /// The sequences that the last step completed in a state with an unexpected sum.
    unlike: Vec<Followed>,
    /// Whether a sequence handed down to the last state may have a single step left.
    single: bool,
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
        self.doubts.clear();
        self.went_on.clear();
        self.unlike.clear();
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

    /// Returns the greatest number of states stored at any time.
    pub fn most_stored(&self) -> usize {
        self.most
    }

    /// Enters the state that a step has led to. Returns whether the step has ended a sequence in
    /// the expected state. Nothing is handed down yet.
    #[inline]
    pub fn follow(&mut self, made: SummedStep<'_>) -> bool {
        self.enter();
        !self.handed().is_empty() && self.follow_some(made)
    }

    fn follow_some(&mut self, made: SummedStep<'_>) -> bool {
        let mine = bit(made.event.process);
        let mut known = false;
        // Sequences that start from the state before have at least two steps, and are not
        // suspended.
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

    /// Whether the last step completes a sequence as expected. A suspended sequence is added to the
    /// doubts.
    fn ends(&mut self, one: Followed, made: SummedStep<'_>) -> bool {
        let steps = &self.all[one.number as usize].steps;
        let mine = next_of(made.event.process, &one, steps);
        let Some(at) = mine.filter(|&at| steps[at as usize].is(made.event, made.claims)) else {
            return false;
        };
        if self.useless[one.number as usize] {
            return false;
        }
        if one.since != NEVER {
            self.doubts.push(SuspendedSequence {
                sequence: one,
                since: one.since as usize,
                made: at,
            });
            return false;
        }
        let known = one.length == 1 && self.expects(one, made.adds);
        if one.length == 1 && !known {
            self.ended_unlike(one);
        }
        known
    }

    /// Whether there is anything to hand down to the last state.
    #[inline]
    pub fn can_hand_down(&self) -> bool {
        let from = self.starts.len() - 2;
        !self.handed().is_empty() || !self.homes[from].is_empty()
    }

    /// Hands the sequences of the state before the last down to the last one. The doubted sequences
    /// that continue come after them.
    pub fn hand_down(&mut self, made: SummedStep<'_>, catalogue: &Catalogue) {
        let from = self.starts.len() - 2;
        let mine = bit(made.event.process);
        // Copies all sequences, and closes the gaps of those that end: most of them do not change.
        let start = self.followed.len();
        self.followed.extend_from_within(self.handed());
        let mut kept = start;
        for at in start..self.followed.len() {
            let one = &self.followed[at];
            if self.useless[one.number as usize] {
                continue;
            }
            if one.since == NEVER || one.processes & mine != 0 {
                let Some(one) = self.next(*one, made, catalogue) else {
                    continue;
                };
                self.followed[kept] = one;
            } else if !one.is_worth_while(from) {
                continue;
            } else if kept < at {
                self.followed[kept] = *one;
            }
            self.single |= self.followed[kept].length == 1;
            kept += 1;
        }
        self.followed.truncate(kept);
        for at in 0..self.homes[from].len() {
            let number = self.homes[from][at] as usize;
            if !self.useless[number]
                && let Some(one) = self.next(self.all[number].whole, made, catalogue)
            {
                self.push(one);
            }
        }
        for at in 0..self.went_on.len() {
            self.push(self.went_on[at]);
        }
    }

    fn push(&mut self, one: Followed) {
        self.single |= one.length == 1;
        self.followed.push(one);
    }

    /// Returns the sequence after the last step, if anything is left of it.
    fn next(
        &self,
        mut one: Followed,
        made: SummedStep<'_>,
        catalogue: &Catalogue,
    ) -> Option<Followed> {
        let Event {
            process, claims, ..
        } = made.event;
        let steps = &self.all[one.number as usize].steps;
        if one.processes & bit(*process) != 0
            && let Some(at) = next_of(*process, &one, steps)
        {
            // A suspended sequence is in the doubts.
            let goes_on = one.since == NEVER
                && one.length > 1
                && steps[at as usize].is(made.event, made.claims);
            one.leave(one.left & !(1 << at), steps);
            one.adds = one.adds.without(made.adds);
            return goes_on.then_some(one);
        }
        let from = self.starts.len() - 2;
        if one.since == NEVER && conflict(&one, steps, claims, catalogue) {
            one.since = from as u32;
        }
        one.is_worth_while(from).then_some(one)
    }

    /// Returns the suspended sequences that the last step continues: first those that it completes,
    /// then those that were suspended last.
    pub fn doubts(&mut self) -> Vec<SuspendedSequence> {
        let mut doubts = std::mem::take(&mut self.doubts);
        doubts.sort_by_key(|doubt| {
            let ends = doubt.sequence.length == 1;
            (!ends, std::cmp::Reverse(doubt.since))
        });
        doubts
    }

    /// Clears the doubts after they have been examined.
    pub fn no_doubts(&mut self, mut doubts: Vec<SuspendedSequence>) {
        doubts.clear();
        self.doubts = doubts;
    }

    pub fn has_doubts(&self) -> bool {
        !self.doubts.is_empty()
    }

    /// Returns the remaining steps of a sequence, in an order in which they can be tried.
    pub fn left(&self, one: Followed) -> impl Iterator<Item = &SequenceStep> {
        let steps = self.all[one.number as usize].steps.iter().enumerate();
        steps
            .filter(move |(at, _)| one.left >> at & 1 == 1)
            .map(|(_, step)| step)
    }

    /// Whether the remaining steps add as much as when they were made. If not, the sequence is not
    /// tried again.
    pub fn expects(&mut self, one: Followed, adds: Fingerprint) -> bool {
        self.useless[one.number as usize] |= one.adds != adds;
        one.adds == adds
    }

    /// Records that a sequence was completed in a state with an unexpected sum.
    pub fn ended_unlike(&mut self, one: Followed) {
        if !self.all[one.number as usize].compared {
            self.unlike.push(one);
        }
    }

    pub fn has_unlike(&self) -> bool {
        !self.unlike.is_empty()
    }

    /// Returns the sequences that the last step completed in a state with an unexpected sum, and
    /// that may still lead to the expected state.
    pub fn unlike(&mut self) -> Vec<Followed> {
        std::mem::take(&mut self.unlike)
    }

    /// Returns the depth of the state that a sequence starts from.
    pub fn home(&self, one: Followed) -> usize {
        self.all[one.number as usize].home
    }

    /// Notes the comparison of the states at the end of a sequence.
    pub fn compared(&mut self, one: Followed, equal: bool) {
        self.useless[one.number as usize] = !equal;
        self.all[one.number as usize].compared = !equal;
    }

    /// Returns the steps since the home of a completed sequence: first the steps of the sequence,
    /// in the order of the run in which it was found, then the other steps.
    pub fn as_found<'a>(
        &'a self,
        one: Followed,
        since: &'a [SequenceStep],
    ) -> Vec<&'a SequenceStep> {
        let Sequence { steps, places, .. } = &self.all[one.number as usize];
        let mut own: Vec<usize> = (0..steps.len()).collect();
        own.sort_unstable_by_key(|&at| places[at]);
        let own = own.into_iter().map(|at| &steps[at]);
        // The steps of a process in the sequence are its first steps since then.
        let mut left: SmallVec<[ProcessId; 16]> = own.clone().map(|step| step.process).collect();
        let others = since.iter().filter(|step| {
            let mine = left.iter().position(|&process| process == step.process);
            mine.map(|at| left.swap_remove(at)).is_none()
        });
        own.chain(others).collect()
    }

    /// Continues a sequence with the step that was made; the remaining steps add `adds` to the sum.
    /// Returns whether the sequence is completed.
    pub fn go_on(&mut self, doubt: SuspendedSequence, adds: Fingerprint) -> bool {
        let mut one = doubt.sequence;
        let steps = &self.all[one.number as usize].steps;
        one.leave(one.left & !(1 << doubt.made), steps);
        one.adds = adds;
        one.since = NEVER;
        if one.left != 0 {
            self.went_on.push(one);
        }
        one.left == 0
    }

    /// Adds a sequence that starts from a state of the path and adds `adds` to its sum, unless it
    /// is known. It consists of the steps at some positions of the run.
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
        let one = &mut self.all[number as usize];
        (one.home, one.compared) = (home, false);
        one.steps.clear();
        one.steps.extend(steps.cloned());
        one.places.clear();
        one.places.extend_from_slice(places);
        (one.whole.number, one.whole.adds) = (number, adds);
        let all = u64::MAX >> (MOST_STEPS - places.len());
        one.whole.leave(all, &one.steps);
        self.most = self.most.max(self.all.len() - self.free.len());
    }

    /// Whether any sequence may continue from the last state.
    pub fn lead_on(&self) -> bool {
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
        let singles = self.followed[start..].iter().filter(|one| one.length == 1);
        let useful = singles.filter(|one| !self.useless[one.number as usize]);
        useful.map(|one| one.first)
    }

    /// For each process, returns the length of the shortest sequence that its step continues from
    /// the last state.
    pub fn shortest(&self, lengths: &mut ProcessLengths) {
        lengths.clear();
        let depth = self.starts.len() - 1;
        for one in &self.followed[self.starts[depth]..] {
            if !self.useless[one.number as usize] {
                lengths.add(one.first, one.length);
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

/// Returns the first remaining step of a process in a sequence.
#[inline]
fn next_of(process: ProcessId, one: &Followed, steps: &[SequenceStep]) -> Option<u32> {
    let mut left = one.left;
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
    one: &Followed,
    steps: &[SequenceStep],
    claims: &Claims,
    catalogue: &Catalogue,
) -> bool {
    let number = single(claims);
    let mut left = one.left;
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
    /// The length of each process, and the round in which it was entered.
    all: Vec<(u32, u32)>,
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

    /// Returns the length for a process; the greatest number if it has none.
    pub fn get(&self, process: ProcessId) -> u32 {
        let known = self.all.get(process.index());
        let known = known.filter(|(round, _)| *round == self.round);
        known.map_or(u32::MAX, |(_, length)| *length)
    }
}
