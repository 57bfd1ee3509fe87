//! Tests Table 2 of the paper on context-sensitive DPOR: the numbers of executions and of stored
//! states, for the algorithm as printed and for the one implemented here. docs/context.md has the
//! figures of the paper.

use std::path::Path;

use mazurka::search::Variant;
use mazurka::{Algorithm, Options, Program, quietly};

const OURS: Variant = Variant::BEST;
const PRINTED: Variant = Variant {
    paper: true,
    ..Variant::BEST
};

/// Returns the variant without the second optimisation, or without both.
fn less(variant: Variant, anticipate: bool) -> Variant {
    Variant {
        anticipate,
        guide: false,
        ..variant
    }
}

/// Returns the number of executions and the maximal number of stored states.
fn counts(name: &str, set: (&str, &str), algorithm: Algorithm) -> (u64, u64) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/abs");
    let source = std::fs::read_to_string(corpus.join(name).join("program.abs")).expect("a file");
    let set = [(set.0.to_owned(), set.1.to_owned())];
    let program = Program::load("program.abs", &source, &set).expect("a right program");
    let record = program.explore(algorithm, &Options::default(), &mut quietly());
    let record = record.expect("a record");
    let stored = record.counts.stored_states.unwrap_or(0);
    (record.counts.executions, stored)
}

#[test]
fn table_2() {
    let nine = "list[5, 3, 8, 1, 9, 2, 7, 4, 6]";
    let twelve = "list[5, 3, 8, 1, 9, 2, 7, 4, 6, 12, 10, 15]";
    let rows = [
        ("fib", ("n", "5"), 128, [1, 1, 1], 7),
        ("fib", ("n", "6"), 4096, [1, 1, 1], 12),
        ("qsort", ("input", nine), 512, [1, 1, 1], 9),
        ("qsort", ("input", twelve), 4096, [1, 1, 1], 12),
        ("msort", ("input", nine), 256, [1, 1, 1], 8),
        ("msort", ("input", twelve), 2048, [1, 1, 1], 11),
        ("pi", ("workers", "5"), 120, [16, 16, 16], 10),
        ("pi", ("workers", "6"), 720, [61, 61, 61], 15),
        ("psort", ("n", "4"), 288, [10, 10, 11], 8),
        ("registration", ("clients", "4"), 384, [8, 8, 1], 7),
        ("registration", ("clients", "5"), 3840, [26, 16, 1], 11),
    ];
    for (name, set, source, printed, stored) in rows {
        let of = |algorithm| counts(name, set, algorithm);
        assert_eq!(of(Algorithm::Source).0, source, "{name} {set:?}");
        let variants = [less(PRINTED, false), less(PRINTED, true), PRINTED];
        let found = variants.map(|variant| of(Algorithm::Context(variant)).0);
        assert_eq!(found, printed, "{name} {set:?}");
        let found = of(Algorithm::Context(OURS));
        assert_eq!(found, (1, stored), "{name} {set:?}");
    }
}
