//! All schedules with few preemptions.
//!
//! Musuvathi and Qadeer, "Iterative context bounding for systematic testing of multithreaded
//! programs", PLDI 2007: most bugs need few preemptions, that is, interruptions of processes that
//! could continue. The search is not reduced: a schedule within the bound may be equivalent to one
//! beyond the bound. A reducing explorer might run only the second of these, and so lose the trace.
//!
//! | paper | here |
//! |---|---|
//! | preempting context switch | another process runs although the last one could continue |
//! | c | [`FewPreemptions::most`] |

use mazurka_core::{Execution, ProcessId};

use super::branches::Branches;
use crate::drive::driver::Policy;
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

    fn search(&self, mut session: Session<'_, '_, E>) -> Preempted {
        let mut policy = Preempting::new(self.most);
        let found = session.explore(&mut policy);
        Preempted {
            found,
            cut: policy.cut,
        }
    }
}

/// The policy that explores all schedules with few preemptions.
struct Preempting {
    most: u32,
    branches: Branches,
    /// Number of preemptions before each state on the path.
    preemptions: Vec<u32>,
    /// Whether the bound left out any schedule.
    cut: bool,
}

impl Preempting {
    fn new(most: u32) -> Self {
        Self {
            most,
            branches: Branches::default(),
            preemptions: Vec::new(),
            cut: false,
        }
    }
}

impl<E: Execution> Policy<E> for Preempting {
    const UNIQUE: bool = false;

    fn enter(&mut self, program: &E) {
        let mut preemptions = self.preemptions.last().copied().unwrap_or(0);
        // The step that led here is a preemption if the process of the previous step could have
        // continued.
        if let [.., one, other] = program.events()
            && one.process != other.process
            && self.branches.last().contains(&one.process)
        {
            preemptions += 1;
        }
        self.branches.enter(program);
        let ready = self.branches.last();
        if preemptions == self.most
            && let Some(last) = program.events().last().map(|event| event.process)
            && ready.contains(&last)
        {
            self.cut |= ready.len() > 1;
            self.branches.try_only(last);
        }
        self.preemptions.push(preemptions);
    }

    fn next(&mut self, _program: &E, outcomes: &mut Vec<i64>) -> Option<ProcessId> {
        self.branches.next(outcomes)
    }

    fn leave(&mut self, program: &E) {
        self.branches.leave(program);
        self.preemptions.pop();
    }
}
