//! What steps have to do with each other: claims that conflict, happens-before, races and their
//! reversals.

pub(crate) mod catalogue;
pub(crate) mod order;
pub(crate) mod reversal;
pub(crate) mod set;
