//! A search: the command in its own process and folder. Its progress and its answer are server-sent
//! events.

use std::convert::Infallible;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::{StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::{Request, ServeError, Shared, words};

/// The maximal output, in bytes; a search with more output has no answer.
const MOST_OUTPUT: u64 = 64 << 20;
/// How many progress lines may wait for a page that reads slowly.
const MOST_LINES: usize = 64;
/// How long a search may go on after its time limit.
const GRACE: Duration = Duration::from_secs(5);
/// The time limit for `mazurka flags`.
const FLAGS_TIMEOUT: Duration = Duration::from_secs(20);

/// Answers with the table of flags, which the page reads first.
pub(crate) async fn about(State(shared): State<Arc<Shared>>) -> Response {
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (kind, shared.table_text.clone()).into_response()
}

/// Returns the flags that the command prints.
pub(crate) async fn flags(command: &Path) -> Result<String, ServeError> {
    let failed = |why: String| ServeError::Command(command.display().to_string(), why);
    let answer = Command::new(command)
        .arg("flags")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = timeout(FLAGS_TIMEOUT, answer).await;
    let output = output.map_err(|_| failed("it does not answer".to_owned()))?;
    let output = output.map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        String::from_utf8(output.stdout).map_err(|error| failed(error.to_string()))
    } else {
        Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()))
    }
}

/// An event for the page.
enum SearchEvent {
    Progress(String),
    Answer(Value),
}

impl SearchEvent {
    fn event(self) -> Event {
        match self {
            SearchEvent::Progress(line) => Event::default().event("progress").data(line),
            // JSON on one line.
            SearchEvent::Answer(answer) => {
                Event::default().event("answer").data(answer.to_string())
            }
        }
    }
}

/// Answers with events: progress, and finally the answer. The search ends if the page disconnects.
pub(crate) async fn search(
    State(shared): State<Arc<Shared>>,
    request: Result<Json<Request>, JsonRejection>,
) -> Response {
    let Json(request) = match request {
        Ok(request) => request,
        Err(error) => return (error.status(), format!("{error}\n")).into_response(),
    };
    let mut words = match words(&request, &shared.table) {
        Ok(words) => words,
        Err(error) => return (StatusCode::BAD_REQUEST, format!("{error}\n")).into_response(),
    };
    // The limits of the server also apply if the request asks for more memory or time.
    words.push(format!("--most-memory={}", shared.settings.most_memory));
    let most_time = shared.settings.most_time.as_secs_f64();
    words.push(format!("--most-time={most_time:.3}"));
    let Ok(place) = Arc::clone(&shared.queued).try_acquire_owned() else {
        let busy = "too many searches are waiting; try again later\n";
        return (StatusCode::SERVICE_UNAVAILABLE, busy).into_response();
    };
    let (sender, receiver) = mpsc::channel(MOST_LINES);
    tokio::spawn(async move {
        let _place = place;
        let work = async {
            let turn = Arc::clone(&shared.running).acquire_owned().await;
            let _turn = turn.map_err(|error| error.to_string())?;
            let most = shared.settings.most_time;
            let answer = run(&shared, &request, &words, &sender);
            // The command itself keeps to the limit, and reports what it has found.
            let answered = timeout(most + GRACE, answer).await;
            answered
                .unwrap_or_else(|_| Err(format!("the search was ended after {} s", most.as_secs())))
        };
        // If the page disconnects, this future is dropped, and the process with it.
        let answer = tokio::select! {
            answer = work => answer,
            () = sender.closed() => return,
        };
        let answer =
            answer.unwrap_or_else(|why| json!({"code": 2, "out": "", "err": format!("{why}\n")}));
        let _gone = sender.send(SearchEvent::Answer(answer)).await;
    });
    let events = stream::unfold(receiver, |mut receiver| async {
        let event = receiver.recv().await?;
        Some((Ok::<_, Infallible>(event.event()), receiver))
    });
    Sse::new(events)
        .keep_alive(KeepAlive::default())
        .into_response()
}

/// Writes the files, and starts the command.
fn start(
    shared: &Shared,
    request: &Request,
    words: &[String],
) -> std::io::Result<(TempDir, Child)> {
    let folder = private_folder()?;
    for (name, text) in &request.files {
        let path = folder.path().join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, text)?;
    }
    let mut command = Command::new(&shared.settings.command);
    command
        .args(words)
        .current_dir(folder.path())
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    Ok((folder, command.spawn()?))
}

/// Returns a folder that other users of the machine cannot read.
fn private_folder() -> std::io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.tempdir()
}

/// The process of a search and those that it has started, such as a solver. All are killed if the
/// search is dropped.
struct Group {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
}

impl Group {
    fn new(child: &Child) -> Self {
        #[cfg(not(unix))]
        let _ = child;
        Self {
            #[cfg(unix)]
            leader: child
                .id()
                .and_then(|id| rustix::process::Pid::from_raw(id.try_into().ok()?)),
        }
    }

    /// Records that the leader has ended. Its identifier may now belong to another process, so it
    /// must not be killed.
    fn ended(mut self) {
        #[cfg(unix)]
        self.leader.take();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(leader) = self.leader {
            let kill = rustix::process::Signal::KILL;
            let _gone = rustix::process::kill_process_group(leader, kill);
        }
    }
}

/// Runs the command to its end.
async fn run(
    shared: &Shared,
    request: &Request,
    words: &[String],
    sender: &mpsc::Sender<SearchEvent>,
) -> Result<Value, String> {
    let started = start(shared, request, words);
    let (_folder, mut child) = started.map_err(|error| format!("cannot start: {error}"))?;
    let group = Group::new(&child);
    let (Some(out), Some(err)) = (child.stdout.take(), child.stderr.take()) else {
        return Err("cannot read the output of the command".to_owned());
    };
    let wait = async {
        let ended = child.wait().await;
        group.ended();
        ended
    };
    let (out, err, ended) = tokio::join!(whole(out), lines(err, sender), wait);
    let ended = ended.map_err(|error| error.to_string())?;
    let code = ended.code().unwrap_or(4);
    Ok(json!({"code": code, "out": out?, "err": err?}))
}

/// Reads a stream to its end, up to a limit.
async fn whole(from: impl AsyncRead + Unpin) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = from.take(MOST_OUTPUT + 1).read_to_end(&mut bytes).await;
    read.map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MOST_OUTPUT {
        Err("the answer is too long; request less".to_owned())
    } else {
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Forwards progress, and returns the other lines.
async fn lines(
    from: impl AsyncRead + Unpin,
    sender: &mpsc::Sender<SearchEvent>,
) -> Result<String, String> {
    let mut lines = BufReader::new(from.take(MOST_OUTPUT)).lines();
    let mut rest = String::new();
    while let Some(line) = lines.next_line().await.map_err(|error| error.to_string())? {
        match line.strip_prefix("progress: ") {
            // If the page reads too slowly, it misses some lines.
            Some(progress) => drop(sender.try_send(SearchEvent::Progress(progress.to_owned()))),
            None => {
                rest += &line;
                rest.push('\n');
            }
        }
    }
    Ok(rest)
}
