//! Temporal properties, from docs/temporal.md alone.
//!
//! The set of states from which a fair run can stay in a part of the graph for ever is a greatest
//! fixed point (Emerson and Lei, *Efficient model checking in fragments of the propositional
//! mu-calculus*, LICS 1986): from each of its states every process can be given its turn, and again
//! one of these states be reached, without leaving the part. No component is computed.
//!
//! For strong fairness the processes that step again and again are guessed, one set after the
//! other: from some state on no other process is ready, and each of the set steps again and again.

use super::ast::Temporal;
use super::cycles::Graph;

/// The runs of a program.
pub(super) struct Runs<'a> {
    pub graph: &'a Graph,
    /// Where they begin.
    pub starts: &'a [usize],
    /// The states in which no process has failed or is discarded.
    pub counts: Vec<bool>,
    /// Whether each process that is ready again and again must step again and again.
    pub strong: bool,
}

/// More processes than these are too many to guess sets of.
const MOST_PROCESSES: usize = 10;

impl Runs<'_> {
    /// Whether sets of processes cannot be guessed.
    pub fn too_many(&self) -> bool {
        self.strong && self.processes() > MOST_PROCESSES
    }

    /// One more than the greatest number of a process that makes a step.
    fn processes(&self) -> usize {
        let steps = self.graph.iter().flatten();
        steps.map(|(process, _)| process + 1).max().unwrap_or(0)
    }

    /// Whether a fair run has no end, and a process that is meant to end runs on.
    pub fn livelock(&self, unended: &[bool]) -> bool {
        let ended = |state: usize| self.graph[state].is_empty();
        let within: Vec<bool> = (0..self.graph.len())
            .map(|state| unended[state] && !ended(state))
            .collect();
        // Also after an invariant that does not hold at the start: no process has failed by that.
        self.for_ever(&within).contains(&true)
    }

    /// Whether all runs satisfy a property, given where its conditions hold.
    pub fn satisfy(&self, kind: Temporal, holds: &[Vec<bool>]) -> bool {
        let reached = self.reached();
        let not = |truth: &[bool]| -> Vec<bool> { truth.iter().map(|&t| !t).collect() };
        let any = |bad: &dyn Fn(usize) -> bool| reached.iter().any(|&state| bad(state));
        match kind {
            Temporal::Always => !any(&|state| !holds[0][state]),
            Temporal::Eventually => {
                let avoids = self.for_ever(&not(&holds[0]));
                !self.starts.iter().any(|&state| avoids[state])
            }
            Temporal::InfinitelyOften => {
                let avoids = self.for_ever(&not(&holds[0]));
                !any(&|state| avoids[state])
            }
            Temporal::LeadsTo => {
                let avoids = self.for_ever(&not(&holds[1]));
                !any(&|state| holds[0][state] && avoids[state])
            }
        }
    }

    /// The states that runs have.
    fn reached(&self) -> Vec<usize> {
        let mut seen = vec![false; self.graph.len()];
        let mut all = Vec::new();
        let mut open: Vec<usize> = self.starts.to_vec();
        while let Some(state) = open.pop() {
            if self.counts[state] && !std::mem::replace(&mut seen[state], true) {
                all.push(state);
                open.extend(self.graph[state].iter().map(|(_, to)| *to));
            }
        }
        all
    }

    /// Where a step of a process leads, and who makes it. A run that ends repeats its last state,
    /// by no process.
    fn steps(&self, state: usize) -> Vec<(Option<usize>, usize)> {
        let steps = self.graph[state].iter();
        if self.graph[state].is_empty() {
            vec![(None, state)]
        } else {
            steps.map(|&(process, to)| (Some(process), to)).collect()
        }
    }

    /// The states from which a fair run can be in such states only.
    fn for_ever(&self, within: &[bool]) -> Vec<bool> {
        let states = self.graph.len();
        let within: Vec<bool> = (0..states).map(|s| within[s] && self.counts[s]).collect();
        if self.strong {
            self.strongly(&within)
        } else {
            self.again_and_again(0..self.processes(), &within)
        }
    }

    /// The states from which a run within some states can give each of these processes a turn again
    /// and again.
    fn again_and_again(
        &self,
        processes: impl Iterator<Item = usize> + Clone,
        within: &[bool],
    ) -> Vec<bool> {
        let mut stays = within.to_vec();
        loop {
            let before = stays.clone();
            // Nothing is asked of the last of these, but that the run goes on.
            for process in processes.clone().map(Some).chain([None]) {
                let turn = self.given_a_turn(process, within, &stays);
                stays = stays.iter().zip(turn).map(|(&s, t)| s && t).collect();
            }
            if stays == before {
                return stays;
            }
        }
    }

    /// The same for strongly fair runs.
    fn strongly(&self, within: &[bool]) -> Vec<bool> {
        let mut found = vec![false; self.graph.len()];
        for set in 0..1_usize << self.processes() {
            let chosen = |process: usize| set >> process & 1 == 1;
            let only = |state: usize| self.graph[state].iter().all(|(p, _)| chosen(*p));
            let inside: Vec<bool> = (0..found.len())
                .map(|state| within[state] && only(state))
                .collect();
            let some = (0..self.processes()).filter(|&process| chosen(process));
            let stays = self.again_and_again(some, &inside);
            found.iter_mut().zip(stays).for_each(|(f, s)| *f |= s);
        }
        self.leading_to(found, within)
    }

    /// The states from which a run within some states can come to where a process steps, or is not
    /// ready, and be in the goal then.
    fn given_a_turn(&self, process: Option<usize>, within: &[bool], goal: &[bool]) -> Vec<bool> {
        let ready = |state: usize, p: usize| self.graph[state].iter().any(|(q, _)| *q == p);
        let waits = |state: usize, p: usize| !self.strong && !ready(state, p);
        let turn = |&(by, to): &(Option<usize>, usize)| {
            let served = process.is_none_or(|p| by == Some(p) || waits(to, p));
            served && goal[to]
        };
        let found: Vec<bool> = (0..self.graph.len())
            .map(|state| within[state] && self.steps(state).iter().any(turn))
            .collect();
        self.leading_to(found, within)
    }

    /// The states from which a run within some states can come to those found.
    fn leading_to(&self, mut found: Vec<bool>, within: &[bool]) -> Vec<bool> {
        loop {
            let mut changed = false;
            for state in 0..found.len() {
                let leads = |(_, to): &(Option<usize>, usize)| found[*to];
                if !found[state] && within[state] && self.steps(state).iter().any(leads) {
                    found[state] = true;
                    changed = true;
                }
            }
            if !changed {
                return found;
            }
        }
    }
}
