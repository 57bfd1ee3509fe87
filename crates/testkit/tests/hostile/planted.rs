//! Commands that are wrong on purpose, in the ways in which they were wrong once. Each must be caught by as many programs as CI
//! looks at.

use mazurka::{Algorithm, NetKind, Options, Program, Verdict, quietly};
use mazurka_testkit::features::{Feature, features};
use mazurka_testkit::oracle::parse;
use mazurka_testkit::planted::forgets_idle;
use mazurka_testkit::{Limit, machine};

use crate::commands::{Command, quiet};
use crate::expected::{Stated, Unknown};
use crate::generators::Generator;
use crate::harness::Plant;
use crate::seen::{Proof, Seen};
use crate::tour::{Tour, first_caught, look};

/// How many programs of each generator a defect may take to be seen.
const PROGRAMS: u64 = 400;

fn caught(name: &str, only: &str, plant: &Plant) {
    let found = quiet(|| {
        let tours = [Generator::Swarm, Generator::Mutate].map(|generator| Tour {
            generator,
            first: 0,
            programs: PROGRAMS,
            stride: crate::STRIDE,
        });
        let mut tours = tours.iter();
        tours.find_map(|tour| first_caught(tour, only, plant))
    });
    match found {
        None => panic!("{name}: not caught within {PROGRAMS} programs of each generator"),
        Some((after, finding)) => println!("{name}: caught after {after} programs\n{finding}"),
    }
}

fn forget(seen: &mut Seen) {
    seen.failures.clear();
    seen.deadlock = false;
    seen.verdict = Verdict::Verified;
}

/// Defect 1: a child that ends at its birth in the first run is never run.
#[test]
fn a_process_left_out_of_the_preference_is_caught() {
    caught("idle processes", "explore optimal", &|_, text, seen| {
        let Ok(mut machine) = machine(text) else {
            return;
        };
        let Ok(summary) = forgets_idle(&mut machine, Limit::default()) else {
            return;
        };
        seen.counts.final_states = summary.final_states.len() as u64;
        seen.counts.deadlocks = summary.deadlocks.len() as u64;
        if summary.failures.is_empty() && summary.deadlocks.is_empty() {
            forget(seen);
        }
    });
}

/// Defect 2: a failure that is first met in a discarded test is dropped.
#[test]
fn a_failure_dropped_with_a_discarded_test_is_caught() {
    caught("discarded tests", "unfold contextual", &|_, text, seen| {
        let Ok(program) = Program::load("planted.maz", text, &[]) else {
            return;
        };
        let (options, seed) = (&Options::default(), 0);
        let mut first = None;
        let sink = &mut |number: u64, test: &mazurka::RunRecord| {
            if number == 1 {
                first = Some(test.run.ending);
            }
        };
        program.unfold_tests(NetKind::Contextual, seed, options, &mut quietly(), sink);
        if first == Some(mazurka::record::Ending::Discarded) && !seen.deadlock {
            forget(seen);
        }
    });
}

/// Defect 3: results over unknown initial values are compared as if they were the same.
#[test]
fn results_that_are_not_compared_are_caught() {
    caught("symbolic results", "explore source", &|_, text, seen| {
        let unknown = parse(text).is_ok_and(|p| Stated::of(&p, text).starts_anywhere);
        if unknown && seen.deterministic == Some(false) {
            seen.deterministic = Some(true);
        }
    });
}

/// Defect 4: a false `assume` on an input before the first step, beside a process that fails.
#[test]
fn an_internal_error_with_inputs_is_caught() {
    caught("inputs", "check", &|_, text, seen| {
        let used = features(text);
        let both = used.contains(&Feature::Input) && used.contains(&Feature::Assume);
        if both && !seen.failures.is_empty() {
            seen.wrong = Some("internal error: a failure does not come again".to_owned());
        }
    });
}

/// Defect 5: a process joins one that is not its child.
#[test]
fn an_internal_error_at_a_foreign_join_is_caught() {
    caught("foreign joins", "unfold replicated", &|_, text, seen| {
        if features(text).contains(&Feature::JoinOther) {
            seen.wrong = Some("internal error: no such child".to_owned());
        }
    });
}

/// Defect 6: everything follows from a `requires` that is false.
#[test]
fn a_proof_from_a_false_requires_is_caught() {
    caught("false requires", "prove", &|_, text, seen| {
        if let Err(Unknown::Impossible) = look(text) {
            seen.proof = Some(Proof {
                proved: true,
                refuted: false,
                deadlock_free: Some(true),
            });
        }
    });
}

/// Defect 6: `deadlock_free` says what was proved so far, also if the goal is open.
#[test]
fn freedom_from_deadlocks_of_an_open_goal_is_caught() {
    caught("open goals", "prove", &|_, _, seen| {
        if let Some(proof) = &mut seen.proof
            && !proof.proved
        {
            proof.deadlock_free = Some(true);
        }
    });
}

/// An engine that explores nothing would agree with everything that is verified.
#[test]
fn a_command_that_verifies_everything_is_caught() {
    for algorithm in Algorithm::ALL {
        let only = Command::Explore(*algorithm).name();
        caught(&only, &only, &|_, _, seen| forget(seen));
    }
}
