//! The litmus tests of the corpus: exact numbers of executions. They equal the numbers of the same
//! programs written as instructions (`figures.rs`).

use std::path::Path;
use std::sync::Arc;

use mazurka_core::Limits;
use mazurka_lang::{Code, Machine, Setting, compile, load};
use mazurka_memory::{Counts, Memory, Threads, explore};

const MAX_LOCAL: u64 = 10_000;

/// Returns a program of the corpus, with a value for its constant N, if one is given.
fn code(name: &str, size: Option<u32>) -> Arc<Code> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/litmus");
    let source = std::fs::read_to_string(path.join(format!("{name}.maz"))).expect("a file");
    let setting = |size: u32| Setting {
        name: "N".to_owned(),
        value: size.to_string(),
    };
    let settings: Vec<Setting> = size.map(setting).into_iter().collect();
    let program =
        load(&source, &settings).unwrap_or_else(|mistakes| panic!("{name}: {mistakes:?}"));
    let code = compile(&program, &source).expect("code");
    code.accesses_are_steps()
        .unwrap_or_else(|why| panic!("{name}: {why}"));
    Arc::new(code)
}

fn counts_of(code: &Arc<Code>, memory: Memory) -> Counts {
    let machine = || Machine::new(code.clone(), MAX_LOCAL);
    let apart = explore(Threads::<_, true>::new(machine), memory, &Limits::default());
    let together = explore(
        Threads::<_, false>::new(machine),
        memory,
        &Limits::default(),
    );
    assert!(apart.is_exhaustive() && together.is_exhaustive());
    assert_eq!(apart.counts, together.counts);
    apart.counts
}

#[track_caller]
fn check(name: &str, size: Option<u32>, expected: [u64; 2]) {
    let code = code(name, size);
    let found = [Memory::Rc11, Memory::Sc].map(|memory| {
        let counts = counts_of(&code, memory);
        assert_eq!(counts.executions(), counts.complete, "{name}: {counts:?}");
        counts.complete
    });
    assert_eq!(found, expected, "{name}");
}

#[test]
fn litmus_tests_have_their_executions() {
    for (name, expected) in [
        ("sb-relaxed", [4, 3]),
        ("sb-release-acquire", [4, 3]),
        ("sb-seq-cst", [3, 3]),
        ("sb-fences", [3, 3]),
        ("lb", [3, 3]),
        ("mp-relaxed", [4, 3]),
        ("mp-release-acquire", [3, 3]),
        ("mp-fences", [3, 3]),
        ("mp-overwritten", [5, 4]),
        ("mp-release-sequence", [9, 9]),
        ("2+2w-relaxed", [4, 3]),
        ("2+2w-seq-cst", [3, 3]),
        ("corr", [72, 72]),
        ("iriw-acquire", [16, 15]),
        ("iriw-seq-cst", [15, 15]),
        ("wrc", [8, 7]),
        ("isa2-release-acquire", [7, 7]),
        ("isa2-relaxed", [8, 7]),
        ("z6-u", [22, 18]),
        ("ww-merge", [17, 15]),
        ("sb-rfis", [4, 3]),
    ] {
        check(name, None, expected);
    }
}

#[test]
fn families_have_their_executions() {
    for (size, executions) in (2..=7).zip([2, 6, 24, 120, 720, 5040]) {
        check("ainc", Some(size), [executions; 2]);
        check("lockinc", Some(size), [executions; 2]);
    }
    for (size, executions) in [(2, 4), (3, 36), (4, 576)] {
        check("inc", Some(size), [executions; 2]);
    }
    for (size, executions) in (2..=9).zip([5, 13, 33, 81, 193, 449, 1025, 2305]) {
        check("wcas", Some(size), [executions; 2]);
    }
    for size in 1..=8 {
        check("readers", Some(size), [1 << size; 2]);
    }
    check("indexer", Some(12), [8; 2]);
    check("indexer", Some(15), [4096; 2]);
    check("lastzero", Some(5), [64; 2]);
    check("lastzero", Some(10), [3328; 2]);
    for (size, executions) in [(2, [20, 19]), (3, [175, 141]), (4, [1764, 1107])] {
        check("fib", Some(size), executions);
    }
}

#[test]
#[ignore = "long: half a million executions, each four times"]
fn long_figures() {
    check("lastzero", Some(15), [147_456; 2]);
    check("fib-bench", Some(5), [525_630, 218_243]);
}

/// Two threads acquire two locks in opposite orders. Each model has the same executions.
#[test]
fn locks_in_opposite_orders() {
    let code = code("abba", None);
    for memory in Memory::ALL {
        let counts = counts_of(&code, memory);
        assert_eq!((counts.complete, counts.deadlocks), (2, 1), "{memory}");
        assert_eq!(counts.executions(), 3, "{memory}: none is blocked");
    }
}

#[test]
fn awaits_that_are_stuck() {
    let code = code("await-stuck", None);
    for memory in Memory::ALL {
        let counts = counts_of(&code, memory);
        assert_eq!((counts.complete, counts.deadlocks), (2, 2), "{memory}");
    }
}

#[test]
fn a_choice_beside_a_revisit() {
    check("choice", None, [4; 2]);
}

#[test]
fn peterson_needs_more_than_release_and_acquire() {
    let code = code("peterson", None);
    let counts = [Memory::Rc11, Memory::Sc].map(|memory| counts_of(&code, memory));
    let found = counts.map(|counts| (counts.complete, counts.discarded));
    assert_eq!(found, [(22, 8), (4, 6)]);
}

/// A message races unless both sides order it: by stores and loads, fences, or updates.
#[test]
fn messages_race_unless_both_sides_order_them() {
    let raised = [
        (true, "flag.store(1, release)"),
        (true, "fence(release); flag.store(1, relaxed)"),
        (true, "let u = flag.fetch_add(1, release)"),
        (false, "flag.store(1, relaxed)"),
        (false, "flag.store(1, relaxed); fence(release)"),
        (false, "let u = flag.fetch_add(1, acquire)"),
    ];
    let seen = [
        (true, "let s = flag.load(acquire)"),
        (true, "let s = flag.load(relaxed); fence(acquire)"),
        (true, "let s = flag.swap(2, acq_rel)"),
        (false, "let s = flag.load(relaxed)"),
        (false, "fence(acquire); let s = flag.load(relaxed)"),
        (false, "let s = flag.swap(2, release)"),
    ];
    for (releases, raise) in raised {
        for (acquires, sees) in seen {
            let source = format!(
                "atomicity access
                 var data: int = 0  var flag: atomic int = 0
                 process {{ data := 42; {raise} }}
                 process {{ {sees}; if s == 1 {{ let d = data; assert d == 42 }} }}"
            );
            let program = load(&source, &[]).unwrap_or_else(|it| panic!("{source}: {it:?}"));
            let code = Arc::new(compile(&program, &source).expect("code"));
            let races = counts_of(&code, Memory::Rc11).races;
            assert_eq!(races == 0, releases && acquires, "{raise} | {sees}");
            for memory in [Memory::Ra, Memory::Tso, Memory::Sc] {
                assert_eq!(
                    counts_of(&code, memory).races,
                    0,
                    "{memory}: {raise} | {sees}"
                );
            }
        }
    }
}
