//! Loops that spin for a while and then give up, in interleavings.
//!
//! A thread that spins is suspended until something that it has read changes (spin.rs). A round of
//! its loop in which nothing changes is called *futile*. Suspending the thread is right if its loop
//! would go on for ever. But a loop may count its rounds and give up: for example, it parks or
//! returns an error after 3 futile rounds. Whether a loop gives up cannot be seen from outside, so
//! the search makes a trial. When a thread is suspended at a place in the source for the first
//! time, it runs on alone, as if nothing ever changed, for up to [`PROBE_ROUNDS`] rounds. If it
//! gives up after at most [`MOST_ROUNDS`], then a new search explores that many futile rounds at
//! that place. If it gives up after more rounds than that, none of them are explored, and the
//! summary says so. The loop then gives up only in states in which no other thread can make a step.

use mazurka_core::{ProcessId, Status};

use crate::simulate::Simulator;
use crate::world::{Inner, Life, Place, Until};

/// Largest number of rounds of a loop that are explored by default (see `Builder::spins`).
const MOST_ROUNDS: u32 = 8;
/// A loop that does not give up within this many rounds of a trial is taken to spin for ever.
const PROBE_ROUNDS: u32 = 1_000;
/// A loop that does not give up within this many steps of a trial is taken to spin for ever.
const PROBE_STEPS: u32 = 20_000;
/// Limit on the trials of a thread at a place. If each of them ends because the thread waits for a
/// lock, the loop is taken to spin for ever.
const PROBES: u32 = 20;

/// The loops of a program that a run has reached. A loop is identified by the place of its yield.
#[derive(Default)]
pub(crate) struct Loops {
    all: Vec<Loop>,
    /// The places at which a replay prescribes a number of futile rounds, and this number
    /// (facts.rs). Places are written as in the replay.
    given: Vec<(String, u32)>,
    /// The thread of the next trial, and the place where it is suspended.
    wanted: Option<(ProcessId, Place)>,
    /// Whether the thread of the current trial has done anything other than repeat its reads.
    pub gave_up: bool,
    /// Events (such as the ticks of a timer) that were explored only when no other thread could
    /// make a step, and the place where the object that causes them was made.
    late: Option<(&'static str, Place)>,
}

struct Loop {
    place: Place,
    /// Number of its futile rounds that are explored.
    rounds: u32,
    /// Number of futile rounds after which it gives up, if that is too many to be explored.
    too_many: Option<u32>,
    /// Number of trials of each thread here; at least [`PROBES`] once a trial has shown how the
    /// loop behaves.
    tried: Vec<(ProcessId, u32)>,
}

/// The behaviour of a spinning thread that runs on alone.
enum Trial {
    /// The loop gives up after this many futile rounds.
    GivesUp(u32),
    SpinsForEver,
    /// The thread has to wait for a lock, so the trial shows nothing.
    Unknown,
}

impl Loops {
    fn find(&mut self, place: Place) -> &mut Loop {
        let known = self.all.iter().position(|known| *known.place == *place);
        let at = known.unwrap_or_else(|| {
            let name = || crate::facts::word(place);
            let given = self.given.iter().find(|(given, _)| *given == name());
            self.all.push(Loop {
                place,
                rounds: given.map_or(0, |&(_, rounds)| rounds),
                too_many: None,
                tried: Vec::new(),
            });
            self.all.len() - 1
        });
        &mut self.all[at]
    }

    /// Returns the number of futile rounds that are explored at a place.
    pub fn rounds(&mut self, place: Place) -> u32 {
        self.find(place).rounds
    }

    /// Sets the number of futile rounds that are explored at a place.
    pub fn explore(&mut self, place: String, rounds: u32) {
        self.given.push((place, rounds));
    }

    /// Records that a thread is suspended at a place.
    pub fn suspended(&mut self, process: ProcessId, place: Place) {
        let known = self
            .find(place)
            .tried
            .iter()
            .find(|(who, _)| *who == process);
        let often = known.is_some_and(|&(_, times)| times >= PROBES);
        if self.wanted.is_none() && !often {
            self.wanted = Some((process, place));
        }
    }

    /// Forgets the previous execution.
    pub fn begin(&mut self) {
        self.wanted = None;
    }

    /// Returns the largest number of rounds after which an unexplored loop gives up, and its place.
    pub fn left_out(&self) -> Option<(u32, Place)> {
        let all = self.all.iter();
        let open = all.filter_map(|known| Some((known.too_many?, known.place)));
        open.max_by_key(|(rounds, _)| *rounds)
    }

    /// Records events that were explored only when no other thread could make a step.
    pub fn record_late_events(&mut self, events: &'static str, place: Place) {
        self.late = Some((events, place));
    }

    /// Describes the rounds and events that are not explored.
    pub fn unexplored(&self) -> Option<String> {
        let rounds = self.left_out().map(|(rounds, place)| {
            format!("a loop that gives up after {rounds} rounds without a change, at {place}, was explored with none (spins)")
        });
        let late = self.late.map(|(events, place)| {
            format!("{events}, made at {place}, came only when no other thread could make a step")
        });
        let both: Vec<String> = rounds.into_iter().chain(late).collect();
        (!both.is_empty()).then(|| both.join(", "))
    }

    /// Records the result of a trial. Returns whether the search must start again.
    fn learn(&mut self, process: ProcessId, place: Place, trial: &Trial) -> bool {
        let known = self.find(place);
        let times = match trial {
            Trial::Unknown => 1,
            _ => PROBES,
        };
        match known.tried.iter_mut().find(|(who, _)| *who == process) {
            Some((_, before)) => *before += times,
            None => known.tried.push((process, times)),
        }
        let &Trial::GivesUp(rounds) = trial else {
            return false;
        };
        let new = rounds > known.rounds;
        if new && rounds <= MOST_ROUNDS {
            known.rounds = rounds;
            return true;
        }
        known.too_many = known.too_many.max(new.then_some(rounds));
        false
    }

    /// Returns the places where futile rounds are explored, and how many.
    pub fn explored(&self) -> impl Iterator<Item = (Place, u32)> {
        let all = self.all.iter().filter(|known| known.rounds > 0);
        all.map(|known| (known.place, known.rounds))
    }
}

impl Inner {
    /// Returns the result of the trial of a thread, once there is one.
    fn trial_of(&self, process: ProcessId) -> Option<Trial> {
        let thread = &self.threads[process.index()];
        let rounds = thread.spin.futile_rounds();
        if thread.life != Life::Alive || self.loops.gave_up || thread.spin.has_progressed() {
            return Some(Trial::GivesUp(rounds));
        }
        let waits = self.status(process) == Status::Waiting;
        match thread.pending.until {
            Until::Spin => {}
            Until::Lock(_) | Until::Read(_) | Until::Write(_) | Until::Fair(..) if waits => {
                return Some(Trial::Unknown);
            }
            _ if waits => return Some(Trial::GivesUp(rounds)),
            _ => {}
        }
        (rounds > PROBE_ROUNDS).then_some(Trial::SpinsForEver)
    }
}

impl Simulator {
    /// Makes a trial of the thread that [`suspended`](Loops::suspended) has recorded, if there is
    /// one and it is still suspended. Returns whether a trial was made, in which case the
    /// coroutines must start again.
    pub(crate) fn try_loops(&self) -> bool {
        let Some((process, place)) = self.inner(|inner| inner.loops.wanted.take()) else {
            return false;
        };
        let suspended = self.inner(|inner| {
            let pending = &inner.threads[process.index()].pending;
            let suspended = pending.watches || pending.until == Until::Spin;
            // If something has changed, the next round of the thread does not show how its loop
            // behaves without a change.
            let suspended = suspended && !inner.has_changed(process);
            inner.probing = suspended;
            inner.loops.gave_up = false;
            suspended
        });
        if !suspended {
            return false;
        }
        let mut trial = None;
        for _ in 0..PROBE_STEPS {
            trial = self.inner(|inner| inner.trial_of(process));
            if trial.is_some() || !self.step_alone(process) {
                break;
            }
        }
        let trial = trial.unwrap_or(Trial::SpinsForEver);
        self.inner(|inner| {
            inner.probing = false;
            inner.restart |= inner.loops.learn(process, place, &trial);
        });
        true
    }
}
