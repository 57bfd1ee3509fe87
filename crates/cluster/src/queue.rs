//! The queue of orders: the stream from which workers take orders. A worker acknowledges an order
//! when its part is done.

use std::collections::HashSet;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, Consumer, pull};
use async_nats::jetstream::context::PublishAckFuture;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{Config, RetentionPolicy, Stream};
use futures_util::StreamExt;

use crate::names::{CONSUMER, ORDERS, PartPath, SearchId, parse_subject};
use crate::server::Connection;
use crate::{DEADLINE, Error};

/// Messages with the same id within this time count as one, so that two workers which cut the same
/// part do not publish its children twice.
const DUPLICATES: Duration = Duration::from_secs(120);
/// Maximum number of waiting workers, and of orders in progress. The defaults of the server, 512
/// and 1000, are fewer than the cores of a cluster.
const MOST_WAITING: i64 = 16_384;
const MOST_IN_PROGRESS: i64 = 65_536;
/// Maximum number of sent messages that the server has not acknowledged yet.
const MOST_UNACKNOWLEDGED: usize = 64;

/// The queue of orders.
#[derive(Clone)]
pub(crate) struct Queue {
    connection: Connection,
    stream: Stream,
}

impl Queue {
    /// Opens the queue, or creates it.
    pub async fn open(connection: &Connection) -> Result<Self, Error> {
        let config = Config {
            name: ORDERS.to_owned(),
            description: Some("parts of searches by Mazurka".to_owned()),
            subjects: vec!["mazurka.orders.>".to_owned()],
            retention: RetentionPolicy::WorkQueue,
            duplicate_window: DUPLICATES,
            ..Config::default()
        };
        let stream = connection.context.get_or_create_stream(config).await;
        Ok(Self {
            connection: connection.clone(),
            stream: stream.map_err(Error::server)?,
        })
    }

    /// Returns the consumer from which workers take orders.
    pub async fn consumer(&self) -> Result<Consumer<pull::Config>, Error> {
        let config = pull::Config {
            durable_name: Some(CONSUMER.to_owned()),
            ack_policy: AckPolicy::Explicit,
            ack_wait: DEADLINE,
            max_deliver: -1,
            max_waiting: MOST_WAITING,
            max_ack_pending: MOST_IN_PROGRESS,
            ..pull::Config::default()
        };
        let consumer = self.stream.get_or_create_consumer(CONSUMER, config).await;
        consumer.map_err(Error::server)
    }

    /// Sends orders. The server drops an order for a part if one was already sent in the same run
    /// of the search ([`Ledger::run`](crate::ledger::Ledger::run)) and the same attempt.
    pub async fn send(
        &self,
        id: &SearchId,
        (run, attempt): (&str, u32),
        orders: impl Iterator<Item = (PartPath, Vec<u8>)>,
    ) -> Result<(), Error> {
        let mut unacknowledged: Vec<PublishAckFuture> = Vec::new();
        for (path, order) in orders {
            let message = PublishMessage::build()
                .payload(order.into())
                .message_id(format!("{id}.{path}#{attempt}@{run}"));
            let context = &self.connection.context;
            let sent = context.send_publish(id.order(&path), message).await;
            unacknowledged.push(sent.map_err(Error::server)?);
            if unacknowledged.len() >= MOST_UNACKNOWLEDGED {
                wait_for_acknowledgements(&mut unacknowledged).await?;
            }
        }
        wait_for_acknowledgements(&mut unacknowledged).await
    }

    /// Returns the parts of a search whose orders wait or are in progress.
    pub async fn parts(&self, id: &SearchId) -> Result<HashSet<PartPath>, Error> {
        let info = self.stream.info_with_subjects(id.orders()).await;
        let mut subjects = info.map_err(Error::server)?;
        let mut parts = HashSet::new();
        while let Some(next) = subjects.next().await {
            let (subject, _) = next.map_err(Error::server)?;
            parts.extend(parse_subject(&subject).map(|(_, path)| path));
        }
        Ok(parts)
    }

    /// Deletes the orders of a search.
    pub async fn remove_orders(&self, id: &SearchId) -> Result<(), Error> {
        let purged = self.stream.purge().filter(id.orders()).await;
        purged.map(|_| ()).map_err(Error::server)
    }
}

/// Waits until the server has acknowledged the messages.
async fn wait_for_acknowledgements(
    unacknowledged: &mut Vec<PublishAckFuture>,
) -> Result<(), Error> {
    for sent in unacknowledged.drain(..) {
        sent.await.map_err(Error::server)?;
    }
    Ok(())
}
