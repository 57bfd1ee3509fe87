//! The command `symbolic`: executes a program for all initial values, and shows the final symbolic
//! states.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use mazurka::symbolic::{Reduction, SymbolicOptions, SymbolicRecord};

use mazurka_report::Figure;

use super::{Refusal, jobs, view};
use crate::args::{EXIT_CODES, OutputArgs, SearchArgs};
use crate::exit::Exit;
use crate::program::{ProgramArgs, load_maz};
use crate::show::{Format, HTML, Offer, Shown, offer, page, plain, show};
use crate::values;
use crate::watch::watched;

const FORMATS: [Offer; 4] = [
    (Format::Text, "For people"),
    (Format::Json, "The record"),
    HTML,
    (
        Format::Svg,
        "The number of states during the search, as a picture",
    ),
];

/// Execute for all initial values at once, and show the final symbolic states
#[derive(Debug, Args)]
#[command(after_help = format!("Examples:
  mazurka symbolic fig8.maz
  mazurka symbolic fig8.maz --por none --no-feasible
  mazurka symbolic fig8.maz --por paper --prefix-pruning --no-feasible --set A=2
  mazurka symbolic fig8.maz --format svg > curve.svg
  mazurka symbolic fig8.maz --no-feasible --por none,paper,canonical --format svg > fig9.svg
  mazurka symbolic fig8.maz --dump-smt queries --cross-check

A variable that is declared without `= …` may have any value of its type. Every final state shows for which values it is
reached (if), what the variables then are (then), and by which run (by). Failures and deadlocks that are possible are exit code 1.
{EXIT_CODES}"))]
#[command(mut_args(|flag| offer(
    flag,
    "Text for people, the record for programs, or a picture of the number of states",
    &FORMATS,
)))]
pub(crate) struct SymbolicArgs {
    #[command(flatten)]
    program: ProgramArgs,
    /// Which symbolic states are merged; if there are several, their results are compared
    #[arg(long, value_parser = reduction(), value_delimiter = ',', default_value = "canonical")]
    por: Vec<Reduction>,
    /// Drop states whose path was expanded before
    #[arg(long)]
    prefix_pruning: bool,
    /// Keep states whose path condition is unsatisfiable, as the paper does
    #[arg(long)]
    no_feasible: bool,
    /// Show the symbolic path of each state, event by event: ι⟨e, W, R⟩
    #[arg(long)]
    paths: bool,
    /// How many states to list
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = values::count)]
    states: u64,
    /// Workers that explore in parallel [default: one for each core]; they do not change the result
    #[arg(long, short, value_name = "N", value_parser = values::count)]
    jobs: Option<u64>,
    #[command(flatten)]
    search: SearchArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// Reads the name of a reduction, and lists them in `--help` and completions.
pub(super) fn reduction() -> impl TypedValueParser<Value = Reduction> {
    let names = Reduction::ALL
        .iter()
        .map(|form| PossibleValue::new(form.name()).help(form.summary()));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Reduction>())
}

/// Executes a program symbolically, and shows the states at the end.
pub(super) fn symbolic(args: &SymbolicArgs) -> Result<Exit, Refusal> {
    let program = load_maz(
        args.program.only_file()?,
        &args.program.set,
        "executed symbolically: the main block gives every field its value, so none is unknown",
    )?;
    let options = args.search.options(jobs(args.jobs))?;
    let wanted = |por: Reduction| SymbolicOptions {
        por,
        prefix_pruning: args.prefix_pruning,
        feasible: !args.no_feasible,
        listed: usize::try_from(args.states).unwrap_or(usize::MAX),
        paths: args.paths,
    };
    let run = |por: Reduction| {
        let found = watched(&options.limits, args.output.quiet, |watch| {
            program.symbolic(&wanted(por), &options, watch)
        })?;
        found.map_err(|error| Refusal::Message(error.to_string()))
    };
    if let [_, _, ..] = args.por[..] {
        let all: Result<Vec<SymbolicRecord>, Refusal> =
            args.por.iter().map(|&por| run(por)).collect();
        return compare(&all?, args);
    }
    let found = run(args.por.first().copied().unwrap_or_default())?;
    let (record, states) = (&found.record, &found.states);
    show(&found, record.verdict.into(), &args.output, |format| {
        Ok(match format {
            Format::Svg => mazurka_report::curve_svg(record, states),
            Format::Html => {
                let curve = mazurka_report::curve_svg(record, states);
                let view = plain(view(&options.limits));
                let mut figures = mazurka_report::evidence_figures(record);
                figures.push(Figure::new("the number of symbolic states", curve));
                let shown = Shown {
                    text: mazurka_report::symbolic_states(record, states, &view),
                    figures,
                    program: Some(&program),
                    ..Shown::default()
                };
                return page(&found, record, &shown);
            }
            _ => mazurka_report::symbolic_states(record, states, &view(&options.limits)),
        })
    })
}

/// Shows the results of several reductions side by side. The exit code is that of the last.
fn compare(all: &[SymbolicRecord], args: &SymbolicArgs) -> Result<Exit, Refusal> {
    let Some(last) = all.last() else {
        return Err(Refusal::Message("--por: no reduction".to_owned()));
    };
    if matches!(args.output.format, Format::Json | Format::Html) {
        let refusal =
            "a record has the states of one reduction: name one with --por, or use --format svg";
        return Err(Refusal::Message(refusal.to_owned()));
    }
    let all: Vec<_> = all.iter().map(|one| (&one.record, &one.states)).collect();
    show(last, last.record.verdict.into(), &args.output, |format| {
        Ok(match format {
            Format::Svg => mazurka_report::curves_svg(&all),
            _ => mazurka_report::reductions(&all),
        })
    })
}
