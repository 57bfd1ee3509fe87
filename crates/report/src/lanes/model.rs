//! The content of a picture of lanes: the boxes of each row and lane, and their text. The picture
//! of a long run leaves out steps in the middle and lanes of less interest.

use mazurka_core::record::{EndStatus, Ending, Kind, ProcessEnd, Run, Step, Waiting, Witness};

use super::NOTE_WIDTH;
use super::relations::{Relation, RelationKind, relations};
use crate::events::{bindings, marks, values};
use crate::{clip, counted};

/// Limit on the steps, and on the lanes, of a picture.
const MOST: usize = 400;
/// Limit on the letters of a line in a box, and of the name of a lane.
const BOX_WIDTH: usize = 40;

/// The part of the picture that shows one run.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    /// The name of the run, if there are several.
    pub name: String,
    /// The text above the run.
    pub notes: Vec<String>,
    pub lanes: Vec<Lane>,
    pub rows: Vec<LaneRow>,
    pub locks: Vec<LockBar>,
    /// The relations of the execution graph, under a weak memory model.
    pub arrows: Vec<Arrow>,
    /// The lines about how the run ends: for each, whether it states a violation, and its text.
    pub ending: Vec<(bool, String)>,
    /// For an infinite run: the first and the last row of the part that repeats.
    pub repeats: Option<(usize, usize)>,
    /// How many steps and how many processes the run has, including those that are not drawn.
    steps: usize,
    processes: usize,
    /// How many steps are drawn.
    drawn: usize,
}

/// A process.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    /// Its name in the schedule.
    pub process: String,
    /// Its name in the source.
    pub name: String,
    /// Whether it has ended, so that the lane ends with its last step.
    pub ended: bool,
}

/// A row: the boxes at one height.
#[derive(Clone, Debug)]
pub(crate) struct LaneRow {
    /// The number of the step, from 1; `None` if the row shows no step.
    pub number: Option<usize>,
    pub cells: Vec<Cell>,
    /// A remark across all lanes.
    pub note: String,
}

/// A box in a lane.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub lane: usize,
    /// The lines of the box, shortened.
    pub lines: Vec<(Tone, String)>,
    /// The lines of the box in full, for a tooltip.
    pub title: String,
    pub style: Style,
    /// Whether the step races with another.
    pub racing: bool,
}

/// The tone of a line of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// A neutral line.
    Plain,
    /// A race.
    Race,
    /// A mishap.
    Bad,
}

/// The kind of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// A step.
    Plain,
    /// A step that races with another.
    Racing,
    /// A step in which something fails.
    Failure,
    /// A step that halts a process without a failure.
    Halted,
    /// A process that waits at the end.
    Waiting,
    /// A process that could continue at the end.
    Ready,
}

/// A lock that is held.
#[derive(Clone, Debug)]
pub(crate) struct LockBar {
    pub lane: usize,
    pub name: String,
    /// The first row.
    pub from: usize,
    /// The last row.
    pub to: usize,
    /// The description in words.
    pub title: String,
}

/// A relation between two steps.
#[derive(Clone, Debug)]
pub(crate) struct Arrow {
    /// The row and the lane of the first step.
    pub from: (usize, usize),
    /// The row and the lane of the second step.
    pub to: (usize, usize),
    pub kinds: Vec<RelationKind>,
    pub title: String,
}

impl Arrow {
    /// Returns the text beside it.
    pub fn label(&self) -> String {
        let names: Vec<&str> = self.kinds.iter().map(|kind| kind.short()).collect();
        names.join(" ")
    }

    /// Returns the kind that determines how the arrow is drawn.
    pub fn style(&self) -> RelationKind {
        self.kinds[0]
    }
}

/// A run, and data about it that the boxes need.
struct RunFacts<'a> {
    run: &'a Run,
    evidence: &'a [&'a Witness],
    ends: Vec<ProcessEnd>,
    /// For each step, a note on the steps that it races with.
    marks: Vec<String>,
    /// The steps that are drawn.
    drawn: Vec<usize>,
}

impl Panel {
    /// Makes the panel of a run that is evidence for some violations.
    pub fn new(
        name: &str,
        notes: Vec<String>,
        run: &Run,
        evidence: &[&Witness],
        model: Option<&str>,
    ) -> Self {
        let facts = RunFacts {
            run,
            evidence,
            ends: ends(run, evidence),
            marks: marks(run),
            drawn: drawn_steps(run),
        };
        let mut panel = Self {
            name: name.to_owned(),
            notes: notes.iter().map(|note| clip(note, NOTE_WIDTH)).collect(),
            drawn: facts.drawn.len(),
            steps: run.steps.len(),
            processes: facts.ends.len(),
            lanes: lanes(run, &facts.ends, &facts.drawn),
            rows: Vec::new(),
            locks: Vec::new(),
            arrows: Vec::new(),
            ending: ending(run, evidence),
            repeats: None,
        };
        let lasso = evidence.iter().find_map(|witness| witness.lasso);
        let places = panel.add_steps(&facts, lasso);
        panel.add_ends(run, &facts.ends);
        panel.locks = panel.held(run, &places);
        let related = relations(run, model);
        panel.arrows = related
            .into_iter()
            .filter_map(|relation| panel.arrow(&places, relation))
            .collect();
        panel
    }

    /// Returns a relation between two steps as an arrow between their boxes, or `None` if one of
    /// them is not drawn.
    fn arrow(&self, places: &[usize], relation: Relation) -> Option<Arrow> {
        let place = |at: usize| {
            let row = places[at];
            let drawn = self.rows[row].number == Some(at + 1);
            let cell = self.rows[row].cells.first().filter(|_| drawn)?;
            Some((row, cell.lane))
        };
        Some(Arrow {
            from: place(relation.from)?,
            to: place(relation.to)?,
            title: format!("step {} to step {}", relation.from + 1, relation.to + 1),
            kinds: relation.kinds,
        })
    }

    fn lane_of(&self, process: &str) -> Option<usize> {
        let mut lanes = self.lanes.iter();
        lanes.position(|lane| lane.process == process)
    }

    /// Adds a row for each step that is drawn. Returns the row of each step, including those that
    /// are left out.
    fn add_steps(&mut self, facts: &RunFacts<'_>, lasso: Option<usize>) -> Vec<usize> {
        let drawn = &facts.drawn;
        let last = facts.run.steps.len();
        let mut places = Vec::with_capacity(last);
        let mut first_of_loop = None;
        if let Some(stem) = lasso.filter(|&stem| stem > 0) {
            let stem = format!("stem: {}", steps_from(1, stem));
            self.rows.push(LaneRow::note(stem));
        }
        for at in 0..last {
            if lasso == Some(at) {
                let looped = steps_from(at + 1, last);
                self.rows
                    .push(LaneRow::note(format!("loop: {looped}, for ever")));
                first_of_loop = Some(self.rows.len());
            }
            match drawn.binary_search(&at) {
                Ok(_) => {
                    let cell = self.step_box(facts, at);
                    self.rows.push(LaneRow {
                        number: Some(at + 1),
                        cells: cell.into_iter().collect(),
                        note: String::new(),
                    });
                }
                Err(next) if at == 0 || drawn.binary_search(&(at - 1)).is_ok() => {
                    let until = drawn.get(next).copied().unwrap_or(last);
                    let what = counted((until - at) as u64, "step", "steps");
                    self.rows
                        .push(LaneRow::note(format!("… {what} left out …")));
                }
                Err(_) => {}
            }
            places.push(self.rows.len() - 1);
        }
        if let (Some(first), Some(stem)) = (first_of_loop, lasso) {
            self.repeats = Some((first, self.rows.len() - 1));
            let back = format!("↺ back to step {}: the state is the same again", stem + 1);
            self.rows.push(LaneRow::note(back));
        }
        places
    }

    /// Returns the box of a step; `None` if its lane is left out.
    fn step_box(&self, facts: &RunFacts<'_>, at: usize) -> Option<Cell> {
        let step = &facts.run.steps[at];
        let lane = self.lane_of(&step.process)?;
        let mut full = vec![
            (Tone::Plain, step.label.clone()),
            (Tone::Plain, values(step)),
            (Tone::Race, facts.marks[at].clone()),
        ];
        full.retain(|(_, line)| !line.is_empty());
        let halted = step.mishap.as_ref().map(|text| {
            let style = facts.style(text, step);
            let word = if style == Style::Failure {
                "failure"
            } else {
                "halted"
            };
            (style, with_prefix(word, text))
        });
        let style = match (&halted, step.racing) {
            (Some((style, _)), _) => *style,
            (None, true) => Style::Racing,
            (None, false) => Style::Plain,
        };
        full.extend(halted.map(|(_, text)| (Tone::Bad, format!("✗ {text}"))));
        let process = &self.lanes[lane].name;
        let title = format!(
            "step {} of {process}, line {}\n{}",
            at + 1,
            step.line,
            joined(&full, "\n")
        );
        Some(Cell {
            lane,
            lines: clip_lines(full),
            title,
            style,
            racing: step.racing,
        })
    }

    /// Adds a row with the status of the processes at the end.
    fn add_ends(&mut self, run: &Run, ends: &[ProcessEnd]) {
        let mut cells = Vec::new();
        for end in ends {
            let Some(lane) = self.lane_of(&end.process) else {
                continue;
            };
            let (style, full) = match end.status {
                EndStatus::Waiting => (Style::Waiting, waits(run, end)),
                EndStatus::Ready if self.repeats.is_none() => (
                    Style::Ready,
                    vec![(Tone::Plain, "could continue".to_owned())],
                ),
                EndStatus::Failed if !self.is_halted(lane) => {
                    let text = "✗ failed before any step".to_owned();
                    (Style::Failure, vec![(Tone::Bad, text)])
                }
                EndStatus::Discarded | EndStatus::Lost if !self.is_halted(lane) => {
                    let text = "halted before any step".to_owned();
                    (Style::Halted, vec![(Tone::Plain, text)])
                }
                _ => continue,
            };
            cells.push(Cell {
                lane,
                title: format!("{}: {}", self.lanes[lane].name, joined(&full, ", ")),
                lines: clip_lines(full),
                style,
                racing: false,
            });
        }
        if !cells.is_empty() {
            self.rows.push(LaneRow {
                number: None,
                cells,
                note: String::new(),
            });
        }
    }

    /// Whether a box of the lane shows that the process was halted. Also true if steps are left
    /// out, because one of them may have halted it.
    fn is_halted(&self, lane: usize) -> bool {
        let mut cells = self.rows.iter().flat_map(|row| &row.cells);
        let halts = |cell: &Cell| matches!(cell.style, Style::Failure | Style::Halted);
        self.drawn < self.steps || cells.any(|cell| cell.lane == lane && halts(cell))
    }

    /// Returns the locks that processes hold, each from the step that acquires it to the step that
    /// releases it, or to the end.
    fn held(&self, run: &Run, places: &[usize]) -> Vec<LockBar> {
        let mut held: Vec<LockBar> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        let end = self.rows.len().saturating_sub(1);
        for (at, step) in run.steps.iter().enumerate() {
            let Some(lane) = self.lane_of(&step.process) else {
                continue;
            };
            for change in &step.locks {
                if change.held {
                    open.push(held.len());
                    held.push(LockBar {
                        lane,
                        name: change.name.clone(),
                        from: places[at],
                        to: end,
                        title: format!("{} is held from step {} to the end", change.name, at + 1),
                    });
                    continue;
                }
                let own =
                    |&place: &usize| held[place].lane == lane && held[place].name == change.name;
                if let Some(place) = open.iter().position(own) {
                    let known = &mut held[open.swap_remove(place)];
                    known.to = places[at];
                    let until = format!("to step {}", at + 1);
                    known.title = known.title.replace("to the end", &until);
                }
            }
        }
        // A lock held only within steps that are left out is not shown.
        held.retain(|held| held.from != held.to || self.rows[held.from].note.is_empty());
        held
    }

    /// Returns how many steps and processes of the run are drawn, in words; `None` if all are
    /// drawn.
    pub fn left_out(&self) -> Option<String> {
        let mut parts = Vec::new();
        if self.drawn < self.steps {
            parts.push(format!("{} of {} steps are drawn", self.drawn, self.steps));
        }
        if self.lanes.len() < self.processes {
            let (drawn, all) = (self.lanes.len(), self.processes);
            parts.push(format!("{drawn} of {all} processes are drawn"));
        }
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

impl LaneRow {
    fn note(note: String) -> Self {
        Self {
            number: None,
            cells: Vec::new(),
            note,
        }
    }
}

/// Shortens lines so that they fit into a box.
fn clip_lines(lines: Vec<(Tone, String)>) -> Vec<(Tone, String)> {
    let line = |(tone, line): (Tone, String)| (tone, clip(&line, BOX_WIDTH));
    lines.into_iter().map(line).collect()
}

fn joined(lines: &[(Tone, String)], separator: &str) -> String {
    let lines: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
    lines.join(separator)
}

/// Returns `step 3` for one step, and `steps 3–5` for several.
fn steps_from(first: usize, last: usize) -> String {
    if first == last {
        format!("step {first}")
    } else {
        format!("steps {first}–{last}")
    }
}

/// Returns a message preceded by a word, unless it begins with that word.
fn with_prefix(word: &str, message: &str) -> String {
    if message.to_lowercase().starts_with(word) {
        message.to_owned()
    } else {
        format!("{word}: {message}")
    }
}

impl RunFacts<'_> {
    /// Returns the style of a step with a mishap, which may be a failure or not.
    fn style(&self, mishap: &str, step: &Step) -> Style {
        let counts =
            |witness: &&Witness| witness.kind == Kind::Failure && witness.message == mishap;
        let end = self.ends.iter().find(|end| end.process == step.process);
        match end.map(|end| end.status) {
            _ if self.evidence.iter().any(counts) => Style::Failure,
            Some(EndStatus::Discarded | EndStatus::Lost) => Style::Halted,
            _ => Style::Failure,
        }
    }
}

/// Returns what a process waits for, and which process holds it.
fn waits(run: &Run, end: &ProcessEnd) -> Vec<(Tone, String)> {
    let what = end.waits_for.as_deref().unwrap_or("something");
    let mut lines = vec![(Tone::Bad, format!("waits for {what}"))];
    lines.extend(end.held_by.as_ref().map(|holder| {
        if *holder == end.process {
            (Tone::Bad, "which it holds itself".to_owned())
        } else {
            (Tone::Bad, format!("held by {}", run.name_of(holder)))
        }
    }));
    lines
}

/// Returns the status of every process at the end of the run. An older record contains it only for
/// some processes; for the other processes, the status is derived from the witnesses.
fn ends(run: &Run, evidence: &[&Witness]) -> Vec<ProcessEnd> {
    if !run.processes.is_empty() {
        return run.processes.clone();
    }
    let waiting: Vec<&Waiting> = evidence
        .iter()
        .flat_map(|witness| &witness.waiting)
        .collect();
    let named = run.names.iter().map(|(number, _)| number);
    let stepping = run.steps.iter().map(|step| &step.process);
    let enabled = run.steps.iter().flat_map(|step| &step.enabled);
    let stuck = waiting.iter().map(|waiting| &waiting.process);
    let mut all: Vec<&String> = named.chain(stepping).chain(enabled).chain(stuck).collect();
    all.sort_by_key(|process| numbers(process));
    all.dedup();
    let end = |process: &String| {
        let own = waiting.iter().find(|waiting| waiting.process == *process);
        ProcessEnd {
            process: process.clone(),
            status: match own {
                Some(_) => EndStatus::Waiting,
                None => EndStatus::Ended,
            },
            waits_for: own.map(|own| own.what.clone()),
            held_by: own.and_then(|own| own.held_by.clone()),
        }
    };
    all.into_iter().map(end).collect()
}

/// Returns the numbers in the name of a process: 0 and 10 for `0.10`. Processes are sorted by them,
/// so that `0.9` comes before `0.10`.
fn numbers(process: &str) -> Vec<u64> {
    let parts = process
        .split('.')
        .map(|part| part.parse().unwrap_or(u64::MAX));
    parts.collect()
}

/// Returns the steps that are drawn: all, or the first, the last, the racing ones and the first
/// that fails.
fn drawn_steps(run: &Run) -> Vec<usize> {
    let all = run.steps.len();
    let left_out = if all > MOST {
        MOST / 2..all - MOST / 2
    } else {
        0..0
    };
    // Only the first failing step is special, because an invariant may be violated in every step.
    let fails = run.steps.iter().position(|step| step.mishap.is_some());
    let special = |at: usize| run.steps[at].racing || fails == Some(at);
    (0..all)
        .filter(|&at| !left_out.contains(&at) || special(at))
        .collect()
}

/// Returns the lanes that are drawn. If there are too many processes, those with a drawn step come
/// first, then those that have not ended.
fn lanes(run: &Run, ends: &[ProcessEnd], drawn: &[usize]) -> Vec<Lane> {
    let acts = |process: &str| drawn.iter().any(|&at| run.steps[at].process == process);
    let mut order: Vec<usize> = (0..ends.len()).collect();
    if ends.len() > MOST {
        let rank = |&at: &usize| match ends[at].status {
            _ if acts(&ends[at].process) => 0,
            EndStatus::Ended | EndStatus::Ready => 2,
            _ => 1,
        };
        order.sort_by_key(rank);
        order.truncate(MOST);
        order.sort_unstable();
    }
    let lane = |at: usize| {
        let end = &ends[at];
        Lane {
            process: end.process.clone(),
            name: lane_name(run, &end.process),
            ended: end.status == EndStatus::Ended,
        }
    };
    order.into_iter().map(lane).collect()
}

/// Returns the name of a process; for a task of an actor, its object, its method and its name in
/// the schedule.
fn lane_name(run: &Run, process: &str) -> String {
    let name = run.name_of(process);
    let mut actors = run.steps.iter().filter(|step| step.process == process);
    match actors.find_map(|step| step.actor.as_deref()) {
        Some(actor) if actor.object == actor.task => format!("{} {name}", actor.task),
        Some(actor) => format!("{}.{} {name}", actor.object, actor.task),
        None if name == process => format!("process {name}"),
        None => name.to_owned(),
    }
}

/// Returns how the run ends, violations first, and the state.
fn ending(run: &Run, evidence: &[&Witness]) -> Vec<(bool, String)> {
    let mut lines = Vec::new();
    for witness in evidence {
        let in_a_step = |step: &Step| step.mishap.as_ref() == Some(&witness.message);
        let text = crate::verdict::title(witness);
        match witness.kind {
            Kind::Failure if run.steps.iter().any(in_a_step) => {}
            Kind::Failure if run.steps.is_empty() => {
                lines.push((true, format!("✗ before any step: {text}")));
            }
            Kind::Nondeterminism => {}
            _ => lines.push((true, format!("✗ {text}"))),
        }
    }
    let lasso = evidence.iter().any(|witness| witness.lasso.is_some());
    lines.extend(match run.ending {
        _ if lasso => None,
        Ending::Final => Some((false, "final: every process has ended".to_owned())),
        Ending::Discarded => Some((false, "discarded: an `assume` is false".to_owned())),
        Ending::Lost => Some((false, "cut within a step".to_owned())),
        Ending::Open => Some((false, "the run stops here".to_owned())),
        Ending::Deadlock if lines.is_empty() => {
            Some((true, "✗ deadlock: no process can continue".to_owned()))
        }
        Ending::Deadlock | Ending::Failure => None,
    });
    if !run.state.is_empty() {
        let state = clip(&bindings(&run.state), NOTE_WIDTH);
        lines.push((false, format!("then: {state}")));
    }
    lines
}
