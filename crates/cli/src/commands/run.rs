//! The command `run`.

use mazurka::Options;
use mazurka_report::OneRun;

use super::{Refusal, load, plan, show, view};
use crate::args::{Format, OutputArgs, RunArgs, RunPicture};
use crate::exit::Exit;
use crate::output;
use crate::watch::Watcher;

/// Runs one execution, and shows its steps.
pub(super) fn run(args: &RunArgs) -> Result<Exit, Refusal> {
    let plan = plan(args.schedule.as_ref(), args.seed)?;
    let program = load(&args.program.file, &args.program.settings())?;
    if !args.inputs.is_empty() && program.unknowns().is_empty() {
        let no = "this program asks for no inputs; leave out --inputs";
        return Err(Refusal::Message(no.to_owned()));
    }
    let options = Options {
        inputs: args.inputs.clone(),
        limits: args.limits.limits(),
        deterministic: false,
        jobs: 1,
        ..Options::default()
    };
    let mut watcher = Watcher::new(options.limits.memory, args.output.quiet)?;
    let record = program.run(&plan, &options, &mut |progress| watcher.look(progress));
    watcher.finish();
    let mut record = record.map_err(|error| error.to_string())?;
    if args.path {
        let path = program.path(&record.run, &options);
        record.path = Some(path.map_err(|error| format!("--path: {error}"))?);
    }
    let view = view(&options.limits);
    let exit = Exit::from(record.record.verdict);
    let format = match args.output.format {
        RunPicture::Text => Format::Text,
        RunPicture::Json => Format::Json,
        RunPicture::Chart => {
            let chart = mazurka_report::chart(&record.run).ok_or_else(no_chart)?;
            return Ok(output::print_raw(&chart, exit));
        }
        RunPicture::Svg => {
            let chart = mazurka_report::chart_svg(&record.record, &record.run);
            return Ok(output::print_raw(&chart.ok_or_else(no_chart)?, exit));
        }
    };
    let output = OutputArgs {
        format,
        quiet: args.output.quiet,
    };
    show(&record, &output, &record.record, || {
        let one = OneRun {
            run: &record.run,
            seed: record.seed,
            ready: &record.ready,
            path: record.path.as_ref(),
        };
        mazurka_report::run(&record.record, one, &view)
    })
}

fn no_chart() -> Refusal {
    let text = "a chart shows the messages of an ABS program, in a run of at least one step";
    Refusal::Message(text.to_owned())
}
