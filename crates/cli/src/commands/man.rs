//! The command `man`: writes manual pages from the definitions of the flags.

use std::path::PathBuf;

use clap::{Args, CommandFactory};

use super::{Cli, Refusal};
use crate::exit::Exit;
use crate::output;

/// Write manual pages: one for `mazurka`, and one for each command
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mazurka man ~/.local/share/man/man1
  mazurka man > mazurka.1

Exit codes: 0 the pages were written, 3 they were not.")]
pub(crate) struct ManArgs {
    /// The folder for the pages; without it, the page of `mazurka` is printed
    folder: Option<PathBuf>,
}

/// Writes the pages.
pub(super) fn man(args: &ManArgs) -> Result<Exit, Refusal> {
    // `help` gets no page, because each command has a page.
    let mut cli = Cli::command().disable_help_subcommand(true);
    let Some(folder) = &args.folder else {
        let mut page = Vec::new();
        let rendered = clap_mangen::Man::new(cli).render(&mut page);
        rendered.map_err(|error| format!("cannot write the manual page: {error}"))?;
        let page = String::from_utf8_lossy(&page);
        return Ok(output::print_raw(&page, Exit::Verified));
    };
    cli.build();
    let written =
        std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(cli, folder));
    let folder = folder.display();
    written.map_err(|error| format!("cannot write manual pages to `{folder}`: {error}"))?;
    Ok(Exit::Verified)
}
