//! Tests `check`, which chooses its engine itself: the verdict does not depend on the engine that
//! decides.

use std::fs;
use std::path::{Path, PathBuf};

use mazurka::record::{Kind, Record};
use mazurka::replay::Recording;
use mazurka::{Algorithm, Options, Program, Verdict, quietly};

fn program(source: &str) -> Program {
    Program::load("test.maz", source, &[]).unwrap_or_else(|mistakes| panic!("{mistakes:?}"))
}

fn check(source: &str) -> Record {
    program(source)
        .check(&Options::default(), &mut quietly())
        .expect("a record")
}

/// Returns the message and the schedule of the livelock that `check` finds. The livelock must
/// replay.
#[track_caller]
fn livelock(source: &str) -> (String, String) {
    let record = check(source);
    assert_eq!(record.verdict, Verdict::Violated, "{source}");
    assert_eq!(record.algorithm, "stateful");
    let [witness] = &record.witnesses[..] else {
        panic!("{} witnesses: {source}", record.witnesses.len());
    };
    assert_eq!(witness.kind, Kind::Livelock);
    let text = serde_json::to_string(&record).expect("a record is JSON");
    let recording = Recording::parse(&text).expect("it can be read back");
    let again = program(source).replay(&recording, &Options::default());
    let again = again.unwrap_or_else(|problem| panic!("{problem}: {source}"));
    assert_eq!(again.witnesses, record.witnesses);
    let schedule = witness.runs[0].schedule.clone();
    (witness.message.clone(), schedule)
}

#[test]
fn a_loop_that_no_process_ends_is_a_livelock() {
    let (message, schedule) = livelock(
        "var stop: bool = false var x: int = 0
         process { while !stop { skip } } process { x := 1 }",
    );
    assert_eq!(message, "livelock: step 2 can repeat for ever");
    assert_eq!(schedule, "1 0");
}

#[test]
fn a_loop_that_another_process_ends_is_no_livelock() {
    let record = check(
        "var stop: bool = false
         process { while !stop { skip } } process { stop := true }",
    );
    assert_eq!(record.verdict, Verdict::Verified);
    assert_eq!(record.algorithm, "stateful");
    assert!(record.scope.exhaustive);
    assert_eq!(record.deterministic, Some(true));
}

#[test]
fn giving_way_for_ever_is_a_livelock() {
    let (message, _) = livelock(
        "var want: bool[2] = false
         process (me in 0..2) {
           want[me] := true;
           while want[1 - me] { want[me] := false; want[me] := true };
           want[me] := false
         }",
    );
    assert_eq!(message, "livelock: steps 3–8 can repeat for ever");
}

#[test]
fn a_livelock_may_need_the_right_choices() {
    let (message, schedule) = livelock(
        "var x: int = 0 ensures x >= 0
         process { while x < 2 { x := choose(0..3) } }",
    );
    assert_eq!(message, "livelock: steps 1–2 can repeat for ever");
    assert_eq!(schedule, "0 0=0");
}

#[test]
fn a_lock_that_is_taken_again_and_again() {
    // The holder of the lock makes the other process wait, so the other process is not always
    // ready. Weak fairness does not guarantee that it gets the lock.
    let (message, schedule) = livelock(
        "lock m var x: int = 0
         process { while x == 0 { lock(m); unlock(m) } }
         process { lock(m); x := 1; unlock(m) }",
    );
    assert_eq!(message, "livelock: steps 1–3 can repeat for ever");
    assert_eq!(schedule, "0 0 0");
}

#[test]
fn what_others_do_after_a_failure_is_no_livelock() {
    let record = check(
        "var x: int = 0
         process { x := 1; assert x == 2; x := 0 }
         process { await x == 1; while x == 1 { skip } }",
    );
    assert_eq!(record.verdict, Verdict::Violated);
    let kinds: Vec<_> = record.witnesses.iter().map(|w| w.kind).collect();
    assert_eq!(kinds, [Kind::Failure]);
    let explored = program(
        "var x: int = 0
         process { x := 1; assert x == 2; x := 0 }
         process { await x == 1; while x == 1 { skip } }",
    )
    .explore(Algorithm::Stateful, &Options::default(), &mut quietly())
    .expect("a record");
    assert!(explored.witnesses.iter().all(|w| w.kind == Kind::Failure));
}

#[test]
fn few_traces_and_few_states_need_different_engines() {
    // 11! traces, but few states.
    let many_traces = "var x: int = 0 observe x process (p in 0..11) { x := 7 }";
    assert_eq!(check(many_traces).algorithm, "stateful");
    assert_eq!(check(many_traces).verdict, Verdict::Verified);
    // One trace, but 4^12 states.
    let many_states = "var x: int[12] = 0 process (p in 0..12) { x[p] := 1; x[p] := 2; x[p] := 3 }";
    assert_eq!(check(many_states).algorithm, "optimal");
    assert_eq!(check(many_states).counts.executions, 1);
}

#[test]
fn a_false_assume_at_the_start_precedes_everything() {
    let record = check("var x: int = 0 process { assume false } process { x := 1; assert x == 2 }");
    assert_eq!(record.verdict, Verdict::Verified);
    assert_eq!(record.counts.failures, 0);
}

#[test]
fn limits_of_the_user_hold_for_every_attempt() {
    let source = "var x: i64 = 0 process { while x >= 0 { x := x + 1 } }";
    let mut options = Options::default();
    options.limits.steps = Some(1_000_000);
    let record = program(source)
        .check(&options, &mut quietly())
        .expect("a record");
    assert_eq!(record.verdict, Verdict::Inconclusive);
    assert!(record.counts.steps <= 1_000_000);
    assert_eq!(record.scope.bounds.len(), 1);
}

/// Returns every case of the corpus that can be explored.
fn corpus() -> Vec<(String, Program, Option<String>)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(2).expect("the workspace");
    let entries = fs::read_dir(root.join("corpus/maz")).expect("the corpus");
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    folders.retain(|path| path.is_dir());
    folders.sort();
    let mut all = Vec::new();
    for folder in folders {
        let expect = fs::read_to_string(folder.join("expect.toml")).expect("an expect.toml");
        let expect: toml::Table = expect.parse().expect("TOML");
        if expect.contains_key("needs") {
            continue;
        }
        let source = fs::read_to_string(folder.join("program.maz")).expect("a program");
        let cases = expect["case"].as_array().expect("cases");
        for case in cases {
            let set: Vec<(String, String)> = case
                .get("set")
                .and_then(toml::Value::as_table)
                .into_iter()
                .flatten()
                .map(|(name, value)| match value {
                    toml::Value::String(text) => (name.clone(), text.clone()),
                    other => (name.clone(), other.to_string()),
                })
                .collect();
            let name = format!("{} {set:?}", folder.display());
            let program = Program::load("program.maz", &source, &set);
            let program = program.unwrap_or_else(|mistakes| panic!("{name}: {mistakes:?}"));
            let check = case.get("check").and_then(toml::Value::as_str);
            all.push((name, program, check.map(str::to_owned)));
        }
    }
    all
}

#[test]
fn the_engines_agree_on_every_verdict_of_the_corpus() {
    let mut options = Options::default();
    options.limits.steps = Some(100_000);
    let (mut decided, mut all) = (0, 0);
    for (name, program, expected) in corpus() {
        let checked = program.check(&options, &mut quietly()).expect("a record");
        let verdict = format!("{:?}", checked.verdict).to_lowercase();
        all += 1;
        if checked.verdict != Verdict::Inconclusive {
            decided += 1;
            if let Some(expected) = expected {
                assert_eq!(verdict, expected, "{name}");
            }
        }
        for algorithm in [Algorithm::Optimal, Algorithm::Stateful] {
            let record = program
                .explore(algorithm, &options, &mut quietly())
                .expect("a record");
            let differs = record.deterministic == Some(false);
            let violated = record.verdict == Verdict::Violated
                || differs && program.counted(&options).contains(Kind::Nondeterminism);
            if violated {
                assert_ne!(checked.verdict, Verdict::Verified, "{name}: {algorithm}");
            } else if record.verdict == Verdict::Verified {
                assert_eq!(checked.verdict, Verdict::Verified, "{name}: {algorithm}");
            }
        }
        let again = Record {
            seconds: checked.seconds,
            ..program.check(&options, &mut quietly()).expect("a record")
        };
        assert_eq!(again, checked, "{name}: another answer the second time");
    }
    assert!(decided * 10 >= all * 9, "{decided} of {all} were decided");
}
