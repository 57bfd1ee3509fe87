//! The view of `check`: the verdict with its scope, the evidence, and what to do next.

use mazurka_core::record::{Record, RefinementAnswer, Witness};
use mazurka_core::{Counts, Fairness, Kind, Kinds, StopReason, Verdict};

use crate::covers::covers;
use crate::history::clients;
use crate::refinement::refinement;
use crate::shell::{determinism_command, named_properties};
use crate::table::effort;
use crate::{View, bounds, counted, orders, witness};

/// If a search takes at least this many seconds, its speed is shown.
const LONG: f64 = 2.0;

/// Returns the verdict with its evidence. The first line is the answer; the last line tells what to
/// do next.
pub fn verdict(record: &Record, view: &View) -> String {
    let mut text = headline(record, view);
    let long = record.seconds >= LONG;
    if let Some(effort) = effort(record).filter(|_| long) {
        text += &format!("{}\n", view.paint.dim(&effort));
    }
    text += &outside(record, view);
    match record.verdict {
        Verdict::Verified => {
            text += &covers(record, view);
            text += &clients(record, view);
            text += &refinement(record, view);
            text += &not_explored(record, view);
            if record.deterministic == Some(false) {
                text += &two_runs(record, view);
            }
        }
        Verdict::Violated => {
            for (at, evidence) in record.witnesses.iter().enumerate() {
                text.push('\n');
                if record.witnesses.len() > 1 {
                    text += &format!("{}\n", view.paint.bad(&title(evidence)));
                }
                text += &witness::witness(record, evidence, view);
                if at + 1 < record.witnesses.len() {
                    text += &witness::replay(record, evidence, view);
                }
            }
            text += &orders::stronger(record);
            text += &covers(record, view);
            text += &clients(record, view);
            text += &refinement(record, view);
            text += &not_explored(record, view);
            text += &hit_bounds(record, view);
            text += &still_open(record, view);
            text.push('\n');
            if let Some(last) = record.witnesses.last() {
                text += &witness::replay(record, last, view);
            }
        }
        Verdict::Inconclusive => {
            text += &covers(record, view);
            text += &clients(record, view);
            text += &refinement(record, view);
            text += &not_explored(record, view);
            text += &hit_bounds(record, view);
            // If the search has excluded no kind of violation, the headline already says so.
            if record.kinds.open != record.kinds.counted {
                text += &still_open(record, view);
            }
        }
    }
    text
}

/// Returns the parts of a native program that were not explored.
fn outside(record: &Record, view: &View) -> String {
    match &record.scope.outside[..] {
        [] => String::new(),
        all => {
            let intro = view.paint.dim("not looked into:");
            format!("{intro} {}\n", all.join(", "))
        }
    }
}

/// Returns the parts that were not explored because of failures that do not count.
pub(crate) fn not_explored(record: &Record, view: &View) -> String {
    if record.kinds.halted {
        let intro = view.paint.unsure("not explored:");
        let what = "what a process would do after a failure that does not count";
        format!("{intro} {what}\n")
    } else {
        String::new()
    }
}

/// Returns a line with the command that shows two different results. Used if nondeterminism does
/// not count as a violation.
pub(crate) fn two_runs(record: &Record, view: &View) -> String {
    let intro = view.paint.strong("two runs that differ:");
    format!("{intro} {}\n", determinism_command(record))
}

/// Returns the first line: the verdict with its scope.
pub fn headline(record: &Record, view: &View) -> String {
    let paint = view.paint;
    let scope = scope(record);
    match record.verdict {
        Verdict::Verified => {
            let found = verified(record);
            format!("{} {found} ({scope})\n", paint.good("verified:"))
        }
        Verdict::Violated => {
            let found = titles(record).join("; ");
            format!("{} {found} ({scope})\n", paint.bad("violated:"))
        }
        Verdict::Inconclusive => {
            let found = "nothing wrong found, but not everything was explored";
            format!("{} {found} ({scope})\n", paint.unsure("inconclusive:"))
        }
    }
}

/// Returns the kinds of violations that were searched for and do not occur, and the kinds that
/// occur but do not count as violations.
fn verified(record: &Record) -> String {
    let counts = &record.counts;
    // Without an execution there may still be findings, because an infinite run is neither an
    // execution nor discarded.
    let nothing = counts.failures == 0 && record.deterministic.is_none();
    if counts.executions == 0 && counts.discarded > 0 && nothing {
        return "every run is discarded by a false `assume`, so nothing can go wrong".to_owned();
    }
    // Records of version 1 have no choice of kinds.
    let counted_kinds = &record.kinds.counted;
    let options = record.options.as_ref();
    let property = options.and_then(|options| options.property.as_deref());
    let chosen = property.is_some();
    let counts_as = |kind| record.version == 1 || counted_kinds.contains(&kind);
    // Whether all properties of a kind count: the user may have named single properties.
    let whole = |kind| {
        let words = property.iter().flat_map(|all| all.split(','));
        let mut kinds = words.filter_map(Kinds::parse);
        counts_as(kind) && (!chosen || kinds.any(|kinds| kinds.contains(kind)))
    };
    let mut parts = Vec::new();
    if whole(Kind::Failure) {
        parts.push("no failure".to_owned());
    }
    if counted_kinds.contains(&Kind::Property) && whole(Kind::Property) {
        parts.push("the temporal properties hold".to_owned());
    }
    let cover = |name: &&str| {
        let mut covers = record.covers.iter();
        covers.any(|cover| cover.name.as_deref() == Some(*name))
    };
    let named = named_properties(record).into_iter();
    let named = named.filter(|name| !cover(name));
    parts.extend(named.map(|name| format!("`{name}` holds")));
    match record.covers.len() {
        0 => {}
        1 => parts.push("the cover is reached".to_owned()),
        all => parts.push(format!("all {all} covers are reached")),
    }
    let stated = record.refinement.iter();
    let refined = stated.filter(|stated| stated.answer == RefinementAnswer::Holds);
    parts.extend(refined.map(|stated| format!("refines {}", stated.file)));
    if counts_as(Kind::Deadlock) {
        parts.push("no deadlock".to_owned());
    }
    if counts_as(Kind::Livelock) {
        parts.push("no livelock".to_owned());
    }
    if record.deterministic == Some(true) {
        parts.push("deterministic".to_owned());
    }
    if parts.is_empty() {
        parts.push("nothing counts as a violation".to_owned());
    }
    let mut besides = Vec::new();
    if record.deterministic == Some(false) {
        let states = counted(counts.final_states, "final state", "final states");
        besides.push(format!("not deterministic: {states}"));
    }
    if counts.failures > 0 {
        let failures = counted(counts.failures, "failure", "failures");
        besides.push(uncounted(&failures, counts.failures, chosen));
    }
    if counts.deadlocks > 0 {
        let deadlocks = counted(counts.deadlocks, "deadlock", "deadlocks");
        besides.push(uncounted(&deadlocks, counts.deadlocks, chosen));
    }
    for (kind, what) in [
        (Kind::Property, "a temporal property that does not hold"),
        (Kind::Livelock, "a livelock"),
    ] {
        if record.kinds.met.contains(&kind) {
            besides.push(uncounted(what, 1, chosen));
        }
    }
    if !besides.is_empty() {
        parts.push(format!("but {}", besides.join("; ")));
    }
    parts.join(", ")
}

/// Returns violations that do not count: the file allows them, or the user has asked for other
/// kinds.
fn uncounted(violations: &str, count: u64, chosen: bool) -> String {
    match (chosen, count) {
        (true, 1) => format!("{violations} that does not count"),
        (true, _) => format!("{violations} that do not count"),
        (false, 1) => format!("{violations} that is allowed"),
        (false, _) => format!("{violations} that are allowed"),
    }
}

/// Returns the kinds of violations whose search was not completed.
fn still_open(record: &Record, view: &View) -> String {
    let open: Vec<&str> = record.kinds.open.iter().map(|kind| kind.name()).collect();
    if open.is_empty() {
        return String::new();
    }
    let intro = view.paint.unsure("not searched exhaustively:");
    // If a limit was hit, another line names it and says what to do.
    let advice = if record.scope.bounds.is_empty() {
        " (--keep-going explores everything)"
    } else {
        ""
    };
    format!("{intro} {}{advice}\n", open.join(", "))
}

/// Returns the titles of all witnesses. A title of several witnesses occurs once, with the count of
/// these witnesses.
fn titles(record: &Record) -> Vec<String> {
    let mut all: Vec<(String, Vec<&Witness>)> = Vec::new();
    for evidence in &record.witnesses {
        let title = title(evidence);
        match all.iter_mut().find(|(known, _)| *known == title) {
            Some((_, same)) => same.push(evidence),
            None => all.push((title, vec![evidence])),
        }
    }
    let titled = |(title, same): (String, Vec<&Witness>)| {
        let place = |evidence: &Witness| evidence.place.as_ref().map(|p| (p.line, p.column));
        let here = same
            .iter()
            .all(|evidence| place(evidence) == place(same[0]));
        match (same.len(), here) {
            (1, _) => title,
            (n, true) => format!("{title}, in {n} processes"),
            (n, false) => format!("{title}, at {n} places"),
        }
    };
    all.into_iter().map(titled).collect()
}

/// Returns the message of a witness, preceded by its kind if the message does not start with it.
pub(crate) fn title(evidence: &Witness) -> String {
    let kind = witness::kind(evidence.kind);
    if evidence.message.to_lowercase().starts_with(kind) {
        evidence.message.clone()
    } else {
        format!("{kind}: {}", evidence.message)
    }
}

/// Returns the number of visited states in words, and the number of all states if symmetry has left
/// some out.
pub(crate) fn states(counts: &Counts) -> Option<String> {
    let visited = counted(counts.states?, "state", "states");
    Some(match counts.permuted_states {
        Some(all) => format!("{visited} up to permutations (of {})", permuted(all)),
        None => visited,
    })
}

/// Returns as text how many states the visited ones represent; `u64::MAX` stands for a larger
/// number.
pub(crate) fn permuted(all: u64) -> String {
    match all {
        u64::MAX => format!("more than {all}"),
        all => all.to_string(),
    }
}

/// Returns how much was explored.
fn scope(record: &Record) -> String {
    let counts = &record.counts;
    let mut parts = Vec::new();
    if let Some(memory) = &record.memory_model {
        parts.push(model(memory).to_owned());
    }
    if let Some(traces) = counts.traces {
        parts.push(match record.memory_model {
            Some(_) => counted(traces, "execution graph", "execution graphs"),
            None => counted(traces, "trace", "traces"),
        });
    }
    parts.extend(states(counts));
    let executions = counted(counts.executions, "execution", "executions");
    parts.push(format!("{executions} by {}", record.algorithm));
    if counts.discarded > 0 {
        parts.push(format!("{} discarded", counts.discarded));
    }
    let options = record.options.as_ref();
    if options.is_some_and(|options| options.fairness == Some(Fairness::Strong)) {
        parts.push("strong fairness".to_owned());
    }
    parts.push(match record.stopped {
        StopReason::Complete if record.scope.bounds.is_empty() => "exhaustive".to_owned(),
        StopReason::Certain => "stopped when certain".to_owned(),
        StopReason::Complete | StopReason::Bound => "cut".to_owned(),
    });
    parts.join(", ")
}

/// Returns a memory model in words.
pub(crate) fn model(memory: &str) -> &str {
    match memory {
        "rc11" => "rc11: C++20's orderings without load buffering",
        "ra" => "ra: every access acquires and releases",
        "tso" => "tso: store buffers, as on x86",
        other => other,
    }
}

/// Returns every bound that was hit, and what to do about each.
pub(crate) fn hit_bounds(record: &Record, view: &View) -> String {
    let mut text = String::new();
    for bound in &record.scope.bounds {
        let name = view.paint.unsure(&bounds::name(bound));
        text += &format!("  {name}: {}\n", bounds::advice_for(record, bound));
    }
    text
}

/// Returns the answer for a replay that has reproduced everything, with the evidence.
pub fn replayed(record: &Record, view: &View) -> String {
    let runs: u64 = record.witnesses.iter().map(|w| w.runs.len() as u64).sum();
    let steps = counted(record.counts.steps, "step", "steps");
    if record.witnesses.is_empty() {
        let good = view.paint.good("replayed:");
        return format!("{good} {steps}, all as recorded\n");
    }
    let titles: Vec<_> = record.witnesses.iter().map(title).collect();
    let mut text = format!(
        "{} {} ({}, {steps}, all as recorded)\n",
        view.paint.bad("replayed:"),
        titles.join("; "),
        counted(runs, "run", "runs")
    );
    for evidence in &record.witnesses {
        text.push('\n');
        text += &witness::witness(record, evidence, view);
    }
    text
}
