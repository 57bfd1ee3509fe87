//! `reach` finds a state in a net if and only if brute force finds it.

use crate::common::{holds_now, programs, reaches};
use mazurka::reach::Method;
use mazurka_explore::{NetKind, Unfold};
use mazurka_lang::Property;
use mazurka_testkit::{Config, Limit, Rng, Visit, every_run, generate, machine};

/// Returns a random property over the names that random programs use.
fn wanted(rng: &mut Rng, text: &str) -> String {
    let names: Vec<&str> = ["x", "y", "z"]
        .into_iter()
        .filter(|name| {
            text.contains(&format!("var {name}:")) && !text.contains(&format!("var {name}: int["))
        })
        .collect();
    let lines = text.lines().count();
    let part = |rng: &mut Rng| match rng.below(3) {
        0 if !names.is_empty() => {
            let name = names[rng.below(names.len())];
            let compare = ["==", "<", ">", "!="][rng.below(4)];
            format!("{name} {compare} {}", rng.below(4))
        }
        1 if names.len() > 1 => {
            format!("{} == {} + {}", names[0], names[1], rng.below(3))
        }
        _ => format!("at({}, {})", rng.below(3), 1 + rng.below(lines)),
    };
    let (one, other) = (part(rng), part(rng));
    let join = ["&&", "&&", "||"][rng.below(3)];
    match rng.below(6) {
        0 => "deadlock".to_owned(),
        1 => format!("deadlock && ({one} || {other})"),
        _ => format!("({one}) {join} ({other})"),
    }
}

#[test]
fn the_net_has_the_states_of_brute_force() {
    let programs = programs(50);
    let (mut reachable, mut unreachable) = (0, 0);
    let (mut questions, mut answered, mut deadlocks) = (0, 0, 0);
    for seed in 700_000..700_000 + programs {
        let config = Config {
            arrays: false,
            ..Config::default()
        };
        // One statement a line, so that a line identifies where a process is.
        let text = generate(seed, &config).to_string().replace("; ", ";\n");
        let mut rng = Rng::new(seed);
        for _ in 0..4 {
            let wanted = wanted(&mut rng, &text);
            let Ok(property) = Property::read(&text, &[], &wanted) else {
                continue;
            };
            let Ok(mut program) = machine(&text) else {
                continue;
            };
            let limit = Limit {
                executions: 3_000,
                ..Limit::default()
            };
            let mut truth = false;
            let visited = every_run(&mut program, limit, &mut |program, visit| {
                truth |= visit == Visit::Enter && holds_now(&property, program);
            });
            if visited.is_err() {
                continue;
            }
            for kind in [NetKind::Replicated, NetKind::Contextual, NetKind::Stateful] {
                for method in [Method::Search, Method::Smt] {
                    questions += 1;
                    if let Some(found) = reaches(&text, &wanted, Unfold { kind, seed }, method) {
                        answered += 1;
                        let how = format!("{kind}, {method:?}, seed {seed}");
                        assert_eq!(found, truth, "{how}: {wanted}\n{text}");
                    }
                }
            }
            deadlocks += u64::from(truth && property.deadlock());
            if truth {
                reachable += 1
            } else {
                unreachable += 1
            }
        }
    }
    println!("{reachable} reachable, {unreachable} not; {answered} of {questions} answered");
    println!("{deadlocks} of those reachable are deadlocks");
    assert!(answered * 10 > questions * 9 && deadlocks > 0);
    assert!(reachable * 5 > programs && unreachable * 5 > programs);
}
