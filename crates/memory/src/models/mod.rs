//! Memory models, which define the execution graphs that exist. Each has one file, with its axioms
//! at the head.
//!
//! An axiom forbids cycles. The engine adds an event only at the end of its thread, when nothing
//! reads from it, so a new cycle leaves the event by rb or mo and returns to it through an earlier
//! event. In all models this condition describes an interval: the event may read, or be put after,
//! the writes of its location from the [`floor`](Model::floor) to the end of mo.
//! [`admits`](Model::admits) checks the only remaining condition, the order of sc events.

mod psc;
mod ra;
mod rc11;
mod sc;
mod tso;
mod views;

pub(crate) use ra::Ra;
pub(crate) use rc11::Rc11;
pub(crate) use sc::Sc;
pub(crate) use tso::Tso;

use crate::graph::{Event, Graph, Slot};

/// A memory model.
///
/// ```
/// use mazurka_memory::Memory;
/// assert_eq!("tso".parse(), Ok(Memory::Tso));
/// assert_eq!(Memory::Rc11.to_string(), "rc11");
/// assert!("arm".parse::<Memory>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Memory {
    /// C++20's orderings without load buffering (RC11).
    Rc11,
    /// Release/acquire: every access acquires and releases.
    Ra,
    /// Total store order, as on x86.
    Tso,
    /// Sequential consistency.
    Sc,
}

impl Memory {
    /// All models.
    pub const ALL: [Self; 4] = [Self::Rc11, Self::Ra, Self::Tso, Self::Sc];

    /// Returns the name that options use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rc11 => "rc11",
            Self::Ra => "ra",
            Self::Tso => "tso",
            Self::Sc => "sc",
        }
    }
}

impl std::fmt::Display for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The error for an unknown name of a memory model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no memory model `{0}`; choose one of rc11, ra, tso, sc")]
pub struct UnknownMemory(pub String);

impl std::str::FromStr for Memory {
    type Err = UnknownMemory;

    fn from_str(name: &str) -> Result<Self, UnknownMemory> {
        let found = Self::ALL.into_iter().find(|model| model.name() == name);
        found.ok_or_else(|| UnknownMemory(name.to_owned()))
    }
}

/// A model, as the engine uses it.
pub(crate) trait Model {
    /// Returns the number of clocks of its events; the first is that of the prefix.
    fn clocks(&self) -> usize;

    /// Completes the clocks of an event that has just been added.
    fn view(&self, graph: &mut Graph, slot: Slot);

    /// Returns the first position of mo that the access may read from, or be put after, as the next
    /// event of its thread.
    fn floor(&mut self, graph: &Graph, access: &Event) -> u32;

    /// Whether the graph is consistent with an access that has just been added above its floor.
    fn admits(&mut self, graph: &Graph, slot: Slot) -> bool;

    /// Returns the clock of happens-before, if unordered plain accesses are a data race.
    fn races(&self) -> Option<usize>;
}

/// Evaluates an expression with the model of a memory: `under!(memory, planted, model => …)`. The
/// engine is compiled for each model.
#[cfg(not(target_family = "wasm"))]
macro_rules! under {
    ($memory:expr, $planted:expr, $model:ident => $do:expr) => {
        match $memory {
            $crate::models::Memory::Rc11 => {
                let $model = $crate::models::Rc11::new($planted);
                $do
            }
            $crate::models::Memory::Ra => {
                let $model = $crate::models::Ra::default();
                $do
            }
            $crate::models::Memory::Tso => {
                let $model = $crate::models::Tso::default();
                $do
            }
            $crate::models::Memory::Sc => {
                let $model = $crate::models::Sc::default();
                $do
            }
        }
    };
}

/// The same macro for browsers, where small code matters more than speed: the engine is compiled
/// once, for a model behind a pointer.
#[cfg(target_family = "wasm")]
macro_rules! under {
    ($memory:expr, $planted:expr, $model:ident => $do:expr) => {{
        let $model: Box<dyn $crate::models::Model> = match $memory {
            $crate::models::Memory::Rc11 => Box::new($crate::models::Rc11::new($planted)),
            $crate::models::Memory::Ra => Box::new($crate::models::Ra::default()),
            $crate::models::Memory::Tso => Box::new($crate::models::Tso::default()),
            $crate::models::Memory::Sc => Box::new($crate::models::Sc::default()),
        };
        $do
    }};
}
pub(crate) use under;

#[cfg(target_family = "wasm")]
impl Model for Box<dyn Model> {
    fn clocks(&self) -> usize {
        (**self).clocks()
    }

    fn view(&self, graph: &mut Graph, slot: Slot) {
        (**self).view(graph, slot);
    }

    fn floor(&mut self, graph: &Graph, access: &Event) -> u32 {
        (**self).floor(graph, access)
    }

    fn admits(&mut self, graph: &Graph, slot: Slot) -> bool {
        (**self).admits(graph, slot)
    }

    fn races(&self) -> Option<usize> {
        (**self).races()
    }
}

/// Whether a write is mo-after the access, or after the write that it reads. Only then can the
/// access be on a cycle.
fn is_overtaken(graph: &Graph, event: &Event) -> bool {
    event.is_access() && graph.position(event) < graph.last_position(event.loc)
}
