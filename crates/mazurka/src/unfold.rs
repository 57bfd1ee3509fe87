//! `unfold`: a net built from as few tests as it takes.

use mazurka_core::record::{Net, NetCondition, NetEvent, Record};
use mazurka_core::{Bound, Narrator, ProcessId, StopReason, Verdict};
use mazurka_explore::{Drawn, Goal, NetKind, Unfolding, unfold};
use serde::{Deserialize, Serialize};

use crate::front::{Front, on_front};
use crate::{Algorithm, Options, Program, Watch};

/// More events than this are no picture.
const MOST_EVENTS: usize = 300;

/// The record of an unfolding: what every record has, and the net.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnfoldRecord {
    /// What every record has. Its `events` are those of the net.
    #[serde(flatten)]
    pub record: Record,
    /// Which net: `replicated`, `contextual` or `stateful`.
    pub net: String,
    /// The number that decided which tests were run.
    pub seed: u64,
    /// How many executions were run to build the net, discarded ones included.
    pub tests: u64,
    /// How many conditions the net has.
    pub conditions: u64,
}

/// A net that is too large to be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the net has {events} events, and a picture shows at most {MOST_EVENTS}; make the program smaller (--set), \
     or draw the contextual net if this is none; --format text counts what there is"
)]
pub struct NetTooLarge {
    /// How many events it has.
    pub events: usize,
}

impl Program {
    /// Builds a net from tests. Failures and deadlocks violate; final states are not all looked at, so of
    /// determinism it can only say that there is none.
    pub fn unfold(
        &self,
        kind: NetKind,
        seed: u64,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> UnfoldRecord {
        on_front!(self.language, front => self.unfold_on(front, kind, seed, options, watch).0)
    }

    /// The same, and the net to be drawn.
    pub fn unfold_net(
        &self,
        kind: NetKind,
        seed: u64,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<(UnfoldRecord, Net), NetTooLarge> {
        on_front!(self.language, front => {
            let (record, mut net) = self.unfold_on(front, kind, seed, options, watch);
            match net.events() {
                events if events > MOST_EVENTS => Err(NetTooLarge { events }),
                _ => Ok((record, drawn(&mut front.machine(options), &mut net))),
            }
        })
    }

    fn unfold_on<F: Front>(
        &self,
        front: &F,
        kind: NetKind,
        seed: u64,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> (UnfoldRecord, Unfolding) {
        let mut machine = front.machine(options);
        let limits = &options.limits;
        let mut net = unfold(&mut machine, kind, seed, limits, Goal::Everything, watch);
        let conditions = net.conditions();
        if self.language.states_ensures() && net.found.stopped == StopReason::Complete {
            net.found.bounds.push(Bound::FinalStates);
            net.found.stopped = StopReason::Bound;
        }
        let found = &net.found;
        let tests = found.counts.executions + found.counts.discarded;
        let algorithm = Algorithm::Optimal;
        let mut record = self.judge("unfold", algorithm, options, false, &mut machine, found);
        record.algorithm = "unfold".to_owned();
        // Only what was met is known of final states.
        record.deterministic = record.deterministic.filter(|&all_agree| !all_agree);
        debug_assert!(record.verdict != Verdict::Verified || record.scope.bounds.is_empty());
        let record = UnfoldRecord {
            record,
            net: kind.to_string(),
            seed,
            tests,
            conditions,
        };
        (record, net)
    }
}

/// The net with its labels: each event is run once more, and told.
fn drawn<M: Narrator>(machine: &mut M, net: &mut Unfolding) -> Net {
    let drawing = net.draw();
    let mut events = Vec::with_capacity(drawing.events.len());
    for (event, arcs) in drawing.events.into_iter().enumerate() {
        let schedule = net.schedule_of(event);
        let steps = match machine.narrate(&schedule) {
            Ok(run) => run.steps,
            Err(error) => panic!("a schedule of the net does not run again: {error}"),
        };
        // The step of the event is the last.
        events.extend(steps.into_iter().last().map(|step| NetEvent {
            process: step.process,
            label: step.label,
            mishap: step.mishap,
            takes: arcs.takes,
            reads: arcs.reads,
            makes: arcs.makes,
        }));
    }
    let name = |process: ProcessId| net.processes().path(process).to_string();
    let label = |drawn: &Drawn| match *drawn {
        Drawn::Thread(process) => name(process),
        Drawn::Cell(cell) => machine.cell_name(cell),
        Drawn::Copy(cell, process) => format!("{} of {}", machine.cell_name(cell), name(process)),
    };
    let condition = |drawn: &Drawn| NetCondition {
        label: label(drawn),
        thread: matches!(drawn, Drawn::Thread(_)),
    };
    Net {
        conditions: drawing.conditions.iter().map(condition).collect(),
        events,
    }
}
