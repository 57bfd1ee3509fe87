//! Tests `--format dot` and `svg` of explorations: trees, state graphs, nets, curves, charts.

use std::collections::BTreeSet;

use crate::support::{mazurka, with_input};
use crate::wellformed::{assert_sound, texts};

const TWO_WRITERS: &str = "var x: int = 0 process { x := 1 } process { x := x + 1 }";

#[test]
fn dot_of_a_small_program() {
    let result = with_input(&["explore", "-", "--format", "dot"], TWO_WRITERS);
    assert_eq!(result.code, 0, "{result:?}");
    insta::assert_snapshot!(result.out);
}

#[test]
fn every_state_is_a_node_and_every_step_an_edge() {
    let philosophers = ["explore", "examples/philosophers.maz", "--algorithm"];
    for algorithm in ["naive", "sleep", "dpor", "source", "optimal"] {
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
        let result = mazurka(&["explore", program, "--format", "svg"]);
        assert!(result.code <= 1, "{result:?}");
        assert_sound(&result.out);
        let texts = texts(&result.out);
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
    let result = mazurka(&["explore", "examples/example5.maz", "--format", "svg"]);
    let texts = texts(&result.out);
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
fn pictures_that_are_too_large_are_refused_with_advice() {
    for format in ["dot", "svg"] {
        let flags = ["--algorithm", "naive", "--format", format];
        let result = mazurka(&[&["explore", "examples/philosophers.maz"], &flags[..]].concat());
        assert_eq!(result.code, 3, "{result:?}");
        assert!(result.out.is_empty());
        assert!(
            result.err.contains("states") && result.err.contains("500"),
            "{result:?}"
        );
        assert!(
            result.err.contains("--set") && result.err.contains("--algorithm"),
            "{result:?}"
        );
    }
}

#[test]
fn unexplored_parts_are_shown_as_cut() {
    let flags = ["--max-depth", "3", "--format", "dot"];
    let result = mazurka(&[&["explore", "examples/counter.maz"], &flags[..]].concat());
    assert_eq!(result.code, 2, "{result:?}");
    assert!(result.out.contains("label=\"cut\""), "{result:?}");
    assert!(!result.out.contains("label=\"blocked\""), "{result:?}");
}

/// Returns the number of states of a program, from its record.
fn states(args: &[&str]) -> u64 {
    let record = mazurka(&[args, &["--format", "json"]].concat()).json();
    record["states"].as_u64().expect("a number")
}

#[test]
fn the_graph_of_states_has_each_state_once() {
    for (file, set) in [
        ("examples/philosophers.maz", "N=3"),
        ("corpus/maz/philosophers/program.maz", "N=2"),
        ("corpus/maz/peterson/program.maz", ""),
        ("corpus/maz/temporal-starvation/program.maz", ""),
        ("corpus/maz/livelock/program.maz", ""),
        ("corpus/maz/choose-leader/program.maz", ""),
        ("corpus/maz/assume-discards/program.maz", ""),
        ("corpus/maz/e12-failure-halts-process/program.maz", ""),
    ] {
        let all = ["--no-reduction", "--no-symmetry"];
        let mut args = vec!["explore", file, "--algorithm", "stateful"];
        args.extend(all);
        if !set.is_empty() {
            args.extend(["--set", set]);
        }
        let states = states(&args) as usize;
        let dot = mazurka(&[&args[..], &["--format", "dot"]].concat());
        let svg = mazurka(&[&args[..], &["--format", "svg"]].concat());
        assert!(dot.err.is_empty() && svg.err.is_empty(), "{file}: {dot:?}");
        assert_eq!(
            (dot.code, dot.code),
            (svg.code, mazurka(&args).code),
            "{file}"
        );
        let nodes = |line: &&str| line.starts_with("  s") && line.contains(" [label=");
        let nodes = dot
            .out
            .lines()
            .filter(|line| nodes(line) && !line.contains(" -> "));
        assert_eq!(nodes.count(), states, "{file}: {}", dot.out);
        assert_sound(&svg.out);
        let drawn = svg.out.matches("<title>state ").count();
        assert_eq!(drawn, states, "{file}");
        // Each state except the initial one has an incoming edge.
        for at in 1..states {
            assert!(dot.out.contains(&format!(" -> s{at} ")), "{file}: s{at}");
        }
        assert!(
            texts(&svg.out)
                .iter()
                .any(|(_, _, text)| text.starts_with("initial")),
            "{file}"
        );
    }
}

#[test]
fn states_are_labelled_with_their_kind() {
    let word = |program: &str, word: &str| {
        let flags = ["explore", "-", "--algorithm", "stateful", "--format", "svg"];
        let result = with_input(&flags, program);
        assert_sound(&result.out);
        let all = texts(&result.out);
        all.iter().filter(|(_, _, text)| text == word).count()
    };
    let crossed = "lock a, b process p { lock(a); lock(b) } process q { lock(b); lock(a) }";
    assert_eq!(word(crossed, "deadlock"), 3);
    assert_eq!(word("var x: int = 0 process { x := 1 }", "final"), 1);
    assert_eq!(
        word(
            "var x: int = 0 process { x := 1; assert x == 0 }",
            "failure"
        ),
        1
    );
    let ensures = "var x: int = 0 ensures x == 2 process { x := 1 }";
    assert_eq!(word(ensures, "failure"), 1);
    assert_eq!(
        word(
            "var x: int = 0 process { x := 1; assume x == 0 }",
            "discarded"
        ),
        1
    );
    let labelled = "var x: int = 0 process writer { x := 1 }";
    assert_eq!(word(labelled, "writer: x := 1"), 1);
}

#[test]
fn a_large_graph_of_states_is_cut_with_a_message() {
    let args = [
        "explore",
        "examples/philosophers.maz",
        "--algorithm",
        "stateful",
        "--no-reduction",
        "--set",
        "N=5",
    ];
    let states = states(&args);
    assert!(states > 200, "{states}");
    let expected = format!("200 of {states} states are drawn");
    for format in ["dot", "svg"] {
        let result = mazurka(&[&args[..], &["--format", format]].concat());
        assert_eq!(result.code, 1, "there is a deadlock");
        assert!(result.err.contains(&expected), "{}", result.err);
        assert!(result.out.contains(&expected), "{format}");
        if format == "svg" {
            assert_sound(&result.out);
            assert_eq!(result.out.matches("<title>state ").count(), 200);
        }
    }
}

#[test]
fn a_net_marks_where_processes_wait_for_ever() {
    for net in ["contextual", "replicated", "stateful"] {
        let args = [
            "unfold",
            "examples/philosophers.maz",
            "--set",
            "N=2",
            "--net",
            net,
        ];
        let svg = mazurka(&[&args[..], &["--format", "svg"]].concat()).out;
        assert_sound(&svg);
        let texts = texts(&svg);
        for philosopher in 0..2 {
            let words = format!("philosopher({philosopher}) waits: deadlock 1");
            let marked = texts.iter().filter(|(_, _, text)| *text == words);
            assert_eq!(marked.count(), 1, "{net}: {words}");
        }
        assert!(texts[0].2.contains("1 deadlock"), "{net}: {texts:?}");
        let dot = mazurka(&[&args[..], &["--format", "dot"]].concat()).out;
        assert_eq!(dot.matches("shape=octagon").count(), 2, "{net}: {dot}");
    }
    let calm = ["unfold", "examples/counter-locked.maz", "--format", "svg"];
    assert!(!mazurka(&calm).out.contains("deadlock"));
}

#[test]
fn other_pictures_are_within_their_area() {
    for args in [
        &["unfold", "corpus/maz/thesis-fig5-6/program.maz"][..],
        &["symbolic", "corpus/maz/sympaths-fig8/program.maz"],
        &["run", "corpus/abs/producer-consumer/program.abs"],
        &["run", "corpus/abs/philosophers/program.abs", "--seed", "3"],
        &["permute", "examples/counter.maz", "--class", "1"],
    ] {
        let result = mazurka(&[args, &["--format", "svg"]].concat());
        assert!(result.code <= 2, "{result:?}");
        assert_sound(&result.out);
    }
}
