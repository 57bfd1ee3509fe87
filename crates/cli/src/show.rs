//! The formats of results, and [`show`], the one function through which all commands show a result.

use std::fmt;

use clap::Arg;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use mazurka::Program;
use mazurka::record::{MistakesRecord, Record, Witness};
use mazurka_report::{Figure, Lanes, Page, Sheet, View};
use serde::Serialize;

use crate::args::OutputArgs;
use crate::commands::Refusal;
use crate::exit::Exit;
use crate::output;

/// A way to show a result. Each command lists the formats that it offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// The record, for programs.
    Json,
    /// A picture for Graphviz.
    Dot,
    /// A picture for a browser.
    Svg,
    /// A page for a browser.
    Html,
    /// A picture that consists of characters, for a terminal.
    Chart,
    /// Findings for code scanning.
    Sarif,
    /// Test cases for CI servers.
    Junit,
    /// Annotations for GitHub Actions.
    Github,
    /// A trace for Apalache and Quint.
    Itf,
    /// A table for spreadsheets.
    Csv,
    /// A table for Markdown.
    Markdown,
    /// A table for papers.
    Latex,
}

impl Format {
    const ALL: [Self; 13] = [
        Self::Text,
        Self::Json,
        Self::Dot,
        Self::Svg,
        Self::Html,
        Self::Chart,
        Self::Sarif,
        Self::Junit,
        Self::Github,
        Self::Itf,
        Self::Csv,
        Self::Markdown,
        Self::Latex,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Dot => "dot",
            Self::Svg => "svg",
            Self::Html => "html",
            Self::Chart => "chart",
            Self::Sarif => "sarif",
            Self::Junit => "junit",
            Self::Github => "github",
            Self::Itf => "itf",
            Self::Csv => "csv",
            Self::Markdown => "markdown",
            Self::Latex => "latex",
        }
    }

    /// Whether the format has pictures, which show what the text and the record leave out.
    pub(crate) fn is_picture(self) -> bool {
        matches!(self, Self::Dot | Self::Svg | Self::Html | Self::Chart)
    }

    /// Whether the format is only a picture.
    pub(crate) fn is_drawing(self) -> bool {
        self.is_here() && self.is_picture() && self != Self::Html
    }

    /// Whether this build has the format. The build for the page has only text, records and pages.
    fn is_here(self) -> bool {
        let is_for_page = matches!(self, Self::Text | Self::Json | Self::Html);
        is_for_page || !cfg!(target_family = "wasm")
    }

    /// Whether the format includes the warnings about a program.
    pub(crate) fn has_warnings(self) -> bool {
        matches!(self, Self::Json | Self::Sarif | Self::Github)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A format that a command offers, and its help.
pub(crate) type Offer = (Format, &'static str);

/// The pictures of a run.
pub(crate) const LANES_DOT: Offer = (
    Format::Dot,
    "The run as lanes, one for each process, for Graphviz",
);
pub(crate) const LANES_SVG: Offer = (
    Format::Svg,
    "The run as lanes, one for each process, for a browser",
);

/// The help for the formats of commands that show runs.
pub(crate) const ABOUT_LANES: &str =
    "Text for people, the record for programs, or a picture of the run";

/// Draws a run. Reports what is left out of the picture.
pub(crate) fn lanes(lanes: &Lanes, format: Format) -> String {
    if let Some(left_out) = lanes.left_out() {
        output::complain(&format!("the picture is not complete: {left_out}"));
    }
    match format {
        Format::Dot => lanes.dot(),
        _ => lanes.svg(),
    }
}

/// The page, which every command with a verdict offers.
pub(crate) const HTML: Offer = (
    Format::Html,
    "One page for a browser: verdict, pictures, the steps of runs, and the record in it",
);

/// The contents of a page, apart from the verdict.
#[derive(Default)]
pub(crate) struct Shown<'a> {
    /// The text that a terminal would show, without colours.
    pub text: String,
    /// The pictures.
    pub figures: Vec<Figure>,
    /// Additional HTML.
    pub more: String,
    /// The program, if it is available.
    pub program: Option<&'a Program>,
}

/// Renders a result as a page.
pub(crate) fn page(
    result: &impl Serialize,
    record: &Record,
    shown: &Shown<'_>,
) -> Result<String, Refusal> {
    let json = json(result)?;
    let source = shown.program.and_then(Program::source);
    // Show only the program's own file, without included ones.
    let own = source.map(|source| mazurka::parts(source).remove(0).text);
    Ok(mazurka_report::html(&Page {
        record,
        json: &json,
        text: &shown.text,
        figures: &shown.figures,
        more: &shown.more,
        source: own.as_deref(),
    }))
}

/// Returns the view for a text that is not shown on a terminal.
pub(crate) fn plain(view: View) -> View {
    View {
        paint: mazurka_report::Paint::Plain,
        width: None,
        ..view
    }
}

/// The formats that every command offers.
pub(crate) const TEXT: Offer = (Format::Text, "Text");
pub(crate) const JSON: Offer = (Format::Json, "The record, see docs/record.md");

/// The formats of other tools for a verdict.
pub(crate) const EXCHANGE: [Offer; 6] = [
    (Format::Sarif, "Findings for code scanning: SARIF 2.1.0"),
    (Format::Junit, "Test cases for CI servers: JUnit XML"),
    (Format::Github, "Annotations of GitHub Actions"),
    (
        Format::Itf,
        "The first run that shows a violation, as a trace for Apalache and Quint",
    ),
    CSV,
    MARKDOWN,
];
/// The formats of tables.
pub(crate) const CSV: Offer = (Format::Csv, "The counts, for spreadsheets");
pub(crate) const MARKDOWN: Offer = (Format::Markdown, "The counts, for texts");
pub(crate) const LATEX: Offer = (Format::Latex, "The counts, for papers");

/// Renders a record in the format of another tool (docs/exchange.md); `None` for other formats.
pub(crate) fn exchanged(record: &Record, format: Format) -> Option<String> {
    if !format.is_here() {
        return None;
    }
    Some(match format {
        Format::Sarif => mazurka_report::sarif(record),
        Format::Junit => mazurka_report::junit(record),
        Format::Github => mazurka_report::github(record),
        Format::Csv => Sheet::of_searches([record]).csv(),
        Format::Markdown => Sheet::of_searches([record]).markdown(),
        Format::Latex => Sheet::of_searches([record]).latex(),
        Format::Itf => {
            let with_runs = |witness: &&Witness| !witness.runs.is_empty();
            match record.witnesses.iter().find(with_runs) {
                Some(shown) => mazurka_report::itf(&record.program, &shown.runs[0], shown.lasso),
                None => {
                    output::complain("no run shows a violation, so there is no trace to write");
                    String::new()
                }
            }
        }
        Format::Text | Format::Json => return None,
        Format::Dot | Format::Svg | Format::Html | Format::Chart => return None,
    })
}

/// Renders the mistakes of a program in a format of other tools. Returns `None` if the format is
/// for people, or cannot represent mistakes.
pub(crate) fn exchanged_mistakes(mistakes: &MistakesRecord, format: Format) -> Option<String> {
    match format {
        _ if !format.is_here() => None,
        Format::Sarif => Some(mazurka_report::sarif_mistakes(mistakes)),
        Format::Junit => Some(mazurka_report::junit_mistakes(mistakes)),
        Format::Github => Some(mazurka_report::github_mistakes(mistakes)),
        _ => None,
    }
}

/// Reads the name of an offered format, and lists the offered formats in `--help` and completions.
pub(crate) fn format(offers: &[Offer]) -> impl TypedValueParser<Value = Format> {
    let here = offers.iter().filter(|(format, _)| format.is_here());
    let names = here.map(|(format, help)| PossibleValue::new(format.name()).help(*help));
    PossibleValuesParser::new(names).try_map(|name| {
        let named = Format::ALL.into_iter().find(|format| format.name() == name);
        named.ok_or("there is no such format")
    })
}

/// Makes the flag `--format` of a command offer these formats; leaves all other flags as they are.
pub(crate) fn offer(flag: Arg, help: &'static str, offers: &[Offer]) -> Arg {
    if flag.get_id() == "format" {
        flag.help(help).value_parser(format(offers))
    } else {
        flag
    }
}

/// The formats of a verdict and its evidence.
pub(crate) const EVIDENCE: [&[Offer]; 2] = [&[TEXT, JSON, HTML, LANES_DOT, LANES_SVG], &EXCHANGE];
pub(crate) const ABOUT_EVIDENCE: &str = "Text for people, the record for programs, a page, a picture of the run, or a format of other tools (docs/exchange.md)";

/// Prints a verdict and its evidence in one of these formats; `text` makes the text.
pub(crate) fn show_evidence(
    program: &Program,
    record: &Record,
    view: &View,
    output: &OutputArgs,
    text: fn(&Record, &View) -> String,
) -> Result<Exit, Refusal> {
    show(
        record,
        record.verdict.into(),
        output,
        |format| match format {
            Format::Text => Ok(text(record, view)),
            Format::Html => {
                let shown = Shown {
                    text: text(record, &plain(view.clone())),
                    figures: mazurka_report::evidence_figures(record),
                    program: Some(program),
                    ..Shown::default()
                };
                page(record, record, &shown)
            }
            other => Ok(exchanged(record, other)
                .unwrap_or_else(|| lanes(&Lanes::of_evidence(record), other))),
        },
    )
}

/// Shows a result. JSON is made directly from `result`; `render` makes every other format that the
/// command offers.
pub(crate) fn show(
    result: &impl Serialize,
    exit: Exit,
    output: &OutputArgs,
    render: impl FnOnce(Format) -> Result<String, Refusal>,
) -> Result<Exit, Refusal> {
    Ok(match output.format {
        Format::Json => output::print_raw(&json(result)?, exit),
        Format::Text => {
            let text = render(Format::Text)?;
            let shown = if output.quiet {
                text.split_inclusive('\n').next().unwrap_or("")
            } else {
                &text
            };
            output::print(&mazurka_report::fit(shown, output::width()), exit)
        }
        picture => output::print_raw(&render(picture)?, exit),
    })
}

/// Returns a record as JSON.
pub(crate) fn json(record: &impl Serialize) -> Result<String, String> {
    mazurka_report::json(record).map_err(|error| format!("cannot write the record: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_accepts_only_the_formats_that_it_offers() {
        let offers = [TEXT, (Format::Html, "A page")];
        let command = clap::Command::new("show")
            .arg(Arg::new("format").long("format"))
            .mut_args(|flag| offer(flag, "How", &offers));
        for format in Format::ALL {
            let words = ["show", "--format", format.name()];
            let read = command.clone().try_get_matches_from(words);
            let read = read.map(|all| all.get_one::<Format>("format").copied());
            let offered = offers.iter().any(|(offered, _)| *offered == format);
            assert_eq!(read.ok(), offered.then_some(Some(format)));
        }
    }
}
