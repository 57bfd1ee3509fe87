//! The command `symbolic`.

use mazurka::{Options, SymbolicOptions};

use super::{Refusal, load_source, show, view};
use crate::args::{Curve, Format, OutputArgs, SymbolicArgs};
use crate::exit::Exit;
use crate::solver::solver;
use crate::watch::Watcher;
use crate::{files, output};

/// Executes a program symbolically, and shows the states at the end.
pub(super) fn symbolic(args: &SymbolicArgs) -> Result<Exit, Refusal> {
    let file = &args.program.file;
    let source = files::maz_program(file, "executed symbolically")?;
    let program = load_source(file, &source, &args.program.set)?;
    let options = Options {
        solver: solver(&args.solver)?,
        limits: args.limits.limits(),
        ..Options::default()
    };
    let wanted = SymbolicOptions {
        por: args.por,
        prefix_pruning: args.prefix_pruning,
        feasible: !args.no_feasible,
        listed: usize::try_from(args.states).unwrap_or(usize::MAX),
    };
    let mut watcher = Watcher::new(options.limits.memory, args.output.quiet)?;
    let found = program.symbolic(&wanted, &options, &mut |progress| watcher.look(progress));
    watcher.finish();
    let found = found.map_err(|error| error.to_string())?;
    let (record, states) = (&found.record, &found.states);
    let format = match args.output.format {
        Curve::Text => Format::Text,
        Curve::Json => Format::Json,
        Curve::Svg => {
            let picture = mazurka_report::curve_svg(record, states);
            return Ok(output::print_raw(&picture, Exit::from(record.verdict)));
        }
    };
    let output = OutputArgs {
        format,
        quiet: args.output.quiet,
    };
    show(&found, &output, record, || {
        mazurka_report::symbolic_states(record, states, &view(&options.limits))
    })
}
