//! Source-DPOR: from each state only a source set of processes is run.
//!
//! Abdulla, Aronis, Jonsson, Sagonas, "Source Sets: A Foundation for Optimal Dynamic Partial Order
//! Reduction", JACM 64(4), 2017, section 5, Algorithm 1. Section 2 of the paper on
//! context-sensitive DPOR (see `context`) prints the algorithm again.
//!
//! | paper | here |
//! |---|---|
//! | E | the current execution, `Order` |
//! | e →_E e' | `Occurrence::before` |
//! | e ≾_E.p next_\[E\](p) (reversible race) | `Occurrence::races` |
//! | pre(E, e) | the node of `Path` whose index is the position of e |
//! | v = notdep(e, E).p | [`Reversal`] |
//! | I_\[E'\](v) (initials) | [`Reversal::is_initial`] |
//! | backtrack(E) | the candidates of a state of `Path` with `Mark::Wanted` and `Mark::Taken` |
//! | sleep(E) | those with `Mark::Asleep`, and with `Mark::Taken` except the one being run |
//!
//! Where it deviates:
//! - An initial that sleeps counts as an element of the backtrack set. The paper may add such a
//!   process and then never runs it.
//! - *Locks*: an acquisition races with the acquisition before it. In v, only its program past
//!   comes before it. In the run it had other predecessors only because it followed the critical
//!   section, which it precedes in v. An acquisition that still waits at the end of a run is
//!   treated as one more event, although it was not made (erratum E3 in docs/algorithms.md).
//! - *Guards* (erratum E3): the run does not show whether a guarded step is possible after a
//!   reversal. So all ready processes are run from the state before every event that conflicts with
//!   a guarded step, made or waiting, and is not in the program past of that step. The head comment
//!   of `optimal` explains why this is enough.
//! - *Outcomes* of `choose`: a process is run with each of its outcomes in turn, and sleeps only
//!   after the last one.
//! - *Cut runs*: the next steps of all processes count as last events that are not made. Otherwise,
//!   if a loop does not end, no run might contain the steps of other processes.
//!
//! The algorithm uses initials, not weak initials: steps after v may prevent the step of a process
//! that makes no step in v.
//!
//! Tried and dropped:
//! - To ignore the steps that wait at the end of a *blocked* run, because they also occur in the
//!   run that covers it. They occur there in other states, so random programs lost traces: for
//!   example, `x := 0 | if y <= y { y := 1 } | y == 0 |> x := x` lost one of its 3 traces.
//! - To add an awake initial even if another initial sleeps, as the testkit does. With this rule
//!   the search of 6 philosophers has 1291 blocked runs, and without it none.

use mazurka_core::{Claims, Event, Execution, ProcessId, Wait};

use crate::algorithms::reducing::{Reducing, Reverses, may_race, pending};
use crate::drive::driver::{End, RacingStep};
use crate::relations::reversal::Reversal;
use crate::relations::set::{Set, for_each};

/// The rule by which Source-DPOR reverses races.
#[derive(Debug)]
pub(crate) struct SourceSets;

/// The policy of Source-DPOR.
pub(crate) type Source<S> = Reducing<S, SourceSets>;

impl<S: Set> Source<S> {
    /// Ensures that the last event, a step of this process, is also tried before each event that it
    /// races with.
    fn reverse_races(&mut self, process: ProcessId, claims: &Claims, step: RacingStep) {
        let Self {
            order, path, noted, ..
        } = self;
        let last = &order.events[order.len() - 1];
        for_each(&last.races, |first| {
            let v = Reversal::new(order, first, process, claims, last.acquires);
            if path.want_one_of(first, |candidate| v.is_initial(order, candidate)) {
                noted.note(first, step);
            }
        });
    }

    /// Adds all processes to the backtrack sets of the states whose event may have opened or closed
    /// the guard of a step.
    fn expand_rivals(&mut self, process: ProcessId, claims: &Claims, step: RacingStep) {
        let Self {
            order, path, noted, ..
        } = self;
        order.for_each_rival(process, claims, |at| {
            if path.want_all(at) {
                noted.note(at, step);
            }
        });
    }

    /// Handles the steps that processes wait to make, or could make, at the end of a run.
    fn pending(&mut self, program: &impl Execution, end: End) {
        let mut claims = Claims::new();
        for (process, status) in pending(program) {
            let step = RacingStep::Next(process);
            let wait = program.wait(process);
            if wait == Wait::Guard {
                program.claims(process, &mut claims);
                self.expand_rivals(process, &claims, step);
            } else if may_race(wait, status, end) {
                program.claims(process, &mut claims);
                let acquires = wait == Wait::Lock;
                self.order.push_virtual(process, &claims, acquires);
                self.reverse_races(process, &claims, step);
                self.order.pop_virtual(&claims);
            }
        }
    }
}

impl<S: Set> Reverses<S> for SourceSets {
    fn push<E: Execution>(search: &mut Source<S>, _program: &E, event: &Event) {
        let guarded = event.wait == Wait::Guard;
        let step = RacingStep::Event(search.order.len());
        if guarded {
            search.expand_rivals(event.process, &event.claims, step);
        }
        search.order.push(event);
        if !guarded {
            search.reverse_races(event.process, &event.claims, step);
        }
    }

    fn end<E: Execution>(search: &mut Source<S>, program: &E, end: End) {
        if end != End::Final {
            search.pending(program, end);
        }
    }
}
