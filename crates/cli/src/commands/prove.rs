//! The command `prove`.

use mazurka::{Limits, Program, ProveError, ProveOptions, goal_mistake};

use super::{Refusal, json, load_source, view};
use crate::args::{ProofFormat, ProveArgs};
use crate::exit::Exit;
use crate::solver::solver;
use crate::watch::{self, Watcher};
use crate::{diagnose, files, output};

/// Reads a program to prove something about.
pub(super) fn load(file: &str, set: &[(String, String)]) -> Result<Program, Refusal> {
    let source = files::maz_program(file, "proved right")?;
    load_source(file, &source, set)
}

/// A goal that cannot be read is shown with a caret; everything else is a sentence.
pub(super) fn refuse(error: ProveError) -> Refusal {
    match &error {
        ProveError::Goal { text, error } => {
            Refusal::Program(diagnose::render("the goal", text, &[goal_mistake(error)]))
        }
        _ => Refusal::Message(error.to_string()),
    }
}

/// Looks for proofs, and shows them.
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
