//! Tests of programs with inputs: the sides of conditions.
//!
//! Thesis, section 3.5. A program with inputs runs over symbolic values, and the side that a
//! condition takes is an outcome of a step ([`Execution::has_conditions`]). So an extension has a
//! branch event for each side, and the outcomes of an event are the constraint that it adds to the
//! path. The path constraint of an extension is that of its causes: if the program rejects a
//! schedule of the causes, no inputs satisfy the constraint. Longer runs only have more
//! constraints, so no test can reach the extension.
//!
//! | thesis | here |
//! |---|---|
//! | a branch event for each side | the events of an extension, distinguished by their outcomes |
//! | the path constraint is unsatisfiable, so the event is removed | see below |
//!
//! An extension with an unsatisfiable path constraint is [`Phase::Impossible`]; an infeasible side
//! is not an outcome of the program.
//!
//! Deviation: a test also covers extensions in passing. Then it has made more decisions than the
//! causes of the extension, so a side that is infeasible there may be feasible in another test. So
//! only a run of the causes alone shows whether all sides have been taken
//! ([`Tester::look_at_sides`]).

use std::ops::ControlFlow;

use mazurka_core::{Bound, Execution};
use smallvec::SmallVec;

use super::extensions::Builder;
use super::net::Phase;
use super::session::done;
use super::testing::Tester;
use crate::algorithms::naive::next_outcomes;

impl<E: Execution> Tester<'_, '_, E> {
    /// Determines whether an extension has sides that no test has taken.
    pub(super) fn look_at_sides(&mut self, extension: u32) -> ControlFlow<Bound> {
        let past = self.builder.net.past(extension).to_vec();
        let mut schedule = std::mem::take(&mut self.schedule);
        let Builder { net, examiner, .. } = &mut self.builder;
        examiner.schedule(net, &past, &mut schedule);
        let process = net.thread(net.extension(extension).thread).process;
        let there = self.follow(&schedule)?;
        self.schedule = schedule;
        let (depth, mut outcomes) = (self.run.len(), Some(SmallVec::<[i64; 1]>::new()));
        while let (true, Some(next)) = (there, outcomes) {
            if self.session.step(process, &next)?.is_err() {
                break;
            }
            let event = &self.session.program.events()[depth];
            let done = done(self.session.program, event);
            outcomes = next_outcomes(event);
            self.session.program.back_to(depth);
            if self.builder.find_event(extension, &done).1.is_none() {
                return ControlFlow::Continue(());
            }
        }
        self.exhausted(extension);
        ControlFlow::Continue(())
    }

    /// Records that all sides of an extension have been taken.
    fn exhausted(&mut self, extension: u32) {
        self.chances.remove(&extension);
        self.builder.net.extensions[extension as usize].phase = Phase::Done;
    }

    /// Makes the step of an extension with a side that no test has taken. Returns false if there is
    /// no such side. `alone` says whether only the causes of the extension have been run: a side
    /// may be infeasible after other steps, so only then is it known whether all sides have been
    /// taken.
    pub(super) fn step_conditionally(
        &mut self,
        extension: u32,
        alone: bool,
    ) -> ControlFlow<Bound, bool> {
        let net = &self.builder.net;
        let process = net.thread(net.extension(extension).thread).process;
        let depth = self.run.len();
        let mut outcomes: SmallVec<[i64; 1]> = SmallVec::new();
        let mut known: Vec<u32> = Vec::new();
        let (new, more) = loop {
            let made = self.session.step(process, &outcomes)?;
            assert!(made.is_ok(), "a side that is possible is not");
            let event = &self.session.program.events()[depth];
            let done = done(self.session.program, event);
            let more = next_outcomes(event);
            let branches = !event.outcomes.is_empty();
            match (self.builder.find_event(extension, &done).1, more) {
                (None, more) => {
                    let (session, builder) = (&mut self.session, &mut self.builder);
                    let look = &mut || session.check_limits_at_intervals();
                    let (node, _) = builder.add_event(extension, &done, look)?;
                    // If only the causes were run and this side was the last one, no side is left.
                    // After other steps, sides may be left that are infeasible only here.
                    break (Some(node), branches && (!alone || more.is_some()));
                }
                (Some(event), Some(more)) => {
                    known.push(event);
                    outcomes = more;
                    self.session.program.back_to(depth);
                }
                (Some(event), None) => {
                    known.push(event);
                    break (None, branches && !alone);
                }
            }
        };
        if let Some(node) = new {
            if more {
                self.chances.insert(extension, SmallVec::new());
                self.builder.pending.push(extension);
            }
            self.note_mishaps(node);
            self.advance(node);
        }
        match (alone, more) {
            (true, false) => self.exhausted(extension),
            (true, true) => {}
            (false, _) => self.passed.extend(new.map(|_| extension)),
        }
        if new.is_none() {
            // Take any of the known sides; the last one has just been made.
            let at = self.random.below(known.len() as u64) as usize;
            if at + 1 < known.len() {
                self.session.program.back_to(depth);
                self.step_again(known[at])?;
            } else {
                self.advance(known[at]);
            }
        }
        ControlFlow::Continue(new.is_some())
    }
}
