//! Parts of a search on many machines: NATS JetStream moves them and keeps what came of them.
//!
//! This crate knows the network and nothing of programs. What is to be done with an order is a
//! [`Work`] of the caller, what the results mean is its [`Plan`]; to this crate jobs, orders and
//! results are bytes.
//!
//! A *search* has a name, its *id*, which is a fingerprint of its job. Its parts form a tree: the
//! whole is part `0`, its children are `0.0`, `0.1` and so on. What becomes of a part, a result or
//! children, is a function of its order alone, so it does not matter which worker does it, or how
//! often.
//!
//! | on the server | what it is |
//! |---|---|
//! | subject `mazurka.orders.<id>.<path>` | a queue: each order is given to one worker at a time |
//! | bucket `mazurka-<id>` | the *ledger* of a search: its job, the results by path, and failures |
//! | bucket `mazurka-workers` | who works, for a few seconds each |
//!
//! Nothing rests on the queue. It may deliver twice, or lose everything: the ledger says which
//! parts have a result, a part is explored once more if it has none, and the coordinator sends an
//! order again if it is neither in the queue nor done. And the ledger may lose what it has: then
//! that part is not done. The sum is made of the ledger alone, at the end.
//!
//! What is read from the server is checked: names, sizes, checksums, and that a result belongs to
//! the order that the coordinator would give. What the bytes say is checked by the caller.

mod coordinator;
mod ledger;
mod names;
mod queue;
mod server;
mod status;
mod tree;
mod worker;

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub use coordinator::{Ended, Search, coordinate};
pub use server::Server;
pub use status::{SearchStatus, Status, WorkerStatus, cancel, status};
pub use worker::{WorkerSettings, work};

/// The deadline of an order: if its worker does not say anything for so long, another one gets it.
/// A worker that died costs at most this. Docs/cluster.md has the measurement.
pub(crate) const DEADLINE: Duration = Duration::from_secs(5);
/// How often a worker extends it.
pub(crate) const EXTENSION: Duration = Duration::from_millis(1500);
/// An order that was delivered so often and never answered ends its workers: it counts as failed.
pub(crate) const MOST_DELIVERIES: i64 = 8;
/// So many failures of one part end a search.
pub(crate) const MOST_FAILURES: usize = 3;
/// A larger order is refused.
pub(crate) const MOST_ORDER_BYTES: usize = 512 << 10;
/// A larger result is refused.
pub(crate) const MOST_RESULT_BYTES: u64 = 1 << 30;
/// How long a worker tries to deliver what it has found.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Why something could not be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no connection.
    #[error("cannot connect to {url}: {why}")]
    Connect {
        /// The server, without what is secret.
        url: String,
        /// The reason.
        why: String,
    },
    /// The server did not do it; another time it may.
    #[error("the NATS server does not do what it is asked: {0}")]
    Server(String),
    /// There is no such search.
    #[error(
        "the search is not on the server: it was cancelled, or is finished, or the server has lost its data"
    )]
    Gone,
    /// The ledger has another job under this name.
    #[error("the server has another job under the name of this search; cancel that first")]
    OtherJob,
    /// Something is too large.
    #[error("{what} has {bytes} bytes, and at most {most} are taken")]
    TooLarge {
        /// What it is.
        what: &'static str,
        /// Its size.
        bytes: u64,
        /// The limit.
        most: u64,
    },
    /// The name of a search is no such name.
    #[error("`{0}` is no name of a search; `mazurka cluster` lists them")]
    Name(String),
}

impl Error {
    pub(crate) fn server(error: impl std::fmt::Display) -> Self {
        Self::Server(error.to_string())
    }
}

/// What a worker does with an order.
pub trait Work: Send + Sync + 'static {
    /// Explores the part of an order. It blocks, and looks at the flag of the task now and then.
    fn explore(&self, task: &Task<'_>) -> Result<Done, Failure>;

    /// Whether the worker is to end.
    fn is_over(&self) -> bool;

    /// Something to tell the user.
    fn tell(&self, what: &str);
}

/// An order, and what it is a part of.
pub struct Task<'a> {
    /// The name of the search.
    pub id: &'a str,
    /// Its job.
    pub job: &'a [u8],
    /// The order.
    pub order: &'a [u8],
    /// Set when the result is no longer wanted.
    pub stop: &'a AtomicBool,
}

/// The result of an order.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// The result.
    pub result: Vec<u8>,
    /// The orders for its children, if the part was cut.
    pub children: Vec<Vec<u8>>,
    /// Executions, to show how far the search is.
    pub executions: u64,
}

/// Why an order has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It was stopped.
    Stopped,
    /// It cannot be done here.
    Refused(String),
}

/// What a coordinator does with results.
pub trait Plan {
    /// The order for the whole.
    fn root(&self) -> Vec<u8>;

    /// The orders for the children of a part, as its result says, if it is a good one.
    fn children(&self, result: &[u8]) -> Result<Vec<Vec<u8>>, String>;

    /// Forgets what was added.
    fn clear(&mut self);

    /// Adds a result; they come in the order of the tree.
    fn add(&mut self, result: &[u8]) -> Result<(), String>;
}

/// How far a search is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Parts with a result: explored, or cut.
    pub done: u64,
    /// Parts that are known and have none.
    pub open: u64,
    /// Executions in those that are explored, as their workers say.
    pub executions: u64,
    /// Whether the server answers.
    pub connected: bool,
}

/// Called several times a second; it may end the search.
pub type Look<'a> = dyn FnMut(&Progress) -> ControlFlow<()> + 'a;
