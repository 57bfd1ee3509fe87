//! One machine for all languages, for use in a browser. There, small code matters more than speed,
//! so code that is generic over front ends and machines is compiled only once.
//!
//! [`Either`] passes on every call, including those with a default implementation: a forgotten one
//! would change records, which the test of the corpus detects (page/test/corpus.test.mjs).

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

/// A machine of a `.maz` program or of an ABS program; or a state of one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Either<M, A> {
    Maz(M),
    Abs(A),
}

/// Evaluates an expression with the machine, whatever its language.
macro_rules! each {
    ($either:expr, $one:ident => $do:expr) => {
        match $either {
            Either::Maz($one) => $do,
            Either::Abs($one) => $do,
        }
    };
}

impl<M: Promises, A: Promises> Promises for Either<M, A> {
    fn guards(&self) -> &[Access] {
        each!(self, one => one.guards())
    }

    fn future(&self, process: ProcessId, into: &mut Claims) {
        each!(self, one => one.future(process, into));
    }

    fn blocker(&self, process: ProcessId) -> Blocker {
        each!(self, one => one.blocker(process))
    }

    fn interferes(&self, process: ProcessId, claims: &[Access], waits: bool) -> bool {
        each!(self, one => one.interferes(process, claims, waits))
    }

    fn may_put_off(&self, process: ProcessId) -> bool {
        each!(self, one => one.may_put_off(process))
    }
}

impl<M: Execution, A: Execution> Execution for Either<M, A> {
    fn processes(&self) -> &ProcessTable {
        each!(self, one => one.processes())
    }

    fn status(&self, process: ProcessId) -> Status {
        each!(self, one => one.status(process))
    }

    fn is_final(&self) -> bool {
        each!(self, one => one.is_final())
    }

    fn claims(&self, process: ProcessId, into: &mut Claims) {
        each!(self, one => one.claims(process, into));
    }

    fn wait(&self, process: ProcessId) -> Wait {
        each!(self, one => one.wait(process))
    }

    fn joins(&self, process: ProcessId, into: &mut Vec<ProcessId>) {
        each!(self, one => one.joins(process, into));
    }

    fn has_ended(&self, process: ProcessId) -> bool {
        each!(self, one => one.has_ended(process))
    }

    fn ends_with_results(&self) -> bool {
        each!(self, one => one.ends_with_results())
    }

    fn has_conditions(&self) -> bool {
        each!(self, one => one.has_conditions())
    }

    fn break_off_long_steps(&mut self, may: bool) {
        each!(self, one => one.break_off_long_steps(may));
    }

    fn separate_ends(&mut self, separate: bool) {
        each!(self, one => one.separate_ends(separate));
    }

    fn step(&mut self, process: ProcessId, outcomes: &[i64]) -> Result<&Event, StepError> {
        each!(self, one => one.step(process, outcomes))
    }

    fn events(&self) -> &[Event] {
        each!(self, one => one.events())
    }

    fn whole(&self) -> &[Event] {
        each!(self, one => one.whole())
    }

    fn back_to(&mut self, depth: usize) {
        each!(self, one => one.back_to(depth));
    }

    fn initial_mishaps(&self) -> &[Mishap] {
        each!(self, one => one.initial_mishaps())
    }

    fn counts(&self, failure: &Mishap) -> bool {
        each!(self, one => one.counts(failure))
    }

    fn final_mishaps(&self) -> Vec<Mishap> {
        each!(self, one => one.final_mishaps())
    }

    fn observation(&self) -> Fingerprint {
        each!(self, one => one.observation())
    }
}

impl<M: Semantics, A: Semantics> Semantics for Either<M, A> {
    type State = Either<M::State, A::State>;

    fn state(&self) -> Self::State {
        match self {
            Either::Maz(one) => Either::Maz(one.state()),
            Either::Abs(one) => Either::Abs(one.state()),
        }
    }

    fn fingerprint(&self) -> Fingerprint {
        each!(self, one => one.fingerprint())
    }

    fn cells(&self) -> usize {
        each!(self, one => one.cells())
    }

    fn cell(&self, cell: usize) -> Fingerprint {
        each!(self, one => one.cell(cell))
    }

    fn process(&self, process: ProcessId) -> Fingerprint {
        each!(self, one => one.process(process))
    }

    fn sums_say_all(&self) -> bool {
        each!(self, one => one.sums_say_all())
    }

    fn covers(&self, other: &Self::State) -> bool {
        match (self, other) {
            (Either::Maz(one), Either::Maz(other)) => one.covers(other),
            (Either::Abs(one), Either::Abs(other)) => one.covers(other),
            _ => false,
        }
    }

    fn may_repeat(&self) -> bool {
        each!(self, one => one.may_repeat())
    }

    fn is_endless(&self, process: ProcessId) -> bool {
        each!(self, one => one.is_endless(process))
    }

    fn fairness(&self) -> Fairness {
        each!(self, one => one.fairness())
    }

    fn temporal(&self) -> &[Temporal] {
        each!(self, one => one.temporal())
    }

    fn holds(&self, condition: usize) -> Option<bool> {
        each!(self, one => one.holds(condition))
    }

    fn symmetry(&self) -> Option<&dyn Symmetric> {
        each!(self, one => one.symmetry())
    }

    fn restore(&mut self, state: &Self::State) {
        match (self, state) {
            (Either::Maz(one), Either::Maz(state)) => one.restore(state),
            (Either::Abs(one), Either::Abs(state)) => one.restore(state),
            _ => unreachable!("a state of another language"),
        }
    }
}

impl<M: Narrator, A: Narrator> Narrator for Either<M, A> {
    fn tell(&mut self, process: ProcessId, outcomes: &[i64]) -> Result<Step, StepError> {
        each!(self, one => one.tell(process, outcomes))
    }

    fn explain(&self, mishap: &Mishap) -> (String, Option<Place>) {
        each!(self, one => one.explain(mishap))
    }

    fn waiting(&self) -> Vec<Waiting> {
        each!(self, one => one.waiting())
    }

    fn bindings(&self, observed_only: bool) -> Vec<Binding> {
        each!(self, one => one.bindings(observed_only))
    }

    fn cell_name(&self, cell: u32) -> String {
        each!(self, one => one.cell_name(cell))
    }

    fn temporal_text(&self, property: usize) -> TemporalText {
        each!(self, one => one.temporal_text(property))
    }

    fn name_of(&self, process: &ProcessPath) -> String {
        each!(self, one => one.name_of(process))
    }

    fn values(&self, mishap: &Mishap) -> Vec<Binding> {
        each!(self, one => one.values(mishap))
    }

    fn history(&self, mishap: &Mishap) -> Vec<HistoryOperation> {
        each!(self, one => one.history(mishap))
    }

    fn locals_of(&self, process: ProcessId) -> Vec<Binding> {
        each!(self, one => one.locals_of(process))
    }

    fn line_of(&self, process: ProcessId) -> Option<usize> {
        each!(self, one => one.line_of(process))
    }

    fn site_of(&self, process: ProcessId) -> u32 {
        each!(self, one => one.site_of(process))
    }

    fn site(&self, site: u32) -> Place {
        each!(self, one => one.site(site))
    }

    fn held(&self) -> Vec<HeldLock> {
        each!(self, one => one.held())
    }

    fn temporal_values(&self, property: usize) -> Vec<Binding> {
        each!(self, one => one.temporal_values(property))
    }

    fn inputs(&self) -> Vec<Binding> {
        each!(self, one => one.inputs())
    }
}

impl<M: Labelled, A: Labelled> Labelled for Either<M, A> {
    fn path(&self, at: usize) -> Fingerprint {
        each!(self, one => one.path(at))
    }

    fn branches(&self, at: usize) -> bool {
        each!(self, one => one.branches(at))
    }

    fn named(&self, at: usize) -> &[Access] {
        each!(self, one => one.named(at))
    }

    fn claims_fixed(&self, process: ProcessId) -> bool {
        each!(self, one => one.claims_fixed(process))
    }
}

impl<M: Labels, A: Labels> Labels for Either<M, A> {
    fn with_names(self) -> Self {
        match self {
            Either::Maz(one) => Either::Maz(one.with_names()),
            Either::Abs(one) => Either::Abs(one.with_names()),
        }
    }

    fn set_patience(&mut self, patience: Patience) {
        each!(self, one => one.set_patience(patience));
    }
}

/// Passes a call on to the front end of the program. There is no native one.
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
            Either::Maz(one) => <Arc<Code> as Front>::has_net(one),
            Either::Abs(one) => <Arc<mazurka_abs::Code> as Front>::has_net(one),
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
