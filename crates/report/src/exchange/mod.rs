//! Views of a record in the formats that other tools read (docs/exchange.md).
//!
//! | file | format | read by |
//! |---|---|---|
//! | `sarif.rs` | SARIF 2.1.0 | code scanning, editors |
//! | `junit.rs` | JUnit XML | test reports of CI servers |
//! | `github.rs` | workflow commands | annotations of GitHub Actions |
//! | `itf.rs` | the Informal Trace Format | Apalache, Quint, trace viewers |
//! | `sheet.rs`, `plot.rs` | CSV, Markdown, LaTeX, plots as SVG | spreadsheets, papers |

mod github;
mod itf;
mod junit;
mod plot;
mod sarif;
mod sheet;

use mazurka_core::record::{Place, ProgramRecord, Record, Step};

use crate::verdict::hit_bounds;
use crate::{View, headline};

pub use github::{github, github_mistakes};
pub use itf::itf;
pub use junit::{junit, junit_mistakes};
pub use plot::Plot;
pub use sarif::{sarif, sarif_mistakes};
pub use sheet::Sheet;

/// The name of the tool, and its version.
const TOOL: (&str, &str) = ("Mazurka", env!("CARGO_PKG_VERSION"));

/// Returns the file of a place: that of the program, unless the place names another.
fn file_of<'r>(program: &'r ProgramRecord, place: &'r Place) -> &'r str {
    place.file.as_deref().unwrap_or(&program.file)
}

/// Returns the file of a step, and its label without the file. Labels of steps in included files
/// begin with the name of the file.
fn step_file<'r>(program: &'r ProgramRecord, step: &'r Step) -> (&'r str, &'r str) {
    let actor = step.actor.as_ref().and_then(|actor| actor.file.as_deref());
    if let Some(file) = actor {
        return (file, &step.label);
    }
    let included = step.label.strip_prefix('(');
    let included = included.and_then(|rest| rest.split_once(".maz) "));
    match included {
        Some((name, label)) if !name.contains([' ', '(', ')']) => {
            (&step.label[1..1 + name.len() + ".maz".len()], label)
        }
        _ => (&program.file, &step.label),
    }
}

/// Returns the name of a file to show: standard input has no name.
fn shown(file: &str) -> &str {
    match file {
        "-" => "stdin",
        file => file,
    }
}

/// Returns the verdict, and for each bound that was hit what to do about it.
fn scope(record: &Record) -> Vec<String> {
    let view = View::default();
    let lines = headline(record, &view) + &hit_bounds(record, &view);
    lines.lines().map(|line| line.trim().to_owned()).collect()
}
