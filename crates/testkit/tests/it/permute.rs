//! The algorithm Fagiani finds exactly the executable permutations of a run. In its complete form,
//! which continues with runs of other labels, it finds what brute force finds.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use crate::common::{panic_with_smallest, programs};
use mazurka_core::{Execution, Fingerprint, Labelled, Limits, Schedule, Status, TraceHasher};
use mazurka_explore::{Collectors, Extent, Goal, Observer, Permute, Permuted, Search, Workers};
use mazurka_lang::hir::{Program, Type};
use mazurka_lang::{AnyStart, Code, Concolic, LabelledMachine, Machine, Outlook};
use mazurka_testkit::swarm::{BATCH, swarm};
use mazurka_testkit::{
    Aspect, Config, Dependence, Limit, Recording, Rng, Summary, Visit, every_run, generate,
    machine, naive,
};

fn labelled(text: &str) -> Option<LabelledMachine> {
    machine(text).ok().map(LabelledMachine::new)
}

/// Makes a random complete run.
fn random_run(program: &mut LabelledMachine, seed: u64) -> Option<Schedule> {
    let mut random = Rng::new(seed);
    program.back_to(0);
    while program.events().len() < 120 {
        let all = program.processes().in_order().iter().copied();
        let ready: Vec<_> = all
            .filter(|&p| program.status(p) == Status::Ready)
            .collect();
        if ready.is_empty() {
            return Some(Schedule::from_run(program.events(), program.processes()));
        }
        let process = ready[random.below(ready.len())];
        let depth = program.events().len();
        let event = program.step(process, &[]).ok()?;
        let other = |o: &mazurka_core::Outcome| o.value + i64::from(o.value + 1 < o.end);
        let outcomes: Vec<i64> = event.outcomes.iter().map(other).collect();
        if random.below(2) == 0 {
            program.back_to(depth);
            if program.step(process, &outcomes).is_err() {
                program.step(process, &[]).ok()?;
            }
        }
    }
    None
}

fn permuting(schedule: &Schedule, extent: Extent, limits: Limits) -> Search<Permute> {
    let schedule = schedule.clone();
    Search {
        algorithm: Permute { schedule, extent },
        limits,
        goal: Goal::Everything,
    }
}

fn run(program: &mut LabelledMachine, schedule: &Schedule, complete: bool) -> (Permuted, Summary) {
    let mut recording = Recording::default();
    let extent = Extent {
        complete,
        printed: false,
    };
    let permute = permuting(schedule, extent, Limits::default());
    let watch = &mut |_: &_| ControlFlow::Continue(());
    let permuted = permute.run(program, watch, &mut recording);
    (permuted, recording.finish())
}

/// The complete runs, in the order in which they are found.
#[derive(Default)]
struct CompleteRuns(Vec<String>);

impl Observer<LabelledMachine> for CompleteRuns {
    fn complete(&mut self, program: &LabelledMachine) {
        let run = Schedule::from_run(program.events(), program.processes());
        self.0.push(run.to_string());
    }
}

/// Permutes one path with some workers, which give branches away after a few steps. Returns what
/// does not depend on the workers, and the number of parts.
fn shared(text: &str, schedule: &Schedule, jobs: usize, steps: u64) -> (String, usize) {
    let programs = || labelled(text).expect("a program");
    let workers = Workers {
        count: jobs,
        programs: &programs,
    };
    let collectors = Collectors {
        observers: &CompleteRuns::default,
        finish: &|runs: CompleteRuns| runs.0,
        steps,
    };
    let permute = permuting(schedule, Extent::default(), Limits::default());
    let watch = &mut |_: &_| ControlFlow::Continue(());
    let (mut permuted, runs) = permute.share(&mut programs(), &workers, watch, &collectors);
    let parts = runs.len();
    let counts = &mut permuted.findings.counts;
    (counts.steps, counts.events) = (0, 0);
    let found = &permuted.findings;
    let told = format!(
        "{:?}\n{:?}\n{:?} {:?} {:?} {:?}\n{}",
        permuted.counts,
        found.counts,
        found.failures,
        found.deadlock,
        found.bounds,
        found.stopped,
        runs.concat().join("\n")
    );
    (told, parts)
}

/// Returns a difference that workers make, or the number of parts.
fn fault_of_workers(text: &str, chance: u64) -> Result<usize, String> {
    let Some(mut program) = labelled(text) else {
        return Ok(0);
    };
    let Some(schedule) = random_run(&mut program, chance) else {
        return Ok(0);
    };
    let (one, whole) = shared(text, &schedule, 1, 1);
    assert_eq!(whole, 1);
    let mut most = 0;
    for (jobs, steps) in [(2, 1), (2, 20), (3, 7)] {
        let (more, parts) = shared(text, &schedule, jobs, steps);
        if one != more {
            return Err(format!("{jobs} workers, {steps} steps:\n{one}\n{more}"));
        }
        most = most.max(parts);
    }
    Ok(most)
}

/// Compares workers on random programs of both generators, from a seed on.
fn workers_agree(first: u64, count: u64) {
    let mut parts = 0;
    for seed in first..first + count {
        let program = generate(seed, &Config::default());
        match fault_of_workers(&program.to_string(), seed) {
            Ok(some) => parts += some,
            Err(_) => panic_with_smallest(&format!("seed {seed}"), &program, |text| {
                fault_of_workers(text, seed).err()
            }),
        }
    }
    for seed in first..first + count {
        let text = swarm(seed * BATCH / 2);
        match fault_of_workers(&text, seed) {
            Ok(some) => parts += some,
            Err(fault) => panic!("swarm {seed}: {fault}\n{text}"),
        }
    }
    assert!(
        parts as u64 > 10 * count,
        "{parts} parts of {count} programs"
    );
}

#[test]
fn workers_change_nothing_about_one_path() {
    workers_agree(0, programs(150));
}

#[test]
#[ignore = "takes minutes"]
fn workers_change_nothing_about_one_path_for_long() {
    workers_agree(4_000_000, programs(20_000));
}

/// Returns the labels of a run by process, in any order.
fn labels(program: &LabelledMachine) -> BTreeMap<String, Vec<String>> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (at, event) in program.events().iter().enumerate() {
        let name = program.processes().path(event.process).to_string();
        let label = format!(
            "{:?} {:?} {:?} {:?}",
            program.path(at),
            event.outcomes.iter().map(|o| o.value).collect::<Vec<_>>(),
            event.claims,
            event.mishaps
        );
        all.entry(name).or_default().push(label);
    }
    all
}

/// For each family of labels, the traces of the complete runs with these labels, by brute force.
type Families = BTreeMap<BTreeMap<String, Vec<String>>, BTreeSet<Fingerprint>>;

fn families(program: &mut LabelledMachine, limit: Limit) -> Option<Families> {
    let mut families = Families::new();
    let done = every_run(program, limit, &mut |program, visit| {
        if visit == Visit::Complete {
            let mut hasher = TraceHasher::new();
            for event in program.events() {
                hasher.push(event, program.processes());
            }
            let family = families.entry(labels(program)).or_default();
            family.insert(hasher.trace());
        }
    });
    done.ok().map(|()| families)
}

/// Returns a mistake of Fagiani about a random run of a program.
fn fault(text: &str, chance: u64) -> Option<String> {
    let mut plain = machine(text).ok()?;
    let truth = naive(&mut plain, Limit::default(), Dependence::Claimed).ok()?;
    if truth.lost {
        return None;
    }
    let mut program = labelled(text)?;
    let schedule = random_run(&mut program, chance)?;
    let mine = labels(&program);
    let families = families(&mut program, Limit::default())?;
    let (one, _) = run(&mut program, &schedule, false);
    let expected = families.get(&mine).map_or(0, BTreeSet::len) as u64;
    if one.counts.executable != expected {
        let found = one.counts.executable;
        return Some(format!("{found} permutations instead of {expected}"));
    }
    let (all, summary) = run(&mut program, &schedule, true);
    if let Some(difference) = summary.difference(&truth, Aspect::ALL) {
        return Some(format!("complete, after {schedule}: {difference}"));
    }
    let counts = &all.findings.counts;
    if summary.executions != summary.traces.len() as u64 {
        let traces = summary.traces.len();
        return Some(format!(
            "{} executions of {traces} traces",
            summary.executions
        ));
    }
    let counted = [counts.executions, counts.deadlocks, counts.final_states];
    let seen = [
        summary.executions,
        summary.deadlocks.len() as u64,
        summary.final_states.len() as u64,
    ];
    if counted != seen {
        return Some(format!("counts {counted:?} instead of {seen:?}"));
    }
    let seeds = families.len() as u64;
    (all.counts.seeds != seeds).then(|| format!("{} seeds instead of {seeds}", all.counts.seeds))
}

fn agree(first: u64, programs: u64, config: &Config) {
    let mut permuted = 0;
    for seed in first..first + programs {
        let program = generate(seed, config);
        let text = program.to_string();
        permuted += u64::from(labelled(&text).is_some());
        for chance in 0..2 {
            if fault(&text, seed + chance).is_some() {
                panic_with_smallest(&format!("seed {seed}"), &program, |text| {
                    fault(text, seed + chance)
                });
            }
        }
    }
    assert!(permuted * 10 > programs * 9, "too few programs");
}

#[test]
fn permutations_are_those_of_brute_force() {
    agree(500_000, programs(150), &Config::default());
}

/// `MAZURKA_PROGRAMS=20000 cargo test --release -p mazurka-testkit --test it permute:: --
/// --ignored`
#[test]
#[ignore = "takes minutes"]
fn permutations_are_those_of_brute_force_for_long() {
    agree(5_000_000, programs(20_000), &Config::default());
}

/// Returns the program with random initial values, and these values.
fn started_elsewhere(program: &Program, text: &str, chance: u64) -> Option<(Code, Vec<i64>)> {
    let mut random = Rng::new(chance);
    let mut program = program.clone();
    let mut cells = Vec::new();
    for var in &mut program.vars {
        let ty = var.ty;
        for value in var.init.as_mut()? {
            *value = match ty {
                Type::Bool => random.below(2) as i64,
                Type::Unsigned(_) => random.below(3) as i64,
                _ => random.below(5) as i64 - 2,
            };
            cells.push(*value);
        }
    }
    let code = mazurka_lang::compile(&program, text).ok()?;
    Some((code, cells))
}

/// Collects the outlooks of the complete permutations, which are those with this number of labels.
struct Outlooks(usize, Vec<Outlook>);

impl Observer<AnyStart> for Outlooks {
    fn complete(&mut self, program: &AnyStart) {
        if program.events().len() == self.0 {
            self.1.push(program.outlook());
        }
    }
}

/// Returns a mistake of the permutations of a run from any initial values, for some values; `None`
/// if there is no mistake, or if nothing could be compared.
fn fault_from_any_start(text: &str, chance: u64, compared: &mut u64) -> Option<String> {
    let hir = mazurka_lang::load(text, &[]).ok()?;
    let code = std::sync::Arc::new(mazurka_lang::compile(&hir, text).ok()?);
    let mut recorded = LabelledMachine::new(Machine::new(code.clone(), 10_000));
    let schedule = random_run(&mut recorded, chance)?;
    if !recorded.is_final() || schedule.0.is_empty() {
        return None;
    }
    let mine = labels(&recorded);
    let mut concolic = Concolic::solving(&code, 10_000);
    concolic.follow(&schedule).ok()?;
    let mut program = concolic.from_any_start(recorded.events());
    let mut outlooks = Outlooks(schedule.0.len(), Vec::new());
    let limits = Limits {
        executions: Some(300),
        ..Limits::default()
    };
    let permute = permuting(&schedule, Extent::default(), limits);
    let watch = &mut |_: &_| ControlFlow::Continue(());
    let found = permute.run(&mut program, watch, &mut outlooks);
    let undecided = program.doubts();
    if program.varies() || !found.findings.bounds.is_empty() {
        return None;
    }
    if undecided.within.is_some() || undecided.undecided.is_some() {
        return None;
    }
    for other in 0..6 {
        let (code, cells) = started_elsewhere(&hir, text, chance + 1000 * other)?;
        let machine = Machine::new(std::sync::Arc::new(code), 10_000);
        let mut machine = LabelledMachine::new(machine);
        let Some(families) = families(&mut machine, Limit::default()) else {
            continue;
        };
        let expected = families.get(&mine).map_or(0, BTreeSet::len);
        let each = outlooks.1.iter();
        let observed: Option<Vec<_>> = each.map(|o| program.observe(o, &cells)).collect();
        let Some(observed) = observed else {
            continue;
        };
        let executable = observed.iter().flatten().count();
        if executable != expected {
            return Some(format!(
                "{schedule} from {cells:?}: {executable} permutations instead of {expected}"
            ));
        }
        *compared += 1;
    }
    None
}

fn agree_from_any_start(first: u64, programs: u64) {
    let config = Config {
        interleavings: 400.0,
        ..Config::default()
    };
    let mut compared = 0;
    for seed in first..first + programs {
        let program = generate(seed, &config);
        let text = program.to_string();
        if fault_from_any_start(&text, seed, &mut compared).is_some() {
            panic_with_smallest(&format!("seed {seed}"), &program, |text| {
                fault_from_any_start(text, seed, &mut 0)
            });
        }
    }
    println!("{compared} of {} starts", 6 * programs);
    assert!(compared > programs, "too few starts");
}

#[test]
fn path_conditions_describe_the_starts_of_executable_permutations() {
    agree_from_any_start(700_000, programs(80));
}

/// `MAZURKA_PROGRAMS=5000 cargo test --release -p mazurka-testkit --test it any_start -- --ignored`
#[test]
#[ignore = "takes minutes"]
fn path_conditions_for_long_any_start() {
    agree_from_any_start(7_000_000, programs(2_000));
}
