//! The program that a command is about.

use clap::Args;
use mazurka::Program;

use crate::commands::Refusal;
use crate::{files, values};

#[derive(Debug, Args)]
pub(crate) struct ProgramArgs {
    /// The program, a `.maz` or `.abs` file; `-` for standard input, which is `.maz`
    pub file: String,
    /// Override a constant (in ABS: a function without parameters), or give a variable its initial
    /// value (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = values::setting)]
    pub set: Vec<(String, String)>,
    /// ABS: treat durations as release points
    #[arg(long, help_heading = "ABS programs")]
    ignore_time: bool,
    /// ABS: observe these: `output`, classes, fields as `Class.field`, with commas between
    #[arg(long, value_name = "WHAT", help_heading = "ABS programs")]
    observe: Option<String>,
    /// ABS: only the scheduling of this object varies (`Buffer1`), or of all objects of a class
    /// (`Buffer`)
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "ABS programs",
        conflicts_with = "observe"
    )]
    object: Option<String>,
}

impl ProgramArgs {
    /// The settings, with what is only for ABS under names that no constant can have.
    pub(crate) fn settings(&self) -> Vec<(String, String)> {
        let mut all = self.set.clone();
        if self.ignore_time {
            all.push(("@ignore-time".to_owned(), "true".to_owned()));
        }
        let named = [("@observe", &self.observe), ("@object", &self.object)];
        for (name, value) in named {
            if let Some(value) = value {
                all.push((name.to_owned(), value.clone()));
            }
        }
        all
    }

    /// Reads the program.
    pub(crate) fn load(&self) -> Result<Program, Refusal> {
        let source = files::program(&self.file)?;
        load_source(&self.file, &source, &self.settings())
    }

    /// Reads a program all of whose values are known.
    pub(crate) fn load_known(&self) -> Result<Program, Refusal> {
        let source = files::program(&self.file)?;
        let program = load_source(&self.file, &source, &self.settings())?;
        match program.unknowns().refused() {
            unknown if unknown.is_empty() => Ok(program),
            unknown => Err(mistakes(&self.file, &source, &unknown)),
        }
    }
}

/// Reads a `.maz` program. What cannot be done with others is said in a few words.
pub(crate) fn load_maz(
    file: &str,
    set: &[(String, String)],
    cannot: &str,
) -> Result<Program, Refusal> {
    let source = files::maz_program(file, cannot)?;
    load_source(file, &source, set)
}

/// The program of a text.
pub(crate) fn load_source(
    file: &str,
    source: &str,
    set: &[(String, String)],
) -> Result<Program, Refusal> {
    Program::load(file, source, set).map_err(|all| mistakes(file, source, &all))
}

/// The mistakes of a text, to be shown.
pub(crate) fn mistakes(file: &str, source: &str, all: &[mazurka::Diagnostic]) -> Refusal {
    Refusal::Program {
        mistakes: Box::new(mazurka::mistakes(file, source, all)),
        source: source.to_owned(),
    }
}
