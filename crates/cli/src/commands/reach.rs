//! The command `reach`.

use mazurka::{BadProperty, Options, StateProperty};

use super::unfold;
use super::{Refusal, load_source, show, view};
use crate::args::ReachArgs;
use crate::exit::Exit;
use crate::solver::solver;
use crate::watch::Watcher;
use crate::{diagnose, files};

/// Looks for a state, and shows the way to it.
pub(super) fn reach(args: &ReachArgs) -> Result<Exit, Refusal> {
    let (file, set) = (&args.program.file, &args.program.settings());
    let source = files::program(file)?;
    let program = load_source(file, &source, set)?;
    if !program.unfolds() {
        return Err(unfold::refusal());
    }
    let wanted = StateProperty::read(&source, set, &args.property).map_err(|bad| match bad {
        BadProperty::Mistakes { text, mistakes } => {
            let shown = diagnose::render("the property, after the program", &text, &mistakes);
            Refusal::Program(shown)
        }
        BadProperty::Point(_) | BadProperty::Nowhere(_) => Refusal::Message(bad.to_string()),
    })?;
    let options = Options {
        solver: solver(&args.solver)?,
        limits: args.limits.limits(),
        deterministic: false,
        jobs: 1,
        ..Options::default()
    };
    let mut watcher = Watcher::new(options.limits.memory, args.output.quiet)?;
    let whole = program.reach(
        &wanted,
        (args.net, args.method.into()),
        args.seed,
        &options,
        &mut |progress| watcher.look(progress),
    );
    watcher.finish();
    let whole = whole.map_err(|error| error.to_string())?;
    let view = view(&options.limits);
    show(&whole, &args.output, &whole.record, || {
        let searched = format!(
            "{} markings of the {} net, {} tests",
            whole.markings, whole.net, whole.tests
        );
        mazurka_report::reached(
            &whole.record,
            &whole.state,
            whole.run.as_ref(),
            &searched,
            &view,
        )
    })
}
