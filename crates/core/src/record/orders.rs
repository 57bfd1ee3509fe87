//! Which orders of accesses to memory matter.

use serde::{Deserialize, Serialize};

use super::Place;

/// What `orders` adds to a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Orders {
    /// What to do.
    pub advice: Advice,
    /// How many searches that took, each with other orders.
    pub searches: u64,
    /// The accesses whose order can be chosen, in the order of the text.
    pub accesses: Vec<AdvisedAccess>,
}

/// What to do about the orders of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Advice {
    /// It is violated, and with the orders that are advised it is not. No smaller set of accesses
    /// does it, and none of the orders can be weaker.
    Strengthen,
    /// It is violated whatever the orders are.
    Helpless,
    /// It is verified, and with weaker orders too.
    Weaken,
    /// It is verified, and not if one of the orders is weaker.
    Keep,
    /// A limit was reached first.
    Open,
}

/// An access to an atomic variable, or a fence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdvisedAccess {
    /// Where it stands.
    pub place: Place,
    /// What it is: `load`, `store`, `update`, `compare_exchange`, `fence`.
    pub access: String,
    /// How much it orders.
    pub order: String,
    /// The same for a `compare_exchange` that fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// How much it should order; none if that was not decided. A fence that should be `relaxed` is
    /// of no use.
    pub advised: Option<String>,
    /// The same for a `compare_exchange` that fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advised_failure: Option<String>,
}

impl AdvisedAccess {
    /// Whether another order is advised.
    pub fn changes(&self) -> bool {
        let differs = |one: &Option<String>, other: Option<&String>| {
            one.as_ref().is_some_and(|one| Some(one) != other)
        };
        differs(&self.advised, Some(&self.order))
            || differs(&self.advised_failure, self.failure.as_ref())
    }
}
