//! Assembles the solver that commands use from its parts.

use std::time::Duration;

use crate::around::{Cache, CrossCheck, Fallback, Log, Logged, Reuse, Slice};
use crate::{Effort, Embedded, External, Program, Solver};

/// The choice of a solver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The embedded solver; queries that it cannot decide go to an external solver, if one is
    /// installed.
    #[default]
    Auto,
    /// Only the embedded solver.
    Embedded,
    /// Only an external solver.
    External(Program),
}

impl std::str::FromStr for Choice {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "auto" => Ok(Choice::Auto),
            "embedded" => Ok(Choice::Embedded),
            "z3" => Ok(Choice::External(Program::Z3)),
            "cvc5" => Ok(Choice::External(Program::Cvc5)),
            _ => Err(format!(
                "there is no solver `{name}`; try auto, embedded, z3 or cvc5"
            )),
        }
    }
}

/// How to assemble a solver.
#[derive(Default)]
pub struct Assembly {
    /// The solver to use.
    pub choice: Choice,
    /// The limits of the embedded solver. Its deadline applies to all solvers.
    pub effort: Effort,
    /// Time limit for a query to an external solver (default: ten seconds).
    pub patience: Option<Duration>,
    /// Whether to pass every query to both the embedded and an external solver, and compare the
    /// answers.
    pub cross_check: bool,
    /// Receives every query that reaches a solver.
    pub log: Option<Box<dyn FnMut(Logged) + Send>>,
}

/// A program that is needed but cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// The chosen program cannot be started.
    #[error("`{0}` is not on the path; install it, or use --solver embedded")]
    Program(&'static str),
    /// There is no second solver to compare with.
    #[error("comparing solvers needs z3 or cvc5 on the path")]
    Second,
}

/// Returns an external solver that is installed, if any.
pub fn present() -> Option<Program> {
    [Program::Z3, Program::Cvc5]
        .into_iter()
        .find(|program| program.is_present())
}

/// Assembles a solver: it tries recent models first, then splits a query into independent groups,
/// and looks each group up in a cache before it calls the core solver.
///
/// ```
/// use mazurka_smt::{Answer, Assembly, Solver, Term, Terms, assemble};
///
/// let mut solver = assemble(Assembly::default()).unwrap();
/// let mut terms = Terms::new();
/// assert_eq!(solver.check(&mut terms, &[Term::FALSE]), Answer::Unsat);
/// ```
pub fn assemble(assembly: Assembly) -> Result<Box<dyn Solver + Send>, Missing> {
    let patience = assembly.patience.unwrap_or(Duration::from_secs(10));
    let deadline = assembly.effort.deadline.clone();
    let external = |program| External::new(program, patience).until(deadline);
    let embedded = Embedded::new(assembly.effort);
    let core: Box<dyn Solver + Send> = match assembly.choice {
        _ if assembly.cross_check => {
            let program = match assembly.choice {
                Choice::External(program) if program.is_present() => Some(program),
                _ => present(),
            };
            let second = external(program.ok_or(Missing::Second)?);
            Box::new(CrossCheck::new(embedded, second))
        }
        Choice::Embedded => Box::new(embedded),
        Choice::External(program) if !program.is_present() => {
            return Err(Missing::Program(program.name()));
        }
        Choice::External(program) => Box::new(external(program)),
        Choice::Auto => match present() {
            Some(program) => Box::new(Fallback::new(embedded, external(program))),
            None => Box::new(embedded),
        },
    };
    let core: Box<dyn Solver + Send> = match assembly.log {
        Some(sink) => Box::new(Log::new(core, sink)),
        None => core,
    };
    Ok(Box::new(Reuse::new(Slice::new(Cache::new(core)))))
}
