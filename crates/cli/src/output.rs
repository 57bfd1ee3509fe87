//! Writes results to standard output and messages to standard error, with colours and line breaks
//! if they go to a terminal.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

use crate::exit::Exit;

/// The least width to which output is wrapped.
const NARROWEST: usize = 40;
/// The assumed width of a terminal that does not report its width.
const USUAL_WIDTH: usize = 80;

/// Returns the width of the output: `COLUMNS`, or the width of the terminal. A file or a pipe has
/// no width, so its text is neither cut nor wrapped.
pub(crate) fn width() -> Option<usize> {
    let out = io::stdout();
    let terminal = || out.is_terminal().then(|| terminal_width(&out));
    let width = columns().or_else(terminal);
    width.map(|width| width.max(NARROWEST))
}

/// Returns the width that the environment variable `COLUMNS` sets, if it does.
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
    written(
        write_all(&mut anstream::stdout().lock(), &harmless(text)),
        exit,
    )
}

/// Writes a part of a dialogue; fails if the output is closed.
pub(crate) fn try_print(text: &str) -> io::Result<()> {
    write_all(&mut anstream::stdout().lock(), &harmless(text))
}

/// Writes a result unchanged, for example JSON for another program.
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
    let _ = writeln!(anstream::stderr().lock(), "mazurka: {}", harmless(text));
}

/// Writes a text to standard error.
pub(crate) fn print_error(text: &str) {
    let _ = try_print_error(text);
}

/// Writes a text to standard error; fails if it is closed.
pub(crate) fn try_print_error(text: &str) -> std::io::Result<()> {
    writeln!(anstream::stderr().lock(), "{}", harmless(text))
}

/// Returns a text without characters that move the cursor, clear the screen or hide text: the
/// messages, names and outputs of a program may contain them. Colours remain.
fn harmless(text: &str) -> Cow<'_, str> {
    let plain = |c: char| !is_harmful(c);
    if text.chars().all(plain) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_harmful) {
        kept += &rest[..at];
        rest = &rest[at..];
        let style = style_length(rest);
        if style > 0 {
            kept += &rest[..style];
            rest = &rest[style..];
        } else {
            kept.push(char::REPLACEMENT_CHARACTER);
            let mut characters = rest.chars();
            characters.next();
            rest = characters.as_str();
        }
    }
    Cow::Owned(kept + rest)
}

/// Whether a character changes how the text around it is shown: a control character, or one that
/// changes the direction of writing.
fn is_harmful(c: char) -> bool {
    let direction = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    direction || c.is_control() && !matches!(c, '\n' | '\t')
}

/// Returns the length of the sequence at the start of a text that sets a colour or a weight; 0 if
/// there is none. Sequences that blink, conceal or invert text do not count.
fn style_length(text: &str) -> usize {
    let Some((codes, _)) = text
        .strip_prefix("\x1b[")
        .and_then(|rest| rest.split_once('m'))
    else {
        return 0;
    };
    let digits = codes.bytes().all(|b| b.is_ascii_digit() || b == b';');
    let harmful = |code: &str| matches!(code.trim_start_matches('0'), "5" | "6" | "7" | "8");
    // In `38;5;9`, a colour of a palette, 5 is no code of its own.
    let palette = codes.starts_with("38;5;") || codes.starts_with("48;5;");
    if digits && codes.len() <= 20 && (palette || !codes.split(';').any(harmful)) {
        "\x1b[".len() + codes.len() + 1
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_colours_reach_a_terminal() {
        for text in [
            "plain\n\ttext é ▷",
            "\x1b[1m\x1b[31mred\x1b[0m",
            "\x1b[38;5;9mbright\x1b[m",
        ] {
            assert_eq!(harmless(text), text);
        }
        for (text, shown) in [
            ("a\x1b[2Jb", "a\u{fffd}[2Jb"),
            ("a\x1b[8mb\x1b[0m", "a\u{fffd}[8mb\x1b[0m"),
            ("a\x1b[1;08mb", "a\u{fffd}[1;08mb"),
            ("ends in \x1b", "ends in \u{fffd}"),
            (
                "a\rb\u{9b}c\u{202e}d\x07",
                "a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}",
            ),
            ("\x1b[", "\u{fffd}["),
            ("\x1bé\x1b[31mé", "\u{fffd}é\x1b[31mé"),
        ] {
            assert_eq!(harmless(text), shown);
        }
    }
}
