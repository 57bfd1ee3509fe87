//! Tests the commands under weak memory models (`--memory`).

use crate::support::{mazurka, with_input};

const SB: &str = "atomicity access
var x, y: atomic int = 0
var a, b: int = 0
ensures a == 1 || b == 1
process left { x.store(1, ORDER); let r = y.load(ORDER); a := r }
process right { y.store(1, ORDER); let r = x.load(ORDER); b := r }
";

fn sb(order: &str) -> String {
    SB.replace("ORDER", order)
}

#[test]
fn a_weak_execution_is_shown_and_replays() {
    let result = with_input(&["check", "-", "--memory", "rc11"], &sb("relaxed"));
    assert_eq!(result.code, 1, "{result:?}");
    let first = result.first_line();
    assert!(
        first.contains("rc11: C++20's orderings without load buffering"),
        "{first}"
    );
    assert!(result.out.contains("x.load(relaxed)"), "{}", result.out);
    assert!(result.out.contains("reads the initial `"), "{}", result.out);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("sb.maz");
    std::fs::write(&file, sb("relaxed")).expect("a file");
    let (file, saved) = (file.to_str().expect("a path"), folder.path().join("w.json"));
    let saved = saved.to_str().expect("a path");
    let check = mazurka(&["check", file, "--memory", "tso", "--witness", saved]);
    assert_eq!(check.code, 1);
    let again = mazurka(&["replay", saved]);
    assert_eq!(again.code, 1, "{again:?}");
    assert!(again.first_line().contains("all as recorded"), "{again:?}");
    let record: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(saved).expect("a record")).expect("json");
    assert_eq!(record["memory_model"], "tso");
    let schedule = record["witnesses"][0]["runs"][0]["schedule"]
        .as_str()
        .expect("a schedule");
    let run = mazurka(&["run", file, "--memory", "tso", "--schedule", schedule]);
    assert_eq!(run.code, 1, "{run:?}");
    // The schedule is not valid in a stronger model.
    std::fs::write(file, sb("seq_cst")).expect("a file");
    let run = mazurka(&["run", file, "--memory", "rc11", "--schedule", schedule]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(
        run.err.contains("right has no outcome 1 here under rc11"),
        "{run:?}"
    );
}

#[test]
fn a_changed_record_does_not_replay() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, saved) = (folder.path().join("sb.maz"), folder.path().join("w.json"));
    std::fs::write(&file, sb("relaxed")).expect("a file");
    let (file, saved) = (
        file.to_str().expect("a path"),
        saved.to_str().expect("a path"),
    );
    mazurka(&["check", file, "--memory", "rc11", "--witness", saved]);
    let text = std::fs::read_to_string(saved).expect("a record");
    for (from, to) in [
        ("\"rc11\"", "\"sc\""),
        ("\"rc11\"", "\"arm\""),
        ("x.load(relaxed)", "x.load(acquire)"),
    ] {
        assert!(text.contains(from), "{from}");
        std::fs::write(saved, text.replace(from, to)).expect("a record");
        let again = mazurka(&["replay", saved]);
        assert_eq!(again.code, 3, "{from}: {again:?}");
        assert!(!again.err.contains("panicked"), "{again:?}");
    }
}

#[test]
fn a_data_race_marks_both_accesses() {
    let program = "atomicity access
var data: int = 0
var flag: atomic bool = false
process sender { data := 42; flag.store(true, release) }
process receiver { await flag.load(relaxed); assert data == 42 }
";
    let result = with_input(&["check", "-", "--memory", "rc11"], program);
    assert_eq!(result.code, 1);
    assert!(
        result.first_line().contains("data race on `data`"),
        "{result:?}"
    );
    assert!(result.out.contains("races with step 1"), "{}", result.out);
    assert!(result.out.contains("races with step 4"), "{}", result.out);
    let ordered = program.replace("load(relaxed)", "load(acquire)");
    assert_eq!(
        with_input(&["check", "-", "--memory", "rc11"], &ordered).code,
        0
    );
    assert_eq!(
        with_input(&["check", "-", "--memory", "tso"], program).code,
        0
    );
}

#[test]
fn programs_without_weak_executions_are_refused() {
    let statements = "var x: int = 0 process { x := 1 }";
    let invariant = "atomicity access var x: int = 0 invariant x < 2 process { x := 1 }";
    let guard = "atomicity access var x, y: int = 0 process { await x == 0 && y == 0 }";
    for (program, why) in [
        (statements, "atomicity access"),
        (invariant, "about states"),
        (guard, "several accesses"),
    ] {
        for command in ["check", "explore", "run"] {
            let result = with_input(&[command, "-", "--memory", "rc11"], program);
            assert_eq!(result.code, 3, "{command} {program}: {result:?}");
            assert!(result.err.contains(why), "{command} {program}: {result:?}");
        }
    }
    // Determinism needs all values.
    let unknown = "atomicity access var x: int process { x := 1 }";
    let result = with_input(&["check", "-", "--memory", "rc11"], unknown);
    assert_eq!(result.code, 3, "{result:?}");
    assert!(
        result.err.contains("determinism need all values"),
        "{result:?}"
    );
    let access = sb("relaxed");
    for more in [
        ["--algorithm", "stateful"],
        ["--tests", "folder"],
        ["--format", "svg"],
    ] {
        let result = with_input(
            &["explore", "-", "--memory", "ra", more[0], more[1]],
            &access,
        );
        assert_eq!(result.code, 3, "{more:?}: {result:?}");
    }
    let result = with_input(&["run", "-", "--memory", "rc11", "--path"], &access);
    assert_eq!(result.code, 3, "{result:?}");
    assert!(result.err.contains("leave out --memory"), "{result:?}");
}

#[test]
fn limits_hold_under_a_weak_model() {
    let program = "atomicity access
var x: atomic int = 0
process (i in 0..9) { x.fetch_add(1, relaxed); x.fetch_add(1, relaxed) }
";
    let arguments = ["explore", "-", "--memory", "rc11", "--format", "json"];
    for limit in [
        "--max-steps=1000",
        "--max-executions=50",
        "--time-limit=0.2",
    ] {
        let result = with_input(&[&arguments[..], &[limit]].concat(), program);
        assert_eq!(result.code, 2, "{limit}: {result:?}");
        // There are no checkpoints for execution graphs.
        assert!(!result.err.contains("--checkpoint"), "{limit}: {result:?}");
        assert_eq!(result.json()["scope"]["exhaustive"], false);
    }
}

#[test]
fn children_choices_and_joins() {
    let program = "atomicity access
var x: atomic int = 0
process main {
  let h = spawn { x.fetch_add(1, relaxed) };
  spawn { let c = choose(3..6); x.fetch_add(c, relaxed) };
  x.store(7, relaxed);
  join;
  let r = x.load(relaxed);
  assert r != 10
}
";
    let result = with_input(
        &["explore", "-", "--memory", "rc11", "--format", "json"],
        program,
    );
    assert_eq!(result.code, 1, "{result:?}");
    // There are three writes in any order, and three values to choose from.
    assert_eq!(result.json()["executions"], 18);
    let sc = with_input(&["explore", "-", "--format", "json"], program);
    assert_eq!(sc.json()["executions"], 18);
}

#[test]
fn orders_of_swallowed_accesses_are_those_of_the_source() {
    let program = "atomicity access
var x, y: atomic int = 0
var a, b: int = 0
ensures a == 1 || b == 1
process { let r = 0; x.store(1, seq_cst); READ(y); a := r }
process { let r = 0; y.store(1, seq_cst); READ(x); b := r }
";
    let read = |how: &str, order: &str| {
        let read = |place| how.replace("PLACE", place).replace("ORDER", order);
        let program = program.replace("READ(x)", &read("x"));
        let program = program.replace("READ(y)", &read("y"));
        with_input(&["check", "-", "--memory", "rc11", "-q"], &program).code
    };
    for how in [
        "r := PLACE.load(ORDER)",
        "r := 0 <| PLACE.load(ORDER) == 0 |> r := 1",
        "atomic { r := PLACE.load(ORDER) }",
        "PLACE.load(ORDER) == 1 && r == 0 |>* r := 1",
        "if PLACE.load(ORDER) == 1 { r := 1 }",
    ] {
        assert_eq!(read(how, "seq_cst"), 0, "{how}");
        assert_eq!(read(how, "acquire"), 1, "{how}");
    }
}

#[test]
fn failures_that_do_not_count_do_not_violate() {
    let program = "atomicity access
var x: atomic int = 0
ensures fine: x >= 0
process { x.store(1, relaxed); assert x == 2 }
";
    let result = with_input(
        &["check", "-", "--memory", "rc11", "--property", "fine"],
        program,
    );
    assert_eq!(result.code, 0, "{result:?}");
    assert!(
        result.out.contains("1 failure that does not count"),
        "{result:?}"
    );
    assert!(result.out.contains("not explored"), "{result:?}");
}

#[test]
fn the_number_of_workers_changes_nothing() {
    let program = "atomicity access
var x, y: atomic int = 0
process (i in 0..4) { let r = x.fetch_add(1, relaxed); y.store(r, relaxed) }
process { let r = y.load(relaxed); assert r != 2 }
";
    for command in [&["explore"][..], &["check"], &["check", "--keep-going"]] {
        let run = |jobs: &str| {
            let more = ["-", "--memory", "rc11", "--format", "json", "--jobs", jobs];
            let mut json = with_input(&[command, &more[..]].concat(), program).json();
            json["seconds"] = 0.into();
            json["options"]["jobs"] = 0.into();
            json
        };
        let one = run("1");
        assert_eq!(one["verdict"], "violated");
        if command[0] == "explore" {
            // 4! orders of the updates, 4! orders of the stores, and 5 writes that the load may
            // read.
            assert_eq!(one["executions"], 24 * 24 * 5);
        }
        for jobs in ["2", "3"] {
            assert_eq!(one, run(jobs), "{command:?}");
        }
    }
}

#[test]
fn unreachable_code_under_a_weak_model_is_a_warning() {
    let program = "atomicity access
var x, y: atomic int = 0
process { x.store(1, ORDER); y.store(1, ORDER) }
process { if y.load(ORDER) == 1 { if x.load(ORDER) == 0 { assert y == 1 } } }
";
    let run = |order: &str, memory: &str| {
        let program = program.replace("ORDER", order);
        with_input(
            &["check", "-", "--memory", memory, "--format", "json"],
            &program,
        )
        .json()
    };
    let codes = |json: &serde_json::Value| -> Vec<String> {
        let all = json["warnings"].as_array().cloned().unwrap_or_default();
        let code = |one: &serde_json::Value| one["code"].as_str().unwrap_or_default().to_owned();
        all.iter()
            .map(code)
            .filter(|code| code.starts_with("W02"))
            .collect()
    };
    let (relaxed, ordered) = (run("relaxed", "rc11"), run("seq_cst", "rc11"));
    assert!(codes(&relaxed).is_empty(), "{relaxed}");
    assert!(!codes(&ordered).is_empty(), "{ordered}");
    let sc = run("seq_cst", "sc");
    assert_eq!(codes(&sc), codes(&ordered));
    assert_eq!(sc["coverage"], ordered["coverage"]);
}

#[test]
fn orders_are_shown_as_text_and_json() {
    let program = sb("relaxed");
    let result = with_input(&["orders", "-", "--memory", "rc11"], &program);
    assert_eq!(result.code, 1, "{result:?}");
    assert!(
        result.out.contains("these orders are too weak"),
        "{}",
        result.out
    );
    assert_eq!(result.out.matches("relaxed -> seq_cst").count(), 4);
    let arguments = ["orders", "-", "--memory", "rc11", "--format", "json"];
    let json = with_input(&arguments, &program).json();
    assert_eq!(json["orders"]["advice"], "strengthen");
    assert_eq!(json["orders"]["accesses"][3]["advised"], "seq_cst");
    let result = with_input(&["orders", "-", "--memory", "rc11"], &sb("seq_cst"));
    assert_eq!(result.code, 0, "{result:?}");
    assert!(
        result.out.contains("no order can be weaker"),
        "{}",
        result.out
    );
    for arguments in [&["orders", "-"][..], &["orders", "-", "--memory", "sc"]] {
        let result = with_input(arguments, &program);
        assert_eq!(result.code, 3, "{result:?}");
        assert!(result.err.contains("--memory rc11"), "{result:?}");
    }
    let check = with_input(&["check", "-", "--memory", "rc11"], &program);
    assert!(check.out.contains("would forbid it"), "{}", check.out);
}

#[test]
fn executions_are_drawn_under_a_weak_model() {
    let program = "atomicity access
var x, y: atomic int = 0
var a, b: int = 0
ensures a == 1 || b == 1
process left (i in 0..6) { x.fetch_add(1, relaxed) }
process { x.store(9, release); let r = y.load(acquire); a := r }
process { y.store(1, release); let r = x.load(acquire); b := if r > 0 then 1 else 0 }
";
    let draw = |seed: &str| {
        let arguments = ["explore", "-", "--memory", "rc11", "--algorithm", "random"];
        let more = [
            "--max-executions",
            "300",
            "--format",
            "json",
            "--seed",
            seed,
        ];
        let result = with_input(&[&arguments[..], &more].concat(), program);
        let mut json = result.json();
        json["seconds"] = 0.into();
        (result.code, json)
    };
    let (code, found) = draw("1");
    assert_eq!(code, 1, "{found}");
    assert_eq!(found["algorithm"], "random --seed 1");
    assert_eq!(found["executions"], 300);
    assert!(found["traces"].as_u64() <= Some(300) && found["traces"].as_u64() > Some(100));
    assert_eq!(found["scope"]["exhaustive"], false);
    assert_eq!(found, draw("1").1);
    assert_ne!(found["witnesses"], draw("2").1["witnesses"]);
    let schedule = found["witnesses"][0]["runs"][0]["schedule"].as_str();
    let schedule = schedule.expect("a schedule");
    let run = with_input(
        &["run", "-", "--memory", "rc11", "--schedule", schedule],
        program,
    );
    assert_eq!(run.code, 1, "{run:?}");
    // A sample without a violation is inconclusive.
    let fine = program
        .replace("release", "seq_cst")
        .replace("acquire", "seq_cst");
    let result = with_input(
        &["explore", "-", "--memory", "rc11", "--algorithm", "random"],
        &fine,
    );
    assert_eq!(result.code, 2, "{result:?}");
    assert!(result.out.contains("1000 executions"), "{result:?}");
    let pct = [
        "explore",
        "-",
        "--memory",
        "rc11",
        "--algorithm",
        "pct",
        "--depth",
        "2",
        "--format",
        "json",
    ];
    let result = with_input(&pct, program);
    let found = result.json();
    assert_eq!((result.code, &found["executions"]), (1, &1000.into()));
    assert_eq!(found["algorithm"], "pct --depth 2");
    let schedule = found["witnesses"][0]["runs"][0]["schedule"].as_str();
    let schedule = schedule.expect("a schedule");
    let run = with_input(
        &["run", "-", "--memory", "rc11", "--schedule", schedule],
        program,
    );
    assert_eq!(run.code, 1, "{run:?}");
    assert_eq!(with_input(&pct, &fine).code, 2);
}

#[test]
fn execution_graphs_are_drawn() {
    let program = "atomicity access
var m: int = 0
var f, x: atomic int = 0
process sender { m := 42; f.store(1, release) }
process relay { f.fetch_add(1, relaxed) }
process receiver { await f.load(acquire) == 2; x.store(1, relaxed); assert m == 41 }
process { x.store(2, relaxed) }
";
    let result = with_input(
        &["check", "-", "--memory", "rc11", "--format", "svg"],
        program,
    );
    assert_eq!(result.code, 1, "{result:?}");
    // A release sequence: the update continues the sequence that the store begins.
    for words in [
        ">sw<",
        "rf mo<",
        "sw: synchronises with",
        "rf: the write that is read",
        "mo: the next write of the place",
        "✗ failure: assertion failed",
    ] {
        assert!(result.out.contains(words), "{words}: {}", result.out);
    }
    let dot = with_input(
        &["check", "-", "--memory", "rc11", "--format", "dot"],
        program,
    );
    assert!(dot.out.contains("label=\"sw\""), "{}", dot.out);
    let weak = with_input(
        &["check", "-", "--memory", "tso", "--format", "svg"],
        &sb("relaxed"),
    );
    assert!(
        weak.out.contains("fr: the write that overwrites"),
        "{}",
        weak.out
    );
    // Interleavings do not have these relations.
    let sc = with_input(&["check", "-", "--format", "svg"], program);
    assert!(!sc.out.contains("rf:"), "{}", sc.out);
    let run = with_input(&["run", "-", "--memory", "ra", "--format", "svg"], program);
    assert!(run.out.contains("<svg"), "{run:?}");
    let explored = with_input(
        &["explore", "-", "--memory", "rc11", "--format", "svg"],
        program,
    );
    assert_eq!(explored.code, 3, "{explored:?}");
    assert!(explored.err.contains("without pictures"), "{explored:?}");
}

/// A variable that is not accessed keeps its value.
#[test]
fn unaccessed_variables_keep_their_values() {
    for memory in ["rc11", "ra", "tso"] {
        for (expected, code) in [("x == 1", 0), ("x == 0", 1)] {
            let program = format!(
                "atomicity access var x: atomic int = 1 var y: atomic int = 0
                 ensures {expected} process {{ y.store(1, relaxed) }}"
            );
            let result = with_input(&["check", "-", "--memory", memory], &program);
            assert_eq!(result.code, code, "{memory} {expected}: {result:?}");
        }
        let program = "atomicity access var a: atomic int[3] = [5, 6, 7]
            process { let r = a[0].load(relaxed) }";
        let result = with_input(&["run", "-", "--memory", memory], program);
        assert!(result.out.contains("[5, 6, 7]"), "{result:?}");
    }
}

/// Processes are numbered in the order in which they are found, and a run that is cut at its
/// failure finds fewer.
#[test]
fn failures_of_processes_that_others_start() {
    let program = "atomicity access var x: atomic int = 0
        process { spawn { skip } }
        process { spawn { let r = x.load(relaxed); assert r == 1 } }";
    for memory in ["rc11", "ra", "tso"] {
        for command in ["check", "explore"] {
            let result = with_input(&[command, "-", "--memory", memory], program);
            assert_eq!(result.code, 1, "{command} {memory}: {result:?}");
            assert!(result.out.contains("r == 1"), "{result:?}");
        }
    }
}

#[test]
fn nothing_is_verified_after_an_uncounted_race() {
    let program = "atomicity access var p: int = 0 lock a, b
        process { p := 1; lock(a); lock(b); unlock(b); unlock(a) }
        process { p := 2; lock(b); lock(a); unlock(a); unlock(b) }";
    let check = ["check", "-", "--memory", "rc11", "--property", "deadlock"];
    let result = with_input(&check, program);
    assert_eq!(result.code, 2, "{result:?}");
    assert!(result.out.contains("follows a data race"), "{result:?}");
}

#[test]
fn only_the_named_property_counts() {
    let program = "atomicity access var x: atomic int = 0 ensures en: x == 0
        process { let r = x.load(); assert r == 1 }";
    let result = with_input(
        &["check", "-", "--memory", "rc11", "--property", "en"],
        program,
    );
    assert_eq!(result.code, 0, "{result:?}");
    assert!(result.out.contains("does not count"), "{result:?}");
}

#[test]
fn a_run_that_a_limit_cuts_is_shown_as_far_as_it_goes() {
    let program = "atomicity access var x: atomic int = 0
        process p { while true { x.store(1, relaxed) } }";
    let run = [
        "run",
        "-",
        "--memory",
        "tso",
        "--max-depth",
        "5",
        "--format",
    ];
    let result = with_input(&[&run[..], &["json"]].concat(), program);
    assert_eq!(result.code, 2, "{result:?}");
    let record = result.json();
    assert_eq!(record["run"]["steps"].as_array().map(Vec::len), Some(5));
    assert_eq!(record["verdict"], "inconclusive");
    let text = with_input(&[&run[..], &["text"]].concat(), program);
    assert!(text.out.contains("ready to go on: p"), "{text:?}");
}

/// An update is one step of `--max-depth`, and a run that has ended needs no further step.
#[test]
fn depth_is_in_steps() {
    let program = "atomicity access var x: atomic int = 0
        process { x.fetch_add(1, relaxed); x.fetch_add(1, relaxed); x.fetch_add(1, relaxed) }";
    for (depth, code) in [("3", 0), ("2", 2)] {
        let explore = ["explore", "-", "--memory", "rc11", "--max-depth", depth];
        let result = with_input(&explore, program);
        assert_eq!(result.code, code, "{depth}: {result:?}");
    }
}

/// An update of an element is one access, however the element is selected.
#[test]
fn elements_are_updated_in_one_step() {
    let program = "atomicity access var a: atomic int[2] = 0 ensures a[1] == 2
        process (p in 0..2) { let i = 1; a[i].fetch_add(1, relaxed) }";
    let result = with_input(&["explore", "-", "--memory", "rc11"], program);
    assert_eq!(result.code, 0, "{result:?}");
    let program = "atomicity access var a: atomic int[2] = 0
        process (p in 0..2) { let ok = a[p].compare_exchange(0, 1, relaxed, relaxed) }";
    let result = with_input(&["explore", "-", "--memory", "tso"], program);
    assert_eq!(result.code, 0, "{result:?}");
}

/// A relaxed update in the release sequence of a `seq_cst` store does not separate the store from a
/// `seq_cst` load that reads the update.
#[test]
fn release_sequences_of_seq_cst_stores() {
    let program = "atomicity access var x, y: atomic int = 0 var a, b, r, s: int = 0
        ensures !(a == 1 && b == 0 && r == 0 && s == 50)
        process { let t = x.load(seq_cst); let u = y.load(seq_cst); a := t; b := u }
        process { y.store(2, seq_cst); let t = x.swap(10, seq_cst); r := t }
        process { x.store(50, seq_cst); let t = x.swap(1, relaxed); s := t }";
    let check = ["check", "-", "--memory", "rc11", "--property", "failure"];
    let result = with_input(&check, program);
    assert_eq!(result.code, 0, "{result:?}");
}

/// A failure counts if a false `assume` does not happen before it. If failures do not count, the
/// text does not say that there are none.
#[test]
fn a_failure_beside_a_false_assumption() {
    let program = "atomicity access var x, y: atomic int = 0
        process { let r = x.load(relaxed); assume r == 1 }
        process { let r = y.load(relaxed); assert r == 1 }";
    let record = with_input(
        &["explore", "-", "--memory", "rc11", "--format", "json"],
        program,
    );
    assert_eq!(record.json()["failures"], 1);
    let check = ["check", "-", "--memory", "rc11", "--property", "livelock"];
    let result = with_input(&check, program);
    assert_eq!(result.code, 0, "{result:?}");
    assert!(!result.out.contains("nothing can go wrong"), "{result:?}");
}

/// A replay compares every step and the final state. A run without a violation can also be
/// replayed.
#[test]
fn a_replay_compares_everything() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("sb.maz");
    std::fs::write(&program, sb("relaxed")).expect("a program");
    let program = program.to_str().expect("a name");
    let record = folder.path().join("record.json");
    let replay = |record_of: serde_json::Value| {
        std::fs::write(&record, record_of.to_string()).expect("a record");
        let name = record.to_str().expect("a name");
        mazurka(&["replay", name])
    };
    let run = mazurka(&["run", program, "--memory", "rc11", "--format", "json"]).json();
    let again = replay(run.clone());
    assert_eq!(again.code, 0, "{again:?}");
    let mut changed = run.clone();
    changed["run"]["schedule"] = "xxxx".into();
    assert_eq!(replay(changed).code, 3);
    for field in ["process", "changes", "label"] {
        let mut changed = run.clone();
        changed["run"]["steps"][0][field] = match field {
            "changes" => serde_json::json!([]),
            _ => "nonsense".into(),
        };
        let result = replay(changed);
        assert_eq!(result.code, 3, "{field}: {result:?}");
    }
    let mut changed = run;
    changed["run"]["state"][0]["value"] = "77".into();
    assert_eq!(replay(changed).code, 3);
}

/// A failing event counts once for each set of events that happen before it, whatever other
/// processes do. In interleavings this set includes the writes that it overwrites.
#[test]
fn failing_events_are_counted_once() {
    for (processes, interleaved, weak) in [
        (
            "process { x := 1; error } process { y := 1 } process { y := 2 }",
            1,
            1,
        ),
        ("process { x := 1; error } process { y := 1; error }", 2, 2),
        ("process { x := 1; error } process { x := 2; error }", 4, 2),
        (
            "process { error } process { error } process { y := 1 } process { y := 2 }",
            2,
            2,
        ),
        (
            "process (i in 0..3) { x := i } process { let r = x; assert r == 0 } process { y := 1 }",
            10,
            2,
        ),
        (
            "process { spawn { y := 1; error }; z := 1 } process { z := 2 } process { z := 3 }",
            1,
            1,
        ),
    ] {
        let program =
            format!("atomicity access\nvar x, y, z: atomic int = 0\nensures true\n{processes}\n");
        for (how, failures) in [
            (&[][..], interleaved),
            (&["--memory", "tso"], weak),
            (&["--memory", "rc11", "--jobs", "2"], weak),
        ] {
            let explore = [&["explore", "-", "--format", "json"], how].concat();
            let record = with_input(&explore, &program).json();
            assert_eq!(record["failures"], failures, "{how:?} {processes}");
        }
    }
    // There are two ways to the racing read, and two orders of the steps of other processes.
    let races = "atomicity access
var d: int = 0
var x, y: atomic int = 0
ensures true
process { d := 1 }
process { let r = x; d := r }
process { x := 1 }
process { y := 1 }
process { y := 2 }
";
    let record = with_input(
        &["explore", "-", "--memory", "rc11", "--format", "json"],
        races,
    );
    assert_eq!(record.json()["failures"], 2);
}

/// The message about a schedule that does not fit uses the names and numbers of the source.
#[test]
fn schedules_that_do_not_fit_are_reported_with_the_programs_names() {
    let program = "atomicity access
var x: atomic int = 0
lock m
process left { lock(m); x := 1; unlock(m) }
process right { lock(m); let r = x; unlock(m); await r == 5 }
";
    for (schedule, result) in [
        (
            "0 1",
            "step 2 of the schedule: process right has to wait here; these can make a step: left",
        ),
        (
            "0 0 0 0",
            "step 4 of the schedule: process left has already ended; these can make a step: right",
        ),
        (
            "0 7",
            "step 2 of the schedule: there is no process 7 at this point",
        ),
        (
            "0 0=1",
            "step 2 of the schedule: left has no outcome 1 here under rc11",
        ),
        (
            "0 0=1,2",
            "step 2 of the schedule: left has no outcome 1,2 here under rc11",
        ),
        (
            "0 0=-1",
            "step 2 of the schedule: left has no outcome -1 here under rc11",
        ),
    ] {
        let run = ["run", "-", "--memory", "rc11", "--schedule", schedule];
        let said_so = with_input(&run, program);
        assert_eq!(said_so.code, 3, "{said_so:?}");
        assert!(said_so.err.contains(result), "{said_so:?}");
    }
}
