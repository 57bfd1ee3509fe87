//! All input and output of this crate.
//!
//! The output of a passing test is captured, so CI cannot see which searches were cut. So each
//! search adds a line to `models.txt` in the folder that `MAZURKA_REPORT` names. Each failure adds
//! a text file and a record, which `mazurka show` renders.

use std::fs::{self, File, OpenOptions, create_dir_all};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use mazurka_core::record::Record;

use crate::world::{Failure, Inner, Place};

/// The variable that names the folder, without the common prefix.
pub(crate) const REPORT: &str = "REPORT";

/// Reports a search that found nothing; prints it unless `quiet`.
pub(crate) fn summary(text: &str, quiet: bool) {
    if !quiet {
        println!("{text}");
    }
    report(|folder| line(folder, text));
}

/// Reports a failure, which the panic of the test prints.
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

/// Returns the name of the current test, which is the name of its real thread. `None` in `main`.
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
    // A single write, because other tests write as well.
    let test = test().unwrap_or_else(|| "main".to_owned());
    file.write_all(format!("{test}: {text}\n").as_bytes())
}

/// Writes to the report folder, if there is one.
fn report(write: impl FnOnce(&Path) -> io::Result<()>) {
    let Some(folder) = std::env::var_os(format!("MAZURKA_{REPORT}")) else {
        return;
    };
    let folder = Path::new(&folder);
    if let Err(error) = create_dir_all(folder).and_then(|()| write(folder)) {
        eprintln!("mazurka: MAZURKA_{REPORT}={}: {error}", folder.display());
    }
}

/// The file of a checkpoint. An error when reading or writing it is printed, and the
/// search continues.
pub(crate) struct Saved(PathBuf);

impl Saved {
    /// Returns the file for a model that is called at this place in the current test.
    pub fn new(folder: &Path, place: Place) -> Self {
        let name = format!("{}-{place}", test().unwrap_or_else(|| "main".to_owned()));
        let plain = |c: char| if c.is_alphanumeric() { c } else { '.' };
        let name: String = name.chars().map(plain).collect();
        Self(folder.join(format!("{name}.checkpoint")))
    }

    /// Returns the text of the file, if it exists.
    pub fn read(&self) -> Option<String> {
        match fs::read_to_string(&self.0) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                self.tell(&error);
                None
            }
        }
    }

    /// Replaces the content of the file atomically.
    pub fn write(&self, text: &str) {
        let folder = self.0.parent().unwrap_or(Path::new("."));
        let new = self.0.with_extension("new");
        let written = create_dir_all(folder)
            .and_then(|()| fs::write(&new, text))
            .and_then(|()| fs::rename(&new, &self.0));
        if let Err(error) = written {
            self.tell(&error);
        }
    }

    /// Removes the file, if it exists.
    pub fn remove(&self) {
        match fs::remove_file(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => self.tell(&error),
            _ => {}
        }
    }

    /// Prints what is wrong with the file.
    pub fn tell(&self, what: &dyn std::fmt::Display) {
        eprintln!("mazurka: the checkpoint {}: {what}", self.0.display());
    }
}

/// Returns the file of the running program, which identifies the build.
pub(crate) fn this_program() -> Vec<u8> {
    let path = std::env::current_exe();
    path.and_then(fs::read).unwrap_or_default()
}

/// Prints why the process is about to be aborted.
pub(crate) fn print_abort_reason(inner: &Inner, failure: &Failure) {
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
