//! The command `permute`.

use mazurka::{Options, Permuting};

use super::{Refusal, load_known, plan, show, view};
use crate::args::{ClassPicture, Format, OutputArgs, PermuteArgs};
use crate::exit::Exit;
use crate::output;
use crate::watch::Watcher;

/// Finds the executable permutations of one execution, or of all.
pub(super) fn permute(args: &PermuteArgs) -> Result<Exit, Refusal> {
    let wanted = Permuting {
        plan: plan(args.schedule.as_ref(), args.seed)?,
        complete: args.complete,
        paper: args.paper,
        any_start: args.symbolic_initial,
        listed: usize::try_from(args.classes).unwrap_or(usize::MAX),
    };
    let program = load_known(&args.program.file, &args.program.settings())?;
    let options = Options {
        limits: args.limits.limits(),
        deterministic: false,
        jobs: 1,
        ..Options::default()
    };
    let mut watcher = Watcher::new(options.limits.memory, args.output.quiet)?;
    let permuted = program.permute(&wanted, &options, &mut |progress| watcher.look(progress));
    watcher.finish();
    let permuted = permuted.map_err(|error| error.to_string())?;
    let record = &permuted.record;
    let format = match args.output.format {
        ClassPicture::Text => Format::Text,
        ClassPicture::Json => Format::Json,
        picture @ (ClassPicture::Dot | ClassPicture::Svg) => {
            let class = usize::try_from(args.class).unwrap_or(usize::MAX);
            let order = program.partial_order(&permuted, class, &options);
            let order = order.map_err(|error| error.to_string())?;
            let title = format!("{}: class {class}", record.program.file);
            let drawn = match picture {
                ClassPicture::Dot => mazurka_report::order_dot(&title, &order),
                _ => mazurka_report::order_svg(&title, &order),
            };
            return Ok(output::print_raw(&drawn, Exit::from(record.verdict)));
        }
    };
    let output = OutputArgs {
        format,
        quiet: args.output.quiet,
    };
    show(&permuted, &output, record, || {
        mazurka_report::permutations(record, &permuted.permutations, &view(&options.limits))
    })
}
