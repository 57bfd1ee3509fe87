//! Decisions about unknown values: for example an input of real code, compared with a number.
//!
//! A graph exists only if some values give all its decisions their outcomes. The program knows
//! which outcomes are feasible ([`Program::decide`]); this file decides when to ask it.
//!
//! - A decision is added with each outcome that is feasible together with the decisions of the
//!   graph.
//! - It is *maximal* iff its outcome is the first that is feasible together with the decisions
//!   among the *previous* events (revisit.rs defines both words). When the decision was added,
//!   another outcome may have been the first feasible one: earlier decisions may have been removed
//!   since, and the prefix of the revisiting write may contain others.
//!
//! A feasible outcome stays feasible when events are removed, so a revisit needs no query.

use std::ops::ControlFlow;

use super::revisit::Maximality;
use super::{Explorer, Program};
use crate::graph::{Event, Graph, Kind};
use crate::models::Model;
use crate::planted::Planted;
use crate::program::{Decision, Loc, MemoryOrder, ThreadId, Value};

/// The outcomes of a decision, tried one after the other.
#[derive(Debug)]
pub(super) struct DecisionFrame {
    pub(super) mark: usize,
    thread: ThreadId,
    question: u32,
    /// The outcome that was taken last.
    last: Option<Value>,
}

impl DecisionFrame {
    pub(super) fn new(mark: usize, thread: ThreadId, question: u32) -> Self {
        Self {
            mark,
            thread,
            question,
            last: None,
        }
    }
}

/// Replaces the contents of `into` by the decisions of a graph whose events satisfy `counts`.
fn collect(graph: &Graph, into: &mut Vec<Decision>, counts: impl Fn(&Event) -> bool) {
    into.clear();
    for thread in (0..graph.threads()).map(ThreadId) {
        let events = graph.thread(thread).iter().map(|&slot| graph.event(slot));
        let decisions = events.filter(|event| event.kind == Kind::Decision && counts(event));
        into.extend(decisions.map(|event| Decision {
            question: event.loc.0,
            outcome: event.value,
        }));
    }
}

impl<P: Program, M: Model> Explorer<'_, P, M> {
    /// Returns the first outcome of a question that is feasible in the graph; with `after`, the
    /// next one after that outcome.
    pub(super) fn feasible(&mut self, question: u32, after: Option<Value>) -> Option<Value> {
        collect(&self.graph, &mut self.decisions, |_| true);
        self.runner.decide(&self.decisions, question, after)
    }

    pub(super) fn advance_decision(&mut self, frame: &mut DecisionFrame) -> ControlFlow<(), bool> {
        let Some(outcome) = self.feasible(frame.question, frame.last) else {
            if frame.last.is_none() {
                // The program reports no feasible outcome, so the execution ends here. Failures
                // that occurred before are still recorded.
                self.note_failures();
            }
            return ControlFlow::Continue(false);
        };
        frame.last = Some(outcome);
        self.add_decision(frame.thread, frame.question, outcome)
    }

    pub(super) fn add_decision(
        &mut self,
        thread: ThreadId,
        question: u32,
        outcome: Value,
    ) -> ControlFlow<(), bool> {
        let (order, question) = (MemoryOrder::Relaxed, Loc(question));
        self.add_only(Event::new(thread, Kind::Decision, order, question).with(outcome))
    }

    /// Whether a decision that a revisit removes was made maximally.
    pub(super) fn is_maximal_decision(&mut self, decision: &Event, revisited: u32) -> bool {
        match self.planted {
            Planted::NoMaximality | Planted::AnyChoice => return true,
            Planted::FirstOutcome => return decision.value == 0,
            _ => {}
        }
        let maximality = Maximality {
            graph: &self.graph,
            prefix: &self.prefix,
            stamp: revisited,
            planted: self.planted,
            suffixes: &self.suffixes,
        };
        let counts = |other: &Event| {
            other.stamp != decision.stamp && maximality.is_previous(other, decision)
        };
        collect(&self.graph, &mut self.decisions, counts);
        let first = self.runner.decide(&self.decisions, decision.loc.0, None);
        first == Some(decision.value)
    }
}
