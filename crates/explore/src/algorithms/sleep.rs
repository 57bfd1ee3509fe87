//! All interleavings but those that sleep sets rule out: each trace once, many runs blocked.
//!
//! Godefroid, "Partial-Order Methods for the Verification of Concurrent Systems", LNCS 1032, 1996,
//! chapter 5; also at the end of section 2.4 of the thesis paper. No race is looked for: every
//! ready process runs from every state, but a process that has run from a state sleeps in the
//! states after its later siblings, until a step is made that depends on its own.
//!
//! | paper | here |
//! |---|---|
//! | Sleep(s) | the candidates of the last state of [`Path`] with `Mark::Taken` and `Mark::Asleep` |
//! | enabled(s) \ Sleep(s) | all other candidates |
//!
//! Why each trace comes once: of two equivalent runs that part at a state, the later one starts
//! with a process after the other's first process p has been run. In it nothing that p's step
//! conflicts with comes before that step, so p sleeps until it would be made, and the run is
//! blocked there.
//!
//! Where it deviates: nowhere. Guards, locks and joins need no care, since nothing is left out that
//! is not covered: what sleeps is ready, and no step that is independent of it can change that.
//! Outcomes of `choose` are run one after the other, then the process sleeps as a whole.
//!
//! The number of states is not reduced, only the number of ways to each, so this is slower than any
//! of the engines that look for races, and simpler: it is what they are compared with where brute
//! force takes too long.

use mazurka_core::{Execution, ProcessId};

use crate::Policy;
use crate::algorithms::path::Path;

/// The policy.
#[derive(Debug)]
pub(crate) struct Sleep {
    path: Path,
}

impl Sleep {
    pub fn new() -> Self {
        Self { path: Path::new() }
    }
}

impl<E: Execution> Policy<E> for Sleep {
    const UNIQUE: bool = true;

    fn enter(&mut self, program: &E) {
        self.path.enter(program);
        self.path.want_all(program.events().len());
    }

    fn next(&mut self, _program: &E, outcomes: &mut Vec<i64>) -> Option<ProcessId> {
        self.path.next(outcomes)
    }

    fn put_to_sleep(&mut self, program: &E, process: ProcessId) {
        self.path.put_to_sleep(program, process);
    }

    fn leave(&mut self, program: &E) {
        if let Some(event) = program.events().last() {
            self.path.leave(event);
        }
    }

    fn progress(&self) -> Option<f64> {
        Some(self.path.progress())
    }
}
