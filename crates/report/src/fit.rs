//! Wraps lines so that they fit the width of a terminal.

/// Indentation of the continuation of a long line.
const HANGING: usize = 4;

/// The narrowest column in which text is wrapped; narrower text would be unreadable.
const NARROWEST: usize = 20;

/// ` = ` with no-break spaces, at which a line is not broken. Source text does not contain these
/// spaces.
const TOGETHER: &str = "\u{a0}=\u{a0}";

/// Wraps lines that are wider than `width` at blanks, and indents the continuations. Commands are
/// not wrapped, so that they can be copied: a terminal wraps them without inserting characters.
///
/// ```
/// use mazurka_report::fit;
/// assert_eq!(fit("  one two three\n", Some(40)), "  one two three\n");
/// let long = "  state: aaaaaaaaaa, bbbbbbbbbb, cccccccccc";
/// assert_eq!(
///     fit(long, Some(30)),
///     "  state: aaaaaaaaaa,\n      bbbbbbbbbb, cccccccccc"
/// );
/// assert_eq!(fit(long, None), long);
/// ```
pub fn fit(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else {
        return text.to_owned();
    };
    let lines = text.split_inclusive('\n');
    lines.map(|line| fit_line(line, width)).collect()
}

fn fit_line(line: &str, width: usize) -> String {
    let command = line.contains(": mazurka ") || line.contains("\u{1b}[0m mazurka ");
    if command || visible(line) <= width {
        return line.to_owned();
    }
    let indent = line.len() - line.trim_start_matches(' ').len();
    let indent = (indent + HANGING).min(width.saturating_sub(NARROWEST));
    let mut text = String::new();
    let mut column = 0;
    // A name and its value stay on one line.
    let line = line.replace(" = ", TOGETHER);
    for word in line.split_inclusive(' ') {
        let wide = visible(word.trim_end());
        let begun = !text.trim_start().is_empty();
        if begun && column + wide > width && column > indent {
            text.truncate(text.trim_end_matches(' ').len());
            text += "\n";
            text += &" ".repeat(indent);
            column = indent;
        }
        text += word;
        column += visible(word);
    }
    text.replace(TOGETHER, " = ")
}

/// Returns the number of characters that a terminal shows, without escape codes for colours.
pub(crate) fn visible(text: &str) -> usize {
    let mut count = 0;
    let mut escaped = false;
    for c in text.chars() {
        match c {
            '\u{1b}' => escaped = true,
            'm' if escaped => escaped = false,
            '\n' => {}
            _ if escaped => {}
            _ => count += 1,
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_wider_unless_it_is_a_command_or_one_word() {
        let text = "violated: failure: assertion failed: client 3 saw 17 (12 traces, 12 executions by \
                    optimal, stopped when certain)\n\nreplay with: mazurka run a-file.maz --schedule \"0 0 \
                    0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\"\n";
        let fitted = fit(text, Some(50));
        let lines: Vec<&str> = fitted.lines().collect();
        assert!(
            lines[..3].iter().all(|line| line.chars().count() <= 50),
            "{fitted}"
        );
        assert!(lines[1].starts_with("    "), "{fitted}");
        assert_eq!(lines.last(), text.lines().last().as_ref(), "{fitted}");
        let words = |text: &str| {
            text.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(words(&fitted), words(text));
    }

    #[test]
    fn a_name_stays_with_its_value() {
        let state = "  then: first = 1000, second = 2000, third = 3000";
        let fitted = fit(state, Some(40));
        assert_eq!(
            fitted,
            "  then: first = 1000, second = 2000,\n      third = 3000"
        );
    }

    #[test]
    fn colours_take_no_room() {
        let red = "\u{1b}[31maaaa\u{1b}[0m bbbb";
        assert_eq!(visible(red), 9);
        assert_eq!(fit(red, Some(9)), red);
    }
}
