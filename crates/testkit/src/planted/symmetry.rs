//! Programs whose symmetry has a planted mistake, which tests of symmetry reduction must catch.

use mazurka_core::{
    Access, Blocker, Claims, Event, Execution, Fingerprint, Mishap, ProcessId, ProcessTable,
    Promises, Semantics, Status, StepError, Symmetric, Temporal, Wait,
};
use mazurka_lang::Machine;

/// The planted mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// No mistake.
    None,
    /// All members have the same label in [images](Symmetric::image).
    EqualLabels,
    /// States are compared without the parts that no permutation changes ([`Symmetric::unmoved`]).
    UnmovedPartsIgnored,
    /// [`Symmetric::observation_of`] returns the observation of the original state for each
    /// permuted state.
    OriginalObservation,
    /// [`Symmetric::process_of`] returns the original process for each permuted process.
    OriginalProcesses,
    /// The last member of each group keeps its own label in [images](Symmetric::image), even if the
    /// permutation moves it.
    LastMemberFixed,
}

/// A program whose symmetry has a planted mistake.
#[derive(Debug)]
pub struct WrongSymmetry {
    machine: Machine,
    mistake: Mistake,
    groups: Vec<u32>,
}

impl WrongSymmetry {
    /// Puts a mistake into a program.
    pub fn new(machine: Machine, mistake: Mistake) -> Self {
        let groups = machine.symmetry().map(|one| one.groups().to_vec());
        Self {
            machine,
            mistake,
            groups: groups.unwrap_or_default(),
        }
    }

    /// Returns the labelling that changes nothing.
    fn identity(&self) -> Vec<u32> {
        (0..self.groups.iter().sum()).collect()
    }
}

impl Symmetric for WrongSymmetry {
    fn groups(&self) -> &[u32] {
        &self.groups
    }

    fn unmoved(&self) -> Fingerprint {
        match self.mistake {
            Mistake::UnmovedPartsIgnored => Fingerprint::ZERO,
            _ => Symmetric::unmoved(&self.machine),
        }
    }

    fn image(&self, labels: &[u32]) -> Fingerprint {
        match self.mistake {
            Mistake::EqualLabels => self.machine.image(&vec![0; labels.len()]),
            Mistake::LastMemberFixed => {
                let mut labels = labels.to_vec();
                let mut first = 0;
                for &size in &self.groups {
                    let last = first + size as usize - 1;
                    // If the permutation moves the last member, another member now has the same
                    // label.
                    labels[last] = last as u32;
                    first = last + 1;
                }
                self.machine.image(&labels)
            }
            _ => self.machine.image(labels),
        }
    }

    fn observation_of(&self, labels: &[u32]) -> Fingerprint {
        match self.mistake {
            Mistake::OriginalObservation => self.machine.observation_of(&self.identity()),
            _ => self.machine.observation_of(labels),
        }
    }

    fn process_of(&self, process: ProcessId, labels: &[u32]) -> ProcessId {
        match self.mistake {
            Mistake::OriginalProcesses => process,
            _ => self.machine.process_of(process, labels),
        }
    }
}

impl Promises for WrongSymmetry {
    fn guards(&self) -> &[Access] {
        self.machine.guards()
    }

    fn future(&self, process: ProcessId, into: &mut Claims) {
        self.machine.future(process, into);
    }

    fn blocker(&self, process: ProcessId) -> Blocker {
        self.machine.blocker(process)
    }

    fn interferes(&self, process: ProcessId, claims: &[Access], waits: bool) -> bool {
        self.machine.interferes(process, claims, waits)
    }

    fn may_put_off(&self, process: ProcessId) -> bool {
        self.machine.may_put_off(process)
    }
}

impl Execution for WrongSymmetry {
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

    fn interference_claims(&self, process: ProcessId, waits: bool, into: &mut Claims) {
        self.machine.interference_claims(process, waits, into);
    }

    fn wait(&self, process: ProcessId) -> Wait {
        self.machine.wait(process)
    }

    fn joins(&self, process: ProcessId, into: &mut Vec<ProcessId>) {
        self.machine.joins(process, into);
    }

    fn counts(&self, failure: &Mishap) -> bool {
        self.machine.counts(failure)
    }

    fn step(&mut self, process: ProcessId, outcomes: &[i64]) -> Result<&Event, StepError> {
        self.machine.step(process, outcomes)
    }

    fn events(&self) -> &[Event] {
        self.machine.events()
    }

    fn back_to(&mut self, depth: usize) {
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

impl Semantics for WrongSymmetry {
    type State = <Machine as Semantics>::State;

    fn state(&self) -> Self::State {
        self.machine.state()
    }

    fn fingerprint(&self) -> Fingerprint {
        self.machine.fingerprint()
    }

    fn cells(&self) -> usize {
        self.machine.cells()
    }

    fn cell(&self, cell: usize) -> Fingerprint {
        self.machine.cell(cell)
    }

    fn process(&self, process: ProcessId) -> Fingerprint {
        self.machine.process(process)
    }

    fn may_repeat(&self) -> bool {
        self.machine.may_repeat()
    }

    fn temporal(&self) -> &[Temporal] {
        self.machine.temporal()
    }

    fn symmetry(&self) -> Option<&dyn Symmetric> {
        (!self.groups.is_empty()).then_some(self as &dyn Symmetric)
    }

    fn restore(&mut self, state: &Self::State) {
        self.machine.restore(state);
    }
}
