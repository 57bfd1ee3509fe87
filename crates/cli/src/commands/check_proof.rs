//! The command `check-proof`: checks the proofs in a file, within the limits.

use std::io::Read;
use std::ops::ControlFlow;
use std::time::Instant;

use clap::Args;
use mazurka::prove::{DeadlockFree, ProofFile, ProofProblem};
use mazurka::{Bound, Limits, Options, Program, Progress, Watch};

use super::prove::{CANNOT, refuse};
use super::{Refusal, view};
use crate::args::{AllowArgs, EXIT_CODES, ProofLimitArgs, SolverArgs};
use crate::exit::Exit;
use crate::program::load_maz;
use crate::solver::solver;
use crate::watch::watched;
use crate::{files, output};

/// Check a proof found by `prove`, with separate code
#[derive(Debug, Args)]
#[command(after_help = format!("Examples:
  mazurka prove peterson.maz --proof peterson.proof; mazurka check-proof peterson.proof
  mazurka check-proof peterson.proof --file moved/peterson.maz

Exit code 0: it is a proof. 1: it is not a proof; the first goal that does not follow is named.
2: a limit was reached before the check was complete.
3: it cannot be read, or is about another program.
{EXIT_CODES}"))]
pub(crate) struct CheckProofArgs {
    /// A proof, as `prove --proof FILE` saves it
    proof: String,
    /// The program, if it has moved
    #[arg(long, value_name = "FILE")]
    file: Option<String>,
    #[command(flatten)]
    solver: SolverArgs,
    #[command(flatten)]
    limits: ProofLimitArgs,
    #[command(flatten)]
    pub(super) allowing: AllowArgs,
}

/// Checks the proofs of a file.
pub(super) fn check_proof(args: &CheckProofArgs) -> Result<Exit, Refusal> {
    let limits = args.limits.limits();
    watched(&limits, true, |watch| read_and_check(args, &limits, watch))?
}

fn read_and_check(
    args: &CheckProofArgs,
    limits: &Limits,
    watch: &mut Watch<'_>,
) -> Result<Exit, Refusal> {
    let start = Instant::now();
    let name = &args.proof;
    let file = match read(name, start, limits, watch)? {
        ControlFlow::Continue(file) => file.map_err(|error| format!("`{name}`: {error}"))?,
        ControlFlow::Break(bound) => {
            let what = "it was not read completely";
            let text = mazurka_report::unchecked(&bound, what, &view(limits));
            return Ok(output::print(&text, Exit::Inconclusive));
        }
    };
    let Some(first) = file.proofs.first() else {
        return Err(Refusal::Message(format!(
            "`{name}`: there is no proof in it"
        )));
    };
    let path = args.file.as_ref().unwrap_or(&first.program.file);
    let program = load_maz(path, &first.program.set, CANNOT)?;
    // Reading the proof has used a part of the time limit.
    let options = Options {
        solver: solver(&args.solver)?,
        limits: Limits {
            time: limits.time.map(|time| time.saturating_sub(start.elapsed())),
            ..limits.clone()
        },
        ..Options::default()
    };
    let checked = program.check_proof(&file, &options, watch);
    Ok(match checked {
        Ok(shown) => output::print(&follows(&program, &file, &shown)?, Exit::Verified),
        Err(ProofProblem::Rejected(why)) => {
            output::print(&format!("rejected: {why}\n"), Exit::Violated)
        }
        Err(why @ ProofProblem::NoKnownStart(_)) => {
            output::print(&format!("inconclusive: {why}\n"), Exit::Inconclusive)
        }
        Err(ProofProblem::BrokenOff { bound, checked }) => {
            let bound = match (bound, limits.time) {
                (Bound::TimeLimit(_), Some(time)) => Bound::TimeLimit(time.as_millis() as u64),
                _ => bound,
            };
            let goals = file.proofs.iter().map(|proof| proof.goals.len() as u64);
            let all: u64 = goals.sum();
            let what = format!("{checked} of {all} goals follow, the others were not checked");
            let text = mazurka_report::unchecked(&bound, &what, &view(limits));
            output::print(&text, Exit::Inconclusive)
        }
        Err(ProofProblem::Prove(error)) => return Err(refuse(error)),
        Err(other) => return Err(Refusal::Message(format!("`{name}`: {other}"))),
    })
}

/// Reads the file, within the limits.
fn read(
    name: &str,
    start: Instant,
    limits: &Limits,
    watch: &mut Watch<'_>,
) -> Result<ControlFlow<Bound, Result<ProofFile, ProofProblem>>, Refusal> {
    let check_limits = &mut || match limits.time {
        Some(most) if start.elapsed() >= most => {
            ControlFlow::Break(Bound::TimeLimit(most.as_millis() as u64))
        }
        _ => watch(&Progress {
            counts: Default::default(),
            elapsed: start.elapsed(),
            done: None,
            estimate: None,
            open: 0,
            miss: None,
        }),
    };
    let parse = |file: &mut dyn Read| {
        let file: Result<ProofFile, _> = serde_json::from_reader(file);
        file.map_err(ProofProblem::from)
    };
    Ok(files::proof(name, check_limits, parse)?)
}

/// Describes the properties that the proofs establish, one line for each proof.
fn follows(program: &Program, file: &ProofFile, shown: &[DeadlockFree]) -> Result<String, Refusal> {
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
    Ok(text)
}
