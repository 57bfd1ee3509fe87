// Starts `mazurka lsp`, sends it the open documents, and shows its answers.
"use strict";

const { spawn } = require("node:child_process");
const vscode = require("vscode");
const { Peer } = require("./lib/rpc.js");
const convert = require("./lib/convert.js")(vscode);

const LANGUAGES = ["maz", "abs"];
let server;

/** Returns a place in a document, as the protocol writes it. */
const at = (document, position) => ({
  textDocument: { uri: document.uri.toString() },
  position: { line: position.line, character: position.character },
  // For references and completions.
  context: { includeDeclaration: true, triggerKind: 1 },
});
const whole = (document) => ({ textDocument: { uri: document.uri.toString() } });

/** Starts the server, and registers its abilities with the editor. */
async function activate(context) {
  const settings = vscode.workspace.getConfiguration("mazurka");
  const command = settings.get("path", "mazurka");
  const process = spawn(command, ["lsp"], { stdio: ["pipe", "pipe", "inherit"] });
  const shown = vscode.languages.createDiagnosticCollection("mazurka");
  const lensesChanged = new vscode.EventEmitter();
  const peer = new Peer((bytes) => process.stdin.write(bytes), {
    onNotification(method, params) {
      if (method !== "textDocument/publishDiagnostics") return;
      shown.set(vscode.Uri.parse(params.uri), params.diagnostics.map(convert.diagnostic));
    },
    onRequest(method) {
      if (method === "workspace/codeLens/refresh") lensesChanged.fire();
      return null;
    },
  });
  server = { peer, process };
  process.stdout.on("data", (bytes) => peer.take(bytes));
  process.on("exit", () => peer.end("mazurka has ended"));
  process.on("error", (error) => {
    peer.end(error.message);
    vscode.window.showErrorMessage(
      `Mazurka cannot be started (${error.message}): set "mazurka.path" to the program.`,
    );
  });
  context.subscriptions.push(shown, lensesChanged, { dispose: () => process.kill() });

  await peer.request("initialize", {
    processId: globalThis.process.pid,
    rootUri: null,
    capabilities: { workspace: { codeLens: { refreshSupport: true } } },
    initializationOptions: {
      timeLimit: settings.get("timeLimit", 10),
      trusted: vscode.workspace.isTrusted,
    },
  });
  peer.notify("initialized", {});
  follow(context, peer);
  register(context, peer, lensesChanged);
}

/** Sends the open documents and their changes to the server. */
function follow(context, peer) {
  const ours = (document) => LANGUAGES.includes(document.languageId);
  const opened = (document) => {
    if (!ours(document)) return;
    const { languageId, version } = document;
    const file = { uri: document.uri.toString(), languageId, version, text: document.getText() };
    peer.notify("textDocument/didOpen", { textDocument: file });
  };
  vscode.workspace.textDocuments.forEach(opened);
  context.subscriptions.push(
    vscode.workspace.onDidOpenTextDocument(opened),
    vscode.workspace.onDidCloseTextDocument((document) => {
      if (ours(document)) peer.notify("textDocument/didClose", whole(document));
    }),
    vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
      if (!ours(document) || contentChanges.length === 0) return;
      const place = ({ line, character }) => ({ line, character });
      // All ranges refer to the text before the changes; applied from the last to the first, none
      // moves another.
      const changes = [...contentChanges]
        .sort((one, other) => other.rangeOffset - one.rangeOffset)
        .map(({ range, text }) => ({
          range: { start: place(range.start), end: place(range.end) },
          text,
        }));
      const file = { uri: document.uri.toString(), version: document.version };
      peer.notify("textDocument/didChange", { textDocument: file, contentChanges: changes });
    }),
  );
}

/** Registers the requests of the editor. */
function register(context, peer, lensesChanged) {
  const { languages } = vscode;
  const ask = (method, params) => peer.request(`textDocument/${method}`, params);
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
    languages.registerDocumentFormattingEditProvider("maz", {
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
      const search = peer.request("workspace/executeCommand", { command, arguments: given });
      const title = `Mazurka: ${command.split(".")[1]} ${given[1] ?? ""}`;
      const progress = { location: vscode.ProgressLocation.Window, title, cancellable: true };
      try {
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

/** Ends the server as the protocol requires. */
async function deactivate() {
  if (!server) return;
  const { peer, process } = server;
  server = undefined;
  try {
    await peer.request("shutdown", null);
    peer.notify("exit", null);
  } catch {
    process.kill();
  }
}

module.exports = { activate, deactivate };
