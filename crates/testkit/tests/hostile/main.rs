//! Every command against an oracle that shares nothing with the engines (docs/testing.md).

mod commands;
mod expected;
mod generators;
mod harness;
mod judge;
mod reach;
mod seen;
mod shrink;
mod tour;

use generators::Generator;
use tour::{Tour, tour};

/// The programs of one generator, from a fixed seed.
fn slice(generator: Generator, first: u64, programs: u64) {
    let found = commands::quiet(|| {
        let wanted = Tour {
            generator,
            first,
            programs,
        };
        tour(&wanted, &mut |_| ())
    });
    println!("{found}");
    found.assert_right();
}

#[test]
fn commands_agree_on_programs_of_the_first_generator() {
    slice(Generator::Tree, 0, 100);
}

#[test]
fn commands_agree_on_mutated_programs() {
    slice(Generator::Mutate, 0, 150);
}

#[test]
fn commands_agree_on_swarms() {
    slice(Generator::Swarm, 0, 150);
}

/// `.ci/long` calls this; by hand: `MAZURKA_GENERATOR=swarm MAZURKA_SEED=7 MAZURKA_PROGRAMS=100 cargo test --profile long -p
/// mazurka-testkit --test hostile for_long -- --ignored --nocapture`
#[test]
#[ignore = "takes as long as it is told to; see .ci/long"]
fn commands_agree_for_long() {
    let told = |name: &str| std::env::var(name).ok();
    let number = |name: &str, unless: u64| told(name).and_then(|n| n.parse().ok()).unwrap_or(unless);
    let generator = told("MAZURKA_GENERATOR").and_then(|name| Generator::named(&name));
    slice(
        generator.unwrap_or(Generator::Swarm),
        number("MAZURKA_SEED", 0),
        number("MAZURKA_PROGRAMS", 1_000),
    );
}
