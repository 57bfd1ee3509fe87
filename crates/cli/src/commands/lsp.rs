//! The command `lsp`: runs the language server on standard input and output, and reads files for
//! it.

use std::io::{Read, Write, stdin, stdout};
use std::sync::Arc;

use clap::Args;
use mazurka::Program;
use mazurka_lsp::{Ended, Environment, converse};

use super::Refusal;
use crate::exit::Exit;
use crate::program::specification;
use crate::{files, watch};

/// Run the language server for an editor, on standard input and output
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mazurka lsp

Editors start it; docs/editors.md says how. It searches nothing until a command asks for it.
Exit codes: 0 the editor has ended it, 1 it did so without `shutdown`, 3 the editor violates the
protocol.")]
pub(crate) struct LspArgs {}

/// Reads the files that programs include.
struct Files;

impl Environment for Files {
    fn expand(&self, path: &str, text: &str, open: &dyn Fn(&str) -> Option<String>) -> String {
        files::expanded_with(path, text, open)
    }

    fn memory(&self) -> Option<u64> {
        watch::used()
    }

    fn specification(&self, program: &Program) -> Result<Option<Arc<Program>>, String> {
        specification(program).map_err(|refusal| match refusal {
            Refusal::Message(text) => text,
            Refusal::Program { mistakes, .. } | Refusal::NotCompiled { mistakes, .. } => {
                format!("`{}` has mistakes", mistakes.file)
            }
            Refusal::Done(_) => "the specification cannot be read".to_owned(),
        })
    }
}

/// Serves until the editor ends it.
pub(super) fn lsp(_args: &LspArgs) -> Result<Exit, Refusal> {
    let read = || {
        let mut piece = vec![0; 1 << 16];
        let length = stdin()
            .read(&mut piece)
            .map_err(|error| error.to_string())?;
        piece.truncate(length);
        Ok(piece)
    };
    let write = |bytes: &[u8]| {
        let mut out = stdout();
        let sent = out.write_all(bytes).and_then(|()| out.flush());
        sent.map_err(|error| error.to_string())
    };
    match converse(read, write, Arc::new(Files))? {
        Ended::ShutDown | Ended::Closed => Ok(Exit::Verified),
        // The protocol demands the code 1.
        Ended::Exited => Ok(Exit::Violated),
    }
}
