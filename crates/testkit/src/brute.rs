//! Brute force: runs every interleaving, one after the other, without any reduction. The results of
//! the explorers are compared with its results.

use mazurka_core::{Event, Execution, ProcessId, Status};

use crate::record::{Dependence, Recorder, Summary};

/// Bounds on brute force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The maximal number of complete runs.
    pub executions: u64,
    /// The maximal number of steps in one run.
    pub depth: usize,
}

impl Default for Limit {
    fn default() -> Self {
        Self {
            executions: 20_000,
            depth: 120,
        }
    }
}

/// A limit of brute force was reached, so the program is too large to be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded;

/// The point in the tree of runs at which a visitor is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit {
    /// After a step, and once before the first.
    Enter,
    /// No process can make a step.
    Complete,
    /// Before the last step is undone.
    Leave,
}

/// Visits every state of every run, depth first. In each state, the ready processes run one after
/// the other, in the order of their names.
pub fn every_run<E: Execution>(
    program: &mut E,
    limit: Limit,
    visit: &mut dyn FnMut(&mut E, Visit),
) -> Result<(), Exceeded> {
    program.back_to(0);
    let mut executions = 0;
    descend(program, limit, &mut executions, visit)
}

fn descend<E: Execution>(
    program: &mut E,
    limit: Limit,
    executions: &mut u64,
    visit: &mut dyn FnMut(&mut E, Visit),
) -> Result<(), Exceeded> {
    visit(program, Visit::Enter);
    let depth = program.events().len();
    let ready = ready(program);
    if ready.is_empty() {
        visit(program, Visit::Complete);
        *executions += 1;
    }
    if *executions > limit.executions || (depth >= limit.depth && !ready.is_empty()) {
        return Err(Exceeded);
    }
    for process in ready {
        let mut outcomes = Some(Vec::new());
        while let Some(values) = outcomes {
            let Ok(event) = program.step(process, &values) else {
                return Err(Exceeded);
            };
            outcomes = next_outcomes(event);
            descend(program, limit, executions, visit)?;
            visit(program, Visit::Leave);
            program.back_to(depth);
        }
    }
    Ok(())
}

/// Returns the processes that can make a step, in the order of their names.
pub(crate) fn ready<E: Execution>(program: &E) -> Vec<ProcessId> {
    with_status(program, Status::Ready)
}

/// Returns the processes with a status, in the order of their names.
pub(crate) fn with_status<E: Execution>(program: &E, status: Status) -> Vec<ProcessId> {
    let processes = program.processes().in_order().iter().copied();
    processes.filter(|&p| program.status(p) == status).collect()
}

/// Returns the lexicographically next values for the choices of an event; `None` if the event has
/// the last values.
pub(crate) fn next_outcomes(event: &Event) -> Option<Vec<i64>> {
    let last = event.outcomes.iter().rposition(|o| o.value + 1 < o.end)?;
    let mut values: Vec<i64> = event.outcomes[..=last].iter().map(|o| o.value).collect();
    values[last] += 1;
    Some(values)
}

/// Explores a program by brute force and returns what it finds.
pub fn naive<E: Execution>(
    program: &mut E,
    limit: Limit,
    dependence: Dependence,
) -> Result<Summary, Exceeded> {
    program.back_to(0);
    program.separate_ends(dependence == Dependence::Ends);
    let mut recorder = Recorder::new(program, dependence);
    let visited = every_run(program, limit, &mut |program, visit| match visit {
        Visit::Enter => recorder.push(program),
        Visit::Complete => recorder.complete(program),
        Visit::Leave => recorder.pop(),
    });
    program.separate_ends(false);
    visited.map(|()| recorder.finish())
}
