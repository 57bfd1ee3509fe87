//! The instructions of a program, for an interpreter with code of its own.
//!
//! [`Machine`](crate::Machine) runs them and knows much about them beforehand; a checker that must
//! not rely on any of that reads them from here. What they mean is told at [`Op`], and what a step
//! is at the head of `code/mod.rs`.
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

/// The parts of a program that say what it does.
#[derive(Clone, Copy, Debug)]
pub struct Flat<'a> {
    /// The instructions.
    pub ops: &'a [Op],
    /// The procedures.
    pub procedures: &'a [Entry],
    /// The processes that are there from the start.
    pub processes: &'a [Entry],
    /// What the cells hold at first: those of variables, then those of locks.
    pub initial: &'a [i64],
    /// The cells that determinism is about.
    pub observed: &'a [u32],
    code: &'a Code,
}

impl<'a> Flat<'a> {
    /// The parts of a compiled program.
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

    /// Whether a conditional jump decides what its process does next. Others belong to the
    /// computation of a value.
    pub fn is_branch(&self, pc: u32) -> bool {
        self.code.branches.contains(&pc)
    }

    /// Whether a process is not meant to end whose outermost body is at this instruction.
    pub fn is_endless(&self, pc: u32) -> bool {
        self.code.is_endless(pc)
    }

    /// The conditions of the invariants, in their order: instructions that read cells and leave a
    /// value.
    pub fn invariants(&self) -> impl Iterator<Item = &'a [Op]> + use<'a> {
        let code = self.code;
        let snippet = |at: u32| &code.snippets[at as usize][..];
        code.invariants.iter().map(move |one| snippet(one.snippet))
    }

    /// The same for what must hold of final states.
    pub fn ensures(&self) -> impl Iterator<Item = &'a [Op]> + use<'a> {
        let code = self.code;
        let snippet = |at: u32| &code.snippets[at as usize][..];
        code.ensures.iter().map(move |one| snippet(one.snippet))
    }

    /// The temporal properties, over conditions by their numbers.
    pub fn temporal(&self) -> impl Iterator<Item = Temporal> + use<'a> {
        let stated = self.code.program().temporal.iter();
        stated.map(|property| property.says)
    }

    /// A condition of temporal properties, as instructions that leave a value.
    pub fn condition(&self, number: usize) -> Option<&'a [Op]> {
        let snippet = *self.code.conditions.get(number)?;
        Some(&self.code.snippets[snippet as usize])
    }

    /// Whether these conditions speak of locals of processes.
    pub fn speaks_of_locals(&self) -> bool {
        !self.code.program().watched.is_empty()
    }
}
