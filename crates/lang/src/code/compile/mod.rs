//! Compiles the checked program to code.
//!
//! The compiler makes one pass over the tree. With `atomicity statement`, each statement that can
//! access shared memory or can block gets one mark. With `atomicity access`, each read and each
//! write of a shared variable gets a mark: the reads of an expression are *hoisted* into
//! temporaries, in evaluation order, and the rest of the statement is local work.

mod expr;
mod order;
mod stmt;

use std::sync::Arc;

use mazurka_core::{Fairness, ProcessNames, RootName, Wait};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::check::hir::{Expr, ExprKind, Frame, LocalId, Process, Program, Property, Stmt, Type};
use crate::check::refuse;
use crate::code::claims;
use crate::code::endless::EndlessBodies;
use crate::code::ghosts;
use crate::code::history;
use crate::code::liveness::{self, LiveSlots};
use crate::code::loops;
use crate::code::shared::Shared;
use crate::code::{Checked, Code, Counting, Entry, LabelPart, Layout, Op, Range, StepInfo, Waits};
use crate::run;
use mazurka_diagnostics::{Diagnostic, Span};

/// Compiles a program, to run and explore it. The values that the program does not give
/// ([`unknowns`](Program::unknowns)) are not part of the code: a [`Machine`](crate::Machine) takes
/// given values, a [`SymbolicMachine`](crate::SymbolicMachine) considers all possible values. The
/// error says why the program cannot be explored, for example because initial values break a
/// `requires`.
///
/// ```
/// let source = "var x: int = 0 requires x > 0 process { x := x + 1 }";
/// let program = mazurka_lang::load(source, &[]).unwrap();
/// assert_eq!(mazurka_lang::compile(&program, source).unwrap_err()[0].code, "M0603");
/// ```
pub fn compile(program: &Program, source: &str) -> Result<Code, Vec<Diagnostic>> {
    let values = if program.unknowns().is_empty() {
        Values::Concrete
    } else {
        Values::Symbolic { exits: false }
    };
    let mut code = Compiler::new(program, source, values).compile();
    let mut refused = refuse::late_waits(&code.late);
    refused.extend(broken_requires(&code, program));
    refused.extend(ghosts::without_a_step(&code));
    code.linear = history::linear(&code)?;
    if refused.is_empty() {
        Ok(code)
    } else {
        Err(refused)
    }
}

/// Compiles a program for [`SymbolicMachine`](crate::SymbolicMachine), with or without
/// unknown values.
///
/// `exits`: whether the exit of a bounded loop that has reached its bound is a separate step, which
/// touches nothing, as in the prototype of the SymPaths paper.
pub fn compile_symbolic(program: &Program, source: &str, exits: bool) -> Code {
    Compiler::new(program, source, Values::Symbolic { exits }).compile()
}

/// Returns a mistake for each `requires` that the initial values break; none if an initial value is
/// unknown. A condition that cannot be computed counts as false.
fn broken_requires(code: &Code, program: &Program) -> Vec<Diagnostic> {
    if program.vars.iter().any(|var| var.init.is_none()) {
        return Vec::new();
    }
    let snippets = code.requires.iter().map(|checked| checked.snippet);
    let holds: Vec<Option<bool>> = snippets
        .map(|snippet| run::evaluate(&code.snippets[snippet as usize], &code.initial))
        .map(|value| value.ok().map(|value| value != 0))
        .collect();
    refuse::broken_requires(program, &holds)
}

/// The kind of values that the code computes with: numbers, or terms over unknown values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Values {
    Concrete,
    Symbolic {
        /// Whether the exit of a bounded loop that has reached its bound is a separate step.
        exits: bool,
    },
}

/// What the analysis of claims must know about an instruction with an index.
pub(crate) struct IndexedAccess {
    /// The index as a snippet, and the slots that it reads; `None` if it reads shared memory.
    pub local: Option<(u32, Vec<u32>)>,
}

/// Compiles one program. It holds the code emitted so far, and the context of the statement being
/// compiled.
pub(crate) struct Compiler<'a> {
    program: &'a Program,
    values: Values,
    shared: Shared<'a>,
    code: Code,
    indices: FxHashMap<u32, IndexedAccess>,
    /// The span of new instructions.
    span: Span,
    /// The body being compiled.
    body: u32,
    temporaries: Vec<LocalId>,
    temporaries_used: usize,
    /// The temporaries of the statement that hold a computed value, each with the expression of the
    /// value.
    computed: Vec<(LocalId, Expr)>,
    /// The number of slots of the body's frame so far.
    frame: u32,
    /// The spawned blocks that are not compiled yet, each with the instruction that starts it.
    blocks: Vec<(u32, &'a [Stmt])>,
    /// Whether all accesses belong to one step, as inside `atomic`.
    one_step: bool,
    /// Whether a guard may have opened the current step.
    maybe_open: bool,
    /// The enclosing loops, innermost last.
    loops: Vec<stmt::Loop>,
    /// The numbers of enclosing guards and atomic blocks in this body.
    guards: usize,
    atomics: usize,
    ends: EndlessBodies,
}

impl<'a> Compiler<'a> {
    fn new(program: &'a Program, source: &str, values: Values) -> Self {
        let mut initial = Vec::new();
        let mut first_cells = Vec::new();
        for var in &program.vars {
            first_cells.push(initial.len() as u32);
            let len = var.len.unwrap_or(1) as usize;
            match &var.init {
                Some(values) => initial.extend(values),
                None => initial.resize(initial.len() + len, 0),
            }
        }
        let first_lock = initial.len() as u32;
        let mut lock_cells = Vec::new();
        for lock in &program.locks {
            lock_cells.push(initial.len() as u32);
            initial.resize(initial.len() + lock.len.unwrap_or(1) as usize, 0);
        }
        let shared = Shared::new(program);
        let code = Code {
            ops: Vec::new(),
            quick: Vec::new(),
            waits: Vec::new(),
            spans: Vec::new(),
            bodies: Vec::new(),
            layouts: Vec::new(),
            notes: FxHashMap::default(),
            branches: FxHashSet::default(),
            tests: FxHashMap::default(),
            messages: FxHashMap::default(),
            asserted: FxHashMap::default(),
            operands: FxHashMap::default(),
            names: process_names(program),
            snippets: Vec::new(),
            steps: Vec::new(),
            procedures: Vec::new(),
            processes: Vec::new(),
            watched: match program.invariants[..] {
                [] => Vec::new(),
                _ => vec![SmallVec::new(); initial.len()],
            },
            inputs: FxHashMap::default(),
            initial,
            first_lock,
            requires: Vec::new(),
            invariants: Vec::new(),
            ensures: Vec::new(),
            temporal: program
                .temporal
                .iter()
                .map(|property| property.says)
                .collect(),
            conditions: Vec::new(),
            watched_slots: Vec::new(),
            observed: Vec::new(),
            program: Arc::new(Program::default()),
            source: source.into(),
            first_cells,
            lock_cells,
            states_property: !program.invariants.is_empty()
                || !program.ensures.is_empty()
                || !program.temporal.is_empty()
                || program.refinement.is_some(),
            guards: mazurka_core::Claims::new(),
            ends: Vec::new(),
            pure_ends: FxHashMap::default(),
            channels: Vec::new(),
            late: Vec::new(),
            may_loop: false,
            begins: Vec::new(),
            live: LiveSlots::default(),
            reach: std::sync::OnceLock::new(),
            interference: std::sync::OnceLock::new(),
            quiet: Default::default(),
            symmetry: std::sync::OnceLock::new(),
            fairness: Fairness::Weak,
            counting: Counting::All,
            linear: None,
        };
        Self {
            program,
            values,
            shared,
            code,
            indices: FxHashMap::default(),
            span: Span::default(),
            body: 0,
            temporaries: Vec::new(),
            temporaries_used: 0,
            computed: Vec::new(),
            frame: 0,
            blocks: Vec::new(),
            one_step: false,
            maybe_open: false,
            loops: Vec::new(),
            guards: 0,
            atomics: 0,
            ends: EndlessBodies::new(program),
        }
    }

    fn compile(mut self) -> Code {
        let program = self.program;
        for property in &program.requires {
            let checked = self.property(property);
            self.code.requires.push(checked);
        }
        for property in &program.invariants {
            let checked = self.property(property);
            let number = self.code.invariants.len() as u32;
            for cell in self.cells_read(&property.expr) {
                self.code.watched[cell as usize].push(number);
            }
            self.code.invariants.push(checked);
        }
        for property in &program.ensures {
            let checked = self.property(property);
            self.code.ensures.push(checked);
        }
        for procedure in &program.procedures {
            let entry = self.body(&procedure.frame, &procedure.body, Op::Return);
            self.code.procedures.push(Entry {
                params: procedure.params,
                ..entry
            });
        }
        for process in &program.processes {
            let entry = self.body(&process.frame, &process.body, Op::End);
            self.code.processes.push(entry);
        }
        self.conditions();
        for var in (0..program.vars.len()).filter(|&var| program.observes(var)) {
            let first = self.code.first_cells[var];
            let len = program.vars[var].len.unwrap_or(1);
            self.code.observed.extend(first..first + len);
        }
        self.code.program = Arc::new(program.clone());
        self.code.may_loop = loops::may_loop(program, &self.shared);
        claims::analyse(&mut self.code, &self.indices);
        self.code.live = liveness::analyse(&self.code);
        self.code
    }

    fn property(&mut self, property: &Property) -> Checked {
        // Only machines over numbers evaluate this code; machines over terms build the condition
        // from the tree.
        let values = std::mem::replace(&mut self.values, Values::Concrete);
        let ops = self.snippet(&property.expr);
        self.values = values;
        self.code.snippets.push(ops);
        Checked {
            snippet: self.code.snippets.len() as u32 - 1,
            name: property.name.clone(),
            span: property.span,
        }
    }

    /// Compiles the conditions of temporal properties. Their frame holds the locals that
    /// they mention.
    fn conditions(&mut self) {
        let program = self.program;
        let first_process = self.code.layouts.len() - program.processes.len();
        let mut frame = Layout::default();
        for watched in &program.watched {
            let layout = &self.code.layouts[first_process + watched.process as usize];
            let slot = layout.slots[watched.local.0 as usize];
            frame.slots.push(self.code.watched_slots.len() as u32);
            frame.names.push(watched.declared.clone());
            let slots = slot..slot + watched.declared.len.unwrap_or(1);
            let slots = slots.map(|slot| (watched.process, slot));
            self.code.watched_slots.extend(slots);
        }
        self.body = self.code.layouts.len() as u32;
        self.code.layouts.push(frame);
        for condition in &program.conditions {
            let values = std::mem::replace(&mut self.values, Values::Concrete);
            let ops = self.snippet(condition);
            self.values = values;
            self.code.conditions.push(self.code.snippets.len() as u32);
            self.code.snippets.push(ops);
        }
    }

    /// Returns the cells that an expression may read. An index that is not constant may select
    /// every element of the array.
    fn cells_read(&self, expr: &Expr) -> Vec<u32> {
        let mut cells = Vec::new();
        expr.walk(&mut |e| match &e.kind {
            ExprKind::Shared(var) => cells.push(self.code.first_cells[var.0 as usize]),
            ExprKind::Element(var, index) => {
                let range = self.range(self.program.accessed(*var, index).0);
                match index.kind {
                    ExprKind::Const(at) if (0..i64::from(range.len)).contains(&at) => {
                        cells.push(range.first + at as u32);
                    }
                    _ => cells.extend(range.first..range.first + range.len),
                }
            }
            _ => {}
        });
        cells.sort_unstable();
        cells.dedup();
        cells
    }

    pub(super) fn range(&self, var: u32) -> Range {
        Range {
            first: self.code.first_cells[var as usize],
            len: self.program.vars[var as usize].len.unwrap_or(1),
        }
    }

    // The bodies of processes and procedures.

    fn body(&mut self, frame: &Frame, stmts: &'a [Stmt], last: Op) -> Entry {
        self.body = self.code.layouts.len() as u32;
        let mut slots = Vec::new();
        self.frame = 0;
        for local in &frame.locals {
            slots.push(self.frame);
            self.frame += local.len.unwrap_or(1);
        }
        self.code.layouts.push(Layout {
            names: frame.locals.clone(),
            slots,
        });
        self.temporaries.clear();
        let pc = self.here();
        self.code.begins.push((pc, self.ends.is_endless(stmts)));
        // A guard may have opened the step that calls the procedure.
        self.maybe_open = last == Op::Return;
        self.block(stmts);
        self.emit(last);
        while let Some((spawn, stmts)) = self.blocks.pop() {
            let first = self.here();
            self.code.ops[spawn as usize] = Op::SpawnBlock(first);
            self.code.begins.push((first, self.ends.is_endless(stmts)));
            self.maybe_open = false;
            self.block(stmts);
            self.emit(Op::End);
        }
        Entry {
            pc,
            params: 0,
            frame: self.frame,
        }
    }

    pub(super) fn here(&self) -> u32 {
        self.code.ops.len() as u32
    }

    pub(super) fn emit(&mut self, op: Op) -> u32 {
        let at = self.here();
        self.code.ops.push(op);
        self.code.spans.push(self.span);
        self.code.bodies.push(self.body);
        at
    }

    /// Emits a jump whose target is set later.
    pub(super) fn jump(&mut self, op: fn(u32) -> Op) -> u32 {
        self.emit(op(0))
    }

    /// Emits a jump that decides the path of the process. The jumps within the computation of a
    /// value are not branches.
    pub(super) fn branch(&mut self) -> u32 {
        let at = self.jump(Op::JumpIfFalse);
        self.code.branches.insert(at);
        at
    }

    /// Sets the target of a jump to the next instruction.
    pub(super) fn land(&mut self, jump: u32) {
        let here = self.here();
        let op = &mut self.code.ops[jump as usize];
        *op = match *op {
            Op::JumpIfFalse(_) => Op::JumpIfFalse(here),
            Op::JumpUnlessLess {
                slots, unsigned, ..
            } => Op::JumpUnlessLess {
                slots,
                unsigned,
                to: here,
            },
            _ => Op::Jump(here),
        };
    }

    /// Removes the last instructions.
    pub(super) fn drop_last(&mut self, count: usize) {
        let left = self.code.ops.len() - count;
        self.code.ops.truncate(left);
        self.code.spans.truncate(left);
        self.code.bodies.truncate(left);
    }

    pub(super) fn mark(&mut self, op: fn(u32) -> Op) {
        let number = self.code.steps.len() as u32;
        self.code.steps.push(StepInfo {
            claims: Vec::new(),
            fixed: None,
            waits: Waits::Never,
            wait: Wait::Never,
            joins: false,
            puts_off: false,
            ends: None,
            span: self.span,
            order: self.program.orders.get(&self.span).copied(),
        });
        self.emit(op(number));
    }

    pub(super) fn note(&mut self, at: u32, note: LabelPart) {
        self.code.notes.insert(at, note);
    }

    pub(super) fn slot(&self, local: LocalId) -> u32 {
        self.code.layouts[self.body as usize].slots[local.0 as usize]
    }

    pub(super) fn local_range(&self, local: LocalId) -> Range {
        let layout = &self.code.layouts[self.body as usize];
        Range {
            first: layout.slots[local.0 as usize],
            len: layout.names[local.0 as usize].len.unwrap_or(1),
        }
    }

    /// Returns a local that holds a value until the end of the statement.
    pub(super) fn temporary(&mut self, ty: Type) -> LocalId {
        if self.temporaries_used == self.temporaries.len() {
            let layout = &mut self.code.layouts[self.body as usize];
            self.temporaries.push(LocalId(layout.slots.len() as u32));
            layout.slots.push(self.frame);
            layout.names.push(crate::check::hir::Local {
                name: "$t".to_owned(),
                shape: crate::check::hir::Shape::plain("$t", Vec::new()),
                ty,
                len: None,
            });
            self.frame += 1;
        }
        self.temporaries_used += 1;
        self.temporaries[self.temporaries_used - 1]
    }
}

/// Returns the names of the processes that exist from the start.
pub(crate) fn process_names(program: &Program) -> ProcessNames {
    let name = |process: &Process| {
        let (name, instance) = (process.name.clone()?, process.instance);
        Some(RootName { name, instance })
    };
    ProcessNames::new(program.processes.iter().map(name).collect())
}

fn constant_index(index: &Expr, range: Range) -> Option<u32> {
    match index.kind {
        ExprKind::Const(at) if (0..i64::from(range.len)).contains(&at) => {
            Some(range.first + at as u32)
        }
        _ => None,
    }
}
