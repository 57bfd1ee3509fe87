//! Random `.maz` programs: compares the engine for execution graphs under sc with Optimal-DPOR,
//! which explores interleavings.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use mazurka_core::{Execution, Fingerprint, Limits, Random, Status};
use mazurka_explore::{Algorithm, Goal, Observer, Search};
use mazurka_lang::{Code, Machine, compile, load};
use mazurka_memory::{End, Ending, Failure, Memory, Threads, visit};

const MAX_LOCAL: u64 = 10_000;

/// The features of a random program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// Features with which both engines count equally many executions.
    Counted,
    /// All features. The two engines do not count alike the executions with updates that do not
    /// write or with guards that wait, so only the results are compared.
    Everything,
}

struct Generator {
    random: Random,
    style: Style,
    text: String,
    locals: u64,
    depth: u32,
}

impl Generator {
    fn program(seed: u64, style: Style) -> String {
        let mut generator = Self {
            random: Random::new(seed),
            style,
            text: String::new(),
            locals: 0,
            depth: 0,
        };
        generator.text += "atomicity access\nvar x, y: atomic int = 0\nvar p: int = 0\nlock m\n";
        let processes = 2 + generator.random.below(2);
        for _ in 0..processes {
            generator.process();
        }
        generator.text
    }

    fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.random.below(all.len() as u64) as usize]
    }

    fn place(&mut self) -> &'static str {
        self.pick(&["x", "y"])
    }

    fn order(&mut self, kind: &str) -> &'static str {
        match kind {
            "load" => self.pick(&["relaxed", "acquire", "seq_cst"]),
            "store" => self.pick(&["relaxed", "release", "seq_cst"]),
            "fence" => self.pick(&["acquire", "release", "acq_rel", "seq_cst"]),
            _ => self.pick(&["relaxed", "acquire", "release", "acq_rel", "seq_cst"]),
        }
    }

    fn process(&mut self) {
        self.text += "process {\n  let r = 0;\n";
        let statements = 1 + self.random.below(3);
        for _ in 0..statements {
            self.statement();
        }
        self.text += "}\n";
    }

    fn statement(&mut self) {
        let most = match self.style {
            Style::Counted => 9,
            Style::Everything => 14,
        };
        let what = self.random.below(most);
        let (place, value) = (self.place(), 1 + self.random.below(3));
        let line = match what {
            0 | 1 => format!("{place}.store({value}, {})", self.order("store")),
            2 => format!("{place}.store(r + {value}, {})", self.order("store")),
            3 => format!("r := {place}.load({})", self.order("load")),
            4 => format!("r := {place}.fetch_add({value}, {})", self.order("update")),
            5 => format!("r := {place}.swap(r + 1, {})", self.order("update")),
            6 => "lock(m); p := p + 1; unlock(m)".to_owned(),
            7 => format!("fence({})", self.order("fence")),
            8 if self.depth == 0 => return self.spawned(),
            8 => "r := p".to_owned(),
            9 => {
                let order = self.order("update");
                format!(
                    "let c{} = {place}.compare_exchange({value}, 4, {order})",
                    self.fresh()
                )
            }
            10 => format!("await {place}.load({}) != {value}", self.order("load")),
            11 => format!("assert r != {value}"),
            12 => format!("assume r < {value}"),
            _ => format!("r := choose({value}..{})", value + 2),
        };
        let _ = writeln!(self.text, "  {line};");
    }

    fn fresh(&mut self) -> u64 {
        self.locals += 1;
        self.locals
    }

    fn spawned(&mut self) {
        self.depth += 1;
        let handle = self.fresh();
        let _ = writeln!(self.text, "  let h{handle} = spawn {{");
        self.statement();
        self.text += "  };\n";
        self.statement();
        if self.random.below(2) == 0 {
            let _ = writeln!(self.text, "  join h{handle};");
        }
        self.depth -= 1;
    }
}

/// The results of an engine.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Results {
    pub complete: u64,
    pub deadlocks: u64,
    results: BTreeSet<u128>,
    pub failures: BTreeSet<u32>,
    pub deadlocked: bool,
}

/// Returns the results of the engine for graphs under sc; `None` if a limit was hit or a step does
/// several things.
pub fn graphs<const APART: bool>(code: &Arc<Code>, limits: &Limits) -> Option<Results> {
    let machine = || Machine::new(code.clone(), MAX_LOCAL);
    let mut results = BTreeSet::new();
    let mut broken_at_the_end = BTreeSet::new();
    let mut look = |end: &mut End<'_, Threads<Machine, APART>>| {
        if end.ending() == Ending::Complete {
            let (graph, threads) = end.graph_and_program();
            let machine = threads.at_the_end(graph);
            results.insert(machine.observation().bits());
            let broken = machine.final_mishaps();
            broken_at_the_end.extend(broken.iter().map(|mishap| mishap.site));
        }
        ControlFlow::Continue(())
    };
    let program = Threads::<_, APART>::new(machine);
    let found = visit(program, Memory::Sc, limits, &mut look);
    if !found.is_exhaustive() {
        return None;
    }
    let failures = found
        .findings
        .iter()
        .filter_map(|finding| match finding.failure {
            Failure::Failed { code, .. } => Some(code),
            _ => None,
        });
    Some(Results {
        complete: found.counts.complete,
        deadlocks: found.counts.deadlocks,
        failures: failures.chain(broken_at_the_end).collect(),
        deadlocked: found.counts.deadlocks > 0,
        results,
    })
}

#[derive(Default)]
struct Ends(Results);

impl Observer<Machine> for Ends {
    fn complete(&mut self, machine: &Machine) {
        let all = machine.processes().in_order().iter();
        let status: Vec<Status> = all.map(|&process| machine.status(process)).collect();
        let has = |wanted: Status| status.contains(&wanted);
        if machine.is_final() {
            self.0.complete += 1;
            self.0
                .results
                .insert(Fingerprint::bits(machine.observation()));
        } else if has(Status::Waiting) && !has(Status::Failed) && !has(Status::Discarded) {
            self.0.deadlocks += 1;
            self.0.deadlocked = true;
        }
    }
}

/// Returns the results of Optimal-DPOR; `None` if a limit was hit.
pub fn interleavings(code: &Arc<Code>, limits: &Limits) -> Option<Results> {
    let mut machine = Machine::new(code.clone(), MAX_LOCAL);
    let search = Search {
        algorithm: Algorithm::Optimal,
        limits: limits.clone(),
        goal: Goal::Everything,
    };
    let mut ends = Ends::default();
    let mut watch = |_: &mazurka_explore::Progress| ControlFlow::Continue(());
    let found = search.run(&mut machine, &mut watch, &mut ends);
    if !found.bounds.is_empty() {
        return None;
    }
    let sites = found.failures.iter().filter_map(|finding| finding.mishap);
    ends.0.failures = sites.map(|mishap| mishap.site).collect();
    Some(ends.0)
}

fn compare(seed: u64, style: Style) -> Results {
    let source = Generator::program(seed, style);
    let program = load(&source, &[]).unwrap_or_else(|mistakes| panic!("{source}\n{mistakes:?}"));
    let code = Arc::new(compile(&program, &source).expect("code"));
    code.accesses_are_steps()
        .unwrap_or_else(|why| panic!("{source}\n{why}"));
    let limits = Limits::default();
    let expected = interleavings(&code, &limits).expect("all of it");
    let mut all = vec![graphs::<false>(&code, &limits)];
    if !code.starts_processes() {
        all.push(graphs::<true>(&code, &limits));
    }
    for found in all {
        let mut found = found.expect("all of it");
        if style == Style::Everything {
            (found.complete, found.deadlocks) = (expected.complete, expected.deadlocks);
        }
        assert_eq!(found, expected, "seed {seed}\n{source}");
    }
    expected
}

/// Compares many programs, and asserts that they have the features that are compared.
fn compare_all(style: Style) {
    let mut all = Results::default();
    for seed in first_seed()..first_seed() + programs() {
        let found = compare(seed, style);
        all.complete += found.complete;
        all.deadlocks += found.deadlocks;
        all.failures.extend(found.failures);
    }
    let enough = programs() >= 300;
    assert!(!enough || all.complete > 5 * programs(), "{}", all.complete);
    if style == Style::Everything && enough {
        assert!(all.deadlocks > 10 && all.failures.len() > 5, "{all:?}");
    }
}

/// Returns the number of programs of each style; `.ci/long` sets more.
fn programs() -> u64 {
    let asked = std::env::var("MAZURKA_PROGRAMS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(300)
}

fn first_seed() -> u64 {
    let asked = std::env::var("MAZURKA_SEED").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(1)
}

#[test]
fn under_sc_graphs_are_traces() {
    compare_all(Style::Counted);
}

#[test]
fn under_sc_graphs_have_the_results_of_interleavings() {
    compare_all(Style::Everything);
}
