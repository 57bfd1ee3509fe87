//! The only file that prints and writes.
//!
//! What a test prints is captured if it passes, so CI cannot see which searches were cut. In the
//! folder that `MAZURKA_REPORT` names, `models.txt` has a line for each search, and each failure
//! has a file of its own, and a record beside it that `mazurka show` renders.

use std::fs::{File, OpenOptions, create_dir_all};
use std::io::{self, Write};
use std::path::Path;

use mazurka_core::record::Record;

use crate::world::{Failure, Inner};

/// The variable that names the folder, without what all have in common.
pub(crate) const REPORT: &str = "REPORT";

/// Tells about a search that found nothing; prints it, if that is wanted.
pub(crate) fn summary(text: &str, quiet: bool) {
    if !quiet {
        println!("{text}");
    }
    report(|folder| line(folder, text));
}

/// Tells about a failure, which the panic of the test prints.
pub(crate) fn failure(text: &str, record: Option<&Record>) {
    report(|folder| {
        let test = test()
            .unwrap_or_else(|| "main".to_owned())
            .replace("::", ".");
        let mut number = 1;
        let (name, mut file) = loop {
            let name = format!("{test}-{number}.txt");
            match File::create_new(folder.join(&name)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                file => break (name, file?),
            }
        };
        writeln!(file, "{text}")?;
        if let Some(record) = record {
            let file = File::create(folder.join(format!("{test}-{number}.json")))?;
            serde_json::to_writer_pretty(file, record)?;
        }
        let first = text.lines().next().unwrap_or_default();
        line(folder, &format!("FAILED: {first} ({name})"))
    });
}

/// The test that runs: it has a real thread of its name. None in a main function.
pub(crate) fn test() -> Option<String> {
    let current = std::thread::current();
    let name = current.name().filter(|name| *name != "main");
    name.map(ToOwned::to_owned)
}

fn line(folder: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options
        .create(true)
        .append(true)
        .open(folder.join("models.txt"))?;
    // In one piece: other tests write as well.
    let test = test().unwrap_or_else(|| "main".to_owned());
    file.write_all(format!("{test}: {text}\n").as_bytes())
}

/// Writes something, if there is a folder for it.
fn report(write: impl FnOnce(&Path) -> io::Result<()>) {
    let Some(folder) = std::env::var_os(format!("MAZURKA_{REPORT}")) else {
        return;
    };
    let folder = Path::new(&folder);
    if let Err(error) = create_dir_all(folder).and_then(|()| write(folder)) {
        eprintln!("mazurka: MAZURKA_{REPORT}={}: {error}", folder.display());
    }
}

/// Prints why the process is about to be aborted.
pub(crate) fn last_words(inner: &Inner, failure: &Failure) {
    let before = inner.threads[inner.current.index()].failure;
    let before = before.map(|site| &inner.failures[site as usize]);
    eprintln!("mazurka: {}, so the process must abort.", failure.message);
    if let Some(before) = before {
        eprintln!(
            "mazurka: the panic was: {} at {}",
            before.message, before.place
        );
    }
    eprintln!(
        "mazurka: it was in thread {}. A destructor that runs while a panic unwinds must not panic itself.",
        inner.names.paths[inner.current.index()]
    );
}
