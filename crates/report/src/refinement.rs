//! The line of a report about the refinement that a program states: the answer, and the number of
//! states that the search has compared.

use mazurka_core::record::{Record, RefinementAnswer};

use crate::{View, bounds, counted};

/// Returns a line about the refinement, if it was decided.
pub(crate) fn refinement(record: &Record, view: &View) -> String {
    let Some(stated) = &record.refinement else {
        return String::new();
    };
    let (paint, file) = (view.paint, &stated.file);
    let pairs = counted(stated.pairs, "state", "states");
    let states = counted(stated.states, "state", "states");
    let searched = format!("{pairs} with those of {states} of the specification");
    match stated.answer {
        RefinementAnswer::Holds => format!("{} {file} ({searched})\n", paint.good("refines:")),
        RefinementAnswer::Broken => {
            format!("{} {file} ({searched})\n", paint.bad("does not refine:"))
        }
        RefinementAnswer::Open => {
            let limits: Vec<String> = stated.bounds.iter().map(bounds::name).collect();
            let open = paint.unsure("not known to refine:");
            format!("{open} {file} ({searched}; {})\n", limits.join(", "))
        }
    }
}
