//! The command `lsp`: runs the language server on standard input and output, and reads files for
//! it.

use std::sync::Arc;

use clap::Args;
use mazurka::Program;
use mazurka_lsp::{Connection, Environment, serve};

use super::Refusal;
use crate::exit::Exit;
use crate::program::specification;
use crate::{files, watch};

/// Run the language server for an editor, on standard input and output
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mazurka lsp

Editors start it; docs/editors.md says how. It searches nothing until a command asks for it.
Exit codes: 0 the editor has ended it, 3 the editor violates the protocol.")]
pub(crate) struct LspArgs {}

/// Reads the files that programs include.
struct Files;

impl Environment for Files {
    fn expand(&self, path: &str, text: &str) -> String {
        files::expanded(path, text)
    }

    fn memory(&self) -> Option<u64> {
        watch::used()
    }

    fn specification(&self, program: &Program) -> Result<Option<Arc<Program>>, String> {
        specification(program).map_err(|refusal| match refusal {
            Refusal::Message(text) => text,
            Refusal::Program { mistakes, .. } => format!("`{}` has mistakes", mistakes.file),
            Refusal::Done(_) => "the specification cannot be read".to_owned(),
        })
    }
}

/// Serves until the editor ends it.
pub(super) fn lsp(_args: &LspArgs) -> Result<Exit, Refusal> {
    let (connection, threads) = Connection::stdio();
    let served = serve(&connection, Arc::new(Files));
    served.map_err(|error| error.to_string())?;
    // The writing thread ends when the connection is dropped.
    drop(connection);
    threads.join().map_err(|error| error.to_string())?;
    Ok(Exit::Verified)
}
