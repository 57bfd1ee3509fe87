//! A program in the middle of a run with symbolic values: the SymPaths paper's ⟨σ, φ, Σ⟩.
//!
//! "SymPaths: Symbolic Execution Meets Partial Order Reduction", section 3.3.
//!
//! | paper | here |
//! |---|---|
//! | σ | [`SymbolicState`]'s cells and locals: terms over initial values and inputs |
//! | φ, path condition ⌈φ⌉ | the events of the run; [`SymbolicMachine::path_condition`] |
//! | Σ | the processes, [`Symbolic::pool`] |
//! | COND, WHILE: two symbolic states | one step with two outcomes, see [`domain`] |
//!
//! Deviations:
//! - A decision about an unknown condition is an *outcome* of the step, like the value of a
//!   `choose`. So every explorer works unchanged. A side is an outcome only if the solver finds it
//!   feasible. A side that the solver cannot decide becomes a doubt, and if both sides are
//!   undecided, the process halts. A condition that is not constant always adds an outcome, even if
//!   only one side is feasible: terms are the same in equivalent runs (Corollary 3), but
//!   feasibility depends on all earlier decisions.
//! - A guard may hold for some values only. For these the process continues; section 6.3 of the
//!   paper considers only this case. For the other values the process waits. So the step has a
//!   second outcome, in which the process *stays*: only the path condition changes. Afterwards the
//!   process waits until a cell that its step may touch has another value, or until the process
//!   that it joins has ended. For each valuation of the unknowns this is a concrete program whose
//!   processes sometimes test a closed guard.
//! - The local work of a process before its first step may depend on an input. If so, this work is
//!   a separate step without accesses. These steps come before all other steps, in the order of the
//!   processes.
//! - For nets, the local work after the access of a step is split at a condition over inputs
//!   ([`SymbolicMachine::with_branches_apart`]): the process *rests* before the condition, and
//!   deciding it is a separate step.
//! - The element that an unknown index selects is a term over all elements of the array, and the
//!   access claims the whole array. Whether two such accesses overlap depends on the path (section
//!   6.1); [`apart`](mazurka_core::Symbolic::apart) decides this for `symbolic`. Other explorers
//!   know only the claims; for them arrays are split ([`SymbolicMachine::with_arrays_split`]).

mod any_start;
mod beside;
mod choose;
mod compare;
mod concolic;
mod condition;
mod decide;
mod domain;
mod guide;
mod logic;
mod property;
mod reached;
mod results;
mod split;
mod starts;
mod state;
mod tell;
mod weak;

use decide::Possible;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use mazurka_core::{
    Access, AccessKind, Claims, Event, Execution, Fingerprint, Mishap, MishapKind, Patience,
    ProcessId, ProcessTable, Promises, Semantics, Status, StepError, Symbolic, Wait, add_claim,
};
use mazurka_smt::{Solver, Term};

pub use any_start::{AnyStart, Disagreement, Outlook};
pub use concolic::Concolic;
use domain::{Cause, RestsBefore, StepEnd, TermDomain};
pub use guide::DecidedPath;
use guide::Guide;
pub use logic::Doubts;
use logic::Logic;
use property::KnownIndex::{Failed, Known};
pub use reached::LastStep;
pub use results::{Agreement, Valuation};
pub use state::SymbolicState;
use state::{Decisions, SymbolicProcess, WaitReason, initial_cells};
pub use tell::{Concrete, Observed};

use crate::code::fault::Site;
use crate::code::{Claim, Code, Op, Waits};
use crate::run::state::{Life, Registers};
use crate::run::{Cpu, Fuel, Log, Obstacle, Reached, Recorder, StepInProgress, Undo};

/// The data needed to take back a step: the registers of its process, and the lengths of the lists
/// and the counts before the step.
#[derive(Clone, Copy, Debug)]
struct StepUndo {
    process: ProcessId,
    registers: Registers,
    decisions: Decisions,
    undo: usize,
    path: usize,
    causes: usize,
    inputs_read: usize,
    unfinished: usize,
    between_marks: usize,
    /// Whether the step was only local work: the work before the first step, or the work after a
    /// condition before which the process rested.
    local: bool,
}

/// A program in the middle of a run with symbolic values: the state over terms, the path condition,
/// and a log to undo steps. Explorers drive it forwards and backwards, as an [`Execution`].
///
/// ```
/// use std::sync::Arc;
/// use mazurka_core::{Execution, ProcessId};
///
/// let source = "var x: int; process { if x > 3 { x := x + 1 } }";
/// let program = mazurka_lang::load(source, &[]).unwrap();
/// let code = Arc::new(mazurka_lang::compile_symbolic(&program, source, false));
/// let mut machine = mazurka_lang::SymbolicMachine::new(code, 1_000_000, None);
/// machine.step(ProcessId(0), &[1]).unwrap();
/// machine.step(ProcessId(0), &[]).unwrap();
/// assert_eq!(machine.path_condition(), ["x > 3"]);
/// assert_eq!(machine.substitution()[0].value, "x + 1");
/// ```
#[derive(Debug)]
pub struct SymbolicMachine {
    code: Arc<Code>,
    /// The original program, for runs with concrete values. It differs from `code` if arrays are
    /// split.
    original: Arc<Code>,
    logic: Rc<RefCell<Logic>>,
    state: SymbolicState,
    table: ProcessTable,
    /// The events of the run, then events of steps that were taken back, to reuse their memory.
    run: Vec<Event>,
    taken: Vec<StepUndo>,
    undo: Vec<Undo<Term>>,
    causes: Vec<Cause>,
    /// The inputs that the run has read: the process, the index of the input in the process, and
    /// its term.
    inputs_read: Vec<(ProcessId, u32, Term)>,
    operands: Vec<Term>,
    dirty: Vec<u32>,
    initial: Vec<Mishap>,
    guards: Claims,
    /// The number of processes that have started and not ended.
    unfinished: usize,
    /// The number of processes that are between two marks: their local work depends on inputs and
    /// is a separate step, before their first step or after a resting place.
    between_marks: usize,
    max_local: u64,
    patience: Patience,
    /// For each access of the last step whose index is unknown, the number that [`Logic`] gives to
    /// the term of the index; `None` for other accesses.
    indices: Vec<Option<u32>>,
    /// Whether steps stop at the first unknown condition.
    probing: bool,
    /// Whether even constant tests have two sides.
    literal: bool,
    /// Whether a process that is between two marks may do this local work at any time, and not only
    /// before all other steps.
    any_order: bool,
    /// The conditions before which processes rest.
    rests_before: RestsBefore,
    /// The decision procedure for unknown conditions, if there is one.
    guide: Option<Guide>,
    /// The initial values, if they are known although the terms are symbolic.
    values: Option<mazurka_smt::Evaluator>,
    /// Whether a step along a recorded path acquired a lock that an unknown index selects.
    selects: bool,
    /// A machine to try steps on.
    trial: RefCell<Option<Box<SymbolicMachine>>>,
    /// Records the instructions that steps pass, if the search needs coverage.
    recorder: Option<Recorder>,
}

impl SymbolicMachine {
    /// Makes a machine in the initial state: a variable without an initial value is symbolic, and
    /// the `requires` of the program hold. Without a solver, every side of a condition that is not
    /// constant counts as feasible.
    pub fn new(code: Arc<Code>, max_local: u64, solver: Option<Box<dyn Solver>>) -> Self {
        Self::until(code, max_local, solver, Patience::default(), None)
    }

    /// Makes a machine like `new`, which breaks off a long step when the search no longer waits.
    /// Such a step ends with a mishap, and the state after it has no meaning. `reached` records the
    /// instructions that processes pass.
    pub fn until(
        code: Arc<Code>,
        max_local: u64,
        solver: Option<Box<dyn Solver>>,
        patience: Patience,
        reached: Option<Arc<Reached>>,
    ) -> Self {
        let mut logic = Logic::new(solver);
        let cells = initial_cells(&code, &mut logic);
        Self::with_cells(code, max_local, (logic.shared(), cells), patience, reached)
    }

    /// Makes a machine like `until`, with these terms as the initial values of the cells.
    fn with_cells(
        code: Arc<Code>,
        max_local: u64,
        (logic, cells): (Rc<RefCell<Logic>>, Vec<Term>),
        patience: Patience,
        reached: Option<Arc<Reached>>,
    ) -> Self {
        let zero = logic.borrow_mut().constant(0);
        let entries = code.processes.iter();
        let processes = entries.map(|entry| SymbolicProcess::new(entry.pc, entry.frame, zero));
        let state = SymbolicState {
            cells,
            processes: processes.collect(),
            path: Vec::new(),
        };
        let table = ProcessTable::new(code.processes.len() as u32);
        let mut machine = Self {
            patience,
            recorder: reached.map(Recorder::new),
            ..Self::at(code, logic, state, table, max_local)
        };
        machine.start();
        machine.check_starts();
        machine
    }

    /// Follows both sides of every test, even of a constant one, as the rules COND and WHILE of the
    /// paper say.
    pub fn literally(mut self) -> Self {
        self.literal = true;
        self
    }

    /// Makes a machine in this state, without earlier events.
    fn at(
        code: Arc<Code>,
        logic: Rc<RefCell<Logic>>,
        state: SymbolicState,
        table: ProcessTable,
        max_local: u64,
    ) -> Self {
        Self {
            guards: guards_of(&code),
            original: Arc::clone(&code),
            code,
            logic,
            state,
            table,
            run: Vec::new(),
            taken: Vec::new(),
            undo: Vec::new(),
            causes: Vec::new(),
            inputs_read: Vec::new(),
            operands: Vec::new(),
            dirty: Vec::new(),
            initial: Vec::new(),
            unfinished: 0,
            between_marks: 0,
            max_local,
            patience: Patience::default(),
            indices: Vec::new(),
            probing: false,
            literal: false,
            any_order: false,
            rests_before: RestsBefore::Nothing,
            guide: None,
            values: None,
            selects: false,
            trial: RefCell::new(None),
            recorder: None,
        }
    }

    /// Runs a process to its next mark and fills in its event. `step` is false for local work
    /// before the first step or after a resting place.
    fn run_to_mark(
        &mut self,
        process: ProcessId,
        event: &mut Event,
        outcomes: &[i64],
        step: bool,
    ) -> Result<(), Obstacle> {
        let SymbolicState {
            cells,
            processes,
            path,
        } = &mut self.state;
        self.indices.clear();
        let rests = processes[process.index()].extra.rests.take();
        let operand = rests.and_then(|rests| rests.operand);
        let mut cpu = Cpu {
            code: &self.code,
            domain: &mut TermDomain {
                logic: &mut self.logic.borrow_mut(),
                path,
                causes: &mut self.causes,
                probing: self.probing,
                literal: self.literal,
                guide: &mut self.guide,
                indices: &mut self.indices,
                inputs_read: &mut self.inputs_read,
                maybe_written: Vec::new(),
                resting: StepEnd::new(self.rests_before, !step, operand),
            },
            step: &mut StepInProgress {
                event,
                outcomes,
                fuel: Fuel::new(rests.map_or(self.max_local, |rests| rests.fuel)),
                patience: &self.patience,
                log: Log::new(self.undo.len()),
                recorder: self.recorder.as_mut(),
            },
            cells,
            processes,
            table: &mut self.table,
            undo: &mut self.undo,
            operands: &mut self.operands,
            dirty: &mut self.dirty,
        };
        let mut result = if step {
            cpu.make_step(process)
        } else {
            cpu.start(process)
        };
        if step && result.is_ok() {
            result = cpu.check_invariants(process);
        }
        self.operands.clear();
        self.dirty.clear();
        if let Some(recorder) = &mut self.recorder {
            recorder.settle(result.is_ok());
        }
        result
    }

    /// Makes a step and adds its event to the run.
    fn advance(&mut self, process: ProcessId, outcomes: &[i64]) -> Result<(), Obstacle> {
        let depth = self.taken.len();
        let here = &self.state.processes[process.index()];
        let taken = StepUndo {
            process,
            registers: here.registers,
            decisions: here.extra,
            undo: self.undo.len(),
            path: self.state.path.len(),
            causes: self.causes.len(),
            inputs_read: self.inputs_read.len(),
            unfinished: self.unfinished,
            between_marks: self.between_marks,
            local: self.is_between_marks(process),
        };
        let local = taken.local;
        let mut event = match self.run.get_mut(depth) {
            Some(event) => std::mem::replace(event, Event::new(process, 0)),
            None => {
                self.run.push(Event::new(process, 0));
                Event::new(process, 0)
            }
        };
        event.reset(process, taken.registers.steps);
        let mut claims = std::mem::take(&mut event.claims);
        event.claims_key = self.claim(process, &mut claims);
        event.claims = claims;
        event.wait = self.wait(process);
        let result = self.run_to_mark(process, &mut event, outcomes, !local);
        self.taken.push(taken);
        match result {
            Ok(()) => {
                if local {
                    self.state.processes[process.index()].registers.steps += 1;
                    self.between_marks -= 1;
                }
                let moved = event.spawned.iter().copied().chain([process]);
                let between = moved.filter(|&moved| self.is_between_marks(moved));
                self.between_marks += between.count();
                self.state.processes[process.index()].extra.stayed = None;
                let ended = |p: &ProcessId| self.life(*p) == Life::Ended;
                let born = event.spawned.iter().filter(|p| !ended(p)).count();
                self.unfinished += born;
                self.unfinished -= usize::from(self.life(process) == Life::Ended);
                self.add_decided(process, taken.path);
            }
            // For some values of the variables the process must wait. The path condition now
            // restricts the run to these values.
            Err(Obstacle::Blocked { joins, .. })
                if self.state.path.len() > taken.path && self.guide.is_none() =>
            {
                self.undo_to(taken.undo);
                event.spawned.clear();
                event.joined.clear();
                // The start of a child is undone, and so are its mishaps.
                event.mishaps.clear();
                event.stayed = true;
                let seen = self.touched_values(process);
                let here = &mut self.state.processes[process.index()];
                here.registers = taken.registers;
                here.registers.steps += 1;
                here.extra = taken.decisions;
                here.extra.stayed = Some(WaitReason { seen, joins });
                self.add_decided(process, taken.path);
            }
            Err(stop) => {
                self.run[depth] = event;
                self.back_to(depth);
                return Err(stop);
            }
        }
        self.run[depth] = event;
        Ok(())
    }

    /// Adds the conditions of the path, from position `since` on, to the sum of the conditions that
    /// a process has decided.
    fn add_decided(&mut self, process: ProcessId, since: usize) {
        let mut logic = self.logic.borrow_mut();
        let decided = &mut self.state.processes[process.index()].extra.decided;
        for &condition in &self.state.path[since..] {
            *decided = decided.and(logic.print(condition).then(1));
        }
    }

    fn undo_to(&mut self, mark: usize) {
        for undo in self.undo.drain(mark..).rev() {
            match undo {
                Undo::Cell(cell, value) => self.state.cells[cell as usize] = value,
                Undo::Slot {
                    process,
                    slot,
                    value,
                } => self.state.processes[process as usize].stack[slot as usize] = value,
                // Registers are restored as a whole.
                Undo::Frame { .. } | Undo::Inputs { .. } => {}
                Undo::Born(child) => self.state.processes[child as usize].forget(),
            }
        }
    }

    fn life(&self, process: ProcessId) -> Life {
        let process = self.state.processes.get(process.index());
        process.map_or(Life::Unborn, |process| process.registers.life)
    }

    fn count_unfinished(&self) -> usize {
        let lives = self.state.processes.iter().map(|p| p.registers.life);
        lives
            .filter(|life| !matches!(life, Life::Unborn | Life::Ended))
            .count()
    }

    /// Whether a process is alive but not at a mark, so that its next step is only local work. Such
    /// work touches nothing shared, so it is done before all other steps, one process after the
    /// other (unless `any_order` is set).
    fn is_between_marks(&self, process: ProcessId) -> bool {
        self.life(process) == Life::Alive && self.resting(process).is_none()
    }

    fn count_between_marks(&self) -> usize {
        let all = (0..self.state.processes.len() as u32).map(ProcessId);
        all.filter(|&process| self.is_between_marks(process))
            .count()
    }

    /// Returns the step at which a process rests, if it is alive.
    fn resting(&self, process: ProcessId) -> Option<u32> {
        let registers = &self.state.processes.get(process.index())?.registers;
        match self.code.ops[registers.pc as usize] {
            Op::Mark(step) | Op::Open(step) if registers.life == Life::Alive => Some(step),
            _ => None,
        }
    }

    fn locals(&self, process: ProcessId) -> &[Term] {
        let process = &self.state.processes[process.index()];
        let r = &process.registers;
        &process.stack[r.frame as usize..r.top as usize]
    }

    /// Computes the claims of the next step of a process. Returns their key.
    fn claim(&self, process: ProcessId, into: &mut Claims) -> u32 {
        into.clear();
        let Some(step) = self.resting(process) else {
            return 0;
        };
        let code = &self.code;
        let info = &code.steps[step as usize];
        if let Some(fixed) = &info.fixed {
            into.extend_from_slice(fixed);
            return step + 1;
        }
        let logic = &mut *self.logic.borrow_mut();
        for claim in &info.claims {
            match *claim {
                Claim::Fixed(access) => add_claim(into, access),
                Claim::Element { kind, range, index } => {
                    let snippet = &code.snippets[index as usize];
                    let index = logic.local_expression(snippet, self.locals(process));
                    let cells = match index {
                        Some(Known(at)) if (0..i64::from(range.len)).contains(&at) => {
                            range.first + at as u32..range.first + at as u32 + 1
                        }
                        // An index that fails or is out of bounds touches nothing.
                        Some(Known(_)) | Some(Failed) => continue,
                        None => range.first..range.first + range.len,
                    };
                    let access = Access::new(kind, cells.start).over(cells.len() as u32);
                    add_claim(into, access);
                    if kind == AccessKind::Write {
                        for cell in cells {
                            for &watching in code.watched.get(cell as usize).into_iter().flatten() {
                                let cell = code.invariant_cell(watching);
                                add_claim(into, Access::write(cell));
                            }
                        }
                    }
                }
            }
        }
        into.sort_unstable();
        0
    }

    /// Returns a fingerprint of the values of the cells that the next step of a process may touch.
    fn touched_values(&self, process: ProcessId) -> Fingerprint {
        let mut claims = Claims::new();
        self.claim(process, &mut claims);
        let mut logic = self.logic.borrow_mut();
        let cells = claims.iter().flat_map(|access| access.cells());
        // The pseudo-cells of invariants have no values.
        let values = cells.filter_map(|cell| self.state.cells.get(cell));
        values.fold(Fingerprint::EMPTY, |all, &value| {
            all.then_all(logic.print(value))
        })
    }

    /// Whether a process that rests at this step can make it.
    fn can_step(&self, process: ProcessId, step: u32) -> bool {
        let possible = match self.code.steps[step as usize].waits {
            Waits::Never => Possible::Yes,
            Waits::Lock(cell) => {
                let owner = self.state.cells[cell as usize];
                match self.logic.borrow().known(owner) {
                    Some(0) => Possible::Yes,
                    _ => Possible::No,
                }
            }
            Waits::At(_) | Waits::Somewhere => self.probe(process),
        };
        let stayed = self.state.processes[process.index()].extra.stayed;
        match (possible, stayed) {
            (Possible::Yes, _) | (Possible::Depends, None) => true,
            (Possible::No, _) => false,
            (Possible::Depends, Some(stayed)) => {
                let ended = |p| self.life(p) == Life::Ended;
                stayed.seen != self.touched_values(process) || stayed.joins.is_some_and(ended)
            }
        }
    }

    /// Tries the next step of a process on a copy of the state.
    fn probe(&self, process: ProcessId) -> Possible {
        let mut place = self.trial.borrow_mut();
        let trial = place.get_or_insert_with(|| {
            let (code, logic) = (self.code.clone(), self.logic.clone());
            let (state, table) = (self.state.clone(), self.table.clone());
            Box::new(Self {
                probing: true,
                patience: self.patience.clone(),
                rests_before: self.rests_before,
                ..Self::at(code, logic, state, table, self.max_local)
            })
        });
        trial.restore(&self.state);
        if trial.table.len() < self.table.len() {
            trial.table = self.table.clone();
        }
        let result = trial.advance(process, &[]);
        if trial.table.len() != self.table.len() {
            // The trial has started new processes, which may get other indices in this machine.
            *place = None;
        }
        match result {
            Ok(()) => Possible::Yes,
            Err(Obstacle::Undecided) => Possible::Depends,
            Err(Obstacle::Blocked { .. } | Obstacle::NoSuchOutcome) => Possible::No,
        }
    }
}

/// Returns the accesses of steps that wait for a condition. Acquiring a lock with an unknown index
/// counts as waiting for a condition.
fn guards_of(code: &Code) -> Claims {
    let mut guards = code.guards.clone();
    for info in &code.steps {
        for claim in &info.claims {
            if let (Wait::Lock, Claim::Element { kind, range, .. }) = (info.wait, claim) {
                add_claim(&mut guards, Access::new(*kind, range.first).over(range.len));
            }
        }
    }
    guards
}

/// Returns a failure if some values that take the path break this property, or the bound that the
/// evaluation of the property reaches. If the solver cannot decide, records a doubt and returns
/// `None`.
fn broken(
    logic: &mut Logic,
    code: &Code,
    state: &SymbolicState,
    property: &crate::check::hir::Expr,
    site: Site,
) -> Option<Mishap> {
    let kind = match logic.property(code, &state.cells, property) {
        Ok(holds) => {
            let mut conditions = state.path.clone();
            let broken = logic.not(holds);
            conditions.push(logic.condition(broken));
            let possible = logic.possible(&conditions);
            let possible = possible.unwrap_or_else(|why| {
                logic.doubt(why);
                false
            });
            possible.then_some(MishapKind::Failure)?
        }
        Err(fault) => fault.kind(),
    };
    Some(Mishap {
        process: None,
        kind,
        site: site.encode(),
    })
}

impl Promises for SymbolicMachine {
    fn guards(&self) -> &[Access] {
        &self.guards
    }

    fn future(&self, process: ProcessId, into: &mut Claims) {
        into.clear();
        // The accesses of a process between two marks are not known.
        if self.between_marks > 0 {
            return into.push(Access::ANYTHING);
        }
        if let Some(state) = self.state.processes.get(process.index())
            && state.registers.life == Life::Alive
        {
            let reach = self.code.reach();
            for (pc, _) in state.code_positions(&self.logic.borrow().terms) {
                reach.add_from(pc, into);
            }
        }
    }
}

impl Execution for SymbolicMachine {
    fn processes(&self) -> &ProcessTable {
        &self.table
    }

    fn status(&self, process: ProcessId) -> Status {
        match self.life(process) {
            Life::Unborn => Status::Unborn,
            Life::Ended => Status::Ended,
            Life::Failed => Status::Failed,
            Life::Discarded => Status::Discarded,
            Life::Lost => Status::Lost,
            Life::Alive if self.any_order && self.is_between_marks(process) => Status::Ready,
            Life::Alive if self.between_marks > 0 && !self.any_order => {
                let mut all = (0..self.state.processes.len() as u32).map(ProcessId);
                if all.find(|&first| self.is_between_marks(first)) == Some(process) {
                    Status::Ready
                } else {
                    Status::Waiting
                }
            }
            Life::Alive => match self.resting(process) {
                Some(step) if self.can_step(process, step) => Status::Ready,
                _ => Status::Waiting,
            },
        }
    }

    fn is_final(&self) -> bool {
        self.unfinished == 0
    }

    fn claims(&self, process: ProcessId, into: &mut Claims) {
        self.claim(process, into);
    }

    fn wait(&self, process: ProcessId) -> Wait {
        let Some(step) = self.resting(process) else {
            return Wait::Never;
        };
        let info = &self.code.steps[step as usize];
        match info.wait {
            // If the index is unknown, the step may acquire any lock of the array.
            Wait::Lock if info.fixed.is_none() => {
                let mut claims = Claims::new();
                self.claim(process, &mut claims);
                match claims[..] {
                    [Access { len: 1, .. }] => Wait::Lock,
                    _ => Wait::Guard,
                }
            }
            wait => wait,
        }
    }

    fn joins(&self, process: ProcessId, into: &mut Vec<ProcessId>) {
        into.clear();
        self.joinable(process, into);
    }

    fn has_conditions(&self) -> bool {
        true
    }

    fn step(&mut self, process: ProcessId, outcomes: &[i64]) -> Result<&Event, StepError> {
        if self.life(process) != Life::Alive {
            return Err(StepError::NotReady);
        }
        let depth = self.taken.len();
        match self.advance(process, outcomes) {
            Ok(()) => Ok(&self.run[depth]),
            Err(stop) => Err(stop.into()),
        }
    }

    fn events(&self) -> &[Event] {
        &self.run[..self.taken.len()]
    }

    fn back_to(&mut self, depth: usize) {
        while self.taken.len() > depth {
            let Some(taken) = self.taken.pop() else {
                return;
            };
            self.undo_to(taken.undo);
            self.state.path.truncate(taken.path);
            self.causes.truncate(taken.causes);
            self.inputs_read.truncate(taken.inputs_read);
            let here = &mut self.state.processes[taken.process.index()];
            here.registers = taken.registers;
            here.extra = taken.decisions;
            self.unfinished = taken.unfinished;
            self.between_marks = taken.between_marks;
        }
    }

    fn initial_mishaps(&self) -> &[Mishap] {
        &self.initial
    }

    fn counts(&self, failure: &Mishap) -> bool {
        self.code.counts(failure)
    }

    fn final_mishaps(&self) -> Vec<Mishap> {
        let mut logic = self.logic.borrow_mut();
        let ensures = self.code.program.ensures.iter().enumerate();
        let broken = ensures.filter_map(|(at, property)| {
            let site = Site::Ensures(at as u32);
            broken(&mut logic, &self.code, &self.state, &property.expr, site)
        });
        broken.collect()
    }

    /// Returns a fingerprint of the terms of the observed cells. Different terms may have equal
    /// values.
    fn observation(&self) -> Fingerprint {
        let mut logic = self.logic.borrow_mut();
        let cells = self.code.observed.iter();
        cells.fold(Fingerprint::EMPTY, |all, &cell| {
            all.then_all(logic.print(self.state.cells[cell as usize]))
        })
    }
}

impl Symbolic for SymbolicMachine {
    fn pool(&self) -> Fingerprint {
        self.program_points()
    }

    fn indices(&self) -> &[Option<u32>] {
        &self.indices
    }

    fn apart(&self, one: (Access, Option<u32>), other: (Access, Option<u32>)) -> bool {
        let mut logic = self.logic.borrow_mut();
        // An access to an unknown element is recorded as an access to the whole array. So the index
        // of another element is its distance from the first cell of this access.
        let same = match (one, other) {
            ((_, Some(one)), (_, Some(other))) => logic.same_element(one, other),
            ((all, Some(index)), (access, None)) | ((access, None), (all, Some(index)))
                if access.len == 1 && all.cells().contains(&(access.first as usize)) =>
            {
                logic.selects(index, access.first - all.first)
            }
            _ => return false,
        };
        logic.excluded(&self.state.path, same)
    }
}
