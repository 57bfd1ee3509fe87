//! Makes the settings of the solver from the flags, and writes its queries into a folder if the
//! user wants them.

use std::path::Path;
use std::sync::{Arc, Mutex};

use mazurka::solving::{QueryLog, SolverChoice, Solving, second_solver};

use crate::args::SolverArgs;
use crate::commands::Refusal;
use crate::{files, watch};

/// Returns the solver that the flags select. Fails if it is not installed.
pub(crate) fn solver(args: &SolverArgs) -> Result<Solving, Refusal> {
    match args.solver {
        SolverChoice::External(program) if !program.is_present() => {
            let refusal = "is not on the path; install it, or use --solver embedded";
            return Err(Refusal::Message(format!("`{}` {refusal}", program.name())));
        }
        _ if args.cross_check && second_solver().is_none() => {
            let refusal = "--cross-check needs z3 or cvc5 on the path to compare with";
            return Err(Refusal::Message(refusal.to_owned()));
        }
        _ => {}
    }
    let log = args.dump_smt.as_deref().map(dump);
    Ok(Solving {
        choice: args.solver,
        cross_check: args.cross_check,
        log,
        stop: Some(watch::stop()),
        ..Solving::default()
    })
}

/// Writes queries into a folder, one file each, in order.
fn dump(folder: &Path) -> QueryLog {
    let mut folder = files::Folder::new("the query", folder);
    let mut number = 0u64;
    let write = move |query: &str| {
        number += 1;
        folder.write(&format!("{number:06}.smt2"), query);
    };
    Arc::new(Mutex::new(write))
}
