//! All schedules with few preemptions.
//!
//! Musuvathi and Qadeer, "Iterative context bounding for systematic testing of multithreaded
//! programs", PLDI 2007: most mistakes need few interruptions of processes that could go on. No
//! reduction: what is equivalent to a schedule within the bound may itself lie beyond it, so an
//! explorer that reduces would lose some.
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
    /// So many at most.
    pub most: u32,
}

/// What was found with few preemptions.
#[derive(Debug)]
pub struct Preempted {
    /// What was found.
    pub found: Findings,
    /// Whether the bound left anything out.
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
    /// Its ready processes: the range in `Preempting::ready`, and which is next.
    first: usize,
    next: usize,
    end: usize,
    /// Preemptions so far.
    preemptions: u32,
    /// What the process that was run last is to choose next.
    again: Option<Vec<i64>>,
}

/// The policy.
struct Preempting {
    most: u32,
    nodes: Vec<Node>,
    ready: Vec<ProcessId>,
    /// Whether the bound left anything out.
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
        // Was the step that led here a preemption? Its process is not the one of the step before,
        // which could have gone on.
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
