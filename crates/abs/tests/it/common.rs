//! What the tests share.

use std::ops::ControlFlow;
use std::sync::Arc;

use mazurka_abs::{Machine, Settings, load};
use mazurka_core::Limits;
use mazurka_explore::{Algorithm, Findings, Goal, Search};

pub fn machine(source: &str, set: &[(&str, &str)]) -> Machine {
    let settings = Settings {
        constants: set
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect(),
        ..Settings::default()
    };
    match load(source, &settings) {
        Ok(code) => Machine::new(Arc::new(code), 1_000_000),
        Err(mistakes) => panic!("{mistakes:#?}\n{source}"),
    }
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
