//! The command `check`.

use mazurka::Options;

use super::{Refusal, jobs, json, load, show, view};
use crate::args::CheckArgs;
use crate::exit::Exit;
use crate::files;
use crate::solver::solver;
use crate::watch::Watcher;

/// Says whether a program can fail, deadlock, or end in different states.
pub(super) fn check(args: &CheckArgs) -> Result<Exit, Refusal> {
    let program = load(&args.program.file, &args.program.settings())?;
    let options = Options {
        solver: solver(&args.solver)?,
        limits: args.limits.limits(),
        deterministic: args.property.is_some(),
        jobs: jobs(args.jobs),
        ..Options::default()
    };
    let mut watcher = Watcher::new(options.limits.memory, args.output.quiet)?;
    let watch = &mut |progress: &mazurka::Progress| watcher.look(progress);
    let record = program.check(&options, watch);
    watcher.finish();
    let record = record.map_err(|error| error.to_string())?;
    if let (Some(path), false) = (&args.witness, record.witnesses.is_empty()) {
        files::save("the witness", path, &json(&record)?);
    }
    let view = view(&options.limits);
    show(&record, &args.output, &record, || {
        mazurka_report::verdict(&record, &view)
    })
}
