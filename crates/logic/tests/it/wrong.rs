//! Tests programs with wrong invariants, interference, and other attempts to deceive the calculus.
//! No goal of a program in `tests/wrong` may have a proof, with or without reduction. If a program
//! states no goal, brute force must confirm that it is wrong.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::common::{checked, options, search};
use mazurka_lang::Machine;
use mazurka_logic::Options;
use mazurka_testkit::{Dependence, Limit, naive};

/// Whether brute force finds a failure or a deadlock; `None` if initial values are unknown or there
/// are too many runs.
fn is_wrong(source: &str) -> Option<bool> {
    let program = mazurka_lang::load(source, &[]).ok()?;
    let code = mazurka_lang::compile(&program, source).ok()?;
    let mut machine = Machine::new(Arc::new(code), 1_000_000);
    let found = naive(&mut machine, Limit::default(), Dependence::Claimed).ok()?;
    Some(!found.failures.is_empty() || !found.deadlocks.is_empty())
}

#[test]
fn wrong_goals_have_no_proof() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wrong");
    let (mut goals, mut confirmed, mut defects) = (0, 0, Vec::new());
    for entry in fs::read_dir(folder).expect("the folder") {
        let path = entry.expect("a file").path();
        let source = fs::read_to_string(&path).expect("a program");
        let program = mazurka_lang::load(&source, &[]).expect("a good program");
        let name = path.display();
        let mut wanted: Vec<Option<&str>> = Vec::new();
        wanted.extend(program.goals.iter().map(|goal| Some(goal.formula.as_str())));
        let endless = name.to_string().contains("endless");
        if wanted.is_empty() {
            wanted.push(None);
            if !endless {
                confirmed += 1;
                if is_wrong(&source) != Some(true) {
                    defects.push(format!("{name} is not wrong"));
                }
            }
        }
        for goal in wanted {
            for reduce in [true, false] {
                goals += 1;
                let options = Options {
                    reduce,
                    ..options()
                };
                if proved(&source, goal, &options) {
                    defects.push(format!("{name} is proved: {goal:?}"));
                }
            }
        }
    }
    assert!(defects.is_empty(), "{}", defects.join("\n"));
    assert!(goals >= 90 && confirmed >= 18, "{goals} {confirmed}");
}

/// Whether there is a proof. The checker must agree.
fn proved(source: &str, goal: Option<&str>, options: &Options) -> bool {
    let found = search(source, goal, options);
    let closed = found.proof.is_closed();
    assert_eq!(checked(source, goal, &found.proof), closed, "{source}");
    closed
}
