//! The command `test`: checks a list of models, each in its own process, against expected verdicts.
//! `suite.rs` parses the list.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use clap::Args;
use mazurka::Verdict;
use mazurka::record::{MistakesRecord, Record};
use serde::Serialize;

use super::{Refusal, jobs};
use crate::args::AllowArgs;
use crate::exit::Exit;
use crate::show::{Format, JSON, TEXT, format, json};
use crate::suite::{Case, Expected, Suite, Verdicts};
use crate::watch::{Workers, interrupted};
use crate::{files, output, values};

/// The name of the list in a folder.
const USUAL_FILE: &str = "mazurka.toml";

/// Check a list of models, and compare their verdicts with the expected ones
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mazurka test
  mazurka test models/mazurka.toml --jobs 4
  mazurka test exercises --verdicts solutions.toml
  mazurka test lists/week3.toml --models handed-in/anna
  mazurka test models --sarif findings

The list is data: files, settings, limits and verdicts (docs/suites.md). It runs no command, compiles no
C, and its paths stay within its folder. A separate process checks each model.
Exit codes: 0 all verdicts are as expected, 1 some are not, 2 some are inconclusive, 3 the list or a
model cannot be read.")]
pub(crate) struct TestArgs {
    /// The list, or a folder with a `mazurka.toml`
    #[arg(default_value = ".")]
    list: PathBuf,
    /// A file with the expected verdicts, if they are kept apart from the models
    #[arg(long, value_name = "FILE")]
    verdicts: Option<PathBuf>,
    /// The folder of the models [default: the folder of the list]
    #[arg(long, value_name = "FOLDER")]
    models: Option<PathBuf>,
    /// Models that are checked in parallel [default: one for each core]
    #[arg(long, short, value_name = "N", value_parser = values::count)]
    jobs: Option<u64>,
    /// Write a SARIF file for each model into this folder, with the findings that are not as
    /// expected
    #[arg(long, value_name = "FOLDER")]
    sarif: Option<PathBuf>,
    /// Text for people, or the results for programs
    #[arg(long, value_parser = format(&[TEXT, JSON]), default_value_t = Format::Text, help_heading = "Output")]
    format: Format,
    #[command(flatten)]
    pub(super) allowing: AllowArgs,
}

/// The result of a model that was not decided because the user has interrupted the command.
const UNDECIDED: Expected = Expected {
    verdict: Verdict::Inconclusive,
    kind: None,
};

/// The result of a model.
#[derive(Debug, Serialize)]
struct ModelResult {
    name: String,
    expected: Option<Expected>,
    found: Option<Expected>,
    /// Why the model could not be checked; `found` is then `None`.
    problem: Option<String>,
    seconds: f64,
    /// The command that checks this model again.
    command: String,
    /// The findings as SARIF; `None` if the result is as expected.
    #[serde(skip)]
    sarif: Option<String>,
}

/// Checks all models, and reports how many are as expected.
pub(super) fn test(args: &TestArgs) -> Result<Exit, Refusal> {
    let list = if args.list.is_dir() {
        args.list.join(USUAL_FILE)
    } else {
        args.list.clone()
    };
    let text = |path: &Path| files::program(&path.to_string_lossy());
    let suite = Suite::parse(&list.to_string_lossy(), &text(&list)?)?;
    let apart = match &args.verdicts {
        Some(path) => Some(Verdicts::parse(&path.to_string_lossy(), &text(path)?)?),
        None => None,
    };
    let cases = suite.cases(apart.as_ref())?;
    let own = list.parent().unwrap_or(Path::new("")).to_owned();
    let folder = args.models.clone().unwrap_or(own);
    let mazurka =
        std::env::current_exe().map_err(|error| format!("cannot start again: {error}"))?;
    let processes = Workers::expected();
    let outcomes = all(&cases, jobs(args.jobs), |case| {
        check_case(&mazurka, &folder, case, &processes)
    });
    if interrupted() {
        output::complain("interrupted: models that were not decided before are inconclusive");
    }
    if let Some(folder) = &args.sarif {
        save(&outcomes, folder)?;
    }
    let exit = outcomes
        .iter()
        .map(ModelResult::exit)
        .fold(Exit::Verified, Exit::worse);
    Ok(match args.format {
        Format::Json => output::print_raw(&json(&outcomes)?, exit),
        _ => output::print(&summary(&outcomes), exit),
    })
}

/// Applies a function to each case, to several at a time. The results are in the order of the
/// cases.
fn all(
    cases: &[Case],
    workers: usize,
    work: impl Fn(&Case) -> ModelResult + Sync,
) -> Vec<ModelResult> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..workers.clamp(1, cases.len().max(1)) {
            scope.spawn(|| {
                while let Some((at, case)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    cases.get(at).map(|case| (at, case))
                } {
                    let outcome = work(case);
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    done.push((at, outcome));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

/// Checks one model in a separate process, so that its memory use and crashes do not affect others.
fn check_case(mazurka: &Path, folder: &Path, case: &Case, processes: &Workers) -> ModelResult {
    let start = Instant::now();
    // With the prefix `./`, a name that begins with `-` is not read as a flag.
    let file = Path::new(".").join(folder).join(&case.file);
    let child = files::below(folder, &file).and_then(|_| {
        let mut command = Command::new(mazurka);
        command.arg("check").arg(&file).args(&case.flags).args([
            "--format=json",
            "--quiet",
            "--jobs=1",
        ]);
        let ended = processes.output(&mut command);
        ended.map_err(|error| format!("cannot start `mazurka check`: {error}"))
    });
    let (found, problem, sarif) = match child {
        Ok(child) => match serde_json::from_slice::<Record>(&child.stdout) {
            Ok(mut record) => {
                let found = verdict(&record);
                if case
                    .expected
                    .is_some_and(|expected| expected.is_met_by(found))
                {
                    record.witnesses.clear();
                }
                (Some(found), None, Some(mazurka_report::sarif(&record)))
            }
            // A process that is interrupted before its search begins prints no record.
            Err(_) if interrupted() => (Some(UNDECIDED), None, None),
            Err(_) => {
                let problem = complaint(&child.stdout, &child.stderr);
                let mistakes = serde_json::from_slice::<MistakesRecord>(&child.stdout);
                let sarif = mistakes.map(|all| mazurka_report::sarif_mistakes(&all));
                (None, Some(problem), sarif.ok())
            }
        },
        Err(problem) => (None, Some(problem), None),
    };
    let bare = file.strip_prefix(".").unwrap_or(&file);
    // Keep the `./` if the name begins with `-`, so that it is not read as a flag.
    let shown = match bare.as_os_str().as_encoded_bytes().first() {
        Some(b'-') => &file,
        _ => bare,
    };
    let shown = mazurka_report::quote(&shown.display().to_string());
    let flags = { case.flags.iter() }.map(|flag| format!(" {}", mazurka_report::quote(flag)));
    let flags: String = flags.collect();
    ModelResult {
        name: case.name.clone(),
        expected: case.expected,
        found,
        problem,
        seconds: start.elapsed().as_secs_f64(),
        command: format!("mazurka check {shown}{flags}"),
        sarif,
    }
}

/// Writes the findings into a folder: a file for each model, named by the position of the model in
/// the list.
fn save(outcomes: &[ModelResult], folder: &Path) -> Result<(), Refusal> {
    let failed = |error: std::io::Error| format!("`{}`: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(failed)?;
    for (number, outcome) in outcomes.iter().enumerate() {
        if let Some(sarif) = &outcome.sarif {
            let file = folder.join(format!("{:03}.sarif", number + 1));
            std::fs::write(file, sarif).map_err(failed)?;
        }
    }
    Ok(())
}

/// Returns the verdict of a record.
fn verdict(record: &Record) -> Expected {
    let kind = record.witnesses.first().map(|witness| witness.kind);
    Expected {
        verdict: record.verdict,
        kind: kind.filter(|_| record.verdict == Verdict::Violated),
    }
}

/// Returns why there is no verdict, in one line.
fn complaint(out: &[u8], complaints: &[u8]) -> String {
    #[derive(serde::Deserialize)]
    struct Mistakes {
        diagnostics: Vec<Mistake>,
    }
    #[derive(serde::Deserialize)]
    struct Mistake {
        code: String,
        message: String,
    }
    if let Ok(mistakes) = serde_json::from_slice::<Mistakes>(out)
        && let Some(first) = mistakes.diagnostics.first()
    {
        return format!("{}: {}", first.code, first.message);
    }
    let complaints = String::from_utf8_lossy(complaints);
    let first = complaints.lines().find(|line| !line.trim().is_empty());
    let first = first.unwrap_or("it ended without a verdict");
    first.trim_start_matches("mazurka: ").to_owned()
}

impl ModelResult {
    fn exit(&self) -> Exit {
        match (self.expected, self.found) {
            (_, None) => Exit::BadInput,
            (None, Some(_)) => Exit::Verified,
            (Some(expected), Some(found)) if expected.is_met_by(found) => Exit::Verified,
            (Some(_), Some(found)) if found.verdict == Verdict::Inconclusive => Exit::Inconclusive,
            (Some(_), Some(_)) => Exit::Violated,
        }
    }
}

/// Returns a line for each model, the command for each that is not as expected, and the totals.
fn summary(outcomes: &[ModelResult]) -> String {
    let width = outcomes.iter().map(|one| one.name.chars().count()).max();
    let width = width.unwrap_or(0).min(60);
    let mut text = String::new();
    let mut as_expected = 0;
    let mut open = 0;
    for one in outcomes {
        let found = match (&one.found, &one.problem) {
            (Some(found), _) => found.to_string(),
            (None, problem) => problem.clone().unwrap_or_default(),
        };
        let (word, found) = match (one.exit(), one.expected) {
            (Exit::Verified, None) => {
                open += 1;
                ("--", format!("{found} (no verdict is expected)"))
            }
            (Exit::Verified, Some(_)) => {
                as_expected += 1;
                ("ok", found)
            }
            (Exit::BadInput, _) => ("NO", format!("not checked: {found}")),
            (_, Some(expected)) => ("NO", format!("{found}, not {expected}")),
            (_, None) => ("NO", found),
        };
        text += &format!(
            "{word}  {:width$}  {found}  {:.2} s\n",
            one.name, one.seconds
        );
        if word == "NO" {
            text += &format!("    again: {}\n", one.command);
        }
    }
    let models = match outcomes.len() {
        1 => "1 model".to_owned(),
        count => format!("{count} models"),
    };
    let not = outcomes.len() - as_expected - open;
    text += &format!("{models}: {as_expected} as expected, {not} not");
    if open > 0 {
        text += &format!(", {open} without an expected verdict");
    }
    text + "\n"
}
