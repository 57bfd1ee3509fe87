//! The view of `compare`: whether two programs have the same outcomes, and a run that shows a
//! difference.

use mazurka_core::Verdict;
use mazurka_core::record::{Binding, Ending, ProgramRecord, Record, Run};

use crate::events::{Columns, bindings};
use crate::verdict::hit_bounds;
use crate::{View, replay_command};

/// Two programs, and the numbers of their outcomes. An outcome is what can be observed at the end
/// of a run (docs/compare.md).
#[derive(Clone, Copy, Debug)]
pub struct ComparedPrograms<'a> {
    /// The first and the second program.
    pub programs: [&'a ProgramRecord; 2],
    /// The number of outcomes of each.
    pub outcomes: [u64; 2],
    /// Whether only one direction was checked: each outcome of the second program is an outcome of
    /// the first.
    pub within: bool,
    /// Whether one of the programs may run for ever.
    pub endless: bool,
    /// The index of the program with an outcome that the other one does not have, and a run with
    /// this outcome.
    pub only: Option<(usize, &'a Run)>,
    /// If that program has unknowns: values of the unknowns for which the run is possible.
    pub values: &'a [Binding],
}

/// Returns whether two programs have the same outcomes, and otherwise a run of one with an outcome
/// that the other does not have.
pub fn compared(record: &Record, sides: &ComparedPrograms<'_>, view: &View) -> String {
    let paint = view.paint;
    let [one, two] = sides.programs.map(|program| &program.file);
    let [a, b] = sides.outcomes;
    let counted = format!("({a} against {b} outcomes)");
    let mut text = match (record.verdict, sides.within) {
        (Verdict::Verified, false) => {
            let same = paint.good("the same:");
            format!("{same} {one} and {two} end in the same ways {counted}\n")
        }
        (Verdict::Verified, true) => {
            let within = paint.good("within:");
            format!("{within} {two} ends in no way that {one} does not {counted}\n")
        }
        (Verdict::Violated, _) => {
            let different = paint.bad("different:");
            let (of, other) = match sides.only {
                Some((0, _)) => (one, two),
                _ => (two, one),
            };
            format!("{different} {of} can end in a way that {other} never does {counted}\n")
        }
        (Verdict::Inconclusive, _) => {
            let unknown = paint.unsure("unknown:");
            format!("{unknown} {one} and {two} were not compared to the end {counted}\n")
        }
    };
    text += &hit_bounds(record, view);
    if sides.endless {
        text += "Runs without an end are not compared; the loops of these programs may have such runs.\n";
    }
    if let Some((of, run)) = sides.only {
        if !sides.values.is_empty() {
            text += &format!("for {}:\n", bindings(sides.values));
        }
        let columns = Columns::fitting(std::slice::from_ref(run), view);
        text += &columns.steps(run, 0..run.steps.len(), None, paint);
        let end = match run.ending {
            Ending::Deadlock => "a deadlock",
            Ending::Failure => "a failure",
            _ => "the end",
        };
        text += &if run.state.is_empty() {
            format!("{end}\n")
        } else {
            format!("{end}, with {}\n", bindings(&run.state))
        };
        let command = replay_command(sides.programs[of], run, &view.flags);
        text += &format!("{} {command}\n", paint.strong("repeat with:"));
    }
    text
}
