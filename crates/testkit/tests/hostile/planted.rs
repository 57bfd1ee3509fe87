//! Planted defects of commands, which Mazurka once had. Half of the programs that CI tries must be
//! enough to catch each of them.

use std::collections::BTreeMap;

use mazurka::record::{Ending, Run};
use mazurka::run::RunRecord;
use mazurka::unfold::Unfold;
use mazurka::{Algorithm, Options, Program, Verdict, quietly};
use mazurka_testkit::features::{Feature, features};
use mazurka_testkit::oracle::ast::{Expr, Init, ItemKind, Kind, Stmt};
use mazurka_testkit::oracle::parse;
use mazurka_testkit::planted::{forgets_idle, idle_in_first_run};
use mazurka_testkit::{Dependence, Limit, machine, naive};

use crate::answer::{CommandAnswer, Proof};
use crate::commands::{Command, quiet};
use crate::expected::{Stated, Unknown};
use crate::generators::Generator;
use crate::harness::Plant;
use crate::tour::{Tour, expected_by_oracle, first_caught};
use crate::{STRIDE, ci};

/// Tries the first half of the programs of CI, one generator after the other.
fn caught(name: &str, only: &str, plant: &Plant) {
    let found = quiet(|| {
        let all = [Generator::Swarm, Generator::Mutate, Generator::Tree];
        all.into_iter().find_map(|generator| {
            let tour = Tour {
                generator,
                first: 0,
                programs: ci(generator) / 2,
                stride: STRIDE,
            };
            Some((generator, first_caught(&tour, only, plant)?))
        })
    });
    let Some((generator, (after, finding))) = found else {
        panic!("{name}: not caught by half of the programs of CI");
    };
    let total = ci(generator);
    println!("{name}: caught after {after} programs total {total} total {generator}\n{finding}");
    assert!(after * 2 <= total);
}

fn remove_results(answer: &mut CommandAnswer) {
    answer.failures.clear();
    answer.deadlock = false;
    answer.verdict = Verdict::Verified;
}

/// Defect 1: a child that makes no step in the first run is never run.
#[test]
fn a_process_left_out_of_the_preference_is_caught() {
    caught("idle processes", "explore optimal", &|_, text, answer| {
        let Ok(mut machine) = machine(text) else {
            return;
        };
        let Ok(all) = naive(&mut machine, Limit::default(), Dependence::Claimed) else {
            return;
        };
        let idle = idle_in_first_run(&mut machine);
        let some = forgets_idle(&mut machine, &idle);
        // Remove what the wrong engine misses from the answer.
        let counts = &mut answer.counts;
        let lost = all.traces.difference(&some.traces).count() as u64;
        counts.traces = counts.traces.map(|traces| traces - lost);
        counts.final_states -= all.final_states.difference(&some.final_states).count() as u64;
        counts.deadlocks -= all.deadlocks.difference(&some.deadlocks).count() as u64;
        if some.failures.is_empty() && some.deadlocks.is_empty() {
            remove_results(answer);
        }
    });
}

/// Returns the failing steps of a run.
fn failing(run: &Run) -> impl Iterator<Item = (String, usize, String)> {
    let steps = run.steps.iter();
    steps.filter_map(|step| {
        let what = step
            .mishap
            .clone()
            .filter(|what| !what.starts_with("assumption"))?;
        Some((step.process.clone(), step.line, what))
    })
}

/// Defect 2: a failure that first occurs in a discarded test is lost, because later tests do not
/// report it again.
#[test]
fn a_failure_dropped_with_a_discarded_test_is_caught() {
    caught("discarded tests", "unfold", &|command, text, answer| {
        let (Command::Unfold(kind, seed), Ok(program)) =
            (command, Program::load("planted.maz", text, &[]))
        else {
            return;
        };
        let mut reported: BTreeMap<_, bool> = BTreeMap::new();
        let sink = &mut |_: u64, test: &RunRecord| {
            for step in failing(&test.run) {
                let counts = test.run.ending != Ending::Discarded;
                reported.entry(step).or_insert(counts);
            }
        };
        let (kind, seed) = (*kind, *seed);
        program
            .unfold_tests(
                Unfold { kind, seed },
                &Options::default(),
                &mut quietly(),
                sink,
            )
            .expect("a record");
        if !reported.is_empty() && reported.values().all(|reported| !reported) && !answer.deadlock {
            remove_results(answer);
        }
    });
}

/// Defect 3: results over unknown initial values are compared as if they were the same.
#[test]
fn results_that_are_not_compared_are_caught() {
    caught("symbolic results", "explore", &|_, text, answer| {
        let unknown = parse(text).is_ok_and(|p| Stated::new(&p, text).starts_anywhere);
        if unknown && answer.deterministic == Some(false) {
            answer.deterministic = Some(true);
        }
    });
}

/// Whether a process asks for an input and constrains it by `assume` before it touches anything
/// shared.
fn assumes_first(text: &str) -> bool {
    let Ok(program) = parse(text) else {
        return false;
    };
    let starts = |body: &[Stmt]| {
        let is_input = |kind: &Kind| matches!(kind, Kind::Let(.., Init::One(Expr::Input(_))));
        let mut rest = body.iter().skip_while(|stmt| is_input(&stmt.kind));
        let has_input = body.first().is_some_and(|stmt| is_input(&stmt.kind));
        has_input && matches!(rest.next().map(|stmt| &stmt.kind), Some(Kind::Assume(_)))
    };
    let mut items = program.items.iter();
    items.any(|item| matches!(&item.kind, ItemKind::Process(.., body) if starts(body)))
}

/// Defect 4: an internal error in programs with an input that an `assume` before the first step
/// constrains, beside a process that fails. The engine searched for the failure in a run without
/// steps.
#[test]
fn an_internal_error_with_inputs_is_caught() {
    caught("inputs", "check", &|_, text, answer| {
        if assumes_first(text) && !answer.failures.is_empty() {
            panic!("a failure does not come again");
        }
    });
}

/// Defect 5: nets searched for a joined process among the children, but it need not be a child.
#[test]
fn an_internal_error_at_a_foreign_join_is_caught() {
    for command in ["unfold", "reach"] {
        caught("foreign joins", command, &|_, text, _| {
            if features(text).contains(&Feature::JoinOther) {
                panic!("no such child");
            }
        });
    }
}

/// Defect 6: a false `requires` proves everything.
#[test]
fn a_proof_from_a_false_requires_is_caught() {
    caught("false requires", "prove", &|_, text, answer| {
        if let Err(Unknown::Impossible { .. }) = expected_by_oracle(text) {
            answer.proof = Some(Proof {
                proved: true,
                refuted: false,
                deadlock_free: Some(true),
            });
        }
    });
}

/// Defect 6 in another form: `deadlock_free` reports the result so far as final, although the goal
/// is open.
#[test]
fn freedom_from_deadlocks_of_an_open_goal_is_caught() {
    caught("open goals", "prove", &|_, _, answer| {
        if let Some(proof) = &mut answer.proof
            && !proof.proved
        {
            proof.deadlock_free = Some(true);
        }
    });
}

/// Whether the text has numbers beyond the range of the embedded solver.
fn large_numbers(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_ascii_digit());
    words
        .filter_map(|word| word.parse::<u64>().ok())
        .any(|number| number > 1 << 31)
}

/// Defect: the embedded solver decides `int` within a few bits, and values beyond are assumed not
/// to exist.
#[test]
fn answers_within_a_range_taken_for_all_are_caught() {
    for command in ["check", "explore", "symbolic", "unfold"] {
        caught("within a range", command, &|_, text, answer| {
            if large_numbers(text) {
                remove_results(answer);
                answer.bounds.clear();
            }
        });
    }
    caught("within a range", "prove", &|_, text, answer| {
        if let Some(proof) = &mut answer.proof
            && large_numbers(text)
        {
            (proof.proved, proof.refuted) = (true, false);
        }
    });
}

/// A further defect: an engine that explores nothing, and so is right about every verified program.
#[test]
fn a_command_that_verifies_everything_is_caught() {
    for algorithm in Algorithm::ALL {
        let only = Command::Explore(*algorithm).name();
        caught(&only, &only, &|_, _, answer| remove_results(answer));
    }
}
