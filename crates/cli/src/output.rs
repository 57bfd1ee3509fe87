//! Writing to the terminal, or to a program that reads.

use std::io::{self, Write};

use crate::exit::Exit;

/// Writes a result to standard output. Colours are stripped where they are not wanted: NO_COLOR, no
/// terminal. A reader that has had enough (`| head`) changes nothing about the answer.
pub(crate) fn print(text: &str, exit: Exit) -> Exit {
    written(write_all(&mut anstream::stdout().lock(), text), exit)
}

/// The same for what must not be changed.
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
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}
