//! The view as workflow commands of GitHub Actions: lines of output that GitHub shows as
//! annotations of a file.

use mazurka_core::Verdict;
use mazurka_core::record::{DiagnosticRecord, MistakesRecord, Record, Severity, Witness};

use super::{path_of, scope, shown};
use crate::replay_command;
use crate::shell::flags_of;
use crate::verdict::title;

/// Returns violations as errors and warnings as warnings. The verdict is a notice if the program is
/// verified, and a warning if the result is inconclusive.
pub fn github(record: &Record) -> String {
    let mut text = String::new();
    for witness in &record.witnesses {
        text += &violation(record, witness);
    }
    for warning in &record.warnings {
        text += &diagnosed(&record.program.file, warning);
    }
    let level = match record.verdict {
        Verdict::Verified => "notice",
        Verdict::Inconclusive => "warning",
        // The violations are reported already.
        Verdict::Violated => return text,
    };
    let file = [("file", shown(&record.program.file).to_owned())];
    text + &command(level, &file, &scope(record).join("\n"))
}

/// Returns the mistakes of a program that could not be explored.
pub fn github_mistakes(mistakes: &MistakesRecord) -> String {
    let all = mistakes.diagnostics.iter();
    all.map(|mistake| diagnosed(&mistakes.file, mistake))
        .collect()
}

fn violation(record: &Record, witness: &Witness) -> String {
    let mut place = Vec::new();
    match (&witness.place, witness.waiting.first()) {
        (Some(found), _) => {
            place.push(("file", path_of(&record.program, found.file.as_deref())));
            place.push(("line", found.line.to_string()));
            place.push(("col", found.column.to_string()));
        }
        (None, Some(waiting)) => {
            place.push(("file", path_of(&record.program, waiting.file.as_deref())));
            place.push(("line", waiting.line.to_string()));
        }
        (None, None) => place.push(("file", path_of(&record.program, None))),
    }
    place.push(("title", witness.kind.name().to_owned()));
    let mut text = title(witness);
    for run in &witness.runs {
        for (at, step) in run.steps.iter().enumerate() {
            let name = run.name_of(&step.process);
            text += &format!(
                "\n{:>3}  {name}: {} (line {})",
                at + 1,
                step.label,
                step.line
            );
        }
        text += &format!(
            "\nreplay with: {}",
            replay_command(&record.program, run, &flags_of(record, &[]))
        );
    }
    command("error", &place, &text)
}

fn diagnosed(file: &str, diagnostic: &DiagnosticRecord) -> String {
    let level = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let mut place = vec![("file", shown(file).to_owned())];
    if let Some(span) = diagnostic.span {
        place.push(("line", span.line.to_string()));
        place.push(("col", span.column.to_string()));
        place.push(("endColumn", (span.column + span.length).to_string()));
    }
    place.push(("title", diagnostic.code.clone()));
    let help = diagnostic.help.iter().map(|help| format!("\nhelp: {help}"));
    let mut text = diagnostic.message.clone();
    if !diagnostic.label.is_empty() {
        text += &format!(": {}", diagnostic.label);
    }
    command(level, &place, &(text + &help.collect::<String>()))
}

/// Returns a command: `::error file=a.maz,line=1::text`.
fn command(level: &str, properties: &[(&str, String)], text: &str) -> String {
    let one = |(name, value): &(&str, String)| {
        let value = data(value).replace(':', "%3A").replace(',', "%2C");
        format!("{name}={value}")
    };
    let properties: Vec<String> = properties.iter().map(one).collect();
    format!("::{level} {}::{}\n", properties.join(","), data(text))
}

/// Escapes characters that would end a command, or begin an escape.
fn data(text: &str) -> String {
    let text = text.replace('%', "%25");
    let text = text.replace('\r', "%0D").replace('\n', "%0A");
    // Other control characters become a visible sign, as in all views.
    text.replace(|c: char| c.is_control() && c != '\t', "\u{FFFD}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_cannot_end_their_command() {
        let file = [("file", "a:b,c%.maz".to_owned())];
        let line = command("error", &file, "50 %\r\n::error::x");
        assert_eq!(
            line,
            "::error file=a%3Ab%2Cc%25.maz::50 %25%0D%0A::error::x\n"
        );
    }
}
