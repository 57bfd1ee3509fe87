//! One machine for all languages, for use in a browser. There the size of the code matters more
//! than speed. All code that is generic over front ends and machines is compiled only once, for the
//! machine of this file.
//!
//! [`Either`] forwards every call to the machine that it holds. It must also forward methods with a
//! default implementation: if one is forgotten, some records change, and the test of the corpus
//! fails (page/test/corpus.test.mjs).

use std::sync::Arc;

use mazurka_abs::NoNet;
use mazurka_core::record::{Binding, HistoryOperation, Place, Step, Waiting};
use mazurka_core::{
    Access, Blocker, Claims, Event, Execution, Fairness, Fingerprint, HeldLock, Labelled, Mishap,
    Narrator, Patience, ProcessId, ProcessPath, ProcessTable, Promises, Semantics, Status,
    StepError, Symmetric, Temporal, TemporalText, Wait,
};
use mazurka_lang::{Code, LabelledMachine, Machine};

use super::{Front, Labels, Language};
use crate::Options;
use crate::native::refuse;
use crate::unknowns::ForAll;

/// A machine of a `.maz` program or of an ABS program, or a state of such a machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Either<M, A> {
    Maz(M),
    Abs(A),
}

/// Evaluates an expression with the machine, whatever its language.
macro_rules! each {
    ($either:expr, $machine:ident => $do:expr) => {
        match $either {
            Either::Maz($machine) => $do,
            Either::Abs($machine) => $do,
        }
    };
}

impl<M: Promises, A: Promises> Promises for Either<M, A> {
    fn guards(&self) -> &[Access] {
        each!(self, machine => machine.guards())
    }

    fn future(&self, process: ProcessId, into: &mut Claims) {
        each!(self, machine => machine.future(process, into));
    }

    fn blocker(&self, process: ProcessId) -> Blocker {
        each!(self, machine => machine.blocker(process))
    }

    fn interferes(&self, process: ProcessId, claims: &[Access], waits: bool) -> bool {
        each!(self, machine => machine.interferes(process, claims, waits))
    }

    fn may_put_off(&self, process: ProcessId) -> bool {
        each!(self, machine => machine.may_put_off(process))
    }
}

impl<M: Execution, A: Execution> Execution for Either<M, A> {
    fn processes(&self) -> &ProcessTable {
        each!(self, machine => machine.processes())
    }

    fn status(&self, process: ProcessId) -> Status {
        each!(self, machine => machine.status(process))
    }

    fn is_final(&self) -> bool {
        each!(self, machine => machine.is_final())
    }

    fn claims(&self, process: ProcessId, into: &mut Claims) {
        each!(self, machine => machine.claims(process, into));
    }

    fn interference_claims(&self, process: ProcessId, waits: bool, into: &mut Claims) {
        each!(self, machine => machine.interference_claims(process, waits, into));
    }

    fn wait(&self, process: ProcessId) -> Wait {
        each!(self, machine => machine.wait(process))
    }

    fn joins(&self, process: ProcessId, into: &mut Vec<ProcessId>) {
        each!(self, machine => machine.joins(process, into));
    }

    fn has_ended(&self, process: ProcessId) -> bool {
        each!(self, machine => machine.has_ended(process))
    }

    fn ends_with_results(&self) -> bool {
        each!(self, machine => machine.ends_with_results())
    }

    fn has_conditions(&self) -> bool {
        each!(self, machine => machine.has_conditions())
    }

    fn break_off_long_steps(&mut self, may: bool) {
        each!(self, machine => machine.break_off_long_steps(may));
    }

    fn separate_ends(&mut self, separate: bool) {
        each!(self, machine => machine.separate_ends(separate));
    }

    fn step(&mut self, process: ProcessId, outcomes: &[i64]) -> Result<&Event, StepError> {
        each!(self, machine => machine.step(process, outcomes))
    }

    fn events(&self) -> &[Event] {
        each!(self, machine => machine.events())
    }

    fn whole(&self) -> &[Event] {
        each!(self, machine => machine.whole())
    }

    fn back_to(&mut self, depth: usize) {
        each!(self, machine => machine.back_to(depth));
    }

    fn initial_mishaps(&self) -> &[Mishap] {
        each!(self, machine => machine.initial_mishaps())
    }

    fn counts(&self, failure: &Mishap) -> bool {
        each!(self, machine => machine.counts(failure))
    }

    fn final_mishaps(&self) -> Vec<Mishap> {
        each!(self, machine => machine.final_mishaps())
    }

    fn observation(&self) -> Fingerprint {
        each!(self, machine => machine.observation())
    }
}

impl<M: Semantics, A: Semantics> Semantics for Either<M, A> {
    type State = Either<M::State, A::State>;

    fn state(&self) -> Self::State {
        match self {
            Either::Maz(machine) => Either::Maz(machine.state()),
            Either::Abs(machine) => Either::Abs(machine.state()),
        }
    }

    fn fingerprint(&self) -> Fingerprint {
        each!(self, machine => machine.fingerprint())
    }

    fn cells(&self) -> usize {
        each!(self, machine => machine.cells())
    }

    fn cell(&self, cell: usize) -> Fingerprint {
        each!(self, machine => machine.cell(cell))
    }

    fn process(&self, process: ProcessId) -> Fingerprint {
        each!(self, machine => machine.process(process))
    }

    fn sums_say_all(&self) -> bool {
        each!(self, machine => machine.sums_say_all())
    }

    fn covers(&self, other: &Self::State) -> bool {
        match (self, other) {
            (Either::Maz(machine), Either::Maz(other)) => machine.covers(other),
            (Either::Abs(machine), Either::Abs(other)) => machine.covers(other),
            _ => false,
        }
    }

    fn may_repeat(&self) -> bool {
        each!(self, machine => machine.may_repeat())
    }

    fn is_endless(&self, process: ProcessId) -> bool {
        each!(self, machine => machine.is_endless(process))
    }

    fn fairness(&self) -> Fairness {
        each!(self, machine => machine.fairness())
    }

    fn temporal(&self) -> &[Temporal] {
        each!(self, machine => machine.temporal())
    }

    fn holds(&self, condition: usize) -> Option<bool> {
        each!(self, machine => machine.holds(condition))
    }

    fn symmetry(&self) -> Option<&dyn Symmetric> {
        each!(self, machine => machine.symmetry())
    }

    fn restore(&mut self, state: &Self::State) {
        match (self, state) {
            (Either::Maz(machine), Either::Maz(state)) => machine.restore(state),
            (Either::Abs(machine), Either::Abs(state)) => machine.restore(state),
            _ => unreachable!("a state of another language"),
        }
    }
}

impl<M: Narrator, A: Narrator> Narrator for Either<M, A> {
    fn tell(&mut self, process: ProcessId, outcomes: &[i64]) -> Result<Step, StepError> {
        each!(self, machine => machine.tell(process, outcomes))
    }

    fn explain(&self, mishap: &Mishap) -> (String, Option<Place>) {
        each!(self, machine => machine.explain(mishap))
    }

    fn waiting(&self) -> Vec<Waiting> {
        each!(self, machine => machine.waiting())
    }

    fn bindings(&self, observed_only: bool) -> Vec<Binding> {
        each!(self, machine => machine.bindings(observed_only))
    }

    fn cell_name(&self, cell: u32) -> String {
        each!(self, machine => machine.cell_name(cell))
    }

    fn temporal_text(&self, property: usize) -> TemporalText {
        each!(self, machine => machine.temporal_text(property))
    }

    fn name_of(&self, process: &ProcessPath) -> String {
        each!(self, machine => machine.name_of(process))
    }

    fn values(&self, mishap: &Mishap) -> Vec<Binding> {
        each!(self, machine => machine.values(mishap))
    }

    fn history(&self, mishap: &Mishap) -> Vec<HistoryOperation> {
        each!(self, machine => machine.history(mishap))
    }

    fn locals_of(&self, process: ProcessId) -> Vec<Binding> {
        each!(self, machine => machine.locals_of(process))
    }

    fn line_of(&self, process: ProcessId) -> Option<usize> {
        each!(self, machine => machine.line_of(process))
    }

    fn site_of(&self, process: ProcessId) -> u32 {
        each!(self, machine => machine.site_of(process))
    }

    fn site(&self, site: u32) -> Place {
        each!(self, machine => machine.site(site))
    }

    fn held(&self) -> Vec<HeldLock> {
        each!(self, machine => machine.held())
    }

    fn temporal_values(&self, property: usize) -> Vec<Binding> {
        each!(self, machine => machine.temporal_values(property))
    }

    fn inputs(&self) -> Vec<Binding> {
        each!(self, machine => machine.inputs())
    }
}

impl<M: Labelled, A: Labelled> Labelled for Either<M, A> {
    fn path(&self, at: usize) -> Fingerprint {
        each!(self, machine => machine.path(at))
    }

    fn branches(&self, at: usize) -> bool {
        each!(self, machine => machine.branches(at))
    }

    fn named(&self, at: usize) -> &[Access] {
        each!(self, machine => machine.named(at))
    }

    fn claims_fixed(&self, process: ProcessId) -> bool {
        each!(self, machine => machine.claims_fixed(process))
    }
}

impl<M: Labels, A: Labels> Labels for Either<M, A> {
    fn with_names(self) -> Self {
        match self {
            Either::Maz(machine) => Either::Maz(machine.with_names()),
            Either::Abs(machine) => Either::Abs(machine.with_names()),
        }
    }

    fn set_patience(&mut self, patience: Patience) {
        each!(self, machine => machine.set_patience(patience));
    }
}

/// Forwards a call to the front end of the program. There is no native front end.
macro_rules! of_language {
    ($language:expr, $front:ident => $maz:expr, $abs:expr) => {
        match $language {
            Language::Maz($front) => $maz,
            Language::ForAll($front) => $maz,
            Language::Abs($front) => $abs,
            Language::C(_) => refuse(),
        }
    };
}

impl Front for Language {
    type Machine = Either<Machine, mazurka_abs::Machine>;

    fn machine(&self, options: &Options) -> Self::Machine {
        of_language!(self, front => Either::Maz(front.machine(options)),
            Either::Abs(front.machine(options)))
    }

    fn machine_for_a_search(&self, options: &Options) -> Self::Machine {
        of_language!(self, front => Either::Maz(front.machine_for_a_search(options)),
            Either::Abs(front.machine_for_a_search(options)))
    }

    fn machine_for_nets(&self, options: &Options) -> Result<Self::Machine, NoNet> {
        of_language!(self, front => front.machine_for_nets(options).map(Either::Maz),
            front.machine_for_nets(options).map(Either::Abs))
    }

    fn has_net(machine: &Self::Machine) -> Result<(), NoNet> {
        match machine {
            Either::Maz(machine) => <Arc<Code> as Front>::has_net(machine),
            Either::Abs(machine) => <Arc<mazurka_abs::Code> as Front>::has_net(machine),
        }
    }

    type Labelled = Either<LabelledMachine, mazurka_abs::Machine>;

    fn labelled(&self, options: &Options) -> Option<Self::Labelled> {
        of_language!(self, front => front.labelled(options).map(Either::Maz),
            front.labelled(options).map(Either::Abs))
    }

    fn machine_for_a_run(&self, options: &Options) -> Self::Machine {
        of_language!(self, front => Either::Maz(front.machine_for_a_run(options)),
            Either::Abs(front.machine_for_a_run(options)))
    }

    fn maz(&self) -> Option<&Arc<Code>> {
        Language::maz(self)
    }

    fn for_all(&self) -> Option<&ForAll> {
        Language::for_all(self)
    }

    fn asks_for_determinism(&self) -> bool {
        Language::asks_for_determinism(self)
    }

    fn states_ensures(&self) -> bool {
        Language::states_ensures(self)
    }

    fn states_other_property(&self) -> bool {
        Language::states_other_property(self)
    }

    fn states_temporal(&self) -> bool {
        Language::states_temporal(self)
    }

    fn leaves_out_times(&self) -> bool {
        Language::leaves_out_times(self)
    }
}
