//! Tests `unfold` and `reach`.

use crate::support::{mazurka, with_input};

#[test]
fn the_record_has_the_size_of_the_net() {
    let file = "corpus/maz/readers/program.maz";
    for (net, events, conditions) in [("replicated", 10, 34), ("contextual", 5, 10)] {
        let record = mazurka(&["unfold", file, "--net", net, "--format", "json"]).json();
        assert_eq!(record["command"], "unfold");
        assert_eq!(record["net"], net);
        assert_eq!(record["events"], events);
        assert_eq!(record["conditions"], conditions);
        assert_eq!(record["verdict"], "verified");
        let tests = record["tests"].as_u64().expect("a number");
        assert!((1..=4).contains(&tests), "{tests} tests for 4 traces");
    }
}

#[test]
fn a_seed_names_the_tests_and_changes_no_net() {
    let file = "corpus/maz/philosophers/program.maz";
    let with = |seed: &str| mazurka(&["unfold", file, "--seed", seed, "--format", "json"]).json();
    let (one, again, other) = (with("1"), with("1"), with("2"));
    assert_eq!(one["steps"], again["steps"]);
    assert_eq!(one["events"], other["events"]);
    assert_eq!(one["deadlocks"], 5);
    assert_eq!(other["deadlocks"], 5);
}

/// A net of more than 65 536 steps has parts. With a limit of executions it is built in one piece.
#[test]
fn workers_change_nothing_in_a_net_with_parts() {
    for (name, set) in [("fib", "N=5"), ("philosophers", "N=5")] {
        let file = format!("corpus/maz/{name}/program.maz");
        let with = |flags: &[&str]| {
            let all = [&["unfold", &file, "--set", set, "--format", "json"], flags].concat();
            let mut record = mazurka(&all).json();
            record["seconds"].take();
            record["options"]["jobs"].take();
            record
        };
        let [one, two, three] = ["1", "2", "3"].map(|jobs| with(&["--jobs", jobs]));
        assert_eq!(one, two, "{name}");
        assert_eq!(one, three, "{name}");
        let whole = with(&["--max-executions", "1000000"]);
        assert_ne!(one["steps"], whole["steps"], "{name} has no parts");
        let same = [
            "events",
            "conditions",
            "deadlocks",
            "failures",
            "verdict",
            "witnesses",
        ];
        for field in same {
            assert!(!one[field].is_null(), "{field}");
            assert_eq!(one[field], whole[field], "{name}: {field}");
        }
    }
}

/// A limit of time ends all workers, and the verdict names it.
#[test]
fn a_limit_of_time_ends_the_workers_of_a_net() {
    let file = "corpus/maz/philosophers/program.maz";
    let flags = [
        "--set",
        "N=8",
        "--time-limit",
        "2",
        "--jobs",
        "2",
        "--format",
        "json",
    ];
    let record = mazurka(&[&["unfold", file][..], &flags].concat()).json();
    assert_ne!(record["verdict"], "verified");
    assert_eq!(
        record["scope"]["bounds"][0]["bound"], "time-limit",
        "{record}"
    );
    assert!(record["events"].as_u64().expect("a number") > 1000);
}

#[test]
fn the_findings_decide_the_exit_code() {
    let deadlock = mazurka(&["unfold", "examples/philosophers.maz", "--set", "N=2"]);
    assert_eq!(deadlock.code, 1, "{deadlock:?}");
    assert!(
        deadlock.out.contains("replay with: mazurka run"),
        "{deadlock:?}"
    );
    let failure = with_input(
        &["unfold", "-"],
        "var x: int = 0 process { x := 1 } process { assert x == 0 }",
    );
    assert_eq!(failure.code, 1, "{failure:?}");
    let fine = with_input(
        &["unfold", "-"],
        "var x: int = 0 process { x := 1 } process { x := 2 }",
    );
    assert_eq!(fine.code, 0, "{fine:?}");
    let unsure = "var x: int = 0 ensures x < 9 process { x := 1 } process { x := 2 }";
    let unsure = with_input(&["unfold", "-"], unsure);
    assert_eq!(unsure.code, 2, "{unsure:?}");
    assert!(unsure.out.contains("`mazurka check`"), "{unsure:?}");
    let cut = mazurka(&[
        "unfold",
        "examples/philosophers.maz",
        "--set",
        "N=5",
        "--max-executions",
        "1",
        "-q",
    ]);
    assert!([1, 2].contains(&cut.code), "{cut:?}");
    let unknown = mazurka(&["unfold", "examples/counter.maz", "--net", "butterfly"]);
    assert_eq!(unknown.code, 3, "{unknown:?}");
}

#[test]
fn pictures_have_a_box_for_each_event_and_a_circle_for_each_condition() {
    let file = "corpus/maz/readers/program.maz";
    for (net, events, conditions) in [("replicated", 10, 34), ("contextual", 5, 10)] {
        let dot = mazurka(&["unfold", file, "--net", net, "--format", "dot"]).out;
        assert_eq!(dot.matches("shape=box").count(), events);
        assert_eq!(dot.matches("shape=circle").count(), conditions);
        let svg = mazurka(&["unfold", file, "--net", net, "--format", "svg"]).out;
        assert_eq!(svg.matches("<circle").count(), conditions);
        assert_eq!(svg.matches("<rect").count(), events + 1);
        // Read arcs have no arrow, and there are none with place replication.
        let reads = if net == "contextual" { 4 } else { 0 };
        assert_eq!(dot.matches("dir=none").count(), reads);
    }
    let large = mazurka(&[
        "unfold",
        "corpus/maz/fib/program.maz",
        "--set",
        "N=4",
        "--format",
        "dot",
    ]);
    assert_eq!(large.code, 3);
    assert!(large.err.contains("at most"), "{large:?}");
}

#[test]
fn a_state_that_can_be_reached_is_shown_with_its_run() {
    let counter = "corpus/maz/counter-access/program.maz";
    let yes = mazurka(&["reach", counter, "--property", "x == 1"]);
    assert_eq!(yes.code, 1, "{yes:?}");
    assert!(yes.first_line().starts_with("reachable: x == 1"), "{yes:?}");
    assert!(yes.out.contains("repeat with: mazurka run"), "{yes:?}");
    let no = mazurka(&[
        "reach",
        counter,
        "--property",
        "x > 100",
        "--format",
        "json",
    ]);
    assert_eq!(no.code, 0, "{no:?}");
    assert_eq!(no.json()["answer"], "unreachable");
    assert!(no.json()["run"].is_null());
}

#[test]
fn two_philosophers_cannot_eat_at_once_with_two_forks() {
    let file = "corpus/maz/philosophers/program.maz";
    let both = mazurka(&["reach", file, "--property", "at(0, 13) && at(1, 13)"]);
    assert_eq!(both.code, 0, "{both:?}");
    let one = mazurka(&["reach", file, "--property", "at(0, 13) && at(1, 12)"]);
    assert_eq!(one.code, 0, "{one:?}");
    let alone = mazurka(&["reach", file, "--property", "at(0, 13) && at(1, 11)"]);
    assert_eq!(alone.code, 1, "{alone:?}");
}

#[test]
fn a_bad_property_is_refused() {
    let file = "corpus/maz/philosophers/program.maz";
    let point = mazurka(&["reach", file, "--property", "at(0)"]);
    assert_eq!(point.code, 3, "{point:?}");
    assert!(point.err.contains("at(0.1, 12)"), "{point:?}");
    for (place, why) in [
        ("at(99, 99)", "there is no process 99"),
        ("!at(99, 99)", "there is no process 99"),
        ("at(0.0, 13)", "process 0 spawns none"),
        ("at(0, 99)", "its steps begin in lines "),
    ] {
        let nowhere = mazurka(&["reach", file, "--property", place]);
        assert_eq!(
            (nowhere.code, nowhere.out.as_str()),
            (3, ""),
            "{place}: {nowhere:?}"
        );
        assert!(nowhere.err.contains(why), "{place}: {nowhere:?}");
    }
    let name = mazurka(&["reach", file, "--property", "forks == 3"]);
    assert_eq!(name.code, 3, "{name:?}");
    assert!(name.err.contains("forks"), "{name:?}");
}

/// The solver and the search agree, on both nets and on all values that small programs can reach.
#[test]
fn the_solver_agrees_with_the_search() {
    let programs: [(&str, &[&str], &[&str]); 4] = [
        (
            "fib",
            &["--set", "N=2"],
            &[
                "i == 5 && j == 3",
                "i >= 13",
                "i + j == 9",
                "i < j && at(0, 8)",
            ],
        ),
        (
            "counter-access",
            &[],
            &[
                "x == 1 && at(0, 9)",
                "x == 2",
                "x > 2",
                "!at(0, 9) && x == 0",
            ],
        ),
        (
            "philosophers",
            &[],
            &["at(0, 13) && at(1, 13)", "at(0, 12) && at(1, 12)"],
        ),
        (
            "readers",
            &["--set", "N=3"],
            &["x == 5 && at(1, 8)", "x == 4"],
        ),
    ];
    let (mut yes, mut no) = (0, 0);
    for (name, set, properties) in programs {
        let file = format!("corpus/maz/{name}/program.maz");
        for property in properties {
            for net in ["replicated", "contextual"] {
                let ask = |method: &str| {
                    let flags = ["reach", &file, "--property", property, "--net", net];
                    let more = ["--method", method, "--format", "json"];
                    mazurka(&[&flags[..], &more, set].concat())
                };
                let (searched, solved) = (ask("search"), ask("smt"));
                assert_eq!(
                    searched.code, solved.code,
                    "{name} {property} {net}: {solved:?}"
                );
                match searched.code {
                    0 => no += 1,
                    1 => yes += 1,
                    _ => panic!("{searched:?}"),
                }
            }
        }
    }
    assert!(yes >= 8 && no >= 6, "{yes} reachable, {no} not");
}

/// Both sides of a condition over an input are events, and every finding has inputs that lead to
/// it.
#[test]
fn inputs_are_solved_for() {
    let pairs = ["unfold", "corpus/maz/thesis-pairs/program.maz", "--format"];
    let record = mazurka(&[&pairs[..], &["json"]].concat()).json();
    // A pair has eight branch events, and a test covers two of them.
    assert_eq!(
        (&record["tests"], &record["events"]),
        (&4.into(), &56.into())
    );
    let failing = "var x: i32 = 0 process { x := input() } process { assert x * x != 49 }";
    for net in ["replicated", "contextual", "stateful"] {
        let found = with_input(&["unfold", "-", "--net", net, "--format", "json"], failing);
        assert_eq!(found.code, 1, "{found:?}");
        let run = &found.json()["witnesses"][0]["runs"][0];
        let input = run["inputs"][0]["value"].as_str().expect("a value");
        let input: i32 = input.parse().expect("a number");
        assert_eq!(input.wrapping_mul(input), 49);
    }
    // Each process alone can take its side, but no input lets both do so.
    let no = "lock a, b var x: i32 = 0 \
              process { x := input(); lock(a); if x > 5 { lock(b); unlock(b) }; unlock(a) } \
              process { lock(b); if x < 3 && x != 0 { lock(a); unlock(a) }; unlock(b) }";
    let none = with_input(&["unfold", "-", "--format", "json"], no);
    assert_eq!((none.code, &none.json()["deadlocks"]), (0, &0.into()));
    let yes = with_input(&["unfold", "-"], &no.replace("x < 3", "x < 9"));
    assert_eq!(yes.code, 1, "{yes:?}");
    assert!(yes.out.contains("--inputs"), "{yes:?}");
}

#[test]
fn a_state_is_reached_with_inputs() {
    let program = "var x: i32 = 0 var y: i32 = 0 \
                   process { let a = input(); if a > 10 { x := a } } \
                   process { y := x + 1 }";
    let ask = |property: &str, net: &str, method: &str| {
        let flags = ["reach", "-", "--property", property, "--net", net];
        let more = ["--method", method, "--format", "json"];
        with_input(&[&flags[..], &more].concat(), program)
    };
    for net in ["replicated", "contextual", "stateful"] {
        for method in ["search", "smt"] {
            let yes = ask("y == 43", net, method);
            assert_eq!(yes.code, 1, "{yes:?}");
            let run = &yes.json()["run"];
            assert_eq!(run["inputs"][0]["value"], "42");
            let no = ask("y > 1 && y < 12", net, method);
            assert_eq!(no.code, 0, "{no:?}");
            let first = ask("!at(0, 1) && y == 0", net, method);
            assert_eq!(first.code, 1, "{first:?}");
        }
    }
    let shown = with_input(&["reach", "-", "--property", "y == 43"], program);
    assert!(shown.out.contains("0#0=42"), "{shown:?}");
}

#[test]
fn the_naive_search_visits_the_states_of_the_model() {
    let file = "corpus/maz/philosophers/program.maz";
    let stateful = ["unfold", file, "--net", "stateful", "--format", "json"];
    let net = mazurka(&stateful).json();
    let naive = mazurka(&[&stateful[..], &["--naive"]].concat());
    assert_eq!(naive.code, 1, "{naive:?}");
    let naive = naive.json();
    assert_eq!(naive["deadlocks"], net["deadlocks"]);
    assert!(naive["states"].as_u64() > Some(1));
    assert!(net["states"].is_null());
    let text = mazurka(&["unfold", file, "--net", "stateful", "--naive"]);
    assert!(text.out.contains("of the model"), "{text:?}");
    for more in [
        &["--net", "contextual"][..],
        &["--net", "stateful", "--format", "svg"],
    ] {
        let refused = mazurka(&[&["unfold", file, "--naive"][..], more].concat());
        assert_eq!(refused.code, 3, "{refused:?}");
        assert!(refused.err.contains("--net stateful"), "{refused:?}");
    }
}

#[test]
fn every_test_can_be_run_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let cases = folder.path().join("cases");
    let cases = cases.to_str().expect("a name");
    for (file, net) in [
        ("corpus/maz/thesis-pairs/program.maz", "contextual"),
        ("corpus/maz/philosophers/program.maz", "replicated"),
        ("corpus/maz/thesis-fib/program.maz", "stateful"),
    ] {
        let flags = ["unfold", file, "--net", net, "--format", "json"];
        let record = mazurka(&[&flags[..], &["--tests", cases]].concat()).json();
        let tests = record["tests"].as_u64().expect("a number");
        for number in 1..=tests {
            let again = mazurka(&["replay", &format!("{cases}/{number}.json")]);
            assert!([0, 1].contains(&again.code), "{again:?}");
        }
    }
    let refused = mazurka(&[
        "unfold",
        "examples/counter.maz",
        "--tests",
        cases,
        "--format",
        "dot",
    ]);
    assert_eq!(refused.code, 3, "{refused:?}");
}

/// A net that starts from recorded tests is the same net, and needs no other tests if these are
/// complete.
#[test]
fn a_net_starts_from_recorded_tests() {
    let folder = tempfile::tempdir().expect("a folder");
    let cases = folder.path().join("cases");
    let cases = cases.to_str().expect("a name");
    let file = "corpus/maz/philosophers/program.maz";
    let unfold = ["unfold", file, "--format", "json"];
    let whole = mazurka(&[&unfold[..], &["--tests", cases]].concat()).json();
    let tests = whole["tests"].as_u64().expect("a number");
    let names: Vec<String> = (1..=tests).map(|at| format!("{cases}/{at}.json")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let from = |flags: &[&str], names: &[&str]| {
        mazurka(&[&unfold[..], flags, &["--from"], names].concat())
    };
    let again = from(&["--seed", "7"], &names).json();
    for count in ["events", "conditions", "deadlocks", "tests"] {
        assert_eq!(again[count], whole[count], "{count}");
    }
    // A net can also start from a single recorded test.
    let again = from(&["--seed", "7"], &names[..1]).json();
    assert_eq!(again["events"], whole["events"]);

    let refused = from(&["--net", "stateful"], &names[..1]);
    assert_eq!(refused.code, 3, "{refused:?}");
    assert!(refused.err.contains("--net replicated"), "{refused:?}");
    let refused = from(&["--set", "N=4"], &names[..1]);
    assert!(refused.err.contains("another program"), "{refused:?}");
    let refused = mazurka(&["unfold", file, "--format", "svg", "--from", names[0]]);
    assert!(refused.err.contains("--format text"), "{refused:?}");
    let inputs = "corpus/maz/thesis-branches/program.maz";
    let refused = mazurka(&["unfold", inputs, "--from", names[0]]);
    assert!(refused.err.contains("values for inputs"), "{refused:?}");
}

/// Flags for future work of the thesis are refused with the reason and a reference.
#[test]
fn unsupported_features_are_refused_with_the_reason() {
    let file = "corpus/maz/readers/program.maz";
    let cases: [(&[&str], &str); 3] = [
        (&["--cut-offs"], "contextual nets have none"),
        (
            &["--cut-offs", "--net", "replicated"],
            "replicated nets have none",
        ),
        (&["--keep-values"], "places have no values"),
    ];
    for (flags, why) in cases {
        let result = mazurka(&[&["unfold", file], flags].concat());
        assert_eq!(result.code, 3, "{result:?}");
        assert!(result.err.contains(why), "{result:?}");
        assert!(
            result.err.contains("docs/papers/unfolding.md"),
            "{result:?}"
        );
    }
    for flags in [&["--jobs", "2"][..], &["--cut-offs", "--net", "stateful"]] {
        let result = mazurka(&[&["unfold", file], flags].concat());
        assert_eq!(result.code, 0, "{result:?}");
    }
}

/// A process without steps ends with the event that starts it. The stateful net once confused its
/// parent with the process that has ended.
#[test]
fn a_process_without_steps_can_be_waited_for() {
    let programs = [
        ("process { let h = spawn { skip }; join h }", 0),
        (
            "process { let h = spawn { let l: int = 3 }; join h } process { y := 1 }",
            0,
        ),
        (
            "process { let h = spawn { skip }; join h; y := 1 } process { await y == 2 }",
            1,
        ),
        (
            "process { let h = spawn { let l = 1 / 0 }; join h; y := 1 }",
            1,
        ),
    ];
    for (program, code) in programs {
        let program = format!("var y: int = 0 {program}");
        for net in ["contextual", "replicated", "stateful"] {
            let result = with_input(&["unfold", "-", "--net", net], &program);
            assert_eq!(result.code, code, "{net}: {program} {result:?}");
        }
    }
}
