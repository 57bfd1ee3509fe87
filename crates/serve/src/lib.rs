//! `mazurka serve`: the page, and searches by the command itself.
//!
//! The server answers requests of one machine. A search is the command `mazurka` in a process of
//! its own, in a folder of its own that holds the program and nothing else: it can be killed, it is
//! bounded, and what goes wrong in it does not concern the others. The words of its command line
//! are made here, from the table of flags that the command prints (`mazurka flags`): a request has
//! program text and options, and cannot name a file, a compiler, a solver or another machine.
//!
//! - `request`: what a request may say, and the words that it becomes.
//! - `search`: the process, its progress and its end.
//! - `guard`: which requests are answered at all: Host, Origin, token.
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

/// A request with a larger body is refused.
pub const MOST_BODY: usize = 2 << 20;

/// Connections at one time; more wait to be accepted.
const MOST_CONNECTIONS: usize = 1024;
/// A connection that has not sent the head of a request by then is closed.
const FOR_A_HEAD: Duration = Duration::from_secs(10);
/// Until a connection is accepted again, after the system has refused one.
const AFTER_A_REFUSAL: Duration = Duration::from_millis(100);

/// How to serve.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The command.
    pub command: PathBuf,
    /// Where to listen; the loopback interface unless the user says otherwise.
    pub address: IpAddr,
    /// The port; 0 lets the system choose.
    pub port: u16,
    /// Names of this machine under which other machines reach it.
    pub hosts: Vec<String>,
    /// Searches at one time.
    pub searches: usize,
    /// Requests for searches that may wait.
    pub waiting: usize,
    /// A search is killed after this time.
    pub most_time: Duration,
    /// A search may use this much memory, in bytes.
    pub most_memory: u64,
}

impl Settings {
    /// The usual ones for a command: loopback, port 8421, as many searches as there are cores.
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

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// No runtime, or the port is taken.
    #[error("cannot listen: {0}; choose another --port")]
    Listen(io::Error),
    /// The system has no random numbers.
    #[error("cannot make a token: {0}")]
    Token(String),
    /// The command does not say which flags it has.
    #[error("cannot ask `{0}` for its flags: {1}")]
    Command(String, String),
    /// The server broke off.
    #[error("the server ended: {0}")]
    Ended(io::Error),
}

/// What all requests share.
struct Shared {
    settings: Settings,
    table: FlagTable,
    /// The table as the page reads it.
    table_text: String,
    guard: guard::Guard,
    running: Arc<Semaphore>,
    queued: Arc<Semaphore>,
}

/// Serves until the process is told to end (Ctrl-C, SIGTERM), and then ends all searches.
/// `listening` is told the address to open, which has the token in
/// it if one is needed.
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
            () = told_to_end() => Ok(()),
        }
    })
}

/// Waits until the process is told to end.
async fn told_to_end() {
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

/// A server that listens.
pub struct Server {
    listener: tokio::net::TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Server {
    /// Listens, and asks the command for its flags.
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

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The token, where one is needed.
    pub fn token(&self) -> Option<&str> {
        self.shared.guard.token()
    }

    /// What to open in a browser of this machine.
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

    /// Answers until the process ends.
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

/// Accepts connections and answers what they ask. A connection that does not send the head of a
/// request in time is closed, so that idle ones cannot use up the files of the process.
async fn answer_all(listener: tokio::net::TcpListener, router: Router) -> Result<(), ServeError> {
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let place = Arc::clone(&places).acquire_owned().await;
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            // The other side has gone, or there are no more files: later there will be.
            Err(_) => {
                tokio::time::sleep(AFTER_A_REFUSAL).await;
                continue;
            }
        };
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            let _place = place;
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(FOR_A_HEAD)
                .serve_connection(TokioIo::new(stream), service);
            // What goes wrong here concerns this connection alone.
            let _broken = connection.await;
        });
    }
}

/// 128 random bits.
fn token() -> Result<String, ServeError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| ServeError::Token(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
