//! The flags. Help and completions follow from these types.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::TypedValueParser as _;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use mazurka::{Algorithm, Limits, NetKind, Reduction, SolverChoice, Variant};

use crate::{values, watch};

const EXIT_CODES: &str = "\
Exit codes: 0 verified within the stated scope, 1 violated, 2 inconclusive (a bound was hit),
3 bad input or usage, 4 internal error.";

#[derive(Debug, Parser)]
#[command(
    name = "mazurka",
    version,
    about = "Explores the executions of a concurrent program that are really different",
    long_about = "Explores the executions of a concurrent program that are really different: can an assertion \
                  fail, can it deadlock, is its result always the same, and which schedule shows it?",
    after_help = format!("Examples:
  mazurka check examples/counter.maz
  mazurka check examples/philosophers.maz --set N=3
  mazurka explore examples/counter.maz --format svg > counter.svg
  mazurka run examples/counter.maz --schedule \"0 1 0 1\"
  mazurka permute examples/counter.maz --complete

{EXIT_CODES}")
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say whether a program can fail, deadlock, or end in different states
    #[command(after_help = format!("Examples:
  mazurka check counter.maz
  mazurka check philosophers.maz --set N=4 --time-limit 10s
  mazurka check counter.maz --property deterministic
  mazurka check counter.maz --witness bad.json; mazurka replay bad.json
  echo 'var x: int = 0 process {{ x := 1 }} process {{ x := 2 }}' | mazurka check -

Failures and deadlocks are violations always. Different final states are one if the file has
`observe`, or states no other property, or --property deterministic is given.
{EXIT_CODES}"))]
    Check(CheckArgs),
    /// Explore the whole space with one engine, and count
    #[command(after_help = format!("Examples:
  mazurka explore readers.maz --set N=10
  mazurka explore readers.maz --algorithm naive --set N=3
  mazurka explore readers.maz --algorithm stateful --format json
  mazurka explore buffer.maz --algorithm context --no-guide
  mazurka explore readers.maz --set N=2 --format svg > readers.svg
  mazurka explore large.maz --checkpoint later.json --time-limit 1h
  mazurka explore large.maz --resume later.json
  mazurka explore parser.maz --tests cases; mazurka replay cases/1.json

{EXIT_CODES}
A failure or a deadlock that was found is exit code 1; different final states are not.")
    )]
    Explore(ExploreArgs),
    /// Build a net of all executions from few of them
    #[command(after_help = format!("Examples:
  mazurka unfold readers.maz --set N=10
  mazurka unfold readers.maz --net replicated --format json
  mazurka unfold readers.maz --set N=2 --format svg > net.svg

The tests cover every failure of every process; deadlocks are found in the net, whether a test has
met them or not. Final states are not all met: `ensures` and determinism are for `check`.
{EXIT_CODES}"))]
    Unfold(UnfoldArgs),
    /// Say whether a state can be reached, and how
    #[command(after_help = format!("Examples:
  mazurka reach counter.maz --property 'x == 1'
  mazurka reach peterson.maz --property 'at(0, 12) && at(1, 12)'
  mazurka reach philosophers.maz --set N=3 --property 'at(0, 14) && at(2, 14)'

A property is a condition over shared variables, and over where processes are: at(0.1, 12) holds
where the next step of process 0.1 stands in line 12.
Exit codes: 0 unreachable, 1 reachable, 2 unknown (a bound was hit), 3 bad input or usage,
4 internal error."))]
    Reach(ReachArgs),
    /// Execute for all initial values at once, and show the final symbolic states
    #[command(after_help = format!("Examples:
  mazurka symbolic fig8.maz
  mazurka symbolic fig8.maz --por none --no-feasible
  mazurka symbolic fig8.maz --por paper --prefix-pruning --no-feasible --set A=2
  mazurka symbolic fig8.maz --format svg > curve.svg
  mazurka symbolic fig8.maz --dump-smt queries --cross-check

A variable that is declared without `= …` stands for all values of its type. Every final state says for which of them it is
reached (if), what the variables then are (then), and by which run (by). Failures and deadlocks that are possible are exit code 1.
{EXIT_CODES}"))]
    Symbolic(SymbolicArgs),
    /// Run one execution and show its steps
    #[command(after_help = format!("Examples:
  mazurka run counter.maz
  mazurka run counter.maz --seed 7
  mazurka run counter.maz --schedule \"0 0 1 1\"
  mazurka run dice.maz --schedule \"0=3 0.1=6\"
  mazurka run buffer.abs --format chart
  mazurka run buffer.abs --format svg > chart.svg
  mazurka run parity.maz --inputs 0#0=7 1#0=-2
  mazurka run example5.maz --schedule \"0 0 0.0 0.1\" --path

A schedule is a list of process names, one per step: 0.1 is the second child of process 0, and
0.1=2 lets its `choose` give 2. An input is named by process and order: 0.1#0 is the first of process
0.1; what is not given is 0. A seed always names the same run. The exit code is about this run.
{EXIT_CODES}"))]
    Run(RunArgs),
    /// Find the executable permutations of one execution, or of all
    #[command(after_help = format!("Examples:
  mazurka permute example5.maz --schedule \"0 0 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.0\"
  mazurka permute counter.maz --seed 7
  mazurka permute counter.maz --complete
  mazurka permute writers.maz --paper
  mazurka permute example5.maz --symbolic-initial
  mazurka permute counter.maz --class 2 --format svg > class.svg

A run is recorded, by a schedule or by chance, and all orders of its labels are found in which the program
can execute it, up to equivalence: each is run as a test. Choices go as recorded, so nothing is said about other
paths; --complete goes on from path to path until all are known. A schedule that ends early is
gone on with by whoever is first.
{EXIT_CODES}
A failure or a deadlock that was found is exit code 1; different final states are not."))]
    Permute(PermuteArgs),
    /// Run a recorded witness again, and compare every step
    #[command(after_help = format!("Examples:
  mazurka check counter.maz --witness bad.json; mazurka replay bad.json
  mazurka check counter.maz --format json > bad.json; mazurka replay bad.json
  mazurka replay bad.json --file moved/counter.maz

Exit code 1: the violation is there again, as recorded. 3: the record is of another program or
version, or the run diverges.
{EXIT_CODES}"))]
    Replay(ReplayArgs),
    /// Prove what a program states, or a formula of dynamic logic about it
    #[command(after_help = format!("Examples:
  mazurka prove peterson.maz
  mazurka prove sum.maz --goal \"x == 0 ==> [*] x == 2\"
  mazurka prove sum.maz --goal \"forall k: int. x == k ==> [p || q] x == k + 2\" --proof sum.proof
  mazurka prove sum.maz --format html > sum.html
  mazurka check-proof sum.proof

Variables without an initial value may have any. Unless --goal is given, the file's `prove`
declarations are the goals, else its `ensures`; its assertions and invariants belong to each.
docs/prove.md describes the formulas and the rules.
{EXIT_CODES}"))]
    Prove(ProveArgs),
    /// Check a proof that `prove` has found, with code of its own
    #[command(after_help = format!("Examples:
  mazurka prove peterson.maz --proof peterson.proof; mazurka check-proof peterson.proof
  mazurka check-proof peterson.proof --file moved/peterson.maz

Exit code 0: it is a proof. 1: it is none, and the first goal that does not follow is named.
2: a limit was reached before it was checked to its end.
3: it cannot be read, or is about another program.
{EXIT_CODES}"))]
    CheckProof(CheckProofArgs),
    /// Measure the engines on the programs of the papers
    #[command(after_help = "Examples:
  mazurka bench
  mazurka bench --filter fib --algorithm optimal --algorithm source
  mazurka bench --repeat 5 --format json > today.json
  mazurka bench --quick

One worker explores, and only the search is timed. Beside each figure stand those of other tools on
the same program and the target, where there are any; docs/performance.md says more.
Exit codes: 0 every count is exact, 1 a count is wrong, 2 a search was cut, 3 bad usage. The speed
changes no exit code.")]
    Bench(BenchArgs),
    /// Print a completion script for a shell
    #[command(after_help = "Examples:
  mazurka completions bash > ~/.local/share/bash-completion/completions/mazurka
  mazurka completions fish > ~/.config/fish/completions/mazurka.fish")]
    Completions {
        /// The shell
        shell: Shell,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub program: ProgramArgs,
    /// Make this property decide, whatever else the file states
    #[arg(long, value_enum)]
    pub property: Option<Property>,
    /// Save the record of a violation here, for `mazurka replay`
    #[arg(long, value_name = "FILE")]
    pub witness: Option<PathBuf>,
    /// Workers that explore at the same time (the cores unless given); they change no result
    #[arg(long, short, value_name = "N", value_parser = values::count)]
    pub jobs: Option<u64>,
    #[command(flatten)]
    pub solver: SolverArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ExploreArgs {
    #[command(flatten)]
    pub program: ProgramArgs,
    /// The engine
    #[arg(long, value_parser = algorithm(), default_value_t = Algorithm::Optimal)]
    algorithm: Algorithm,
    #[command(flatten)]
    pub context: ContextArgs,
    /// Workers that explore at the same time (the cores unless given); they change no result. `context` and `stateful` have one
    #[arg(long, short, value_name = "N", value_parser = values::count)]
    pub jobs: Option<u64>,
    /// If the search is broken off by Ctrl-C or a limit, save here what is needed to go on; and now and then before that
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,
    /// How often a checkpoint is saved while the search goes on, if there is something new
    #[arg(long, value_name = "TIME", value_parser = values::time, default_value = "1m")]
    pub checkpoint_every: Duration,
    /// Go on from a checkpoint, of the same program and options; it is brought up to date if broken off again
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
    /// Write every explored execution into this folder, with its inputs, for `mazurka replay`
    #[arg(long, value_name = "DIR")]
    pub tests: Option<PathBuf>,
    #[command(flatten)]
    pub solver: SolverArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub output: PictureArgs,
}

/// What can be switched off in the engine `context`.
#[derive(Debug, Args)]
#[command(next_help_heading = "With --algorithm context")]
pub(crate) struct ContextArgs {
    /// Do not cut a run before the last step of a sleep sequence
    #[arg(long)]
    no_anticipate: bool,
    /// Do not prefer the steps of short sleep sequences
    #[arg(long)]
    no_guide: bool,
    /// Follow the paper to the letter, which loses states: the verdict is never `verified`
    #[arg(long, conflicts_with_all = ["no_anticipate", "no_guide"])]
    paper: bool,
}

impl ExploreArgs {
    /// The engine, with its switches; the error is that it has none.
    pub(crate) fn algorithm(&self) -> Result<Algorithm, String> {
        let ContextArgs {
            no_anticipate,
            no_guide,
            paper,
        } = self.context;
        match self.algorithm {
            Algorithm::Context(best) => Ok(Algorithm::Context(Variant {
                anticipate: !no_anticipate,
                guide: !no_guide,
                paper,
                ..best
            })),
            other if no_anticipate || no_guide || paper => Err(format!(
                "--no-anticipate, --no-guide and --paper are for --algorithm context, not {other}"
            )),
            other => Ok(other),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct UnfoldArgs {
    #[command(flatten)]
    pub program: ProgramArgs,
    /// The net
    #[arg(long, value_parser = net(), default_value_t = NetKind::Contextual)]
    pub net: NetKind,
    /// With --net stateful: no net, but the states of its model one after the other, to compare with
    #[arg(long)]
    pub naive: bool,
    /// Let chance choose the tests, the same way for the same number; the net is always the same
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Write each test into this folder, to be run again with `mazurka replay`
    #[arg(long, value_name = "DIR")]
    pub tests: Option<PathBuf>,
    #[command(flatten)]
    pub solver: SolverArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub output: PictureArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ReachArgs {
    #[command(flatten)]
    pub program: ProgramArgs,
    /// What to look for: `x == 3 && at(0, 12)`
    #[arg(long, value_name = "CONDITION")]
    pub property: String,
    /// The net to build and search
    #[arg(long, value_parser = net(), default_value_t = NetKind::Contextual)]
    pub net: NetKind,
    /// How to look for it in the net
    #[arg(long, value_enum, default_value_t = Method::Search)]
    pub method: Method,
    /// Let chance choose the tests, the same way for the same number
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    #[command(flatten)]
    pub solver: SolverArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SymbolicArgs {
    #[command(flatten)]
    pub program: ProgramArgs,
    /// Which symbolic states are merged
    #[arg(long, value_parser = reduction(), default_value_t = Reduction::Canonical)]
    pub por: Reduction,
    /// Drop states whose path was expanded before
    #[arg(long)]
    pub prefix_pruning: bool,
    /// Keep states whose path condition nothing satisfies, as the paper does
    #[arg(long)]
    pub no_feasible: bool,
    /// How many states to list
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = values::count)]
    pub states: u64,
    #[command(flatten)]
    pub solver: SolverArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub output: CurveArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub program: ProgramArgs,
    /// The processes, one per step, such as "0 0 0.1=2 1"
    #[arg(long, value_name = "SCHEDULE", conflicts_with = "seed")]
    pub schedule: Option<String>,
    /// Let chance choose, the same way for the same number
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// The values of inputs, by process and order (or initial values, by variable); those not given are 0
    #[arg(long, value_name = "INPUT=VALUE", num_args = 1.., value_parser = values::input)]
    pub inputs: Vec<(String, i128)>,
    /// Tell, too, for which other initial values the run would be the same, and how it could have gone otherwise
    #[arg(long)]
    pub path: bool,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub output: ChartArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PermuteArgs {
    #[command(flatten)]
    pub program: ProgramArgs,
    /// The run to record: processes, one per step, such as "0 0 0.1=2 1"
    #[arg(long, value_name = "SCHEDULE", conflicts_with = "seed")]
    pub schedule: Option<String>,
    /// Let chance choose the run to record, the same way for the same number
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Go on from path to path, where choices go the other way, until all are known
    #[arg(long)]
    pub complete: bool,
    /// Count the classes of the paper's definitions as printed, too: some come more than once
    #[arg(long)]
    pub paper: bool,
    /// Find the permutations that are executable from other initial values, too, and from where they end differently
    #[arg(long)]
    pub symbolic_initial: bool,
    /// How many classes, and ways to end, to list
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = values::count)]
    pub classes: u64,
    /// The class to draw, by its number in the list
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = values::count)]
    pub class: u64,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub output: PermutePictureArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// A record, as `--witness FILE` saves it or `--format json` prints it; `-` for standard input
    pub witness: String,
    /// The program, if it is no longer where it was
    #[arg(long, value_name = "FILE")]
    pub file: Option<String>,
    /// Local work within one step, in jumps and calls
    #[arg(long, value_name = "N", default_value_t = Limits::default().local, value_parser = values::local)]
    pub max_local: u64,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ProveArgs {
    #[command(flatten)]
    pub program: ProgramArgs,
    /// A formula to prove (repeatable)
    #[arg(long, value_name = "FORMULA")]
    pub goal: Vec<String>,
    /// Save the proof here, for `mazurka check-proof`
    #[arg(long, value_name = "FILE")]
    pub proof: Option<PathBuf>,
    /// Keep goals on different paths apart: merge none that commuting steps lead to (may need very many)
    #[arg(long)]
    pub no_por: bool,
    /// Do not close goals whose assumptions contradict each other
    #[arg(long)]
    pub no_feasible: bool,
    /// Do not ask whether a state deadlocks
    #[arg(long)]
    pub no_deadlock: bool,
    /// How often a loop without an invariant may go round
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub unfold: u32,
    #[command(flatten)]
    pub solver: SolverArgs,
    /// Show the proof as a tree, what is closed unfolded so deep
    #[arg(long, value_name = "DEPTH", num_args = 0..=1, default_missing_value = "3")]
    pub tree: Option<usize>,
    /// Applications of SCHEDULE, at most
    #[arg(long, value_name = "N", value_parser = values::count, help_heading = "Limits")]
    pub max_steps: Option<u64>,
    /// Time for all goals: 10, 0.5, 10s, 2m, 1h
    #[arg(long, value_name = "TIME", value_parser = values::time, help_heading = "Limits")]
    pub time_limit: Option<Duration>,
    /// Memory of the process: 512M, 2G [default: 4G]
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = "Limits")]
    pub memory_limit: Option<u64>,
    /// Text for people, the record for programs, the proof as a page or a picture
    #[arg(long, value_enum, default_value_t = ProofFormat::Text, help_heading = "Output")]
    pub format: ProofFormat,
    /// No progress, and of the text only the first line
    #[arg(long, short, help_heading = "Output")]
    pub quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CheckProofArgs {
    /// A proof, as `prove --proof FILE` saves it
    pub proof: String,
    /// The program, if it is no longer where it was
    #[arg(long, value_name = "FILE")]
    pub file: Option<String>,
    #[command(flatten)]
    pub solver: SolverArgs,
    /// Time for all proofs: 10, 0.5, 10s, 2m, 1h
    #[arg(long, value_name = "TIME", value_parser = values::time, help_heading = "Limits")]
    pub time_limit: Option<Duration>,
    /// Memory of the process: 512M, 2G [default: 4G]
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = "Limits")]
    pub memory_limit: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProofFormat {
    /// Text
    Text,
    /// The record, see docs/record.md
    Json,
    /// A page with every goal, for a browser
    Html,
    /// The goals of a small proof, for a browser
    Svg,
}

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Measure this engine on all programs (repeatable), and not those that have figures to compare with
    #[arg(long, value_name = "ALGORITHM", value_parser = algorithm())]
    pub algorithm: Vec<Algorithm>,
    /// Only programs whose name contains this: `fib`, `writers(9)`
    #[arg(long, value_name = "NAME")]
    pub filter: Option<String>,
    /// Tiny sizes: does everything work?
    #[arg(long)]
    pub quick: bool,
    /// Measure so often, and take the best
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = values::count)]
    pub repeat: u64,
    /// Cut a search that takes longer
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = values::time)]
    pub time_limit: Duration,
    /// Text for people, or the record for programs
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = "Output")]
    pub format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct ProgramArgs {
    /// The program, a `.maz` or `.abs` file; `-` for standard input, which is `.maz`
    pub file: String,
    /// Override a constant (in ABS: a function without parameters), or give a variable its initial value (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = values::setting)]
    pub set: Vec<(String, String)>,
    /// ABS: treat durations as release points
    #[arg(long, help_heading = "ABS programs")]
    pub ignore_time: bool,
    /// ABS: observe these: `output`, classes, fields as `Class.field`, with commas between
    #[arg(long, value_name = "WHAT", help_heading = "ABS programs")]
    pub observe: Option<String>,
    /// ABS: only the scheduling of this object varies (`Buffer1`), or of all objects of a class (`Buffer`)
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "ABS programs",
        conflicts_with = "observe"
    )]
    pub object: Option<String>,
}

impl ProgramArgs {
    /// The settings, with what is only for ABS under names that no constant can have.
    pub(crate) fn settings(&self) -> Vec<(String, String)> {
        let mut all = self.set.clone();
        if self.ignore_time {
            all.push(("@ignore-time".to_owned(), "true".to_owned()));
        }
        let named = [("@observe", &self.observe), ("@object", &self.object)];
        for (name, value) in named {
            if let Some(value) = value {
                all.push((name.to_owned(), value.clone()));
            }
        }
        all
    }
}

/// What decides conditions over values that are not known.
#[derive(Debug, Args)]
#[command(next_help_heading = "Solver")]
pub(crate) struct SolverArgs {
    /// Who decides conditions over inputs and initial values: auto, embedded, z3 or cvc5
    #[arg(long, value_name = "SOLVER", default_value = "auto")]
    pub solver: SolverChoice,
    /// Ask the embedded solver and z3 or cvc5 everything, and compare their answers
    #[arg(long)]
    pub cross_check: bool,
    /// Write every query that reaches a solver into this folder, as SMT-LIB with its answer
    #[arg(long, value_name = "DIR")]
    pub dump_smt: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Steps of one execution (10000 unless given, and any number where states are merged)
    #[arg(long, value_name = "N", value_parser = values::count)]
    pub max_depth: Option<u64>,
    /// Steps in total
    #[arg(long, value_name = "N", value_parser = values::count)]
    pub max_steps: Option<u64>,
    /// Executions
    #[arg(long, value_name = "N", value_parser = values::count)]
    pub max_executions: Option<u64>,
    /// Local work within one step, in jumps and calls, at most 20 million
    #[arg(long, value_name = "N", default_value_t = Limits::default().local, value_parser = values::local)]
    pub max_local: u64,
    /// Time for the whole search: 10, 0.5, 10s, 2m, 1h
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    pub time_limit: Option<Duration>,
    /// Memory of the process: 512M, 2G [default: 4G]
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub memory_limit: Option<u64>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Text for people, or the record for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// No progress, and of the text only the first line
    #[arg(long, short)]
    pub quiet: bool,
}

/// The output of one run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct ChartArgs {
    /// Text for people, the record for programs, or the messages between ABS objects as a chart
    #[arg(long, value_enum, default_value_t = RunPicture::Text)]
    pub format: RunPicture,
    /// No progress, and of the text only the first line
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunPicture {
    /// Text
    Text,
    /// The record, see docs/record.md
    Json,
    /// The message sequence chart of an ABS program, as text
    Chart,
    /// The same for a browser
    Svg,
}

/// The output of a command that can draw.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct PictureArgs {
    /// Text for people, the record for programs, or a picture of a small program's tree or net
    #[arg(long, value_enum, default_value_t = Picture::Text)]
    pub format: Picture,
    /// No progress, and of the text only the first line
    #[arg(long, short)]
    pub quiet: bool,
}

/// The output of a command that can draw a curve.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct CurveArgs {
    /// Text for people, the record for programs, or a picture of how many states there were
    #[arg(long, value_enum, default_value_t = Curve::Text)]
    pub format: Curve,
    /// No progress, and of the text only the first line
    #[arg(long, short)]
    pub quiet: bool,
}

/// How to show symbolic states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Curve {
    /// For people
    Text,
    /// The record
    Json,
    /// How many states there were, as a picture
    Svg,
}

/// The output of a command that can draw one class.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct PermutePictureArgs {
    /// Text for people, the record for programs, or a picture of the partial order of one class
    #[arg(long, value_enum, default_value_t = ClassPicture::Text)]
    pub format: ClassPicture,
    /// No progress, and of the text only the first line
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClassPicture {
    /// Text
    Text,
    /// The record, see docs/record.md
    Json,
    /// The partial order of a class, for Graphviz
    Dot,
    /// The partial order of a class, for a browser
    Svg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text
    Text,
    /// The record, see docs/record.md
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Picture {
    /// Text
    Text,
    /// The record, see docs/record.md
    Json,
    /// The tree or net of a small program, for Graphviz
    Dot,
    /// The tree or net of a small program, for a browser
    Svg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Method {
    /// Enumerate the markings of what the property is about
    Search,
    /// Translate the net into a formula, and ask the embedded solver
    Smt,
}

impl From<Method> for mazurka::Method {
    fn from(method: Method) -> Self {
        match method {
            Method::Search => mazurka::Method::Search,
            Method::Smt => mazurka::Method::Smt,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Property {
    /// All final states agree on what is observed
    Deterministic,
}

/// Reads the name of an algorithm, and lists them in `--help` and completions.
fn algorithm() -> impl clap::builder::TypedValueParser<Value = Algorithm> {
    let names = Algorithm::ALL
        .iter()
        .map(|a| clap::builder::PossibleValue::new(a.name()).help(a.summary()));
    clap::builder::PossibleValuesParser::new(names).try_map(|name| name.parse::<Algorithm>())
}

/// Reads the name of a reduction, likewise.
fn reduction() -> impl clap::builder::TypedValueParser<Value = Reduction> {
    let names = Reduction::ALL
        .iter()
        .map(|form| clap::builder::PossibleValue::new(form.name()).help(form.summary()));
    clap::builder::PossibleValuesParser::new(names).try_map(|name| name.parse::<Reduction>())
}

/// Reads the name of a net, likewise.
fn net() -> impl clap::builder::TypedValueParser<Value = NetKind> {
    let names = NetKind::ALL
        .iter()
        .map(|net| clap::builder::PossibleValue::new(net.name()).help(net.summary()));
    clap::builder::PossibleValuesParser::new(names).try_map(|name| name.parse::<NetKind>())
}

impl LimitArgs {
    /// The limits as the search wants them.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            depth: self.max_depth,
            steps: self.max_steps,
            executions: self.max_executions,
            local: self.max_local,
            time: self.time_limit,
            memory: self.memory_limit.or_else(watch::default_memory),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_flags_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_shows_examples() {
        for command in Cli::command().get_subcommands() {
            let after = command.get_after_help().map(ToString::to_string);
            let name = command.get_name();
            assert!(after.unwrap_or_default().contains("Examples:"), "{name}");
        }
    }
}
