//! Reading and writing what the user names.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// No program is longer; what is longer was named by mistake.
const MOST_BYTES: u64 = 16 << 20;
/// A record holds whole runs.
const MOST_RECORD_BYTES: u64 = 1 << 30;

/// The text of a program.
pub(crate) fn program(name: &str) -> Result<String, String> {
    text(name, MOST_BYTES, "a program")
}

/// The text of a `.maz` program. What cannot be done with others is said in a few words.
pub(crate) fn maz_program(name: &str, cannot: &str) -> Result<String, String> {
    match name.ends_with(".abs") {
        true => Err(format!(
            "ABS programs cannot be {cannot}; `mazurka check` and `mazurka explore` work on them"
        )),
        false => program(name),
    }
}

/// The text of a record.
pub(crate) fn record(name: &str) -> Result<String, String> {
    text(name, MOST_RECORD_BYTES, "a record")
}

/// The text of a checkpoint.
pub(crate) fn checkpoint(name: &str) -> Result<String, String> {
    text(name, MOST_RECORD_BYTES, "a checkpoint")
}

/// Saves a text, all of it or nothing: what was in the file stays there until the new text is complete.
pub(crate) fn save(path: &Path, text: &str) -> Result<(), String> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let saved = std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, path));
    saved.map_err(|error| format!("cannot write `{}`: {error}", path.display()))
}

fn text(name: &str, most: u64, what: &str) -> Result<String, String> {
    let mut bytes = Vec::new();
    let shown = if name == "-" { "standard input" } else { name };
    let read = match name {
        "-" => io::stdin().lock().take(most + 1).read_to_end(&mut bytes),
        _ if Path::new(name).is_dir() => {
            return Err(format!("`{name}` is a directory; name {what} in it"));
        }
        _ => File::open(name).and_then(|file| file.take(most + 1).read_to_end(&mut bytes)),
    };
    if let Err(error) = read {
        return Err(match error.kind() {
            io::ErrorKind::NotFound => format!("there is no file `{name}`"),
            io::ErrorKind::PermissionDenied => {
                format!("`{name}` may not be read: permission denied")
            }
            _ => format!("cannot read {shown}: {error}"),
        });
    }
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
