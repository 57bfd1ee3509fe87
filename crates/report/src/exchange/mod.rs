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

use mazurka_core::record::{FILES_JOINED_BY, ProgramRecord, Record, Step};

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

/// Returns the path of a file that a record names, relative to the folder in which Mazurka ran. In
/// the record, names of included files are relative to the folder of the program. `None` stands for
/// the file of the program itself.
fn path_of(program: &ProgramRecord, file: Option<&str>) -> String {
    // A native program may have several files; its folder is that of the first file.
    let main = match program.file.split_once(FILES_JOINED_BY) {
        Some((first, _)) => first,
        None => &program.file,
    };
    let Some(file) = file else {
        return shown(main).to_owned();
    };
    if file.starts_with('/') {
        return file.to_owned();
    }
    let folder = main.rfind('/').map_or("", |end| &main[..=end]);
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split_inclusive('/').chain(file.split_inclusive('/')) {
        let above = parts
            .last()
            .filter(|last| !["/", "./", "../"].contains(last));
        match (part, above) {
            ("../", Some(_)) => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    parts.concat()
}

/// Returns the path of a step's file, and its label without the file. The label of a step in an
/// included file begins with the name of this file. For a header of the system this is the name
/// without the folder.
fn step_file<'r>(program: &ProgramRecord, step: &'r Step) -> (String, &'r str) {
    let actor = step.actor.as_ref().and_then(|actor| actor.file.as_deref());
    let file = actor.or(step.file.as_deref());
    let label = file.and_then(|file| {
        let name = file.rsplit('/').next().unwrap_or(file);
        let prefixes = [file, name].map(|shown| format!("({shown}) "));
        { prefixes.iter() }.find_map(|prefix| step.label.strip_prefix(prefix.as_str()))
    });
    (path_of(program, file), label.unwrap_or(&step.label))
}

/// Returns the name of a file as users should see it: `stdin` for `-`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_seen_from_the_folder_of_the_program() {
        let path = |main: &str, file| {
            let program = ProgramRecord {
                file: main.to_owned(),
                hash: String::new(),
                set: Vec::new(),
                names: Vec::new(),
            };
            path_of(&program, file)
        };
        assert_eq!(path("a/v.maz", Some("lib.maz")), "a/lib.maz");
        assert_eq!(path("v.maz", Some("sub/lib.maz")), "sub/lib.maz");
        assert_eq!(path("src/m.c", Some("../inc/h.h")), "inc/h.h");
        assert_eq!(path("../m.c", Some("../h.h")), "../../h.h");
        assert_eq!(path("/m/v.maz", Some("lib.maz")), "/m/lib.maz");
        assert_eq!(path("m.c", Some("/usr/h.h")), "/usr/h.h");
        assert_eq!(path("a/m.c + a/n.c", None), "a/m.c");
        assert_eq!(path("-", None), "stdin");
    }
}
