//! `optimal` as the base of context-sensitive DPOR: runs may be cut, and processes may have to be
//! run because of steps that could follow a cut.
//!
//! A step that could follow a cut is treated like a guarded step. The run does not contain the
//! step. So a process that was run earlier and conflicts with the step covers only the sequences
//! that start with that process (`inherited`). docs/proofs/context.md proves that this is enough.

use mazurka_core::{Event, Execution, ProcessId};

use super::wakeup::{NONE, NextStep};
use super::{AGAIN, FRESH, Optimal};
use crate::algorithms::context::{Base, Rank};
use crate::algorithms::naive::next_outcomes;
use crate::drive::driver::{End, Policy};
use crate::relations::catalogue::{Catalogue, single};
use crate::relations::order::Order;
use crate::relations::set::{Set, for_each};

impl<S: Set> Optimal<S> {
    /// Returns the ready processes of a state.
    fn ready_in(&self, node: usize) -> &[ProcessId] {
        let next = self.nodes.get(node + 1);
        let end = next.map_or(self.ready.len(), |next| next.ready as usize);
        &self.ready[self.nodes[node].ready as usize..end]
    }

    /// Whether the wakeup tree of a state has a branch for a process.
    fn has_branch(&self, node: usize, process: ProcessId) -> bool {
        let mut at = self.nodes[node].branches;
        while at != NONE {
            let branch = &self.forest.nodes[at as usize];
            if branch.step.process == process {
                return true;
            }
            at = branch.sibling;
        }
        false
    }

    /// Whether the last state has no wakeup tree and no process was run from it.
    fn is_free(&self) -> bool {
        let last = self.nodes.last();
        last.is_some_and(|node| node.todo == FRESH && node.branches == NONE)
    }
}

impl<S: Set> Base<S> for Optimal<S> {
    const MARKS_RIVALS: bool = true;

    fn new() -> Self {
        Self {
            keeps_ready: true,
            may_block: true,
            ..Optimal::new()
        }
    }

    fn order(&self) -> &Order<S> {
        &self.order
    }

    fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn number_of(&mut self, event: &Event) -> u32 {
        self.catalogue.number_of_event(event, single(&event.claims))
    }

    fn overflowed(&self) -> bool {
        self.overflow
    }

    fn enter<E: Execution>(&mut self, program: &E) {
        Policy::enter(self, program);
    }

    fn leave(&mut self, event: &Event) {
        let single = self.order.pop(event);
        let (Some(node), Some(parent)) = (self.nodes.pop(), self.nodes.last_mut()) else {
            return;
        };
        self.sleepers.truncate(node.sleepers as usize);
        self.ready.truncate(node.ready as usize);
        let again = match node.key {
            0 => None,
            _ => next_outcomes(event),
        };
        if let Some(outcomes) = again {
            parent.todo |= AGAIN;
            self.again.push(outcomes);
        } else {
            parent.explored = parent.explored.saturating_add(1);
            self.sleepers.push(NextStep {
                process: event.process,
                claims: self.catalogue.number_of_event(event, single),
                key: 0,
                inherited: std::mem::take(&mut parent.rival),
            });
        }
        self.shared = self.shared.min(self.order.len());
    }

    fn has_more(&self) -> bool {
        self.nodes.last().is_some_and(|node| !node.is_done())
    }

    fn is_tried(&self, node: usize, process: ProcessId) -> bool {
        self.nodes[node].active == Some(process) || self.is_asleep(node, process)
    }

    fn is_untried(&self, node: usize, process: ProcessId) -> bool {
        self.ready_in(node).contains(&process) && !self.is_tried(node, process)
    }

    fn idle(&self, node: usize) -> impl Iterator<Item = ProcessId> {
        let ready = self.ready_in(node).iter().copied();
        ready.filter(move |&process| {
            !self.is_tried(node, process) && !self.has_branch(node, process)
        })
    }

    fn want<E: Execution>(&mut self, program: &E, who: impl Fn(ProcessId) -> bool) {
        self.branch_out(program, who);
    }

    fn can_continue(&self) -> bool {
        let last = self.nodes.len() - 1;
        self.nodes[last].branches != NONE || self.idle(last).next().is_some()
    }

    fn is_fresh(&self) -> bool {
        let last = self.nodes.last();
        last.is_some_and(|node| node.todo & FRESH != 0)
    }

    fn is_contested(&self) -> bool {
        self.is_free()
    }

    fn take_only(&mut self, process: ProcessId) -> Option<ProcessId> {
        let node = self.nodes.last_mut()?;
        let dropped = std::mem::replace(&mut node.branches, NONE);
        node.todo = 0;
        node.active = Some(process);
        self.forest.release_all(dropped);
        Some(process)
    }

    fn next<E: Execution>(
        &mut self,
        program: &E,
        outcomes: &mut Vec<i64>,
        rank: Option<Rank<'_>>,
    ) -> Option<ProcessId> {
        let Some(rank) = rank.filter(|_| self.is_free()) else {
            return Policy::next(self, program, outcomes);
        };
        let last = self.nodes.len() - 1;
        let awake = self.ready_in(last).iter().enumerate();
        let awake = awake.filter(|(_, process)| !self.is_asleep(last, **process));
        let least = awake.min_by_key(|(at, process)| rank(*at, **process));
        let process = least.map(|(_, process)| *process);
        let node = &mut self.nodes[last];
        node.todo = 0;
        node.active = process;
        process
    }

    fn put_to_sleep<E: Execution>(&mut self, program: &E, process: ProcessId) {
        Policy::put_to_sleep(self, program, process);
    }

    fn leaf<E: Execution>(&mut self, program: &E, end: End) {
        Policy::leaf(self, program, end);
    }

    fn cut<E: Execution>(&mut self, program: &E) {
        Policy::leaf(self, program, End::Final);
    }

    fn mark_rivals(&mut self, events: &S) {
        for_each(events, |at| self.nodes[at].rival = true);
    }

    fn progress(&self) -> f64 {
        self.share_done()
    }
}
