//! The engines by name, and by their requirements on a program.
//!
//! [`Stateless`] lists the algorithms for any program; [`Algorithm`] also contains those that
//! compare states and those that only sample.

use std::ops::ControlFlow;
use std::str::FromStr;

use mazurka_core::{Bound, Execution, Kind, Limits, Semantics, StopReason};

use crate::algorithms::bounded::Bounded;
use crate::algorithms::context::{Context, Printed, Variant};
use crate::algorithms::dpor::{Dpor, DporAwake};
use crate::algorithms::graph::LimitChecks;
use crate::algorithms::livelock::livelock;
use crate::algorithms::map::Map;
use crate::algorithms::method::{Method, Sample};
use crate::algorithms::naive::Naive;
use crate::algorithms::optimal::Optimal;
use crate::algorithms::permuted;
use crate::algorithms::sleep::Sleep;
use crate::algorithms::source::Source;
use crate::algorithms::stateful::{Stateful, Visits};
use crate::algorithms::temporal::violations;
use crate::drive::budget::Budget;
use crate::drive::driver::{Goal, Policy};
use crate::drive::findings::Findings;
use crate::drive::search::{Engine, Search, Session};
use crate::drive::states::{Bits, StateTable, Visited};
use crate::drive::suffix::{OfRest, Suffix};
use crate::relations::set::{Fixed, Growing};

/// An algorithm of exploration.
///
/// ```
/// use mazurka_explore::Algorithm;
/// assert_eq!("optimal".parse(), Ok(Algorithm::Optimal));
/// assert_eq!(Algorithm::Naive.to_string(), "naive");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// All interleavings.
    Naive,
    /// All interleavings except those that sleep sets rule out.
    Sleep,
    /// Persistent sets, computed from races.
    Dpor,
    /// Persistent sets without sleep sets, for comparisons: a trace may be met several times.
    DporAwake,
    /// Source sets, computed from races.
    Source,
    /// Each trace exactly once.
    Optimal,
    /// Source sets, and sleep sequences that lead to known states.
    Context(Variant),
    /// Each state once; from each state only as many processes as necessary.
    Stateful,
    /// Each state once, with other options for storing or reducing states.
    StatefulAs(Merging),
    /// Some executions, drawn at random.
    Sample(Sample),
}

impl Algorithm {
    /// All algorithms that cover the whole space.
    pub const ALL: &[Algorithm] = &[
        Algorithm::Naive,
        Algorithm::Sleep,
        Algorithm::Dpor,
        Algorithm::Source,
        Algorithm::Optimal,
        Algorithm::CONTEXT,
        Algorithm::Stateful,
    ];

    /// The algorithms that sample executions, with seed 0.
    pub const SAMPLING: &[Algorithm] = &{
        let mut all = [Algorithm::Naive; Method::ALL.len()];
        let mut at = 0;
        while at < all.len() {
            let method = Method::ALL[at];
            all[at] = Algorithm::Sample(Sample { method, seed: 0 });
            at += 1;
        }
        all
    };

    /// Context-sensitive exploration with both optimisations.
    pub const CONTEXT: Algorithm = Algorithm::Context(Variant::BEST);

    /// Returns the name of the algorithm.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Naive => "naive",
            Algorithm::Sleep => "sleep",
            Algorithm::Dpor | Algorithm::DporAwake => "dpor",
            Algorithm::Source => "source",
            Algorithm::Optimal => "optimal",
            Algorithm::Context(_) => "context",
            Algorithm::Stateful | Algorithm::StatefulAs(_) => "stateful",
            Algorithm::Sample(sample) => sample.method.name(),
        }
    }
}

impl Algorithm {
    /// Returns the algorithm as a [`Stateless`] one, if it can cover the space of any program in
    /// parts. Only then can several workers explore.
    pub fn stateless(self) -> Option<Stateless> {
        match self {
            Algorithm::Naive => Some(Stateless::Naive),
            Algorithm::Sleep => Some(Stateless::Sleep),
            Algorithm::Dpor => Some(Stateless::Dpor),
            Algorithm::Source => Some(Stateless::Source),
            Algorithm::Optimal => Some(Stateless::Optimal),
            // The parts would overlap: without sleep sets, the traces of one part may be explored
            // in another, too.
            Algorithm::DporAwake => None,
            Algorithm::Context(_) | Algorithm::Stateful | Algorithm::StatefulAs(_) => None,
            Algorithm::Sample(_) => None,
        }
    }

    /// Whether the algorithm compares states. Then the program must support comparing states.
    pub fn compares_states(self) -> bool {
        matches!(self, Algorithm::Context(_)) || self.merging().is_some()
    }

    /// Returns how the algorithm merges states, if it merges them.
    ///
    /// ```
    /// use mazurka_explore::{Algorithm, Merging};
    /// assert_eq!(Algorithm::Stateful.merging(), Some(Merging::default()));
    /// assert_eq!(Algorithm::Optimal.merging(), None);
    /// ```
    pub fn merging(self) -> Option<Merging> {
        match self {
            Algorithm::Stateful => Some(Merging::default()),
            Algorithm::StatefulAs(merging) => Some(merging),
            _ => None,
        }
    }

    /// Returns how the algorithm draws executions, if it draws them.
    ///
    /// ```
    /// use mazurka_explore::{Algorithm, Method};
    /// let drawn = "pos".parse::<Algorithm>().unwrap().sample().unwrap();
    /// assert_eq!((drawn.method, drawn.seed), (Method::Pos, 0));
    /// assert_eq!(Algorithm::Optimal.sample(), None);
    /// ```
    pub fn sample(self) -> Option<Sample> {
        match self {
            Algorithm::Sample(sample) => Some(sample),
            _ => None,
        }
    }

    /// Returns a description in a few words.
    pub fn summary(self) -> &'static str {
        match self {
            Algorithm::Naive => "all interleavings",
            Algorithm::Sleep => "all interleavings that sleep sets leave",
            Algorithm::Dpor => "persistent sets found on the way, with sleep sets",
            Algorithm::DporAwake => "persistent sets found on the way, without sleep sets",
            Algorithm::Source => "source sets found on the way, with sleep sets",
            Algorithm::Optimal => "each trace exactly once (wakeup trees)",
            Algorithm::Context(_) => "source sets; orders that lead to equal states are tried once",
            Algorithm::Stateful | Algorithm::StatefulAs(_) => {
                "each state once (fingerprints); finds livelocks, decides temporal properties"
            }
            Algorithm::Sample(sample) => sample.method.summary(),
        }
    }
}

/// How a search that visits each state once stores and reduces states.
///
/// ```
/// use mazurka_explore::{Algorithm, Merging};
/// let all = Merging { reduced: false, ..Merging::default() };
/// assert_eq!(Algorithm::StatefulAs(all).to_string(), "stateful --no-reduction");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Merging {
    /// Whether only a stubborn set of processes is run from a state, where that is enough.
    pub reduced: bool,
    /// Whether states that differ only by a permutation of interchangeable processes count as one.
    /// A search that must visit every state ignores this option.
    pub symmetric: bool,
    /// Stores states as bits in a bit set of this many bytes, which may miss states.
    pub bits: Option<u64>,
}

impl Default for Merging {
    fn default() -> Self {
        Self {
            reduced: true,
            symmetric: true,
            bits: None,
        }
    }
}

impl Merging {
    /// Creates the store for states.
    pub(crate) fn visited(self) -> Visited {
        match self.bits {
            Some(bytes) => Visited::Bits(Bits::new(bytes)),
            None => Visited::Table(StateTable::default()),
        }
    }

    /// If states were stored as bits, adds the bound for the states that may have been missed.
    pub(crate) fn add_bound(self, visited: &Visited, states: u64, found: &mut Findings) {
        if self.bits.is_some() {
            let miss = visited.miss(states);
            found.bound(Bound::Bitstate((miss * 1e9).ceil() as u64));
        }
    }

    /// Adds to the findings the violations of states that were not visited, because the search
    /// visits one state of each orbit (`symmetry.rs`).
    pub(crate) fn complete<E: Semantics>(self, program: &mut E, found: &mut Findings) {
        if self.symmetric {
            // A search that ends at the first failure needs no further failures.
            let all = found.stopped != StopReason::Certain;
            permuted::complete(program, found, all);
        }
    }

    /// Whether several workers can share the states of a program. They can if no result depends on
    /// cycles of states, on the depth of a state or on conditions over inputs.
    pub(crate) fn can_be_shared<E: Semantics>(
        self,
        program: &E,
        search: &Search<Algorithm>,
    ) -> bool {
        let looked_for = Cyclic::new(program, search.goal);
        !looked_for.any() && search.limits.depth.is_none() && !program.has_conditions()
    }
}

/// An algorithm for programs whose states are not compared.
///
/// ```
/// use mazurka_explore::{Algorithm, Stateless};
/// assert_eq!(Algorithm::Optimal.stateless(), Some(Stateless::Optimal));
/// assert_eq!(Algorithm::Stateful.stateless(), None);
/// assert_eq!(Stateless::Dpor.to_string(), "dpor");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stateless {
    /// All interleavings.
    Naive,
    /// All interleavings except those that sleep sets rule out.
    Sleep,
    /// Persistent sets, computed from races.
    Dpor,
    /// Source sets, computed from races.
    Source,
    /// Each trace exactly once.
    Optimal,
}

impl Stateless {
    /// All stateless algorithms.
    pub const ALL: &[Stateless] = &[
        Stateless::Naive,
        Stateless::Sleep,
        Stateless::Dpor,
        Stateless::Source,
        Stateless::Optimal,
    ];
}

impl From<Stateless> for Algorithm {
    fn from(stateless: Stateless) -> Self {
        match stateless {
            Stateless::Naive => Algorithm::Naive,
            Stateless::Sleep => Algorithm::Sleep,
            Stateless::Dpor => Algorithm::Dpor,
            Stateless::Source => Algorithm::Source,
            Stateless::Optimal => Algorithm::Optimal,
        }
    }
}

impl std::fmt::Display for Stateless {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Algorithm::from(*self).fmt(f)
    }
}

impl std::fmt::Display for Algorithm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Algorithm::Sample(sample) = self {
            return sample.fmt(f);
        }
        f.write_str(self.name())?;
        match self {
            Algorithm::DporAwake => f.write_str(" --no-sleep"),
            Algorithm::Context(variant) => variant.fmt(f),
            Algorithm::StatefulAs(Merging {
                reduced,
                symmetric,
                bits,
            }) => {
                if !reduced {
                    f.write_str(" --no-reduction")?;
                }
                if !symmetric {
                    f.write_str(" --no-symmetry")?;
                }
                bits.map_or(Ok(()), |bytes| write!(f, " --bitstate {bytes}"))
            }
            _ => Ok(()),
        }
    }
}

/// The error for an unknown name of an algorithm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownAlgorithm(pub String);

impl std::fmt::Display for UnknownAlgorithm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let all = Algorithm::ALL.iter().chain(Algorithm::SAMPLING);
        let names: Vec<_> = all.map(|a| a.name()).collect();
        write!(
            f,
            "there is no algorithm `{}`; there are {}",
            self.0,
            names.join(", ")
        )
    }
}

impl std::error::Error for UnknownAlgorithm {}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let mut all = Self::ALL.iter().chain(Self::SAMPLING);
        all.find(|algorithm| algorithm.name() == name)
            .copied()
            .ok_or_else(|| UnknownAlgorithm(name.to_owned()))
    }
}

/// Explores with the narrowest sets that hold all runs: if a run is too long for the sets, the
/// search restarts with wider ones. Each width is a copy of the engine in the binary.
#[cfg(not(target_family = "wasm"))]
macro_rules! in_widths {
    ($session:ident, $policy:ident $options:tt, [$($width:literal),*]) => {
        'found: {
            let mut _narrower = $session.start.width;
            $(
                if _narrower == 0 {
                    let policy = $policy::<Fixed<$width>>::new $options;
                    if let Some(found) = $session.attempt(policy) {
                        break 'found found;
                    }
                    $session.start.width += 1;
                } else {
                    _narrower -= 1;
                }
            )*
            $session.explore(&mut $policy::<Growing>::new $options)
        }
    };
}

/// In a browser a small binary matters more than speed: there is one copy, whose sets grow.
#[cfg(target_family = "wasm")]
macro_rules! in_widths {
    ($session:ident, $policy:ident $options:tt, [$($width:literal),*]) => {
        $session.explore(&mut $policy::<Growing>::new $options)
    };
}

impl<E: Execution> Engine<E> for Stateless {
    type Found = Findings;

    fn search(&self, session: Session<'_, '_, E>) -> Findings {
        let Session {
            program,
            limits,
            goal,
            watch,
            observer,
            start,
        } = session;
        self.explore(Session {
            program: &mut Suffix::new(program),
            limits,
            goal,
            watch,
            observer: &mut OfRest(observer),
            start,
        })
    }
}

impl Stateless {
    /// Explores the rest of a program after a prefix.
    pub(crate) fn explore<E: Execution>(
        self,
        mut session: Session<'_, '_, Suffix<'_, E>>,
    ) -> Findings {
        match self {
            Stateless::Naive => session.explore(&mut Naive::default()),
            Stateless::Sleep => session.explore(&mut Sleep::new()),
            Stateless::Dpor => in_widths!(session, Dpor(), [1, 4]),
            Stateless::Source => in_widths!(session, Source(), [1, 4]),
            Stateless::Optimal => in_widths!(session, Optimal(), [1, 2, 4, 16]),
        }
    }
}

impl<E: Semantics> Engine<E> for Algorithm {
    type Found = Findings;

    fn search(&self, session: Session<'_, '_, E>) -> Findings {
        match *self {
            Algorithm::Naive => Stateless::Naive.search(session),
            Algorithm::Sleep => Stateless::Sleep.search(session),
            Algorithm::Dpor => Stateless::Dpor.search(session),
            Algorithm::DporAwake => without_sleep_sets(session),
            Algorithm::Source => Stateless::Source.search(session),
            Algorithm::Optimal => Stateless::Optimal.search(session),
            Algorithm::Context(variant) => in_context(session, variant),
            Algorithm::Stateful => each_state(session, Merging::default()),
            Algorithm::StatefulAs(merging) => each_state(session, merging),
            Algorithm::Sample(sample) => sample.search(session),
        }
    }
}

/// Context-sensitive DPOR on top of `source`.
type OnSource<S> = Context<S, Source<S>>;
/// Context-sensitive DPOR on top of `optimal`.
type OnOptimal<S> = Context<S, Optimal<S>>;

fn without_sleep_sets<E: Execution>(mut session: Session<'_, '_, E>) -> Findings {
    in_widths!(session, DporAwake(), [4])
}

fn in_context<E: Semantics>(mut session: Session<'_, '_, E>, variant: Variant) -> Findings {
    if !variant.paper {
        return if variant.wakeup {
            in_widths!(session, OnOptimal(variant), [1, 4])
        } else {
            in_widths!(session, OnSource(variant), [1, 4])
        };
    }
    let mut found = in_widths!(session, Printed(variant), [1]);
    // The printed algorithm may miss states, so the search is never complete.
    found.bounds.push(Bound::AsPrinted);
    found.stopped = match found.stopped {
        StopReason::Complete => StopReason::Bound,
        other => other,
    };
    found
}

fn each_state<E: Semantics>(mut session: Session<'_, '_, E>, merging: Merging) -> Findings {
    let limits = session.limits.clone();
    session.limits.depth.get_or_insert(u64::MAX);
    // A postponed step may come after the limit, and an observer needs all steps.
    let merging = Merging {
        reduced: merging.reduced && limits.depth.is_none(),
        symmetric: merging.symmetric && limits.depth.is_none() && !session.observer.looks(),
        ..merging
    };
    let found = each_state_once(&mut session, merging);
    let cut = |bound: &Bound| matches!(bound, Bound::MaxDepth(_));
    let too_deep = found.bounds.iter().any(cut);
    if !too_deep || found.broken_off || found.stopped != StopReason::Bound {
        return found;
    }
    // A state that was cut off may be nearer to the initial state on another path.
    let budget = Budget::after(found.elapsed, &limits);
    let spent = found.counts.steps;
    session.limits = Limits {
        steps: limits.steps.map(|most| most.saturating_sub(spent)),
        ..budget.left()
    };
    let mut again = each_state_again(&mut session);
    again.counts.steps += spent;
    again.elapsed = budget.elapsed();
    budget.restate_all(&mut again.bounds);
    again
}

/// Explores each state when it is first met.
fn each_state_once<E: Semantics>(session: &mut Session<'_, '_, E>, merging: Merging) -> Findings {
    let looked_for = Cyclic::new(&*session.program, session.goal);
    if !looked_for.any() {
        let visited = merging.visited();
        let memory = Visits::new(&*session.program, visited.enter(), merging);
        let mut found = session.explore(&mut Stateful::new(memory));
        let states = found.counts.states.unwrap_or(0);
        if found.stopped != StopReason::Certain {
            merging.add_bound(&visited, states, &mut found);
        }
        if !found.bounds.is_empty() && found.stopped == StopReason::Complete {
            found.stopped = StopReason::Bound;
        }
        merging.complete(session.program, &mut found);
        return found;
    }
    let mut policy = Stateful::new(Map::new(&*session.program));
    let mut found = session.explore(&mut policy);
    looked_for.decide(session, policy.into_memory(), &mut found);
    found
}

/// Explores each state that can be reached within the limit on depth.
fn each_state_again<E: Semantics>(session: &mut Session<'_, '_, E>) -> Findings {
    let looked_for = Cyclic::new(&*session.program, session.goal);
    if !looked_for.any() {
        return session.explore(&mut Stateful::new(Bounded::around(())));
    }
    let map = Map::new(&*session.program);
    let mut policy = Stateful::new(Bounded::around(map));
    let mut found = session.explore(&mut policy);
    looked_for.decide(session, policy.into_memory().into_inner(), &mut found);
    found
}

/// Which properties of cycles must be decided on the graph of states, after the search.
struct Cyclic {
    livelocks: bool,
    properties: bool,
}

impl Cyclic {
    fn new<E: Semantics>(program: &E, goal: Goal) -> Self {
        Self {
            livelocks: program.may_repeat() && goal.looks_for(Kind::Livelock),
            properties: !program.temporal().is_empty() && goal.looks_for(Kind::Property),
        }
    }

    fn any(&self) -> bool {
        self.livelocks || self.properties
    }

    /// Adds to `found` the violations in the graph of the states that a search has met.
    fn decide<E: Semantics>(
        &self,
        session: &mut Session<'_, '_, E>,
        mut map: Map,
        found: &mut Findings,
    ) {
        let noted = map.take_violated();
        let budget = Budget::after(found.elapsed, &session.limits);
        if found.stopped != StopReason::Certain {
            let (counts, watch) = (found.counts, &mut *session.watch);
            let look = &mut || budget.look(counts, watch);
            let looks = &mut LimitChecks::new(look);
            if let ControlFlow::Break(bound) = self.find(session.program, map, found, looks) {
                found.bound(bound);
                found.stopped = StopReason::Bound;
                found.broken_off = true;
            }
        }
        // A run to a state that violates `always` is evidence, however little was explored.
        if self.properties {
            found.add_broken(noted);
        }
        if !found.broken.is_empty()
            && found.stopped == StopReason::Bound
            && session.goal.stops_at(Kind::Property)
        {
            found.stopped = StopReason::Certain;
            found.bounds.clear();
        }
        found.elapsed = budget.elapsed();
    }

    fn find<E: Semantics>(
        &self,
        program: &mut E,
        map: Map,
        found: &mut Findings,
        looks: &mut LimitChecks<'_>,
    ) -> ControlFlow<Bound> {
        let complete = found.stopped == StopReason::Complete;
        if !complete && !self.properties {
            return ControlFlow::Continue(());
        }
        let states = map.graph(looks)?;
        if self.livelocks && complete {
            found.livelock = livelock(&states, program, looks)?;
        }
        if self.properties {
            if states.truths.undecided {
                found.add_bound(Bound::IntRange);
            }
            found.broken = violations(&states, program, complete, looks)?;
        }
        ControlFlow::Continue(())
    }
}

impl<E: Execution> Session<'_, '_, E> {
    /// Explores with a policy; `None` if the program's runs are too long for it.
    fn attempt<P: Policy<E>>(&mut self, mut policy: P) -> Option<Findings> {
        let limits = self.limits.clone();
        let budget = Budget::new(&limits);
        let findings = self.explore(&mut policy);
        if !policy.gives_up() {
            return Some(findings);
        }
        self.limits = budget.left();
        None
    }
}
