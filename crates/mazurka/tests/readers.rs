//! Files that people or programs have damaged: whatever stands in a record or a checkpoint, reading it and
//! going on from it ends with an answer or an error.

use mazurka::{Algorithm, Checkpoint, Limits, Options, Program, Recording, Verdict, quietly};
use proptest::prelude::*;

const SOURCE: &str = "
    const N = 4
    var x, y: int = 0
    lock m
    process p(i in 0..N) { lock(m); x := x + i; unlock(m); y := choose(0..2) }
    ensures x == 6 && y == 0
";

fn program() -> Program {
    Program::load("damaged.maz", SOURCE, &[]).expect("a good program")
}

/// Cuts, doubles or overwrites a few places of a text.
fn damage(text: &str, edits: &[(usize, u8, char)]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for &(place, what, with) in edits {
        let at = place % chars.len().max(1);
        match what % 4 {
            0 => chars.truncate(at.max(1)),
            1 if at < chars.len() => {
                chars.remove(at);
            }
            2 => chars.insert(at.min(chars.len()), with),
            _ if at < chars.len() => chars[at] = with,
            _ => {}
        }
    }
    chars.into_iter().collect()
}

/// Mostly edits that leave the text readable: digits for digits.
fn edits() -> impl Strategy<Value = Vec<(usize, u8, char)>> {
    let with = prop_oneof![
        8 => proptest::char::range('0', '9'),
        1 => any::<char>(),
        2 => proptest::sample::select(vec!['"', '{', ']', ',', ':', '-', '.', ' ']),
    ];
    let kind = prop_oneof![1 => 0..3_u8, 9 => Just(3_u8)];
    proptest::collection::vec((any::<usize>(), kind, with), 1..4)
}

fn options() -> Options {
    Options {
        limits: Limits {
            steps: Some(20_000),
            ..Limits::default()
        },
        ..Options::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_damaged_record_is_refused_or_replayed(edits in edits()) {
        let program = program();
        let record = program.check(&options(), &mut quietly());
        prop_assert_eq!(record.verdict, Verdict::Violated);
        let text = serde_json::to_string(&record).expect("records are JSON");
        if let Ok(recording) = Recording::parse(&damage(&text, &edits)) {
            // Either is an answer; only a panic would not be.
            let _ = program.replay(&recording, &options());
        }
    }

    #[test]
    fn a_damaged_checkpoint_is_refused_or_resumed(edits in edits()) {
        let program = program();
        let first = Options {
            limits: Limits {
                executions: Some(3),
                ..Limits::default()
            },
            ..options()
        };
        let cut = program.explore_from(None, Algorithm::Source, &first, &mut quietly());
        let Ok((_, Some(checkpoint))) = cut else {
            return Err(TestCaseError::fail("a search of three executions leaves something"));
        };
        let text = serde_json::to_string(&checkpoint).expect("checkpoints are JSON");
        if let Ok(checkpoint) = Checkpoint::parse(&damage(&text, &edits)) {
            let _ = program.explore_from(Some(&checkpoint), Algorithm::Source, &options(), &mut quietly());
        }
    }
}
