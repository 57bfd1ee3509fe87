//! The part of the checked program that describes an object and its specification, for
//! linearizability (`operations.rs`).

use mazurka_diagnostics::Span;

use super::hir::{Program, Type, VarId};

/// An object with operations that clients call. The history of the calls is in four ghost
/// variables, which `check/operations.rs` explains.
#[derive(Clone, Debug)]
pub struct Linearizable {
    /// The number of clients; they are the last processes of the program.
    pub clients: u32,
    /// The number of calls that each of them makes.
    pub calls_each: u32,
    /// The operations, in the order of the file.
    pub operations: Vec<Operation>,
    /// The calls that a client chooses from.
    pub calls: Vec<LinearCall>,
    /// The ghost `$ended`. The four ghosts are adjacent, and this is the first of them.
    pub first: VarId,
    /// The ghost `$called`.
    pub called: VarId,
    /// The ghost `$seen`.
    pub seen: VarId,
    /// The ghost `$result`, the last of the four.
    pub result: VarId,
    /// The specification of the operations. It is `None` only while the file is being checked.
    pub specification: Option<Specification>,
    /// Where the specification begins.
    pub span: Span,
}

/// An operation of an object.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Its name.
    pub name: String,
    /// The types of its parameters.
    pub params: Vec<Type>,
    /// The type of its result, if it returns one.
    pub result: Option<Type>,
    /// The place of its name, parameters and result.
    pub head: Span,
}

/// An operation with arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinearCall {
    /// The operation, by its index.
    pub operation: u32,
    /// Its arguments.
    pub args: Vec<i64>,
}

/// A program with one process that makes one call in one step.
#[derive(Clone, Debug)]
pub struct Specification {
    /// The program.
    pub program: Box<Program>,
    /// The variable that holds the index of the call in [`Linearizable::calls`]: an array with one
    /// element.
    pub called: VarId,
    /// The variable for the result.
    pub result: VarId,
}
