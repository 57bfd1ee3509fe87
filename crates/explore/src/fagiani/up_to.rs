//! A program that ends where a recorded run ends: the paper's section 6, "imposing a bound on the
//! length of the computations".
//!
//! Each process makes as many steps as in the run and then counts as ended, even if it could
//! continue. So the recorded prefix of a long run is a complete run here, and its permutations are
//! those of the prefix. A process that waits for a step that was cut off is not deadlocked: it
//! counts as cut, unless no process of the program can continue.

use mazurka_core::{
    Access, Blocker, Claims, Event, Execution, Fingerprint, Labelled, Mishap, ProcessId,
    ProcessTable, Promises, Status, StepError, Wait,
};

/// A program in which each process ends where it ended in a recorded run.
#[derive(Debug)]
pub struct UpTo<'p, E> {
    program: &'p mut E,
    /// For each process, the number of steps that it may make.
    allowed: Vec<u32>,
    /// For each process, the number of steps that it has made.
    made: Vec<u32>,
}

impl<'p, E: Labelled> UpTo<'p, E> {
    /// Limits a program to its current run, and goes back to the start.
    pub fn current_run(program: &'p mut E) -> Self {
        let mut allowed = Vec::new();
        for event in program.events() {
            count(&mut allowed, event.process);
        }
        program.back_to(0);
        let made = Vec::new();
        Self {
            program,
            allowed,
            made,
        }
    }

    /// Returns the program, in the same state.
    pub fn program(&self) -> &E {
        self.program
    }

    fn is_done(&self, process: ProcessId) -> bool {
        let of = |all: &[u32]| all.get(process.index()).copied().unwrap_or(0);
        of(&self.made) >= of(&self.allowed)
    }

    /// Whether only processes that were cut off can continue.
    fn is_cut(&self) -> bool {
        let table = self.program.processes().in_order();
        let mut ready = table
            .iter()
            .filter(|&&process| self.program.status(process) == Status::Ready)
            .peekable();
        ready.peek().is_some() && ready.all(|&process| self.is_done(process))
    }
}

fn count(all: &mut Vec<u32>, process: ProcessId) {
    if all.len() <= process.index() {
        all.resize(process.index() + 1, 0);
    }
    all[process.index()] += 1;
}

impl<E: Labelled> Promises for UpTo<'_, E> {
    fn guards(&self) -> &[Access] {
        self.program.guards()
    }

    fn future(&self, process: ProcessId, into: &mut Claims) {
        self.program.future(process, into);
    }

    fn blocker(&self, process: ProcessId) -> Blocker {
        self.program.blocker(process)
    }
}

impl<E: Labelled> Execution for UpTo<'_, E> {
    fn processes(&self) -> &ProcessTable {
        self.program.processes()
    }

    fn status(&self, process: ProcessId) -> Status {
        match self.program.status(process) {
            Status::Ready | Status::Waiting if self.is_done(process) => Status::Ended,
            Status::Waiting if self.is_cut() => Status::Lost,
            status => status,
        }
    }

    fn claims(&self, process: ProcessId, into: &mut Claims) {
        self.program.claims(process, into);
    }

    fn wait(&self, process: ProcessId) -> Wait {
        self.program.wait(process)
    }

    fn joins(&self, process: ProcessId, into: &mut Vec<ProcessId>) {
        self.program.joins(process, into);
    }

    fn has_ended(&self, process: ProcessId) -> bool {
        self.program.has_ended(process)
    }

    fn ends_with_results(&self) -> bool {
        self.program.ends_with_results()
    }

    fn has_conditions(&self) -> bool {
        self.program.has_conditions()
    }

    fn break_off_long_steps(&mut self, may: bool) {
        self.program.break_off_long_steps(may);
    }

    fn step(&mut self, process: ProcessId, outcomes: &[i64]) -> Result<&Event, StepError> {
        if self.is_done(process) {
            return Err(StepError::NotReady);
        }
        let event = self.program.step(process, outcomes)?;
        count(&mut self.made, process);
        Ok(event)
    }

    fn events(&self) -> &[Event] {
        self.program.events()
    }

    fn back_to(&mut self, depth: usize) {
        for event in self.program.events().get(depth..).unwrap_or_default() {
            self.made[event.process.index()] -= 1;
        }
        self.program.back_to(depth);
    }

    fn initial_mishaps(&self) -> &[Mishap] {
        self.program.initial_mishaps()
    }

    fn counts(&self, failure: &Mishap) -> bool {
        self.program.counts(failure)
    }

    fn final_mishaps(&self) -> Vec<Mishap> {
        if self.program.is_final() {
            self.program.final_mishaps()
        } else {
            Vec::new()
        }
    }

    fn observation(&self) -> Fingerprint {
        self.program.observation()
    }
}

impl<E: Labelled> Labelled for UpTo<'_, E> {
    fn path(&self, at: usize) -> Fingerprint {
        self.program.path(at)
    }

    fn branches(&self, at: usize) -> bool {
        self.program.branches(at)
    }

    fn named(&self, at: usize) -> &[Access] {
        self.program.named(at)
    }

    fn claims_fixed(&self, process: ProcessId) -> bool {
        self.program.claims_fixed(process)
    }
}
