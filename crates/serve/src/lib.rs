//! `mazurka serve`: serves the page, and runs searches with the command itself.
//!
//! The server is for one computer. Each search is a process of the command `mazurka`, in a folder
//! that contains only the program. So a search can be killed, its resources are bounded, and its
//! failures do not affect other searches. The server makes the command line from the table of flags
//! that the command prints (`mazurka flags`). A request consists of program text and options; it
//! cannot name a file, a compiler, a solver or another computer.
//!
//! - `request`: what a request may contain, and its command line.
//! - `search`: the process, its progress and its end.
//! - `guard`: which requests are answered: Host, Origin, token.
//! - `assets`: the page.

mod assets;
mod guard;
mod request;
mod search;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use axum::routing::{get, post};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
#[cfg(unix)]
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;

pub use request::{BadRequest, FlagTable, Request, words};

/// The maximal size of a request body, in bytes.
pub const MOST_BODY: usize = 2 << 20;

/// The maximal number of connections; more wait to be accepted.
const MOST_CONNECTIONS: usize = 1024;
/// How long a connection may take to send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// The pause before the next accept, after the system refused one.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The settings of the server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The command.
    pub command: PathBuf,
    /// The address to listen on; the default is the loopback interface.
    pub address: IpAddr,
    /// The port; with 0 the system chooses one.
    pub port: u16,
    /// Names under which other machines reach this one.
    pub hosts: Vec<String>,
    /// The number of searches that run in parallel.
    pub searches: usize,
    /// The number of requests for searches that may wait.
    pub waiting: usize,
    /// The time after which a search is killed.
    pub most_time: Duration,
    /// The maximal memory of a search, in bytes.
    pub most_memory: u64,
}

impl Settings {
    /// Returns the default settings for a command: loopback, port 8421, one search for each core.
    ///
    /// ```
    /// let settings = mazurka_serve::Settings::new("mazurka".into());
    /// assert!(settings.address.is_loopback());
    /// ```
    pub fn new(command: PathBuf) -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            command,
            address: Ipv4Addr::LOCALHOST.into(),
            port: 8421,
            hosts: Vec::new(),
            searches: cores.max(2),
            waiting: 256,
            most_time: Duration::from_secs(600),
            most_memory: 4 << 30,
        }
    }
}

/// Why the server cannot start, or why it has ended.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The asynchronous runtime cannot be created, or the port is taken.
    #[error("cannot listen: {0}; choose another --port")]
    Listen(io::Error),
    /// The system has no random numbers.
    #[error("cannot make a token: {0}")]
    Token(String),
    /// The command does not print its flags.
    #[error("cannot read the flags of `{0}`: {1}")]
    Command(String, String),
    /// The server stopped.
    #[error("the server ended: {0}")]
    Ended(io::Error),
}

/// The data that all requests share.
struct Shared {
    settings: Settings,
    table: FlagTable,
    /// The table as text, as the page reads it.
    table_text: String,
    guard: guard::Guard,
    /// A permit for each search that may run at the same time.
    running: Arc<Semaphore>,
    /// A permit for each search that may run or wait.
    queued: Arc<Semaphore>,
}

/// Serves until the process gets a signal to end (Ctrl-C, SIGTERM), and then ends all searches.
/// Calls `listening` with the URL to open in a browser, which contains the token if one is needed.
pub fn serve(settings: Settings, listening: impl FnOnce(&str)) -> Result<(), ServeError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(ServeError::Listen)?;
    runtime.block_on(async {
        let server = Server::bind(settings).await?;
        listening(&server.url());
        tokio::select! {
            ended = server.run() => ended,
            () = end_signal() => Ok(()),
        }
    })
}

/// Waits until the process gets a signal to end.
async fn end_signal() {
    #[cfg(unix)]
    if let Ok(mut term) = signal(SignalKind::terminate()) {
        tokio::select! {
            _ = term.recv() => (),
            _ = tokio::signal::ctrl_c() => (),
        }
        return;
    }
    let _interrupted = tokio::signal::ctrl_c().await;
}

/// A listening server.
pub struct Server {
    listener: tokio::net::TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Server {
    /// Listens, and reads the flags of the command.
    pub async fn bind(settings: Settings) -> Result<Self, ServeError> {
        let listener = tokio::net::TcpListener::bind((settings.address, settings.port));
        let listener = listener.await.map_err(ServeError::Listen)?;
        let address = listener.local_addr().map_err(ServeError::Listen)?;
        let token = if address.ip().is_loopback() {
            None
        } else {
            Some(token()?)
        };
        let table_text = search::flags(&settings.command).await?;
        let unread = |error: serde_json::Error| {
            let command = settings.command.display().to_string();
            ServeError::Command(command, error.to_string())
        };
        let table = serde_json::from_str(&table_text).map_err(unread)?;
        let shared = Arc::new(Shared {
            table,
            table_text,
            guard: guard::Guard::new(address, &settings.hosts, token),
            running: Arc::new(Semaphore::new(settings.searches)),
            queued: Arc::new(Semaphore::new(settings.searches + settings.waiting)),
            settings,
        });
        Ok(Self {
            listener,
            address,
            shared,
        })
    }

    /// Returns the address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the token, if one is needed.
    pub fn token(&self) -> Option<&str> {
        self.shared.guard.token()
    }

    /// Returns the URL to open in a browser on this machine.
    pub fn url(&self) -> String {
        let mut address = self.address;
        match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
            IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
            _ => (),
        }
        match self.token() {
            Some(token) => format!("http://{address}/#token={token}"),
            None => format!("http://{address}/"),
        }
    }

    /// Answers requests until the process ends.
    pub async fn run(self) -> Result<(), ServeError> {
        let shared = self.shared;
        let api = Router::new()
            .route("/about.json", get(search::about))
            .route("/api/search", post(search::search))
            .layer(DefaultBodyLimit::max(MOST_BODY));
        let router = api
            .fallback(get(assets::asset))
            .layer(middleware::from_fn_with_state(
                Arc::clone(&shared),
                guard::check,
            ))
            .with_state(shared);
        answer_all(self.listener, router).await
    }
}

/// Accepts connections and answers their requests. A connection that does not send the head of a
/// request in time is closed, so that idle connections cannot exhaust the file descriptors of the
/// process.
async fn answer_all(listener: tokio::net::TcpListener, router: Router) -> Result<(), ServeError> {
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let place = Arc::clone(&places).acquire_owned().await;
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            // The client is gone, or file descriptors are exhausted: try again later.
            Err(_) => {
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            let _place = place;
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIMEOUT)
                .serve_connection(TokioIo::new(stream), service);
            // An error here affects only this connection.
            let _broken = connection.await;
        });
    }
}

/// Returns a token of 128 random bits.
fn token() -> Result<String, ServeError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| ServeError::Token(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
