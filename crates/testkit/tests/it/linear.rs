//! `spec object`: random objects against brute force, which makes every run of every client, with
//! steps for calls and returns, and tries every order of every history.

use std::time::Duration;

use crate::common::programs;
use mazurka::replay::Recording;
use mazurka::{Algorithm, Options, Program, Verdict, quietly};
use mazurka_core::{Kind, Kinds, Limits};
use mazurka_testkit::objects::{Judged, Object, brute, scrambled, weakened};

/// So many states are looked at by brute force.
const MOST: usize = 20_000;

fn is_right(object: &Object, truth: Judged, seed: u64) {
    let text = object.text();
    let program = Program::load("random.maz", &text, &[]);
    let program = program.unwrap_or_else(|why| panic!("{why:?}\n{text}"));
    let options = Options::default();
    let record = program
        .check(&options, &mut quietly())
        .expect("it is explored");
    let verdict = match truth.linearizable {
        true => Verdict::Verified,
        false => Verdict::Violated,
    };
    assert_eq!(record.verdict, verdict, "seed {seed}, {truth:?}\n{text}");
    if let [shown] = &record.witnesses[..] {
        assert!(shown.message.starts_with("not linearizable"), "{text}");
        assert!(!shown.history.is_empty(), "{text}");
        let saved = serde_json::to_string(&record).expect("a record");
        let recording = Recording::parse(&saved).expect("its own record");
        let again = program.replay(&recording, &options);
        let again = again.unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(again.witnesses, record.witnesses, "{text}");
    }
    assert_eq!(record.witnesses.is_empty(), truth.linearizable, "{text}");
    for &algorithm in Algorithm::ALL {
        let options = Options {
            limits: Limits {
                executions: Some(20_000),
                time: Some(Duration::from_secs(5)),
                ..Limits::default()
            },
            counted: Some(Kinds::of(&[Kind::Failure, Kind::Deadlock])),
            ..Options::default()
        };
        let found = program.explore(algorithm, &options, &mut quietly());
        let found = found.expect("it is explored");
        let failed = found.found().contains(Kind::Failure);
        if found.scope.exhaustive {
            let stuck = found.found().contains(Kind::Deadlock);
            assert_eq!(
                failed, !truth.linearizable,
                "{algorithm}, seed {seed}\n{text}"
            );
            // What is not linearizable halts a client.
            let same = !truth.linearizable || stuck == truth.deadlock;
            assert!(same, "{algorithm}, seed {seed}: {truth:?}\n{text}");
        } else {
            assert!(
                !failed || !truth.linearizable,
                "{algorithm}, seed {seed}\n{text}"
            );
        }
    }
}

fn compare(make: fn(u64) -> Object, first: u64, programs: u64) -> [u64; 3] {
    let mut found = [0; 3];
    for seed in first..first + programs {
        let object = make(seed);
        match brute(&object, MOST) {
            Some(truth) => {
                found[usize::from(!truth.linearizable)] += 1;
                is_right(&object, truth, seed);
            }
            None => found[2] += 1,
        }
    }
    println!("{programs} objects, linearizable, not, too large: {found:?}");
    found
}

#[test]
fn scrambled_objects_agree_with_brute_force() {
    let programs = programs(100);
    let [right, wrong, _] = compare(scrambled, 0, programs);
    assert!(
        right > programs / 10 && wrong > programs / 10,
        "{right} {wrong}"
    );
}

#[test]
fn weakened_objects_agree_with_brute_force() {
    let programs = programs(100);
    let [right, wrong, _] = compare(weakened, 0, programs);
    assert!(
        right > programs / 10 && wrong > programs / 10,
        "{right} {wrong}"
    );
}

/// Run with `cargo test -p mazurka-testkit -- --ignored`; `MAZURKA_PROGRAMS=n` for more.
#[test]
#[ignore = "takes minutes"]
fn objects_agree_with_brute_force_for_long() {
    for make in [scrambled, weakened] {
        let [right, wrong, _] = compare(make, 1_000_000, programs(5_000));
        assert!(right > 0 && wrong > 0, "{right} {wrong}");
    }
}
