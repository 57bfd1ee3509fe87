//! Readable runs, and the two steps in each that decide the outcome.

pub(crate) mod explain;
pub(crate) mod minimise;
pub(crate) mod race;
pub(crate) mod rehearse;
pub(crate) mod shortest;
