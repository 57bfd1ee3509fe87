//! Distributes the parts of a search over many computers. NATS JetStream transports the orders for
//! parts and stores the results.
//!
//! This crate handles the network, not programs. The caller implements [`Work`], which explores the
//! part of an order, and [`Plan`], which interprets the results. For this crate, jobs, orders and
//! results are bytes.
//!
//! A *search* has a *job*, the subject of the exploration: for example, a program with options. The
//! *id* of the search is a fingerprint of its job. Its parts form a tree: the whole search is part
//! `0`, its children are `0.0`, `0.1` and so on. A part either has a result or is cut into
//! children. Whether it is cut, and what its result contains, depends only on its *order*, the
//! message that describes the part. So it does not matter which worker explores the part, or how
//! often.
//!
//! The server stores
//!
//! - the stream `mazurka-orders`, a queue of orders with the subjects `mazurka.orders.<id>.<path>`:
//!   each order is given to one worker until a worker acknowledges it;
//! - for each search the bucket `mazurka-<id>`, its *ledger*: the job, the results by path, and
//!   failures;
//! - the bucket `mazurka-workers`, the active workers; entries expire after a few seconds.
//!
//! The queue need not be reliable: it may deliver an order twice, or lose all orders. The ledger
//! records which parts have a result. If a part has no result and its order is not in the queue,
//! the coordinator sends the order again. If the ledger loses a result, the part is explored again
//! as well. At the end, the results are added from the ledger alone.
//!
//! This crate checks the data that it reads from the server: names, sizes, checksums, and that a
//! result belongs to the order that the coordinator would give. The caller checks the content.

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

/// The deadline of an order: if its worker is silent for this time, another worker gets the order.
/// So a crash of a worker delays its part by at most this time. docs/cluster.md has measurements.
pub(crate) const DEADLINE: Duration = Duration::from_secs(5);
/// Time between two extensions of the deadline by a worker.
pub(crate) const EXTENSION: Duration = Duration::from_millis(1500);
/// Maximum number of deliveries of an order. After that it counts as failed, because it probably
/// crashes its workers.
pub(crate) const MOST_DELIVERIES: i64 = 8;
/// A search ends after this many failures of one part.
pub(crate) const MOST_FAILURES: usize = 3;
/// Maximum size of an order.
pub(crate) const MOST_ORDER_BYTES: usize = 512 << 10;
/// Maximum size of a result.
pub(crate) const MOST_RESULT_BYTES: u64 = 1 << 30;
/// Time limit of a worker for delivering a result.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Why an operation has failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The server cannot be reached.
    #[error("cannot connect to {url}: {why}")]
    Connect {
        /// The URL of the server, without secrets.
        url: String,
        /// The reason.
        why: String,
    },
    /// The server could not answer; a later attempt may succeed.
    #[error("a request to the NATS server failed: {0}")]
    Server(String),
    /// The search does not exist.
    #[error(
        "the search is not on the server: it was cancelled, or is finished, or the server has lost its data"
    )]
    Gone,
    /// The ledger has another job under this name.
    #[error("the server has another job under the name of this search; cancel that first")]
    OtherJob,
    /// A message is too large.
    #[error("{what} has {bytes} bytes, but at most {most} are accepted")]
    TooLarge {
        /// The kind of message.
        what: &'static str,
        /// Its size.
        bytes: u64,
        /// The limit.
        most: u64,
    },
    /// The name is not the name of a search.
    #[error("`{0}` is not the name of a search; `mazurka cluster` lists the searches")]
    Name(String),
}

impl Error {
    pub(crate) fn server(error: impl std::fmt::Display) -> Self {
        Self::Server(error.to_string())
    }
}

/// The worker's part of a search, which the caller implements.
pub trait Work: Send + Sync + 'static {
    /// Explores the part of an order, and returns when this is done. The implementation must check
    /// regularly whether [`Task::stop`] is set.
    fn explore(&self, task: &Task<'_>) -> Result<PartResult, Failure>;

    /// Whether the worker should end.
    fn is_over(&self) -> bool;

    /// Shows a message to the user.
    fn report(&self, what: &str);
}

/// An order, with its search.
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
pub struct PartResult {
    /// The result.
    pub result: Vec<u8>,
    /// The orders for its children, if the part was cut.
    pub children: Vec<Vec<u8>>,
    /// Number of executions, for displaying progress.
    pub executions: u64,
}

/// Why an order has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The exploration was stopped.
    Stopped,
    /// This machine cannot explore the part.
    Refused(String),
}

/// The coordinator's part of a search, which the caller implements.
pub trait Plan {
    /// Returns the order for the whole search.
    fn root(&self) -> Vec<u8>;

    /// Returns the orders for the children of a part. The error is the reason why the result is
    /// invalid.
    fn children(&self, result: &[u8]) -> Result<Vec<Vec<u8>>, String>;

    /// Forgets all added results.
    fn clear(&mut self);

    /// Adds a result. Results are added in the order of the tree.
    fn add(&mut self, result: &[u8]) -> Result<(), String>;
}

/// The progress of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Number of parts with a result: explored, or cut.
    pub done: u64,
    /// Number of known parts without a result.
    pub open: u64,
    /// Number of executions in the explored parts, as the workers report it.
    pub executions: u64,
    /// Whether the server answers.
    pub connected: bool,
}

/// A function that is called several times a second, and may end the search.
pub type ProgressWatch<'a> = dyn FnMut(&Progress) -> ControlFlow<()> + 'a;
