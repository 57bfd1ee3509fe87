//! The language server for `.maz` and `.abs` programs (docs/editors.md).
//!
//! [`serve`] speaks the protocol over a connection until the editor ends it. [`converse`] does the
//! same over two streams of bytes. The server reads and writes no files: the host provides them as
//! an [`Environment`]. A changed text is analysed only when no further message waits, so that after
//! several fast keystrokes it is analysed once. Searches are started by commands of the user, one
//! at a time. A search ends early if its program is edited, if another search is started, or if the
//! editor cancels it.
//!
//! ```
//! use std::sync::Arc;
//! use lsp_server::{Connection, Message, Notification, Request};
//! use mazurka_lsp::{Environment, serve};
//! use serde_json::json;
//!
//! struct NoFiles;
//! impl Environment for NoFiles {}
//!
//! let (server, client) = Connection::memory();
//! let serving = std::thread::spawn(move || serve(&server, Arc::new(NoFiles)));
//! let ask = |id: i32, method: &str, params| {
//!     let request = Request::new(id.into(), method.to_owned(), params);
//!     client.sender.send(request.into()).unwrap();
//!     client.receiver.recv().unwrap()
//! };
//! let Message::Response(hello) = ask(1, "initialize", json!({ "capabilities": {} })) else {
//!     panic!("no answer");
//! };
//! assert_eq!(hello.response_result.unwrap()["capabilities"]["hoverProvider"], true);
//! let initialized = Notification::new("initialized".to_owned(), json!({}));
//! client.sender.send(initialized.into()).unwrap();
//! ask(2, "shutdown", json!(null));
//! client.sender.send(Notification::new("exit".to_owned(), json!(null)).into()).unwrap();
//! assert_eq!(serving.join().unwrap(), mazurka_lsp::Ended::ShutDown);
//! ```

mod document;
mod features;
mod search;
mod text;
mod transport;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, select, unbounded};
pub use lsp_server::Connection;
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::notification::{
    Cancel, DidChangeConfiguration, DidChangeTextDocument, DidCloseTextDocument,
    DidOpenTextDocument, Exit, Notification as NotificationType, PublishDiagnostics,
};
use lsp_types::request::{
    CodeLensRefresh, CodeLensRequest, Completion, DocumentSymbolRequest, ExecuteCommand,
    Formatting, GotoDefinition, HoverRequest, Initialize, InlayHintRequest, PrepareRenameRequest,
    References, Rename, Request as RequestType, Shutdown,
};
use lsp_types::{
    CodeLensOptions, CompletionOptions, CompletionResponse, Diagnostic,
    DidChangeTextDocumentParams, DidOpenTextDocumentParams, DocumentSymbolResponse,
    ExecuteCommandOptions, GotoDefinitionResponse, HoverProviderCapability, NumberOrString, OneOf,
    Position, PrepareRenameResponse, PublishDiagnosticsParams, RenameOptions, ServerCapabilities,
    TextDocumentSyncCapability, TextDocumentSyncKind, Uri, WorkspaceEdit,
};
use mazurka::Program;
use serde_json::{Value, json};

use document::{Document, path_of};
use search::{Answer, Question, Search};
use text::Text;
pub use transport::converse;

/// The command that searches for a verdict. Its arguments are a URI and perhaps a kind of violation
/// or the name of a property.
pub const CHECK: &str = "mazurka.check";
/// The command that runs one random execution. Its arguments are a URI and perhaps a seed.
pub const RUN: &str = "mazurka.run";

/// The default time limit of a search, in seconds.
const DEFAULT_SECONDS: u64 = 10;

/// The services that the server needs from its host. The default methods read no files.
pub trait Environment: Send + Sync {
    /// Returns the text of a program with the files that it includes. `open` returns the text of
    /// the file with a path if the file is open in the editor; this method must call it for every
    /// included file first.
    fn expand(&self, path: &str, text: &str, open: &dyn Fn(&str) -> Option<String>) -> String {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        mazurka::expand(text, &mut |name| {
            open(&format!("{folder}/{name}")).ok_or("files are not read here".to_owned())
        })
    }

    /// Returns the memory that the operating-system process uses, in bytes, if it is known. A
    /// search that uses too much memory is ended.
    fn memory(&self) -> Option<u64> {
        None
    }

    /// Returns the specification that a program refines, if it names one.
    fn specification(&self, program: &Program) -> Result<Option<Arc<Program>>, String> {
        match program.refines() {
            Some(file) => Err(format!("`{file}` is not read here")),
            None => Ok(None),
        }
    }
}

/// How an editor has ended the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The editor has sent `shutdown` and then `exit`.
    ShutDown,
    /// The editor has sent `exit` alone.
    Exited,
    /// The connection was closed without an `exit`.
    Closed,
}

/// Answers an editor until it ends the connection.
pub fn serve(connection: &Connection, environment: Arc<dyn Environment>) -> Ended {
    let hello = match greet(connection) {
        Ok(hello) => hello,
        Err(ended) => return ended,
    };
    let (sender, answers) = unbounded();
    let mut server = Server {
        out: connection.sender.clone(),
        environment,
        documents: HashMap::new(),
        open: HashMap::new(),
        unread: Vec::new(),
        touched: Vec::new(),
        search: None,
        answers: sender,
        limit: Duration::from_secs(DEFAULT_SECONDS),
        trusted: true,
        refreshes: hello["capabilities"]["workspace"]["codeLens"]["refreshSupport"] == true,
        requests_sent: 0,
        runs: 0,
        is_shut_down: false,
    };
    server.configure(&hello["initializationOptions"]);
    let ended = server.serve(connection, &answers);
    server.cancel();
    ended
}

/// Waits for `initialize` and answers it. Returns its parameters, or the end of the connection.
fn greet(connection: &Connection) -> Result<Value, Ended> {
    // If the editor is gone, this fails, and so does the next receive, which ends the server.
    let send = |response: Response| {
        let _ = connection.sender.send(response.into());
    };
    loop {
        match connection.receiver.recv() {
            Ok(Message::Request(request)) if request.method == Initialize::METHOD => {
                let about = json!({
                    "capabilities": capabilities(),
                    "serverInfo": { "name": "mazurka", "version": env!("CARGO_PKG_VERSION") },
                });
                send(Response::new_ok(request.id, about));
                return Ok(request.params);
            }
            Ok(Message::Request(request)) => {
                let code = ErrorCode::ServerNotInitialized as i32;
                let message = "the first request is `initialize`".to_owned();
                send(Response::new_err(request.id, code, message));
            }
            Ok(Message::Notification(notification)) if notification.method == Exit::METHOD => {
                return Err(Ended::Exited);
            }
            Ok(_) => {}
            Err(_) => return Err(Ended::Closed),
        }
    }
}

fn capabilities() -> ServerCapabilities {
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Kind(
            TextDocumentSyncKind::INCREMENTAL,
        )),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: Default::default(),
        })),
        document_symbol_provider: Some(OneOf::Left(true)),
        completion_provider: Some(CompletionOptions::default()),
        document_formatting_provider: Some(OneOf::Left(true)),
        code_lens_provider: Some(CodeLensOptions {
            resolve_provider: Some(false),
        }),
        inlay_hint_provider: Some(OneOf::Left(true)),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: vec![CHECK.to_owned(), RUN.to_owned()],
            work_done_progress_options: Default::default(),
        }),
        ..ServerCapabilities::default()
    }
}

/// The state of the server for one editor: the open documents and at most one running search. The
/// server answers all requests on one thread; a search runs on another thread and sends its
/// [`Answer`] back.
struct Server {
    out: Sender<Message>,
    environment: Arc<dyn Environment>,
    documents: HashMap<String, Document>,
    /// The latest text of each open file, with its path, by its URI.
    open: HashMap<String, (String, Text)>,
    /// The files whose text has changed since it was last analysed, with their versions.
    unread: Vec<(Uri, i32)>,
    /// The paths of open files that have changed or were closed: programs that include them are
    /// analysed again.
    touched: Vec<String>,
    search: Option<Search>,
    answers: Sender<Answer>,
    limit: Duration,
    /// Whether the editor trusts the folder. Otherwise searches are refused.
    trusted: bool,
    /// Whether the editor supports a request to refresh its lenses.
    refreshes: bool,
    /// The number of requests sent to the editor, from which their identifiers are made.
    requests_sent: i32,
    /// The number of runs started without a seed, which is the seed of the next one.
    runs: u64,
    /// Whether the editor has sent `shutdown`: then it may only send `exit`.
    is_shut_down: bool,
}

/// The reason why a request fails.
type Failure = (ErrorCode, String);

fn failed(why: impl Into<String>) -> Failure {
    (ErrorCode::RequestFailed, why.into())
}

impl Server {
    fn serve(&mut self, connection: &Connection, answers: &Receiver<Answer>) -> Ended {
        loop {
            // Analyse changed texts only when no message waits.
            if connection.receiver.is_empty() {
                self.read();
            }
            select! {
                recv(connection.receiver) -> message => match message {
                    Ok(Message::Request(request)) => self.request(request),
                    Ok(Message::Notification(notification)) if notification.method == Exit::METHOD => {
                        let orderly = self.is_shut_down;
                        return if orderly { Ended::ShutDown } else { Ended::Exited };
                    }
                    Ok(Message::Notification(notification)) => self.notification(notification),
                    Ok(Message::Response(_)) => {}
                    // The editor closed the connection without an `exit`.
                    Err(_) => return Ended::Closed,
                },
                recv(answers) -> answer => {
                    if let Ok(answer) = answer {
                        self.answered(&answer);
                    }
                }
            }
        }
    }

    fn send(&self, message: impl Into<Message>) {
        // If the connection is closed, this fails, and so does the next receive, which ends the
        // server.
        let _ = self.out.send(message.into());
    }

    /// Sets the settings that the editor has sent; all other settings stay unchanged.
    fn configure(&mut self, settings: &Value) {
        if let Some(seconds) = settings["timeLimit"].as_u64() {
            self.limit = Duration::from_secs(seconds.max(1));
        }
        match &settings["trusted"] {
            Value::Null => {}
            // Only `true` means that the folder is trusted.
            trusted => self.trusted = *trusted == Value::Bool(true),
        }
    }

    /// Analyses the texts that have changed and the programs that include them, and publishes their
    /// diagnostics.
    fn read(&mut self) {
        let touched = std::mem::take(&mut self.touched);
        let mut unread = std::mem::take(&mut self.unread);
        for document in self.documents.values() {
            let includes = touched.iter().any(|path| document.wanted.contains(path));
            if includes && !unread.iter().any(|(uri, _)| *uri == document.uri) {
                unread.push((document.uri.clone(), document.version));
            }
        }
        for (uri, version) in unread {
            let key = uri.as_str().to_owned();
            self.cancel_about(&key);
            let Some((_, text)) = self.open.get(&key) else {
                continue;
            };
            let open = |path: &str| self.open_text(path);
            let around = (&*self.environment, &open as &document::OpenTexts<'_>);
            let document = Document::new(uri, version, text.clone(), around);
            self.documents.insert(key.clone(), document);
            self.publish(&key);
        }
    }

    /// Returns the text of the open file with this path.
    fn open_text(&self, path: &str) -> Option<String> {
        let mut open = self.open.values();
        let (_, text) = open.find(|(known, _)| known == path)?;
        Some(text.as_str().to_owned())
    }

    fn publish(&self, key: &str) {
        let Some(document) = self.documents.get(key) else {
            return;
        };
        let mut diagnostics = document.diagnostics.clone();
        // Several searches may find the same violation.
        let same = |one: &Diagnostic, other: &Diagnostic| {
            (one.range, &one.code, &one.message) == (other.range, &other.code, &other.message)
        };
        for one in document
            .findings
            .iter()
            .flat_map(|found| &found.diagnostics)
        {
            if !diagnostics.iter().any(|other| same(one, other)) {
                diagnostics.push(one.clone());
            }
        }
        let notification = PublishDiagnosticsParams {
            uri: document.uri.clone(),
            diagnostics,
            version: Some(document.version),
        };
        self.send(Notification::new(
            PublishDiagnostics::METHOD.to_owned(),
            notification,
        ));
    }

    fn notification(&mut self, notification: Notification) {
        if self.is_shut_down {
            return;
        }
        match notification.method.as_str() {
            DidOpenTextDocument::METHOD => {
                let Ok(opened) =
                    serde_json::from_value::<DidOpenTextDocumentParams>(notification.params)
                else {
                    return;
                };
                let file = opened.text_document;
                self.changed(file.uri, file.version, Text::new(file.text));
            }
            DidChangeTextDocument::METHOD => {
                let Ok(change) =
                    serde_json::from_value::<DidChangeTextDocumentParams>(notification.params)
                else {
                    return;
                };
                let file = change.text_document;
                let Some((_, text)) = self.open.get(file.uri.as_str()) else {
                    return;
                };
                let mut text = text.clone();
                for change in change.content_changes {
                    text = text.changed(change);
                }
                self.changed(file.uri, file.version, text);
            }
            DidCloseTextDocument::METHOD => {
                let uri = &notification.params["textDocument"]["uri"];
                let uri = uri.as_str().unwrap_or_default();
                self.unread.retain(|(unread, _)| unread.as_str() != uri);
                self.cancel_about(uri);
                let closed = self.open.remove(uri);
                self.touched.extend(closed.map(|(path, _)| path));
                if let Some(closed) = self.documents.remove(uri) {
                    let nothing = PublishDiagnosticsParams {
                        uri: closed.uri,
                        diagnostics: Vec::new(),
                        version: None,
                    };
                    self.send(Notification::new(
                        PublishDiagnostics::METHOD.to_owned(),
                        nothing,
                    ));
                }
            }
            DidChangeConfiguration::METHOD => {
                self.configure(&notification.params["settings"]["mazurka"])
            }
            Cancel::METHOD => {
                let id =
                    serde_json::from_value::<NumberOrString>(notification.params["id"].clone());
                let id = id.map(|id| match id {
                    NumberOrString::Number(number) => RequestId::from(number),
                    NumberOrString::String(text) => RequestId::from(text),
                });
                let running = self.search.as_ref().map(|search| &search.id);
                if id.ok().as_ref() == running {
                    self.cancel();
                }
            }
            _ => {}
        }
    }

    fn changed(&mut self, uri: Uri, version: i32, text: Text) {
        // The running search is about the old text.
        self.cancel_about(uri.as_str());
        let path = path_of(&uri);
        self.touched.push(path.clone());
        self.open.insert(uri.as_str().to_owned(), (path, text));
        self.unread.retain(|(unread, _)| *unread != uri);
        self.unread.push((uri, version));
    }

    /// Cancels the running search if it is about this file.
    fn cancel_about(&mut self, uri: &str) {
        if self.search.as_ref().is_some_and(|search| search.uri == uri) {
            self.cancel();
        }
    }

    /// Cancels the running search, and answers its request.
    fn cancel(&mut self) {
        if let Some(search) = self.search.take() {
            search.cancel();
            let message = "the search was ended".to_owned();
            let code = ErrorCode::RequestCanceled as i32;
            self.send(Response::new_err(search.id, code, message));
        }
    }

    fn request(&mut self, request: Request) {
        let id = request.id.clone();
        let invalid = |why: &str| Err((ErrorCode::InvalidRequest, why.to_owned()));
        if !self.is_shut_down {
            self.read();
        }
        let done = match request.method.as_str() {
            _ if self.is_shut_down => invalid("the server is shut down; only `exit` may follow"),
            Initialize::METHOD => invalid("the server is initialized already"),
            Shutdown::METHOD => {
                self.cancel();
                self.is_shut_down = true;
                Ok(Value::Null)
            }
            HoverRequest::METHOD => self.answer::<HoverRequest>(request, |server, params| {
                let at = params.text_document_position_params;
                let document = server.document(&at.text_document.uri)?;
                Ok(features::hover(document, at.position))
            }),
            GotoDefinition::METHOD => self.answer::<GotoDefinition>(request, |server, params| {
                let at = params.text_document_position_params;
                let document = server.document(&at.text_document.uri)?;
                let found = features::definition(document, at.position);
                Ok(found.map(GotoDefinitionResponse::Scalar))
            }),
            References::METHOD => self.answer::<References>(request, |server, params| {
                let at = params.text_document_position;
                let document = server.document(&at.text_document.uri)?;
                let declaration = params.context.include_declaration;
                Ok(Some(features::references(
                    document,
                    at.position,
                    declaration,
                )))
            }),
            PrepareRenameRequest::METHOD => {
                self.answer::<PrepareRenameRequest>(request, |server, at| {
                    let document = server.document(&at.text_document.uri)?;
                    let range = features::renamable(document, at.position);
                    Ok(range.map(PrepareRenameResponse::Range))
                })
            }
            Rename::METHOD => self.answer::<Rename>(request, |server, params| {
                let at = params.text_document_position;
                server
                    .rename(&at.text_document.uri, at.position, &params.new_name)
                    .map(Some)
            }),
            DocumentSymbolRequest::METHOD => {
                self.answer::<DocumentSymbolRequest>(request, |server, params| {
                    let document = server.document(&params.text_document.uri)?;
                    Ok(Some(DocumentSymbolResponse::Nested(features::outline(
                        document,
                    ))))
                })
            }
            Completion::METHOD => self.answer::<Completion>(request, |server, params| {
                let at = params.text_document_position;
                let document = server.document(&at.text_document.uri)?;
                let items = features::completion(document, at.position);
                Ok(Some(CompletionResponse::Array(items)))
            }),
            Formatting::METHOD => self.answer::<Formatting>(request, |server, params| {
                Ok(features::formatting(
                    server.document(&params.text_document.uri)?,
                ))
            }),
            CodeLensRequest::METHOD => self.answer::<CodeLensRequest>(request, |server, params| {
                Ok(Some(features::lenses(
                    server.document(&params.text_document.uri)?,
                )))
            }),
            InlayHintRequest::METHOD => {
                self.answer::<InlayHintRequest>(request, |server, params| {
                    let document = server.document(&params.text_document.uri)?;
                    Ok(Some(features::hints(document, params.range)))
                })
            }
            ExecuteCommand::METHOD => {
                let params = request.params;
                match self.execute(&id, &params) {
                    // The answer is sent when the search has ended.
                    Ok(()) => return,
                    Err(failure) => Err(failure),
                }
            }
            method => Err((
                ErrorCode::MethodNotFound,
                format!("`{method}` is not known"),
            )),
        };
        self.send(match done {
            Ok(result) => Response::new_ok(id, result),
            Err((code, message)) => Response::new_err(id, code as i32, message),
        });
    }

    /// Parses the parameters of a request, computes its result with `work`, and returns the result
    /// as JSON.
    fn answer<R: RequestType>(
        &mut self,
        request: Request,
        work: impl FnOnce(&mut Self, R::Params) -> Result<R::Result, Failure>,
    ) -> Result<Value, Failure> {
        let invalid = |error: serde_json::Error| (ErrorCode::InvalidParams, error.to_string());
        let params = serde_json::from_value(request.params).map_err(invalid)?;
        let result = work(self, params)?;
        serde_json::to_value(result).map_err(|error| failed(error.to_string()))
    }

    fn document(&self, uri: &Uri) -> Result<&Document, Failure> {
        let document = self.documents.get(uri.as_str());
        document.ok_or_else(|| failed(format!("`{}` is not open", uri.as_str())))
    }

    fn rename(&self, uri: &Uri, at: Position, new: &str) -> Result<WorkspaceEdit, Failure> {
        let document = self.document(uri)?;
        let open = |path: &str| self.open_text(path);
        let around = (&*self.environment, &open as &document::OpenTexts<'_>);
        let edits = features::rename(document, at, new, around).map_err(failed)?;
        // The keys are compared as texts, and do not change.
        #[allow(clippy::mutable_key_type)]
        let changes = HashMap::from([(uri.clone(), edits)]);
        Ok(WorkspaceEdit::new(changes))
    }

    /// Starts the search of a command.
    fn execute(&mut self, id: &RequestId, params: &Value) -> Result<(), Failure> {
        let arguments = &params["arguments"];
        let wrong = |what: &str| {
            let given = &arguments[1];
            (ErrorCode::InvalidParams, format!("{given} is not {what}"))
        };
        let question = match (params["command"].as_str(), &arguments[1]) {
            (Some(CHECK), Value::Null) => Question::Check(None),
            (Some(CHECK), Value::String(name)) => Question::Check(Some(name.clone())),
            (Some(CHECK), _) => return Err(wrong("the name of a property")),
            (Some(RUN), Value::Null) => {
                self.runs += 1;
                Question::Run(self.runs - 1)
            }
            (Some(RUN), seed) => Question::Run(seed.as_u64().ok_or_else(|| wrong("a seed"))?),
            (other, _) => {
                let other = other.unwrap_or_default();
                return Err(failed(format!("there is no command `{other}`")));
            }
        };
        if !self.trusted {
            return Err(failed("this folder is not trusted, so nothing is searched"));
        }
        self.cancel();
        let uri = arguments[0].as_str().unwrap_or_default();
        let document = self.documents.get(uri);
        let document = document.ok_or_else(|| failed(format!("`{uri}` is not open")))?;
        let request = (id.clone(), question);
        let (environment, answers) = (&self.environment, &self.answers);
        let search = Search::start(document, request, self.limit, environment, answers);
        self.search = Some(search.map_err(failed)?);
        Ok(())
    }

    /// Shows the result of a search, if the text has not changed since its start.
    fn answered(&mut self, answer: &Answer) {
        if self
            .search
            .as_ref()
            .is_none_or(|search| search.id != answer.id)
        {
            return;
        }
        let Some(search) = self.search.take() else {
            return;
        };
        let outcome = match &answer.outcome {
            Ok(outcome) => outcome,
            Err(why) => {
                let code = ErrorCode::RequestFailed as i32;
                return self.send(Response::new_err(search.id, code, why.clone()));
            }
        };
        if let Some(document) = self.documents.get_mut(&search.uri)
            && document.version == search.version
        {
            let finding = outcome.finding(document, search.name());
            document.findings.retain(|found| found.name != finding.name);
            document.findings.push(finding);
        }
        self.publish(&search.uri);
        self.send(Response::new_ok(search.id, outcome.json()));
        if self.refreshes {
            self.requests_sent += 1;
            let id = RequestId::from(format!("mazurka-{}", self.requests_sent));
            let method = CodeLensRefresh::METHOD.to_owned();
            self.send(Request::new(id, method, Value::Null));
        }
    }
}
