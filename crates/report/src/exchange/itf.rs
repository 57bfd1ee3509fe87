//! The Informal Trace Format, in which Apalache and Quint write counterexamples: the states of one
//! run (Apalache's ADR 015).
//!
//! A record contains the last state of a run and the changes of each step. So the states are
//! reconstructed backwards from the last one. A change names a cell, such as `queue[1].from`; the
//! name of the variable is this name without indices. Some names occur only in changes, for example
//! the number of messages in a channel: each becomes a separate variable with the values from the
//! changes.

use mazurka_core::record::{ProgramRecord, Run, Step};
use serde_json::{Map, Value, json};

use super::step_file;
use crate::json as pretty;

/// Returns a run as a trace. `lasso` says that the run repeats its last steps for ever: it is the
/// number of steps before the repeated ones.
pub fn itf(program: &ProgramRecord, run: &Run, lasso: Option<usize>) -> String {
    let states = states(run);
    let vars: Vec<&String> = match states.first() {
        Some(first) => first.keys().collect(),
        None => Vec::new(),
    };
    let vars = json!(vars);
    let as_itf = |(index, mut state): (usize, Map<String, Value>)| {
        let mut meta = json!({ "index": index });
        if let Some(step) = index.checked_sub(1).and_then(|at| run.steps.get(at)) {
            let (file, label) = step_file(program, step);
            meta["process"] = json!(run.name_of(&step.process));
            meta["action"] = json!(label);
            meta["file"] = json!(file);
            meta["line"] = json!(step.line);
        }
        state.insert("#meta".to_owned(), meta);
        Value::Object(state)
    };
    let states: Vec<Value> = states.into_iter().enumerate().map(as_itf).collect();
    let mut trace = json!({
        "#meta": {
            "format": "ITF",
            "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
            "source": program.file,
            "schedule": run.schedule,
        },
        "vars": vars,
        "states": states,
    });
    // States are numbered from 0, and state i comes after i steps.
    if let Some(stem) = lasso.filter(|stem| *stem < run.steps.len()) {
        trace["loop"] = json!(stem);
    }
    // Writing cannot fail: all keys are strings, and all numbers are finite.
    pretty(&trace).unwrap_or_default()
}

/// Returns the states of a run, the initial one first.
fn states(run: &Run) -> Vec<Map<String, Value>> {
    let mut state = Map::new();
    for binding in &run.state {
        state.insert(binding.name.clone(), value(&binding.value));
    }
    // A name that occurs only in changes has the value of its last change.
    let steps = run.steps.iter().rev();
    for change in steps.flat_map(|step| step.changes.iter().rev()) {
        if find(&mut state, &change.name).is_none() {
            state.insert(change.name.clone(), value(&change.to));
        }
    }
    let mut states = vec![state];
    for step in run.steps.iter().rev() {
        let mut before = states[states.len() - 1].clone();
        undo(&mut before, step);
        states.push(before);
    }
    states.reverse();
    states
}

/// Turns the state after a step into the state before it.
fn undo(state: &mut Map<String, Value>, step: &Step) {
    for change in step.changes.iter().rev() {
        if let Some(found) = find(state, &change.name) {
            *found = value(&change.from);
        }
    }
}

/// Returns the value of a name: a variable, or an element of one.
fn find<'s>(state: &'s mut Map<String, Value>, name: &str) -> Option<&'s mut Value> {
    if state.contains_key(name) {
        return state.get_mut(name);
    }
    let mut variable = String::new();
    let mut indices: Vec<usize> = Vec::new();
    let mut rest = name;
    while let Some((before, behind)) = rest.split_once('[') {
        let (index, behind) = behind.split_once(']')?;
        indices.push(index.parse().ok()?);
        variable += before;
        rest = behind;
    }
    variable += rest;
    let found = state.get_mut(&variable)?;
    indices
        .into_iter()
        .try_fold(found, |found, index| found.get_mut(index))
}

/// Parses a value as the source writes it: numbers of any size, truth values, lists, and words.
fn value(text: &str) -> Value {
    let text = text.trim();
    if let Some(inner) = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    {
        return Value::Array(elements(inner).into_iter().map(value).collect());
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    match text {
        "true" => json!(true),
        "false" => json!(false),
        _ if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            json!({ "#bigint": text })
        }
        word => json!(word),
    }
}

/// Returns the parts of a list, which may be lists.
fn elements(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0_i32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '[' | '(' | '{' => depth += 1,
            ']' | ')' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if !text[start..].trim().is_empty() {
        parts.push(&text[start..]);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_they_are_written() {
        assert_eq!(value("-12"), json!({ "#bigint": "-12" }));
        assert_eq!(value("[]"), json!([]));
        let list = json!([[true, "Idle"], [false, "-"]]);
        assert_eq!(value("[[true, Idle], [false, -]]"), list);
    }

    #[test]
    fn a_cell_is_found_in_its_variable() {
        let mut state = Map::new();
        state.insert("q.from".to_owned(), value("[[1, 2], [3, 4]]"));
        assert_eq!(find(&mut state, "q[1][0].from"), Some(&mut value("3")));
        assert_eq!(find(&mut state, "q[7][0].from"), None);
        assert_eq!(find(&mut state, "q[x].from"), None);
        assert_eq!(find(&mut state, "r"), None);
    }
}
