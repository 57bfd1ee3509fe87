//! Context-sensitive DPOR: orders of steps that lead to equal states are tried once.
//!
//! Albert, Arenas, García de la Banda, Gómez-Zamalloa, Stuckey, "Context-Sensitive Dynamic Partial
//! Order Reduction", CAV 2017, section 5, Algorithm 1, on top of `source`. As printed it loses
//! states (errata E1; [`Printed`] is the paper to the letter), so this is another algorithm with
//! the same idea.
//!
//! | paper | here |
//! |---|---|
//! | E, backtrack(E), the processes of sleep(E) | [`Source`] |
//! | the sequences of sleep(E) (lines 11 to 14, 16) | [`Sequences`] |
//! | v.u | the steps that happen before p from e on, those after e last: [`Context::start_sequence`] |
//! | s_\[E.p\] = s_\[E'.v.u\] (line 13) | asked when the sequence has been made, as in section 6.2: [`Sequences::follow`], [`Semantics::covers`] |
//! | E ⊨ p ♦ v (line 15) | nothing left of the sequence conflicts with p; if something does, `look_around` |
//! | O (section 5.3) | `Promises::future` |
//! | (nothing) | whom what follows a cut asks for: [`Wants`] |
//! | anticipating cuts, guiding | [`Variant::anticipate`], [`Variant::guide`] |
//!
//! When a step p races with an earlier event e, a sequence to sleep is kept with the state E'
//! before e: p with its past, and e. The state after e and p in the order in which they were made
//! is kept with it, as a sum of parts ([`Meter`]), or rather what is added to that of E'. If
//! another run makes the steps of the sequence and comes to that state, it is *cut*: whatever
//! follows has been looked at. A critical section is swapped with the one before it as if both were
//! steps, for locks always race, and their order seldom matters.
//!
//! # Why nothing is lost
//!
//! Claim: every complete state (final, deadlocked, failed) that can be reached is met, and every
//! place where something fails.
//!
//! *Cut states.* The sum that is compared is always that of a state on some run through E'.e, and
//! E'.e has been left for good when a sequence of E' is followed. For what a sequence expects is
//! the state after E', e, p; a step that is independent of all that is left of it adds to the sum
//! what it adds anywhere else, so the difference that is left to the expected sum stays as it is;
//! and if one depends on it, the steps are made from a state whose sum was as expected. (A step
//! that claims something else than it did then is none of the sequence.) So all that can follow a
//! cut can follow a node that was left before.
//!
//! *Every trace is met or cut.* Call a run w from a node E *free* if no sleeper of E can make its
//! first step. Then, when E is left, a run from E has been made that is equivalent to w with more
//! steps after it, or that was cut and is a beginning of one equivalent to w. By induction on the
//! order in which nodes are left. Let w be as long as possible, and D the processes run from E. If
//! one of D can begin w, this is the claim for the node after it, for the first of them. Else let d
//! of D be the one with the longest w₁ such that w = w₁.g.w₂ and no step of w₁ depends on d's; g
//! does. The run E.d.w₁.g is free at E.d, so it was met or cut. If g was made, its race with d was
//! seen, and an initial q of what reverses it wanted at E. It does not sleep there (else it could
//! begin w), and its step is independent of w₁.g or the first in it, against the choice of d. If
//! the run was cut before g, then g was in the *future* of the cut state, and conflicts with d. For
//! that, at a cut, at every event of the run that conflicts with what some process may still do
//! (and is not in its program past), enough processes are wanted that one of them can begin w
//! ([`Wants`]); where nobody is idle, all are anyway. So one of D can after all.
//!
//! *So every state is met.* A complete run is met or cut. If it is cut, what is left of it can
//! follow a node that was left earlier, and leads to the same state; that run is met or cut, and if
//! it is cut, then before the first one. This ends.
//!
//! *Failures.* All steps of a cut run are made, so what fails in them is seen, and what fails later
//! fails in the run that takes its place. A failure counts if no false `assume` is in its past, and
//! pasts differ; so after a false `assume` nothing is swapped.
//!
//! *Symbolic states.* A state may stand for many, one for each input that its path condition
//! allows; which side of a condition a step takes is an outcome of it. Then sums compare terms and
//! conditions as they are written, and where sums differ the program is asked whether one state
//! *covers* the other: every input of the other's path takes its own path too, and both are the
//! same state for it. To ask, the steps are made in the order in which the sequence was found,
//! `covered`: so the state that is compared is one on a run through E'.e, and was really reached.
//! Path conditions are compared as conditions, so a sequence may well cross a branch, and decide
//! other terms there. The claim above holds for each input alone. For fix an input: the nodes whose
//! path it takes are a tree that the algorithm makes for the program with this input (all outcomes
//! of a step are tried, so one of them is the input's; more processes may be wanted than this
//! program asks for, which loses nothing), and where a run is cut, the input takes the path of the
//! state that covers, and is in the same state there. An outcome that no solver decides is named as
//! a bound, not lost in silence.
//!
//! Proved is what is said above, for steps that need not wait. Locks and guards are treated as in
//! `source`, and the futures of a cut include whatever waits; that this is enough is tested, not
//! proved: on the corpus and on tens of thousands of random programs, with all switches
//! (testkit/tests/context.rs). That the language keeps the promises of `Promises::future`,
//! `Semantics::cell` and `Semantics::process` is tested there too. Two states with one sum would be
//! taken for one: see `stateful` for the odds.
//!
//! # Where it deviates
//!
//! - The repair of E1 (make the last step of a sequence, look for its races, then cut) is part of
//!   this; the futures are what makes it provable. They cannot be left out here, where a sequence's
//!   last step may be all that is run from a state: the corpus has `found-context-future`.
//! - A sequence has only the steps that happen before p, not all between e and p: the others are
//!   independent of what is swapped. So sequences are short, and equal ones are found equal. Their
//!   steps may be made in any order.
//! - *Anticipating*: if the last step of a sequence is independent of everything that others may
//!   still do, nobody else is run there. The step itself is made: it tells whether the state is the
//!   expected one. *Guiding*: lines 3 and 5, not line 10.
//! - `traces` are not known, `deadlocks` and `failures` count what was met: fewer than other
//!   engines do, and none only if there is none.
//! - One worker explores: a part of the space would not know what is known in another.
//!
//! What a step costs beyond `source`: the sum, the sequences that it touches, and a copy of those
//! that it does not; nothing of that in states that are cut or end a run, except the sum. Sequences
//! that a step neither touches nor depends on are the same after it.

use mazurka_core::{
    AccessKind, Claims, Event, Execution, Fingerprint, ProcessId, Semantics, Status, Wait,
};
use smallvec::SmallVec;

mod meter;
mod printed;
mod sequences;
mod trip;
mod wants;

use crate::algorithms::path::Mark;
use crate::algorithms::source::Source;
use crate::drive::driver::{End, Policy};
use crate::relations::catalogue::{Catalogue, conflict, single};
use crate::relations::set::{Set, for_each};
use meter::Meter;
pub(crate) use printed::Printed;
use sequences::{Lengths, MOST_STEPS, Made, Sequences, Step};
use trip::{Trip, discards};
use wants::Wants;

/// What can be chosen about context-sensitive exploration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Variant {
    /// Section 5.3, first optimisation: a run is cut as soon as the last step of a sleep sequence
    /// is all that matters.
    pub anticipate: bool,
    /// Section 5.3, second optimisation: the steps of the shortest sleep sequences come first.
    pub guide: bool,
    /// The algorithm as printed, which loses states.
    pub paper: bool,
    /// Of several processes the last by name comes first.
    pub last_first: bool,
}

impl Variant {
    /// Both optimisations.
    pub const BEST: Self = Self {
        anticipate: true,
        guide: true,
        paper: false,
        last_first: false,
    };
}

/// What differs from the best, as flags.
impl std::fmt::Display for Variant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let flags = [
            (!self.anticipate && !self.paper, " --no-anticipate"),
            (!self.guide && !self.paper, " --no-guide"),
            (self.paper, " --paper"),
            (self.last_first, ", last first"),
        ];
        let mut given = flags.iter().filter(|(given, _)| *given);
        given.try_for_each(|(_, flag)| f.write_str(flag))
    }
}

/// The policy.
#[derive(Debug)]
pub(crate) struct Context<S> {
    variant: Variant,
    source: Source<S>,
    meter: Meter,
    sequences: Sequences,
    wants: Wants,
    catalogue: Catalogue,
    /// The states of the run where there may be somebody whom nothing asks for running.
    open: S,
    /// The steps of the run.
    made: Vec<Step>,
    /// How many events of the run have a false `assume`.
    discards: usize,
    /// The last state has been met, or can be reached from one that has.
    known: bool,
    /// A sequence in the making, lengths and claims that are looked at: kept for their memory.
    places: Vec<usize>,
    after: Vec<usize>,
    lengths: Lengths,
    claims: Claims,
    buffer: Claims,
}

impl<S: Set> Context<S> {
    fn overflowed(&self) -> bool {
        self.source.overflow
    }

    pub fn new(variant: Variant) -> Self {
        Self {
            variant,
            source: Source::new(),
            meter: Meter::new(),
            sequences: Sequences::default(),
            wants: Wants::default(),
            catalogue: Catalogue::new(),
            open: S::default(),
            made: Vec::new(),
            discards: 0,
            known: false,
            places: Vec::new(),
            after: Vec::new(),
            lengths: Lengths::default(),
            claims: Claims::new(),
            buffer: Claims::new(),
        }
    }

    /// The last event of the run is about to be taken back.
    fn take_back(&mut self, event: &Event) {
        self.meter.pop();
        self.open.remove(self.made.len());
        self.made.pop();
        self.sequences.leave();
        self.discards -= usize::from(discards(event));
        self.source.path.leave(event);
        self.source.order.pop(event);
    }

    /// All that could follow where a run is cut races with what came before.
    #[inline(never)]
    fn futures(&mut self, program: &impl Execution) {
        // Nobody is run from the last state.
        self.open.remove(self.made.len());
        if self.open.is_empty() {
            return;
        }
        let mut claims = std::mem::take(&mut self.buffer);
        for &process in program.processes().in_order() {
            if matches!(program.status(process), Status::Ready | Status::Waiting) {
                program.future(process, &mut claims);
                let Source { order, path, .. } = &self.source;
                let mut rivals = order.conflicting(&claims);
                rivals.remove_all(&order.program_past(process, &[]));
                rivals.keep_all(&self.open);
                // What has been said about a state was said because somebody was idle there.
                let (wants, open) = (&mut self.wants, &mut self.open);
                for_each(&rivals, |at| match wants.has(at) || path.has_idle(at) {
                    true => wants.add(at, process),
                    false => open.remove(at),
                });
            }
        }
        self.buffer = claims;
    }

    /// Starts the sequences that swap the last event, or the critical section that it ends, with
    /// each that it races with.
    fn start_sequences(&mut self, event: &Event) {
        let last = self.made.len() - 1;
        if event.wait == Wait::Lock {
            return;
        }
        let mut rivals = self.source.order.events[last].races.clone();
        for access in &event.touched {
            if access.kind == AccessKind::Release
                && let Some(taken) = self.source.order.acquisition(access.first as usize)
            {
                rivals.add_all(&self.source.order.events[taken].races);
            }
        }
        for_each(&rivals, |first| self.start_sequence(first, last));
    }

    fn start_sequence(&mut self, first: usize, last: usize) {
        // Line 12 of the paper: one whose first step is not made from there any more need not be
        // kept.
        let mark = self.source.path.mark(first, self.made[last].process);
        if matches!(mark, Some(Mark::Asleep | Mark::Taken)) {
            return;
        }
        let mut past = self.source.order.events[last].before.clone();
        past.insert(last);
        past.keep_above(first);
        past.insert(first);
        let mut adds = Fingerprint::ZERO;
        // What does not happen after the first event comes before it, and so does the other
        // process.
        let Self {
            source,
            made,
            meter,
            places,
            after,
            ..
        } = self;
        places.clear();
        after.clear();
        for_each(&past, |at| {
            let occurrence = &source.order.events[at];
            let follows = at == first || occurrence.before.contains(first);
            match follows && occurrence.process != made[last].process {
                true => after.push(at),
                false => places.push(at),
            }
            adds = adds.and(meter.added(at));
        });
        places.append(after);
        if places.len() <= MOST_STEPS {
            self.sequences.add(first, places, made, adds);
        }
    }

    /// Goes where sequences were suspended, and to where some start whose states must be compared,
    /// to see whether the last state is known. The number of steps that it took.
    #[inline(never)]
    fn look_closer<E: Semantics>(&mut self, program: &mut E) -> u64 {
        let (here, now) = (self.made.len(), self.meter.sum());
        let state = (!program.sums_say_all()).then(|| program.state());
        let mut trip = Trip::new(program, &mut self.meter);
        let doubts = self.sequences.doubts();
        for &doubt in &doubts {
            if self.known || trip.is_long() {
                break;
            }
            trip.visit(&self.made, doubt.since);
            let before = trip.sum();
            let there = trip.go(self.sequences.left(doubt.sequence))
                && self
                    .sequences
                    .expects(doubt.sequence, trip.sum().without(before))
                && trip.go(&self.made[doubt.since..here - 1]);
            let sum = trip.sum();
            trip.back_to(doubt.since);
            if there && self.sequences.go_on(doubt, sum.without(now)) {
                self.known |= sum == now;
            }
            if doubt.sequence.length() == 1 && !self.known {
                self.sequences.ended_unlike(doubt.sequence);
            }
        }
        self.sequences.no_doubts(doubts);
        if let Some(state) = state.filter(|_| !self.known) {
            self.known = covered(&mut self.sequences, &mut trip, &self.made, &state);
        }
        trip.home(&self.made)
    }

    /// A process whose step ends a sequence and is independent of all that others could ever do:
    /// nobody else need run here.
    #[inline(never)]
    fn anticipated(&mut self, program: &impl Execution) -> Option<ProcessId> {
        let depth = program.events().len();
        let mut tried: SmallVec<[ProcessId; 16]> = SmallVec::new();
        for last in self.sequences.ending() {
            if tried.contains(&last) {
                continue;
            }
            tried.push(last);
            let mark = self.source.path.mark(depth, last);
            if !matches!(mark, Some(Mark::Idle | Mark::Wanted)) {
                continue;
            }
            program.claims(last, &mut self.claims);
            let mut others = program.processes().in_order().iter();
            let alone = others.all(|&other| {
                let live = matches!(program.status(other), Status::Ready | Status::Waiting);
                if !live || other == last {
                    return true;
                }
                program.future(other, &mut self.buffer);
                !conflict(&self.claims, &self.buffer)
            });
            if alone {
                return Some(last);
            }
        }
        None
    }
}

/// Whether a sequence has come to its end in the state that is expected there, though the sums
/// differ. To see that, the steps are made in the order in which the sequence was found, and the
/// states compared.
fn covered<E: Semantics>(
    sequences: &mut Sequences,
    trip: &mut Trip<'_, E>,
    made: &[Step],
    state: &E::State,
) -> bool {
    for one in sequences.unlike() {
        let home = sequences.home(one);
        if trip.is_long() || made.len() - home > trip::LONG as usize {
            return false;
        }
        trip.visit(made, home);
        let equal = trip.go(sequences.as_found(one, &made[home..])) && trip.covers(state);
        trip.back_to(home);
        sequences.compared(one, equal);
        if equal {
            return true;
        }
    }
    false
}

impl<E: Semantics, S: Set> Policy<E> for Context<S> {
    const UNIQUE: bool = true;
    const EVERY_TRACE: bool = false;

    fn enter(&mut self, program: &E) {
        self.known = false;
        self.wants.enter(program.events().len());
        self.source.enter(program);
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
                let claims = self.catalogue.of(event, single(&event.claims));
                Step::push(&mut self.made, event, claims);
                self.discards += usize::from(discards(event));
                if self.discards > 0 {
                    self.sequences.enter();
                } else {
                    self.known = self.sequences.follow(Made {
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
        let doubts = self.sequences.has_doubts();
        let steps = match doubts || !program.sums_say_all() && self.sequences.has_unlike() {
            true => self.look_closer(program),
            false => 0,
        };
        // Where the run ends, nothing need be handed down.
        let depth = self.made.len();
        if !self.known && self.sequences.can_hand_down() && self.source.path.has_idle(depth) {
            let made = Made {
                event: &program.events()[depth - 1],
                claims: self.made[depth - 1].claims,
                adds: self.meter.added(depth - 1),
            };
            self.sequences.hand_down(made, &self.catalogue);
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
        let depth = program.events().len();
        self.wants.settle(program, depth, &mut self.source.path);
        // What cannot be anticipated at once cannot be later: sequences that start from here have
        // two steps or more.
        if anticipate
            && self.source.path.is_fresh()
            && self.sequences.may_end()
            && let Some(process) = self.anticipated(program)
        {
            return self.source.path.take_only(process);
        }
        let place = |at: usize| if last_first { usize::MAX - at } else { at };
        let path = &mut self.source.path;
        match guide && self.sequences.lead_on() && path.is_contested() {
            true => {
                self.sequences.shortest(&mut self.lengths);
                let length = |process| self.lengths.of(process);
                path.next_least(outcomes, |at, process| (length(process), place(at)))
            }
            false if last_first => path.next_least(outcomes, |at, _| place(at)),
            false => path.next(outcomes),
        }
    }

    fn known(&self) -> bool {
        self.known
    }

    fn put_to_sleep(&mut self, program: &E, process: ProcessId) {
        self.source.path.put_to_sleep(program, process);
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
            if self.wants.has(left) || self.source.path.has_more() {
                break;
            }
        }
        left
    }

    fn leaf(&mut self, program: &E, end: End) {
        match end {
            _ if self.known => self.futures(program),
            _ => self.source.leaf(program, end),
        }
    }

    fn progress(&self) -> Option<f64> {
        Some(self.source.path.progress())
    }

    fn gives_up(&self) -> bool {
        self.overflowed()
    }

    fn stored(&self) -> Option<u64> {
        Some(self.sequences.most_stored() as u64)
    }
}
