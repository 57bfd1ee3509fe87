use mazurka_core::Verdict;
use mazurka_core::record::{
    Change, EndStatus, Ending, Kind, LockChange, MemoryStep, ProcessEnd, Record, Run, Step, Witness,
};

use super::Lanes;
use super::relations::{Relation, relations};
use crate::OneRun;
use crate::wellformed::{assert_sound, texts};

fn step(process: usize, label: &str) -> Step {
    Step {
        process: process.to_string(),
        outcomes: Vec::new(),
        label: label.into(),
        line: 3,
        file: None,
        enabled: Vec::new(),
        reads: Vec::new(),
        changes: Vec::new(),
        locks: Vec::new(),
        mishap: None,
        racing: false,
        actor: None,
        memory: None,
        printed: Vec::new(),
    }
}

fn locks(mut step: Step, name: &str, held: bool) -> Step {
    step.locks.push(LockChange {
        name: name.into(),
        held,
    });
    step
}

fn end(process: usize, status: EndStatus) -> ProcessEnd {
    ProcessEnd {
        process: process.to_string(),
        status,
        waits_for: None,
        held_by: None,
    }
}

fn run(ending: Ending, steps: Vec<Step>, processes: Vec<ProcessEnd>) -> Run {
    Run {
        schedule: String::new(),
        inputs: Vec::new(),
        ending,
        steps,
        state: Vec::new(),
        names: Vec::new(),
        processes,
    }
}

fn witness(kind: Kind, message: &str, runs: Vec<Run>) -> Witness {
    Witness {
        kind,
        message: message.into(),
        place: None,
        runs,
        waiting: Vec::new(),
        differs: Vec::new(),
        condition: None,
        lasso: None,
        values: Vec::new(),
        history: Vec::new(),
    }
}

fn record(file: &str, witnesses: Vec<Witness>) -> Record {
    let verdict = if witnesses.is_empty() {
        Verdict::Verified
    } else {
        Verdict::Violated
    };
    let mut record = crate::tests::record(verdict, Vec::new(), witnesses);
    record.program.file = file.into();
    record
}

fn words(svg: &str) -> Vec<String> {
    assert_sound(svg);
    texts(svg).into_iter().map(|(_, _, text)| text).collect()
}

fn contains(words: &[String], part: &str) -> bool {
    words.iter().any(|line| line.contains(part))
}

#[test]
fn a_deadlock_shows_the_locks_and_the_waiting_processes() {
    let steps = vec![
        locks(step(0, "lock(a)"), "a", true),
        locks(step(1, "lock(b)"), "b", true),
    ];
    let mut ends = vec![end(0, EndStatus::Waiting), end(1, EndStatus::Waiting)];
    for (end, (lock, holder)) in ends.iter_mut().zip([("b", "1"), ("a", "0")]) {
        end.waits_for = Some(format!("lock `{lock}`"));
        end.held_by = Some(holder.into());
    }
    let mut stuck = run(Ending::Deadlock, steps, ends);
    stuck.names = vec![("0".into(), "left".into()), ("1".into(), "right".into())];
    let message = "deadlock: left and right wait for ever";
    let shown = record(
        "ab.maz",
        vec![witness(Kind::Deadlock, message, vec![stuck])],
    );
    let picture = Lanes::of_evidence(&shown);
    let svg = picture.svg();
    let words = words(&svg);
    for part in [
        "left",
        "right",
        "waits for lock `b`",
        "held by right",
        "✗ deadlock",
    ] {
        assert!(contains(&words, part), "{part}: {words:?}");
    }
    assert!(svg.contains("<title>a is held from step 1 to the end</title>"));
    let dot = picture.dot();
    assert!(
        dot.contains("holds a") && dot.contains("shape=octagon"),
        "{dot}"
    );
}

#[test]
fn a_lock_is_held_from_acquisition_to_release() {
    let steps = vec![
        locks(step(0, "lock(a)"), "a", true),
        locks(step(0, "lock(b)"), "b", true),
        locks(step(0, "unlock(a)"), "a", false),
        locks(step(0, "unlock(b)"), "b", false),
        locks(step(0, "lock(a)"), "a", true),
    ];
    let one = run(Ending::Open, steps, vec![end(0, EndStatus::Ready)]);
    let panel = super::Panel::new("", Vec::new(), &one, &[], None);
    let bars: Vec<(&str, usize, usize)> = panel
        .locks
        .iter()
        .map(|held| (held.name.as_str(), held.from, held.to))
        .collect();
    assert_eq!(bars, [("a", 0, 2), ("b", 1, 3), ("a", 4, 5)]);
}

#[test]
fn a_failure_is_at_its_step_or_before_any_or_at_the_end() {
    let mut failing = step(0, "assert x == 1");
    failing.mishap = Some("assertion failed: `x == 1`".into());
    let failed = run(
        Ending::Failure,
        vec![failing],
        vec![end(0, EndStatus::Failed)],
    );
    let shown = witness(Kind::Failure, "assertion failed: `x == 1`", vec![failed]);
    let first = words(&Lanes::of_evidence(&record("a.maz", vec![shown])).svg());
    assert!(
        contains(&first, "✗ failure: assertion failed: `x == 1`"),
        "{first:?}"
    );
    let none = run(Ending::Open, Vec::new(), vec![end(0, EndStatus::Ready)]);
    let shown = witness(Kind::Failure, "invariant does not hold: `x`", vec![none]);
    let before = words(&Lanes::of_evidence(&record("a.maz", vec![shown])).svg());
    assert!(
        contains(&before, "✗ before any step: failure: invariant"),
        "{before:?}"
    );
    let ended = run(
        Ending::Final,
        vec![step(0, "x := 2")],
        vec![end(0, EndStatus::Ended)],
    );
    let shown = witness(Kind::Failure, "ensures does not hold: `x`", vec![ended]);
    let last = words(&Lanes::of_evidence(&record("a.maz", vec![shown])).svg());
    assert!(
        contains(&last, "✗ failure: ensures does not hold"),
        "{last:?}"
    );
    assert!(
        contains(&last, "final: every process has ended"),
        "{last:?}"
    );
}

#[test]
fn a_lasso_has_a_stem_and_a_line_back() {
    let steps = vec![step(1, "x := 1"), step(0, "skip"), step(0, "skip")];
    let ends = vec![end(0, EndStatus::Ready), end(1, EndStatus::Waiting)];
    let mut spins = witness(
        Kind::Livelock,
        "livelock: steps 2–3 can repeat for ever",
        vec![run(Ending::Open, steps, ends)],
    );
    spins.lasso = Some(1);
    let picture = Lanes::of_evidence(&record("spin.maz", vec![spins]));
    let svg = picture.svg();
    let words = words(&svg);
    for part in ["stem: step 1", "loop: steps 2–3", "↺ back to step 2"] {
        assert!(contains(&words, part), "{part}: {words:?}");
    }
    assert!(svg.contains("the run returns here"), "{svg}");
    assert_eq!(picture.dot().matches("repeats for ever").count(), 1);
}

#[test]
fn hostile_texts_keep_the_picture_valid() {
    let nasty = "<a & \"b\"> \u{7}\u{ffff} 漢字 ".repeat(20);
    let mut steps: Vec<Step> = (0..200).map(|at| step(at % 30, &nasty)).collect();
    for at in (0..200).step_by(7) {
        steps[at].changes.push(Change {
            name: nasty.clone(),
            from: "0".into(),
            to: "1".into(),
        });
        steps[at].racing = at % 2 == 0;
    }
    for (at, step) in steps.iter_mut().take(60).enumerate() {
        *step = locks(step.clone(), &nasty, at < 30);
    }
    steps[199].mishap = Some(nasty.clone());
    let ends = (0..30).map(|process| {
        let mut end = end(process, EndStatus::Waiting);
        end.waits_for = Some(nasty.clone());
        end.held_by = Some("0".into());
        end
    });
    let mut long = run(Ending::Failure, steps, ends.collect());
    long.names = (0..30)
        .map(|p| (p.to_string(), format!("p{p}{nasty}")))
        .collect();
    let shown = record(&nasty, vec![witness(Kind::Failure, &nasty, vec![long])]);
    let picture = Lanes::of_evidence(&shown);
    assert_eq!(picture.left_out(), None);
    let words = words(&picture.svg());
    for process in 0..30 {
        assert!(
            contains(&words, &format!("p{process}<a & \"b\">")),
            "{process}"
        );
    }
    for number in 1..=200 {
        assert!(words.contains(&number.to_string()), "{number}");
    }
}

#[test]
fn a_very_long_run_is_cut_with_a_note() {
    let mut steps: Vec<Step> = (0..5000).map(|at| step(at % 900, "x := 1")).collect();
    for at in (0..5000).step_by(2) {
        steps[at] = locks(steps[at].clone(), "m", at % 4 == 0);
    }
    steps[2500].racing = true;
    steps[2600].racing = true;
    let ends = (0..900).map(|process| end(process, EndStatus::Ready));
    let long = run(Ending::Open, steps, ends.collect());
    let one = OneRun {
        run: &long,
        seed: Some(1),
        ready: &[],
        path: None,
        events: &[],
        compared: None,
    };
    let picture = Lanes::of_run(&record("long.maz", Vec::new()), one);
    let left_out = picture.left_out().expect("it is cut");
    assert_eq!(
        left_out,
        "402 of 5000 steps are drawn, 400 of 900 processes are drawn"
    );
    let words = words(&picture.svg());
    assert!(
        contains(&words, &left_out) && contains(&words, "… 2300 steps left out …"),
        "{left_out}"
    );
    for number in ["1", "200", "2501", "2601", "5000"] {
        assert!(words.iter().any(|word| word == number), "{number}");
    }
}

#[test]
fn an_older_record_names_the_processes_that_it_knows() {
    let mut first = step(0, "x := 1");
    first.enabled = vec!["0".into(), "10".into(), "2".into()];
    let old = run(Ending::Open, vec![first], Vec::new());
    let panel = super::Panel::new("", Vec::new(), &old, &[], None);
    let names: Vec<&str> = panel.lanes.iter().map(|lane| lane.name.as_str()).collect();
    assert_eq!(names, ["process 0", "process 2", "process 10"]);
}

fn access(step: Step, what: &str, order: &str, reads: Option<usize>, behind: &[usize]) -> Step {
    let place = (what != "fence").then(|| "x".to_owned());
    let memory = MemoryStep {
        access: what.into(),
        order: order.into(),
        place,
        reads_from: reads,
        behind: behind.to_vec(),
    };
    Step {
        memory: Some(Box::new(memory)),
        ..step
    }
}

fn related(steps: Vec<Step>, model: &str) -> Vec<String> {
    let run = run(Ending::Final, steps, Vec::new());
    let shown = |one: &Relation| {
        let names: Vec<&str> = one.kinds.iter().map(|kind| kind.short()).collect();
        format!("{}-{} {}", one.from + 1, one.to + 1, names.join(" "))
    };
    relations(&run, Some(model)).iter().map(shown).collect()
}

#[test]
fn writes_are_in_modification_order() {
    let write = |process, behind: &[usize]| {
        access(step(process, "x := 1"), "write", "relaxed", None, behind)
    };
    // The second write comes before the first, the third between them.
    let steps = vec![write(0, &[]), write(1, &[1]), write(2, &[1])];
    assert_eq!(related(steps, "rc11"), ["2-3 mo", "3-1 mo"]);
}

#[test]
fn a_read_comes_before_the_next_write() {
    let steps = vec![
        access(step(0, "x := 1"), "write", "relaxed", None, &[]),
        access(step(0, "x := 2"), "write", "relaxed", None, &[]),
        access(step(1, "x"), "read", "relaxed", Some(1), &[2]),
        access(step(2, "x"), "read", "relaxed", Some(0), &[1, 2]),
        access(step(3, "x += 1"), "update", "relaxed", Some(2), &[]),
    ];
    let expected = ["1-2 mo", "1-3 rf", "2-5 rf mo", "3-2 fr", "4-1 fr"];
    assert_eq!(related(steps, "rc11"), expected);
}

#[test]
fn release_sequences_and_fences_synchronise() {
    let store = |order| access(step(0, "x := 1"), "write", order, None, &[]);
    let update = access(step(1, "x += 1"), "update", "relaxed", Some(1), &[]);
    let read = |from, order| access(step(2, "x"), "read", order, Some(from), &[]);
    let by_update = vec![store("release"), update.clone(), read(2, "acquire")];
    assert_eq!(
        related(by_update, "rc11"),
        ["1-2 rf mo", "1-3 sw", "2-3 rf"]
    );
    let relaxed = vec![store("relaxed"), update.clone(), read(2, "acquire")];
    assert_eq!(related(relaxed.clone(), "rc11"), ["1-2 rf mo", "2-3 rf"]);
    // Under ra every access acquires and releases; under tso there is no synchronisation.
    assert_eq!(
        related(relaxed.clone(), "ra"),
        ["1-2 sw rf mo", "1-3 sw", "2-3 sw rf"]
    );
    assert_eq!(related(relaxed, "tso"), ["1-2 rf mo", "2-3 rf"]);
    let fence = |process, order| access(step(process, "fence"), "fence", order, None, &[]);
    let by_fences = vec![
        fence(0, "release"),
        store("relaxed"),
        access(step(2, "x"), "read", "relaxed", Some(2), &[]),
        fence(2, "acquire"),
    ];
    assert_eq!(related(by_fences, "rc11"), ["1-4 sw", "2-3 rf"]);
    let plain = vec![
        store("plain"),
        access(step(2, "x"), "read", "plain", Some(1), &[]),
    ];
    assert_eq!(related(plain, "rc11"), ["1-2 rf"]);
}

#[test]
fn relations_are_drawn_with_a_legend() {
    let steps = vec![
        access(step(0, "x := 1"), "write", "release", None, &[]),
        access(step(1, "x"), "read", "acquire", Some(1), &[]),
        access(step(2, "x"), "read", "relaxed", Some(0), &[1]),
    ];
    let ends = (0..3)
        .map(|process| end(process, EndStatus::Ended))
        .collect();
    let run = run(Ending::Final, steps, ends);
    let mut record = record(
        "graph.maz",
        vec![witness(Kind::Failure, "wrong", vec![run])],
    );
    record.memory_model = Some("rc11".into());
    let lanes = Lanes::of_evidence(&record);
    let svg = lanes.svg();
    assert_sound(&svg);
    for words in ["sw rf", "fr", "sw: synchronises with", "fr: the write"] {
        assert!(svg.contains(words), "{words}");
    }
    assert!(!svg.contains("mo: "));
    let dot = lanes.dot();
    assert!(dot.contains("r0_0_0 -> r0_1_1 [label=\"sw rf\""), "{dot}");
    assert!(dot.contains("r0_2_2 -> r0_0_0 [label=\"fr\""), "{dot}");
}
