//! A machine that records the path of each of its steps.
//!
//! This is concolic execution as in section 4 of the guarded-command paper, which produces a label
//! for each step. A listener records the path while the step runs, so a machine without labels is
//! not slower.

use mazurka_core::{
    Access, Claims, Event, Execution, Fingerprint, Labelled, Mishap, Patience, ProcessId,
    ProcessTable, Promises, Status, StepError, Wait, add_claim,
};

use crate::check::hir::{Expr, ExprKind, Place};
use crate::code::numbers;
use crate::code::{Action, Code, LabelPart, Op, Range};
use crate::run::machine::Machine;
use crate::run::{ConcreteContext, Listener};
use crate::tell::pretty::Scope;

/// A [`Machine`] whose steps have labels.
///
/// ```
/// # use std::sync::Arc;
/// use mazurka_core::{Execution, Labelled, ProcessId};
/// let source = "var x: int = 0 process { x := 1 } process { x := 2 <| x == 0 |> x := 3 }";
/// let program = mazurka_lang::load(source, &[]).unwrap();
/// let code = Arc::new(mazurka_lang::compile(&program, source).unwrap());
/// let machine = mazurka_lang::Machine::new(code, 1_000_000);
/// let mut machine = mazurka_lang::LabelledMachine::new(machine);
/// let mut path_of_choice = |before: &[u32]| {
///     machine.back_to(0);
///     before.iter().for_each(|&p| { machine.step(ProcessId(p), &[]).unwrap(); });
///     machine.step(ProcessId(1), &[]).unwrap();
///     machine.path(before.len())
/// };
/// assert_ne!(path_of_choice(&[]), path_of_choice(&[0]));
/// ```
#[derive(Clone, Debug)]
pub struct LabelledMachine {
    machine: Machine,
    /// The data of each event of the run. Further entries belong to steps that were taken back;
    /// they are kept to reuse their memory.
    trails: Vec<Trail>,
    /// Whether to record the variables that labels name.
    names: bool,
}

impl LabelledMachine {
    /// Makes a labelled machine that has made no step yet.
    pub fn new(mut machine: Machine) -> Self {
        machine.back_to(0);
        Self {
            machine,
            trails: Vec::new(),
            names: false,
        }
    }

    /// Returns the machine without labels.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// See [`Machine::set_patience`].
    pub fn set_patience(&mut self, patience: Patience) {
        self.machine.set_patience(patience);
    }

    /// Returns a machine that also records the variables that labels name, for [`Labelled::named`].
    pub fn with_names(self) -> Self {
        Self {
            names: true,
            ..self
        }
    }
}

/// The data that the listener collected from a step.
#[derive(Clone, Debug)]
struct Trail {
    /// The fingerprint of the conditions with their results, then of the places where the
    /// processes rest.
    path: Fingerprint,
    /// Whether the step evaluated the condition of a branch.
    branches: bool,
    /// The variables that the label names, if `names` is set.
    named: Claims,
    /// Whether to record `named`.
    names: bool,
}

impl Listener for Trail {
    const LISTENS: bool = true;

    fn on_instruction(&mut self, code: &Code, pc: u32, context: ConcreteContext<'_>) {
        let held = match code.ops[pc as usize] {
            Op::JumpIfFalse(_) if code.branches.contains(&pc) => {
                Some(context.operands.last() != Some(&0))
            }
            Op::JumpUnlessLess {
                slots: [a, b],
                unsigned,
                ..
            } => {
                let (a, b) = (context.locals[a as usize], context.locals[b as usize]);
                let less = crate::code::Compare::Lt;
                Some(numbers::compare(less, unsigned, a, b))
            }
            _ => None,
        };
        if let Some(held) = held {
            // The test of a `for` is part of the path, but it does not count as a branch.
            self.branches |= matches!(code.ops[pc as usize], Op::JumpIfFalse(_));
            self.path = self.path.then(2 * u64::from(pc) + u64::from(held));
        }
        if self.names
            && let Some(note) = code.notes.get(&pc)
        {
            let scope = Scope {
                code,
                layout: &code.layouts[code.bodies[pc as usize] as usize],
                locals: context.locals,
            };
            let mut name = |expr: &Expr| add_variables(&mut self.named, &scope, expr);
            each_expr(note, &mut name);
        }
    }
}

/// Calls `visit` on the expressions of a part of a label, including those that the step does not
/// evaluate.
fn each_expr(note: &LabelPart, visit: &mut impl FnMut(&Expr)) {
    match note {
        LabelPart::Guard(test) | LabelPart::Test(test) => visit(test),
        LabelPart::Action(action, _) => match action {
            Action::Assign(places, values) => {
                places.iter().filter_map(Place::index).for_each(&mut *visit);
                values.iter().for_each(visit);
            }
            Action::Let(_, values) | Action::Call(_, values) => values.iter().for_each(visit),
            Action::Lock(_, _, index) => index.iter().for_each(visit),
            Action::Assert(_, test) => visit(test),
            Action::For(_, from, to) => [from, to].into_iter().for_each(visit),
            Action::Spawn | Action::Join(_) | Action::Choose => {}
        },
        LabelPart::Read | LabelPart::Write => {}
    }
}

/// Adds the variables of an expression: vars(e) of the paper. An access to an array adds one
/// element if the locals determine the index, else the whole array.
fn add_variables(named: &mut Claims, scope: &Scope<'_>, expr: &Expr) {
    let code = scope.code;
    let range = |var: crate::check::hir::VarId| Range {
        first: code.first_cells[var.0 as usize],
        len: code.program.vars[var.0 as usize].len.unwrap_or(1),
    };
    expr.walk(&mut |e| match &e.kind {
        ExprKind::Shared(var) => add_claim(named, Access::read(range(*var).first)),
        ExprKind::Element(var, index) => {
            let Range { first, len } = range(*var);
            match scope.known(index).and_then(|at| u32::try_from(at).ok()) {
                Some(at) if at < len => add_claim(named, Access::read(first + at)),
                _ => add_claim(named, Access::read(first).over(len)),
            }
        }
        _ => {}
    });
}

impl Promises for LabelledMachine {
    fn guards(&self) -> &[Access] {
        self.machine.guards()
    }
}

impl Execution for LabelledMachine {
    fn processes(&self) -> &ProcessTable {
        self.machine.processes()
    }

    fn status(&self, process: ProcessId) -> Status {
        self.machine.status(process)
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

    fn step(&mut self, process: ProcessId, outcomes: &[i64]) -> Result<&Event, StepError> {
        let at = self.machine.events().len();
        if !self.machine.is_alive(process) {
            return Err(StepError::NotReady);
        }
        if self.trails.len() == at {
            self.trails.push(Trail {
                path: Fingerprint::EMPTY,
                branches: false,
                named: Claims::new(),
                names: self.names,
            });
        }
        let trail = &mut self.trails[at];
        trail.path = Fingerprint::EMPTY;
        trail.branches = false;
        trail.named.clear();
        let made = self.machine.step_with(process, outcomes, trail);
        made.map_err(StepError::from)?;
        let event = &self.machine.events()[at];
        for rests in std::iter::once(&process).chain(&event.spawned) {
            trail.path = trail.path.then(self.machine.place(*rests));
        }
        if trail.names {
            for &access in &event.touched {
                add_claim(&mut trail.named, access);
            }
        }
        Ok(event)
    }

    fn events(&self) -> &[Event] {
        self.machine.events()
    }

    fn back_to(&mut self, depth: usize) {
        self.machine.back_to(depth);
    }

    fn initial_mishaps(&self) -> &[Mishap] {
        self.machine.initial_mishaps()
    }

    fn counts(&self, failure: &Mishap) -> bool {
        self.machine.counts(failure)
    }

    fn final_mishaps(&self) -> Vec<Mishap> {
        self.machine.final_mishaps()
    }

    fn observation(&self) -> Fingerprint {
        self.machine.observation()
    }
}

impl Labelled for LabelledMachine {
    fn path(&self, at: usize) -> Fingerprint {
        self.trails[at].path
    }

    fn branches(&self, at: usize) -> bool {
        self.trails[at].branches || !self.machine.events()[at].outcomes.is_empty()
    }

    fn named(&self, at: usize) -> &[Access] {
        &self.trails[at].named
    }

    fn claims_fixed(&self, process: ProcessId) -> bool {
        let code = self.machine.code();
        let step = self.machine.resting(process);
        step.is_none_or(|step| code.steps[step as usize].fixed.is_some())
    }
}
