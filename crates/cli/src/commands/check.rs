//! The command `check`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use mazurka::Program;
use mazurka::search::{Kind, Kinds};

use super::{Refusal, jobs, view};
use crate::args::{EXIT_CODES, MemoryArgs, OutputArgs, SearchArgs};
use crate::diagnose::WarningArgs;
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
  mazurka check queue.maz --property failure --property deadlock
  mazurka check counter.maz --witness bad.json; mazurka replay bad.json
  echo 'var x: int = 0 process {{ x := 1 }} process {{ x := 2 }}' | mazurka check -

Failures, temporal properties, deadlocks and livelocks count, in this order of gravity, and then
different final states if the file has `observe` or states no other property; --property decides
instead what counts. Where a violation is found, graver ones are looked for in as many steps again,
at least a million; the kinds that are still open then are named. --keep-going explores everything.
{EXIT_CODES}"))]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    program: ProgramArgs,
    /// What counts, whatever the file states: failure, property, deadlock, livelock,
    /// deterministic, all, or the name of a temporal property; may be given more than once
    #[arg(long, value_name = "KIND|NAME", value_delimiter = ',')]
    property: Vec<String>,
    /// Explore everything, violated or not
    #[arg(long)]
    keep_going: bool,
    /// Save the record of a violation here, for `mazurka replay`
    #[arg(long, value_name = "FILE")]
    witness: Option<PathBuf>,
    /// Workers that explore at the same time (the cores unless given); they change no result
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum KindName {
    /// No assertion, invariant, `ensures`, index, division or `unlock` fails
    Failure,
    /// The temporal properties that the file states hold
    Property,
    /// Some process can go on until all have ended
    Deadlock,
    /// No fair run goes on for ever while a process that is meant to end does not
    Livelock,
    /// All final states agree on what is observed
    Deterministic,
    /// All of these
    All,
}

impl KindName {
    fn kinds(self) -> Kinds {
        match self {
            KindName::Failure => Kinds::of(&[Kind::Failure]),
            KindName::Property => Kinds::of(&[Kind::Property]),
            KindName::Deadlock => Kinds::of(&[Kind::Deadlock]),
            KindName::Livelock => Kinds::of(&[Kind::Livelock]),
            KindName::Deterministic => Kinds::of(&[Kind::Nondeterminism]),
            KindName::All => Kinds::ALL,
        }
    }
}

/// Which kinds count, and which temporal properties if not all do.
fn counted(args: &CheckArgs, program: &Program) -> Result<(Kinds, Option<Vec<String>>), Refusal> {
    let mut kinds = Kinds::NONE;
    let mut names = Vec::new();
    for text in &args.property {
        match KindName::from_str(text, false) {
            Ok(name) => kinds = name.kinds().iter().fold(kinds, Kinds::with),
            Err(_) => names.push(text.clone()),
        }
    }
    let known = program.temporal_names();
    if let Some(name) = names.iter().find(|name| !known.contains(name)) {
        let kinds = "failure, property, deadlock, livelock, deterministic and all";
        let stated = match known.is_empty() {
            true => "and the file names no temporal property".to_owned(),
            false => format!("and the file names {}", known.join(", ")),
        };
        return Err(
            format!("there is no property `{name}`: --property takes {kinds}, {stated}").into(),
        );
    }
    let all = kinds.contains(Kind::Property) || names.is_empty();
    if !names.is_empty() {
        kinds = kinds.with(Kind::Property);
    }
    Ok((kinds, (!all).then_some(names)))
}

/// Looks for a verdict, and shows it.
pub(super) fn check(args: &CheckArgs) -> Result<Exit, Refusal> {
    let program = args.program.load()?;
    let mut options = args.search.options(jobs(args.jobs))?;
    if !args.property.is_empty() {
        let (kinds, properties) = counted(args, &program)?;
        options.counted = Some(kinds);
        options.properties = properties;
    }
    options.keep_going = args.keep_going;
    options.cover = true;
    options.memory = args.memory.memory;
    let record = watched(&options.limits, args.output.quiet, |watch| {
        program.check(&options, watch)
    })?;
    let record = record.map_err(|error| error.to_string())?;
    if let (Some(path), false) = (&args.witness, record.witnesses.is_empty()) {
        files::save("the witness", path, &json(&record)?);
    }
    let exit = show(&record, record.verdict.into(), &args.output, |_| {
        Ok(mazurka_report::verdict(&record, &view(&options.limits)))
    })?;
    Ok(args.warnings.show(&program, &record, exit, &args.output))
}
