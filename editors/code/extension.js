// The VS Code extension: starts `mazurka lsp`, sends it the open documents, and shows its answers.
"use strict";

const { spawn } = require("node:child_process");
const vscode = require("vscode");
const { Session } = require("./lib/session.js");
const convert = require("./lib/convert.js")(vscode);

const LANGUAGES = ["maz", "abs"];
let session;

/** Returns the parameters of a request about a position in a document. */
const at = (document, position) => ({
  textDocument: { uri: document.uri.toString() },
  position: { line: position.line, character: position.character },
  // For references and completions.
  context: { includeDeclaration: true, triggerKind: 1 },
});
const whole = (document) => ({ textDocument: { uri: document.uri.toString() } });

/** The settings that the server uses. */
const settings = () => ({
  timeLimit: vscode.workspace.getConfiguration("mazurka").get("timeLimit", 10),
  trusted: vscode.workspace.isTrusted,
});

/** Starts the server, and registers its features with the editor. */
async function activate(context) {
  const shown = vscode.languages.createDiagnosticCollection("mazurka");
  const lensesChanged = new vscode.EventEmitter();
  session = new Session({
    spawn() {
      const command = vscode.workspace.getConfiguration("mazurka").get("path", "mazurka");
      return spawn(command, ["lsp"], { stdio: ["pipe", "pipe", "inherit"] });
    },
    greet,
    handlers: {
      onNotification(method, params) {
        if (method !== "textDocument/publishDiagnostics") return;
        shown.set(vscode.Uri.parse(params.uri), params.diagnostics.map(convert.diagnostic));
      },
      onRequest(method) {
        if (method === "workspace/codeLens/refresh") lensesChanged.fire();
        return null;
      },
    },
    onEnd(kind, why) {
      shown.clear();
      if (kind === "restart") {
        vscode.window.showWarningMessage(`Mazurka is started again: ${why}.`);
      } else if (kind === "given up") {
        vscode.window.showErrorMessage(
          `Mazurka ends again and again and is not started any more (${why}): reload the window to try again.`,
        );
      } else {
        vscode.window.showErrorMessage(
          `Mazurka cannot be started (${why}): set "mazurka.path" to the program.`,
        );
      }
    },
  });
  context.subscriptions.push(shown, lensesChanged, { dispose: () => session?.process.kill() });
  follow(context);
  register(context, lensesChanged);
  await session.started;
}

/** Initializes the server, and tells it what is open. */
async function greet(peer) {
  await peer.request("initialize", {
    processId: process.pid,
    rootUri: null,
    capabilities: { workspace: { codeLens: { refreshSupport: true } } },
    initializationOptions: settings(),
  });
  peer.notify("initialized", {});
  vscode.workspace.textDocuments.forEach((document) => opened(peer, document));
}

const ours = (document) => LANGUAGES.includes(document.languageId);

function opened(peer, document) {
  if (!ours(document)) return;
  const { languageId, version } = document;
  const file = { uri: document.uri.toString(), languageId, version, text: document.getText() };
  peer.notify("textDocument/didOpen", { textDocument: file });
}

/** Tells the server which documents are opened and closed, and how they and the settings change. */
function follow(context) {
  const configured = () =>
    session?.notify("workspace/didChangeConfiguration", { settings: { mazurka: settings() } });
  context.subscriptions.push(
    vscode.workspace.onDidGrantWorkspaceTrust(configured),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("mazurka")) configured();
    }),
    vscode.workspace.onDidOpenTextDocument((document) => {
      if (session?.ready) opened(session.peer, document);
    }),
    vscode.workspace.onDidCloseTextDocument((document) => {
      if (ours(document)) session?.notify("textDocument/didClose", whole(document));
    }),
    vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
      if (!ours(document) || contentChanges.length === 0) return;
      const place = ({ line, character }) => ({ line, character });
      // All ranges refer to the text before the changes. Applied from the last to the first, no
      // change moves the range of another.
      const changes = [...contentChanges]
        .sort((one, other) => other.rangeOffset - one.rangeOffset)
        .map(({ range, text }) => ({
          range: { start: place(range.start), end: place(range.end) },
          text,
        }));
      const file = { uri: document.uri.toString(), version: document.version };
      session?.notify("textDocument/didChange", { textDocument: file, contentChanges: changes });
    }),
  );
}

/** Registers a provider for each request that the editor may make, and the commands. */
function register(context, lensesChanged) {
  const { languages } = vscode;
  const ask = async (method, params) =>
    (await session.started).request(`textDocument/${method}`, params);
  const list = (all, one) => (all ?? []).map(one);
  const providers = [
    languages.registerHoverProvider(LANGUAGES, {
      provideHover: async (document, position) =>
        convert.hover(await ask("hover", at(document, position))),
    }),
    languages.registerDefinitionProvider(LANGUAGES, {
      provideDefinition: async (document, position) => {
        const found = await ask("definition", at(document, position));
        return found && convert.location(found);
      },
    }),
    languages.registerReferenceProvider(LANGUAGES, {
      provideReferences: async (document, position) =>
        list(await ask("references", at(document, position)), convert.location),
    }),
    languages.registerRenameProvider(LANGUAGES, {
      provideRenameEdits: async (document, position, newName) =>
        convert.workspaceEdit(await ask("rename", { ...at(document, position), newName })),
    }),
    languages.registerDocumentSymbolProvider(LANGUAGES, {
      provideDocumentSymbols: async (document) =>
        list(await ask("documentSymbol", whole(document)), convert.symbol),
    }),
    languages.registerCompletionItemProvider(LANGUAGES, {
      provideCompletionItems: async (document, position) =>
        list(await ask("completion", at(document, position)), convert.completion),
    }),
    languages.registerDocumentFormattingEditProvider(LANGUAGES, {
      provideDocumentFormattingEdits: async (document, options) =>
        list(await ask("formatting", { ...whole(document), options }), convert.edit),
    }),
    languages.registerCodeLensProvider(LANGUAGES, {
      onDidChangeCodeLenses: lensesChanged.event,
      provideCodeLenses: async (document) =>
        list(await ask("codeLens", whole(document)), convert.lens),
    }),
    languages.registerInlayHintsProvider(LANGUAGES, {
      provideInlayHints: async (document, { start, end }) => {
        const range = {
          start: { line: start.line, character: start.character },
          end: { line: end.line, character: end.character },
        };
        return list(await ask("inlayHint", { ...whole(document), range }), convert.hint);
      },
    }),
  ];
  const execute = (command) =>
    vscode.commands.registerCommand(command, async (...given) => {
      const title = `Mazurka: ${command.split(".")[1]} ${given[1] ?? ""}`;
      const progress = { location: vscode.ProgressLocation.Window, title, cancellable: true };
      try {
        const peer = await session.started;
        const search = peer.request("workspace/executeCommand", { command, arguments: given });
        await vscode.window.withProgress(progress, (_, token) => {
          token.onCancellationRequested(() => peer.notify("$/cancelRequest", { id: search.id }));
          return search;
        });
      } catch (error) {
        vscode.window.setStatusBarMessage(`Mazurka: ${error.message}`, 5000);
      }
    });
  const commands = ["mazurka.check", "mazurka.run"].map(execute);
  context.subscriptions.push(...providers, ...commands);
}

/** Ends the server. */
async function deactivate() {
  const last = session;
  session = undefined;
  await last?.stop();
}

module.exports = { activate, deactivate };
