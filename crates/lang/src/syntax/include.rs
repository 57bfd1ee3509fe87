//! `include "file.maz"`: inserts the files that a text includes.
//!
//! The text of the included file is inserted after the line with the `include`, between marks that
//! record its origin ([`mazurka_diagnostics::mark`]). So all later stages see a single text. If a
//! file cannot be included, a mark with the reason takes the place of its text, and the parser
//! reports the reason at the `include`.

use mazurka_diagnostics::{MARK, Span, mark, refusal};

use super::lexer::lex;
use super::token::TokenKind;

/// Limit on the nesting of includes.
const MAX_DEPTH: usize = 16;
/// Limit on the number of files of a program.
const MOST_FILES: usize = 200;
/// Limit on the length of a program, in bytes.
const MAX_BYTES: usize = 16 << 20;

/// Returns the text of a program with all files that it includes. `read` returns the text of a
/// file, given its name relative to the folder of the program, or the reason why it cannot be read.
///
/// A file that was included before is not included again. A file that cannot be included is a
/// mistake that [`load`](crate::load) reports.
///
/// ```
/// use mazurka_lang::{expand, load};
/// let source = "include \"lib/one.maz\"\nprocess { x := N }\n";
/// let text = expand(source, &mut |name| match name {
///     "lib/one.maz" => Ok("include \"two.maz\"\nvar x: int = 0".to_owned()),
///     "lib/two.maz" => Ok("const N = 2".to_owned()),
///     _ => Err("there is no such file".to_owned()),
/// });
/// assert!(load(&text, &[]).is_ok());
/// let text = expand("include \"../x.maz\"\n", &mut |_| Ok(String::new()));
/// assert_eq!(load(&text, &[]).unwrap_err()[0].code, "M0431");
/// ```
pub fn expand(source: &str, read: &mut dyn FnMut(&str) -> Result<String, String>) -> String {
    let mut expansion = Expansion {
        read,
        open: Vec::new(),
        known: Vec::new(),
        text: String::new(),
    };
    expansion.file("", source);
    expansion.text
}

/// Returns the text of one file with its includes replaced by blanks, so that all places
/// stay the same.
pub(crate) fn without_includes(source: &str) -> String {
    let mut text = source.replace(MARK, "\u{1f}");
    for include in includes(source) {
        let range = include.span.start as usize..include.span.end as usize;
        text.replace_range(range.clone(), &" ".repeat(range.len()));
    }
    text
}

/// The expanded text so far, and the files that it contains.
struct Expansion<'r> {
    read: &'r mut dyn FnMut(&str) -> Result<String, String>,
    /// The files whose text is being inserted. Each is included by the file before it.
    open: Vec<String>,
    /// The files that were included so far.
    known: Vec<String>,
    text: String,
}

/// An `include` of a file.
struct Include<'s> {
    path: &'s str,
    /// Its place.
    span: Span,
    /// The end of its line.
    line_end: usize,
    /// Whether its line contains nothing else, except for a comment.
    alone: bool,
}

impl Expansion<'_> {
    fn file(&mut self, name: &str, source: &str) {
        // A mark in the text of a file would be mistaken for a mark of the expansion, so it becomes
        // a character that the lexer refuses.
        let source = source.replace(MARK, "\u{1f}");
        let mut at = 0;
        for include in includes(&source) {
            self.text += &source[at..include.line_end];
            at = include.line_end;
            if !self.text.ends_with('\n') {
                self.text.push('\n');
            }
            match self.included(name, &include) {
                Ok(Some((path, text))) => {
                    self.text += &mark(&path, 1);
                    self.open.push(path.clone());
                    self.file(&path, &text);
                    self.open.pop();
                    if !self.text.ends_with('\n') {
                        self.text.push('\n');
                    }
                }
                Ok(None) => {}
                Err(reason) => {
                    self.text += &refusal(&reason);
                    continue;
                }
            }
            let next = source[..at].matches('\n').count() + 1;
            self.text += &mark(name, next);
        }
        self.text += &source[at..];
    }

    /// Returns the name and the text of the included file, or `None` if the program contains it
    /// already. The error is the reason why the file cannot be included.
    fn included(
        &mut self,
        by: &str,
        include: &Include<'_>,
    ) -> Result<Option<(String, String)>, String> {
        let path = include.path;
        if !include.alone {
            return Err("nothing but a comment may be on its line".to_owned());
        }
        check_path(path)?;
        let path = match by.rsplit_once('/') {
            Some((folder, _)) => format!("{folder}/{path}"),
            None => path.to_owned(),
        };
        if self.open.contains(&path) {
            return Err(format!("`{path}` includes itself"));
        }
        if self.known.contains(&path) {
            return Ok(None);
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(format!(
                "files include each other more than {MAX_DEPTH} deep"
            ));
        }
        if self.known.len() >= MOST_FILES {
            return Err(format!("a program includes at most {MOST_FILES} files"));
        }
        let text = (self.read)(&path)?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned();
        if self.text.len().saturating_add(text.len()) > MAX_BYTES {
            return Err(format!(
                "the files are longer than {MAX_BYTES} bytes together"
            ));
        }
        self.known.push(path.clone());
        Ok(Some((path, text)))
    }
}

/// Refuses a path that may leave the folder, or that may name different files on different systems.
fn check_path(path: &str) -> Result<(), String> {
    let odd = |part: &str| part.is_empty() || part == "." || part == "..";
    if path.split('/').any(odd) || path.contains(['\\', ':', '\n']) {
        return Err("a path stays below the folder of this file: `locks/ticket.maz`".to_owned());
    }
    if path.ends_with(".maz") {
        Ok(())
    } else {
        Err("the name of a program ends in `.maz`".to_owned())
    }
}

/// Returns the includes of a file that are outside of all blocks.
fn includes(source: &str) -> Vec<Include<'_>> {
    if !source.contains("include") {
        return Vec::new();
    }
    let tokens = lex(source, &mut Vec::new());
    let mut depth = 0_usize;
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::LBrace => depth += 1,
            TokenKind::RBrace => depth = depth.saturating_sub(1),
            _ => {}
        }
        let Some(file) = tokens
            .get(at + 1)
            .filter(|next| next.kind == TokenKind::Str)
        else {
            continue;
        };
        if depth > 0 || token.kind != TokenKind::Ident || token.span.text(source) != "include" {
            continue;
        }
        let path = file.span.text(source).trim_matches('"');
        let end = file.span.end as usize;
        let rest = &source[end..];
        let line = rest.split_inclusive('\n').next().unwrap_or("");
        let rest_of_line = line.trim().trim_start_matches(';').trim_start();
        // Only white space and comments stand between the previous token and this one. A comment
        // may start on an earlier line.
        let before = at
            .checked_sub(1)
            .map(|before| tokens[before].span.end as usize);
        let between = &source[before.unwrap_or(0)..token.span.start as usize];
        found.push(Include {
            path,
            span: token.span.to(file.span),
            line_end: end + line.len(),
            alone: (before.is_none() || between.contains('\n'))
                && (rest_of_line.is_empty() || rest_of_line.starts_with("//")),
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::expand;
    use crate::load;

    /// Returns the reason why the first of these files cannot be read.
    fn refused(files: &[(&str, &str)]) -> String {
        let read = &mut |name: &str| {
            let found = files.iter().find(|(known, _)| *known == name);
            found.map_or_else(
                || Err(format!("there is no file `{name}`")),
                |(_, text)| Ok((*text).to_owned()),
            )
        };
        let text = expand(files[0].1, read);
        let mistakes = load(&text, &[]).expect_err("a mistake");
        assert_eq!(mistakes[0].code, "M0431", "{mistakes:#?}");
        mistakes[0].label.clone()
    }

    #[test]
    fn only_files_below_are_included() {
        for path in [
            "../a.maz",
            "/a.maz",
            "b/../a.maz",
            "./a.maz",
            "b//a.maz",
            "",
            "c:a.maz",
        ] {
            let text = format!("include \"{path}\"\n");
            let why = refused(&[("", &text), (path, "")]);
            assert!(why.starts_with("a path stays below"), "{path}: {why}");
        }
        assert!(refused(&[("", "include \"a\"\n"), ("a", "")]).contains("`.maz`"));
        let missing = refused(&[("", "include \"a.maz\"")]);
        assert_eq!(missing, "there is no file `a.maz`");
    }

    #[test]
    fn cycles_and_depth_are_refused() {
        let one = ("", "include \"a.maz\"");
        let cycle = refused(&[
            one,
            ("a.maz", "include \"b.maz\""),
            ("b.maz", "include \"a.maz\""),
        ]);
        assert_eq!(cycle, "`a.maz` includes itself");
        let deep = expand("include \"a.maz\"", &mut |name| {
            Ok(format!("include \"a{name}\""))
        });
        let mistakes = load(&deep, &[]).expect_err("a mistake");
        assert!(mistakes[0].label.contains("16 deep"), "{mistakes:#?}");
        let large = expand("include \"a.maz\"", &mut |_| Ok(" ".repeat(17 << 20)));
        let mistakes = load(&large, &[]).expect_err("a mistake");
        assert!(mistakes[0].label.contains("bytes"), "{mistakes:#?}");
        for line in [
            "include \"a.maz\" var x: int = 0",
            "var x: int = 0 include \"a.maz\"",
            "include \"a.maz\" include \"b.maz\"",
            "process { skip } include \"a.maz\"",
        ] {
            let label = refused(&[("", line), ("a.maz", ""), ("b.maz", "")]);
            assert!(label.contains("on its line"), "{line}: {label}");
        }
        for text in [
            "/* a comment */ include \"a.maz\" // another",
            "var x: int = 0\n  include \"a.maz\";",
            "\u{feff}include \"a.maz\"",
        ] {
            let text = expand(text, &mut |_| Ok("process { skip }".to_owned()));
            assert!(load(&text, &[]).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_file_is_included_once_and_its_mistakes_are_reported_there() {
        let text = expand(
            "include \"a.maz\"\ninclude \"b.maz\"\nprocess { x := y }",
            &mut |name| {
                Ok(match name {
                    "a.maz" => "include \"b.maz\"\n\nvar y: int = z\n".to_owned(),
                    _ => "var x: int = 0".to_owned(),
                })
            },
        );
        assert_eq!(text.matches("var x").count(), 1);
        let mistakes = load(&text, &[]).expect_err("a mistake");
        let span = mistakes[0].span;
        assert_eq!(
            (span.file(&text), span.line_column(&text)),
            (Some("a.maz"), (3, 14))
        );
        let last = mazurka_diagnostics::Span {
            start: text.find("x := y").unwrap() as u32,
            end: text.len() as u32,
        };
        assert_eq!((last.file(&text), last.line_column(&text)), (None, (3, 11)));
    }

    #[test]
    fn a_text_without_a_folder_includes_nothing() {
        let mistakes = load("include \"a.maz\"\nprocess { skip }", &[]).expect_err("a mistake");
        assert_eq!(mistakes.len(), 1);
        assert_eq!(mistakes[0].code, "M0431");
        // Without a string after it, the word is a name.
        assert!(
            load(
                "var include: int = 0 process { include := include + 1 }",
                &[]
            )
            .is_ok()
        );
    }

    #[test]
    fn files_cannot_make_marks() {
        let forged = "\u{1e}7 other.maz\nvar x: int = 0 process { x := y }";
        let text = expand(forged, &mut |_| Err(String::new()));
        let mistakes = load(&text, &[]).expect_err("mistakes");
        assert_eq!(mistakes[0].code, "M0001");
        assert_eq!(mistakes[0].span.line_column(&text), (1, 1));
    }
}
