//! One text that was put together from several files.
//!
//! Stages that read a program know one text. Lines that open with [`MARK`] say which file goes on
//! behind them, and with which line of it; they are no part of any file. So every place in the text
//! has a file, a line and a column, and a hash of the text is one of all files and their names.

use crate::Span;

/// Opens a line that says which file goes on.
pub const MARK: char = '\u{1e}';

/// The line that says: here goes on, with this line of it, the file of this name; the file that the
/// text began with has none.
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

/// The line that says why a file is not there.
pub fn refusal(reason: &str) -> String {
    format!("{MARK}! {}\n", reason.replace('\n', " "))
}

/// What a line with a mark says.
enum Said<'s> {
    Goes { name: &'s str, line: usize },
    Refused(&'s str),
}

fn said(line: &str) -> Option<Said<'_>> {
    let text = line.strip_prefix(MARK)?.trim_end_matches('\n');
    if let Some(reason) = text.strip_prefix("! ") {
        return Some(Said::Refused(reason));
    }
    let (line, name) = text.split_once(' ')?;
    let line = line.parse().ok()?;
    Some(Said::Goes { name, line })
}

/// Why the file is not there that a line names; `Ok(false)` if nothing was said about it.
pub fn said_behind(source: &str, at: Span) -> Result<bool, &str> {
    let rest = source.get(at.end as usize..).unwrap_or("");
    let next = rest.split_once('\n').map_or("", |(_, next)| next);
    match said(next.split_inclusive('\n').next().unwrap_or("")) {
        Some(Said::Refused(reason)) => Err(reason),
        Some(Said::Goes { .. }) => Ok(true),
        None => Ok(false),
    }
}

/// The file that a byte of the text belongs to, the first line since the last mark, and where that
/// begins.
pub(crate) fn since_mark(source: &str, start: usize) -> (&str, usize, usize) {
    let before = source.get(..start).unwrap_or(source);
    for (at, _) in before.rmatch_indices(MARK) {
        let opens = at == 0 || before[..at].ends_with('\n');
        let line = source[at..].split_inclusive('\n').next().unwrap_or("");
        if let (true, Some(Said::Goes { name, line: number })) = (opens, said(line)) {
            return (name, number, (at + line.len()).min(before.len()));
        }
    }
    ("", 1, 0)
}

/// How many lines end between two places, those of marks left out.
pub(crate) fn lines_between(text: &str) -> usize {
    let ends = text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    ends.filter(|line| !line.starts_with(MARK)).count()
}

/// A file of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Its name; empty for the file that the text began with.
    pub name: String,
    /// What is in it.
    pub text: String,
    /// Where pieces of it start and end in the whole text, and where they stand in its own.
    pieces: Vec<(usize, usize, usize)>,
}

/// The files of a text, the one that it began with first.
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
        match said(line) {
            Some(Said::Goes { name, .. }) => {
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
            Some(Said::Refused(_)) => {}
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
    /// A place of the whole text as one of this file, if it lies in it.
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
}
