//! A client for tests: it sends requests, waits for their answers, and stores the notifications
//! that arrive meanwhile.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use lsp_server::{Connection, Message, Notification, Request, RequestId, ResponseError};
use mazurka_lsp::{Ended, Environment, serve};
use serde_json::{Value, json};

/// The time to wait for an answer, long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Reads included files from the folder of a program.
pub struct Files;

impl Environment for Files {
    fn expand(&self, path: &str, text: &str, open: &dyn Fn(&str) -> Option<String>) -> String {
        let folder = Path::new(path).parent().unwrap_or(Path::new("")).to_owned();
        let read = &mut |name: &str| {
            let file = folder.join(name);
            let shown = file.to_str().expect("UTF-8");
            let read = || fs::read_to_string(&file).map_err(|error| error.to_string());
            open(shown).map_or_else(read, Ok)
        };
        mazurka::expand(text, read)
    }
}

pub struct Client {
    connection: Option<Connection>,
    serving: Option<JoinHandle<()>>,
    last: i32,
    /// The last diagnostics of each file, with their version.
    published: HashMap<String, (Option<i64>, Vec<Value>)>,
    /// The methods of the requests that the server has sent.
    pub requested: Vec<String>,
    /// The answers that no caller has waited for yet.
    answers: HashMap<RequestId, Result<Value, ResponseError>>,
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the `.maz` programs in these folders of the repository, with their paths.
pub fn programs(folders: &[&str]) -> Vec<(String, String)> {
    files(folders, "maz")
}

/// Returns the files with this extension in these folders of the repository, with their paths.
pub fn files(folders: &[&str], ending: &str) -> Vec<(String, String)> {
    let mut pending: Vec<PathBuf> = folders.iter().map(|name| root().join(name)).collect();
    let mut found = Vec::new();
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.to_str().expect("UTF-8").to_owned();
            match path.extension().and_then(|ending| ending.to_str()) {
                None if path.is_dir() => pending.push(path),
                Some(known) if known == ending => {
                    found.push((name, fs::read_to_string(&path).expect("a text")));
                }
                _ => {}
            }
        }
    }
    found.sort();
    found
}

/// Returns the URI of a path.
pub fn uri(path: &str) -> String {
    let path = path
        .replace('%', "%25")
        .replace(' ', "%20")
        .replace('+', "%2B");
    if path.starts_with('/') {
        format!("file://{path}")
    } else {
        format!("file:///{path}")
    }
}

pub fn position(line: u32, character: u32) -> Value {
    json!({ "line": line, "character": character })
}

impl Client {
    pub fn new() -> Self {
        Self::with(json!({}))
    }

    /// Makes a client that starts the server with these options.
    pub fn with(options: Value) -> Self {
        let (server, connection) = Connection::memory();
        let serving = std::thread::spawn(move || {
            let ended = serve(&server, Arc::new(Files));
            assert_eq!(ended, Ended::ShutDown);
        });
        let mut client = Self {
            connection: Some(connection),
            serving: Some(serving),
            last: 0,
            published: HashMap::new(),
            requested: Vec::new(),
            answers: HashMap::new(),
        };
        let refreshes = json!({ "workspace": { "codeLens": { "refreshSupport": true } } });
        let hello = json!({ "capabilities": refreshes, "initializationOptions": options });
        let hello = client.request("initialize", hello);
        assert_eq!(hello["serverInfo"]["name"], "mazurka");
        client.notify("initialized", json!({}));
        client
    }

    fn send(&self, message: impl Into<Message>) {
        let connection = self.connection.as_ref().expect("open");
        connection
            .sender
            .send(message.into())
            .expect("the server listens");
    }

    fn receive(&mut self) {
        let connection = self.connection.as_ref().expect("open");
        let message = connection.receiver.recv_timeout(PATIENCE);
        match message.expect("the server answers") {
            Message::Response(response) => {
                self.answers.insert(response.id, response.response_result);
            }
            Message::Request(request) => self.requested.push(request.method),
            Message::Notification(notification) => {
                assert_eq!(notification.method, "textDocument/publishDiagnostics");
                let uri = notification.params["uri"]
                    .as_str()
                    .expect("a file")
                    .to_owned();
                let all = notification.params["diagnostics"]
                    .as_array()
                    .expect("a list")
                    .clone();
                self.published
                    .insert(uri, (notification.params["version"].as_i64(), all));
            }
        }
    }

    pub fn notify(&self, method: &str, params: Value) {
        self.send(Notification::new(method.to_owned(), params));
    }

    /// Sends a request without waiting for the answer.
    pub fn send_request(&mut self, method: &str, params: Value) -> RequestId {
        self.last += 1;
        let id = RequestId::from(self.last);
        self.send(Request::new(id.clone(), method.to_owned(), params));
        id
    }

    pub fn answer(&mut self, id: &RequestId) -> Result<Value, ResponseError> {
        loop {
            if let Some(answer) = self.answers.remove(id) {
                return answer;
            }
            self.receive();
        }
    }

    pub fn try_request(&mut self, method: &str, params: Value) -> Result<Value, ResponseError> {
        let id = self.send_request(method, params);
        self.answer(&id)
    }

    #[track_caller]
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let answer = self.try_request(method, params);
        answer.unwrap_or_else(|error| panic!("{method}: {error:?}"))
    }

    pub fn open(&mut self, uri: &str, text: &str) -> Vec<Value> {
        let file = json!({ "uri": uri, "languageId": "maz", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": file }));
        self.diagnostics(uri, 1)
    }

    /// Replaces the text, or a range of it.
    pub fn change(&mut self, uri: &str, version: i64, changes: Value) {
        let file = json!({ "uri": uri, "version": version });
        let params = json!({ "textDocument": file, "contentChanges": changes });
        self.notify("textDocument/didChange", params);
    }

    pub fn close(&mut self, uri: &str) {
        let params = json!({ "textDocument": { "uri": uri } });
        self.notify("textDocument/didClose", params);
    }

    /// Waits for the diagnostics of a version.
    pub fn diagnostics(&mut self, uri: &str, version: i64) -> Vec<Value> {
        loop {
            match self.published.get(uri) {
                Some((Some(known), all)) if *known >= version => return all.clone(),
                _ => self.receive(),
            }
        }
    }

    /// Returns the last diagnostics of a file.
    pub fn shown(&self, uri: &str) -> &[Value] {
        self.published.get(uri).map_or(&[], |(_, all)| all)
    }

    /// Sends a request about a position in a file.
    #[track_caller]
    pub fn at(&mut self, method: &str, uri: &str, position: &Value) -> Value {
        self.request(method, at(uri, position))
    }
}

/// Returns the parameters of a request about a position in a file.
pub fn at(uri: &str, position: &Value) -> Value {
    json!({
        "textDocument": { "uri": uri },
        "position": position,
        "context": { "includeDeclaration": true, "triggerKind": 1 },
    })
}

impl Drop for Client {
    /// Shuts the server down as the protocol requires.
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        self.request("shutdown", Value::Null);
        self.notify("exit", Value::Null);
        self.connection = None;
        let serving = self.serving.take().expect("it serves");
        serving.join().expect("the server ends without a panic");
    }
}
