//! Edits of a program's text: an [`Edit`] replaces a range, so comments and layout outside of the
//! range stay as they are.

use mazurka_lang::outline::Outline;

/// A range of a text that is replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edit {
    /// The first byte of the range.
    pub start: usize,
    /// The byte after the end of the range.
    pub end: usize,
    /// The new text.
    pub with: String,
}

impl Edit {
    pub fn insert(at: usize, with: String) -> Self {
        Self {
            start: at,
            end: at,
            with,
        }
    }
}

/// Returns the text with all edits applied. Edits at the same place are applied in their order. New
/// lines end like the lines of the text.
pub(super) fn apply(source: &str, edits: &[Edit]) -> String {
    let mut sorted: Vec<&Edit> = edits.iter().collect();
    sorted.sort_by_key(|edit| (edit.start, edit.end));
    let (mut text, mut at) = (String::with_capacity(source.len()), 0);
    for edit in sorted {
        if edit.start >= at {
            text += &source[at..edit.start];
            at = edit.end;
        }
        if source.contains("\r\n") {
            text += &edit.with.replace("\r\n", "\n").replace('\n', "\r\n");
        } else {
            text += &edit.with;
        }
    }
    text + &source[at..]
}

/// Returns the indentation of the line of a place, if only blanks precede the place.
fn indent(source: &str, at: usize) -> Option<&str> {
    let line = source[..at].rfind('\n').map_or(0, |end| end + 1);
    let before = &source[line..at];
    before.trim().is_empty().then_some(before)
}

/// Inserts a statement before the statement that starts here.
pub(super) fn before(source: &str, start: usize, statement: &str) -> Edit {
    let with = match indent(source, start) {
        Some(indent) => format!("{statement};\n{indent}"),
        None => format!("{statement}; "),
    };
    Edit::insert(start, with)
}

/// Inserts a statement after the one with these bounds.
pub(super) fn after(source: &str, (start, end): (usize, usize), statement: &str) -> Edit {
    // After a `}`, the text may continue without a `;`.
    let rest = source[end..].trim_start();
    let goes_on = !(rest.starts_with(';') || rest.starts_with('}') || rest.is_empty());
    let close = if goes_on { ";" } else { "" };
    let with = match indent(source, start) {
        Some(indent) => format!(";\n{indent}{statement}{close}"),
        None => format!("; {statement}{close}"),
    };
    Edit::insert(end, with)
}

/// Puts statements into a block with a keyword before it.
pub(super) fn wrap(source: &str, (start, end): (usize, usize), word: &str) -> Vec<Edit> {
    let inner = &source[start..end];
    match indent(source, start).filter(|_| inner.contains('\n')) {
        None => vec![
            Edit::insert(start, format!("{word} {{ ")),
            Edit::insert(end, " }".to_owned()),
        ],
        Some(indent) => {
            let deeper = inner.replace(&format!("\n{indent}"), &format!("\n{indent}  "));
            vec![Edit {
                start,
                end,
                with: format!("{word} {{\n{indent}  {deeper}\n{indent}}}"),
            }]
        }
    }
}

/// Returns a name that the text does not contain.
pub(super) fn fresh(source: &str, wanted: &[&str]) -> String {
    let known: Vec<&str> = words(source).collect();
    let mut names = wanted.iter().map(|name| (*name).to_owned());
    let free = names.find(|name| !known.contains(&name.as_str()));
    free.unwrap_or_else(|| {
        let mut numbered = (1..).map(|number| format!("{}{number}", wanted[0]));
        let free = numbered.find(|name| !known.contains(&name.as_str()));
        free.expect("a text has not all numbers")
    })
}

/// Returns the names and numbers in a text.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    text.split(move |c| !inside(c))
        .filter(|word| !word.is_empty())
}

/// Returns the names that a statement assigns: the names on the left of `:=`, without indices, and
/// the names that receive a message.
pub(super) fn targets(text: &str) -> impl Iterator<Item = &str> {
    let left = match (text.split_once(":="), text.split_once('?')) {
        (Some((left, _)), _) => left,
        (None, Some((_, into))) => into,
        (None, None) => "",
    };
    left.split(',').filter_map(|target| words(target).next())
}

/// Inserts a declaration as a separate line: after the last variable, or before the first. Returns
/// `None` if neither place is possible.
pub(super) fn declare(source: &str, outline: &Outline, declaration: &str) -> Option<Edit> {
    let (first, last) = outline.variable_places?;
    let line = |at: usize| source[..at].rfind('\n').map_or(0, |end| end + 1);
    let behind = source[last..].find('\n').map(|end| last + end + 1);
    let places = [behind, Some(line(first))];
    places.into_iter().flatten().find_map(|at| {
        let edit = Edit::insert(at, format!("{declaration}\n"));
        let read = Outline::read(&apply(source, std::slice::from_ref(&edit)))?;
        (read.items == outline.items + 1).then_some(edit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_get_their_own_lines_where_others_have_them() {
        let source = "process {\n  x := 1; // one\n  y := 2\n}";
        let x = source.find("x :=").expect("there");
        let y = source.find("y :=").expect("there");
        let edits = [
            before(source, x, "lock(m)"),
            after(source, (y, y + 6), "unlock(m)"),
        ];
        let text = "process {\n  lock(m);\n  x := 1; // one\n  y := 2;\n  unlock(m)\n}";
        assert_eq!(apply(source, &edits), text);
        let source = source.replace('\n', "\r\n");
        let x = source.find("x :=").expect("there");
        let edits = [before(&source, x, "lock(m)")];
        let text = "process {\r\n  lock(m);\r\n  x := 1; // one\r\n  y := 2\r\n}";
        assert_eq!(apply(&source, &edits), text);
        let source = "process { if x == 0 { y := 1 } z := 1 }";
        let end = source.find(" z").expect("there");
        let edits = [
            before(source, 10, "lock(m)"),
            after(source, (10, end), "unlock(m)"),
        ];
        let text = "process { lock(m); if x == 0 { y := 1 }; unlock(m); z := 1 }";
        assert_eq!(apply(source, &edits), text);
    }

    #[test]
    fn blocks_are_indented() {
        let source = "process {\n  x := 1;\n  y := 2\n}";
        let edits = wrap(source, (12, source.len() - 2), "atomic");
        let text = "process {\n  atomic {\n    x := 1;\n    y := 2\n  }\n}";
        assert_eq!(apply(source, &edits), text);
    }

    #[test]
    fn targets_are_the_assigned_names() {
        let of = |text| targets(text).collect::<Vec<_>>();
        assert_eq!(of("a[i], b := i, c"), ["a", "b"]);
        assert_eq!(of("c ? x"), ["x"]);
        assert_eq!(of("lock(m)"), [] as [&str; 0]);
    }

    #[test]
    fn names_are_new() {
        assert_eq!(fresh("lock m  lock mutex", &["m", "mutex", "l"]), "l");
        assert_eq!(fresh("lock m", &["m"]), "m1");
    }
}
