//! Types of values, and their names in messages.

use crate::check::hir::{BinaryOp, Expr, Type};

/// The type of an expression while it is being checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ty {
    Known(Type),
    /// An expression made of literals and constants only: it takes the integer type of its context.
    Literal,
    /// An expression with a mistake that was reported. It fits every context, so that no further
    /// mistake is reported.
    Poison,
}

/// An expression with its type. If the type is [`Ty::Literal`], the parts of the expression get
/// their types later, from the context.
#[derive(Clone)]
pub(super) struct Typed {
    pub expr: Expr,
    pub ty: Ty,
}

pub(super) fn is_integer(ty: Type) -> bool {
    matches!(ty, Type::Int | Type::Signed(_) | Type::Unsigned(_))
}

/// Returns the text of an operator, for messages.
pub(super) fn sign(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Rem => "%",
        BinaryOp::BitAnd => "&",
        BinaryOp::BitOr => "|",
        BinaryOp::BitXor => "^",
        BinaryOp::Shl => "<<",
        BinaryOp::Shr => ">>",
        BinaryOp::Eq => "==",
        BinaryOp::Ne => "!=",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "<=",
        BinaryOp::Gt => ">",
        BinaryOp::Ge => ">=",
        BinaryOp::And => "&&",
        BinaryOp::Or => "||",
    }
}

/// Whether a type is an integer type of fixed width.
pub(super) fn is_machine(ty: Type) -> bool {
    matches!(ty, Type::Signed(_) | Type::Unsigned(_))
}

/// Returns the type as written in the source.
pub(super) fn show(ty: Type) -> String {
    match ty {
        Type::Bool => "bool".to_owned(),
        Type::Int => "int".to_owned(),
        Type::Signed(bits) => format!("i{bits}"),
        Type::Unsigned(bits) => format!("u{bits}"),
        Type::Process => "process".to_owned(),
        Type::Enum(_) => "enum".to_owned(),
    }
}

/// Returns a noun for the values of a type, for a message.
pub(crate) fn noun(ty: Ty) -> String {
    match ty {
        Ty::Known(Type::Bool) => "a `bool`".to_owned(),
        Ty::Known(Type::Process) => "a process".to_owned(),
        Ty::Known(Type::Enum(_)) => "a member of an `enum`".to_owned(),
        Ty::Known(ty @ (Type::Int | Type::Signed(_))) => format!("an `{}`", show(ty)),
        Ty::Known(ty) => format!("a `{}`", show(ty)),
        Ty::Literal => "a number".to_owned(),
        Ty::Poison => "something wrong".to_owned(),
    }
}

/// Returns the smallest and largest value of an integer type; for `int`, the limits of the
/// evaluator, which are 64 bits.
pub(crate) fn range(ty: Type) -> (i128, i128) {
    match ty {
        Type::Bool => (0, 1),
        Type::Int | Type::Process | Type::Enum(_) => (i64::MIN.into(), i64::MAX.into()),
        Type::Signed(bits) => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        Type::Unsigned(bits) => (0, (1 << bits) - 1),
    }
}

/// Returns the number that a stored `i64` stands for. It differs from the `i64` only for large
/// values of `u64`.
pub(super) fn numeric(bits: i64, ty: Type) -> i128 {
    match ty {
        Type::Unsigned(64) => (bits as u64).into(),
        _ => bits.into(),
    }
}

/// Returns the `i64` that stores a number.
pub(super) fn stored(value: i128) -> i64 {
    value as i64
}
