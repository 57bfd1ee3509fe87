//! The command `unfold`.

use mazurka::{NetKind, Options, UnfoldRecord};

use super::{Refusal, into_folder, load, show, view};
use crate::args::{Format, OutputArgs, Picture, UnfoldArgs};
use crate::exit::Exit;
use crate::output;
use crate::solver::solver;
use crate::watch::Watcher;

/// Why a program cannot be unfolded.
pub(super) fn refusal() -> Refusal {
    let text = "ABS programs cannot be unfolded: a task may wait for one that it did not create; \
                `mazurka explore` explores them";
    Refusal::Message(text.to_owned())
}

/// Unfolds a program, and shows what came of it.
pub(super) fn unfold(args: &UnfoldArgs) -> Result<Exit, Refusal> {
    let program = load(&args.program.file, &args.program.settings())?;
    if !program.unfolds() {
        return Err(refusal());
    }
    let options = Options {
        solver: solver(&args.solver)?,
        limits: args.limits.limits(),
        deterministic: false,
        jobs: 1,
        ..Options::default()
    };
    if args.tests.is_some() && (args.naive || draw(args.output.format).is_some()) {
        let no = "--tests is for nets and --format text or json";
        return Err(Refusal::Message(no.to_owned()));
    }
    if args.naive && (args.net != NetKind::Stateful || draw(args.output.format).is_some()) {
        let no = "--naive is for --net stateful, and draws nothing: it builds no net";
        return Err(Refusal::Message(no.to_owned()));
    }
    let mut watcher = Watcher::new(options.limits.memory, args.output.quiet)?;
    let watch = &mut |progress: &mazurka::Progress| watcher.look(progress);
    if let Some(draw) = draw(args.output.format) {
        let drawn = program.unfold_net(args.net, args.seed, &options, watch);
        watcher.finish();
        let (record, net) = drawn.map_err(|error| error.to_string())?;
        let UnfoldRecord {
            record,
            net: kind,
            tests,
            ..
        } = record;
        let picture = draw(&record, &kind, tests, &net);
        return Ok(output::print_raw(&picture, Exit::from(record.verdict)));
    }
    let whole = match &args.tests {
        _ if args.naive => program.walk_states(args.seed, &options, watch),
        None => program.unfold(args.net, args.seed, &options, watch),
        Some(folder) => {
            let tests = |sink: mazurka::TestSink<'_>| {
                program.unfold_tests(args.net, args.seed, &options, watch, sink)
            };
            into_folder(folder, tests).0
        }
    };
    watcher.finish();
    let whole = whole.map_err(|error| error.to_string())?;
    let output = OutputArgs {
        format: match args.output.format {
            Picture::Json => Format::Json,
            _ => Format::Text,
        },
        quiet: args.output.quiet,
    };
    let view = view(&options.limits);
    show(&whole, &output, &whole.record, || match whole.states {
        Some(states) => mazurka_report::states_table(&whole.record, whole.tests, states, &view),
        None => mazurka_report::net_table(
            &whole.record,
            &whole.net,
            whole.tests,
            whole.conditions,
            &view,
        ),
    })
}

/// What draws a net in a format, if it is a picture.
fn draw(format: Picture) -> Option<Draw> {
    match format {
        Picture::Text | Picture::Json => None,
        Picture::Dot => Some(mazurka_report::net_dot),
        Picture::Svg => Some(mazurka_report::net_svg),
    }
}

/// A picture of a net.
type Draw = fn(&mazurka::record::Record, &str, u64, &mazurka::record::Net) -> String;
