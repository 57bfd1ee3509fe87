//! A state is found in a net if and only if brute force finds it.

use std::ops::ControlFlow;

use mazurka_core::{Execution, Limits, ProcessId, ProcessPath, StopReason};
use mazurka_explore::{Goal, NetKind, Question, Search, Unfold};
use mazurka_lang::{Machine, Property};
use mazurka_testkit::{Config, Limit, Rng, Visit, every_run, generate, machine};

struct Asked {
    property: Property,
    processes: Vec<ProcessPath>,
}

impl Asked {
    fn new(property: Property) -> Self {
        let points = property.points().iter();
        let mut processes: Vec<_> = points.map(|point| point.0.clone()).collect();
        processes.sort();
        processes.dedup();
        Self {
            property,
            processes,
        }
    }

    /// Straight from the machine, without the detour over values and lines.
    fn holds_now(&self, machine: &Machine) -> bool {
        let at = |(path, line): &(ProcessPath, usize)| {
            let process = machine.processes().find(path);
            process.and_then(|process| machine.line(process)) == Some(*line)
        };
        let at: Vec<bool> = self.property.points().iter().map(at).collect();
        self.property.holds(&|cell| machine.value(cell), &at)
    }
}

impl Question<Machine> for Asked {
    type Value = i64;

    fn cells(&self) -> &[u32] {
        self.property.cells()
    }

    fn processes(&self) -> &[ProcessPath] {
        &self.processes
    }

    fn value(&self, program: &Machine, cell: u32) -> i64 {
        program.value(cell)
    }

    fn line(&self, program: &Machine, process: ProcessId) -> Option<usize> {
        program.line(process)
    }

    fn holds(&self, _: &Machine, values: &[i64], lines: &[Option<usize>]) -> bool {
        let cells = self.property.cells();
        let value = |cell: u32| values[cells.binary_search(&cell).expect("a cell of it")];
        let at = |(path, line): &(ProcessPath, usize)| {
            let k = self.processes.binary_search(path).expect("a process of it");
            lines[k] == Some(*line)
        };
        let at: Vec<bool> = self.property.points().iter().map(at).collect();
        self.property.holds(&value, &at)
    }
}

/// A random property over the names that random programs use.
fn property(rng: &mut Rng, text: &str) -> String {
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
    format!("({one}) {join} ({other})")
}

#[test]
fn the_net_knows_what_brute_force_knows() {
    let programs = crate::common::programs(120);
    let (mut reachable, mut unreachable) = (0, 0);
    for seed in 700_000..700_000 + programs {
        let config = Config {
            arrays: false,
            ..Config::default()
        };
        // One statement a line, so that lines tell where a process is.
        let text = generate(seed, &config).to_string().replace("; ", ";\n");
        let mut rng = Rng::new(seed);
        for _ in 0..4 {
            let wanted = property(&mut rng, &text);
            let Ok(read) = Property::read(&text, &[], &wanted) else {
                continue;
            };
            let asked = Asked::new(read);
            let Ok(mut program) = machine(&text) else {
                continue;
            };
            let limit = Limit {
                executions: 3_000,
                ..Limit::default()
            };
            let mut truth = false;
            let visited = every_run(&mut program, limit, &mut |program, visit| {
                truth |= visit == Visit::Enter && asked.holds_now(program);
            });
            if visited.is_err() {
                continue;
            }
            for kind in [NetKind::Replicated, NetKind::Contextual, NetKind::Stateful] {
                let mut program = machine(&text).expect("a program");
                let mut on = || ControlFlow::Continue(());
                let watch = &mut |_: &_| ControlFlow::Continue(());
                let unfold = Search {
                    algorithm: Unfold { kind, seed },
                    limits: Limits::default(),
                    goal: Goal::Everything,
                };
                let mut net = unfold.run(&mut program, watch, &mut ());
                if net.found.stopped != StopReason::Complete {
                    continue;
                }
                let ControlFlow::Continue((found, _)) = net.reach(&mut program, &asked, &mut on)
                else {
                    panic!("the search was broken off");
                };
                assert_eq!(
                    found.is_some(),
                    truth,
                    "{kind}, seed {seed}: {wanted}\n{text}"
                );
                if let Some(schedule) = found {
                    program.back_to(0);
                    for step in &schedule.0 {
                        let process = program.processes().find(&step.process).expect("it is met");
                        program
                            .step(process, &step.outcomes)
                            .expect("it is possible");
                    }
                    assert!(
                        asked.holds_now(&program),
                        "{kind}, seed {seed}: {wanted}\n{text}"
                    );
                }
            }
            match truth {
                true => reachable += 1,
                false => unreachable += 1,
            }
        }
    }
    println!("{reachable} reachable, {unreachable} not");
    assert!(reachable * 5 > programs && unreachable * 5 > programs);
}
