//! The command `new`: writes a template of a program or of a list of models.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use clap::{Args, ValueEnum};

use super::Refusal;
use crate::exit::Exit;
use crate::output;

/// Write a small program to start from, or a list of models for `mazurka test`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mazurka new counter.maz
  mazurka new queue.maz --template channel
  mazurka new pingpong.abs
  mazurka new mazurka.toml

An existing file is never changed.
Exit codes: 0 the file was written, 3 it was not.")]
pub(crate) struct NewArgs {
    /// The file to write; its extension decides what it is: `.maz`, `.abs` or `.toml`
    file: String,
    /// What to start from [default: depends on the extension]
    #[arg(long, value_enum)]
    template: Option<Template>,
}

/// The model that the template of a list names.
const LISTED: &str = "counter.maz";

/// The templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Template {
    /// Processes that share a counter, with a lock around it
    Counter,
    /// A producer and a consumer with a channel between them
    Channel,
    /// A bounded buffer with a lock and condition variables
    Monitor,
    /// An object whose operations each appear as one step
    Object,
    /// Two writes and two reads with memory orders, for --memory rc11
    Litmus,
    /// Actors, in ABS
    Actors,
    /// A list of models with their expected verdicts
    Suite,
}

impl Template {
    fn text(self) -> &'static str {
        match self {
            Self::Counter => include_str!("../../templates/counter.maz"),
            Self::Channel => include_str!("../../templates/channel.maz"),
            Self::Monitor => include_str!("../../templates/monitor.maz"),
            Self::Object => include_str!("../../templates/object.maz"),
            Self::Litmus => include_str!("../../templates/litmus.maz"),
            Self::Actors => include_str!("../../templates/actors.abs"),
            Self::Suite => include_str!("../../templates/suite.toml"),
        }
    }

    fn ending(self) -> &'static str {
        match self {
            Self::Actors => "abs",
            Self::Suite => "toml",
            _ => "maz",
        }
    }
}

/// Writes the file, and prints what to do next.
pub(super) fn new(args: &NewArgs) -> Result<Exit, Refusal> {
    let path = Path::new(&args.file);
    let ending = path.extension().and_then(|ending| ending.to_str());
    let usual = match ending {
        Some("maz") => Template::Counter,
        Some("abs") => Template::Actors,
        Some("toml") => Template::Suite,
        _ => {
            let refusal = format!(
                "`{}` should end with .maz (a model), .abs (actors) or .toml (a list of models)",
                args.file
            );
            return Err(refusal.into());
        }
    };
    let template = args.template.unwrap_or(usual);
    if template.ending() != usual.ending() {
        let refusal = format!(
            "that template is for files that end with .{}",
            template.ending()
        );
        return Err(refusal.into());
    }
    let opened = OpenOptions::new().write(true).create_new(true).open(path);
    let written = opened.and_then(|mut file| file.write_all(template.text().as_bytes()));
    if let Err(error) = written {
        let refusal = match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                format!("`{}` exists already, and was not changed", args.file)
            }
            _ => format!("cannot write `{}`: {error}", args.file),
        };
        return Err(refusal.into());
    }
    let next = match template {
        Template::Suite => format!("mazurka test {}", args.file),
        Template::Litmus => format!("mazurka check {} --memory rc11", args.file),
        _ => format!("mazurka check {}", args.file),
    };
    let missing = match template {
        Template::Suite if !path.with_file_name(LISTED).exists() => {
            let listed = path.with_file_name(LISTED);
            format!("first, for its example: mazurka new {}\n", listed.display())
        }
        _ => String::new(),
    };
    let text = format!("written: {}\n{missing}next: {next}\n", args.file);
    Ok(output::print(&text, Exit::Verified))
}
