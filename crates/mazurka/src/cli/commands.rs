//! What each command does.

use std::path::Path;

use clap::CommandFactory;
use mazurka::record::{Record, Tree};
use mazurka::{
    Algorithm, Bound, Checkpoint, Limits, Options, Permuting, Plan, Program, Recording,
    RecordingError, ReplayProblem, Schedule,
};
use mazurka_report::{OneRun, Paint, View};

use super::args::{
    CheckArgs, ClassPicture, Cli, Command, ExploreArgs, Format, OutputArgs, PermuteArgs, Picture,
    ReplayArgs, RunArgs, RunPicture,
};
use super::solver::solver;
use super::watch::Watcher;
use super::{Exit, bench, diagnose, files, output, prove, reach, symbolic, unfold};

/// More workers than this would only get in each other's way.
const MOST_JOBS: u64 = 1024;

/// Does it, and says how it went.
pub(crate) fn run(command: &Command) -> Exit {
    let done = match command {
        Command::Check(args) => check(args),
        Command::Explore(args) => explore(args),
        Command::Unfold(args) => unfold::unfold(args),
        Command::Reach(args) => reach::reach(args),
        Command::Symbolic(args) => symbolic::symbolic(args),
        Command::Run(args) => run_one(args),
        Command::Permute(args) => permute(args),
        Command::Replay(args) => replay(args),
        Command::Prove(args) => prove::prove(args),
        Command::CheckProof(args) => prove::check_proof(args),
        Command::Bench(args) => bench::bench(args).map_err(Refusal::Message),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "mazurka", &mut script);
            let script = String::from_utf8_lossy(&script);
            Ok(output::print_raw(&script, Exit::Verified))
        }
    };
    let exit = done.unwrap_or_else(|refusal| {
        match refusal {
            Refusal::Message(text) => output::complain(&text),
            Refusal::Program(text) => output::print_error(&text),
        }
        Exit::BadInput
    });
    // The result is out; now what is missing.
    files::unwritten().iter().fold(exit, |exit, problem| {
        output::complain(problem);
        exit.worse(Exit::BadInput)
    })
}

/// Why nothing was done: bad input.
pub(super) enum Refusal {
    /// A sentence.
    Message(String),
    /// The mistakes of a program, in its text.
    Program(String),
}

impl From<String> for Refusal {
    fn from(text: String) -> Self {
        Refusal::Message(text)
    }
}

/// Reads a program.
pub(super) fn load(file: &str, set: &[(String, String)]) -> Result<Program, Refusal> {
    let source = files::program(file)?;
    load_source(file, &source, set)
}

/// The same for a text that has been read.
pub(super) fn load_source(
    file: &str,
    source: &str,
    set: &[(String, String)],
) -> Result<Program, Refusal> {
    Program::load(file, source, set)
        .map_err(|mistakes| Refusal::Program(diagnose::render(file, source, &mistakes)))
}

/// Reads a program all of whose values are known.
fn load_known(file: &str, set: &[(String, String)]) -> Result<Program, Refusal> {
    let source = files::program(file)?;
    let program = load_source(file, &source, set)?;
    match program.unknowns().refused() {
        unknown if unknown.is_empty() => Ok(program),
        unknown => Err(Refusal::Program(diagnose::render(file, &source, &unknown))),
    }
}

fn check(args: &CheckArgs) -> Result<Exit, Refusal> {
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

fn explore(args: &ExploreArgs) -> Result<Exit, Refusal> {
    let algorithm = args.algorithm()?;
    let program = load(&args.program.file, &args.program.settings())?;
    let options = Options {
        solver: solver(&args.solver)?,
        limits: args.limits.limits(),
        deterministic: false,
        jobs: jobs(args.jobs),
        ..Options::default()
    };
    let format = match args.output.format {
        Picture::Text => Format::Text,
        Picture::Json => Format::Json,
        Picture::Dot => return draw(args, &program, &options, mazurka_report::dot),
        Picture::Svg => return draw(args, &program, &options, mazurka_report::svg),
    };
    let resumed = match &args.resume {
        None => None,
        Some(path) => {
            let name = path.display().to_string();
            let checkpoint = Checkpoint::parse(&files::checkpoint(&name)?);
            Some(checkpoint.map_err(|error| format!("`{name}`: {error}"))?)
        }
    };
    let save = args.checkpoint.as_ref().or(args.resume.as_ref());
    let mut watcher = Watcher::new(options.limits.memory, args.output.quiet)?;
    let watch = &mut |progress: &mazurka::Progress| watcher.look(progress);
    let mut coverage = None;
    let mut keeper = Keeper::default();
    let (record, checkpoint) = match save {
        Some(_) if args.tests.is_some() => {
            let no =
                "tests are written by a whole exploration; leave out --checkpoint and --resume";
            return Err(Refusal::Message(no.to_owned()));
        }
        None if args.tests.is_some() => {
            let folder = args.tests.as_deref().unwrap_or(Path::new("."));
            let record;
            (record, coverage) = tests(folder, &program, algorithm, &options, watch)?;
            (record, None)
        }
        None => {
            let record = program.explore(algorithm, &options, watch);
            (record.map_err(|error| error.to_string())?, None)
        }
        Some(path) => {
            let every = args.checkpoint_every;
            let keep = &mut |checkpoint: Checkpoint| keeper.keep(path, &checkpoint);
            program
                .explore_saving(resumed.as_ref(), algorithm, &options, watch, every, keep)
                .map_err(|error| error.to_string())?
        }
    };
    watcher.finish();
    let advice = match (save, checkpoint) {
        (Some(path), Some(checkpoint)) => {
            let saved = files::save("the checkpoint", path, &sealed(&checkpoint)?);
            let path = mazurka_report::quote(&path.display().to_string());
            saved.then(|| format!("to go on, run it again with --resume {path}"))
        }
        // What is finished needs no checkpoint.
        (Some(path), None) if keeper.kept && args.resume.is_none() => {
            files::remove(path);
            None
        }
        _ if save.is_none() && !algorithm.compares_states() && broken_off(&record) => {
            let text =
                "to be able to go on from where a search ends, start it with --checkpoint FILE";
            Some(text.to_owned())
        }
        _ => None,
    };
    let view = view(&options.limits);
    let output = OutputArgs {
        format,
        quiet: args.output.quiet,
    };
    show(&record, &output, &record, || {
        mazurka_report::table(&record, &view)
    })
    .inspect(|_| {
        if let Some(coverage) = coverage.filter(|_| !args.output.quiet) {
            output::complain(&coverage);
        }
        if let Some(advice) = advice.filter(|_| !args.output.quiet) {
            output::complain(&advice);
        }
    })
}

/// Saves checkpoints on the way.
#[derive(Default)]
struct Keeper {
    /// One was saved.
    kept: bool,
    /// It was told that one could not be saved.
    told: bool,
}

impl Keeper {
    /// If it cannot be saved, one of the next may, and of the last it is told after the result. But
    /// a search may take days, so the first is told now.
    fn keep(&mut self, path: &Path, checkpoint: &Checkpoint) {
        let saved =
            sealed(checkpoint).and_then(|text| files::save_for_now("the checkpoint", path, &text));
        match saved {
            Ok(()) => self.kept = true,
            Err(problem) if !self.told => {
                self.told = true;
                output::complain(&format!("{problem} (the search goes on)"));
            }
            Err(_) => {}
        }
    }
}

/// Explores, and writes each execution into the folder. Says what they cover, if all are there.
fn tests(
    folder: &Path,
    program: &Program,
    algorithm: Algorithm,
    options: &Options,
    watch: &mut mazurka::Watch<'_>,
) -> Result<(Record, Option<String>), Refusal> {
    let explore =
        |sink: mazurka::TestSink<'_>| program.explore_tests(algorithm, options, watch, sink);
    let (explored, whole) = into_folder(folder, explore);
    let (record, coverage) = explored.map_err(|error| error.to_string())?;
    let covered = || mazurka_report::coverage(&coverage, &folder.display().to_string());
    Ok((record, whole.then(covered)))
}

/// Writes each test into the folder, by its number. Whether all are there.
pub(super) fn into_folder<T>(
    folder: &Path,
    tests: impl FnOnce(mazurka::TestSink<'_>) -> T,
) -> (T, bool) {
    let mut folder = files::Folder::new("the test", folder);
    let mut sink = |number: u64, test: &mazurka::RunRecord| match json(test) {
        Ok(text) => folder.put(&format!("{number}.json"), &text),
        Err(error) => folder.fail(&error),
    };
    let done = tests(&mut sink);
    (done, folder.is_whole())
}

/// The tree as a picture. One worker walks it, so that it is always the same.
fn draw(
    args: &ExploreArgs,
    program: &Program,
    options: &Options,
    picture: fn(&Record, &Tree) -> String,
) -> Result<Exit, Refusal> {
    if !program.unknowns().is_empty() {
        let no = "there are no pictures of programs with inputs or without initial values; --format text and json show the exploration";
        return Err(Refusal::Message(no.to_owned()));
    }
    if args.checkpoint.is_some() || args.resume.is_some() || args.tests.is_some() {
        let no = "a picture shows a whole exploration; --checkpoint, --resume and --tests are for --format text and json";
        return Err(Refusal::Message(no.to_owned()));
    }
    let mut watcher = Watcher::new(options.limits.memory, args.output.quiet)?;
    let watch = &mut |progress: &mazurka::Progress| watcher.look(progress);
    let drawn = program.explore_tree(args.algorithm()?, options, watch);
    watcher.finish();
    let (record, tree) = drawn.map_err(|error| error.to_string())?;
    let exit = Exit::from(record.verdict);
    Ok(output::print_raw(&picture(&record, &tree), exit))
}

/// How many workers, unless the user says so.
fn jobs(wanted: Option<u64>) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, |cores| cores.get());
    wanted.map_or_else(cores, |wanted| wanted.min(MOST_JOBS) as usize)
}

/// Whether more time or a larger limit would have found more.
fn broken_off(record: &Record) -> bool {
    record.scope.bounds.iter().any(|bound| match bound {
        Bound::MaxSteps(_) | Bound::MaxExecutions(_) => true,
        Bound::TimeLimit(_) | Bound::MemoryLimit(_) | Bound::Interrupted => true,
        Bound::MaxDepth(_)
        | Bound::MaxLocal(_)
        | Bound::IntRange
        | Bound::IntWithin(_)
        | Bound::Undecided
        | Bound::FinalStates
        | Bound::AsPrinted
        | Bound::Unfold(_) => false,
    })
}

/// The run that a schedule or a seed names.
fn plan(schedule: Option<&String>, seed: u64) -> Result<Plan, String> {
    let Some(text) = schedule else {
        return Ok(Plan::Seed(seed));
    };
    let schedule = text.parse::<Schedule>();
    schedule.map(Plan::Schedule).map_err(|e| e.to_string())
}

fn permute(args: &PermuteArgs) -> Result<Exit, Refusal> {
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

fn run_one(args: &RunArgs) -> Result<Exit, Refusal> {
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

fn replay(args: &ReplayArgs) -> Result<Exit, Refusal> {
    let text = files::record(&args.witness)?;
    let parsed = Recording::parse(&text);
    let recording = parsed.map_err(|error| match error {
        RecordingError::Shape(_) => format!(
            "`{}`: {error}; `mazurka check FILE --witness {}` makes one",
            args.witness, args.witness
        ),
        RecordingError::Version { .. } => format!("`{}`: {error}", args.witness),
    })?;
    let recorded = &recording.record.program;
    let file = match &args.file {
        Some(file) => file,
        None if recorded.file == "-" => {
            let ask = "this was recorded of standard input; name the program with --file FILE";
            return Err(Refusal::Message(ask.to_owned()));
        }
        None => &recorded.file,
    };
    let source = files::program(file).map_err(|text| match args.file {
        None => format!(
            "{text}, of which `{}` is a record; if the program has moved, add --file FILE",
            args.witness
        ),
        Some(_) => text,
    })?;
    let limits = Limits {
        local: args.max_local,
        ..Limits::default()
    };
    let options = Options {
        limits,
        deterministic: false,
        jobs: 1,
        ..Options::default()
    };
    let program = load_source(file, &source, &recorded.set)?;
    let record = program.replay(&recording, &options);
    let record = record.map_err(|problem| match problem {
        ReplayProblem::OtherProgram { .. } => {
            format!("{problem}; check it again, or restore the program that was recorded")
        }
        _ => problem.to_string(),
    })?;
    let view = view(&options.limits);
    show(&record, &args.output, &record, || {
        mazurka_report::replayed(&record, &view)
    })
}

/// The flags without which a schedule might not run again.
pub(super) fn view(limits: &Limits) -> View {
    let mut flags = Vec::new();
    if limits.local != Limits::default().local {
        flags.push(format!("--max-local={}", limits.local));
    }
    View {
        paint: Paint::Ansi,
        flags,
    }
}

pub(super) fn json<T: serde::Serialize>(record: &T) -> Result<String, String> {
    mazurka_report::json(record).map_err(|error| format!("cannot write the record: {error}"))
}

fn sealed(checkpoint: &Checkpoint) -> Result<String, String> {
    let text = checkpoint.text();
    text.map_err(|error| format!("cannot write the checkpoint: {error}"))
}

pub(super) fn show<T: serde::Serialize>(
    whole: &T,
    args: &OutputArgs,
    record: &Record,
    text: impl FnOnce() -> String,
) -> Result<Exit, Refusal> {
    let exit = Exit::from(record.verdict);
    Ok(match args.format {
        Format::Json => output::print_raw(&json(whole)?, exit),
        Format::Text if args.quiet => {
            let text = text();
            let first = text.split_inclusive('\n').next().unwrap_or("");
            output::print(first, exit)
        }
        Format::Text => output::print(&text(), exit),
    })
}
