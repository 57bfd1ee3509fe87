//! SARIF 2.1.0: the findings, with the runs that show them as code flows. A viewer steps through
//! one thread flow at a time. So a run is a single thread flow with the steps of all processes, in
//! the order of the schedule. Each step names its process, and its `executionOrder` is its number.

use mazurka_core::record::{
    DiagnosticRecord, MistakesRecord, Place, ProgramRecord, Record, Run, Severity, Step, Witness,
};
use mazurka_core::{Kind, Verdict};
use serde_json::{Value, json};

use super::{TOOL, path_of, scope, shown, step_file};
use crate::json as pretty;
use crate::verdict::title;

/// The definition of the format.
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// The kinds of violations: identifier and description.
const KINDS: [(Kind, &str, &str); 5] = [
    (
        Kind::Failure,
        "Failure",
        "An assertion, an invariant or a step fails in some execution.",
    ),
    (
        Kind::Property,
        "Property",
        "A temporal property, a refinement or a cover does not hold.",
    ),
    (
        Kind::Deadlock,
        "Deadlock",
        "In some execution no process can continue, and not all have ended.",
    ),
    (
        Kind::Livelock,
        "Livelock",
        "In some fair execution a process runs for ever and never ends.",
    ),
    (
        Kind::Nondeterminism,
        "Nondeterminism",
        "Two executions end in different states.",
    ),
];

/// Returns the findings and warnings of a search, as a SARIF log. It has one *run* in the sense of
/// SARIF, which is one invocation of a tool.
///
/// The verdict and the bounds that were hit are a notification of the invocation, because a log
/// without results does not show that there are no violations.
pub fn sarif(record: &Record) -> String {
    let program = &record.program;
    let mut rules = Rules::default();
    let mut results = Vec::new();
    for (at, witness) in record.witnesses.iter().enumerate() {
        let rule = rules.kind(witness.kind);
        // The fingerprint of a finding contains no line, so that a change elsewhere in the file
        // does not change it.
        let same =
            |other: &&Witness| other.kind == witness.kind && other.message == witness.message;
        let before = record.witnesses[..at].iter().filter(same).count();
        let fingerprint = format!("{}:{before}:{}", witness.kind.name(), witness.message);
        results.push(finding(program, witness, rule, &fingerprint));
    }
    for warning in &record.warnings {
        let rule = rules.code(&warning.code);
        results.push(diagnosed(&program.file, warning, rule));
    }
    let level = match record.verdict {
        Verdict::Verified => "note",
        Verdict::Violated | Verdict::Inconclusive => "warning",
    };
    let messages = scope(record).into_iter().enumerate();
    let notifications = messages.map(|(at, text)| {
        let (id, level) = match at {
            0 => ("verdict", level),
            _ => ("bound", "warning"),
        };
        json!({ "level": level, "message": { "text": text }, "descriptor": { "id": id } })
    });
    let notifications = notifications.collect();
    log(&rules, results, true, notifications)
}

/// Returns the mistakes of a program that could not be explored.
pub fn sarif_mistakes(mistakes: &MistakesRecord) -> String {
    let mut rules = Rules::default();
    let results = mistakes.diagnostics.iter().map(|mistake| {
        let rule = rules.code(&mistake.code);
        diagnosed(&mistakes.file, mistake, rule)
    });
    let results = results.collect();
    let notification = json!({
        "level": "error",
        "message": { "text": "the program has mistakes, so nothing was explored" },
        "descriptor": { "id": "mistakes" },
    });
    log(&rules, results, false, vec![notification])
}

/// The rules that results refer to, each once, with its identifier.
#[derive(Default)]
struct Rules {
    all: Vec<(String, Value)>,
}

impl Rules {
    fn add(&mut self, id: &str, rule: Value) -> (String, usize) {
        let known = self.all.iter().position(|(known, _)| known == id);
        let index = known.unwrap_or_else(|| {
            self.all.push((id.to_owned(), rule));
            self.all.len() - 1
        });
        (id.to_owned(), index)
    }

    fn kind(&mut self, kind: Kind) -> (String, usize) {
        let known = KINDS.iter().find(|(known, ..)| *known == kind);
        let (name, text) = known.map_or(("Violation", ""), |(_, name, text)| (name, text));
        let rule = json!({
            "id": kind.name(),
            "name": name,
            "shortDescription": { "text": text },
            "defaultConfiguration": { "level": "error" },
        });
        self.add(kind.name(), rule)
    }

    fn code(&mut self, code: &str) -> (String, usize) {
        let text = format!("docs/diagnostics.md explains {code}.");
        let rule = json!({ "id": code, "shortDescription": { "text": text } });
        self.add(code, rule)
    }
}

fn log(rules: &Rules, results: Vec<Value>, successful: bool, notifications: Vec<Value>) -> String {
    let (name, version) = TOOL;
    let rules: Vec<&Value> = rules.all.iter().map(|(_, rule)| rule).collect();
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": name, "version": version, "rules": rules } },
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": successful,
                "toolExecutionNotifications": notifications,
            }],
            "results": results,
        }],
    });
    // Writing fails only for maps whose keys are not strings, and for numbers that are not finite.
    // The log contains no such map or number.
    pretty(&log).unwrap_or_default()
}

/// Returns a violation, with its runs.
fn finding(
    program: &ProgramRecord,
    witness: &Witness,
    rule: (String, usize),
    fingerprint: &str,
) -> Value {
    let message = title(witness);
    let location = match &witness.place {
        Some(place) => at_place(program, place),
        // The place of a deadlock is where a process waits. A violation without any place belongs
        // to the whole file.
        None => match witness.waiting.first() {
            Some(waiting) => {
                let file = path_of(program, waiting.file.as_deref());
                at(&file, Some(region(waiting.line, None, None)))
            }
            None => at(&path_of(program, None), None),
        },
    };
    let flows: Vec<Value> = witness
        .runs
        .iter()
        .filter(|run| !run.steps.is_empty())
        .map(|run| flow(program, run))
        .collect();
    let mut result = json!({
        "ruleId": rule.0,
        "ruleIndex": rule.1,
        "level": "error",
        "message": plain(&message),
        "locations": [location],
        "partialFingerprints": {
            "violation/v2": fingerprint,
        },
    });
    if !flows.is_empty() {
        result["codeFlows"] = Value::Array(flows);
    }
    let waiting = witness.waiting.iter().skip(1).map(|waiting| {
        let file = path_of(program, waiting.file.as_deref());
        let mut place = at(&file, Some(region(waiting.line, None, None)));
        let name = program.name_of(&waiting.process);
        let text = format!("{name} waits for {}", waiting.what);
        place["message"] = plain(&text);
        place
    });
    let waiting: Vec<Value> = waiting.collect();
    if !waiting.is_empty() {
        result["relatedLocations"] = Value::Array(waiting);
    }
    result
}

/// Returns a run as a code flow.
fn flow(program: &ProgramRecord, run: &Run) -> Value {
    let steps = run.steps.iter().enumerate();
    let steps: Vec<Value> = steps
        .map(|(at, step)| visited(program, run, at + 1, step))
        .collect();
    json!({
        "message": { "text": format!("schedule: {}", program.schedule(&run.schedule)) },
        "threadFlows": [{ "id": "schedule", "locations": steps }],
    })
}

/// Returns a step of a run.
fn visited(program: &ProgramRecord, run: &Run, number: usize, step: &Step) -> Value {
    let (file, label) = step_file(program, step);
    let mut text = format!("{}: {label}", run.name_of(&step.process));
    for change in &step.changes {
        text += &format!("; {}: {} -> {}", change.name, change.from, change.to);
    }
    if let Some(mishap) = &step.mishap {
        text += &format!("; {mishap}");
    }
    let importance = if step.racing || step.mishap.is_some() {
        "essential"
    } else {
        "important"
    };
    let mut location = at(
        &file,
        (step.line > 0).then(|| region(step.line, None, None)),
    );
    location["message"] = plain(&text);
    json!({ "location": location, "executionOrder": number, "importance": importance })
}

/// Returns a mistake or a warning.
fn diagnosed(file: &str, diagnostic: &DiagnosticRecord, rule: (String, usize)) -> Value {
    let level = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let mut text = diagnostic.message.clone();
    if !diagnostic.label.is_empty() {
        text += &format!(": {}", diagnostic.label);
    }
    if let Some(help) = &diagnostic.help {
        text += &format!(" ({help})");
    }
    let span = diagnostic.span;
    let place = span.map(|span| region(span.line, Some(span.column), Some(span.length)));
    let mut result = json!({
        "ruleId": rule.0,
        "ruleIndex": rule.1,
        "level": level,
        "message": plain(&text),
        "locations": [at(file, place)],
    });
    let related = diagnostic.related.iter().map(|related| {
        let span = related.span;
        let region = region(span.line, Some(span.column), Some(span.length));
        let mut place = at(file, Some(region));
        place["message"] = plain(&related.message);
        place
    });
    let related: Vec<Value> = related.collect();
    if !related.is_empty() {
        result["relatedLocations"] = Value::Array(related);
    }
    result
}

fn at_place(program: &ProgramRecord, place: &Place) -> Value {
    let mut region = region(place.line, Some(place.column), None);
    region["snippet"] = json!({ "text": place.text });
    let file = path_of(program, place.file.as_deref());
    at(&file, Some(region))
}

/// Returns a message without links: brackets are escaped if they would be read as a link.
fn plain(text: &str) -> Value {
    if text.contains("](") {
        json!({ "text": text.replace('[', "\\[").replace(']', "\\]") })
    } else {
        json!({ "text": text })
    }
}

/// Returns a location in a file, or the whole file.
fn at(file: &str, region: Option<Value>) -> Value {
    let mut physical = json!({ "artifactLocation": { "uri": uri(shown(file)) } });
    if let Some(region) = region {
        physical["region"] = region;
    }
    json!({ "physicalLocation": physical })
}

/// Returns a region. Lines and columns are numbered from 1. A region with a length lies within one
/// line.
fn region(line: usize, column: Option<usize>, length: Option<usize>) -> Value {
    let mut region = json!({ "startLine": line.max(1) });
    if let Some(column) = column {
        region["startColumn"] = json!(column.max(1));
        if let Some(length) = length {
            region["endColumn"] = json!(column.max(1) + length.max(1));
        }
    }
    region
}

/// Returns a path as a URI: relative, or a `file` URI.
fn uri(path: &str) -> String {
    let path = path.replace(std::path::MAIN_SEPARATOR, "/");
    let path = path.strip_prefix("./").unwrap_or(&path);
    let mut uri = String::new();
    if path.starts_with('/') {
        uri += "file://";
    }
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(byte.into());
            }
            other => uri += &format!("%{other:02X}"),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_are_no_links() {
        assert_eq!(plain("a[0] (b)"), json!({ "text": "a[0] (b)" }));
        assert_eq!(plain("[l](u)"), json!({ "text": "\\[l\\](u)" }));
    }

    #[test]
    fn paths_become_uris() {
        assert_eq!(uri("examples/a b.maz"), "examples/a%20b.maz");
        assert_eq!(uri("/models/ä.maz"), "file:///models/%C3%A4.maz");
        assert_eq!(uri("./models/queue.maz"), "models/queue.maz");
        if cfg!(windows) {
            assert_eq!(uri("models\\queue.maz"), "models/queue.maz");
        } else {
            assert_eq!(uri("models\\queue.maz"), "models%5Cqueue.maz");
        }
    }
}
