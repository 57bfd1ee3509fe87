//! Weak memory models: `--memory`.

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
    let said = with_input(&["check", "-", "--memory", "rc11"], &sb("relaxed"));
    assert_eq!(said.code, 1, "{said:?}");
    let first = said.first_line();
    assert!(
        first.contains("rc11: C++20's orderings without load buffering"),
        "{first}"
    );
    assert!(said.out.contains("x.load(relaxed)"), "{}", said.out);
    assert!(said.out.contains("reads the initial `"), "{}", said.out);
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
    // The schedule is none of a stronger model.
    std::fs::write(file, sb("seq_cst")).expect("a file");
    let run = mazurka(&["run", file, "--memory", "rc11", "--schedule", schedule]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(
        run.err.contains("the memory model has no outcome"),
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
    let said = with_input(&["check", "-", "--memory", "rc11"], program);
    assert_eq!(said.code, 1);
    assert!(
        said.first_line().contains("data race on `data`"),
        "{said:?}"
    );
    assert!(said.out.contains("races with step 1"), "{}", said.out);
    assert!(said.out.contains("races with step 4"), "{}", said.out);
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
fn what_has_no_weak_executions_is_refused() {
    let statements = "var x: int = 0 process { x := 1 }";
    let invariant = "atomicity access var x: int = 0 invariant x < 2 process { x := 1 }";
    let guard = "atomicity access var x, y: int = 0 process { await x == 0 && y == 0 }";
    let unknown = "atomicity access var x: int process { x := 1 }";
    for (program, why) in [
        (statements, "atomicity access"),
        (invariant, "about states"),
        (guard, "several accesses"),
        (unknown, "all values have to be known"),
    ] {
        for command in ["check", "explore", "run"] {
            let said = with_input(&[command, "-", "--memory", "rc11"], program);
            assert_eq!(said.code, 3, "{command} {program}: {said:?}");
            assert!(said.err.contains(why), "{command} {program}: {said:?}");
        }
    }
    let access = sb("relaxed");
    for more in [
        ["--algorithm", "stateful"],
        ["--tests", "folder"],
        ["--format", "svg"],
    ] {
        let said = with_input(
            &["explore", "-", "--memory", "ra", more[0], more[1]],
            &access,
        );
        assert_eq!(said.code, 3, "{more:?}: {said:?}");
    }
    let said = with_input(&["run", "-", "--memory", "rc11", "--path"], &access);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.err.contains("leave out --memory"), "{said:?}");
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
        let said = with_input(&[&arguments[..], &[limit]].concat(), program);
        assert_eq!(said.code, 2, "{limit}: {said:?}");
        assert_eq!(said.json()["scope"]["exhaustive"], false);
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
    let said = with_input(
        &["explore", "-", "--memory", "rc11", "--format", "json"],
        program,
    );
    assert_eq!(said.code, 1, "{said:?}");
    // Three writes in any order, and three values to choose from.
    assert_eq!(said.json()["executions"], 18);
    let sc = with_input(&["explore", "-", "--format", "json"], program);
    assert_eq!(sc.json()["executions"], 18);
}
