//! The view of `permute`: the recorded run, its executable permutations, and their results.

use mazurka_core::record::{AnyStartPermutations, Ending, PermutationClass, Permutations, Record};
use mazurka_core::{StopReason, Verdict};

use crate::events::{Columns, bindings};
use crate::table::{counts_with_meanings, findings};
use crate::verdict::hit_bounds;
use crate::{View, clip, counted, pad, replay_command};

/// Limit on the labels of the recorded run that are shown.
const LABELS_SHOWN: usize = 40;
const SCHEDULE_WIDTH: usize = 100;
const STATE_WIDTH: usize = 60;
const CONDITION_WIDTH: usize = 80;

/// Returns the answer, the recorded run, the counts, and the executable permutations with their
/// final states. Equivalent permutations form a class and are listed once.
pub fn permutations(record: &Record, permuted: &Permutations, view: &View) -> String {
    let paint = view.paint;
    let mut text = headline(record, permuted, view);
    text += &hit_bounds(record, view);
    let run = &permuted.recorded;
    let labels = counted(run.steps.len() as u64, "label", "labels");
    text += &format!("\n{}\n", paint.strong(&format!("recorded, {labels}:")));
    let columns = Columns::fitting(std::slice::from_ref(run), view);
    text += &columns.steps(run, 0..run.steps.len(), Some(LABELS_SHOWN), paint);
    text += &branches(&permuted.branches);
    let command = replay_command(&record.program, run, &view.flags);
    text += &format!("{} {command}\n\n", paint.strong("repeat with:"));
    text += &counts_with_meanings(&rows(record, permuted), paint);
    text += &format!("\n{}\n", paint.strong("classes:"));
    text += &classes(record, &permuted.classes, permuted.executable);
    text += &results(record, permuted, view);
    if let Some(any_start) = &permuted.any_start {
        text += &from_any_start(record, any_start, view);
    }
    text += &findings(record, view);
    text
}

/// Returns the permutations from any initial values, and where they disagree.
fn from_any_start(record: &Record, permuted: &AnyStartPermutations, view: &View) -> String {
    let paint = view.paint;
    let title = format!(
        "from any initial values, {}:",
        counted(permuted.executable, "class", "classes")
    );
    let mut text = format!("\n{}\n", paint.strong(&title));
    text += &classes(record, &permuted.classes, permuted.executable);
    text += &format!("\n{}\n", paint.strong("where they end differently:"));
    for pair in &permuted.disagreements {
        let condition = clip(&pair.condition, CONDITION_WIDTH);
        let example = clip(&bindings(&pair.example), STATE_WIDTH);
        let (first, second) = (pair.first, pair.second);
        text += &format!("  {first} and {second}  if {condition}  such as {example}\n");
    }
    text += match (permuted.disagreements.is_empty(), permuted.all_pairs) {
        (true, true) => "  nowhere\n",
        (false, true) => "",
        (_, false) => "  not all pairs were compared: there are too many\n",
    };
    if let Some(why) = &permuted.undecided {
        text += &format!(
            "  {}\n",
            paint.unsure(&format!("not all is certain: {why}"))
        );
    }
    text
}

/// Returns the answer in one line.
fn headline(record: &Record, permuted: &Permutations, view: &View) -> String {
    let paint = view.paint;
    let found = counted(
        permuted.executable,
        "executable permutation",
        "executable permutations",
    );
    let scope = match (permuted.complete, record.stopped) {
        _ if permuted.up_to.is_some() => {
            let length = permuted.up_to.unwrap_or(0);
            format!("of one path, up to length {length}")
        }
        (_, StopReason::Bound) => "cut".to_owned(),
        (true, _) => format!("all paths: {}", counted(permuted.seeds, "seed", "seeds")),
        (false, _) => "of one path".to_owned(),
    };
    let results = match (record.deterministic, record.counts.final_states) {
        (_, n) if permuted.up_to.is_some() => {
            let states = counted(n, "state", "states");
            format!("{states} at that length, unknown beyond it")
        }
        (Some(true), _) => "deterministic".to_owned(),
        (Some(false), n) => format!("not deterministic: {n} final states"),
        (None, 0) => "no final state".to_owned(),
        (None, n) => {
            let states = counted(n, "final state", "final states");
            format!("{states}, unknown beyond this path")
        }
    };
    let word = match record.verdict {
        Verdict::Verified => paint.good("permuted:"),
        Verdict::Violated => paint.bad("violated:"),
        Verdict::Inconclusive => paint.unsure("inconclusive:"),
    };
    format!("{word} {found} ({scope}); {results}\n")
}

pub(crate) fn branches(branches: &[usize]) -> String {
    let all: Vec<String> = branches.iter().map(ToString::to_string).collect();
    match &all[..] {
        [] => "  no label takes a branch: its guards can only open or stay closed\n".to_owned(),
        [one] => format!("  label {one} takes a branch: another path can start there\n"),
        all => {
            let all = clip(&all.join(", "), SCHEDULE_WIDTH);
            format!("  labels that take a branch, where another path can start: {all}\n")
        }
    }
}

fn rows<'a>(record: &Record, permuted: &Permutations) -> Vec<(&'a str, String, &'a str)> {
    let row = |name, n: u64, meaning| (name, n.to_string(), meaning);
    let mut rows = vec![
        row(
            "candidates",
            permuted.candidates,
            "prefixes extended by the next label of a process",
        ),
        row(
            "infeasible",
            permuted.infeasible,
            "of these cannot be executed",
        ),
        row(
            "duplicates",
            permuted.duplicates,
            "of these are equivalent to another one",
        ),
        row(
            "executable",
            permuted.executable,
            "permutations, one of each trace",
        ),
    ];
    if let Some(paper) = &permuted.paper {
        rows.push(row(
            "as printed",
            paper.executable,
            "classes by Definitions 9 and 12, with their repetitions",
        ));
    }
    if permuted.open > 0 {
        let meaning =
            "permutations after which a process can continue that waited in the recorded run";
        rows.push(row("open", permuted.open, meaning));
    }
    if permuted.stuck > 0 {
        let meaning = "prefixes where no process can continue";
        rows.push(row("stuck", permuted.stuck, meaning));
    }
    if permuted.complete {
        rows.push(row("seeds", permuted.seeds, "paths recorded"));
    }
    let counts = &record.counts;
    rows.push(row("deadlocks", counts.deadlocks, "deadlocked traces"));
    rows.push(row("failures", counts.failures, "failing events"));
    rows.push(row("steps", counts.steps, "transitions executed"));
    rows.push(("seconds", format!("{:.3}", record.seconds), ""));
    rows
}

fn ending(ending: Ending) -> &'static str {
    match ending {
        Ending::Final => "",
        Ending::Deadlock => "deadlock",
        Ending::Failure => "failure",
        Ending::Discarded => "discarded",
        Ending::Lost => "cut",
        Ending::Open => "open",
    }
}

fn state(class: Ending, state: &[mazurka_core::record::Binding]) -> String {
    let values = clip(&bindings(state), STATE_WIDTH);
    match ending(class) {
        "" => values,
        how => format!("{how}: {values}")
            .trim_end_matches([':', ' '])
            .to_owned(),
    }
}

fn classes(record: &Record, all: &[PermutationClass], executable: u64) -> String {
    let mut text = String::new();
    let row = |class: &PermutationClass| {
        let condition = class.path_condition.as_deref().unwrap_or("");
        (
            state(class.ending, &class.state),
            clip(condition, CONDITION_WIDTH),
            clip(&record.program.schedule(&class.schedule), SCHEDULE_WIDTH),
        )
    };
    let rows: Vec<_> = all.iter().map(row).collect();
    let widest = |texts: &mut dyn Iterator<Item = &String>| {
        let widths = texts.map(|text| text.chars().count());
        widths.max().unwrap_or(0)
    };
    let number = all.len().to_string().len();
    let state = widest(&mut rows.iter().map(|row| &row.0));
    let condition = widest(&mut rows.iter().map(|row| &row.1));
    for (at, (values, path, schedule)) in rows.iter().enumerate() {
        let path = match condition {
            0 => String::new(),
            width => format!("  if {}", pad(path, width)),
        };
        let values = pad(values, state);
        text += &format!("  {:>number$}  {values}{path}  {schedule}\n", at + 1);
    }
    let left = executable.saturating_sub(all.len() as u64);
    if left > 0 {
        text += &format!("  … {left} more: --classes N lists more\n");
    }
    let long = |class: &PermutationClass| {
        let schedule = record.program.schedule(&class.schedule);
        schedule.chars().count() > SCHEDULE_WIDTH
    };
    if all.iter().any(long) {
        text += "  (--format json has the schedules in full)\n";
    }
    text
}

fn results(record: &Record, permuted: &Permutations, view: &View) -> String {
    let mut text = format!("\n{}\n", view.paint.strong("how they end:"));
    let rows = permuted.results.iter().map(|result| {
        let classes = counted(result.classes, "class", "classes");
        (state(result.ending, &result.state), classes)
    });
    let rows: Vec<_> = rows.collect();
    let width = rows.iter().map(|row| row.0.chars().count()).max();
    for (values, classes) in &rows {
        text += &format!("  {}  {classes}\n", pad(values, width.unwrap_or(0)));
    }
    if record.deterministic.is_none() && !permuted.complete {
        text += "  other paths may end differently: --complete explores them\n";
    }
    text
}
