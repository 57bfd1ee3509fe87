//! The findings of a search: counts, and schedules to show.
//!
//! If the whole space is explored, the kept schedule of a failure or a deadlock is the *least* one.
//! Each run that shows the finding is reduced to the events that happen before it and put in normal
//! form; the shortest result is taken, and among equally short ones the first in the order of
//! process names. So the schedule depends neither on the engine nor on the order of the search. It
//! is computed only for failures and deadlocks.

use std::time::Duration;

use mazurka_core::record::TraceEstimate;
use mazurka_core::{
    Bound, Counts, Event, Execution, Fingerprint, HappensBefore, Kind, Kinds, Limits, Mishap,
    MishapKind, Schedule, StopReason, TraceHasher, canonical_order,
};

use crate::drive::budget::broken_by;
use crate::drive::driver::{End, Goal};
use crate::drive::prints::Prints;

/// A finding, and the schedule that leads to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The mishap; `None` for a deadlock or a final state.
    pub mishap: Option<Mishap>,
    /// The schedule. For a failing event: only the events that happen before it, and the event.
    pub schedule: Schedule,
}

impl Finding {
    /// Shorter schedules come first; among equally long ones, those of earlier processes.
    fn key(&self) -> (usize, &Schedule, Option<u32>) {
        let site = self.mishap.map(|mishap| mishap.site);
        (self.schedule.0.len(), &self.schedule, site)
    }
}

/// A temporal property that some run violates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenProperty {
    /// Its index among the temporal properties of the program.
    pub property: usize,
    /// The run. It ends in a state that violates an `always`, or in a state where no process can
    /// continue.
    pub schedule: Schedule,
    /// If the run continues for ever: the number of its steps before those that repeat.
    pub lasso: Option<usize>,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The counts.
    pub counts: Counts,
    /// Bounds that were hit; empty if the search was exhaustive or certain.
    pub bounds: Vec<Bound>,
    /// Why the search ended.
    pub stopped: StopReason,
    /// Whether a failure that does not [count](Execution::counts) has halted a process.
    pub halted: bool,
    /// Whether a bound ended the search at once, so that a part of the space was not visited.
    pub broken_off: bool,
    /// One failure for each site: the least ones, in order, if the whole space is explored.
    pub failures: Vec<Finding>,
    /// A deadlock: the least one, if the whole space is explored.
    pub deadlock: Option<Finding>,
    /// The first final state, and the first final state that differs from it.
    pub finals: Vec<Finding>,
    /// A schedule to a cycle that can be repeated for ever, followed by one round of the cycle.
    pub livelock: Option<Finding>,
    /// Temporal properties that do not hold, in the order of the file.
    pub broken: Vec<BrokenProperty>,
    /// Time taken.
    pub elapsed: Duration,
    /// The number of executions drawn, by an algorithm that draws executions.
    pub walks: u64,
    /// The fingerprints of the failing events, results and traces that the search has met.
    pub seen: Seen,
}

/// The fingerprints of the failing events, results and traces that a search has met. They are
/// needed to merge the findings of two searches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Failing events, each with its past.
    pub failed: Prints,
    /// The observations of final states.
    pub observed: Prints,
    /// The observations of the `finals` of the findings.
    pub finals: Vec<Fingerprint>,
    /// The run of the last of the `finals` may lead not to the final state to show, but to another
    /// state of its orbit. Then this permutation of processes turns that state into the state to
    /// show; otherwise the list is empty.
    pub renamed: Vec<u32>,
    /// Number of pairs of an `ensures` and a trace whose final state breaks it.
    pub broken_ensures: u64,
    /// For algorithms that may meet a trace again: the traces met.
    pub traces: Option<Prints<Tally>>,
}

/// The contribution of one trace to the counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// 1 if it ends in a deadlock.
    pub deadlocks: u32,
    /// Number of `ensures` that its final state breaks.
    pub broken_ensures: u32,
    /// Number of draws of this trace, for algorithms that draw executions.
    pub times: u64,
}

impl Findings {
    /// Returns findings without a search. `unique` says whether no trace is met twice.
    pub(crate) fn none(unique: bool) -> Self {
        Self {
            counts: Counts::default(),
            bounds: Vec::new(),
            stopped: StopReason::Complete,
            halted: false,
            broken_off: false,
            failures: Vec::new(),
            deadlock: None,
            finals: Vec::new(),
            livelock: None,
            broken: Vec::new(),
            elapsed: Duration::ZERO,
            walks: 0,
            seen: Seen {
                traces: (!unique).then(Prints::default),
                ..Seen::default()
            },
        }
    }

    /// Whether all final states agree; `None` if no run is final or if the search was cut short.
    pub fn deterministic(&self) -> Option<bool> {
        match self.finals.len() {
            0 => None,
            1 => (self.stopped == StopReason::Complete).then_some(true),
            _ => Some(false),
        }
    }

    /// Returns the estimated fraction of the traces that the search has met, if it drew executions.
    /// Returns `None` if a violation ended the sample, because the number of executions then
    /// depends on their results. Also returns `None` for a program without steps, because it has
    /// only one execution.
    pub fn estimate(&self) -> Option<TraceEstimate> {
        let drawn = self.walks > 0 && self.counts.steps > 0;
        let whole = drawn && self.stopped != StopReason::Certain;
        let traces = self.seen.traces.as_ref().filter(|_| whole)?;
        TraceEstimate::of(traces.iter().map(|(_, tally)| tally.times))
    }

    /// Returns the kinds of violations among the findings. This includes different results, whether
    /// they count as a violation or not.
    pub fn kinds(&self) -> Kinds {
        let found = [
            (Kind::Failure, !self.failures.is_empty()),
            (Kind::Property, !self.broken.is_empty()),
            (Kind::Deadlock, self.deadlock.is_some()),
            (Kind::Livelock, self.livelock.is_some()),
            (Kind::Nondeterminism, self.finals.len() > 1),
        ];
        found
            .iter()
            .filter(|(_, found)| *found)
            .map(|(kind, _)| *kind)
            .collect()
    }

    /// Adds the findings of another part of the same space.
    pub(crate) fn absorb(&mut self, other: Findings) {
        let (counts, more) = (&mut self.counts, other.counts);
        counts.executions += more.executions;
        counts.blocked += more.blocked;
        counts.discarded += more.discarded;
        counts.events += more.events;
        counts.steps += more.steps;
        self.walks += other.walks;
        match (&mut self.seen.traces, other.seen.traces) {
            (Some(met), Some(mut traces)) => {
                // Keep the larger table: copying it may exceed the memory limit.
                if traces.len() > met.len() {
                    std::mem::swap(met, &mut traces);
                    counts.deadlocks = more.deadlocks;
                    self.seen.broken_ensures = other.seen.broken_ensures;
                }
                for (trace, tally) in traces.into_entries() {
                    if met.add(trace, tally) {
                        counts.deadlocks += u64::from(tally.deadlocks);
                        self.seen.broken_ensures += u64::from(tally.broken_ensures);
                    } else if tally.times > 0 {
                        met.or_default(trace).times += tally.times;
                    }
                }
            }
            _ => {
                counts.deadlocks += more.deadlocks;
                self.seen.broken_ensures += other.seen.broken_ensures;
            }
        }
        self.seen.failed.absorb(other.seen.failed);
        self.seen.observed.absorb(other.seen.observed);
        let finals = other.finals.into_iter().zip(other.seen.finals);
        for (at, (finding, observed)) in finals.enumerate() {
            if self.finals.len() < 2 && !self.seen.finals.contains(&observed) {
                self.finals.push(finding);
                self.seen.finals.push(observed);
                if at > 0 {
                    self.seen.renamed.clone_from(&other.seen.renamed);
                }
            }
        }
        for finding in other.failures {
            self.failure(finding);
        }
        if let Some(deadlock) = other.deadlock {
            least(&mut self.deadlock, deadlock);
        }
        for bound in other.bounds {
            self.bound(bound);
        }
        self.halted |= other.halted;
        self.broken_off |= other.broken_off;
        self.count();
    }

    /// Adds temporal properties that do not hold, if they are not known yet.
    pub(crate) fn add_broken(&mut self, more: Vec<BrokenProperty>) {
        for broken in more {
            if self.broken.iter().all(|b| b.property != broken.property) {
                self.broken.push(broken);
            }
        }
        self.broken.sort_by_key(|broken| broken.property);
    }

    /// Adds a bound that was found after the search, and marks the search as incomplete.
    pub fn add_bound(&mut self, bound: Bound) {
        self.bound(bound);
        if self.stopped == StopReason::Complete {
            self.stopped = StopReason::Bound;
        }
    }

    pub(crate) fn bound(&mut self, bound: Bound) {
        if !self.bounds.contains(&bound) {
            self.bounds.push(bound);
        }
    }

    /// Updates the counts that follow from fingerprints.
    pub(crate) fn count(&mut self) {
        let Seen {
            failed,
            observed,
            broken_ensures,
            traces,
            ..
        } = &self.seen;
        let met = traces.as_ref().map(|traces| traces.len() as u64);
        self.counts.traces = Some(met.unwrap_or(self.counts.executions));
        self.counts.failures = failed.len() as u64 + broken_ensures;
        self.counts.final_states = observed.len() as u64;
    }

    /// Puts the findings in an order that does not depend on the search.
    pub(crate) fn sort(&mut self) {
        self.failures.sort_by(|a, b| a.key().cmp(&b.key()));
        self.bounds.sort();
    }

    /// Keeps a failure if it is the first at its site, or less than the known failure.
    fn failure(&mut self, finding: Finding) {
        let site = |finding: &Finding| finding.mishap.map(|mishap| mishap.site);
        let known = self
            .failures
            .iter_mut()
            .find(|known| site(known) == site(&finding));
        match known {
            None => self.failures.push(finding),
            Some(known) if finding.key() < known.key() => *known = finding,
            Some(_) => {}
        }
    }
}

fn least(known: &mut Option<Finding>, finding: Finding) {
    match known {
        Some(known) if known.key() <= finding.key() => {}
        _ => *known = Some(finding),
    }
}

/// The events that lead to a failure, as positions of the whole run; the event itself is the last.
#[derive(Clone, Copy)]
enum FailurePast<'a> {
    /// The initial or the final state fails: no event leads to it.
    Empty,
    /// The events that happen before the event at a position.
    Of(usize),
    /// Exactly the events at these positions.
    Causes(&'a [usize]),
}

/// Collects the findings of one search.
pub(crate) struct Ledger<'a> {
    pub limits: &'a Limits,
    goal: Goal,
    /// Whether the algorithm merges equal states.
    merges: bool,
    /// Whether every trace is met.
    every_trace: bool,
    /// The hasher, for algorithms that may meet a trace again.
    pub hasher: Option<TraceHasher>,
    pub found: Findings,
    /// Whether nothing more needs to be found.
    pub certain: bool,
    /// The findings that are known to exist.
    pub wanted: Option<ExpectedFindings>,
    /// Whether the number of times that a trace is met matters.
    pub samples: bool,
    /// Whether the search has gone on after a data race. The later behaviour may depend on the
    /// order of accesses that are not steps; no search explores these orders.
    pub data_race: bool,
}

/// A function that returns the observations of other states that a final state represents, each
/// with the permutation of processes that leads to it.
type Others<'a> = &'a dyn Fn() -> Vec<(Fingerprint, Vec<u32>)>;

/// The findings of another search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExpectedFindings {
    /// The number of sites of failures.
    pub sites: usize,
    /// Whether there is a deadlock.
    pub deadlock: bool,
    /// The number of final states to show.
    pub finals: usize,
}

impl ExpectedFindings {
    /// Returns the numbers of findings of a search, so that another search can stop when it has
    /// found as many.
    pub fn from_findings(found: &Findings) -> Self {
        Self {
            sites: found.failures.len(),
            deadlock: found.deadlock.is_some(),
            finals: found.finals.len(),
        }
    }
}

impl<'a> Ledger<'a> {
    pub fn new(
        limits: &'a Limits,
        goal: Goal,
        unique: bool,
        merges: bool,
        every_trace: bool,
    ) -> Self {
        Self {
            limits,
            goal,
            merges,
            every_trace: every_trace && !merges,
            hasher: (!unique).then(TraceHasher::default),
            found: Findings::none(unique),
            certain: false,
            wanted: None,
            samples: false,
            data_race: false,
        }
    }

    pub fn counts(&mut self) -> Counts {
        self.found.count();
        if !self.every_trace {
            self.found.counts.traces = None;
        }
        self.found.counts
    }

    pub fn finish(mut self, elapsed: Duration) -> Findings {
        self.counts();
        self.found.elapsed = elapsed;
        self.found.stopped = match () {
            () if self.certain => StopReason::Certain,
            () if self.found.bounds.is_empty() => StopReason::Complete,
            () => StopReason::Bound,
        };
        if self.least() {
            self.found.sort();
        }
        self.found
    }

    /// Whether the ledger keeps the least schedules: the algorithm meets every trace of the whole
    /// space.
    fn least(&self) -> bool {
        self.goal == Goal::Everything && self.every_trace
    }

    /// Records the mishaps of the initial state.
    pub fn initial_mishaps<E: Execution>(&mut self, program: &E) {
        for &mishap in program.initial_mishaps() {
            let key = Fingerprint::EMPTY.then(u64::from(mishap.site));
            self.mishap(program, mishap, FailurePast::Empty, key);
        }
    }

    /// Records the mishaps of the event at a position of the whole run. The event counts as one
    /// failing event, however many mishaps it has. Where states are merged, `transition` identifies
    /// the event.
    pub fn mishaps<E: Execution>(
        &mut self,
        program: &E,
        at: usize,
        transition: Option<Fingerprint>,
    ) {
        let event = &program.whole()[at];
        if !event.mishaps.is_empty() {
            let key = transition.unwrap_or_else(|| self.event_fingerprint(program, at));
            if !self.found.seen.failed.contains(&key) {
                for &mishap in &event.mishaps {
                    self.mishap(program, mishap, FailurePast::Of(at), key);
                }
            }
        }
        self.race(event);
    }

    /// Records the data race that an event takes part in, if any, unless the search ends with the
    /// event.
    fn race(&mut self, event: &Event) {
        if event.races_with.is_some() && !self.certain {
            self.data_race = true;
            self.found.bound(Bound::DataRaces);
        }
    }

    /// Records the mishaps of an event of a net. `causes` holds the positions of its causes in the
    /// net, and its own position as the last. In a contextual net not all events that happen before
    /// it in this run need be causes: another run with the same event may have the other events
    /// after it. So only the causes decide whether a failure counts.
    pub fn mishaps_after<E: Execution>(&mut self, program: &E, causes: &[usize]) {
        let mut hasher = TraceHasher::new();
        for &at in causes {
            hasher.push(&program.whole()[at], program.processes());
        }
        let key = hasher.event(causes.len() - 1);
        let last = causes[causes.len() - 1];
        if !self.found.seen.failed.contains(&key) {
            for &mishap in &program.whole()[last].mishaps {
                self.mishap(program, mishap, FailurePast::Causes(causes), key);
            }
        }
        self.race(&program.whole()[last]);
    }

    /// Whether the event at a position of the whole run is among the failures.
    pub fn has_failed<E: Execution>(&self, program: &E, at: usize) -> bool {
        let key = self.event_fingerprint(program, at);
        self.found.seen.failed.contains(&key)
    }

    /// Records a mishap of an event with this past and this key.
    fn mishap<E: Execution>(
        &mut self,
        program: &E,
        mishap: Mishap,
        past: FailurePast<'_>,
        key: Fingerprint,
    ) {
        match mishap.kind {
            MishapKind::Discarded => return,
            MishapKind::OutOfRange => return self.found.bound(Bound::IntRange),
            MishapKind::LocalLimit => return self.found.bound(Bound::MaxLocal(self.limits.local)),
            MishapKind::MessageLimit(most) => {
                return self.found.bound(Bound::MaxMessages(most));
            }
            MishapKind::Undecided => return self.found.bound(Bound::Undecided),
            MishapKind::BrokenOff => {
                return self.found.bound(broken_by(self.limits));
            }
            MishapKind::Failure => {}
        }
        let known = self
            .found
            .failures
            .iter()
            .any(|found| found.mishap.is_some_and(|known| known.site == mishap.site));
        let mut run = program.whole();
        // The two events of a data race are not ordered. But if the past of the failure contains
        // the second one, it must also contain the first: in the other order, another process may
        // be halted, or no process. So the order of each race is added here, and only for this
        // failure.
        let mut ordered = Vec::new();
        if let FailurePast::Of(at) = past
            && run[..=at].iter().any(|event| event.races_with.is_some())
        {
            ordered.extend_from_slice(&run[..=at]);
            for event in &mut ordered {
                event.joined.extend(event.races_with);
            }
            run = &ordered;
        }
        let past = match past {
            // If states are merged, only the event itself can have a false `assume`.
            FailurePast::Of(at) if known && self.merges => vec![at],
            FailurePast::Of(at) => HappensBefore::new(&run[..=at]).past(at),
            FailurePast::Causes(causes) => causes.to_vec(),
            FailurePast::Empty => Vec::new(),
        };
        // Only the past of the failure matters: if it contains a false `assume`, the failure cannot
        // happen. A false `assume` before the first step is in the past of every event.
        let discards = |mishap: &Mishap| mishap.kind == MishapKind::Discarded;
        let discarded = |&at: &usize| run[at].mishaps.iter().any(discards);
        if past.iter().any(discarded) || program.initial_mishaps().iter().any(discards) {
            return;
        }
        self.found.seen.failed.insert(key);
        if !program.counts(&mishap) {
            self.found.halted = true;
            return;
        }
        let events = past.iter().map(|&at| &run[at]);
        if self.least() {
            let past: Vec<Event> = events.cloned().collect();
            self.least_failure(program, mishap, &past);
        } else if !known {
            self.found.failures.push(Finding {
                mishap: Some(mishap),
                schedule: Schedule::of_each(events, program.processes()),
            });
        }
        self.violated(Kind::Failure);
    }

    fn least_failure<E: Execution>(&mut self, program: &E, mishap: Mishap, past: &[Event]) {
        let same = |found: &&Finding| found.mishap.is_some_and(|known| known.site == mishap.site);
        let known = self.found.failures.iter().find(same);
        if let Some(finding) = normal(program, Some(mishap), past, known) {
            self.found.failure(finding);
        }
    }

    /// Returns a fingerprint of the event at a position of the whole run, with its past. If states
    /// are merged, the fingerprint does not include the past and only distinguishes the event from
    /// all others.
    fn event_fingerprint<E: Execution>(&self, program: &E, at: usize) -> Fingerprint {
        if let Some(hasher) = &self.hasher {
            return hasher.event(at);
        }
        if self.merges {
            let steps = self.found.counts.steps;
            return Fingerprint::EMPTY.then(u64::MAX).then(steps);
        }
        // Failures are rare enough to hash the run for each.
        let mut hasher = TraceHasher::new();
        for event in &program.whole()[..=at] {
            hasher.push(event, program.processes());
        }
        hasher.event(at)
    }

    fn violated(&mut self, kind: Kind) {
        self.certain |= self.goal.stops_at(kind);
        self.look_for_wanted();
    }

    /// Ends the search when all expected findings have been found.
    fn look_for_wanted(&mut self) {
        self.certain |= self.wanted.is_some_and(|wanted| {
            self.found.failures.len() >= wanted.sites
                && self.found.deadlock.is_some() >= wanted.deadlock
                && self.found.finals.len() >= wanted.finals
        });
    }

    /// Records the end of a run. `others` returns the observations of the other states that a final
    /// state represents.
    pub fn end<E: Execution>(&mut self, program: &E, end: End, others: Others<'_>) {
        match end {
            End::Blocked => self.found.counts.blocked += 1,
            End::Discarded => self.found.counts.discarded += 1,
            End::Lost | End::Cut => {}
            End::Final | End::Deadlock | End::Failure => self.complete(program, end, others),
        }
    }

    /// Records a complete run, and its trace if traces are distinguished.
    fn complete<E: Execution>(&mut self, program: &E, end: End, others: Others<'_>) {
        self.found.counts.executions += 1;
        if self.hasher.is_none() && end == End::Final {
            // The algorithm meets each trace only once.
            self.found.seen.broken_ensures += self.final_state(program, others);
            return;
        }
        self.complete_trace(program, end, others);
    }

    /// Counts the trace of a run that is complete, if it has not been met before.
    #[inline(never)]
    fn complete_trace<E: Execution>(&mut self, program: &E, end: End, others: Others<'_>) {
        let trace = self.hasher.as_ref().map(TraceHasher::trace);
        let met = self.found.seen.traces.as_ref().zip(trace);
        let new = met.is_none_or(|(traces, trace)| !traces.contains(&trace));
        let mut tally = Tally::default();
        match end {
            End::Deadlock if new => {
                tally.deadlocks = 1;
                self.deadlock(program);
            }
            End::Final => tally.broken_ensures = self.final_state(program, others) as u32,
            _ => {}
        }
        if let (true, Some(traces), Some(trace)) =
            (self.samples, &mut self.found.seen.traces, trace)
        {
            if new {
                tally.times = 1
            } else {
                traces.or_default(trace).times += 1
            }
        }
        if !new {
            return;
        }
        self.found.counts.deadlocks += u64::from(tally.deadlocks);
        self.found.seen.broken_ensures += u64::from(tally.broken_ensures);
        if let (Some(traces), Some(trace)) = (&mut self.found.seen.traces, trace) {
            traces.add(trace, tally);
        }
    }

    pub fn deadlock<E: Execution>(&mut self, program: &E) {
        let known = self.found.deadlock.as_ref();
        if self.least() {
            if let Some(finding) = normal(program, None, program.whole(), known) {
                least(&mut self.found.deadlock, finding);
            }
        } else if known.is_none() {
            self.found.deadlock = Some(here(program, None));
        }
        self.violated(Kind::Deadlock);
    }

    /// Checks a final state. Returns the number of `ensures` that it breaks.
    #[inline]
    fn final_state<E: Execution>(&mut self, program: &E, others: Others<'_>) -> u64 {
        let mishaps = program.final_mishaps();
        let broken = if mishaps.is_empty() {
            0
        } else {
            self.final_mishaps(program, mishaps)
        };
        let observation = program.observation();
        if !self.found.seen.observed.contains(&observation) {
            self.observe(program, observation, others);
        }
        broken
    }

    /// Records the mishaps of a final state. Returns the number of `ensures` that it breaks.
    #[inline(never)]
    fn final_mishaps<E: Execution>(&mut self, program: &E, mishaps: Vec<Mishap>) -> u64 {
        let mut broken = 0;
        for mishap in mishaps {
            if mishap.kind != MishapKind::Failure {
                self.mishap(program, mishap, FailurePast::Empty, Fingerprint::EMPTY);
                continue;
            }
            // The past of a broken `ensures` is the whole run, so each trace with one counts
            // separately.
            broken += 1;
            let known = |found: &Finding| found.mishap == Some(mishap);
            if self.least() {
                self.least_failure(program, mishap, program.whole());
            } else if !self.found.failures.iter().any(known) {
                self.found.failures.push(here(program, Some(mishap)));
            }
            self.violated(Kind::Failure);
        }
        broken
    }

    /// Records the observation of a final state that has not been met before.
    #[inline(never)]
    fn observe<E: Execution>(&mut self, program: &E, observation: Fingerprint, others: Others<'_>) {
        self.found.seen.observed.insert(observation);
        self.shown(program, observation, Vec::new());
        for (observation, labels) in others() {
            self.found.seen.observed.insert(observation);
            self.shown(program, observation, labels);
        }
    }

    /// Keeps the current run, or its image under a permutation, if its final state is one to show.
    fn shown<E: Execution>(&mut self, program: &E, observed: Fingerprint, labels: Vec<u32>) {
        let found = &mut self.found;
        if found.finals.len() < 2 {
            found.finals.push(here(program, None));
            found.seen.finals.push(observed);
            found.seen.renamed = labels;
            self.certain |= found.finals.len() == 2 && self.goal.stops_at(Kind::Nondeterminism);
            self.look_for_wanted();
        }
    }
}

/// Returns a finding whose schedule is the current run.
fn here<E: Execution>(program: &E, mishap: Option<Mishap>) -> Finding {
    Finding {
        mishap,
        schedule: Schedule::from_run(program.whole(), program.processes()),
    }
}

/// Returns a finding whose schedule is these events in normal form, or `None` if it would be longer
/// than the schedule of the known finding.
fn normal<E: Execution>(
    program: &E,
    mishap: Option<Mishap>,
    events: &[Event],
    known: Option<&Finding>,
) -> Option<Finding> {
    if known.is_some_and(|known| known.schedule.0.len() < events.len()) {
        return None;
    }
    let processes = program.processes();
    let order = canonical_order(events, |process| processes.path(process));
    Some(Finding {
        mishap,
        schedule: Schedule::of_each(order.iter().map(|&at| &events[at]), processes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the findings of a search that has met some traces; every third trace is a deadlock.
    fn met(traces: std::ops::Range<u64>) -> Findings {
        let mut found = Findings::none(false);
        for trace in traces {
            let tally = Tally {
                deadlocks: u32::from(trace % 3 == 0),
                broken_ensures: (trace % 2) as u32,
                times: 0,
            };
            let met = found.seen.traces.as_mut().expect("traces may come again");
            assert!(met.add(Fingerprint::EMPTY.then(trace), tally));
            found.counts.executions += 1;
            found.counts.deadlocks += u64::from(tally.deadlocks);
            found.seen.broken_ensures += u64::from(tally.broken_ensures);
        }
        found.count();
        found
    }

    #[test]
    fn parts_are_put_together_either_way() {
        let all = met(0..60_000);
        for (one, other) in [(0..10, 5..60_000), (5..60_000, 0..10), (0..60_000, 0..0)] {
            let executions = (one.end - one.start) + (other.end - other.start);
            let mut both = met(one);
            both.absorb(met(other));
            assert_eq!(both.counts.executions, executions);
            both.counts.executions = all.counts.executions;
            assert_eq!(both.counts, all.counts);
            assert_eq!(both.seen, all.seen);
        }
    }
}
