//! Places in the source text.

/// A range of bytes of the source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Span {
    /// The span from the start of one to the end of another.
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

    /// The text it covers; empty if it does not fit the source.
    pub fn text(self, source: &str) -> &str {
        source
            .get(self.start as usize..self.end as usize)
            .unwrap_or("")
    }

    /// Line and column of its start, both from 1; columns count characters.
    pub fn line_column(self, source: &str) -> (usize, usize) {
        let before = source.get(..self.start as usize).unwrap_or(source);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        (
            before.matches('\n').count() + 1,
            before[line_start..].chars().count() + 1,
        )
    }
}
