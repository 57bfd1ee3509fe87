//! The command `completions`: prints a completion script for a shell.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::Cli;
use crate::exit::Exit;
use crate::output;

/// Print a completion script for a shell
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mazurka completions bash > ~/.local/share/bash-completion/completions/mazurka
  mazurka completions fish > ~/.config/fish/completions/mazurka.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Prints a script that completes commands and flags.
pub(super) fn completions(args: &CompletionsArgs) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "mazurka", &mut script);
    output::print_raw(&String::from_utf8_lossy(&script), Exit::Verified)
}
