//! Strings that programs can contain, and their escaping in a page.

use mazurka_core::Verdict;
use mazurka_core::record::{Branch, Coverage, Kind, Place, Run};

use super::*;
use crate::tests::{record, witness};

/// Everything that could end a script, open a tag or break a line of a script.
const NASTY: &str =
    "</script><script>alert(1)</script><!-- --><img src=x onerror=y>&amp;\u{2028}\"'";

/// Returns the run of a record at a JSON pointer.
fn run_at<'a>(record: &'a Record, pointer: &str) -> Option<&'a Run> {
    let mut parts = pointer.strip_prefix("/witnesses/")?.split("/runs/");
    let witness: usize = parts.next()?.parse().ok()?;
    let run: usize = parts.next()?.parse().ok()?;
    record.witnesses.get(witness)?.runs.get(run)
}

fn nasty() -> (Record, String) {
    let mut found = record(
        Verdict::Violated,
        Vec::new(),
        vec![witness(Kind::Failure, NASTY)],
    );
    found.program.file = NASTY.to_owned();
    let json = crate::json(&found).expect("JSON");
    (found, json)
}

#[test]
fn no_text_of_a_program_is_markup() {
    let (record, json) = nasty();
    let figures = evidence_figures(&record);
    let page = html(&Page {
        record: &record,
        json: &json,
        text: NASTY,
        figures: &figures,
        more: "",
        source: Some(NASTY),
    });
    // The page has two scripts of its own, and each ends once.
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(!page.contains("<img") && !page.contains("<!-- -->"));
    let inside = page.split("id=\"record\">").nth(1).expect("the record");
    let inside = inside.split("</script>").next().expect("its end");
    assert!(!inside.contains(['<', '>', '&', '\u{2028}']));
    let read: Record = serde_json::from_str(inside).expect("the record again");
    assert_eq!(read, record);
}

#[test]
fn the_page_loads_no_other_file() {
    let record = record(Verdict::Verified, Vec::new(), Vec::new());
    let json = crate::json(&record).expect("JSON");
    let page = html(&Page {
        record: &record,
        json: &json,
        text: "",
        figures: &[Figure::new("the net", "<svg/>")],
        more: "",
        source: None,
    });
    let page = page.replace("http://www.w3.org/2000/svg", "");
    for word in [
        "http:", "https:", " src=", "@import", "url(", "fetch(", "<link",
    ] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn figures_point_to_their_runs() {
    let mut two = witness(Kind::Nondeterminism, "the results differ");
    two.runs.push(two.runs[0].clone());
    let record = record(Verdict::Violated, Vec::new(), vec![two]);
    let figures = evidence_figures(&record);
    assert_eq!(figures.len(), 2);
    for (figure, end) in figures.iter().zip(["one run", "the other run"]) {
        assert!(figure.title.ends_with(end), "{}", figure.title);
        let run = figure.run.as_deref().expect("a pointer");
        assert!(run_at(&record, run).is_some(), "{run}");
    }
    // The two runs are side by side, in one group.
    assert_eq!(
        super::figures(&figures)
            .matches("class=\"figures\"")
            .count(),
        1
    );
}

#[test]
fn the_margin_shows_the_coverage() {
    let branch = |line, held, failed| Branch {
        place: Place {
            line,
            column: 1,
            text: String::new(),
            file: None,
        },
        held,
        failed,
    };
    let coverage = Coverage {
        statements: 3,
        reached: 3,
        branches: vec![
            branch(1, true, true),
            branch(2, true, false),
            branch(2, true, true),
        ],
    };
    let text = listing("if a\nif b\nx", Some(&coverage));
    assert!(text.contains("<li id=\"L1\" class=\"both\""));
    assert!(text.contains("<li id=\"L2\" class=\"half\" title=\"the condition always held\""));
    assert!(text.contains("<li id=\"L3\"><code>x"));
}
