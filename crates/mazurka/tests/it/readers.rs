//! Tests damaged texts. To read a damaged program, record, checkpoint, certificate or proof, and to
//! continue from it, gives an answer or an error, never a panic.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{env, fs};

use mazurka::prove::{ProofFile, ProveOptions};
use mazurka::solving::SolverChoice;
use mazurka::{Algorithm, Limits, Options, Program, Verdict, quietly};
use proptest::prelude::*;

// Shared with the targets of cargo-fuzz.
#[path = "../../../../fuzz/src/lib.rs"]
mod fuzzed;

use fuzzed::files::{self, options, program};

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

/// Generates edits, most of which leave the text readable: digits replaced by digits.
fn edits() -> impl Strategy<Value = Vec<(usize, u8, char)>> {
    let with = prop_oneof![
        8 => proptest::char::range('0', '9'),
        1 => any::<char>(),
        2 => proptest::sample::select(vec!['"', '{', ']', ',', ':', '-', '.', ' ']),
    ];
    let kind = prop_oneof![1 => 0..3_u8, 9 => Just(3_u8)];
    proptest::collection::vec((any::<usize>(), kind, with), 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_damaged_record_is_refused_or_replayed(edits in edits()) {
        files::record(&damage(record(), &edits));
    }

    #[test]
    fn a_damaged_checkpoint_is_refused(edits in edits()) {
        let damaged = damage(checkpoint(), &edits);
        prop_assert_eq!(files::checkpoint(&damaged), damaged == checkpoint(), "{}", damaged);
    }

    #[test]
    fn a_damaged_certificate_is_refused_or_checked(edits in proptest::collection::vec(
        (any::<usize>(), any::<u8>(), any::<u8>()), 1..4,
    )) {
        let mut bytes = certificate().to_vec();
        for (place, what, with) in edits {
            let at = place % bytes.len().max(1);
            match what % 8 {
                0 => bytes.truncate(at),
                1 => bytes.insert(at.min(bytes.len()), with),
                _ if at < bytes.len() => bytes[at] = with,
                _ => {}
            }
        }
        // The check may accept or reject the bytes, but must end.
        files::certificate(&bytes);
    }

    #[test]
    fn a_damaged_proof_is_refused_or_the_same(edits in edits()) {
        let damaged = damage(&proof().1, &edits);
        prop_assert!(is_refused_or_the_same(&damaged), "{}", damaged);
    }

    #[test]
    fn every_text_is_read_or_refused_as_a_formula(text in formula()) {
        let program = files::proved();
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

/// Whether the checker refuses a text, or the text is the same proof as the original.
fn is_refused_or_the_same(text: &str) -> bool {
    let (proof, _) = proof();
    files::proof(text).is_none_or(|mut passes| {
        for (passes, proof) in passes.proofs.iter_mut().zip(&proof.proofs) {
            // The place of the program does not matter, but its identity does.
            passes.program = proof.program.clone();
        }
        passes == *proof
    })
}

/// Returns a record with a violation, as text.
fn record() -> &'static str {
    static RECORD: OnceLock<String> = OnceLock::new();
    RECORD.get_or_init(|| {
        let record = program().check(&options(), &mut quietly());
        let record = record.expect("a record");
        assert_eq!(record.verdict, Verdict::Violated);
        serde_json::to_string(&record).expect("records are JSON")
    })
}

/// Returns the checkpoint of a search after three executions.
fn checkpoint() -> &'static str {
    static CHECKPOINT: OnceLock<String> = OnceLock::new();
    CHECKPOINT.get_or_init(|| {
        let first = Options {
            limits: Limits {
                executions: Some(3),
                ..Limits::default()
            },
            ..options()
        };
        let cut = program().explore_from(None, Algorithm::Source, &first, &mut quietly());
        let (_, checkpoint) = cut.expect("a search");
        let checkpoint = checkpoint.expect("three executions are not all");
        checkpoint.text().expect("checkpoints are JSON")
    })
}

/// Returns a certificate that the checker accepts.
fn certificate() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        let source =
            "var x: int = 0 lock m process p (i in 0..2) { lock(m); x := x + 1; unlock(m) }";
        let program = Program::load("locked.maz", source, &[]).expect("a good program");
        let made = program.certify(&options(), &mut quietly());
        let bytes = made.expect("it is verified").certificate.to_bytes();
        assert!(files::certificate(&bytes));
        bytes
    })
}

/// Returns a proof and its text.
fn proof() -> &'static (ProofFile, String) {
    static PROOF: OnceLock<(ProofFile, String)> = OnceLock::new();
    PROOF.get_or_init(|| {
        let options = ProveOptions {
            solver: SolverChoice::Embedded.into(),
            ..ProveOptions::default()
        };
        let found = files::proved().prove(&[], &options, &mut quietly());
        let (record, proof) = found.expect("a proof");
        assert_eq!(record.record.verdict, Verdict::Verified);
        let text = serde_json::to_string(&proof).expect("proofs are JSON");
        (proof, text)
    })
}

/// A fixed sequence of pseudo-random numbers (splitmix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n.max(1) as u64) as usize
    }
}

/// Splits a text into words, signs and blanks.
fn tokens(text: &str) -> Vec<&str> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut rest = text;
    let mut all = Vec::new();
    while let Some(first) = rest.chars().next() {
        let ends = |&(_, c): &(usize, char)| !(word(first) && word(c));
        let end = rest.char_indices().skip(1).find(ends);
        let (token, more) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
        all.push(token);
        rest = more;
    }
    all
}

/// Returns the text with a few of its tokens omitted, doubled, exchanged, replaced, or cut off.
fn mutant(text: &str, dice: &mut Dice) -> String {
    const STRANGE: &[&str] = &[
        "0",
        "-1",
        "300",
        "9223372036854775808",
        "18446744073709551616",
        "",
        "\u{0}",
        "é",
        "𝔸",
        "\"",
        "/*",
        "//",
        "(",
        "]",
        "{",
        "..",
        "true",
        "null",
        "[",
        "}",
    ];
    let mut all = tokens(text);
    for _ in 0..=dice.below(4) {
        let (at, other) = (dice.below(all.len()), dice.below(all.len()));
        match dice.below(12) {
            _ if all.is_empty() => {}
            0 => all.truncate(at),
            1 | 2 => drop(all.remove(at)),
            3 | 4 => all.insert(other, all[at]),
            5 | 6 => all.swap(at, other),
            7..=9 => all[at] = all[other],
            _ => all[at] = STRANGE[dice.below(STRANGE.len())],
        }
    }
    all.concat()
}

/// Returns `MAZURKA_CASES`, or a default that takes a second or two.
fn cases(usually: usize) -> usize {
    let number = env::var("MAZURKA_CASES").ok();
    number.and_then(|n| n.parse().ok()).unwrap_or(usually)
}

/// Passes mutants of each text to a function. Returns the numbers of accepted and rejected mutants.
fn slice(texts: &[String], each: usize, read: impl Fn(&str) -> bool) -> (usize, usize) {
    let mut dice = Dice(1);
    let mutants = texts.iter().flat_map(|text| vec![text; cases(each)]);
    let taken: Vec<bool> = mutants.map(|text| read(&mutant(text, &mut dice))).collect();
    let good = taken.iter().filter(|&&taken| taken).count();
    (good, taken.len() - good)
}

/// Returns the programs with this extension in the corpus and the examples.
fn programs(ending: &str) -> Vec<String> {
    fn walk(folder: PathBuf, ending: &str, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                walk(path, ending, found);
            } else if path.extension().is_some_and(|e| e == ending) {
                found.push(path);
            }
        }
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(2).expect("the workspace");
    let mut paths = Vec::new();
    walk(root.join("corpus"), ending, &mut paths);
    walk(root.join("examples"), ending, &mut paths);
    paths.sort();
    let texts = paths.iter().map(fs::read_to_string);
    texts.map(|text| text.expect("a program")).collect()
}

#[test]
fn tokens_are_the_whole_text() {
    assert_eq!(tokens("x_1:=é+ 2"), ["x_1", ":", "=", "é", "+", " ", "2"]);
    assert_eq!(tokens(""), [""; 0]);
}

#[test]
fn mutants_of_maz_programs_are_read_or_refused() {
    let (good, bad) = slice(&programs("maz"), 20, fuzzed::maz::read);
    assert!(good > 100 && bad > 100, "{good} programs, {bad} others");
}

#[test]
fn mutants_of_abs_programs_are_read_or_refused() {
    let (good, bad) = slice(&programs("abs"), 100, fuzzed::abs::read);
    assert!(good > 100 && bad > 100, "{good} programs, {bad} others");
}

#[test]
fn mutants_of_a_record_are_replayed_or_refused() {
    let (good, bad) = slice(&[record().to_owned()], 1000, files::record);
    assert!(good > 20 && bad > 20, "{good} records, {bad} others");
}

#[test]
fn mutants_of_a_checkpoint_are_refused() {
    let unchanged = |text: &str| {
        let taken = files::checkpoint(text);
        assert_eq!(taken, text == checkpoint(), "{text}");
        taken
    };
    let (_, bad) = slice(&[checkpoint().to_owned()], 1000, unchanged);
    assert!(bad > 500, "{bad} others");
    assert!(files::checkpoint(checkpoint()));
}

#[test]
fn mutants_of_a_proof_are_refused() {
    let refused = |text: &str| {
        assert!(is_refused_or_the_same(text), "{text}");
        files::proof(text).is_some()
    };
    let (_, bad) = slice(&[proof().1.clone()], 500, refused);
    assert!(bad > 100, "{bad} others");
    assert!(files::proof(&proof().1).is_some());
}

/// Generates words of formulas, roughly in the order of the grammar.
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
