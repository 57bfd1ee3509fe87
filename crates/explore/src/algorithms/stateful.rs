//! Visited states: no state is explored twice.
//!
//! Depth-first search with a table of the states met so far, each as a fingerprint (Holzmann, *The
//! Model Checker SPIN*, IEEE TSE 1997, on state storage and hash compaction). From each state a
//! [stubborn set](crate::algorithms::stubborn) of processes is run or, without `reduced`, every
//! process.
//!
//! | paper | here |
//! |---|---|
//! | statespace | [`Visits`], over the table or the bits of [`crate::drive::states`] |
//! | the stack | [`MarkedNode`]s, each with a part of [`Stateful::todo`] |
//!
//! Which processes are run from a state depends on the state alone. So several workers may share
//! the table ([`crate::drive::share`]): each state is expanded by the worker that has inserted it.
//! States, steps, final states, deadlocks and failing steps are then the same for any number of
//! workers and any order.
//!
//! Deviations: a transition is a process with all outcomes of its next step, because these are run
//! together. Nothing is run from a state where a false `assume` has halted a process: every finding
//! that counts in a run after that state also occurs in a run without the step of the `assume`.
//! Livelocks and violations of [temporal](crate::algorithms::temporal) properties are searched only
//! if a run may return to a state. Then all processes are run and the graph of states is recorded
//! ([`Map`](crate::algorithms::map::Map)), because whether a cycle is a
//! [livelock](crate::algorithms::livelock) depends on every step. `failures` counts the failing
//! transitions that were executed.
//!
//! States that differ only by a permutation of interchangeable processes count as one ([`Orbits`]),
//! unless all states are needed, that is, if the graph of states is recorded, the depth is limited,
//! or there is an observer.
//!
//! A fingerprint is the sum of the parts of a state. A step changes only a few of them ([`Meter`]).
//! So for most steps only two parts are computed again, that of one cell and that of one process.

use mazurka_core::{Event, Fingerprint, ProcessId, Semantics, Status};
use smallvec::SmallVec;

use crate::Policy;
use crate::algorithms::engine::Merging;
use crate::algorithms::meter::Meter;
use crate::algorithms::naive::next_outcomes;
use crate::algorithms::stubborn::Stubborn;
use crate::algorithms::symmetry::{OrbitObservation, Orbits};
use crate::drive::share::{Branch, BranchQueue};
use crate::drive::states::Visitor;

/// The policy that merges equal states.
pub(crate) struct Stateful<'a, M: Memory> {
    memory: M,
    nodes: Vec<MarkedNode<M::Mark>>,
    /// The processes to run from the states of the path, one state after the other.
    todo: Vec<ProcessId>,
    /// Whether the last state was known when it was met.
    known: bool,
    /// The number of states met.
    states: u64,
    /// The branch to start with; `None` for all branches of the initial state.
    branch: Option<Branch>,
    /// The queue through which branches are passed to other workers.
    branch_queue: Option<&'a BranchQueue>,
    /// Number of steps to make before the next branch may be passed on.
    wait: u32,
}

/// Minimum number of steps between two branches that are passed on: passing one on costs as much as
/// a few hundred steps.
const BETWEEN_GIFTS: u32 = 1000;

/// A state of the path.
#[derive(Debug)]
struct MarkedNode<K> {
    /// Index of its first process in `todo`.
    first: usize,
    /// Index of its next process in `todo`.
    next: usize,
    /// Index after its last process in `todo`.
    end: usize,
    mark: K,
    /// The outcomes that remain to be tried for the process run last.
    again: Option<SmallVec<[i64; 1]>>,
    /// Whether the remaining outcomes of the process run last have been passed on to another
    /// worker.
    given: bool,
}

/// The memory of the states met so far.
pub(crate) trait Memory {
    /// The data kept with a state while it is on the path.
    type Mark: Copy + Default;

    /// Handles the state that the run has reached. `from` holds the mark of the previous state and
    /// the event that led from it, unless this is the initial state.
    fn meet<E: Semantics>(
        &mut self,
        program: &E,
        from: Option<(Self::Mark, &Event)>,
    ) -> MetState<Self::Mark>;

    /// Adds the processes to be run from a new state.
    fn expand<E: Semantics>(&mut self, program: &E, into: &mut Vec<ProcessId>) {
        all_ready(program, into);
    }

    /// Starts in a state that an earlier search has met.
    fn start<E: Semantics>(&mut self, _program: &E) {}

    /// Called before the last step is undone.
    fn leave(&mut self) {}

    /// Returns a fingerprint of the transition that has just been executed from the state met last.
    fn transition<E: Semantics>(&self, _program: &E) -> Option<Fingerprint> {
        None
    }

    /// Returns the number of states that the met states represent; `None` if each represents only
    /// itself.
    fn permuted(&self) -> Option<u64> {
        None
    }

    /// Returns the observations of the other states that the current one represents.
    fn observations<E: Semantics>(&self, _program: &E) -> Vec<OrbitObservation> {
        Vec::new()
    }

    /// Returns the probability that some new state was taken for a known one, after this number of
    /// states; `None` if it is not computed.
    fn miss(&self, _states: u64) -> Option<f64> {
        None
    }
}

/// Whether a state that the search has reached is new, which decides whether its processes are run.
pub(crate) enum MetState<K> {
    /// The state is new: run its processes.
    New(K),
    /// The state is known: run nothing.
    Known(K),
    /// The state is known, but its processes must be run again.
    Again(K),
}

/// Adds all ready processes, or none after a false `assume`.
fn all_ready<E: Semantics>(program: &E, into: &mut Vec<ProcessId>) {
    let first = into.len();
    for &process in program.processes().in_order() {
        match program.status(process) {
            Status::Ready => into.push(process),
            Status::Discarded => return into.truncate(first),
            _ => {}
        }
    }
}

impl<'a, M: Memory> Stateful<'a, M> {
    /// Creates a policy that has met no states.
    pub fn new(memory: M) -> Self {
        Self {
            memory,
            nodes: Vec::new(),
            todo: Vec::new(),
            known: false,
            states: 0,
            branch: None,
            branch_queue: None,
            wait: 0,
        }
    }

    /// Creates the policy of a worker: it starts with a branch, and may pass others on.
    pub fn of_worker(memory: M, branch: Option<Branch>, branch_queue: &'a BranchQueue) -> Self {
        Self {
            branch,
            branch_queue: Some(branch_queue),
            ..Self::new(memory)
        }
    }

    /// Returns the memory of the states met.
    pub fn into_memory(self) -> M {
        self.memory
    }

    fn push(&mut self, first: usize, mark: M::Mark, again: Option<SmallVec<[i64; 1]>>) {
        self.nodes.push(MarkedNode {
            first,
            next: first + usize::from(again.is_some()),
            end: self.todo.len(),
            mark,
            again,
            given: false,
        });
    }

    /// Gives the branch nearest to the initial state to another worker.
    #[cold]
    fn pass_on_branch<E: Semantics>(&mut self, program: &E, branch_queue: &BranchQueue) {
        self.wait = BETWEEN_GIFTS;
        let events = program.events();
        for (depth, node) in self.nodes.iter_mut().enumerate() {
            // This worker must run at least one process from the state: otherwise the state would
            // look like one without successors.
            let (process, outcomes) = if node.next == node.first {
                return;
            } else if node.next < node.end {
                node.end -= 1;
                (self.todo[node.end], None)
            } else if !node.given
                && let Some(event) = events.get(depth)
                && let Some(rest) = next_outcomes(event)
            {
                node.given = true;
                (event.process, Some(rest))
            } else {
                continue;
            };
            let before = program.whole().len() - events.len() + depth;
            branch_queue.put(Branch::new(program, before, process, outcomes));
            return;
        }
    }
}

impl<E: Semantics, M: Memory> Policy<E> for Stateful<'_, M> {
    const UNIQUE: bool = true;
    const MERGES: bool = true;

    fn enter(&mut self, program: &E) {
        let first = self.todo.len();
        if let Some(branch) = self.branch.take() {
            self.memory.start(program);
            let process = program.processes().find(&branch.process);
            self.todo.extend(process);
            return self.push(first, M::Mark::default(), branch.outcomes);
        }
        let from = match (self.nodes.last(), program.events().last()) {
            (Some(before), Some(event)) => Some((before.mark, event)),
            _ => None,
        };
        let met = self.memory.meet(program, from);
        self.known = !matches!(met, MetState::New(_));
        self.states += u64::from(!self.known);
        let mark = match met {
            MetState::New(mark) | MetState::Again(mark) => {
                self.memory.expand(program, &mut self.todo);
                mark
            }
            MetState::Known(mark) => mark,
        };
        self.push(first, mark, None);
    }

    fn next(&mut self, program: &E, outcomes: &mut Vec<i64>) -> Option<ProcessId> {
        if let Some(branch_queue) = self.branch_queue {
            match self.wait {
                0 if branch_queue.is_hungry() => self.pass_on_branch(program, branch_queue),
                _ => self.wait = self.wait.saturating_sub(1),
            }
        }
        let node = self.nodes.last_mut()?;
        if let Some(again) = node.again.take() {
            outcomes.extend(again);
            return Some(self.todo[node.next - 1]);
        }
        if node.next == node.end {
            return None;
        }
        let process = self.todo[node.next];
        node.next += 1;
        node.given = false;
        Some(process)
    }

    fn leave(&mut self, program: &E) {
        self.memory.leave();
        if let Some(node) = self.nodes.pop() {
            self.todo.truncate(node.first);
        }
        if let (Some(node), Some(event)) = (self.nodes.last_mut(), program.events().last())
            && !node.given
        {
            node.again = next_outcomes(event);
        }
    }

    fn known(&self) -> bool {
        self.known
    }

    fn states(&self) -> Option<u64> {
        Some(self.states)
    }

    fn permuted(&self) -> Option<u64> {
        self.memory.permuted()
    }

    fn observations(&self, program: &E) -> Vec<OrbitObservation> {
        self.memory.observations(program)
    }

    fn transition(&self, program: &E) -> Option<Fingerprint> {
        self.memory.transition(program)
    }

    fn miss(&self) -> Option<f64> {
        self.memory.miss(self.states)
    }

    fn open(&self) -> u64 {
        self.nodes
            .iter()
            .map(|node| (node.end - node.next) as u64)
            .sum()
    }
}

/// Stores each state once, without additional data.
pub(crate) struct Visits<'a> {
    visitor: Visitor<'a>,
    /// Chooses the processes to run, if the search is reduced.
    stubborn: Option<Stubborn>,
    known: KnownBy,
}

/// The fingerprint under which a state is stored.
enum KnownBy {
    /// The sum of the parts of the current state.
    Parts(Meter),
    /// The fingerprint of the whole state that was met last.
    Whole(Fingerprint),
    /// The key of the state's orbit.
    Orbit(Box<Symmetric>),
}

/// The orbits of the states on the path.
struct Symmetric {
    orbits: Orbits,
    /// The keys of the states on the path.
    keys: Vec<Fingerprint>,
    /// The processes in canonical order.
    order: Vec<ProcessId>,
}

impl Symmetric {
    fn push<E: Semantics>(&mut self, program: &E) -> Fingerprint {
        let symmetric = program.symmetry();
        let key = symmetric.map(|symmetric| self.orbits.canonical(symmetric));
        let key = key.unwrap_or_else(|| program.fingerprint());
        self.keys.push(key);
        key
    }
}

impl<'a> Visits<'a> {
    /// Creates a memory that stores the states of a program through this visitor.
    pub fn new<E: Semantics>(program: &E, visitor: Visitor<'a>, merging: Merging) -> Self {
        let plain = !program.has_conditions();
        let symmetry = program.symmetry().filter(|_| merging.symmetric && plain);
        let known = match symmetry {
            Some(symmetric) => KnownBy::Orbit(Box::new(Symmetric {
                orbits: Orbits::new(symmetric),
                keys: Vec::new(),
                order: Vec::new(),
            })),
            None if plain && program.sums_say_all() => KnownBy::Parts(Meter::new()),
            None => KnownBy::Whole(Fingerprint::ZERO),
        };
        Self {
            visitor,
            stubborn: (merging.reduced && plain).then(Stubborn::default),
            known,
        }
    }
}

impl Memory for Visits<'_> {
    type Mark = ();

    #[inline]
    fn meet<E: Semantics>(&mut self, program: &E, from: Option<((), &Event)>) -> MetState<()> {
        let print = match (&mut self.known, from) {
            (KnownBy::Parts(meter), Some(_)) => {
                meter.push(program);
                meter.sum()
            }
            (KnownBy::Parts(meter), None) => {
                meter.start_with_all(program);
                meter.sum()
            }
            (KnownBy::Whole(print), _) => {
                *print = program.fingerprint();
                *print
            }
            (KnownBy::Orbit(symmetric), _) => symmetric.push(program),
        };
        if !self.visitor.insert(print) {
            return MetState::Known(());
        }
        if let KnownBy::Orbit(symmetric) = &mut self.known {
            symmetric.orbits.add();
        }
        MetState::New(())
    }

    #[inline]
    fn expand<E: Semantics>(&mut self, program: &E, into: &mut Vec<ProcessId>) {
        match (&mut self.stubborn, &mut self.known) {
            (Some(stubborn), KnownBy::Orbit(symmetric)) => {
                symmetric.orbits.in_order(program, &mut symmetric.order);
                stubborn.choose(program, &symmetric.order, into);
            }
            (Some(stubborn), _) => {
                stubborn.choose(program, program.processes().in_order(), into);
            }
            (None, _) => all_ready(program, into),
        }
    }

    fn start<E: Semantics>(&mut self, program: &E) {
        match &mut self.known {
            KnownBy::Parts(meter) => meter.start_with_all(program),
            KnownBy::Whole(print) => *print = program.fingerprint(),
            KnownBy::Orbit(symmetric) => {
                symmetric.push(program);
            }
        }
    }

    #[inline]
    fn leave(&mut self) {
        match &mut self.known {
            KnownBy::Parts(meter) => meter.pop(),
            KnownBy::Whole(_) => {}
            KnownBy::Orbit(symmetric) => {
                symmetric.keys.pop();
            }
        }
    }

    fn permuted(&self) -> Option<u64> {
        match &self.known {
            KnownBy::Orbit(symmetric) => Some(symmetric.orbits.states()),
            _ => None,
        }
    }

    fn observations<E: Semantics>(&self, program: &E) -> Vec<OrbitObservation> {
        match &self.known {
            KnownBy::Orbit(symmetric) => symmetric.orbits.observations(program),
            _ => Vec::new(),
        }
    }

    /// Returns a fingerprint of the previous state, the process and its outcomes.
    fn transition<E: Semantics>(&self, program: &E) -> Option<Fingerprint> {
        let before = match &self.known {
            KnownBy::Parts(meter) => meter.sum(),
            KnownBy::Orbit(symmetric) => *symmetric.keys.last()?,
            // The stored fingerprint is that of the state met last, which may be deeper than the
            // state before this step.
            KnownBy::Whole(_) => return None,
        };
        let event = program.events().last()?;
        let step = before.then_all(program.processes().name(event.process));
        let outcomes = event.outcomes.iter();
        Some(outcomes.fold(step, |all, outcome| all.then(outcome.value as u64)))
    }

    fn miss(&self, states: u64) -> Option<f64> {
        Some(self.visitor.miss(states))
    }
}
