//! Writing to the terminal, or to a program that reads.

use std::io::{self, IsTerminal, Write};

use crate::exit::Exit;

/// Narrower than this nothing is made to fit.
const NARROWEST: usize = 40;
/// Where a terminal does not say how wide it is.
const USUAL_WIDTH: usize = 80;

/// How many columns a text may have: as `COLUMNS` says, else as the terminal does. A file or a pipe
/// has no width, so what is written there is neither cut nor broken.
pub(crate) fn width() -> Option<usize> {
    let out = io::stdout();
    let terminal = || out.is_terminal().then(|| terminal_width(&out));
    let width = columns().or_else(terminal);
    width.map(|width| width.max(NARROWEST))
}

/// The columns that the environment says.
fn columns() -> Option<usize> {
    let given = std::env::var("COLUMNS").ok();
    let given = given.and_then(|columns| columns.trim().parse::<usize>().ok());
    given.filter(|&columns| columns > 0)
}

/// How many columns the progress may have, which is shown on a terminal: what wraps stays there.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn progress_width() -> usize {
    let terminal = terminal_width(&io::stderr());
    columns().map_or(terminal, |given| given.min(terminal))
}

#[cfg(any(target_os = "linux", target_os = "macos", target_os = "freebsd"))]
fn terminal_width(of: &impl std::os::fd::AsFd) -> usize {
    let size = rustix::termios::tcgetwinsize(of);
    let width = size.map(|size| usize::from(size.ws_col));
    width.ok().filter(|&width| width > 0).unwrap_or(USUAL_WIDTH)
}

#[cfg(not(any(target_os = "linux", target_os = "macos", target_os = "freebsd")))]
fn terminal_width<T>(_of: &T) -> usize {
    USUAL_WIDTH
}

/// From now on texts have colours always, never, or where a terminal shows them.
pub(crate) fn colour(when: clap::ColorChoice) {
    let choice = match when {
        clap::ColorChoice::Auto => anstream::ColorChoice::Auto,
        clap::ColorChoice::Always => anstream::ColorChoice::Always,
        clap::ColorChoice::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
}

/// Writes a result to standard output. Colours are stripped where they are not wanted: NO_COLOR, no
/// terminal. A reader that has had enough (`| head`) changes nothing about the answer.
pub(crate) fn print(text: &str, exit: Exit) -> Exit {
    written(write_all(&mut anstream::stdout().lock(), text), exit)
}

/// A part of a dialogue; the error is that it is no longer read.
pub(crate) fn say(text: &str) -> io::Result<()> {
    write_all(&mut anstream::stdout().lock(), text)
}

/// Writes a result that must not be changed.
pub(crate) fn print_raw(text: &str, exit: Exit) -> Exit {
    written(write_all(&mut io::stdout().lock(), text), exit)
}

fn write_all(out: &mut impl Write, text: &str) -> io::Result<()> {
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// The exit code of a result, after it was written or not.
pub(crate) fn written(result: io::Result<()>, exit: Exit) -> Exit {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            complain(&format!(
                "cannot write the result: {error}; its exit code is {}; send the output elsewhere to see it",
                exit as u8
            ));
            exit.worse(Exit::BadInput)
        }
        _ => exit,
    }
}

/// Prints an error on standard error. If standard error is closed, the error cannot be reported.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "mazurka: {text}");
}

/// Writes to standard error as it is.
pub(crate) fn print_error(text: &str) {
    let _ = try_print_error(text);
}

/// Writes to standard error as it is; an error says that it is closed.
pub(crate) fn try_print_error(text: &str) -> std::io::Result<()> {
    writeln!(anstream::stderr().lock(), "{text}")
}
