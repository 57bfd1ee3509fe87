//! The command `replay`.

use mazurka::{Limits, Options, Recording, RecordingError, ReplayProblem};

use super::{Refusal, load_source, show, view};
use crate::args::ReplayArgs;
use crate::exit::Exit;
use crate::files;

/// Runs a recorded execution again, and compares every step.
pub(super) fn replay(args: &ReplayArgs) -> Result<Exit, Refusal> {
    let text = files::record(&args.witness)?;
    let parsed = Recording::parse(&text);
    let recording = parsed.map_err(|error| match error {
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
            let ask = "this was recorded of standard input; name the program with --file FILE";
            return Err(Refusal::Message(ask.to_owned()));
        }
        None => &recorded.file,
    };
    let source = files::program(file).map_err(|text| match args.file {
        None => format!(
            "{text}, of which `{}` is a record; if the program has moved, add --file FILE",
            args.witness
        ),
        Some(_) => text,
    })?;
    let limits = Limits {
        local: args.max_local,
        ..Limits::default()
    };
    let options = Options {
        limits,
        deterministic: false,
        jobs: 1,
        ..Options::default()
    };
    let program = load_source(file, &source, &recorded.set)?;
    let record = program.replay(&recording, &options);
    let record = record.map_err(|problem| match problem {
        ReplayProblem::OtherProgram { .. } => {
            format!("{problem}; check it again, or restore the program that was recorded")
        }
        _ => problem.to_string(),
    })?;
    let view = view(&options.limits);
    show(&record, &args.output, &record, || {
        mazurka_report::replayed(&record, &view)
    })
}
