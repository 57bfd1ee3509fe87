//! Context-sensitive DPOR exactly as printed, which loses states: erratum E1 in docs/algorithms.md.
//!
//! Implements the paper's Algorithm 1, on top of `source`, to show its error: the last step of a
//! sleep sequence is never made, so its races, and those of the steps after it, are never found.
//!
//! | paper | here |
//! |---|---|
//! | backtrack(E), and the processes of sleep(E) | `Path` of [`Source`] |
//! | the sequences of sleep(E) | [`Printed::sleep`] |
//! | v, u (lines 8 and 11) | [`Printed::reversed`] |
//! | s_\[E.p\] = s_\[E'.v.u\] (line 13) | in `look_around`, by making the steps |
//! | E ⊨ p ♦ v (line 15) | no claim of p's step conflicts with one of v's |
//! | anticipating cuts, with O (section 5.3) | [`Printed::is_cut`], with `future` of the program |
//! | guiding with sleep sequences (section 5.3) | `next`: [`shortest`] |
//! | M (Table 2) | `most_stored`: one state for each sequence, where it starts |
//!
//! In Table 2, CDPOR1 has neither optimisation, CDPOR2 has the first, and CDPOR3 has both.
//!
//! Lines 11 to 14 are outside the `if` of line 9, as Example 1 needs. The paper has no locks,
//! guards or `choose`: they are treated as in `source`.

use mazurka_core::{Claims, Event, Execution, ProcessId, Semantics};

use super::sequences::SequenceStep;
use super::trip::{Trip, discards};
use super::{Variant, is_alone};
use crate::algorithms::meter::Meter;
use crate::algorithms::path::Mark;
use crate::algorithms::source::Source;
use crate::drive::driver::{End, Policy};
use crate::relations::catalogue::{Catalogue, single};
use crate::relations::set::{Set, for_each};

/// The policy of Algorithm 1 as printed.
#[derive(Debug)]
pub(crate) struct Printed<S> {
    variant: Variant,
    source: Source<S>,
    meter: Meter,
    catalogue: Catalogue,
    /// The steps of the run.
    made: Vec<SequenceStep>,
    /// For each state of the run, the sequences that sleep there.
    sleep: Vec<Vec<Vec<SequenceStep>>>,
    /// For each state of the run, the processes that sleep there as the last step of a sequence.
    ending: Vec<Vec<ProcessId>>,
    /// For each state of the run, the number of sequences that start there.
    added: Vec<usize>,
    /// The number of sequences that start in the states of the run.
    stored: usize,
    /// The greatest value of `stored` so far.
    most_stored: usize,
    claims: Claims,
    future: Claims,
}

impl<S: Set> Printed<S> {
    pub fn new(variant: Variant) -> Self {
        Self {
            variant,
            source: Source::new(),
            meter: Meter::new(),
            catalogue: Catalogue::new(),
            made: Vec::new(),
            sleep: Vec::new(),
            ending: Vec::new(),
            added: Vec::new(),
            stored: 0,
            most_stored: 0,
            claims: Claims::new(),
            future: Claims::new(),
        }
    }

    /// Whether every run from here is cut at some point: the last step of a sequence sleeps, and
    /// nothing that other processes may still do depends on it.
    fn is_cut(&mut self, program: &impl Execution) -> bool {
        let mut ending = self.ending.last().into_iter().flatten();
        ending.any(|&last| is_alone(program, last, &mut self.claims, &mut self.future))
    }

    /// Returns the sequences that sleep after an event (lines 15 and 16): those of the previous
    /// state that the event continues or does not conflict with. The caller turns a sequence with
    /// one step left into a sleeping process.
    fn sleep_after(&self, event: &Event) -> Vec<Vec<SequenceStep>> {
        let before = self.sleep.last().into_iter().flatten();
        let after = before.filter_map(|sequence| {
            let first = sequence.first()?;
            let keeps = |step: &SequenceStep| {
                step.process != event.process
                    && !self
                        .catalogue
                        .conflict(step.claims, single(&event.claims), &event.claims)
            };
            if first.process == event.process {
                Some(sequence[1..].to_vec())
            } else {
                sequence.iter().all(keeps).then(|| sequence.clone())
            }
        });
        after.collect()
    }

    /// Returns the sequence v.u for the race of an event with the last one.
    fn reversed(&self, first: usize) -> Vec<SequenceStep> {
        let last = self.made.len() - 1;
        let follows = |at: &usize| {
            let event = &self.source.order.events[*at];
            *at != last && (*at == first || event.before.contains(first))
        };
        let v = (first..=last).filter(|at| !follows(at));
        let u = (first..=last).filter(follows);
        v.chain(u).map(|at| self.made[at].clone()).collect()
    }

    /// Whether a prefix of a sequence sleeps in a state (line 12).
    fn sleeps(&self, depth: usize, sequence: &[SequenceStep]) -> bool {
        let first = sequence[0].process;
        let mark = self.source.path.mark(depth, first);
        let taken = mark == Some(Mark::Taken) && first != self.made[depth].process;
        let mut known = self.sleep[depth].iter();
        taken || mark == Some(Mark::Asleep) || known.any(|known| sequence.starts_with(known))
    }
}

/// Returns the length of the shortest sequence that begins with a process.
fn shortest(sequences: &[Vec<SequenceStep>], process: ProcessId) -> usize {
    let its = sequences
        .iter()
        .filter(|sequence| sequence[0].process == process);
    its.map(Vec::len).min().unwrap_or(usize::MAX)
}

impl<E: Semantics, S: Set> Policy<E> for Printed<S> {
    const UNIQUE: bool = true;
    const EVERY_TRACE: bool = false;

    fn enter(&mut self, program: &E) {
        self.source.enter(program);
        if self.source.overflow {
            return;
        }
        let Some(event) = program.events().last() else {
            self.meter.start(program);
            self.sleep = vec![Vec::new()];
            self.ending = vec![Vec::new()];
            self.added = vec![0];
            return;
        };
        self.meter.push(program);
        let claims = self.catalogue.number_of_event(event, single(&event.claims));
        SequenceStep::push(&mut self.made, event, claims);
        let mut sleep = self.sleep_after(event);
        let depth = self.made.len();
        let mut ending = self.ending.last().cloned().unwrap_or_default();
        ending.retain(|&last| self.source.path.mark(depth, last) == Some(Mark::Asleep));
        sleep.retain(|sequence| {
            if let [last] = &sequence[..] {
                self.source.path.put_to_sleep(program, last.process);
                ending.push(last.process);
            }
            sequence.len() > 1
        });
        self.added.push(0);
        self.sleep.push(sleep);
        self.ending.push(ending);
    }

    fn look_around(&mut self, program: &mut E) -> u64 {
        let mut wanted: Vec<(usize, Vec<SequenceStep>)> = Vec::new();
        if self.source.overflow || program.events().iter().any(discards) {
            return 0;
        }
        if let Some(last) = self.source.order.events.last() {
            for_each(&last.races, |first| {
                let sequence = self.reversed(first);
                if !self.sleeps(first, &sequence) {
                    wanted.push((first, sequence));
                }
            });
        }
        let now = self.meter.sum();
        let mut trip = Trip::new(program, &mut self.meter);
        // In reverse order, so that the path to each state is a prefix of the path to the previous
        // one.
        for (first, sequence) in wanted.into_iter().rev() {
            trip.back_to(first);
            let equal = trip.make_all(&sequence) && trip.sum() == now;
            trip.back_to(first);
            if equal {
                self.sleep[first].push(sequence);
                self.added[first] += 1;
                self.stored += 1;
                self.most_stored = self.most_stored.max(self.stored);
            }
        }
        trip.home(&self.made)
    }

    fn next(&mut self, program: &E, outcomes: &mut Vec<i64>) -> Option<ProcessId> {
        let Variant {
            anticipate,
            guide,
            last_first,
            ..
        } = self.variant;
        if self.source.overflow || anticipate && self.is_cut(program) {
            return None;
        }
        let place = |at: usize| if last_first { usize::MAX - at } else { at };
        let sleep = self.sleep.last().filter(|_| guide);
        let path = &mut self.source.path;
        path.next_least(outcomes, |at, process| {
            (sleep.map(|sleep| shortest(sleep, process)), place(at))
        })
    }

    fn stored(&self) -> Option<u64> {
        Some(self.most_stored as u64)
    }

    fn leave(&mut self, program: &E) {
        if !self.source.overflow && !program.events().is_empty() {
            self.meter.pop();
            self.made.pop();
            self.sleep.pop();
            self.stored -= self.added.pop().unwrap_or(0);
            self.ending.pop();
        }
        self.source.leave(program);
    }

    fn leaf(&mut self, program: &E, end: End) {
        self.source.leaf(program, end);
    }

    fn gives_up(&self) -> bool {
        self.source.overflow
    }
}
