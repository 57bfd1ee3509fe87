//! The language server for `.maz` and `.abs` programs (docs/editors.md).
//!
//! [`serve`] speaks the protocol over a connection until the editor ends it. It neither reads nor
//! writes files: all data except the open texts comes from an [`Environment`]. A text is analysed
//! when no message waits, so a burst of keystrokes is analysed once. Only commands start searches,
//! and there is one search at a time. An edit, another command or the editor ends a search.
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
//! serving.join().unwrap().unwrap();
//! ```

mod document;
mod features;
mod search;
mod text;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, select, unbounded};
pub use lsp_server::{Connection, ProtocolError};
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::notification::{
    Cancel, DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, Notification as Told,
    PublishDiagnostics,
};
use lsp_types::request::{
    CodeLensRefresh, CodeLensRequest, Completion, DocumentSymbolRequest, ExecuteCommand,
    Formatting, GotoDefinition, HoverRequest, InlayHintRequest, PrepareRenameRequest, References,
    Rename, Request as RequestType,
};
use lsp_types::{
    CodeLensOptions, CompletionOptions, CompletionResponse, DidChangeTextDocumentParams,
    DidOpenTextDocumentParams, DocumentSymbolResponse, ExecuteCommandOptions,
    GotoDefinitionResponse, HoverProviderCapability, NumberOrString, OneOf, Position,
    PrepareRenameResponse, PublishDiagnosticsParams, RenameOptions, ServerCapabilities,
    TextDocumentSyncCapability, TextDocumentSyncKind, Uri, WorkspaceEdit,
};
use mazurka::Program;
use serde_json::{Value, json};

use document::Document;
use search::{Answer, Question, Search};
use text::Text;

/// The command that searches for a verdict. Its arguments are a URI and the name of a property.
pub const CHECK: &str = "mazurka.check";
/// The command that runs one execution. Its arguments are a URI and a seed.
pub const RUN: &str = "mazurka.run";

/// The default time limit of a search, in seconds.
const DEFAULT_SECONDS: u64 = 10;

/// The services that the server needs from its host. The default methods read no files.
pub trait Environment: Send + Sync {
    /// Returns the text of a program with the files that it includes.
    fn expand(&self, path: &str, text: &str) -> String {
        let _ = path;
        mazurka::expand(text, &mut |_| Err("files are not read here".to_owned()))
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

/// Serves an editor until it ends the connection.
pub fn serve(
    connection: &Connection,
    environment: Arc<dyn Environment>,
) -> Result<(), ProtocolError> {
    let (id, hello) = connection.initialize_start()?;
    let about = json!({
        "capabilities": capabilities(),
        "serverInfo": { "name": "mazurka", "version": env!("CARGO_PKG_VERSION") },
    });
    connection.initialize_finish(id, about)?;
    let (sender, answers) = unbounded();
    let options = &hello["initializationOptions"];
    let seconds = options["timeLimit"].as_u64().unwrap_or(DEFAULT_SECONDS);
    let mut server = Server {
        out: connection.sender.clone(),
        environment,
        documents: HashMap::new(),
        unread: Vec::new(),
        search: None,
        answers: sender,
        limit: Duration::from_secs(seconds.max(1)),
        trusted: options["trusted"].as_bool().unwrap_or(true),
        refreshes: hello["capabilities"]["workspace"]["codeLens"]["refreshSupport"] == true,
        requests_sent: 0,
        runs: 0,
    };
    let done = server.serve(connection, &answers);
    server.cancel();
    done
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
    /// The texts that have changed and are not analysed yet.
    unread: Vec<(Uri, i32, Text)>,
    search: Option<Search>,
    answers: Sender<Answer>,
    limit: Duration,
    /// Whether the editor trusts the folder. Otherwise searches are refused.
    trusted: bool,
    /// Whether the editor supports a request to refresh its lenses.
    refreshes: bool,
    /// The number of requests sent to the editor.
    requests_sent: i32,
    /// The number of runs, which gives each run another seed.
    runs: u64,
}

/// The reason why a request fails.
type Failure = (ErrorCode, String);

fn failed(why: impl Into<String>) -> Failure {
    (ErrorCode::RequestFailed, why.into())
}

impl Server {
    fn serve(
        &mut self,
        connection: &Connection,
        answers: &Receiver<Answer>,
    ) -> Result<(), ProtocolError> {
        loop {
            // Changed texts are analysed when no message waits.
            if connection.receiver.is_empty() {
                self.read();
            }
            select! {
                recv(connection.receiver) -> message => match message {
                    Ok(Message::Request(request)) => {
                        if connection.handle_shutdown(&request)? {
                            return Ok(());
                        }
                        self.read();
                        self.request(request);
                    }
                    Ok(Message::Notification(notification)) => self.notification(notification),
                    Ok(Message::Response(_)) => {}
                    // The editor closed the connection without a shutdown.
                    Err(_) => return Ok(()),
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
        // If the connection is closed, the next receive fails.
        let _ = self.out.send(message.into());
    }

    /// Analyses the texts that have changed, and publishes their diagnostics.
    fn read(&mut self) {
        for (uri, version, text) in std::mem::take(&mut self.unread) {
            let key = uri.as_str().to_owned();
            let document = Document::new(uri, version, text, &*self.environment);
            self.documents.insert(key.clone(), document);
            self.publish(&key);
        }
    }

    fn publish(&self, key: &str) {
        let Some(document) = self.documents.get(key) else {
            return;
        };
        let found = document
            .findings
            .iter()
            .flat_map(|found| &found.diagnostics);
        let diagnostics = document.diagnostics.iter().chain(found).cloned().collect();
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
                let Some(mut text) = self.text(&file.uri) else {
                    return;
                };
                for change in change.content_changes {
                    text = text.changed(change);
                }
                self.changed(file.uri, file.version, text);
            }
            DidCloseTextDocument::METHOD => {
                let uri = &notification.params["textDocument"]["uri"];
                let uri = uri.as_str().unwrap_or_default();
                self.unread.retain(|(unread, ..)| unread.as_str() != uri);
                if self.search.as_ref().is_some_and(|search| search.uri == uri) {
                    self.cancel();
                }
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

    /// Returns the latest text of a file.
    fn text(&self, uri: &Uri) -> Option<Text> {
        let unread = self.unread.iter().rev();
        let mut unread = unread.filter(|(unread, ..)| unread.as_str() == uri.as_str());
        if let Some((_, _, text)) = unread.next() {
            return Some(text.clone());
        }
        let document = self.documents.get(uri.as_str());
        document.map(|document| document.text.clone())
    }

    fn changed(&mut self, uri: Uri, version: i32, text: Text) {
        // The running search uses the old text.
        if self
            .search
            .as_ref()
            .is_some_and(|search| search.uri == uri.as_str())
        {
            self.cancel();
        }
        self.unread
            .retain(|(unread, ..)| unread.as_str() != uri.as_str());
        self.unread.push((uri, version, text));
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
        let done = match request.method.as_str() {
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

    /// Parses the parameters of a request and answers it.
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
        let edits = features::rename(document, at, new, &*self.environment).map_err(failed)?;
        // The keys are compared as text, and they do not change.
        #[allow(clippy::mutable_key_type)]
        let changes = HashMap::from([(uri.clone(), edits)]);
        Ok(WorkspaceEdit::new(changes))
    }

    /// Starts the search of a command.
    fn execute(&mut self, id: &RequestId, params: &Value) -> Result<(), Failure> {
        let arguments = &params["arguments"];
        let question = match params["command"].as_str() {
            Some(CHECK) => Question::Check(arguments[1].as_str().map(str::to_owned)),
            Some(RUN) => {
                self.runs += 1;
                Question::Run(arguments[1].as_u64().unwrap_or(self.runs - 1))
            }
            other => {
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
