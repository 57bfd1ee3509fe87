//! The command `fmt`: formats `.maz` files, or checks that they are formatted.

use std::path::Path;

use clap::Args;
use mazurka::format::{Unformatted, format};

use super::Refusal;
use crate::exit::Exit;
use crate::{diagnose, files, output};

/// Format `.maz` programs: indentation, spaces and empty lines
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mazurka fmt examples/counter.maz
  mazurka fmt --check examples corpus
  mazurka fmt - < examples/counter.maz

Line breaks and comments stay as they are (docs/format.md). A file is replaced atomically, and only
if its new text is parsed as the same program. A file with mistakes is not changed.
Exit codes: 0 all files are formatted, 1 with --check: some are not, 3 a file cannot be read or
written, or has mistakes.")]
pub(crate) struct FmtArgs {
    /// Files, or folders for all `.maz` files in them. `-` reads standard input and prints the
    /// result
    #[arg(required = true, value_name = "FILE")]
    names: Vec<String>,
    /// Write nothing, and name the files that are not formatted
    #[arg(long)]
    check: bool,
}

/// Formats each file, and continues after one that cannot be formatted.
pub(super) fn fmt(args: &FmtArgs) -> Result<Exit, Refusal> {
    let mut all = Vec::new();
    for name in &args.names {
        all.extend(files::in_folder(name, ".maz")?);
    }
    let exits = all.iter().map(|name| match format_file(name, args.check) {
        Ok(exit) => exit,
        Err(problem) => {
            output::complain(&problem);
            Exit::BadInput
        }
    });
    Ok(exits.fold(Exit::Verified, Exit::worse))
}

/// Formats one file. The error says in a sentence why the file cannot be formatted.
fn format_file(name: &str, check: bool) -> Result<Exit, String> {
    if name != "-" && !Path::new(name).exists() {
        return Err(format!("there is no file `{name}`"));
    }
    if name != "-" && !name.ends_with(".maz") {
        return Err(format!(
            "`{name}` is not a `.maz` file, and only these are formatted"
        ));
    }
    let text = files::program(name)?;
    let formatted = match format(&text) {
        Ok(formatted) => formatted,
        Err(Unformatted::Mistakes(mistakes)) => {
            let mistakes = mazurka::mistakes(name, &text, &mistakes);
            output::print_error(&diagnose::render(name, &text, &mistakes.diagnostics));
            return Ok(Exit::BadInput);
        }
        Err(changed) => {
            output::complain(&format!("`{name}`: {changed}; please report this"));
            return Ok(Exit::Internal);
        }
    };
    Ok(match (name, check) {
        (_, true) if formatted == text => Exit::Verified,
        (_, true) => {
            let line = first_difference(&text, &formatted);
            output::print(&format!("{name}:{line}: not formatted\n"), Exit::Violated)
        }
        ("-", false) => output::print_raw(&formatted, Exit::Verified),
        (_, false) => {
            if formatted != text {
                files::replace(Path::new(name), &text, &formatted)?;
            }
            Exit::Verified
        }
    })
}

/// Returns the number of the first line that differs between two texts, starting from 1.
fn first_difference(one: &str, other: &str) -> usize {
    let lines = one.split('\n').zip(other.split('\n'));
    lines.take_while(|(one, other)| one == other).count() + 1
}
