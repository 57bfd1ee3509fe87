//! A single text that is made from several files.
//!
//! The stages that read a program get one text. A line that starts with [`MARK`] belongs to no
//! file. It names the file that continues after it, and says with which line of that file. So every
//! place in the text has a file, a line and a column, and a hash of the text covers all files and
//! their names.

use crate::Span;

/// The first character of a line that names the file that continues.
pub const MARK: char = '\u{1e}';

/// Returns the line that says that a file continues at the given line. The name of the main file is
/// empty.
///
/// ```
/// use mazurka_diagnostics::{Span, mark};
/// let text = format!("a\n{}b\n{}c d\n", mark("b.maz", 1), mark("", 2));
/// let at = |word: &str| {
///     let start = text.find(word).unwrap() as u32;
///     let span = Span { start, end: start + 1 };
///     (span.file(&text), span.line_column(&text))
/// };
/// assert_eq!(at("b\n"), (Some("b.maz"), (1, 1)));
/// assert_eq!(at("d\n"), (None, (2, 3)));
/// ```
pub fn mark(name: &str, line: usize) -> String {
    format!("{MARK}{line} {name}\n")
}

/// Returns the line with the reason why a file cannot be included.
pub fn refusal(reason: &str) -> String {
    format!("{MARK}! {}\n", reason.replace('\n', " "))
}

/// The content of a line with a mark.
enum MarkLine<'s> {
    Continues { name: &'s str, line: usize },
    Refused(&'s str),
}

fn read_mark(line: &str) -> Option<MarkLine<'_>> {
    let text = line.strip_prefix(MARK)?.trim_end_matches('\n');
    if let Some(reason) = text.strip_prefix("! ") {
        return Some(MarkLine::Refused(reason));
    }
    let (line, name) = text.split_once(' ')?;
    let line = line.parse().ok()?;
    Some(MarkLine::Continues { name, line })
}

/// Reads the mark after the line of an `include`. Returns whether there is one: then the included
/// file follows it. The error is the reason why the file was refused.
pub fn mark_after_include(source: &str, at: Span) -> Result<bool, &str> {
    let rest = source.get(at.end as usize..).unwrap_or("");
    let next = rest.split_once('\n').map_or("", |(_, next)| next);
    match read_mark(next.split_inclusive('\n').next().unwrap_or("")) {
        Some(MarkLine::Refused(reason)) => Err(reason),
        Some(MarkLine::Continues { .. }) => Ok(true),
        None => Ok(false),
    }
}

/// Finds the last mark before a byte of the text. Returns the name of the file that continues after
/// the mark, the number of the first line after the mark, and the position at which that line
/// begins.
pub(crate) fn since_mark(source: &str, start: usize) -> (&str, usize, usize) {
    let before = source.get(..start).unwrap_or(source);
    for (at, _) in before.rmatch_indices(MARK) {
        let opens = at == 0 || before[..at].ends_with('\n');
        let line = source[at..].split_inclusive('\n').next().unwrap_or("");
        if let (true, Some(MarkLine::Continues { name, line: number })) = (opens, read_mark(line)) {
            return (name, number, (at + line.len()).min(before.len()));
        }
    }
    ("", 1, 0)
}

/// Returns the number of line ends in a text, not counting those of lines with marks.
pub(crate) fn lines_between(text: &str) -> usize {
    let ends = text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    ends.filter(|line| !line.starts_with(MARK)).count()
}

/// A file of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The name; empty for the main file.
    pub name: String,
    /// The text of the file.
    pub text: String,
    /// The pieces of the file. Each is three positions: its start and its end in the whole text,
    /// and its start in the text of the file.
    pieces: Vec<(usize, usize, usize)>,
}

/// Returns the files of a text, the main file first.
///
/// ```
/// use mazurka_diagnostics::{Span, mark, parts};
/// let text = format!("a\n{}b\n{}c\n", mark("b.maz", 1), mark("", 2));
/// let parts = parts(&text);
/// assert_eq!(parts[0].text, "a\nc\n");
/// assert_eq!((&*parts[1].name, &*parts[1].text), ("b.maz", "b\n"));
/// let at = text.len() as u32 - 2;
/// let own = parts[0].span(Span { start: at, end: at + 1 });
/// assert_eq!(own, Some(Span { start: 2, end: 3 }));
/// ```
pub fn parts(source: &str) -> Vec<Part> {
    let mut parts = vec![Part::default()];
    let (mut now, mut at) = (0, 0);
    for line in source.split_inclusive('\n') {
        let end = at + line.len();
        match read_mark(line) {
            Some(MarkLine::Continues { name, .. }) => {
                let known = parts.iter().position(|part| part.name == name);
                now = known.unwrap_or(parts.len());
                if known.is_none() {
                    let name = name.to_owned();
                    parts.push(Part {
                        name,
                        ..Part::default()
                    });
                }
            }
            Some(MarkLine::Refused(_)) => {}
            None => {
                let part: &mut Part = &mut parts[now];
                let own = part.text.len();
                part.text += line;
                match part.pieces.last_mut().filter(|last| last.1 == at) {
                    Some(last) => last.1 = end,
                    None => part.pieces.push((at, end, own)),
                }
            }
        }
        at = end;
    }
    parts
}

impl Part {
    /// Converts a span of the whole text to a span of this file; `None` if it is not in this file.
    pub fn span(&self, span: Span) -> Option<Span> {
        let own = |at: u32| {
            let at = at as usize;
            let mut pieces = self.pieces.iter();
            let piece = pieces.find(|(start, end, _)| (*start..=*end).contains(&at));
            piece.map(|(start, _, own)| (at - start + own) as u32)
        };
        let (start, end) = (own(span.start)?, own(span.end)?);
        Some(Span { start, end })
    }

    /// Returns the position in the whole text at which the file begins; `None` if the file is
    /// empty.
    pub fn start(&self) -> Option<u32> {
        self.pieces.first().map(|(start, ..)| *start as u32)
    }

    /// Returns the last byte of this file before a position of the whole text, as a position in
    /// this file; `None` if there is no such byte. If the given position is the start of an
    /// included file, the result is the end of the line with the `include`.
    ///
    /// ```
    /// use mazurka_diagnostics::{mark, parts};
    /// let text = format!("a\n{}b\n{}c\n", mark("b.maz", 1), mark("", 2));
    /// let parts = parts(&text);
    /// assert_eq!(parts[0].last_before(parts[1].start().unwrap()), Some(1));
    /// ```
    pub fn last_before(&self, at: u32) -> Option<u32> {
        let before = self
            .pieces
            .partition_point(|(_, end, _)| *end <= at as usize);
        let (start, end, own) = self.pieces[before.checked_sub(1)?];
        (own + end - start).checked_sub(1).map(|last| last as u32)
    }
}
