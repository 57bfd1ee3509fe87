//! Compares the claims of each command with the truth.

use std::collections::BTreeSet;

use mazurka::{Algorithm, Bound, Verdict};
use mazurka_core::{Kind, Kinds};

use crate::answer::{CommandAnswer, State};
use crate::commands::Command;
use crate::expected::Expected;

/// Returns what is wrong in the answer of a command, if anything.
pub fn disagreement(command: &Command, answer: &CommandAnswer, truth: &Expected) -> Option<String> {
    if let Some(wrong) = &answer.wrong {
        return Some(wrong.clone());
    }
    match command {
        Command::Check | Command::CheckDeterministic => check(command, answer, truth),
        Command::Explore(_) | Command::Tests(_) | Command::Resume(..) => {
            explore(command, answer, truth)
        }
        Command::Permute(_) => explore(command, answer, truth),
        // The permutations of one run are not all executions.
        Command::PermuteAny(_) => invented(answer, truth),
        Command::Unfold(..) | Command::Walk(_) => unfold(answer, truth),
        Command::Reach(..) => None, // The caller knows the answer.
        Command::Symbolic(_) => symbolic(answer, truth),
        Command::Prove { .. } => prove(answer, truth),
        Command::Run(_) => one_run(answer, truth),
        Command::Installed(command) => disagreement(command, answer, truth),
    }
}

/// Returns a claim of the answer that is not true of the program.
fn invented(answer: &CommandAnswer, truth: &Expected) -> Option<String> {
    if answer.deterministic == Some(true) && truth.deterministic == Some(false) {
        return Some("deterministic, where results differ".to_owned());
    }
    // Values that the oracle has not tried may show more.
    if !truth.exact {
        return None;
    }
    let failures: Vec<_> = answer.failures.difference(&truth.failures).collect();
    if !failures.is_empty() {
        return Some(format!(
            "failures in lines {failures:?} that do not exist; the true ones are in {:?}",
            truth.failures
        ));
    }
    if answer.deadlock && !truth.deadlock {
        return Some("a deadlock that does not exist".to_owned());
    }
    if answer.livelock && !truth.livelock {
        return Some("a livelock that does not exist".to_owned());
    }
    ((answer.differs || answer.deterministic == Some(false)) && truth.deterministic != Some(false))
        .then(|| "not deterministic, where all results agree".to_owned())
}

fn check(command: &Command, answer: &CommandAnswer, truth: &Expected) -> Option<String> {
    let counted = match command {
        Command::CheckDeterministic => Kinds::ALL,
        _ => truth.counted(),
    };
    let present = truth.kinds().and(counted);
    invented(answer, truth)
        .or_else(|| verdict(answer, truth, !present.is_empty()))
        .or_else(|| concealed(answer, present))
}

/// Returns a kind of violation that the program has (`present`) but that the answer neither shows
/// nor leaves open.
fn concealed(answer: &CommandAnswer, present: Kinds) -> Option<String> {
    let left = present
        .without(answer.kinds)
        .without(answer.open.iter().copied().collect());
    let kind = left.iter().next()?;
    Some(format!("{kind} is neither shown nor left open"))
}

/// Returns a wrong verdict. An inconclusive verdict is right if a bound was hit.
fn verdict(answer: &CommandAnswer, truth: &Expected, violated: bool) -> Option<String> {
    let right = match answer.verdict {
        Verdict::Violated => violated || !truth.exact,
        Verdict::Verified => !violated,
        Verdict::Inconclusive => !answer.exhaustive(),
    };
    let should = if violated { "violated" } else { "verified" };
    (!right).then(|| format!("{:?} instead of {should}", answer.verdict))
}

fn explore(command: &Command, answer: &CommandAnswer, truth: &Expected) -> Option<String> {
    // Only the engine that compares states recognises cycles; for others the runs are too long.
    let sees_cycles = matches!(command, Command::Explore(Algorithm::Stateful));
    let cycles = truth.livelock && truth.counted().contains(Kind::Livelock);
    let violated = truth.violated() || (sees_cycles && cycles);
    let wrong = invented(answer, truth).or_else(|| verdict(answer, truth, violated));
    if wrong.is_some() || !answer.exhaustive() {
        return wrong;
    }
    let missed: Vec<_> = truth.failures.difference(&answer.failures).collect();
    let shown = truth.counted().contains(Kind::Failure);
    if shown && !missed.is_empty() {
        return Some(format!("failures in lines {missed:?} not found"));
    }
    if truth.deadlock && !answer.deadlock {
        return Some("a deadlock not found".to_owned());
    }
    // A solver compares results over unknown values, and may give up.
    let known = !truth.open() || answer.deterministic.is_some() && truth.exact;
    if known && answer.deterministic != truth.deterministic {
        return Some(format!(
            "deterministic: {:?} instead of {:?}",
            answer.deterministic, truth.deterministic
        ));
    }
    if truth.open() {
        None
    } else {
        counted(command, answer, truth)
    }
}

/// Returns a wrong count of an exploration in which all values are known.
fn counted(command: &Command, answer: &CommandAnswer, truth: &Expected) -> Option<String> {
    let (counts, finals) = (&answer.counts, truth.observed.len() as u64);
    if counts.final_states != finals {
        let found = counts.final_states;
        return Some(format!("{found} final states instead of {finals}"));
    }
    let all = match command {
        Command::Tests(algorithm) if algorithm.compares_states() => None,
        Command::Tests(_) => truth.finals(),
        _ => Some(&truth.observed),
    };
    if let (Some(listed), Some(all)) = (&answer.finals, all) {
        let results = listed.iter().map(|state| without_objects(state, all));
        if let Some(difference) = sets("final states", &results.collect(), all) {
            return Some(difference);
        }
    }
    match command {
        Command::Explore(algorithm) if algorithm.compares_states() => {
            states(*algorithm, answer, truth)
        }
        _ if (counts.discarded > 0) != truth.discarded => {
            Some(format!("{} discarded runs", counts.discarded))
        }
        Command::Explore(Algorithm::Optimal) if counts.blocked > 0 && !truth.stated.may_block => {
            Some(format!("optimal blocks {} runs", counts.blocked))
        }
        _ => None,
    }
}

/// Returns a wrong count of an engine that merges states. Values that no later step can read are
/// not part of a state, so the engine may count fewer states.
fn states(algorithm: Algorithm, answer: &CommandAnswer, truth: &Expected) -> Option<String> {
    let (found, most) = (answer.counts.deadlocks, truth.deadlocked_states);
    (algorithm == Algorithm::Stateful && found > most)
        .then(|| format!("{found} deadlocked states of {most}"))
}

/// Judges nets, which show all failures and deadlocks, but not all final states.
fn unfold(answer: &CommandAnswer, truth: &Expected) -> Option<String> {
    let invented = invented(answer, truth);
    if invented.is_some() {
        return invented;
    }
    if answer.deterministic == Some(true) {
        return Some("deterministic, which a net cannot show".to_owned());
    }
    let only_finals = answer
        .bounds
        .iter()
        .all(|bound| *bound == Bound::FinalStates);
    if !only_finals {
        return None;
    }
    let missed: Vec<_> = truth
        .failures_of_steps()
        .difference(&answer.failures)
        .copied()
        .collect();
    let counts = |kind| truth.counted().contains(kind);
    if counts(Kind::Failure) && !missed.is_empty() {
        return Some(format!("failures in lines {missed:?} not found"));
    }
    if truth.deadlock && !answer.deadlock {
        return Some("a deadlock not found".to_owned());
    }
    let fails = counts(Kind::Failure) && !truth.failures_of_steps().is_empty();
    let violated = fails || counts(Kind::Deadlock) && truth.deadlock;
    match answer.verdict {
        Verdict::Verified if violated || truth.stated.ensures => Some("verified".to_owned()),
        Verdict::Violated if !truth.violated() && truth.exact => Some("violated".to_owned()),
        Verdict::Inconclusive if violated || !truth.stated.ensures => {
            Some("inconclusive".to_owned())
        }
        _ => None,
    }
}

fn symbolic(answer: &CommandAnswer, truth: &Expected) -> Option<String> {
    let wrong = invented(answer, truth).or_else(|| verdict(answer, truth, truth.is_faulty()));
    match (&answer.finals, truth.finals()) {
        (Some(listed), Some(all)) if wrong.is_none() && answer.exhaustive() => {
            sets("final states", listed, all)
        }
        _ => wrong,
    }
}

fn prove(answer: &CommandAnswer, truth: &Expected) -> Option<String> {
    let proof = answer.proof?;
    if proof.proved && !truth.failures.is_empty() {
        return Some(format!("proved, but lines {:?} fail", truth.failures));
    }
    if proof.deadlock_free == Some(true) && truth.deadlock {
        return Some("free of deadlocks, but there is one".to_owned());
    }
    if proof.proved && truth.deadlock && proof.deadlock_free != Some(false) {
        return Some("proved, but there is a deadlock".to_owned());
    }
    (proof.refuted && !truth.is_faulty() && truth.exact)
        .then(|| "refuted, but nothing fails".to_owned())
}

fn one_run(answer: &CommandAnswer, truth: &Expected) -> Option<String> {
    let invented = invented(answer, truth);
    let ended = answer.finals.iter().flatten().next();
    match (invented, ended, truth.finals()) {
        (None, Some(ended), Some(all)) if !all.contains(&without_objects(ended, all)) => {
            Some(format!("ends in {ended:?}, which is not a final state"))
        }
        (invented, ..) => invented,
    }
}

/// Returns the values of variables in the state of a run. A run also shows what its synchronisation
/// objects hold, such as `c.waiting` of a condition variable, which is not part of a result.
fn without_objects(state: &State, results: &BTreeSet<State>) -> State {
    let is_variable = |name: &String| {
        let mut names = results.first().into_iter().flatten();
        names.any(|(variable, _)| variable == name)
    };
    let variables = state.iter().filter(|(name, _)| is_variable(name));
    variables.cloned().collect()
}

/// Describes how two sets differ.
fn sets(name: &str, found: &BTreeSet<State>, truth: &BTreeSet<State>) -> Option<String> {
    let one = |set: Vec<&State>| format!("{:?}", set.first());
    let missed: Vec<_> = truth.difference(found).collect();
    if !missed.is_empty() {
        let (number, total) = (missed.len(), truth.len());
        return Some(format!(
            "{number} of {total} {name} not found: {}",
            one(missed)
        ));
    }
    let invented: Vec<_> = found.difference(truth).collect();
    let number = invented.len();
    (number > 0).then(|| format!("{number} {name} that do not exist: {}", one(invented)))
}
