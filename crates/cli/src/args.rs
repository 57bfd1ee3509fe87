//! The groups of flags that several commands share, and their conversion to the library's
//! [`Options`].

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use mazurka::search::Fairness;
use mazurka::solving::{SolverChoice, Solving};
use mazurka::unfold::NetKind;
use mazurka::weak::Memory;
use mazurka::{Algorithm, Limits, Options};

use crate::commands::Refusal;
use crate::show::{Format, JSON, TEXT, format};
use crate::solver::solver;
use crate::{values, watch};

/// The last lines of the help of most commands.
pub(crate) const EXIT_CODES: &str = "\
Exit codes: 0 verified within the stated scope, 1 violated, 2 inconclusive (a bound was hit),
3 bad input or usage, 4 internal error. --allow-inconclusive: 0 in place of 2.";

/// The solver and the limits of a search.
#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    #[command(flatten)]
    solver: SolverArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

impl SearchArgs {
    /// Returns the library's options, with this many workers. Fails if the solver is not installed.
    pub(crate) fn options(&self, jobs: usize) -> Result<Options, Refusal> {
        Ok(Options {
            solver: solver(&self.solver)?,
            ..self.limits.options(jobs)
        })
    }
}

/// The memory model.
#[derive(Debug, Args)]
pub(crate) struct MemoryArgs {
    /// The memory model: sc (interleavings), rc11 (C++20's orderings), ra or tso; in `.maz` all but
    /// sc need `atomicity access`
    #[arg(long, value_name = "MODEL", value_parser = memory())]
    pub memory: Option<Memory>,
}

/// Reads the name of a memory model, and lists the names in `--help` and completions.
fn memory() -> impl TypedValueParser<Value = Memory> {
    let names = Memory::ALL.iter();
    let names = names.map(|memory| PossibleValue::new(memory.name()));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Memory>())
}

/// The solver for conditions over unknown values.
#[derive(Debug, Args)]
#[command(next_help_heading = "Solver")]
pub(crate) struct SolverArgs {
    /// The solver for conditions over inputs and initial values: auto, embedded, z3 or cvc5
    #[arg(long, value_name = "SOLVER", default_value = "auto")]
    pub solver: SolverChoice,
    /// Ask both the embedded solver and z3 or cvc5 every query, and compare their answers
    #[arg(long)]
    pub cross_check: bool,
    /// Write every query that reaches a solver into this folder, as SMT-LIB with its answer
    #[arg(long, value_name = "DIR")]
    pub dump_smt: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Steps of one execution [default: 10000; any number where states are merged]
    #[arg(long, value_name = "N", value_parser = values::count)]
    max_depth: Option<u64>,
    /// Steps in total
    #[arg(long, value_name = "N", value_parser = values::count)]
    max_steps: Option<u64>,
    /// Executions
    #[arg(long, value_name = "N", value_parser = values::count)]
    max_executions: Option<u64>,
    /// Local work within one step, in jumps and calls, at most 20 million
    #[arg(long, value_name = "N", default_value_t = Limits::default().local, value_parser = values::local)]
    max_local: u64,
    /// Time for the whole search: 10, 0.5, 10s, 2m, 1h
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    time_limit: Option<Duration>,
    /// Memory of the process: 512M, 2G [default: 4G]
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    memory_limit: Option<u64>,
}

impl LimitArgs {
    /// Returns the library's options, for commands that need no solver.
    pub(crate) fn options(&self, jobs: usize) -> Options {
        let limits = Limits {
            depth: self.max_depth,
            steps: self.max_steps,
            executions: self.max_executions,
            local: self.max_local,
            time: watch::time_limit(self.time_limit),
            memory: watch::memory_limit(self.memory_limit),
        };
        options_of(limits, jobs)
    }
}

/// Returns the library's options within some limits. Ctrl-C ends the work.
pub(crate) fn options_of(limits: Limits, jobs: usize) -> Options {
    Options {
        limits,
        jobs,
        solver: Solving {
            stop: Some(watch::stop()),
            ..Solving::default()
        },
        telling: watch::reporting(),
        ..Options::default()
    }
}

/// Which infinite runs are considered.
#[derive(Debug, Args)]
pub(crate) struct FairnessArgs {
    /// Which infinite runs count for livelocks and temporal properties: those in which no process
    /// is ready for ever without making a step (weak), or those in which each process that is ready
    /// infinitely often makes steps infinitely often (strong)
    #[arg(long, value_name = "weak|strong", value_parser = fairness(), default_value_t = Fairness::Weak)]
    pub fairness: Fairness,
}

fn fairness() -> impl TypedValueParser<Value = Fairness> {
    let names = Fairness::ALL.map(Fairness::name);
    PossibleValuesParser::new(names).map(|name| match name.as_str() {
        "strong" => Fairness::Strong,
        _ => Fairness::Weak,
    })
}

/// The limits of commands that execute nothing.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct ProofLimitArgs {
    /// Time for all proofs: 10, 0.5, 10s, 2m, 1h
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    time_limit: Option<Duration>,
    /// Memory of the process: 512M, 2G [default: 4G]
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    memory_limit: Option<u64>,
}

impl ProofLimitArgs {
    /// Returns the limits for the library.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            time: watch::time_limit(self.time_limit),
            memory: watch::memory_limit(self.memory_limit),
            ..Limits::default()
        }
    }
}

/// How to show the result. Commands with pictures offer more formats.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Text for people, or the record for programs
    #[arg(long, value_parser = format(&[TEXT, JSON]), default_value_t = Format::Text)]
    pub format: Format,
    /// Show no progress, and only the first line of the text
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub allowing: AllowArgs,
}

/// Whether an inconclusive answer is good enough.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct AllowArgs {
    /// End with exit code 0 instead of 2 if a bound was hit and no violation was found
    #[arg(long, help_heading = "Output")]
    pub allow_inconclusive: bool,
}

/// Reads the name of one of these algorithms, and lists the names in `--help` and completions.
pub(crate) fn algorithm<'a>(
    offered: impl IntoIterator<Item = &'a Algorithm>,
) -> impl TypedValueParser<Value = Algorithm> {
    let names = offered
        .into_iter()
        .map(|a| PossibleValue::new(a.name()).help(a.summary()));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Algorithm>())
}

/// Reads the name of a net, and lists the names in `--help` and completions.
pub(crate) fn net() -> impl TypedValueParser<Value = NetKind> {
    let names = NetKind::ALL
        .iter()
        .map(|net| PossibleValue::new(net.name()).help(net.summary()));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<NetKind>())
}
