//! Compiled programs of the corpus, and exhaustive searches without the additional work of a
//! command.

use std::sync::Arc;

use mazurka::{Algorithm, Limits, quietly};
use mazurka_core::Counts;
use mazurka_explore::{Goal, Search};
use mazurka_lang::{Code, Machine, Setting};

macro_rules! corpus {
    ($($name:literal),*) => {
        &[$(($name, include_str!(concat!("../../../../corpus/maz/", $name, "/program.maz")))),*]
    };
}

const CORPUS: &[(&str, &str)] = corpus!("writers", "readers", "fib", "lastzero", "philosophers");

/// Compiles a program with a size.
pub fn program(name: &str, size: u64) -> Arc<Code> {
    let found = CORPUS.iter().find(|(known, _)| *known == name);
    let (_, text) = found.expect("a program of the corpus");
    let setting = Setting {
        name: "N".to_owned(),
        value: size.to_string(),
    };
    let checked = mazurka_lang::load(text, &[setting]).expect("a right program");
    Arc::new(mazurka_lang::compile(&checked, text).expect("a program that can be explored"))
}

/// Explores the whole program with one worker.
pub fn search(code: &Arc<Code>, algorithm: Algorithm) -> Counts {
    let limits = Limits::default();
    let mut machine = Machine::new(Arc::clone(code), limits.local);
    let goal = Goal::Everything;
    let search = Search {
        algorithm,
        limits,
        goal,
    };
    let found = search.run(&mut machine, &mut quietly(), &mut ());
    found.counts
}
