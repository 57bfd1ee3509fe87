//! A guard on a step: it waits until a shared variable has some value. Of the guards that work on
//! one step the ranking shows the weakest first: the one that leaves most behaviours.

use mazurka_lang::hir::Type;
use mazurka_lang::outline::{Block, Role};

use super::edit::{Edit, words};
use super::{Candidate, ChangeKind, Subject};

/// Numbers of the text that a variable is compared with.
const MOST_NUMBERS: usize = 6;

/// Changes that let a step wait.
pub(super) fn candidates(subject: &Subject<'_>) -> Vec<Candidate> {
    let conditions = conditions(subject);
    let mut all = Vec::new();
    for body in &subject.outline.bodies {
        in_block(subject, &body.block, &conditions, &mut all);
    }
    all
}

/// Conditions over one variable: what a person would write first.
fn conditions(subject: &Subject<'_>) -> Vec<String> {
    let mut numbers: Vec<i64> = words(subject.source)
        .filter_map(|word| word.parse().ok())
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers.truncate(MOST_NUMBERS);
    let program = subject.code.program();
    let scalars = program.vars.iter().filter(|var| var.len.is_none());
    let known = scalars.filter(|var| subject.outline.variables.contains(&var.name));
    let mut all = Vec::new();
    for var in known {
        let name = &var.name;
        if var.ty == Type::Bool {
            all.extend([name.clone(), format!("!{name}")]);
            continue;
        }
        for number in &numbers {
            let compare = |sign: &str| format!("{name} {sign} {number}");
            all.extend(["!=", "==", ">", "<"].map(compare));
        }
    }
    all
}

fn in_block(
    subject: &Subject<'_>,
    block: &Block,
    conditions: &[String],
    into: &mut Vec<Candidate>,
) {
    for statement in block {
        let waits = matches!(statement.role, Role::Step | Role::Lock(..));
        if waits && subject.is_involved(statement) && subject.touches_shared(statement) {
            let start = statement.span.start as usize;
            let line = subject.line(start);
            into.extend(conditions.iter().map(|condition| Candidate {
                kind: ChangeKind::Guard,
                summary: format!("line {line} waits until `{condition}`"),
                edits: vec![Edit::insert(start, format!("{condition} |> "))],
                regions: Vec::new(),
            }));
        }
        for inner in &statement.blocks {
            in_block(subject, inner, conditions, into);
        }
    }
}
