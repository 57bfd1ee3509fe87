//! The command `check-proof`.

use std::io::Read;
use std::ops::ControlFlow;
use std::time::Instant;

use mazurka::{Bound, DeadlockFree, Limits, Options, Progress, ProofFile, ProofProblem};

use super::prove::{load, refuse};
use super::{Refusal, view};
use crate::args::CheckProofArgs;
use crate::exit::Exit;
use crate::solver::solver;
use crate::watch::{self, Watcher};
use crate::{files, output};

/// Checks the proofs of a file.
pub(super) fn check_proof(args: &CheckProofArgs) -> Result<Exit, Refusal> {
    let start = Instant::now();
    let memory = args.memory_limit.or_else(watch::default_memory);
    let mut watcher = Watcher::new(memory, true)?;
    let name = &args.proof;
    let limits = Limits {
        time: args.time_limit,
        memory,
        ..Limits::default()
    };
    let look = &mut || match limits.time {
        Some(most) if start.elapsed() >= most => {
            ControlFlow::Break(Bound::TimeLimit(most.as_millis() as u64))
        }
        _ => watcher.look(&Progress {
            counts: Default::default(),
            elapsed: start.elapsed(),
            done: None,
            estimate: None,
        }),
    };
    let read = |file: &mut dyn Read| {
        let file: Result<ProofFile, _> = serde_json::from_reader(file);
        file.map_err(ProofProblem::from)
    };
    let file = match files::proof(name, look, read)? {
        ControlFlow::Continue(file) => file.map_err(|error| format!("`{name}`: {error}"))?,
        ControlFlow::Break(bound) => {
            let text =
                mazurka_report::unchecked(&bound, "it was not read to its end", &view(&limits));
            return Ok(output::print(&text, Exit::Inconclusive));
        }
    };
    let Some(first) = file.proofs.first() else {
        return Err(Refusal::Message(format!(
            "`{name}`: there is no proof in it"
        )));
    };
    let path = args.file.as_ref().unwrap_or(&first.program.file);
    let program = load(path, &first.program.set)?;
    // To read the proof took a part of the time.
    let options = Options {
        solver: solver(&args.solver)?,
        limits: Limits {
            time: limits.time.map(|time| time.saturating_sub(start.elapsed())),
            ..limits.clone()
        },
        ..Options::default()
    };
    let checked = program.check_proof(&file, &options, &mut |progress| watcher.look(progress));
    watcher.finish();
    Ok(match checked {
        Ok(shown) => {
            let mut text = String::new();
            for (proof, deadlock_free) in file.proofs.iter().zip(shown) {
                let goal = program.stated(proof.goal.as_deref()).map_err(refuse)?;
                let ends = match deadlock_free {
                    DeadlockFree::Program => "; no state deadlocks",
                    DeadlockFree::Boxes => {
                        "; no state in its boxes deadlocks, but they are not all runs of the program"
                    }
                    DeadlockFree::Nothing => "; deadlocks are not part of it",
                };
                text += &match proof.goals.len() {
                    1 => format!("checked: {goal} (its goal follows{ends})\n"),
                    goals => format!("checked: {goal} (all {goals} goals follow{ends})\n"),
                };
            }
            output::print(&text, Exit::Verified)
        }
        Err(ProofProblem::Rejected(why)) => {
            output::print(&format!("rejected: {why}\n"), Exit::Violated)
        }
        Err(why @ ProofProblem::NoKnownStart(_)) => {
            output::print(&format!("inconclusive: {why}\n"), Exit::Inconclusive)
        }
        Err(ProofProblem::BrokenOff { bound, checked }) => {
            let bound = match (bound, args.time_limit) {
                (Bound::TimeLimit(_), Some(time)) => Bound::TimeLimit(time.as_millis() as u64),
                _ => bound,
            };
            let goals = file.proofs.iter().map(|proof| proof.goals.len() as u64);
            let all: u64 = goals.sum();
            let what = format!("{checked} of {all} goals follow, the others were not checked");
            let text = mazurka_report::unchecked(&bound, &what, &view(&limits));
            output::print(&text, Exit::Inconclusive)
        }
        Err(ProofProblem::Prove(error)) => return Err(refuse(error)),
        Err(other) => return Err(Refusal::Message(format!("`{name}`: {other}"))),
    })
}
