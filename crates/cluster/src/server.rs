//! The connection to a NATS server: its address, its credentials, and how long to try.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use async_nats::jetstream::{self, Context};
use async_nats::{Client, ConnectOptions, ServerAddr};

use crate::Error;

/// Time limit for an answer of the server.
const ANSWER: Duration = Duration::from_secs(4);
/// Time between two attempts to connect.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(300);
/// Longest pause before reconnecting.
const LONGEST_PAUSE: Duration = Duration::from_millis(1000);

/// The address of a server, and the credentials for it.
#[derive(Clone, Debug)]
pub struct Server {
    /// `nats://host:port` or `tls://host:port`; `user:password@` or `token@` may precede the host.
    pub url: String,
    /// A file with credentials (a JWT and its key).
    pub credentials: Option<PathBuf>,
    /// Certificates of authorities that are trusted in addition to those of the system.
    pub authorities: Option<PathBuf>,
    /// The certificate of this client, and its key.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// Time limit for connecting.
    pub patience: Duration,
}

impl Server {
    /// Returns the URL without secrets.
    pub fn public_url(&self) -> String {
        let (scheme, rest) = self.url.split_once("://").unwrap_or(("nats", &self.url));
        let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
        format!("{scheme}://{host}")
    }

    fn error(&self, why: impl std::fmt::Display) -> Error {
        Error::Connect {
            url: self.public_url(),
            why: why.to_string(),
        }
    }

    async fn options(&self, address: &ServerAddr) -> Result<ConnectOptions, Error> {
        let pause = |attempts: usize| {
            let pause = Duration::from_millis(50).saturating_mul(attempts.min(1000) as u32);
            pause.min(LONGEST_PAUSE)
        };
        let mut options = ConnectOptions::new()
            .name("mazurka")
            .connection_timeout(ANSWER)
            .request_timeout(Some(ANSWER))
            .reconnect_delay_callback(pause);
        match (address.username(), address.password()) {
            (Some(user), Some(password)) => {
                options = options.user_and_password(user.to_owned(), password.to_owned());
            }
            (Some(token), None) => options = options.token(token.to_owned()),
            _ => {}
        }
        if let Some(path) = &self.credentials {
            let read = options.credentials_file(path).await;
            options = read.map_err(|error| self.error(format!("{}: {error}", path.display())))?;
        }
        if let Some(path) = &self.authorities {
            options = options
                .add_root_certificates(path.clone())
                .require_tls(true);
        }
        if let Some((certificate, key)) = &self.certificate {
            options = options.add_client_certificate(certificate.clone(), key.clone());
        }
        Ok(options)
    }

    /// Connects, with retries. It stops trying when `over` returns true or the time limit is
    /// reached.
    pub(crate) async fn connect(
        &self,
        over: &mut dyn FnMut() -> bool,
    ) -> Result<Connection, Error> {
        let address: ServerAddr = self.url.parse().map_err(|error| self.error(error))?;
        let start = Instant::now();
        loop {
            let connected = self.options(&address).await?.connect(address.clone()).await;
            let why = match connected {
                Ok(client) => {
                    let mut context = jetstream::new(client.clone());
                    context.set_timeout(ANSWER);
                    return Ok(Connection { client, context });
                }
                Err(error) => error,
            };
            if start.elapsed() >= self.patience || over() {
                return Err(self.error(why));
            }
            tokio::time::sleep(BETWEEN_ATTEMPTS).await;
        }
    }
}

/// A connection that reconnects automatically.
#[derive(Clone)]
pub(crate) struct Connection {
    pub client: Client,
    pub context: Context,
}

impl Connection {
    /// Returns the maximum size of the content of a message, in bytes. It is less than the maximum
    /// of the server, because the headers need some space.
    pub fn most_bytes(&self) -> usize {
        let most = self.client.server_info().max_payload;
        most.saturating_sub(4 << 10).max(1 << 10)
    }
}

/// Runs a future to its end on a new runtime, which can run this many blocking tasks at once.
pub(crate) fn block_on<T>(
    threads: usize,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(threads + 4)
        .enable_all()
        .build();
    let runtime = runtime.map_err(Error::server)?;
    let done = runtime.block_on(work);
    // Do not wait for blocking tasks, such as an exploration that was stopped.
    runtime.shutdown_background();
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_shown() {
        let server = |url: &str| Server {
            url: url.to_owned(),
            credentials: None,
            authorities: None,
            certificate: None,
            patience: Duration::ZERO,
        };
        let shown = |url: &str| server(url).public_url();
        assert_eq!(shown("nats://me:secret@host:4222"), "nats://host:4222");
        assert_eq!(shown("tls://token@host"), "tls://host");
        assert_eq!(shown("nats://me:a@b@host:1"), "nats://host:1");
        assert_eq!(shown("host:4222"), "nats://host:4222");
    }
}
