//! The command `repair`: searches for changes after which a program is verified.

use std::path::Path;

use clap::Args;
use mazurka::Verdict;
use mazurka::repair::{Repair, RepairRecord};
use mazurka_report::{Repaired, Repairs, View};

use super::{Refusal, view};
use crate::args::{OutputArgs, SearchArgs};
use crate::exit::Exit;
use crate::program::{ProgramArgs, load_source};
use crate::property::PropertyArgs;
use crate::show::show;
use crate::watch::watched;
use crate::{files, output, values};

/// Find changes to a program after which it is verified
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mazurka repair counter.maz
  mazurka repair philosophers.maz --set N=3 --time-limit 1m
  mazurka repair counter.maz --apply
  mazurka repair counter.maz --apply 2

These changes are tried: another order of statements and of locks, a missing join, a lock or an
atomic block around the smallest regions, and a guard on a step. Each change that is shown was
checked: the program with it is verified. The cheapest ones come first. Nothing is written without
--apply, and nothing to a file that has changed in the meantime.
Exit codes: 0 a change was found, or the program is verified as it is; 1 no change of these kinds
works; 2 none was found in time, or the program is not known to be wrong; 3 bad input or usage,
4 internal error.")]
pub(crate) struct RepairArgs {
    #[command(flatten)]
    program: ProgramArgs,
    /// Write the change with this number into the file
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "1", value_parser = values::count)]
    apply: Option<u64>,
    /// How many changes to show
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = values::count)]
    most: u64,
    #[command(flatten)]
    property: PropertyArgs,
    #[command(flatten)]
    search: SearchArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

fn repaired(repair: &Repair) -> Repaired<'_> {
    let count = |of: mazurka::repair::Behaviours| (of.traces, of.final_states);
    Repaired {
        summary: &repair.summary,
        diff: &repair.diff,
        before: count(repair.before),
        after: count(repair.after),
    }
}

/// Returns the exit code: 0 if the program needs no change or a change works.
pub(super) fn exit(whole: &RepairRecord) -> Exit {
    let verdict = match (whole.record.verdict, whole.repairs.is_empty()) {
        (Verdict::Violated, false) => Verdict::Verified,
        (Verdict::Violated, true) if whole.all_tried => Verdict::Violated,
        (Verdict::Violated, true) => Verdict::Inconclusive,
        (verdict, _) => verdict,
    };
    verdict.into()
}

/// Returns the answer as text, with at most `most` changes.
pub(super) fn answer(whole: &RepairRecord, most: usize, view: &View) -> String {
    let repairs = Repairs {
        tried: whole.tried,
        all_tried: whole.all_tried,
        most,
        all: whole.repairs.iter().map(repaired).collect(),
    };
    mazurka_report::repaired(&whole.record, &repairs, view)
}

/// Searches for changes, shows them, and writes one if `--apply` is given.
pub(super) fn repair(args: &RepairArgs) -> Result<Exit, Refusal> {
    let (file, set) = (args.program.only_file()?, &args.program.settings());
    if args.apply.is_some() && file == "-" {
        let refusal = "--apply needs a file: standard input cannot be changed";
        return Err(refusal.to_owned().into());
    }
    let source = files::maz_program(file, "repaired")?;
    let program = load_source(file, &source, set)?;
    let mut options = args.search.options(1)?;
    args.property.apply(&program, &mut options)?;
    let whole = watched(&options.limits, args.output.quiet, |watch| {
        program.repair(&source, &options, watch)
    })?;
    let whole = whole.map_err(|error| error.to_string())?;
    let exit = show(&whole, exit(&whole), &args.output, |_| {
        let most = usize::try_from(args.most).unwrap_or(usize::MAX);
        Ok(answer(&whole, most, &view(&options.limits)))
    })?;
    let Some(number) = args.apply else {
        return Ok(exit);
    };
    let chosen = usize::try_from(number).ok().and_then(|n| n.checked_sub(1));
    match chosen.and_then(|at| whole.repairs.get(at)) {
        Some(repair) => {
            files::replace(Path::new(file), &source, &repair.source)?;
            output::complain(&format!("change {number} was written to `{file}`"));
            Ok(exit)
        }
        None => {
            output::complain(&format!(
                "there is no change {number}, so nothing was written"
            ));
            Ok(exit.worse(Exit::BadInput))
        }
    }
}
