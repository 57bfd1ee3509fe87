//! All interleavings except those that sleep sets rule out: each trace once, many runs blocked.
//!
//! Godefroid, "Partial-Order Methods for the Verification of Concurrent Systems", LNCS 1032, 1996,
//! chapter 5; also at the end of section 2.4 of the thesis (GLOSSARY.md). The algorithm does not
//! search for races: every ready process is run from every state. But a process that has been run
//! from a state sleeps in the states after its later siblings, until a step is made that depends on
//! its next step.
//!
//! | paper | here |
//! |---|---|
//! | Sleep(s) | the candidates of the last state of [`Path`] with `Mark::Taken` or `Mark::Asleep` |
//! | enabled(s) \ Sleep(s) | all other candidates |
//!
//! Why each trace is run once: consider two equivalent runs that differ from some state on. Let p
//! be the first process there in the run that is explored first. In the other run no step that
//! conflicts with p's step comes before that step. So p sleeps until its step would be made, and
//! the other run is blocked there.
//!
//! There are no deviations. Guards, locks and joins need no special treatment, because only covered
//! runs are left out: a sleeping process is ready, and no independent step can change that.
//! Outcomes of `choose` are run one after the other, then the process sleeps as a whole.
//!
//! The number of states is not reduced, only the number of paths to each. So this is slower than
//! the engines that look for races, but simpler. Tests compare those engines with this one where
//! brute force takes too long.

use mazurka_core::{Execution, ProcessId};

use crate::Policy;
use crate::algorithms::path::Path;

/// The policy that uses only sleep sets.
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
    const SEPARATES: bool = true;
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
