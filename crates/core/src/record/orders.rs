//! The orders of memory accesses, and advice on them.

use serde::{Deserialize, Serialize};

use super::Place;

/// The data that `orders` adds to a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Orders {
    /// The advice.
    pub advice: Advice,
    /// Number of searches, each with other orders.
    pub searches: u64,
    /// The accesses whose order can be chosen, in the order of the text.
    pub accesses: Vec<AdvisedAccess>,
}

/// The advice on the orders of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Advice {
    /// The program is violated as written, but verified with the advised orders. No smaller set of
    /// accesses suffices, and none of the advised orders can be weaker.
    Strengthen,
    /// The program is violated whatever the orders are.
    Helpless,
    /// The program is verified, with weaker orders too.
    Weaken,
    /// The program is verified, but not if any of the orders is weaker.
    Keep,
    /// A limit was reached before an answer was found.
    Open,
}

/// An access to an atomic variable, or a fence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdvisedAccess {
    /// Its place in the source.
    pub place: Place,
    /// Its kind: `load`, `store`, `update`, `compare_exchange`, `fence`.
    pub access: String,
    /// Its order in the program as written.
    pub order: String,
    /// The order, as written, that a `compare_exchange` has if it fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The advised order; `None` if that was not decided. A fence that should be `relaxed` is
    /// useless.
    pub advised: Option<String>,
    /// The advised order for a `compare_exchange` that fails.
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
