//! Views of handmade records, for results that a search does not produce on demand.

use mazurka_core::record::{
    Binding, Difference, Ending, Kind, KindsRecord, Place, ProgramRecord, Record, Run, Step,
    VERSION, Waiting, Witness,
};
use mazurka_core::{Bound, Counts, Scope, StopReason, Verdict};

use crate::{Paint, View, json, replayed, table, verdict};

pub(crate) fn record(outcome: Verdict, bounds: Vec<Bound>, witnesses: Vec<Witness>) -> Record {
    Record {
        version: VERSION,
        program: ProgramRecord {
            file: "two.maz".into(),
            hash: "0".repeat(32),
            set: Vec::new(),
            names: Vec::new(),
        },
        command: "check".into(),
        algorithm: "naive".into(),
        options: None,
        verdict: outcome,
        scope: Scope {
            exhaustive: bounds.is_empty(),
            bounds: bounds.clone(),
            outside: Vec::new(),
        },
        stopped: if bounds.is_empty() {
            StopReason::Complete
        } else {
            StopReason::Bound
        },
        deterministic: None,
        counts: Counts {
            executions: 1,
            traces: Some(1),
            ..Counts::default()
        },
        seconds: 0.5,
        solver: None,
        kinds: KindsRecord {
            counted: vec![Kind::Failure, Kind::Deadlock, Kind::Livelock],
            ..KindsRecord::default()
        },
        witnesses,
        warnings: Vec::new(),
        coverage: None,
        sample: None,
        memory: None,
        profile: None,
        explanation: None,
        stronger: Vec::new(),
        memory_model: None,
        covers: Vec::new(),
        refinement: None,
        object: None,
    }
}

pub(crate) fn witness(kind: Kind, message: &str) -> Witness {
    Witness {
        kind,
        message: message.into(),
        place: None,
        runs: vec![run("0 1")],
        waiting: Vec::new(),
        differs: Vec::new(),
        condition: None,
        lasso: None,
        values: Vec::new(),
        history: Vec::new(),
    }
}

fn run(schedule: &str) -> Run {
    Run {
        schedule: schedule.into(),
        inputs: Vec::new(),
        ending: Ending::Open,
        steps: Vec::new(),
        state: Vec::new(),
        names: Vec::new(),
        processes: Vec::new(),
    }
}

#[test]
fn every_bound_is_named_with_what_to_do() {
    let bounds = vec![
        Bound::MaxDepth(9),
        Bound::IntRange,
        Bound::MemoryLimit(1 << 30),
    ];
    let text = verdict(
        &record(Verdict::Inconclusive, bounds, Vec::new()),
        &View::default(),
    );
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with("inconclusive: ")
            && lines[0].ends_with("(1 trace, 1 execution by naive, cut)")
    );
    assert!(lines[1].contains("--max-depth 9") && lines[1].contains("raise --max-depth"));
    assert!(lines[2].contains("64 bits") && lines[2].contains("i64"));
    assert!(lines[3].contains("--memory-limit 1G was reached: raise --memory-limit"));
    assert_eq!(lines.len(), 4);
}

#[test]
fn a_violation_does_not_hide_the_bounds() {
    let bad = witness(Kind::Failure, "assertion failed");
    let found = record(Verdict::Violated, vec![Bound::MaxDepth(9)], vec![bad]);
    let text = verdict(&found, &View::default());
    assert!(
        text.starts_with(
            "violated: failure: assertion failed (1 trace, 1 execution by naive, cut)\n"
        ),
        "{text}"
    );
    assert!(text.contains("--max-depth 9"), "{text}");
    assert!(
        text.ends_with("replay with: mazurka run two.maz --schedule \"0 1\"\n"),
        "{text}"
    );
}

/// A search over all initial values may be complete although it has decided `int` only for values
/// of up to 32 bits. The headline must not say that such a search is exhaustive.
#[test]
fn the_headline_reports_that_a_part_was_left_out() {
    let view = View {
        paint: Paint::Plain,
        ..View::default()
    };
    let failure = witness(Kind::Failure, "assertion failed: x");
    let mut record = record(Verdict::Violated, vec![Bound::IntWithin(32)], vec![failure]);
    record.stopped = StopReason::Complete;
    let text = table(&record, &view);
    assert!(
        text.starts_with("two.maz: naive: violated; not everything was explored\n"),
        "{text}"
    );
    let text = verdict(&record, &view);
    assert!(!text.contains("exhaustive"), "{text}");
    record.scope.bounds.clear();
    let text = table(&record, &view);
    assert!(
        text.starts_with("two.maz: naive: explored everything\n"),
        "{text}"
    );
}

#[test]
fn each_of_several_witnesses_has_a_command() {
    let mut deadlock = witness(Kind::Deadlock, "deadlock: 0 waits for ever");
    deadlock.waiting.push(Waiting {
        process: "0".into(),
        what: "lock `a`".into(),
        held_by: Some("0".into()),
        line: 3,
        file: None,
    });
    let mut failure = witness(Kind::Failure, "division by zero");
    failure.place = Some(Place {
        line: 4,
        column: 2,
        text: "x := 1 / y".into(),
        file: None,
    });
    let found = record(Verdict::Violated, Vec::new(), vec![failure, deadlock]);
    insta::assert_snapshot!(verdict(&found, &View::default()), @r#"
    violated: failure: division by zero; deadlock: 0 waits for ever (1 trace, 1 execution by naive, exhaustive)

    failure: division by zero
      at two.maz:4:2: x := 1 / y

      (before any step)
    replay with: mazurka run two.maz --schedule "0 1"

    deadlock: 0 waits for ever
      0 waits for lock `a`, which it holds itself (line 3)

      (before any step)

    replay with: mazurka run two.maz --schedule "0 1"
    "#);
}

#[test]
fn only_the_variables_that_differ_are_shown() {
    let mut two = witness(
        Kind::Nondeterminism,
        "not deterministic: `x` ends as 1 or as 2",
    );
    two.runs.push(run("1 0"));
    two.differs.push(Difference {
        name: "x".into(),
        first: "1".into(),
        second: "2".into(),
    });
    let found = record(Verdict::Violated, Vec::new(), vec![two]);
    let text = verdict(&found, &View::default());
    assert!(
        text.contains("what differs at the end:\n  x = 1 in the one, 2 in the other\n"),
        "{text}"
    );
    let last: Vec<&str> = text.lines().rev().take(2).collect();
    assert_eq!(
        last[0],
        "        and: mazurka run two.maz --schedule \"1 0\""
    );
    assert_eq!(
        last[1],
        "replay with: mazurka run two.maz --schedule \"0 1\""
    );
}

#[test]
fn if_every_run_is_discarded_the_text_warns() {
    let mut none = record(Verdict::Verified, Vec::new(), Vec::new());
    none.counts.executions = 0;
    none.counts.discarded = 5;
    let text = verdict(&none, &View::default());
    assert!(
        text.contains("every run is discarded") && text.contains("5 discarded"),
        "{text}"
    );
}

#[test]
fn an_engine_without_traces_reports_that() {
    let mut unknown = record(Verdict::Verified, Vec::new(), Vec::new());
    unknown.counts.traces = None;
    assert!(table(&unknown, &View::default()).contains("traces        unknown"));
    assert!(!verdict(&unknown, &View::default()).contains("trace"));
}

/// `stateful` counts states; the number of its runs, which end at visited states, means nothing.
#[test]
fn an_engine_that_merges_states_reports_their_number() {
    let mut merged = record(Verdict::Verified, Vec::new(), Vec::new());
    merged.counts.states = Some(54);
    let text = table(&merged, &View::default());
    assert!(
        text.contains("  states           54  different ones\n"),
        "{text}"
    );
    assert!(verdict(&merged, &View::default()).contains(", 54 states, "));
    let text = json(&merged).expect("JSON");
    assert!(text.contains("\"states\": 54"), "{text}");
    let read: Record = serde_json::from_str(&text).expect("a record");
    assert_eq!(read.counts.states, Some(54));
    // In a record of `symbolic`, `states` is an object. Such a record can be read, without the
    // object.
    let other = text.replace("\"states\": 54", "\"states\": {\"count\": 54}");
    let read: Record = serde_json::from_str(&other).expect("a record");
    assert_eq!(read.counts.states, None);
}

#[test]
fn values_are_below_the_failure_and_names_in_the_command() {
    let mut failed = witness(Kind::Failure, "assertion failed: `s == 0`");
    failed.place = Some(Place {
        line: 4,
        column: 2,
        text: "assert s == 0".into(),
        file: None,
    });
    failed.values.push(Binding {
        name: "s".into(),
        value: "4".into(),
    });
    let step = Step {
        process: "1".into(),
        outcomes: Vec::new(),
        label: "s := x".into(),
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
    };
    failed.runs[0].steps.push(step);
    let names = [("0", "client(0)"), ("1", "client(1)")];
    let pair = |(number, name): (&str, &str)| (number.to_owned(), name.to_owned());
    failed.runs[0].names = names.map(pair).to_vec();
    let mut found = record(Verdict::Violated, Vec::new(), vec![failed]);
    found.program.names = names.map(pair).to_vec();
    insta::assert_snapshot!(verdict(&found, &View::default()), @r#"
    violated: failure: assertion failed: `s == 0` (1 trace, 1 execution by naive, exhaustive)

      at two.maz:4:2: assert s == 0
      with s = 4

      1  client(1)  s := x  line 3

    replay with: mazurka run two.maz --schedule "client(0) client(1)"
    "#);
}

#[test]
fn the_part_after_an_uncounted_failure_is_reported_as_unexplored() {
    let mut found = record(Verdict::Verified, Vec::new(), Vec::new());
    let line = "not explored: what a process would do after a failure that does not count\n";
    assert!(!verdict(&found, &View::default()).contains(line));
    found.kinds.halted = true;
    for answer in [Verdict::Verified, Verdict::Inconclusive] {
        found.verdict = answer;
        assert!(verdict(&found, &View::default()).contains(line));
        assert!(crate::table(&found, &View::default()).contains(line));
    }
}

#[test]
fn a_replay_reports_that_it_matches_the_record() {
    let bad = witness(Kind::Failure, "assertion failed");
    let text = replayed(
        &record(Verdict::Violated, Vec::new(), vec![bad]),
        &View::default(),
    );
    assert!(
        text.starts_with("replayed: failure: assertion failed (1 run, 0 steps, all as recorded)\n")
    );
    let text = replayed(
        &record(Verdict::Verified, Vec::new(), Vec::new()),
        &View::default(),
    );
    assert_eq!(text, "replayed: 0 steps, all as recorded\n");
}

#[test]
fn colours_change_nothing_but_the_colours() {
    let bad = witness(Kind::Failure, "assertion failed");
    let found = record(Verdict::Violated, vec![Bound::IntRange], vec![bad]);
    let coloured = View {
        paint: Paint::Ansi,
        ..View::default()
    };
    let strip = |text: String| {
        let mut plain = String::new();
        let mut escaped = false;
        for c in text.chars() {
            match c {
                '\u{1b}' => escaped = true,
                'm' if escaped => escaped = false,
                _ if escaped => {}
                _ => plain.push(c),
            }
        }
        plain
    };
    let text = verdict(&found, &coloured);
    assert!(text.contains('\u{1b}'));
    assert_eq!(strip(text), verdict(&found, &View::default()));
    assert_eq!(
        strip(table(&found, &coloured)),
        table(&found, &View::default())
    );
}

#[test]
fn json_can_be_read_back() {
    let bad = witness(Kind::Nondeterminism, "not deterministic");
    let bounds = vec![Bound::MaxDepth(9), Bound::Interrupted];
    let found = record(Verdict::Violated, bounds, vec![bad]);
    let text = json(&found).expect("a record is JSON");
    assert!(text.ends_with("}\n"));
    assert_eq!(
        serde_json::from_str::<Record>(&text).expect("the same record"),
        found
    );
}

/// Without its feature `float_roundtrip`, serde_json reads some numbers as a neighbouring one.
#[test]
fn times_are_read_back_to_the_last_bit() {
    let mut found = record(Verdict::Verified, Vec::new(), Vec::new());
    let times = (1..2_000).map(|nanoseconds| f64::from(nanoseconds) * 1e-9 / 7.0);
    for seconds in times.chain([0.1 + 0.2, 1e-12, 12_345.678_901_234_5]) {
        found.seconds = seconds;
        let text = json(&found).expect("a record is JSON");
        let read: Record = serde_json::from_str(&text).expect("the same record");
        assert_eq!(read.seconds.to_bits(), seconds.to_bits(), "{seconds}");
    }
}
