//! The commands, a file for each, and what they share.

mod bench;
mod check;
mod check_proof;
mod completions;
mod explore;
mod permute;
mod prove;
mod reach;
mod replay;
mod run;
mod symbolic;
mod unfold;

use std::path::Path;

use mazurka::record::Record;
use mazurka::{Limits, Plan, Program, Schedule};
use mazurka_report::{Paint, View};

use crate::args::{Command, Format, OutputArgs};
use crate::exit::Exit;
use crate::{diagnose, files, output};

/// More workers than this would only get in each other's way.
const MOST_JOBS: u64 = 1024;

/// Does it, and says how it went.
pub(crate) fn execute(command: &Command) -> Exit {
    let done = match command {
        Command::Check(args) => check::check(args),
        Command::Explore(args) => explore::explore(args),
        Command::Unfold(args) => unfold::unfold(args),
        Command::Reach(args) => reach::reach(args),
        Command::Symbolic(args) => symbolic::symbolic(args),
        Command::Run(args) => run::run(args),
        Command::Permute(args) => permute::permute(args),
        Command::Replay(args) => replay::replay(args),
        Command::Prove(args) => prove::prove(args),
        Command::CheckProof(args) => check_proof::check_proof(args),
        Command::Bench(args) => bench::bench(args).map_err(Refusal::Message),
        Command::Completions { shell } => Ok(completions::completions(*shell)),
    };
    let exit = done.unwrap_or_else(|refusal| {
        match refusal {
            Refusal::Message(text) => output::complain(&text),
            Refusal::Program(text) => output::print_error(&text),
        }
        Exit::BadInput
    });
    // The result is out; now what is missing.
    files::unwritten().iter().fold(exit, |exit, problem| {
        output::complain(problem);
        exit.worse(Exit::BadInput)
    })
}

/// Why nothing was done: bad input.
pub(crate) enum Refusal {
    /// A sentence.
    Message(String),
    /// The mistakes of a program, in its text.
    Program(String),
}

impl From<String> for Refusal {
    fn from(text: String) -> Self {
        Refusal::Message(text)
    }
}

/// Reads a program.
pub(super) fn load(file: &str, set: &[(String, String)]) -> Result<Program, Refusal> {
    let source = files::program(file)?;
    load_source(file, &source, set)
}

/// The same for a text that has been read.
pub(super) fn load_source(
    file: &str,
    source: &str,
    set: &[(String, String)],
) -> Result<Program, Refusal> {
    Program::load(file, source, set)
        .map_err(|mistakes| Refusal::Program(diagnose::render(file, source, &mistakes)))
}

/// Reads a program all of whose values are known.
pub(super) fn load_known(file: &str, set: &[(String, String)]) -> Result<Program, Refusal> {
    let source = files::program(file)?;
    let program = load_source(file, &source, set)?;
    match program.unknowns().refused() {
        unknown if unknown.is_empty() => Ok(program),
        unknown => Err(Refusal::Program(diagnose::render(file, &source, &unknown))),
    }
}

/// The run that a schedule or a seed names.
pub(super) fn plan(schedule: Option<&String>, seed: u64) -> Result<Plan, String> {
    let Some(text) = schedule else {
        return Ok(Plan::Seed(seed));
    };
    let schedule = text.parse::<Schedule>();
    schedule.map(Plan::Schedule).map_err(|e| e.to_string())
}

/// How many workers, unless the user says so.
pub(super) fn jobs(wanted: Option<u64>) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, |cores| cores.get());
    wanted.map_or_else(cores, |wanted| wanted.min(MOST_JOBS) as usize)
}

/// Writes each test into the folder, by its number. Whether all are there.
pub(super) fn into_folder<T>(
    folder: &Path,
    tests: impl FnOnce(mazurka::TestSink<'_>) -> T,
) -> (T, bool) {
    let mut folder = files::Folder::new("the test", folder);
    let mut sink = |number: u64, test: &mazurka::RunRecord| match json(test) {
        Ok(text) => folder.put(&format!("{number}.json"), &text),
        Err(error) => folder.fail(&error),
    };
    let done = tests(&mut sink);
    (done, folder.is_whole())
}

/// The flags without which a schedule might not run again.
pub(super) fn view(limits: &Limits) -> View {
    let mut flags = Vec::new();
    if limits.local != Limits::default().local {
        flags.push(format!("--max-local={}", limits.local));
    }
    View {
        paint: Paint::Ansi,
        flags,
    }
}

pub(super) fn json<T: serde::Serialize>(record: &T) -> Result<String, String> {
    mazurka_report::json(record).map_err(|error| format!("cannot write the record: {error}"))
}

pub(super) fn show<T: serde::Serialize>(
    whole: &T,
    args: &OutputArgs,
    record: &Record,
    text: impl FnOnce() -> String,
) -> Result<Exit, Refusal> {
    let exit = Exit::from(record.verdict);
    Ok(match args.format {
        Format::Json => output::print_raw(&json(whole)?, exit),
        Format::Text if args.quiet => {
            let text = text();
            let first = text.split_inclusive('\n').next().unwrap_or("");
            output::print(first, exit)
        }
        Format::Text => output::print(&text(), exit),
    })
}
