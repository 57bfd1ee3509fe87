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

use mazurka_core::{Execution, ProcessId};

use super::branches::Branches;
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

/// The policy.
struct Preempting {
    most: u32,
    branches: Branches,
    /// Preemptions before each state on the path.
    preemptions: Vec<u32>,
    /// Whether the bound left anything out.
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
        // Was the step that led here a preemption? Its process is not the one of the step before,
        // which could have gone on.
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
