//! The command `run`: runs one execution, and shows its steps, its path condition or its normal
//! form.

use clap::Args;
use mazurka::run::Plan;
use mazurka::traces::ReplayError;
use mazurka_report::{Lanes, OneRun};

use super::{Refusal, plan, view};
use crate::args::{EXIT_CODES, LimitArgs, MemoryArgs, OutputArgs};
use crate::exit::Exit;
use crate::native::NativeArgs;
use crate::program::ProgramArgs;
use crate::property::PropertyArgs;
use crate::show::{
    ABOUT_LANES, Format, HTML, JSON, LANES_DOT, Offer, Shown, TEXT, lanes, offer, page, plain, show,
};
use crate::values;
use crate::watch::watched;

const FORMATS: [Offer; 7] = [
    TEXT,
    JSON,
    HTML,
    LANES_DOT,
    (
        Format::Svg,
        "The same for a browser; of an ABS program its messages, as a sequence chart",
    ),
    (
        Format::Chart,
        "The message sequence chart of an ABS program, as text",
    ),
    (
        Format::Itf,
        "The states of the run, as a trace for Apalache and Quint",
    ),
];

/// Run one execution and show its steps
#[derive(Debug, Args)]
#[command(after_help = format!("Examples:
  mazurka run counter.maz
  mazurka run counter.maz --seed 7
  mazurka run counter.maz --schedule \"0 0 1 1\"
  mazurka run philosophers.maz --schedule \"philosopher(2) philosopher(0)\"
  mazurka run dice.maz --schedule \"0=3 0.1=6\"
  mazurka run counter.maz --format svg > run.svg
  mazurka run buffer.abs --format chart
  mazurka run buffer.abs --format svg > chart.svg
  mazurka run parity.maz --inputs 0#0=7 1#0=-2
  mazurka run example5.maz --schedule \"0 0 0.0 0.1\" --path

A schedule is a list of processes, one per step, by number or by name. 0.1 is the second child of
process 0. philosopher(2) or philosopher.2 is instance 2 of `process philosopher (p in 0..N)`.
0.1=2 lets the `choose` of process 0.1 give 2. An input is named by process and order: 0.1#0 is the
first input of process 0.1. Inputs that are not given are 0. A seed always names the same run.
The exit code is about this run.
{EXIT_CODES}"))]
#[command(mut_args(|flag| offer(
    flag,
    ABOUT_LANES,
    &FORMATS,
)))]
pub(crate) struct RunArgs {
    #[command(flatten)]
    program: ProgramArgs,
    #[command(flatten)]
    native: NativeArgs,
    /// The process of each step, such as "0 0 0.1=2 1"
    #[arg(long, value_name = "SCHEDULE", conflicts_with = "seed")]
    schedule: Option<String>,
    /// Choose the steps at random, with this seed
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = values::seed, allow_negative_numbers = true)]
    seed: u64,
    /// The values of inputs, by process and order (or initial values, by variable) [default: 0]
    #[arg(long, value_name = "INPUT=VALUE", num_args = 1.., value_parser = values::input)]
    inputs: Vec<(String, i128)>,
    /// Also show for which other initial values the run would be the same, and where it could have
    /// taken another path
    #[arg(long)]
    path: bool,
    /// Show the events of the run: what each step writes and reads, ι⟨W, R⟩
    #[arg(long)]
    events: bool,
    /// Tell whether this run is equivalent to the run of this schedule, or which dependent steps
    /// are in another order
    #[arg(long, value_name = "SCHEDULE")]
    equivalent: Option<String>,
    /// Run the normal form: the least of all equivalent runs
    #[arg(long)]
    canonical: bool,
    /// Print the run as a program of one process: its labels, one after the other
    #[arg(long, conflicts_with_all = ["path", "events", "equivalent"])]
    linearise: bool,
    #[command(flatten)]
    property: PropertyArgs,
    #[command(flatten)]
    memory: MemoryArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// Runs one execution, and shows its steps.
pub(super) fn run(args: &RunArgs) -> Result<Exit, Refusal> {
    let program = args.program.load_any(&args.native, false)?;
    let plan = plan(&program, args.schedule.as_ref(), args.seed)?;
    if !args.inputs.is_empty() && program.unknowns().is_empty() {
        let refusal = "this program asks for no inputs; leave out --inputs";
        return Err(Refusal::Message(refusal.to_owned()));
    }
    let mut options = args.limits.options(1);
    options.inputs.clone_from(&args.inputs);
    args.property.apply(&program, &mut options)?;
    options.memory = args.memory.memory;
    let interleaving_flags = [
        (args.path, "--path"),
        (args.events, "--events"),
        (args.equivalent.is_some(), "--equivalent"),
        (args.canonical, "--canonical"),
        (args.linearise, "--linearise"),
    ];
    if let (Some((_, flag)), true) = (
        interleaving_flags
            .iter()
            .find(|(interleaving_flags, _)| *interleaving_flags),
        options.memory.is_some(),
    ) {
        let refusal = format!("{flag} describes interleavings: leave out --memory");
        return Err(Refusal::Message(refusal));
    }
    if let (Some((_, flag)), true) = (
        interleaving_flags
            .iter()
            .find(|(interleaving_flags, _)| *interleaving_flags),
        program.is_native(),
    ) {
        let refusal = format!("{flag} is not for programs in C and C++");
        return Err(Refusal::Message(refusal));
    }
    let run = |plan: &Plan| {
        let done = watched(&options.limits, args.output.quiet, |watch| {
            program.run(plan, &options, watch)
        })?;
        done.map_err(|error| Refusal::Message(error.to_string()))
    };
    let mut whole = run(&plan)?;
    let schedule = |text: &str| {
        let schedule = program.schedule(text);
        schedule.map_err(|error| Refusal::Message(error.to_string()))
    };
    let bad_schedule =
        |error: ReplayError| Refusal::Message(format!("the schedule does not fit: {error}"));
    if args.canonical {
        let recorded = schedule(&whole.run.schedule)?;
        let normal = program
            .canonical(&recorded, &options)
            .map_err(bad_schedule)?;
        whole = run(&Plan::Schedule(normal))?;
    }
    if args.linearise {
        let text = program.linearised(&whole.run);
        whole.linearised = Some(text.map_err(|error| format!("--linearise: {error}"))?);
    }
    if args.events {
        let events = program.path_events(&whole.run, &options);
        whole.events = events.map_err(|error| format!("--events: {error}"))?;
    }
    if let Some(other) = &args.equivalent {
        let (recorded, other) = (schedule(&whole.run.schedule)?, schedule(other)?);
        let compared = program.compare_runs(&recorded, &other, &options);
        whole.compared = Some(compared.map_err(bad_schedule)?);
    }
    if args.path {
        let path = program.path(&whole.run, &options);
        whole.path = Some(path.map_err(|error| format!("--path: {error}"))?);
    }
    let (record, run) = (&whole.record, &whole.run);
    let one = OneRun {
        run,
        seed: whole.seed,
        ready: &whole.ready,
        path: whole.path.as_ref(),
        events: &whole.events,
        compared: whole.compared.as_ref(),
    };
    show(&whole, record.verdict.into(), &args.output, |format| {
        let picture = |format| lanes(&Lanes::of_run(record, one), format);
        Ok(match format {
            Format::Chart => mazurka_report::chart(record, run).ok_or_else(no_chart)?,
            // For actors a chart of messages shows more than lanes.
            Format::Svg => {
                mazurka_report::chart_svg(record, run).unwrap_or_else(|| picture(format))
            }
            Format::Html => {
                let text = mazurka_report::run(record, one, &plain(view(&options.limits)));
                let shown = Shown {
                    text: whole.linearised.clone().unwrap_or(text),
                    figures: vec![mazurka_report::run_figure(record, one)],
                    program: Some(&program),
                    ..Shown::default()
                };
                return page(&whole, record, &shown);
            }
            Format::Dot => picture(format),
            Format::Itf => mazurka_report::itf(&record.program, run, None),
            _ if args.linearise => whole.linearised.clone().unwrap_or_default(),
            _ => mazurka_report::run(record, one, &view(&options.limits)),
        })
    })
}

fn no_chart() -> Refusal {
    let text = "a chart shows the messages of an ABS program, in a run of at least one step";
    Refusal::Message(text.to_owned())
}
