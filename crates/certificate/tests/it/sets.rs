//! Tests sets of states with one change: sets that lack a state are rejected, and no set shows a
//! wrong fact. Also tests that evidence for another program or with another bound shows no wrong
//! fact.

use mazurka_certificate::{Certificate, Kind, Rejected};
use mazurka_testkit::{Config, Rng, Summary, generate};

use crate::random::{fault, grow, grow_within, programs, truth};

/// How the evidence describes a state: by a step from an earlier state.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Derivation {
    from: usize,
    process: u64,
    /// The encoded outcomes of the step.
    outcomes: Vec<u64>,
}

/// A decoded set of states.
#[derive(Clone, Debug)]
struct Set {
    /// All states but the initial one.
    made: Vec<Derivation>,
    ranks: Vec<u64>,
    /// The ranks of temporal properties.
    rest: Vec<u8>,
}

fn number(bytes: &mut &[u8]) -> u64 {
    let (mut number, mut shift) = (0, 0);
    while let [byte, rest @ ..] = *bytes {
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if *byte < 0x80 {
            break;
        }
    }
    number
}

fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

impl Set {
    fn read(mut bytes: &[u8]) -> Self {
        let bytes = &mut bytes;
        let count = number(bytes);
        let mut from = 0;
        let mut made = Vec::new();
        for _ in 0..count {
            let head = number(bytes);
            from += (head >> 1) as usize;
            let process = number(bytes);
            let chosen = if head & 1 == 1 { number(bytes) } else { 0 };
            let outcomes = (0..chosen).map(|_| number(bytes)).collect();
            made.push(Derivation {
                from,
                process,
                outcomes,
            });
        }
        let ranks = (0..=count).map(|_| number(bytes)).collect();
        let rest = bytes.to_vec();
        Self { made, ranks, rest }
    }

    fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, self.made.len() as u64);
        let mut last = 0;
        for one in &self.made {
            let head = (one.from - last) as u64;
            last = one.from;
            put(&mut out, head << 1 | u64::from(!one.outcomes.is_empty()));
            put(&mut out, one.process);
            if !one.outcomes.is_empty() {
                put(&mut out, one.outcomes.len() as u64);
                one.outcomes.iter().for_each(|&value| put(&mut out, value));
            }
        }
        self.ranks.iter().for_each(|&rank| put(&mut out, rank));
        out.extend(&self.rest);
        out
    }

    /// Returns the set without this state and without the states derived from it.
    fn without(&self, state: usize) -> Self {
        let mut numbers = vec![Some(0)];
        let mut less = Self {
            made: Vec::new(),
            ranks: vec![self.ranks[0]],
            rest: Vec::new(),
        };
        for (at, one) in self.made.iter().enumerate() {
            let kept = numbers[one.from].filter(|_| at + 1 != state);
            numbers.push(kept.map(|from| {
                less.made.push(Derivation {
                    from,
                    ..one.clone()
                });
                less.ranks.push(self.ranks[at + 1]);
                less.made.len()
            }));
        }
        less
    }
}

#[test]
fn evidence_is_read_as_it_is_written() {
    let grown = grow(
        Kind::Stateful,
        "var x: int = 0 process { x := choose(0..3) }",
    );
    let evidence = grown.expect("it is small").evidence;
    assert_eq!(Set::read(&evidence).write(), evidence);
}

#[test]
fn sets_that_lack_a_state_are_rejected() {
    let rejected = rejected_sets(programs(60));
    assert!(rejected > 500, "{rejected}");
}

#[test]
#[ignore = "ten thousand mutants; .ci/long has it"]
fn ten_thousand_sets_are_rejected() {
    let rejected = rejected_sets(1_000);
    assert!(rejected >= 10_000, "{rejected}");
}

/// Removes states from the sets of this many programs. Returns the number of rejected sets.
fn rejected_sets(programs: u64) -> u64 {
    let mut rejected = 0;
    for seed in 0..programs {
        let text = generate(seed, &Config::default()).to_string();
        let Ok(whole) = grow_within(Kind::Stateful, &text, 50) else {
            continue;
        };
        let set = Set::read(&whole.evidence);
        let states = set.made.len();
        for state in (1..=states).step_by(states / 20 + 1) {
            let mutant = Certificate {
                evidence: set.without(state).write(),
                ..whole.clone()
            };
            let checked = mutant.check(&mut || true);
            let is_rejected = matches!(checked, Err(Rejected::States(_)));
            assert!(
                is_rejected,
                "seed {seed}, state {state}: {checked:?}\n{text}"
            );
            rejected += 1;
        }
    }
    println!("{rejected} sets rejected");
    rejected
}

#[test]
fn other_ranks_hide_no_livelock() {
    let (mut rejected, mut unchanged) = (0, 0);
    let programs = [
        include_str!("../../../../corpus/maz/livelock/program.maz"),
        include_str!("../../../../corpus/maz/livelock-polite/program.maz"),
        include_str!("../../../../corpus/maz/livelock-beside-server/program.maz"),
    ];
    for (seed, text) in programs.into_iter().enumerate() {
        let whole = grow_within(Kind::Stateful, text, 50).expect("it is small");
        let facts = whole.check(&mut || true).expect("it is whole");
        assert!(facts.livelocks > 0, "{text}");
        let mut rng = Rng::new(seed as u64);
        for _ in 0..200 {
            let mut set = Set::read(&whole.evidence);
            let at = rng.below(set.ranks.len());
            set.ranks[at] = match rng.below(3) {
                0 => set.ranks[at] + 1,
                1 => set.ranks[at].saturating_sub(1),
                _ => set.ranks[rng.below(set.ranks.len())],
            };
            let mutant = Certificate {
                evidence: set.write(),
                ..whole.clone()
            };
            match mutant.check(&mut || true) {
                Err(_) => rejected += 1,
                Ok(shown) => {
                    assert!(shown.livelocks > 0, "rank {at}\n{text}");
                    unchanged += 1;
                }
            }
        }
    }
    println!("{rejected} rejected, {unchanged} not");
    assert!(rejected > 50, "{rejected}");
}

/// Checks that evidence shows only true facts about the program in its certificate, even if the
/// evidence was made for another program. Returns whether the certificate was rejected.
fn assert_honest(what: &str, mutant: &Certificate, truth: &Summary) -> bool {
    let mut left = 20_000;
    let mut go_on = || {
        left -= 1;
        left > 0
    };
    let checked = mutant.check(&mut go_on);
    if let Ok(facts) = &checked {
        let wrong = match mutant.kind {
            Kind::Stateless => fault(facts, truth),
            Kind::Stateful => {
                let shown = (
                    facts.deadlocks > 0,
                    facts.failures > 0,
                    facts.results_differ,
                );
                let deadlock = !truth.deadlocks.is_empty();
                let results = truth.final_states.len() > 1;
                let expected = (deadlock, !truth.failures.is_empty(), results);
                (shown != expected).then(|| format!("{shown:?} instead of {expected:?}"))
            }
        };
        assert_eq!(wrong, None, "{what}\n{}", mutant.source);
    }
    checked.is_err()
}

#[test]
fn evidence_of_another_program_or_with_another_bound_shows_nothing_wrong() {
    let mut rejected = [0; 2];
    for seed in 0..programs(200) {
        let [text, other] =
            [seed, seed + 1].map(|seed| generate(seed, &Config::default()).to_string());
        let (Some(truth), Some(others)) = (truth(&text), truth(&other)) else {
            continue;
        };
        for kind in [Kind::Stateless, Kind::Stateful] {
            let Ok(whole) = grow_within(kind, &text, 500) else {
                continue;
            };
            let foreign = Certificate {
                source: other.clone(),
                ..whole.clone()
            };
            let what = format!("seed {seed}, another program");
            rejected[0] += u64::from(assert_honest(&what, &foreign, &others));
            for most_jumps in [0, 1, 3] {
                let bounded = Certificate {
                    most_jumps,
                    ..whole.clone()
                };
                let what = format!("seed {seed}, {most_jumps} jumps");
                rejected[1] += u64::from(assert_honest(&what, &bounded, &truth));
            }
        }
    }
    println!(
        "{} of another program, {} with another bound",
        rejected[0], rejected[1]
    );
    assert!(rejected[0] > 100, "{rejected:?}");
}

/// A step that is tried and must wait, or that is discarded, starts no process: only steps that are
/// made assign numbers to processes.
#[test]
fn steps_that_are_not_made_number_no_process() {
    let other = "process { let h = spawn { x := 2 }; join h; x := 3 }";
    for (kinds, tried) in [
        (&[Kind::Stateful, Kind::Stateless][..], "join h"),
        (&[Kind::Stateful], "assume x < 0"),
    ] {
        let first = format!("process {{ atomic {{ let h = spawn {{ x := 1 }}; {tried} }} }}");
        let text = format!("var x: int = 0\n{first}\n{other}\n");
        for &kind in kinds {
            let grown = grow(kind, &text).expect("evidence");
            let facts = grown.check(&mut || true);
            let facts = facts.unwrap_or_else(|why| panic!("{kind:?}: {why}\n{text}"));
            assert_eq!(facts.deadlocks > 0, tried == "join h", "{text}");
        }
    }
}
