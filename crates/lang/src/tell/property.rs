//! A property of states that is stated outside the program, for example as an argument of `reach`:
//! `x == 1 && at(p, 12)`. It is an expression over the shared variables and over *points*. The
//! point `at(p, 12)` holds if the next step of process p is in line 12.
//!
//! The text is compiled as the condition of an `ensures` at the end of the program, so expressions
//! have the same meaning as in the program. A program cannot contain points, so each point is first
//! replaced by an additional variable. `deadlock` is about the whole state, so it must be the whole
//! property or an operand of a top-level `&&`.

mod places;

use mazurka_core::{ProcessId, ProcessNames, ProcessPath};

use crate::check::hir::{self, Expr, VarId};
use crate::check::{Setting, load};
use crate::code::compile::{compile, process_names};
use crate::code::fault::Fault;
use crate::code::{Code, Op};
use crate::run::evaluate;
use crate::run::machine::Machine;
use mazurka_diagnostics::{Diagnostic, MARK, Span};

/// A compiled property.
///
/// ```
/// use mazurka_lang::Property;
/// let program = "var x: int = 0\nprocess { x := 1;\n x := 2 }";
/// let property = Property::read(program, &[], "x == 1 && at(0, 3)").unwrap();
/// assert_eq!(property.cells(), [0]);
/// assert!(property.holds(&|_| 1, &[true]));
/// assert!(!property.holds(&|_| 1, &[false]));
/// assert!(Property::read(program, &[], "y == 1").is_err());
/// assert!(Property::read(program, &[], "at(7, 3)").is_err());
/// let stuck = Property::read(program, &[], "deadlock && at(0, 3)").unwrap();
/// assert!(stuck.deadlock() && stuck.holds(&|_| 1, &[true]));
/// assert!(Property::read(program, &[], "deadlock || x == 1").is_err());
/// let named = "var x: int = 0\nprocess p (i in 4..6) { x := i }";
/// let property = Property::read(named, &[], "at(p(5), 2)").unwrap();
/// assert_eq!(property.points()[0].0.to_string(), "1");
/// ```
#[derive(Clone, Debug)]
pub struct Property {
    snippet: Vec<Op>,
    cells: Vec<u32>,
    /// The points, each as a process and the line of its next step.
    points: Vec<(ProcessPath, usize)>,
    /// The first cell of the additional variables that replace points.
    first_point: u32,
    deadlock: bool,
    expr: Expr,
    /// The program with the additional variables that replace points.
    pub(crate) code: std::sync::Arc<Code>,
}

/// The reason why a text is not a property of a program.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BadProperty {
    /// An `at` is malformed.
    #[error("{0}; write the name of a process and a line, as in `at(0.1, 12)`")]
    Point(String),
    /// `deadlock` is used at a place where it is not allowed.
    #[error("`deadlock` stands alone or beside `&&`, as in `deadlock && (x == 1 || at(0, 12))`")]
    Deadlock,
    /// An `at` names a process that never exists, or a line at which the process never is.
    #[error("{0}")]
    Nowhere(String),
    /// The text is not a condition over the program's shared variables.
    #[error("this is not a condition over the program's shared variables")]
    Mistakes {
        /// The text that was read: the program, and the property after it.
        text: String,
        /// The mistakes in it.
        mistakes: Vec<Diagnostic>,
    },
}

impl Property {
    /// Reads a property of a program.
    pub fn read(source: &str, settings: &[Setting], text: &str) -> Result<Self, BadProperty> {
        // The prefix of names that the program does not use.
        let mut prefix = "at_point".to_owned();
        while source.contains(&prefix) || text.contains(&prefix) {
            prefix.push('_');
        }
        // Mistakes of the program are reported later, when the property is compiled with it.
        let program = load(source, settings).ok();
        let names = program.as_ref().map(process_names).unwrap_or_default();
        let labels = program.as_ref().map(|program| program.labels.clone());
        let line_of = |place: &str| {
            if let Ok(line) = place.parse() {
                return Some(own_line(source, line));
            }
            let span = labels.as_ref()?.get(place)?;
            Some(span.line_of_all(source))
        };
        let is_variable = |program: hir::Program| program.vars.iter().any(|v| v.name == "deadlock");
        // A label may have the name `deadlock`, so points are replaced first.
        let (replaced, points) =
            points(text, &prefix, &names, &line_of).map_err(BadProperty::Point)?;
        let (replaced, deadlock) = if program.is_some_and(is_variable) {
            (replaced, false)
        } else {
            deadlocks(&replaced).ok_or(BadProperty::Deadlock)?
        };
        let mut all = format!("{source}\n");
        for at in 0..points.len() {
            all += &format!("var {prefix}{at}: bool = false\n");
        }
        all += &format!("ensures {replaced}\n");
        let bad = |mistakes| BadProperty::Mistakes {
            text: all.clone(),
            mistakes,
        };
        let program = load(&all, settings).map_err(bad)?;
        let code = compile(&program, &all).map_err(bad)?;
        for (process, line) in &points {
            places::check(&code, process, *line).map_err(BadProperty::Nowhere)?;
        }
        let checked = &code.ensures[code.ensures.len() - 1];
        let snippet = code.snippets[checked.snippet as usize].clone();
        // The variables of points are found by name, because variables of objects may come after
        // them.
        let first_name = format!("{prefix}0");
        let first_point = program.vars.iter().position(|var| var.name == first_name);
        let first_point = first_point.map_or(code.first_lock, |at| code.first_cells[at]);
        let mut cells = Vec::new();
        for op in &snippet {
            match *op {
                Op::Load(cell) | Op::Fetch { cell, .. } => cells.push(cell),
                Op::LoadAt(range) => cells.extend(range.first..range.first + range.len),
                _ => {}
            }
        }
        cells.retain(|&cell| cell < first_point);
        cells.sort_unstable();
        cells.dedup();
        Ok(Self {
            snippet,
            cells,
            points,
            first_point,
            deadlock,
            expr: program.ensures[program.ensures.len() - 1].expr.clone(),
            code: std::sync::Arc::new(code),
        })
    }

    /// Returns the cells that the property reads.
    pub fn cells(&self) -> &[u32] {
        &self.cells
    }

    /// Returns the points that the property mentions: processes and the lines of their next steps.
    /// The lines are numbered in the text that joins all files.
    pub fn points(&self) -> &[(ProcessPath, usize)] {
        &self.points
    }

    /// Whether the property holds only in deadlocks.
    pub fn deadlock(&self) -> bool {
        self.deadlock
    }

    /// Returns the condition, in which points are variables.
    pub fn expr(&self) -> &Expr {
        &self.expr
    }

    /// Returns the first cell of a variable of the condition. If the variable replaces a point, the
    /// error is the index of the point.
    pub fn cell_or_point(&self, var: VarId) -> Result<u32, usize> {
        let cell = self.code.first_cells[var.0 as usize];
        match cell.checked_sub(self.first_point) {
            Some(point) => Err(point as usize),
            None => Ok(cell),
        }
    }

    /// Whether the property holds for these cells and points. A property that cannot be evaluated,
    /// for example because of a division by zero, does not hold.
    pub fn holds(&self, value: &dyn Fn(u32) -> i64, at: &[bool]) -> bool {
        self.decide(value, at) == Some(true)
    }

    /// Decides whether the property holds, like `holds`; `None` if a number in it exceeds 64 bits.
    pub fn decide(&self, value: &dyn Fn(u32) -> i64, at: &[bool]) -> Option<bool> {
        let mut cells = vec![0; self.first_point as usize + at.len()];
        for &cell in &self.cells {
            cells[cell as usize] = value(cell);
        }
        for (k, &at) in at.iter().enumerate() {
            cells[self.first_point as usize + k] = i64::from(at);
        }
        match evaluate(&self.snippet, &cells) {
            Ok(value) => Some(value != 0),
            Err(Fault::OutOfRange) => None,
            Err(_) => Some(false),
        }
    }
}

/// Replaces each `deadlock` by `true`. Returns the new text, and whether it was changed; `None` if
/// a `deadlock` is not an operand of a top-level `&&`.
fn deadlocks(text: &str) -> Option<(String, bool)> {
    let mut replaced = String::new();
    let mut rest = text;
    while let Some(at) = next_word(rest, "deadlock") {
        let (before, after) = (&rest[..at], &rest[at + "deadlock".len()..]);
        replaced += before;
        let joined = |text: &str, end: bool| {
            let is_operand = if end {
                text.trim_end().ends_with("&&") || text.trim_end().ends_with('∧')
            } else {
                text.trim_start().starts_with("&&") || text.trim_start().starts_with('∧')
            };
            is_operand || text.trim().is_empty()
        };
        if depth(&replaced) != 0 || !joined(&replaced, true) || !joined(after, false) {
            return None;
        }
        replaced += "true";
        rest = after;
    }
    let found = !replaced.is_empty();
    replaced += rest;
    let alternatives = ["||", "∨"].iter().flat_map(|or| text.match_indices(or));
    let outside = |(at, _): (usize, &str)| depth(&text[..at]) == 0;
    let or = next_word(text, "or").is_some() || alternatives.into_iter().any(outside);
    (!found || !or).then_some((replaced, found))
}

/// Converts a line of the main file to a line of the text with all includes. Returns `usize::MAX`
/// if the file has no such line.
fn own_line(source: &str, line: usize) -> usize {
    if !source.contains(MARK) {
        return line;
    }
    let mut start = 0;
    for (all, text) in (1..).zip(source.split_inclusive('\n')) {
        let here = Span {
            start,
            end: start + text.len() as u32,
        };
        let is_mark = text.starts_with(MARK);
        if !is_mark && here.file(source).is_none() && here.line_column(source).0 == line {
            return all;
        }
        start = here.end;
    }
    usize::MAX
}

/// Returns the number of open parentheses at the end of a text.
fn depth(text: &str) -> i32 {
    let step = |c: char| i32::from(c == '(') - i32::from(c == ')');
    text.chars().map(step).sum()
}

/// Replaces each `at(process, line)` by a variable. In place of a line there may be the label of a
/// statement.
fn points(
    text: &str,
    prefix: &str,
    names: &ProcessNames,
    line_of: &dyn Fn(&str) -> Option<usize>,
) -> Result<(String, Vec<(ProcessPath, usize)>), String> {
    let mut points: Vec<(ProcessPath, usize)> = Vec::new();
    let mut replaced = String::new();
    let mut rest = text;
    while let Some(start) = next_word(rest, "at") {
        replaced += &rest[..start];
        let after = rest[start + 2..].trim_start();
        let inside = after.strip_prefix('(').ok_or("`at` without `(`")?;
        let end = closing(inside).ok_or("`at(` without `)`")?;
        let (inside, after_point) = (&inside[..end], &inside[end + 1..]);
        let parts = inside
            .split_once(',')
            .ok_or("`at` needs a process and a line")?;
        let process = names.read(parts.0.trim()).map_err(|e| e.to_string())?;
        let place = parts.1.trim();
        let line = line_of(place);
        let line = line.ok_or_else(|| format!("`{place}` is neither a line nor a label"))?;
        let known = points
            .iter()
            .position(|point| *point == (process.clone(), line));
        let number = known.unwrap_or(points.len());
        if known.is_none() {
            points.push((process, line));
        }
        replaced += &format!("{prefix}{number}");
        rest = after_point;
    }
    replaced += rest;
    Ok((replaced, points))
}

/// Returns the position of the parenthesis that closes the parenthesis right before the text.
fn closing(text: &str) -> Option<usize> {
    let mut open = 1;
    text.char_indices().find_map(|(at, c)| {
        open += i32::from(c == '(') - i32::from(c == ')');
        (open == 0).then_some(at)
    })
}

/// Returns the position of the next occurrence of a word.
fn next_word(text: &str, word: &str) -> Option<usize> {
    let name = |c: char| c.is_alphanumeric() || c == '_';
    let found = text.match_indices(word).find(|(at, _)| {
        let before = text[..*at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(name) && !after.is_some_and(name)
    });
    found.map(|(at, _)| at)
}

impl Machine {
    /// Returns the value of a cell.
    pub fn value(&self, cell: u32) -> i64 {
        self.state.cells.get(cell as usize).copied().unwrap_or(0)
    }

    /// Returns the line of the next step of a live process, numbered in the text that joins all
    /// files.
    pub fn line(&self, process: ProcessId) -> Option<usize> {
        let step = self.resting(process)?;
        let span = self.code.steps[step as usize].span;
        Some(span.line_of_all(&self.code.source))
    }
}
