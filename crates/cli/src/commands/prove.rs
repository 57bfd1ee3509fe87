//! The command `prove`: searches for proofs, shows them, and saves them for `check-proof`.

use std::path::PathBuf;

use clap::{Arg, Args};
use mazurka::Limits;
use mazurka::prove::proof::Proof;
use mazurka::prove::{ProveError, ProveOptions, goal_mistake};

use mazurka_report::Figure;

use super::{Refusal, view};
use crate::args::{EXIT_CODES, OutputArgs, ProofLimitArgs, SolverArgs};
use crate::exit::Exit;
use crate::program::{ProgramArgs, load_maz, mistakes};
use crate::show::{Format, JSON, Offer, Shown, TEXT, offer, page, plain, show};
use crate::solver::solver;
use crate::watch::watched;
use crate::{files, values};

/// The last words of the message that refuses a program in another language: it cannot be "proved
/// right".
pub(super) const CANNOT: &str = "proved right";

const FORMATS: [Offer; 4] = [
    TEXT,
    JSON,
    (Format::Html, "A page with every goal, for a browser"),
    (Format::Svg, "The goals of a small proof, for a browser"),
];

/// Prove what a program states, or a formula of dynamic logic about it
#[derive(Debug, Args)]
#[command(after_help = format!("Examples:
  mazurka prove peterson.maz
  mazurka prove sum.maz --goal \"x == 0 ==> [*] x == 2\"
  mazurka prove sum.maz --goal \"forall k: int. x == k ==> [p || q] x == k + 2\" --proof sum.proof
  mazurka prove sum.maz --format html > sum.html
  mazurka check-proof sum.proof

A variable without an initial value may have any value. Without --goal, the goals are the `prove`
declarations of the file, or its `ensures` if there are none; its assertions and invariants belong
to each goal.
docs/prove.md describes the formulas and the rules.
{EXIT_CODES}"))]
#[command(mut_args(|flag| offer(
    flag,
    "Text for people, the record for programs, the proof as a page or a picture",
    &FORMATS,
)))]
#[command(mut_args(time_for_goals))]
pub(crate) struct ProveArgs {
    #[command(flatten)]
    program: ProgramArgs,
    /// A formula to prove (repeatable)
    #[arg(long, value_name = "FORMULA")]
    goal: Vec<String>,
    /// Save the proof here, for `mazurka check-proof`
    #[arg(long, value_name = "FILE")]
    proof: Option<PathBuf>,
    /// Do not merge goals that differ only in the order of commuting steps (may need very many)
    #[arg(long)]
    no_por: bool,
    /// Do not close goals whose assumptions contradict each other
    #[arg(long)]
    no_feasible: bool,
    /// Do not check for deadlocks
    #[arg(long)]
    no_deadlock: bool,
    /// How many times a loop without an invariant is unfolded
    #[arg(long, value_name = "N", default_value_t = 16)]
    unfold: u32,
    #[command(flatten)]
    solver: SolverArgs,
    /// Show the proof as a tree, with closed goals unfolded to this depth
    #[arg(long, value_name = "DEPTH", num_args = 0..=1, default_missing_value = "3")]
    tree: Option<usize>,
    /// The maximal number of applications of SCHEDULE
    #[arg(long, value_name = "N", value_parser = values::count, help_heading = "Limits")]
    max_steps: Option<u64>,
    #[command(flatten)]
    limits: ProofLimitArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// Returns the help of `--time-limit` for goals.
fn time_for_goals(flag: Arg) -> Arg {
    if flag.get_id() == "time_limit" {
        flag.help("Time for all goals: 10, 0.5, 10s, 2m, 1h")
    } else {
        flag
    }
}

impl ProveArgs {
    fn options(&self) -> Result<ProveOptions, Refusal> {
        let drawn = self.output.format.is_picture() || self.tree.is_some();
        Ok(ProveOptions {
            reduce: !self.no_por,
            feasible: !self.no_feasible,
            deadlock: !self.no_deadlock,
            unfold: self.unfold,
            write: self.proof.is_some() || drawn,
            leave: true,
            solver: solver(&self.solver)?,
            limits: Limits {
                steps: self.max_steps,
                ..self.limits.limits()
            },
        })
    }
}

/// Returns the refusal of an error: a goal that cannot be parsed, with a caret below it, or a
/// message.
pub(super) fn refuse(error: ProveError) -> Refusal {
    match &error {
        ProveError::Goal { text, error } => mistakes("the goal", text, &[goal_mistake(error)]),
        _ => Refusal::Message(error.to_string()),
    }
}

/// Searches for proofs, and shows them.
pub(super) fn prove(args: &ProveArgs) -> Result<Exit, Refusal> {
    let program = load_maz(args.program.only_file()?, &args.program.set, CANNOT)?;
    let options = args.options()?;
    let found = watched(&options.limits, args.output.quiet, |watch| {
        program.prove(&args.goal, &options, watch)
    })?;
    let (whole, proofs) = found.map_err(refuse)?;
    if let Some(path) = &args.proof {
        if let Some(goal) = whole.goals.iter().find(|goal| goal.by_execution) {
            return Err(Refusal::Message(format!(
                "--proof: `{}` has a box where the calculus has no rule (under `!`, `exists` or `<==>`, left of `==>`, on both sides of `||`, or as `<…>`); it is decided by executing its boxes, so there is no proof to save",
                goal.goal
            )));
        }
        files::save_json("the proof", path, &proofs);
    }
    let (record, goals, proofs) = (&whole.record, &whole.goals, &proofs.proofs);
    show(
        &whole,
        record.verdict.into(),
        &args.output,
        |format| match format {
            Format::Html => {
                let mut figures = mazurka_report::evidence_figures(record);
                for (goal, proof) in goals.iter().zip(proofs) {
                    let drawn = mazurka_report::proof_svg(proof);
                    let title = format!("the proof of {}", goal.goal);
                    figures.extend(drawn.map(|svg| Figure::new(title, svg)));
                }
                let shown = Shown {
                    text: mazurka_report::proved(record, goals, &plain(view(&options.limits))),
                    figures,
                    more: mazurka_report::proof_html(goals, proofs),
                    program: Some(&program),
                };
                page(&whole, record, &shown)
            }
            Format::Svg => picture(proofs),
            _ => {
                let view = view(&options.limits);
                let mut text = mazurka_report::proved(record, goals, &view);
                if let Some(depth) = args.tree {
                    for proof in proofs {
                        text.push('\n');
                        text += &mazurka_report::proof_tree(proof, depth, &view);
                    }
                }
                Ok(text)
            }
        },
    )
}

/// Draws the proof, if there is only one.
fn picture(proofs: &[Proof]) -> Result<String, Refusal> {
    let [proof] = proofs else {
        let refusal = "a picture shows one proof; choose it with --goal";
        return Err(Refusal::Message(refusal.to_owned()));
    };
    mazurka_report::proof_svg(proof).ok_or_else(|| {
        Refusal::Message(format!(
            "the proof has {} goals, and a picture shows at most {}; --format html shows all",
            proof.goals.len(),
            mazurka_report::MOST_GOALS
        ))
    })
}
