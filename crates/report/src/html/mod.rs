//! An HTML report: the verdict, its evidence as figures, the steps of each run, and the record
//! itself.
//!
//! The file can be opened from disk, loads nothing else, and contains its style and its script. All
//! text that comes from a program is escaped: text by [`escaped`], the record by [`inert`].

use mazurka_core::Verdict;
use mazurka_core::record::{Coverage, Record};

use crate::svg::escaped;
use crate::{Lanes, OneRun, View, chart_svg, headline};

/// The style of every report, and of the page of `mazurka serve` (docs/page.md).
pub const STYLE: &str = include_str!("view.css");
/// The script with which a reader steps through a run.
pub const SCRIPT: &str = include_str!("view.js");

/// The greatest length, in bytes, of a program that is shown.
const MOST_SOURCE: usize = 200_000;

/// A picture, and the run of the record that it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Its title, in a few words.
    pub title: String,
    /// The picture.
    pub svg: String,
    /// The place of the run in the record, as a JSON pointer: `/witnesses/0/runs/1`.
    pub run: Option<String>,
}

impl Figure {
    /// Makes a picture that shows no run.
    ///
    /// ```
    /// use mazurka_report::Figure;
    /// assert_eq!(Figure::new("the net", "<svg/>").run, None);
    /// ```
    pub fn new(title: impl Into<String>, svg: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            svg: svg.into(),
            run: None,
        }
    }
}

/// The contents of a report, from which [`html()`](crate::html()) makes one file. The record and
/// its JSON are the same data: the page is rendered from the record, and the JSON is embedded
/// unchanged, so that programs can read the file too.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The record.
    pub record: &'a Record,
    /// The whole record as JSON, with the data that its command adds.
    pub json: &'a str,
    /// The text of the command on a terminal, without colours.
    pub text: &'a str,
    /// The pictures.
    pub figures: &'a [Figure],
    /// Additional HTML, for example a proof.
    pub more: &'a str,
    /// The text of the program; `None` if it is not available.
    pub source: Option<&'a str>,
}

/// Returns the runs that a record has as evidence, each as a figure.
pub fn evidence_figures(record: &Record) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (at, witness) in record.witnesses.iter().enumerate() {
        for (number, run) in witness.runs.iter().enumerate() {
            let title = match (witness.runs.len(), number) {
                (1, _) => witness.message.clone(),
                (_, 0) => format!("{}: one run", witness.message),
                _ => format!("{}: the other run", witness.message),
            };
            let lanes = || Lanes::of_witness(record, at, number).map(|lanes| lanes.svg());
            figures.extend(chart_svg(record, run).or_else(lanes).map(|svg| Figure {
                title,
                svg,
                run: Some(format!("/witnesses/{at}/runs/{number}")),
            }));
        }
    }
    figures
}

/// Returns a figure of the run in a record of the command `run`.
pub fn run_figure(record: &Record, one: OneRun<'_>) -> Figure {
    let lanes = || Lanes::of_run(record, one).svg();
    Figure {
        title: "the run".to_owned(),
        svg: chart_svg(record, one.run).unwrap_or_else(lanes),
        run: Some("/run".to_owned()),
    }
}

/// Returns the page.
///
/// ```
/// use mazurka_core::record::Record;
/// use mazurka_report::{Page, html};
///
/// let json = r#"{
///     "version": 2, "command": "check", "algorithm": "optimal", "verdict": "verified",
///     "program": {"file": "</script>.maz", "hash": "", "set": []},
///     "scope": {"exhaustive": true, "bounds": []}, "stopped": "complete", "deterministic": true,
///     "executions": 1, "traces": 1, "blocked": 0, "discarded": 0, "deadlocks": 0, "failures": 0,
///     "final_states": 1, "events": 1, "steps": 1, "seconds": 0.0, "witnesses": []
/// }"#;
/// let record: Record = serde_json::from_str(json).unwrap();
/// let page = Page { record: &record, json, text: "", figures: &[], more: "", source: None };
/// let page = html(&page);
/// assert!(page.contains("<h1>&lt;/script&gt;.maz</h1>"));
/// assert!(!page.contains("</script>.maz"));
/// ```
pub fn html(page: &Page<'_>) -> String {
    let record = page.record;
    let (class, word) = match record.verdict {
        Verdict::Verified => ("good", "verified"),
        Verdict::Violated => ("bad", "violated"),
        Verdict::Inconclusive => ("unsure", "inconclusive"),
    };
    let file = escaped(&record.program.file);
    let answer = escaped(&verdict_text(page, word));
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n\
         <title>{word}: {file}</title>\n<style>\n{STYLE}</style></head>\n\
         <body class=\"report\"><main>\n<h1>{file}</h1>\n\
         <p class=\"verdict {class}\" role=\"status\">{answer}</p>\n\
         <p class=\"facts\">{}</p>\n",
        escaped(&facts(record))
    );
    text += &figures(page.figures);
    if !page.more.is_empty() {
        text += &format!("<section class=\"more\">\n{}</section>\n", page.more);
    }
    if !page.text.is_empty() {
        text += &format!(
            "<details{}><summary>As on the terminal</summary><pre>{}</pre></details>\n",
            if page.figures.is_empty() { " open" } else { "" },
            escaped(page.text)
        );
    }
    if let Some(source) = page.source.filter(|source| source.len() <= MOST_SOURCE) {
        text += "<details open><summary>The program</summary>\n";
        text += &listing(source, record.coverage.as_ref());
        text += "</details>\n";
    }
    text += &format!(
        "</main>\n<script type=\"application/json\" id=\"record\">{}</script>\n\
         <script>\n{SCRIPT}MazurkaView.report();\n</script>\n</body></html>\n",
        inert(page.json.trim())
    );
    text
}

/// Returns the answer in one line. The word of the verdict is enough only if all kinds of
/// violations count; otherwise the line says more.
fn verdict_text(page: &Page<'_>, word: &str) -> String {
    let first = |text: &str| text.lines().next().unwrap_or(word).to_owned();
    match page.record.command.as_str() {
        _ if !page.record.witnesses.is_empty() => first(&headline(page.record, &View::default())),
        "check" | "explore" | "sample" | "replay" => {
            first(&headline(page.record, &View::default()))
        }
        "prove" => first(page.text),
        "run" => format!("{word}: this run"),
        _ => word.to_owned(),
    }
}

/// Returns the command, the engine and the counts, in one line.
fn facts(record: &Record) -> String {
    let counts = &record.counts;
    let mut parts = vec![format!("{} by {}", record.command, record.algorithm)];
    parts.extend(record.memory_model.as_ref().map(|m| format!("under {m}")));
    parts.push(crate::counted(counts.executions, "execution", "executions"));
    parts.extend(counts.traces.map(|n| crate::counted(n, "trace", "traces")));
    parts.extend(crate::verdict::states(counts));
    parts.push(crate::counted(counts.steps, "step", "steps"));
    parts.join(", ")
}

/// Returns the figures one below the other; the runs of one witness are side by side.
fn figures(all: &[Figure]) -> String {
    let witness = |figure: &Figure| {
        let run = figure.run.as_deref()?;
        run.rsplit_once("/runs/")
            .map(|(witness, _)| witness.to_owned())
    };
    let mut text = String::new();
    for group in all.chunk_by(|a, b| witness(a).is_some() && witness(a) == witness(b)) {
        text += "<div class=\"figures\">\n";
        for figure in group {
            let title = escaped(&figure.title);
            let run = figure.run.as_ref();
            let run = run.map_or_else(String::new, |run| format!(" data-run=\"{}\"", escaped(run)));
            text += &format!(
                "<figure{run}><figcaption>{title}</figcaption>\n\
                 <div class=\"picture\" role=\"img\" aria-label=\"{title}\" tabindex=\"0\">{}</div></figure>\n",
                figure.svg.trim_end()
            );
        }
        text += "</div>\n";
    }
    text
}

/// Returns the program with line numbers, and in the margin the coverage of its conditions.
fn listing(source: &str, coverage: Option<&Coverage>) -> String {
    let mut text = String::from("<ol class=\"source\">\n");
    for (at, line) in source.lines().enumerate() {
        let branches = coverage.into_iter().flat_map(|all| &all.branches);
        let here =
            branches.filter(|branch| branch.place.line == at + 1 && branch.place.file.is_none());
        let sides = here.map(|branch| (branch.held, branch.failed));
        let mark = sides.reduce(|a, b| (a.0 && b.0, a.1 && b.1));
        let mark = mark.map_or("", |(held, failed)| match (held, failed) {
            (true, true) => " class=\"both\" title=\"the condition held, and failed to hold\"",
            (true, false) => " class=\"half\" title=\"the condition always held\"",
            (false, true) => " class=\"half\" title=\"the condition never held\"",
            (false, false) => " class=\"none\" title=\"never reached\"",
        });
        let line = escaped(line);
        text += &format!("<li id=\"L{}\"{mark}><code>{line}</code></li>\n", at + 1);
    }
    text + "</ol>\n"
}

/// Returns JSON that can be put into a `<script>` element: whatever its strings contain, it neither
/// ends the element nor begins a comment. The characters that could do so occur only in strings,
/// and are replaced by JSON escapes.
pub(crate) fn inert(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                text += &format!("\\u{:04x}", u32::from(c));
            }
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests;
