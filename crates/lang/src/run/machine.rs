//! [`Machine`]: a program over numbers in the middle of a run.
//!
//! A step changes the state in place and records each change in an undo log. So taking back a step
//! costs as much as making it. The files in `machine/` implement traits of the core.

/// Makes the interpreter for a step. This is a macro, because it borrows fields separately.
macro_rules! cpu {
    ($machine:expr, $step:expr, $listener:expr) => {
        Cpu {
            code: &$machine.code,
            domain: &mut Numbers {
                plain: PlainNumbers,
                inputs_read: &mut $machine.inputs_read,
                listener: $listener,
            },
            step: $step,
            cells: &mut $machine.state.cells,
            processes: &mut $machine.state.processes,
            table: &mut $machine.table,
            undo: &mut $machine.undo,
            operands: &mut $machine.operands,
            dirty: &mut $machine.dirty,
        }
    };
}

mod claims;
mod ends;
mod images;
mod start;
mod states;
mod step;
#[cfg(test)]
mod tests;
mod undo;
mod weak;

use std::cell::RefCell;
use std::sync::Arc;

use mazurka_core::{
    Claims, Event, Execution, Fingerprint, Mishap, MishapKind, Patience, ProcessId, ProcessTable,
    Semantics, Status, StepError, Wait,
};

use rustc_hash::FxHashMap;

use crate::check::hir::Type;
use crate::code::fault::Site;
use crate::code::quick::{AfterAccess, QuickAction};
use crate::code::{Code, Op, Waits};
use crate::run::judge::Judge;
use crate::run::state::{Life, Process, Registers, State};
use crate::run::{
    Cpu, Fuel, InstrRange, Listener, Log, NoListener, Numbers, Obstacle, PlainNumbers, Reached,
    Recorder, StepInProgress, Undo, Unfinished, Work, evaluate, peek,
};
use claims::claims_of;
pub use weak::NotWeak;

/// The data needed to take back a step, in addition to its entries in the undo log.
#[derive(Clone, Copy, Debug)]
struct StepUndo {
    process: ProcessId,
    /// The place of the process, and its number of steps, before the step.
    pc: u32,
    steps: u32,
    /// The data that a quick step changed, with the old value.
    changed: Changed,
    value: i64,
    /// The length of the undo log before the step.
    undo: usize,
}

/// The data that a quick step changed.
#[derive(Clone, Copy, Debug)]
enum Changed {
    /// Nothing besides the changes in the undo log.
    Else,
    Cell(u32),
    Slot(u32),
}

/// The part of a step that was made quickly.
enum QuickStepResult {
    /// The whole step. Its event is at this position of the run.
    Whole(usize),
    /// The part before this instruction.
    Until(u32),
}

/// The part of a step that is still to be made.
struct StepRemainder {
    /// Its first instruction.
    pc: u32,
    /// Whether it swallows the next mark.
    open: bool,
}

/// A program in the middle of a run over numbers: the state, and a log to undo its steps. Explorers
/// drive it forwards and backwards, as an [`Execution`].
///
/// ```
/// use std::sync::Arc;
/// use mazurka_core::{Execution, ProcessId, Status};
///
/// let source = "var x: int = 0; process { x := x + 1 } process { x == 1 |> x := 2 }";
/// let program = mazurka_lang::load(source, &[]).unwrap();
/// let code = Arc::new(mazurka_lang::compile(&program, source).unwrap());
/// let mut machine = mazurka_lang::Machine::new(code, 1_000_000);
/// assert_eq!(machine.status(ProcessId(1)), Status::Waiting);
/// machine.step(ProcessId(0), &[]).unwrap();
/// assert_eq!(machine.status(ProcessId(1)), Status::Ready);
/// machine.back_to(0);
/// assert_eq!(machine.status(ProcessId(1)), Status::Waiting);
/// ```
#[derive(Clone, Debug)]
pub struct Machine {
    pub(crate) code: Arc<Code>,
    pub(crate) state: State,
    pub(crate) table: ProcessTable,
    /// The events of the run. Events beyond the length of `taken` belong to steps that were taken
    /// back; they are kept to reuse their memory.
    run: Vec<Event>,
    /// For each step of the run, the data to take it back.
    taken: Vec<StepUndo>,
    undo: Vec<Undo<i64>>,
    operands: Vec<i64>,
    /// The invariants over cells that the current step has written.
    dirty: Vec<u32>,
    /// The mishaps of the initial state.
    initial: Vec<Mishap>,
    /// The text that each process prints before its first step, if the program prints.
    pub(crate) printed_at_start: Vec<Vec<String>>,
    /// The number of processes that have started and not ended.
    unfinished: usize,
    max_local: u64,
    patience: Patience,
    /// The types of all inputs read so far.
    pub(crate) inputs_read: FxHashMap<(ProcessId, u32), Type>,
    scratch: RefCell<Vec<i64>>,
    trial: TrialMachine,
    /// Records the instructions that steps pass, if the search needs coverage.
    recorder: Option<Box<Recorder>>,
    /// Whether sends and receives claim different ends of a channel.
    separate: bool,
    /// Checks the histories of an object, if the program states its linearizability.
    judge: Option<Box<Judge>>,
}

/// A machine on which steps are tried. It is only a cache, so a clone is empty.
#[derive(Debug, Default)]
struct TrialMachine(RefCell<Option<Box<Machine>>>);

impl Clone for TrialMachine {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Machine {
    /// Makes a machine in the initial state. A step makes at most `max_local` jumps and calls.
    pub fn new(code: Arc<Code>, max_local: u64) -> Self {
        Self::until(code, max_local, Patience::default(), None)
    }

    /// Makes a machine in the initial state for a search that waits only for a limited time. Longer
    /// local work before a first step is broken off, which is a mishap of the initial state
    /// ([`Execution::break_off_long_steps`] does this for steps). `reached` records the
    /// instructions that processes pass.
    pub fn until(
        code: Arc<Code>,
        max_local: u64,
        patience: Patience,
        reached: Option<Arc<Reached>>,
    ) -> Self {
        let entries = code.processes.iter();
        let processes = entries.map(|entry| Process::new(entry.pc, entry.frame, 0));
        let state = State {
            cells: code.initial.clone(),
            processes: processes.collect(),
        };
        let table = ProcessTable::new(code.processes.len() as u32);
        let judge = code.linear.clone();
        let judge = judge.map(|linear| Box::new(Judge::new(&linear, max_local)));
        let mut machine = Self {
            patience,
            judge,
            recorder: reached.map(|reached| Box::new(Recorder::new(reached))),
            ..Self::at(code, state, table, max_local)
        };
        machine.start();
        machine.break_off_long_steps(false);
        machine
    }

    /// Makes a machine in this state, without earlier events.
    fn at(code: Arc<Code>, state: State, table: ProcessTable, max_local: u64) -> Self {
        Self {
            code,
            state,
            table,
            run: Vec::new(),
            taken: Vec::new(),
            undo: Vec::new(),
            operands: Vec::new(),
            dirty: Vec::new(),
            initial: Vec::new(),
            printed_at_start: Vec::new(),
            unfinished: 0,
            max_local,
            patience: Patience::default(),
            inputs_read: FxHashMap::default(),
            scratch: RefCell::default(),
            trial: TrialMachine::default(),
            recorder: None,
            separate: false,
            judge: None,
        }
    }

    /// Sets how long the search waits for a step. A step with longer local work is broken off: it
    /// ends with a mishap, and the state after it has no meaning.
    pub fn set_patience(&mut self, patience: Patience) {
        self.patience = patience;
        self.trial = TrialMachine::default();
    }

    /// Returns the code of the program.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// Makes a step and reports its instructions to a listener.
    #[inline(never)]
    pub(crate) fn step_with<L: Listener>(
        &mut self,
        process: ProcessId,
        outcomes: &[i64],
        listener: &mut L,
    ) -> Result<&Event, Obstacle> {
        let depth = self.taken.len();
        if self.run.len() == depth {
            self.run.push(Event::new(process, 0));
        }
        let process_state = &self.state.processes[process.index()];
        let Process {
            registers, stack, ..
        } = process_state;
        let Registers { pc, steps, .. } = *registers;
        self.taken.push(StepUndo {
            process,
            pc,
            steps,
            changed: Changed::Else,
            value: 0,
            undo: self.undo.len(),
        });
        let event = &mut self.run[depth];
        event.reset(process, steps);
        let mark = self.code.ops[pc as usize];
        if let Op::Mark(step) | Op::Open(step) = mark {
            let locals = &stack[registers.frame as usize..registers.top as usize];
            let (operands, claims) = (&mut self.operands, &mut event.claims);
            let step_of = (step, self.separate);
            event.claims_key = claims_of(&self.code, step_of, locals, operands, claims);
            event.wait = self.code.steps[step as usize].wait;
        }
        let open = matches!(mark, Op::Open(_));
        let rest = StepRemainder { pc: pc + 1, open };
        self.run_step(process, rest, outcomes, listener)?;
        if self.separate {
            self.find_enabling();
        }
        let event = &mut self.run[depth];
        event.plain = event.is_plain();
        Ok(event)
    }

    /// Runs the rest of a step, from an instruction on.
    #[inline(never)]
    fn run_step<L: Listener>(
        &mut self,
        process: ProcessId,
        rest: StepRemainder,
        outcomes: &[i64],
        listener: &mut L,
    ) -> Result<&Event, Obstacle> {
        let StepRemainder { mut pc, open } = rest;
        let depth = self.taken.len() - 1;
        let process_state = &mut self.state.processes[process.index()];
        let Process {
            registers, stack, ..
        } = process_state;
        let code = &*self.code;
        let mut halt = None;
        let mut fuel = Fuel::new(self.max_local);
        if !L::LISTENS && !open {
            // Most steps compute something and reach the next mark or the end.
            let mut step = StepInProgress {
                event: &mut self.run[depth],
                outcomes,
                fuel,
                patience: &self.patience,
                log: Log::new(self.taken[depth].undo),
                recorder: self.recorder.as_deref_mut(),
            };
            let work = Work {
                code,
                domain: &mut Numbers {
                    plain: PlainNumbers,
                    inputs_read: &mut self.inputs_read,
                    listener: &mut NoListener,
                },
                step: &mut step,
                cells: &mut self.state.cells,
                locals: &mut stack[registers.frame as usize..registers.top as usize],
                operands: &mut self.operands,
                undo: &mut self.undo,
                dirty: &mut self.dirty,
                process: process.0,
                frame: registers.frame,
                swallows: false,
            };
            halt = work.run(&mut pc).err();
            fuel = step.fuel;
            let end = &code.ops[pc as usize];
            let ends = matches!(end, Op::End);
            if halt.is_none()
                && (ends || matches!(end, Op::Mark(_) | Op::Open(_)))
                && self.dirty.is_empty()
            {
                registers.pc = pc;
                registers.steps += 1;
                if ends {
                    registers.life = Life::Ended;
                    self.unfinished -= 1;
                }
                return Ok(&self.run[depth]);
            }
        }
        let part = Unfinished {
            registers: Registers {
                pc,
                steps: registers.steps + 1,
                ..*registers
            },
            open,
            halt,
        };
        let step = (outcomes, fuel);
        self.finish_step(process, part, step, listener)
    }

    /// Makes a step without the interpreter, as a whole or up to an instruction. Returns `None`,
    /// and changes nothing, if the step is not quick, is impossible or fails.
    #[inline(always)]
    fn step_quickly(&mut self, process: ProcessId) -> Option<QuickStepResult> {
        let process_state = self.state.processes.get_mut(process.index())?;
        let Process {
            registers, stack, ..
        } = process_state;
        let quick = self.code.quick.get(registers.pc as usize)?.as_ref()?;
        let frame = registers.frame as usize;
        if registers.life != Life::Alive {
            return None;
        }
        let (mut access, mut key) = (quick.access, quick.key);
        if let QuickAction::FetchAt { element, .. } = quick.action {
            let index = stack[frame + element.index as usize];
            if !(0..i64::from(element.len)).contains(&index) {
                return None;
            }
            access.first += index as u32;
            key += 4 * index as u32;
        }
        let cell = self.state.cells.get_mut(access.first as usize)?;
        let owner = i64::from(process.0) + 1;
        let value = match quick.action {
            QuickAction::Fetch { .. } | QuickAction::FetchAt { .. } => *cell,
            QuickAction::Set { value } => value,
            QuickAction::Put { ref value } => value.eval(&stack[frame..])?,
            QuickAction::Lock if *cell == 0 => owner,
            QuickAction::Unlock if *cell == owner => 0,
            QuickAction::Lock | QuickAction::Unlock => return None,
        };
        let depth = self.taken.len();
        let event = self.run.get_mut(depth)?;
        let (changed, place) = match quick.action {
            QuickAction::Fetch { slot } | QuickAction::FetchAt { slot, .. } => {
                let place = &mut stack[frame + slot as usize];
                (Changed::Slot(registers.frame + slot), place)
            }
            _ => (Changed::Cell(access.first), cell),
        };
        event.touch(process, registers.steps, access);
        event.claims_key = key;
        event.wait = quick.wait;
        event.plain = quick.plain;
        self.taken.push(StepUndo {
            process,
            pc: registers.pc,
            steps: registers.steps,
            changed,
            value: std::mem::replace(place, value),
            undo: self.undo.len(),
        });
        let (pc, ends) = match quick.then {
            AfterAccess::Rest(pc) => (pc, false),
            AfterAccess::End(pc) => (pc, true),
            AfterAccess::More(pc) => return Some(QuickStepResult::Until(pc)),
            AfterAccess::RoundEnd(pc, round) => match round.advance(&stack[frame..]) {
                Some(turn) if self.max_local > 0 => {
                    let slot = &mut stack[frame + turn.slot as usize];
                    self.undo.push(Undo::Slot {
                        process: process.0,
                        slot: registers.frame + turn.slot,
                        value: std::mem::replace(slot, turn.value),
                    });
                    (turn.pc, turn.ends)
                }
                _ => return Some(QuickStepResult::Until(pc)),
            },
        };
        registers.pc = pc;
        registers.steps += 1;
        if ends {
            registers.life = Life::Ended;
            self.unfinished -= 1;
        }
        Some(QuickStepResult::Whole(depth))
    }

    /// Runs the rest of a step from the first instruction that does more than compute.
    #[inline(never)]
    fn finish_step<L: Listener>(
        &mut self,
        process: ProcessId,
        part: Unfinished,
        (outcomes, fuel): (&[i64], Fuel),
        listener: &mut L,
    ) -> Result<&Event, Obstacle> {
        let depth = self.taken.len() - 1;
        let mut step = StepInProgress {
            event: &mut self.run[depth],
            outcomes,
            // A new value, because a copy of `fuel` would cause a store-forwarding stall.
            fuel: Fuel::new(fuel.left()),
            patience: &self.patience,
            log: Log::new(self.taken[depth].undo),
            recorder: self.recorder.as_deref_mut(),
        };
        let mut cpu = cpu!(self, &mut step, listener);
        let mut result = cpu.finish(process, part);
        if result.is_ok() && !cpu.dirty.is_empty() {
            let returned = self.code.linear.as_ref();
            let returned = returned.is_some_and(|linear| cpu.dirty.contains(&linear.invariant));
            result = cpu.check_invariants(process);
            if returned && result.is_ok() {
                self.judge_history(process);
            }
        }
        self.operands.clear();
        self.dirty.clear();
        let ended = |p: ProcessId| self.state.processes[p.index()].registers.life == Life::Ended;
        self.unfinished -= usize::from(ended(process));
        for &child in &self.run[depth].spawned {
            self.unfinished += usize::from(!ended(child));
        }
        if let Err(stop) = result {
            // Mark the event as not plain, so that all of its fields are emptied.
            self.run[depth].plain = false;
            self.back_to(depth);
            return Err(stop);
        }
        let event = &mut self.run[depth];
        event.plain = event.is_plain();
        Ok(event)
    }

    /// Checks the history after an operation has returned.
    #[cold]
    fn judge_history(&mut self, process: ProcessId) {
        let (Some(linear), Some(judge)) = (&self.code.linear, &mut self.judge) else {
            return;
        };
        let event = &mut self.run[self.taken.len() - 1];
        let discards = |mishap: &Mishap| mishap.kind == MishapKind::Discarded;
        if event.mishaps.iter().any(discards) {
            return;
        }
        if let Err(kind) = judge.judge(linear, &self.state.cells) {
            event.mishaps.push(Mishap {
                process: Some(process),
                kind,
                site: Site::Invariant(linear.invariant).encode(),
            });
            let life = &mut self.state.processes[process.index()].registers.life;
            if kind == MishapKind::Failure || *life != Life::Failed {
                *life = Life::after(kind);
            }
        }
    }

    fn count_unfinished(&self) -> usize {
        let lives = self.state.processes.iter().map(|p| p.registers.life);
        lives
            .filter(|life| !matches!(life, Life::Unborn | Life::Ended))
            .count()
    }

    /// Returns the step at which a process rests, if it is alive.
    #[inline]
    pub(crate) fn resting(&self, process: ProcessId) -> Option<u32> {
        let registers = &self.state.processes.get(process.index())?.registers;
        match self.code.ops[registers.pc as usize] {
            Op::Mark(step) | Op::Open(step) if registers.life == Life::Alive => Some(step),
            _ => None,
        }
    }

    /// Whether a process has started and has not ended or been halted.
    #[inline]
    pub(crate) fn is_alive(&self, process: ProcessId) -> bool {
        let state = self.state.processes.get(process.index());
        state.is_some_and(|state| state.registers.life == Life::Alive)
    }

    /// Returns a number for the position of a process in its code, or for the way it has ended.
    pub(crate) fn place(&self, process: ProcessId) -> u64 {
        let registers = &self.state.processes[process.index()].registers;
        match registers.life {
            Life::Alive => u64::from(registers.pc),
            life => u64::from(u32::MAX) + 1 + life as u64,
        }
    }

    pub(crate) fn locals(&self, process: ProcessId) -> &[i64] {
        let process = &self.state.processes[process.index()];
        &process.stack[process.registers.frame as usize..process.registers.top as usize]
    }

    /// Tries the next step on a copy of the state. Returns the obstacle if the step is impossible.
    pub(crate) fn obstacle(&self, process: ProcessId) -> Option<Obstacle> {
        let mut place = self.trial.0.borrow_mut();
        let trial = place.get_or_insert_with(|| {
            let (code, state, table) = (self.code.clone(), self.state.clone(), self.table.clone());
            let patience = self.patience.clone();
            Box::new(Machine {
                patience,
                ..Machine::at(code, state, table, self.max_local)
            })
        });
        trial.restore(&self.state);
        if trial.table.len() < self.table.len() {
            trial.table = self.table.clone();
        }
        let obstacle = trial.step_with(process, &[], &mut NoListener).err();
        if trial.table.len() != self.table.len() {
            // The trial has numbered new processes, but this machine may number other processes
            // first.
            *place = None;
        }
        obstacle
    }

    /// Whether the step of a live process is possible.
    #[inline(always)]
    fn can_step(&self, process: ProcessId, pc: u32) -> bool {
        match self.code.waits[pc as usize] {
            Waits::Never => true,
            Waits::Lock(cell) => self.state.cells[cell as usize] == 0,
            waits => self.need_not_wait(process, waits),
        }
    }

    #[inline(never)]
    fn need_not_wait(&self, process: ProcessId, waits: Waits) -> bool {
        match waits {
            Waits::At(blocker) => self.passes(process, blocker),
            _ => self.resting(process).is_some() && self.obstacle(process).is_none(),
        }
    }

    /// Whether the step passes its only instruction that can block.
    fn passes(&self, process: ProcessId, blocker: u32) -> bool {
        let process_state = &self.state.processes[process.index()];
        let start = process_state.registers.pc as usize;
        let operands = &mut *self.scratch.borrow_mut();
        let piece = InstrRange {
            ops: &self.code.ops[..blocker as usize],
            first: start,
        };
        let (cells, locals) = (&self.state.cells, self.locals(process));
        let operand = peek(&mut PlainNumbers, piece, cells, locals, operands);
        let ended = |p: ProcessId| {
            let life = self
                .state
                .processes
                .get(p.index())
                .map(|p| p.registers.life);
            life == Some(Life::Ended)
        };
        match (self.code.ops[blocker as usize], operand) {
            // If the step fails before it can block, it is possible, and its effect is the failure.
            (_, Some(Err(_))) => true,
            (Op::Guard, Some(Ok(value))) => value != 0,
            (Op::Lock(cell), Some(Ok(_))) => self.state.cells[cell as usize] == 0,
            (Op::LockAt(range), Some(Ok(index))) => {
                let inside = (0..i64::from(range.len)).contains(&index);
                !inside || self.state.cells[range.first as usize + index as usize] == 0
            }
            (Op::Join, Some(Ok(child))) => ended(ProcessId(child as u32)),
            (Op::JoinAll, Some(Ok(_))) => (0..process_state.registers.children)
                .all(|k| self.table.known_child(process, k).is_some_and(ended)),
            _ => self.obstacle(process).is_none(),
        }
    }
}

impl Execution for Machine {
    fn processes(&self) -> &ProcessTable {
        &self.table
    }

    #[inline(always)]
    fn status(&self, process: ProcessId) -> Status {
        let Some(state) = self.state.processes.get(process.index()) else {
            return Status::Unborn;
        };
        match state.registers.life {
            Life::Unborn => Status::Unborn,
            Life::Ended => Status::Ended,
            Life::Failed => Status::Failed,
            Life::Discarded => Status::Discarded,
            Life::Lost => Status::Lost,
            Life::Alive if self.can_step(process, state.registers.pc) => Status::Ready,
            Life::Alive => Status::Waiting,
        }
    }

    #[inline]
    fn is_final(&self) -> bool {
        self.unfinished == 0
    }

    fn claims(&self, process: ProcessId, into: &mut Claims) {
        self.next_claims(process, self.separate, into);
    }

    fn interference_claims(&self, process: ProcessId, waits: bool, into: &mut Claims) {
        self.interference_claims_of(process, waits, into);
    }

    fn wait(&self, process: ProcessId) -> Wait {
        let step = self.resting(process);
        step.map_or(Wait::Never, |step| self.code.steps[step as usize].wait)
    }

    fn joins(&self, process: ProcessId, into: &mut Vec<ProcessId>) {
        into.clear();
        self.joinable(process, into);
    }

    fn break_off_long_steps(&mut self, may: bool) {
        self.patience.hold(!may);
        if let Some(trial) = self.trial.0.get_mut() {
            trial.patience.hold(!may);
        }
    }

    fn separate_ends(&mut self, separate: bool) {
        self.separate = separate && !self.code.ends.is_empty();
    }

    #[inline(always)]
    fn step(&mut self, process: ProcessId, outcomes: &[i64]) -> Result<&Event, StepError> {
        match self.recorder {
            None => self.make_step(process, outcomes),
            Some(_) => self.make_recorded_step(process, outcomes),
        }
    }

    #[inline]
    fn events(&self) -> &[Event] {
        &self.run[..self.taken.len()]
    }

    #[inline]
    fn back_to(&mut self, depth: usize) {
        while self.taken.len() > depth
            && let Some(taken) = self.taken.pop()
        {
            self.take_back(taken);
        }
    }

    fn initial_mishaps(&self) -> &[Mishap] {
        &self.initial
    }

    fn counts(&self, failure: &Mishap) -> bool {
        self.code.counts(failure)
    }

    #[inline]
    fn final_mishaps(&self) -> Vec<Mishap> {
        if self.code.ensures.is_empty() {
            return Vec::new();
        }
        self.broken_ensures()
    }

    fn observation(&self) -> Fingerprint {
        self.observed(&self.state.cells)
    }
}

impl Machine {
    #[inline(never)]
    fn broken_ensures(&self) -> Vec<Mishap> {
        let broken = self
            .code
            .ensures
            .iter()
            .enumerate()
            .filter_map(|(at, checked)| {
                let snippet = &self.code.snippets[checked.snippet as usize];
                let kind = match evaluate(snippet, &self.state.cells) {
                    Ok(0) => MishapKind::Failure,
                    Ok(_) => return None,
                    Err(fault) => fault.kind(),
                };
                Some(Mishap {
                    process: None,
                    kind,
                    site: Site::Ensures(at as u32).encode(),
                })
            });
        broken.collect()
    }
}
