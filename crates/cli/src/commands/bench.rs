//! The command `bench`: measures the engines on the programs of the papers, or on other programs.

use std::time::Duration;

use clap::Args;
use mazurka::bench::{Bench, Benchmark};
use mazurka::{Algorithm, Limits, Program};
use mazurka_report::Sheet;

use super::{Refusal, view};
use crate::args::{AllowArgs, OutputArgs, algorithm};
use crate::exit::Exit;
use crate::program::Sources;
use crate::show::{CSV, Format, JSON, MARKDOWN, TEXT, format, show};
use crate::values;
use crate::watch::watched;

/// Measure the engines on the programs of the papers, or on other programs
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mazurka bench
  mazurka bench --filter fib --algorithm optimal --algorithm source
  mazurka bench --repeat 5 --format json > today.json
  mazurka bench --quick
  mazurka bench mine.maz --set N=6 --algorithm optimal --algorithm stateful

One worker explores, and only the search is timed. The table also has the figures of other tools on
the same program; see docs/performance.md.
Exit codes: 0 every count is exact, 1 a count is wrong, 2 a search was cut, 3 bad usage. The speed
does not affect the exit code.")]
pub(crate) struct BenchArgs {
    /// Measure these programs, each a `.maz` or `.abs` file, instead of those of the papers
    #[arg(value_name = "FILE")]
    files: Vec<String>,
    /// Override a constant of the files (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = values::setting, requires = "files")]
    set: Vec<(String, String)>,
    /// Measure this engine on all programs (repeatable), instead of the engines with figures to
    /// compare with
    #[arg(long, value_name = "ALGORITHM", value_parser = algorithm(Algorithm::ALL))]
    algorithm: Vec<Algorithm>,
    /// Only programs whose name contains this: `fib`, `writers(9)`
    #[arg(long, value_name = "NAME", conflicts_with = "files")]
    filter: Option<String>,
    /// Also show the targets of this version, and whether it reaches them
    #[arg(long)]
    targets: bool,
    /// Use tiny sizes, to test that everything works
    #[arg(long, conflicts_with = "files")]
    quick: bool,
    /// Measure this many times, and take the best
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = values::count)]
    repeat: u64,
    /// Stop a search that takes longer than this
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = values::time)]
    time_limit: Duration,
    /// Text for people, the record for programs, or a table
    #[arg(long, value_parser = format(&[TEXT, JSON, CSV, MARKDOWN]), default_value_t = Format::Text, help_heading = "Output")]
    format: Format,
    #[command(flatten)]
    pub(super) allowing: AllowArgs,
}

/// Runs the measurements and shows them.
pub(super) fn bench(args: &BenchArgs) -> Result<Exit, Refusal> {
    let plan = Bench {
        algorithms: args.algorithm.clone(),
        filter: args.filter.clone(),
        quick: args.quick,
        repeat: args.repeat,
        time: args.time_limit,
    };
    let limits = Limits::default();
    let output = OutputArgs {
        format: args.format,
        quiet: false,
        allowing: args.allowing,
    };
    let measured = if args.files.is_empty() {
        let measured = watched(&limits, false, |watch| plan.run(watch))?;
        measured.map_err(|error| error.to_string())?
    } else {
        let programs = programs(args)?;
        let measured = watched(&limits, false, |watch| plan.run_on(&programs, watch))?;
        measured.map_err(|error| error.to_string())?
    };
    show(&measured, exit(&measured), &output, |format| {
        Ok(match format {
            Format::Csv => Sheet::of_bench(&measured).csv(),
            Format::Markdown => Sheet::of_bench(&measured).markdown(),
            _ => mazurka_report::bench(&measured, args.targets, &view(&limits)),
        })
    })
}

/// Loads the programs that the user named.
fn programs(args: &BenchArgs) -> Result<Vec<Program>, Refusal> {
    let load = |file: &String| Sources::read(&[file])?.load(&args.set);
    args.files.iter().map(load).collect()
}

/// Returns the exit code. It depends only on the counts, which are the same on every computer; the
/// speed does not matter.
fn exit(measured: &Benchmark) -> Exit {
    let rows = &measured.rows;
    match (
        rows.iter().all(|row| row.agrees()),
        rows.iter().all(|row| row.complete()),
    ) {
        (false, _) => Exit::Violated,
        (true, false) => Exit::Inconclusive,
        (true, true) => Exit::Verified,
    }
}
