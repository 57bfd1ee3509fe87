//! Several kinds of violations at once: compares `check --keep-going` with the oracle, on programs
//! with endless processes, temporal properties and `allows`.

use std::collections::{BTreeMap, BTreeSet};

use mazurka::search::{Fairness, Kind, Kinds};
use mazurka::{Options, Program, quietly};
use mazurka_core::record::Record;
use mazurka_testkit::oracle::Limits;
use mazurka_testkit::swarm::kinds;

use crate::commands::{options, quiet};
use crate::expected::{Expected, Unknown};
use crate::generators::layout;
use crate::shrink::shrink;

/// Returns the truth, or the reason why it is not known.
fn truth(text: &str, fairness: Fairness) -> Result<Expected, Unknown> {
    let limits = Limits {
        states: 3_000,
        strong: fairness == Fairness::Strong,
        ..Limits::default()
    };
    Expected::by_oracle(text, &limits)
}

/// Returns what `check --keep-going` gets wrong. Returns an error if there is nothing to compare:
/// the search hit a bound, the program has unknowns, or it does not load (docs/language.md: a wait
/// that depends on a chosen value is refused).
fn wrong(text: &str, fairness: Fairness, truth: &Expected) -> Result<Option<String>, ()> {
    let program = Program::load("kinds.maz", text, &[]).map_err(|_| ())?;
    if !program.unknowns().is_empty() {
        return Err(());
    }
    for counted in [Some(Kinds::ALL), None] {
        let options = Options {
            counted,
            fairness,
            keep_going: true,
            ..options()
        };
        let record = match program.check(&options, &mut quietly()) {
            Ok(record) => record,
            Err(refused) => return Ok(Some(format!("refused: {refused}"))),
        };
        if !record.scope.bounds.is_empty() {
            return Err(());
        }
        let counted = counted.unwrap_or(truth.counted());
        if let Some(what) = difference(&record, truth, counted) {
            return Ok(Some(what));
        }
    }
    Ok(None)
}

/// Returns what is wrong in a record.
fn difference(record: &Record, truth: &Expected, counted: Kinds) -> Option<String> {
    let shown: Kinds = record
        .witnesses
        .iter()
        .map(|witness| witness.kind)
        .collect();
    let present = truth.kinds().and(counted);
    if shown != present {
        let all = |kinds: Kinds| kinds.iter().collect::<Vec<_>>();
        return Some(format!(
            "shows {:?} instead of {:?}",
            all(shown),
            all(present)
        ));
    }
    let of_kind = |kind| record.witnesses.iter().filter(move |w| w.kind == kind);
    if counted.contains(Kind::Failure) {
        let places = of_kind(Kind::Failure).filter_map(|witness| witness.place.as_ref());
        let lines: BTreeSet<usize> = places.map(|place| place.line).collect();
        if lines != truth.failures {
            return Some(format!("failures in {lines:?}, not {:?}", truth.failures));
        }
    }
    if counted.contains(Kind::Property) {
        for (number, &holds) in truth.temporal.iter().enumerate() {
            let name = format!("`t{number}`");
            let broken = of_kind(Kind::Property).any(|witness| witness.message.contains(&name));
            if broken == holds {
                return Some(format!(
                    "{name} holds: {}, but according to the oracle: {holds}",
                    !broken
                ));
            }
        }
    }
    (record.deterministic != truth.deterministic).then(|| {
        let (found, expected) = (record.deterministic, truth.deterministic);
        format!("deterministic: {found:?} instead of {expected:?}")
    })
}

/// Compares the programs of some seeds, and checks that more than a third of them could be
/// compared: the others are too large for the oracle, hit a bound or are refused. Returns, for each
/// number of kinds of violations, how many programs have that many.
fn compare(first: u64, programs: u64, stride: u64) -> BTreeMap<usize, u64> {
    let mut numbers: BTreeMap<usize, u64> = BTreeMap::new();
    let mut of_kind: BTreeMap<Kind, u64> = BTreeMap::new();
    let mut bounds = 0;
    for seed in (0..programs).map(|at| first + at * stride) {
        let text = layout(kinds(seed));
        let fairness = Fairness::ALL[(seed % 2) as usize];
        let Ok(known) = truth(&text, fairness) else {
            continue;
        };
        match wrong(&text, fairness, &known) {
            Err(()) => bounds += 1,
            Ok(None) => {
                *numbers.entry(known.kinds().iter().count()).or_default() += 1;
                for kind in known.kinds().iter() {
                    *of_kind.entry(kind).or_default() += 1;
                }
            }
            Ok(Some(_)) => {
                let still = |text: &str| {
                    let known = truth(text, fairness).ok()?;
                    wrong(text, fairness, &known).ok().flatten()
                };
                let small = shrink(&text, |text| still(text).is_some());
                let what = still(&small).unwrap_or_default();
                panic!("seed {seed}, {fairness} fairness: {what}\n{small}\nof\n{text}");
            }
        }
    }
    let compared: u64 = numbers.values().sum();
    println!("{compared} of {programs} compared, {bounds} refused or at a bound");
    println!("by number of kinds: {numbers:?}, by kind: {of_kind:?}");
    assert!(compared * 3 > programs, "{compared} of {programs}");
    assert!(bounds * 20 < programs, "{bounds} of {programs}");
    assert_eq!(of_kind.len(), 5, "{of_kind:?}");
    numbers
}

#[test]
fn kinds_are_right() {
    let numbers = quiet(|| compare(0, 200, crate::STRIDE));
    assert!(numbers.len() >= 4, "{numbers:?}");
}

/// `.ci/long` calls this.
#[test]
#[ignore = "takes minutes; see .ci/long"]
fn kinds_are_right_for_long() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let first = number("MAZURKA_SEED").unwrap_or(1_000_000);
    let programs = number("MAZURKA_PROGRAMS").unwrap_or(20_000);
    let numbers = quiet(|| compare(first, programs, 1));
    assert!(numbers.len() >= 2, "{numbers:?}");
}
