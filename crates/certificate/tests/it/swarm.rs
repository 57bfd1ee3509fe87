//! Compares the checker with an independent oracle, on random programs from another generator,
//! which have loops, objects and all other parts of the language.

use mazurka_certificate::{Facts, Kind, Rejected};
use mazurka_testkit::oracle::{Answer, Limits, Truth, judge};
use mazurka_testkit::{Rng, swarm};

use crate::random::{grow_within, programs};

fn differs(facts: &Facts, truth: &Truth) -> Option<String> {
    let shown = (
        facts.deadlocks > 0,
        facts.failures > 0,
        facts.results_differ,
    );
    let deterministic = truth.deterministic.unwrap_or(true);
    let true_ones = (truth.deadlock, !truth.failures.is_empty(), !deterministic);
    (shown != true_ones).then(|| format!("{shown:?} instead of {true_ones:?}"))
}

#[test]
fn both_kinds_of_evidence_agree_with_the_oracle() {
    let (mut trees, mut sets, mut livelocks) = (0, 0, 0);
    let generators: [fn(u64) -> String; 2] = [swarm::swarm, swarm::models];
    for seed in 0..programs(250) {
        for generator in generators {
            let text = generator(seed);
            let limits = Limits {
                states: 3_000,
                ..Limits::default()
            };
            let Answer::Truth(truth) = judge(&text, &limits) else {
                continue;
            };
            for kind in [Kind::Stateless, Kind::Stateful] {
                let facts = match grow_within(kind, &text, 200) {
                    Ok(grown) => grown.check(&mut || true),
                    Err(Rejected::Beyond(_) | Rejected::Stopped | Rejected::Program(_)) => continue,
                    Err(other) => Err(other),
                };
                let facts = match facts {
                    Ok(facts) => facts,
                    Err(why) => panic!("seed {seed}, {kind:?}: {why}\n{text}"),
                };
                if let Some(differs) = differs(&facts, &truth) {
                    panic!("seed {seed}, {kind:?}: {differs}\n{text}");
                }
                let livelock = facts.livelocks > 0;
                assert_eq!(livelock, truth.livelock, "seed {seed}, {kind:?}\n{text}");
                livelocks += u64::from(livelock);
                match kind {
                    Kind::Stateless => trees += 1,
                    Kind::Stateful => sets += 1,
                }
            }
        }
    }
    println!("{trees} trees, {sets} sets of states, {livelocks} livelocks");
    assert!(
        trees > 50 && sets > 50 && livelocks > 0,
        "{trees} {sets} {livelocks}"
    );
}

#[test]
fn temporal_properties_agree_with_the_oracle() {
    let (mut compared, mut broken, mut rejected) = (0, 0, 0);
    for seed in 0..programs(250) {
        let text = swarm::kinds(seed);
        let limits = Limits {
            states: 3_000,
            ..Limits::default()
        };
        let Answer::Truth(truth) = judge(&text, &limits) else {
            continue;
        };
        let Ok(grown) = grow_within(Kind::Stateful, &text, 200) else {
            continue;
        };
        let facts = grown.check(&mut || true);
        let facts = facts.unwrap_or_else(|why| panic!("seed {seed}: {why}\n{text}"));
        let wrong = truth.temporal.iter().filter(|holds| !**holds).count() as u64;
        assert_eq!(facts.broken, Some(wrong), "seed {seed}\n{text}");
        assert_eq!(facts.livelocks > 0, truth.livelock, "seed {seed}\n{text}");
        compared += 1;
        broken += wrong;
        // With wrong ranks, no violated property may seem to hold.
        let mut rng = Rng::new(seed);
        for _ in 0..10 {
            let mut mutant = grown.clone();
            let length = mutant.evidence.len();
            if length == 0 {
                continue;
            }
            let at = length - 1 - rng.below(length.div_ceil(2));
            mutant.evidence[at] ^= 1 << rng.below(7);
            match mutant.check(&mut || true) {
                Err(_) => rejected += 1,
                Ok(shown) => {
                    let hidden = shown.broken.is_some_and(|shown| shown < wrong);
                    assert!(!hidden, "seed {seed}, byte {at}\n{text}");
                }
            }
        }
    }
    println!("{compared} programs, {broken} broken properties, {rejected} mutants rejected");
    assert!(compared > 30 && broken > 20, "{compared} {broken}");
}
