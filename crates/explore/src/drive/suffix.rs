//! The rest of a program after a prefix of an execution, as a program itself.
//!
//! For an explorer, the end of the prefix is the initial state: the explorer never goes back before
//! it. Events of the prefix take part in no race, because the explorer does not see them. Only code
//! that reports runs uses [`Execution::whole`].
//!
//! A whole program is the rest after zero steps. Engines that several workers can share explore
//! only values of this type, so the binary has one copy of each engine for each kind of program.

use mazurka_core::{
    Access, Blocker, Claims, Event, Execution, Fairness, Fingerprint, Mishap, ProcessId,
    ProcessTable, Promises, Schedule, Semantics, Status, StepError, Symmetric, Temporal, Wait,
};

use crate::drive::driver::{Observer, RacingStep, ReversedRace};

/// Forwards the events of the rest of a program to an observer of the program.
pub(crate) struct OfRest<'o, E>(pub &'o mut dyn Observer<E>);

impl<E: Execution> Observer<Suffix<'_, E>> for OfRest<'_, E> {
    fn looks(&self) -> bool {
        self.0.looks()
    }

    fn start(&mut self, rest: &Suffix<'_, E>) {
        self.0.start(rest.program);
    }

    fn pushed(&mut self, rest: &Suffix<'_, E>) {
        self.0.pushed(rest.program);
    }

    fn popping(&mut self, rest: &Suffix<'_, E>) {
        self.0.popping(rest.program);
    }

    fn complete(&mut self, rest: &Suffix<'_, E>) {
        self.0.complete(rest.program);
    }

    fn cut(&mut self, rest: &Suffix<'_, E>) {
        self.0.cut(rest.program);
    }

    fn end(&mut self, rest: &Suffix<'_, E>) {
        self.0.end(rest.program);
    }

    fn counts_reversals(&self) -> bool {
        self.0.counts_reversals()
    }

    fn reversed(&mut self, rest: &Suffix<'_, E>, race: ReversedRace) {
        let race = ReversedRace {
            first: rest.before + race.first,
            second: match race.second {
                RacingStep::Event(at) => RacingStep::Event(rest.before + at),
                next @ RacingStep::Next(_) => next,
            },
        };
        self.0.reversed(rest.program, race);
    }
}

/// The rest of a program after some steps.
#[derive(Debug)]
pub(crate) struct Suffix<'a, E> {
    program: &'a mut E,
    /// Number of events before the rest.
    before: usize,
}

impl<'a, E: Execution> Suffix<'a, E> {
    /// Wraps a whole program.
    pub fn new(program: &'a mut E) -> Self {
        Self { program, before: 0 }
    }

    /// Starts the rest after a schedule. Returns the error of the first step that is not
    /// possible. The engine decides whether ends are [separate](Execution::separate_ends).
    pub fn start_after(&mut self, prefix: &Schedule, separate: bool) -> Result<(), StepError> {
        self.program.back_to(0);
        self.program.separate_ends(separate);
        for step in &prefix.0 {
            let process = self.program.processes().find(&step.process);
            let process = process.ok_or(StepError::NotReady)?;
            self.program.step(process, &step.outcomes)?;
        }
        self.before = prefix.0.len();
        Ok(())
    }
}

impl<E: Execution> Promises for Suffix<'_, E> {
    #[inline(always)]
    fn guards(&self) -> &[Access] {
        self.program.guards()
    }

    fn future(&self, process: ProcessId, into: &mut Claims) {
        self.program.future(process, into);
    }

    fn blocker(&self, process: ProcessId) -> Blocker {
        self.program.blocker(process)
    }

    #[inline(always)]
    fn interferes(&self, process: ProcessId, claims: &[Access], waits: bool) -> bool {
        self.program.interferes(process, claims, waits)
    }

    #[inline(always)]
    fn may_put_off(&self, process: ProcessId) -> bool {
        self.program.may_put_off(process)
    }
}

impl<E: Semantics> Semantics for Suffix<'_, E> {
    type State = E::State;

    fn state(&self) -> E::State {
        self.program.state()
    }

    fn fingerprint(&self) -> Fingerprint {
        self.program.fingerprint()
    }

    fn cells(&self) -> usize {
        self.program.cells()
    }

    #[inline(always)]
    fn cell(&self, cell: usize) -> Fingerprint {
        self.program.cell(cell)
    }

    #[inline(always)]
    fn process(&self, process: ProcessId) -> Fingerprint {
        self.program.process(process)
    }

    fn sums_say_all(&self) -> bool {
        self.program.sums_say_all()
    }

    fn covers(&self, other: &E::State) -> bool {
        self.program.covers(other)
    }

    fn may_repeat(&self) -> bool {
        self.program.may_repeat()
    }

    fn is_endless(&self, process: ProcessId) -> bool {
        self.program.is_endless(process)
    }

    fn fairness(&self) -> Fairness {
        self.program.fairness()
    }

    fn temporal(&self) -> &[Temporal] {
        self.program.temporal()
    }

    fn holds(&self, condition: usize) -> Option<bool> {
        self.program.holds(condition)
    }

    fn symmetry(&self) -> Option<&dyn Symmetric> {
        self.program.symmetry()
    }

    fn restore(&mut self, state: &E::State) {
        self.program.restore(state);
        self.before = 0;
    }
}

impl<E: Execution> Execution for Suffix<'_, E> {
    #[inline(always)]
    fn processes(&self) -> &ProcessTable {
        self.program.processes()
    }

    #[inline(always)]
    fn status(&self, process: ProcessId) -> Status {
        self.program.status(process)
    }

    #[inline(always)]
    fn is_final(&self) -> bool {
        self.program.is_final()
    }

    #[inline(always)]
    fn claims(&self, process: ProcessId, into: &mut Claims) {
        self.program.claims(process, into);
    }

    #[inline(always)]
    fn interference_claims(&self, process: ProcessId, waits: bool, into: &mut Claims) {
        self.program.interference_claims(process, waits, into);
    }

    #[inline(always)]
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

    fn separate_ends(&mut self, separate: bool) {
        self.program.separate_ends(separate);
    }

    #[inline(always)]
    fn step(&mut self, process: ProcessId, outcomes: &[i64]) -> Result<&Event, StepError> {
        self.program.step(process, outcomes)
    }

    #[inline(always)]
    fn events(&self) -> &[Event] {
        &self.program.events()[self.before..]
    }

    #[inline(always)]
    fn whole(&self) -> &[Event] {
        self.program.events()
    }

    #[inline(always)]
    fn back_to(&mut self, depth: usize) {
        self.program.back_to(self.before + depth);
    }

    fn initial_mishaps(&self) -> &[Mishap] {
        self.program.initial_mishaps()
    }

    fn counts(&self, failure: &Mishap) -> bool {
        self.program.counts(failure)
    }

    fn final_mishaps(&self) -> Vec<Mishap> {
        self.program.final_mishaps()
    }

    fn observation(&self) -> Fingerprint {
        self.program.observation()
    }
}
