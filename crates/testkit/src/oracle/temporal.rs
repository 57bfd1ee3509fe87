//! Temporal properties, from docs/temporal.md alone.
//!
//! The set of states from which a fair run can stay in a part of the graph for ever is a greatest
//! fixed point (Emerson and Lei, *Efficient model checking in fragments of the propositional
//! mu-calculus*, LICS 1986): from each of its states, without leaving the part, a run can give each
//! process its turn (the process makes a step or is not ready) and then return to the set. So no
//! strongly connected components are computed.
//!
//! For strong fairness, every set of processes is tried as the set of those that make infinitely
//! many steps. A run fits such a set if, from some state on, no process outside of the set is ready
//! and each process of the set makes infinitely many steps.

use super::ast::Temporal;
use super::cycles::Graph;

/// The runs of a program.
pub(super) struct Runs<'a> {
    pub graph: &'a Graph,
    /// The initial states.
    pub starts: &'a [usize],
    /// The states in which no process has failed or is discarded.
    pub counts: Vec<bool>,
    /// Whether fairness is strong: a process that is ready infinitely often must make infinitely
    /// many steps.
    pub strong: bool,
}

/// The maximal number of processes for which all sets are tried.
const MOST_PROCESSES: usize = 10;

impl Runs<'_> {
    /// Whether there are too many processes to try all sets of them.
    pub fn too_many(&self) -> bool {
        self.strong && self.processes() > MOST_PROCESSES
    }

    /// Returns 1 plus the greatest number of a process that makes a step.
    fn processes(&self) -> usize {
        let steps = self.graph.iter().flatten();
        steps.map(|(process, _)| process + 1).max().unwrap_or(0)
    }

    /// Whether some infinite fair run never ends a process that is meant to end.
    pub fn livelock(&self, unended: &[bool]) -> bool {
        let ended = |state: usize| self.graph[state].is_empty();
        let within: Vec<bool> = (0..self.graph.len())
            .map(|state| unended[state] && !ended(state))
            .collect();
        // A false invariant in the initial state halts no process, so runs from such a state count,
        // too.
        self.for_ever(&within).contains(&true)
    }

    /// Whether all runs satisfy a property, given the states in which its conditions hold.
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

    /// Returns the states that runs reach.
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

    /// Returns the steps from a state: the process and the next state. A run that has ended repeats
    /// its last state, without a process.
    fn steps(&self, state: usize) -> Vec<(Option<usize>, usize)> {
        let steps = self.graph[state].iter();
        if self.graph[state].is_empty() {
            vec![(None, state)]
        } else {
            steps.map(|&(process, to)| (Some(process), to)).collect()
        }
    }

    /// Returns the states from which a fair run can stay within these states.
    fn for_ever(&self, within: &[bool]) -> Vec<bool> {
        let states = self.graph.len();
        let within: Vec<bool> = (0..states).map(|s| within[s] && self.counts[s]).collect();
        if self.strong {
            self.strongly(&within)
        } else {
            self.again_and_again(0..self.processes(), &within)
        }
    }

    /// Returns the states from which a run within `within` can give each of these processes its
    /// turn infinitely often.
    fn again_and_again(
        &self,
        processes: impl Iterator<Item = usize> + Clone,
        within: &[bool],
    ) -> Vec<bool> {
        let mut stays = within.to_vec();
        loop {
            let before = stays.clone();
            // `None` in place of a process: the run only has to continue.
            for process in processes.clone().map(Some).chain([None]) {
                let turn = self.given_a_turn(process, within, &stays);
                stays = stays.iter().zip(turn).map(|(&s, t)| s && t).collect();
            }
            if stays == before {
                return stays;
            }
        }
    }

    /// Returns the same states as [`Self::for_ever`], for strongly fair runs.
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

    /// Returns the states from which a run within `within` can reach `goal` by giving the process
    /// its turn: it makes a step or, for weak fairness, is not ready.
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

    /// Returns the states from which a run within `within` can reach one of `found`.
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
