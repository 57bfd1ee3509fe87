//! The `mazurka` command: flags, files, progress, signals and exit codes. Everything else is the
//! library's.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::guarded(cli::main).into()
}
