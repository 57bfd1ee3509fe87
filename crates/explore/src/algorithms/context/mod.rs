//! Context-sensitive DPOR: orders of steps that lead to equal states are tried once.
//!
//! Albert, Arenas, García de la Banda, Gómez-Zamalloa, Stuckey, "Context-Sensitive Dynamic Partial
//! Order Reduction", CAV 2017, section 5, Algorithm 1, on top of `source` or `optimal`. The
//! algorithm as printed loses states (erratum E1 in docs/algorithms.md; [`Printed`] implements it
//! literally), so this is a different algorithm with the same idea. In the table, E is the current
//! run, p the process that makes the next step, e an event of E that races with this step, and E'
//! the run before e.
//!
//! | paper | here |
//! |---|---|
//! | E, backtrack(E), the processes of sleep(E) | [`Base`]: `source`, or `optimal` |
//! | the sequences of sleep(E) (lines 11 to 14, 16) | [`Sequences`] |
//! | v.u | the steps from e on that happen before p: [`Context::start_sequence`] |
//! | s_\[E.p\] = s_\[E'.v.u\] (line 13) | [`Sequences::follow`], [`Semantics::covers`] |
//! | E ⊨ p ♦ v (line 15) | nothing left of the sequence conflicts with p, or `look_around` |
//! | O (section 5.3) | `Promises::future` |
//! | (nothing) | the processes to run because of what may follow a cut: [`Wants`] |
//! | anticipating cuts, guiding | [`Variant::anticipate`], [`Variant::guide`] |
//!
//! The sequence v.u reverses the race; the steps in it that happen after e come last. The states of
//! line 13 are compared when the steps of the sequence have been made, as in section 6.2. If a
//! remaining step of a sequence conflicts with p, `look_around` makes the steps and compares.
//!
//! When a step p races with an earlier event e, a sleep sequence is stored with the state E' before
//! e: p with its past, and e. The sequence also stores the state that this run has reached after p.
//! It stores this state as a sum of parts ([`Meter`]), more precisely as the difference from the
//! sum of E'. If another run makes the steps of the sequence and reaches that state, it is *cut*:
//! everything after that state has been explored. Two critical sections of a lock are swapped as if
//! each were one step, because acquisitions of a lock always race and their order seldom matters.
//!
//! # Why nothing is lost
//!
//! Every reachable complete state (final, deadlocked, failed) is met, and every location that
//! fails. The proof is in docs/proofs/context.md. The code relies on these rules:
//!
//! - A sequence is followed only when the search has explored everything after E'.e, so that a cut
//!   run ends in a state from which everything has been explored.
//! - At a cut, take each event d that conflicts with a possible future step of some process and is
//!   not in the program past of that process. Enough processes are added to the backtrack set of
//!   the state before d ([`Wants`]).
//! - After a false `assume` no events are swapped, because whether a failure counts depends on its
//!   past.
//!
//! The proof covers steps that need not wait. Locks and guards are treated as in `source`, and the
//! futures of a cut include waiting steps. That this is enough is tested, not proved: on the corpus
//! and on tens of thousands of random programs, with all options (testkit/tests/it/context.rs). The
//! same tests check that the language keeps the promises of `Promises::future`, `Semantics::cell`
//! and `Semantics::process`. Different states with the same sum count as one state; `stateful`
//! computes the probability of such a collision.
//!
//! # Where it deviates
//!
//! - The repair of erratum E1 is included: the last step of a sequence is made and its races are
//!   analysed, and then the run is cut. This repair alone is not enough, because the last step of a
//!   sequence may be the only one that is run from a state: `found-context-future` in the corpus is
//!   an example. So the cut also considers the possible future steps (see above), which makes the
//!   repair provable.
//! - A sequence has only those steps between e and p that happen before p: all other steps between
//!   them are independent of the swapped steps. So sequences are short, and equal ones are
//!   recognised. Their steps may be made in any order.
//! - *Anticipating*: if the last step of a sequence is independent of everything that other
//!   processes may still do, no other process is run there. The step itself is made, to check that
//!   it leads to the expected state.
//! - *Guiding* implements lines 3 and 5 of the paper, but not line 10.
//! - *On wakeup trees* ([`Variant::wakeup`], the authors' open problem): the search whose runs are
//!   cut is `optimal`. A step that could follow a cut is treated like a guarded step in `optimal`.
//! - The number of traces is unknown. `deadlocks` and `failures` count only the deadlocks and
//!   failing events that this search reaches. They may be less than with other engines, but they
//!   are 0 only if the program has no deadlock or no failure.
//! - Only one worker explores, because a part of the space would not know the explored states of
//!   another part.
//!
//! A step costs more than in `source`: the sum is updated, the sequences that contain the step or
//! depend on it are changed, and all other sequences are copied. In states where a run is cut or
//! ends, only the sum is updated.

use mazurka_core::{
    AccessKind, Claims, Event, Execution, Fingerprint, ProcessId, Semantics, Status, Wait,
};
use smallvec::SmallVec;

mod base;
mod printed;
mod sequences;
mod trip;
mod wants;

use crate::algorithms::meter::Meter;
use crate::drive::driver::{End, Policy};
use crate::relations::catalogue::conflict;
use crate::relations::set::{Set, for_each};
pub(crate) use base::{Base, Rank};
pub(crate) use printed::Printed;
use sequences::{MOST_STEPS, ProcessLengths, SequenceStep, Sequences, SummedStep};
use trip::{Trip, discards};
use wants::Wants;

/// The options of context-sensitive DPOR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Variant {
    /// The first optimisation of section 5.3: a run is cut as soon as only the last step of a sleep
    /// sequence matters.
    pub anticipate: bool,
    /// The second optimisation of section 5.3: the steps of the shortest sleep sequences come
    /// first.
    pub guide: bool,
    /// Whether to run the algorithm as printed, which loses states.
    pub paper: bool,
    /// Whether to build on `optimal` with its wakeup trees instead of `source`.
    pub wakeup: bool,
    /// Whether the processes that can run from a state are tried in the reverse order of their
    /// names.
    pub last_first: bool,
}

impl Variant {
    /// Both optimisations.
    pub const BEST: Self = Self {
        anticipate: true,
        guide: true,
        paper: false,
        wakeup: false,
        last_first: false,
    };
}

/// Prints the differences from [`Variant::BEST`], as flags.
impl std::fmt::Display for Variant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let flags = [
            (self.paper, " --paper"),
            (self.wakeup, " --wakeup"),
            (!self.anticipate, " --no-anticipate"),
            (!self.guide, " --no-guide"),
            (self.last_first, ", last first"),
        ];
        let mut given = flags.iter().filter(|(given, _)| *given);
        given.try_for_each(|(_, flag)| f.write_str(flag))
    }
}

/// The policy of context-sensitive DPOR.
#[derive(Debug)]
pub(crate) struct Context<S, B> {
    variant: Variant,
    base: B,
    meter: Meter,
    sequences: Sequences,
    wants: Wants,
    /// The states of the run that may have an idle process: one that is ready, awake and outside
    /// the backtrack set.
    open: S,
    /// The steps of the run.
    made: Vec<SequenceStep>,
    /// Number of events of the run with a false `assume`.
    discards: usize,
    /// Whether the last state is known: it was met before, or a run leads to it from a state that
    /// was met before.
    known: bool,
    /// The positions, in the run, of the steps of the sequence that is being built; kept to reuse
    /// the allocation.
    places: Vec<usize>,
    /// The positions of the steps of that sequence that happen after the earlier event of the race;
    /// also kept to reuse the allocation.
    after: Vec<usize>,
    lengths: ProcessLengths,
    claims: Claims,
    buffer: Claims,
}

impl<S: Set, B: Base<S>> Context<S, B> {
    fn overflowed(&self) -> bool {
        self.base.overflowed()
    }

    pub fn new(variant: Variant) -> Self {
        Self {
            variant,
            base: B::new(),
            meter: Meter::new(),
            sequences: Sequences::default(),
            wants: Wants::default(),
            open: S::default(),
            made: Vec::new(),
            discards: 0,
            known: false,
            places: Vec::new(),
            after: Vec::new(),
            lengths: ProcessLengths::default(),
            claims: Claims::new(),
            buffer: Claims::new(),
        }
    }

    /// Undoes the last event of the run.
    fn take_back(&mut self, event: &Event) {
        self.meter.pop();
        self.open.remove(self.made.len());
        self.made.pop();
        self.sequences.leave();
        self.discards -= usize::from(discards(event));
        self.base.leave(event);
    }

    /// Adds processes to backtrack sets of earlier states, because of the steps that could follow
    /// the cut at the current state.
    #[inline(never)]
    fn futures(&mut self, program: &impl Execution) {
        // Nothing is run from the last state.
        self.open.remove(self.made.len());
        if self.open.is_empty() && !B::MARKS_RIVALS {
            return;
        }
        let mut claims = std::mem::take(&mut self.buffer);
        for &process in program.processes().in_order() {
            if matches!(program.status(process), Status::Ready | Status::Waiting) {
                program.future(process, &mut claims);
                let order = self.base.order();
                let mut rivals = order.conflicting(&claims);
                rivals.remove_all(&order.program_past(process, &[]));
                if B::MARKS_RIVALS {
                    self.base.mark_rivals(&rivals);
                }
                rivals.keep_all(&self.open);
                // Only a state with an idle process can get a want. A state that has wants already
                // had an idle process when they were added, so it is not searched for idle
                // processes again.
                let (base, wants, open) = (&self.base, &mut self.wants, &mut self.open);
                for_each(&rivals, |at| {
                    if wants.has(at) || base.idle(at).next().is_some() {
                        wants.add(at, process)
                    } else {
                        open.remove(at)
                    }
                });
            }
        }
        self.buffer = claims;
    }

    /// Starts the sequences that swap the last event, or the critical section that it ends, with
    /// each event that it races with.
    fn start_sequences(&mut self, event: &Event) {
        let last = self.made.len() - 1;
        if event.wait == Wait::Lock {
            return;
        }
        let mut rivals = self.base.order().events[last].races.clone();
        for access in &event.touched {
            if access.kind == AccessKind::Release
                && let Some(taken) = self.base.order().acquisition(access.first as usize)
            {
                rivals.add_all(&self.base.order().events[taken].races);
            }
        }
        for_each(&rivals, |first| self.start_sequence(first, last));
    }

    /// Starts the sequence for the race of the event at `first` with the last event.
    fn start_sequence(&mut self, first: usize, last: usize) {
        // Line 12 of the paper: a sequence is not needed if its first step will not be made again
        // from the state where it starts.
        if self.base.is_tried(first, self.made[last].process) {
            return;
        }
        let mut past = self.base.order().events[last].before.clone();
        past.insert(last);
        past.keep_above(first);
        past.insert(first);
        let mut adds = Fingerprint::ZERO;
        // The sequence starts with the steps that do not happen after the first event, and with the
        // steps of the process of the last event.
        let Self {
            base,
            made,
            meter,
            places,
            after,
            ..
        } = self;
        places.clear();
        after.clear();
        for_each(&past, |at| {
            let occurrence = &base.order().events[at];
            let follows = at == first || occurrence.before.contains(first);
            if follows && occurrence.process != made[last].process {
                after.push(at)
            } else {
                places.push(at)
            }
            adds = adds.and(meter.added(at));
        });
        places.append(after);
        if places.len() <= MOST_STEPS {
            self.sequences.add(first, places, made, adds);
        }
    }

    /// Visits the states where sequences were suspended, and the starts of the sequences whose
    /// states must be compared, to find out whether the last state is known. Returns the number of
    /// steps made.
    #[inline(never)]
    fn check_suspended<E: Semantics>(&mut self, program: &mut E) -> u64 {
        let (here, now) = (self.made.len(), self.meter.sum());
        let state = (!program.sums_say_all()).then(|| program.state());
        let mut trip = Trip::new(program, &mut self.meter);
        let resumable = self.sequences.resumable();
        for &suspended in &resumable {
            if self.known || trip.is_long() {
                break;
            }
            trip.visit(&self.made, suspended.since);
            let before = trip.sum();
            let there = trip.make_all(self.sequences.left(suspended.sequence))
                && self
                    .sequences
                    .expects(suspended.sequence, trip.sum().without(before))
                && trip.make_all(&self.made[suspended.since..here - 1]);
            let sum = trip.sum();
            trip.back_to(suspended.since);
            if there && self.sequences.resume(suspended, sum.without(now)) {
                self.known |= sum == now;
            }
            if suspended.sequence.length() == 1 && !self.known {
                self.sequences.record_mismatch(suspended.sequence);
            }
        }
        self.sequences.clear_resumable(resumable);
        if let Some(state) = state.filter(|_| !self.known) {
            self.known = covered(&mut self.sequences, &mut trip, &self.made, &state);
        }
        trip.home(&self.made)
    }

    /// Returns a process whose step ends a sequence and is independent of everything that other
    /// processes could ever do. Then no other process needs to be run here.
    #[inline(never)]
    fn anticipated(&mut self, program: &impl Execution) -> Option<ProcessId> {
        let depth = program.events().len();
        let mut tried: SmallVec<[ProcessId; 16]> = SmallVec::new();
        for last in self.sequences.ending() {
            if tried.contains(&last) {
                continue;
            }
            tried.push(last);
            if !self.base.is_untried(depth, last) {
                continue;
            }
            let alone = is_alone(program, last, &mut self.claims, &mut self.buffer);
            if alone {
                return Some(last);
            }
        }
        None
    }
}

/// Whether the next step of a process is independent of everything that others could ever do.
/// `claims` is passed to reuse its allocation.
fn is_alone(
    program: &impl Execution,
    process: ProcessId,
    claims: &mut Claims,
    future: &mut Claims,
) -> bool {
    program.claims(process, claims);
    let mut others = program.processes().in_order().iter();
    others.all(|&other| {
        let live = matches!(program.status(other), Status::Ready | Status::Waiting);
        if !live || other == process {
            return true;
        }
        program.future(other, future);
        !conflict(claims, future)
    })
}

/// Whether a sequence has reached the expected state at its end, though the sums differ. The steps
/// are made in the order in which the sequence was found, and the states are compared.
fn covered<E: Semantics>(
    sequences: &mut Sequences,
    trip: &mut Trip<'_, E>,
    made: &[SequenceStep],
    state: &E::State,
) -> bool {
    for one in sequences.mismatched() {
        let home = sequences.home(one);
        if trip.is_long() || made.len() - home > trip::LONG as usize {
            return false;
        }
        trip.visit(made, home);
        let equal = trip.make_all(sequences.as_found(one, &made[home..])) && trip.covers(state);
        trip.back_to(home);
        sequences.compared(one, equal);
        if equal {
            return true;
        }
    }
    false
}

impl<E: Semantics, S: Set, B: Base<S>> Policy<E> for Context<S, B> {
    const UNIQUE: bool = true;
    const EVERY_TRACE: bool = false;

    fn enter(&mut self, program: &E) {
        self.known = false;
        self.wants.enter(program.events().len());
        self.base.enter(program);
        if !self.overflowed() {
            self.open.insert(program.events().len());
        }
        match program.events().last() {
            _ if self.overflowed() => {}
            None => {
                self.meter.start(program);
                self.sequences.start();
            }
            Some(event) => {
                let adds = self.meter.push(program);
                let claims = self.base.number_of(event);
                SequenceStep::push(&mut self.made, event, claims);
                self.discards += usize::from(discards(event));
                if self.discards > 0 {
                    self.sequences.enter();
                } else {
                    self.known = self.sequences.follow(SummedStep {
                        event,
                        claims,
                        adds,
                    });
                    self.start_sequences(event);
                }
            }
        }
    }

    fn look_around(&mut self, program: &mut E) -> u64 {
        if self.overflowed() || self.known || self.discards > 0 {
            return 0;
        }
        let resumable = self.sequences.has_resumable();
        let steps = if resumable || !program.sums_say_all() && self.sequences.has_mismatched() {
            self.check_suspended(program)
        } else {
            0
        };
        // No state follows the end of a run, so no sequences are handed down.
        let depth = self.made.len();
        if !self.known && self.sequences.can_hand_down() && self.base.can_continue() {
            let made = SummedStep {
                event: &program.events()[depth - 1],
                claims: self.made[depth - 1].claims,
                adds: self.meter.added(depth - 1),
            };
            self.sequences.hand_down(made, self.base.catalogue());
        }
        steps
    }

    fn next(&mut self, program: &E, outcomes: &mut Vec<i64>) -> Option<ProcessId> {
        if self.overflowed() || self.known {
            return None;
        }
        let Variant {
            anticipate,
            guide,
            last_first,
            ..
        } = self.variant;
        self.wants.settle(program, &mut self.base);
        // A cut that cannot be anticipated immediately cannot be anticipated later: sequences that
        // start from here have at least two steps.
        if anticipate
            && self.base.is_fresh()
            && self.sequences.may_end()
            && let Some(process) = self.anticipated(program)
        {
            return self.base.take_only(process);
        }
        let place = |at: usize| if last_first { usize::MAX - at } else { at };
        let base = &mut self.base;
        if guide && self.sequences.may_continue() && base.is_contested() {
            self.sequences.shortest(&mut self.lengths);
            let length = |process| self.lengths.get(process);
            base.next(program, outcomes, Some(&|at, p| (length(p), place(at))))
        } else if last_first {
            base.next(program, outcomes, Some(&|at, _| (0, place(at))))
        } else {
            base.next(program, outcomes, None)
        }
    }

    fn known(&self) -> bool {
        self.known
    }

    fn put_to_sleep(&mut self, program: &E, process: ProcessId) {
        self.base.put_to_sleep(program, process);
    }

    fn leave(&mut self, program: &E) {
        self.known = false;
        if let Some(event) = program.events().last().filter(|_| !self.overflowed()) {
            self.take_back(event);
        }
    }

    fn leave_to(&mut self, program: &E) -> usize {
        self.known = false;
        let mut left = program.events().len();
        while let Some(event) = program.events()[..left].last() {
            left -= 1;
            if self.overflowed() {
                break;
            }
            self.take_back(event);
            if self.wants.has(left) || self.base.has_more() {
                break;
            }
        }
        left
    }

    fn leaf(&mut self, program: &E, end: End) {
        match end {
            _ if self.overflowed() => {}
            _ if self.known => {
                self.base.cut(program);
                self.futures(program);
            }
            _ => self.base.leaf(program, end),
        }
    }

    fn progress(&self) -> Option<f64> {
        Some(self.base.progress())
    }

    fn gives_up(&self) -> bool {
        self.overflowed()
    }

    fn stored(&self) -> Option<u64> {
        Some(self.sequences.most_stored() as u64)
    }
}
