//! Colours of text: functions that put the codes of a terminal around words.

use anstyle::{AnsiColor, Style};

/// Whether text contains colours. The binary decides this; the default is plain text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Paint {
    /// No colours.
    #[default]
    Plain,
    /// ANSI escape codes, which the writer may still strip.
    Ansi,
}

impl Paint {
    fn with(self, style: Style, text: &str) -> String {
        match self {
            Paint::Plain => text.to_owned(),
            Paint::Ansi if text.is_empty() => String::new(),
            Paint::Ansi => format!("{style}{text}{style:#}"),
        }
    }

    /// Paints good news.
    pub(crate) fn good(self, text: &str) -> String {
        self.with(AnsiColor::Green.on_default().bold(), text)
    }

    /// Paints bad news.
    pub(crate) fn bad(self, text: &str) -> String {
        self.with(AnsiColor::Red.on_default().bold(), text)
    }

    /// Paints an uncertain result.
    pub(crate) fn unsure(self, text: &str) -> String {
        self.with(AnsiColor::Yellow.on_default().bold(), text)
    }

    /// Paints text that can be skipped on a first reading.
    pub(crate) fn dim(self, text: &str) -> String {
        self.with(Style::new().dimmed(), text)
    }

    /// Paints a heading.
    pub(crate) fn strong(self, text: &str) -> String {
        self.with(Style::new().bold(), text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_has_no_escape_codes() {
        assert_eq!(Paint::Plain.bad("no"), "no");
        assert_eq!(Paint::Ansi.bad("no"), "\u{1b}[1m\u{1b}[31mno\u{1b}[0m");
    }
}
