//! DPOR with sleep sets: from each state a persistent set of processes is run, computed from the
//! races of the runs.
//!
//! Flanagan, Godefroid, "Dynamic Partial-Order Reduction for Model Checking Software", POPL 2005,
//! section 4, Figure 3; section 2.4 of the thesis (GLOSSARY.md), Figures 2.5 and 2.6, with its
//! sleep sets.
//!
//! | paper | here |
//! |---|---|
//! | S, pre(S, i) | the current execution, `Order`; the node with the number i of `Path` |
//! | next(s, p) | `program.claims` of p |
//! | i →_S p | i is in `order.program_past` of p |
//! | i, the last race with next(s, p): see below | the highest of `races` |
//! | E, the processes to choose from: see below | p, or initials of the events before p's step |
//! | backtrack(s), done | the candidates of a state with `Mark::Wanted`, with `Mark::Taken` |
//! | Sleep(s) | those with `Mark::Asleep`, and with `Mark::Taken` except the one being run |
//!
//! In the paper i = max { i : S_i is dependent and may be co-enabled with next(s, p), i ↛_S p }.
//! And E = { q ∈ enabled(pre(S, i)) : q = p, or j > i, q = proc(S_j), j →_S p }.
//!
//! Where it deviates:
//! - *All races*, not only the last: in the paper a step accesses one object, and all accesses to
//!   an object are dependent, so that they are totally ordered. Here a step may claim several
//!   objects, and reads commute: with the last race only, traces are lost (found by random
//!   programs).
//! - In a state only some processes have their next steps checked: the process that made the last
//!   step, a process that it started, and those whose next steps conflict with the last step. For
//!   any other process the paper finds the same races as in the previous state.
//! - *The added process* (erratum E11 in docs/algorithms.md): the paper may take any q of E. Here p
//!   is taken if it is ready and awake. Other steps may have to come before p's step in the
//!   reversed run; they are found as further races when p runs. But if p sleeps, it is not run, and
//!   they are not found. So if p sleeps or is not ready, consider the events after i that happen
//!   before p's step. One of the initials of these events is added, unless one of these initials is
//!   already in the backtrack set or sleeps: everything that starts with a sleeping initial has
//!   been explored. If no initial is ready, all ready processes are added.
//! - *Locks*: two acquisitions of a lock may be co-enabled; an acquisition and a release are not.
//!   So an acquisition, made or waiting, races with the acquisition before it.
//! - *Joins* are checked when they are made, because it is not known earlier whether the joined
//!   process ends.
//! - *Guards* (erratum E3): a guarded step races with every event that conflicts with it and is not
//!   in its program past, because the guard may have been open long before the last of these
//!   events. In the states before these events, all ready processes are added.
//! - *Outcomes* of `choose`: a process is run with each of its outcomes in turn, and sleeps only
//!   after the last one.
//!
//! [`DporAwake`] is the algorithm of Figure 2.5 as printed, without sleep sets, for comparison: it
//! may meet a trace several times, and how often depends on the order of the processes (Example 5).
//! No process sleeps, so the rule for sleeping ones is not needed.
//!
//! Why no trace is missed: suppose that a run w from some state is missed, and let x be a process
//! that is explored there. Let g be the first event of w that depends on x's step, and p its
//! process. If p is ready and awake, it is explored too, and its first event in w comes before that
//! of x, or x makes no step in w; repeat the argument with p. Otherwise an initial of g's past is
//! explored or sleeps, and all of that past is in w: w starts with that initial, so it is not
//! missed.
//!
//! Tried and dropped, because random programs lost traces:
//! - if p sleeps: to use the past of p before its step instead of the past of the step;
//! - if p is not ready: to use the initials of notdep(i, S).p, as in Source-DPOR. A process that
//!   only happens to run before p need not start w, and the argument becomes circular.

use mazurka_core::{Claims, Event, Execution, ProcessId, Status, Wait};

use crate::algorithms::path::Mark;
use crate::algorithms::reducing::{Reducing, Reverses, pending};
use crate::drive::driver::RacingStep;
use crate::relations::catalogue::conflict;
use crate::relations::set::{Set, for_each};

/// The rule by which DPOR reverses races, with or without sleep sets.
#[derive(Debug)]
pub(crate) struct Persistent<const SLEEPS: bool>;

/// The policy of DPOR with sleep sets.
pub(crate) type Dpor<S> = Reducing<S, Persistent<true>>;

/// The policy of DPOR without sleep sets.
pub(crate) type DporAwake<S> = Reducing<S, Persistent<false>>;

impl<S: Set, const SLEEPS: bool> Reducing<S, Persistent<SLEEPS>> {
    /// Checks the next steps of all processes that the last event may affect.
    fn next_steps(&mut self, program: &impl Execution, event: &Event) {
        let mut claims = Claims::new();
        for (process, status) in pending(program) {
            program.claims(process, &mut claims);
            let step = RacingStep::Next(process);
            let new = process == event.process || event.spawned.contains(&process);
            if !new && !conflict(&claims, &event.claims) {
                continue;
            }
            match program.wait(process) {
                // A join is checked when it is made.
                Wait::Process => {}
                Wait::Guard => {
                    let Self {
                        order, path, noted, ..
                    } = self;
                    order.for_each_rival(process, &claims, |at| {
                        if path.want_all(at) {
                            noted.note(at, step);
                        }
                    });
                }
                Wait::Never => {
                    let (races, past) = self.races(process, &claims);
                    self.reverse((&races, step), process, &past);
                }
                // A free lock is checked when it is taken.
                Wait::Lock if status == Status::Ready => {}
                Wait::Lock => {
                    self.order.push_virtual(process, &claims, true);
                    self.reverse_last(process, step);
                    self.order.pop_virtual(&claims);
                }
            }
        }
    }

    /// Returns the events that race with the next step of a process, and all events that happen
    /// before it.
    fn races(&self, process: ProcessId, claims: &Claims) -> (S, S) {
        let mut races = S::default();
        let mut past = self.order.program_past(process, &[]);
        let mut rivals = self.order.conflicting(claims);
        rivals.remove_all(&past);
        while let Some(last) = rivals.highest() {
            races.insert(last);
            past.insert(last);
            past.add_all(&self.order.events[last].before);
            rivals.remove_all(&past);
        }
        (races, past)
    }

    /// Reverses the races of the last event, which is an acquisition, made or waiting. In the
    /// reversed run the acquisition comes before the critical section that it followed. So only the
    /// program past of the acquisition precedes it there.
    fn reverse_last(&mut self, process: ProcessId, step: RacingStep) {
        let last = self.order.len() - 1;
        let (races, past) = (
            &self.order.events[last].races,
            &self.order.events[last].program,
        );
        let (races, past) = (races.clone(), past.clone());
        self.reverse((&races, step), process, &past);
    }

    /// Reverses the races of the last event, a join, which may access objects after it has joined.
    fn reverse_join(&mut self, process: ProcessId) {
        let last = &self.order.events[self.order.len() - 1];
        let (races, past) = (last.races.clone(), last.before.clone());
        let step = RacingStep::Event(self.order.len() - 1);
        self.reverse((&races, step), process, &past);
    }

    /// Ensures that a step of a process, with its past, is also tried before each event that it
    /// races with.
    fn reverse(&mut self, (races, step): (&S, RacingStep), process: ProcessId, past: &S) {
        let Self {
            order, path, noted, ..
        } = self;
        for_each(races, |first| {
            let new = match path.mark(first, process) {
                Some(Mark::Idle | Mark::Wanted | Mark::Taken) => {
                    path.want_where(first, |p| p == process)
                }
                Some(Mark::Asleep) | None => {
                    let mut between = S::default();
                    for_each(past, |at| {
                        if at > first {
                            between.insert(at);
                        }
                    });
                    path.want_one_of(first, |candidate| {
                        let events = order.events_of(candidate);
                        match events.and_then(|events| events.lowest_common(&between)) {
                            Some(first) => !order.events[first].before.meets(&between),
                            None => candidate == process && between.is_empty(),
                        }
                    })
                }
            };
            if new {
                noted.note(first, step);
            }
        });
    }
}

impl<S: Set, const SLEEPING: bool> Reverses<S> for Persistent<SLEEPING> {
    const SLEEPS: bool = SLEEPING;

    fn push<E: Execution>(search: &mut Reducing<S, Self>, program: &E, event: &Event) {
        search.order.push(event);
        match event.wait {
            Wait::Lock => {
                let step = RacingStep::Event(search.order.len() - 1);
                search.reverse_last(event.process, step);
            }
            Wait::Process => search.reverse_join(event.process),
            Wait::Never | Wait::Guard => {}
        }
        search.next_steps(program, event);
    }
}
