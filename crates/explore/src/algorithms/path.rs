//! The states on the current path: the ready processes of each, the sleep set, and the backtrack
//! set.
//!
//! Sleep sets are Godefroid's (LNCS 1032, 1996, chapter 5): a process that has been run from a
//! state sleeps in the states after its later siblings, until a step conflicts with its next step.
//! A sleeping process is always ready, so one list of ready processes per state holds everything.
//! To find out whether a process sleeps in a new state, the list of the previous state is
//! consulted.
//!
//! A process is run with all outcomes of its `choose` expressions, one after the other, and then
//! sleeps as a whole.

use mazurka_core::{Claims, Event, Execution, ProcessId, Status};
use smallvec::SmallVec;

use crate::algorithms::naive::next_outcomes;
use crate::relations::catalogue::{Catalogue, single};

/// The role of a process that is ready in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// It is outside the backtrack set.
    Idle,
    /// It is in the backtrack set and has not been run.
    Wanted,
    /// It is being run from this state, or has been.
    Taken,
    /// It sleeps: everything that starts with its step has been explored from an earlier state.
    Asleep,
}

/// A process that is ready in a state.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    process: ProcessId,
    mark: Mark,
    /// The claims of its step, as their number in the catalogue; valid only for processes that have
    /// been run or sleep.
    claims: u32,
}

/// A state.
#[derive(Debug)]
struct PathNode {
    /// Index of its first candidate; the list ends where the list of the next state starts.
    first: usize,
    /// The candidate that is being run.
    active: usize,
    /// The outcomes with which the active candidate must be run again, if any.
    again: Option<SmallVec<[i64; 1]>>,
    /// Whether a process has been run from this state.
    tried: bool,
    /// Whether no further process needs to be run from this state.
    closed: bool,
}

/// The states on the current path.
#[derive(Debug)]
pub(crate) struct Path {
    nodes: Vec<PathNode>,
    /// The candidates of all states, one state after the other; within a state in the order of
    /// names.
    candidates: Vec<Candidate>,
    pub catalogue: Catalogue,
    /// Whether there are sleep sets: a process that has been run from a state sleeps after its
    /// later siblings.
    sleeps: bool,
}

impl Path {
    /// Creates an empty path, with sleep sets.
    pub fn new() -> Self {
        Self::with_sleep_sets(true)
    }

    /// Creates an empty path, with or without sleep sets.
    pub fn with_sleep_sets(sleeps: bool) -> Self {
        Self {
            nodes: Vec::new(),
            candidates: Vec::new(),
            catalogue: Catalogue::new(),
            sleeps,
        }
    }

    /// Adds the state that a step has led to.
    pub fn enter(&mut self, program: &impl Execution) {
        let first = self.candidates.len();
        let event = program.events().last();
        let mut parent = self.nodes.last().map_or(first, |node| node.first);
        for &process in program.processes().in_order() {
            if program.status(process) != Status::Ready {
                continue;
            }
            let mut candidate = Candidate {
                process,
                mark: Mark::Idle,
                claims: 0,
            };
            let before = &self.candidates[parent..first];
            if let Some(at) = before.iter().position(|known| known.process == process) {
                let known = before[at];
                parent += at + 1;
                if self.sleeps
                    && matches!(known.mark, Mark::Taken | Mark::Asleep)
                    && event.is_some_and(|event| self.sleeps_on(known, event))
                {
                    candidate.mark = Mark::Asleep;
                    candidate.claims = known.claims;
                }
            }
            self.candidates.push(candidate);
        }
        self.nodes.push(PathNode {
            first,
            active: first,
            again: None,
            tried: false,
            closed: false,
        });
    }

    fn sleeps_on(&self, sleeper: Candidate, event: &Event) -> bool {
        sleeper.process != event.process
            && !self
                .catalogue
                .conflict(sleeper.claims, single(&event.claims), &event.claims)
    }

    /// Puts a process to sleep in the last state.
    pub fn put_to_sleep(&mut self, program: &impl Execution, process: ProcessId) {
        let mut claims = Claims::new();
        program.claims(process, &mut claims);
        let claims = self.catalogue.number(process, &claims);
        let first = self.nodes.last().map_or(0, |node| node.first);
        for candidate in &mut self.candidates[first..] {
            if candidate.process == process {
                candidate.mark = Mark::Asleep;
                candidate.claims = claims;
            }
        }
    }

    /// Returns the process to run next from the last state: one of the backtrack set or, if no
    /// process has been run from there, any process that is awake. Adds to `outcomes` the outcomes
    /// with which to run it. `None` if no process is left to run.
    pub fn next(&mut self, outcomes: &mut Vec<i64>) -> Option<ProcessId> {
        self.next_by(outcomes, |here, mark| {
            here.iter().position(|c| c.mark == mark)
        })
    }

    /// Like [`next`](Self::next), but takes the process with the least rank. The rank may depend on
    /// the position of the process in the order of names.
    pub fn next_least<R: Ord>(
        &mut self,
        outcomes: &mut Vec<i64>,
        rank: impl Fn(usize, ProcessId) -> R,
    ) -> Option<ProcessId> {
        self.next_by(outcomes, |here, mark| {
            let all = here.iter().enumerate().filter(|(_, c)| c.mark == mark);
            let least = all.min_by_key(|(at, c)| rank(*at, c.process));
            least.map(|(at, _)| at)
        })
    }

    /// Returns the process to run next. `pick` returns the index of a candidate with the given
    /// mark, if there is one.
    #[inline]
    fn next_by(
        &mut self,
        outcomes: &mut Vec<i64>,
        pick: impl Fn(&[Candidate], Mark) -> Option<usize>,
    ) -> Option<ProcessId> {
        let node = self.nodes.last_mut()?;
        match node.again.take() {
            Some(again) => outcomes.extend(again),
            None if node.closed => return None,
            None => {
                let here = &mut self.candidates[node.first..];
                let mut at = pick(here, Mark::Wanted);
                if at.is_none() && !node.tried {
                    at = pick(here, Mark::Idle);
                }
                let at = at?;
                here[at].mark = Mark::Taken;
                node.active = node.first + at;
                node.tried = true;
            }
        }
        Some(self.candidates[node.active].process)
    }

    /// Whether another process must be run from the last state, from which one has been run.
    pub fn has_more(&self) -> bool {
        let Some(node) = self.nodes.last() else {
            return false;
        };
        let mut here = self.candidates[node.first..].iter();
        node.again.is_some() || !node.closed && here.any(|c| c.mark == Mark::Wanted)
    }

    /// Whether no process has been run from the last state.
    pub fn is_fresh(&self) -> bool {
        self.nodes.last().is_some_and(|node| !node.tried)
    }

    /// Whether several processes could be the next to run from the last state.
    pub fn is_contested(&self) -> bool {
        let Some(node) = self.nodes.last() else {
            return false;
        };
        if node.closed || node.again.is_some() {
            return false;
        }
        let here = &self.candidates[node.first..];
        let (mut wanted, mut idle) = (0, 0);
        for candidate in here {
            wanted += usize::from(candidate.mark == Mark::Wanted);
            idle += usize::from(candidate.mark == Mark::Idle);
        }
        wanted > 1 || wanted == 0 && !node.tried && idle > 1
    }

    /// Chooses a process to be the only one that is run from the last state. It must be awake, and
    /// must not have been run from there. Returns the process, or `None` if it is not ready there.
    pub fn take_only(&mut self, process: ProcessId) -> Option<ProcessId> {
        let node = self.nodes.last_mut()?;
        let here = &mut self.candidates[node.first..];
        let at = here.iter().position(|c| c.process == process)?;
        here[at].mark = Mark::Taken;
        node.active = node.first + at;
        node.tried = true;
        node.closed = true;
        Some(process)
    }

    /// Removes the last state; its step is about to be undone.
    pub fn leave(&mut self, event: &Event) {
        if let Some(node) = self.nodes.pop() {
            self.candidates.truncate(node.first);
        }
        if let Some(parent) = self.nodes.last_mut() {
            let claims = self.catalogue.number_of_event(event, single(&event.claims));
            self.candidates[parent.active].claims = claims;
            parent.again = next_outcomes(event);
        }
    }

    fn range(&self, node: usize) -> std::ops::Range<usize> {
        let next = self.nodes.get(node + 1);
        self.nodes[node].first..next.map_or(self.candidates.len(), |next| next.first)
    }

    /// Returns the role of a process, or `None` if it is not ready in this state.
    pub fn mark(&self, node: usize, process: ProcessId) -> Option<Mark> {
        let here = &self.candidates[self.range(node)];
        let found = here.iter().find(|c| c.process == process);
        found.map(|candidate| candidate.mark)
    }

    /// Returns the ready processes outside the backtrack set that are awake.
    pub fn idle(&self, node: usize) -> impl Iterator<Item = ProcessId> {
        let here = self.candidates[self.range(node)].iter();
        here.filter(|candidate| candidate.mark == Mark::Idle)
            .map(|candidate| candidate.process)
    }

    /// Whether an awake process is outside the backtrack set of the last state.
    pub fn has_idle(&self) -> bool {
        let last = self.nodes.len().checked_sub(1);
        last.is_some_and(|last| self.idle(last).next().is_some())
    }

    /// Adds every process that is ready and awake to the backtrack set. Returns whether the set has
    /// changed.
    pub fn want_all(&mut self, node: usize) -> bool {
        self.want_where(node, |_| true)
    }

    /// Adds every process that is ready, awake and satisfies `matches` to the backtrack set.
    /// Returns whether the set has changed.
    pub fn want_where(&mut self, node: usize, matches: impl Fn(ProcessId) -> bool) -> bool {
        let range = self.range(node);
        let mut changed = false;
        for candidate in &mut self.candidates[range] {
            if candidate.mark == Mark::Idle && matches(candidate.process) {
                candidate.mark = Mark::Wanted;
                changed = true;
            }
        }
        changed
    }

    /// Adds one of the processes that satisfy `matches` to the backtrack set, unless one of them is
    /// in it or sleeps. If none of them is ready, adds all ready processes. Returns whether the set
    /// has changed.
    pub fn want_one_of(&mut self, node: usize, matches: impl Fn(ProcessId) -> bool) -> bool {
        let range = self.range(node);
        let here = &mut self.candidates[range];
        let mut first = None;
        for (at, candidate) in here.iter().enumerate() {
            if matches(candidate.process) {
                if candidate.mark != Mark::Idle {
                    return false;
                }
                first = first.or(Some(at));
            }
        }
        match first {
            Some(at) => {
                here[at].mark = Mark::Wanted;
                true
            }
            None => self.want_all(node),
        }
    }

    /// Estimates the finished fraction of the search, assuming that no process is added to a
    /// backtrack set and that all branches are equally large.
    pub fn progress(&self) -> f64 {
        let mut done = 0.0;
        let mut share = 1.0;
        for at in 0..self.nodes.len() {
            let count = |mark: Mark| {
                let here = self.candidates[self.range(at)].iter();
                here.filter(|candidate| candidate.mark == mark).count()
            };
            let taken = count(Mark::Taken);
            share /= (taken + count(Mark::Wanted)).max(1) as f64;
            done += share * taken.saturating_sub(1) as f64;
        }
        done
    }
}
