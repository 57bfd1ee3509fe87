//! A run as a picture with a lane for each process, in which time runs downwards. [`Lanes`] is the
//! content of the picture, without positions: the boxes of each row and lane, their text, the steps
//! between which locks are held, and under a weak memory model the relations of the execution graph
//! (`relations`). `svg.rs` and `dot.rs` draw it.

mod dot;
mod model;
mod relations;
mod svg;
#[cfg(test)]
mod tests;

use mazurka_core::record::{Kind, Record, Run, Witness};

use crate::verdict::{headline, replayed, title};
use crate::{OneRun, View, witness};

use model::{Arrow, Cell, LaneRow, LockBar, Panel, Style, Tone};
use relations::RelationKind;

/// Limit on the letters of a note above or below a run.
const NOTE_WIDTH: usize = 400;

/// The runs of a record as a picture: one below the other, each with a lane for every process.
///
/// ```
/// use mazurka_core::record::Record;
/// use mazurka_report::Lanes;
///
/// let record = r#"{
///     "version": 2, "command": "check", "algorithm": "optimal", "verdict": "verified",
///     "program": {"file": "calm.maz", "hash": "", "set": []},
///     "scope": {"exhaustive": true, "bounds": []}, "stopped": "complete", "deterministic": true,
///     "executions": 1, "traces": 1, "blocked": 0, "discarded": 0, "deadlocks": 0, "failures": 0,
///     "final_states": 1, "events": 1, "steps": 1, "seconds": 0.0, "witnesses": []
/// }"#;
/// let record: Record = serde_json::from_str(record).unwrap();
/// let picture = Lanes::of_evidence(&record);
/// assert!(picture.svg().contains("there is no run to draw"));
/// ```
#[derive(Clone, Debug)]
pub struct Lanes {
    /// The heading of the picture.
    heading: Vec<String>,
    panels: Vec<Panel>,
    /// The text below the runs.
    foot: Vec<String>,
}

impl Lanes {
    /// Makes a picture of the evidence of `check` or `replay`: every run of every witness. A record
    /// without a witness has no run, and the picture reports that.
    pub fn of_evidence(record: &Record) -> Self {
        let view = View::default();
        let answer = match record.command.as_str() {
            "replay" => replayed(record, &view),
            _ => headline(record, &view),
        };
        let first = answer.lines().next().unwrap_or("");
        let mut heading = vec![format!("{}: {first}", record.program.file)];
        if record.witnesses.is_empty() {
            heading.push("no counterexample was found, so there is no run to draw".to_owned());
        }
        let model = record.memory_model.as_deref();
        let mut panels = Vec::new();
        let mut foot = Vec::new();
        for evidence in &record.witnesses {
            let several = record.witnesses.len() > 1;
            let mut notes = Vec::new();
            if several {
                notes.push(title(evidence));
            }
            notes.extend(explained(record, evidence));
            for (at, run) in evidence.runs.iter().enumerate() {
                let name = match (evidence.runs.len(), at) {
                    (1, _) => "",
                    (_, 0) => "one run",
                    _ => "the other run",
                };
                let notes = std::mem::take(&mut notes);
                panels.push(Panel::new(name, notes, run, &[evidence], model));
            }
            foot.extend(differences(evidence));
        }
        Self {
            heading,
            panels,
            foot,
        }
    }

    /// Makes a picture of one run of one witness, by their indices in the record. Returns `None` if
    /// there is no such run.
    pub fn of_witness(record: &Record, witness: usize, run: usize) -> Option<Self> {
        let evidence = record.witnesses.get(witness)?;
        let shown = evidence.runs.get(run)?;
        let notes = explained(record, evidence);
        let model = record.memory_model.as_deref();
        Some(Self {
            heading: Vec::new(),
            panels: vec![Panel::new("", notes, shown, &[evidence], model)],
            foot: Vec::new(),
        })
    }

    /// Makes a picture of one run, with all its violations.
    pub fn of_run(record: &Record, one: OneRun<'_>) -> Self {
        let file = &record.program.file;
        let mut heading = vec![match one.seed {
            Some(seed) => format!("{file}: a random run, seed {seed}"),
            None => format!("{file}: the run of a schedule"),
        }];
        let mut notes = Vec::new();
        for evidence in &record.witnesses {
            notes.push(title(evidence));
            notes.extend(explained(record, evidence));
        }
        if record.witnesses.is_empty() {
            heading.extend(inputs(one.run));
        }
        let evidence: Vec<&Witness> = record.witnesses.iter().collect();
        let model = record.memory_model.as_deref();
        Self {
            heading,
            panels: vec![Panel::new("", notes, one.run, &evidence, model)],
            foot: Vec::new(),
        }
    }

    /// Returns the meanings of the relations that occur.
    fn relations(&self) -> Vec<&'static str> {
        let arrows = self.panels.iter().flat_map(|panel| &panel.arrows);
        let known: Vec<RelationKind> = arrows.flat_map(|arrow| arrow.kinds.clone()).collect();
        let occurs = |kind: &RelationKind| known.contains(kind);
        let names = RelationKind::ALL.into_iter().filter(occurs);
        names.map(RelationKind::meaning).collect()
    }

    /// Returns a sentence on how many steps and processes are drawn; `None` if all are drawn.
    pub fn left_out(&self) -> Option<String> {
        let parts: Vec<String> = self.panels.iter().filter_map(Panel::left_out).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// Returns the picture as SVG.
    pub fn svg(&self) -> String {
        svg::draw(self)
    }

    /// Returns the picture for Graphviz.
    pub fn dot(&self) -> String {
        dot::draw(self)
    }
}

/// Returns the place of a violation, the values there, and the inputs.
fn explained(record: &Record, evidence: &Witness) -> Vec<String> {
    let mut text = witness::place(record, evidence);
    text += &witness::values(&evidence.values);
    text += &witness::inputs(&evidence.inputs());
    let mut lines: Vec<String> = text.lines().map(|line| line.trim().to_owned()).collect();
    if let Some(condition) = &evidence.condition {
        lines.push(format!("for all inputs with {condition}"));
    }
    lines
}

fn inputs(run: &Run) -> Vec<String> {
    let text = witness::inputs(&run.inputs);
    text.lines().map(|line| line.trim().to_owned()).collect()
}

/// Returns the differences between the ends of two runs.
fn differences(evidence: &Witness) -> Vec<String> {
    if evidence.kind != Kind::Nondeterminism {
        return Vec::new();
    }
    let line = |d: &mazurka_core::record::Difference| {
        format!(
            "{} = {} in the one, {} in the other",
            d.name, d.first, d.second
        )
    };
    let lines = evidence.differs.iter().map(line);
    std::iter::once("what differs at the end:".to_owned())
        .chain(lines)
        .collect()
}
