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
//! | ⟨Σ⟩Ψ | [`Formula::Diamond`] | `<*> …`, `<p \|\| q> …` |
//!
//! The connectives may also be written with the symbols of the paper.

use std::borrow::Cow;

use mazurka_lang::hir::{Expr, Place, Program, Type};

/// A formula. The local variables in its expressions are the variables that quantifiers bind,
/// numbered from the outermost quantifier.
///
/// ```
/// let source = "var x: int process p { x := x + 1 }";
/// let program = mazurka_lang::load(source, &[]).unwrap();
/// let formula = mazurka_logic::parse("x == 0 ==> [p] x == 1", &program).unwrap();
/// assert!(!formula.is_first_order() && formula.has_rules());
/// ```
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
    /// \[Σ\]Ψ: after these processes are started together, Ψ holds in every state in which they
    /// have ended. The processes are given by index. An index beyond those of the program means a
    /// copy of a process ([`with_copies`]).
    Box(Vec<usize>, Box<Formula>),
    /// ⟨Σ⟩Ψ: some run of these processes ends without a failure in a state with Ψ. This differs
    /// from ¬\[Σ\]¬Ψ, because a box is also false if a run fails.
    Diamond(Vec<usize>, Box<Formula>),
    /// {σ}Ψ
    Update(Vec<(Place, Expr)>, Box<Formula>),
}

impl Formula {
    /// Whether the formula has no box and no diamond, so that it is about one state.
    pub fn is_first_order(&self) -> bool {
        match self {
            Formula::Expr(_) => true,
            Formula::Box(..) | Formula::Diamond(..) => false,
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

    /// Whether every box is at a position for which there is a rule: under `&&`, right of `==>`, on
    /// one side of `||`, under `forall`, an update or another box. Other formulas are decided by
    /// executing their boxes (`eliminate.rs`).
    pub fn has_rules(&self) -> bool {
        self.is_first_order()
            || match self {
                Formula::Box(_, a) | Formula::ForAll(_, _, a) | Formula::Update(_, a) => {
                    a.has_rules()
                }
                Formula::And(a, b) => a.has_rules() && b.has_rules(),
                Formula::Implies(a, b) => a.is_first_order() && b.has_rules(),
                Formula::Or(a, b) => {
                    (a.is_first_order() && b.has_rules()) || (b.is_first_order() && a.has_rules())
                }
                Formula::Expr(_)
                | Formula::Not(_)
                | Formula::Exists(..)
                | Formula::Iff(..)
                | Formula::Diamond(..) => false,
            }
    }

    /// Returns the greatest index of a process in a box or diamond.
    fn last_process(&self) -> usize {
        match self {
            Formula::Expr(_) => 0,
            Formula::Box(processes, a) | Formula::Diamond(processes, a) => {
                let last = processes.iter().copied().max();
                last.unwrap_or(0).max(a.last_process())
            }
            Formula::Not(a)
            | Formula::ForAll(_, _, a)
            | Formula::Exists(_, _, a)
            | Formula::Update(_, a) => a.last_process(),
            Formula::And(a, b)
            | Formula::Or(a, b)
            | Formula::Implies(a, b)
            | Formula::Iff(a, b) => a.last_process().max(b.last_process()),
        }
    }

    /// Returns the conjunction of formulas; `None` if there are none.
    pub fn all(parts: impl IntoIterator<Item = Formula>) -> Option<Formula> {
        let mut parts = parts.into_iter();
        let first = parts.next()?;
        Some(parts.fold(first, |a, b| Formula::And(Box::new(a), Box::new(b))))
    }
}

/// Returns the program with the copies of processes that a formula mentions.
///
/// In a box `[p || p]` the second p is a copy of the first. If the program has n processes and p
/// has index k, the second p has index k + n, the third has index k + 2n, and so on.
///
/// ```
/// let source = "var x: int process p { x := x + 1 } process q { x := 0 }";
/// let program = mazurka_lang::load(source, &[]).unwrap();
/// let twice = mazurka_logic::parse("[p || p] x >= 0", &program).unwrap();
/// assert_eq!(mazurka_logic::with_copies(&program, &twice).processes.len(), 4);
/// let once = mazurka_logic::parse("[p || q] x >= 0", &program).unwrap();
/// assert_eq!(mazurka_logic::with_copies(&program, &once).processes.len(), 2);
/// ```
pub fn with_copies<'p>(program: &'p Program, formula: &Formula) -> Cow<'p, Program> {
    let count = program.processes.len();
    if formula.last_process() < count || count == 0 {
        return Cow::Borrowed(program);
    }
    let mut wide = program.clone();
    while wide.processes.len() <= formula.last_process() {
        for at in 0..count {
            let mut copy = program.processes[at].clone();
            copy.name = None;
            wide.processes.push(copy);
        }
    }
    Cow::Owned(wide)
}
