//! The choice of the solver for conditions over inputs and initial values, its limits, and the log
//! of its queries.
//!
//! By default the embedded solver decides. If `z3` or `cvc5` is installed, it can replace the
//! embedded solver, or its answers can be compared with those of the embedded solver.
//!
//! ```
//! use mazurka::solving::SolverChoice;
//! use mazurka::{Options, Program, Verdict, quietly};
//!
//! let source = "process { let x = input(); assert x * x != 49 }";
//! let program = Program::load("square.maz", source, &[]).unwrap();
//! let options = Options { solver: SolverChoice::Embedded.into(), ..Options::default() };
//! let record = program.check(&options, &mut quietly()).unwrap();
//! assert_eq!(record.verdict, Verdict::Violated);
//! ```

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mazurka_core::Limits;
use mazurka_smt::{Assembly, Choice, Deadline, Effort, Missing, Solver, assemble};

pub use mazurka_smt::{Choice as SolverChoice, present as second_solver, stop_all as stop_solvers};

/// Minimum time for finding evidence. It is granted even after the time limit.
const FOR_EVIDENCE: Duration = Duration::from_millis(500);

/// Receives every query that reaches a solver, as SMT-LIB text with the answer as a comment.
pub type QueryLog = Arc<Mutex<dyn FnMut(&str) + Send>>;

/// How conditions are decided.
///
/// ```
/// use mazurka::solving::{SolverChoice, Solving};
/// let solving = Solving::from(SolverChoice::Embedded);
/// assert!(!solving.cross_check);
/// ```
#[derive(Clone, Default)]
pub struct Solving {
    /// The solver to use. An external program must be on the path.
    pub choice: Choice,
    /// Whether to pass every query to both the embedded and an external solver, and compare the
    /// answers.
    pub cross_check: bool,
    /// The log of queries.
    pub log: Option<QueryLog>,
    /// Set to break off all queries.
    pub stop: Option<Arc<AtomicBool>>,
    /// The time at which queries are broken off. A search sets it according to its time limit.
    pub deadline: Deadline,
}

impl From<Choice> for Solving {
    fn from(choice: Choice) -> Self {
        Self {
            choice,
            ..Self::default()
        }
    }
}

impl std::fmt::Debug for Solving {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            choice,
            cross_check,
            ..
        } = self;
        write!(f, "Solving({choice:?}, cross_check: {cross_check})")
    }
}

impl Solving {
    /// Returns these settings with the deadline of a search that starts now.
    pub(crate) fn started(&self, limits: &Limits) -> Self {
        let deadline = limits.time.map_or_else(Deadline::default, Deadline::after);
        Self {
            deadline: deadline.or_when(self.stop.clone()),
            ..self.clone()
        }
    }

    /// Gives the solver some more time after the search, to find values for the evidence.
    pub(crate) fn show(&self) {
        self.deadline.put_off(FOR_EVIDENCE);
    }

    /// Assembles a solver. Its embedded solver gives up on a query after this many conflicts.
    pub(crate) fn assemble(&self, conflicts: u64) -> Result<Box<dyn Solver + Send>, Missing> {
        let log = self.log.clone().map(|log| -> Box<dyn FnMut(_) + Send> {
            Box::new(move |logged: mazurka_smt::Logged| {
                let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
                log(&logged.script);
            })
        });
        assemble(Assembly {
            choice: self.choice,
            effort: Effort {
                conflicts,
                deadline: self.deadline.clone(),
                ..Effort::default()
            },
            patience: self.deadline.left(),
            cross_check: self.cross_check,
            log,
        })
    }
}
