//! A defect that was real: what the first run teaches is taken for the truth about all runs.
//!
//! `optimal` made one run to choose which processes to prefer. A process that ended at its birth in
//! that run was left out, and never ran where it does have steps: executions were lost, and the
//! verdict was "verified, exhaustive".

use mazurka_core::{Execution, ProcessPath};

use crate::brute::{Exceeded, Limit, next_outcomes, ready};
use crate::record::{Dependence, Recorder, Summary};

/// Brute force that never runs a process which had nothing to do in the first run.
pub fn forgets_idle<E: Execution>(program: &mut E, limit: Limit) -> Result<Summary, Exceeded> {
    let idle = idle_in_first_run(program, limit)?;
    program.back_to(0);
    let mut recorder = Recorder::new(program, Dependence::Claimed);
    descend(program, &idle, limit, &mut recorder)?;
    Ok(recorder.finish())
}

/// The processes that make no step in the run in which the first ready process always goes on.
fn idle_in_first_run<E: Execution>(
    program: &mut E,
    limit: Limit,
) -> Result<Vec<ProcessPath>, Exceeded> {
    program.back_to(0);
    while let Some(&first) = ready(program).first() {
        if program.events().len() >= limit.depth || program.step(first, &[]).is_err() {
            return Err(Exceeded);
        }
    }
    let ran = |process| {
        program
            .events()
            .iter()
            .any(|event| event.process == process)
    };
    let all = program.processes().in_order().iter();
    let idle = all.filter(|&&process| !ran(process));
    Ok(idle
        .map(|&process| program.processes().path(process).clone())
        .collect())
}

fn descend<E: Execution>(
    program: &mut E,
    idle: &[ProcessPath],
    limit: Limit,
    recorder: &mut Recorder,
) -> Result<(), Exceeded> {
    let depth = program.events().len();
    let all = ready(program);
    if all.is_empty() {
        recorder.complete(program);
    }
    let executions = recorder.summary().executions + recorder.summary().discarded;
    if depth >= limit.depth || executions > limit.executions {
        return Err(Exceeded);
    }
    for process in all {
        if idle.contains(program.processes().path(process)) {
            continue;
        }
        let mut outcomes = Some(Vec::new());
        while let Some(values) = outcomes {
            let Ok(event) = program.step(process, &values) else {
                return Err(Exceeded);
            };
            outcomes = next_outcomes(event);
            recorder.push(program);
            descend(program, idle, limit, recorder)?;
            recorder.pop();
            program.back_to(depth);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::machine;

    #[test]
    fn it_misses_what_a_child_does_only_in_other_runs() {
        let text = "var y: int = 5
            process { let q = y; spawn { if q <= 3 { y := 0; error } } }
            process { y := 0 }";
        let mut program = machine(text).unwrap();
        let found = forgets_idle(&mut program, Limit::default()).unwrap();
        assert!(found.failures.is_empty());
        let all = crate::brute::naive(&mut program, Limit::default(), Dependence::Claimed);
        assert_eq!(all.unwrap().failures.len(), 1);
    }
}
