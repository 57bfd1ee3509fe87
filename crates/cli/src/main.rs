//! The `mazurka` command: flags, files, progress, signals and exit codes. The searches and their
//! results are in the library, the crate `mazurka`.
//!
//! As WebAssembly it has only the commands of the page (docs/page.md).
#![cfg_attr(target_family = "wasm", allow(dead_code, unused_imports))]

mod args;
mod commands;
mod diagnose;
mod exit;
mod experiment;
mod files;
mod native;
mod output;
mod program;
mod progress;
mod property;
mod show;
mod solver;
mod suite;
mod values;
mod watch;

use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use clap::Parser;

use exit::Exit;

fn main() -> ExitCode {
    let exit = guarded(run);
    native::note_end();
    exit.into()
}

/// Parses the arguments and executes the command.
fn run() -> Exit {
    match commands::Cli::try_parse() {
        Ok(cli) => commands::execute(&cli),
        Err(error) => {
            let exit = if error.use_stderr() {
                Exit::BadInput
            } else {
                Exit::Verified
            };
            output::written(error.print(), exit)
        }
    }
}

/// Turns a panic into exit code 4 and a message that asks for a report.
fn guarded(work: impl FnOnce() -> Exit) -> Exit {
    panic::set_hook(Box::new(|panic| {
        let payload = panic.payload();
        let text = match (
            payload.downcast_ref::<&str>(),
            payload.downcast_ref::<String>(),
        ) {
            (Some(text), _) => (*text).to_owned(),
            (None, Some(text)) => text.clone(),
            (None, None) => "no message".to_owned(),
        };
        let place = panic
            .location()
            .map(|at| format!(" ({at})"))
            .unwrap_or_default();
        output::complain(&format!(
            "internal error: {text}{place}\n\
             This is a defect of Mazurka, not of your program. Please report it, with the program and the command."
        ));
        // Release builds abort on a panic, because unwinding would cost a tenth of the speed. So
        // the process ends here.
        if cfg!(panic = "abort") {
            files::wait_for_save();
            native::note_end();
            std::process::exit(Exit::Internal as i32);
        }
    }));
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or(Exit::Internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_internal_error() {
        assert_eq!(guarded(|| panic!("planted")), Exit::Internal);
        assert_eq!(guarded(|| Exit::Violated), Exit::Violated);
    }
}
