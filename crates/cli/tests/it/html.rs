//! Tests `--format html`: the page contains the record and the pictures, and loads no other files.

use serde_json::Value;

use crate::support::{CommandResult, mazurka, with_input};
use crate::wellformed::elements;

/// A program whose message would end a script, open a comment or break a line of a script.
const NASTY: &str = "var x: int = 0 process { x := 1; \
    assert x == 2, \"</script><script>alert(1)</script><!-- <b>&amp;\u{2028}\" }";

/// Commands with a page, each with a text in one of its figures.
const COMMANDS: [(&[&str], &str); 13] = [
    (&["check", "examples/counter.maz"], "ensures"),
    (&["check", "examples/philosophers.maz"], "wait for ever"),
    (&["check", "corpus/abs/philosophers"], ""),
    (
        &["check", "examples/store-buffering.maz", "--memory", "rc11"],
        "",
    ),
    (&["explore", "examples/counter.maz"], "the tree"),
    (
        &["explore", "examples/counter.maz", "--algorithm", "stateful"],
        "the states",
    ),
    (
        &[
            "explore",
            "examples/store-buffering.maz",
            "--memory",
            "rc11",
        ],
        "",
    ),
    (&["run", "examples/counter.maz", "--seed", "3"], "the run"),
    (&["run", "corpus/abs/ping-pong"], "the run"),
    (&["unfold", "corpus/maz/thesis-fig2-3/program.maz"], "net"),
    (&["permute", "examples/counter.maz"], "the partial order"),
    (
        &["symbolic", "corpus/maz/sympaths-fig8/program.maz"],
        "symbolic states",
    ),
    (&["prove", "examples/peterson.maz"], "the proof"),
];

/// Returns the record inside a page.
fn inside(page: &CommandResult) -> Value {
    let text = page.out.split("id=\"record\">").nth(1).expect("a record");
    let text = text.split("</script>").next().expect("its end");
    assert!(!text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']));
    serde_json::from_str(text).expect("JSON")
}

/// Removes the data that differ from run to run, such as times.
fn settled(mut record: Value) -> Value {
    if let Value::Object(fields) = &mut record {
        fields.remove("seconds");
        fields.remove("memory");
    }
    record
}

#[test]
fn every_page_has_the_record_and_its_pictures() {
    for (words, title) in COMMANDS {
        let page = mazurka(&[words, &["--format", "html"]].concat());
        let json = mazurka(&[words, &["--format", "json"]].concat());
        assert_eq!(page.code, json.code, "{words:?}: {}", page.err);
        assert_eq!(settled(inside(&page)), settled(json.json()), "{words:?}");
        assert!(page.out.starts_with("<!doctype html>"), "{words:?}");
        let captions = page.out.split("<figcaption>").skip(1);
        let captions: Vec<&str> = captions.filter_map(|text| text.split('<').next()).collect();
        assert!(
            captions.iter().any(|text| text.contains(title)) || title.is_empty(),
            "{captions:?}"
        );
        for picture in page.out.split("<svg ").skip(1) {
            let end = picture.find("</svg>").expect("the end of a picture");
            assert!(!elements(&format!("<svg {}</svg>", &picture[..end])).is_empty());
        }
        let quiet = page.out.replace("http://www.w3.org/2000/svg", "");
        for word in ["http://", "https://", " src=", "<link"] {
            assert!(!quiet.contains(word), "{words:?}: {word}");
        }
    }
}

#[test]
fn strings_of_a_program_are_no_markup() {
    let page = with_input(&["check", "-", "--format", "html"], NASTY);
    assert_eq!(page.code, 1, "{}", page.err);
    assert_eq!(page.out.matches("<script").count(), 2);
    assert_eq!(page.out.matches("</script>").count(), 2);
    assert!(!page.out.contains("<b>") && !page.out.contains("<!-- "));
    let json = with_input(&["check", "-", "--format", "json"], NASTY).json();
    assert_eq!(settled(inside(&page)), settled(json));
}

#[test]
fn a_saved_record_has_the_same_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("record.json");
    let name = file.to_str().expect("a name");
    for words in [
        &["check", "examples/counter.maz"][..],
        &["run", "examples/counter.maz"],
    ] {
        let json = mazurka(&[words, &["--format", "json"]].concat());
        std::fs::write(&file, &json.out).expect("written");
        let shown = mazurka(&["show", name, "--format", "html"]);
        assert_eq!(inside(&shown), json.json());
        assert_eq!(shown.out.matches("<figure").count(), 1);
        let again = mazurka(&["replay", name, "--format", "html"]);
        assert_eq!(again.out.matches("<figure").count(), 1, "{}", again.err);
        assert_eq!(inside(&again)["verdict"], json.json()["verdict"]);
    }
}
