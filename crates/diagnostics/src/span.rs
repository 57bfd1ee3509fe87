//! Places in the source text.

use crate::files::{MARK, lines_between, since_mark};

/// A range of bytes of the source text.
///
/// ```
/// use mazurka_diagnostics::Span;
/// let source = "var x: int = 0\nprocess { y := 1 }";
/// let span = Span { start: 25, end: 26 };
/// assert_eq!(span.text(source), "y");
/// assert_eq!(span.line_column(source), (2, 11));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Span {
    /// Returns the span from the start of this span to the end of `end`.
    ///
    /// ```
    /// use mazurka_diagnostics::Span;
    /// let all = Span { start: 1, end: 2 }.to(Span { start: 5, end: 9 });
    /// assert_eq!(all, Span { start: 1, end: 9 });
    /// ```
    pub fn to(self, end: Span) -> Span {
        Span {
            start: self.start,
            end: end.end,
        }
    }

    /// Returns the text of the span; empty if the span does not fit the source.
    pub fn text(self, source: &str) -> &str {
        source
            .get(self.start as usize..self.end as usize)
            .unwrap_or("")
    }

    /// Returns the line and the column of the start, both counted from 1, in its file. Columns
    /// count characters.
    pub fn line_column(self, source: &str) -> (usize, usize) {
        let before = source.get(..self.start as usize).unwrap_or(source);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before[line_start..].chars().count() + 1;
        if !before.contains(MARK) {
            return (before.matches('\n').count() + 1, column);
        }
        let (_, first, from) = since_mark(source, before.len());
        (first + lines_between(&before[from..]), column)
    }

    /// Returns the line of the start, counted from 1 in the whole text with the lines of all files
    /// and of the marks between them.
    pub fn line_of_all(self, source: &str) -> usize {
        let before = source.get(..self.start as usize).unwrap_or(source);
        before.matches('\n').count() + 1
    }

    /// Returns the name of the file that contains the span; `None` for the main file.
    pub fn file(self, source: &str) -> Option<&str> {
        let (name, ..) = since_mark(source, self.start as usize);
        (!name.is_empty()).then_some(name)
    }
}
