//! Turns the findings of a search into witnesses. A finding is a schedule. This module looks for a
//! more readable run that shows the same violation, runs it again with descriptions of its steps,
//! and marks the steps that matter.

pub(crate) mod temporal;

use std::time::{Duration, Instant};

use mazurka_core::record::{Binding, Difference, Ending, Kind, Run, Waiting, Witness};
use mazurka_core::{
    Bound, Execution, Kinds, Limits, Mishap, MishapKind, Narrator, ProcessId, ReplayError,
    Schedule, Semantics, Status, ending, names_with, with_status,
};
use mazurka_explore::{
    Findings, Violation, broken_by, closest, first_difference, minimise, past_is_discarded, racing,
    shortest,
};

/// A described run and its failures. The machine is in the last state of the run.
pub(crate) struct NarratedRun {
    pub run: Run,
    /// The failures that count: no false `assume` happens before them.
    pub failures: Vec<Mishap>,
    /// Whether the run ends in a deadlock.
    pub deadlocked: bool,
    /// The processes that can make a step after the run.
    pub ready: Vec<String>,
}

/// Runs a schedule, describes the run, and determines its failures.
pub(crate) fn tell<M: Narrator>(
    machine: &mut M,
    schedule: &Schedule,
) -> Result<NarratedRun, ReplayError> {
    let run = machine.narrate(schedule)?;
    Ok(assess(machine, run))
}

/// Determines the failures of the current run, which has been described.
pub(crate) fn assess<M: Narrator>(machine: &M, run: Run) -> NarratedRun {
    let mut failures = machine.initial_mishaps().to_vec();
    for (at, event) in machine.events().iter().enumerate() {
        if !event.mishaps.is_empty() && !past_is_discarded(machine, at) {
            failures.extend(event.mishaps.iter().copied());
        }
    }
    // A false `assume` in the initial state happens before every event.
    let initial = machine.initial_mishaps();
    if initial.iter().any(|m| m.kind == MishapKind::Discarded) {
        failures.clear();
    }
    let any = |status: Status| !with_status(machine, status).is_empty();
    let ready = names_with(machine, Status::Ready);
    let halted = any(Status::Failed) || any(Status::Discarded) || any(Status::Lost);
    let stuck = any(Status::Waiting);
    if ready.is_empty() && !halted && !stuck {
        failures.extend(machine.final_mishaps());
    }
    failures.retain(|mishap| mishap.kind == MishapKind::Failure);
    NarratedRun {
        run,
        failures,
        deadlocked: ready.is_empty() && stuck && !halted,
        ready,
    }
}

/// Returns the bounds at which the evaluation of a step gave up in the current run, for example
/// because a number exceeded 64 bits. Usually there are none.
pub(crate) fn bounds_of_run<E: Execution>(machine: &E, limits: &Limits) -> Vec<Bound> {
    let steps = machine.events().iter().flat_map(|event| &event.mishaps);
    let mut bounds = Vec::new();
    let at_the_end = if machine.is_final() {
        machine.final_mishaps()
    } else {
        Vec::new()
    };
    let all = machine.initial_mishaps().iter().chain(steps);
    for mishap in all.chain(&at_the_end) {
        bounds.extend(match mishap.kind {
            MishapKind::OutOfRange => Some(Bound::IntRange),
            MishapKind::LocalLimit => Some(Bound::MaxLocal(limits.local)),
            MishapKind::MessageLimit(most) => Some(Bound::MaxMessages(most)),
            MishapKind::Undecided => Some(Bound::Undecided),
            MishapKind::BrokenOff => Some(broken_by(limits)),
            MishapKind::Failure | MishapKind::Discarded => None,
        });
    }
    bounds.dedup();
    bounds
}

/// Returns the bounds at which the evaluation of the next step of some process would give up.
/// Usually there are none.
pub(crate) fn bounds_of_next_steps<E: Execution>(machine: &mut E, limits: &Limits) -> Vec<Bound> {
    let depth = machine.events().len();
    let mut bounds = Vec::new();
    for process in with_status(machine, Status::Ready) {
        if machine.step(process, &[]).is_ok() {
            bounds.extend(bounds_of_run(machine, limits));
        }
        machine.back_to(depth);
    }
    bounds
}

/// Describes a run that a search has made. Panics if the run cannot be repeated, which is a defect
/// of Mazurka.
pub(crate) fn retell<M: Narrator>(machine: &mut M, schedule: &Schedule) -> NarratedRun {
    match tell(machine, schedule) {
        Ok(narrated) => narrated,
        Err(error) => panic!("a schedule that the search found does not run again: {error}"),
    }
}

/// The remaining time for making evidence readable.
pub(crate) struct EvidenceTime {
    start: Instant,
    left: Option<Duration>,
}

/// The time for showing further violations after the time limit was reached.
const AFTER_THE_LIMIT: Duration = Duration::from_millis(300);

/// A run is made more readable only if there is time to describe it this many times.
const TRIED: u32 = 16;

impl EvidenceTime {
    /// Starts the clock with the time that a search has left, if its time is limited.
    pub fn after(found: &Findings, limits: &Limits) -> Self {
        let start = Instant::now();
        let left = limits.time.map(|time| time.saturating_sub(found.elapsed));
        Self { start, left }
    }

    /// Whether there is no time left to show further violations.
    pub fn is_over(&self) -> bool {
        self.left
            .is_some_and(|left| self.start.elapsed() > left + AFTER_THE_LIMIT)
    }

    /// Whether there is time to make a run more readable, if describing the run took this long. If
    /// there is not, the run is shown as it was found.
    fn allows(&self, took: Duration) -> bool {
        let left = self
            .left
            .map(|left| left.saturating_sub(self.start.elapsed()));
        left.is_none_or(|left| left > took * TRIED)
    }
}

/// Returns the evidence for all findings: failures first, then temporal properties, the deadlock,
/// the livelock, and two different results.
pub(crate) fn witnesses<M: Narrator + Semantics>(
    machine: &mut M,
    found: &Findings,
    counted: Kinds,
    evidence_time: &EvidenceTime,
) -> Vec<Witness> {
    let mut all = Vec::new();
    let counts = |kind: Kind| counted.contains(kind);
    for finding in &found.failures {
        if let Some(mishap) = &finding.mishap
            && counts(Kind::Failure)
        {
            all.push(found_failure(
                machine,
                &finding.schedule,
                mishap,
                evidence_time,
            ));
        }
    }
    for broken in &found.broken {
        if counts(Kind::Property) {
            // A complete search has already found a shortest run.
            let shorter = if found.broken_off && evidence_time.allows(Duration::ZERO) {
                temporal::shorter(machine, broken)
            } else {
                None
            };
            let schedule = shorter.as_ref().unwrap_or(&broken.schedule);
            let narrated = retell(machine, schedule);
            if temporal::violated(machine, broken.property, broken.lasso) {
                all.push(temporal::property(machine, narrated.run, broken))
            } else {
                panic!("a run does not violate what it did: {schedule}")
            }
        }
    }
    if let Some(finding) = &found.deadlock
        && counts(Kind::Deadlock)
    {
        all.push(found_deadlock(machine, &finding.schedule, evidence_time));
    }
    if let Some(finding) = &found.livelock
        && counts(Kind::Livelock)
    {
        let narrated = retell(machine, &finding.schedule);
        match livelock(machine, narrated.run) {
            Some(witness) => all.push(witness),
            None => panic!(
                "a cycle that the search found is not a livelock: {}",
                finding.schedule
            ),
        }
    }
    if let ([first, second], true) = (&found.finals[..], counts(Kind::Nondeterminism)) {
        let schedules = (&first.schedule, &second.schedule);
        all.push(found_difference(machine, schedules, evidence_time));
    }
    all
}

/// Returns the evidence for a failure that a search has found. Panics if the failure does not occur
/// again, which is a defect of Mazurka.
pub(crate) fn found_failure<M: Narrator + Semantics>(
    machine: &mut M,
    schedule: &Schedule,
    mishap: &Mishap,
    evidence_time: &EvidenceTime,
) -> Witness {
    let violation = Violation::Failure(mishap.site);
    let (narrated, took) = least(machine, schedule, |_| violation.clone(), evidence_time);
    let same = narrated.failures.iter().find(|m| m.site == mishap.site);
    let Some(&mishap) = same else {
        return not_again(Kind::Failure, narrated.run, schedule, evidence_time);
    };
    if evidence_time.allows(took) {
        failure(machine, narrated.run, &mishap)
    } else {
        explained(machine, narrated.run, &mishap)
    }
}

/// Returns the evidence for a deadlock that a search has found. Panics if the deadlock does not
/// occur again, which is a defect of Mazurka.
pub(crate) fn found_deadlock<M: Narrator + Semantics>(
    machine: &mut M,
    schedule: &Schedule,
    evidence_time: &EvidenceTime,
) -> Witness {
    let stuck = |machine: &M| Violation::Deadlock(with_status(machine, Status::Waiting));
    let (narrated, _) = least(machine, schedule, stuck, evidence_time);
    if narrated.deadlocked {
        deadlock(machine, narrated.run)
    } else {
        not_again(Kind::Deadlock, narrated.run, schedule, evidence_time)
    }
}

/// Returns the evidence for a violation of native code that did not occur again, because the time
/// limit cut the repetition of its run off. Panics if there is time left: then it is a defect of
/// Mazurka that the violation does not occur again.
fn not_again(kind: Kind, run: Run, schedule: &Schedule, evidence_time: &EvidenceTime) -> Witness {
    let name = kind.name();
    assert!(
        !evidence_time.allows(Duration::ZERO),
        "a {name} does not come again: {schedule}"
    );
    Witness {
        message: format!(
            "{name}: the time limit was reached before its run was made again; to see it, replay it without a limit"
        ),
        ..unexplained(kind, vec![run])
    }
}

/// Returns the evidence for two runs of a search with different results.
pub(crate) fn found_difference<M: Narrator + Semantics>(
    machine: &mut M,
    (one, other): (&Schedule, &Schedule),
    evidence_time: &EvidenceTime,
) -> Witness {
    let start = Instant::now();
    retell(machine, one);
    retell(machine, other);
    if evidence_time.allows(start.elapsed()) {
        let (one, other) = closest(machine, one, other);
        nondeterminism(machine, &one, &other)
    } else {
        nondeterminism(machine, one, other)
    }
}

/// Returns a run that shows a violation, as readable as the time allows, and the time that its
/// description took. Afterwards the machine is at the end of the run.
fn least<M: Narrator + Semantics>(
    machine: &mut M,
    schedule: &Schedule,
    violation: impl FnOnce(&M) -> Violation,
    evidence_time: &EvidenceTime,
) -> (NarratedRun, Duration) {
    let start = Instant::now();
    let narrated = retell(machine, schedule);
    let took = start.elapsed();
    if !evidence_time.allows(took) {
        return (narrated, took);
    }
    drop(narrated);
    let violation = violation(machine);
    let schedule = minimise(machine, schedule, &violation);
    let most = schedule.0.len().saturating_sub(1);
    let shorter = shortest(machine, most, &mut |machine| shows(machine, &violation));
    let schedule = match shorter {
        Some(shorter) => {
            // The shortest run may end in another deadlock.
            let violation = match violation {
                Violation::Deadlock(_) => {
                    Violation::Deadlock(with_status(machine, Status::Waiting))
                }
                same => same,
            };
            minimise(machine, &shorter, &violation)
        }
        None => schedule,
    };
    (retell(machine, &schedule), took)
}

/// Whether the current run ends with this violation: with a failure at the same location, or in a
/// deadlock.
fn shows<E: Execution>(program: &E, violation: &Violation) -> bool {
    match violation {
        Violation::Failure(site) => {
            let same = |m: &Mishap| m.site == *site && m.kind == MishapKind::Failure;
            let last = program.events().last();
            last.is_some_and(|event| event.mishaps.iter().any(same))
                || program.is_final() && program.final_mishaps().iter().any(same)
        }
        Violation::Deadlock(_) => ending(program) == Ending::Deadlock,
        Violation::Otherwise(_) => false,
    }
}

/// Returns the evidence for a failure of a run that has just been described.
pub(crate) fn failure<M: Narrator>(machine: &mut M, run: Run, mishap: &Mishap) -> Witness {
    let mut shown = explained(machine, run, mishap);
    let racing = racing(machine, &Violation::Failure(mishap.site));
    mark(&mut shown.runs[0], &racing);
    shown
}

/// Returns the evidence for a failure without marking the steps that race.
fn explained<M: Narrator>(machine: &mut M, run: Run, mishap: &Mishap) -> Witness {
    let ((message, place), values, history) = in_failing_state(machine, mishap, |machine| {
        let (message_and_place, values) = (machine.explain(mishap), machine.values(mishap));
        (message_and_place, values, machine.history(mishap))
    });
    Witness {
        message,
        place,
        values,
        history,
        ..unexplained(Kind::Failure, vec![run])
    }
}

/// Calls `look` in the state in which a mishap of the current run happened. The run may have
/// continued after the mishap.
pub(crate) fn in_failing_state<M: Narrator, T>(
    machine: &mut M,
    mishap: &Mishap,
    look: impl FnOnce(&M) -> T,
) -> T {
    let schedule = Schedule::from_run(machine.events(), machine.processes());
    let event = |at: &usize| machine.events()[*at].mishaps.contains(mishap);
    let steps = (0..schedule.0.len()).find(event).map(|at| at + 1);
    let steps = if machine.initial_mishaps().contains(mishap) {
        Some(0)
    } else {
        steps
    };
    let Some(steps) = steps.filter(|&steps| steps < schedule.0.len()) else {
        return look(machine);
    };
    machine.back_to(steps);
    let seen = look(machine);
    for step in &schedule.0[steps..] {
        let process = machine.processes().find(&step.process);
        let made = process.map(|process| machine.step(process, &step.outcomes).is_ok());
        assert_eq!(made, Some(true), "a run cannot be made again: {schedule}");
    }
    seen
}

/// Makes a witness without an explanation.
pub(crate) fn unexplained(kind: Kind, runs: Vec<Run>) -> Witness {
    Witness {
        kind,
        message: String::new(),
        place: None,
        runs,
        waiting: Vec::new(),
        differs: Vec::new(),
        condition: None,
        lasso: None,
        values: Vec::new(),
        history: Vec::new(),
    }
}

fn mark(run: &mut Run, racing: &[usize]) {
    for &at in racing {
        if let Some(step) = run.steps.get_mut(at) {
            step.racing = true;
        }
    }
}

/// Returns the evidence for a deadlock at the end of a run that has just been described.
pub(crate) fn deadlock<M: Narrator>(machine: &mut M, mut run: Run) -> Witness {
    let violation = Violation::Deadlock(with_status(machine, Status::Waiting));
    mark(&mut run, &racing(machine, &violation));
    let waiting = machine.waiting();
    let name = |waiting: &Waiting| run.name_of(&waiting.process).to_owned();
    let names: Vec<String> = waiting.iter().map(name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let verb = if names.len() == 1 { "waits" } else { "wait" };
    Witness {
        message: format!("deadlock: {} {verb} for ever", enumerate(&names)),
        waiting,
        ..unexplained(Kind::Deadlock, vec![run])
    }
}

/// Returns the evidence for a livelock at the end of a run that has just been described. The last
/// steps of the run must form a cycle that a fair scheduler can repeat: no process is ready all the
/// time without making a step. Returns `None` if there is no such cycle. Afterwards the machine is
/// at the start of the run.
pub(crate) fn livelock<M: Narrator + Semantics>(machine: &mut M, run: Run) -> Option<Witness> {
    let made: Vec<ProcessId> = machine.events().iter().map(|e| e.process).collect();
    let steps = made.len();
    let end = machine.fingerprint();
    // The ready processes in the states, the last state first.
    let mut ready = vec![with_status(machine, Status::Ready)];
    let mut start = None;
    for depth in (0..steps).rev() {
        machine.back_to(depth);
        ready.push(with_status(machine, Status::Ready));
        if machine.fingerprint() == end {
            start = Some(depth);
        }
    }
    let start = start?;
    let in_loop = &ready[..=steps - start];
    if !temporal::is_fair(machine.fairness(), &made[start..], in_loop) {
        return None;
    }
    let message = match steps - start {
        1 => format!("livelock: step {steps} can repeat for ever"),
        _ => format!("livelock: steps {}–{steps} can repeat for ever", start + 1),
    };
    Some(Witness {
        message,
        lasso: Some(start),
        ..unexplained(Kind::Livelock, vec![run])
    })
}

/// Returns the variables whose values differ. A variable may be in only one of the lists.
fn differences(one: &[Binding], other: &[Binding]) -> Vec<Difference> {
    let value = |all: &[Binding], at: usize, name: &str| {
        // Usually both values are at the same index.
        let near = all.get(at).filter(|binding| binding.name == name);
        let found = near.or_else(|| all.iter().find(|binding| binding.name == name));
        found.map_or_else(|| "nothing".to_owned(), |binding| binding.value.clone())
    };
    let places = one.iter().enumerate().chain(other.iter().enumerate());
    let mut all: Vec<Difference> = Vec::new();
    for (at, Binding { name, .. }) in places {
        let (first, second) = (value(one, at, name), value(other, at, name));
        if first != second && !all.iter().any(|known| known.name == *name) {
            let name = name.clone();
            all.push(Difference {
                name,
                first,
                second,
            });
        }
    }
    all
}

/// Returns the evidence for two runs with different results. The machine is at the end of the
/// second run.
pub(crate) fn nondeterminism<M: Narrator>(
    machine: &mut M,
    one: &Schedule,
    other: &Schedule,
) -> Witness {
    let mut first = retell(machine, one).run;
    let in_first = machine.bindings(true);
    let events = machine.events().to_vec();
    let mut second = retell(machine, other).run;
    let in_second = machine.bindings(true);
    let races = first_difference(&events, machine.events());
    for (run, marked) in [&mut first, &mut second]
        .into_iter()
        .zip(races.iter().flatten())
    {
        mark(run, marked);
    }
    let differs = differences(&in_first, &in_second);
    let message = match &differs[..] {
        [only] => format!(
            "not deterministic: `{}` ends as {} or as {}",
            only.name, only.first, only.second
        ),
        several => {
            let names: Vec<String> = several.iter().map(|d| format!("`{}`", d.name)).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            format!("not deterministic: {} end differently", enumerate(&names))
        }
    };
    Witness {
        message,
        differs,
        ..unexplained(Kind::Nondeterminism, vec![first, second])
    }
}

/// Whether a run is complete.
pub(crate) fn is_complete(run: &Run) -> bool {
    !matches!(run.ending, Ending::Open | Ending::Lost)
}

/// Returns a list of names: `0`, `0 and 1`, `0, 1 and 2`, `0, 1, 2 and 5 more`.
pub(crate) fn enumerate(names: &[&str]) -> String {
    const MOST: usize = 4;
    match names {
        [] => "no process".to_owned(),
        [one] => (*one).to_owned(),
        [most @ .., last] if names.len() <= MOST => format!("{} and {last}", most.join(", ")),
        many => {
            let shown = &many[..MOST - 1];
            format!("{} and {} more", shown.join(", "), many.len() - shown.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_stay_short() {
        assert_eq!(enumerate(&["0"]), "0");
        assert_eq!(enumerate(&["0", "1"]), "0 and 1");
        assert_eq!(enumerate(&["0", "1", "2", "3"]), "0, 1, 2 and 3");
        assert_eq!(enumerate(&["0", "1", "2", "3", "4"]), "0, 1, 2 and 2 more");
    }
}
