//! Tests that the commands on the pages about the papers print what the pages show, and further
//! claims of these pages.

use crate::support::{mazurka, root};
use crate::wellformed::assert_sound;

/// Returns the commands of a page with the output that it shows; `…` matches any lines.
fn commands(page: &str) -> Vec<(Vec<String>, Vec<String>)> {
    let text = std::fs::read_to_string(root().join(page)).expect("the page");
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line != "```console" {
            continue;
        }
        let mut block = lines.by_ref().take_while(|line| *line != "```");
        let command = block
            .next()
            .and_then(|line| line.strip_prefix("$ mazurka "));
        let args = words(command.expect("a command"));
        found.push((args, block.map(str::to_owned).collect()));
    }
    found
}

/// Splits a command into words; quotes keep spaces.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in command.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().expect("a word").push(c),
        }
    }
    words
}

/// Whether an output agrees with the output that a page shows.
fn is_shown(output: &str, shown: &[String]) -> bool {
    let mut lines = output.lines();
    let mut skips = false;
    for wanted in shown {
        if wanted == "…" {
            skips = true;
            continue;
        }
        let found = if std::mem::take(&mut skips) {
            lines.any(|line| line == wanted)
        } else {
            lines.next() == Some(wanted)
        };
        if !found {
            return false;
        }
    }
    skips || lines.all(|line| line.trim().is_empty())
}

#[test]
fn the_commands_of_the_page_about_unfolding_do_what_it_shows() {
    let all = commands("docs/papers/unfolding.md");
    assert!(all.len() >= 8, "the commands were not found");
    for (args, shown) in all {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let result = mazurka(&args);
        assert!(is_shown(&result.out, &shown), "{args:?}\n{}", result.out);
    }
}

/// The files that the page names exist.
#[test]
fn files_that_the_page_about_unfolding_names_exist() {
    let text = std::fs::read_to_string(root().join("docs/papers/unfolding.md")).expect("the page");
    let mut found = 0;
    for word in text.split('`').skip(1).step_by(2) {
        let bases = [
            "",
            "crates",
            "crates/explore/src",
            "crates/testkit/tests/it",
        ];
        if word.ends_with(".rs") || word.starts_with("corpus/") {
            let exists = bases
                .iter()
                .any(|base| root().join(base).join(word).exists());
            assert!(exists, "{word}");
            found += 1;
        }
    }
    assert!(found >= 20, "{found} files");
}

/// Figures 2.2 and 2.4: trees in which inputs decide in some nodes, and the schedule in others.
#[test]
fn trees_with_inputs_have_a_node_for_each_branch() {
    let draw = |name: &str, flags: &[&str]| {
        let file = format!("corpus/maz/{name}/program.maz");
        let result = mazurka(&[&["explore", &file][..], flags].concat());
        assert!(result.code < 2, "{result:?}");
        result.out
    };
    let naive = ["--algorithm", "naive", "--format", "dot"];
    let sequential = draw("thesis-fig2-1", &naive);
    let leaves = |text: &str, leaf: &str| text.matches(&format!("label=\"{leaf}")).count();
    assert_eq!(leaves(&sequential, "failure"), 2, "{sequential}");
    assert_eq!(leaves(&sequential, "final"), 1, "{sequential}");
    let tree = draw("thesis-fig2-4", &naive);
    assert_eq!(leaves(&tree, "final"), 8, "{tree}");
    assert!(tree.contains("branches [1#0 > 10]"), "{tree}");
    assert!(tree.contains("branches [1#0 <= 10]"), "{tree}");
    // Scheduling nodes are darker.
    let dark = tree.matches("fillcolor=\"#aeb6bf\"").count();
    assert!(dark > 0, "{tree}");
    // With a reducing engine, where a branch is part of its step.
    let reduced = draw("thesis-fig2-4", &["--format", "dot"]);
    assert_eq!(leaves(&reduced, "final"), 6, "{reduced}");
    let picture = draw(
        "thesis-fig2-4",
        &["--algorithm", "naive", "--format", "svg"],
    );
    assert_sound(&picture);
    let file = "corpus/maz/thesis-fig2-4/program.maz";
    let states = ["--algorithm", "stateful", "--format", "dot"];
    let result = mazurka(&[&["explore", file][..], &states].concat());
    assert_eq!(result.code, 3, "{result:?}");
}

/// Figures 7.3 and 7.4.
#[test]
fn the_model_of_a_stateful_net_is_listed_and_drawn() {
    let file = "corpus/maz/thesis-fig7-3/program.maz";
    let model = |flags: &[&str]| {
        let all = ["unfold", file, "--net", "stateful", "--model"];
        mazurka(&[&all[..], flags].concat())
    };
    let listed = model(&[]);
    assert_eq!(listed.code, 0, "{listed:?}");
    // The lock has one place. An acquisition takes its token, and a release puts the token back.
    assert_eq!(listed.out.matches("  l\n").count(), 1, "{}", listed.out);
    assert!(listed.out.contains("  t6  "), "{}", listed.out);
    let record = model(&["--format", "json"]).json();
    assert_eq!(record["model"]["places"], 13);
    assert_eq!(record["model"]["transitions"], 6);
    let dot = model(&["--format", "dot"]).out;
    assert_eq!(dot.matches("shape=circle").count(), 13, "{dot}");
    assert_eq!(dot.matches("shape=box").count(), 6, "{dot}");
    assert_sound(&model(&["--format", "svg"]).out);
    let other = mazurka(&["unfold", file, "--model"]);
    assert_eq!(other.code, 3, "{other:?}");
}

/// Deadlocks by both methods, with and without inputs.
#[test]
fn both_methods_find_deadlocks() {
    let ask = |file: &str, property: &str, method: &str| {
        let file = format!("corpus/maz/{file}/program.maz");
        let args = ["reach", &file, "--property", property, "--method", method];
        mazurka(&args)
    };
    for method in ["search", "smt"] {
        let stuck = ask("philosophers", "deadlock", method);
        assert_eq!(stuck.code, 1, "{stuck:?}");
        // A philosopher waits in line 12, for the second fork, and never in line 13.
        let exists = ask("philosophers", "deadlock && at(0, 12) && at(1, 12)", method);
        assert_eq!(exists.code, 1, "{exists:?}");
        let elsewhere = ask("philosophers", "at(0, 13) && deadlock", method);
        assert_eq!(elsewhere.code, 0, "{elsewhere:?}");
        let never = ask("philosophers-ordered", "deadlock", method);
        assert_eq!(never.code, 0, "{never:?}");
        let inputs = ask("thesis-synthetic", "deadlock && z == 1", method);
        assert_eq!(inputs.code, 1, "{inputs:?}");
        let mixed = ask("philosophers", "deadlock || at(0, 12)", method);
        assert_eq!(mixed.code, 3, "{mixed:?}");
        assert!(mixed.err.contains("beside `&&`"), "{mixed:?}");
    }
}

/// Example 5, Figure 2.7: with the first thread first, DPOR without sleep sets runs one of the two
/// traces twice. Example 6: with sleep sets it does not.
#[test]
fn without_sleep_sets_dpor_explores_a_trace_twice() {
    let file = "corpus/maz/thesis-fig2-6/program.maz";
    let explore = ["explore", file, "--format", "json", "--algorithm"];
    let counts = |flags: &[&str]| {
        let record = mazurka(&[&explore[..], flags].concat()).json();
        let count = |name: &str| record[name].as_u64();
        (count("executions"), count("traces"))
    };
    assert_eq!(counts(&["dpor", "--no-sleep"]), (Some(3), Some(2)));
    assert_eq!(counts(&["dpor"]), (Some(2), Some(2)));
    for engine in ["optimal", "sleep", "naive"] {
        let refused = mazurka(&[&explore[..], &[engine, "--no-sleep"]].concat());
        assert_eq!(refused.code, 3, "{refused:?}");
        assert!(refused.err.contains("--algorithm dpor"), "{refused:?}");
    }
}

/// Section 8.3.3: sleep sets save steps of the naive stateful search, and no states.
#[test]
fn sleep_sets_save_steps_of_the_naive_search() {
    let file = "corpus/maz/philosophers/program.maz";
    let naive = ["unfold", file, "--net", "stateful", "--format", "json"];
    let counts = |flags: &[&str]| {
        let record = mazurka(&[&naive[..], flags].concat()).json();
        let count = |name: &str| record[name].as_u64().expect("a number");
        (count("states"), count("deadlocks"), count("events"))
    };
    let (all, slept) = (counts(&["--naive"]), counts(&["--naive", "--sleep"]));
    assert_eq!((all.0, all.1), (slept.0, slept.1));
    assert!(slept.2 < all.2, "{slept:?} {all:?}");
    let refused = mazurka(&[&naive[..], &["--sleep"]].concat());
    assert_eq!(refused.code, 3, "{refused:?}");
}
