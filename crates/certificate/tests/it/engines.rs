//! Tests the trees of engines: trees of correct engines are accepted or can be completed, and trees
//! of engines that lose executions are rejected.

use std::ops::ControlFlow;

use mazurka_certificate::{Certificate, Facts, Rejected, Tree};
use mazurka_core::{Execution, Limits};
use mazurka_explore::{Algorithm, Goal, Observer, Search, Variant};
use mazurka_lang::Machine;
use mazurka_testkit::planted::{self, Switches};
use mazurka_testkit::{Config, Hunt, Summary, generate, hunt};

use crate::random::{fault, programs, truth};
use crate::recorder::{TreeRecorder, certificate};

/// An observer that records the tree of an engine.
struct RecordingObserver(Tree);

impl Observer<Machine> for RecordingObserver {
    fn start(&mut self, program: &Machine) {
        self.0 = Tree::new(program.code().program().processes.len() as u32);
    }
    fn pushed(&mut self, program: &Machine) {
        if let Some(event) = program.events().last() {
            let outcomes: Vec<i64> = event.outcomes.iter().map(|one| one.value).collect();
            let spawned: Vec<u32> = event.spawned.iter().map(|child| child.0).collect();
            self.0.step(event.process.0, &outcomes, &spawned);
        }
    }
    fn popping(&mut self, _: &Machine) {
        self.0.back();
    }
}

/// Returns the tree of an engine.
fn explored(text: &str, algorithm: Algorithm) -> Certificate {
    let mut program = mazurka_testkit::machine(text).expect("a program");
    let search = Search {
        algorithm,
        limits: Limits::default(),
        goal: Goal::Everything,
    };
    let mut observer = RecordingObserver(Tree::new(0));
    search.run(
        &mut program,
        &mut |_| ControlFlow::Continue(()),
        &mut observer,
    );
    certificate(text, observer.0)
}

fn text(seed: u64) -> String {
    generate(seed, &Config::default()).to_string()
}

/// Returns the result of the checker for the tree of a search; `None` if the checker cannot handle
/// the program.
fn checked(text: &str, search: impl FnOnce(&mut TreeRecorder)) -> Option<Result<Facts, Rejected>> {
    let mut recorder = TreeRecorder::new(text)?;
    search(&mut recorder);
    match recorder.certificate(text).check(&mut || true) {
        Err(Rejected::Beyond(_)) => None,
        checked => Some(checked),
    }
}

#[test]
fn trees_of_right_engines_are_accepted_or_mended() {
    for algorithm in [Algorithm::Source, Algorithm::Optimal, Algorithm::Sleep] {
        let (mut accepted, mut mended) = (0, 0);
        for seed in 0..programs(300) {
            let text = text(seed);
            let Some(truth) = truth(&text) else { continue };
            let certificate = explored(&text, algorithm);
            match certificate.check(&mut || true) {
                Err(Rejected::Beyond(_)) => {}
                Ok(facts) => {
                    assert_eq!(
                        fault(&facts, &truth),
                        None,
                        "seed {seed}, {algorithm}\n{text}"
                    );
                    accepted += 1;
                }
                Err(Rejected::Tree(_)) => {
                    let whole = certificate.mend(&mut || true);
                    let whole = whole.unwrap_or_else(|why| panic!("seed {seed}: {why}\n{text}"));
                    assert!(
                        whole.missing + whole.superfluous > 0,
                        "seed {seed}, {algorithm}"
                    );
                    assert_eq!(fault(&whole.facts, &truth), None, "seed {seed}\n{text}");
                    assert_eq!(whole.certificate.check(&mut || true), Ok(whole.facts));
                    mended += 1;
                }
                Err(why) => panic!("seed {seed}, {algorithm}: {why}\n{text}"),
            }
        }
        println!("{algorithm}: {accepted} accepted, {mended} mended");
        assert!(accepted > 10 * mended, "{algorithm}: {accepted}, {mended}");
    }
}

fn planted(change: impl Fn(&mut Switches)) -> Switches {
    let mut switches = Switches::default();
    change(&mut switches);
    switches
}

/// Whether an engine with a planted mistake gives a wrong result for a program, and the checker
/// rejects its tree.
fn exposed(name: &str, switches: Switches, text: &str) -> bool {
    let Some(truth) = truth(text) else {
        return false;
    };
    let mut found = Summary::default();
    let search = |program: &mut TreeRecorder| found = planted::source(program, switches);
    let Some(checked) = checked(text, search) else {
        return false;
    };
    let complete = found.traces.is_superset(&truth.traces) && found.failures == truth.failures;
    match checked {
        Err(_) => !complete,
        // The facts of an accepted tree must be the truth. Only the number of traces may differ
        // from that of the engine, whose claims may be coarser.
        Ok(facts) => {
            assert_eq!(fault(&facts, &truth), None, "{name}\n{text}");
            false
        }
    }
}

#[test]
fn engines_that_lose_executions_are_exposed() {
    let defects = [
        ("E2", planted(|defect| defect.really_touched = true)),
        ("E3", planted(|defect| defect.ignore_pending_guards = true)),
        (
            "locks",
            planted(|defect| defect.ignore_pending_locks = true),
        ),
        ("E12", planted(|defect| defect.stop_at_mishap = true)),
    ];
    for (name, switches) in defects {
        let all = 0..programs(300);
        let exposed = all
            .filter(|&seed| exposed(name, switches, &text(seed)))
            .count();
        println!("{name}: {exposed} exposed");
        assert!(exposed > 0, "{name}");
    }
}

#[test]
fn rare_defects_are_exposed_by_the_programs_that_show_them() {
    let defects = [
        (
            "last writer",
            planted(|defect| defect.only_last_writer = true),
        ),
        ("ends", planted(|defect| defect.pending_only_at_ends = true)),
    ];
    for (name, switches) in defects {
        let found = hunt(&Hunt::default(), |machine| {
            planted::source(machine, switches)
        });
        let found = found
            .expect("a program that it gets wrong")
            .shrunk
            .to_string();
        assert!(exposed(name, switches, &found), "{name}\n{found}");
    }
}

/// A program that `check` reported as verified before its engine was fixed (`planted/idle.rs`).
const FORGOTTEN_CHILD: &str =
    include_str!("../../../../corpus/maz/found-child-ends-at-birth/program.maz");

#[test]
fn the_false_verified_of_a_forgotten_child_is_exposed() {
    let truth = truth(FORGOTTEN_CHILD).expect("it is small");
    assert_eq!(truth.failures.len(), 1);
    let mut rehearsed = mazurka_testkit::machine(FORGOTTEN_CHILD).expect("a program");
    let idle = planted::idle_in_first_run(&mut rehearsed);
    let mut found = Summary::default();
    let search = |program: &mut TreeRecorder| found = planted::forgets_idle(program, &idle);
    let checked = checked(FORGOTTEN_CHILD, search).expect("it is in reach");
    // The engine found no failure, and the checker rejects its tree.
    assert!(found.failures.is_empty() && found.deadlocks.is_empty());
    assert!(matches!(checked, Err(Rejected::Tree(_))), "{checked:?}");
    let right = |program: &mut TreeRecorder| drop(planted::source(program, Switches::default()));
    let checked = self::checked(FORGOTTEN_CHILD, right).expect("it is in reach");
    assert_eq!(checked.map(|facts| facts.failures), Ok(1));
}

#[test]
fn context_as_printed_is_exposed() {
    let variant = Variant {
        paper: true,
        ..Variant::BEST
    };
    // On the program of erratum E1 (docs/algorithms.md), the printed algorithm loses one of three
    // final states.
    let text =
        "var x, y, l: int = 0 process { x := 1 } process { y := x } process { l := x; y := 1 }";
    let checked = explored(text, Algorithm::Context(variant)).check(&mut || true);
    assert!(matches!(checked, Err(Rejected::Tree(_))), "{checked:?}");
}
