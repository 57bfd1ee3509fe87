//! The view of `condition`: the values for which a property holds, as formulas, and runs that show
//! it.

use mazurka_core::record::{Binding, Record, Run};

use crate::events::bindings;
use crate::verdict::hit_bounds;
use crate::{View, replay_command};

/// The values for which a property holds.
#[derive(Clone, Debug)]
pub struct Conditioned<'a> {
    /// The property, as the user gave it.
    pub property: &'a str,
    /// The values for which it holds, as a formula.
    pub holds: &'a str,
    /// The values for which it does not hold.
    pub fails: &'a str,
    /// The values for which the answer is unknown.
    pub unknown: Option<&'a str>,
    /// The values for which every run is discarded.
    pub discarded: Option<&'a str>,
    /// Whether all of these formulas are in readable form.
    pub readable: bool,
    /// The cases. Each is a set of values: its formula, an example, and runs that show what
    /// happens.
    pub cases: Vec<(&'a str, &'a [Binding], &'a [Run])>,
}

/// Returns the values for which a property holds, and runs that show it.
pub fn conditioned(record: &Record, answer: &Conditioned<'_>, view: &View) -> String {
    let paint = view.paint;
    let property = answer.property;
    let (yes, no) = match property {
        "deterministic" => ("deterministic".to_owned(), "not deterministic"),
        "failure" => ("a failure is possible".to_owned(), "no failure"),
        "deadlock" => ("a deadlock is possible".to_owned(), "no deadlock"),
        property => (format!("`{property}` holds at every end"), "not always"),
    };
    let exactly = match answer.unknown {
        None => "if and only if",
        Some(_) => "surely if",
    };
    let mut text = format!("{yes} {exactly} {}\n", paint.strong(answer.holds));
    let surely = match answer.unknown {
        None => "if",
        Some(_) => "surely if",
    };
    text += &format!("{no} {surely} {}\n", answer.fails);
    if let Some(unknown) = answer.unknown {
        text += &format!("{} if {unknown}\n", paint.unsure("unknown"));
    }
    if let Some(discarded) = answer.discarded {
        text +=
            &format!("apart from these, every run is discarded by an `assume` if {discarded}\n");
    }
    text += &hit_bounds(record, view);
    if !answer.readable {
        text += "These formulas were too large to simplify.\n";
    }
    for (condition, values, runs) in &answer.cases {
        text += &if values.is_empty() {
            format!("\nif {condition}:\n")
        } else {
            format!("\nif {condition}, for instance {}:\n", bindings(values))
        };
        for run in *runs {
            let command = replay_command(&record.program, run, &view.flags);
            text += &format!("  {command}\n");
            if runs.len() > 1 {
                text += &format!("    ends with {}\n", bindings(&run.state));
            }
        }
    }
    text
}
