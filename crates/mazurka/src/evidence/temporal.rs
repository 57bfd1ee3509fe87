//! The evidence that a temporal property is violated: a run that ends, or a stem and a loop.
//!
//! Whether a run violates a property is decided here from the run alone, as docs/temporal.md
//! defines it. So a replay needs no search.

use mazurka_core::record::{Kind, Run, Witness};
use mazurka_core::{
    Fairness, Narrator, ProcessId, Schedule, Semantics, Status, Temporal, with_status,
};
use mazurka_explore::{BrokenProperty, shortest};

/// Returns the witness of a run that has been described.
pub(crate) fn property<M: Narrator>(machine: &M, run: Run, broken: &BrokenProperty) -> Witness {
    let stated = machine.temporal_text(broken.property);
    Witness {
        message: message(machine, broken.property),
        place: stated.place,
        lasso: broken.lasso,
        values: machine.temporal_values(broken.property),
        ..super::unexplained(Kind::Property, vec![run])
    }
}

/// Returns the violation in one sentence.
pub(crate) fn message<M: Narrator>(machine: &M, property: usize) -> String {
    let stated = machine.temporal_text(property);
    match stated.name {
        Some(name) => format!("property `{name}` does not hold: `{}`", stated.text),
        None => format!("property does not hold: `{}`", stated.text),
    }
}

/// Returns a shorter run to a state that violates an `always`, if a small effort finds one.
pub(crate) fn shorter<M: Semantics>(machine: &mut M, broken: &BrokenProperty) -> Option<Schedule> {
    let Temporal::Always(e) = machine.temporal()[broken.property] else {
        return None;
    };
    let most = broken.schedule.0.len().checked_sub(1)?;
    shortest(machine, most, &mut |machine| {
        !is_halted(machine) && machine.holds(e) == Some(false)
    })
}

/// Whether a process is halted in the current state.
fn is_halted<M: Semantics>(machine: &M) -> bool {
    let halted = [Status::Failed, Status::Discarded, Status::Lost];
    halted
        .iter()
        .any(|&status| !with_status(machine, status).is_empty())
}

/// The states of a run: the conditions that hold in each, and the ready processes.
struct States {
    /// For each state and each condition, whether it holds.
    holds: Vec<Vec<bool>>,
    ready: Vec<Vec<ProcessId>>,
    /// For each state except the last, the process that makes the step after it.
    steps: Vec<ProcessId>,
    /// Whether the state before the loop equals the state at the end.
    closed: bool,
    fairness: Fairness,
}

/// Examines the states of the current run. Returns `None` if a process is halted in one of them, or
/// if a condition cannot be computed. Before and after the call, the machine is at the end of the
/// run.
fn states<M: Semantics>(machine: &mut M, lasso: Option<usize>) -> Option<States> {
    let steps: Vec<_> = machine.events().to_vec();
    let conditions = Temporal::conditions(machine.temporal());
    let mut states = States {
        holds: Vec::new(),
        ready: Vec::new(),
        steps: steps.iter().map(|event| event.process).collect(),
        closed: false,
        fairness: machine.fairness(),
    };
    let mut start = None;
    let mut sound = true;
    machine.back_to(0);
    for depth in 0..=steps.len() {
        if let Some(at) = depth.checked_sub(1) {
            let outcomes: Vec<i64> = steps[at].outcomes.iter().map(|o| o.value).collect();
            let made = machine.step(steps[at].process, &outcomes);
            assert!(made.is_ok(), "a step that was made can be made again");
        }
        sound &= !is_halted(machine);
        let holds: Option<Vec<bool>> = (0..conditions).map(|at| machine.holds(at)).collect();
        sound &= holds.is_some();
        states.holds.push(holds.unwrap_or_default());
        states.ready.push(with_status(machine, Status::Ready));
        if lasso == Some(depth) {
            start = Some(machine.fingerprint());
        }
    }
    states.closed = start == Some(machine.fingerprint());
    sound.then_some(states)
}

/// Whether the current run violates a property. If `lasso` is given, the steps after the first
/// `lasso` steps are repeated for ever. Otherwise the run ends. Before and after the call, the
/// machine is at the end of the run.
pub(crate) fn violated<M: Semantics>(
    machine: &mut M,
    property: usize,
    lasso: Option<usize>,
) -> bool {
    let property = machine.temporal()[property];
    let Some(states) = states(machine, lasso) else {
        return false;
    };
    let last = states.steps.len();
    let holds = |at: usize, condition: usize| states.holds[at][condition];
    let never = |from: usize, condition| (from..=last).all(|at| !holds(at, condition));
    // The states from here to the last one repeat for ever.
    let repeats = lasso.unwrap_or(last);
    match property {
        Temporal::Always(e) => !holds(last, e),
        Temporal::Eventually(e) => states.is_complete(lasso) && never(0, e),
        Temporal::InfinitelyOften(e) => states.is_complete(lasso) && never(repeats, e),
        Temporal::LeadsTo(e, f) => {
            let unanswered = |at: usize| holds(at, e) && never(at.min(repeats), f);
            states.is_complete(lasso) && (0..=last).any(unanswered)
        }
    }
}

impl States {
    /// Whether the run is complete: it ends, or its last steps form a fair loop.
    fn is_complete(&self, lasso: Option<usize>) -> bool {
        let last = self.steps.len();
        let Some(start) = lasso else {
            return self.ready[last].is_empty();
        };
        let fair = || is_fair(self.fairness, &self.steps[start..], &self.ready[start..]);
        start < last && self.closed && fair()
    }
}

/// Whether a loop is fair, given the processes of its steps and the ready processes in each of its
/// states.
pub(super) fn is_fair(fairness: Fairness, steps: &[ProcessId], ready: &[Vec<ProcessId>]) -> bool {
    let had_its_turn = |process: &ProcessId| {
        let waits = || ready.iter().any(|ready| !ready.contains(process));
        steps.contains(process) || fairness == Fairness::Weak && waits()
    };
    ready.iter().flatten().all(had_its_turn)
}
