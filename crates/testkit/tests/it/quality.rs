//! The quality of random programs, measured by brute force.

use mazurka_core::{Execution, ProcessId, Status};
use mazurka_testkit::{Config, Dependence, Limit, Recorder, Visit, every_run, generate, machine};

/// The data that brute force collects about one program.
struct ProgramMeasurements {
    executions: u64,
    traces: usize,
    deadlock: bool,
    failure: bool,
    /// Whether in some run the next step of a process is possible, then impossible, then possible
    /// again.
    reopens: bool,
}

/// Watches whether the next step of some process was possible, then impossible, then possible again
/// along the current run.
#[derive(Default)]
struct Watch {
    /// For each state of the run and each process: the index of its next step, and the phase of
    /// this step. The phase is 0 at first, 1 once the step has been possible, 2 once it has become
    /// impossible after that, and 3 once it is possible again.
    phases: Vec<Vec<(u32, u8)>>,
    reopened: bool,
}

impl Watch {
    fn enter<E: Execution>(&mut self, program: &E) {
        let mut steps = vec![0u32; program.processes().len()];
        for event in program.events() {
            steps[event.process.index()] += 1;
        }
        let before = self.phases.last();
        let mut now = Vec::new();
        for (at, &number) in steps.iter().enumerate() {
            let old = before
                .and_then(|phases| phases.get(at))
                .filter(|old| old.0 == number);
            let phase = old.map_or(0, |old| old.1);
            let next = match (phase, program.status(ProcessId(at as u32))) {
                (0, Status::Ready) => 1,
                (1, Status::Waiting) => 2,
                (2, Status::Ready) => 3,
                (phase, _) => phase,
            };
            self.reopened |= next == 3;
            now.push((number, next));
        }
        self.phases.push(now);
    }
}

fn measure(text: &str) -> Option<ProgramMeasurements> {
    let mut program = machine(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut recorder = Recorder::new(&program, Dependence::Claimed);
    let mut watch = Watch::default();
    every_run(
        &mut program,
        Limit::default(),
        &mut |program, visit| match visit {
            Visit::Enter => {
                recorder.push(program);
                watch.enter(program);
            }
            Visit::Complete => recorder.complete(program),
            Visit::Leave => {
                recorder.pop();
                watch.phases.pop();
            }
        },
    )
    .ok()?;
    let summary = recorder.finish();
    assert!(!summary.lost, "a run exceeded the evaluator:\n{text}");
    Some(ProgramMeasurements {
        executions: summary.executions + summary.discarded,
        traces: summary.traces.len(),
        deadlock: !summary.deadlocks.is_empty(),
        failure: !summary.failures.is_empty(),
        reopens: watch.reopened,
    })
}

#[test]
fn generated_programs_have_enough_variety() {
    let programs = 1000;
    let config = Config::default();
    let measured: Vec<ProgramMeasurements> = (0..programs)
        .filter_map(|seed| measure(&generate(seed, &config).to_string()))
        .collect();
    let share = |what: fn(&ProgramMeasurements) -> bool| {
        100.0 * measured.iter().filter(|m| what(m)).count() as f64 / programs as f64
    };
    let mut executions: Vec<u64> = measured.iter().map(|m| m.executions).collect();
    executions.sort_unstable();
    let median = executions[executions.len() / 2];
    let within_limit = share(|_| true);
    let several = share(|m| m.traces > 1);
    let deadlock = share(|m| m.deadlock);
    let failure = share(|m| m.failure);
    let reopens = share(|m| m.reopens);
    println!("within the limit {within_limit} %, median {median} executions");
    println!("several traces {several} %, deadlock {deadlock} %, failure {failure} %");
    println!("a guard that closes and reopens {reopens} %");
    assert!(within_limit > 90.0);
    assert!(median < 2000);
    assert!(several >= 30.0);
    assert!(deadlock >= 10.0);
    assert!(reopens >= 10.0);
}
