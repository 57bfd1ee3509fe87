//! Writes results to standard output and messages to standard error, with colours and line breaks
//! if they go to a terminal.

use std::io::{self, IsTerminal, Write};

use crate::exit::Exit;

/// The least width to which output is wrapped.
const NARROWEST: usize = 40;
/// The width of a terminal that does not report it.
const USUAL_WIDTH: usize = 80;

/// Returns the width of the output: `COLUMNS`, or the width of the terminal. A file or a pipe has
/// no width, so its text is neither cut nor wrapped.
pub(crate) fn width() -> Option<usize> {
    let out = io::stdout();
    let terminal = || out.is_terminal().then(|| terminal_width(&out));
    let width = columns().or_else(terminal);
    width.map(|width| width.max(NARROWEST))
}

/// Returns the width in the environment.
fn columns() -> Option<usize> {
    let given = std::env::var("COLUMNS").ok();
    let given = given.and_then(|columns| columns.trim().parse::<usize>().ok());
    given.filter(|&columns| columns > 0)
}

/// Returns the greatest width of the progress line. The line must not wrap, because a wrapped line
/// cannot be removed.
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

/// Sets whether texts have colours: always, never, or only on a terminal.
pub(crate) fn colour(when: clap::ColorChoice) {
    let choice = match when {
        clap::ColorChoice::Auto => anstream::ColorChoice::Auto,
        clap::ColorChoice::Always => anstream::ColorChoice::Always,
        clap::ColorChoice::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
}

/// Writes a result to standard output. Colours are stripped with NO_COLOR and where there is no
/// terminal. A reader that stops early (`| head`) does not change the exit code.
pub(crate) fn print(text: &str, exit: Exit) -> Exit {
    written(write_all(&mut anstream::stdout().lock(), text), exit)
}

/// Writes a part of a dialogue; fails if the output is closed.
pub(crate) fn try_print(text: &str) -> io::Result<()> {
    write_all(&mut anstream::stdout().lock(), text)
}

/// Writes a result unchanged.
pub(crate) fn print_raw(text: &str, exit: Exit) -> Exit {
    written(write_all(&mut io::stdout().lock(), text), exit)
}

fn write_all(out: &mut impl Write, text: &str) -> io::Result<()> {
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Returns the exit code of a command after writing its result, which may have failed.
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

/// Writes a text to standard error.
pub(crate) fn print_error(text: &str) {
    let _ = try_print_error(text);
}

/// Writes a text to standard error; fails if it is closed.
pub(crate) fn try_print_error(text: &str) -> std::io::Result<()> {
    writeln!(anstream::stderr().lock(), "{text}")
}
