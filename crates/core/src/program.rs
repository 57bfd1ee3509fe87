//! The interface of programs: required and optional methods.
//!
//! Every program is an [`Execution`]. Its [`Promises`] let engines explore less; each promise has a
//! default that is always safe. A program whose states can be stored is also [`Semantics`]. A
//! [`Labelled`] program reports the branches of its steps, and a state of a [`Symbolic`] program
//! represents many states.

use std::hash::Hash;

use crate::{
    Access, Claims, Event, Fairness, Fingerprint, Mishap, ProcessId, ProcessTable, Symmetric, Wait,
};

/// The state of a process in the current state of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Not started in this execution.
    Unborn,
    /// It can make a step.
    Ready,
    /// Its next step is not possible now: a closed guard, a held lock, a process not ended.
    Waiting,
    /// It has finished its work.
    Ended,
    /// A failure has halted it.
    Failed,
    /// A false `assume` has halted it.
    Discarded,
    /// The evaluator's range or the limit of local work has halted it.
    Lost,
}

/// What must happen before a waiting process can continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blocker {
    /// This process must make a step.
    Process(ProcessId),
    /// Some step must change a cell that the waiting step claims.
    Claims,
    /// It is unknown.
    Anything,
}

/// Why a step could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// The process is not [`Status::Ready`].
    #[error("this process cannot make a step now")]
    NotReady,
    /// A given outcome is outside the range of its `choose`.
    #[error("this outcome is not among those that the step can choose from")]
    NoSuchOutcome,
}

/// Properties that a program can promise, so that engines explore less. A missing promise costs
/// only time, so an empty `impl` is correct.
pub trait Promises {
    /// Returns the accesses of all steps that wait for a [`Wait::Guard`], in any execution; empty
    /// if there are none.
    fn guards(&self) -> &[Access] {
        &[Access::ANYTHING]
    }

    /// Computes the accesses of the process, and of all processes that it may still start, from
    /// here to the end of any execution. Replaces the content of `into`. The result may be an
    /// over-approximation, never an under-approximation.
    fn future(&self, _process: ProcessId, into: &mut Claims) {
        into.clear();
        into.push(Access::ANYTHING);
    }

    /// Returns what a waiting process waits for.
    fn blocker(&self, _process: ProcessId) -> Blocker {
        Blocker::Anything
    }

    /// Whether the process, or one that it may still start, may ever interfere with a step that has
    /// these [claims](Execution::interference_claims). A process interferes with a step that is
    /// possible now if one of its later steps must not be swapped with that step. It interferes
    /// with a step whose process waits (`waits`) if one of its later steps may make that step
    /// possible. The result may be an over-approximation, never an under-approximation. If a
    /// possible step releases a lock, steps that take or release the lock do not interfere with it:
    /// see [`Access::delays`].
    fn interferes(&self, process: ProcessId, claims: &[Access], waits: bool) -> bool {
        let mut future = Claims::new();
        self.future(process, &mut future);
        let mut pairs = claims
            .iter()
            .flat_map(|a| future.iter().map(move |b| (a, b)));
        pairs.any(|(claim, other)| {
            if waits {
                claim.conflicts(*other)
            } else {
                claim.delays(*other)
            }
        })
    }

    /// Whether the next step of a process may close a cycle of states, or may reach a false
    /// `assume`. In both cases an engine that makes only this step may postpone the steps of other
    /// processes forever.
    fn may_put_off(&self, _process: ProcessId) -> bool {
        true
    }
}

/// A program in the middle of one of its executions: the interface that every program implements.
///
/// An explorer queries the [`status`](Execution::status) of the processes, makes a
/// [`step`](Execution::step) of one of them, examines the event, and returns to an earlier depth
/// with [`back_to`](Execution::back_to). A program may implement going back by an undo log, by
/// copies or by running again. Equal schedules with equal outcomes always give equal events.
pub trait Execution: Promises {
    /// Returns the processes that any execution has discovered so far.
    fn processes(&self) -> &ProcessTable;

    /// Returns what a process can do now.
    fn status(&self, process: ProcessId) -> Status;

    /// Whether every process has ended. Called in every state, so an implementation should keep a
    /// counter.
    fn is_final(&self) -> bool {
        let mut all = self.processes().in_order().iter();
        all.all(|&process| matches!(self.status(process), Status::Unborn | Status::Ended))
    }

    /// Computes the claims of the next step of a ready or waiting process. Replaces the content of
    /// `into`.
    fn claims(&self, process: ProcessId, into: &mut Claims);

    /// Computes the claims of the next step of a process for [`Promises::interferes`]. `waits`:
    /// whether the process waits. Replaces the content of `into`.
    ///
    /// A program may omit accesses that no other process can interfere with: a send writes the
    /// number of waiting messages, as a receive does, but neither prevents the other. If a program
    /// omits accesses, its [`Promises::interferes`] must expect the shorter list.
    fn interference_claims(&self, process: ProcessId, _waits: bool, into: &mut Claims) {
        self.claims(process, into);
    }

    /// Returns the kind of wait of the next step of a ready or waiting process.
    fn wait(&self, process: ProcessId) -> Wait;

    /// Computes the processes whose end the next step of a ready or waiting process may wait for,
    /// if it waits for a [`Wait::Process`] or a [`Wait::Guard`]. Replaces the content of `into`.
    ///
    /// A step that waits for a [`Wait::Process`] needs at least one of them. For a [`Wait::Guard`]
    /// the list may have too many processes, never too few. The default is all children that have
    /// been started. A program must override it if a handle can be given to another process.
    fn joins(&self, process: ProcessId, into: &mut Vec<ProcessId>) {
        let table = self.processes();
        let children = table.in_order().iter().copied();
        let children = children.filter(|&child| table.parent(child) == Some(process));
        into.clear();
        into.extend(children.filter(|&child| self.status(child) != Status::Unborn));
    }

    /// Whether a step that waits for the end of a process can continue. If a failure has halted
    /// that process, the step waits forever, unless the program can pass on the failure.
    fn has_ended(&self, process: ProcessId) -> bool {
        self.status(process) == Status::Ended
    }

    /// Whether a step that waits for the end of a process may get its result. Then the step's
    /// behaviour depends on how the process has ended.
    fn ends_with_results(&self) -> bool {
        false
    }

    /// Whether the outcomes of a step are the sides of conditions over inputs, some of which
    /// exclude others. Then the possible outcomes depend on all earlier outcomes, and not only on
    /// the accesses of the step. A schedule may be refused ([`StepError::NoSuchOutcome`]) although
    /// each of its steps is possible after the steps that it depends on.
    fn has_conditions(&self) -> bool {
        false
    }

    /// Sets whether a long step may be broken off when the search ends
    /// ([`Patience`](crate::Patience)). Such a step has the mishap
    /// [`MishapKind::BrokenOff`](crate::MishapKind::BrokenOff), and its other effects are
    /// meaningless. So an engine allows it only for steps after which it can end. Initially no step
    /// may be broken off.
    fn break_off_long_steps(&mut self, _may: bool) {}

    /// Sets whether steps that only enable each other have separate claims: a send claims one end
    /// of its channel, a receive the other, and [`Event::enabled_by`] lists the steps that a step
    /// has waited for. If both steps are possible, they can be made in either order with the same
    /// effect, and neither disables the other. This is off by default, because the states after the
    /// two orders need not have the same parts ([`Semantics::cell`]). Initially all of these steps
    /// claim both ends.
    fn separate_ends(&mut self, _separate: bool) {}

    /// Makes the next step of a ready process. Each `choose` takes its value from `outcomes`, in
    /// order, and its least value if `outcomes` is exhausted.
    fn step(&mut self, process: ProcessId, outcomes: &[i64]) -> Result<&Event, StepError>;

    /// Returns the events since the start.
    fn events(&self) -> &[Event];

    /// Returns all events, including those before the start if an exploration starts in the middle
    /// of an execution.
    fn whole(&self) -> &[Event] {
        self.events()
    }

    /// Returns to the state after the first `depth` events.
    fn back_to(&mut self, depth: usize);

    /// Returns the mishaps before any step.
    fn initial_mishaps(&self) -> &[Mishap];

    /// Whether a failure counts. A failure that does not count still halts its process, but is not
    /// a finding.
    fn counts(&self, _failure: &Mishap) -> bool {
        true
    }

    /// Returns the mishaps of this state as a final state. Called only if every process has ended.
    fn final_mishaps(&self) -> Vec<Mishap>;

    /// Returns the fingerprint of the observed values, for determinism.
    fn observation(&self) -> Fingerprint;
}

/// A property of runs, over numbered conditions ([`Semantics::holds`]). docs/temporal.md defines
/// the states of a run and the runs that count.
///
/// ```
/// use mazurka_core::Temporal;
/// let stated = [Temporal::Always(0), Temporal::LeadsTo(0, 2)];
/// assert_eq!(Temporal::conditions(&stated), 3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Temporal {
    /// The condition holds in every state of every run.
    Always(usize),
    /// The condition holds in some state of every run.
    Eventually(usize),
    /// The condition holds infinitely often in every run.
    InfinitelyOften(usize),
    /// Whenever the first condition holds, the second holds then or later.
    LeadsTo(usize, usize),
}

impl Temporal {
    /// Returns the number of conditions that some properties use.
    pub fn conditions(all: &[Temporal]) -> usize {
        let all = all.iter().flat_map(|property| property.parts());
        all.map(|condition| condition + 1).max().unwrap_or(0)
    }

    /// Returns the conditions of the property.
    pub fn parts(self) -> impl Iterator<Item = usize> {
        let (first, second) = match self {
            Temporal::Always(e) | Temporal::Eventually(e) | Temporal::InfinitelyOften(e) => {
                (e, None)
            }
            Temporal::LeadsTo(e, f) => (e, Some(f)),
        };
        std::iter::once(first).chain(second)
    }
}

/// A program whose states can be stored, compared and restored.
///
/// Engines that merge states need it. Two states that agree in [`state`](Semantics::state) have the
/// same future; [`fingerprint`](Semantics::fingerprint) represents a state where storing the whole
/// state would cost too much.
pub trait Semantics: Execution {
    /// All data that can matter later: shared memory, program points, locals, locks.
    type State: Clone + Eq + Hash;

    /// Returns the current state.
    fn state(&self) -> Self::State;

    /// Replaces a state that is no longer needed by the current one. This may reuse its memory.
    fn copy_state(&self, into: &mut Self::State) {
        *into = self.state();
    }

    /// Returns the fingerprint of the current state. It does not depend on the order in which
    /// processes were discovered, and may omit data that can no longer matter: states with one
    /// fingerprint have the same future.
    fn fingerprint(&self) -> Fingerprint;

    /// Returns the number of cells for [`cell`](Semantics::cell).
    fn cells(&self) -> usize {
        0
    }

    /// Returns the part of the state that belongs to a cell of shared memory. Like the
    /// [`fingerprint`](Semantics::fingerprint), the sum over all cells and processes identifies the
    /// state. A step changes only the cells that it has touched, its own process and the processes
    /// that it starts. So a step changes the sum by the same amount after any steps that are
    /// independent of it.
    fn cell(&self, _cell: usize) -> Fingerprint {
        Fingerprint::ZERO
    }

    /// Returns the part of the state that belongs to a process. A program without parts returns the
    /// whole state: that is safe, but then hardly any states are found equal.
    fn process(&self, _process: ProcessId) -> Fingerprint {
        self.fingerprint()
    }

    /// Whether equal states always have equal sums of parts (see [`cell`](Semantics::cell)). If
    /// not, [`covers`](Semantics::covers) may be called for states whose sums differ.
    fn sums_say_all(&self) -> bool {
        true
    }

    /// Whether every future of another state of this program is also a future of the current one.
    /// `false` is always safe.
    fn covers(&self, _other: &Self::State) -> bool {
        false
    }

    /// Whether a run may return to an earlier state, or continue without end. If not, the state
    /// graph has no cycles.
    fn may_repeat(&self) -> bool {
        true
    }

    /// Whether a live process is not meant to end, such as a server. If it runs forever, that is
    /// not a livelock.
    fn is_endless(&self, _process: ProcessId) -> bool {
        false
    }

    /// Returns which infinite runs count.
    fn fairness(&self) -> Fairness {
        Fairness::Weak
    }

    /// Returns the temporal properties of the program.
    fn temporal(&self) -> &[Temporal] {
        &[]
    }

    /// Whether a condition of a [temporal](Semantics::temporal) property holds in the current
    /// state; `None` if a number in it leaves the evaluator's range. States with one
    /// [`fingerprint`](Semantics::fingerprint) agree in this, and so do all states after them.
    fn holds(&self, _condition: usize) -> Option<bool> {
        None
    }

    /// Returns the symmetry of the program, if it has interchangeable members.
    fn symmetry(&self) -> Option<&dyn Symmetric> {
        None
    }

    /// Makes this the current state, with no events before it.
    fn restore(&mut self, state: &Self::State);
}

/// A program that can report the branches of its steps, in addition to what they touched. These are
/// the labels of the guarded-command paper (Definition 4), with the distinction between guards and
/// choices that errata E6 requires. A false guard makes its process wait. A choice takes one of
/// several branches, and the path records which one.
pub trait Labelled: Execution {
    /// Returns the path of the event at a position: its branches, and the new program points of its
    /// process and of those it started. If a process has made steps with equal paths and outcomes
    /// in two executions, it is at the same place in its code in both.
    fn path(&self, at: usize) -> Fingerprint;

    /// Whether the event at a position took a branch or chose, so that it had an alternative. A
    /// guard is not a branch, because it is only open or closed.
    fn branches(&self, at: usize) -> bool;

    /// Returns the accesses that the label of the event at a position names: Definition 9's R and
    /// W.
    fn named(&self, at: usize) -> &[Access];

    /// Whether the claims of a process's next step depend only on the paths by which the process
    /// arrived there.
    fn claims_fixed(&self, process: ProcessId) -> bool;
}

/// A program whose states may represent many states, one for each valuation of their variables.
pub trait Symbolic: Semantics {
    /// Returns the fingerprint of the program points of all processes, without their data.
    fn pool(&self) -> Fingerprint;

    /// Returns, for each actual access of the last event, the index of the element in the program's
    /// own numbering; `None` for an access without an index. The list may be shorter than the
    /// accesses.
    fn indices(&self) -> &[Option<u32>];

    /// Whether two accesses of one array touch different elements, for every valuation that the
    /// path condition allows.
    fn apart(&self, one: (Access, Option<u32>), other: (Access, Option<u32>)) -> bool;
}
