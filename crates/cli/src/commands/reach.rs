//! The command `reach`: searches a net for a state with a property.

use clap::{Args, ValueEnum};
use mazurka::reach::{self, Reach, ReachRecord, StateProperty};
use mazurka::unfold::{NetKind, Unfold};
use mazurka_report::View;

use super::{Refusal, view};
use crate::args::{OutputArgs, SearchArgs, net};
use crate::exit::Exit;
use crate::files;
use crate::program::{ProgramArgs, bad_property, load_source};
use crate::show::show;
use crate::values;
use crate::watch::watched;

/// Say whether a state can be reached, and how
#[derive(Debug, Args)]
#[command(after_help = format!("Examples:
  mazurka reach counter.maz --property 'x == 1'
  mazurka reach peterson.maz --property 'at(0, 12) && at(1, 12)'
  mazurka reach philosophers.maz --set N=3 --property 'at(0, 14) && at(2, 14)'
  mazurka reach philosophers.maz --set N=3 --property 'deadlock && at(2, 14)' --method smt

A property is a condition over shared variables and the positions of processes: at(0.1, 12) holds if
the next step of process 0.1 is in line 12. `deadlock` holds if all processes that have not ended
wait for ever; it may only be used alone or as an operand of `&&`.
Exit codes: 0 unreachable, 1 reachable, 2 unknown (a bound was hit), 3 bad input or usage,
4 internal error."))]
pub(crate) struct ReachArgs {
    #[command(flatten)]
    program: ProgramArgs,
    /// The state to search for: `x == 3 && at(0, 12)`
    #[arg(long, value_name = "CONDITION")]
    property: String,
    /// The net to build and search
    #[arg(long, value_parser = net(), default_value_t = NetKind::Contextual)]
    net: NetKind,
    /// How to search the net
    #[arg(long, value_enum, default_value_t = Method::Search)]
    method: Method,
    /// Choose the tests at random, with this seed
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = values::seed, allow_negative_numbers = true)]
    seed: u64,
    #[command(flatten)]
    search: SearchArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Method {
    /// Enumerate the markings that the property depends on
    Search,
    /// Translate the net into a formula, and ask the embedded solver
    Smt,
}

impl From<Method> for reach::Method {
    fn from(method: Method) -> Self {
        match method {
            Method::Search => reach::Method::Search,
            Method::Smt => reach::Method::Smt,
        }
    }
}

/// Searches for a state, and shows a run to it.
pub(super) fn reach(args: &ReachArgs) -> Result<Exit, Refusal> {
    let (file, set) = (args.program.only_file()?, &args.program.settings());
    let source = files::maz_program(file, "asked about states")?;
    let program = load_source(file, &source, set)?;
    let wanted = StateProperty::read(&source, set, &args.property).map_err(bad_property)?;
    let options = args.search.options(1)?;
    let (kind, seed) = (args.net, args.seed);
    let how = Reach {
        net: Unfold { kind, seed },
        method: args.method.into(),
    };
    let whole = watched(&options.limits, args.output.quiet, |watch| {
        program.reach(&wanted, how, &options, watch)
    })?;
    let whole = whole.map_err(|error| error.to_string())?;
    show(&whole, whole.record.verdict.into(), &args.output, |_| {
        Ok(answer(&whole, &view(&options.limits)))
    })
}

/// Returns the answer as text.
pub(super) fn answer(whole: &ReachRecord, view: &View) -> String {
    let searched = format!(
        "{} markings of the {} net, {} tests",
        whole.markings, whole.net, whole.tests
    );
    let run = whole.run.as_ref();
    mazurka_report::reached(&whole.record, &whole.state, run, &searched, view)
}
