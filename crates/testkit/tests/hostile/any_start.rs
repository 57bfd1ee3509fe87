//! Compares the answers of `permute --symbolic-initial` with the oracle.

use std::collections::BTreeSet;

use mazurka::record::AnyStartPermutations;
use mazurka_testkit::oracle::{Answer, Limits, judge, parse};

use crate::answer::{State, named};
use crate::expected::Stated;

/// Returns what is wrong with the answer, in two cases:
/// - The answer names initial values from which permutations end differently, but from these values
///   all of them end alike.
/// - The answer names no initial values, but from the initial values in the text permutations end
///   differently: there are several final states in `finals`.
pub fn wrong(text: &str, found: &AnyStartPermutations, finals: &BTreeSet<State>) -> Option<String> {
    let none = found.disagreements.is_empty() && found.undecided.is_none() && found.all_pairs;
    if none && finals.len() > 1 {
        return Some("permutations end differently, but from no initial values".to_owned());
    }
    let stated = parse(text)
        .map(|program| Stated::new(&program, text))
        .ok()?;
    let examples = found.disagreements.iter().map(|pair| named(&pair.example));
    let plain = |state: &State| state.iter().all(|(name, _)| !name.contains('['));
    let examples = examples.filter(|state| plain(state) && !stated.observes);
    examples.take(2).find_map(|set| {
        let limits = Limits {
            states: 4_000,
            set,
            ..Limits::default()
        };
        match judge(text, &limits) {
            Answer::Truth(truth) if truth.final_states.len() < 2 => Some(format!(
                "permutations do not end differently from {:?}",
                limits.set
            )),
            _ => None,
        }
    })
}
