//! The line that shows how far a search is: on a terminal one that changes, and for the page one
//! after the other (`--progress-lines`).

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::{output, watch};

#[cfg(not(target_family = "wasm"))]
use bar::bar;

/// Between two lines.
const BETWEEN_LINES: Duration = Duration::from_millis(500);

/// Set if progress is to be written line by line.
static LINES: AtomicBool = AtomicBool::new(false);

/// From now on progress is written line by line.
pub(crate) fn in_lines() {
    LINES.store(true, Ordering::SeqCst);
}

/// Where progress is shown.
pub(crate) enum Line {
    /// On a terminal.
    #[cfg(not(target_family = "wasm"))]
    Bar(indicatif::ProgressBar),
    /// For another program, and when the last one was written.
    Written(Option<Instant>),
}

impl Line {
    /// The line that is wanted, if any.
    pub(crate) fn wanted(quiet: bool) -> Option<Self> {
        if quiet {
            return None;
        }
        if LINES.load(Ordering::SeqCst) {
            return Some(Line::Written(None));
        }
        #[cfg(not(target_family = "wasm"))]
        if std::io::IsTerminal::is_terminal(&std::io::stderr()) {
            return Some(Line::Bar(bar()));
        }
        None
    }

    /// Shows a message, unless it is too soon.
    pub(crate) fn show(&mut self, message: impl FnOnce() -> String) {
        match self {
            #[cfg(not(target_family = "wasm"))]
            Line::Bar(bar) => {
                bar.set_message(message());
                bar.tick();
            }
            Line::Written(last) => {
                if last.is_none_or(|last| last.elapsed() >= BETWEEN_LINES) {
                    *last = Some(Instant::now());
                    let written = output::try_print_error(&format!("progress: {}", message()));
                    if written.is_err() {
                        watch::leave();
                    }
                }
            }
        }
    }

    /// Takes the progress off the screen.
    pub(crate) fn finish(self) {
        #[cfg(not(target_family = "wasm"))]
        if let Line::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

#[cfg(not(target_family = "wasm"))]
mod bar;
