//! Reads and writes the files that the user names. Results are written atomically: a new file is
//! written beside the old one and then renamed.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mazurka::Bound;
use serde::Serialize;

/// The maximal length of a program, in bytes. A longer file is assumed to be a mistake.
const MOST_BYTES: u64 = 16 << 20;
/// The maximal number of files of a model. A folder with more files is assumed to be a mistake.
const MOST_FILES: usize = 1000;
/// How long this process waits at its end for a file that is being saved.
const MOST_WAITING: Duration = Duration::from_secs(1);
/// The lock that is held while a file is saved.
static SAVING: Mutex<()> = Mutex::new(());
/// Write errors. They are reported after the result, so that a file that cannot be written does not
/// hide the result.
static UNWRITTEN: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The canonical paths of the program files that were read. No result is written over them.
static PROGRAMS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// The maximal number of symbolic links that are followed one after the other.
const MOST_LINKS: usize = 40;

/// The maximal length of a record or a proof, in bytes. It is large because a record holds whole
/// runs, and a proof all its goals.
const MOST_RECORD_BYTES: u64 = 1 << 30;

/// Reads the text of a program.
pub(crate) fn program(name: &str) -> Result<String, String> {
    let text = text(name, MOST_BYTES, "a program")?;
    if let Ok(path) = canonical(Path::new(name)) {
        let mut known = lock(&PROGRAMS);
        // The language server reads the same files again and again.
        if !known.contains(&path) {
            known.push(path);
        }
    }
    Ok(text)
}

/// Reads a `.maz` program with all files that it includes.
pub(crate) fn with_included(name: &str) -> Result<String, String> {
    Ok(expanded(name, &program(name)?))
}

/// Returns the text of a `.maz` program with all files that it includes.
pub(crate) fn expanded(name: &str, text: &str) -> String {
    expanded_with(name, text, &|_| None)
}

/// Returns the text of a `.maz` program with all files that it includes, for an editor. If a file
/// is open in the editor, `open` returns its text in the editor, which replaces the text on the
/// disk.
pub(crate) fn expanded_with(
    name: &str,
    text: &str,
    open: &dyn Fn(&str) -> Option<String>,
) -> String {
    let mut known = Vec::new();
    let read = &mut |path: &str| match name {
        "-" => Err("standard input has no folder".to_owned()),
        _ => included(Path::new(name), path, &mut known, open),
    };
    mazurka::expand(text, read)
}

/// Returns the canonical name of an existing file.
#[cfg(not(target_family = "wasm"))]
fn canonical(path: &Path) -> std::io::Result<PathBuf> {
    fs::canonicalize(path)
}

/// Returns the canonical name of an existing file of the page, whose file system has no links.
#[cfg(target_family = "wasm")]
fn canonical(path: &Path) -> std::io::Result<PathBuf> {
    fs::metadata(path)?;
    let here = |part: &std::path::Component<'_>| *part == std::path::Component::CurDir;
    Ok(path.components().filter(|part| !here(part)).collect())
}

/// Returns the canonical name of a file or folder; the empty name is the current folder.
fn canonical_or_current(path: &Path) -> std::io::Result<PathBuf> {
    if path.as_os_str().is_empty() {
        canonical(Path::new("."))
    } else {
        canonical(path)
    }
}

/// Returns the canonical name of a file in a folder or below it. Fails if a link leads out of the
/// folder, or if there is no such regular file.
pub(crate) fn below(folder: &Path, file: &Path) -> Result<PathBuf, String> {
    let shown = file.display().to_string();
    let real_file = canonical_or_current(file).map_err(|error| read_problem(&shown, &error))?;
    let real_folder = canonical_or_current(folder).map_err(|error| read_problem(&shown, &error))?;
    if !real_file.starts_with(real_folder) {
        Err(format!("`{shown}` is a link that leads out of the folder"))
    } else if !real_file.is_file() {
        // For example a pipe, from which a read might never return.
        Err(format!("`{shown}` is not a file"))
    } else {
        Ok(real_file)
    }
}

/// Reads a file that a program includes. Fails if a link leads out of the program's folder, or if
/// the file is in `known`, because it would then be included twice under two names.
fn included(
    program: &Path,
    path: &str,
    known: &mut Vec<(PathBuf, String)>,
    open: &dyn Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let folder = program.parent().unwrap_or(Path::new(""));
    let file = folder.join(path);
    let shown = file.display().to_string();
    let text = open(&shown);
    let real_file = below(folder, &file)?;
    if canonical_or_current(program).is_ok_and(|program| program == real_file) {
        return Err(format!("the program `{shown}` includes itself"));
    }
    if let Some((_, name)) = known.iter().find(|(file, _)| *file == real_file) {
        return Err(format!(
            "`{shown}` and `{name}` are one file; include it by one of its names"
        ));
    }
    known.push((real_file, path.to_owned()));
    text.map_or_else(|| self::program(&shown), Ok)
}

/// Returns the files with this ending in a folder and its subfolders, sorted by name. If the name
/// is not a folder, returns the name.
pub(crate) fn in_folder(name: &str, ending: &str) -> Result<Vec<String>, String> {
    if !Path::new(name).is_dir() {
        return Ok(vec![name.to_owned()]);
    }
    let mut found = Vec::new();
    let mut pending = vec![PathBuf::from(name)];
    while let Some(folder) = pending.pop() {
        let shown = folder.display().to_string();
        for entry in fs::read_dir(&folder).map_err(|error| read_problem(&shown, &error))? {
            let path = entry.map_err(|error| read_problem(&shown, &error))?.path();
            // A link to a folder is not followed, because it may lead back here.
            if path.is_dir() && !path.is_symlink() {
                pending.push(path);
            } else if let Some(name) = path.to_str().filter(|name| name.ends_with(ending)) {
                // Pipes and devices are no programs. A link to nothing is reported when it is read.
                if path.is_file() || !path.exists() {
                    found.push(name.to_owned());
                }
            }
        }
        if found.len() > MOST_FILES {
            return Err(format!(
                "`{name}` has more than {MOST_FILES} files; name the right ones"
            ));
        }
    }
    found.sort();
    if found.is_empty() {
        Err(format!(
            "`{name}` is a directory without `{ending}` files; name a program in it"
        ))
    } else {
        Ok(found)
    }
}

/// Reads a `.maz` program. Programs in other languages are refused; `cannot` names the refused
/// action in the message, such as `permuted`.
pub(crate) fn maz_program(name: &str, cannot: &str) -> Result<String, String> {
    if crate::native::is_native(name) {
        return Err(crate::native::refusal(name));
    }
    if name.ends_with(".abs") {
        Err(no_abs(cannot))
    } else {
        with_included(name)
    }
}

/// Returns the message of a command that does not accept ABS programs. `cannot` names the refused
/// action, such as `permuted`.
pub(crate) fn no_abs(cannot: &str) -> String {
    format!("ABS programs cannot be {cannot}; `mazurka check` and `mazurka explore` work on them")
}

/// Reads a record.
pub(crate) fn record(name: &str) -> Result<String, String> {
    text(name, MOST_RECORD_BYTES, "a record")
}

/// Reads a checkpoint.
pub(crate) fn checkpoint(name: &str) -> Result<String, String> {
    text(name, MOST_RECORD_BYTES, "a checkpoint")
}

/// Reads a certificate.
pub(crate) fn certificate(name: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let file = open(name, "a certificate")?;
    let read = file.take(MOST_RECORD_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| read_problem(name, &error))?;
    if bytes.len() as u64 > MOST_RECORD_BYTES {
        Err(format!("`{name}` is too large to be a certificate"))
    } else {
        Ok(bytes)
    }
}

/// Reads a proof. A proof may be large. So its text is read in pieces, and `watch` is called after
/// each piece. If a limit was hit, it stops the reading.
pub(crate) fn proof<T>(
    name: &str,
    watch: &mut dyn FnMut() -> ControlFlow<Bound>,
    parse: impl FnOnce(&mut dyn Read) -> T,
) -> Result<ControlFlow<Bound, T>, String> {
    let mut pieces = PiecewiseRead {
        from: open(name, "a proof")?,
        left: MOST_RECORD_BYTES,
        watch,
        stopped_by: None,
    };
    let parsed = parse(&mut BufReader::with_capacity(1 << 16, &mut pieces));
    Ok(match pieces.stopped_by {
        Some(bound) => ControlFlow::Break(bound),
        None => ControlFlow::Continue(parsed),
    })
}

/// A file that is read in pieces.
struct PiecewiseRead<'a> {
    from: Box<dyn Read>,
    left: u64,
    watch: &'a mut dyn FnMut() -> ControlFlow<Bound>,
    stopped_by: Option<Bound>,
}

impl Read for PiecewiseRead<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stopped_by = self.stopped_by.or_else(|| (self.watch)().break_value());
        if self.stopped_by.is_some() {
            return Err(io::Error::other("broken off"));
        }
        let read = self.from.read(buffer)?;
        let left = self.left.checked_sub(read as u64);
        self.left = left.ok_or_else(|| io::Error::other("the file is too large"))?;
        Ok(read)
    }
}

/// Saves a text atomically: the old contents stay until the new text is complete. Returns whether
/// it was saved; if not, [`unwritten`] reports it after the result.
pub(crate) fn save(what: &str, path: &Path, text: &str) -> bool {
    let saved = unless_read(path).and_then(|()| write_text(path, text, true));
    saved
        .map_err(|error| record_problem(problem(what, path, &error)))
        .is_ok()
}

/// Saves bytes like [`save`].
pub(crate) fn save_bytes(what: &str, path: &Path, bytes: &[u8]) -> bool {
    let written = || write_pieces(path, true, |mut file| file.write_all(bytes));
    let saved = unless_read(path).and_then(|()| written());
    saved
        .map_err(|error| record_problem(problem(what, path, &error)))
        .is_ok()
}

/// Saves a large record like [`save`]. The text is written in pieces, because it is larger than the
/// record itself.
pub(crate) fn save_json(what: &str, path: &Path, record: &impl Serialize) -> bool {
    let written = || {
        write_pieces(path, true, |file| {
            let mut file = BufWriter::new(file);
            serde_json::to_writer_pretty(&mut file, record)?;
            file.write_all(b"\n")?;
            file.flush()
        })
    };
    let saved = unless_read(path).and_then(|()| written());
    saved
        .map_err(|error| record_problem(problem(what, path, &error)))
        .is_ok()
}

/// Saves a file like [`save`], but returns the error at once. Used for a file that will be saved
/// again.
pub(crate) fn save_for_now(what: &str, path: &Path, text: &str) -> Result<(), String> {
    let saved = unless_read(path).and_then(|()| write_text(path, text, true));
    saved.map_err(|error| problem(what, path, &error))
}

/// Fails if the file is one of those from which the program was read.
fn unless_read(path: &Path) -> io::Result<()> {
    let path = canonical(path);
    if path.is_ok_and(|path| lock(&PROGRAMS).contains(&path)) {
        return Err(io::Error::other("the program was read from it"));
    }
    Ok(())
}

/// Replaces the contents of a file by `new`. Fails if the contents are no longer `old`.
pub(crate) fn replace(path: &Path, old: &str, new: &str) -> Result<(), String> {
    let shown = path.display();
    if !path.is_file() {
        return Err(format!("`{shown}` is not a file, so it is not changed"));
    }
    let mut changed = false;
    let written = write_pieces(path, true, |mut file| {
        file.write_all(new.as_bytes())?;
        // The comparison with `old` comes last, so that little time is left for another change
        // between it and the renaming.
        file.sync_all()?;
        changed = fs::read(path)? != old.as_bytes();
        if changed {
            Err(io::ErrorKind::Other.into())
        } else {
            Ok(())
        }
    });
    written.map_err(|error| {
        if changed {
            format!("`{shown}` has changed since it was read, so it was not overwritten")
        } else {
            problem("the change", path, &error)
        }
    })
}

/// Removes a saved file. A device is not removed.
pub(crate) fn remove(path: &Path) {
    if path.is_file() {
        // If the file cannot be removed, it does no harm.
        let _ = fs::remove_file(path);
    }
}

/// Returns the errors of writing since the last call.
pub(crate) fn unwritten() -> Vec<String> {
    std::mem::take(&mut *lock(&UNWRITTEN))
}

/// Waits for a file that is being saved, for a limited time; used before the program exits.
pub(crate) fn wait_for_save() {
    let until = Instant::now() + MOST_WAITING;
    while SAVING.try_lock().is_err() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A folder for many files. The first write error is reported after the result of the command.
pub(crate) struct Folder {
    path: PathBuf,
    what: &'static str,
    broken: bool,
}

impl Folder {
    /// Creates the folder, unless it exists.
    pub(crate) fn new(what: &'static str, path: &Path) -> Self {
        let created = fs::create_dir_all(path);
        let created = created.map_err(|error| record_problem(problem(what, path, &error)));
        Self {
            path: path.to_owned(),
            what,
            broken: created.is_err(),
        }
    }

    /// Writes a file into it, unless an earlier one failed.
    pub(crate) fn write(&mut self, name: &str, text: &str) {
        if self.broken {
            return;
        }
        let path = self.path.join(name);
        if let Err(error) = write_text(&path, text, false) {
            self.fail(&problem(self.what, &path, &error));
        }
    }

    /// Records why a file was not written.
    pub(crate) fn fail(&mut self, why: &str) {
        if !std::mem::replace(&mut self.broken, true) {
            record_problem(format!("{why} (this one and all after it are missing)"));
        }
    }

    /// Whether everything so far was written.
    pub(crate) fn is_whole(&self) -> bool {
        !self.broken
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn record_problem(problem: String) {
    lock(&UNWRITTEN).push(problem);
}

/// Writes a text into a file.
fn write_text(path: &Path, text: &str, sync: bool) -> io::Result<()> {
    write_pieces(path, sync, |mut file| file.write_all(text.as_bytes()))
}

/// Writes a new file beside the old one, and then renames it. A device, a pipe or standard output
/// is written to directly: replacing `/dev/null` by a file would do harm.
fn write_pieces(
    path: &Path,
    sync: bool,
    write: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    let streams = ["/dev/std", "/dev/fd", "/proc"];
    let named = path.as_os_str().to_string_lossy();
    let metadata = fs::metadata(path);
    match &metadata {
        Ok(old) if old.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Ok(old) if old.permissions().readonly() => {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(old) if old.is_file() && !streams.iter().any(|s| named.starts_with(s)) => {}
        Ok(_) => return write(&File::create(path)?),
        Err(_) => {}
    }
    let target = end_of_links(path)?;
    let mut beside = target.clone().into_os_string();
    // The name contains the process, because another process may save the same file.
    beside.push(format!(".{}.new", std::process::id()));
    let _saving = lock(&SAVING);
    let saved = File::create(&beside).and_then(|file| {
        write(&file)?;
        if let Ok(old) = metadata {
            file.set_permissions(old.permissions())?;
        }
        if sync { file.sync_all() } else { Ok(()) }
    });
    let placed = saved.and_then(|()| fs::rename(&beside, &target));
    placed.inspect_err(|_| {
        // If it was not created, there is nothing to remove.
        let _ = fs::remove_file(&beside);
    })
}

/// Returns the file to which a path leads through links; the file need not exist. A result is
/// written to this file, so the links stay.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    if let Ok(target) = canonical(path) {
        return Ok(target);
    }
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(next) = fs::read_link(&target) else {
            return Ok(target);
        };
        target = target.parent().unwrap_or(Path::new("")).join(next);
    }
    Err(io::Error::other("it is a link that leads to itself"))
}

/// Returns what could not be written, why, and what to do.
fn problem(what: &str, path: &Path, error: &io::Error) -> String {
    use io::ErrorKind::{
        AlreadyExists, IsADirectory, NotADirectory, NotFound, PermissionDenied, ReadOnlyFilesystem,
        StorageFull,
    };
    let (why, todo) = match error.kind() {
        NotFound => (
            "there is no such folder",
            "make the folder, or name another one",
        ),
        NotADirectory | AlreadyExists => {
            ("a file is where a folder should be", "name another place")
        }
        IsADirectory => ("this is a directory", "name a file in it"),
        StorageFull => ("there is no space left", "make room, or name another place"),
        PermissionDenied => ("permission denied", "name a place that may be written"),
        ReadOnlyFilesystem => ("it can only be read", "name a place that may be written"),
        _ => {
            let path = path.display();
            return format!("cannot write {what} `{path}`: {error}; name another place");
        }
    };
    format!("cannot write {what} `{}`: {why}; {todo}", path.display())
}

/// Returns the name of a file in messages.
fn shown(name: &str) -> &str {
    match name {
        "-" => "standard input",
        _ => name,
    }
}

/// Returns why a file cannot be read.
fn read_problem(name: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("there is no file `{name}`"),
        io::ErrorKind::PermissionDenied => format!("`{name}` may not be read: permission denied"),
        _ => format!("cannot read {}: {error}", shown(name)),
    }
}

fn open(name: &str, what: &str) -> Result<Box<dyn Read>, String> {
    match name {
        "-" => Ok(Box::new(io::stdin().lock())),
        _ if Path::new(name).is_dir() => Err(format!("`{name}` is a directory; name {what} in it")),
        _ => match File::open(name) {
            Ok(file) => Ok(Box::new(file)),
            Err(error) => Err(read_problem(name, &error)),
        },
    }
}

fn text(name: &str, most: u64, what: &str) -> Result<String, String> {
    let mut bytes = Vec::new();
    let shown = shown(name);
    let read = open(name, what)?.take(most + 1).read_to_end(&mut bytes);
    read.map_err(|error| read_problem(name, &error))?;
    if bytes.len() as u64 > most {
        return Err(format!(
            "{shown} is larger than {} MB; that is not {what}",
            most >> 20
        ));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("{shown} is not UTF-8 text (at byte {at}); is it {what}?")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_has_changed_is_not_overwritten() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("program.maz");
        fs::write(&path, "as it was read").expect("a file");
        assert_eq!(replace(&path, "as it was read", "changed"), Ok(()));
        let refused = replace(&path, "as it was read", "changed again");
        let why = refused.expect_err("it has changed");
        assert!(why.contains("has changed since it was read"), "{why}");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "changed");
        // No temporary file is left.
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
        fs::remove_file(&path).expect("it is there");
        assert!(replace(&path, "changed", "changed again").is_err());
        assert!(!path.exists());
    }
}
