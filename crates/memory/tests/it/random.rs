//! Random programs: the engine finds what the oracle finds, and nothing twice.
//!
//! CI runs a slice. More: `MAZURKA_PROGRAMS=20000 MAZURKA_SEED=7 cargo test --release -p
//! mazurka-memory --test it -- --ignored random::`.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use mazurka_core::{Limits, Random};
use mazurka_memory::planted::Planted;
use mazurka_memory::{End, Ending, Failure, Memory, visit_planted};

use crate::generate::{Sketch, sketch};
use crate::oracle::{self, Answer, Key, code};

/// More graphs than this are too many for the oracle.
const MOST: usize = 20_000;

/// What the engine finds, or the graph that it found twice.
pub fn engine(sketch: &Sketch, memory: Memory, planted: Planted) -> Result<Answer, String> {
    let mut ends: BTreeSet<(u8, Key)> = BTreeSet::new();
    let mut twice = None;
    let mut visitor = |end: &mut End<'_, _>| {
        let key = (code(end.ending()), oracle::key_of(end.graph()));
        let wasted = matches!(end.ending(), Ending::Blocked | Ending::Race);
        if !wasted && !ends.insert(key.clone()) {
            twice = Some(key);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    let limits = Limits {
        executions: Some(20 * MOST as u64),
        ..Limits::default()
    };
    let found = visit_planted(sketch.program(), memory, &limits, &mut visitor, planted);
    if let Some(key) = twice {
        return Err(format!("a graph twice: {key:?}"));
    }
    if !found.is_exhaustive() {
        return Err(format!("not exhaustive: {found:?}"));
    }
    let failures = found.findings.iter().filter_map(|it| match it.failure {
        Failure::Failed { thread, code } => Some((thread, code)),
        _ => None,
    });
    Ok(Answer {
        ends,
        races: found.counts.races > 0,
        failures: failures.collect(),
    })
}

/// Whether the engine and the oracle agree; `None` if the program is too large for the oracle.
pub fn compare(sketch: &Sketch, memory: Memory, planted: Planted) -> Option<Result<(), String>> {
    let expected = oracle::ends(&sketch.program(), memory, MOST, true).ok()?;
    let found = match engine(sketch, memory, planted) {
        Ok(found) => found,
        Err(error) => return Some(Err(error)),
    };
    if expected.races || found.races {
        let same = expected.races == found.races;
        let error = || format!("a race: {} expected", expected.races);
        return Some(same.then_some(()).ok_or_else(error));
    }
    if expected == found {
        return Some(Ok(()));
    }
    let lost: Vec<_> = expected.ends.difference(&found.ends).collect();
    let wrong: Vec<_> = found.ends.difference(&expected.ends).collect();
    Some(Err(format!(
        "{} expected, {} found; lost {lost:?}; wrong {wrong:?}; failures {:?} expected, {:?} found",
        expected.ends.len(),
        found.ends.len(),
        expected.failures,
        found.failures
    )))
}

/// The smallest program found by leaving out blocks that still shows a disagreement.
fn shrink(mut sketch: Sketch, memory: Memory) -> (Sketch, String) {
    let fails = |sketch: &Sketch| match compare(sketch, memory, Planted::Nothing) {
        Some(Err(error)) => Some(error),
        _ => None,
    };
    let mut error = fails(&sketch).expect("a disagreement");
    loop {
        let smaller = sketch.smaller().find_map(|it| fails(&it).map(|e| (it, e)));
        match smaller {
            Some(smaller) => (sketch, error) = smaller,
            None => return (sketch, error),
        }
    }
}

fn hunt(seed: u64, programs: u64) {
    let (mut compared, mut too_large, mut graphs) = (0, 0, 0);
    for number in 0..programs {
        let mut random = Random::new(seed.wrapping_add(number));
        let sketch = sketch(&mut random);
        for memory in Memory::ALL {
            match compare(&sketch, memory, Planted::Nothing) {
                None => too_large += 1,
                Some(Ok(())) => compared += 1,
                Some(Err(_)) => {
                    let (least, error) = shrink(sketch.clone(), memory);
                    panic!(
                        "seed {}, {memory}: {error}\n{:#?}, {} started",
                        seed.wrapping_add(number),
                        least.threads,
                        least.started
                    );
                }
            }
        }
        graphs += 1;
    }
    assert!(
        graphs == programs && compared > 10 * too_large,
        "{too_large} are too large"
    );
}

#[test]
fn programs_of_the_slice() {
    hunt(1, 400);
}

#[test]
#[ignore = "long: MAZURKA_PROGRAMS and MAZURKA_SEED say how many and which"]
fn programs_of_the_long_run() {
    let variable = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let seed = variable("MAZURKA_SEED").unwrap_or(1_000_000);
    hunt(seed, variable("MAZURKA_PROGRAMS").unwrap_or(20_000));
}
