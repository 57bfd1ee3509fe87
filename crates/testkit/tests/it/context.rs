//! Context-sensitive exploration loses no results, with any combination of its switches, and tries
//! exponentially fewer orders.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use crate::common::{has_found_all_states, programs, search};
use mazurka_core::{
    Access, Bound, Claims, Execution, Fingerprint, Limits, Promises, Semantics, StopReason,
};
use mazurka_explore::{Algorithm, Goal, Observer, Search, Variant};
use mazurka_lang::Machine;
use mazurka_testkit::{
    Config, Limit, States, Visit, assert_right, every_run, every_state, generate, machine, variants,
};

/// Returns the mistake of the engine on a program, if there is one.
pub fn wrong(text: &str) -> Option<String> {
    let truth = every_state(&mut machine(text).ok()?, Limit::default())?;
    if truth.lost {
        return None;
    }
    for variant in variants() {
        let mut seen = States::default();
        let algorithm = Algorithm::Context(variant);
        let found = search(&mut machine(text).ok()?, algorithm, &mut seen);
        seen.add_sites(&found);
        if !has_found_all_states(&found, &seen, &truth) {
            let counts = found.counts;
            return Some(format!(
                "{variant:?} {counts:?}\nfound {seen:?}\nis {truth:?}"
            ));
        }
    }
    None
}

fn agrees(first: u64, programs: u64, config: &Config) {
    assert_right(first..first + programs, config, wrong);
}

#[test]
fn agrees_with_brute_force() {
    agrees(0, programs(200), &Config::default());
}

#[test]
fn agrees_with_brute_force_on_plain_programs() {
    agrees(300_000, programs(200), &Config::plain());
}

#[test]
fn agrees_with_brute_force_where_nothing_fails() {
    agrees(70_000, programs(100), &Config::default().without_mishaps());
}

/// Run with `cargo test --release -p mazurka-testkit --test it context:: -- --ignored`;
/// `MAZURKA_PROGRAMS=n` for more.
#[test]
#[ignore = "takes minutes"]
fn agrees_with_brute_force_for_long() {
    agrees(1_000_000, programs(30_000), &Config::default());
    agrees(2_000_000, programs(20_000), &Config::plain());
}

/// Returns the numbers of executions and of blocked runs.
fn counts(text: &str, algorithm: Algorithm) -> (u64, u64) {
    let mut program = machine(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let found = search(&mut program, algorithm, &mut States::default());
    (found.counts.executions, found.counts.blocked)
}

fn corpus(name: &str) -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = here.ancestors().nth(2).expect("the workspace");
    let file = folder.join("corpus/maz").join(name).join("program.maz");
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn table_1() {
    let text = corpus("producer-consumer");
    let table = [(3, 20, 8), (5, 252, 32), (7, 3_432, 128), (9, 48_620, 512)];
    for (n, by_source, by_context) in table {
        let text = text.replace("const N = 2", &format!("const N = {n}"));
        assert_eq!(counts(&text, Algorithm::Source), (by_source, 0), "N = {n}");
        for variant in variants() {
            let (executions, _) = counts(&text, Algorithm::Context(variant));
            assert_eq!(executions, by_context, "N = {n}, {variant:?}");
        }
    }
}

#[test]
fn section_3() {
    let text = corpus("context-section3");
    assert_eq!(counts(&text, Algorithm::Source), (6, 0));
    // The paper's algorithm needs 3.
    assert_eq!(counts(&text, AS_PRINTED).0, 3);
    for variant in variants() {
        assert_eq!(
            counts(&text, Algorithm::Context(variant)).0,
            2,
            "{variant:?}"
        );
    }
}

const WAKEUP: Algorithm = Algorithm::Context(Variant {
    wakeup: true,
    ..Variant::BEST
});

const AS_PRINTED: Algorithm = Algorithm::Context(Variant {
    anticipate: false,
    guide: false,
    paper: true,
    wakeup: false,
    last_first: false,
});

#[test]
fn as_printed_it_loses_a_state_of_each_program_of_the_erratum() {
    for (name, finals) in [("e1-sleep-sequence", 3), ("e1-sleep-sequence-2", 4)] {
        let text = corpus(name);
        assert_eq!(wrong(&text), None, "{name}");
        let mut program = machine(&text).unwrap();
        let found = search(&mut program, AS_PRINTED, &mut States::default());
        assert_eq!(found.counts.final_states, finals - 1, "{name}");
        assert_eq!(found.bounds, [Bound::AsPrinted], "{name}");
        assert_eq!(found.stopped, StopReason::Bound, "{name}");
    }
}

/// All steps claim one variable, but any order of them leads to the same state, so there is one
/// execution. Each further process about doubles the number of cut runs, whereas the n-th process
/// multiplies the number of traces by n.
#[test]
fn commuting_steps_have_one_execution() {
    for n in 3..=7u32 {
        let cut = u64::from(n - 2) * (1 << (n - 1)) + 1;
        let many = |process: &str| process.repeat(n as usize);
        for text in [
            format!("var x: int = 0 {}", many("process { x := x + 1 } ")),
            format!("var x: int = 0 {}", many("process { x := 5 } ")),
            format!(
                "var x: int = 0 lock m {}",
                many("process { lock(m); x := x + 1; unlock(m) } ")
            ),
        ] {
            let traces = (1..=u64::from(n)).product();
            assert_eq!(counts(&text, Algorithm::Source), (traces, 0), "{text}");
            for variant in variants() {
                let found = counts(&text, Algorithm::Context(variant));
                assert_eq!(found, (1, cut), "{variant:?} {text}");
            }
        }
    }
}

/// Sleep sequences combined with wakeup trees (docs/context.md). Where both techniques help, there
/// are fewer steps than with one of them alone. Where only wakeup trees help, there are more steps
/// than with `optimal`.
#[test]
fn on_wakeup_trees() {
    let found = |name: &str, from: &str, to: &str, algorithm| {
        let text = corpus(name);
        assert!(text.contains(from), "{name}");
        let mut program = machine(&text.replace(from, to)).unwrap();
        let counts = search(&mut program, algorithm, &mut States::default()).counts;
        (counts.executions, counts.blocked, counts.steps)
    };
    let engines = [Algorithm::Optimal, Algorithm::CONTEXT, WAKEUP];
    let philosophers = engines.map(|engine| found("philosophers", "N = 2", "N = 5", engine));
    let expected = [(5_851, 0, 77_131), (33, 2_198, 33_408), (33, 2_158, 33_392)];
    assert_eq!(philosophers, expected);
    let lastzero = engines.map(|engine| found("lastzero", "N = 2", "N = 8", engine));
    assert_eq!(
        lastzero,
        [(704, 0, 6_800), (704, 300, 8_336), (704, 258, 8_909)]
    );
}

/// For independent parts of a program, the numbers of runs are added and not multiplied: after a
/// cut, only processes of the same part are tried again.
#[test]
fn cuts_stay_where_they_are() {
    for pairs in 1..=6u32 {
        let names: Vec<String> = (0..pairs).map(|n| format!("x{n}")).collect();
        let pair = |name: &String| format!(" process {{ {name} := 1 }} process {{ {name} := 1 }}");
        let processes: String = names.iter().map(pair).collect();
        let text = format!("var {}: int = 0{processes}", names.join(", "));
        let found = counts(&text, Algorithm::CONTEXT);
        assert_eq!(found, (1, u64::from(pairs)), "{text}");
        assert_eq!(counts(&text, Algorithm::Source), (1 << pairs, 0));
    }
}

/// `Promises::future` may claim too much, but never too little.
#[test]
fn steps_are_in_the_future_of_their_processes() {
    let limit = Limit {
        executions: 2_000,
        depth: 120,
    };
    let covers = |wide: &Access, narrow: &Access| {
        let (wide_cells, cells) = (wide.cells(), narrow.cells());
        wide_cells.start <= cells.start
            && cells.end <= wide_cells.end
            && (wide.writes() || !narrow.writes())
    };
    for seed in 50_000..50_000 + programs(200) {
        let text = generate(seed, &Config::default()).to_string();
        let mut program = machine(&text).unwrap();
        let mut futures: Vec<Vec<Claims>> = Vec::new();
        let future = |program: &Machine| -> Vec<Claims> {
            let all = program.processes().in_order().iter();
            let count = all.map(|p| p.index() + 1).max().unwrap_or(0);
            let mut futures = vec![Claims::new(); count];
            for &process in program.processes().in_order() {
                program.future(process, &mut futures[process.index()]);
            }
            futures
        };
        let _ = every_run(&mut program, limit, &mut |program, visit| match visit {
            Visit::Enter => {
                let Some(event) = program.events().last() else {
                    return futures.push(future(program));
                };
                // The steps of a process that does not exist yet belong to the future of its
                // ancestors.
                let mut owners = vec![event.process];
                for earlier in program.events().iter().rev() {
                    if earlier.spawned.contains(owners.last().expect("a process")) {
                        owners.push(earlier.process);
                    }
                }
                for before in &futures {
                    let known = owners.iter().filter_map(|p| before.get(p.index()));
                    let all: Vec<Access> = known.flatten().copied().collect();
                    let foreseen = |claim: &Access| all.iter().any(|wide| covers(wide, claim));
                    assert!(event.claims.iter().all(foreseen), "{event:?}\n{text}");
                }
                futures.push(future(program));
            }
            Visit::Leave => {
                futures.pop();
            }
            Visit::Complete => {}
        });
    }
}

/// A step changes only the parts of the state that its event names, and the sum of all parts
/// identifies the state.
fn state_is_the_sum_of_its_parts(text: &str) {
    let limit = Limit {
        executions: 2_000,
        depth: 120,
    };
    let parts = |program: &Machine| -> BTreeMap<(bool, usize), Fingerprint> {
        let cells = (0..program.cells()).map(|cell| ((false, cell), program.cell(cell)));
        let all = program.processes().in_order().iter();
        let processes = all.map(|&p| ((true, p.index()), program.process(p)));
        let some = cells.chain(processes);
        some.filter(|(_, print)| *print != Fingerprint::ZERO)
            .collect()
    };
    let mut program = machine(text).unwrap();
    let mut sums = BTreeMap::new();
    let mut prints = BTreeMap::new();
    let mut path = Vec::new();
    let _ = every_run(&mut program, limit, &mut |program, visit| match visit {
        Visit::Enter => {
            let Some(event) = program.events().last() else {
                return path.push(parts(program));
            };
            let mut expected = path.last().expect("the state before").clone();
            let now = parts(program);
            let cells = event.touched.iter().filter(|access| access.writes());
            let cells = cells
                .flat_map(|access| access.cells())
                .map(|at| (false, at));
            let processes = event.spawned.iter().chain([&event.process]);
            let named: Vec<_> = cells.chain(processes.map(|p| (true, p.index()))).collect();
            for key in named {
                match now.get(&key) {
                    Some(&print) => expected.insert(key, print),
                    None => expected.remove(&key),
                };
            }
            assert_eq!(expected, now, "{event:?}\n{text}");
            let sum = now
                .values()
                .fold(Fingerprint::ZERO, |all, &part| all.and(part));
            let print = program.fingerprint();
            assert_eq!(*sums.entry(print).or_insert(sum), sum, "{text}");
            assert_eq!(*prints.entry(sum).or_insert(print), print, "{text}");
            path.push(now);
        }
        Visit::Leave => {
            path.pop();
        }
        Visit::Complete => {}
    });
}

#[test]
fn a_state_is_the_sum_of_its_parts() {
    // Found by random programs: `y == 2` collided with process 0 at place 2, and 5 with place 5.
    state_is_the_sum_of_its_parts(
        "var x: int = 0; var y: int = 0; lock m
         process { lock(m); y := 2; unlock(m) }
         process { x := 3; y := 2 }
         process { y := y + x }",
    );
    for seed in 60_000..60_000 + programs(200) {
        state_is_the_sum_of_its_parts(&generate(seed, &Config::default()).to_string());
    }
}

/// The programs of the table in docs/context.md.
const FIGURES: &[(&str, &[(&str, u32)])] = &[
    ("context-section3", &[]),
    ("e1-sleep-sequence", &[]),
    ("e1-sleep-sequence-2", &[]),
    ("producer-consumer", &[("N", 3)]),
    ("producer-consumer", &[("N", 5)]),
    ("producer-consumer", &[("N", 7)]),
    ("producer-consumer", &[("N", 9)]),
    ("adders", &[("N", 7)]),
    ("adders", &[("N", 9)]),
    ("equal-writes", &[("N", 6)]),
    ("equal-writes", &[("N", 8)]),
    ("bounded-buffer", &[("ITEMS", 6), ("SIZE", 3)]),
    ("bounded-buffer", &[("ITEMS", 12), ("SIZE", 3)]),
    ("thesis-pi", &[("N", 7)]),
    ("thesis-fib", &[("N", 4)]),
    ("locking", &[("T", 4), ("B", 2), ("EXTRA", 1)]),
    ("philosophers", &[("N", 5)]),
    ("readers", &[("N", 12)]),
    ("writers", &[("N", 8)]),
    ("fib", &[("N", 6)]),
    ("lastzero", &[("N", 8)]),
];

/// Prints the table of docs/context.md: `cargo test --release -p mazurka-testkit --test it
/// context::figures -- --ignored --nocapture`
#[test]
#[ignore = "prints a table"]
fn figures() {
    let only = |anticipate| {
        Algorithm::Context(Variant {
            anticipate,
            guide: false,
            ..Variant::BEST
        })
    };
    let engines = [
        ("source", Algorithm::Source),
        ("optimal", Algorithm::Optimal),
        ("context, neither", only(false)),
        ("context, anticipating", only(true)),
        ("context", Algorithm::CONTEXT),
        ("context --wakeup", WAKEUP),
        ("stateful", Algorithm::Stateful),
    ];
    println!(
        "| program | engine | executions | blocked | steps | ms | ns a step | stored states |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (name, set) in FIGURES {
        let setting = |(name, value): &(&str, u32)| mazurka_lang::Setting {
            name: (*name).to_owned(),
            value: value.to_string(),
        };
        let settings: Vec<_> = set.iter().map(setting).collect();
        let source = corpus(name);
        let program = mazurka_lang::load(&source, &settings).expect("a program");
        let code = Arc::new(mazurka_lang::compile(&program, &source).expect("a program"));
        let values: Vec<String> = set.iter().map(|(_, value)| value.to_string()).collect();
        let mut title = if values.is_empty() {
            (*name).to_owned()
        } else {
            format!("{name}({})", values.join(", "))
        };
        for (engine, algorithm) in engines {
            let mut machine = Machine::new(Arc::clone(&code), 1_000_000);
            let mut states = EveryState::default();
            let search = Search {
                algorithm,
                limits: Limits::default(),
                goal: Goal::Everything,
            };
            let found = search.run(
                &mut machine,
                &mut |_| ControlFlow::Continue(()),
                &mut states,
            );
            let time = (0..5).map(|_| search_time(&mut machine, algorithm)).min();
            let time = time.unwrap_or(0);
            let counts = found.counts;
            let stored = match algorithm {
                Algorithm::Stateful => states.0.len().to_string(),
                _ => found.counts.stored_states.unwrap_or(0).to_string(),
            };
            println!(
                "| {title} | {engine} | {} | {} | {} | {:.2} | {} | {stored} |",
                counts.executions,
                counts.blocked,
                counts.steps,
                time as f64 / 1e6,
                time / counts.steps
            );
            title.clear();
        }
    }
}

/// Returns the CPU time of a search, in nanoseconds. The search is repeated until the resolution of
/// the clock does not matter.
fn search_time(machine: &mut Machine, algorithm: Algorithm) -> u64 {
    let start = cpu_time();
    for searches in 1.. {
        let search = Search {
            algorithm,
            limits: Limits::default(),
            goal: Goal::Everything,
        };
        search.run(machine, &mut |_| ControlFlow::Continue(()), &mut ());
        let time = cpu_time() - start;
        if time > 200_000_000 {
            return time / searches;
        }
    }
    0
}

/// Returns the CPU time of this thread in nanoseconds, which other load on the machine hardly
/// affects.
fn cpu_time() -> u64 {
    let statistics =
        std::fs::read_to_string("/proc/thread-self/schedstat").expect("this is for Linux");
    let first = statistics.split_whitespace().next().expect("three numbers");
    first.parse().expect("a number")
}

/// All states that a search visits.
#[derive(Default)]
struct EveryState(BTreeSet<Fingerprint>);

impl Observer<Machine> for EveryState {
    fn start(&mut self, program: &Machine) {
        self.0.insert(program.fingerprint());
    }

    fn pushed(&mut self, program: &Machine) {
        self.0.insert(program.fingerprint());
    }
}
