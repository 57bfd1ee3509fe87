//! The ledger of a search: its job, the results of its parts, and failures.
//!
//! A result has a *head* and a body. A small body is stored with the head; a larger one is cut into
//! pieces with keys of their own. These keys contain the checksum of the body, so the pieces of two
//! workers that explore the same part are not mixed. The head is written last. If pieces are
//! missing or the checksum differs, the result counts as absent.

use std::time::Duration;

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{GetStreamError, GetStreamErrorKind, KeyValueError};
use async_nats::jetstream::kv::Store;
use async_nats::jetstream::stream::{Config, DirectGetErrorKind, DiscardPolicy};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::names::{PartPath, SearchId};
use crate::server::Connection;
use crate::{Error, MOST_RESULT_BYTES};

/// Maximum size of a body that is stored with its head.
const INLINE: usize = 64 << 10;
/// Maximum length of a stored reason.
const MOST_REASON: usize = 1000;

/// Returns the checksum of some bytes, as text.
pub(crate) fn checksum(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A result without its body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResultHead {
    /// The checksum of the order to which this is the result.
    #[serde(rename = "of")]
    pub order: String,
    /// The checksum of the body, and its size.
    pub checksum: String,
    pub bytes: u64,
    /// The size of a piece; 0 if the body is stored with the head.
    pub piece: u64,
    /// Number of executions, for display only.
    pub executions: u64,
}

impl ResultHead {
    fn pieces(&self) -> u64 {
        self.bytes.checked_div(self.piece).map_or(0, |whole| {
            whole + u64::from(!self.bytes.is_multiple_of(self.piece))
        })
    }

    /// Whether this version could have written this head.
    fn fits(&self) -> bool {
        let digits = |text: &str| text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let sizes = self.bytes <= MOST_RESULT_BYTES && (self.piece == 0 || self.piece >= 512);
        digits(&self.order) && digits(&self.checksum) && sizes
    }

    /// Splits a value into the head and the bytes after it.
    fn read(value: &[u8]) -> Option<(Self, &[u8])> {
        let end = value.iter().position(|&byte| byte == b'\n')?;
        let head: Self = serde_json::from_slice(&value[..end]).ok()?;
        head.fits().then_some((head, &value[end + 1..]))
    }

    fn value(&self, body: &[u8]) -> Result<Vec<u8>, Error> {
        let mut value = serde_json::to_vec(self).map_err(Error::server)?;
        value.push(b'\n');
        value.extend(body);
        Ok(value)
    }
}

/// An entry of the ledger, with its sequence number: the server numbers all writes.
pub(crate) struct LedgerEntry {
    pub sequence: u64,
    pub path: PartPath,
    /// The value; empty if the entry was deleted or has no head.
    pub value: Vec<u8>,
}

/// The ledger of one search.
#[derive(Clone)]
pub(crate) struct Ledger {
    store: Store,
    most_bytes: usize,
}

/// Whether an error means that the stream does not exist.
fn is_missing(error: &KeyValueError) -> bool {
    let source = std::error::Error::source(error);
    let stream = source.and_then(|source| source.downcast_ref::<GetStreamError>());
    stream.is_some_and(|error| match error.kind() {
        GetStreamErrorKind::JetStream(error) => error.error_code() == ErrorCode::STREAM_NOT_FOUND,
        _ => false,
    })
}

/// Creates a bucket with a description and a lifetime of its values. It creates the stream behind
/// the bucket itself, because the client's function for buckets uses options that servers before
/// 2.11 do not support.
pub(crate) async fn bucket(
    connection: &Connection,
    name: &str,
    (about, max_age): (&str, Duration),
) -> Result<Store, Error> {
    let config = Config {
        name: format!("KV_{name}"),
        description: Some(about.to_owned()),
        subjects: vec![format!("$KV.{name}.>")],
        max_messages_per_subject: 1,
        max_age,
        discard: DiscardPolicy::New,
        allow_rollup: true,
        allow_direct: true,
        num_replicas: 1,
        ..Config::default()
    };
    let created = connection.context.get_or_create_stream(config).await;
    created.map_err(Error::server)?;
    let store = connection.context.get_key_value(name).await;
    store.map_err(Error::server)
}

impl Ledger {
    /// Opens the ledger of a search, if it exists.
    pub async fn open(connection: &Connection, id: &SearchId) -> Result<Self, Error> {
        match connection.context.get_key_value(id.bucket()).await {
            Ok(store) => Ok(Self::new(connection, store)),
            Err(error) if is_missing(&error) => Err(Error::Gone),
            Err(error) => Err(Error::server(error)),
        }
    }

    fn new(connection: &Connection, store: Store) -> Self {
        Self {
            store,
            most_bytes: connection.most_bytes(),
        }
    }

    /// Opens the ledger of a search, or creates it with this job.
    pub async fn create(connection: &Connection, id: &SearchId, job: &[u8]) -> Result<Self, Error> {
        let ledger = match Self::open(connection, id).await {
            Err(Error::Gone) => {
                let about = ("a search by Mazurka", Duration::ZERO);
                Self::new(connection, bucket(connection, &id.bucket(), about).await?)
            }
            other => other?,
        };
        match ledger.job().await? {
            Some(known) if known == job => {}
            Some(_) => return Err(Error::OtherJob),
            None => ledger.put("job", &checksum(&[]), job, 0).await?,
        }
        Ok(ledger)
    }

    /// Returns the creation time of the ledger, which identifies a *run* of the search: a cancelled
    /// search may be started again with the same name, and gets another ledger.
    pub fn run(&self) -> String {
        let created = self.store.stream.cached_info().created;
        format!("{created:?}").replace(' ', "")
    }

    /// Whether this ledger still exists, and was not replaced by that of another run.
    pub async fn exists(&self, connection: &Connection, id: &SearchId) -> Result<bool, Error> {
        match Self::open(connection, id).await {
            Ok(now) => Ok(now.run() == self.run()),
            Err(Error::Gone) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns the job.
    pub async fn job(&self) -> Result<Option<Vec<u8>>, Error> {
        let entry = self.store.get("job").await.map_err(Error::server)?;
        let Some(value) = entry else { return Ok(None) };
        let Some((head, body)) = ResultHead::read(&value) else {
            return Ok(None);
        };
        self.body("job", &head, body).await
    }

    /// Writes the result of an order.
    pub async fn put_result(
        &self,
        path: &PartPath,
        order: &str,
        (body, executions): (&[u8], u64),
    ) -> Result<(), Error> {
        if body.len() as u64 > MOST_RESULT_BYTES {
            return Err(Error::TooLarge {
                what: "a result",
                bytes: body.len() as u64,
                most: MOST_RESULT_BYTES,
            });
        }
        self.put(&format!("head.{path}"), order, body, executions)
            .await
    }

    async fn put(&self, key: &str, order: &str, body: &[u8], executions: u64) -> Result<(), Error> {
        let piece = self.most_bytes;
        let small = body.len() <= INLINE.min(piece / 2);
        let head = ResultHead {
            order: order.to_owned(),
            checksum: checksum(body),
            bytes: body.len() as u64,
            piece: if small { 0 } else { piece as u64 },
            executions,
        };
        let mut inline = body;
        if !small {
            for (k, piece) in body.chunks(piece).enumerate() {
                let key = format!("piece.{key}.{}.{k}", head.checksum);
                let written = self.store.put(key, piece.to_vec().into()).await;
                written.map_err(Error::server)?;
            }
            inline = &[];
        }
        let written = self.store.put(key, head.value(inline)?.into()).await;
        written.map(|_| ()).map_err(Error::server)
    }

    /// Returns the body of a result, if it is complete.
    async fn body(
        &self,
        key: &str,
        head: &ResultHead,
        inline: &[u8],
    ) -> Result<Option<Vec<u8>>, Error> {
        let mut body = inline.to_vec();
        for k in 0..head.pieces() {
            let key = format!("piece.{key}.{}.{k}", head.checksum);
            let Some(piece) = self.store.get(key).await.map_err(Error::server)? else {
                return Ok(None);
            };
            if (body.len() + piece.len()) as u64 > head.bytes {
                return Ok(None);
            }
            body.extend(piece);
        }
        let whole = body.len() as u64 == head.bytes && checksum(&body) == head.checksum;
        Ok(whole.then_some(body))
    }

    /// Returns the head of a result, and its body if it is complete.
    pub async fn result(
        &self,
        path: &PartPath,
    ) -> Result<Option<(ResultHead, Option<Vec<u8>>)>, Error> {
        let entry = self.store.get(format!("head.{path}")).await;
        match entry.map_err(Error::server)? {
            Some(value) => self.whole(path, &value).await,
            None => Ok(None),
        }
    }

    /// Returns the head and the body of a result, from the value of its key.
    pub async fn whole(
        &self,
        path: &PartPath,
        value: &[u8],
    ) -> Result<Option<(ResultHead, Option<Vec<u8>>)>, Error> {
        let Some((head, inline)) = ResultHead::read(value) else {
            return Ok(None);
        };
        let body = self.body(&format!("head.{path}"), &head, inline).await?;
        Ok(Some((head, body)))
    }

    /// Whether an order has a result.
    pub async fn has_result(&self, path: &PartPath, order: &str) -> Result<bool, Error> {
        let entry = self.store.get(format!("head.{path}")).await;
        let value = entry.map_err(Error::server)?;
        let head = value.as_deref().and_then(ResultHead::read);
        Ok(head.is_some_and(|(head, _)| head.order == order))
    }

    /// Deletes a result.
    pub async fn remove_result(&self, path: &PartPath) -> Result<(), Error> {
        let removed = self.store.delete(format!("head.{path}")).await;
        removed.map_err(Error::server)
    }

    /// Records that a worker could not explore a part, and the reason. `by` distinguishes the
    /// failures of one part.
    pub async fn put_failure(&self, path: &PartPath, by: &str, why: &str) -> Result<(), Error> {
        let why: String = why.chars().take(MOST_REASON).collect();
        let key = format!("failed.{path}.{by}");
        let written = self.store.put(key, why.into_bytes().into()).await;
        written.map(|_| ()).map_err(Error::server)
    }

    /// Returns the first result with at least this sequence number; `None` if there is none yet.
    pub async fn next_result(&self, from: u64) -> Result<Option<LedgerEntry>, Error> {
        self.next("head.", from, PartPath::parse).await
    }

    /// Returns the first failure with at least this sequence number. The end of its key, after the
    /// last dot, is the `by` of [`put_failure`](Self::put_failure).
    pub async fn next_failure(&self, from: u64) -> Result<Option<LedgerEntry>, Error> {
        let path = |key: &str| PartPath::parse(key.rsplit_once('.')?.0);
        self.next("failed.", from, path).await
    }

    async fn next(
        &self,
        kind: &str,
        mut from: u64,
        path: impl Fn(&str) -> Option<PartPath>,
    ) -> Result<Option<LedgerEntry>, Error> {
        let start = format!("$KV.{}.{kind}", self.store.name);
        loop {
            let subject = format!("{start}>");
            let next = self
                .store
                .stream
                .direct_get_next_for_subject(subject, Some(from));
            let message = match next.await {
                Ok(message) => message,
                Err(error) if error.kind() == DirectGetErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(Error::server(error)),
            };
            let key = message.subject.strip_prefix(&start);
            match key.and_then(&path) {
                Some(path) => {
                    return Ok(Some(LedgerEntry {
                        sequence: message.sequence,
                        path,
                        value: message.payload.to_vec(),
                    }));
                }
                // The key is not one of this crate: skip it.
                None => from = message.sequence + 1,
            }
        }
    }

    /// Returns how many results the ledger has.
    pub async fn results(&self) -> Result<u64, Error> {
        use futures_util::StreamExt;
        let filter = format!("$KV.{}.head.>", self.store.name);
        let info = self.store.stream.info_with_subjects(filter).await;
        let mut subjects = info.map_err(Error::server)?;
        let mut results = 0;
        while let Some(next) = subjects.next().await {
            next.map_err(Error::server)?;
            results += 1;
        }
        Ok(results)
    }

    /// Returns the size of the ledger on the server, in bytes.
    pub fn bytes(&self) -> u64 {
        self.store.stream.cached_info().state.bytes
    }

    /// Deletes the ledger of a search from the server.
    pub async fn delete(connection: &Connection, id: &SearchId) -> Result<(), Error> {
        let deleted = connection.context.delete_key_value(id.bucket()).await;
        deleted.map(|_| ()).map_err(Error::server)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> ResultHead {
        ResultHead {
            order: checksum(b"order"),
            checksum: checksum(b"body"),
            bytes: 4,
            piece: 0,
            executions: 7,
        }
    }

    #[test]
    fn a_checksum_is_known() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(checksum(&[]), empty);
    }

    #[test]
    fn a_head_comes_back() {
        let value = head().value(b"bo\ndy").expect("JSON");
        assert_eq!(ResultHead::read(&value), Some((head(), &b"bo\ndy"[..])));
        assert_eq!(ResultHead::read(b""), None);
        assert_eq!(ResultHead::read(b"{}\n"), None);
        let pieces = |bytes, piece| {
            ResultHead {
                bytes,
                piece,
                ..head()
            }
            .pieces()
        };
        assert_eq!(
            [pieces(4, 0), pieces(1024, 512), pieces(1025, 512)],
            [0, 2, 3]
        );
    }

    #[test]
    fn malicious_heads_are_rejected() {
        let mut all = [head(), head(), head()];
        all[0].bytes = u64::MAX;
        all[1].piece = 1;
        all[2].checksum = "../../x".to_owned();
        for head in all {
            let value = head.value(b"body").expect("JSON");
            assert_eq!(ResultHead::read(&value), None, "{head:?}");
        }
    }
}
