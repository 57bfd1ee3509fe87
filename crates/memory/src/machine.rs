//! Adapts programs for explorers of interleavings to the graph engine.
//!
//! A step of such a program makes one access ([`WeakMemory`]). Before the step is made, the value
//! that the engine lets it read is put into its cell, so the cells of the machine have no values of
//! their own. Without spawn and join each thread has a machine of its own, and is taken back
//! independently of the others.
//!
//! If values are unknown, a condition over them is a step of its own, a decision of the graph, and
//! one machine makes the steps of all threads. A step that does several things, for example a guard
//! that reads a cell and makes a decision, is not supported: the search gives up.

use mazurka_core::{
    Access, AccessKind, Claims, Mishap, MishapKind, ProcessId, Status, Wait, WeakMemory,
};

use crate::graph::Graph;
use crate::program::{Action, Decision, Effect, Loc, Program, ThreadId, Value};

/// The change that an answer has made.
#[derive(Clone, Copy, Debug)]
enum AnswerChange {
    /// A step, with the lock that it acquired (true) or released (false), if it did either.
    Step(ThreadId, Option<(u32, bool)>),
    /// One of several processes that a join waits for has been joined.
    Joined(ThreadId),
    /// The answer changed nothing, because the step does several things; the exploration is then
    /// meaningless.
    Nothing(ThreadId),
}

impl AnswerChange {
    fn thread(self) -> ThreadId {
        match self {
            Self::Step(thread, _) | Self::Joined(thread) | Self::Nothing(thread) => thread,
        }
    }
}

/// Number of tried values that are remembered.
const TRIED: usize = 8;

/// The known properties of a thread's next step after some answers. They depend on these answers
/// alone, so they are kept when the thread is taken back to this point.
#[derive(Clone, Debug, Default)]
struct NextStep {
    /// Its action, if it is known.
    action: Option<Action>,
    /// The cell that it claims, and the kind of access. The inner option is `None` if it claims no
    /// cell, the outer one if this is not known yet.
    claim: Option<Option<(u32, AccessKind)>>,
    /// The values that were tried last, each with the effect of the step if it reads the value.
    effects: [Option<(Value, Effect)>; TRIED],
    /// Number of values that were tried.
    tried: usize,
}

/// Runs a [`WeakMemory`] program as a [`Program`] of the graph engine. `APART` says that its
/// threads do not start or join each other.
#[derive(Debug)]
pub struct Threads<M, const APART: bool> {
    /// One machine for each thread, or one for all.
    machines: Vec<M>,
    /// For each machine, the changes that answers have made, in order.
    logs: Vec<Vec<AnswerChange>>,
    /// The initial value of each cell.
    initial: Vec<Value>,
    initial_threads: u32,
    /// The locks that each thread holds.
    held: Vec<Vec<u32>>,
    /// For each thread, the number of processes that its pending join has waited for.
    joined: Vec<u32>,
    /// For each thread, the number of its answers.
    answered: Vec<u32>,
    /// For each thread, the known properties of its steps, by the number of answers before them.
    known: Vec<Vec<NextStep>>,
    /// The line of the first step found that does several things; `None` if there is none.
    compound_step: Option<u32>,
    claims: Claims,
    joins: Vec<ProcessId>,
    /// The decisions that are passed to the machine.
    decided: Vec<(u32, bool)>,
}

/// The effects of a step, observed by making the step and undoing it.
struct Probe {
    /// The first access.
    first: Option<Access>,
    wrote: bool,
    /// The value of the cell after the step.
    value: Value,
    spawned: Option<ProcessId>,
    /// The number of outcomes of its choice, and the least outcome.
    choice: Option<(u32, i64)>,
}

impl<M: WeakMemory, const APART: bool> Threads<M, APART> {
    /// Makes a program from machines in their initial states.
    pub fn new(machine: impl Fn() -> M) -> Self {
        let first = machine();
        let all = first.processes().len() as u32;
        let initial = (0..first.places()).map(|cell| first.value(cell)).collect();
        let mut machines = vec![first];
        if APART {
            machines.extend((1..all).map(|_| machine()));
        }
        Self {
            logs: vec![Vec::new(); machines.len()],
            machines,
            initial,
            initial_threads: all,
            held: vec![Vec::new(); all as usize],
            joined: vec![0; all as usize],
            answered: vec![0; all as usize],
            known: vec![Vec::new(); all as usize],
            compound_step: None,
            claims: Claims::new(),
            joins: Vec::new(),
            decided: Vec::new(),
        }
    }

    /// Records that the next step of a thread does several things at once. The exploration is then
    /// meaningless.
    #[cold]
    fn note_compound_step(&mut self, thread: ThreadId) {
        let line = self.machine(thread).line(process(thread)) as u32;
        self.compound_step.get_or_insert(line);
    }

    /// Returns the machine, with the values that the cells have at the end of an execution. A lock
    /// has the value of its holder.
    pub fn at_the_end(&mut self, graph: &Graph) -> &mut M {
        for (cell, &initial) in (0..).zip(&self.initial) {
            let loc = Loc(cell);
            let value = if graph.knows(loc) {
                graph.final_value(loc)
            } else {
                initial
            };
            self.machines[0].set_value(cell, value);
        }
        for (thread, held) in (1..).zip(&self.held) {
            for &cell in held {
                self.machines[0].set_value(cell, thread);
            }
        }
        &mut self.machines[0]
    }

    /// Makes the pending access of a thread by calling `make` with the machine, the process and the
    /// outcomes of its step. `make` is not called if the access is a join that must still wait for
    /// other processes.
    pub fn answer_by(
        &mut self,
        thread: ThreadId,
        value: Value,
        make: impl FnOnce(&mut M, ProcessId, &[i64]) -> bool,
    ) {
        self.make_room_for(thread);
        let log = if APART { thread.index() } else { 0 };
        if self.joins_more(thread) {
            self.count_answer(thread);
            self.joined[thread.index()] += 1;
            self.logs[log].push(AnswerChange::Joined(thread));
            return;
        }
        let claim = self.claim(thread);
        let lock = claim.and_then(|claim| self.prepare(thread, claim, value));
        let decides = claim.is_none() && matches!(self.pending(thread), Action::Decide { .. });
        let outcome = if decides {
            Some(value)
        } else {
            // If the step touches no cell, its answer is 0, except for a choice.
            (claim.is_none() && value > 0).then(|| self.outcome(thread, value))
        };
        let made = make(self.machine(thread), process(thread), outcome.as_slice());
        debug_assert!(
            made || self.compound_step.is_some(),
            "a step that was offered"
        );
        let several = made && self.machine(thread).decisions() != u32::from(decides);
        if several {
            let depth = self.machine(thread).events().len() - 1;
            self.machine(thread).back_to(depth);
        }
        if several || !made {
            self.note_compound_step(thread);
            self.count_answer(thread);
            self.logs[log].push(AnswerChange::Nothing(thread));
            return;
        }
        self.count_answer(thread);
        self.joined[thread.index()] = 0;
        if let Some((cell, acquired)) = lock {
            self.change_lock(thread, cell, acquired);
        }
        self.logs[log].push(AnswerChange::Step(thread, lock));
    }

    /// Counts an answer. The known properties of steps after other answers are now useless.
    fn count_answer(&mut self, thread: ThreadId) {
        let answered = &mut self.answered[thread.index()];
        *answered += 1;
        self.known[thread.index()].truncate(*answered as usize);
    }

    /// Returns the known properties of a thread's next step.
    fn known(&mut self, thread: ThreadId) -> &mut NextStep {
        let answered = self.answered[thread.index()] as usize;
        let known = &mut self.known[thread.index()];
        if known.len() <= answered {
            known.resize(answered + 1, NextStep::default());
        }
        &mut known[answered]
    }

    /// Returns the chosen value, given its index.
    fn outcome(&mut self, thread: ThreadId, index: Value) -> i64 {
        let choice = self.probe(thread, None).and_then(|probe| probe.choice);
        choice.map_or(0, |(_, least)| least + index)
    }

    fn machine(&mut self, thread: ThreadId) -> &mut M {
        let at = if APART { thread.index() } else { 0 };
        &mut self.machines[at]
    }

    fn make_room_for(&mut self, thread: ThreadId) {
        if self.held.len() <= thread.index() {
            self.held.resize(thread.index() + 1, Vec::new());
            self.joined.resize(thread.index() + 1, 0);
            self.answered.resize(thread.index() + 1, 0);
            self.known.resize(thread.index() + 1, Vec::new());
        }
    }

    /// Returns the cell that the next step claims, and how.
    fn claim(&mut self, thread: ThreadId) -> Option<(u32, AccessKind)> {
        if let Some(claim) = self.known(thread).claim {
            return claim;
        }
        let mut claims = std::mem::take(&mut self.claims);
        self.machine(thread).claims(process(thread), &mut claims);
        let writes = claims.iter().find(|access| access.kind != AccessKind::Read);
        let access = writes.or(claims.first()).copied();
        let several = claims
            .iter()
            .any(|one| access.map(|a| a.first) != Some(one.first) || one.len != 1);
        self.claims = claims;
        if several {
            self.note_compound_step(thread);
        }
        let claim = access.map(|access| (access.first, access.kind));
        self.known(thread).claim = Some(claim);
        claim
    }

    /// Returns the effect of the next step with this value in its cell, and the probe that showed
    /// it. The probe is `None` if the step has to wait.
    fn effect(&mut self, thread: ThreadId, cell: u32, value: Value) -> (Effect, Option<Probe>) {
        let probe = self.probe(thread, Some((cell, value)));
        let effect = match &probe {
            None => Effect::Wait,
            Some(probe) if probe.wrote => Effect::Write(probe.value),
            Some(_) => Effect::Keep,
        };
        let known = self.known(thread);
        known.effects[known.tried % TRIED] = Some((value, effect));
        known.tried += 1;
        (effect, probe)
    }

    /// Makes the next step with this value in its cell, and takes it back. `None` if it has to
    /// wait.
    fn probe(&mut self, thread: ThreadId, cell: Option<(u32, Value)>) -> Option<Probe> {
        let machine = self.machine(thread);
        let depth = machine.events().len();
        if let Some((cell, value)) = cell {
            machine.set_value(cell, value);
        }
        let Ok(event) = machine.try_step(process(thread)) else {
            return None;
        };
        let choice = event.outcomes.first();
        let mut probe = Probe {
            first: event.touched.first().copied(),
            wrote: event
                .touched
                .iter()
                .any(|access| access.kind == AccessKind::Write),
            value: 0,
            spawned: event.spawned.first().copied(),
            choice: choice.map(|choice| ((choice.end - choice.value) as u32, choice.value)),
        };
        let things =
            event.spawned.len() + event.outcomes.len() + usize::from(!event.touched.is_empty());
        if let Some((cell, _)) = cell {
            probe.value = machine.value(cell);
        }
        let several = things > 1 || machine.decisions() > 0;
        machine.back_to(depth);
        if several {
            self.note_compound_step(thread);
        }
        Some(probe)
    }

    /// Returns the action of a process that is alive.
    fn alive(&mut self, thread: ThreadId) -> Action {
        if let Some(question) = self.machine(thread).question(process(thread)) {
            return Action::Decide { question };
        }
        let claim = self.claim(thread);
        let wait = self.machine(thread).wait(process(thread));
        match claim {
            None if wait == Wait::Process => self.join(thread),
            None => self.without_access(thread, wait),
            Some((cell, AccessKind::Acquire)) => Action::Lock { loc: Loc(cell) },
            Some((cell, AccessKind::Release)) if self.held[thread.index()].contains(&cell) => {
                Action::Unlock { loc: Loc(cell) }
            }
            // The thread does not hold the lock: the step fails and touches nothing.
            Some((_, AccessKind::Release)) => Action::Choice { outcomes: 1 },
            Some((cell, AccessKind::Read)) => {
                let order = self
                    .machine(thread)
                    .order(process(thread), Some(cell))
                    .order;
                let loc = Loc(cell);
                match wait {
                    Wait::Never => Action::Read { loc, order },
                    _ => Action::Await { loc, order },
                }
            }
            Some((cell, AccessKind::Write)) => self.writes(thread, cell, wait),
        }
    }

    /// Returns the action of a step that may write: its first access shows whether it is a write or
    /// an update.
    fn writes(&mut self, thread: ThreadId, cell: u32, wait: Wait) -> Action {
        let loc = Loc(cell);
        let orders = self.machine(thread).order(process(thread), Some(cell));
        let update = Action::Update {
            loc,
            order: orders.order,
            failure: orders.failure,
        };
        if wait != Wait::Never {
            return update;
        }
        match self.effect(thread, cell, 0).1 {
            Some(probe) => match probe.first.map(|access| access.kind) {
                Some(AccessKind::Write) => Action::Write {
                    loc,
                    order: orders.order,
                    value: probe.value,
                },
                Some(_) => update,
                None => Action::Choice { outcomes: 1 },
            },
            None => update,
        }
    }

    /// Returns the action of a step that claims no cell.
    fn without_access(&mut self, thread: ThreadId, wait: Wait) -> Action {
        if self.machine(thread).is_fence(process(thread)) {
            let order = self.machine(thread).order(process(thread), None).order;
            return Action::Fence { order };
        }
        match self.probe(thread, None) {
            // It waits for ever. The action for this is an await of a location that no other thread
            // accesses.
            None => {
                let loc = Loc(self.initial.len() as u32 + thread.0);
                let order = mazurka_core::MemoryOrder::Relaxed;
                debug_assert_ne!(wait, Wait::Never);
                Action::Await { loc, order }
            }
            Some(probe) => match (probe.spawned, probe.choice) {
                (Some(child), _) => Action::Spawn {
                    child: ThreadId(child.0),
                },
                (None, Some((outcomes, _))) => Action::Choice { outcomes },
                (None, None) => Action::Choice { outcomes: 1 },
            },
        }
    }

    fn join(&mut self, thread: ThreadId) -> Action {
        let mut joins = std::mem::take(&mut self.joins);
        self.machine(thread).joins(process(thread), &mut joins);
        let next = joins.get(self.joined[thread.index()] as usize).copied();
        self.joins = joins;
        match next {
            Some(child) => Action::Join {
                child: ThreadId(child.0),
            },
            None => Action::Choice { outcomes: 1 },
        }
    }

    /// Whether the pending join waits for further processes after the next one.
    fn joins_more(&mut self, thread: ThreadId) -> bool {
        let wait = self.machine(thread).wait(process(thread));
        if wait != Wait::Process {
            return false;
        }
        let mut joins = std::mem::take(&mut self.joins);
        self.machine(thread).joins(process(thread), &mut joins);
        let more = self.joined[thread.index()] as usize + 1 < joins.len();
        self.joins = joins;
        more
    }

    /// Returns the mishap that has halted a process.
    fn mishap(&mut self, thread: ThreadId) -> Option<Mishap> {
        let halts = |mishap: &&Mishap| mishap.process == Some(process(thread));
        let machine = self.machine(thread);
        let later = machine.events().iter().rev();
        let later = later.flat_map(|event| &event.mishaps);
        let mut all = later.chain(machine.initial_mishaps());
        all.find(halts).copied()
    }

    /// Whether a failure, not a limit, has halted a thread.
    pub fn is_failure(&mut self, thread: ThreadId) -> bool {
        let mishap = self.mishap(thread);
        mishap.is_some_and(|mishap| mishap.kind == MishapKind::Failure)
    }

    /// Whether a mishap that [counts](mazurka_core::Execution::counts) has halted one of the first
    /// `threads` threads.
    pub fn has_failed(&mut self, threads: u32) -> bool {
        (0..threads).map(ThreadId).any(|thread| {
            let status = self.machine(thread).status(process(thread));
            let halted = matches!(status, Status::Failed | Status::Lost);
            let mishap = if halted { self.mishap(thread) } else { None };
            mishap.is_some_and(|mishap| self.machine(thread).counts(&mishap))
        })
    }

    /// Puts the value that the next step reads into its cell. Returns the lock that the step
    /// acquires (true) or releases (false), if it does either.
    fn prepare(
        &mut self,
        thread: ThreadId,
        (cell, kind): (u32, AccessKind),
        value: Value,
    ) -> Option<(u32, bool)> {
        let held = self.held[thread.index()].contains(&cell);
        let owner = i64::from(thread.0) + 1;
        let (value, lock) = match kind {
            AccessKind::Acquire => (0, Some((cell, true))),
            AccessKind::Release if held => (owner, Some((cell, false))),
            AccessKind::Release => (0, None),
            AccessKind::Read | AccessKind::Write => (value, None),
        };
        self.machine(thread).set_value(cell, value);
        lock
    }

    /// Records that a thread has acquired or released a lock.
    fn change_lock(&mut self, thread: ThreadId, cell: u32, acquired: bool) {
        let held = &mut self.held[thread.index()];
        if acquired {
            held.push(cell)
        } else {
            held.retain(|&one| one != cell)
        }
    }

    /// Undoes the last answer in a log.
    fn take_back(&mut self, log: usize) {
        let Some(made) = self.logs[log].pop() else {
            return;
        };
        let thread = made.thread();
        self.answered[thread.index()] -= 1;
        if !APART {
            // When a spawn is taken back, the number of its thread may be given to another process
            // later.
            self.known.iter_mut().for_each(Vec::clear);
        }
        match made {
            AnswerChange::Joined(_) => self.joined[thread.index()] -= 1,
            AnswerChange::Nothing(_) => {}
            AnswerChange::Step(_, lock) => {
                let machine = &mut self.machines[log];
                let depth = machine.events().len() - 1;
                machine.back_to(depth);
                if let Some((cell, acquired)) = lock {
                    self.change_lock(thread, cell, !acquired);
                }
                self.joined[thread.index()] = self.joined_before(log, thread);
            }
        }
    }

    /// Returns the number of processes that the pending join of a thread has waited for, from the
    /// log.
    fn joined_before(&self, log: usize, thread: ThreadId) -> u32 {
        let own = self.logs[log]
            .iter()
            .rev()
            .filter(|made| made.thread() == thread);
        own.take_while(|made| matches!(made, AnswerChange::Joined(_)))
            .count() as u32
    }
}

fn process(thread: ThreadId) -> ProcessId {
    ProcessId(thread.0)
}

impl<M: WeakMemory, const APART: bool> Program for Threads<M, APART> {
    const INDEPENDENT: bool = APART;
    const NUMBERED_AS_MET: bool = true;
    const DECIDES_LOCALLY: bool = true;

    fn initial_threads(&self) -> u32 {
        self.initial_threads
    }

    fn initial_value(&self, loc: Loc) -> Value {
        self.initial.get(loc.index()).copied().unwrap_or(0)
    }

    fn pending(&mut self, thread: ThreadId) -> Action {
        self.make_room_for(thread);
        if let Some(action) = self.known(thread).action {
            return action;
        }
        let action = match self.machine(thread).status(process(thread)) {
            Status::Unborn => return Action::End,
            Status::Ended => Action::End,
            Status::Discarded => Action::Discard,
            // A process that has failed has a mishap.
            Status::Failed | Status::Lost => {
                Action::Fail(self.mishap(thread).map_or(0, |mishap| mishap.site))
            }
            Status::Ready | Status::Waiting => self.alive(thread),
        };
        self.known(thread).action = Some(action);
        action
    }

    fn modify(&mut self, thread: ThreadId, read: Value) -> Effect {
        let Some((cell, _)) = self.claim(thread) else {
            return Effect::Wait;
        };
        let tried = self.known(thread).effects.iter().flatten();
        let tried = tried.copied().find(|(value, _)| *value == read);
        match tried {
            Some((_, effect)) => effect,
            None => self.effect(thread, cell, read).0,
        }
    }

    fn decide(&mut self, made: &[Decision], question: u32, after: Option<Value>) -> Option<Value> {
        let from = after.map_or(0, |after| after + 1);
        (from..2).find(|&side| {
            let made = made.iter().map(|it| (it.question, it.outcome == 1));
            self.decided.clear();
            self.decided.extend(made);
            self.decided.push((question, side == 1));
            self.machines[0].is_feasible(&self.decided)
        })
    }

    fn answer(&mut self, thread: ThreadId, value: Value) {
        let make =
            |machine: &mut M, process, outcomes: &[i64]| machine.step(process, outcomes).is_ok();
        self.answer_by(thread, value, make);
    }

    fn gives_up(&self) -> Option<u32> {
        self.compound_step
    }

    fn rewind(&mut self, answers: &mut [u32]) {
        if APART {
            for (thread, &answers) in answers.iter().enumerate() {
                while self.answered[thread] > answers {
                    self.take_back(thread);
                }
            }
            return;
        }
        while answers
            .iter()
            .zip(&self.answered)
            .any(|(keep, made)| made > keep)
        {
            self.take_back(0);
        }
        for (answers, &made) in answers.iter_mut().zip(&self.answered) {
            *answers = made;
        }
    }
}
