//! The command `show`: renders a saved record without running anything.

use clap::Args;
use mazurka::Limits;
use mazurka::permute::PermuteRecord;
use mazurka::prove::ProveRecord;
use mazurka::repair::RepairRecord;
use mazurka::replay::{Recording, RecordingError};
use mazurka::symbolic::SymbolicRecord;
use mazurka::weak::OrdersRecord;
use mazurka_report::{OneRun, View};
use serde::Deserialize;
use serde_json::Value;

use super::replay::{figures_of, picture_of};
use super::{Refusal, compare, condition, reach, repair, unfold, view};
use crate::args::{EXIT_CODES, OutputArgs};
use crate::exit::Exit;
use crate::files;
use crate::show::{
    ABOUT_LANES, Format, HTML, JSON, LANES_DOT, LANES_SVG, Shown, TEXT, lanes, offer, page, plain,
    show,
};

/// Show a saved record, without running anything
#[derive(Debug, Args)]
#[command(after_help = format!("Examples:
  mazurka check counter.maz --witness bad.json; mazurka show bad.json
  mazurka show bad.json --format svg > bad.svg
  mazurka show bad.json --format html > bad.html
  MAZURKA_REPORT=found cargo test; mazurka show found/tests.queue-1.json

The program is not needed: only recorded data is shown. `replay` runs the record again.
The exit code is that of the command which made the record.
{EXIT_CODES}"))]
#[command(mut_args(|flag| offer(flag, ABOUT_LANES, &[TEXT, JSON, HTML, LANES_DOT, LANES_SVG])))]
pub(crate) struct ShowArgs {
    /// A record, as written by `--witness FILE`, `--format json` or MAZURKA_REPORT; `-` for
    /// standard input
    record: String,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// Shows a record.
pub(super) fn show_record(args: &ShowArgs) -> Result<Exit, Refusal> {
    let text = files::record(&args.record)?;
    let recording = Recording::parse(&text).map_err(|error| match error {
        RecordingError::Shape(_) => format!(
            "`{}`: {error}; `mazurka check FILE --witness RECORD` makes one",
            args.record
        ),
        RecordingError::Version { .. } => format!("`{}`: {error}", args.record),
    })?;
    let record = &recording.record;
    // Keep the fields that only the command of the record knows.
    let whole: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let exit = match RepairRecord::deserialize(&whole) {
        Ok(repairs) => repair::exit(&repairs),
        Err(_) => record.verdict.into(),
    };
    show(&whole, exit, &args.output, |format| {
        Ok(match format {
            Format::Text => text_of(&recording, &whole, &view(&Limits::default())),
            Format::Html => {
                let shown = Shown {
                    text: text_of(&recording, &whole, &plain(view(&Limits::default()))),
                    figures: figures_of(record, &recording),
                    ..Shown::default()
                };
                return page(&whole, record, &shown);
            }
            picture => lanes(&picture_of(record, &recording), picture),
        })
    })
}

/// Returns the text that the command which made the record has shown, as far as the record contains
/// the data for it. The text names the parts that are missing.
fn text_of(recording: &Recording, whole: &Value, view: &View) -> String {
    if let Some(text) = answer_of(whole, view) {
        return text;
    }
    let record = &recording.record;
    let ready = whole["ready"].as_array().into_iter().flatten();
    let ready: Vec<String> = ready
        .filter_map(|process| process.as_str().map(str::to_owned))
        .collect();
    let run = recording.run.as_ref().map(|run| OneRun {
        seed: whole["seed"].as_u64(),
        ready: &ready,
        ..OneRun::new(run)
    });
    match (record.command.as_str(), run) {
        ("check" | "replay" | "cargo test", _) => mazurka_report::verdict(record, view),
        ("explore" | "sample", _) => mazurka_report::table(record, view),
        ("run", Some(run)) => mazurka_report::run(record, run, view),
        // The record is of a command of a later version.
        (command, run) => {
            let mut text = format!(
                "{}: a record of `mazurka {command}`, whose answer is shown by `--format json` only\n",
                record.program.file,
            );
            if let Some(run) = run {
                text += "\n";
                text += &mazurka_report::run(record, run, view);
            }
            text
        }
    }
}

/// Returns the text of a command whose record has an answer of its own, besides a verdict and
/// counts. `None` if the record has no such answer.
fn answer_of(whole: &Value, view: &View) -> Option<String> {
    fn read<'de, Answer: Deserialize<'de>>(whole: &'de Value) -> Option<Answer> {
        Answer::deserialize(whole).ok()
    }
    // The records of `repair` and `orders` give `check` as their command, so they are recognised by
    // their fields.
    if whole.get("repairs").is_some() {
        return Some(repair::answer(&read(whole)?, usize::MAX, view));
    }
    if whole.get("orders").is_some() {
        let OrdersRecord { record, orders } = read(whole)?;
        return Some(mazurka_report::orders(&record, &orders, view));
    }
    Some(match whole.get("command")?.as_str()? {
        "compare" => compare::answer(&read(whole)?, view),
        "condition" => condition::answer(&read(whole)?, view),
        "permute" => {
            let PermuteRecord {
                record,
                permutations,
            } = read(whole)?;
            mazurka_report::permutations(&record, &permutations, view)
        }
        "prove" => {
            let ProveRecord { record, goals } = read(whole)?;
            mazurka_report::proved(&record, &goals, view)
        }
        "reach" => reach::answer(&read(whole)?, view),
        "symbolic" => {
            let SymbolicRecord { record, states } = read(whole)?;
            mazurka_report::symbolic_states(&record, &states, view)
        }
        "unfold" => unfold::answer(&read(whole)?, view),
        _ => return None,
    })
}
