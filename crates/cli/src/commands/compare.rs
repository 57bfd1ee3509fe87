//! The command `compare`: tells whether two programs have the same outcomes, and shows a run that
//! differs.

use clap::Args;
use mazurka::Program;
use mazurka::compare::{Compare, CompareRecord, Relation};
use mazurka_report::{ComparedPrograms, View};

use super::{Refusal, jobs, view};
use crate::args::{OutputArgs, SearchArgs};
use crate::exit::Exit;
use crate::program::Sources;
use crate::show::show;
use crate::values;
use crate::watch::watched;

/// Say whether two programs end in the same ways
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mazurka compare counter.maz repaired.maz
  mazurka compare counter.maz repaired.maz --within
  mazurka compare queue.maz faster.maz --observe result,left

A run ends with all processes ended, with a failure or in a deadlock, and with values of the
variables that are observed: this is its outcome. The programs are the same if they have the same
outcomes for each choice of inputs, and of initial values that both leave open. By default the
variables in the programs' own `observe` are observed; --observe names others.
Exit codes: 0 it holds, 1 it does not, 2 unknown (a bound was hit), 3 bad input or usage,
4 internal error.")]
pub(crate) struct CompareArgs {
    /// The first program, a `.maz` or `.abs` file
    first: String,
    /// The second program
    second: String,
    /// Require only that every outcome of the second is an outcome of the first, which may have
    /// more
    #[arg(long)]
    within: bool,
    /// The shared variables to compare, separated by commas; ABS programs are compared by their
    /// output
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    observe: Vec<String>,
    /// Override a constant of both programs, or give a variable of both its initial value
    /// (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = values::setting)]
    set: Vec<(String, String)>,
    /// Workers that explore in parallel [default: one for each core]; they do not change the result
    #[arg(long, short, value_name = "N", value_parser = values::count)]
    jobs: Option<u64>,
    #[command(flatten)]
    search: SearchArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

impl CompareArgs {
    fn load(&self, file: &str) -> Result<Program, Refusal> {
        let mut set = self.set.clone();
        if file.ends_with(".abs") {
            set.push(("@observe".to_owned(), "output".to_owned()));
        }
        Sources::read(&[file])?.load(&set)
    }
}

/// Compares two programs, and shows how they differ.
pub(super) fn compare(args: &CompareArgs) -> Result<Exit, Refusal> {
    if args.first == "-" && args.second == "-" {
        return Err("only one of the programs can come from standard input"
            .to_owned()
            .into());
    }
    let (one, two) = (args.load(&args.first)?, args.load(&args.second)?);
    let options = args.search.options(jobs(args.jobs))?;
    let how = Compare {
        relation: if args.within {
            Relation::Within
        } else {
            Relation::Same
        },
        observe: if args.observe == ["output"] && args.first.ends_with(".abs") {
            Vec::new()
        } else {
            args.observe.clone()
        },
    };
    let whole = watched(&options.limits, args.output.quiet, |watch| {
        one.compare(&two, &how, &options, watch)
    })?;
    let whole = whole.map_err(|error| error.to_string())?;
    let record = &whole.record;
    show(&whole, record.verdict.into(), &args.output, |_| {
        Ok(answer(&whole, &view(&options.limits)))
    })
}

/// Returns the answer as text.
pub(super) fn answer(whole: &CompareRecord, view: &View) -> String {
    let only = whole.difference.as_ref();
    let sides = ComparedPrograms {
        programs: [&whole.record.program, &whole.other],
        outcomes: whole.outcomes,
        within: whole.relation == Relation::Within,
        endless: whole.endless,
        only: only.map(|difference| (difference.of, &difference.run)),
        values: only.map_or(&[], |difference| &difference.values),
    };
    mazurka_report::compared(&whole.record, &sides, view)
}
