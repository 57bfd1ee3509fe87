//! The command `check`: searches for a verdict about a program, and shows its evidence. Flags also
//! save the violation (`--witness`) or evidence that there is none (`--certificate`).

use std::path::PathBuf;

use clap::Args;

use super::check_certificate::certify;
use super::{Refusal, jobs, view};
use crate::args::{EXIT_CODES, FairnessArgs, MemoryArgs, OutputArgs, SearchArgs};
use crate::diagnose::WarningArgs;
use crate::exit::Exit;
use crate::native::NativeArgs;
use crate::program::{ProgramArgs, specification};
use crate::property::PropertyArgs;
use crate::show::{ABOUT_EVIDENCE, EVIDENCE, json, offer, show_evidence};
use crate::watch::{self, watched};
use crate::{files, values};

/// Say whether a program can fail, deadlock, or end in different states
#[derive(Debug, Args)]
#[command(after_help = format!("Examples:
  mazurka check counter.maz
  mazurka check queue.c list.c -- -DN=3
  mazurka check philosophers.maz --set N=4 --time-limit 10s
  mazurka check counter.maz --property deterministic
  mazurka check queue.maz --property failure --property deadlock
  mazurka check peterson.maz --property exclusion
  mazurka check server.maz --fairness strong
  mazurka check counter.maz --witness bad.json; mazurka replay bad.json
  mazurka check counter.maz --format svg > counter.svg
  mazurka check counter.maz --format html > counter.html
  mazurka check counter.maz --format sarif > counter.sarif
  mazurka check peterson.maz --certificate peterson.cert; mazurka check-certificate peterson.cert
  echo 'var x: int = 0 process {{ x := 1 }} process {{ x := 2 }}' | mazurka check -

Failures, temporal properties, deadlocks and livelocks count, in this order of gravity. Different
final states count too if the file has `observe` or states no other property. --property decides
instead what counts: kinds of violations, or names of properties. After a violation, graver kinds
are searched for in as many steps again, at least a million; the kinds that are still open then are
named. --keep-going explores everything.
{EXIT_CODES}"))]
#[command(mut_arg("nondet", |flag| flag.visible_alias("inputs")))]
#[command(mut_args(|flag| offer(flag, ABOUT_EVIDENCE, &EVIDENCE.concat())))]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    program: ProgramArgs,
    #[command(flatten)]
    native: NativeArgs,
    #[command(flatten)]
    property: PropertyArgs,
    #[command(flatten)]
    fairness: FairnessArgs,
    /// Explore everything, even after a violation
    #[arg(long)]
    keep_going: bool,
    /// Save the record of a violation here, for `mazurka replay`
    #[arg(long, value_name = "FILE")]
    witness: Option<PathBuf>,
    /// If the program is verified, save evidence here for `mazurka check-certificate`; this needs a
    /// second search
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// Workers that explore in parallel [default: one for each core]; they do not change the result
    #[arg(long, short, value_name = "N", value_parser = values::count)]
    jobs: Option<u64>,
    #[command(flatten)]
    memory: MemoryArgs,
    #[command(flatten)]
    search: SearchArgs,
    #[command(flatten)]
    warnings: WarningArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// Searches for a verdict, and shows it.
pub(super) fn check(args: &CheckArgs) -> Result<Exit, Refusal> {
    let compares = args.property.includes_determinism();
    let program = args.program.load_any(&args.native, compares)?;
    let mut options = args.search.options(jobs(args.jobs))?;
    args.property.apply(&program, &mut options)?;
    options.fairness = args.fairness.fairness;
    options.keep_going = args.keep_going;
    options.cover = true;
    options.memory = args.memory.memory;
    options.specification = specification(&program)?;
    let record = watched(&options.limits, args.output.quiet, |watch| {
        program.check(&options, watch)
    })?;
    let mut record = record.map_err(|error| error.to_string())?;
    watch::add_memory(&mut record);
    if let (Some(path), false) = (&args.witness, record.witnesses.is_empty()) {
        files::save("the witness", path, &json(&record)?);
    }
    let view = view(&options.limits);
    let exit = show_evidence(
        &program,
        &record,
        &view,
        &args.output,
        mazurka_report::verdict,
    )?;
    let exit = args.warnings.show(&program, &record, exit, &args.output);
    match &args.certificate {
        Some(path) => certify(&program, (&record, path), &options, exit),
        None => Ok(exit),
    }
}
