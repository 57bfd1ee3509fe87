//! Machines for nets: which ABS programs can be unfolded into a net (`unfold` in mazurka_explore),
//! and how the machine that builds the net differs from the machine of an explorer.
//!
//! When a task comes to rest, a net stores the claims of its next step and the tasks that it waits
//! for. An explorer computes both again in every state. A net stores them once, so they must follow
//! from the past of the task alone. There are four obstacles:
//!
//! - A step that calls objects of its own cog may touch fields of objects that are created later.
//!   So in a program with such calls, a cell stands for a field of all objects of a class in a cog,
//!   and not of one object. Steps on different objects of the class are then dependent. The net has
//!   more executions than the program has traces, but each of them is a run of the program.
//! - A guard may wait for a future that it finds in a field. The future in the field may change
//!   while the guard waits, so such a program has no net ([`NoNet`]).
//! - Time passes only if no task can continue, which does not follow from the past of a task: a
//!   program with time has no net.
//! - If an exception leaves a task, its object dies, and all tasks that wait in the object
//!   continue, which does not follow from their pasts. So in a machine for nets no object dies. The
//!   machine records if an object should have died ([`Machine::has_net`]), because the result is
//!   then not a net of the program.
//!
//! The model of a stateful net predicts the effect of a step from the cells that the step may have
//! read, and from the results of the tasks that it has waited for. So each event lists these cells.

use std::cell::RefCell;
use std::sync::Arc;

use mazurka_core::{Access, AccessKind, Claims, Event, ProcessId, add_claim};
use rustc_hash::FxHashMap;

use crate::Machine;
use crate::code::{Code, Op};
use crate::effects::Effects;
use crate::heap::{CLOCK, OUTPUT, Task};
use crate::pure::{Calls, Evaluator, Registers};
use crate::value::Value;

/// Why a program has no net.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoNet {
    /// In this line, a guard waits for a future in a field.
    MovingGuard(usize),
    /// An object of this class dies in some execution.
    Dies(String),
    /// Time passes.
    Timed,
}

impl std::fmt::Display for NoNet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NoNet::MovingGuard(line) => write!(
                f,
                "the guard in line {line} waits for a future that it reads from a field; the field \
                 may change during the wait, but in a net each task waits for fixed tasks; copy \
                 the future into a variable before the `await`"
            ),
            NoNet::Dies(class) => write!(
                f,
                "an exception leaves a task of class {class}, so its object dies and all tasks \
                 that wait in the object go on, but in a net each task waits for fixed tasks; \
                 catch the exception, or use `mazurka explore`"
            ),
            NoNet::Timed => write!(
                f,
                "time passes when no task can go on, and a net has no such event; use \
                 `mazurka explore`, or --ignore-time"
            ),
        }
    }
}

impl std::error::Error for NoNet {}

/// How a machine for nets assigns cells to fields.
#[derive(Clone, Debug)]
pub(crate) enum Cells {
    /// One cell for each field of each object, as in other machines.
    Each,
    /// One cell for each field of a class in a cog; it stands for the field in all objects of the
    /// class.
    Shared(RefCell<SharedCells>),
}

/// The cells of [`Cells::Shared`], which are assigned when they are first needed.
#[derive(Clone, Debug)]
pub(crate) struct SharedCells {
    /// The first cell of each cog and class.
    first: FxHashMap<(u32, u32), u32>,
    /// For each cog and class, the first cell, the cog and the class, in the order of the cells.
    all: Vec<(u32, u32, u32)>,
    next: u32,
}

impl SharedCells {
    /// Returns the first cell of a class in a cog: there is one for each field, then one for the
    /// cog and one for whether the object is alive.
    fn first(&mut self, cog: u32, class: u32, fields: usize) -> u32 {
        let Self { first, all, next } = self;
        *first.entry((cog, class)).or_insert_with(|| {
            let cell = *next;
            all.push((cell, cog, class));
            *next += fields as u32 + 2;
            cell
        })
    }
}

/// Returns the parts of a guard that wait for a future: the start and the end of their
/// instructions.
fn waits(code: &Code, guard: u32) -> Vec<(u32, u32)> {
    let mut parts = Vec::new();
    let mut start = guard;
    for pc in guard.. {
        match code.ops[pc as usize] {
            Op::Claim => parts.push((start, pc)),
            Op::Guard => {}
            Op::Resume => break,
            _ => continue,
        }
        start = pc + 1;
    }
    parts
}

/// Finds a guard that waits for a future in a field.
fn moving_guard(code: &Code) -> Option<NoNet> {
    let awaits = (0..code.ops.len()).filter(|&pc| code.ops[pc] == Op::Await);
    let mut parts = awaits.flat_map(|pc| waits(code, pc as u32 + 1));
    let (start, _) = parts.find(|&(start, end)| {
        let ops = &code.ops[start as usize..end as usize];
        ops.iter().any(|op| matches!(op, Op::Field(_)))
    })?;
    let (line, _) = code.line_column(code.spans[start as usize]);
    Some(NoNet::MovingGuard(line))
}

impl Machine {
    /// Creates a machine for nets, in the initial state: the head of this file describes the
    /// differences.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use mazurka_abs::{Machine, NoNet, Settings, load};
    ///
    /// let source = "module M; class C { Fut<Int> f; Unit m() { await f?; } } { new C(); }";
    /// let code = Arc::new(load(source, &Settings::default()).unwrap());
    /// assert_eq!(Machine::for_nets(code, 1000).unwrap_err(), NoNet::MovingGuard(1));
    /// ```
    pub fn for_nets(mut code: Arc<Code>, max_local: u64) -> Result<Self, NoNet> {
        if let Some(no) = moving_guard(&code) {
            return Err(no);
        }
        if code.timed {
            return Err(NoNet::Timed);
        }
        for class in &mut Arc::make_mut(&mut code).classes {
            class.may_die = false;
        }
        let lives = |(class, field, _): &(u32, u32, bool)| {
            *field == code.classes[*class as usize].life_cell()
        };
        let calls = |effects: &Effects| !effects.others.iter().all(lives);
        let cells = if code.effects.values().any(calls) {
            Cells::Shared(RefCell::new(SharedCells {
                first: FxHashMap::default(),
                all: Vec::new(),
                next: CLOCK + 1,
            }))
        } else {
            Cells::Each
        };
        let mut machine = Self::new(code, max_local);
        machine.nets = Some(cells);
        Ok(machine)
    }

    /// Whether the net built with this machine is a net of its program: no object has died.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use mazurka_abs::{Machine, Settings, load};
    /// use mazurka_core::{Execution, Status};
    ///
    /// let class = "class C { Unit run() { throw DivisionByZeroException; } }";
    /// let source = &format!("module M; {class} {{ new C(); }}");
    /// let code = Arc::new(load(source, &Settings::default()).unwrap());
    /// let mut machine = Machine::for_nets(code, 1000).unwrap();
    /// assert!(machine.has_net().is_ok());
    /// loop {
    ///     let all = machine.processes().in_order().iter();
    ///     let ready = { all }.find(|&&process| machine.status(process) == Status::Ready);
    ///     let Some(&next) = ready else { break };
    ///     machine.step(next, &[]).unwrap();
    /// }
    /// assert!(machine.has_net().is_err());
    /// ```
    pub fn has_net(&self) -> Result<(), NoNet> {
        match self.died {
            None => Ok(()),
            Some(class) => {
                let name = self.code.classes[class as usize].name.clone();
                Err(NoNet::Dies(name))
            }
        }
    }

    /// Finds the futures that a resting task waits for. Returns whether all parts of the guard that
    /// name a future could be evaluated; the other conditions of the guard do not matter.
    pub(crate) fn awaited(
        &self,
        process: ProcessId,
        task: &Task,
        into: &mut Vec<ProcessId>,
    ) -> bool {
        into.clear();
        let ops = &self.code.ops;
        let pc = task.pc as usize;
        let mut all = true;
        let mut add = |value: Option<&Value>| match value {
            Some(&Value::Future(future)) => into.push(ProcessId(future)),
            _ => all = false,
        };
        if ops[pc] == Op::Get {
            add(task.stack.last());
        } else if let Some(frame) = task.frames.last()
            && pc > 0
            && ops[pc - 1] == Op::Await
        {
            let evaluator = Evaluator {
                code: &self.code,
                names: &self.names,
                objects: &self.state.objects,
                object: frame.object,
                task: process.0,
                trail: None,
                now: &self.state.now,
                deadline: task.deadline.as_ref(),
            };
            for (start, end) in waits(&self.code, task.pc) {
                let mut stack = task.stack[frame.base as usize..].to_vec();
                let reached = evaluator.run(Registers {
                    pc: start,
                    base: 0,
                    stack: &mut stack,
                    calls: &mut Calls::default(),
                    fuel: &mut self.max_local.clone(),
                });
                add(stack
                    .last()
                    .filter(|_| matches!(reached, Ok(at) if at == end)));
            }
        }
        all
    }

    /// Returns the first cell of an object, as `SharedCells::first` does.
    pub(crate) fn first_cell(&self, object: u32) -> u32 {
        match &self.nets {
            Some(Cells::Shared(cells)) => {
                let cog = self.state.objects[object as usize].cog;
                let class = self.names.object(object).class;
                let fields = self.code.classes[class as usize].fields.len();
                cells.borrow_mut().first(cog, class, fields)
            }
            _ => self.names.object(object).cells,
        }
    }

    /// Adds the claims on fields of the objects of a cog, by class, whether or not such objects
    /// exist yet.
    pub(crate) fn claim_shared(
        &self,
        cells: &RefCell<SharedCells>,
        cog: u32,
        others: &[(u32, u32, bool)],
        into: &mut Claims,
    ) {
        for &(class, field, writes) in others {
            let info = &self.code.classes[class as usize];
            if field == info.life_cell() {
                continue; // No object dies in a machine for nets.
            }
            let fields = info.fields.len();
            let cell = cells.borrow_mut().first(cog, class, fields) + field;
            add_claim(
                into,
                if writes {
                    Access::write(cell)
                } else {
                    Access::read(cell)
                },
            );
        }
    }

    /// Replaces the accesses of a step, for the model of a stateful net, by the cells that the step
    /// may have read and those that it has written. Fields of objects that the step has created are
    /// left out, because only tasks that get the objects from this step can touch them.
    pub(crate) fn touch_for_nets(&self, reads: &Claims, event: &mut Event) {
        let claimed = |access: &Access| {
            access.cells().all(|cell| {
                let claims = event.claims.iter();
                let writes = |claim: &&Access| claim.kind == AccessKind::Write;
                { claims }
                    .filter(writes)
                    .any(|claim| claim.cells().contains(&cell))
            })
        };
        let written = match self.nets {
            Some(Cells::Each) if self.code.object.is_none() => {
                event.touched.iter().copied().filter(claimed).collect()
            }
            _ => Claims::new(),
        };
        event.touched.clear();
        event.touched.extend_from_slice(reads);
        event.touched.extend(written);
    }

    /// Returns the cells that the next step of a task may read.
    pub(crate) fn reads_for_nets(&self, process: ProcessId, claims: &Claims) -> Claims {
        let read = |access: &Access| Access {
            kind: AccessKind::Read,
            ..*access
        };
        let mut reads: Claims = Claims::new();
        if !matches!(self.nets, Some(Cells::Each)) || self.code.object.is_some() {
            // If a cell is claimed for writing and not touched, the model counts it as read and
            // written. So only the other claims are listed here.
            reads.extend(claims.iter().filter(|access| !access.writes()));
            return reads;
        }
        // All claimed cells, except fields that the step may write and never reads.
        let task = &self.state.tasks[process.index()];
        let (mut written, mut read_too) = (Vec::new(), Vec::new());
        for (effects, object) in self.next_effects(task) {
            let first = self.first_cell(object);
            written.extend(effects.writes.iter().map(|field| first + field));
            read_too.extend(effects.reads.iter().map(|field| first + field));
        }
        let class = &self.code.classes[self.names.object(task.object).class as usize];
        if let Some((recover, _)) = class.recover {
            let first = self.first_cell(task.object);
            let reads = self.code.effects[&recover].reads.iter();
            read_too.extend(reads.map(|field| first + field));
        }
        let may = |access: &&Access| {
            let cell = access.first;
            !written.contains(&cell) || read_too.contains(&cell)
        };
        reads.extend(claims.iter().filter(may).map(read));
        reads
    }

    /// Returns the name of a cell.
    pub(crate) fn name_of_cell(&self, cell: u32) -> String {
        if cell == OUTPUT {
            return "output".to_owned();
        }
        let field = |class: u32, at: u32| {
            let fields = &self.code.classes[class as usize].fields;
            fields
                .get(at as usize)
                .cloned()
                .unwrap_or_else(|| "cog".to_owned())
        };
        let name = |object: u32| crate::text::object_name(object, &self.code, &self.names);
        if let Some(Cells::Shared(cells)) = &self.nets {
            let cells = cells.borrow();
            let after = cells.all.partition_point(|&(first, ..)| first <= cell);
            let (first, cog, class) = cells.all[after.saturating_sub(1)];
            let class_name = &self.code.classes[class as usize].name;
            return format!(
                "{class_name}.{} of {}",
                field(class, cell - first),
                name(cog)
            );
        }
        let owner = self.names.owner(cell);
        let object = self.names.object(owner);
        format!(
            "{}.{}",
            name(owner),
            field(object.class, cell - object.cells)
        )
    }
}
