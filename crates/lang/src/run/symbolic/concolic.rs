//! Concolic runs: the decisions of the run follow from concrete initial values, and the values of
//! the variables are terms over symbolic initial values. From such a run follows the condition
//! under which the same steps are possible.

use std::sync::Arc;

use mazurka_core::record::Binding;
use mazurka_core::{
    Event, Execution, Mishap, MishapKind, Patience, Schedule, ScheduledStep, StepError,
};
use mazurka_smt::{Deadline, Effort, Embedded, Solver};

use super::any_start::{AnyStart, Recorded};
use super::logic::Logic;
use super::state::initial_cells_until;
use super::{DecidedPath, SymbolicMachine};
use crate::code::Code;
use crate::code::compile::compile_symbolic;
use crate::code::fault::{Fault, Site};

/// Limit on the number of conflicts that the solver spends on one query. There is a query for every
/// prefix of every permutation, so no query may take long. The result reports queries that were
/// given up.
const CONFLICTS: u64 = 2_000;

/// Whether a step was broken off, according to its mishaps.
fn is_broken_off(mishaps: &[Mishap]) -> bool {
    let mut kinds = mishaps.iter().map(|mishap| mishap.kind);
    kinds.any(|kind| kind == MishapKind::BrokenOff)
}

/// A step of the run that the machine has followed.
#[derive(Clone, Debug)]
struct Followed {
    step: ScheduledStep,
    path: DecidedPath,
}

/// Follows runs of a program from its own initial values, and computes the condition on the initial
/// values under which a run would be the same: path(θ).
///
/// ```
/// # use std::sync::Arc;
/// let source = "var x: int = 0 var flag: bool = true
///     process { x := x + 1; flag |> skip } process { x == 1 |> skip }";
/// let program = mazurka_lang::load(source, &[]).unwrap();
/// let code = mazurka_lang::compile(&program, source).unwrap();
/// let mut concolic = mazurka_lang::Concolic::new(&code, 1_000_000);
/// concolic.follow(&"0 0 1".parse().unwrap()).unwrap();
/// assert_eq!(concolic.path_condition(), "flag && x == 0");
/// assert_eq!(concolic.state()[0].value, "x + 1");
/// ```
#[derive(Debug)]
pub struct Concolic {
    machine: SymbolicMachine,
    run: Vec<Followed>,
}

impl Concolic {
    /// Makes a machine before its first step. `max_local`: the most jumps and calls in one step.
    pub fn new(code: &Code, max_local: u64) -> Self {
        Self::until(code, max_local, Patience::default())
    }

    /// Makes a machine like `new`, with a limit on the time of a step. It cannot follow a run with
    /// a longer step.
    pub fn until(code: &Code, max_local: u64, patience: Patience) -> Self {
        Self::with_solver(code, max_local, None, patience)
    }

    /// Makes a machine like `new`, with a solver for [`from_any_start`](Self::from_any_start).
    pub fn solving(code: &Code, max_local: u64) -> Self {
        Self::solving_until(code, max_local, Deadline::default(), Patience::default())
    }

    /// Makes a machine like `solving`, with a solver that gives up at the deadline.
    pub fn solving_until(
        code: &Code,
        max_local: u64,
        deadline: Deadline,
        patience: Patience,
    ) -> Self {
        let effort = Effort {
            conflicts: CONFLICTS,
            deadline,
            ..Effort::default()
        };
        let solver = Box::new(Embedded::new(effort));
        Self::with_solver(code, max_local, Some(solver), patience)
    }

    fn with_solver(
        code: &Code,
        max_local: u64,
        solver: Option<Box<dyn Solver>>,
        patience: Patience,
    ) -> Self {
        let mut program = (*code.program).clone();
        for var in &mut program.vars {
            var.init = None;
        }
        let symbolic = compile_symbolic(&program, &code.source, false);
        let mut logic = Logic::new(solver);
        let (cells, all) = initial_cells_until(&symbolic, &mut logic, &patience);
        let start = (logic.shared(), cells);
        let mut machine =
            SymbolicMachine::with_cells(Arc::new(symbolic), max_local, start, patience, None);
        if all {
            machine.start_from(&code.initial[..code.first_lock as usize])
        } else {
            machine.initial.push(Mishap {
                process: None,
                kind: MishapKind::BrokenOff,
                site: Site::At {
                    pc: 0,
                    fault: Fault::BrokenOff,
                }
                .encode(),
            })
        }
        Self {
            machine,
            run: Vec::new(),
        }
    }

    /// Follows a run. The prefix that it shares with the last run is not repeated. An error means
    /// that the run cannot be followed over terms, for example because of a `choose` between
    /// unknown bounds, a number beyond 64 bits, or a step that was broken off. The program itself
    /// need not have failed.
    pub fn follow(&mut self, schedule: &Schedule) -> Result<(), StepError> {
        let pairs = self.run.iter().zip(&schedule.0);
        let same = pairs
            .take_while(|(followed, step)| followed.step == **step)
            .count();
        self.run.truncate(same);
        self.machine.back_to(same);
        if is_broken_off(self.machine.initial_mishaps()) {
            return Err(StepError::NotReady);
        }
        for step in &schedule.0[same..] {
            let process = self.machine.processes().find(&step.process);
            let process = process.ok_or(StepError::NotReady)?;
            let path = self.machine.step_from(process, &step.outcomes)?;
            if is_broken_off(&self.machine.events()[self.run.len()].mishaps) {
                self.machine.back_to(self.run.len());
                return Err(StepError::NotReady);
            }
            self.run.push(Followed {
                step: step.clone(),
                path,
            });
        }
        Ok(())
    }

    /// Returns the steps of the run, to be made in any order and from any initial values. `events`:
    /// the events of the run from the initial values of the program.
    pub fn from_any_start(self, events: &[Event]) -> AnyStart {
        let processes = self.machine.processes().len();
        let mut steps: Vec<Vec<Recorded>> = vec![Vec::new(); processes];
        let pairs = self.machine.events().iter().zip(events);
        for ((made_event, event), followed) in pairs.zip(self.run) {
            steps[made_event.process.index()].push(Recorded {
                outcomes: followed.step.outcomes.to_vec(),
                path: followed.path,
                claims: event.claims.clone(),
            });
        }
        AnyStart::new(self.machine, steps)
    }

    /// Returns path(θ), the condition on the initial values under which the run would be the same.
    pub fn path_condition(&self) -> String {
        self.machine.show_term(self.machine.condition())
    }

    /// Whether the run would be the same from these initial values, one for each cell; `None` if
    /// they lead to numbers beyond 64 bits.
    pub fn holds(&self, cells: &[i64]) -> Option<bool> {
        self.machine.holds(cells)
    }

    /// Returns the shared variables at the end of the run, over the initial values.
    pub fn state(&self) -> Vec<Binding> {
        self.machine.substitution()
    }
}
