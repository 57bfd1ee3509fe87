//! Implements [`WeakMemory`] for the machine. The engine for weak memory models keeps the memory as
//! a graph; the machine only makes the steps of threads. So each step must be a single access,
//! which [`accesses_are_steps`](Machine::accesses_are_steps) checks.

use mazurka_core::{AccessOrder, Claims, Event, MemoryOrder, ProcessId, StepError, WeakMemory};

use super::Machine;
use crate::check::hir::Atomicity;
use crate::code::{Claim, Code, Op, Range};
use mazurka_diagnostics::Span;

/// The reason why a program cannot run under a weak memory model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotWeak {
    /// With `atomicity statement`, a step may make several accesses.
    #[error("each access has to be a step of its own: write `atomicity access` in the file")]
    Statements,
    /// The program has a property of states.
    #[error(
        "`invariant`, `cover`, `refines` and temporal properties are about states, and there are none: write `assert` or `ensures`"
    )]
    States,
    /// The program has objects that are lowered to variables without memory orders.
    #[error(
        "semaphores, reader–writer locks, condition variables, barriers and locks that are tried are explored as interleavings only: use `lock` and atomic variables"
    )]
    Objects,
    /// The program has an object with operations that clients call.
    #[error(
        "`spec object`: histories are decided for interleavings only, where time orders operations: leave out --memory"
    )]
    Clients,
    /// The program has ghosts, which are written in the same step as another variable.
    #[error(
        "ghost variables are written together with something else, and each step makes one access: leave them out"
    )]
    Ghosts,
    /// A step accesses several places.
    #[error(
        "line {line}: this step makes several accesses: it may make one access, or update one variable"
    )]
    Several {
        /// Where the step is.
        line: usize,
    },
    /// A step accesses several places, which was detected only when it ran.
    #[error(
        "line {line}: this step does several things at once, such as to choose and to write, or to wait for (or exchange, or select an element by) a value that is not known: take it apart, as in `let v = x; if v > 0 {{ … }}`"
    )]
    SeveralInAStep {
        /// Where the step is.
        line: usize,
    },
}

impl Code {
    /// Checks that the program can run under weak memory models: each of its steps makes one
    /// access, and it has no property of states.
    ///
    /// # Errors
    ///
    /// The reason why the program cannot run under weak memory models.
    pub fn accesses_are_steps(&self) -> Result<(), NotWeak> {
        if self.has_object() {
            return Err(NotWeak::Clients);
        }
        if self.program.atomicity != Atomicity::Access {
            return Err(NotWeak::Statements);
        }
        if self.program.vars.iter().any(|var| var.object) {
            return Err(NotWeak::Objects);
        }
        if self.has_ghosts() {
            return Err(NotWeak::Ghosts);
        }
        let covers = !self.program.covers.is_empty() || self.program.refinement.is_some();
        if !self.invariants.is_empty() || !self.temporal.is_empty() || covers {
            return Err(NotWeak::States);
        }
        let several = self.steps.iter().find(|step| !is_one_place(&step.claims));
        match several {
            Some(step) => Err(NotWeak::Several {
                line: self.line_of(step.span),
            }),
            None => Ok(()),
        }
    }

    /// Whether a process may start or join another process.
    pub fn starts_processes(&self) -> bool {
        let starts = |op: &Op| {
            matches!(
                op,
                Op::SpawnBlock(_) | Op::SpawnCall(_) | Op::Join | Op::JoinAll
            )
        };
        self.ops.iter().any(starts)
    }

    /// Returns the line of the step that contains an instruction.
    pub(in crate::run) fn line_at(&self, op: u32) -> usize {
        let before = self.ops[..=op as usize].iter().rev();
        let step = before.copied().find_map(|op| match op {
            Op::Mark(step) | Op::Open(step) => Some(step),
            _ => None,
        });
        step.map_or(1, |step| self.line_of(self.steps[step as usize].span))
    }

    fn line_of(&self, span: Span) -> usize {
        span.line_column(&self.source).0
    }

    /// Returns the memory order of a step's access to a cell. A fence has no cell.
    pub(in crate::run) fn order_at(&self, step: Option<u32>, cell: Option<u32>) -> AccessOrder {
        let named = step.and_then(|step| self.steps[step as usize].order);
        let atomic = cell.is_none_or(|cell| self.is_atomic(cell));
        match (named, atomic) {
            (Some(order), true) => order,
            (None, true) => MemoryOrder::SeqCst.into(),
            (_, false) => MemoryOrder::Plain.into(),
        }
    }

    /// Whether the source names an order for a step.
    pub(in crate::run) fn names_order(&self, step: Option<u32>) -> bool {
        step.is_some_and(|step| self.steps[step as usize].order.is_some())
    }

    /// Whether the variable of a cell is atomic.
    fn is_atomic(&self, cell: u32) -> bool {
        let var = self.first_cells.partition_point(|&first| first <= cell);
        let var = var.checked_sub(1).map(|var| &self.program.vars[var]);
        cell < self.first_lock && var.is_some_and(|var| var.atomic)
    }
}

/// Whether all claims are about one cell.
fn is_one_place(claims: &[Claim]) -> bool {
    let place = |claim: &Claim| match claim {
        Claim::Fixed(access) => (access.first, access.len, None),
        Claim::Element {
            range: Range { first, .. },
            index,
            ..
        } => (*first, 1, Some(*index)),
    };
    let places: Vec<_> = claims.iter().map(place).collect();
    places.iter().all(|&(_, len, _)| len == 1) && places.windows(2).all(|pair| pair[0] == pair[1])
}

impl WeakMemory for Machine {
    fn order(&self, process: ProcessId, cell: Option<u32>) -> AccessOrder {
        self.code.order_at(self.resting(process), cell)
    }

    fn is_fence(&self, process: ProcessId) -> bool {
        let mut claims = Claims::new();
        mazurka_core::Execution::claims(self, process, &mut claims);
        claims.is_empty() && self.code.names_order(self.resting(process))
    }

    fn places(&self) -> u32 {
        self.state.cells.len() as u32
    }

    fn value(&self, cell: u32) -> i64 {
        self.state.cells[cell as usize]
    }

    fn try_step(&mut self, process: ProcessId) -> Result<&Event, StepError> {
        let recorder = self.recorder.take();
        let made = self.make_step(process, &[]).map(|_| ());
        self.recorder = recorder;
        made.map(|()| &self.run[self.taken.len() - 1])
    }

    fn set_value(&mut self, cell: u32, value: i64) {
        self.state.cells[cell as usize] = value;
    }

    fn line(&self, process: ProcessId) -> usize {
        let state = &self.state.processes[process.index()];
        self.code.line_at(state.registers.pc)
    }
}
