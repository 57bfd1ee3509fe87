//! `explore --format dot` and `svg`.

use std::collections::BTreeSet;

use crate::support::{mazurka, with_input};

const TWO_WRITERS: &str = "var x: int = 0 process { x := 1 } process { x := x + 1 }";

#[test]
fn dot_of_a_small_program() {
    let said = with_input(&["explore", "-", "--format", "dot"], TWO_WRITERS);
    assert_eq!(said.code, 0, "{said:?}");
    insta::assert_snapshot!(said.out);
}

#[test]
fn every_state_is_a_node_and_every_step_an_edge() {
    let philosophers = ["explore", "examples/philosophers.maz", "--algorithm"];
    for algorithm in ["naive", "sleep", "dpor", "source", "optimal", "stateful"] {
        let explore = |format: &str| {
            let flags = [algorithm, "--set", "N=2", "--format", format];
            mazurka(&[&philosophers[..], &flags].concat())
        };
        let events = explore("json").json()["events"].as_u64().expect("a number");
        let dot = explore("dot");
        assert_eq!(dot.code, 1, "there is a deadlock");
        let edges = dot.out.lines().filter(|line| line.contains(" -> ")).count();
        assert_eq!(edges as u64, events, "{algorithm}");
        assert!(
            dot.out.contains("shape=octagon"),
            "{algorithm}: {}",
            dot.out
        );
    }
}

#[test]
fn blocked_runs_failures_and_discarded_runs_have_shapes_of_their_own() {
    let program = "var x, y: int = 0 process { x := 1 } process { y := 1 } process { assert x == 0 || y == 0 }
        process { x := choose(0..2); assume x == 0 }";
    let draw = |algorithm| {
        let flags = ["explore", "-", "--algorithm", algorithm, "--format", "dot"];
        with_input(&flags, program).out
    };
    let sleep = draw("sleep");
    assert!(sleep.contains("shape=doubleoctagon"), "{sleep}");
    assert!(sleep.contains("shape=diamond"), "{sleep}");
    assert!(sleep.contains("label=\"blocked\""), "{sleep}");
    assert!(!draw("optimal").contains("label=\"blocked\""));
}

/// The texts of a picture: where each begins, and what it says. Panics if the picture is not
/// well-formed.
fn texts(svg: &str) -> Vec<(f64, f64, String)> {
    let mut open: Vec<&str> = Vec::new();
    let mut found = Vec::new();
    let mut at = None;
    let mut rest = svg;
    while let Some(start) = rest.find('<') {
        let between = &rest[..start];
        assert!(!between.contains('>'), "a stray > in {between:?}");
        for (place, _) in between.match_indices('&') {
            let entity = between[place..].split(';').next().unwrap_or("");
            assert!(
                ["&amp", "&lt", "&gt", "&quot"].contains(&entity),
                "{entity}"
            );
        }
        if let Some((x, y)) = at.take() {
            found.push((
                x,
                y,
                between
                    .replace("&gt;", ">")
                    .replace("&lt;", "<")
                    .replace("&amp;", "&"),
            ));
        }
        let end = start + rest[start..].find('>').expect("a closed tag");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
            continue;
        }
        let name = tag.split([' ', '/']).next().expect("a name");
        let attributes = attributes(tag[name.len()..].trim_end_matches('/'));
        let number = |key: &str| -> f64 {
            let value = attributes.iter().find(|(name, _)| *name == key);
            value.expect("a place").1.parse().expect("a number")
        };
        if name == "text" {
            at = Some((number("x"), number("y")));
        }
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert_eq!(open, [""; 0], "tags that are not closed");
    assert_eq!(rest.trim(), "");
    found
}

fn attributes(mut text: &str) -> Vec<(&str, &str)> {
    let mut found: Vec<(&str, &str)> = Vec::new();
    while let Some((name, after)) = text.trim_start().split_once("=\"") {
        let (value, after) = after.split_once('"').expect("a closed value");
        assert!(!value.contains('<'));
        assert!(
            found.iter().all(|(known, _)| *known != name),
            "{name} twice"
        );
        found.push((name, value));
        text = after;
    }
    assert_eq!(text.trim(), "");
    found
}

#[test]
fn svg_is_well_formed_and_no_words_overlap() {
    let programs = [
        "examples/example5.maz",
        "examples/counter.maz",
        "examples/philosophers.maz",
        "corpus/maz/e3-guard/program.maz",
        "corpus/maz/e6-choice/program.maz",
        "corpus/maz/choose-leader/program.maz",
    ];
    for program in programs {
        let said = mazurka(&["explore", program, "--format", "svg"]);
        assert!(said.code <= 1, "{said:?}");
        let texts = texts(&said.out);
        assert!(texts.len() > 5, "{program}");
        for (k, (x, y, one)) in texts.iter().enumerate() {
            for (other_x, other_y, other) in &texts[..k] {
                let width = |text: &str| text.chars().count() as f64 * 7.2;
                let beside = x + width(one) <= *other_x || other_x + width(other) <= *x;
                let apart = (y - other_y).abs() >= 13.0;
                assert!(beside || apart, "{program}: `{one}` and `{other}`");
            }
        }
    }
}

#[test]
fn svg_shows_what_there_is() {
    let said = mazurka(&["explore", "examples/example5.maz", "--format", "svg"]);
    let texts = texts(&said.out);
    let leaves = texts.iter().filter(|(_, _, text)| text == "final").count();
    assert_eq!(leaves, 5);
    let states: BTreeSet<&str> = texts
        .iter()
        .map(|(_, _, text)| text.as_str())
        .filter(|text| text.starts_with("x = "))
        .collect();
    assert_eq!(states.len(), 4);
}

#[test]
fn what_is_too_large_is_refused_with_advice() {
    for format in ["dot", "svg"] {
        let flags = ["--algorithm", "naive", "--format", format];
        let said = mazurka(&[&["explore", "examples/philosophers.maz"], &flags[..]].concat());
        assert_eq!(said.code, 3, "{said:?}");
        assert!(said.out.is_empty());
        assert!(
            said.err.contains("states") && said.err.contains("500"),
            "{said:?}"
        );
        assert!(
            said.err.contains("--set") && said.err.contains("--algorithm"),
            "{said:?}"
        );
    }
}

#[test]
fn what_was_not_explored_is_shown_as_cut() {
    let flags = ["--max-depth", "3", "--format", "dot"];
    let said = mazurka(&[&["explore", "examples/counter.maz"], &flags[..]].concat());
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.out.contains("label=\"cut\""), "{said:?}");
    assert!(!said.out.contains("label=\"blocked\""), "{said:?}");
}

#[test]
fn only_explore_draws() {
    for command in ["check", "run"] {
        let said = mazurka(&[command, "examples/counter.maz", "--format", "svg"]);
        assert_eq!(said.code, 3, "{said:?}");
    }
}
