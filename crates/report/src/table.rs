//! The view of `explore` and `sample`: a table of counts, then the findings and the commands that
//! show them.

use mazurka_core::record::Record;
use mazurka_core::{StopReason, Verdict};

use crate::covers::covers;
use crate::events::line_of;
use crate::history::clients;
use crate::profile::profile;
use crate::verdict::{hit_bounds, model, not_explored, title, two_runs};
use crate::{Paint, View, clip, pad, witness};

/// Returns the program, the counts, the findings, and how to see them.
pub fn table(record: &Record, view: &View) -> String {
    let counts = &record.counts;
    let determinism = match record.deterministic {
        Some(true) => "deterministic",
        Some(false) => "not deterministic",
        None => "",
    };
    let traces = counts
        .traces
        .map_or("unknown".to_owned(), |n| n.to_string());
    // If traces were not counted, the engine merges states and counts the states.
    let [deadlocked, failing] = match counts.traces {
        Some(_) => ["deadlocked traces", "failing events, each with its past"],
        None if record.algorithm.starts_with("context") => [
            "deadlocked runs that were met",
            "failing events that were met",
        ],
        None => ["deadlocked states", "failing steps, each from its state"],
    };
    let met = |meaning: &str| {
        if !is_partial(record) && record.sample.is_none() {
            meaning.to_owned()
        } else if meaning.is_empty() {
            "at least".to_owned()
        } else {
            format!("at least; {meaning}")
        }
    };
    let traces_met = match counts.traces {
        Some(_) => met("really different ones"),
        None => "really different ones".to_owned(),
    };
    let [deadlocked, failing, determinism] = [deadlocked, failing, determinism].map(met);
    let mut rows = vec![
        ("executions", counts.executions.to_string(), "complete runs"),
        ("traces", traces, &traces_met),
        ("deadlocks", counts.deadlocks.to_string(), &deadlocked),
        ("failures", counts.failures.to_string(), &failing),
        (
            "final states",
            counts.final_states.to_string(),
            &determinism,
        ),
        (
            "discarded",
            counts.discarded.to_string(),
            "runs with a false `assume`",
        ),
        (
            "blocked",
            counts.blocked.to_string(),
            "runs that another one covers",
        ),
        (
            "events",
            counts.events.to_string(),
            "edges of the exploration tree",
        ),
        ("steps", counts.steps.to_string(), "transitions executed"),
    ];
    let sample = drawn(record);
    for (at, (name, number, meaning)) in sample.iter().enumerate() {
        // The description of the sample comes first; the estimates follow the traces.
        let at = if at == 0 { 0 } else { at + 2 };
        rows.insert(at, (name, number.clone(), meaning));
    }
    if let Some(states) = counts.states {
        let meaning = match counts.permuted_states {
            Some(_) => "different ones, up to permutations of processes",
            None => "different ones",
        };
        rows.insert(0, ("states", states.to_string(), meaning));
    }
    if let Some(permuted) = counts.permuted_states {
        let meaning = "the states that these represent";
        let number = crate::verdict::permuted(permuted);
        rows.insert(1, ("permuted", number, meaning));
    }
    if let Some(stored) = counts.stored_states {
        rows.push((
            "stored",
            stored.to_string(),
            "states at one time, at the most",
        ));
    }
    let solved = record.solver.map(|solver| {
        let models = share(solver.reused, solver.queries);
        let searches = solver.searches + solver.external;
        format!(
            "questions to the solver: {models} % known from earlier models, {searches} searches"
        )
    });
    if let (Some(solver), Some(solved)) = (record.solver, &solved) {
        rows.push(("queries", solver.queries.to_string(), solved));
    }
    let rate = speed(record).unwrap_or_default();
    rows.push(("seconds", format!("{:.3}", record.seconds), &rate));
    if let Some(bytes) = record.memory {
        rows.push(("memory", megabytes(bytes), "of the process, at the most"));
    }
    let engine = match &record.memory_model {
        Some(memory) => format!("{} ({})", record.algorithm, model(memory)),
        None => record.algorithm.clone(),
    };
    let mut text = listed(record, &engine, "explored everything", &rows, view);
    if let Some(pairs) = &record.profile {
        text += &profile(pairs, view);
    }
    text
}

/// Returns the description of a sample, and the estimated fraction of the traces that it has
/// visited.
fn drawn(record: &Record) -> Vec<(&'static str, String, String)> {
    let Some(sample) = &record.sample else {
        return Vec::new();
    };
    let depth = sample.depth.map(|depth| format!(" --depth {depth}"));
    let seed = format!("--seed {}{}", sample.seed, depth.unwrap_or_default());
    let mut rows = vec![("runs", sample.runs.to_string(), format!("drawn, {seed}"))];
    if let Some(estimate) = &sample.estimate {
        // Rounded down, so that 100% means all.
        let covered = (1000.0 * estimate.covered()).floor() / 10.0;
        let once = estimate.once;
        let met = match once {
            0 => "every trace that was met was met again".to_owned(),
            1 => "1 trace was met only once".to_owned(),
            _ => format!("{once} traces were met only once"),
        };
        // The estimate is about complete executions only, because the traces of runs that were cut
        // or discarded are unknown.
        let next = if sample.runs > estimate.executions {
            "next execution that comes to an end"
        } else {
            "next execution"
        };
        rows.push((
            "covered",
            format!("{covered:.1}%"),
            format!("estimated chance that the {next} is of a trace met before; {met}"),
        ));
        rows.push((
            "estimated",
            estimate.at_least.to_string(),
            "traces at least, by a rough estimate".to_owned(),
        ));
    }
    rows
}

/// Whether a bound has left something unexplored, so that the counts are only lower bounds.
pub(crate) fn is_partial(record: &Record) -> bool {
    !record.scope.bounds.is_empty()
}

/// Returns the number of states visited per second, if states are merged.
fn speed(record: &Record) -> Option<String> {
    let states = record.counts.states? as f64;
    let rate = states / record.seconds.max(0.000_001);
    Some(format!("{} states a second", rounded(rate)))
}

/// Returns the states, speed and memory of a long search.
pub(crate) fn effort(record: &Record) -> Option<String> {
    let states = record.counts.states? as f64;
    let memory = record.memory.map(|bytes| format!(", {}", megabytes(bytes)));
    Some(format!(
        "{} states in {:.1} s, {}{}",
        rounded(states),
        record.seconds,
        speed(record)?,
        memory.unwrap_or_default()
    ))
}

/// Returns bytes as megabytes, rounded up.
fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes.div_ceil(1 << 20))
}

/// Shows about three digits, because the number varies from run to run.
fn rounded(n: f64) -> String {
    match n {
        n if n < 1e4 => format!("{n:.0}"),
        n if n < 1e6 => format!("{:.0} k", n / 1e3),
        n => format!("{:.1} M", n / 1e6),
    }
}

/// Returns a percentage, rounded down.
fn share(part: u64, whole: u64) -> u64 {
    (part * 100).checked_div(whole).unwrap_or(100)
}

/// Returns a headline, then the rows (each a name, a number and the meaning of the number), then
/// the findings.
pub(crate) fn listed(
    record: &Record,
    what: &str,
    everything: &str,
    rows: &[(&str, String, &str)],
    view: &View,
) -> String {
    let paint = view.paint;
    let how_far = match record.stopped {
        // A search that has found a violation counts as complete even if a bound was hit.
        StopReason::Complete if record.scope.bounds.is_empty() => everything,
        StopReason::Certain => "stopped when certain",
        _ if record.verdict == Verdict::Violated => "violated; not everything was explored",
        StopReason::Complete | StopReason::Bound => "not everything was explored",
    };
    let how_far = match record.verdict {
        Verdict::Verified => paint.good(how_far),
        Verdict::Violated => paint.bad(how_far),
        Verdict::Inconclusive => paint.unsure(how_far),
    };
    let mut text = format!("{}: {what}: {how_far}\n", record.program.file);
    text += &covers(record, view);
    text += &clients(record, view);
    text += &not_explored(record, view);
    text += &hit_bounds(record, view);
    text.push('\n');
    text += &counts_with_meanings(rows, paint);
    text += &findings(record, view);
    if record.deterministic == Some(false) {
        text += &format!("\n{}", two_runs(record, view));
    }
    text
}

/// Returns names, numbers and their meanings, in columns.
pub(crate) fn counts_with_meanings(rows: &[(&str, String, &str)], paint: Paint) -> String {
    let names = rows.iter().map(|(name, ..)| name.len());
    let name_width = names.max().unwrap_or(0);
    let width = rows.iter().map(|(_, n, _)| n.len()).max().unwrap_or(0);
    let line = |(name, n, meaning): &(&str, String, &str)| {
        let name = pad(name, name_width);
        let line = format!("  {name}  {n:>width$}  {}", paint.dim(meaning));
        format!("{}\n", line.trim_end())
    };
    rows.iter().map(line).collect()
}

/// Returns the findings, each with its place and the command that shows it.
pub(crate) fn findings(record: &Record, view: &View) -> String {
    let mut text = String::new();
    for evidence in &record.witnesses {
        let found = view.paint.bad(&title(evidence));
        let place = match &evidence.place {
            Some(place) => {
                let line = line_of(place.line, place.file.as_deref());
                format!(" ({line}: {})", clip(&place.text, 80))
            }
            None => String::new(),
        };
        text += &format!("\n{found}{place}\n");
        text += &witness::inputs(&evidence.inputs());
        text += &witness::values(&evidence.values);
        text += &witness::waiting(evidence);
        text += &witness::replay(record, evidence, view);
    }
    text
}
