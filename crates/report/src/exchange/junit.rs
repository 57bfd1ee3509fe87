//! JUnit XML: the properties that were checked, as test cases.
//!
//! A suite is one search. Its cases are the kinds of violations that count, then each `cover` and
//! the refinement. The case of a kind that was found fails. The case of a kind that was neither
//! found nor excluded is an error. If nothing could be explored, all cases are errors.

use mazurka_core::record::{CoverAnswer, MistakesRecord, Record, RefinementAnswer, Witness};
use mazurka_core::{Kind, Verdict};

use super::{path_of, scope, shown};
use crate::replay_command;
use crate::shell::flags_of;
use crate::svg::{attribute, escaped};
use crate::verdict::title;

/// The outcome of a case.
enum CaseOutcome {
    Passed,
    /// The violations: for each a short text, and the full one.
    Failed(Vec<(String, String)>),
    /// Why the outcome is not known.
    Unknown(String),
}

/// Returns the answers of a search, as one test suite.
pub fn junit(record: &Record) -> String {
    let mut cases = Vec::new();
    let unknown = scope(record).join("\n");
    // A witness without a run is a cover that is never reached, which has a case of its own.
    let is_cover = |witness: &Witness| witness.kind == Kind::Property && witness.runs.is_empty();
    let shown: Vec<&Witness> = record
        .witnesses
        .iter()
        .filter(|one| !is_cover(one))
        .collect();
    let found = |kind: Kind| -> Vec<(String, String)> {
        let shown = shown.iter().filter(|witness| witness.kind == kind);
        shown
            .map(|witness| (title(witness), evidence(record, witness)))
            .collect()
    };
    let counted = &record.kinds.counted;
    for kind in counted {
        let found = found(*kind);
        let outcome = match (found.is_empty(), record.kinds.open.contains(kind)) {
            (false, _) => CaseOutcome::Failed(found),
            (true, true) => CaseOutcome::Unknown(unknown.clone()),
            (true, false) => CaseOutcome::Passed,
        };
        cases.push((format!("no {}", kind.name()), outcome));
    }
    for cover in &record.covers {
        let name = cover.name.as_deref().unwrap_or(&cover.condition);
        let outcome = match cover.answer {
            CoverAnswer::Reached => CaseOutcome::Passed,
            CoverAnswer::Unreached => {
                let line = cover.place.line;
                let text = format!("`{}` is never reached", cover.condition);
                CaseOutcome::Failed(vec![(text.clone(), format!("{text} (line {line})"))])
            }
            CoverAnswer::Open => CaseOutcome::Unknown(unknown.clone()),
        };
        cases.push((format!("cover {name}"), outcome));
    }
    if let Some(refinement) = &record.refinement {
        let outcome = match refinement.answer {
            RefinementAnswer::Holds => Some(CaseOutcome::Passed),
            RefinementAnswer::Open => Some(CaseOutcome::Unknown(unknown.clone())),
            // If there is a case for this kind of violation, that case reports the violation.
            RefinementAnswer::Broken if counted.contains(&Kind::Property) => None,
            RefinementAnswer::Broken => Some(CaseOutcome::Failed(found(Kind::Property))),
        };
        let name = format!("refines {}", refinement.file);
        cases.extend(outcome.map(|outcome| (name, outcome)));
    }
    if cases.is_empty() {
        let outcome = match record.verdict {
            Verdict::Verified => CaseOutcome::Passed,
            Verdict::Violated => CaseOutcome::Failed(vec![(unknown.clone(), unknown)]),
            Verdict::Inconclusive => CaseOutcome::Unknown(unknown),
        };
        cases.push((record.command.clone(), outcome));
    }
    suite(&record.program.file, record.seconds, &cases)
}

/// Returns the mistakes of a program that could not be explored, as one case.
pub fn junit_mistakes(mistakes: &MistakesRecord) -> String {
    let mistakes_text = mistakes.diagnostics.iter().map(|mistake| {
        let place = mistake.span.map_or(String::new(), |span| {
            format!(":{}:{}", span.line, span.column)
        });
        let file = shown(&mistakes.file);
        format!("{file}{place}: {} [{}]", mistake.message, mistake.code)
    });
    let mistakes_text: Vec<String> = mistakes_text.collect();
    let cases = [(
        "load".to_owned(),
        CaseOutcome::Unknown(mistakes_text.join("\n")),
    )];
    suite(&mistakes.file, 0.0, &cases)
}

/// Returns the steps of a violation, and how to replay them.
fn evidence(record: &Record, witness: &Witness) -> String {
    let mut text = String::new();
    if let Some(place) = &witness.place {
        let file = path_of(&record.program, place.file.as_deref());
        text += &format!("{}:{}:{}: {}\n", file, place.line, place.column, place.text);
    }
    for waiting in &witness.waiting {
        let name = record.program.name_of(&waiting.process);
        text += &format!(
            "{name} waits for {} (line {})\n",
            waiting.what, waiting.line
        );
    }
    for run in &witness.runs {
        for (at, step) in run.steps.iter().enumerate() {
            let name = run.name_of(&step.process);
            text += &format!(
                "{:>3}  {name}: {} (line {})\n",
                at + 1,
                step.label,
                step.line
            );
        }
        text += &format!(
            "replay with: {}\n",
            replay_command(&record.program, run, &flags_of(record, &[]))
        );
    }
    text
}

fn suite(file: &str, seconds: f64, cases: &[(String, CaseOutcome)]) -> String {
    let count = |is: fn(&CaseOutcome) -> bool| cases.iter().filter(|(_, one)| is(one)).count();
    let failures = count(|one| matches!(one, CaseOutcome::Failed(_)));
    let errors = count(|one| matches!(one, CaseOutcome::Unknown(_)));
    let (file, tests) = (attribute(shown(file)), cases.len());
    let counts = format!(r#"tests="{tests}" failures="{failures}" errors="{errors}""#);
    let time = format!(r#"time="{seconds:.3}""#);
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites name=\"mazurka\" {counts} {time}>\n\
         \x20 <testsuite name=\"{file}\" {counts} skipped=\"0\" {time}>\n"
    );
    for (name, outcome) in cases {
        let head = format!(
            "    <testcase name=\"{}\" classname=\"{file}\" time=\"0.000\"",
            attribute(name)
        );
        text += &match outcome {
            CaseOutcome::Passed => format!("{head}/>\n"),
            CaseOutcome::Failed(all) => {
                let element = |(message, body): &(String, String)| {
                    let (message, body) = (attribute(message), escaped(body));
                    format!(
                        "      <failure message=\"{message}\" type=\"violated\">{body}</failure>\n"
                    )
                };
                let all: String = all.iter().map(element).collect();
                format!("{head}>\n{all}    </testcase>\n")
            }
            CaseOutcome::Unknown(why) => {
                let short = attribute(why.lines().next().unwrap_or_default());
                let why = escaped(why);
                format!(
                    "{head}>\n      <error message=\"{short}\" type=\"inconclusive\">{why}</error>\n    </testcase>\n"
                )
            }
        };
    }
    text + "  </testsuite>\n</testsuites>\n"
}
