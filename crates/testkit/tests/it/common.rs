//! Common functions of the random tests.

use std::ops::ControlFlow;
use std::panic;
use std::sync::{Arc, Mutex, PoisonError};

use mazurka::reach::{Method, Reach, Reachability, StateProperty};
use mazurka::record::{Ending, Record, Run};
use mazurka::run::parse_input;
use mazurka::{Options, Program, Schedule, quietly};
use mazurka_core::{Execution, Limits, ProcessPath, StopReason, ending};
use mazurka_explore::{Algorithm, Findings, Goal, Search, Unfold};
use mazurka_lang::{Machine, Property, compile, load};
use mazurka_testkit::{Dependence, Limit, States, Summary, machine, naive, shrink, tree};

/// Returns the number of programs to try: `MAZURKA_PROGRAMS`, or this default.
pub fn programs(default: u64) -> u64 {
    let setting = std::env::var("MAZURKA_PROGRAMS").ok();
    setting.and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// Runs a closure whose panics are caught and not printed. The hook belongs to the whole process,
/// so a mutex lets only one test at a time change it.
pub fn silently<T>(body: impl FnOnce() -> T) -> T {
    static HOOK: Mutex<()> = Mutex::new(());
    let _alone = HOOK.lock().unwrap_or_else(PoisonError::into_inner);
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let result = body();
    panic::set_hook(hook);
    result
}

/// Returns what brute force finds, if the program is small enough.
pub fn truth(text: &str, limit: Limit) -> Option<Summary> {
    let found = naive(&mut machine(text).ok()?, limit, Dependence::Claimed).ok()?;
    (!found.lost).then_some(found)
}

/// Shrinks a program on which a mistake occurs, and panics with it. `title` names the engine that
/// makes the mistake, and the seed of the program.
pub fn panic_with_smallest(
    title: &str,
    program: &tree::Program,
    wrong: impl Fn(&str) -> Option<String>,
) -> ! {
    let (small, fault) = silently(|| {
        let small = shrink(program.clone(), |p| wrong(&p.to_string()).is_some());
        let fault = wrong(&small.to_string()).unwrap_or_default();
        (small, fault)
    });
    panic!("{title}: {fault}\n{small}\n\nfirst:\n{program}");
}

/// Explores everything; the observer collects states.
pub fn search(program: &mut Machine, algorithm: Algorithm, observer: &mut States) -> Findings {
    let search = Search {
        algorithm,
        limits: Limits::default(),
        goal: Goal::Everything,
    };
    search.run(program, &mut |_| ControlFlow::Continue(()), observer)
}

/// Whether an engine that merges states has found exactly the states of the program, and counts
/// them.
pub fn has_found_all_states(found: &Findings, seen: &States, truth: &States) -> bool {
    seen == truth
        && found.stopped == StopReason::Complete
        && found.counts.traces.is_none()
        && found.counts.final_states == truth.finals.len() as u64
        && found.deadlock.is_some() != truth.deadlocks.is_empty()
        && (found.counts.failures > 0) != truth.sites.is_empty()
}

/// Makes the steps of a schedule, which must be possible.
pub fn follow<E: Execution>(program: &mut E, schedule: &Schedule) {
    for step in &schedule.0 {
        let process = program.processes().find(&step.process);
        let process = process.expect("it is met");
        let stepped = program.step(process, &step.outcomes);
        stepped.expect("it is possible");
    }
}

/// Whether a property holds in the current state, read directly from the machine rather than from
/// printed values and lines.
pub fn holds_now(property: &Property, machine: &Machine) -> bool {
    let at = |(path, line): &(ProcessPath, usize)| {
        let process = machine.processes().find(path);
        process.and_then(|process| machine.line(process)) == Some(*line)
    };
    let at: Vec<bool> = property.points().iter().map(at).collect();
    let deadlocked = || ending(machine) == Ending::Deadlock;
    property.holds(&|cell| machine.value(cell), &at) && (!property.deadlock() || deadlocked())
}

/// Whether `reach` finds a state with a property; the run that it shows is checked. `None` if it
/// did not search everything.
pub fn reaches(text: &str, wanted: &str, net: Unfold, method: Method) -> Option<bool> {
    let program = Program::load("random.maz", text, &[]).expect("a program");
    let state = StateProperty::read(text, &[], wanted).expect("a property");
    let (how, options) = (Reach { net, method }, Options::default());
    let record = program.reach(&state, how, &options, &mut quietly());
    let record = record.expect("it can start");
    if !record.record.scope.bounds.is_empty() {
        return None;
    }
    let property = Property::read(text, &[], wanted).expect("a property");
    if let Some(run) = &record.run {
        assert!(
            ends_there(text, run, &property),
            "{}: {wanted} {run:?}\n{text}",
            net.kind
        );
    }
    assert_eq!(
        record.run.is_some(),
        record.answer == Reachability::Reachable
    );
    Some(record.run.is_some())
}

/// Whether a run, with its inputs, ends in a state with a property.
fn ends_there(text: &str, run: &Run, property: &Property) -> bool {
    let code = compile(&load(text, &[]).expect("a program"), text).expect("nothing to refuse");
    let value = |text: &str| parse_input(text).expect("a value") as i64;
    let inputs = run.inputs.iter();
    let inputs = inputs.map(|input| (&*input.name, value(&input.value)));
    let mut machine = Machine::new(Arc::new(code.with_inputs(inputs)), 1_000_000);
    follow(&mut machine, &run.schedule.parse().expect("a schedule"));
    holds_now(property, &machine)
}

/// Moves the declarations of a program to two other files, one of which includes the other.
pub fn in_three_files(text: &str) -> String {
    let (head, processes) = text.split_at(text.find("\nprocess").expect("a process") + 1);
    let lines: Vec<&str> = head.split_inclusive('\n').collect();
    let (first, second) = lines.split_at(lines.len() / 2);
    let main = format!("include \"lib/second.maz\" // the rest\n{processes}");
    let read = &mut |name: &str| match name {
        "lib/second.maz" => Ok(format!("include \"deep/first.maz\"\n{}", second.concat())),
        "lib/deep/first.maz" => Ok(first.concat()),
        other => Err(format!("there is no `{other}`")),
    };
    mazurka_lang::expand(&main, read)
}

/// Returns the records of `check` and of some engines, with everything that they find.
pub fn records(program: &Program) -> Vec<(&'static str, Record)> {
    let options = Options {
        keep_going: true,
        ..Options::default()
    };
    let explore = |algorithm| program.explore(algorithm, &options, &mut quietly());
    let all = [
        ("check", program.check(&options, &mut quietly())),
        ("optimal", explore(Algorithm::Optimal)),
        ("source", explore(Algorithm::Source)),
        ("stateful", explore(Algorithm::Stateful)),
        ("context", explore(Algorithm::CONTEXT)),
    ];
    let all = all.into_iter();
    all.map(|(engine, record)| (engine, record.expect("it can be searched")))
        .collect()
}
