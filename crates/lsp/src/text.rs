//! Positions in a text, as the protocol counts them: lines from 0, and columns in UTF-16 code
//! units.

use lsp_types::{Position, Range, TextDocumentContentChangeEvent};
use mazurka::Span;

/// A text, with the positions at which its lines begin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text {
    text: String,
    lines: Vec<usize>,
}

impl Text {
    pub(crate) fn new(text: String) -> Self {
        let after = text.match_indices('\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(after).collect();
        Self { text, lines }
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

    /// Returns the byte range of a line, without its line break.
    fn line(&self, line: usize) -> std::ops::Range<usize> {
        let Some(&start) = self.lines.get(line) else {
            return self.text.len()..self.text.len();
        };
        let end = self
            .lines
            .get(line + 1)
            .map_or(self.text.len(), |next| next - 1);
        let cut = self.text[start..end].ends_with('\r');
        start..end - usize::from(cut)
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
        let units = self.text[self.lines[line]..offset].encode_utf16().count();
        Position::new(line as u32, units as u32)
    }

    pub(crate) fn range(&self, span: Span) -> Range {
        let start = self.position(span.start as usize);
        Range::new(start, self.position(span.end.max(span.start) as usize))
    }

    /// Returns the range of `length` characters from a line and a column, which are counted from 1,
    /// as in records.
    pub(crate) fn range_of(&self, line: usize, column: usize, length: usize) -> Range {
        let line = self.line(line.saturating_sub(1));
        let text = &self.text[line.clone()];
        let byte = |count: usize| {
            let found = text.char_indices().nth(count);
            found.map_or(line.end, |(at, _)| line.start + at)
        };
        let first = column.saturating_sub(1);
        let [start, end] = [byte(first), byte(first.saturating_add(length))];
        Range::new(self.position(start), self.position(end))
    }

    /// Returns the range of a line, counted from 1, without the spaces at its ends.
    pub(crate) fn range_of_line(&self, line: usize) -> Range {
        let line = self.line(line.saturating_sub(1));
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
