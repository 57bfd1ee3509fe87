//! Relations between steps: conflicting claims, happens-before, races and their reversals.

pub(crate) mod catalogue;
pub(crate) mod order;
pub(crate) mod reversal;
pub(crate) mod set;
