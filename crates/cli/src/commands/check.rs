//! The command `check`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{Refusal, jobs, view};
use crate::args::{EXIT_CODES, OutputArgs, SearchArgs};
use crate::exit::Exit;
use crate::program::ProgramArgs;
use crate::show::{json, show};
use crate::watch::watched;
use crate::{files, values};

/// Say whether a program can fail, deadlock, or end in different states
#[derive(Debug, Args)]
#[command(after_help = format!("Examples:
  mazurka check counter.maz
  mazurka check philosophers.maz --set N=4 --time-limit 10s
  mazurka check counter.maz --property deterministic
  mazurka check counter.maz --witness bad.json; mazurka replay bad.json
  echo 'var x: int = 0 process {{ x := 1 }} process {{ x := 2 }}' | mazurka check -

Failures and deadlocks are violations always. Different final states are one if the file has
`observe`, or states no other property, or --property deterministic is given.
{EXIT_CODES}"))]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    program: ProgramArgs,
    /// Make this property decide, whatever else the file states
    #[arg(long, value_enum)]
    property: Option<Property>,
    /// Save the record of a violation here, for `mazurka replay`
    #[arg(long, value_name = "FILE")]
    witness: Option<PathBuf>,
    /// Workers that explore at the same time (the cores unless given); they change no result
    #[arg(long, short, value_name = "N", value_parser = values::count)]
    jobs: Option<u64>,
    #[command(flatten)]
    search: SearchArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Property {
    /// All final states agree on what is observed
    Deterministic,
}

/// Looks for a verdict, and shows it.
pub(super) fn check(args: &CheckArgs) -> Result<Exit, Refusal> {
    let program = args.program.load()?;
    let mut options = args.search.options(jobs(args.jobs))?;
    options.deterministic = args.property == Some(Property::Deterministic);
    let record = watched(&options.limits, args.output.quiet, |watch| {
        program.check(&options, watch)
    })?;
    let record = record.map_err(|error| error.to_string())?;
    if let (Some(path), false) = (&args.witness, record.witnesses.is_empty()) {
        files::save("the witness", path, &json(&record)?);
    }
    show(&record, record.verdict.into(), &args.output, |_| {
        Ok(mazurka_report::verdict(&record, &view(&options.limits)))
    })
}
