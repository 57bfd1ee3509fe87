//! The command `replay`: runs a recorded witness again, and compares every step.

use std::path::PathBuf;

use clap::Args;
use mazurka::record::{Record, Run};
use mazurka::replay::{Recording, RecordingError, ReplayProblem};
use mazurka::{Limits, Options, Program};
use mazurka_report::{Figure, Lanes, OneRun};
use serde::Serialize;

use super::{Refusal, view};
use crate::args::{EXIT_CODES, OutputArgs};
use crate::exit::Exit;
use crate::native::{self, NativeArgs};
use crate::program::{Sources, specification};
use crate::show::{
    ABOUT_LANES, Format, HTML, JSON, LANES_DOT, LANES_SVG, Shown, TEXT, lanes, offer, page, plain,
    show,
};
use crate::{files, values};

/// Run a recorded witness again, and compare every step
#[derive(Debug, Args)]
#[command(after_help = format!("Examples:
  mazurka check counter.maz --witness bad.json; mazurka replay bad.json
  mazurka check counter.maz --format json > bad.json; mazurka replay bad.json
  mazurka replay bad.json --file moved/counter.maz
  mazurka replay bad.json --format svg > bad.svg

Exit code 1: the violation occurs again, as recorded. 3: the record belongs to another program or
version, or the run diverges.
{EXIT_CODES}"))]
#[command(mut_args(|flag| offer(flag, ABOUT_LANES, &[TEXT, JSON, HTML, LANES_DOT, LANES_SVG])))]
#[command(mut_arg("allow_inconclusive", |flag| flag.hide(true)))]
pub(crate) struct ReplayArgs {
    /// A record, as `--witness FILE` saves it or `--format json` prints it; `-` for standard input
    witness: String,
    /// The compiled program, for the worker process that runs it
    #[arg(long, value_name = "OBJECT", hide = true)]
    native: Option<PathBuf>,
    /// The program, if it has moved
    #[arg(long, value_name = "FILE")]
    file: Option<String>,
    /// Local work within one step, in jumps and calls
    #[arg(long, value_name = "N", default_value_t = Limits::default().local, value_parser = values::local)]
    max_local: u64,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// Returns the runs of a record: its evidence, or its run if there is none.
pub(super) fn picture_of(record: &Record, recording: &Recording) -> Lanes {
    match (&recording.run, record.witnesses.is_empty()) {
        (Some(run), true) => Lanes::of_run(record, OneRun::new(run)),
        _ => Lanes::of_evidence(record),
    }
}

/// Returns the same runs as figures for a page.
pub(super) fn figures_of(record: &Record, recording: &Recording) -> Vec<Figure> {
    match (&recording.run, record.witnesses.is_empty()) {
        (Some(run), true) => vec![mazurka_report::run_figure(record, OneRun::new(run))],
        _ => mazurka_report::evidence_figures(record),
    }
}

/// The record inside the page of a replay.
#[derive(Serialize)]
struct Replayed<'a> {
    #[serde(flatten)]
    record: &'a Record,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a Run>,
}

/// Loads the program that was recorded.
fn load(args: &ReplayArgs, file: &str, set: &[(String, String)]) -> Result<Program, Refusal> {
    let sources = Sources::read(&[file]).map_err(|text| match args.file {
        None => format!(
            "{text}, of which `{}` is a record; if the program has moved, add --file FILE",
            args.witness
        ),
        Some(_) => text,
    })?;
    sources.load(set)
}

/// Loads a recorded program in C or C++.
fn load_native(
    args: &ReplayArgs,
    file: &str,
    set: &[(String, String)],
) -> Result<Program, Refusal> {
    if args.witness == "-" && args.native.is_none() {
        let refusal = "a record of a program in C is read twice, so it cannot come from standard input: save it in a file";
        return Err(Refusal::Message(refusal.to_owned()));
    }
    let names: Vec<&str> = file.split(mazurka::FILES_JOINED_BY).collect();
    NativeArgs::recorded(set, args.native.clone())?.load(&names, &[], false)
}

/// Runs a recorded execution again, and compares every step.
pub(super) fn replay(args: &ReplayArgs) -> Result<Exit, Refusal> {
    let text = files::record(&args.witness)?;
    let parsed = Recording::parse(&text);
    let recording = parsed.map_err(|error| match error {
        RecordingError::Shape(_) if args.witness == "-" => {
            format!("standard input: {error}; `mazurka check FILE --format json` prints one")
        }
        RecordingError::Shape(_) => format!(
            "`{}`: {error}; `mazurka check FILE --witness {}` makes one",
            args.witness, args.witness
        ),
        RecordingError::Version { .. } => format!("`{}`: {error}", args.witness),
    })?;
    let recorded = &recording.record.program;
    let file = match &args.file {
        Some(file) => file,
        None if recorded.file == "-" => {
            let ask =
                "the recorded program came from standard input; name its file with --file FILE";
            return Err(Refusal::Message(ask.to_owned()));
        }
        None => &recorded.file,
    };
    let program = if file.split(mazurka::FILES_JOINED_BY).any(native::is_native) {
        load_native(args, file, &recorded.set)?
    } else {
        load(args, file, &recorded.set)?
    };
    let limits = Limits {
        local: args.max_local,
        ..Limits::default()
    };
    let options = Options {
        limits,
        jobs: 1,
        specification: specification(&program)?,
        ..Options::default()
    };
    let record = program.replay(&recording, &options);
    let record = record.map_err(|problem| match problem {
        ReplayProblem::OtherProgram { .. } => {
            format!("{problem}; check it again, or restore the program that was recorded")
        }
        _ => problem.to_string(),
    })?;
    show(&record, record.verdict.into(), &args.output, |format| {
        Ok(match format {
            Format::Text => mazurka_report::replayed(&record, &view(&options.limits)),
            Format::Html => {
                let shown = Shown {
                    text: mazurka_report::replayed(&record, &plain(view(&options.limits))),
                    figures: figures_of(&record, &recording),
                    program: Some(&program),
                    ..Shown::default()
                };
                // The run of a record without a violation is not among the witnesses, so it is
                // taken from the recording.
                let whole = Replayed {
                    record: &record,
                    run: recording.run.as_ref(),
                };
                return page(&whole, &record, &shown);
            }
            picture => lanes(&picture_of(&record, &recording), picture),
        })
    })
}
