//! What an exploration found, as sets that can be compared.

use std::collections::BTreeSet;

use mazurka_core::{
    Event, Execution, Fingerprint, HappensBefore, Mishap, MishapKind, ProcessTable, Status,
    TraceHasher,
};
use mazurka_explore::Observer;

/// Everything that two explorers of one program must agree on, and what they need not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Complete runs, discarded ones left out.
    pub executions: u64,
    /// Runs cut because another covers them.
    pub blocked: u64,
    /// Runs with a false `assume`.
    pub discarded: u64,
    /// The traces of the complete runs.
    pub traces: BTreeSet<Fingerprint>,
    /// The traces of the deadlocked runs.
    pub deadlocks: BTreeSet<Fingerprint>,
    /// Failing events with their past, or traces whose final state fails, with the site.
    pub failures: BTreeSet<(Fingerprint, u32)>,
    /// What final states show.
    pub final_states: BTreeSet<Fingerprint>,
    /// Whether a run went beyond what the evaluator can do, so that nothing can be compared.
    pub lost: bool,
}

/// By which accesses runs are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Dependence {
    /// By what steps claim; this is the language's definition.
    #[default]
    Claimed,
    /// The same, where a send and a receive claim different ends of a channel.
    Ends,
    /// By what steps really touched, the relation of errata E2.
    Touched,
}

impl Dependence {
    /// The event as this relation sees it.
    pub fn view(self, event: &Event) -> Event {
        let mut event = event.clone();
        if self == Dependence::Touched {
            event.claims.clone_from(&event.touched);
        }
        event
    }
}

/// Makes a [`Summary`] along an exploration: told of every step, every step back and every
/// complete run.
#[derive(Debug, Default)]
pub struct Recorder {
    dependence: Dependence,
    hasher: TraceHasher,
    summary: Summary,
    /// Whether a false `assume` comes before any step, and so before everything.
    hopeless: bool,
}

impl Recorder {
    /// At the initial state of a program.
    pub fn new<E: Execution>(program: &E, dependence: Dependence) -> Self {
        let mut recorder = Self {
            dependence,
            ..Self::default()
        };
        let initial = program.initial_mishaps();
        recorder.hopeless = initial.iter().any(|m| m.kind == MishapKind::Discarded);
        for mishap in initial {
            match mishap.kind {
                MishapKind::Failure if !recorder.hopeless => {
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

    /// The program has made a step.
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

    /// With a false `assume` in its past a failure cannot happen, so it does not count.
    fn failure(&mut self, run: &[Event], mishap: &Mishap) {
        let last = run.len() - 1;
        let discards = |event: &Event| {
            event
                .mishaps
                .iter()
                .any(|mishap| mishap.kind == MishapKind::Discarded)
        };
        if self.hopeless {
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

    /// The last step is taken back.
    pub fn pop(&mut self) {
        self.hasher.pop();
    }

    /// A run was cut.
    pub fn blocked(&mut self) {
        self.summary.blocked += 1;
    }

    /// The trace of the current run.
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

    /// What was found so far.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// What was found.
    pub fn finish(self) -> Summary {
        self.summary
    }
}

/// Records what a search of `mazurka_explore` does: pass it as the observer, then
/// [`finish`](Recording::finish).
#[derive(Debug, Default)]
pub struct Recording {
    recorder: Option<Recorder>,
}

impl Recording {
    /// What was found, the count of blocked runs apart, which the driver's findings have.
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
