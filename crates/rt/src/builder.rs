//! How to explore a closure.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::time::Duration;

use mazurka_core::{Bound, Limits};
use mazurka_explore::{Algorithm, Findings, Goal, search};

use crate::hook;
use crate::simulate::{Simulator, Stop};

#[derive(Clone, Debug)]
pub struct Builder {
    pub max_depth: Option<u64>,
    pub max_steps: Option<u64>,
    pub max_executions: Option<u64>,
    pub time_limit: Option<Duration>,
    pub spins: u32,
    pub stack_size: usize,
    pub algorithm: Algorithm,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            max_depth: None,
            max_steps: None,
            max_executions: None,
            time_limit: None,
            spins: 0,
            stack_size: 256 * 1024,
            algorithm: Algorithm::Optimal,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Summary {
    pub executions: u64,
    pub blocked: u64,
    pub bounds: Vec<Bound>,
}

impl Builder {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn check<F: Fn() + Send + Sync + 'static>(&self, f: F) -> Summary {
        hook::install();
        let mut simulator = Simulator::new(Rc::new(f), self.stack_size, self.spins);
        let found = self.search(&mut simulator, Goal::Verdict { deterministic: false });
        if let Some(finding) = found.failures.first() {
            let failure = simulator.failure(finding.mishap.unwrap());
            panic!("{} at {}\n{}", failure.message, failure.place, finding.schedule);
        }
        if let Some(d) = &found.deadlock {
            panic!("deadlock {}", d.schedule);
        }
        Summary {
            executions: found.counts.executions,
            blocked: found.counts.blocked,
            bounds: found.bounds,
        }
    }

    fn search(&self, simulator: &mut Simulator, goal: Goal) -> Findings {
        let limits = Limits {
            depth: self.max_depth,
            steps: self.max_steps,
            executions: self.max_executions,
            time: self.time_limit,
            ..Limits::default()
        };
        loop {
            let run = AssertUnwindSafe(|| {
                search(
                    simulator,
                    self.algorithm,
                    &limits,
                    goal,
                    &mut |_| ControlFlow::Continue(()),
                    &mut (),
                )
            });
            match catch_unwind(run) {
                Ok(found) => return found,
                Err(payload) => match payload.downcast::<Stop>() {
                    Ok(stop) => match *stop {
                        Stop::Restart => simulator.start_anew(),
                        Stop::Diverged(how) => panic!("diverged: {how}"),
                    },
                    Err(other) => resume_unwind(other),
                },
            }
        }
    }
}

pub fn model<F: Fn() + Send + Sync + 'static>(f: F) {
    Builder::new().check(f);
}
