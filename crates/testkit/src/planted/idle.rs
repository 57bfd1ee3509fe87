//! A defect that `optimal` once had: it took a fact about the first run for a fact about all runs.
//! `optimal` made one run to choose which processes to prefer, and left out each process that made
//! no step in that run. In other runs such a process has steps, which were never run. So executions
//! were lost, and the verdict was "verified, exhaustive".

use mazurka_core::{Execution, ProcessPath};

use super::source::{Switches, without};
use crate::brute::ready;
use crate::record::Summary;

/// Explores a program and never runs these processes.
pub fn forgets_idle<E: Execution>(program: &mut E, idle: &[ProcessPath]) -> Summary {
    without(program, idle, Switches::default())
}

/// Returns the processes that make no step in the run that always schedules the first ready
/// process.
pub fn idle_in_first_run<E: Execution>(program: &mut E) -> Vec<ProcessPath> {
    program.back_to(0);
    while let Some(&first) = ready(program).first() {
        if program.step(first, &[]).is_err() {
            break;
        }
    }
    let ran = |process| {
        let mut events = program.events().iter();
        events.any(|event| event.process == process)
    };
    let all = program.processes().in_order().iter();
    let idle = all.filter(|&&process| !ran(process));
    let idle = idle.map(|&process| program.processes().path(process).clone());
    let idle = idle.collect();
    program.back_to(0);
    idle
}
