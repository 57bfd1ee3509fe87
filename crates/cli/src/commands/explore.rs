//! The command `explore`.

use std::path::Path;

use mazurka::record::{Record, Tree};
use mazurka::{Algorithm, Bound, Checkpoint, Options, Program};

use super::{Refusal, into_folder, jobs, load, show, view};
use crate::args::{ExploreArgs, Format, OutputArgs, Picture};
use crate::exit::Exit;
use crate::solver::solver;
use crate::watch::Watcher;
use crate::{files, output};

/// Explores the whole space, and counts.
pub(super) fn explore(args: &ExploreArgs) -> Result<Exit, Refusal> {
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

fn sealed(checkpoint: &Checkpoint) -> Result<String, String> {
    let text = checkpoint.text();
    text.map_err(|error| format!("cannot write the checkpoint: {error}"))
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
