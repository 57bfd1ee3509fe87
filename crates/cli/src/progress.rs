//! The progress of a search: a line on a terminal that is updated, or separate lines for the page
//! (`--progress-lines`).

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::{output, watch};

#[cfg(not(target_family = "wasm"))]
use bar::bar;

/// The least time between two written lines.
const BETWEEN_LINES: Duration = Duration::from_millis(500);

/// Set if progress is written line by line.
static LINES: AtomicBool = AtomicBool::new(false);

/// From now on, progress is written line by line.
pub(crate) fn in_lines() {
    LINES.store(true, Ordering::SeqCst);
}

/// Where progress is shown.
pub(crate) enum ProgressLine {
    /// On a terminal.
    #[cfg(not(target_family = "wasm"))]
    Bar(indicatif::ProgressBar),
    /// For another program; the time when the last line was written.
    Written(Option<Instant>),
}

impl ProgressLine {
    /// Returns where to show progress; `None` if it should not be shown.
    pub(crate) fn wanted(quiet: bool) -> Option<Self> {
        if quiet {
            return None;
        }
        if LINES.load(Ordering::SeqCst) {
            return Some(ProgressLine::Written(None));
        }
        #[cfg(not(target_family = "wasm"))]
        if std::io::IsTerminal::is_terminal(&std::io::stderr()) {
            return Some(ProgressLine::Bar(bar()));
        }
        None
    }

    /// Shows a message, unless the last one is too recent.
    pub(crate) fn show(&mut self, message: impl FnOnce() -> String) {
        match self {
            #[cfg(not(target_family = "wasm"))]
            ProgressLine::Bar(bar) => {
                bar.set_message(message());
                bar.tick();
            }
            ProgressLine::Written(last) => {
                if last.is_none_or(|last| last.elapsed() >= BETWEEN_LINES) {
                    *last = Some(Instant::now());
                    let written = output::try_print_error(&format!("progress: {}", message()));
                    if written.is_err() {
                        watch::exit_program();
                    }
                }
            }
        }
    }

    /// Removes the progress from the screen.
    pub(crate) fn finish(self) {
        #[cfg(not(target_family = "wasm"))]
        if let ProgressLine::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

#[cfg(not(target_family = "wasm"))]
mod bar;
