//! Compares what each command promises with the truth.

use std::collections::BTreeSet;

use mazurka::{Algorithm, Bound, Verdict};
use mazurka_core::{Kind, Kinds};

use crate::commands::Command;
use crate::expected::Expected;
use crate::seen::{CommandAnswer, State};

/// Returns what is wrong in the answer of a command, if anything.
pub fn disagreement(command: &Command, seen: &CommandAnswer, truth: &Expected) -> Option<String> {
    if let Some(wrong) = &seen.wrong {
        return Some(wrong.clone());
    }
    match command {
        Command::Check | Command::CheckDeterministic => check(command, seen, truth),
        Command::Explore(_) | Command::Tests(_) | Command::Resume(..) => {
            explore(command, seen, truth)
        }
        Command::Permute(_) => explore(command, seen, truth),
        // The permutations of one run are not all executions.
        Command::PermuteAny(_) => invented(seen, truth),
        Command::Unfold(..) | Command::Walk(_) => unfold(seen, truth),
        Command::Reach(..) => None, // The caller knows the answer.
        Command::Symbolic(_) => symbolic(seen, truth),
        Command::Prove { .. } => prove(seen, truth),
        Command::Run(_) => one_run(seen, truth),
        Command::Installed(command) => disagreement(command, seen, truth),
    }
}

/// Returns what the answer shows and the program does not have.
fn invented(seen: &CommandAnswer, truth: &Expected) -> Option<String> {
    if seen.deterministic == Some(true) && truth.deterministic == Some(false) {
        return Some("deterministic, where results differ".to_owned());
    }
    // Values that the oracle has not tried may show more.
    if !truth.exact {
        return None;
    }
    let failures: Vec<_> = seen.failures.difference(&truth.failures).collect();
    if !failures.is_empty() {
        return Some(format!(
            "failures in lines {failures:?} that are none, of {:?}",
            truth.failures
        ));
    }
    if seen.deadlock && !truth.deadlock {
        return Some("a deadlock that is none".to_owned());
    }
    if seen.livelock && !truth.livelock {
        return Some("a livelock that is none".to_owned());
    }
    ((seen.differs || seen.deterministic == Some(false)) && truth.deterministic != Some(false))
        .then(|| "not deterministic, where all results agree".to_owned())
}

fn check(command: &Command, seen: &CommandAnswer, truth: &Expected) -> Option<String> {
    let counted = match command {
        Command::CheckDeterministic => Kinds::ALL,
        _ => truth.counted(),
    };
    let there = truth.kinds().and(counted);
    invented(seen, truth)
        .or_else(|| verdict(seen, truth, !there.is_empty()))
        .or_else(|| concealed(seen, there))
}

/// Returns a violation that counts and that the answer neither shows nor leaves open.
fn concealed(seen: &CommandAnswer, there: Kinds) -> Option<String> {
    let left = there
        .without(seen.kinds)
        .without(seen.open.iter().copied().collect());
    let kind = left.iter().next()?;
    Some(format!("{kind} is neither shown nor left open"))
}

/// Returns a wrong verdict; a bound excuses an inconclusive one.
fn verdict(seen: &CommandAnswer, truth: &Expected, violated: bool) -> Option<String> {
    let right = match seen.verdict {
        Verdict::Violated => violated || !truth.exact,
        Verdict::Verified => !violated,
        Verdict::Inconclusive => !seen.exhaustive(),
    };
    let should = if violated { "violated" } else { "verified" };
    (!right).then(|| format!("{:?} instead of {should}", seen.verdict))
}

fn explore(command: &Command, seen: &CommandAnswer, truth: &Expected) -> Option<String> {
    // Only the engine that compares states recognises cycles; for others the runs are too long.
    let sees_cycles = matches!(command, Command::Explore(Algorithm::Stateful));
    let cycles = truth.livelock && truth.counted().contains(Kind::Livelock);
    let violated = truth.violated() || (sees_cycles && cycles);
    let wrong = invented(seen, truth).or_else(|| verdict(seen, truth, violated));
    if wrong.is_some() || !seen.exhaustive() {
        return wrong;
    }
    let missed: Vec<_> = truth.failures.difference(&seen.failures).collect();
    let shown = truth.counted().contains(Kind::Failure);
    if shown && !missed.is_empty() {
        return Some(format!("failures in lines {missed:?} not found"));
    }
    if truth.deadlock && !seen.deadlock {
        return Some("a deadlock not found".to_owned());
    }
    // A solver compares results over unknown values, and may give up.
    let known = !truth.open() || seen.deterministic.is_some() && truth.exact;
    if known && seen.deterministic != truth.deterministic {
        return Some(format!(
            "deterministic: {:?} instead of {:?}",
            seen.deterministic, truth.deterministic
        ));
    }
    if truth.open() {
        None
    } else {
        counted(command, seen, truth)
    }
}

/// Returns a wrong count of an exploration in which all values are known.
fn counted(command: &Command, seen: &CommandAnswer, truth: &Expected) -> Option<String> {
    let (counts, finals) = (&seen.counts, truth.observed.len() as u64);
    if counts.final_states != finals {
        let found = counts.final_states;
        return Some(format!("{found} final states instead of {finals}"));
    }
    let all = match command {
        Command::Tests(algorithm) if algorithm.compares_states() => None,
        Command::Tests(_) => truth.finals(),
        _ => Some(&truth.observed),
    };
    if let (Some(listed), Some(all)) = (&seen.finals, all)
        && let Some(difference) = sets("final states", listed, all)
    {
        return Some(difference);
    }
    match command {
        Command::Explore(algorithm) if algorithm.compares_states() => {
            states(*algorithm, seen, truth)
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

/// Returns a wrong count of an engine that merges states. Dead values are not part of a state, so
/// it may count fewer.
fn states(algorithm: Algorithm, seen: &CommandAnswer, truth: &Expected) -> Option<String> {
    let (found, most) = (seen.counts.deadlocks, truth.deadlocked_states);
    (algorithm == Algorithm::Stateful && found > most)
        .then(|| format!("{found} deadlocked states of {most}"))
}

/// Judges nets, which show all failures and deadlocks, but not all final states.
fn unfold(seen: &CommandAnswer, truth: &Expected) -> Option<String> {
    let invented = invented(seen, truth);
    if invented.is_some() {
        return invented;
    }
    if seen.deterministic == Some(true) {
        return Some("deterministic, though a net does not know".to_owned());
    }
    let only_finals = seen.bounds.iter().all(|bound| *bound == Bound::FinalStates);
    if !only_finals {
        return None;
    }
    let missed: Vec<_> = truth
        .on_the_way()
        .difference(&seen.failures)
        .copied()
        .collect();
    let counts = |kind| truth.counted().contains(kind);
    if counts(Kind::Failure) && !missed.is_empty() {
        return Some(format!("failures in lines {missed:?} not found"));
    }
    if truth.deadlock && !seen.deadlock {
        return Some("a deadlock not found".to_owned());
    }
    let fails = counts(Kind::Failure) && !truth.on_the_way().is_empty();
    let violated = fails || counts(Kind::Deadlock) && truth.deadlock;
    match seen.verdict {
        Verdict::Verified if violated || truth.stated.ensures => Some("verified".to_owned()),
        Verdict::Violated if !truth.violated() && truth.exact => Some("violated".to_owned()),
        Verdict::Inconclusive if violated || !truth.stated.ensures => {
            Some("inconclusive".to_owned())
        }
        _ => None,
    }
}

fn symbolic(seen: &CommandAnswer, truth: &Expected) -> Option<String> {
    let wrong = invented(seen, truth).or_else(|| verdict(seen, truth, truth.is_faulty()));
    match (&seen.finals, truth.finals()) {
        (Some(listed), Some(all)) if wrong.is_none() && seen.exhaustive() => {
            sets("final states", listed, all)
        }
        _ => wrong,
    }
}

fn prove(seen: &CommandAnswer, truth: &Expected) -> Option<String> {
    let proof = seen.proof?;
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

fn one_run(seen: &CommandAnswer, truth: &Expected) -> Option<String> {
    let invented = invented(seen, truth);
    let ended = seen.finals.iter().flatten().next();
    match (invented, ended, truth.finals()) {
        (None, Some(ended), Some(all)) if !all.contains(ended) => {
            Some(format!("ends in {ended:?}, which is not a final state"))
        }
        (invented, ..) => invented,
    }
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
    (number > 0).then(|| format!("{number} {name} that are none: {}", one(invented)))
}
