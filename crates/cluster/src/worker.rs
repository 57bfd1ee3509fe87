//! A worker: takes orders, explores their parts and writes the results.
//!
//! The order of its actions makes crashes harmless. If a part was cut, the worker first sends the
//! orders for the children. Then it writes the result, and at last it acknowledges the order. If it
//! crashes before the acknowledgement, another worker gets the order. If the result already exists,
//! the other worker does not explore the part again.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_nats::jetstream::consumer::{Consumer, pull};
use async_nats::jetstream::{AckKind, Message};
use futures_util::StreamExt;

use crate::ledger::{Ledger, checksum};
use crate::names::{PartPath, SearchId, parse_subject};
use crate::queue::Queue;
use crate::server::{Connection, Server, block_on};
use crate::status::announce;
use crate::{
    EXTENSION, Error, Failure, MOST_DELIVERIES, MOST_ORDER_BYTES, PATIENCE, PartResult, Task, Work,
};

/// How long the server waits for an order when a worker asks for one.
const ORDER_TIMEOUT: Duration = Duration::from_secs(2);
/// Additional time for the answer of the server.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// Pause after an error of the server.
const ERROR_PAUSE: Duration = Duration::from_millis(300);
/// Time between two checks whether the worker should end.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// How long the parts in progress may take to stop.
const STOP_TIMEOUT: Duration = Duration::from_millis(700);
/// Time between two announcements of the worker.
const ANNOUNCE_INTERVAL: Duration = Duration::from_secs(4);

/// The settings of a worker.
#[derive(Clone, Debug)]
pub struct WorkerSettings {
    /// Its name, for display.
    pub name: String,
    /// Maximum number of parts in parallel.
    pub jobs: usize,
    /// Ends the worker after it has been idle for this time.
    pub idle: Option<Duration>,
}

/// Works until it is stopped or has been idle for too long. Returns the number of parts that it has
/// explored or cut.
pub fn work(server: &Server, settings: &WorkerSettings, work: Arc<dyn Work>) -> Result<u64, Error> {
    let jobs = settings.jobs.max(1);
    block_on(jobs, async {
        let connection = server.connect(&mut || work.is_over()).await?;
        let state = Arc::new(WorkerState {
            connection,
            name: settings.name.clone(),
            work,
            jobs,
            busy: AtomicUsize::new(0),
            done: AtomicU64::new(0),
            over: AtomicBool::new(false),
            last: Mutex::new(Instant::now()),
            job: Mutex::new(None),
        });
        let mut slots: Vec<_> = (0..jobs)
            .map(|_| tokio::spawn(Arc::clone(&state).handle_orders()))
            .collect();
        slots.push(tokio::spawn(Arc::clone(&state).announce_regularly()));
        let idle = |most: Duration| {
            let last = state.last.lock().unwrap_or_else(PoisonError::into_inner);
            state.busy.load(Ordering::SeqCst) == 0 && last.elapsed() >= most
        };
        while !state.work.is_over() && !settings.idle.is_some_and(idle) {
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
        state.over.store(true, Ordering::SeqCst);
        // Wait until the parts in progress have stopped.
        let until = Instant::now() + STOP_TIMEOUT;
        while state.busy.load(Ordering::SeqCst) > 0 && Instant::now() < until {
            tokio::time::sleep(CHECK_INTERVAL / 5).await;
        }
        let _ = tokio::time::timeout(STOP_TIMEOUT, state.connection.client.flush()).await;
        slots.iter().for_each(tokio::task::JoinHandle::abort);
        Ok(state.done.load(Ordering::SeqCst))
    })
}

/// The data that the slots of a worker share. A slot takes one order at a time.
struct WorkerState {
    connection: Connection,
    name: String,
    work: Arc<dyn Work>,
    jobs: usize,
    busy: AtomicUsize,
    done: AtomicU64,
    over: AtomicBool,
    /// The last time when a part was in progress.
    last: Mutex<Instant>,
    /// The job that was read last.
    job: Mutex<Option<CachedJob>>,
}

/// A job, with the name and the run of its search.
type CachedJob = (SearchId, String, Arc<Vec<u8>>);

/// An order that this worker has taken from the queue.
struct Order {
    message: Message,
    id: SearchId,
    path: PartPath,
    /// The checksum of the order itself, the content of the message.
    checksum: String,
    ledger: Ledger,
}

impl WorkerState {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst) || self.work.is_over()
    }

    fn record_activity(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Takes and handles orders in a loop.
    async fn handle_orders(self: Arc<Self>) {
        let mut source = None;
        while !self.is_over() {
            let taken = self.take(&mut source).await;
            let worked = match taken {
                Ok(Some((message, queue))) => {
                    self.busy.fetch_add(1, Ordering::SeqCst);
                    let worked = self.handle(message, &queue).await;
                    self.record_activity();
                    self.busy.fetch_sub(1, Ordering::SeqCst);
                    worked
                }
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            };
            if worked.is_err() {
                source = None;
                tokio::time::sleep(ERROR_PAUSE).await;
            }
        }
    }

    /// Returns the next order, with the queue that it comes from; `None` if none arrives in time.
    /// `source` caches the queue and its consumer.
    async fn take(
        &self,
        source: &mut Option<(Queue, Consumer<pull::Config>)>,
    ) -> Result<Option<(Message, Queue)>, Error> {
        if source.is_none() {
            let queue = Queue::open(&self.connection).await?;
            let consumer = queue.consumer().await?;
            *source = Some((queue, consumer));
        }
        let Some((queue, consumer)) = source else {
            return Ok(None);
        };
        let request = consumer.batch().max_messages(1).expires(ORDER_TIMEOUT);
        let mut batch = request.messages().await.map_err(Error::server)?;
        let next = tokio::time::timeout(ORDER_TIMEOUT + ANSWER_TIMEOUT, batch.next()).await;
        match next {
            Ok(None) => Ok(None),
            Ok(Some(Ok(message))) => Ok(Some((message, queue.clone()))),
            Ok(Some(Err(error))) => Err(Error::server(error)),
            Err(_) => Err(Error::Server("it does not answer".to_owned())),
        }
    }

    async fn handle(&self, message: Message, queue: &Queue) -> Result<(), Error> {
        let Some((id, path)) = parse_subject(&message.subject) else {
            return end(&message, AckKind::Term).await;
        };
        let ledger = match Ledger::open(&self.connection, &id).await {
            Err(Error::Gone) => return end(&message, AckKind::Term).await,
            other => other?,
        };
        let checksum = checksum(&message.payload);
        if ledger.has_result(&path, &checksum).await? {
            return end(&message, AckKind::Ack).await;
        }
        let order = Order {
            message,
            id,
            path,
            checksum,
            ledger,
        };
        if let Some(why) = self.refusal_reason(&order) {
            return self.refuse(&order, &why).await;
        }
        let Some(job) = self.job(&order).await? else {
            return self.refuse(&order, "its job is missing or damaged").await;
        };
        match self.explore(&order, job).await {
            Ok(done) => self.deliver(&order, done, queue).await,
            Err(Failure::Stopped) => end(&order.message, AckKind::Nak(None)).await,
            Err(Failure::Refused(why)) => self.refuse(&order, &why).await,
        }
    }

    /// Returns the reason to refuse an order without exploring its part; `None` if there is none.
    fn refusal_reason(&self, order: &Order) -> Option<String> {
        let size = order.message.payload.len();
        if size > MOST_ORDER_BYTES {
            return Some(format!("the order has {size} bytes"));
        }
        let delivered = order.message.info().map_or(0, |info| info.delivered);
        let often = delivered > MOST_DELIVERIES;
        often.then(|| format!("{MOST_DELIVERIES} workers received it, but none has answered"))
    }

    /// Returns the job of the search to which an order belongs; caches the last one. Returns `None`
    /// if the ledger has no job.
    async fn job(&self, order: &Order) -> Result<Option<Arc<Vec<u8>>>, Error> {
        let run = order.ledger.run();
        {
            let cached = self.job.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((id, known_run, job)) = &*cached
                && (id, known_run) == (&order.id, &run)
            {
                return Ok(Some(Arc::clone(job)));
            }
        }
        let Some(job) = order.ledger.job().await?.map(Arc::new) else {
            return Ok(None);
        };
        let mut cached = self.job.lock().unwrap_or_else(PoisonError::into_inner);
        *cached = Some((order.id.clone(), run, Arc::clone(&job)));
        Ok(Some(job))
    }

    /// Explores a part, and meanwhile extends the deadline of its order.
    async fn explore(&self, order: &Order, job: Arc<Vec<u8>>) -> Result<PartResult, Failure> {
        let stop = Arc::new(AtomicBool::new(false));
        let (work, flag) = (Arc::clone(&self.work), Arc::clone(&stop));
        let (id, bytes) = (order.id.to_string(), order.message.payload.clone());
        let mut exploring = tokio::task::spawn_blocking(move || {
            work.explore(&Task {
                id: &id,
                job: &job,
                order: &bytes,
                stop: &flag,
            })
        });
        loop {
            tokio::select! {
                done = &mut exploring => {
                    let broken = |_| Failure::Refused("the explorer has a defect: it panicked".to_owned());
                    return done.map_err(broken)?;
                }
                () = tokio::time::sleep(EXTENSION) => {
                    // If this message is lost, another worker also explores the part, which does no
                    // harm.
                    let _ = order.message.ack_with(AckKind::Progress).await;
                    let exists = order.ledger.exists(&self.connection, &order.id).await;
                    if exists == Ok(false) {
                        stop.store(true, Ordering::SeqCst);
                    }
                }
            }
        }
    }

    /// Writes the result of an order, with retries while the server is away.
    async fn deliver(&self, order: &Order, done: PartResult, queue: &Queue) -> Result<(), Error> {
        let most = MOST_ORDER_BYTES.min(self.connection.most_bytes());
        if let Some(large) = done.children.iter().find(|child| child.len() > most) {
            let why = format!("the order for a child has {} bytes", large.len());
            return self.refuse(order, &why).await;
        }
        let start = Instant::now();
        loop {
            let written = self.try_to_deliver(order, &done, queue).await;
            let again = match &written {
                Ok(()) => {
                    self.done.fetch_add(1, Ordering::SeqCst);
                    false
                }
                Err(Error::Server(_)) => {
                    let exists = order.ledger.exists(&self.connection, &order.id).await;
                    exists != Ok(false) && start.elapsed() < PATIENCE && !self.is_over()
                }
                Err(error) => {
                    return self.refuse(order, &error.to_string()).await;
                }
            };
            if !again {
                return written;
            }
            tokio::time::sleep(ERROR_PAUSE).await;
            let _ = order.message.ack_with(AckKind::Progress).await;
        }
    }

    async fn try_to_deliver(
        &self,
        order: &Order,
        done: &PartResult,
        queue: &Queue,
    ) -> Result<(), Error> {
        let Order { id, path, .. } = order;
        let children = done.children.iter().enumerate();
        let children = children.map(|(k, child)| (path.child(k), child.clone()));
        queue.send(id, (&order.ledger.run(), 0), children).await?;
        let result = (&done.result[..], done.executions);
        order
            .ledger
            .put_result(path, &order.checksum, result)
            .await?;
        end(&order.message, AckKind::Ack).await
    }

    /// Records why an order failed.
    async fn refuse(&self, order: &Order, why: &str) -> Result<(), Error> {
        let short = &order.id.to_string()[..8];
        let Order { path, ledger, .. } = order;
        self.work
            .report(&format!("search {short}, part {path}: {why}"));
        let unique = checksum(
            order
                .message
                .reply
                .as_deref()
                .unwrap_or_default()
                .as_bytes(),
        );
        let by = format!("{}-{}", self.name, &unique[..16]);
        let why = format!("{why} (worker {})", self.name);
        ledger.put_failure(path, &by, &why).await?;
        end(&order.message, AckKind::Term).await
    }

    /// Announces this worker at intervals.
    async fn announce_regularly(self: Arc<Self>) {
        while !self.is_over() {
            let (busy, done) = (&self.busy, &self.done);
            let status = crate::WorkerStatus {
                name: self.name.clone(),
                jobs: self.jobs,
                busy: busy.load(Ordering::SeqCst),
                done: done.load(Ordering::SeqCst),
            };
            // The announcement is for display only, and may be lost.
            let _ = announce(&self.connection, &status).await;
            tokio::time::sleep(ANNOUNCE_INTERVAL).await;
        }
    }
}

/// Acknowledges or rejects an order, and waits for the server's confirmation.
async fn end(message: &Message, kind: AckKind) -> Result<(), Error> {
    message.double_ack_with(kind).await.map_err(Error::server)
}
