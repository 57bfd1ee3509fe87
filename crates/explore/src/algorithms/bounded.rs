//! A depth limit for searches that merge states: a state that is met again at a smaller depth is
//! expanded again.
//!
//! Depth-first search with a limit may meet a state first at the end of a long run. The limit then
//! cuts off continuations that a shorter run would still reach. Holzmann (*The SPIN Model Checker*,
//! 2003, section 8, on the depth limit and `-DREACH`) stores with each state the depth at which it
//! was met; if the state is met again at a smaller depth, its successors are explored again. Then
//! every state that some run reaches within the limit is met, and the search finds everything that
//! a search without merging finds within the limit.
//!
//! In the worst case, a state is expanded once for each depth up to the limit; in practice this is
//! rare. So this search is used only after an ordinary search has reached the limit. It never uses
//! partial order reduction, because the reduction may postpone a step until after the limit.

use hashbrown::hash_table::Entry;
use mazurka_core::{Event, Fingerprint, Semantics};

use crate::algorithms::stateful::{Memory, MetState};
use crate::drive::table::Table;

/// A decorator of a [`Memory`], the store of the states that a search has met. For each state it
/// adds the smallest depth at which the search met the state.
#[derive(Debug, Default)]
pub(crate) struct Bounded<M> {
    inner: M,
    /// For each state, the smallest depth at which it was met.
    depths: Table<(Fingerprint, u64)>,
}

impl<M> Bounded<M> {
    /// Wraps another memory.
    pub fn around(inner: M) -> Self {
        Self {
            inner,
            depths: Table::default(),
        }
    }

    /// Returns the memory inside.
    pub fn into_inner(self) -> M {
        self.inner
    }

    /// Records the depth of a state. Returns the smallest depth at which the state was met before,
    /// or `None` if it is new.
    fn meet_at(&mut self, print: Fingerprint, depth: u64) -> Option<u64> {
        let hash = |print: Fingerprint| print.bits() as u64;
        let same = |(known, _): &(Fingerprint, u64)| *known == print;
        match self.depths.entry(hash(print), same, |(p, _)| hash(*p)) {
            Entry::Occupied(mut known) => {
                let least = &mut known.get_mut().1;
                let before = *least;
                *least = before.min(depth);
                Some(before)
            }
            Entry::Vacant(free) => {
                free.insert((print, depth));
                None
            }
        }
    }
}

impl<M: Memory> Memory for Bounded<M> {
    type Mark = M::Mark;

    fn meet<E: Semantics>(
        &mut self,
        program: &E,
        from: Option<(M::Mark, &Event)>,
    ) -> MetState<M::Mark> {
        let (MetState::New(mark) | MetState::Known(mark) | MetState::Again(mark)) =
            self.inner.meet(program, from);
        let depth = program.events().len() as u64;
        match self.meet_at(program.fingerprint(), depth) {
            None => MetState::New(mark),
            Some(before) if depth < before => MetState::Again(mark),
            Some(_) => MetState::Known(mark),
        }
    }
}

/// The memory that stores no states.
impl Memory for () {
    type Mark = ();

    fn meet<E: Semantics>(&mut self, _: &E, _: Option<((), &Event)>) -> MetState<()> {
        MetState::New(())
    }
}
