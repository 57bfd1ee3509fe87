//! The command `sample`: draws executions at random. `explore` shares its flags for sampling.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use mazurka::Algorithm;
use mazurka::search::{Method, Sample};
use mazurka::weak::Memory;

use super::{Refusal, jobs, view};
use crate::args::{EXIT_CODES, MemoryArgs, OutputArgs, SearchArgs};
use crate::diagnose::WarningArgs;
use crate::exit::Exit;
use crate::native::NativeArgs;
use crate::program::ProgramArgs;
use crate::show::{ABOUT_EVIDENCE, EVIDENCE, json, offer, show_evidence};
use crate::watch::{self, watched};
use crate::{files, values};

const HEADING: &str = "What to draw";

/// Draw executions at random, for programs that are too large to explore
#[derive(Debug, Args)]
#[command(after_help = format!("Examples:
  mazurka sample huge.maz
  mazurka sample huge.maz --method pos --runs 100000 --seed 7
  mazurka sample huge.maz --method pct --depth 2 --time-limit 1m
  mazurka sample queue.c --runs 5000 -- -DN=8
  mazurka sample huge.maz --witness bad.json; mazurka replay bad.json

The first failure or deadlock ends the sample (exit code 1), unless --keep-going is given. If none
is found, the verdict is inconclusive (2), never verified. docs/sampling.md says which method is for
what.
{EXIT_CODES}"))]
#[command(mut_arg("nondet", |flag| flag.visible_alias("inputs")))]
#[command(mut_arg("max_executions", |flag| flag
    .long("runs")
    .help_heading(HEADING)
    .help("Executions to draw [default: 1000, or as many as --time-limit and --max-steps allow]")))]
#[command(mut_args(|flag| offer(flag, ABOUT_EVIDENCE, &EVIDENCE.concat())))]
pub(crate) struct SampleArgs {
    #[command(flatten)]
    program: ProgramArgs,
    #[command(flatten)]
    native: NativeArgs,
    /// How to choose the process that runs next [default: surw; random under a memory model]
    #[arg(long, value_parser = method(), help_heading = HEADING)]
    method: Option<Method>,
    #[command(flatten, next_help_heading = HEADING)]
    sampling: SamplingArgs,
    /// Draw all runs, even after a violation
    #[arg(long, help_heading = HEADING)]
    keep_going: bool,
    /// Save the record of a violation here, for `mazurka replay`
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    witness: Option<PathBuf>,
    /// Workers that draw in parallel [default: one for each core]; they do not change the result
    #[arg(long, short, value_name = "N", value_parser = values::count, help_heading = HEADING)]
    jobs: Option<u64>,
    #[command(flatten, next_help_heading = HEADING)]
    memory: MemoryArgs,
    #[command(flatten)]
    search: SearchArgs,
    #[command(flatten)]
    warnings: WarningArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// Which executions to draw.
#[derive(Debug, Args)]
pub(super) struct SamplingArgs {
    /// The seed: equal seeds draw the same executions [default: 0]
    #[arg(long, value_name = "N", value_parser = values::seed, allow_negative_numbers = true)]
    seed: Option<u64>,
    /// For pct: the depth of the bugs to find, that is how many events must happen in a certain
    /// order [default: 3]
    #[arg(long, value_name = "N", value_parser = values::count)]
    depth: Option<u64>,
}

impl SamplingArgs {
    /// Applies these flags to an engine. Fails if they do not belong to it; the error names the
    /// flag `flag`, with which the user has chosen the engine.
    pub(super) fn applied(&self, flag: &str, engine: Algorithm) -> Result<Algorithm, String> {
        let (name, drawn) = (engine.name(), engine.sample());
        if drawn.is_none() && self.seed.is_some() {
            let all = Method::ALL.map(Method::name).join(", ");
            return Err(format!("--seed is for {flag} {all}, not {name}"));
        }
        if drawn.and_then(|sample| sample.method.depth()).is_none() && self.depth.is_some() {
            return Err(format!(
                "--depth is for {flag} pct, not {name}; --max-depth limits the steps of an execution"
            ));
        }
        let Some(Sample { method, seed }) = drawn else {
            return Ok(engine);
        };
        let depth = self.depth.map(|depth| depth as usize);
        Ok(Algorithm::Sample(Sample {
            method: depth.map_or(method, |depth| Method::Pct { depth }),
            seed: self.seed.unwrap_or(seed),
        }))
    }
}

/// Reads the name of a method, and lists them in `--help` and completions.
fn method() -> impl TypedValueParser<Value = Method> {
    let names = Method::ALL.map(|method| PossibleValue::new(method.name()).help(method.summary()));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Method>())
}

/// Draws executions, and shows what was found.
pub(super) fn sample(args: &SampleArgs) -> Result<Exit, Refusal> {
    let weak = args
        .memory
        .memory
        .is_some_and(|memory| memory != Memory::Sc);
    let unless_given = if weak { Method::Random } else { Method::Surw };
    let method = args.method.unwrap_or(unless_given);
    let first = Algorithm::Sample(Sample { method, seed: 0 });
    let drawn = args.sampling.applied("--method", first)?.sample();
    let drawn = drawn.expect("it draws executions");
    let program = args.program.load_any(&args.native, true)?;
    let mut options = args.search.options(jobs(args.jobs))?;
    options.keep_going = args.keep_going;
    options.memory = args.memory.memory;
    let record = watched(&options.limits, args.output.quiet, |watch| {
        program.sample(drawn, &options, watch)
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
        mazurka_report::table,
    )?;
    Ok(args.warnings.show(&program, &record, exit, &args.output))
}
