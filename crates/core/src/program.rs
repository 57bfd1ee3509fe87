//! What a program must say, and what it may say besides.
//!
//! Every program is an [`Execution`]. Its [`Promises`] make engines better, and each has an answer
//! that is always safe. One whose states can be kept is [`Semantics`], and there are two kinds of
//! these: [`Labelled`] and [`Symbolic`].

use std::hash::Hash;

use crate::{
    Access, Claims, Event, Fairness, Fingerprint, Mishap, ProcessId, ProcessTable, Symmetric, Wait,
};

/// What a process can do in the current state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Not started (or: started only in other executions).
    Unborn,
    /// It can make a step.
    Ready,
    /// Its next step is not possible now: a closed guard, a held lock, a process not ended.
    Waiting,
    /// It has done all it had to do.
    Ended,
    /// A failure has halted it.
    Failed,
    /// A false `assume` has halted it.
    Discarded,
    /// The evaluator's range or the limit of local work has halted it.
    Lost,
}

/// What must happen before a process that waits can make its step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blocker {
    /// This process must make a step.
    Process(ProcessId),
    /// Something that the step claims must be changed.
    Claims,
    /// Nothing is known.
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

/// What a program can promise, so that engines explore less. What is not promised costs time, and
/// is never wrong: an empty `impl` is a right one.
pub trait Promises {
    /// What steps that wait for a [`Wait::Guard`] may touch, in any execution; empty if there are
    /// none.
    fn guards(&self) -> &[Access] {
        &[Access::ANYTHING]
    }

    /// What the process, and all that it may still start, may touch from here to the end of any
    /// execution. Replaces the content of `into`. It may be too much, never too little.
    fn future(&self, _process: ProcessId, into: &mut Claims) {
        into.clear();
        into.push(Access::ANYTHING);
    }

    /// What a waiting process waits for.
    fn blocker(&self, _process: ProcessId) -> Blocker {
        Blocker::Anything
    }

    /// Whether the process, or one that it may still start, may ever make a step that keeps a step
    /// with these claims from being made first, if that step is possible now; or that makes it
    /// possible, if its process `waits`. It may be said too often, never too seldom. What a step
    /// that is possible gives back no other process can take or give back before it: see
    /// [`Access::delays`].
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

    /// Whether the next step of a process may close a cycle of states, or may meet a false
    /// `assume`: then to make this step alone may put off the steps of others for ever.
    fn may_put_off(&self, _process: ProcessId) -> bool {
        true
    }
}

/// A program in the middle of one of its executions: what every program must say.
///
/// An explorer asks for the [`status`](Execution::status) of the processes, lets one of them
/// [`step`](Execution::step), looks at the event, and returns to an earlier depth with
/// [`back_to`](Execution::back_to). Whether going back undoes, restores or runs again is the
/// program's own business. Equal schedules (with equal outcomes) give equal events, always.
pub trait Execution: Promises {
    /// The processes met so far in any execution.
    fn processes(&self) -> &ProcessTable;

    /// What a process can do now.
    fn status(&self, process: ProcessId) -> Status;

    /// Whether every process has ended. Asked in every state, so worth a counter.
    fn is_final(&self) -> bool {
        let mut all = self.processes().in_order().iter();
        all.all(|&process| matches!(self.status(process), Status::Unborn | Status::Ended))
    }

    /// What the next step of a ready or waiting process claims to touch. Replaces the content of
    /// `into`.
    fn claims(&self, process: ProcessId, into: &mut Claims);

    /// What the next step of a ready or waiting process may have to wait for.
    fn wait(&self, process: ProcessId) -> Wait;

    /// The processes whose end the next step of a ready or waiting process may wait for, if it
    /// waits for a [`Wait::Process`] or a [`Wait::Guard`]. Replaces the content of `into`. A step
    /// that waits for a [`Wait::Process`] needs one of them at least; those of the others may be
    /// too many, never too few. The children that have been started, unless the program knows
    /// better: it must where a handle can be given to another process.
    fn joins(&self, process: ProcessId, into: &mut Vec<ProcessId>) {
        let table = self.processes();
        let children = table.in_order().iter().copied();
        let children = children.filter(|&child| table.parent(child) == Some(process));
        into.clear();
        into.extend(children.filter(|&child| self.status(child) != Status::Unborn));
    }

    /// Whether a step that waits for the end of a process can go on. A process that a failure has
    /// halted is waited for without end, unless the program lets others take the failure.
    fn has_ended(&self, process: ProcessId) -> bool {
        self.status(process) == Status::Ended
    }

    /// Whether a step that has waited for the end of a process may get a result from it, so that
    /// what the step does depends on how the process has ended.
    fn ends_with_results(&self) -> bool {
        false
    }

    /// Whether the outcomes of a step are the sides of conditions over inputs, of which some
    /// exclude others: then which of them there are depends on all outcomes before, and not only on
    /// what the step touches, and a schedule may be refused ([`StepError::NoSuchOutcome`]) though
    /// each of its steps can be made after the steps that it depends on.
    fn has_conditions(&self) -> bool {
        false
    }

    /// From now on a step that takes long may be broken off, or may no longer be, when the search
    /// does not wait for it ([`Patience`](crate::Patience)). Such a step has the mishap
    /// [`MishapKind::BrokenOff`](crate::MishapKind::BrokenOff) and means nothing. So an engine
    /// allows it only for steps after which it can end. At first no step may be broken off.
    fn break_off_long_steps(&mut self, _may: bool) {}

    /// From now on, or no longer, steps that only enable each other claim nothing in common: a send
    /// of a message claims one end of its channel, a receive the other, and
    /// [`Event::enabled_by`] says what a step has waited for. Two such steps that are both
    /// possible can be made in either order, with the same effect, and neither makes the other
    /// impossible. Only for engines that ask for it, because states of the two orders need not have
    /// the same parts ([`Semantics::cell`]). At first all of these claim both ends.
    fn separate_ends(&mut self, _separate: bool) {}

    /// Lets a ready process make its next step. A `choose` takes its value from `outcomes`, in
    /// order, and where these end its least value.
    fn step(&mut self, process: ProcessId, outcomes: &[i64]) -> Result<&Event, StepError>;

    /// The events since the start.
    fn events(&self) -> &[Event];

    /// All events, also those before the start if an exploration starts in the middle of an
    /// execution.
    fn whole(&self) -> &[Event] {
        self.events()
    }

    /// Returns to the state after the first `depth` events.
    fn back_to(&mut self, depth: usize);

    /// What is wrong before any step.
    fn initial_mishaps(&self) -> &[Mishap];

    /// Whether a failure counts. One that does not halts its process all the same, and is nothing
    /// that a search has to find.
    fn counts(&self, _failure: &Mishap) -> bool {
        true
    }

    /// What is wrong with this state as a final state. Asked only where every process has ended.
    fn final_mishaps(&self) -> Vec<Mishap>;

    /// What determinism is about, in this state.
    fn observation(&self) -> Fingerprint;
}

/// A property of runs, over conditions that are known by their numbers
/// ([`Semantics::holds`]). docs/temporal.md says which states a run has and which runs count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Temporal {
    /// It holds in every state of every run.
    Always(usize),
    /// It holds in some state of every run.
    Eventually(usize),
    /// It holds again and again in every run.
    InfinitelyOften(usize),
    /// Where the first holds, the second holds there or later.
    LeadsTo(usize, usize),
}

impl Temporal {
    /// Returns the number of conditions that some properties are about.
    pub fn conditions(all: &[Temporal]) -> usize {
        let all = all.iter().flat_map(|property| property.parts());
        all.map(|condition| condition + 1).max().unwrap_or(0)
    }

    /// Returns the conditions that it is about.
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

/// A program whose states can be kept, compared and restored.
pub trait Semantics: Execution {
    /// Everything that can matter later: shared memory, program points, locals, locks.
    type State: Clone + Eq + Hash;

    /// The current state.
    fn state(&self) -> Self::State;

    /// The current state as 128 bits, the same whatever order processes were met in. What cannot
    /// matter any more may be left out: states with one fingerprint have the same future.
    fn fingerprint(&self) -> Fingerprint;

    /// How many cells of shared memory [`cell`](Semantics::cell) knows.
    fn cells(&self) -> usize {
        0
    }

    /// A cell of shared memory, as a part of the state. The sum of all cells and processes stands
    /// for the state like its [`fingerprint`](Semantics::fingerprint), and a step changes only the
    /// cells that it has touched, its own process and those that it starts. So what a step adds to
    /// the sum is the same after any steps that are independent of it.
    fn cell(&self, _cell: usize) -> Fingerprint {
        Fingerprint::ZERO
    }

    /// A process, as a part of the state. A program that knows no parts gives the whole state: that
    /// is safe, and hardly two states will be found equal.
    fn process(&self, _process: ProcessId) -> Fingerprint {
        self.fingerprint()
    }

    /// Whether states are equal only if their sums are. If not, [`covers`](Semantics::covers) may
    /// be asked about states whose sums differ.
    fn sums_say_all(&self) -> bool {
        true
    }

    /// Whether all that can follow another state of this program can follow the current one. To say
    /// no is always safe.
    fn covers(&self, _other: &Self::State) -> bool {
        false
    }

    /// Whether a run may come back to an earlier state of it, or go on without end. If not, there
    /// are no cycles to look for.
    fn may_repeat(&self) -> bool {
        true
    }

    /// Whether a process that is alive is not meant to end, such as a server. If it runs for ever,
    /// that is no livelock.
    fn is_endless(&self, _process: ProcessId) -> bool {
        false
    }

    /// Which runs without an end count.
    fn fairness(&self) -> Fairness {
        Fairness::Weak
    }

    /// The temporal properties that the program states.
    fn temporal(&self) -> &[Temporal] {
        &[]
    }

    /// Whether a condition of a [temporal](Semantics::temporal) property holds in the current
    /// state; none where a number in it leaves the evaluator's range. States with one
    /// [`fingerprint`](Semantics::fingerprint) agree on it, and so do all states after them.
    fn holds(&self, _condition: usize) -> Option<bool> {
        None
    }

    /// The program as one with interchangeable members, if it knows of any.
    fn symmetry(&self) -> Option<&dyn Symmetric> {
        None
    }

    /// Makes this the state, with no events before it.
    fn restore(&mut self, state: &Self::State);
}

/// A program that can say which way its steps went: what labels say beyond what a step touched
/// (guarded-command paper, Definition 4, with the difference between guards and choices that errata
/// E6 asks for).
///
/// A guard that does not hold makes its process wait; a choice goes one way or the other, and that
/// is in the path.
pub trait Labelled: Execution {
    /// The way that the event at a position went: its branches, and where its process and those it
    /// started rest now. If two processes of one name have made steps of equal paths and outcomes,
    /// they are at the same place in their code.
    fn path(&self, at: usize) -> Fingerprint;

    /// Whether the event at a position took a branch or chose: it could have gone another way. A
    /// guard is none, it only opens or stays closed.
    fn branches(&self, at: usize) -> bool;

    /// What the label of the event at a position names: Definition 9's R and W.
    fn named(&self, at: usize) -> &[Access];

    /// Whether the next step of a process claims the same wherever its process gets there by the
    /// same paths.
    fn claims_fixed(&self, process: ProcessId) -> bool;
}

/// A program whose states may stand for many, one for each valuation of their variables.
pub trait Symbolic: Semantics {
    /// Where each process is, and nothing of what it knows.
    fn pool(&self) -> Fingerprint;

    /// For the accesses that the last event has really made the index of the element, in the
    /// program's own numbering; none where the access is what it says. May be shorter than the
    /// accesses.
    fn indices(&self) -> &[Option<u32>];

    /// Whether two accesses of one array touch different elements, for every valuation that the
    /// path condition allows.
    fn apart(&self, one: (Access, Option<u32>), other: (Access, Option<u32>)) -> bool;
}
