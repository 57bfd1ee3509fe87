//! The command `condition`: shows for which inputs and initial values a property holds.

use clap::Args;
use mazurka::condition::{Case, ConditionRecord, SoughtProperty};
use mazurka::record::{Binding, Run};
use mazurka_report::{Conditioned, View};

use super::{Refusal, view};
use crate::args::{OutputArgs, SearchArgs};
use crate::exit::Exit;
use crate::files;
use crate::program::{ProgramArgs, bad_property, load_source};
use crate::show::show;
use crate::watch::watched;

/// Say for which inputs and initial values a property holds
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mazurka condition transfer.maz --property deterministic
  mazurka condition buffer.maz --property deadlock --max-depth 40
  mazurka condition search.maz --property 'found || n == 0'

A property is `deterministic`, `failure` or `deadlock` (some schedule leads to one), or a condition
that must hold whenever all processes have ended, like an `ensures`. The condition is one over the
inputs, named by process and number (0.1#0), and over variables without an initial value. A `choose`
may give any of its values. If a limit leaves something open, the answer says for which values.
Exit codes: 0 the condition is exact, 2 some values are open (a bound was hit), 3 bad input or
usage, 4 internal error.")]
pub(crate) struct ConditionArgs {
    #[command(flatten)]
    program: ProgramArgs,
    /// The property that must hold: deterministic, failure, deadlock, or a condition over shared
    /// variables
    #[arg(long, value_name = "PROPERTY")]
    property: String,
    #[command(flatten)]
    search: SearchArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// Returns the parts of a case that are printed.
fn parts(case: &Case) -> (&str, &[Binding], &[Run]) {
    (&case.condition, &case.values, &case.runs)
}

/// Shows for which values a property holds.
pub(super) fn condition(args: &ConditionArgs) -> Result<Exit, Refusal> {
    let (file, set) = (args.program.only_file()?, &args.program.settings());
    let source = files::maz_program(file, "asked about values")?;
    let program = load_source(file, &source, set)?;
    let wanted = SoughtProperty::read(&source, set, &args.property).map_err(bad_property)?;
    let options = args.search.options(1)?;
    let whole = watched(&options.limits, args.output.quiet, |watch| {
        program.condition(&wanted, &options, watch)
    })?;
    let whole = whole.map_err(|error| error.to_string())?;
    let record = &whole.record;
    show(&whole, record.verdict.into(), &args.output, |_| {
        Ok(answer(&whole, &view(&options.limits)))
    })
}

/// Returns the answer as text.
pub(super) fn answer(whole: &ConditionRecord, view: &View) -> String {
    let answer = Conditioned {
        property: &whole.property,
        holds: &whole.holds,
        fails: &whole.fails,
        unknown: whole.unknown.as_deref(),
        discarded: whole.all_discarded.as_deref(),
        readable: whole.readable,
        cases: whole.cases.iter().map(parts).collect(),
    };
    mazurka_report::conditioned(&whole.record, &answer, view)
}
