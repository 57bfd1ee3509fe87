//! The coordinator of a search: starts the search, supervises it, and adds up the results. It reads
//! the results in the order in which they were written, by their sequence numbers. So the
//! coordinator itself knows how far it has read, and the server keeps no state for it.
//!
//! At intervals the coordinator compares the parts without a result with the queue. If the order of
//! such a part is not in the queue, the order was lost, and the coordinator sends it again. It
//! reads the queue before the results, and a worker writes a result before it acknowledges the
//! order. So an order that was done is never taken for lost.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::{Duration, Instant};

use async_nats::connection::State;
use futures_util::{StreamExt, stream};

use crate::ledger::{Ledger, ResultHead};
use crate::names::{PartPath, SearchId};
use crate::queue::Queue;
use crate::server::{Connection, Server, block_on};
use crate::tree::Tree;
use crate::{Error, MOST_FAILURES, Plan, Progress, ProgressWatch};

/// Time between two calls of the caller's function.
const WATCH_INTERVAL: Duration = Duration::from_millis(50);
/// Time between two requests for new results.
const RESULT_INTERVAL: Duration = Duration::from_millis(100);
/// Time between two searches for lost orders.
const LOST_ORDER_INTERVAL: Duration = Duration::from_secs(5);
/// Pause after an error of the server.
const ERROR_PAUSE: Duration = Duration::from_millis(300);
/// Maximum number of results that are requested at the same time, when the results are added.
const MOST_RESULTS: usize = 32;
/// Time limit for adding results after the search was stopped.
const PARTIAL_SUM_TIME: Duration = Duration::from_millis(600);

/// A search to coordinate.
pub struct Search<'a> {
    /// Its name.
    pub id: &'a str,
    /// Its job.
    pub job: &'a [u8],
    /// Whether its ledger stays on the server after the search is done.
    pub keep: bool,
}

/// How a search ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All results were added.
    Complete,
    /// The caller stopped it. Some results were added, and the search can be resumed.
    Stopped,
    /// A part could not be explored, for these reasons. Some results were added.
    Failed(Vec<String>),
}

/// Runs a search until it is complete, the caller stops it, or a part has failed too often.
pub fn coordinate(
    server: &Server,
    search: &Search<'_>,
    plan: &mut dyn Plan,
    watch: &mut ProgressWatch<'_>,
) -> Result<Ended, Error> {
    block_on(1, async {
        let id: SearchId = search.id.parse()?;
        let over = &mut || watch(&Progress::default()).is_break();
        let connection = server.connect(over).await?;
        let progress = RefCell::new(Progress::default());
        let mut coordinator = None;
        loop {
            let ended = {
                let round = work_once(
                    &mut coordinator,
                    (&connection, &id, search),
                    plan,
                    &progress,
                );
                tokio::pin!(round);
                loop {
                    tokio::select! {
                        ended = &mut round => break Some(ended),
                        () = tokio::time::sleep(WATCH_INTERVAL) => {
                            if watch(&progress.borrow()).is_break() {
                                break None;
                            }
                        }
                    }
                }
            };
            let ended = match ended {
                Some(Ok(None)) if watch(&progress.borrow()).is_continue() => continue,
                Some(Ok(Some(ended))) => ended,
                Some(Err(Error::Server(_))) => {
                    progress.borrow_mut().connected = false;
                    continue;
                }
                Some(Err(error)) => return Err(error),
                Some(Ok(None)) | None => Ended::Stopped,
            };
            let Some(coordinator) = &mut coordinator else {
                return Ok(ended);
            };
            match ended {
                Ended::Complete if !search.keep => coordinator.clean_up().await,
                Ended::Complete => {}
                Ended::Stopped | Ended::Failed(_) => coordinator.add_some(plan).await,
            }
            return Ok(ended);
        }
    })
}

/// Opens the ledger if it is not open yet. Otherwise handles the next results and failures.
async fn work_once<'a>(
    coordinator: &mut Option<Coordinator<'a>>,
    (connection, id, search): (&'a Connection, &'a SearchId, &Search<'_>),
    plan: &mut dyn Plan,
    progress: &RefCell<Progress>,
) -> Result<Option<Ended>, Error> {
    let done = match coordinator {
        Some(coordinator) => coordinator.work_once(plan, progress).await,
        None => {
            let opened = Coordinator::open(connection, id, search.job, &*plan).await;
            opened
                .map(|opened| *coordinator = Some(opened))
                .map(|()| None)
        }
    };
    if let Err(Error::Server(_)) = done {
        if let Some(coordinator) = coordinator
            && coordinator.ledger.exists(connection, id).await == Ok(false)
        {
            return Err(Error::Gone);
        }
        tokio::time::sleep(ERROR_PAUSE).await;
    }
    done
}

/// The state of the coordination: the known tree of parts, and how far the ledger was read.
struct Coordinator<'a> {
    connection: &'a Connection,
    id: &'a SearchId,
    ledger: Ledger,
    queue: Queue,
    tree: Tree,
    /// The sequence numbers of the last known result and of the last known failure in the ledger; 0
    /// if there is none.
    results: u64,
    failures: u64,
    /// For each part that has failed, the reasons so far.
    failed: HashMap<PartPath, Vec<String>>,
    /// For each part, how often this coordinator has sent its order.
    attempts: HashMap<PartPath, u32>,
    /// Time of the last search for lost orders; `None` if one is due.
    searched: Option<Instant>,
}

impl<'a> Coordinator<'a> {
    async fn open(
        connection: &'a Connection,
        id: &'a SearchId,
        job: &[u8],
        plan: &dyn Plan,
    ) -> Result<Self, Error> {
        Ok(Self {
            connection,
            id,
            ledger: Ledger::create(connection, id, job).await?,
            queue: Queue::open(connection).await?,
            tree: Tree::new(&plan.root()),
            results: 0,
            failures: 0,
            failed: HashMap::new(),
            attempts: HashMap::new(),
            searched: None,
        })
    }

    async fn work_once(
        &mut self,
        plan: &mut dyn Plan,
        progress: &RefCell<Progress>,
    ) -> Result<Option<Ended>, Error> {
        let mut has_news = false;
        while let Some(written) = self.ledger.next_result(self.results + 1).await? {
            has_news = true;
            if !written.value.is_empty() && !self.tree.is_done(&written.path) {
                let result = self.ledger.whole(&written.path, &written.value).await?;
                self.record_result(written.path, result, plan).await?;
            }
            self.results = written.sequence;
            self.update_progress(progress);
        }
        while let Some(written) = self.ledger.next_failure(self.failures + 1).await? {
            self.failures = written.sequence;
            let why = String::from_utf8_lossy(&written.value).into_owned();
            self.fail(written.path, why);
        }
        self.update_progress(progress);
        if let Some(failed) = self.failure_reasons() {
            return Ok(Some(Ended::Failed(failed)));
        }
        if self.tree.open().is_empty() && self.add_all(plan).await? {
            return Ok(Some(Ended::Complete));
        }
        let due = |searched: Instant| searched.elapsed() >= LOST_ORDER_INTERVAL;
        if self.searched.is_none_or(due) {
            self.send_lost(plan).await?;
            self.searched = Some(Instant::now());
        }
        if !has_news {
            tokio::time::sleep(RESULT_INTERVAL).await;
        }
        Ok(None)
    }

    fn update_progress(&self, progress: &RefCell<Progress>) {
        let connected = self.connection.client.connection_state() == State::Connected;
        *progress.borrow_mut() = self.tree.progress(connected);
    }

    fn fail(&mut self, path: PartPath, why: String) {
        // Send the order again soon: another worker may succeed.
        self.searched = None;
        if !self.tree.is_done(&path) {
            self.failed.entry(path).or_default().push(why);
        }
    }

    /// Returns the reasons if some part has failed too often.
    fn failure_reasons(&self) -> Option<Vec<String>> {
        let failed = self
            .failed
            .iter()
            .filter(|(path, why)| why.len() >= MOST_FAILURES && self.tree.open().contains(path));
        let (path, why) = failed.min_by_key(|(path, _)| (*path).clone())?;
        let mut why: Vec<String> = why
            .iter()
            .map(|why| format!("part {path}: {why}"))
            .collect();
        why.dedup();
        Some(why)
    }

    /// Records a result, and those results of the part's children that arrived before it. Returns
    /// whether all of them are valid.
    async fn record_result(
        &mut self,
        path: PartPath,
        result: Option<(ResultHead, Option<Vec<u8>>)>,
        plan: &dyn Plan,
    ) -> Result<bool, Error> {
        let mut todo = vec![(path, result)];
        let mut good = true;
        while let Some((path, result)) = todo.pop() {
            let Some(expected_order) = self.tree.order_of(&path).cloned() else {
                continue;
            };
            let children = match &result {
                Some((head, Some(body))) if head.order == expected_order => plan.children(body),
                Some((_, Some(_))) => Err("its result belongs to another order".to_owned()),
                _ => Err("its result is damaged".to_owned()),
            };
            let children = children.and_then(|children| {
                let deep = !children.is_empty() && path.is_deepest();
                if deep {
                    Err("it is too deep".to_owned())
                } else {
                    Ok(children)
                }
            });
            match (children, result) {
                (Ok(children), Some((head, _))) => {
                    for child in self.tree.complete(&path, &children, head.executions) {
                        let result = self.ledger.result(&child).await?;
                        todo.push((child, result));
                    }
                }
                (Err(why), _) => {
                    good = false;
                    self.ledger.remove_result(&path).await?;
                    self.fail(path, why);
                }
                (Ok(_), None) => {}
            }
        }
        Ok(good)
    }

    /// Sends the orders of the open parts that are not in the queue.
    async fn send_lost(&mut self, plan: &dyn Plan) -> Result<(), Error> {
        if !self.ledger.exists(self.connection, self.id).await? {
            return Err(Error::Gone);
        }
        let queued = self.queue.parts(self.id).await?;
        let open = self.tree.open().iter();
        let lost: Vec<PartPath> = open
            .filter(|path| !queued.contains(path))
            .cloned()
            .collect();
        let run = self.ledger.run();
        let mut siblings: Option<(PartPath, Vec<Vec<u8>>)> = None;
        for path in lost {
            let result = self.ledger.result(&path).await?;
            if result.is_some() && self.record_result(path.clone(), result, plan).await? {
                continue;
            }
            let order = match path.parent() {
                None => Some(plan.root()),
                Some((parent, number)) => {
                    if siblings.as_ref().is_none_or(|(known, _)| *known != parent) {
                        let orders = self.orders_of(&parent, plan).await?;
                        siblings = orders.map(|orders| (parent, orders));
                    }
                    let orders = siblings.as_ref().map(|(_, orders)| orders);
                    orders.and_then(|orders| orders.get(number).cloned())
                }
            };
            let Some(order) = order else { continue };
            let attempt = self.attempts.entry(path.clone()).or_default();
            *attempt += 1;
            let sent = std::iter::once((path, order));
            self.queue.send(self.id, (&run, *attempt), sent).await?;
        }
        Ok(())
    }

    /// Returns the orders for the children of a part. If the result of the part is lost, reopens
    /// the part and returns `None`.
    async fn orders_of(
        &mut self,
        path: &PartPath,
        plan: &dyn Plan,
    ) -> Result<Option<Vec<Vec<u8>>>, Error> {
        let result = self.ledger.result(path).await?;
        let body = result.and_then(|(_, body)| body);
        let orders = body.and_then(|body| plan.children(&body).ok());
        if orders.is_none() {
            self.tree.reopen(path);
            self.searched = None;
        }
        Ok(orders)
    }

    /// Adds all results, in the order of the tree. If one is missing or damaged, reopens its part
    /// and returns false; the sum is then not used.
    async fn add_all(&mut self, plan: &mut dyn Plan) -> Result<bool, Error> {
        plan.clear();
        let bad = self.add(plan, None).await?;
        if let Some((path, why)) = bad {
            self.ledger.remove_result(&path).await?;
            self.tree.reopen(&path);
            self.fail(path, why);
            return Ok(false);
        }
        Ok(true)
    }

    /// Adds results, until a time if one is given. Returns the part of the first invalid result,
    /// and the reason.
    async fn add(
        &mut self,
        plan: &mut dyn Plan,
        until: Option<Instant>,
    ) -> Result<Option<(PartPath, String)>, Error> {
        let ledger = &self.ledger;
        let parts: Vec<(PartPath, usize)> = { self.tree.done().iter() }
            .map(|(path, node)| (path.clone(), node.children))
            .collect();
        let results = stream::iter(parts).map(|(path, children)| async move {
            let result = ledger.result(&path).await;
            (path, children, result)
        });
        let mut results = std::pin::pin!(results.buffered(MOST_RESULTS));
        while let Some((path, children, result)) = results.next().await {
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(None);
            }
            let expected_order = self.tree.order_of(&path);
            let added = match result? {
                Some((head, Some(body))) if Some(&head.order) == expected_order => {
                    match plan.children(&body) {
                        Ok(now) if now.len() == children => plan.add(&body),
                        Ok(_) => Err("its result has changed".to_owned()),
                        Err(why) => Err(why),
                    }
                }
                _ => Err("its result is missing or damaged".to_owned()),
            };
            if let Err(why) = added {
                return Ok(Some((path, why)));
            }
        }
        Ok(None)
    }

    /// Adds the available results within a time limit.
    async fn add_some(&mut self, plan: &mut dyn Plan) {
        plan.clear();
        let until = Instant::now() + PARTIAL_SUM_TIME;
        let added = self.add(plan, Some(until));
        // Missing results are left out.
        let _ = tokio::time::timeout(PARTIAL_SUM_TIME, added).await;
    }

    /// Deletes the search from the server, if possible.
    async fn clean_up(&mut self) {
        let _ = self.queue.remove_orders(self.id).await;
        let _ = Ledger::delete(self.connection, self.id).await;
    }
}
