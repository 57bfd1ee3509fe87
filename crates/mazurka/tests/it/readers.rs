//! Files that people or programs have damaged: whatever stands in a record or a checkpoint, reading it and
//! going on from it ends with an answer or an error.

use std::sync::OnceLock;

use mazurka::{
    Algorithm, Checkpoint, Limits, Options, Program, ProofFile, ProveOptions, Recording,
    SolverChoice, Verdict, quietly,
};
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
        let record = program.check(&options(), &mut quietly()).expect("a record");
        prop_assert_eq!(record.verdict, Verdict::Violated);
        let text = serde_json::to_string(&record).expect("records are JSON");
        if let Ok(recording) = Recording::parse(&damage(&text, &edits)) {
            // Either is an answer; only a panic would not be.
            let _ = program.replay(&recording, &options());
        }
    }

    #[test]
    fn a_damaged_checkpoint_is_refused(edits in edits()) {
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
        let text = checkpoint.text().expect("checkpoints are JSON");
        let damaged = damage(&text, &edits);
        let read = Checkpoint::parse(&damaged);
        prop_assert_eq!(read.is_ok(), damaged == text, "{}", damaged);
    }

    #[test]
    fn a_damaged_proof_is_refused_or_the_same(edits in edits()) {
        let (program, proof, text) = proof();
        if let Ok(mut damaged) = ProofFile::parse(&damage(text, &edits)) {
            let passes = program.check_proof(&damaged, &embedded(), &mut quietly()).is_ok();
            for (damaged, proof) in damaged.proofs.iter_mut().zip(&proof.proofs) {
                // Where the program was does not matter, but which it is.
                damaged.program = proof.program.clone();
            }
            prop_assert!(!passes || damaged == *proof);
        }
    }

    #[test]
    fn whatever_stands_in_a_formula_it_is_read_or_refused(text in formula()) {
        let (program, _, _) = proof();
        let options = ProveOptions {
            solver: SolverChoice::Embedded.into(),
            limits: Limits {
                steps: Some(50),
                ..Limits::default()
            },
            ..ProveOptions::default()
        };
        if let Err(error) = program.prove(std::slice::from_ref(&text), &options, &mut quietly()) {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}

fn embedded() -> Options {
    Options {
        solver: SolverChoice::Embedded.into(),
        ..Options::default()
    }
}

/// A program with a loop, a lock and a started process, its proof, and that as a text.
fn proof() -> &'static (Program, ProofFile, String) {
    static PROOF: OnceLock<(Program, ProofFile, String)> = OnceLock::new();
    PROOF.get_or_init(|| {
        let source = "
            var x, c: i8 = 0 var n: i8 var a: i8[2] = 0 var b: bool
            lock m
            requires n >= 0
            invariant x <= 2
            process p { let h = spawn { lock(m); x := x + 1; unlock(m) }; join h }
            process q { while c < n invariant 0 <= c && c <= n { c := c + 1 } }
            ensures c == n && x == 1";
        let program = Program::load("damaged.maz", source, &[]).expect("a good program");
        let options = ProveOptions {
            solver: SolverChoice::Embedded.into(),
            ..ProveOptions::default()
        };
        let (record, proof) = program
            .prove(&[], &options, &mut quietly())
            .expect("a proof");
        assert_eq!(record.record.verdict, Verdict::Verified);
        let text = serde_json::to_string(&proof).expect("proofs are JSON");
        (program, proof, text)
    })
}

/// Words of formulas, more or less in order.
fn formula() -> impl Strategy<Value = String> {
    let words = vec![
        "x",
        "c",
        "n",
        "a",
        "b",
        "k",
        "0",
        "1",
        "200",
        "99999999999999999999",
        "true",
        "p",
        "q",
        "*",
        "[",
        "]",
        "[*]",
        "[p]",
        "[p || q]",
        "(",
        ")",
        "{",
        "}",
        "{x := 1}",
        "{a[c] := x / c}",
        ":=",
        ",",
        "forall k: i8.",
        "∃k: int·",
        "forall k: bool.",
        ":",
        ".",
        "==",
        "!=",
        "<",
        "<=",
        "+",
        "-",
        "/",
        "%",
        "!",
        "¬",
        "&&",
        "∧",
        "||",
        "∨",
        "==>",
        "→",
        "<==>",
        "↔",
        "a[",
        "a[0]",
        "int",
        "é8",
        "𝔸",
        "\u{0}",
        "\"",
        "not",
        "and",
        "or",
        "exists",
    ];
    prop_oneof![
        9 => proptest::collection::vec(proptest::sample::select(words), 0..12).prop_map(|words| words.join(" ")),
        1 => any::<String>(),
        1 => (1..3000_usize, proptest::sample::select(vec!["(", "!", "[*]", "{x := 1}", "-", "forall k: bool. "]))
            .prop_map(|(times, word)| word.repeat(times) + "true"),
    ]
}
