//! The command `explore`: explores the whole search space with one engine. This file also saves and
//! resumes checkpoints, writes tests, and makes the profile and the pictures.

#[cfg(all(feature = "cluster", not(target_family = "wasm")))]
mod clustered;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use mazurka::checkpoint::Checkpoint;
use mazurka::record::Record;
use mazurka::search::{Fairness, Kinds, Merging, Saving, TestCoverage, TestSink, Variant};
use mazurka::weak::Memory;
use mazurka::{Algorithm, Bound, Options, Program, Verdict};
use mazurka_report::Figure;

use super::check_certificate::certify;
use super::sample::SamplingArgs;
use super::{Refusal, into_folder, jobs, view};
use crate::args::{EXIT_CODES, FairnessArgs, MemoryArgs, OutputArgs, SearchArgs, algorithm};
use crate::diagnose::WarningArgs;
use crate::exit::Exit;
use crate::native::NativeArgs;
use crate::program::ProgramArgs;
use crate::show::{
    EXCHANGE, Format, HTML, JSON, Offer, Shown, TEXT, exchanged, offer, page, plain, show,
};
use crate::watch::{self, watched};
use crate::{files, output, values};

/// The formats of pictures of a tree or a net.
pub(super) const FORMATS: [Offer; 4] = [
    TEXT,
    JSON,
    (
        Format::Dot,
        "The tree, the states or the net of a small program, for Graphviz",
    ),
    (
        Format::Svg,
        "The tree, the states or the net of a small program, for a browser",
    ),
];

/// The help for these formats.
pub(super) const ABOUT_FORMATS: &str = "Text for people, the record for programs, or a picture of a small program's tree, states or net";

/// The help for commands that also offer the formats of other tools.
const ABOUT_ALL_FORMATS: &str = "Text for people, the record for programs, a picture of a small program's tree, states or net, or a format of other tools (docs/exchange.md)";

/// Explore the whole search space with one engine, and count
#[derive(Debug, Args)]
#[command(after_help = format!("Examples:
  mazurka explore readers.maz --set N=10
  mazurka explore readers.maz --algorithm naive --set N=3
  mazurka explore readers.maz --algorithm stateful --format json
  mazurka explore buffer.maz --algorithm context --no-guide
  mazurka explore huge.maz --algorithm pos --seed 7 --max-executions 5000
  mazurka explore readers.maz --set N=2 --format svg > readers.svg
  mazurka explore readers.maz --algorithm stateful --format svg > states.svg
  mazurka explore large.maz --checkpoint later.json --time-limit 1h
  mazurka explore large.maz --resume later.json
  mazurka explore parser.maz --tests cases; mazurka replay cases/1.json
  mazurka explore slow.maz --profile

{EXIT_CODES}
A failure or a deadlock that was found is exit code 1; different final states are not."))]
#[command(mut_arg("nondet", |flag| flag.visible_alias("inputs")))]
#[command(mut_args(|flag| offer(flag, ABOUT_ALL_FORMATS, &[&FORMATS[..], &[HTML], &EXCHANGE].concat())))]
pub(crate) struct ExploreArgs {
    #[command(flatten)]
    program: ProgramArgs,
    #[command(flatten)]
    native: NativeArgs,
    /// The engine
    #[arg(long, value_parser = algorithm(Algorithm::ALL.iter().chain(Algorithm::SAMPLING)), default_value_t = Algorithm::Optimal)]
    algorithm: Algorithm,
    #[command(flatten)]
    context: ContextArgs,
    /// With --algorithm dpor: use no sleep sets, so that a trace may be explored several times;
    /// uses one worker
    #[arg(long)]
    no_sleep: bool,
    #[command(flatten)]
    stateful: StatefulArgs,
    #[command(
        flatten,
        next_help_heading = "To draw executions (--max-executions: how many)"
    )]
    sampling: SamplingArgs,
    /// Workers that explore in parallel [default: one for each core]; they do not change the
    /// result. `context` uses one worker, and so does `stateful` when it searches for cycles
    #[arg(long, short, value_name = "N", value_parser = values::count)]
    jobs: Option<u64>,
    /// Save a checkpoint here if Ctrl-C or a limit stops the search, and at intervals before that
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// How often to save a checkpoint during the search, if there is something new
    #[arg(long, value_name = "TIME", value_parser = values::time, default_value = "1m")]
    checkpoint_every: Duration,
    /// Continue from a checkpoint of the same program and options; it is updated if the search is
    /// stopped again
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// Write every explored execution into this folder, with its inputs, for `mazurka replay`
    #[arg(long, value_name = "DIR")]
    tests: Option<PathBuf>,
    /// If nothing is violated, save evidence here for `mazurka check-certificate`; this needs a
    /// second search
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// Show which races the executions come from, by the source lines of their steps; for optimal,
    /// source and dpor, with one worker
    #[arg(long, conflicts_with_all = ["checkpoint", "resume", "tests"])]
    profile: bool,
    #[cfg(all(feature = "cluster", not(target_family = "wasm")))]
    #[command(flatten)]
    cluster: clustered::SharingArgs,
    #[command(flatten)]
    fairness: FairnessArgs,
    #[command(flatten)]
    memory: MemoryArgs,
    #[command(flatten)]
    search: SearchArgs,
    #[command(flatten)]
    warnings: WarningArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// The switches of the engine `context`.
#[derive(Debug, Args)]
#[command(next_help_heading = "With --algorithm context")]
struct ContextArgs {
    /// Do not cut a run before the last step of a sleep sequence
    #[arg(long)]
    no_anticipate: bool,
    /// Do not prefer the steps of short sleep sequences
    #[arg(long)]
    no_guide: bool,
    /// Use the wakeup trees of optimal instead of the source sets of source
    #[arg(long, conflicts_with = "paper")]
    wakeup: bool,
    /// Follow the paper exactly, which loses states: the verdict is never `verified`
    #[arg(long)]
    paper: bool,
}

/// How states are merged.
#[derive(Debug, Args)]
#[command(next_help_heading = "With --algorithm stateful")]
struct StatefulArgs {
    /// Run every process from every state, even where a stubborn set is enough
    #[arg(long)]
    no_reduction: bool,
    /// Treat states that differ only in the places of interchangeable processes as different
    #[arg(long)]
    no_symmetry: bool,
    /// Keep states as bits in this much memory (512M, 2G), for searches that do not fit otherwise:
    /// states may be missed, so the verdict is never `verified`
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    bitstate: Option<u64>,
}

impl ExploreArgs {
    /// Refuses flags that the search through execution graphs, which a weak memory model needs,
    /// does not support.
    fn refuse_under_a_weak_model(&self) -> Result<(), Refusal> {
        let weak = self.memory.memory.filter(|&memory| memory != Memory::Sc);
        let Some(memory) = weak else {
            return Ok(());
        };
        let offered = self.algorithm == Algorithm::Optimal || self.algorithm.sample().is_some();
        let others = [
            (!offered, "--algorithm"),
            (self.checkpoint.is_some(), "--checkpoint"),
            (self.resume.is_some(), "--resume"),
            (self.tests.is_some(), "--tests"),
            (self.output.format.is_drawing(), "pictures"),
        ];
        match others.iter().find(|(asked, _)| *asked) {
            Some((_, what)) => Err(Refusal::Message(format!(
                "under --memory {memory} execution graphs are explored, by one engine and without {what}; leave one of them out"
            ))),
            None => Ok(()),
        }
    }

    /// Refuses flags that are not supported for native code.
    fn refuse_of_native(&self) -> Result<(), Refusal> {
        let others = [
            (self.checkpoint.is_some(), "--checkpoint"),
            (self.resume.is_some(), "--resume"),
            (self.tests.is_some(), "--tests"),
            (self.profile, "--profile"),
            (self.output.format.is_drawing(), "--format dot and svg"),
        ];
        match others.iter().find(|(asked, _)| *asked) {
            Some((_, what)) => Err(Refusal::Message(format!(
                "programs in C and C++ are explored without {what}"
            ))),
            None => Ok(()),
        }
    }

    /// Returns the engine with its switches. Fails if a switch does not belong to the engine.
    fn algorithm(&self) -> Result<Algorithm, String> {
        let ContextArgs {
            no_anticipate,
            no_guide,
            wakeup,
            paper,
        } = self.context;
        let engine = self.algorithm;
        if !matches!(engine, Algorithm::Context(_))
            && (no_anticipate || no_guide || wakeup || paper)
        {
            return Err(format!(
                "--no-anticipate, --no-guide, --wakeup and --paper are for --algorithm context, not {engine}"
            ));
        }
        if engine != Algorithm::Dpor && self.no_sleep {
            return Err(format!(
                "--no-sleep is for --algorithm dpor, not {engine}: other engines need their sleep sets, or have no sleep sets"
            ));
        }
        let StatefulArgs {
            no_reduction,
            no_symmetry,
            bitstate,
        } = self.stateful;
        let changed = no_reduction || no_symmetry || bitstate.is_some();
        if engine != Algorithm::Stateful && changed {
            return Err(format!(
                "--no-reduction, --no-symmetry and --bitstate are for --algorithm stateful, not {engine}"
            ));
        }
        if engine != Algorithm::Stateful && self.fairness.fairness != Fairness::Weak {
            return Err(format!(
                "--fairness is for --algorithm stateful, which examines infinite runs, not {engine}"
            ));
        }
        let engine = self.sampling.applied("--algorithm", engine)?;
        Ok(match engine {
            Algorithm::Dpor if self.no_sleep => Algorithm::DporAwake,
            Algorithm::Stateful if changed => Algorithm::StatefulAs(Merging {
                reduced: !no_reduction,
                symmetric: !no_symmetry,
                bits: bitstate,
            }),
            Algorithm::Context(best) => Algorithm::Context(Variant {
                anticipate: !no_anticipate,
                guide: !no_guide,
                paper,
                wakeup,
                ..best
            }),
            other => other,
        })
    }
}

/// A finished exploration, and the additional data to print.
struct Explored {
    record: Record,
    message: Option<String>,
}

/// Explores the whole space, and counts.
pub(super) fn explore(args: &ExploreArgs) -> Result<Exit, Refusal> {
    let algorithm = args.algorithm()?;
    #[cfg(all(feature = "cluster", not(target_family = "wasm")))]
    if let Some(server) = &args.cluster.cluster {
        return clustered::explore(args, server, algorithm);
    }
    let program = args.program.load_any(&args.native, true)?;
    let mut options = args.search.options(jobs(args.jobs))?;
    options.cover = true;
    options.fairness = args.fairness.fairness;
    options.memory = args.memory.memory;
    args.refuse_under_a_weak_model()?;
    if program.is_native() {
        args.refuse_of_native()?;
    }
    if args.output.format.is_drawing() {
        return draw(args, &program, algorithm, &options);
    }
    let save = args.checkpoint.as_ref().or(args.resume.as_ref());
    // In a browser there are no files, and the page does not offer these flags.
    let (save, tests_folder) = if cfg!(target_family = "wasm") {
        (None, None)
    } else {
        (save, args.tests.as_ref())
    };
    let Explored {
        mut record,
        message,
    } = match (save, tests_folder) {
        (Some(_), Some(_)) => {
            let refusal =
                "tests are written by a whole exploration; leave out --checkpoint and --resume";
            return Err(Refusal::Message(refusal.to_owned()));
        }
        (None, Some(folder)) => explore_tests(args, folder, &program, algorithm, &options)?,
        (Some(path), None) => explore_with_checkpoints(args, path, &program, algorithm, &options)?,
        (None, None) => Explored {
            record: explore_without_checkpoints(args, &program, algorithm, &options)?,
            message: None,
        },
    };
    watch::add_memory(&mut record);
    let exit = show(&record, record.verdict.into(), &args.output, |format| {
        if format == Format::Html {
            let mut figures = mazurka_report::evidence_figures(&record);
            let (figure, more) = explored_figure(args, (&program, &record), algorithm, &options)?;
            figures.extend(figure);
            let shown = Shown {
                text: mazurka_report::table(&record, &plain(view(&options.limits))),
                figures,
                more,
                program: Some(&program),
            };
            return page(&record, &record, &shown);
        }
        Ok(exchanged(&record, format)
            .unwrap_or_else(|| mazurka_report::table(&record, &view(&options.limits))))
    })?;
    let exit = args.warnings.show(&program, &record, exit, &args.output);
    if !args.output.quiet {
        message.iter().for_each(|message| output::complain(message));
        let resumes = algorithm.stateless().is_some() && record.memory_model.is_none();
        if save.is_none() && resumes && was_limited(&record) {
            output::complain(
                "to be able to continue a search that was stopped, start it with --checkpoint FILE",
            );
        }
    }
    match &args.certificate {
        Some(path) => {
            // In `explore` different results are no violation, so the certificate is about the
            // other kinds.
            options.counted = Some(program.counted(&options).and(Kinds::FAULTS));
            certify(&program, (&record, path), &options, exit)
        }
        None => Ok(exit),
    }
}

/// Explores without checkpoints, and makes the profile if it is requested.
fn explore_without_checkpoints(
    args: &ExploreArgs,
    program: &Program,
    algorithm: Algorithm,
    options: &Options,
) -> Result<Record, Refusal> {
    let record = watched(&options.limits, args.output.quiet, |watch| {
        if args.profile {
            program
                .explore_profile(algorithm, options, watch)
                .map_err(|error| format!("--profile: {error}"))
        } else {
            program
                .explore(algorithm, options, watch)
                .map_err(|error| error.to_string())
        }
    })?;
    Ok(record?)
}

/// Reads a checkpoint.
fn checkpoint(path: &Path) -> Result<Checkpoint, String> {
    let name = path.display().to_string();
    let checkpoint = Checkpoint::parse(&files::checkpoint(&name)?);
    checkpoint.map_err(|error| format!("`{name}`: {error}"))
}

/// Explores, from a checkpoint if there is one, and saves checkpoints. Also returns a sentence that
/// says how to continue.
fn explore_with_checkpoints(
    args: &ExploreArgs,
    path: &Path,
    program: &Program,
    algorithm: Algorithm,
    options: &Options,
) -> Result<Explored, Refusal> {
    let resumed = args.resume.as_deref().map(checkpoint).transpose()?;
    let mut writer = CheckpointWriter::default();
    let saving = Saving {
        from: resumed.as_ref(),
        every: args.checkpoint_every,
        save: &mut |checkpoint: Checkpoint| writer.save(path, &checkpoint),
    };
    let explored = watched(&options.limits, args.output.quiet, |watch| {
        program.explore_saving(saving, algorithm, options, watch)
    })?;
    let (record, checkpoint) = explored.map_err(|error| error.to_string())?;
    let message = match checkpoint {
        Some(checkpoint) => {
            let saved = files::save("the checkpoint", path, &checkpoint_text(&checkpoint)?);
            let path = mazurka_report::quote(&path.display().to_string());
            let advice = if checkpoint.is_further_than(resumed.as_ref()) {
                format!("to continue, run it again with --resume {path}")
            } else {
                format!(
                    "no part of the search was finished, so nothing new is saved: continue with --resume {path} and a larger limit"
                )
            };
            saved.then_some(advice)
        }
        // A finished search needs no checkpoint.
        None if writer.saved && args.resume.is_none() => {
            files::remove(path);
            None
        }
        None => None,
    };
    Ok(Explored { record, message })
}

/// Saves checkpoints during the search.
#[derive(Default)]
struct CheckpointWriter {
    /// Whether a checkpoint was saved.
    saved: bool,
    /// Whether the user has seen a message that a checkpoint could not be saved.
    warned: bool,
}

impl CheckpointWriter {
    /// Saves a checkpoint. If this fails, a later attempt may succeed. So only a failure of the
    /// last attempt is reported after the result. The first failure is also reported immediately,
    /// because the search may take days.
    fn save(&mut self, path: &Path, checkpoint: &Checkpoint) {
        let saved = checkpoint_text(checkpoint)
            .and_then(|text| files::save_for_now("the checkpoint", path, &text));
        match saved {
            Ok(()) => self.saved = true,
            Err(problem) if !self.warned => {
                self.warned = true;
                output::complain(&format!("{problem} (the search continues)"));
            }
            Err(_) => {}
        }
    }
}

fn checkpoint_text(checkpoint: &Checkpoint) -> Result<String, String> {
    let text = checkpoint.text();
    text.map_err(|error| format!("cannot write the checkpoint: {error}"))
}

/// Explores, and writes each execution into the folder. Returns the coverage of the executions, if
/// all were written.
fn explore_tests(
    args: &ExploreArgs,
    folder: &Path,
    program: &Program,
    algorithm: Algorithm,
    options: &Options,
) -> Result<Explored, Refusal> {
    let (explored, whole) = watched(&options.limits, args.output.quiet, |watch| {
        into_folder(folder, |sink: TestSink<'_>| {
            program.explore_tests(algorithm, options, watch, sink)
        })
    })?;
    let (record, TestCoverage { tests, coverage }) = explored.map_err(|error| error.to_string())?;
    let covered = || mazurka_report::coverage(tests, &coverage, &folder.display().to_string());
    Ok(Explored {
        message: whole.then(covered),
        record,
    })
}

/// Draws the tree. One worker explores, so that the picture is always the same.
fn draw(
    args: &ExploreArgs,
    program: &Program,
    algorithm: Algorithm,
    options: &Options,
) -> Result<Exit, Refusal> {
    let merges = algorithm.merging().is_some();
    if !program.unknowns().is_empty() && merges {
        let refusal = "a program with inputs or without initial values has no state graph: its states have values for all inputs at once; --algorithm naive draws the tree";
        return Err(Refusal::Message(refusal.to_owned()));
    }
    let besides = args.checkpoint.is_some() || args.resume.is_some() || args.tests.is_some();
    if besides || args.profile {
        let refusal = "a picture shows a whole exploration; --checkpoint, --resume, --tests and --profile are for --format text and json";
        return Err(Refusal::Message(refusal.to_owned()));
    }
    if merges {
        return draw_states(args, program, options);
    }
    let drawn = watched(&options.limits, args.output.quiet, |watch| {
        program.explore_tree(algorithm, options, watch)
    })?;
    let (record, tree) = drawn.map_err(|error| error.to_string())?;
    say_what_is_open(&record, options);
    show(&record, record.verdict.into(), &args.output, |format| {
        Ok(match format {
            Format::Dot => mazurka_report::dot(&record, &tree),
            _ => mazurka_report::svg(&record, &tree),
        })
    })
}

/// Reports why a search that made a picture is inconclusive, because the picture does not show
/// this.
fn say_what_is_open(record: &Record, options: &Options) {
    if record.verdict == Verdict::Inconclusive {
        let view = plain(view(&options.limits));
        output::complain(mazurka_report::verdict(record, &view).trim_end());
    }
}

/// Draws the state graph.
fn draw_states(args: &ExploreArgs, program: &Program, options: &Options) -> Result<Exit, Refusal> {
    let (record, graph) = watched(&options.limits, args.output.quiet, |watch| {
        program.explore_states(options, watch)
    })?;
    if let Some(left_out) = mazurka_report::states_left_out(&record, &graph) {
        output::complain(&format!("the picture is not complete: {left_out}"));
    }
    say_what_is_open(&record, options);
    show(&record, record.verdict.into(), &args.output, |format| {
        Ok(match format {
            Format::Dot => mazurka_report::states_dot(&record, &graph),
            _ => mazurka_report::states_svg(&record, &graph),
        })
    })
}

/// Returns the tree or the state graph for a page, if the exploration has one: a small one as a
/// picture, a larger tree as a list that folds.
fn explored_figure(
    args: &ExploreArgs,
    (program, record): (&Program, &Record),
    algorithm: Algorithm,
    options: &Options,
) -> Result<(Option<Figure>, String), Refusal> {
    let merges = algorithm.merging().is_some();
    let unknown = !program.unknowns().is_empty() && merges;
    let weak = record.memory_model.is_some();
    if program.is_native() || weak || unknown || !record.scope.exhaustive {
        return Ok((None, String::new()));
    }
    if merges {
        let (drawn, graph) = watched(&options.limits, args.output.quiet, |watch| {
            program.explore_states(options, watch)
        })?;
        let left_out = mazurka_report::states_left_out(&drawn, &graph);
        let title = left_out.map_or("the states".to_owned(), |some| {
            format!("the states; {some}")
        });
        let svg = mazurka_report::states_svg(&drawn, &graph);
        return Ok((Some(Figure::new(title, svg)), String::new()));
    }
    let drawn = watched(&options.limits, args.output.quiet, |watch| {
        program.explore_tree(algorithm, options, watch)
    })?;
    if let Ok((record, tree)) = drawn {
        let svg = mazurka_report::svg(&record, &tree);
        let figure = Figure::new("the tree that the search has explored", svg);
        return Ok((Some(figure), String::new()));
    }
    let listed = watched(&options.limits, args.output.quiet, |watch| {
        program.explore_outline(algorithm, options, watch)
    })?;
    // If the tree is too large even for a list, the text has only its counts.
    let list = listed.map(|(_, tree)| mazurka_report::outline_html(&tree));
    Ok((None, list.unwrap_or_default()))
}

/// Whether the search has hit a limit on its work, such as time, so that a larger limit may find
/// more.
fn was_limited(record: &Record) -> bool {
    record.scope.bounds.iter().any(|bound| match bound {
        Bound::MaxSteps(_) | Bound::MaxExecutions(_) => true,
        Bound::TimeLimit(_) | Bound::MemoryLimit(_) | Bound::Interrupted => true,
        Bound::MaxDepth(_)
        | Bound::MaxLocal(_)
        | Bound::MaxMessages(_)
        | Bound::IntRange
        | Bound::IntWithin(_)
        | Bound::Undecided
        | Bound::FinalStates
        | Bound::AsPrinted
        | Bound::Sampled(_)
        | Bound::Temporal
        | Bound::Covers
        | Bound::Refinement
        | Bound::Times
        | Bound::Bitstate(_)
        | Bound::DataRaces
        | Bound::Unfold(_) => false,
    })
}
