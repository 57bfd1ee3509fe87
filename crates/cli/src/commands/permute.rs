//! The command `permute`: finds the executable permutations of one execution, or of all.

use clap::Args;
use mazurka::Program;
use mazurka::permute::Permuting;
use mazurka::replay::Recording;
use mazurka::run::Plan;

use mazurka_report::Figure;

use super::{Refusal, jobs, plan, view};
use crate::args::{EXIT_CODES, LimitArgs, OutputArgs};
use crate::exit::Exit;
use crate::program::ProgramArgs;
use crate::show::{Format, HTML, JSON, Offer, Shown, TEXT, offer, page, plain, show};
use crate::watch::watched;
use crate::{files, values};

const FORMATS: [Offer; 5] = [
    TEXT,
    JSON,
    HTML,
    (Format::Dot, "The partial order of a class, for Graphviz"),
    (Format::Svg, "The partial order of a class, for a browser"),
];

/// Find the executable permutations of one execution, or of all
#[derive(Debug, Args)]
#[command(after_help = format!("Examples:
  mazurka permute example5.maz --schedule \"0 0 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.0\"
  mazurka permute counter.maz --seed 7
  mazurka permute counter.maz --complete
  mazurka run buffer.abs --format json > run.json; mazurka permute buffer.abs --recorded run.json
  mazurka permute writers.maz --paper
  mazurka permute example5.maz --symbolic-initial
  mazurka permute counter.maz --class 2 --format svg > class.svg

A run is recorded, by a schedule or at random, and all orders of its labels are found in which the program
can execute it, up to equivalence: each is run as a test. Choices are those of the recorded run, so other paths
are not covered; --complete continues from path to path until all are known. If the schedule ends early, the
first ready process continues.
{EXIT_CODES}
A failure or a deadlock that was found is exit code 1; different final states are not."))]
#[command(mut_args(|flag| offer(
    flag,
    "Text for people, the record for programs, or a picture of the partial order of one class",
    &FORMATS,
)))]
pub(crate) struct PermuteArgs {
    #[command(flatten)]
    program: ProgramArgs,
    /// The run to record: the process of each step, such as "0 0 0.1=2 1"
    #[arg(long, value_name = "SCHEDULE", conflicts_with = "seed")]
    schedule: Option<String>,
    /// Permute a recorded run: the run in a record of `run`, or the first witness
    #[arg(long, value_name = "RECORD", conflicts_with_all = ["schedule", "seed"])]
    recorded: Option<String>,
    /// Choose the run to record at random, with this seed
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = values::seed, allow_negative_numbers = true)]
    seed: u64,
    /// Continue with the paths where choices go the other way, until all are known
    #[arg(long)]
    complete: bool,
    /// Also count the classes by the paper's definitions as printed, which count some classes more
    /// than once
    #[arg(long)]
    paper: bool,
    /// Also find the permutations that are executable from other initial values, and from which
    /// values they end differently
    #[arg(long)]
    symbolic_initial: bool,
    /// How many classes, and outcomes, to list
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = values::count)]
    classes: u64,
    /// The class to draw, by its number in the list
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = values::count)]
    class: u64,
    /// Workers that permute in parallel [default: one for each core]; they do not change the
    /// result. With --complete one worker permutes
    #[arg(long, short, value_name = "N", value_parser = values::count)]
    jobs: Option<u64>,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// Returns the run in a record.
fn recorded(program: &Program, file: &str) -> Result<Plan, String> {
    let recording = Recording::parse(&files::record(file)?).map_err(|e| e.to_string())?;
    let schedule = program.recorded_schedule(&recording);
    schedule.map(Plan::Schedule).map_err(|e| e.to_string())
}

/// Finds the executable permutations of one execution, or of all.
pub(super) fn permute(args: &PermuteArgs) -> Result<Exit, Refusal> {
    let program = args.program.load_known()?;
    let wanted = Permuting {
        plan: match &args.recorded {
            Some(record) => recorded(&program, record)?,
            None => plan(&program, args.schedule.as_ref(), args.seed)?,
        },
        complete: args.complete,
        paper: args.paper,
        any_start: args.symbolic_initial,
        listed: usize::try_from(args.classes).unwrap_or(usize::MAX),
    };
    let options = args.limits.options(jobs(args.jobs));
    let permuted = watched(&options.limits, args.output.quiet, |watch| {
        program.permute(&wanted, &options, watch)
    })?;
    let permuted = permuted.map_err(|error| error.to_string())?;
    let record = &permuted.record;
    show(&permuted, record.verdict.into(), &args.output, |format| {
        if !format.is_picture() {
            let view = view(&options.limits);
            return Ok(mazurka_report::permutations(
                record,
                &permuted.permutations,
                &view,
            ));
        }
        let class = usize::try_from(args.class).unwrap_or(usize::MAX);
        let order = program.partial_order(&permuted, class, &options);
        let order = order.map_err(|error| error.to_string())?;
        let title = format!("{}: class {class}", record.program.file);
        if format == Format::Html {
            let drawn = mazurka_report::order_svg(&title, &order);
            let text = plain(view(&options.limits));
            let shown = Shown {
                text: mazurka_report::permutations(record, &permuted.permutations, &text),
                figures: vec![Figure::new(
                    format!("the partial order of class {class}"),
                    drawn,
                )],
                program: Some(&program),
                ..Shown::default()
            };
            return page(&permuted, record, &shown);
        }
        Ok(match format {
            Format::Dot => mazurka_report::order_dot(&title, &order),
            _ => mazurka_report::order_svg(&title, &order),
        })
    })
}
