//! Formulas of dynamic logic: SymPaths paper, Definition 5.
//!
//! | paper | here | written |
//! |---|---|---|
//! | e ∈ BExp | [`Formula::Expr`] | as in a program |
//! | ¬, ∧, ∨, →, ↔ | [`Formula::Not`] … [`Formula::Iff`] | `!`, `&&`, `\|\|`, `==>`, `<==>` |
//! | ∀x·Ψ | [`Formula::ForAll`] | `forall x: int. …` |
//! | ∃x·Ψ | [`Formula::Exists`] | `exists x: bool. …` |
//! | \[Σ\]Ψ | [`Formula::Box`] | `[*] …` for all processes, `[p \|\| q] …` for some |
//! | {σ}Ψ | [`Formula::Update`] | `{x := e, y := f} …`, all at once |
//!
//! The connectives may also be written as in the paper.

use mazurka_lang::hir::{Expr, Place, Type};

/// A formula. A local variable in an expression is one that a quantifier binds, by its number from
/// outside.
#[derive(Clone, Debug)]
pub enum Formula {
    /// A condition.
    Expr(Expr),
    /// ¬Ψ
    Not(Box<Formula>),
    /// Ψ₁ ∧ Ψ₂
    And(Box<Formula>, Box<Formula>),
    /// Ψ₁ ∨ Ψ₂
    Or(Box<Formula>, Box<Formula>),
    /// Ψ₁ → Ψ₂
    Implies(Box<Formula>, Box<Formula>),
    /// Ψ₁ ↔ Ψ₂
    Iff(Box<Formula>, Box<Formula>),
    /// ∀x·Ψ
    ForAll(String, Type, Box<Formula>),
    /// ∃x·Ψ
    Exists(String, Type, Box<Formula>),
    /// \[Σ\]Ψ: Ψ holds wherever these processes end, all of them started at once.
    Box(Vec<usize>, Box<Formula>),
    /// {σ}Ψ
    Update(Vec<(Place, Expr)>, Box<Formula>),
}

impl Formula {
    /// Whether there is no box in it: then it speaks of one state.
    pub fn is_first_order(&self) -> bool {
        match self {
            Formula::Expr(_) => true,
            Formula::Box(..) => false,
            Formula::Not(a)
            | Formula::ForAll(_, _, a)
            | Formula::Exists(_, _, a)
            | Formula::Update(_, a) => a.is_first_order(),
            Formula::And(a, b)
            | Formula::Or(a, b)
            | Formula::Implies(a, b)
            | Formula::Iff(a, b) => a.is_first_order() && b.is_first_order(),
        }
    }

    /// The conjunction of any number of formulas; none if there are none.
    pub fn all(parts: impl IntoIterator<Item = Formula>) -> Option<Formula> {
        let mut parts = parts.into_iter();
        let first = parts.next()?;
        Some(parts.fold(first, |a, b| Formula::And(Box::new(a), Box::new(b))))
    }
}
