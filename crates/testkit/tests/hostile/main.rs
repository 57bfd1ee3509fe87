//! Compares every command with an oracle that shares nothing with the engines (docs/testing.md).

mod answer;
mod any_start;
mod commands;
mod expected;
mod generators;
mod harness;
mod judge;
mod kinds;
mod long;
mod metamorphic;
mod planted;
mod reach;
mod shrink;
mod tour;

use std::collections::BTreeMap;

use generators::Generator;
use metamorphic::{Change, difference};
use tour::{Tour, tour};

/// The distance between the seeds of a short run. It is coprime to the moduli by which seeds select
/// the programs for expensive commands.
const STRIDE: u64 = 53;

/// Returns the number of programs of a generator in every `cargo test`.
fn ci(generator: Generator) -> u64 {
    match generator {
        Generator::Tree => 60,
        Generator::Mutate => 100,
        Generator::Swarm => 200,
    }
}

/// Runs a few programs of a generator, always the same.
fn slice(generator: Generator) {
    let wanted = Tour {
        generator,
        first: 0,
        programs: ci(generator),
        stride: STRIDE,
    };
    let found = commands::quiet(|| tour(&wanted, &mut |_| ()));
    println!("{generator}: {found}");
    found.assert_right();
}

#[test]
fn commands_agree_on_programs_of_the_first_generator() {
    slice(Generator::Tree);
}

#[test]
fn commands_agree_on_mutated_programs() {
    slice(Generator::Mutate);
}

#[test]
fn commands_agree_on_swarms() {
    slice(Generator::Swarm);
}

/// Conditions that the embedded solver decides only within a range, or not at all. Values that it
/// did not find were once assumed not to exist.
#[test]
fn undecided_conditions_are_not_assumed_impossible() {
    let all = [
        "var x: int ensures x + x + x != 7500000000 process { skip }",
        "var x: int requires x % 2 == 1 && x % 2 == 0 ensures x == 4 process { skip }",
        "var x: int = 0 process { let a = input(int); assume a + a + a == 7500000000; error }",
        "var x: int requires x * 2 - 5 == 9000000001 ensures x < 0 process { skip }",
        "var w: int requires w / 4 == 0 && w / 4 == 1 process { skip }",
        "var x: int ensures x != x process { let a = input(int); assert a * 2 - 1 != 1563849963183 }",
        "var x: int = 0 lock k[1] process { let a = input(int); assume a + a >= 1795976226516 } process { unlock(k[x]) }",
        "process { let a = input(int); assert a * 7 != 4906614995898 }",
    ];
    for text in all {
        let fault = commands::quiet(|| tour::any_mistake(text));
        let wrong = fault.map(|fault| format!("{}: {}", fault.command, fault.what));
        assert_eq!(wrong, None, "{text}");
    }
}

/// Applies the changes of metamorphic.rs, which must not matter, to some programs of each
/// generator.
fn nothing_changes(first: u64, programs: u64, stride: u64) {
    let found = commands::quiet(|| {
        let mut applied: BTreeMap<String, u64> = BTreeMap::new();
        for generator in Generator::ALL {
            for seed in (0..programs).map(|at| first + at * stride) {
                let change = Change::ALL[(seed / 3 % 4) as usize];
                let Some(text) = generator.program(seed) else {
                    continue;
                };
                let Some(_) = change.apply(&text, seed) else {
                    continue;
                };
                *applied.entry(format!("{change:?}")).or_default() += 1;
                if difference(&text, change, seed).is_some() {
                    let same = |text: &str| difference(text, change, seed).is_some();
                    let small = shrink::shrink(&text, same);
                    let what = difference(&small, change, seed).unwrap_or_default();
                    return Err(format!("{generator}, seed {seed}: {small}\n{what}"));
                }
            }
        }
        Ok(applied)
    });
    match found {
        Err(what) => panic!("{what}"),
        Ok(applied) => {
            println!("changes made: {applied:?}");
            assert_eq!(applied.len(), 4, "every change was made");
        }
    }
}

#[test]
fn changes_that_must_not_matter_do_not() {
    nothing_changes(0, 40, STRIDE);
}

/// `.ci/long` calls this.
#[test]
#[ignore = "takes as long as its settings allow; see .ci/long"]
fn commands_agree_for_long() {
    let settings = long::LongRunSettings::by_environment();
    let total = long::long_run(&settings);
    total.print();
    assert_eq!(total.wrong(), 0, "programs that commands get wrong");
    if settings.programs >= 10_000 {
        assert_eq!(
            total.commands_without_answers(),
            [""; 0],
            "commands that never answer"
        );
        assert_eq!(total.missing(), [], "pairs of features without a violation");
    }
}

/// `.ci/long` calls this, too.
#[test]
#[ignore = "takes as long as its settings allow; see .ci/long"]
fn nothing_changes_for_long() {
    let settings = long::LongRunSettings::by_environment();
    nothing_changes(settings.seed, settings.programs, 1);
}

/// For work on a generator: `MAZURKA_PROGRAMS=20000 cargo test --profile long -p mazurka-testkit
/// --test hostile table_of_pairs -- --ignored --nocapture`
#[test]
#[ignore = "prints a table"]
fn table_of_pairs() {
    let total = long::table(&long::LongRunSettings::by_environment());
    total.print();
    assert!(
        total.missing().len() < 200,
        "the generators miss many pairs"
    );
}
