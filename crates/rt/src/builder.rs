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

/// Everything that can happen, as far as it was explored.
#[derive(Clone, Debug)]
pub struct Outcomes<T> {
    /// What the closure can return, in the order of discovery.
    pub results: Vec<T>,
    /// The executions that are really different.
    pub executions: u64,
    /// Those of them that end in a deadlock.
    pub deadlocks: u64,
    /// Panics, each with its past.
    pub failures: u64,
    /// The bounds that were hit; if there are none, this is all.
    pub bounds: Vec<Bound>,
}

impl Builder {
    /// Explores everything and collects what the closure returns, without failing.
    pub fn outcomes<T, F>(&self, f: F) -> Outcomes<T>
    where
        T: PartialEq + 'static,
        F: Fn() -> T + Send + Sync + 'static,
    {
        hook::install();
        let results: Rc<std::cell::RefCell<Vec<T>>> = Rc::default();
        let last: Rc<std::cell::Cell<Option<T>>> = Rc::default();
        let slot = last.clone();
        let body = Rc::new(move || slot.set(Some(f())));
        let mut simulator = Simulator::new(body, self.stack_size, self.spins);
        let known = results.clone();
        simulator.observe = Some(Rc::new(move || {
            let Some(result) = last.take() else {
                return u64::MAX;
            };
            let mut known = known.borrow_mut();
            let at = known.iter().position(|other| *other == result);
            at.unwrap_or_else(|| {
                known.push(result);
                known.len() - 1
            }) as u64
        }));
        let found = self.search(&mut simulator, Goal::Everything);
        drop(simulator);
        let results = Rc::try_unwrap(results).map_or(Vec::new(), |results| results.into_inner());
        Outcomes {
            results,
            executions: found.counts.traces.unwrap_or(found.counts.executions),
            deadlocks: found.counts.deadlocks,
            failures: found.counts.failures,
            bounds: found.bounds,
        }
    }
}

pub fn model<F: Fn() + Send + Sync + 'static>(f: F) {
    Builder::new().check(f);
}
