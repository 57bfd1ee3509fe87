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
