//! Read access to the instructions of a program, for an independent interpreter.
//!
//! [`Machine`](crate::Machine) runs these instructions with the help of analyses. A checker that
//! must not rely on these analyses reads the instructions here. [`Op`] defines each instruction,
//! and the head of `code/mod.rs` defines a step.
//!
//! ```
//! use mazurka_lang::flat::{Flat, Op};
//!
//! let source = "var x: int = 0; process { x := x + 1 }";
//! let program = mazurka_lang::load(source, &[]).unwrap();
//! let code = mazurka_lang::compile(&program, source).unwrap();
//! let flat = Flat::new(&code);
//! assert_eq!(flat.processes.len(), 1);
//! assert!(matches!(flat.ops[flat.processes[0].pc as usize], Op::Mark(_)));
//! ```

pub use super::{Arith, Compare, Entry, Op, Range};
pub use mazurka_core::Temporal;

use super::Code;

/// The parts of a compiled program that define what it does.
#[derive(Clone, Copy, Debug)]
pub struct Flat<'a> {
    /// The instructions.
    pub ops: &'a [Op],
    /// The procedures.
    pub procedures: &'a [Entry],
    /// The processes that exist from the start.
    pub processes: &'a [Entry],
    /// The initial values of the cells: variables, then locks.
    pub initial: &'a [i64],
    /// The cells that are compared in final states to decide determinism.
    pub observed: &'a [u32],
    code: &'a Code,
}

impl<'a> Flat<'a> {
    /// Returns the parts of a compiled program.
    pub fn new(code: &'a Code) -> Self {
        Self {
            ops: &code.ops,
            procedures: &code.procedures,
            processes: &code.processes,
            initial: &code.initial,
            observed: &code.observed,
            code,
        }
    }

    /// Whether a conditional jump decides what its process does next. Other jumps belong to the
    /// computation of a value.
    pub fn is_branch(&self, pc: u32) -> bool {
        self.code.branches.contains(&pc)
    }

    /// Whether a process is not meant to end. `pc` is the instruction at which the process is in
    /// its outermost body.
    pub fn is_endless(&self, pc: u32) -> bool {
        self.code.is_endless(pc)
    }

    /// Returns the conditions of the invariants, in order: instructions that read cells and
    /// leave a value.
    pub fn invariants(&self) -> impl Iterator<Item = &'a [Op]> + use<'a> {
        let code = self.code;
        let snippet = |at: u32| &code.snippets[at as usize][..];
        code.invariants.iter().map(move |one| snippet(one.snippet))
    }

    /// Returns the conditions of `ensures`, in the same form as the invariants.
    pub fn ensures(&self) -> impl Iterator<Item = &'a [Op]> + use<'a> {
        let code = self.code;
        let snippet = |at: u32| &code.snippets[at as usize][..];
        code.ensures.iter().map(move |one| snippet(one.snippet))
    }

    /// Returns the temporal properties; they refer to conditions by index.
    pub fn temporal(&self) -> impl Iterator<Item = Temporal> + use<'a> {
        let stated = self.code.program().temporal.iter();
        stated.map(|property| property.says)
    }

    /// Returns a condition of temporal properties as instructions that leave a value.
    pub fn condition(&self, number: usize) -> Option<&'a [Op]> {
        let snippet = *self.code.conditions.get(number)?;
        Some(&self.code.snippets[snippet as usize])
    }

    /// Whether these conditions mention locals of processes.
    pub fn mentions_locals(&self) -> bool {
        !self.code.program().watched.is_empty()
    }
}
