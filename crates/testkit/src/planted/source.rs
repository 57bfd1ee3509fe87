//! Source-DPOR with sleep sets, for programs that wait: the reference, and its planted defects.
//!
//! Abdulla, Aronis, Jonsson, Sagonas: *Optimal Dynamic Partial Order Reduction*, POPL 2014,
//! Algorithm 1; printed again as Algorithm 1 of "Context-Sensitive Dynamic Partial Order Reduction"
//! (CAV 2017), there with the additional lines 11–14 and 16.
//!
//! | paper | here |
//! |---|---|
//! | E | the program's events, [`Order`] |
//! | backtrack(E), sleep(E) | [`BacktrackNode::backtrack`], [`BacktrackNode::sleep`] |
//! | e ≾_E.p next(p) | [`Source::races`] |
//! | v = notdep(e, E).p, I(v) | [`Order::not_dependent`], [`Order::initials`] |
//!
//! Deviations, all for steps that can wait (E3, E11 and E12 of docs/algorithms.md):
//! - A step that waits in some state, or waited in one since its process's last step, races with
//!   *every* earlier conflicting event, not only with the last, since a guard may have been open
//!   long before. At the prefix before that event every ready process is added, because the step
//!   itself may have to wait there.
//! - A step that only acquires a lock races with the last acquisition of that lock, even while it
//!   waits, and not with the release between them.
//! - A step that may or may not acquire (in a choice, in an atomic block, by an index from shared
//!   memory) is treated as one that waits.
//! - An initial that waits at the prefix cannot be added; if all initials wait, every ready process
//!   is added.
//! - An initial that is asleep at the prefix is not added if another initial is awake.
//! - All outcomes of a `choose` are run at the node of its process.
//! - A mishap halts its process only.

use mazurka_core::{Access, AccessKind, Claims, Event, Execution, ProcessId, ProcessPath, Status};

use super::races::{Order, conflict, only_acquires};
use crate::brute::{next_outcomes, ready, with_status};
use crate::record::{Dependence, Recorder, Summary};

/// The defects. Each is off by default. E2, E3 and E12 are explained in docs/algorithms.md.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// E2: two steps are dependent if the accesses that they really made conflict, instead of their
    /// claims.
    pub really_touched: bool,
    /// E3: steps that wait for a condition race with nothing.
    pub ignore_pending_guards: bool,
    /// Steps that wait for a lock race with nothing.
    pub ignore_pending_locks: bool,
    /// Steps that wait race with the last conflicting event only, as if a guard could not have been
    /// open before it.
    pub only_last_writer: bool,
    /// Steps that wait are examined only where no process can make a step.
    pub pending_only_at_ends: bool,
    /// E12: the execution ends at a failure or a false `assume`.
    pub stop_at_mishap: bool,
}

/// Explores a program, correctly unless a defect is switched on.
pub fn source<E: Execution>(program: &mut E, switches: Switches) -> Summary {
    without(program, &[], switches)
}

/// Explores without ever running the processes in `idle`, which is a defect if there are any.
pub(super) fn without<E: Execution>(
    program: &mut E,
    idle: &[ProcessPath],
    switches: Switches,
) -> Summary {
    program.back_to(0);
    let dependence = if switches.really_touched {
        Dependence::Touched
    } else {
        Dependence::Claimed
    };
    let recorder = Recorder::new(program, dependence);
    let mut source = Source {
        program,
        idle,
        switches,
        dependence,
        recorder,
        order: Order::default(),
        nodes: Vec::new(),
    };
    source.explore(Vec::new());
    source.recorder.finish()
}

/// A sleeping process, and the accesses of its next step.
type Sleeper = (ProcessId, Claims);

/// A state on the current run.
struct BacktrackNode {
    ready: Vec<ProcessId>,
    waiting: Vec<ProcessId>,
    /// The processes that have run from this state, or will run.
    backtrack: Vec<ProcessId>,
    sleep: Vec<Sleeper>,
}

impl BacktrackNode {
    fn asleep(&self, process: ProcessId) -> bool {
        self.sleep.iter().any(|(sleeper, _)| *sleeper == process)
    }

    fn add(&mut self, process: ProcessId) {
        if !self.backtrack.contains(&process) {
            self.backtrack.push(process);
        }
    }

    fn add_all(&mut self) {
        for process in self.ready.clone() {
            self.add(process);
        }
    }

    /// Ensures that one of these processes runs from this state.
    fn add_one_of(&mut self, initials: &[ProcessId]) {
        let able: Vec<ProcessId> = initials
            .iter()
            .copied()
            .filter(|p| self.ready.contains(p))
            .collect();
        if able.is_empty() {
            self.add_all();
        } else if !able.iter().any(|p| self.backtrack.contains(p))
            && let Some(&awake) = able.iter().find(|&&p| !self.asleep(p))
        {
            self.add(awake);
        }
    }
}

/// A depth-first exploration: the current run (`order`) and a node for each of its states.
struct Source<'a, E> {
    program: &'a mut E,
    /// The processes that never run.
    idle: &'a [ProcessPath],
    switches: Switches,
    dependence: Dependence,
    recorder: Recorder,
    order: Order,
    nodes: Vec<BacktrackNode>,
}

impl<E: Execution> Source<'_, E> {
    fn explore(&mut self, sleep: Vec<Sleeper>) {
        let depth = self.nodes.len();
        let all = ready(self.program);
        let table = self.program.processes();
        let runs = |process: &&ProcessId| !self.idle.contains(table.path(**process));
        let ready: Vec<ProcessId> = all.iter().filter(runs).copied().collect();
        let waiting = with_status(self.program, Status::Waiting);
        self.nodes.push(BacktrackNode {
            ready: ready.clone(),
            waiting: waiting.clone(),
            backtrack: Vec::new(),
            sleep,
        });
        if all.is_empty() || !self.switches.pending_only_at_ends {
            for process in waiting {
                self.waits(process);
            }
        }
        if all.is_empty() || self.stopped() {
            self.recorder.complete(self.program);
        } else if let Some(&first) = ready.iter().find(|&&p| !self.nodes[depth].asleep(p)) {
            self.nodes[depth].add(first);
            while let Some(process) = self.next(depth) {
                let accesses = self.run(process);
                self.nodes[depth].sleep.push((process, accesses));
            }
        } else {
            self.recorder.blocked();
        }
        self.nodes.pop();
    }

    fn next(&self, depth: usize) -> Option<ProcessId> {
        let node = &self.nodes[depth];
        node.backtrack.iter().copied().find(|&p| !node.asleep(p))
    }

    fn stopped(&self) -> bool {
        let halted = |status| !with_status(self.program, status).is_empty();
        self.switches.stop_at_mishap && (halted(Status::Failed) || halted(Status::Discarded))
    }

    /// Runs a process from the last node, with all outcomes, and returns its accesses.
    fn run(&mut self, process: ProcessId) -> Claims {
        let depth = self.order.len();
        let mut accesses = Claims::new();
        let mut outcomes = Some(Vec::new());
        while let Some(values) = outcomes {
            let event = match self.program.step(process, &values) {
                Ok(event) => event,
                Err(error) => panic!("a ready process could not make its step: {error}"),
            };
            outcomes = next_outcomes(event);
            let event = self.dependence.view(event);
            accesses.extend(event.claims.iter().copied());
            let independent =
                |sleeper: &&Sleeper| sleeper.0 != process && !conflict(&sleeper.1, &event.claims);
            let sleep = self.nodes[depth]
                .sleep
                .iter()
                .filter(independent)
                .cloned()
                .collect();
            self.recorder.push(self.program);
            self.order.push(event);
            self.races(depth, false);
            self.explore(sleep);
            self.order.pop();
            self.recorder.pop();
            self.program.back_to(depth);
        }
        accesses
    }

    /// Finds the races of the next step of a waiting process, as if this step were the last event.
    fn waits(&mut self, process: ProcessId) {
        let mut event = Event::new(process, u32::MAX);
        self.program.claims(process, &mut event.claims);
        let lock = only_acquires(&event.claims).is_some();
        event.claims.retain(|access| match access.kind {
            AccessKind::Read | AccessKind::Write => !self.switches.ignore_pending_guards,
            AccessKind::Acquire | AccessKind::Release => !self.switches.ignore_pending_locks,
        });
        if lock && event.claims.is_empty() {
            return;
        }
        let at = self.order.len();
        self.order.push(event);
        self.races(at, true);
        self.order.pop();
    }

    /// Finds the races of the event at `at` with earlier events, and schedules their reversals.
    fn races(&mut self, at: usize, pending: bool) {
        let event = self.order.event(at);
        // A choice may claim a lock and still not acquire it.
        let takes = |access: &Access| access.kind == AccessKind::Acquire;
        let lock =
            only_acquires(&event.claims).filter(|_| pending || event.touched.iter().any(takes));
        let since = self.order.own_past(at).map_or(0, |own| own + 1);
        let waited = pending
            || (self.nodes[since..=at]
                .iter()
                .any(|node| node.waiting.contains(&event.process))
                && !self.switches.ignore_pending_guards);
        let may_acquire = event.claims.iter().any(takes);
        let racing: Vec<usize> = (0..at).filter(|&e| self.order.concurrent(e, at)).collect();
        for e in racing.into_iter().rev() {
            let touches = |claims: &Claims, kind: AccessKind| {
                let same = |access: &&Access| lock.is_some_and(|l| l.conflicts(**access));
                claims.iter().filter(same).any(|access| access.kind == kind)
            };
            let earlier = self.order.event(e);
            if lock.is_some() {
                let acquired = touches(&earlier.touched, AccessKind::Acquire);
                // A failed unlock released nothing; it can also come later.
                let released =
                    touches(&earlier.touched, AccessKind::Release) && earlier.mishaps.is_empty();
                if touches(&earlier.claims, AccessKind::Acquire)
                    || (!released && self.order.adjacent(e, at))
                {
                    self.reverse(e, at);
                }
                if acquired {
                    return;
                }
            } else if waited || may_acquire {
                self.nodes[e].add_all();
                if self.switches.only_last_writer {
                    return;
                }
            } else if self.order.adjacent(e, at) {
                self.reverse(e, at);
            }
        }
    }

    /// Schedules the event at `at` to run before the earlier event `e`.
    fn reverse(&mut self, e: usize, at: usize) {
        let v = self.order.not_dependent(e, at);
        let initials = self.order.initials(&v);
        self.nodes[e].add_one_of(&initials);
    }
}
