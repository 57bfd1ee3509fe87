//! The command `explain`: prints the section of `diagnostics.md` about a code.

use clap::Args;

use super::Refusal;
use crate::exit::Exit;
use crate::output;

/// Every code with its explanation, an example, and the corrected example.
const DOCUMENTED: &str = include_str!("../../diagnostics.md");

/// Explain the code of a mistake or a warning, with an example and its correction
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mazurka explain M0301
  mazurka explain W0106
  mazurka explain A0202
  mazurka explain --list

Exit codes: 0 the code is explained, 3 there is no such code.")]
pub(crate) struct ExplainArgs {
    /// The code that is printed in brackets after `error` or `warning`
    #[arg(required_unless_present = "list")]
    code: Option<String>,
    /// Print all codes, each with its first sentence
    #[arg(long, conflicts_with = "code")]
    list: bool,
}

/// Prints the section of the documentation for the code.
pub(super) fn explain(args: &ExplainArgs) -> Result<Exit, Refusal> {
    let Some(code) = &args.code else {
        let all = sections().map(|(code, text)| {
            let first = text.lines().find(|line| !line.is_empty());
            format!("{code}  {}\n", first.unwrap_or_default())
        });
        return Ok(output::print(&all.collect::<String>(), Exit::Verified));
    };
    let wanted = code.to_ascii_uppercase();
    let found = sections().find(|(code, _)| *code == wanted);
    let Some((code, text)) = found else {
        let refusal =
            format!("there is no code `{code}`: `mazurka explain --list` prints all of them");
        return Err(refusal.into());
    };
    Ok(output::print(
        &format!("{code}\n\n{}\n", plain(text)),
        Exit::Verified,
    ))
}

/// Returns the codes in the order of the documentation, each with its text.
fn sections() -> impl Iterator<Item = (&'static str, &'static str)> {
    let sections = DOCUMENTED.split("\n### ").skip(1).map(|section| {
        let (code, text) = section.split_once('\n').unwrap_or((section, ""));
        let end = text.find("\n## ").unwrap_or(text.len());
        (code.trim(), text[..end].trim())
    });
    // Some headings cover several codes.
    sections.filter(|(title, _)| !title.contains(' '))
}

/// Returns the text without code fences; the lines of code blocks are indented.
fn plain(text: &str) -> String {
    let mut lines = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
        } else if is_code {
            lines.push(format!("    {line}").trim_end().to_owned());
        } else {
            lines.push(line.to_owned());
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_is_a_code_with_an_explanation() {
        assert!(sections().count() > 90);
        for (code, text) in sections() {
            let digits = code.strip_prefix(['A', 'M', 'W']);
            let digits = digits.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()));
            assert!(digits && code.len() == 5, "{code}");
            assert!(!text.is_empty() && !text.contains("\n## "), "{code}");
            assert!(!plain(text).contains("```"), "{code}");
        }
    }
}
