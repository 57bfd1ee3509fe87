//! Searches that the user has started. Each runs in a separate thread and can be cancelled.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_channel::Sender;
use lsp_server::RequestId;
use lsp_types::{Diagnostic, DiagnosticSeverity, NumberOrString, Range};
use mazurka::record::{Record, Run, Step, Witness};
use mazurka::run::Plan;
use mazurka::search::{Kind, Kinds};
use mazurka::solving::Solving;
use mazurka::{Bound, Limits, Options, Program, Progress, Verdict};
use serde_json::{Value, json};

use crate::document::{Document, Finding};
use crate::{Environment, features};

/// The question of a search.
#[derive(Clone, Debug)]
pub(crate) enum Question {
    /// A verdict about one property, or about all properties.
    Check(Option<String>),
    /// One random execution, with this seed.
    Run(u64),
}

/// A running search.
pub(crate) struct Search {
    pub id: RequestId,
    pub uri: String,
    pub version: i32,
    pub question: Question,
    stop: Arc<AtomicBool>,
}

/// The outcome of a search, and the request that it answers.
pub(crate) struct Answer {
    pub id: RequestId,
    /// The result. The error says in a sentence why there is none.
    pub outcome: Result<Outcome, String>,
}

/// The result of a search.
pub(crate) struct Outcome {
    verdict: Verdict,
    /// One line: the verdict, or for [`Question::Run`] the seed and the final state.
    message: String,
    witnesses: Vec<Witness>,
    /// The run of [`Question::Run`]; `None` for [`Question::Check`].
    run: Option<Run>,
}

impl Search {
    /// Starts a search of a program.
    pub(crate) fn start(
        document: &Document,
        (id, question): (RequestId, Question),
        limit: Duration,
        environment: &Arc<dyn Environment>,
        answers: &Sender<Answer>,
    ) -> Result<Self, String> {
        let program = document.program.clone();
        let program = program.ok_or("the program has mistakes: fix these first")?;
        let stop = Arc::new(AtomicBool::new(false));
        let search = Self {
            id: id.clone(),
            uri: document.uri.as_str().to_owned(),
            version: document.version,
            question: question.clone(),
            stop: stop.clone(),
        };
        let options = Options {
            limits: Limits {
                time: Some(limit),
                memory: Some(MOST_MEMORY),
                ..Limits::default()
            },
            jobs: 1,
            solver: Solving {
                stop: Some(stop.clone()),
                ..Solving::default()
            },
            ..Options::default()
        };
        let (environment, answers) = (environment.clone(), answers.clone());
        std::thread::spawn(move || {
            let outcome = answer(&program, &question, options, (&stop, &*environment));
            // If the server has ended, nothing receives the answer.
            let _ = answers.send(Answer { id, outcome });
        });
        Ok(search)
    }

    /// Cancels the search.
    pub(crate) fn cancel(&self) {
        self.stop.store(true, Ordering::SeqCst);
    }

    /// Returns the name of the search.
    pub(crate) fn name(&self) -> String {
        match &self.question {
            Question::Check(name) => features::search_name("check", name.as_deref()),
            Question::Run(_) => features::search_name("run", None),
        }
    }
}

/// The memory limit of a search, in bytes.
const MOST_MEMORY: u64 = 2 << 30;

fn answer(
    program: &Program,
    question: &Question,
    mut options: Options,
    (stop, environment): (&AtomicBool, &dyn Environment),
) -> Result<Outcome, String> {
    let mut watch = |_: &Progress| match (stop.load(Ordering::SeqCst), environment.memory()) {
        (true, _) => ControlFlow::Break(Bound::Interrupted),
        (false, Some(used)) if used > MOST_MEMORY => {
            ControlFlow::Break(Bound::MemoryLimit(MOST_MEMORY))
        }
        (false, _) => ControlFlow::Continue(()),
    };
    match question {
        Question::Check(name) => {
            if let Some(name) = name {
                set_counted(program, name, &mut options)?;
            }
            options.specification = environment.specification(program)?;
            let record = program.check(&options, &mut watch);
            let record = record.map_err(|error| error.to_string())?;
            Ok(Outcome {
                verdict: record.verdict,
                message: verdict_message(&record),
                witnesses: record.witnesses,
                run: None,
            })
        }
        Question::Run(seed) => {
            let made = program.run(&Plan::Seed(*seed), &options, &mut watch);
            let made = made.map_err(|error| error.to_string())?;
            let state: Vec<String> = made
                .run
                .state
                .iter()
                .map(|one| format!("{} = {}", one.name, one.value))
                .collect();
            let ending = format!("{:?}", made.run.ending).to_lowercase();
            Ok(Outcome {
                verdict: made.record.verdict,
                message: format!("seed {seed}: {ending}, {}", state.join(", ")),
                witnesses: made.record.witnesses,
                run: Some(made.run),
            })
        }
    }
}

/// Sets the options so that only one kind of violation, or one named property, counts, as
/// `--property` does. Refuses a word that names neither a kind nor a property.
fn set_counted(program: &Program, word: &str, options: &mut Options) -> Result<(), String> {
    let named = program.named_properties();
    options.counted = Some(match Kinds::parse(word) {
        Some(_) if word == Kind::Property.name() && !program.states_property() => {
            return Err("the file states no temporal property and no `cover`".to_owned());
        }
        Some(kinds) => kinds,
        None if named.iter().any(|(name, _)| name == word) => {
            options.properties.push(word.to_owned());
            Kinds::NONE
        }
        None => {
            let names = named.iter().map(|(name, _)| name.as_str());
            let known: Vec<&str> = Kinds::WORDS.into_iter().chain(names).collect();
            let known = known.join(", ");
            return Err(format!("there is no property `{word}`; known are {known}"));
        }
    });
    Ok(())
}

/// Returns a verdict as one line.
fn verdict_message(record: &Record) -> String {
    let counts = &record.counts;
    let first = record.witnesses.first();
    let found = first.map_or(String::new(), |witness| format!(": {}", witness.message));
    let how_far = match (&record.scope.exhaustive, &record.scope.bounds[..]) {
        (true, _) => "exhaustive".to_owned(),
        (false, []) => "stopped when certain".to_owned(),
        (false, [bound, ..]) => format!("not everything was explored: {bound}"),
    };
    let executions = counts.executions;
    format!(
        "{}{found} ({executions} executions, {how_far})",
        record.verdict.name()
    )
}

impl Outcome {
    /// Returns the answer for the editor.
    pub(crate) fn json(&self) -> Value {
        let step = |run: &Run, step: &Step| {
            let mut shown = json!({
                "process": run.name_of(&step.process),
                "label": step.label,
                "line": step.line,
            });
            if let Some(file) = &step.file {
                shown["file"] = json!(file);
            }
            shown
        };
        let steps = |run: &Run| -> Value { run.steps.iter().map(|one| step(run, one)).collect() };
        let runs = self.witnesses.iter().flat_map(|witness| &witness.runs);
        let runs: Vec<Value> = runs.chain(&self.run).map(steps).collect();
        json!({ "verdict": self.verdict.name(), "message": self.message, "runs": runs })
    }

    /// Returns the finding that the document shows.
    pub(crate) fn finding(&self, document: &Document, name: String) -> Finding {
        let shown = |witness: &Witness| {
            let spot = match (&witness.place, witness.waiting.first()) {
                (Some(place), _) => {
                    let length = place.text.chars().take_while(|c| *c != '\n').count();
                    let at = (place.line, place.column, length);
                    Some(document.recorded(place.file.as_deref(), at))
                }
                (None, Some(waiting)) => {
                    Some(document.recorded_line(waiting.file.as_deref(), waiting.line))
                }
                (None, None) => None,
            };
            let mut related = Vec::new();
            if let Some(spot) = spot.filter(|spot| spot.included.is_some()) {
                related.push(document.related(spot, &witness.message));
            }
            for run in &witness.runs {
                for (at, step) in run.steps.iter().enumerate() {
                    let name = run.name_of(&step.process);
                    let mut text = format!("{}. {name}: {}", at + 1, step.label);
                    for change in &step.changes {
                        text += &format!("; {}: {} -> {}", change.name, change.from, change.to);
                    }
                    let spot = document.recorded_line(step.file.as_deref(), step.line);
                    related.push(document.related(spot, &text));
                }
            }
            let message = &witness.message;
            Diagnostic {
                range: spot.map_or(Range::default(), |spot| spot.range_here()),
                severity: Some(DiagnosticSeverity::ERROR),
                code: Some(NumberOrString::String(witness.kind.name().to_owned())),
                source: Some("mazurka check".to_owned()),
                message: spot.map_or(message.clone(), |spot| spot.message(message)),
                related_information: Some(related),
                ..Diagnostic::default()
            }
        };
        Finding {
            name,
            answer: self.message.clone(),
            diagnostics: self.witnesses.iter().map(shown).collect(),
        }
    }
}
