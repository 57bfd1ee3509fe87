//! Shared helpers of the tests.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use mazurka_abs::{Code, Machine, Settings, load};
use mazurka_core::Limits;
use mazurka_explore::{Algorithm, Findings, Goal, Search};

/// Returns a program of the corpus.
pub fn corpus(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/abs");
    std::fs::read_to_string(root.join(name).join("program.abs")).expect("a program")
}

pub fn code(source: &str, set: &[(&str, &str)]) -> Arc<Code> {
    let settings = Settings {
        constants: set
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect(),
        ..Settings::default()
    };
    match load(source, &settings) {
        Ok(code) => Arc::new(code),
        Err(mistakes) => panic!("{mistakes:#?}\n{source}"),
    }
}

pub fn machine(source: &str, set: &[(&str, &str)]) -> Machine {
    Machine::new(code(source, set), 1_000_000)
}

pub fn explore(machine: &mut Machine, algorithm: Algorithm, limits: &Limits) -> Findings {
    let mut watch = |_: &_| ControlFlow::Continue(());
    let search = Search {
        algorithm,
        limits: limits.clone(),
        goal: Goal::Everything,
    };
    search.run(machine, &mut watch, &mut ())
}
