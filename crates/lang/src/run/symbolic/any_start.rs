//! [`AnyStart`]: the steps of one recorded run as a separate program. The steps of each process
//! keep their order and their paths, but the processes may interleave differently, and the initial
//! values are unknown.
//!
//! Guarded-command paper, Examples 7 and 11: the path condition of a permutation says from which
//! initial states it is executable.
//!
//! An explorer visits the permutations of the run. A step is possible if the path condition after
//! it is satisfiable.

use mazurka_core::record::Binding;
use mazurka_core::{
    Access, Claims, Event, Execution, Fingerprint, Labelled, Mishap, ProcessId, ProcessTable,
    Promises, Status, StepError, Wait,
};
use mazurka_smt::{Answer, Term};

use super::logic::sort_of;
use super::{DecidedPath, Doubts, Life, SymbolicMachine};

/// A recorded step.
#[derive(Clone, Debug)]
pub(super) struct Recorded {
    pub outcomes: Vec<i64>,
    pub path: DecidedPath,
    /// The claims of the step in the recorded run.
    pub claims: Claims,
}

/// A recorded run, as the steps of each process. They can be made in other orders and from other
/// initial values.
#[derive(Debug)]
pub struct AnyStart {
    machine: SymbolicMachine,
    steps: Vec<Vec<Recorded>>,
    /// For each prefix of the run, the status of each process after it.
    statuses: Vec<Vec<Status>>,
    /// Whether some step has claimed other elements than in the recorded run.
    varies: bool,
}

/// The initial values from which a run is executable, and the result of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlook {
    condition: Term,
    observed: Vec<Term>,
}

/// Whether two runs from the same initial values may end differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Disagreement {
    /// The two runs always end equally.
    Never,
    /// The two runs end differently from some initial values.
    When {
        /// The condition on these initial values.
        condition: String,
        /// An example.
        example: Vec<Binding>,
    },
    /// The solver cannot decide whether they can end differently.
    Unknown(String),
}

impl AnyStart {
    /// `steps`: the recorded steps of each process.
    pub(super) fn new(mut machine: SymbolicMachine, steps: Vec<Vec<Recorded>>) -> Self {
        machine.back_to(0);
        let mut this = Self {
            machine,
            steps,
            statuses: Vec::new(),
            varies: false,
        };
        this.store_statuses();
        this
    }

    /// Whether from other initial values the steps claim other elements or acquire other locks. If
    /// so, the results are not valid.
    pub fn varies(&self) -> bool {
        self.varies || self.machine.selects
    }

    /// Returns what the solver could not decide.
    pub fn doubts(&self) -> Doubts {
        self.machine.doubts()
    }

    fn next(&self, process: ProcessId) -> Option<&Recorded> {
        let made = self.machine.state.processes.get(process.index())?;
        let made = made.registers.steps as usize;
        self.steps.get(process.index())?.get(made)
    }

    /// Stores the status of each process in the current state.
    fn store_statuses(&mut self) {
        let depth = self.machine.events().len();
        let mut statuses = Vec::with_capacity(self.machine.table.len());
        for process in (0..self.machine.table.len() as u32).map(ProcessId) {
            let status = match self.machine.life(process) {
                Life::Unborn => Status::Unborn,
                Life::Ended => Status::Ended,
                Life::Failed => Status::Failed,
                Life::Discarded => Status::Discarded,
                Life::Lost => Status::Lost,
                Life::Alive => {
                    let ready = self.try_step(process) && self.feasible();
                    self.machine.back_to(depth);
                    if ready {
                        Status::Ready
                    } else {
                        Status::Waiting
                    }
                }
            };
            statuses.push(status);
        }
        self.statuses.truncate(depth);
        self.statuses.push(statuses);
    }

    fn feasible(&self) -> bool {
        let condition = self.machine.condition();
        condition != Term::FALSE && self.machine.logic.borrow_mut().feasible(&[condition])
    }

    fn try_step(&mut self, process: ProcessId) -> bool {
        let Some(next) = self.next(process).cloned() else {
            return false;
        };
        let made = self.machine.step_along(process, &next.outcomes, &next.path);
        let claims = self.machine.events().last().map(|event| &event.claims);
        self.varies |= made.is_ok() && claims != Some(&next.claims);
        made.is_ok()
    }

    /// Returns the condition and the result of the current run.
    pub fn outlook(&self) -> Outlook {
        let code = &self.machine.code;
        let value = |&cell: &u32| {
            let mut logic = self.machine.logic.borrow_mut();
            let sort = sort_of(code.cell_type(cell));
            let term = logic.typed(self.machine.state.cells[cell as usize], sort);
            logic.terms.simplify(term)
        };
        Outlook {
            condition: self.machine.condition(),
            observed: code.observed.iter().map(value).collect(),
        }
    }

    /// Returns the condition on the initial values under which a run is executable.
    pub fn condition(&self, outlook: &Outlook) -> String {
        self.machine.show_term(outlook.condition)
    }

    /// Returns the observed variables at the end of a run, as terms over the initial values.
    pub fn state(&self, outlook: &Outlook) -> Vec<Binding> {
        let code = &self.machine.code;
        let cells = code.observed.iter().zip(&outlook.observed);
        let bind = |(&cell, &term): (&u32, &Term)| Binding {
            name: code.cell_name(cell),
            value: self.machine.show(term, code.cell_type(cell)),
        };
        cells.map(bind).collect()
    }

    /// Returns the observed values at the end of a run from these initial values (one value for
    /// each cell). Returns `None` if the initial values lead to numbers beyond 64 bits, and
    /// `Some(None)` if the run is not executable from them.
    pub fn observe(&self, outlook: &Outlook, cells: &[i64]) -> Option<Option<Vec<i64>>> {
        if self.machine.value(outlook.condition, cells)? == 0 {
            return Some(None);
        }
        let each = outlook.observed.iter();
        let values: Option<_> = each.map(|&term| self.machine.value(term, cells)).collect();
        values.map(Some)
    }

    /// Determines the initial values from which two runs are both executable and end differently.
    pub fn disagreement(&self, one: &Outlook, other: &Outlook) -> Disagreement {
        let mut logic = self.machine.logic.borrow_mut();
        let pairs = one.observed.iter().zip(&other.observed);
        let differ: Vec<Term> = pairs
            .filter(|(a, b)| a != b)
            .map(|(&a, &b)| logic.terms.unequal(a, b))
            .collect();
        let differ = logic.terms.any(differ);
        let all = [one.condition, other.condition, differ];
        let Some(all) = logic.terms.simplify_all(&all) else {
            return Disagreement::Never;
        };
        let condition = logic.terms.all(all);
        let model = match logic.ask(&[condition]) {
            Answer::Sat(model) => model,
            Answer::Unsat => return Disagreement::Never,
            Answer::Unknown(why) => return Disagreement::Unknown(why.to_string()),
        };
        let code = &self.machine.code;
        let variables = super::state::initial_cells(code, &mut logic);
        let cells = variables[..code.first_lock as usize].iter().enumerate();
        let example = cells.filter_map(|(cell, &variable)| {
            let value = model.get(variable)?;
            Some(Binding {
                name: code.cell_name(cell as u32),
                value: code.program.show(value, code.cell_type(cell as u32)),
            })
        });
        Disagreement::When {
            example: example.collect(),
            condition: logic.terms.show(condition),
        }
    }
}

impl Promises for AnyStart {
    fn guards(&self) -> &[Access] {
        self.machine.guards()
    }
}

impl Execution for AnyStart {
    fn processes(&self) -> &ProcessTable {
        self.machine.processes()
    }

    fn status(&self, process: ProcessId) -> Status {
        let here = self.statuses.last();
        let status = here.and_then(|here| here.get(process.index()));
        status.copied().unwrap_or(Status::Unborn)
    }

    fn is_final(&self) -> bool {
        self.machine.is_final()
    }

    fn claims(&self, process: ProcessId, into: &mut Claims) {
        self.machine.claims(process, into);
    }

    fn wait(&self, process: ProcessId) -> Wait {
        self.machine.wait(process)
    }

    fn step(&mut self, process: ProcessId, _outcomes: &[i64]) -> Result<&Event, StepError> {
        if self.status(process) != Status::Ready || !self.try_step(process) {
            return Err(StepError::NotReady);
        }
        self.store_statuses();
        let last = self.machine.events().len() - 1;
        Ok(&self.machine.events()[last])
    }

    fn events(&self) -> &[Event] {
        self.machine.events()
    }

    fn back_to(&mut self, depth: usize) {
        self.machine.back_to(depth);
        self.statuses.truncate(depth + 1);
    }

    fn initial_mishaps(&self) -> &[Mishap] {
        &[]
    }

    fn final_mishaps(&self) -> Vec<Mishap> {
        Vec::new()
    }

    fn observation(&self) -> Fingerprint {
        self.machine.observation()
    }
}

impl Labelled for AnyStart {
    /// The path of a recorded step is fixed, so all steps have the same fingerprint.
    fn path(&self, _at: usize) -> Fingerprint {
        Fingerprint::EMPTY
    }

    fn branches(&self, _at: usize) -> bool {
        false
    }

    fn named(&self, _at: usize) -> &[Access] {
        &[]
    }

    fn claims_fixed(&self, _process: ProcessId) -> bool {
        true
    }
}
