//! The command `symbolic`.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use mazurka::symbolic::{Reduction, SymbolicOptions};

use super::{Refusal, view};
use crate::args::{EXIT_CODES, OutputArgs, SearchArgs};
use crate::exit::Exit;
use crate::program::{ProgramArgs, load_maz};
use crate::show::{Format, Offer, offer, show};
use crate::values;
use crate::watch::watched;

const FORMATS: [Offer; 3] = [
    (Format::Text, "For people"),
    (Format::Json, "The record"),
    (Format::Svg, "How many states there were, as a picture"),
];

/// Execute for all initial values at once, and show the final symbolic states
#[derive(Debug, Args)]
#[command(after_help = format!("Examples:
  mazurka symbolic fig8.maz
  mazurka symbolic fig8.maz --por none --no-feasible
  mazurka symbolic fig8.maz --por paper --prefix-pruning --no-feasible --set A=2
  mazurka symbolic fig8.maz --format svg > curve.svg
  mazurka symbolic fig8.maz --dump-smt queries --cross-check

A variable that is declared without `= …` stands for all values of its type. Every final state says for which of them it is
reached (if), what the variables then are (then), and by which run (by). Failures and deadlocks that are possible are exit code 1.
{EXIT_CODES}"))]
#[command(mut_args(|flag| offer(
    flag,
    "Text for people, the record for programs, or a picture of how many states there were",
    &FORMATS,
)))]
pub(crate) struct SymbolicArgs {
    #[command(flatten)]
    program: ProgramArgs,
    /// Which symbolic states are merged
    #[arg(long, value_parser = reduction(), default_value_t = Reduction::Canonical)]
    por: Reduction,
    /// Drop states whose path was expanded before
    #[arg(long)]
    prefix_pruning: bool,
    /// Keep states whose path condition nothing satisfies, as the paper does
    #[arg(long)]
    no_feasible: bool,
    /// How many states to list
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = values::count)]
    states: u64,
    #[command(flatten)]
    search: SearchArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// Reads the name of a reduction, and lists them in `--help` and completions.
fn reduction() -> impl TypedValueParser<Value = Reduction> {
    let names = Reduction::ALL
        .iter()
        .map(|form| PossibleValue::new(form.name()).help(form.summary()));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Reduction>())
}

/// Executes a program symbolically, and shows the states at the end.
pub(super) fn symbolic(args: &SymbolicArgs) -> Result<Exit, Refusal> {
    let program = load_maz(
        &args.program.file,
        &args.program.set,
        "executed symbolically",
    )?;
    // There are no workers, and the record names none.
    let options = args.search.options(0)?;
    let wanted = SymbolicOptions {
        por: args.por,
        prefix_pruning: args.prefix_pruning,
        feasible: !args.no_feasible,
        listed: usize::try_from(args.states).unwrap_or(usize::MAX),
    };
    let found = watched(&options.limits, args.output.quiet, |watch| {
        program.symbolic(&wanted, &options, watch)
    })?;
    let found = found.map_err(|error| error.to_string())?;
    let (record, states) = (&found.record, &found.states);
    show(&found, record.verdict.into(), &args.output, |format| {
        Ok(match format {
            Format::Svg => mazurka_report::curve_svg(record, states),
            _ => mazurka_report::symbolic_states(record, states, &view(&options.limits)),
        })
    })
}
