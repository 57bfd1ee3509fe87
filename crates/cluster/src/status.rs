//! The state of a server, for `mazurka cluster`: its searches and workers; and the cancellation of
//! a search.

use std::time::Duration;

use futures_util::StreamExt;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::ledger::{Ledger, bucket};
use crate::names::{LEDGER, SearchId, WORKERS};
use crate::queue::Queue;
use crate::server::{Connection, Server, block_on};

/// A worker that has been silent for this time counts as gone.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);
/// Maximum number of listed workers.
const MOST_WORKERS: usize = 10_000;

/// The state of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The searches, by name.
    pub searches: Vec<SearchStatus>,
    /// The workers, by name.
    pub workers: Vec<WorkerStatus>,
}

/// A search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchStatus {
    /// Its name.
    pub id: String,
    /// Its job, if it is stored.
    pub job: Option<Vec<u8>>,
    /// Number of parts with a result.
    pub done: u64,
    /// Number of orders that wait or are in progress.
    pub queued: u64,
    /// The size of its ledger, in bytes.
    pub bytes: u64,
}

/// A worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerStatus {
    /// Its name.
    pub name: String,
    /// Maximum number of parts that it explores in parallel.
    pub jobs: usize,
    /// Number of parts in progress.
    pub busy: usize,
    /// Number of parts that it has explored or cut since its start.
    pub done: u64,
}

/// Returns the current state of a server.
pub fn status(server: &Server) -> Result<Status, Error> {
    block_on(1, async {
        let connection = server.connect(&mut || false).await?;
        let queue = Queue::open(&connection).await?;
        let mut names = connection.context.stream_names();
        let mut ids = Vec::new();
        while let Some(name) = names.next().await {
            let name = name.map_err(Error::server)?;
            let id = name
                .strip_prefix("KV_")
                .and_then(|n| n.strip_prefix(LEDGER));
            ids.extend(id.and_then(|id| id.parse::<SearchId>().ok()));
        }
        ids.sort_by_key(SearchId::to_string);
        let mut searches = Vec::new();
        for id in ids {
            let ledger = match Ledger::open(&connection, &id).await {
                // The search has just finished.
                Err(Error::Gone) => continue,
                other => other?,
            };
            searches.push(SearchStatus {
                job: ledger.job().await?,
                done: ledger.results().await?,
                queued: queue.parts(&id).await?.len() as u64,
                bytes: ledger.bytes(),
                id: id.to_string(),
            });
        }
        let workers = workers(&connection).await?;
        Ok(Status { searches, workers })
    })
}

/// Deletes a search from the server. Its coordinator and its workers detect that.
pub fn cancel(server: &Server, id: &str) -> Result<(), Error> {
    block_on(1, async {
        let id: SearchId = id.parse()?;
        let connection = server.connect(&mut || false).await?;
        Ledger::open(&connection, &id).await?;
        Ledger::delete(&connection, &id).await?;
        Queue::open(&connection).await?.remove_orders(&id).await
    })
}

/// Announces a worker.
pub(crate) async fn announce(connection: &Connection, worker: &WorkerStatus) -> Result<(), Error> {
    let about = ("workers of Mazurka", SIGN_OF_LIFE);
    let context = &connection.context;
    let store = match context.get_key_value(WORKERS).await {
        Ok(store) => store,
        Err(_) => bucket(connection, WORKERS, about).await?,
    };
    let sign = serde_json::to_vec(worker).map_err(Error::server)?;
    let put = store.put(&worker.name, sign.into()).await;
    put.map(|_| ()).map_err(Error::server)
}

async fn workers(connection: &Connection) -> Result<Vec<WorkerStatus>, Error> {
    let Ok(store) = connection.context.get_key_value(WORKERS).await else {
        return Ok(Vec::new());
    };
    let mut keys = store
        .keys()
        .await
        .map_err(Error::server)?
        .take(MOST_WORKERS);
    let mut all = Vec::new();
    while let Some(key) = keys.next().await {
        let entry = store.get(key.map_err(Error::server)?).await;
        let sign = entry.map_err(Error::server)?;
        all.extend(sign.and_then(|sign| serde_json::from_slice::<WorkerStatus>(&sign).ok()));
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}
