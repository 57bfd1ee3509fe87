//! Changes to a program that must not change the answers of commands, except for parts that the
//! change itself adds.
//!
//! This needs no oracle, so programs may be of any size that the engines can handle.

use std::collections::BTreeSet;

use mazurka::unfold::NetKind;
use mazurka::{Algorithm, Verdict};
use mazurka_testkit::Rng;
use mazurka_testkit::oracle::ast::{Child, Expr, Item, ItemKind, Kind, Program, Stmt};
use mazurka_testkit::oracle::{parse, print};

use crate::answer::{CommandAnswer, Outcome};
use crate::commands::{Command, Loaded, Size, attempt};
use crate::expected::Stated;
use crate::shrink;

/// A change to a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Reorders the processes.
    Order,
    /// Renames everything.
    Names,
    /// Adds a process with a variable of its own and one step.
    Bystander,
    /// Moves a statement into a new procedure.
    Procedure,
}

impl Change {
    pub const ALL: [Change; 4] = [
        Change::Order,
        Change::Names,
        Change::Bystander,
        Change::Procedure,
    ];

    /// Returns the changed text; `None` if there is nothing to change.
    pub fn apply(self, text: &str, seed: u64) -> Option<String> {
        let program = parse(text).ok()?;
        let mut rng = Rng::new(seed);
        match self {
            Change::Order => reorder(program, &mut rng),
            Change::Names => Some(shrink::rename(text)),
            Change::Bystander => Some(bystander(program)),
            Change::Procedure => wrap(program, &mut rng),
        }
    }
}

/// Rotates the processes: the last ones move to the front.
fn reorder(mut program: Program, rng: &mut Rng) -> Option<String> {
    let is_process = |item: &Item| matches!(item.kind, ItemKind::Process(..));
    let places: Vec<usize> = (0..program.items.len())
        .filter(|&at| is_process(&program.items[at]))
        .collect();
    if places.len() < 2 {
        return None;
    }
    let mut processes: Vec<Item> = places.iter().map(|&at| program.items[at].clone()).collect();
    processes.rotate_left(1 + rng.below(places.len() - 1));
    for (at, process) in places.into_iter().zip(processes) {
        program.items[at] = process;
    }
    Some(print(&program))
}

const BYSTANDER: &str = "bystander_x";

fn bystander(program: Program) -> String {
    let text = print(&program);
    format!("var {BYSTANDER}: int = 0\n{text}\nprocess {{\n  {BYSTANDER} := 1\n}}\n")
}

/// Moves an assignment that uses no locals into a procedure.
fn wrap(mut program: Program, rng: &mut Rng) -> Option<String> {
    let mut shared = BTreeSet::new();
    for item in &program.items {
        match &item.kind {
            ItemKind::Var(names, ..) => shared.extend(names.iter().cloned()),
            ItemKind::Const(name, _) => {
                shared.insert(name.clone());
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    for item in &mut program.items {
        if let ItemKind::Process(.., body) = &mut item.kind {
            candidates(body, &shared, &mut found);
        }
    }
    if found.is_empty() {
        return None;
    }
    let chosen = rng.below(found.len());
    let place = found.swap_remove(chosen);
    let call = Kind::Call("wrapped_p".to_owned(), Vec::new());
    let wrapped = std::mem::replace(place, Stmt::new(call));
    let procedure = ItemKind::Proc("wrapped_p".to_owned(), Vec::new(), vec![wrapped]);
    let first = |item: &Item| matches!(item.kind, ItemKind::Process(..));
    let at = program.items.iter().position(first)?;
    let (line, kind) = (0, procedure);
    program.items.insert(at, Item { line, kind });
    Some(print(&program))
}

/// Collects the statements that may move. Those directly in guards and choices stay, because they
/// belong to the same step.
fn candidates<'a>(body: &'a mut [Stmt], shared: &BTreeSet<String>, found: &mut Vec<&'a mut Stmt>) {
    for stmt in body {
        let movable = match &stmt.kind {
            Kind::Assign(places, values) => {
                let index = |e: &Option<Expr>| e.as_ref().is_none_or(|e| only(e, shared));
                let place = |p: &mazurka_testkit::oracle::ast::Place| {
                    shared.contains(&p.name) && index(&p.index)
                };
                places.iter().all(place) && values.iter().all(|value| only(value, shared))
            }
            _ => false,
        };
        if movable {
            found.push(stmt);
            continue;
        }
        match &mut stmt.kind {
            Kind::If(_, one, other) => {
                candidates(one, shared, found);
                candidates(other, shared, found);
            }
            Kind::While(.., body)
            | Kind::For(.., body)
            | Kind::Atomic(body)
            | Kind::Spawn(_, Child::Block(body)) => candidates(body, shared, found),
            _ => {}
        }
    }
}

/// Whether an expression uses only these names.
fn only(expr: &Expr, shared: &BTreeSet<String>) -> bool {
    match expr {
        Expr::Bool(_) | Expr::Num(_) => true,
        Expr::Name(name) => shared.contains(name),
        Expr::Index(name, index) => shared.contains(name) && only(index, shared),
        Expr::Not(one) | Expr::Neg(one) | Expr::Pick(_, one) => only(one, shared),
        Expr::Bin(_, one, other) => only(one, shared) && only(other, shared),
        Expr::If(one, two, three) => [one, two, three].iter().all(|e| only(e, shared)),
        // Choices and inputs are not moved, to be safe, because their names depend on their order.
        Expr::Choose(..) | Expr::Input(_) | Expr::Len(_) => false,
    }
}

/// Returns the part of an answer that must stay the same, without lines or schedules.
fn figures(command: &Command, answer: &CommandAnswer, stated: &Stated) -> String {
    let counts = &answer.counts;
    let sites = answer.failures.len();
    let (traces, deadlocks, failures) = (counts.traces, counts.deadlocks, counts.failures);
    let (finals, discarded) = (counts.final_states, counts.discarded);
    let (verdict, agree) = (answer.verdict, answer.deterministic);
    match command {
        Command::Explore(algorithm) if algorithm.compares_states() => {
            let deadlock = deadlocks > 0;
            format!("{verdict:?} {agree:?} {sites} {deadlock} {finals}")
        }
        Command::Explore(_) | Command::Permute(_) => {
            let discarded = discarded > 0;
            format!(
                "{verdict:?} {agree:?} {sites} {traces:?} {deadlocks} {failures} {finals} {discarded}"
            )
        }
        Command::Unfold(..) if stated.ensures => format!("{}", deadlocks > 0),
        Command::Unfold(NetKind::Stateful, _) => format!("{verdict:?} {sites} {}", deadlocks > 0),
        Command::Unfold(..) => format!("{verdict:?} {sites} {deadlocks}"),
        _ => format!("{verdict:?}"),
    }
}

fn commands() -> Vec<Command> {
    let mut all = vec![Command::Check, Command::CheckDeterministic];
    let engines = Algorithm::ALL.iter().filter(|&&a| a != Algorithm::Naive);
    all.extend(engines.map(|&a| Command::Explore(a)));
    let nets = [NetKind::Contextual, NetKind::Replicated, NetKind::Stateful];
    all.extend(nets.map(|net| Command::Unfold(net, 0)));
    all.push(Command::Permute(0));
    all
}

/// Returns the difference that a change makes to the answers of a command, if there is one.
pub fn difference(text: &str, change: Change, seed: u64) -> Option<String> {
    let program = parse(text).ok()?;
    let other = change.apply(text, seed)?;
    let stated = Stated::new(&program, text);
    let (one, two) = (Loaded::new(text), Loaded::new(&other));
    match (one.refusal(), two.refusal()) {
        (None, None) => {}
        (None, Some(why)) => return Some(format!("{change:?}: refused: {why}\n{other}")),
        (Some(_), _) => return None,
    }
    if one.size() != Size::Small {
        return None;
    }
    for command in commands() {
        let answers = [&one, &two].map(|loaded| match attempt(&command, loaded, None) {
            Err(what) => what,
            Ok(Outcome::Refused(_)) => "refused".to_owned(),
            Ok(Outcome::Answer(answer)) => {
                if answer.exhaustive() || answer.verdict == Verdict::Violated {
                    figures(&command, &answer, &stated)
                } else {
                    String::new()
                }
            }
        });
        let [before, after] = &answers;
        // If one of the two hit a bound, they are not compared.
        if before != after && !before.is_empty() && !after.is_empty() {
            return Some(format!(
                "{command}, {change:?}: {before}, then {after}\n{other}"
            ));
        }
    }
    None
}
