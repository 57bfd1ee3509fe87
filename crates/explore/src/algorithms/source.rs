//! Source-DPOR: from each state only a source set of processes is run.
//!
//! Abdulla, Aronis, Jonsson, Sagonas, "Source Sets: A Foundation for Optimal Dynamic Partial Order
//! Reduction", JACM 64(4), 2017, section 5, Algorithm 1. Printed again in section 2 of the
//! context-sensitive paper.
//!
//! | paper | here |
//! |---|---|
//! | E | the current execution, `Order` |
//! | e →_E e' | `Occurrence::before` |
//! | e ≾_E.p next_\[E\](p) (reversible race) | `Occurrence::races` |
//! | pre(E, e) | the node with the number of e's position |
//! | v = notdep(e, E).p | [`Reversal`] |
//! | I_\[E'\](v) (initials) | [`Reversal::is_initial`] |
//! | backtrack(E) | the candidates of a state of `Path` with `Mark::Wanted` and `Mark::Taken` |
//! | sleep(E) | those with `Mark::Asleep`, and with `Mark::Taken` except the one being run |
//!
//! Where it deviates:
//! - An initial that sleeps counts as an element of the backtrack set. The paper may add such a
//!   process and then never runs it.
//! - *Locks*: an acquisition races with the acquisition before it. In v, only its program past
//!   comes before it: it had its other predecessors only because it followed the critical section,
//!   which it now precedes. An acquisition that is still waiting at the end of a run is treated as
//!   a last event that is not made (errata E3).
//! - *Guards* (errata E3): the run does not show whether a guarded step is possible after a
//!   reversal. So all ready processes are run from the state before every event that conflicts with
//!   a guarded step, made or waiting, and is not in the program past of that step. The head comment
//!   of `optimal` explains why this is enough.
//! - *Outcomes* of `choose`: a process is run with each of its outcomes in turn, and sleeps only
//!   after the last one.
//!
//! The algorithm uses initials, not weak initials: steps after v may prevent the step of a process
//! that makes no step in v.
//!
//! Tried and dropped:
//! - To ignore the steps that wait at the end of a *blocked* run, because they also occur in the
//!   run that covers it. They occur there in other states, so random programs lost traces: for
//!   example `x := 0 | if y <= y { y := 1 } | y == 0 |> x := x` lost one of 3.
//! - The rule of the testkit that an awake initial is added even if another one sleeps. With this
//!   rule 6 philosophers have 1291 blocked runs, without it they have none.

use mazurka_core::{Claims, Event, Execution, ProcessId, Status, Wait};

use crate::algorithms::reducing::{Reducing, Reverses, pending};
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

    /// Adds all processes to the backtrack sets of the states whose event may have changed what a
    /// guarded step waits for.
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
    fn pending(&mut self, program: &impl Execution) {
        let mut claims = Claims::new();
        for (process, status) in pending(program) {
            let step = RacingStep::Next(process);
            match program.wait(process) {
                Wait::Guard => {
                    program.claims(process, &mut claims);
                    self.expand_rivals(process, &claims, step);
                }
                Wait::Lock if status == Status::Waiting => {
                    program.claims(process, &mut claims);
                    self.order.push_virtual(process, &claims);
                    self.reverse_races(process, &claims, step);
                    self.order.pop_virtual(&claims);
                }
                Wait::Never | Wait::Process | Wait::Lock => {}
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
            search.pending(program);
        }
    }
}
