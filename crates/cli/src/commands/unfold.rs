//! The command `unfold`: builds a net from a few executions, and shows or draws it.

use std::path::PathBuf;

use clap::Args;
use mazurka::record::Record;
use mazurka::replay::Recording;
use mazurka::search::TestSink;
use mazurka::unfold::{NetKind, Unfold, UnfoldRecord, WalkStates};
use mazurka::{Options, Program};
use mazurka_report::{Figure, View};

use super::explore::{ABOUT_FORMATS, FORMATS};
use super::{Refusal, into_folder, jobs, view};
use crate::args::{EXIT_CODES, OutputArgs, SearchArgs, net};
use crate::exit::Exit;
use crate::program::ProgramArgs;
use crate::show::{Format, HTML, Offer, Shown, offer, page, plain, show};
use crate::watch::watched;
use crate::{files, values};

/// The formats that the page offers.
const PAGE: [Offer; 1] = [HTML];

/// Build a net of all executions from a few of them
#[derive(Debug, Args)]
#[command(after_help = format!("Examples:
  mazurka unfold readers.maz --set N=10
  mazurka unfold readers.maz --net replicated --format json
  mazurka unfold readers.maz --set N=2 --format svg > net.svg

The tests cover every failure of every process; deadlocks are found in the net, even if no test has
reached them. The tests do not reach all final states: `ensures` and determinism are for `check`.
{EXIT_CODES}"))]
#[command(mut_args(|flag| offer(flag, ABOUT_FORMATS, &[&FORMATS[..], &PAGE].concat())))]
pub(crate) struct UnfoldArgs {
    #[command(flatten)]
    program: ProgramArgs,
    /// The net
    #[arg(long, value_parser = net(), default_value_t = NetKind::Contextual)]
    net: NetKind,
    /// With --net stateful: explore the states of its model one after the other instead, for
    /// comparison
    #[arg(long)]
    naive: bool,
    /// With --naive: use sleep sets, which save steps between states but no states
    #[arg(long, requires = "naive")]
    sleep: bool,
    /// With --net stateful: show the model, the Petri net that the net is an unfolding of
    #[arg(long, conflicts_with_all = ["naive", "tests"])]
    model: bool,
    /// Choose the tests at random, with this seed; the net does not depend on it
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Write each test into this folder, for `mazurka replay`
    #[arg(long, value_name = "DIR")]
    tests: Option<PathBuf>,
    /// Start from these recorded runs of the program (records of `run`, or of --tests), and run
    /// only tests that cover more
    #[arg(long, value_name = "RECORD", num_args = 1.., conflicts_with_all = ["naive", "model", "tests"])]
    from: Vec<String>,
    /// Workers that build the net in parallel [default: one for each core]; they do not change the
    /// result. Small nets, and nets of actors and of programs with inputs, are built by one worker
    #[arg(long, short, value_name = "N", value_parser = values::count)]
    jobs: Option<u64>,
    #[command(flatten)]
    refused: RefusedArgs,
    #[command(flatten)]
    search: SearchArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// Flags for future work of the thesis that is not implemented. They are refused, with the reason.
#[derive(Debug, Args)]
struct RefusedArgs {
    /// Cut-offs in a net that has none
    #[arg(long, hide = true)]
    cut_offs: bool,
    /// Places that keep values
    #[arg(long, hide = true)]
    keep_values: bool,
}

impl RefusedArgs {
    /// Fails with the reason if one of these flags was given.
    fn why(&self, net: NetKind) -> Result<(), String> {
        let why = if self.cut_offs && net == NetKind::Contextual {
            "--cut-offs: contextual nets have none. An event of such a net has several pasts, because a reader may come before it or not, and a cut-off would have to be found for each past; `--net stateful` has cut-offs, and copies of places instead of pasts"
        } else if self.cut_offs && net == NetKind::Replicated {
            "--cut-offs: replicated nets have none, because their places do not identify states; `--net stateful` has cut-offs"
        } else if self.keep_values {
            "--keep-values: places have no values. The next steps of a process are known only from tests, by the steps that it has made, because a program need not show its locals. So equal writes do not merge; `explore --algorithm stateful` merges equal states"
        } else {
            return Ok(());
        };
        Err(format!(
            "{why} (docs/papers/unfolding.md, \"Future work of the thesis\")"
        ))
    }
}

impl UnfoldArgs {
    fn wanted(&self) -> Unfold {
        Unfold {
            kind: self.net,
            seed: self.seed,
        }
    }
}

/// Unfolds a program, and shows the result.
pub(super) fn unfold(args: &UnfoldArgs) -> Result<Exit, Refusal> {
    args.refused.why(args.net)?;
    let program = args.program.load()?;
    let options = args.search.options(jobs(args.jobs))?;
    let wanted = args.wanted();
    let format = args.output.format;
    let picture = format.is_drawing()
        || format == Format::Html && !args.naive && args.tests.is_none() && args.from.is_empty();
    if args.tests.is_some() && (args.naive || picture) {
        let refusal = "--tests is for nets and --format text or json";
        return Err(Refusal::Message(refusal.to_owned()));
    }
    if args.naive && (args.net != NetKind::Stateful || picture) {
        let refusal = "--naive is for --net stateful, and draws nothing: it builds no net";
        return Err(Refusal::Message(refusal.to_owned()));
    }
    if args.model && args.net != NetKind::Stateful {
        let refusal = "--model is for --net stateful: the other nets have no model";
        return Err(Refusal::Message(refusal.to_owned()));
    }
    if picture && !args.from.is_empty() {
        let refusal = "--from is for --format text and json: the net is the same whatever it starts from, so draw it without --from";
        return Err(Refusal::Message(refusal.to_owned()));
    }
    if picture || args.model {
        return draw(args, &program, &options);
    }
    let recorded = recorded(&args.from)?;
    let unfolded = watched(&options.limits, args.output.quiet, |watch| {
        let unfolded = match &args.tests {
            _ if args.naive => {
                let (seed, sleep) = (args.seed, args.sleep);
                program.walk_states(WalkStates { seed, sleep }, &options, watch)
            }
            _ if !recorded.is_empty() => {
                let unfolded = program.unfold_from(wanted, &recorded, &options, watch);
                return unfolded.map_err(|error| format!("--from: {error}"));
            }
            None => program.unfold(wanted, &options, watch),
            Some(folder) => {
                let tests =
                    |sink: TestSink<'_>| program.unfold_tests(wanted, &options, watch, sink);
                into_folder(folder, tests).0
            }
        };
        unfolded.map_err(|error| error.to_string())
    })?;
    let whole = unfolded?;
    let (record, view) = (&whole.record, view(&options.limits));
    show(&whole, record.verdict.into(), &args.output, |format| {
        let view = match format {
            Format::Html => plain(view),
            _ => view,
        };
        let text = answer(&whole, &view);
        match format {
            Format::Html => page(&whole, record, &evidence(&whole.record, text, &program)),
            _ => Ok(text),
        }
    })
}

/// Returns the answer as text.
pub(super) fn answer(whole: &UnfoldRecord, view: &View) -> String {
    let record = &whole.record;
    match whole.states {
        Some(states) => mazurka_report::states_table(record, whole.tests, states, view),
        None => mazurka_report::net_table(record, &whole.net, whole.tests, whole.conditions, view),
    }
}

/// Reads recorded runs.
fn recorded(names: &[String]) -> Result<Vec<Recording>, String> {
    let read = |name: &String| {
        let parsed = Recording::parse(&files::record(name)?);
        parsed.map_err(|error| format!("`{name}`: {error}"))
    };
    names.iter().map(read).collect()
}

/// Returns the contents of a page about a net, except the picture of the net.
fn evidence<'a>(record: &Record, text: String, program: &'a Program) -> Shown<'a> {
    Shown {
        text,
        figures: mazurka_report::evidence_figures(record),
        program: Some(program),
        ..Shown::default()
    }
}

/// Draws the net, or shows its model as a list or a picture.
fn draw(args: &UnfoldArgs, program: &Program, options: &Options) -> Result<Exit, Refusal> {
    let drawn = watched(&options.limits, args.output.quiet, |watch| {
        if args.model {
            program.unfold_model(args.seed, options, watch)
        } else {
            program.unfold_net(args.wanted(), options, watch)
        }
    })?;
    let (whole, net) = drawn.map_err(|error| error.to_string())?;
    let draw = match args.output.format {
        Format::Dot => mazurka_report::net_dot,
        _ => mazurka_report::net_svg,
    };
    let what = if args.model {
        "model of the stateful"
    } else {
        &whole.net
    };
    show(
        &whole,
        whole.record.verdict.into(),
        &args.output,
        |format| {
            if format == Format::Html {
                let view = plain(view(&options.limits));
                let (record, counts) = (&whole.record, (whole.tests, whole.conditions));
                let text = if args.model {
                    mazurka_report::model_table(record, whole.tests, &net)
                } else {
                    mazurka_report::net_table(record, &whole.net, counts.0, counts.1, &view)
                };
                let mut shown = evidence(record, text, program);
                let drawn = draw(record, what, whole.tests, &net);
                shown
                    .figures
                    .push(Figure::new(format!("the {what} net"), drawn));
                return page(&whole, record, &shown);
            }
            Ok(if format.is_drawing() {
                draw(&whole.record, what, whole.tests, &net)
            } else {
                mazurka_report::model_table(&whole.record, whole.tests, &net)
            })
        },
    )
}
