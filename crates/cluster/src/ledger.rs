//! The ledger of a search: its job, the results of its parts, and failures.
//!
//! A result is a *head* and a body. A small body stands in the head; a larger one is cut into
//! pieces under keys with its checksum in them, so that two workers with the same part do not mix
//! theirs, and the head is written last. A head without all its pieces, or whose checksum differs,
//! is as good as none.

use std::time::Duration;

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{GetStreamError, GetStreamErrorKind, KeyValueError};
use async_nats::jetstream::kv::Store;
use async_nats::jetstream::stream::{Config, DirectGetErrorKind, DiscardPolicy};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::names::{Id, Path};
use crate::server::Connection;
use crate::{Error, MOST_RESULT_BYTES};

/// A body up to this size stands in its head.
const INLINE: usize = 64 << 10;
/// The most that is kept of a reason.
const MOST_REASON: usize = 1000;

/// The checksum of some bytes, as text.
pub(crate) fn checksum(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What is known of a result without its body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Head {
    /// The checksum of the order.
    pub of: String,
    /// The checksum of the body, and its size.
    pub checksum: String,
    pub bytes: u64,
    /// The size of a piece; 0 if the body stands behind the head.
    pub piece: u64,
    /// Only shown.
    pub executions: u64,
}

impl Head {
    fn pieces(&self) -> u64 {
        self.bytes.checked_div(self.piece).map_or(0, |whole| {
            whole + u64::from(!self.bytes.is_multiple_of(self.piece))
        })
    }

    /// Whether it is one that this version writes.
    fn fits(&self) -> bool {
        let digits = |text: &str| text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let sizes = self.bytes <= MOST_RESULT_BYTES && (self.piece == 0 || self.piece >= 512);
        digits(&self.of) && digits(&self.checksum) && sizes
    }

    /// Reads a value: the head, and what stands behind it.
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

/// An entry, in the order in which they were written.
pub(crate) struct Written {
    pub sequence: u64,
    pub path: Path,
    /// Nothing if it is no head, or was deleted.
    pub value: Vec<u8>,
}

/// The ledger of one search.
#[derive(Clone)]
pub(crate) struct Ledger {
    store: Store,
    most_bytes: usize,
}

/// Whether an error says that there is no such stream.
fn is_missing(error: &KeyValueError) -> bool {
    let source = std::error::Error::source(error);
    let stream = source.and_then(|source| source.downcast_ref::<GetStreamError>());
    stream.is_some_and(|error| match error.kind() {
        GetStreamErrorKind::JetStream(error) => error.error_code() == ErrorCode::STREAM_NOT_FOUND,
        _ => false,
    })
}

/// Makes a bucket, with what it is and how long a value lives. As a stream, since the client asks
/// for what servers before 2.11 do not know if it is told to make a bucket.
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
    let made = connection.context.get_or_create_stream(config).await;
    made.map_err(Error::server)?;
    let store = connection.context.get_key_value(name).await;
    store.map_err(Error::server)
}

impl Ledger {
    /// Opens the ledger of a search, if there is one.
    pub async fn open(connection: &Connection, id: &Id) -> Result<Self, Error> {
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

    /// Opens it or makes it, with its job.
    pub async fn create(connection: &Connection, id: &Id, job: &[u8]) -> Result<Self, Error> {
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

    /// What tells this ledger from others of the same name: when it was made.
    pub fn run(&self) -> String {
        let made = self.store.stream.cached_info().created;
        format!("{made:?}").replace(' ', "")
    }

    /// Whether it is still there.
    pub async fn is_there(&self, connection: &Connection, id: &Id) -> Result<bool, Error> {
        match Self::open(connection, id).await {
            Ok(now) => Ok(now.run() == self.run()),
            Err(Error::Gone) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The job.
    pub async fn job(&self) -> Result<Option<Vec<u8>>, Error> {
        let entry = self.store.get("job").await.map_err(Error::server)?;
        let Some(value) = entry else { return Ok(None) };
        let Some((head, body)) = Head::read(&value) else {
            return Ok(None);
        };
        self.body("job", &head, body).await
    }

    /// Writes the result of an order.
    pub async fn put_result(
        &self,
        path: &Path,
        of: &str,
        (body, executions): (&[u8], u64),
    ) -> Result<(), Error> {
        if body.len() as u64 > MOST_RESULT_BYTES {
            return Err(Error::TooLarge {
                what: "a result",
                bytes: body.len() as u64,
                most: MOST_RESULT_BYTES,
            });
        }
        self.put(&format!("head.{path}"), of, body, executions)
            .await
    }

    async fn put(&self, key: &str, of: &str, body: &[u8], executions: u64) -> Result<(), Error> {
        let piece = self.most_bytes;
        let small = body.len() <= INLINE.min(piece / 2);
        let head = Head {
            of: of.to_owned(),
            checksum: checksum(body),
            bytes: body.len() as u64,
            piece: if small { 0 } else { piece as u64 },
            executions,
        };
        let mut behind = body;
        if !small {
            for (k, piece) in body.chunks(piece).enumerate() {
                let key = format!("piece.{key}.{}.{k}", head.checksum);
                let written = self.store.put(key, piece.to_vec().into()).await;
                written.map_err(Error::server)?;
            }
            behind = &[];
        }
        let written = self.store.put(key, head.value(behind)?.into()).await;
        written.map(|_| ()).map_err(Error::server)
    }

    /// The body of a result, if it is whole.
    async fn body(&self, key: &str, head: &Head, behind: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let mut body = behind.to_vec();
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

    /// The head of a result, and its body if it is whole.
    pub async fn result(&self, path: &Path) -> Result<Option<(Head, Option<Vec<u8>>)>, Error> {
        let entry = self.store.get(format!("head.{path}")).await;
        match entry.map_err(Error::server)? {
            Some(value) => self.whole(path, &value).await,
            None => Ok(None),
        }
    }

    /// The same from the value of its key.
    pub async fn whole(
        &self,
        path: &Path,
        value: &[u8],
    ) -> Result<Option<(Head, Option<Vec<u8>>)>, Error> {
        let Some((head, behind)) = Head::read(value) else {
            return Ok(None);
        };
        let body = self.body(&format!("head.{path}"), &head, behind).await?;
        Ok(Some((head, body)))
    }

    /// Whether there is a result for an order.
    pub async fn has_result(&self, path: &Path, of: &str) -> Result<bool, Error> {
        let entry = self.store.get(format!("head.{path}")).await;
        let value = entry.map_err(Error::server)?;
        let head = value.as_deref().and_then(Head::read);
        Ok(head.is_some_and(|(head, _)| head.of == of))
    }

    /// Takes a result out.
    pub async fn remove_result(&self, path: &Path) -> Result<(), Error> {
        let removed = self.store.delete(format!("head.{path}")).await;
        removed.map_err(Error::server)
    }

    /// Notes that a part could not be explored, and why.
    pub async fn put_failure(&self, path: &Path, by: &str, why: &str) -> Result<(), Error> {
        let why: String = why.chars().take(MOST_REASON).collect();
        let key = format!("failed.{path}.{by}");
        let written = self.store.put(key, why.into_bytes().into()).await;
        written.map(|_| ()).map_err(Error::server)
    }

    /// The next result that was written at this place or behind it.
    pub async fn next_result(&self, from: u64) -> Result<Option<Written>, Error> {
        self.next("head.", from, Path::parse).await
    }

    /// The next failure; of its key the last token says who failed.
    pub async fn next_failure(&self, from: u64) -> Result<Option<Written>, Error> {
        let path = |key: &str| Path::parse(key.rsplit_once('.')?.0);
        self.next("failed.", from, path).await
    }

    async fn next(
        &self,
        kind: &str,
        mut from: u64,
        path: impl Fn(&str) -> Option<Path>,
    ) -> Result<Option<Written>, Error> {
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
                    return Ok(Some(Written {
                        sequence: message.sequence,
                        path,
                        value: message.payload.to_vec(),
                    }));
                }
                // No key of ours.
                None => from = message.sequence + 1,
            }
        }
    }

    /// The number of results.
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

    /// Its size on the server, in bytes.
    pub fn bytes(&self) -> u64 {
        self.store.stream.cached_info().state.bytes
    }

    /// Takes everything off the server.
    pub async fn delete(connection: &Connection, id: &Id) -> Result<(), Error> {
        let deleted = connection.context.delete_key_value(id.bucket()).await;
        deleted.map(|_| ()).map_err(Error::server)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> Head {
        Head {
            of: checksum(b"order"),
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
        assert_eq!(Head::read(&value), Some((head(), &b"bo\ndy"[..])));
        assert_eq!(Head::read(b""), None);
        assert_eq!(Head::read(b"{}\n"), None);
        let pieces = |bytes, piece| {
            Head {
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
    fn heads_that_mean_harm_are_none() {
        let mut all = [head(), head(), head()];
        all[0].bytes = u64::MAX;
        all[1].piece = 1;
        all[2].checksum = "../../x".to_owned();
        for head in all {
            let value = head.value(b"body").expect("JSON");
            assert_eq!(Head::read(&value), None, "{head:?}");
        }
    }
}
