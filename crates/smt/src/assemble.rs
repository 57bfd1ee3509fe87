//! The solver that commands use, put together from its parts in one place.

use std::time::Duration;

use crate::around::{Cache, CrossCheck, Fallback, Log, Logged, Reuse, Slice};
use crate::{Effort, Embedded, External, Program, Solver};

/// Which solver decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The embedded one; what it cannot decide goes to an external one, if there is one.
    #[default]
    Auto,
    /// The embedded one alone.
    Embedded,
    /// An external one alone.
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

/// How the solver is put together.
#[derive(Default)]
pub struct Assembly {
    /// Which solver decides.
    pub choice: Choice,
    /// How far the embedded one goes; no solver goes beyond its deadline.
    pub effort: Effort,
    /// How long to wait for an external one; `None`: ten seconds.
    pub patience: Option<Duration>,
    /// Ask the embedded and an external solver everything, and compare.
    pub cross_check: bool,
    /// Hears of every query that reaches a solver.
    pub log: Option<Box<dyn FnMut(Logged) + Send>>,
}

/// The program that is not there, or is not asked for where it is needed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// The program asked for cannot be started.
    #[error("`{0}` is not on the path; install it, or use --solver embedded")]
    Program(&'static str),
    /// There is nothing to compare with.
    #[error("comparing solvers needs z3 or cvc5 on the path")]
    Second,
}

/// The external solver that is there, if any.
pub fn present() -> Option<Program> {
    [Program::Z3, Program::Cvc5]
        .into_iter()
        .find(|program| program.is_present())
}

/// Recent models first, then independent groups, each looked up in a cache before a solver is
/// asked.
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
