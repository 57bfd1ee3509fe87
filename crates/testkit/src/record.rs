//! The results of an exploration, as sets that can be compared.

use std::collections::BTreeSet;

use mazurka_core::{
    Event, Execution, Fingerprint, HappensBefore, Mishap, MishapKind, ProcessTable, Status,
    TraceHasher,
};
use mazurka_explore::Observer;

/// The results of an exploration. Explorers of one program need not agree in all of them;
/// [`Aspect`](crate::Aspect) lists the ones that are compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Complete runs, without the discarded ones.
    pub executions: u64,
    /// Runs that were cut because another run covers them.
    pub blocked: u64,
    /// Runs with a false `assume`.
    pub discarded: u64,
    /// The traces of the complete runs.
    pub traces: BTreeSet<Fingerprint>,
    /// The traces of the deadlocked runs.
    pub deadlocks: BTreeSet<Fingerprint>,
    /// Each failure: a fingerprint, and the site of its statement or property. The fingerprint is
    /// that of the failing event together with the events that happen before it or, if a final
    /// state fails, that of the trace.
    pub failures: BTreeSet<(Fingerprint, u32)>,
    /// The observations of final states.
    pub final_states: BTreeSet<Fingerprint>,
    /// Whether a run had to be given up, for example because a number exceeded a limit, so that
    /// nothing can be compared.
    pub lost: bool,
}

/// Which accesses decide whether two steps are dependent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Dependence {
    /// The claims of steps; this is the language's definition.
    #[default]
    Claimed,
    /// The claims of steps, if the program separates the ends of channels
    /// ([`Execution::separate_ends`]): a send claims one end of a channel, and a receive the other
    /// end.
    Ends,
    /// The accesses that steps really made: the relation that E2 of docs/algorithms.md is about.
    Touched,
}

impl Dependence {
    /// Returns the event as this relation sees it.
    pub fn view(self, event: &Event) -> Event {
        let mut event = event.clone();
        if self == Dependence::Touched {
            event.claims.clone_from(&event.touched);
        }
        event
    }
}

/// Builds a [`Summary`] during an exploration, which must report every step, every undone step, and
/// every complete run.
#[derive(Debug, Default)]
pub struct Recorder {
    dependence: Dependence,
    hasher: TraceHasher,
    summary: Summary,
    /// Whether a false `assume` precedes all steps, so that no failure counts.
    all_discarded: bool,
}

impl Recorder {
    /// Starts at the initial state of a program.
    pub fn new<E: Execution>(program: &E, dependence: Dependence) -> Self {
        let mut recorder = Self {
            dependence,
            ..Self::default()
        };
        let initial = program.initial_mishaps();
        recorder.all_discarded = initial.iter().any(|m| m.kind == MishapKind::Discarded);
        for mishap in initial {
            match mishap.kind {
                MishapKind::Failure if !recorder.all_discarded => {
                    let key = (Fingerprint::EMPTY, mishap.site);
                    recorder.summary.failures.insert(key);
                }
                MishapKind::Failure | MishapKind::Discarded => {}
                MishapKind::OutOfRange
                | MishapKind::LocalLimit
                | MishapKind::MessageLimit(_)
                | MishapKind::Undecided
                | MishapKind::BrokenOff => recorder.summary.lost = true,
            }
        }
        recorder
    }

    /// Records that the program has made a step.
    pub fn push<E: Execution>(&mut self, program: &E) {
        self.push_last(program.whole(), program.processes());
    }

    fn push_last(&mut self, run: &[Event], processes: &ProcessTable) {
        let Some(event) = run.last() else {
            return;
        };
        match self.dependence {
            Dependence::Claimed | Dependence::Ends => self.hasher.push(event, processes),
            seen => self.hasher.push(&seen.view(event), processes),
        }
        for mishap in &event.mishaps {
            match mishap.kind {
                MishapKind::Discarded => {}
                MishapKind::OutOfRange
                | MishapKind::LocalLimit
                | MishapKind::MessageLimit(_)
                | MishapKind::Undecided
                | MishapKind::BrokenOff => self.summary.lost = true,
                MishapKind::Failure => self.failure(run, mishap),
            }
        }
    }

    /// Records a failure, unless a false `assume` happens before it, because such a failure does
    /// not count.
    fn failure(&mut self, run: &[Event], mishap: &Mishap) {
        let last = run.len() - 1;
        let discards = |event: &Event| {
            event
                .mishaps
                .iter()
                .any(|mishap| mishap.kind == MishapKind::Discarded)
        };
        if self.all_discarded {
            return;
        }
        if run.iter().any(discards) {
            let seen: Vec<Event> = run
                .iter()
                .map(|event| self.dependence.view(event))
                .collect();
            let past = HappensBefore::new(&seen).past(last);
            if past.iter().any(|&at| discards(&run[at])) {
                return;
            }
        }
        self.summary
            .failures
            .insert((self.hasher.event(last), mishap.site));
    }

    /// Records that the last step is undone.
    pub fn pop(&mut self) {
        self.hasher.pop();
    }

    /// Records that a run was cut.
    pub fn blocked(&mut self) {
        self.summary.blocked += 1;
    }

    /// Returns the trace of the current run.
    pub fn trace(&self) -> Fingerprint {
        self.hasher.trace()
    }

    /// Records a state in which no process can make a step.
    pub fn complete<E: Execution>(&mut self, program: &E) {
        let processes = program.processes().in_order();
        let any = |status: Status| processes.iter().any(|&p| program.status(p) == status);
        if any(Status::Lost) {
            self.summary.lost = true;
            return;
        }
        if any(Status::Discarded) {
            self.summary.discarded += 1;
            return;
        }
        let trace = self.trace();
        self.summary.executions += 1;
        self.summary.traces.insert(trace);
        if any(Status::Failed) {
            return;
        }
        if any(Status::Waiting) || any(Status::Ready) {
            self.summary.deadlocks.insert(trace);
            return;
        }
        for mishap in program.final_mishaps() {
            self.summary.failures.insert((trace, mishap.site));
        }
        self.summary.final_states.insert(program.observation());
    }

    /// Returns the results so far.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Returns the results.
    pub fn finish(self) -> Summary {
        self.summary
    }
}

/// An observer that records a search of `mazurka_explore`. Pass it to the search, then call
/// [`finish`](Recording::finish).
#[derive(Debug, Default)]
pub struct Recording {
    recorder: Option<Recorder>,
}

impl Recording {
    /// Returns the findings, without the count of blocked runs, which is in the driver's findings.
    pub fn finish(self) -> Summary {
        self.recorder.map(Recorder::finish).unwrap_or_default()
    }
}

impl<E: Execution> Observer<E> for Recording {
    fn start(&mut self, program: &E) {
        let mut recorder = Recorder::new(program, Dependence::Claimed);
        // A search may start in the middle of a run.
        for at in 0..program.whole().len() {
            recorder.push_last(&program.whole()[..=at], program.processes());
        }
        self.recorder = Some(recorder);
    }

    fn pushed(&mut self, program: &E) {
        if let Some(recorder) = &mut self.recorder {
            recorder.push(program);
        }
    }

    fn popping(&mut self, _program: &E) {
        if let Some(recorder) = &mut self.recorder {
            recorder.pop();
        }
    }

    fn complete(&mut self, program: &E) {
        if let Some(recorder) = &mut self.recorder {
            recorder.complete(program);
        }
    }
}
