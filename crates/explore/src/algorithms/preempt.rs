//! All schedules with few preemptions.
//!
//! Musuvathi and Qadeer, "Iterative context bounding for systematic testing of multithreaded
//! programs", PLDI 2007: most bugs need few preemptions, that is, interruptions of processes that
//! could go on. No reduction: a schedule within the bound may be equivalent to one beyond it, so a
//! reducing explorer would lose traces.
//!
//! | paper | here |
//! |---|---|
//! | preempting context switch | another process runs though the last one could |
//! | c | [`FewPreemptions::most`] |

use mazurka_core::{Execution, ProcessId, Status};

use super::naive::next_outcomes;
use crate::drive::driver::{Observer, Policy};
use crate::drive::findings::Findings;
use crate::drive::search::{Engine, Session};

/// Explores all schedules with few preemptions.
#[derive(Clone, Copy, Debug)]
pub struct FewPreemptions {
    /// The greatest number of preemptions.
    pub most: u32,
}

/// The findings of a search with few preemptions.
#[derive(Debug)]
pub struct Preempted {
    /// The findings.
    pub found: Findings,
    /// Whether the bound left out any schedule.
    pub cut: bool,
}

impl<E: Execution> Engine<E> for FewPreemptions {
    type Found = Preempted;

    fn search<O: Observer<E>>(&self, mut session: Session<'_, '_, E, O>) -> Preempted {
        let mut policy = Preempting::new(self.most);
        let found = session.explore(&mut policy);
        Preempted {
            found,
            cut: policy.cut,
        }
    }
}

struct Node {
    /// Its ready processes: the range in `Preempting::ready`.
    first: usize,
    /// The next one to run.
    next: usize,
    end: usize,
    /// Number of preemptions so far.
    preemptions: u32,
    /// The outcomes that the process run last is to choose next.
    again: Option<Vec<i64>>,
}

/// The policy.
struct Preempting {
    most: u32,
    nodes: Vec<Node>,
    ready: Vec<ProcessId>,
    /// Whether the bound left out any schedule.
    cut: bool,
}

impl Preempting {
    fn new(most: u32) -> Self {
        Self {
            most,
            nodes: Vec::new(),
            ready: Vec::new(),
            cut: false,
        }
    }
}

impl<E: Execution> Policy<E> for Preempting {
    const UNIQUE: bool = false;

    fn enter(&mut self, program: &E) {
        let first = self.ready.len();
        let all = program.processes().in_order().iter();
        self.ready
            .extend(all.filter(|&&p| program.status(p) == Status::Ready));
        let last = program.events().last().map(|event| event.process);
        let before = self.nodes.last().map_or(0, |node| node.preemptions);
        let mut preemptions = before;
        // The step that led here is a preemption if the process of the step before it could have
        // gone on.
        if let (Some(node), [.., one, other]) = (self.nodes.last(), program.events()) {
            let could = &self.ready[node.first..node.end];
            if one.process != other.process && could.contains(&one.process) {
                preemptions += 1;
            }
        }
        if preemptions == self.most
            && let Some(last) = last
            && self.ready[first..].contains(&last)
        {
            self.cut |= self.ready.len() - first > 1;
            self.ready.truncate(first);
            self.ready.push(last);
        }
        self.nodes.push(Node {
            first,
            next: first,
            end: self.ready.len(),
            preemptions,
            again: None,
        });
    }

    fn next(&mut self, _program: &E, outcomes: &mut Vec<i64>) -> Option<ProcessId> {
        let node = self.nodes.last_mut()?;
        match node.again.take() {
            Some(again) => outcomes.extend(again),
            None if node.next == node.end => return None,
            None => node.next += 1,
        }
        Some(self.ready[node.next - 1])
    }

    fn leave(&mut self, program: &E) {
        if let Some(node) = self.nodes.pop() {
            self.ready.truncate(node.first);
        }
        if let (Some(node), Some(event)) = (self.nodes.last_mut(), program.events().last()) {
            node.again = next_outcomes(event).map(|values| values.to_vec());
        }
    }
}
