//! Random programs with named types, dimensions, ranges, functions, quantifiers and `match`:
//! compares the engines with brute force, and both with the oracle, which has its own parser.

use std::collections::BTreeSet;

use crate::common::{has_found_all_states, in_three_files, programs, search};
use crate::context::wrong;
use crate::unfold::{fault, small_truth};
use mazurka_core::Limits as SearchLimits;
use mazurka_explore::{Algorithm, Goal, Search};
use mazurka_testkit::oracle::{Answer, Limits, Truth, judge};
use mazurka_testkit::swarm::{messages, models, synchronised};
use mazurka_testkit::{
    Aspect, Dependence, Limit, Recording, States, Summary, every_state, machine, naive,
};

/// Returns where the engines and the oracle differ on one program.
fn differences(text: &str, truth: &Truth) -> Option<Vec<String>> {
    let mut program = machine(text).unwrap_or_else(|why| panic!("{why}\n{text}"));
    let found = naive(&mut program, Limit::default(), Dependence::Ends).ok()?;
    if found.lost {
        return None;
    }
    let mut all = against_oracle(&found, truth);
    for algorithm in [
        Algorithm::Naive,
        Algorithm::Sleep,
        Algorithm::Dpor,
        Algorithm::Source,
        Algorithm::Optimal,
    ] {
        let mut program = machine(text).unwrap_or_else(|why| panic!("{why}\n{text}"));
        let mut recording = Recording::default();
        let search = Search {
            algorithm,
            limits: SearchLimits::default(),
            goal: Goal::Everything,
        };
        let keep_going = &mut |_: &_| std::ops::ControlFlow::Continue(());
        search.run(&mut program, keep_going, &mut recording);
        let other = recording.finish();
        let difference = other.difference(&found, Aspect::ALL);
        all.extend(difference.map(|difference| format!("{algorithm}: {difference}")));
    }
    Some(all)
}

/// Returns a mistake of nets and of engines that merge states on one program.
fn other_engines(text: &str) -> Option<String> {
    let mut seen = States::default();
    let truth = every_state(&mut machine(text).ok()?, Limit::default())?;
    let found = search(&mut machine(text).ok()?, Algorithm::Stateful, &mut seen);
    seen.add_sites(&found);
    if !truth.lost && !has_found_all_states(&found, &seen, &truth) {
        return Some(format!(
            "stateful: {:?}\nfound {seen:?}\nis {truth:?}",
            found.counts
        ));
    }
    let net = || fault(text, &small_truth(text)?);
    wrong(text).or_else(net)
}

fn against_oracle(found: &Summary, truth: &Truth) -> Vec<String> {
    let mut all = Vec::new();
    let mut compare = |what: &str, found: usize, wanted: usize| {
        if found != wanted {
            all.push(format!(
                "{what}: {found}, but {wanted} according to the oracle"
            ));
        }
    };
    compare(
        "final states",
        found.final_states.len(),
        truth.final_states.len(),
    );
    compare(
        "a deadlock",
        (!found.deadlocks.is_empty()).into(),
        truth.deadlock.into(),
    );
    let fails = !found.failures.is_empty();
    compare(
        "a failure",
        fails.into(),
        (!truth.failures.is_empty()).into(),
    );
    all
}

const MODELS: &[&str] = &[
    "forall",
    "exists",
    "count",
    "sum",
    "min",
    "max",
    "match",
    "least(",
    "bump(",
    "both()",
    "T[",
    "G[",
    "a[",
    "q[",
    "Msg(",
    "atomicity access",
    "m == q[",
    "break",
    "continue",
    "leave(",
    "let l",
    "b := ",
    "c := ",
    " & ",
    " | ",
    " ^ ",
    " << ",
    " >> ",
    "~(",
];

const MESSAGES: &[&str] = &[
    "c ! ",
    "c ? ",
    "d ! ",
    "d ? ",
    "r[",
    "len(c)",
    "len(r[",
    "try c ",
    "try d ",
    "select {",
    "else |>",
    "atomic {",
    "|> c",
    "relay()",
    "for ",
    "assume",
    "chan d[..]",
    "chan r[2][..4]",
];

const SYNCHRONISED: &[&str] = &[
    "acquire(s)",
    "release(t[",
    "read_lock(l)",
    "write_unlock(l)",
    "wait(c, m)",
    "wait(d[",
    "wait(b)",
    "signal(",
    "broadcast(",
    "try lock(m)",
    "try lock(k)",
    "try acquire",
    "try write_lock",
    "f := try",
    "pass(",
    "own(",
    "spurious cond",
    "atomicity access",
    "|> acquire",
    "atomic { lock(",
    "q ! ",
    "q ? ",
    "r[1] ! P(",
    "r[0] ? p",
    "g ? p.b",
    "len(q)",
    "try q ! ",
    "try r[",
    "|> q ? ",
    "select {",
    "[] else |>",
    "select { q ? ",
    "[] acquire(",
    "lock(m) |> {",
    ": select {",
    "print ",
    "|> { print ",
];

/// Compares the programs of some seeds, in which all of these words must occur.
fn agree(make: fn(u64) -> String, words: &[&'static str], first: u64, count: u64) {
    let limits = Limits {
        states: 20_000,
        ..Limits::default()
    };
    let (mut compared, mut failing, mut deadlocks) = (0, 0, 0);
    let mut used: BTreeSet<&str> = BTreeSet::new();
    for seed in first..first + count {
        let text = make(seed);
        let truth = match judge(&text, &limits) {
            Answer::Truth(truth) => truth,
            Answer::TooLarge => continue,
            other => panic!("seed {seed}: {other:?}\n{text}"),
        };
        let Some(mut wrong) = differences(&text, &truth) else {
            continue;
        };
        if seed % 5 == 0 {
            wrong.extend(other_engines(&text));
        }
        assert!(wrong.is_empty(), "seed {seed}: {wrong:#?}\n{text}");
        compared += 1;
        failing += u64::from(!truth.failures.is_empty());
        deadlocks += u64::from(truth.deadlock);
        let body = text.split_once("process").map_or("", |(_, body)| body);
        used.extend(
            words.iter().filter(|word| {
                text.contains(*word) && (body.contains(*word) || word.contains(' '))
            }),
        );
    }
    println!("{compared} of {count}: {failing} fail, {deadlocks} have a deadlock");
    assert!(
        compared * 10 > count * 8,
        "too few programs were compared: {compared}"
    );
    assert!(
        failing > count / 20 && deadlocks > 0,
        "{failing} {deadlocks}"
    );
    assert_eq!(used.len(), words.len(), "{used:?}");
}

#[test]
fn engines_and_oracle_agree() {
    agree(models, MODELS, 0, programs(300));
}

#[test]
fn engines_and_oracle_agree_about_synchronisation() {
    agree(synchronised, SYNCHRONISED, 0, programs(500));
}

#[test]
fn engines_and_oracle_agree_about_channels() {
    agree(messages, MESSAGES, 0, programs(400));
}

/// Run with `cargo test --release -p mazurka-testkit --test it models:: -- --ignored --nocapture`;
/// `MAZURKA_PROGRAMS=n` for more.
#[test]
#[ignore = "takes minutes"]
fn engines_and_oracle_agree_for_long() {
    agree(models, MODELS, 100_000, programs(20_000));
    agree(synchronised, SYNCHRONISED, 100_000, programs(20_000));
    agree(messages, MESSAGES, 100_000, programs(20_000));
}

/// The models of `examples/` with a planted bug: without it the oracle finds no violation.
#[test]
fn the_planted_bugs_of_the_examples_are_real() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let models = [
        ("msi", true),
        ("two-phase-commit", true),
        ("bakery", true),
        ("waiter", false),
        ("bounded-queue", true),
        ("thread-pool", false),
        ("rwlock-upgrade", false),
        ("alternating-bit", true),
        ("paxos", true),
        ("raft-election", true),
        ("work-stealing", true),
    ];
    let mut counts = Vec::new();
    for (name, fails) in models {
        let path = format!("{folder}/{name}.maz");
        let text = std::fs::read_to_string(&path).expect("an example");
        for bug in [0, 1] {
            let limits = Limits {
                set: vec![("BUG".to_owned(), bug)],
                ..Limits::default()
            };
            let truth = match judge(&text, &limits) {
                Answer::Truth(truth) => truth,
                other => panic!("{name}: {other:?}"),
            };
            let wrong = bug == 1;
            assert_eq!(!truth.failures.is_empty(), fails && wrong, "{name} {bug}");
            assert_eq!(truth.deadlock, !fails && wrong, "{name} {bug}");
            // The engine that merges states counts the same results.
            let text = text.replace("const BUG = 0", &format!("const BUG = {bug}"));
            let mut machine = machine(&text).unwrap_or_else(|why| panic!("{name}: {why}"));
            let found = search(&mut machine, Algorithm::Stateful, &mut States::default());
            let counted = found.counts.final_states as usize;
            assert_eq!(counted, truth.final_states.len(), "{name} {bug}");
            counts.push((name, bug, counted));
            // All packets may get lost.
            let livelock = name == "alternating-bit";
            assert_eq!(truth.livelock, livelock, "{name} {bug}");
        }
    }
    let wanted: &[(&str, i128, usize)] = &[
        ("msi", 0, 6),
        ("msi", 1, 0),
        ("two-phase-commit", 0, 5),
        ("two-phase-commit", 1, 6),
        ("bakery", 0, 1),
        ("bakery", 1, 1),
        ("waiter", 0, 1),
        ("waiter", 1, 1),
        ("bounded-queue", 0, 2),
        ("bounded-queue", 1, 2),
        ("thread-pool", 0, 1),
        ("thread-pool", 1, 1),
        ("rwlock-upgrade", 0, 1),
        ("rwlock-upgrade", 1, 1),
        ("alternating-bit", 0, 1),
        ("alternating-bit", 1, 1),
        ("paxos", 0, 248),
        ("paxos", 1, 207),
        ("raft-election", 0, 124),
        ("raft-election", 1, 124),
        ("work-stealing", 0, 2),
        ("work-stealing", 1, 4),
    ];
    assert_eq!(counts, wanted);
}

/// Which cells a step reads depends on its choice. A net must try the first outcome in each state,
/// even if it already contains the second outcome for all states.
#[test]
fn nets_try_all_outcomes_in_each_state() {
    let text = "var x, y: int = 0
process { let k = choose(0..2); if k == 0 { x := y } }
process { atomic { let k = choose(0..2); if k == 0 { x := y } else { x := 5 } } }
process { y := 2 }
process { select { y == 0 |> x := 7 [] true |> { await y == 2; x := 8 } } }";
    let truth = small_truth(text).expect("a small program");
    assert_eq!(fault(text, &truth), None);
}

#[test]
fn a_program_in_several_files_is_the_same_program() {
    let mut compared = 0;
    for seed in 0..150 {
        for make in [models, synchronised] {
            let text = make(seed);
            let whole = |text: &str| {
                let mut program = machine(text).unwrap_or_else(|why| panic!("{why}\n{text}"));
                naive(&mut program, Limit::default(), Dependence::Claimed).ok()
            };
            let Some(found) = whole(&text) else {
                continue;
            };
            assert_eq!(
                whole(&in_three_files(&text)),
                Some(found),
                "seed {seed}:\n{text}"
            );
            compared += 1;
        }
    }
    assert!(compared > 200, "{compared}");
}
