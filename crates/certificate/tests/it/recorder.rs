//! A program that records the tree of a search.

use mazurka_certificate::{Certificate, Kind, Tree};
use mazurka_core::{
    Access, Blocker, Claims, Event, Execution, Fingerprint, Mishap, ProcessId, ProcessTable,
    Promises, Status, StepError, Wait,
};
use mazurka_lang::Machine;

/// A machine that records the steps that are made and taken back.
pub struct TreeRecorder {
    machine: Machine,
    tree: Tree,
    /// The number of steps that were made and not taken back.
    made: usize,
}

impl TreeRecorder {
    pub fn new(text: &str) -> Option<Self> {
        let machine = mazurka_testkit::machine(text).ok()?;
        let roots = machine.processes().len() as u32;
        Some(Self {
            machine,
            tree: Tree::new(roots),
            made: 0,
        })
    }

    /// Returns the tree as a certificate.
    pub fn certificate(self, text: &str) -> Certificate {
        certificate(text, self.tree)
    }
}

/// Returns a tree as a certificate.
pub fn certificate(text: &str, tree: Tree) -> Certificate {
    Certificate {
        kind: Kind::Stateless,
        source: text.to_owned(),
        settings: Vec::new(),
        most_jumps: 1_000_000,
        evidence: tree.finish(),
    }
}

impl Promises for TreeRecorder {
    fn guards(&self) -> &[Access] {
        self.machine.guards()
    }
    fn future(&self, process: ProcessId, into: &mut Claims) {
        self.machine.future(process, into);
    }
    fn blocker(&self, process: ProcessId) -> Blocker {
        self.machine.blocker(process)
    }
}

impl Execution for TreeRecorder {
    fn processes(&self) -> &ProcessTable {
        self.machine.processes()
    }
    fn status(&self, process: ProcessId) -> Status {
        self.machine.status(process)
    }
    fn is_final(&self) -> bool {
        self.machine.is_final()
    }
    fn claims(&self, process: ProcessId, into: &mut Claims) {
        self.machine.claims(process, into);
    }
    fn wait(&self, process: ProcessId) -> Wait {
        self.machine.wait(process)
    }
    fn joins(&self, process: ProcessId, into: &mut Vec<ProcessId>) {
        self.machine.joins(process, into);
    }
    fn step(&mut self, process: ProcessId, outcomes: &[i64]) -> Result<&Event, StepError> {
        let event = self.machine.step(process, outcomes)?;
        let outcomes: Vec<i64> = event.outcomes.iter().map(|one| one.value).collect();
        let spawned: Vec<u32> = event.spawned.iter().map(|child| child.0).collect();
        self.tree.step(process.0, &outcomes, &spawned);
        self.made += 1;
        Ok(event)
    }
    fn events(&self) -> &[Event] {
        self.machine.events()
    }
    fn back_to(&mut self, depth: usize) {
        for _ in depth..self.made {
            self.tree.back();
        }
        self.made = self.made.min(depth);
        self.machine.back_to(depth);
    }
    fn initial_mishaps(&self) -> &[Mishap] {
        self.machine.initial_mishaps()
    }
    fn final_mishaps(&self) -> Vec<Mishap> {
        self.machine.final_mishaps()
    }
    fn observation(&self) -> Fingerprint {
        self.machine.observation()
    }
}
