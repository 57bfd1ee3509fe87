//! Compares the result of each goal of `corpus/prove` with the expected one. The embedded solver
//! decides all of them, so no other solver is needed.

use std::fs;
use std::path::{Path, PathBuf};

use mazurka::prove::proof::GoalStatus;
use mazurka::prove::{DeadlockFree, ProofFile, ProveOptions};
use mazurka::solving::SolverChoice;
use mazurka::{Options, Program, quietly};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    goal: Vec<Goal>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Goal {
    formula: Option<String>,
    status: GoalStatus,
    deadlock_free: Option<bool>,
}

fn folder() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let workspace = here.ancestors().nth(2).expect("the workspace");
    workspace.join("corpus/prove")
}

#[test]
fn every_goal_has_the_expected_result() {
    let options = ProveOptions {
        solver: SolverChoice::Embedded.into(),
        ..ProveOptions::default()
    };
    let checking = Options {
        solver: SolverChoice::Embedded.into(),
        ..Options::default()
    };
    let (mut programs, mut refuted) = (0, 0);
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if !path.is_dir() {
            continue;
        }
        programs += 1;
        let source = fs::read_to_string(path.join("program.maz")).unwrap();
        let expect = fs::read_to_string(path.join("expect.toml")).unwrap();
        let expect: Expect = toml::from_str(&expect).unwrap();
        let program = Program::load("program.maz", &source, &[]).unwrap();
        for goal in expect.goal {
            let asked: Vec<String> = goal.formula.into_iter().collect();
            let (record, proofs) = program.prove(&asked, &options, &mut quietly()).unwrap();
            let name = format!("{} {asked:?}", path.display());
            let found = &record.goals[0];
            assert_eq!(found.status, goal.status, "{name}: {:?}", found.open);
            let checked = program.check_proof(&proofs, &checking, &mut quietly());
            assert_eq!(
                checked.is_ok(),
                goal.status == GoalStatus::Proved,
                "{name}: {checked:?}"
            );
            if let Ok(shown) = checked {
                // Search and checker decide independently what the proof shows about deadlocks.
                let free = shown == [DeadlockFree::Program];
                assert_eq!(free, found.deadlock_free == Some(true), "{name}: {shown:?}");
            }
            assert_eq!(found.deadlock_free, goal.deadlock_free, "{name}");
            if goal.status == GoalStatus::Refuted {
                refuted += 1;
                assert!(!record.record.witnesses.is_empty(), "{name}");
            }
            // The written proofs can be parsed.
            let text = serde_json::to_string(&proofs).unwrap();
            assert_eq!(ProofFile::parse(&text).unwrap(), proofs, "{name}");
        }
    }
    assert!(programs >= 17 && refuted >= 11, "{programs} {refuted}");
}
