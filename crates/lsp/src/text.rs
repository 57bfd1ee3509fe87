//! Positions in a text, as the protocol counts them: lines from 0, and columns in UTF-16 code
//! units.

use lsp_types::{Position, Range, TextDocumentContentChangeEvent};
use mazurka::Span;

/// A text, and where its lines begin.
///
/// In the protocol a line ends with `\n`, `\r\n` or a lone `\r`. In records and in the language it
/// ends only with `\n`, so there are two tables of lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text {
    text: String,
    /// Where the lines begin, as the protocol counts them.
    lines: Vec<usize>,
    /// Where the lines begin, as records count them.
    record_lines: Vec<usize>,
    /// For each character beyond ASCII: the byte offset of its end, and the difference between this
    /// offset and the count of UTF-16 units up to there.
    wide: Vec<(usize, usize)>,
}

impl Text {
    pub(crate) fn new(text: String) -> Self {
        let mut lines = vec![0];
        let mut record_lines = vec![0];
        let bytes = text.as_bytes();
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                b'\n' => {
                    lines.push(at + 1);
                    record_lines.push(at + 1);
                }
                b'\r' if bytes.get(at + 1) != Some(&b'\n') => lines.push(at + 1),
                _ => {}
            }
        }
        let mut wide = Vec::new();
        if !text.is_ascii() {
            let mut surplus = 0;
            for (at, c) in text.char_indices().filter(|(_, c)| !c.is_ascii()) {
                surplus += c.len_utf8() - c.len_utf16();
                wide.push((at + c.len_utf8(), surplus));
            }
        }
        Self {
            text,
            lines,
            record_lines,
            wide,
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the text after a change. A position beyond the text means its end.
    pub(crate) fn changed(&self, change: TextDocumentContentChangeEvent) -> Self {
        let Some(range) = change.range else {
            return Self::new(change.text);
        };
        let start = self.offset(range.start);
        let end = self.offset(range.end).max(start);
        let mut text = String::with_capacity(self.text.len() + change.text.len());
        text += &self.text[..start];
        text += &change.text;
        text += &self.text[end..];
        Self::new(text)
    }

    /// Returns the byte range of a line, without its line break. `starts` is one of the two tables.
    fn line_in(&self, starts: &[usize], line: usize) -> std::ops::Range<usize> {
        let Some(&start) = starts.get(line) else {
            return self.text.len()..self.text.len();
        };
        let end = starts.get(line + 1).copied().unwrap_or(self.text.len());
        let text = &self.text[start..end];
        let text = text.strip_suffix('\n').unwrap_or(text);
        start..start + text.strip_suffix('\r').unwrap_or(text).len()
    }

    /// Returns the byte range of a line of the protocol, without its line break.
    fn line(&self, line: usize) -> std::ops::Range<usize> {
        self.line_in(&self.lines, line)
    }

    /// Returns the byte range of a line of a record, which counts from 1.
    fn record_line(&self, line: usize) -> std::ops::Range<usize> {
        self.line_in(&self.record_lines, line.saturating_sub(1))
    }

    /// Returns the difference between a byte offset and the count of UTF-16 units before it.
    fn surplus(&self, offset: usize) -> usize {
        let before = self.wide.partition_point(|(end, _)| *end <= offset);
        before.checked_sub(1).map_or(0, |last| self.wide[last].1)
    }

    /// Returns the byte offset of a position. If the line is shorter, it is the end of the line; if
    /// the text is shorter, the end of the text.
    pub(crate) fn offset(&self, position: Position) -> usize {
        let line = self.line(position.line as usize);
        let mut units = 0;
        for (at, c) in self.text[line.clone()].char_indices() {
            if units >= position.character as usize {
                return line.start + at;
            }
            units += c.len_utf16();
        }
        line.end
    }

    /// Returns the position of a byte.
    pub(crate) fn position(&self, offset: usize) -> Position {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.lines.partition_point(|start| *start <= offset) - 1;
        let start = self.lines[line];
        let units = (offset - start) - (self.surplus(offset) - self.surplus(start));
        Position::new(line as u32, units as u32)
    }

    pub(crate) fn range(&self, span: Span) -> Range {
        let start = self.position(span.start as usize);
        Range::new(start, self.position(span.end.max(span.start) as usize))
    }

    /// Returns the range of a span up to the end of its first line.
    pub(crate) fn range_in_line(&self, span: Span) -> Range {
        let start = self.position(span.start as usize);
        let line = self.line(start.line as usize);
        let end = (span.end as usize).min(line.end);
        Range::new(start, self.position(end.max(span.start as usize)))
    }

    /// Returns the range of this many characters from a line and a column, both from 1 as in
    /// records.
    pub(crate) fn range_of(&self, line: usize, column: usize, length: usize) -> Range {
        let line = self.record_line(line);
        let text = &self.text[line.clone()];
        let byte = |count: usize| {
            let found = text.char_indices().nth(count);
            found.map_or(line.end, |(at, _)| line.start + at)
        };
        let first = column.saturating_sub(1);
        let [start, end] = [byte(first), byte(first.saturating_add(length))];
        Range::new(self.position(start), self.position(end))
    }

    /// Returns the range of a line of a record, without the spaces around it.
    pub(crate) fn range_of_line(&self, line: usize) -> Range {
        self.trimmed(self.record_line(line))
    }

    /// Returns the range of a line of the protocol, without the spaces around it.
    pub(crate) fn range_of_protocol_line(&self, line: u32) -> Range {
        self.trimmed(self.line(line as usize))
    }

    fn trimmed(&self, line: std::ops::Range<usize>) -> Range {
        let text = &self.text[line.clone()];
        let start = line.start + (text.len() - text.trim_start().len());
        let end = start + text.trim().len();
        Range::new(self.position(start.min(line.end)), self.position(end))
    }

    pub(crate) fn whole(&self) -> Range {
        Range::new(Position::new(0, 0), self.position(self.text.len()))
    }

    /// Returns the text of the line of a byte.
    pub(crate) fn line_at(&self, offset: usize) -> &str {
        let line = self.position(offset).line as usize;
        &self.text[self.line(line)]
    }

    /// Returns the comment lines directly above the line of a byte, without their slashes.
    pub(crate) fn comments_above(&self, offset: usize) -> Vec<&str> {
        let line = self.position(offset).line as usize;
        let above = (0..line)
            .rev()
            .map(|line| self.text[self.line(line)].trim());
        let comments = above.map_while(|line| line.strip_prefix("//"));
        let mut found: Vec<&str> = comments.map(str::trim).collect();
        found.reverse();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_utf16_units() {
        let text = Text::new("a▷𝔸b\r\ncd".to_owned());
        let at = |line, character| text.offset(Position::new(line, character));
        assert_eq!(
            [at(0, 0), at(0, 1), at(0, 2), at(0, 4), at(0, 99)],
            [0, 1, 4, 8, 9]
        );
        assert_eq!([at(1, 1), at(1, 9), at(7, 0)], [12, 13, 13]);
        assert_eq!(text.position(8), Position::new(0, 4));
        assert_eq!(text.position(5), Position::new(0, 2), "within a character");
        assert_eq!(
            text.range_of(1, 3, 1),
            Range::new(Position::new(0, 2), Position::new(0, 4))
        );
        assert_eq!(text.range_of(9, 3, 1).start, Position::new(1, 2));
    }

    #[test]
    fn a_lone_return_ends_a_line_of_the_protocol_only() {
        let text = Text::new("a\rb\r\nc\r\rd".to_owned());
        let at = |line, character| text.offset(Position::new(line, character));
        assert_eq!([at(0, 9), at(1, 0), at(1, 9)], [1, 2, 3]);
        assert_eq!([at(2, 0), at(3, 0), at(4, 0)], [5, 7, 8]);
        assert_eq!(text.position(8), Position::new(4, 0));
        assert_eq!(text.line_at(2), "b");
        // In a record `d` is in line 2, after three characters.
        assert_eq!(text.range_of(2, 4, 1).start, Position::new(4, 0));
    }

    #[test]
    fn a_change_never_leaves_the_text() {
        let text = Text::new("one\ntwo".to_owned());
        let change = |from: (u32, u32), to: (u32, u32), new: &str| {
            let range = Range::new(Position::new(from.0, from.1), Position::new(to.0, to.1));
            let event = TextDocumentContentChangeEvent {
                range: Some(range),
                range_length: None,
                text: new.to_owned(),
            };
            text.changed(event).text
        };
        assert_eq!(change((0, 1), (1, 1), "X"), "oXwo");
        assert_eq!(change((9, 9), (9, 9), "!"), "one\ntwo!");
        assert_eq!(change((1, 2), (0, 0), "-"), "one\ntw-o");
    }
}
