//! Searches for a program that an engine gets wrong.

use mazurka_lang::Machine;

use crate::brute::Limit;
use crate::compare::{Aspect, Comparison, compare};
use crate::config::Config;
use crate::generate::generate;
use crate::record::{Dependence, Summary};
use crate::shrink::shrink;
use crate::tree::Program;

/// Where to search and what to compare.
#[derive(Clone, Debug)]
pub struct Hunt {
    /// The features and size of the programs.
    pub config: Config,
    /// The bounds on brute force.
    pub limit: Limit,
    /// The aspects in which engine and brute force must agree.
    pub aspects: &'static [Aspect],
    /// Which accesses decide whether two steps are dependent.
    pub dependence: Dependence,
    /// The first seed.
    pub first: u64,
    /// Number of programs to try.
    pub programs: u64,
}

impl Default for Hunt {
    fn default() -> Self {
        Self {
            config: Config::default(),
            limit: Limit::default(),
            aspects: Aspect::ALL,
            dependence: Dependence::default(),
            first: 0,
            programs: 5_000,
        }
    }
}

/// A program that an engine gets wrong.
#[derive(Clone, Debug)]
pub struct WrongProgram {
    /// Its seed.
    pub seed: u64,
    /// Number of programs that were tried, including this one.
    pub after: u64,
    /// The program.
    pub program: Program,
    /// A smaller program with the same mistake.
    pub shrunk: Program,
    /// The mistake that the engine makes on the smaller program.
    pub difference: String,
}

/// Tries an engine on random programs and shrinks the first that it gets wrong.
pub fn hunt(hunt: &Hunt, engine: impl Fn(&mut Machine) -> Summary) -> Option<WrongProgram> {
    let try_out = |program: &Program| {
        let text = program.to_string();
        match compare(&text, hunt.limit, hunt.dependence, hunt.aspects, &engine) {
            Comparison::Differ(difference) => Some(difference),
            Comparison::Agree | Comparison::Skipped(_) => None,
        }
    };
    for after in 1..=hunt.programs {
        let seed = hunt.first + after - 1;
        let program = generate(seed, &hunt.config);
        if try_out(&program).is_some() {
            let shrunk = shrink(program.clone(), |program| try_out(program).is_some());
            let difference = try_out(&shrunk).unwrap_or_default();
            return Some(WrongProgram {
                seed,
                after,
                program,
                shrunk,
                difference,
            });
        }
    }
    None
}

/// Tries random programs. Panics at the first one for which `wrong` returns an error, with a shrunk
/// program.
pub fn assert_right(
    seeds: std::ops::Range<u64>,
    config: &Config,
    wrong: impl Fn(&str) -> Option<String>,
) {
    let what = |program: &Program| wrong(&program.to_string());
    for seed in seeds {
        let program = generate(seed, config);
        if what(&program).is_some() {
            let small = shrink(program, |p| what(p).is_some());
            panic!("seed {seed}: {}\n{small}", what(&small).unwrap_or_default());
        }
    }
}
