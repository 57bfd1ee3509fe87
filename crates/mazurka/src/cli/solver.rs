//! Who decides conditions, as the flags say.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use mazurka::{QueryLog, SolverChoice, Solving};

use super::args::SolverArgs;
use super::commands::Refusal;
use super::{output, watch};

/// The solver that was asked for, if it is there.
pub(super) fn solver(args: &SolverArgs) -> Result<Solving, Refusal> {
    match args.solver {
        SolverChoice::External(program) if !program.is_present() => {
            let no = "is not on the path; install it, or use --solver embedded";
            return Err(Refusal::Message(format!("`{}` {no}", program.name())));
        }
        _ if args.cross_check && mazurka::second_solver().is_none() => {
            let no = "--cross-check needs z3 or cvc5 on the path to compare with";
            return Err(Refusal::Message(no.to_owned()));
        }
        _ => {}
    }
    let log = args.dump_smt.as_deref().map(dump).transpose()?;
    Ok(Solving {
        choice: args.solver,
        cross_check: args.cross_check,
        log,
        stop: Some(watch::interrupted()),
        ..Solving::default()
    })
}

/// Writes queries into a folder, one file for each, in order. What cannot be written is said once.
fn dump(folder: &Path) -> Result<QueryLog, Refusal> {
    let cannot =
        |path: &Path, error: std::io::Error| format!("cannot write `{}`: {error}", path.display());
    std::fs::create_dir_all(folder).map_err(|error| cannot(folder, error))?;
    let folder: PathBuf = folder.to_owned();
    let (mut number, mut said) = (0u64, false);
    let write = move |query: &str| {
        number += 1;
        let path = folder.join(format!("{number:06}.smt2"));
        if let (Err(error), false) = (std::fs::write(&path, query), said) {
            said = true;
            output::complain(&cannot(&path, error));
        }
    };
    Ok(Arc::new(Mutex::new(write)))
}
