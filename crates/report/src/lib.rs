//! Views of a recorded result: pure functions from a [`Record`](mazurka_core::record::Record) to
//! text, JSON and pictures. No function here runs a program or writes a file: each function returns
//! a string.
//!
//! | function | what it shows |
//! |---|---|
//! | [`verdict()`] | the answer of `check`: one line, the evidence, the command that replays it |
//! | [`table()`] | the counts of `explore`, and its findings |
//! | [`run()`] | one execution, in the papers' notation |
//! | [`Lanes`] | a run as a picture: a lane for each process |
//! | [`stepped`], [`situation`] | the steps of `step`, the possible next steps, and a whole state |
//! | [`dot()`], [`svg()`] | the exploration tree of a small program |
//! | [`outline_html`] | the exploration tree of a larger one, as a list that folds |
//! | [`states_dot`], [`states_svg`] | the graph of the states of a program |
//! | [`net_table`] | the counts of `unfold` |
//! | [`net_dot`], [`net_svg`] | the net of a small program |
//! | [`model_table`] | the model of a stateful net |
//! | [`permutations`] | the permutations of `permute` |
//! | [`order_dot`], [`order_svg`] | the partial order of the events of one permutation |
//! | [`orders()`] | the answer of `orders`: which orders have to be stronger or can be weaker |
//! | [`compared`] | the answer of `compare`, and a run that shows the difference |
//! | [`repaired`] | the answer of `repair`: changes of the program |
//! | [`conditioned`] | the answer of `condition`, and runs that show it |
//! | [`reached`] | the answer of `reach`, and the run to the state |
//! | [`symbolic_states`] | the final symbolic states of `symbolic` |
//! | [`curve_svg`] | the number of symbolic states during the search |
//! | [`curves_svg`], [`reductions`] | the same number under several reductions |
//! | [`proved`] | the answer of `prove` |
//! | [`proof_tree`], [`proof_html`], [`proof_svg`] | a proof to read |
//! | [`html()`] | one file for a browser: verdict, figures, stepping, the record itself |
//! | [`bench()`] | measurements, beside the figures of other tools |
//! | [`sarif()`], [`junit()`], [`github()`], [`itf()`] | the formats of other tools |
//! | [`Sheet`], [`Plot`] | tables and plots |
//! | [`json()`] | any record, as the stable interface |

mod bench;
mod bounds;
mod chart;
mod compare;
mod condition;
mod coverage;
mod covers;
mod dot;
mod events;
mod exchange;
mod fit;
mod history;
mod html;
mod json;
mod lanes;
mod layers;
mod net;
mod order;
mod orders;
mod outline;
mod paint;
mod permute;
mod profile;
mod proof;
mod reach;
mod refinement;
mod repair;
mod run;
mod shell;
mod states;
mod step;
mod svg;
mod symbolic;
mod table;
#[cfg(test)]
mod tests;
mod tree;
mod verdict;
#[cfg(test)]
mod wellformed;
mod witness;

pub use bench::bench;
pub use bounds::advice;
pub use chart::{chart, chart_svg};
pub use compare::{ComparedPrograms, compared};
pub use condition::{Conditioned, conditioned};
pub use coverage::coverage;
pub use dot::dot;
pub use exchange::{
    Plot, Sheet, github, github_mistakes, itf, junit, junit_mistakes, sarif, sarif_mistakes,
};
pub use fit::fit;
pub use html::{Figure, Page, evidence_figures, html, run_figure};
pub use json::json;
pub use lanes::Lanes;
pub use net::{model_table, net_dot, net_svg, net_table, states_table};
pub use order::{order_dot, order_svg};
pub use orders::orders;
pub use outline::outline_html;
pub use paint::Paint;
pub use permute::permutations;
pub use proof::{MOST_GOALS, proof_html, proof_svg, proof_tree, proved, unchecked};
pub use reach::reached;
pub use repair::{Repaired, Repairs, repaired};
pub use run::{OneRun, ended, run};
pub use shell::{quote, replay_command};
pub use states::{states_dot, states_left_out, states_svg};
pub use step::{Stepped, situation, stepped};
pub use svg::svg;
pub use symbolic::{curve_svg, curves_svg, reductions, symbolic_states};
pub use table::table;
pub use verdict::{headline, replayed, verdict};

/// How to render a view: what the binary knows about the terminal and the command line.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Whether to use colours.
    pub paint: Paint,
    /// Flags besides `--set` that are needed to replay a witness.
    pub flags: Vec<String>,
    /// The greatest number of columns, if lines are to be wrapped.
    pub width: Option<usize>,
}

/// Returns a count with its noun: `1 trace`, `2 traces`.
fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// Returns a text on one line of at most `width` characters.
///
/// Labels are pieces of source text, which may be long and may span several lines.
fn clip(text: &str, width: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= width {
        return line;
    }
    let kept: String = line.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// Pads a text with blanks, so that columns align.
fn pad(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(text.chars().count());
    format!("{text}{}", " ".repeat(missing))
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn clipping_joins_lines_and_marks_what_is_missing() {
        assert_eq!(clip("atomic {\n  x := 1;\n}", 40), "atomic { x := 1; }");
        assert_eq!(clip("x := x + 1", 6), "x :=…");
        assert_eq!(clip("¬(a ≤ b) ▷ skip", 15), "¬(a ≤ b) ▷ skip");
    }

    #[test]
    fn padding_counts_characters() {
        assert_eq!(pad("▷", 3), "▷  ");
        assert_eq!(pad("long", 2), "long");
    }
}
