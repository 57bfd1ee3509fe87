//! Checkpoints for searches that take hours: progress is saved, and a later run of the test
//! continues from there.
//!
//! A search of interleavings is divided into parts (`mazurka_explore::Parts`), which depend on the
//! program alone. A checkpoint holds the remaining parts, the counts of the finished ones, and the
//! facts that the search has learned about the program, which every part must know (facts.rs). A
//! search through execution graphs has no parts: its checkpoint holds the position where it stopped
//! (weak/saved.rs).
//!
//! A checkpoint belongs to one build of the test, one call of `model` and one choice of settings.
//! If any of these differs, a message says so and the search starts again. The checkpoint is
//! removed when the search finishes or finds a failure.
//!
//! A search starts again when it learns something new about the program (`SearchAbort::Restart`).
//! If the search has continued from a checkpoint, it then ignores this checkpoint.

use std::cell::{Cell, RefCell};
use std::hash::Hasher;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use mazurka_core::Kinds;
use mazurka_explore::{Findings, Goal, Part, Parts, Search, Stateless};
use mazurka_memory::Memory;
use rustc_hash::FxHasher;
use serde_json::{Value, json};

use crate::builder::{Builder, Summary};
use crate::check::{Orders, WeakOrder, with_restarts};
use crate::report::About;
use crate::simulate::Simulator;
use crate::{facts, say};

/// The version of the file format.
const VERSION: u64 = 2;
/// Minimum time between two saves.
pub(crate) const EVERY: Duration = Duration::from_secs(5);

/// The file in which the search of a test is saved, and the search that was read from it.
pub(crate) struct Checkpoint {
    file: say::Saved,
    /// Identifies the build, the model and the settings; a saved search must have the same key.
    key: Value,
    /// The saved search. `None` if there is none, or if a search has already continued from it.
    before: RefCell<Option<Value>>,
    /// Behaviour that earlier runs of the test left unexplored, in the form of [`assumptions`].
    assumed: RefCell<Option<Value>>,
    /// Whether this search has continued from a checkpoint.
    pub resumed: Cell<bool>,
}

/// The stage of a check: what is being explored, and why.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stage {
    /// Interleavings, until the program uses an ordering weaker than sequential consistency.
    Watched,
    /// Interleavings, with all orderings explored as `SeqCst`. The text is the reason why rc11
    /// refused the program, if it was tried.
    Accepted(Option<String>),
    /// Execution graphs under this memory model.
    Graphs(Memory),
}

impl Stage {
    pub fn of(orders: &Orders) -> Self {
        match orders {
            Orders::Watched => Self::Watched,
            Orders::Accepted(why) => Self::Accepted(why.clone()),
        }
    }

    fn write(&self) -> Value {
        match self {
            Self::Watched => json!("watched"),
            Self::Accepted(why) => json!({ "accepted": why }),
            Self::Graphs(memory) => json!(memory.to_string()),
        }
    }

    fn read(value: &Value) -> Option<Self> {
        if let Some(accepted) = value.get("accepted") {
            return Some(Self::Accepted(accepted.as_str().map(ToOwned::to_owned)));
        }
        match value.as_str()? {
            "watched" => Some(Self::Watched),
            memory => memory.parse().ok().map(Self::Graphs),
        }
    }
}

impl Checkpoint {
    /// Returns the checkpoint of a model, if the settings ask for one.
    pub fn of(settings: &Builder, about: &About) -> Option<Self> {
        let folder = settings.checkpoint.as_ref()?;
        // A search with this bound has no parts.
        if settings.max_preemptions.is_some() {
            return None;
        }
        let file = say::Saved::new(folder, about.place);
        // Settings that may change between runs: the limits and the output.
        let same = Builder {
            checkpoint: None,
            time_limit: None,
            max_steps: None,
            max_executions: None,
            require_complete: false,
            quiet: false,
            ..settings.clone()
        };
        let key = json!({
            "mazurka-rt": env!("CARGO_PKG_VERSION"),
            "checkpoint": VERSION,
            "program": checksum(&say::this_program()),
            "model": format!("{} {}", about.place, about.body),
            "settings": format!("{same:?}"),
        });
        let before = file.read().and_then(|text| match opened(&text) {
            Some(saved) if saved["key"] == key => Some(saved),
            Some(_) => {
                file.tell(&"it is of another build, or was made with other settings; the search starts anew");
                None
            }
            None => {
                file.tell(&"it is damaged; the search starts anew");
                None
            }
        });
        let assumed = before
            .as_ref()
            .and_then(|saved| saved.get("assumed").cloned());
        Some(Self {
            file,
            key,
            before: RefCell::new(before),
            assumed: RefCell::new(assumed),
            resumed: Cell::new(false),
        })
    }

    /// Returns the stage of the saved search, if there is one.
    pub fn stage(&self) -> Option<Stage> {
        let before = self.before.borrow();
        before
            .as_ref()
            .and_then(|saved| Stage::read(&saved["stage"]))
    }

    /// Takes the saved search, if it is at this stage.
    pub fn take(&self, stage: &Stage) -> Option<Value> {
        (self.stage().as_ref() == Some(stage))
            .then(|| self.before.take())
            .flatten()
    }

    /// Forgets earlier runs, because the search starts again.
    pub fn start_anew(&self) {
        self.resumed.set(false);
        self.before.take();
        self.assumed.take();
    }

    /// Saves a search: its stage, the facts it has learned, and its progress.
    pub fn save(&self, stage: &Stage, summary: &Summary, facts: &str, rest: Value) {
        let saved = json!({
            "key": self.key,
            "stage": stage.write(),
            "assumed": assumptions(&self.add_earlier(summary.clone())),
            "facts": facts,
            "rest": rest,
        });
        self.file.write(&sealed(&saved));
    }

    /// Removes the file: the search has ended, or has found a failure.
    pub fn remove(&self) {
        self.file.remove();
    }

    /// Returns the reason why rc11 refused the program in an earlier run, if it did.
    pub fn refused(&self) -> Option<String> {
        match self.stage()? {
            Stage::Accepted(why) => why,
            Stage::Watched | Stage::Graphs(_) => None,
        }
    }

    /// Reports that the saved search cannot be used.
    pub fn tell_damage(&self) {
        self.file.tell(&"it is damaged; the search starts anew");
    }

    /// Adds the behaviour that earlier runs of the test left unexplored to a summary.
    pub fn add_earlier(&self, mut summary: Summary) -> Summary {
        summary.resumed = self.resumed.get();
        let assumed = self.assumed.borrow();
        let Some(assumed) = assumed.as_ref() else {
            return summary;
        };
        let text = |name: &str| assumed[name].as_str().map(ToOwned::to_owned);
        summary.suspended_spins |= assumed["spins"] == true;
        summary.weak_orderings |= assumed["weak"] == true;
        let add = |mine: &mut Option<String>, name| *mine = mine.take().or_else(|| text(name));
        add(&mut summary.spurious_left_out, "spurious");
        add(&mut summary.rounds_left_out, "rounds");
        add(&mut summary.undecided, "undecided");
        add(&mut summary.values_left_out, "values");
        summary
    }

    /// Explores interleavings in parts, up to the first failure.
    pub fn search(
        &self,
        settings: &Builder,
        simulator: &mut Simulator,
        orders: &Orders,
    ) -> Result<Findings, WeakOrder> {
        let stage = Stage::of(orders);
        // An earlier run has reached a later stage.
        if orders.are_watched() && self.stage().is_some_and(|saved| saved != stage) {
            return Err(WeakOrder);
        }
        simulator.switches = orders.are_watched();
        let start = Instant::now();
        let mut saved = self.take(&stage);
        let result = with_restarts(simulator, |simulator| {
            let search = Search {
                algorithm: settings.algorithm,
                limits: settings.after(start.elapsed()).limits(),
                goal: Goal::Violation(Kinds::FAULTS),
            };
            let resumed = saved.take().and_then(|saved| {
                let parts = parts_of(&saved, simulator, search.clone());
                if parts.is_none() {
                    self.tell_damage();
                }
                parts
            });
            self.resumed.set(resumed.is_some());
            let mut parts = resumed.unwrap_or_else(|| {
                self.start_anew();
                simulator.start_anew();
                Parts::of(simulator, search)
            });
            let mut save = |parts: &Parts, simulator: &Simulator| {
                let summary = simulator.inner(|inner| Summary::new(inner));
                let facts = facts::all(simulator).join(" ");
                self.save(&stage, &summary, &facts, written(parts));
            };
            let go_on = &mut |_: &_| ControlFlow::Continue(());
            let found = parts.run_here(simulator, go_on, EVERY, &mut save);
            if parts.left.is_empty() || !found.kinds().is_empty() {
                self.remove()
            } else {
                save(&parts, simulator)
            }
            found
        });
        (simulator.searching, simulator.switches) = (false, false);
        result.map(|mut found| {
            found.bounds = settings.as_asked(found.bounds);
            found
        })
    }
}

/// Returns the entries of a summary about unexplored behaviour.
fn assumptions(summary: &Summary) -> Value {
    json!({
        "spins": summary.suspended_spins,
        "weak": summary.weak_orderings,
        "spurious": summary.spurious_left_out,
        "rounds": summary.rounds_left_out,
        "undecided": summary.undecided,
        "values": summary.values_left_out,
    })
}

/// Serialises the remaining parts, and the counts of the finished ones.
fn written(parts: &Parts) -> Value {
    let part = |part: &Part| {
        let asleep: Vec<String> = part.asleep.iter().map(ToString::to_string).collect();
        json!([part.prefix.to_string(), asleep, part.share])
    };
    json!({
        "counts": parts.found.counts,
        "bounds": parts.found.bounds,
        "seconds": parts.found.elapsed.as_secs_f64(),
        "parts": parts.left.iter().map(part).collect::<Vec<_>>(),
    })
}

/// Reads the parts of a saved search, and gives the program the facts that the search had learned.
/// Returns `None` if the file is damaged.
fn parts_of(saved: &Value, simulator: &mut Simulator, search: Search<Stateless>) -> Option<Parts> {
    for fact in saved["facts"].as_str()?.split_whitespace() {
        facts::give(simulator, fact).ok().filter(|known| *known)?;
    }
    simulator.start_anew();
    let rest = &saved["rest"];
    let mut parts = Parts::none(search);
    parts.found.counts = serde_json::from_value(rest["counts"].clone()).ok()?;
    parts.found.bounds = serde_json::from_value(rest["bounds"].clone()).ok()?;
    parts.found.elapsed = Duration::try_from_secs_f64(rest["seconds"].as_f64()?).ok()?;
    for part in rest["parts"].as_array()? {
        let (prefix, asleep, share): (String, Vec<String>, f64) =
            serde_json::from_value(part.clone()).ok()?;
        let asleep = asleep.iter().map(|path| path.parse().ok());
        parts.left.push(Part {
            prefix: prefix.parse().ok()?,
            asleep: asleep.collect::<Option<_>>()?,
            share,
        });
    }
    parts.fit(simulator).ok()?;
    Some(parts)
}

fn checksum(bytes: &[u8]) -> String {
    let mut hasher = FxHasher::default();
    hasher.write(bytes);
    format!("{:016x}", hasher.finish())
}

/// Returns the text of a file: a checksum in the first line, then the JSON.
fn sealed(saved: &Value) -> String {
    let text = saved.to_string();
    format!("{}\n{text}\n", checksum(text.as_bytes()))
}

/// Returns the contents of a file, if its checksum matches.
fn opened(text: &str) -> Option<Value> {
    let (sum, rest) = text.split_once('\n')?;
    let rest = rest.trim_end();
    (sum == checksum(rest.as_bytes())).then(|| serde_json::from_str(rest).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_is_not_used() {
        let saved = json!({ "stage": "watched", "parts": [1, 2, 3] });
        let text = sealed(&saved);
        assert_eq!(opened(&text), Some(saved));
        for at in 0..text.trim_end().len() {
            let changed = format!("{}{}", &text[..at], &text[at + 1..]);
            assert_eq!(opened(&changed), None, "{changed}");
        }
        assert_eq!(opened(""), None);
    }

    #[test]
    fn stages_come_back() {
        let refused = Stage::Accepted(Some("a bound".into()));
        let plain = Stage::Accepted(None);
        for stage in [Stage::Watched, plain, refused, Stage::Graphs(Memory::Rc11)] {
            assert_eq!(Stage::read(&stage.write()), Some(stage));
        }
        assert_eq!(Stage::read(&json!("nonsense")), None);
    }
}
