//! The command `completions`.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::exit::Exit;
use crate::output;

/// Prints a script that completes commands and flags.
pub(super) fn completions(shell: Shell) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "mazurka", &mut script);
    output::print_raw(&String::from_utf8_lossy(&script), Exit::Verified)
}
