//! The progress line on a terminal, drawn by `indicatif`.

use std::io::{self, Write};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};

use crate::output;

/// The number of redraws per second.
const A_SECOND: u8 = 10;

/// Creates a progress line on standard error, which is a terminal.
pub(super) fn bar() -> ProgressBar {
    let target = ProgressDrawTarget::term_like_with_hz(Box::new(Screen), A_SECOND);
    ProgressBar::with_draw_target(None, target).with_style(style())
}

/// Returns the line, cut at the width of the terminal: a line that wraps cannot be removed.
fn style() -> ProgressStyle {
    let style = ProgressStyle::with_template("{spinner} {wide_msg}");
    style.unwrap_or_else(|_| ProgressStyle::default_spinner())
}

/// The terminal as `indicatif` sees it. Its width is that of `COLUMNS`, if this is set.
#[derive(Debug)]
struct Screen;

/// Returns the width of the line: the last column stays free for the cursor.
fn line_width(columns: usize) -> u16 {
    u16::try_from(columns.saturating_sub(1)).unwrap_or(u16::MAX)
}

impl Screen {
    fn put(&self, text: &str) -> io::Result<()> {
        anstream::stderr().lock().write_all(text.as_bytes())
    }
}

impl TermLike for Screen {
    fn width(&self) -> u16 {
        line_width(output::progress_width())
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.moved(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.moved(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.moved(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.moved(n, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.put(&format!("{text}\n"))
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.put(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.put("\r\x1b[2K")
    }

    fn flush(&self) -> io::Result<()> {
        anstream::stderr().lock().flush()
    }
}

impl Screen {
    /// Moves the cursor; `letter` is that of the control sequence.
    fn moved(&self, n: usize, letter: char) -> io::Result<()> {
        match n {
            0 => Ok(()),
            n => self.put(&format!("\x1b[{n}{letter}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// A terminal of 40 columns that records its output.
    #[derive(Clone, Debug, Default)]
    struct Narrow(Arc<Mutex<String>>);

    impl TermLike for Narrow {
        fn width(&self) -> u16 {
            line_width(40)
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.0.lock().expect("no panic").push_str(text);
            self.0.lock().expect("no panic").push('\n');
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            Ok(())
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_progress_never_wraps() {
        let narrow = Narrow::default();
        let target = ProgressDrawTarget::term_like(Box::new(narrow.clone()));
        let bar = ProgressBar::with_draw_target(None, target).with_style(style());
        bar.set_message("3.0 M executions of about 12.0 M (4.8 M–48.0 M), 1.5 M a second");
        bar.tick();
        let written = narrow.0.lock().expect("no panic").clone();
        assert!(written.contains("3.0 M executions"), "{written}");
        let wide = written.lines().find(|line| line.chars().count() > 39);
        assert_eq!(wide, None, "{written}");
    }
}
