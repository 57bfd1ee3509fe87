//! `prove` and `check-proof`.

use std::io::Read;
use std::ops::ControlFlow;
use std::time::Instant;

use mazurka::{
    Bound, DeadlockFree, Limits, Options, Program, Progress, ProofFile, ProofProblem, ProveError,
    ProveOptions, goal_mistake,
};

use super::args::{CheckProofArgs, ProofFormat, ProveArgs};
use super::commands::{Refusal, json, load_source, view};
use super::solver::solver;
use super::watch::{self, Watcher};
use super::{Exit, diagnose, files, output};

fn load(file: &str, set: &[(String, String)]) -> Result<Program, Refusal> {
    let source = files::maz_program(file, "proved right")?;
    load_source(file, &source, set)
}

/// A goal that cannot be read is shown with a caret; everything else is a sentence.
fn refuse(error: ProveError) -> Refusal {
    match &error {
        ProveError::Goal { text, error } => {
            Refusal::Program(diagnose::render("the goal", text, &[goal_mistake(error)]))
        }
        _ => Refusal::Message(error.to_string()),
    }
}

pub(super) fn prove(args: &ProveArgs) -> Result<Exit, Refusal> {
    let program = load(&args.program.file, &args.program.set)?;
    let options = ProveOptions {
        reduce: !args.no_por,
        feasible: !args.no_feasible,
        deadlock: !args.no_deadlock,
        unfold: args.unfold,
        write: args.proof.is_some()
            || args.tree.is_some()
            || matches!(args.format, ProofFormat::Html | ProofFormat::Svg),
        leave: true,
        solver: solver(&args.solver)?,
        limits: Limits {
            steps: args.max_steps,
            time: args.time_limit,
            memory: args.memory_limit.or_else(watch::default_memory),
            ..Limits::default()
        },
    };
    let mut watcher = Watcher::new(options.limits.memory, args.quiet)?;
    let found = program.prove(&args.goal, &options, &mut |progress| watcher.look(progress));
    watcher.finish();
    let (record, proofs) = found.map_err(refuse)?;
    if let Some(path) = &args.proof {
        files::save_json("the proof", path, &proofs);
    }
    let exit = Exit::from(record.record.verdict);
    let view = view(&options.limits);
    Ok(match args.format {
        ProofFormat::Json => output::print_raw(&json(&record)?, exit),
        ProofFormat::Html => {
            let page = mazurka_report::proof_html(&record.record, &record.goals, &proofs.proofs);
            output::print_raw(&page, exit)
        }
        ProofFormat::Svg => {
            let [proof] = &proofs.proofs[..] else {
                let no = "a picture shows one proof; choose it with --goal";
                return Err(Refusal::Message(no.to_owned()));
            };
            match mazurka_report::proof_svg(proof) {
                Some(picture) => output::print_raw(&picture, exit),
                None => {
                    return Err(Refusal::Message(format!(
                        "the proof has {} goals, and a picture shows at most {}; --format html shows all",
                        proof.goals.len(),
                        mazurka_report::MOST_GOALS
                    )));
                }
            }
        }
        ProofFormat::Text => {
            let mut text = mazurka_report::proved(&record.record, &record.goals, &view);
            if args.quiet {
                let first = text.split_inclusive('\n').next().unwrap_or("").to_owned();
                return Ok(output::print(&first, exit));
            }
            if let Some(depth) = args.tree {
                for proof in &proofs.proofs {
                    text.push('\n');
                    text += &mazurka_report::proof_tree(proof, depth, &view);
                }
            }
            output::print(&text, exit)
        }
    })
}

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
